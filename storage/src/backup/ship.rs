//! Shipping: what is written goes to a target within seconds, and backups are taken beside that.
//!
//! ```text
//! queue (tee) ─▶ ledger and keys, if they have changed ─▶ piece of the log        a second, and again
//!                              when a log begins, and when it has become long ─▶ a backup, on a thread of its own
//! ```
//! A piece comes after the ledger and the keys that it needs. The log goes on while a backup is taken, however long that lasts.
//! Where something was lost, another log begins, and a backup in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::backup::fault::BackupFault;
use crate::backup::log::LogEnd;
use crate::backup::survey::Survey;
use crate::backup::take::{BackupReport, BackupRequest, Form};
use crate::backup::target::Target;
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::store::Store;

/// About the bytes of a piece.
const PIECE_BYTES: usize = 8 << 20;
/// What a restore carries out again at most, about.
const LOG_BYTES_MAX: u64 = 256 << 20;

/// Where and how, for the shipper and for who takes its backups.
#[derive(Clone)]
struct Destination {
    data: Arc<dyn Target>,
    keys: Arc<dyn Target>,
    keep_us: Option<i64>,
    keep_keys_us: i64,
    now_us: fn() -> i64,
}

/// Ships one store to one pair of targets.
pub struct Shipper {
    to: Destination,
    log: Option<ShippedLog>,
    backup: Option<UnderWay>,
}

/// A log that is being shipped.
struct ShippedLog {
    id: [u8; 8],
    /// None before its first piece.
    end: Option<LogEnd>,
    /// Since the last backup in it.
    bytes: u64,
    has_backup: bool,
    /// The first erasure that the ledger has.
    first: u64,
    /// What the last ledger and keys knew: receipts, slots, and the epoch.
    known: (u64, u64, u32, u64),
    /// The last key backup that came with a piece: the next one takes its place.
    keys: Option<String>,
}

/// A backup that is being taken.
struct UnderWay {
    stops: Arc<AtomicBool>,
    thread: JoinHandle<Result<BackupReport, StorageError>>,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// Nothing was written.
    Nothing,
    /// A backup was taken that the log follows on.
    Backup(Box<BackupReport>),
    /// A piece of the log: its last write, and its bytes.
    Piece {
        /// RocksDB's number of it.
        last: u64,
        /// Of the piece.
        bytes: u64,
    },
}

impl Destination {
    fn back_up(&self, store: &Store, stops: &AtomicBool) -> Result<BackupReport, StorageError> {
        let survey = Survey::of(&*self.data, Some(&store.database_id()), &store.public_key())?;
        store.back_up(&BackupRequest {
            data: &*self.data,
            keys: &*self.keys,
            form: if survey.manifests.is_empty() { Form::Full } else { Form::Incremental },
            keep_us: self.keep_us,
            keep_keys_us: self.keep_keys_us,
            now_us: self.now_us,
            stops: &|| stops.load(Ordering::Relaxed),
        })
    }
}

impl ShippedLog {
    /// Puts a ledger, and a key backup in the place of the one before, if there is something new in them.
    fn renew(&mut self, store: &Store, to: &Destination) -> Result<(), StorageError> {
        let known = known(store);
        if known == self.known {
            return Ok(());
        }
        store.ship_ledger(&*to.data, self.first)?;
        let object = store.ship_keys(&*to.keys, (to.now_us)(), to.keep_keys_us)?;
        self.known = known;
        if let Some(before) = self.keys.replace(object) {
            to.keys.remove(&before).map_err(BackupFault::from)?;
            store.note_keys(&*to.keys, to.keep_keys_us)?;
        }
        Ok(())
    }
}

/// What a ledger and keys are of.
fn known(store: &Store) -> (u64, u64, u32, u64) {
    let keyring = store.keyring();
    (store.log_receipts(), keyring.made(), keyring.epoch(), store.key_renewals_ended())
}

impl Shipper {
    /// Ships to these targets: data, and keys.
    pub fn new(
        data: Box<dyn Target>,
        keys: Box<dyn Target>,
        keep_us: Option<i64>,
        keep_keys_us: i64,
        now_us: fn() -> i64,
    ) -> Shipper {
        let to = Destination { data: data.into(), keys: keys.into(), keep_us, keep_keys_us, now_us };
        Shipper { to, log: None, backup: None }
    }

    /// One step: what has been written since, and a backup if one is wanted. After a failure the same is tried again.
    pub fn step(&mut self, store: &Store) -> Result<Shipped, StorageError> {
        if let Some(report) = self.ended_backup()? {
            return Ok(Shipped::Backup(Box::new(report)));
        }
        if self.log.is_none() {
            self.log = Some(self.begin(store)?);
        }
        let Some(log) = &mut self.log else { return Ok(Shipped::Nothing) };
        if self.backup.is_none() && (!log.has_backup || log.bytes >= LOG_BYTES_MAX) {
            self.backup = Some(begin_backup(store, &self.to)?);
            log.bytes = 0;
        }
        let tee = &store.backups().tee;
        let Some(batches) = tee.take(PIECE_BYTES) else {
            // What comes now follows on nothing.
            self.leave(store);
            return Ok(Shipped::Nothing);
        };
        let shipped = log.renew(store, &self.to);
        let Some(first) = batches.first().filter(|_| shipped.is_ok()) else {
            tee.put_back(batches);
            return shipped.map(|()| Shipped::Nothing);
        };
        let end = log.end.unwrap_or_else(|| LogEnd::after(store.database_id(), log.id, first.first() - 1));
        let (object, bytes, end) = end.piece(&batches, store.keyring().signing());
        if let Err(error) = self.to.data.put(&object, &bytes) {
            tee.put_back(batches);
            return Err(BackupFault::from(error).into());
        }
        log.end = Some(end);
        log.bytes += bytes.len() as u64;
        Ok(Shipped::Piece { last: end.last, bytes: bytes.len() as u64 })
    }

    /// Whether what is shipped can be restored: it follows on a backup.
    pub fn follows_on_backup(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.has_backup)
    }

    fn begin(&self, store: &Store) -> Result<ShippedLog, StorageError> {
        let survey = Survey::of(&*self.to.data, Some(&store.database_id()), &store.public_key())?;
        let id = sodium::random_array();
        store.backups().tee.start(self.to.now_us);
        *store.backups().log.lock() = Some(id);
        Ok(ShippedLog {
            id,
            end: None,
            bytes: 0,
            has_backup: false,
            first: survey.first_erasure().unwrap_or(u64::MAX).min(store.log_receipts() + 1),
            // They come with the backup.
            known: known(store),
            keys: None,
        })
    }

    /// The backup that was under way, if it has ended.
    fn ended_backup(&mut self) -> Result<Option<BackupReport>, StorageError> {
        let Some(ended) = self.backup.take_if(|backup| backup.thread.is_finished()) else { return Ok(None) };
        let report = ended.thread.join().expect("taking a backup does not panic")?;
        self.log.iter_mut().for_each(|log| log.has_backup = true);
        Ok(Some(report))
    }

    fn leave(&mut self, store: &Store) {
        self.log = None;
        *store.backups().log.lock() = None;
        store.backups().tee.stop();
    }

    /// Nothing is shipped any more; a backup that is under way leaves off.
    pub fn end(mut self, store: &Store) {
        self.leave(store);
        if let Some(UnderWay { stops, thread }) = self.backup.take() {
            stops.store(true, Ordering::Relaxed);
            let _ended = thread.join();
        }
    }
}

fn begin_backup(store: &Store, to: &Destination) -> Result<UnderWay, StorageError> {
    let (store, to, stops) = (store.clone(), to.clone(), Arc::<AtomicBool>::default());
    let stopped = stops.clone();
    let name = to.data.name().to_owned();
    let body = move || to.back_up(&store, &stopped);
    let thread = std::thread::Builder::new().name("backup".into()).spawn(body);
    let thread = thread.map_err(StorageError::io("start a thread for", std::path::Path::new(&name)))?;
    Ok(UnderWay { stops, thread })
}
