//! The store as the engine uses it: what is put is read, across reopening, and refusals are by name.

#[path = "support/folder.rs"]
mod support;

use std::fs;
use std::ops::Bound;
use std::os::unix::fs::PermissionsExt;

use repr::{IndexId, RelationId, Row, RowKey};
use storage::{Batch, Cipher, OpenedRows, Reclaim, Snapshot, StorageError, Store, StoreOptions};
use support::{Folder, put, row};

const PEOPLE: RelationId = RelationId(16_384);
const POSTS: RelationId = RelationId(16_385);
const CITIES: RelationId = RelationId(16_386);
const BY_AUTHOR: IndexId = IndexId(16_390);
const BY_NAME: IndexId = IndexId(16_391);

fn ordered(bytes: &[u8]) -> RowKey {
    RowKey::new(bytes)
}

#[test]
fn a_value_has_one_hash_whoever_asks() {
    let folder = Folder::new("hashes");
    let store = folder.open();
    for bytes in 0..300 {
        let value = vec![bytes as u8; bytes];
        let once = store.hash_index_once(BY_AUTHOR, &value);
        // Computed, and then remembered.
        assert_eq!([(); 2].map(|()| store.hash_index(BY_AUTHOR, &value)), [once; 2], "{bytes} bytes");
        assert_ne!(store.hash_index_once(BY_NAME, &value), once, "{bytes} bytes");
    }
}

#[test]
fn personal_rows_are_read_by_key_copy_scan_and_person() {
    for cipher in [Cipher::Aegis256, Cipher::Aes256Gcm] {
        let folder = Folder::new(&format!("personal-{cipher:?}"));
        let options = StoreOptions { cipher, ..folder.options() };
        let store = Store::open(&options).expect("opens");
        let [ann, bob] = [(); 2].map(|()| store.allocate_microdb().expect("allocates"));
        let (mine, ours) = (store.hash_key(POSTS, b"1"), store.hash_key(POSTS, b"2"));
        let mut batch = Batch::default();
        put(&mut batch, &store, POSTS, &mine, b"mine", &[ann]);
        put(&mut batch, &store, POSTS, &ours, b"ours", &[ann, bob]);
        batch.put_subject(PEOPLE, &store.hash_key(PEOPLE, b"ann"), ann);
        store.write(batch).expect("writes");
        store.flush().expect("flushes");
        let check = |store: &Store| {
            let snapshot = store.snapshot();
            assert_eq!(snapshot.get_personal(POSTS, &mine).expect("reads"), Some(row(b"mine")));
            assert_eq!(snapshot.get_personal(POSTS, &ours).expect("reads"), Some(row(b"ours")));
            assert_eq!(snapshot.get_personal(POSTS, &store.hash_key(POSTS, b"3")).expect("reads"), None);
            assert_eq!(snapshot.get_personal(PEOPLE, &mine).expect("reads"), None);
            assert_eq!(snapshot.get_copy(POSTS, &ours, bob).expect("reads"), Some(row(b"ours")));
            assert_eq!(snapshot.get_copy(POSTS, &mine, bob).expect("reads"), None);
            let mut rows: Vec<_> = snapshot.scan(POSTS, true).map(|row| row.expect("reads").1).collect();
            rows.sort();
            assert_eq!(rows, [row(b"mine"), row(b"ours")], "each logical row once");
            assert_eq!(snapshot.scan_copies(POSTS).count(), 3);
            let mut of_bob = Vec::new();
            let mut probe = snapshot.microdb_probe();
            probe.rows(PEOPLE, bob, |key, row| of_bob.push((key, row))).expect("reads");
            probe.rows(POSTS, bob, |key, row| of_bob.push((key, row))).expect("reads");
            assert_eq!(of_bob, [(ours.clone(), row(b"ours"))], "the rows of one person, and of one relation at a time");
            let mut owners = vec![(ann, 1), (bob, 1)];
            owners.sort();
            assert_eq!(snapshot.owners(POSTS, &ours).expect("reads"), owners);
            assert_eq!(snapshot.scan_owners(POSTS).count(), 3);
            let person = store.hash_key(PEOPLE, b"ann");
            assert_eq!(snapshot.subject(PEOPLE, &person).expect("reads"), Some(ann));
            assert_eq!(snapshot.subject_of(ann).expect("reads"), Some((PEOPLE, person)));
            assert_eq!(snapshot.subject_of(bob).expect("reads"), None);
        };
        check(&store);
        store.reclaim(&[Reclaim::Everything]).expect("compacts");
        check(&store);
        let id = store.database_id();
        drop(store);
        // Opened with the other cipher: old seals say which one they are.
        let store = folder.open();
        assert_eq!(store.database_id(), id);
        check(&store);
    }
}

/// What a scan in bulk gives, up to its error if it has one.
fn in_bulk(snapshot: &Snapshot, relation: RelationId, personal: bool) -> (Vec<Row>, Option<StorageError>) {
    let mut scan = snapshot.scan_bulk(relation, personal).expect("the store is sound");
    let (mut rows, mut opened) = (Vec::new(), OpenedRows::default());
    loop {
        if let Err(error) = scan.next(&mut opened) {
            scan.next(&mut opened).expect("after an error it has ended");
            assert!(opened.is_empty());
            return (rows, Some(error));
        }
        if opened.is_empty() {
            return (rows, None);
        }
        rows.extend((0..opened.len()).map(|number| Row::from_bytes(opened.row(number).into())));
    }
}

#[test]
fn rows_come_in_bulk_as_they_come_one_by_one() {
    for cipher in [Cipher::Aegis256, Cipher::Aes256Gcm] {
        let folder = Folder::new(&format!("bulk-{cipher:?}"));
        let store = Store::open(&StoreOptions { cipher, ..folder.options() }).expect("opens");
        let people: Vec<_> = (0..7).map(|_| store.allocate_microdb().expect("allocates")).collect();
        let mut batch = Batch::default();
        for number in 0..900_u32 {
            let place = number as usize;
            // Of one person many, of others few, and some of two.
            let owner = people[if place.is_multiple_of(3) { place % 7 } else { 0 }];
            let owners = if place.is_multiple_of(5) { vec![owner, people[6]] } else { vec![owner] };
            let bytes = vec![number as u8; place % 300];
            let mut distinct = owners.clone();
            distinct.dedup();
            put(&mut batch, &store, POSTS, &store.hash_key(POSTS, &number.to_be_bytes()), &bytes, &distinct);
            batch.put_impersonal(&store, CITIES, &ordered(&number.to_be_bytes()), &row(&bytes), 1).expect("seals");
        }
        store.write(batch).expect("writes");
        let compare = |store: &Store| {
            let snapshot = store.snapshot();
            for (relation, personal) in [(POSTS, true), (CITIES, false), (PEOPLE, true)] {
                let expected: Vec<Row> = snapshot.scan(relation, personal).map(|row| row.expect("reads").1).collect();
                let (found, failed) = in_bulk(&snapshot, relation, personal);
                assert!(failed.is_none(), "{failed:?}");
                assert_eq!(found, expected);
                assert_eq!(found.len(), if relation == PEOPLE { 0 } else { 900 });
            }
        };
        compare(&store);
        // Half of somebody's rows under the key of before.
        store.begin_key_renewal(people[0]).expect("begins");
        let mut batch = Batch::default();
        for number in (1..900_u32).step_by(6).filter(|number| number % 5 != 0) {
            let key = store.hash_key(POSTS, &number.to_be_bytes());
            let bytes = store.snapshot().get_personal(POSTS, &key).expect("reads").expect("is there");
            put(
                &mut batch,
                &store,
                POSTS,
                &key,
                bytes.bytes(),
                &[people[if number % 3 == 0 { number as usize % 7 } else { 0 }]],
            );
        }
        store.write(batch).expect("writes");
        compare(&store);
        // Of whom the key is gone, nothing comes, nor what stands behind it.
        store.destroy_keys(&[people[3]]).expect("destroys");
        let snapshot = store.snapshot();
        let before = snapshot.scan(POSTS, true).take_while(Result::is_ok).map(|row| row.expect("reads").1);
        let (found, failed) = in_bulk(&snapshot, POSTS, true);
        assert_eq!(found, before.collect::<Vec<_>>());
        assert!(matches!(failed, Some(StorageError::KeyDestroyed)), "{failed:?}");
    }
}

#[test]
fn a_snapshot_keeps_what_it_saw() {
    let folder = Folder::new("snapshot");
    let store = folder.open();
    let owner = store.allocate_microdb().expect("allocates");
    let key = store.hash_key(POSTS, b"1");
    let mut batch = Batch::default();
    put(&mut batch, &store, POSTS, &key, b"before", &[owner]);
    store.write(batch).expect("writes");
    let before = store.snapshot();
    let mut batch = Batch::default();
    batch.delete_copy(POSTS, &key, owner);
    batch.delete_owner(POSTS, &key, owner);
    store.write(batch).expect("writes");
    let scan = before.scan(POSTS, true);
    let clone = before.clone();
    drop(before);
    let read = std::thread::spawn(move || scan.map(|row| row.expect("reads").1).collect::<Vec<_>>());
    assert_eq!(read.join().expect("no panic"), [row(b"before")]);
    assert_eq!(clone.get_personal(POSTS, &key).expect("reads"), Some(row(b"before")));
    assert_eq!(store.snapshot().get_personal(POSTS, &key).expect("reads"), None);
}

#[test]
fn impersonal_rows_keep_their_order_and_bounds() {
    let folder = Folder::new("impersonal");
    let store = folder.open();
    let mut batch = Batch::default();
    for key in [b"aa", b"ab", b"b0", b"b1", b"c0"] {
        batch.put_impersonal(&store, CITIES, &ordered(key), &row(key), 1).expect("seals");
        batch.put_index_ordered(BY_NAME, key, &ordered(&[key[1], 9]));
        // Neighbours on both sides that no scan may show.
        batch.put_index_ordered(IndexId(BY_NAME.0 - 1), key, &ordered(b"x"));
        batch.put_index_ordered(IndexId(BY_NAME.0 + 1), key, &ordered(b"x"));
    }
    store.write(batch).expect("writes");
    type Keys<'k> = &'k [&'k [u8]];
    let cases: [(Bound<&[u8]>, Bound<&[u8]>, Keys<'_>); 7] = [
        (Bound::Unbounded, Bound::Unbounded, &[b"aa", b"ab", b"b0", b"b1", b"c0"]),
        (Bound::Included(b"b"), Bound::Unbounded, &[b"b0", b"b1", b"c0"]),
        (Bound::Excluded(b"b"), Bound::Unbounded, &[b"c0"]),
        (Bound::Unbounded, Bound::Included(b"b"), &[b"aa", b"ab", b"b0", b"b1"]),
        (Bound::Unbounded, Bound::Excluded(b"b"), &[b"aa", b"ab"]),
        (Bound::Included(b"ab"), Bound::Excluded(b"b1"), &[b"ab", b"b0"]),
        (Bound::Included(b"c"), Bound::Excluded(b"b"), &[]),
    ];
    for flushed in [false, true] {
        let snapshot = store.snapshot();
        for (lower, upper, expected) in &cases {
            for reverse in [false, true] {
                let mut expected: Vec<Vec<u8>> = expected.iter().map(|key| key.to_vec()).collect();
                if reverse {
                    expected.reverse();
                }
                let rows: Vec<_> = snapshot
                    .scan_impersonal_range(CITIES, *lower, *upper, reverse)
                    .map(|row| row.expect("reads").0.bytes().to_vec())
                    .collect();
                assert_eq!(rows, expected, "{lower:?} {upper:?} flushed {flushed}");
                let keys: Vec<_> = snapshot
                    .scan_index_ordered(BY_NAME, *lower, *upper, reverse)
                    .map(|key| key.expect("reads").bytes().to_vec())
                    .collect();
                let expected: Vec<_> = expected.iter().map(|value| vec![value[1], 9]).collect();
                assert_eq!(keys, expected, "{lower:?} {upper:?} flushed {flushed}");
            }
        }
        assert_eq!(snapshot.get_impersonal(CITIES, &ordered(b"ab")).expect("reads"), Some(row(b"ab")));
        assert_eq!(snapshot.get_impersonal(CITIES, &ordered(b"a")).expect("reads"), None);
        store.reclaim(&[Reclaim::Everything]).expect("compacts");
    }
}

#[test]
fn hashed_entries_metadata_and_drops() {
    let folder = Folder::new("hashed");
    let store = folder.open();
    let owner = store.allocate_microdb().expect("allocates");
    let keys: Vec<_> = (0..50_u8).map(|n| store.hash_key(POSTS, &[n])).collect();
    let mut batch = Batch::default();
    for (n, key) in keys.iter().enumerate() {
        let value = store.hash_index(BY_AUTHOR, &[n as u8 % 5]);
        let locator = (n % 2 == 0).then_some(owner);
        batch.put_index_hashed(BY_AUTHOR, &value, key, locator);
        put(&mut batch, &store, POSTS, key, b"post", &[owner]);
    }
    batch.put_meta(&store, b"catalog/1", b"table posts");
    batch.put_meta(&store, b"catalog/2", b"");
    batch.put_meta(&store, b"time", b"7");
    store.write(batch).expect("writes");
    for _ in 0..2 {
        let snapshot = store.snapshot();
        let mut found = snapshot.index_hashed(BY_AUTHOR, &store.hash_index(BY_AUTHOR, &[3])).expect("reads");
        let mut expected: Vec<_> =
            (0..50).filter(|n| n % 5 == 3).map(|n| (keys[n].clone(), (n % 2 == 0).then_some(owner))).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(snapshot.index_hashed(BY_AUTHOR, &store.hash_index(BY_AUTHOR, &[9])).expect("reads"), []);
        assert_eq!(snapshot.scan_index_hashed_all(BY_AUTHOR).count(), 50);
        assert_eq!(snapshot.meta(b"time").expect("reads"), Some(b"7".to_vec()));
        assert_eq!(snapshot.meta(b"tim").expect("reads"), None);
        assert_eq!(snapshot.meta(b"catalog/1").expect("reads"), Some(b"table posts".to_vec()));
        assert_eq!(snapshot.meta(b"catalog/2").expect("reads"), Some(Vec::new()));
        store.reclaim(&[Reclaim::Everything]).expect("compacts");
    }
    assert!(folder.find(b"table posts").is_empty(), "the catalog is sealed");
    assert!(store.approximate_size(POSTS) > 0);
    let mut batch = Batch::default();
    store.drop_index(&mut batch, BY_AUTHOR);
    store.drop_relation(&mut batch, POSTS);
    store.write(batch).expect("writes");
    let snapshot = store.snapshot();
    assert_eq!(snapshot.scan_index_hashed_all(BY_AUTHOR).count(), 0);
    assert_eq!(snapshot.scan(POSTS, true).count() + snapshot.scan_owners(POSTS).count(), 0);
    drop(snapshot);
    store.reclaim(&[Reclaim::Relation(POSTS), Reclaim::Index(BY_AUTHOR)]).expect("compacts");
    let rows = store.statistics().family_bytes.iter().find(|(name, _)| *name == "rows").map(|(_, bytes)| *bytes);
    assert_eq!(rows, Some(0));
}

#[test]
fn batches_append_in_order() {
    let folder = Folder::new("append");
    let store = folder.open();
    let mut first = Batch::default();
    first.put_meta(&store, b"k", b"1");
    let mut second = Batch::default();
    second.put_meta(&store, b"k", b"2");
    let mut third = Batch::default();
    third.put_meta(&store, b"other", b"3");
    for batch in [second, third] {
        first.append(batch);
    }
    assert_eq!((first.len(), first.is_empty()), (3, false));
    store.write(first).expect("writes");
    assert_eq!(store.snapshot().meta(b"k").expect("reads"), Some(b"2".to_vec()));
    assert_eq!(store.snapshot().meta(b"other").expect("reads"), Some(b"3".to_vec()));
}

#[test]
fn a_failed_seal_leaves_the_batch_as_it_was() {
    let folder = Folder::new("failed-seal");
    let store = folder.open();
    let owner = store.allocate_microdb().expect("allocates");
    store.destroy_keys(&[owner]).expect("destroys");
    let mut batch = Batch::default();
    batch.put_meta(&store, b"k", b"1");
    let owners = storage::OwnerSet::single(owner);
    let refused = batch.put_personal(&store, POSTS, &store.hash_key(POSTS, b"1"), &row(b"r"), &owners, 1);
    assert!(matches!(refused, Err(StorageError::KeyDestroyed)));
    assert_eq!(batch.len(), 1);
    store.write(batch).expect("writes");
}

#[test]
fn folders_are_refused_by_name() {
    let folder = Folder::new("refused");
    let store = folder.open();
    assert!(matches!(Store::open(&folder.options()), Err(StorageError::AlreadyOpen { .. })));
    let snapshot = store.snapshot();
    drop(store);
    assert!(matches!(Store::open(&folder.options()), Err(StorageError::AlreadyOpen { .. })));
    drop(snapshot);
    folder.open();
    let file = |name: &str| folder.0.join(name);
    let root = fs::read(file("root.key")).expect("reads");
    let set = |bytes: &[u8], mode| {
        fs::write(file("root.key"), bytes).expect("writes");
        fs::set_permissions(file("root.key"), fs::Permissions::from_mode(mode)).expect("sets mode");
    };
    for mode in [0o640, 0o604, 0o644] {
        set(&root, mode);
        let refused = Store::open(&folder.options());
        assert!(matches!(refused, Err(StorageError::KeyFileExposed { mode: found, .. }) if found == mode));
    }
    set(&[b'0'; 64], 0o600);
    assert!(matches!(Store::open(&folder.options()), Err(StorageError::WrongRootKey { .. })));
    for text in ["", "00", "zz"] {
        set(text.as_bytes(), 0o600);
        assert!(matches!(Store::open(&folder.options()), Err(StorageError::RootKeyMalformed { .. })));
    }
    fs::remove_file(file("root.key")).expect("removes");
    assert!(matches!(Store::open(&folder.options()), Err(StorageError::RootKeyMissing { .. })));
    set(&root, 0o600);
    fs::rename(file("keyring"), file("elsewhere")).expect("renames");
    assert!(
        matches!(Store::open(&folder.options()), Err(StorageError::FileMissing { path }) if path == file("keyring"))
    );
    fs::rename(file("elsewhere"), file("keyring")).expect("renames");
    fs::set_permissions(file("keyring"), fs::Permissions::from_mode(0o644)).expect("sets mode");
    assert!(matches!(Store::open(&folder.options()), Err(StorageError::KeyFileExposed { .. })));
    fs::set_permissions(file("keyring"), fs::Permissions::from_mode(0o600)).expect("sets mode");
    for (text, found) in [("dogwood data format 3\n", Some(3)), ("something", None)] {
        fs::write(file("FORMAT"), text).expect("writes");
        let refused = Store::open(&folder.options()).err().expect("refused");
        assert!(matches!(refused, StorageError::UnknownFormat { found: named, .. } if named == found));
        assert!(refused.to_string().contains("FORMAT"));
    }
    fs::remove_file(file("FORMAT")).expect("removes");
    assert!(
        matches!(Store::open(&folder.options()), Err(StorageError::FileMissing { path }) if path == file("FORMAT"))
    );
    fs::write(file("FORMAT"), "dogwood data format 2\n").expect("writes");
    let store = folder.open();
    let public = fs::read_to_string(file("public.key")).expect("reads");
    let expected: String = store.public_key().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(public.trim(), expected);
}

#[test]
fn threads_seal_write_and_read_together() {
    let folder = Folder::new("threads");
    let store = folder.open();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let store = store.clone();
            scope.spawn(move || {
                for n in 0..100_u8 {
                    let owner = store.allocate_microdb().expect("allocates");
                    let key = store.hash_key(POSTS, &[thread, n]);
                    let mut batch = Batch::default();
                    put(&mut batch, &store, POSTS, &key, &[thread, n], &[owner]);
                    store.write(batch).expect("writes");
                    assert_eq!(store.snapshot().get_personal(POSTS, &key).expect("reads"), Some(row(&[thread, n])));
                }
            });
        }
    });
    assert_eq!(store.snapshot().scan(POSTS, true).count(), 400);
}

#[test]
fn a_sorted_batch_does_what_it_did_before() {
    let folder = Folder::new("sorted");
    let store = Store::open(&folder.options()).expect("opens");
    let ann = store.allocate_microdb().expect("allocates");
    let keys: Vec<RowKey> = (0..50_u8).map(|n| store.hash_key(POSTS, &[n])).collect();
    let mut batch = Batch::default();
    for (n, key) in keys.iter().enumerate() {
        put(&mut batch, &store, POSTS, key, &[n as u8], &[ann]);
    }
    // Later operations on the same keys win.
    for key in &keys[..10] {
        batch.delete_copy(POSTS, key, ann);
        batch.delete_owner(POSTS, key, ann);
    }
    put(&mut batch, &store, POSTS, &keys[3], b"again", &[ann]);
    let (operations, bytes) = (batch.len(), batch.bytes());
    batch.sort();
    assert_eq!((batch.len(), batch.bytes()), (operations, bytes));
    store.write(batch).expect("writes");
    let snapshot = store.snapshot();
    let mut probe = snapshot.owner_probe();
    for (n, key) in keys.iter().enumerate() {
        let expected = match n {
            3 => Some(row(b"again")),
            0..10 => None,
            _ => Some(row(&[n as u8])),
        };
        assert_eq!(probe.exists(POSTS, key).expect("probes"), expected.is_some(), "row {n}");
        assert_eq!(snapshot.get_personal(POSTS, key).expect("reads"), expected, "row {n}");
    }
    assert!(!probe.exists(PEOPLE, &keys[20]).expect("probes"), "of another relation");
}

#[test]
fn a_row_is_found_after_the_owner_it_was_read_from_has_lost_it() {
    let folder = Folder::new("hints");
    let store = Store::open(&folder.options()).expect("opens");
    let mut people = [(); 2].map(|()| store.allocate_microdb().expect("allocates"));
    people.sort();
    let [first, second] = people;
    let key = store.hash_key(POSTS, b"1");
    let mut batch = Batch::default();
    put(&mut batch, &store, POSTS, &key, b"old", &people);
    store.write(batch).expect("writes");
    let before = store.snapshot();
    assert_eq!(before.get_personal(POSTS, &key).expect("reads"), Some(row(b"old")));
    let mut batch = Batch::default();
    batch.delete_copy(POSTS, &key, first);
    batch.delete_owner(POSTS, &key, first);
    put(&mut batch, &store, POSTS, &key, b"new", &[second]);
    store.write(batch).expect("writes");
    let after = store.snapshot();
    for _ in 0..2 {
        assert_eq!(after.get_personal(POSTS, &key).expect("reads"), Some(row(b"new")));
        assert_eq!(before.get_personal(POSTS, &key).expect("reads"), Some(row(b"old")));
    }
    let mut batch = Batch::default();
    batch.delete_copy(POSTS, &key, second);
    batch.delete_owner(POSTS, &key, second);
    store.write(batch).expect("writes");
    assert_eq!(store.snapshot().get_personal(POSTS, &key).expect("reads"), None);
    assert_eq!(after.get_personal(POSTS, &key).expect("reads"), Some(row(b"new")));
}

#[test]
fn a_settled_store_has_no_log_to_replay() {
    let folder = Folder::new("settled");
    let store = Store::open(&folder.options()).expect("opens");
    let ann = store.allocate_microdb().expect("allocates");
    let key = store.hash_key(POSTS, b"1");
    let mut batch = Batch::default();
    put(&mut batch, &store, POSTS, &key, b"kept", &[ann]);
    store.write(batch).expect("writes");
    store.settle().expect("settles");
    drop(store);
    let logs = folder.files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    assert_eq!(logs.map(|log| fs::metadata(log).expect("reads").len()).sum::<u64>(), 0);
    let store = Store::open(&folder.options()).expect("opens");
    assert_eq!(store.snapshot().get_personal(POSTS, &key).expect("reads"), Some(row(b"kept")));
}
