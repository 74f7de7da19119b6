//! Shipping: what is written goes to a target within seconds, behind a backup that it follows.
//!
//! ```text
//! no chain yet, or a gap ─▶ backup ─▶ chain behind it ◀─┐
//! queue (tee) ─▶ ledger and keys, if they have changed ─▶ piece of the log ┘
//! ```
//! A piece comes after the ledger and the keys that it needs. A chain that has become long is followed by the next backup.

use crate::backup::fault::BackupFault;
use crate::backup::log::ChainEnd;
use crate::backup::survey::Survey;
use crate::backup::take::{BackupReport, BackupRequest, Form};
use crate::backup::target::Target;
use crate::error::StorageError;
use crate::store::Store;

/// About the bytes of a piece.
const PIECE_BYTES: usize = 8 << 20;
/// What a restore carries out again at most, about.
const CHAIN_BYTES_MAX: u64 = 256 << 20;

/// Ships one store to one pair of targets.
pub struct Shipper {
    data: Box<dyn Target>,
    keys: Box<dyn Target>,
    keep_us: Option<i64>,
    keep_keys_us: i64,
    now_us: fn() -> i64,
    chain: Option<Chain>,
}

struct Chain {
    end: ChainEnd,
    bytes: u64,
    /// The first erasure that the ledger has.
    first: u64,
    /// What the last ledger and keys knew: receipts, slots, and the epoch.
    known: (u64, u64, u32),
    /// The last key backup that came with a piece: the next one takes its place.
    keys: Option<String>,
}

impl Chain {
    /// Puts a ledger, and a key backup in the place of the one before.
    fn renew(
        &mut self,
        store: &Store,
        data: &dyn Target,
        keys: &dyn Target,
        now_us: i64,
        keep_keys_us: i64,
    ) -> Result<(), StorageError> {
        store.ship_ledger(data, self.first)?;
        let object = store.ship_keys(keys, now_us, keep_keys_us)?;
        if let Some(before) = self.keys.replace(object) {
            keys.remove(&before).map_err(BackupFault::from)?;
        }
        Ok(())
    }
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// Nothing was written.
    Nothing,
    /// A backup that the log now follows.
    Backup(Box<BackupReport>),
    /// A piece of the log: its last write, and its bytes.
    Piece {
        /// RocksDB's number of it.
        last: u64,
        /// Of the piece.
        bytes: u64,
    },
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
        Shipper { data, keys, keep_us, keep_keys_us, now_us, chain: None }
    }

    /// One step: a backup if there is no chain, else what has been written since. After a failure the same is tried again.
    pub fn step(&mut self, store: &Store, stops: &dyn Fn() -> bool) -> Result<Shipped, StorageError> {
        let Some(chain) = &mut self.chain else { return self.begin(store, stops) };
        let tee = &store.backups().tee;
        let taken = tee.take(PIECE_BYTES);
        let Some(mut batches) = taken.filter(|_| chain.bytes < CHAIN_BYTES_MAX) else {
            self.chain = None;
            return self.begin(store, stops);
        };
        // What the backup holds already.
        batches.retain(|teed| teed.at.last > chain.end.last);
        let keyring = store.keyring();
        let known = (store.log_receipts(), keyring.made(), keyring.epoch());
        let shipped = if known == chain.known {
            Ok(())
        } else {
            chain.renew(store, &*self.data, &*self.keys, (self.now_us)(), self.keep_keys_us)
        };
        if let Err(error) = shipped {
            tee.put_back(batches);
            return Err(error);
        }
        chain.known = known;
        if batches.is_empty() {
            return Ok(Shipped::Nothing);
        }
        let (object, bytes, end) = chain.end.piece(&batches, keyring.signing());
        if let Err(error) = self.data.put(&object, &bytes) {
            tee.put_back(batches);
            return Err(BackupFault::from(error).into());
        }
        chain.end = end;
        chain.bytes += bytes.len() as u64;
        Ok(Shipped::Piece { last: end.last, bytes: bytes.len() as u64 })
    }

    fn begin(&mut self, store: &Store, stops: &dyn Fn() -> bool) -> Result<Shipped, StorageError> {
        let survey = Survey::of(&*self.data, Some(&store.database_id()), &store.public_key())?;
        let form = if survey.manifests.is_empty() { Form::Full } else { Form::Incremental };
        let request = BackupRequest {
            data: &*self.data,
            keys: &*self.keys,
            form,
            keep_us: self.keep_us,
            keep_keys_us: self.keep_keys_us,
            now_us: self.now_us,
            stops,
        };
        // Before the backup, so that nothing is between the two.
        store.backups().tee.start(self.now_us);
        let keyring = store.keyring();
        let known = (store.log_receipts(), keyring.made(), keyring.epoch());
        let taken = store.back_up_as(&request);
        let (report, id) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                store.backups().tee.stop();
                return Err(error);
            }
        };
        let end = ChainEnd::behind(store.database_id(), id, report.state.sequence);
        let first = survey.first_erasure().unwrap_or(u64::MAX).min(report.state.receipts + 1);
        self.chain = Some(Chain { end, bytes: 0, first, known, keys: None });
        Ok(Shipped::Backup(Box::new(report)))
    }

    /// Nothing is shipped any more.
    pub fn end(self, store: &Store) {
        store.backups().tee.stop();
    }
}
