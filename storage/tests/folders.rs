//! Every file of a data folder, damaged in every way: refused by name, or opened with everything acknowledged there. Never
//! less, never worse after a second try; and whoever only checks writes nothing.

#[path = "support/folder.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use repr::{MicroDbId, RelationId, RowKey};
use storage::audit::{AuditOperation, ReceiptRequest, ReceiptTable};
use storage::check::{Problem, check};
use storage::{Batch, Mode, Reclaim, Repair, StorageError, Store, StoreOptions};
use support::{Folder, PEOPLE, copy_folder, entry, put, row};

const CITIES: RelationId = RelationId(16_385);

const THREADS: usize = 8;

/// A folder, and what was acknowledged in it.
struct Filled {
    folder: Folder,
    people: Vec<(MicroDbId, RowKey, Vec<u8>)>,
    cities: u16,
    time: u64,
    forgotten: Vec<MicroDbId>,
}

impl Filled {
    fn new(name: &str) -> Filled {
        let filled = Filled { folder: Folder::new(name), people: vec![], cities: 0, time: 0, forgotten: vec![] };
        drop(filled.folder.open());
        filled
    }

    fn commit(&mut self, store: &Store, mut batch: Batch) {
        self.time += 1;
        batch.put_commit_time(store, self.time);
        store.write(batch).expect("writes");
        store.flush().expect("flushes");
    }

    /// A day: commits in files and in the log, an erasure.
    fn work(&mut self) {
        let store = self.folder.open();
        for round in 0..2 {
            for _ in 0..20 {
                let number = self.people.len() + self.forgotten.len();
                let name = format!("person {number}").into_bytes();
                let (person, key) = (store.allocate_microdb().expect("allocates"), store.hash_key(PEOPLE, &name));
                let mut batch = Batch::default();
                put(&mut batch, &store, PEOPLE, &key, &name, &[person]);
                batch.put_subject(PEOPLE, &key, person);
                let city = RowKey::new(&self.cities.to_be_bytes());
                batch.put_impersonal(&store, CITIES, &city, &row(&self.cities.to_be_bytes()), 1).expect("seals");
                self.cities += 1;
                batch.append_audit(&store, &entry(AuditOperation::Insert, &[person])).expect("records");
                self.commit(&store, batch);
                self.people.push((person, key, name));
            }
            self.forget(&store);
            if round == 0 {
                store.reclaim(&[Reclaim::Everything]).expect("flushes");
            }
        }
    }

    fn forget(&mut self, store: &Store) {
        let (person, key, _) = self.people.remove(3);
        let table = ReceiptTable { table: "people".into(), deleted: 1, anonymized: 0, disowned: 0 };
        let request =
            ReceiptRequest { time_us: 5, subject: person, parts: Vec::new(), tables: vec![table], plan: [9; 32] };
        let mut batch = Batch::default();
        batch.delete_copy(PEOPLE, &key, person);
        batch.delete_owner(PEOPLE, &key, person);
        batch.delete_subject(PEOPLE, &key, person);
        let receipt = store.sign_receipt(&request);
        batch.append_receipt(store, &receipt, &entry(AuditOperation::Forget, &[person])).expect("records");
        self.commit(store, batch);
        store.destroy_keys(&[person]).expect("destroys");
        self.forgotten.push(person);
    }

    /// That everything acknowledged is there, or refused where it is read. What was refused.
    fn refusals(&self, store: &Store) -> Vec<String> {
        let snapshot = store.snapshot();
        let mut refusals = Vec::new();
        for (_, key, name) in &self.people {
            match snapshot.get_personal(PEOPLE, key) {
                Ok(found) => assert_eq!(found, Some(row(name)), "a row is lost"),
                Err(error) => refusals.push(error.to_string()),
            }
        }
        let mut cities = 0;
        for city in snapshot.scan(CITIES, false) {
            match city {
                Ok(_) => cities += 1,
                Err(error) => refusals.push(error.to_string()),
            }
        }
        assert!(cities == self.cities || !refusals.is_empty(), "{cities} rows of {}", self.cities);
        for person in &self.forgotten {
            assert!(!store.key_exists(*person).expect("reads"), "a forgotten person is back");
        }
        let mut receipts = 0;
        for receipt in snapshot.receipts(1..=u64::MAX, false) {
            match receipt {
                Ok(_) => receipts += 1,
                Err(error) => refusals.push(error.to_string()),
            }
        }
        assert!(receipts == self.forgotten.len() || !refusals.is_empty(), "{receipts} receipts");
        refusals
    }
}

fn copied(from: &Path, name: &str) -> Folder {
    let to = Folder::new(name);
    copy_folder(from, &to.0);
    to
}

/// Every file with its content.
fn contents(folder: &Folder) -> BTreeMap<PathBuf, Vec<u8>> {
    let relative = |path: &PathBuf| path.strip_prefix(&folder.0).expect("below the folder").to_owned();
    folder.files().iter().map(|path| (relative(path), fs::read(path).expect("reads"))).collect()
}

fn with(folder: &Folder, mode: Mode) -> StoreOptions {
    StoreOptions { mode, ..folder.options() }
}

/// Yesterday's folder, today's, and another database's of today.
struct Days {
    yesterday: Folder,
    today: Filled,
    other: Filled,
}

fn days(name: &str) -> Days {
    let (mut today, mut other) = (Filled::new(&format!("{name}-today")), Filled::new(&format!("{name}-other")));
    today.work();
    let yesterday = copied(&today.folder.0, &format!("{name}-yesterday"));
    today.work();
    other.work();
    other.work();
    Days { yesterday, today, other }
}

/// What may be said of a folder that is refused: which file.
const NAMED: [&str; 11] = [
    "FORMAT",
    "witness",
    "keyring",
    "root.key",
    "public.key",
    "rocks",
    "CURRENT",
    "MANIFEST",
    ".sst",
    ".log",
    "storage engine",
];

/// One damaged folder: `what` was done to it.
fn outcome(days: &Days, damaged: &Folder, what: &str) -> &'static str {
    let before = contents(damaged);
    let checked = Store::open(&with(damaged, Mode::Check));
    let checked = checked.map(|store| {
        days.today.refusals(&store);
        let report = check(&store.snapshot(), &[]);
        report.problems.len()
    });
    assert_eq!(contents(damaged), before, "{what}: a check wrote something");
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        match Store::open(&damaged.options()) {
            Ok(store) => {
                let refusals = days.today.refusals(&store);
                outcomes.push(if refusals.is_empty() { "whole" } else { "noticed" });
            }
            Err(error) => {
                let said = error.to_string();
                assert!(NAMED.iter().any(|name| said.contains(name)), "{what}: {said}");
                outcomes.push("refused");
            }
        }
        if outcomes.last() == Some(&"refused") && checked.is_err() {
            let mut after = contents(damaged);
            // Whoever serves holds the lock.
            after.remove(Path::new("dogwood.lock"));
            let mut unlocked = before.clone();
            unlocked.remove(Path::new("dogwood.lock"));
            assert_eq!(after, unlocked, "{what}: a refused start wrote something");
        }
    }
    assert_eq!(outcomes[0], outcomes[1], "{what}: a second start sees something else");
    outcomes[0]
}

/// What a file may suffer, with what it then holds.
fn ways(days: [&BTreeMap<PathBuf, Vec<u8>>; 3], file: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let [good, yesterday, other] = days;
    let content = &good[file];
    let mut ways = vec![("missing".into(), None), ("empty".into(), Some(vec![]))];
    if content.len() > 1 {
        ways.push(("short".into(), Some(content[..content.len() / 2].to_vec())));
        ways.push(("a byte short".into(), Some(content[..content.len() - 1].to_vec())));
    }
    for part in 0..4 {
        // Its beginning, and three places along it.
        let at = content.len() * part / 4;
        let mut flipped = content.clone();
        if let Some(byte) = flipped.get_mut(at) {
            *byte ^= 0x10;
            ways.push((format!("flipped at {at}"), Some(flipped)));
        }
    }
    for (name, day) in [("of yesterday", yesterday), ("of another database", other)] {
        ways.extend(day.get(file).filter(|there| *there != content).map(|there| (name.into(), Some(there.clone()))));
    }
    ways
}

#[test]
fn every_file_damaged_in_every_way() {
    let days = days("matrix");
    let [good, yesterday, other] = [&days.today.folder, &days.yesterday, &days.other.folder].map(contents);
    let mut cases: Vec<(&PathBuf, String, Option<Vec<u8>>)> = Vec::new();
    for file in good.keys() {
        cases.extend(ways([&good, &yesterday, &other], file).into_iter().map(|(way, bytes)| (file, way, bytes)));
    }
    let damage = |thread: usize, file: &Path, way: &str, bytes: &Option<Vec<u8>>| {
        let what = format!("{} {way}", file.display());
        let damaged = copied(&days.today.folder.0, &format!("matrix-damaged-{thread}"));
        let path = damaged.0.join(file);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("damages"),
            None => fs::remove_file(&path).expect("damages"),
        }
        let outcome = outcome(&days, &damaged, &what);
        if outcome == "refused" {
            // Nothing was made worse: with the right file all is well.
            fs::copy(days.today.folder.0.join(file), &path).expect("mends");
            assert!(days.today.refusals(&damaged.open()).is_empty(), "{what}: mended");
        }
        outcome
    };
    // Mostly they wait for the disk.
    let outcomes: Vec<&str> = std::thread::scope(|scope| {
        let run = |thread| {
            let (cases, damage) = (&cases, &damage);
            let mine = cases.iter().skip(thread).step_by(THREADS);
            scope.spawn(move || mine.map(|(file, way, bytes)| damage(thread, file, way, bytes)).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("every case is as it must be")).collect()
    });
    let count = |outcome| outcomes.iter().filter(|found| **found == outcome).count();
    println!("{} damaged folders: {} refused, {} whole", outcomes.len(), count("refused"), count("whole"));
    assert!(count("refused") > 60 && count("whole") > 30);
}

#[test]
fn folders_put_together_of_two_are_refused() {
    let days = days("mixed");
    let parts: [(&str, &[&str]); 4] = [
        ("the store", &["rocks"]),
        ("keys", &["keyring", "root.key"]),
        ("all keys", &["keyring", "root.key", "public.key"]),
        ("the witness", &["witness"]),
    ];
    for (whose, from) in [("yesterday", &days.yesterday.0), ("another database", &days.other.folder.0)] {
        for (name, files) in parts {
            let what = format!("{name} of {whose}");
            let damaged = copied(&days.today.folder.0, "mixed-damaged");
            for file in files {
                let (from, to) = (from.join(file), damaged.0.join(file));
                if from.is_dir() {
                    fs::remove_dir_all(&to).expect("removes");
                    copy_folder(&from, &to);
                } else {
                    fs::copy(&from, &to).expect("copies");
                }
            }
            let outcome = outcome(&days, &damaged, &what);
            // An older witness vouches for less, and an older keyring forgets again who was forgotten.
            let may_open = whose == "yesterday" && name != "the store";
            assert!(outcome == "refused" || may_open, "{what}: {outcome}");
        }
    }
}

#[test]
fn a_store_that_is_gone_is_not_made_anew() {
    let days = days("gone");
    for gone in ["rocks", "rocks/CURRENT"] {
        let damaged = copied(&days.today.folder.0, "gone-damaged");
        let path = damaged.0.join(gone);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removes");
        for mode in [Mode::Check, Mode::Serve, Mode::Serve] {
            let refused = Store::open(&with(&damaged, mode)).err().expect("refused");
            assert!(matches!(&refused, StorageError::FileMissing { path: named } if *named == path), "{refused}");
        }
        assert!(!path.exists());
    }
}

/// Where RocksDB's records end in a log with room behind them: the last may itself end in zeros.
fn end_of_records(log: &[u8]) -> usize {
    const BLOCK_BYTES: usize = 32 << 10;
    const HEADER_BYTES: usize = 7;
    let mut at = 0;
    loop {
        let left = BLOCK_BYTES - at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            at += left;
            continue;
        }
        let Some(header) = log.get(at..at + HEADER_BYTES) else { return at.min(log.len()) };
        let (bytes, kind) = (u16::from_le_bytes([header[4], header[5]]), header[6]);
        if kind == 0 {
            return at;
        }
        // A log that is used again says in each record which it is.
        at += HEADER_BYTES + if (5..=8).contains(&kind) { 4 } else { 0 } + usize::from(bytes);
    }
}

#[test]
fn lost_commits_are_told_from_a_torn_tail() {
    let mut today = Filled::new("torn");
    today.work();
    let newest = |folder: &Folder| {
        let logs = folder.files().into_iter().filter(|path| path.extension().is_some_and(|end| end == "log"));
        logs.max().expect("a log")
    };
    let log = newest(&today.folder);
    let sound = fs::read(&log).expect("reads");
    let end = end_of_records(&sound);
    // Behind what was acknowledged stands what a power failure tore.
    let mut torn = sound[..end].to_vec();
    torn.extend_from_slice(&[0x5a; 300]);
    fs::write(&log, &torn).expect("writes");
    assert!(today.refusals(&today.folder.open()).is_empty());
    // The log of that start has replaced it; damage in the middle of a new one.
    let store = today.folder.open();
    for _ in 0..3 {
        today.forget(&store);
    }
    drop(store);
    let log = newest(&today.folder);
    let mut damaged = fs::read(&log).expect("reads");
    let third = damaged.iter().rposition(|byte| *byte != 0).expect("records") / 3;
    damaged[third] ^= 1;
    let whole = fs::read(&log).expect("reads");
    // A second block, so that what stands behind the damage can be read.
    fs::write(&log, &damaged).expect("damages");
    for mode in [Mode::Check, Mode::Serve, Mode::Serve] {
        let refused = Store::open(&with(&today.folder, mode)).err().expect("refused");
        let StorageError::CommitsLost(loss) = refused else { panic!("{refused}") };
        assert_eq!((loss.acknowledged_time, loss.acknowledged_receipts), (today.time, today.forgotten.len() as u64));
        assert!(loss.found_time < today.time && loss.found_receipts < loss.acknowledged_receipts);
        assert!(loss.damaged_log.is_some_and(|(path, _)| path == log));
    }
    // What is left can be read, and nobody who was forgotten comes back.
    let salvaged = Store::open(&with(&today.folder, Mode::Salvage)).expect("is salvaged");
    assert!(salvaged.take_notices().iter().any(|notice| notice.contains("less than was acknowledged")));
    let found: Vec<_> =
        salvaged.snapshot().scan(PEOPLE, true).map(|row| row.expect("what cannot be read is left out")).collect();
    assert_eq!(found.len(), today.people.len(), "those whose erasure is lost, and keys are gone, are left out");
    assert!(today.people.iter().all(|(_, key, name)| found.contains(&(key.clone(), row(name)))));
    assert!(salvaged.take_notices().iter().any(|notice| notice.contains("left out")));
    assert!(matches!(salvaged.write(Batch::default()), Err(StorageError::ReadOnly)));
    assert!(matches!(salvaged.allocate_microdb(), Err(StorageError::ReadOnly)));
    drop(salvaged);
    fs::write(&log, whole).expect("mends");
    assert!(today.refusals(&today.folder.open()).is_empty());
}

#[test]
fn what_was_not_flushed_may_be_lost_in_any_way() {
    let mut today = Filled::new("unflushed");
    today.work();
    let store = today.folder.open();
    today.forget(&store);
    let sectors = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / 512 + 1);
    let log = today.folder.files().into_iter().filter(|path| path.extension().is_some_and(|end| end == "log")).max();
    let log = log.expect("a log");
    let before = (fs::read(&log).expect("reads"), fs::read(today.folder.0.join("witness")).expect("reads"));
    today.forget(&store);
    // Flushed up to here; the witness may be that of the flush before.
    let flushed = sectors(&fs::read(&log).expect("reads"));
    for number in 0..40_u16 {
        let mut batch = Batch::default();
        let city = RowKey::new(&(20_000 + number).to_be_bytes());
        batch.put_impersonal(&store, PEOPLE, &city, &row(&[7; 300]), 1).expect("seals");
        batch.put_commit_time(&store, today.time + 1 + u64::from(number));
        store.write(batch).expect("writes");
    }
    let crashed = copied(&today.folder.0, "unflushed-crashed");
    let log = crashed.0.join(log.strip_prefix(&today.folder.0).expect("below the folder"));
    let written = fs::read(&log).expect("reads");
    let all = sectors(&written);
    assert!(all > flushed + 20);
    let mut dice = 7_u64;
    let mut roll = |below: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as usize % below
    };
    for round in 0..60 {
        let mut bytes = written.clone();
        // Of the last flushed sector the tail alone may be other: what stood before it is there.
        for sector in flushed..all {
            if roll(3) == 0 {
                let lost = sector * 512..(sector + 1) * 512;
                bytes[lost.clone()].copy_from_slice(&before.0[lost]);
            }
        }
        if roll(3) == 0 {
            bytes.truncate((flushed + roll(all - flushed)) * 512 + roll(512));
        }
        let power_lost = copied(&crashed.0, "unflushed-lost");
        let at = |path: &Path| power_lost.0.join(path.strip_prefix(&crashed.0).expect("below the folder"));
        fs::write(at(&log), &bytes).expect("writes");
        if roll(2) == 0 {
            fs::write(power_lost.0.join("witness"), &before.1).expect("writes");
        }
        for _ in 0..2 {
            let store = Store::open(&power_lost.options()).unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert!(today.refusals(&store).is_empty());
        }
    }
}

#[test]
fn a_damaged_copy_is_told_and_repaired() {
    let mut today = Filled::new("copies");
    today.work();
    let file = |name: &str| today.folder.0.join(name);
    let flip = |name: &str, at: usize| {
        let mut bytes = fs::read(file(name)).expect("reads");
        bytes[at] ^= 4;
        fs::write(file(name), bytes).expect("damages");
    };
    // The header's first copy, the first slot's first copy and the second slot's second one.
    flip("keyring", 100);
    flip("keyring", 8192 + 20);
    flip("keyring", 8192 + 4096 + 64 + 20);
    flip("witness", 4096 + 30);
    fs::write(file("public.key"), "ab".repeat(32) + "\n").expect("damages");
    let current = fs::read(file("rocks/CURRENT")).expect("reads");
    fs::remove_file(file("rocks/CURRENT")).expect("damages");
    let refused = Store::open(&today.folder.options()).err().expect("refused");
    assert!(matches!(refused, StorageError::FileMissing { path } if path.ends_with("CURRENT")));
    let repairs = Store::repair(&today.folder.options()).expect("repairs");
    let all = [Repair::KeyringHeader, Repair::Keys(2), Repair::PublicKey, Repair::Current, Repair::WitnessCopy];
    assert_eq!(repairs, all);
    assert_eq!(fs::read(file("rocks/CURRENT")).expect("reads"), current);
    assert_eq!(Store::repair(&today.folder.options()).expect("looks"), []);
    assert!(today.refusals(&today.folder.open()).is_empty());
    // One that is not repaired is used from the other, and told.
    flip("keyring", 8192 + 20);
    let store = Store::open(&with(&today.folder, Mode::Check)).expect("opens");
    assert!(check(&store.snapshot(), &[]).problems.iter().any(|problem| matches!(problem, Problem::DamagedKeyCopy)));
    assert!(today.refusals(&store).is_empty());
    assert!(store.take_notices().iter().any(|notice| notice.contains("data key")));
    drop(store);
    // A public key that is missing is told, and written by the next start, which tells that too.
    let unpublished = |store: &Store| store.take_notices().iter().any(|notice| notice.contains("public.key"));
    let public = fs::read(file("public.key")).expect("reads");
    fs::remove_file(file("public.key")).expect("damages");
    let store = Store::open(&with(&today.folder, Mode::Check)).expect("opens");
    assert!(unpublished(&store) && !file("public.key").exists());
    drop(store);
    assert!(unpublished(&today.folder.open()) && !unpublished(&today.folder.open()));
    assert_eq!(fs::read(file("public.key")).expect("reads"), public);
    // A witness that is lost is made anew only when that is asked for.
    fs::remove_file(file("witness")).expect("damages");
    let refused = Store::open(&today.folder.options()).err().expect("refused");
    assert!(matches!(refused, StorageError::FileMissing { path } if path.ends_with("witness")));
    assert_eq!(Store::repair(&today.folder.options()).expect("repairs"), [Repair::Keys(1), Repair::Witness]);
    assert!(today.refusals(&today.folder.open()).is_empty());
}

#[test]
fn a_folder_of_before_there_were_witnesses_gets_one_if_it_is_plausible() {
    let mut today = Filled::new("former");
    today.work();
    let former = |folder: &Folder| {
        fs::remove_file(folder.0.join("witness")).expect("removes");
        fs::write(folder.0.join("FORMAT"), "dogwood data format 1\n").expect("writes");
    };
    former(&today.folder);
    let before = contents(&today.folder);
    assert!(today.refusals(&Store::open(&with(&today.folder, Mode::Check)).expect("opens")).is_empty());
    assert_eq!(contents(&today.folder), before);
    for _ in 0..2 {
        assert!(today.refusals(&today.folder.open()).is_empty());
    }
    assert_eq!(fs::read_to_string(today.folder.0.join("FORMAT")).expect("reads"), "dogwood data format 2\n");
    assert!(today.folder.0.join("witness").is_file());
    // Not plausible: no store, or a keyring that is too short.
    let keyring = fs::read(today.folder.0.join("keyring")).expect("reads");
    for wrong in ["rocks", "keyring"] {
        let damaged = copied(&today.folder.0, "former-damaged");
        former(&damaged);
        match wrong {
            "rocks" => fs::remove_dir_all(damaged.0.join(wrong)).expect("removes"),
            _ => fs::write(damaged.0.join(wrong), &keyring[..8192]).expect("writes"),
        }
        for _ in 0..2 {
            let refused = Store::open(&damaged.options()).err().expect("refused").to_string();
            assert!(refused.contains(wrong), "{refused}");
        }
    }
}

#[test]
fn making_a_database_may_be_cut_anywhere() {
    let whole = Folder::new("cut-whole");
    drop(whole.open());
    // What stands in the folder after each step of its making.
    let steps: [&[&str]; 4] = [
        &["witness"],
        &["witness", "FORMAT"],
        &["witness", "FORMAT", "root.key"],
        &["witness", "FORMAT", "root.key", "keyring"],
    ];
    let fresh = {
        // The witness of a database that is not there yet.
        let folder = Folder::new("cut-fresh");
        fs::create_dir_all(&folder.0).expect("creates");
        fs::DirBuilder::new().mode(0o700).create(folder.0.join("root.key")).expect("in the way");
        let refused = Store::open(&folder.options()).err().expect("a folder is no key");
        assert!(
            matches!(refused, StorageError::Io { ref source, .. } if source.kind() != ErrorKind::NotFound),
            "{refused}"
        );
        fs::read(folder.0.join("witness")).expect("was made")
    };
    for files in steps {
        let cut = Folder::new("cut");
        fs::create_dir_all(&cut.0).expect("creates");
        for file in files {
            match *file {
                "witness" => fs::write(cut.0.join(file), &fresh).expect("writes"),
                _ => {
                    fs::copy(whole.0.join(file), cut.0.join(file)).expect("copies");
                }
            }
        }
        for mode in [Mode::Check, Mode::Salvage] {
            assert!(matches!(Store::open(&with(&cut, mode)), Err(StorageError::NoDatabase { .. })));
        }
        drop(cut.open());
        assert!(Store::open(&with(&cut, Mode::Check)).is_ok());
    }
}
