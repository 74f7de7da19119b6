//! Large batches against small ones, and what a start makes of one that was killed at each step.

use std::collections::BTreeMap;
use std::fs;

use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};

use super::{INTENT, SideFile, SideFiles, decode, families_of};
use crate::batch::Batch;
use crate::config::{Mode, StoreOptions};
use crate::error::StorageError;
use crate::microdb::OwnerSet;
use crate::rocks::Family;
use crate::store::Store;
use crate::temporary_folder::{TemporaryFolder, copy_folder};

const POSTS: RelationId = RelationId(16_385);
const CITIES: RelationId = RelationId(16_386);
const BY_AUTHOR: IndexId = IndexId(16_390);
/// Enough for several files of rows.
const ROWS: u32 = 30_000;

/// A store's folder.
struct Folder(TemporaryFolder);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(TemporaryFolder::new(&format!("ingest-{name}")))
    }

    fn open(&self) -> Store {
        Store::open(&self.options(Mode::Serve)).expect("opens")
    }

    fn options(&self, mode: Mode) -> StoreOptions {
        StoreOptions { block_cache_bytes: 8 << 20, mode, ..StoreOptions::new(&*self.0) }
    }

    fn side_files(&self) -> usize {
        fs::read_dir(self.0.join("ingest")).map_or(0, Iterator::count)
    }

    /// As the server leaves it that is killed now.
    fn killed(&self, store: Option<&Store>, name: &str) -> Folder {
        // No file goes while it is copied.
        store.into_iter().for_each(|store| store.db().cancel_all_background_work(true));
        let copy = Folder::new(name);
        copy_folder(&self.0, &copy.0);
        copy
    }
}

fn row(version: u8, number: u32) -> Row {
    let mut bytes = vec![version; 200];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Row::from_bytes(bytes.into())
}

/// Every row of both tables in a version, every third gone in an odd one, and an index.
fn version(store: &Store, owner: MicroDbId, version: u8) -> Batch {
    let mut batch = Batch::default();
    let owners = OwnerSet::single(owner);
    for number in 0..ROWS {
        let key = store.hash_key(POSTS, &number.to_be_bytes());
        let plain = RowKey::new(&number.to_be_bytes());
        let value = store.hash_index_once(BY_AUTHOR, &[version]);
        if version % 2 == 1 && number % 3 == 0 {
            batch.delete_copy(POSTS, &key, owner);
            batch.delete_owner(POSTS, &key, owner);
            batch.delete_impersonal(CITIES, &plain);
        } else {
            batch.put_personal(store, POSTS, &key, &row(version, number), &owners, 1).expect("seals");
            batch.put_owner(POSTS, &key, owner, 1);
            batch.put_impersonal(store, CITIES, &plain, &row(version, number), 1).expect("seals");
            batch.put_index_hashed(BY_AUTHOR, &value, &key, Some(owner));
        }
        let former = store.hash_index_once(BY_AUTHOR, &[version.wrapping_sub(1)]);
        batch.delete_index_hashed(BY_AUTHOR, &former, &key);
    }
    batch.put_commit_time(store, u64::from(version));
    batch
}

/// What a store must be with a version: every row read by its key and by a scan, and found by the index.
fn assert_holds(store: &Store, owner: MicroDbId, version: u8, what: &str) {
    let snapshot = store.snapshot();
    let expected: BTreeMap<RowKey, Row> = (0..ROWS)
        .filter(|number| version.is_multiple_of(2) || !number.is_multiple_of(3))
        .map(|number| (store.hash_key(POSTS, &number.to_be_bytes()), row(version, number)))
        .collect();
    let found: BTreeMap<RowKey, Row> = snapshot.scan(POSTS, true).map(|row| row.expect("reads")).collect();
    assert!(found == expected, "{what}: {} of {} rows", found.len(), expected.len());
    for number in (0..ROWS).step_by(997) {
        let key = store.hash_key(POSTS, &number.to_be_bytes());
        assert_eq!(snapshot.get_personal(POSTS, &key).expect("reads").as_ref(), expected.get(&key), "{what}: {number}");
        let plain = snapshot.get_impersonal(CITIES, &RowKey::new(&number.to_be_bytes())).expect("reads");
        assert_eq!(plain.as_ref(), expected.get(&key), "{what}: {number}");
    }
    let entries = |of: u8| snapshot.index_hashed(BY_AUTHOR, &store.hash_index(BY_AUTHOR, &[of])).expect("reads").len();
    assert_eq!((entries(version), entries(version.wrapping_sub(1))), (expected.len(), 0), "{what}");
    assert_eq!(snapshot.owners(POSTS, &store.hash_key(POSTS, &1_u32.to_be_bytes())).expect("reads"), [(owner, 1)]);
    let time = snapshot.meta(crate::store::COMMIT_TIME).expect("reads");
    assert_eq!(time, Some(u64::from(version).to_be_bytes().to_vec()), "{what}");
    assert_eq!(snapshot.meta(INTENT).expect("reads"), None, "{what}: no intent is left");
}

fn first_version(folder: &Folder) -> (Store, MicroDbId) {
    let store = folder.open();
    let owner = store.allocate_microdb().expect("allocates");
    let first = version(&store, owner, 0);
    store.write(first).expect("writes");
    store.flush().expect("flushes");
    (store, owner)
}

#[test]
fn a_batch_in_files_is_the_same_as_one_in_the_log() {
    let folder = Folder::new("same");
    let (store, owner) = first_version(&folder);
    assert_holds(&store, owner, 0, "through the log");
    let before = store.snapshot();
    for number in 1..5 {
        let mut batch = version(&store, owner, number);
        store.set_aside(&mut batch).expect("writes files");
        assert!(batch.is_set_aside() && folder.side_files() >= 6, "{} files", folder.side_files());
        assert_holds(&store, owner, number - 1, "not written yet");
        store.write(batch).expect("writes");
        store.flush().expect("flushes");
        assert_eq!(folder.side_files(), 0);
        assert_holds(&store, owner, number, "in files");
    }
    assert_eq!(
        before.get_impersonal(CITIES, &RowKey::new(&[0; 4])).expect("reads"),
        Some(row(0, 0)),
        "an older snapshot"
    );
    let mut batch = version(&store, owner, 5);
    batch.side_files = Some(store.begin_side_files().expect("begins"));
    store.write_aside(&mut batch).expect("writes files");
    batch.append(version(&store, owner, 6));
    store.set_aside(&mut batch).expect("writes files");
    store.write(batch).expect("writes");
    assert_holds(&store, owner, 6, "in two pieces, of which the later is newer");
    let mut batch = version(&store, owner, 7);
    store.set_aside(&mut batch).expect("writes files");
    drop(batch);
    assert_eq!(folder.side_files(), 0, "what comes to nothing leaves nothing");
    assert!(!store.side_folder().holds_before(u64::MAX));
    assert_holds(&store, owner, 6, "dropped");
    drop((store, before));
    assert_holds(&folder.open(), owner, 6, "opened again");
}

#[test]
fn a_range_that_a_batch_deletes_takes_what_comes_before_it_in_the_batch() {
    let folder = Folder::new("range");
    let (store, owner) = first_version(&folder);
    let mut batch = version(&store, owner, 2);
    store.drop_relation(&mut batch, CITIES);
    for number in 0..ROWS / 2 {
        batch.put_impersonal(&store, CITIES, &RowKey::new(&number.to_be_bytes()), &row(9, number), 1).expect("seals");
    }
    batch.delete_impersonal(CITIES, &RowKey::new(&1_u32.to_be_bytes()));
    store.set_aside(&mut batch).expect("writes files");
    assert!(batch.is_set_aside());
    store.write(batch).expect("writes");
    let rows: Vec<(RowKey, Row)> = store.snapshot().scan(CITIES, false).map(|row| row.expect("reads")).collect();
    let expected = (0..ROWS / 2).filter(|number| *number != 1);
    let expected: Vec<_> = expected.map(|number| (RowKey::new(&number.to_be_bytes()), row(9, number))).collect();
    assert!(rows == expected, "{} of {} rows", rows.len(), expected.len());
}

/// Sets a batch aside and writes it so far: its intent if told, and the files of so many families.
fn write_so_far(store: &Store, mut batch: Batch, families: Option<usize>) -> SideFiles {
    store.set_aside(&mut batch).expect("writes files");
    let side = batch.side_files.take().expect("it is large");
    let Some(families) = families else { return side };
    batch.put_meta(store, INTENT, &side.encode());
    store.write_to_log(batch, &Batch::default()).expect("writes");
    store.flush().expect("flushes");
    for family in families_of(&side.files).into_iter().take(families) {
        store.take_in_family(family, &side.id, &side.files).expect("takes in");
    }
    side
}

#[test]
fn killed_anywhere_it_is_all_there_or_nothing_is() {
    let folder = Folder::new("killed");
    let (store, owner) = first_version(&folder);
    drop(store);
    for families in [None, Some(0), Some(1), Some(2), Some(3)] {
        let what = format!("killed after {families:?} families");
        let lived = folder.killed(None, "lived");
        let store = lived.open();
        let side = write_so_far(&store, version(&store, owner, 1), families);
        let killed = lived.killed(Some(&store), "left");
        drop((side, store));
        let checked = Store::open(&killed.options(Mode::Check)).map(|_| ());
        match families {
            None | Some(3) => assert!(checked.is_ok(), "{what}: {checked:?}"),
            Some(_) => assert!(matches!(checked, Err(StorageError::Unfinished { .. })), "{what}: {checked:?}"),
        }
        let store = killed.open();
        assert_holds(&store, owner, u8::from(families.is_some()), &what);
        assert_eq!(killed.side_files(), 0, "{what}");
        // What is written now is newer, also at a start that finds the intent gone.
        store.write(version(&store, owner, 2)).expect("writes");
        store.flush().expect("flushes");
        drop(store);
        assert_holds(&killed.open(), owner, 2, &format!("{what}, and written to since"));
    }
}

#[test]
fn a_file_that_is_gone_or_cut_is_refused_by_name() {
    let folder = Folder::new("gone");
    let (store, owner) = first_version(&folder);
    let side = write_so_far(&store, version(&store, owner, 1), Some(1));
    let last = side.files.iter().rev().find(|file| file.family == Family::Owners).expect("there are owners");
    let path = |folder: &Folder| last.path(&folder.0.join("ingest"), &side.id);
    let gone = folder.killed(Some(&store), "without");
    fs::remove_file(path(&gone)).expect("removes");
    let opened = Store::open(&gone.options(Mode::Serve)).map(|_| ());
    assert!(
        matches!(&opened, Err(StorageError::FileMissing { path: missing }) if *missing == path(&gone)),
        "{opened:?}"
    );
    let cut = folder.killed(Some(&store), "cut");
    let bytes = fs::read(path(&cut)).expect("reads");
    fs::write(path(&cut), &bytes[..bytes.len() - 1]).expect("cuts");
    let opened = Store::open(&cut.options(Mode::Serve)).map(|_| ());
    assert!(
        matches!(&opened, Err(StorageError::FileDamaged { path: damaged, .. }) if *damaged == path(&cut)),
        "{opened:?}"
    );
    let salvaged = Store::open(&cut.options(Mode::Salvage)).expect("what can be read is read");
    assert!(salvaged.take_notices().iter().any(|notice| notice.contains("to be finished")));
}

#[test]
fn an_intent_is_read_back_whole_or_not_at_all() {
    let id = [7; 8];
    let files = [(Family::Rows, 0, 1 << 40), (Family::Subjects, 513, 9)];
    let files = files.map(|(family, number, bytes)| SideFile { family, number, bytes }).to_vec();
    let mut intent = id.to_vec();
    for SideFile { family, number, bytes } in &files {
        intent.push(*family as u8);
        intent.extend_from_slice(&number.to_be_bytes());
        intent.extend_from_slice(&bytes.to_be_bytes());
    }
    assert_eq!(decode(&intent), Some((id, files)));
    for cut in (0..intent.len()).filter(|cut| cut % 13 != 8) {
        assert_eq!(decode(&intent[..cut]), None, "cut at {cut}");
    }
    intent[8] = 77;
    assert_eq!(decode(&intent), None, "no such family");
}
