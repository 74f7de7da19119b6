//! Erasure and its receipts: the key is gone at once, the bytes after a reclamation, and a crash in between is rolled forward.

#[path = "support/folder.rs"]
mod support;

use std::fs;
use std::ops::RangeInclusive;

use repr::{MicroDbId, RowKey};
use storage::audit::{
    AuditOperation, AuditPayload, EntryRange, LoggedEntry, Mentioned, Receipt, ReceiptRequest, ReceiptTable,
    VerifyError, verify_capsule, verify_receipt,
};
use storage::{Batch, ErasurePace, PassStep, Reclaim, Snapshot, StorageError, Store, ViewsMerged};
use support::{Folder, PEOPLE, entry, put, row};

fn receipt(store: &Store, subject: MicroDbId) -> Receipt {
    receipt_of(store, subject, &[])
}

fn receipt_of(store: &Store, subject: MicroDbId, parts: &[&str]) -> Receipt {
    let table = |table: &str| ReceiptTable { table: table.into(), deleted: 1, anonymized: 2, disowned: 3 };
    store.sign_receipt(&ReceiptRequest {
        time_us: 5,
        subject,
        parts: parts.iter().copied().map(String::from).collect(),
        tables: vec![table("people"), table("a \"b\" é")],
        plan: [9; 32],
    })
}

fn add_person(store: &Store, name: &str) -> (MicroDbId, RowKey) {
    let person = store.allocate_microdb().expect("allocates");
    let key = store.hash_key(PEOPLE, name.as_bytes());
    let mut batch = Batch::default();
    put(&mut batch, store, PEOPLE, &key, name.as_bytes(), &[person]);
    batch.put_subject(PEOPLE, &key, person);
    batch.append_audit(store, &entry(AuditOperation::Insert, &[person])).expect("records");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    (person, key)
}

/// The batch of an erasure, as the engine writes it.
fn forget(store: &Store, person: MicroDbId, key: &RowKey) -> Receipt {
    let receipt = receipt(store, person);
    let mut batch = Batch::default();
    batch.delete_copy(PEOPLE, key, person);
    batch.delete_owner(PEOPLE, key, person);
    batch.delete_subject(PEOPLE, key, person);
    batch.append_receipt(store, &receipt, &entry(AuditOperation::Forget, &[person])).expect("records");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    receipt
}

#[test]
fn a_crash_between_receipt_and_key_is_rolled_forward() {
    let folder = Folder::new("forward");
    let store = folder.open();
    let (ann, ann_key) = add_person(&store, "ann canary QX7");
    let (bob, bob_key) = add_person(&store, "bob canary QX8");
    let receipt = forget(&store, ann, &ann_key);
    assert!(store.key_exists(ann).expect("reads"));
    drop(store);
    let store = folder.open();
    assert!(!store.key_exists(ann).expect("reads"), "the receipt destroys the key");
    assert!(store.key_exists(bob).expect("reads"));
    assert_eq!(store.snapshot().get_personal(PEOPLE, &bob_key).expect("reads"), Some(row(b"bob canary QX8")));
    let stored = store.snapshot().receipt(&receipt.id()).expect("reads").expect("is there");
    assert_eq!((stored.number, stored.text.as_str(), stored.microdb), (1, receipt.text(), Some(ann)));
    assert_eq!(store.snapshot().receipts(1..=u64::MAX, false).count(), 1);
}

#[test]
fn a_receipt_of_a_part_destroys_no_key() {
    let folder = Folder::new("part");
    let store = folder.open();
    let (ann, ann_key) = add_person(&store, "ann stays");
    let receipt = receipt_of(&store, ann, &["notes", "people (phone)"]);
    let mut batch = Batch::default();
    batch.append_receipt(&store, &receipt, &entry(AuditOperation::Forget, &[ann])).expect("records");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    let public = store.public_key();
    drop(store);
    for _ in 0..2 {
        let store = folder.open();
        assert!(store.key_exists(ann).expect("reads"), "nothing is rolled forward");
        assert_eq!(store.snapshot().get_personal(PEOPLE, &ann_key).expect("reads"), Some(row(b"ann stays")));
        let stored = store.snapshot().receipt(&receipt.id()).expect("reads").expect("is there");
        assert_eq!((stored.number, stored.microdb), (1, None));
    }
    let summary = verify_receipt(&public, receipt.text().as_bytes()).expect("is genuine");
    assert_eq!(
        (summary.key_destroyed, summary.parts.as_slice()),
        (None, ["notes", "people (phone)"].map(String::from).as_slice())
    );
    let forged = receipt.text().replace("in part ", "");
    assert_eq!(verify_receipt(&public, forged.as_bytes()), Err(VerifyError::Signature));
}

#[test]
fn an_old_keyring_does_not_bring_a_person_back() {
    let folder = Folder::new("old-keyring");
    let store = folder.open();
    let (ann, ann_key) = add_person(&store, "ann");
    let (bob, bob_key) = add_person(&store, "bob");
    let old = fs::read(folder.0.join("keyring")).expect("reads");
    for (person, key) in [(ann, &ann_key), (bob, &bob_key)] {
        forget(&store, person, key);
        store.destroy_keys(&[person]).expect("destroys");
    }
    drop(store);
    drop(folder.open());
    fs::write(folder.0.join("keyring"), old).expect("restores the keyring of a backup");
    let store = folder.open();
    for person in [ann, bob] {
        assert!(!store.key_exists(person).expect("reads"));
    }
}

#[test]
fn after_a_reclamation_no_file_holds_a_byte_of_the_person() {
    let folder = Folder::new("canary");
    let store = folder.open();
    let name = "canary-7f3a91c2-erase-me";
    let (ann, key) = add_person(&store, name);
    let (bob, bob_key) = add_person(&store, "bob stays");
    assert!(folder.find(name.as_bytes()).is_empty(), "never in clear");
    // The sealed row and the wrapped key as an attacker who copied the disk before would know them.
    let keyring = fs::read(folder.0.join("keyring")).expect("reads");
    store.reclaim(&[Reclaim::Everything]).expect("flushes");
    let held = store.snapshot();
    forget(&store, ann, &key);
    store.destroy_keys(&[ann]).expect("destroys");
    let stale = held.get_personal(PEOPLE, &key);
    assert!(matches!(stale, Err(StorageError::KeyDestroyed)), "an older snapshot cannot read it either");
    drop(held);
    // Ann has the first slot: both copies of her wrapped key.
    for copy in [8192, 8192 + 4096] {
        assert!(folder.find(&keyring[copy + 8..copy + 56]).is_empty(), "the wrapped key is gone at once");
    }
    let row_key: &[u8] = key.bytes();
    store.reclaim(&[Reclaim::Everything]).expect("compacts");
    assert_eq!(folder.find(row_key), Vec::<std::path::PathBuf>::new(), "nothing names the row any more");
    assert!(!folder.find(bob_key.bytes()).is_empty(), "the search finds what is there");
    assert_eq!(store.snapshot().get_personal(PEOPLE, &bob_key).expect("reads"), Some(row(b"bob stays")));
    assert!(store.key_exists(bob).expect("reads"));
}

#[test]
fn a_pass_ends_though_nothing_was_written_since_buffers_went_to_files() {
    let folder = Folder::new("quiet");
    let store = folder.open();
    let (ann, key) = add_person(&store, "ann");
    forget(&store, ann, &key);
    store.destroy_keys(&[ann]).expect("destroys");
    assert!(store.owing().is_some());
    // The newest log is new, and stays as it is.
    store.settle().expect("flushes");
    let pace = ErasurePace { now_us: &|| 1, bytes_per_second: &|| None, views: &|| ViewsMerged::Yes, stops: &|| false };
    let step = store.erase(&pace).expect("rewrites");
    assert!(matches!(step, PassStep::Cleaned { erasures: 1, .. }), "{step:?}");
    assert!(store.owing().is_none());
}

#[test]
fn a_receipt_is_checked_offline_and_no_byte_of_it_can_change() {
    let folder = Folder::new("receipt");
    let store = folder.open();
    let (ann, _) = add_person(&store, "ann");
    let receipt = receipt(&store, ann);
    let public = store.public_key();
    let text = receipt.text().as_bytes();
    let summary = verify_receipt(&public, text).expect("genuine");
    assert_eq!((summary.id, summary.database), (receipt.id(), store.database_id()));
    assert_eq!((summary.time_us, summary.plan, summary.subject), (5, [9; 32], store.pseudonym(ann)));
    assert_eq!(summary.tables[1].table, "a \"b\" é");
    assert_eq!((summary.tables[0].deleted, summary.tables[0].anonymized, summary.tables[0].disowned), (1, 2, 3));
    assert_eq!(verify_receipt(&public, &[text, b"\n"].concat()), Ok(summary));
    for position in 0..text.len() {
        for bit in 0..8 {
            let mut changed = text.to_vec();
            changed[position] ^= 1 << bit;
            let last = position == text.len() - 1;
            // A closing brace that turns into white space leaves no closing brace: refused as well.
            assert!(verify_receipt(&public, &changed).is_err(), "byte {position} bit {bit} last {last}");
        }
    }
    for length in 0..text.len() {
        assert!(verify_receipt(&public, &text[..length]).is_err());
    }
    let other = Folder::new("receipt-other");
    let other = other.open();
    let forged = self::receipt(&other, other.allocate_microdb().expect("allocates"));
    assert_eq!(verify_receipt(&public, forged.text().as_bytes()), Err(VerifyError::Signature));
}

/// The log's last number and hash, as an operator publishes them.
fn head_of(snapshot: &Snapshot, public: &[u8; 32]) -> Option<(u64, [u8; 32])> {
    let mut capsule = Vec::new();
    snapshot.export_capsule(u64::MAX, &mut capsule).expect("exports");
    verify_capsule(public, &capsule, None).map(|capsule| (capsule.last, capsule.hash)).ok()
}

/// The numbers of the entries of a range.
fn numbers(snapshot: &Snapshot, range: &EntryRange) -> Vec<u64> {
    snapshot.audit(range).expect("reads").map(|entry| entry.expect("reads").number).collect()
}

fn by_number(numbers: RangeInclusive<u64>, reverse: bool) -> EntryRange {
    EntryRange { numbers, reverse, ..EntryRange::ALL }
}

fn one(snapshot: &Snapshot, number: u64) -> LoggedEntry {
    let mut entries = snapshot.audit(&by_number(number..=number, false)).expect("reads");
    entries.next().expect("is there").expect("reads")
}

/// Groups of 1, 2, 3 … entries, one each second; the last group's number.
fn write_groups(store: &Store, groups: u64) {
    for group in 1..=groups {
        let mut batch = Batch::default();
        for _ in 0..=(group % 5) {
            let mut transaction = Batch::default();
            let mut entry = entry(AuditOperation::Select, &[]);
            entry.time_us = 10_000_000 + i64::try_from(group).expect("few") * 1_000_000;
            transaction.append_audit(store, &entry).expect("records");
            batch.append(transaction);
        }
        store.write(batch).expect("writes");
    }
}

#[test]
fn entries_are_found_by_number_and_time() {
    let folder = Folder::new("entries");
    let store = folder.open();
    let (ann, _) = add_person(&store, "ann");
    let mut with_payload = entry(AuditOperation::Get, &[ann]);
    with_payload.payload = Some(AuditPayload { owner: ann, bytes: b"what she asked for".to_vec() });
    let mut batch = Batch::default();
    batch.append_audit(&store, &with_payload).expect("records");
    store.write(batch).expect("writes");
    write_groups(&store, 600);
    let snapshot = store.snapshot();
    let last = 2 + 600 * 3;
    assert_eq!(numbers(&snapshot, &EntryRange::ALL), (1..=last).collect::<Vec<_>>());
    for first in [1, 2, 3, 7, 900, last - 1, last, last + 1] {
        for end in [0, 2, 5, 6, 901, last, u64::MAX] {
            let wanted: Vec<u64> = (first..=end.min(last)).collect();
            assert_eq!(numbers(&snapshot, &by_number(first..=end, false)), wanted, "{first} to {end}");
            let backwards: Vec<u64> = wanted.into_iter().rev().collect();
            assert_eq!(numbers(&snapshot, &by_number(first..=end, true)), backwards, "{end} back to {first}");
        }
    }
    let all: Vec<LoggedEntry> =
        snapshot.audit(&EntryRange::ALL).expect("reads").map(|entry| entry.expect("reads")).collect();
    for first in [i64::MIN, 0, 10_000_000, 11_000_000, 311_000_000, 610_000_000, 611_000_000] {
        for end in [first, first.saturating_add(2_000_000), i64::MAX] {
            let range = EntryRange { times: first..=end, ..EntryRange::ALL };
            let wanted: Vec<u64> =
                all.iter().filter(|entry| range.times.contains(&entry.time_us)).map(|entry| entry.number).collect();
            assert_eq!(numbers(&snapshot, &range), wanted, "{first} to {end}");
        }
    }
    let get = one(&snapshot, 2);
    assert_eq!((get.operation, get.subjects.as_slice()), (AuditOperation::Get, [store.pseudonym(ann)].as_slice()));
    assert_eq!(snapshot.audit_payload(&get).expect("opens"), Some(b"what she asked for".to_vec()));
}

#[test]
fn entries_are_found_by_whom_they_mention() {
    let folder = Folder::new("postings");
    let store = folder.open();
    let people: Vec<MicroDbId> = (0..5).map(|_| store.allocate_microdb().expect("allocates")).collect();
    let write = |number: usize| {
        let mut batch = Batch::default();
        let mut one = entry(AuditOperation::Select, &[people[number % 5], people[number % 3]]);
        one.scope.may_be_more = number.is_multiple_of(7);
        batch.append_audit(&store, &one).expect("records");
        store.write(batch).expect("writes");
    };
    let check = |when: &str| {
        let snapshot = store.snapshot();
        let all: Vec<LoggedEntry> =
            snapshot.audit(&EntryRange::ALL).expect("reads").map(|entry| entry.expect("reads")).collect();
        let person = |number: usize| Mentioned::Person(store.pseudonym(people[number]));
        let asked = [
            vec![person(0)],
            vec![person(4)],
            vec![person(1), Mentioned::Unlisted(PEOPLE)],
            vec![Mentioned::Role(11)],
            vec![Mentioned::Role(12)],
            vec![Mentioned::Table(PEOPLE)],
        ];
        for (mentioned, numbers) in
            asked.iter().zip([1..=u64::MAX, 200..=700, 1..=u64::MAX, 256..=257, 1..=u64::MAX, 255..=513])
        {
            let range = by_number(numbers, false);
            let wanted: Vec<u64> = all
                .iter()
                .filter(|entry| range.numbers.contains(&entry.number) && mentioned.iter().any(|one| one.is_in(entry)))
                .map(|entry| entry.number)
                .collect();
            let found: Vec<u64> = snapshot
                .audit_of(mentioned, &range)
                .expect("reads")
                .map(|entry| entry.expect("reads").number)
                .collect();
            assert_eq!(found, wanted, "{when}: {mentioned:?}");
        }
    };
    (0..700).for_each(write);
    check("before there are postings");
    assert!(store.post_audit(1).expect("posts"), "one more segment is full");
    check("of one segment");
    assert!(!store.post_audit(5).expect("posts"));
    check("of two");
    (700..800).for_each(write);
    store.post_audit(5).expect("posts");
    check("of three");
    // So many in one record that no segment has to be full.
    let mut batch = Batch::default();
    for number in 0..17_000 {
        batch.append_audit(&store, &entry(AuditOperation::Select, &[people[number % 4]])).expect("records");
    }
    store.write(batch).expect("writes");
    check("of many at once");
    assert!(!store.post_audit(5).expect("posts"));
    write(3);
    check("of many at once, by their postings");
}

#[test]
fn the_log_is_chained_and_sealed() {
    let folder = Folder::new("log");
    let store = folder.open();
    let (ann, key) = add_person(&store, "ann");
    write_groups(&store, 600);
    let snapshot = store.snapshot();
    let public = store.public_key();
    let head = head_of(&snapshot, &public);
    // Each group is one record.
    for (from, first) in [(1, 1), (256, 1), (257, 257), (600, 513)] {
        let mut capsule = Vec::new();
        assert!(snapshot.export_capsule(from, &mut capsule).expect("exports"));
        let summary = verify_capsule(&public, &capsule, head).expect("genuine");
        assert_eq!((summary.first, summary.last, Some((summary.last, summary.hash))), (first, 601, head));
        assert!(verify_capsule(&[7; 32], &capsule, None).is_err());
        for position in (0..capsule.len()).step_by(if first == 513 { 1 } else { 101 }) {
            let mut changed = capsule.clone();
            changed[position] ^= 4;
            assert!(verify_capsule(&public, &changed, None).is_err(), "byte {position} from {from}");
        }
        assert!(verify_capsule(&public, &capsule[..capsule.len() - 1], None).is_err());
    }
    let mut older = Vec::new();
    snapshot.export_capsule(1, &mut older).expect("exports");
    forget(&store, ann, &key);
    store.destroy_keys(&[ann]).expect("destroys");
    let now = store.snapshot();
    let published = head_of(&now, &public);
    assert_eq!(verify_capsule(&public, &older, published), Err(VerifyError::Truncated));
    let mut capsule = Vec::new();
    now.export_capsule(1, &mut capsule).expect("exports");
    verify_capsule(&public, &capsule, published).expect("an erasure does not break the chain");
    verify_capsule(&public, &capsule, head).expect("it still holds the head published before");
    let last = one(&now, 1 + 600 * 3 + 1);
    assert_eq!(last.operation, AuditOperation::Forget);
    assert!(last.commitment.is_some(), "the log vouches for the receipt");
    // The chain goes on after reopening, and so do numbers and times.
    drop((snapshot, now, store));
    let store = folder.open();
    add_person(&store, "bob");
    write_groups(&store, 7);
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(1, &mut capsule).expect("exports");
    assert_eq!(verify_capsule(&public, &capsule, published).expect("genuine").last, 610);
    let snapshot = store.snapshot();
    let last = numbers(&snapshot, &EntryRange::ALL).len() as u64;
    assert_eq!(one(&snapshot, last).number, last);
    let latest = one(&snapshot, last).time_us;
    assert!(latest >= 610_000_000, "a clock that was set back does not change the order: {latest}");
}

#[test]
fn a_payload_dies_with_its_person() {
    let folder = Folder::new("payload");
    let store = folder.open();
    let (ann, key) = add_person(&store, "ann");
    let mut with_payload = entry(AuditOperation::Get, &[ann]);
    with_payload.payload = Some(AuditPayload { owner: ann, bytes: b"what she asked for".to_vec() });
    let mut batch = Batch::default();
    batch.append_audit(&store, &with_payload).expect("records");
    store.write(batch).expect("writes");
    forget(&store, ann, &key);
    store.destroy_keys(&[ann]).expect("destroys");
    let now = store.snapshot();
    assert!(matches!(now.audit_payload(&one(&now, 2)), Err(StorageError::KeyDestroyed)));
}

#[test]
fn of_many_people_only_the_number_is_kept() {
    let folder = Folder::new("many");
    let store = folder.open();
    let people: Vec<_> = (0..1500).map(|_| store.allocate_microdb().expect("allocates")).collect();
    let mut batch = Batch::default();
    batch.append_audit(&store, &entry(AuditOperation::Select, &people)).expect("records");
    store.write(batch).expect("writes");
    let entry = one(&store.snapshot(), 1);
    assert_eq!((entry.subjects_total, entry.subjects.len(), entry.scope.may_be_more), (1500, 0, true));
    assert!(entry.commitment.is_some());
}
