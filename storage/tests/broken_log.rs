//! The audit log in the folder, changed in every way by somebody who has the files and not the keys: refused at the start, found by
//! `check` with its place, or said by whoever reads; never passed over.

#[path = "support/folder.rs"]
mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use repr::MicroDbId;
use rocksdb::{DB, Options};
use storage::audit::{AuditOperation, EntryRange, Mentioned, VerifyError, read_heads, verify_capsule};
use storage::check::{Problem, check};
use storage::{Batch, StorageError, Store};
use support::{Folder, copy_folder, entry};

const RECORDS: u64 = 600;

fn person(number: u64) -> MicroDbId {
    MicroDbId(u128::from(number).to_be_bytes())
}

/// A record each, every hundredth of somebody rare; a receipt in the middle.
fn filled(store: &Store) {
    for number in 1..=RECORDS {
        let mut batch = Batch::default();
        let about = person(if number % 100 == 0 { 7 } else { number });
        batch.append_audit(store, &entry(AuditOperation::Select, &[about])).expect("records");
        store.write(batch).expect("writes");
    }
    store.post_audit(10).expect("posts");
}

/// The same folder, in which `change` has changed the log's family.
fn changed(of: &Folder, change: impl FnOnce(&DB, &rocksdb::ColumnFamily)) -> Folder {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("broken-log-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    copy_folder(&of.0, &folder.0);
    let rocks = folder.0.join("rocks");
    let families = DB::list_cf(&Options::default(), &rocks).expect("lists");
    let db = DB::open_cf(&Options::default(), &rocks, families).expect("opens");
    change(&db, db.cf_handle("audit").expect("there is a log"));
    db.flush_wal(true).expect("flushes");
    drop(db);
    folder
}

fn key(kind: u8, number: u64) -> Vec<u8> {
    [[kind].as_slice(), &number.to_be_bytes()].concat()
}

fn refused(folder: &Folder) -> String {
    Store::open(&folder.options()).map(|_| ()).expect_err("refused").to_string()
}

/// What `check` finds of the log.
fn found(folder: &Folder) -> Vec<String> {
    let store = folder.open();
    let report = check(&store.snapshot(), &[]);
    let of_log = |problem: &Problem| match problem {
        Problem::Audit(error) => Some(error.to_string()),
        Problem::Postings(record) => Some(format!("postings {record}")),
        Problem::Unreadable { relation: None, error } => Some(error.to_string()),
        _ => None,
    };
    report.problems.iter().filter_map(of_log).collect()
}

fn numbers(store: &Store, mentioned: Option<Mentioned>, range: &EntryRange) -> Result<Vec<u64>, StorageError> {
    let snapshot = store.snapshot();
    let entries = match mentioned {
        Some(one) => snapshot.audit_of(&[one], range)?,
        None => snapshot.audit(range)?,
    };
    entries.map(|entry| entry.map(|entry| entry.number)).collect()
}

#[test]
fn a_head_that_does_not_fit_is_refused() {
    let folder = Folder::new("broken-head");
    filled(&folder.open());
    assert_eq!(found(&folder), Vec::<String>::new());
    let older = {
        let copy = Folder::new("broken-head-older");
        copy_folder(&folder.0, &copy.0);
        let rocks = copy.0.join("rocks");
        let db = DB::open_cf(&Options::default(), &rocks, DB::list_cf(&Options::default(), &rocks).expect("lists"));
        let db = db.expect("opens");
        db.get_cf(db.cf_handle("audit").expect("there is a log"), [2]).expect("reads").expect("there is a head")
    };
    // It goes on: the head of before is a genuine one.
    let mut batch = Batch::default();
    {
        let store = folder.open();
        batch.append_audit(&store, &entry(AuditOperation::Select, &[])).expect("records");
        store.write(batch).expect("writes");
    }
    let broken = "the audit log's head fails its signature";
    assert_eq!(refused(&changed(&folder, |db, log| db.delete_cf(log, [2]).expect("deletes"))), broken);
    for byte in (0..older.len()).step_by(9) {
        let head = changed(&folder, |db, log| {
            let mut head = db.get_cf(log, [2]).expect("reads").expect("there is a head");
            head[byte] ^= 4;
            db.put_cf(log, [2], head).expect("puts");
        });
        assert_eq!(refused(&head), broken, "byte {byte}");
    }
    let end = |record: u64| format!("the audit log does not end with record {record} as its head says: it was changed");
    assert_eq!(refused(&changed(&folder, |db, log| db.put_cf(log, [2], &older).expect("puts"))), end(RECORDS));
    let last = key(1, RECORDS + 1);
    assert_eq!(refused(&changed(&folder, |db, log| db.delete_cf(log, &last).expect("deletes"))), end(RECORDS + 1));
    let swapped = |db: &DB, log: &rocksdb::ColumnFamily| {
        let other = db.get_cf(log, key(1, 5)).expect("reads").expect("there is one");
        db.put_cf(log, &last, other).expect("puts");
    };
    assert_eq!(refused(&changed(&folder, swapped)), end(RECORDS + 1));
    let added = |db: &DB, log: &rocksdb::ColumnFamily| db.put_cf(log, key(1, RECORDS + 2), [2]).expect("puts");
    assert_eq!(refused(&changed(&folder, added)), end(RECORDS + 1));
}

#[test]
fn a_record_that_is_missing_or_changed_is_found_and_not_passed_over() {
    let folder = Folder::new("broken-record");
    filled(&folder.open());
    for record in [1, 2, 255, 256, 257, 512, 599] {
        let gone = changed(&folder, |db, log| db.delete_cf(log, key(1, record)).expect("deletes"));
        let chain = VerifyError::Chain { after: record - 1 }.to_string();
        assert_eq!(found(&gone), [chain.as_str()], "record {record} is gone");
        let store = gone.open();
        let missing = format!("record {record} of the audit log is missing: \"dogwood check\" tells what is left");
        let all = numbers(&store, None, &EntryRange::ALL);
        assert_eq!(all.expect_err("it is missed").to_string(), missing);
        let reverse = EntryRange { reverse: true, ..EntryRange::ALL };
        assert_eq!(numbers(&store, None, &reverse).expect_err("it is missed").to_string(), missing);
        let to_it = EntryRange { numbers: 1..=record, ..EntryRange::ALL };
        assert!(numbers(&store, None, &to_it).is_err(), "at the end of what is asked for");
        let mut capsule = Vec::new();
        assert!(store.snapshot().export_capsule(1, &mut capsule).is_err(), "nor exported");
        assert!(store.snapshot().prove(record, None).is_err(), "nor proved");
        drop(store);
        let bit = changed(&folder, |db, log| {
            let mut stored = db.get_cf(log, key(1, record)).expect("reads").expect("there is one");
            // Within the last entry.
            let place = stored.len() - 2;
            stored[place] ^= 1;
            db.put_cf(log, key(1, record), stored).expect("puts");
        });
        assert_eq!(found(&bit).len(), 1, "record {record} is changed");
        let store = bit.open();
        let mut capsule = Vec::new();
        store.snapshot().export_capsule(1, &mut capsule).expect("exports");
        let verified = verify_capsule(&store.public_key(), &capsule, None);
        assert!(matches!(verified, Err(VerifyError::Chain { after }) if after == record), "{verified:?}");
    }
}

#[test]
fn checkpoints_and_postings_are_held_to_the_records() {
    let folder = Folder::new("broken-derived");
    filled(&folder.open());
    let checkpoint = VerifyError::Checkpoint { sequence: 256 }.to_string();
    let gone = changed(&folder, |db, log| db.delete_cf(log, key(3, 256)).expect("deletes"));
    assert_eq!(found(&gone), [checkpoint.as_str()]);
    let other = changed(&folder, |db, log| {
        let other = db.get_cf(log, key(3, 512)).expect("reads").expect("there is one");
        db.put_cf(log, key(3, 256), other).expect("puts");
    });
    assert_eq!(found(&other), [checkpoint.as_str()]);
    // A capsule from there on is refused, too.
    let mut capsule = Vec::new();
    let store = other.open();
    store.snapshot().export_capsule(300, &mut capsule).expect("exports");
    assert!(verify_capsule(&store.public_key(), &capsule, None).is_err());
    drop(store);
    let rare = |store: &Store| Mentioned::Person(store.pseudonym(person(7)));
    {
        let store = folder.open();
        let about = numbers(&store, Some(rare(&store)), &EntryRange::ALL).expect("reads");
        assert_eq!(about, [7, 100, 200, 300, 400, 500, 600]);
    }
    // Somebody makes the log silent on a person.
    let name = folder.open().pseudonym(person(7));
    let shelf = [[12, name[0] / 4].as_slice(), &256_u64.to_be_bytes()].concat();
    let silent = changed(&folder, |db, log| {
        assert!(db.get_cf(log, &shelf).expect("reads").is_some());
        db.delete_cf(log, &shelf).expect("deletes");
    });
    assert_eq!(found(&silent), ["postings 257"]);
    let another = changed(&folder, |db, log| {
        let people = db.get_cf(log, &shelf).expect("reads").expect("there is one");
        let others: Vec<u8> = people.chunks(4).filter(|one| one[..3] != name[1..4]).flatten().copied().collect();
        assert_eq!(people.len() - others.len(), 12, "three of its records");
        db.put_cf(log, &shelf, others).expect("puts");
    });
    assert_eq!(found(&another), ["postings 257"]);
    let begins = changed(&folder, |db, log| db.delete_cf(log, key(11, 256)).expect("deletes"));
    assert_eq!(found(&begins), ["postings 1"]);
}

/// Whose the record of a number is.
fn whose(number: u64) -> MicroDbId {
    person(if number.is_multiple_of(100) { 7 } else { number })
}

/// As a version before made postings: a key for each person in each run.
fn with_keys_for_people(of: &Folder) -> Folder {
    let name = {
        let store = of.open();
        move |number: u64| store.pseudonym(whose(number))
    };
    let names: Vec<[u8; 16]> = (0..=RECORDS).map(name).collect();
    changed(of, |db, log| {
        let runs = [0, 256, RECORDS];
        let posted: Vec<&[u64]> =
            runs.windows(2).filter(|run| db.get_cf(log, key(11, run[0])).expect("reads").is_some()).collect();
        for run in posted {
            db.put_cf(log, key(11, run[0]), []).expect("puts");
            for shelf in 0..64 {
                let stored = [[12, shelf].as_slice(), &run[0].to_be_bytes()].concat();
                db.delete_cf(log, stored).expect("deletes");
            }
            for record in run[0] + 1..=(run[0] + 256).min(RECORDS) {
                let own = [[7, 1].as_slice(), &names[record as usize], &run[0].to_be_bytes()].concat();
                let mut places = db.get_cf(log, &own).expect("reads").unwrap_or_default();
                places.push((record - run[0] - 1) as u8);
                db.put_cf(log, &own, places).expect("puts");
            }
        }
    })
}

#[test]
fn postings_of_a_version_before_are_read_checked_and_dropped_beside_new_ones() {
    let folder = Folder::new("postings-of-before");
    filled(&folder.open());
    let before = with_keys_for_people(&folder);
    assert_eq!(found(&before), Vec::<String>::new());
    let name = before.open().pseudonym(person(7));
    let about =
        |folder: &Folder| numbers(&folder.open(), Some(Mentioned::Person(name)), &EntryRange::ALL).expect("reads");
    assert_eq!(about(&before), [7, 100, 200, 300, 400, 500, 600]);
    let silent = changed(&before, |db, log| {
        let own = [[7, 1].as_slice(), &name, &256_u64.to_be_bytes()].concat();
        let places = db.get_cf(log, &own).expect("reads").expect("there is one");
        db.put_cf(log, &own, &places[1..]).expect("puts");
    });
    assert_eq!(found(&silent), ["postings 257"]);
    // It goes on with the others.
    filled(&before.open());
    assert_eq!(found(&before), Vec::<String>::new());
    let all: Vec<u64> =
        [0, RECORDS].iter().flat_map(|from| [7, 100, 200, 300, 400, 500, 600].map(|number| from + number)).collect();
    assert_eq!(about(&before), all);
    let store = before.open();
    while store.drop_audit_before(i64::MAX, 1).expect("drops") {}
    drop(store);
    assert_eq!(about(&before), [1100, 1200], "of the last segment");
    assert_eq!(found(&before), Vec::<String>::new());
    let left = changed(&before, |db, log| {
        let start = rocksdb::IteratorMode::Start;
        let of_people = |key: &[u8]| key.starts_with(&[12]) || key.starts_with(&[7, 1]);
        let keys: Vec<Box<[u8]>> =
            db.iterator_cf(log, start).flatten().map(|(key, _)| key).filter(|key| of_people(key)).collect();
        assert_eq!(keys.len(), 0, "{keys:?}");
    });
    drop(left);
}

#[test]
fn a_head_is_signed_between_checkpoints_and_in_folders_of_before() {
    let folder = Folder::new("signed-head");
    let store = folder.open();
    filled(&store);
    let line = store.snapshot().head_line().expect("reads").expect("there is one");
    let head = read_heads(&store.public_key(), line.text.as_bytes()).expect("it is signed").remove(0);
    assert_eq!(head.sequence, RECORDS, "no checkpoint is there");
    let value: serde_json::Value = serde_json::from_str(&line.text).expect("an object");
    drop(store);
    let digits = |name: &str| {
        let text = value[name].as_str().expect("digits");
        (0..text.len() / 2)
            .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("digits"))
            .collect::<Vec<u8>>()
    };
    // A folder of before has the signature where a code stands now.
    let signed = [&RECORDS.to_be_bytes()[..], &0_u64.to_be_bytes(), &digits("hash"), &digits("signature")].concat();
    let older = changed(&folder, |db, log| db.put_cf(log, [2], &signed).expect("puts"));
    assert_eq!(found(&older), Vec::<String>::new());
    let store = older.open();
    let mut batch = Batch::default();
    batch.append_audit(&store, &entry(AuditOperation::Select, &[])).expect("records");
    store.write(batch).expect("writes");
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(1, &mut capsule).expect("exports");
    let heads = [(head.sequence, head.hash)];
    assert_eq!(verify_capsule(&store.public_key(), &capsule, heads).expect("genuine").last, RECORDS + 1);
}
