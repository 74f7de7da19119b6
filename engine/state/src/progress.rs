//! How far a long command of a session is, for `pg_stat_progress_create_index` and `pg_stat_progress_copy`: counted while it runs,
//! read when somebody asks. Numbers and names of places, never of rows.

use parking_lot::Mutex;
use repr::{IndexId, RelationId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongCommand {
    /// CREATE INDEX, and a constraint that has one.
    CreateIndex(IndexId),
    /// COPY FROM STDIN
    CopyIn,
}

/// A command's counters. What adds to them and what reads them waits for nobody.
#[derive(Debug)]
pub struct Progress {
    /// What is done.
    pub command: LongCommand,
    /// To which table.
    pub relation: RelationId,
    /// Of an index: all rows have entries, and values that must not repeat are compared.
    pub compares: AtomicBool,
    /// Rows that are through.
    pub rows: AtomicU64,
    /// Rows that are left out.
    pub excluded: AtomicU64,
    /// Bytes that are through.
    pub bytes: AtomicU64,
    /// About how many there are, where that is known.
    pub bytes_total: u64,
}

impl Progress {
    /// So many more rows and bytes.
    pub fn add(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Where a session shows the long command that it is at.
#[derive(Default)]
pub struct ProgressSlot(Mutex<Option<Arc<Progress>>>);

impl ProgressSlot {
    /// What it is at, if it is at one.
    pub fn shown(&self) -> Option<Arc<Progress>> {
        self.0.lock().clone()
    }
}

/// A command that is under way. Dropped, nobody sees it any more.
pub struct ShownProgress {
    slot: Arc<ProgressSlot>,
    progress: Arc<Progress>,
}

impl ShownProgress {
    /// A session begins one.
    pub fn begin(
        slot: &Arc<ProgressSlot>,
        command: LongCommand,
        relation: RelationId,
        bytes_total: u64,
    ) -> ShownProgress {
        let progress = Arc::new(Progress {
            command,
            relation,
            compares: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            excluded: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bytes_total,
        });
        *slot.0.lock() = Some(progress.clone());
        ShownProgress { slot: slot.clone(), progress }
    }

    /// Its counters.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        *self.slot.0.lock() = None;
    }
}
