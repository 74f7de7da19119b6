//! Backups over a target in memory that fails, fills up and stands still when it is told to; what a restore refuses.

#[path = "support/folder.rs"]
mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use repr::{MicroDbId, RowKey};
use storage::audit::{AuditOperation, EntryRange, ReceiptRequest};
use storage::backup::{
    BackupFault, BackupRequest, Form, RestoreRequest, Shipped, Shipper, Target, TargetError, Until, restore,
    verify_backups,
};
use storage::{Batch, ErasurePace, PassStep, RootKeySource, StorageError, Store, ViewsMerged, Waits};
use support::{Folder, PEOPLE, entry, put};

type Hook = Box<dyn Fn(&str) + Send + Sync>;

/// Objects in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Inside>);

#[derive(Default)]
struct Inside {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// So many more puts succeed.
    puts: Mutex<Option<u64>>,
    before_put: Mutex<Option<Hook>>,
}

impl Memory {
    fn names(&self, prefix: &str) -> Vec<String> {
        self.list(prefix).expect("lists").into_iter().map(|(name, _)| name).collect()
    }

    fn copy(&self) -> Memory {
        let copied = Memory::default();
        *copied.0.objects.lock().expect("no panic") = self.0.objects.lock().expect("no panic").clone();
        copied
    }

    fn take(&self, name: &str) -> Vec<u8> {
        self.0.objects.lock().expect("no panic").remove(name).expect("it is there")
    }
}

impl Target for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn put(&self, object: &str, bytes: &[u8]) -> Result<(), TargetError> {
        if let Some(hook) = &*self.0.before_put.lock().expect("no panic") {
            hook(object);
        }
        let mut puts = self.0.puts.lock().expect("no panic");
        if *puts == Some(0) {
            return Err(TargetError {
                target: "memory".into(),
                tried: "write",
                object: object.into(),
                reason: "full".into(),
            });
        }
        *puts = puts.map(|puts| puts - 1);
        self.0.objects.lock().expect("no panic").insert(object.into(), bytes.into());
        Ok(())
    }

    fn get(&self, object: &str) -> Result<Option<Vec<u8>>, TargetError> {
        Ok(self.0.objects.lock().expect("no panic").get(object).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, TargetError> {
        let objects = self.0.objects.lock().expect("no panic");
        let under = objects.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(under.map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn remove(&self, object: &str) -> Result<(), TargetError> {
        self.0.objects.lock().expect("no panic").remove(object);
        Ok(())
    }
}

static CLOCK: AtomicU64 = AtomicU64::new(1_000_000);

/// A clock that ticks with each look.
fn now_us() -> i64 {
    CLOCK.fetch_add(1, Ordering::Relaxed) as i64
}

fn request<'a>(data: &'a Memory, keys: &'a Memory, form: Form) -> BackupRequest<'a> {
    BackupRequest { data, keys, form, keep_us: None, keep_keys_us: i64::MAX / 2, now_us, stops: &|| false }
}

fn add_person(store: &Store, name: &str) -> (MicroDbId, RowKey) {
    let person = store.allocate_microdb().expect("allocates");
    let key = store.hash_key(PEOPLE, name.as_bytes());
    let mut batch = Batch::default();
    put(&mut batch, store, PEOPLE, &key, name.as_bytes(), &[person]);
    batch.put_owner(PEOPLE, &key, person, 1);
    batch.put_subject(PEOPLE, &key, person);
    batch.append_audit(store, &entry(AuditOperation::Insert, &[person])).expect("records");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    (person, key)
}

fn forget(store: &Store, (person, key): &(MicroDbId, RowKey)) {
    let receipt = store.sign_receipt(&ReceiptRequest {
        time_us: now_us(),
        subject: *person,
        parts: Vec::new(),
        tables: Vec::new(),
        plan: [9; 32],
    });
    let mut batch = Batch::default();
    batch.delete_copy(PEOPLE, key, *person);
    batch.delete_owner(PEOPLE, key, *person);
    batch.delete_subject(PEOPLE, key, *person);
    batch.append_receipt(store, &receipt, &entry(AuditOperation::Forget, &[*person])).expect("records");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    store.destroy_keys(&[*person]).expect("destroys");
}

/// Restores beside a folder whose root key it takes, and opens what came of it.
fn restored(folder: &Folder, data: &Memory, keys: &Memory, until: Until) -> Result<(Folder, Store, u64), StorageError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let to = Folder::new(&format!("restored-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let staged = restore(&RestoreRequest {
        data,
        keys,
        ledger: None,
        until,
        folder: to.0.clone(),
        root_key: RootKeySource::File(folder.0.join("root.key")),
        overwrites: false,
    })?;
    let found = staged.forgotten.found;
    staged.finish()?;
    fs::copy(folder.0.join("root.key"), to.0.join("root.key")).expect("copies");
    let store = to.open();
    Ok((to, store, found))
}

/// The fault's name.
fn fault<T>(outcome: Result<T, StorageError>) -> String {
    match outcome {
        Err(StorageError::Backup(fault)) => {
            format!("{fault:?}").split([' ', '(', '{']).next().unwrap_or_default().into()
        }
        Err(error) => format!("another error: {error}"),
        Ok(_) => "no error".into(),
    }
}

fn has(store: &Store, (_, key): &(MicroDbId, RowKey)) -> bool {
    store.snapshot().get_personal(PEOPLE, key).expect("reads").is_some()
}

#[test]
fn wherever_a_target_fills_up_nothing_half_done_is_left() {
    let folder = Folder::new("backup-full");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    let ann = add_person(&store, "ann");
    store.back_up(&request(&data, &keys, Form::Full)).expect("is taken");
    let whole = data.copy();
    add_person(&store, "bob");
    let mut puts = 0;
    loop {
        *data.0.puts.lock().expect("no panic") = Some(puts);
        let taken = store.back_up(&request(&data, &keys, Form::Incremental));
        *data.0.puts.lock().expect("no panic") = None;
        if taken.is_ok() {
            break;
        }
        assert_eq!(fault(taken), "Target", "after {puts}");
        assert_eq!(data.names("files/"), whole.names("files/"), "after {puts}");
        assert_eq!(data.names("backups/"), whole.names("backups/"), "after {puts}");
        assert!(!folder.0.join("pinned").exists());
        puts += 1;
    }
    assert!(puts > 3, "several puts failed: {puts}");
    let verified = verify_backups(&data, &store.public_key()).expect("all is whole");
    assert_eq!(verified.backups.len(), 2);
    let (_to, again, _) = restored(&folder, &data, &keys, Until::Record(1)).expect("restores");
    assert!(has(&again, &ann) && again.snapshot().audit(&EntryRange::ALL).expect("reads").count() == 1);
}

#[test]
fn any_changed_byte_of_any_object_is_found() {
    let folder = Folder::new("backup-changed");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    add_person(&store, "ann");
    store.back_up(&request(&data, &keys, Form::Full)).expect("is taken");
    for (name, bytes) in data.list("").expect("lists") {
        // A few of each.
        for at in (0..bytes).step_by(usize::try_from(bytes / 7).expect("small").max(1)) {
            let changed = data.copy();
            let mut content = changed.take(&name);
            content[usize::try_from(at).expect("small")] ^= 0x40;
            changed.put(&name, &content).expect("puts");
            assert!(verify_backups(&changed, &store.public_key()).is_err(), "{name} at {at}");
        }
        let missing = data.copy();
        missing.take(&name);
        assert!(verify_backups(&missing, &store.public_key()).is_err(), "{name} is missing");
    }
    assert!(verify_backups(&data, &store.public_key()).is_ok());
}

#[test]
fn a_log_is_shipped_and_followed_to_any_record() {
    let folder = Folder::new("backup-log");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    let targets = || (Box::new(data.clone()), Box::new(keys.clone()));
    let (to_data, to_keys) = targets();
    let mut shipper = Shipper::new(to_data, to_keys, None, i64::MAX / 2, now_us);
    while !matches!(shipper.step(&store).expect("ships"), Shipped::Backup(_)) {}
    let mut people = Vec::new();
    for name in ["ann", "bob", "cleo", "dan"] {
        people.push(add_person(&store, name));
        assert!(matches!(shipper.step(&store), Ok(Shipped::Piece { .. })), "{name}");
    }
    assert!(matches!(shipper.step(&store), Ok(Shipped::Nothing)));
    // What fails is shipped with the next piece.
    forget(&store, &people[1]);
    *data.0.puts.lock().expect("no panic") = Some(0);
    assert_eq!(fault(shipper.step(&store)), "Target");
    *data.0.puts.lock().expect("no panic") = None;
    people.push(add_person(&store, "eve"));
    assert!(matches!(shipper.step(&store), Ok(Shipped::Piece { .. })));
    for (record, there) in [(1, "y...."), (2, "y...."), (3, "y.y.."), (4, "y.yy."), (5, "y.yy."), (6, "y.yyy")] {
        let (_to, again, found) = restored(&folder, &data, &keys, Until::Record(record)).expect("restores");
        let found_there: String = people.iter().map(|person| if has(&again, person) { 'y' } else { '.' }).collect();
        assert_eq!(found_there, there, "at record {record}");
        assert_eq!(found, u64::from((2..5).contains(&record)), "at record {record}");
        assert_eq!(again.snapshot().receipts(1..=9, false).count(), 1);
        assert!(!again.key_exists(people[1].0).expect("reads"));
    }
    assert_eq!(fault(restored(&folder, &data, &keys, Until::Record(7))), "BeyondLog");
    // A piece that is missing, and one in another's place.
    let mut pieces = data.names("log/");
    // What was written while the backup was taken came in pieces of its own.
    let pieces = pieces.split_off(pieces.len() - 5);
    let gap = data.copy();
    gap.take(&pieces[2]);
    assert_eq!(fault(restored(&folder, &gap, &keys, Until::End)), "LogGap");
    assert!(restored(&folder, &gap, &keys, Until::Record(1)).is_ok(), "to a moment before the gap");
    assert!(matches!(verify_backups(&gap, &store.public_key()), Err(BackupFault::LogGap { .. })));
    let swapped = data.copy();
    let (one, other) = (swapped.take(&pieces[1]), swapped.take(&pieces[2]));
    swapped.put(&pieces[1], &other).and_then(|()| swapped.put(&pieces[2], &one)).expect("puts");
    assert_eq!(fault(restored(&folder, &swapped, &keys, Until::End)), "LogGap");
    shipper.end(&store);
}

#[test]
fn key_backups_from_before_bring_nobody_back() {
    let folder = Folder::new("backup-keys");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    let (ann, bob) = (add_person(&store, "ann"), add_person(&store, "bob"));
    store.back_up(&request(&data, &keys, Form::Full)).expect("is taken");
    let (data_before, keys_before) = (data.copy(), keys.copy());
    forget(&store, &ann);
    (0..300).for_each(|number| drop(add_person(&store, &number.to_string())));
    store.back_up(&request(&data, &keys, Form::Incremental)).expect("is taken");
    // Her key is in the old key backup, and the ledger destroys it.
    let (_to, again, found) = restored(&folder, &data, &keys_before, Until::Record(2)).expect("restores");
    assert_eq!((found, has(&again, &ann), has(&again, &bob)), (1, false, true));
    assert!(!again.key_exists(ann.0).expect("reads"));
    // Of people who came after it keys are missing.
    assert_eq!(fault(restored(&folder, &data, &keys_before, Until::End)), "KeysOlder");
    // The new keys know of an erasure that the old ledger does not, and the old ledger is all there is.
    assert_eq!(fault(restored(&folder, &data_before, &keys, Until::End)), "LedgerShort");
    let unledgered = data.copy();
    unledgered.names("ledger/").iter().for_each(|name| drop(unledgered.take(name)));
    assert_eq!(fault(restored(&folder, &unledgered, &keys, Until::End)), "NoLedger");
    assert_eq!(fault(restored(&folder, &data, &Memory::default(), Until::End)), "NoKeys");
    assert_eq!(fault(restored(&folder, &Memory::default(), &keys, Until::End)), "NoBackup");
    assert_eq!(fault(restored(&folder, &data, &keys, Until::Time(0))), "NoBackup");
}

#[test]
fn old_backups_go_and_what_others_need_stays() {
    let folder = Folder::new("backup-prune");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    for number in 0..4 {
        add_person(&store, &number.to_string());
        store.back_up(&request(&data, &keys, if number == 0 { Form::Full } else { Form::Incremental })).expect("taken");
    }
    assert_eq!(data.names("backups/").len(), 4);
    let older = request(&data, &keys, Form::Incremental);
    let taken = store.back_up(&BackupRequest { keep_us: Some(0), keep_keys_us: 0, ..older }).expect("is taken");
    let verified = verify_backups(&data, &store.public_key()).expect("all is whole");
    assert_eq!(verified.backups.iter().map(|backup| &backup.id).collect::<Vec<_>>(), [&taken.id]);
    assert_eq!(data.names("files/").len() as u64, taken.files);
    assert_eq!(keys.names("keys/").len(), 1);
    let other = Folder::new("backup-other");
    assert_eq!(fault(other.open().back_up(&request(&data, &keys, Form::Full))), "OtherDatabase");
}

/// A pass goes on until it is clean or waits.
fn erase(store: &Store) -> PassStep {
    let pace =
        ErasurePace { now_us: &now_us, bytes_per_second: &|| None, views: &|| ViewsMerged::Yes, stops: &|| false };
    store.erase(&pace).expect("a pass goes on")
}

#[test]
fn an_erasure_waits_for_a_backup_and_has_it_begin_anew() {
    let folder = Folder::new("backup-pinned");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    let people: Vec<_> = (0..20).map(|number| add_person(&store, &number.to_string())).collect();
    let (erasing, left, pinned) = (store.clone(), Mutex::new(people), folder.0.join("pinned"));
    let steps = Arc::new(Mutex::new(RefCell::new(Vec::new())));
    let seen = steps.clone();
    // The target stands still at the first file of each attempt, for three attempts, and somebody is forgotten meanwhile.
    *data.0.before_put.lock().expect("no panic") = Some(Box::new(move |object| {
        let steps = seen.lock().expect("no panic");
        let mut left = left.lock().expect("no panic");
        // The next file is read already: it is brought though nothing is pinned any more.
        let is_first = object.starts_with("files/") && object.contains(".sst") && pinned.exists();
        if is_first && steps.borrow().len() < 6 {
            forget(&erasing, &left.pop().expect("somebody is left"));
            steps.borrow_mut().push(erase(&erasing));
            erasing.take_from_backup().expect("takes away");
            steps.borrow_mut().push(erase(&erasing));
        }
    }));
    let taken = store.back_up(&request(&data, &keys, Form::Full)).expect("is taken");
    assert_eq!(taken.attempts, 4);
    let steps = steps.lock().expect("no panic").take();
    for pair in steps.chunks(2) {
        assert_eq!(pair[0], PassStep::Waits(Waits::Backup));
        assert!(matches!(pair[1], PassStep::Cleaned { .. }), "{:?}", pair[1]);
    }
    let (_to, again, _) = restored(&folder, &data, &keys, Until::End).expect("restores");
    assert_eq!(again.snapshot().scan_subjects().count(), 17);
    // One that is never given the time leaves off by name.
    *data.0.before_put.lock().expect("no panic") = None;
    let is_over = AtomicBool::new(false);
    let leaves_off = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.take_from_backup().expect("takes away");
            }
        });
        // One may be through before the other thread is there.
        let mut faults = (0..50).map(|_| fault(store.back_up(&request(&data, &keys, Form::Full))));
        let found = faults.any(|found| found == "ErasuresInTheWay");
        is_over.store(true, Ordering::Relaxed);
        found
    });
    assert!(leaves_off, "it is not given the time");
    assert!(verify_backups(&data, &store.public_key()).is_ok(), "the one before is whole");
}

#[test]
fn one_backup_at_a_time_and_none_when_told_to_stop() {
    let folder = Folder::new("backup-busy");
    let store = folder.open();
    let (data, keys) = (Memory::default(), Memory::default());
    add_person(&store, "ann");
    let (other, seen) = (store.clone(), Arc::new(Mutex::new(String::new())));
    let told = seen.clone();
    *data.0.before_put.lock().expect("no panic") = Some(Box::new(move |_| {
        let elsewhere = Memory::default();
        *told.lock().expect("no panic") = fault(other.back_up(&request(&elsewhere, &elsewhere, Form::Full)));
    }));
    store.back_up(&request(&data, &keys, Form::Full)).expect("is taken");
    assert_eq!(*seen.lock().expect("no panic"), "Busy");
    let stopped = BackupRequest { stops: &|| true, ..request(&data, &keys, Form::Full) };
    assert_eq!(fault(store.back_up(&stopped)), "Stopped");
    let nothing = request(&keys, &keys, Form::Incremental);
    assert_eq!(fault(store.back_up(&nothing)), "NoBase");
}
