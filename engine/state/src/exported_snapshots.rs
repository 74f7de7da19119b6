//! Snapshots that transactions have given names, so that others read the same.
//!
//! A name is known as long as the transaction that has given it is there. Once an erasure has ended a snapshot, only its name
//! stays: whoever comes with it is told why, and nothing of what was forgotten is kept for them.

use crate::SqlError;
use crate::locks::TransactionId;
use crate::published::Published;
use crate::snapshot_holders::{Holder, SnapshotHold};
use parking_lot::Mutex;
use planner::catalog::DatabaseId;
use repr::CommitTime;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
#[derive(Default)]
pub struct ExportedSnapshots {
    /// How many there are, or soon will be: most transactions have none to take back.
    count: AtomicUsize,
    by_name: Mutex<BTreeMap<String, Exported>>,
}

/// Who gives a name, and how it reads.
pub struct Exporter<'e> {
    /// Its session.
    pub holder: &'e Holder,
    /// Its transaction.
    pub transaction: TransactionId,
    /// How that reads.
    pub reading: Reading,
}

/// How a transaction reads, as far as whoever shares its snapshot must read alike.
#[derive(Clone, Copy)]
pub struct Reading {
    /// SERIALIZABLE
    pub serializable: bool,
    /// READ ONLY
    pub read_only: bool,
    /// In which database.
    pub database: DatabaseId,
}

struct Exported {
    by: TransactionId,
    reading: Reading,
    /// None of one that an erasure has ended.
    state: Option<(Arc<Published>, Arc<SnapshotHold>)>,
}

/// Each keeps what later commits have replaced.
const OF_A_TRANSACTION_MAX: usize = 1000;

impl ExportedSnapshots {
    /// Gives the snapshot a name. `ended` says whether an erasure has ended it, or its transaction.
    pub fn export(
        &self,
        exporter: &Exporter<'_>,
        state: (Arc<Published>, Arc<SnapshotHold>),
        ended: impl Fn() -> Result<(), SqlError>,
    ) -> Result<String, SqlError> {
        let mut by_name = self.by_name.lock();
        // Counted before it is looked whether the transaction is there: at its end it looks after it has left.
        self.count.fetch_add(1, Ordering::SeqCst);
        let exported = (|| {
            // Under the lock: an erasure either finds the name or is found here.
            ended()?;
            if !exporter.holder.fate.is_of(exporter.transaction) {
                return Err(SqlError::new("25P01", "the transaction has ended whose snapshot is exported"));
            }
            let own = by_name.values().filter(|exported| exported.by == exporter.transaction).count();
            if own == OF_A_TRANSACTION_MAX {
                return Err(SqlError::new(
                    "54000",
                    format!("a transaction exports at most {OF_A_TRANSACTION_MAX} snapshots"),
                ));
            }
            Ok(format!("{:08X}-{:08X}-{}", exporter.holder.backend, exporter.transaction.0, own + 1))
        })();
        match &exported {
            Err(_) => {
                self.count.fetch_sub(1, Ordering::SeqCst);
            }
            Ok(name) => {
                let Exporter { transaction: by, reading, .. } = *exporter;
                by_name.insert(name.clone(), Exported { by, reading, state: Some(state) });
            }
        }
        exported
    }

    /// The state of this name, for a transaction that reads so. 22023 if there is none, 0A000 if it is not for
    /// that transaction, 40001 if an erasure has ended it.
    pub fn find(&self, name: &str, reading: Reading) -> Result<Arc<Published>, SqlError> {
        let by_name = self.by_name.lock();
        let exported = by_name
            .get(name)
            .ok_or_else(|| SqlError::new("22023", format!("invalid snapshot identifier: \"{name}\"")))?;
        if reading.serializable {
            if !exported.reading.serializable {
                return Err(SqlError::new(
                    "0A000",
                    "a serializable transaction cannot import a snapshot from a non-serializable transaction",
                ));
            }
            if exported.reading.read_only && !reading.read_only {
                return Err(SqlError::new(
                    "0A000",
                    "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction",
                ));
            }
        }
        if exported.reading.database != reading.database {
            return Err(SqlError::new("0A000", "cannot import a snapshot from a different database"));
        }
        exported.state.as_ref().map(|(base, _)| base.clone()).ok_or_else(crate::error::snapshot_ended)
    }

    /// A transaction has ended, and with it what it has exported.
    pub fn end(&self, transaction: TransactionId) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut by_name = self.by_name.lock();
        let before = by_name.len();
        by_name.retain(|_, exported| exported.by != transaction);
        self.count.fetch_sub(before - by_name.len(), Ordering::SeqCst);
    }

    /// Lets go of states from before an erasure.
    pub fn end_older(&self, time: CommitTime) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for exported in self.by_name.lock().values_mut() {
            exported.state.take_if(|(base, _)| base.time < time);
        }
    }
}
