//! Erasure to the last byte: what an erasure leaves in files and logs, until a pass has rewritten them.
//!
//! A deletion in RocksDB is one more entry; what it deletes stays in files and logs until these are rewritten. Rows are sealed
//! under keys that are gone by then, but row keys and index entries are hashed under the database's own, which lives on, and so
//! can be guessed. So every erasure owes a pass:
//!
//! ```text
//! erasing batch ─▶ owed (erasure/owed): which relations and indexes, durable in the very same batch
//!                    │ several are put together
//!                    ▼
//! pass (erasure/pass): nobody reads what was before? ─▶ write buffers to files, old logs gone ─▶ families rewritten, a piece
//!                    │ at a time and no faster than the rate ─▶ old files gone
//!                    ▼
//! history (erasure/history): which erasures it cleaned, and when what was clean
//! ```
//! An erasure is a batch with a receipt, or one that a definition marks: a table that is dropped, emptied, rewritten or
//! annotated. What is owed survives a crash, and the next start goes on with it.

mod history;
mod owed;
pub(crate) mod pass;

use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

pub use history::{ErasureRecord, Moments};
pub use pass::{ErasurePace, PassStep, ViewsMerged, Waits};

pub(crate) use history::Entry;
pub(crate) use owed::Owed;
use pass::Pass;

/// What a store knows of its erasures.
#[derive(Default)]
pub(crate) struct Erasures {
    // Held while an erasing batch is written: what is stored of them is written in the order in which it becomes true.
    state: Mutex<ErasureState>,
    /// One pass at a time.
    pub(crate) pass: Mutex<Option<Pass>>,
}

/// See `Erasures`.
#[derive(Default)]
pub(crate) struct ErasureState {
    /// What no pass has taken on yet, and since when there is some.
    pub(crate) owed: Owed,
    since: Option<Instant>,
    /// RocksDB's sequence number behind the last of them: who reads from before it reads what is erased.
    pub(crate) sequence: u64,
    /// The number of the last erasure.
    pub(crate) last: u64,
    passing: Option<Passing>,
    /// When the last keys were destroyed.
    pub(crate) keys_at: Option<Instant>,
}

/// What the present pass has taken on, and how far it is.
struct Passing {
    owed: Owed,
    since: Instant,
    last: u64,
    moments: Moments,
}

/// What is still to be done, for whoever decides when.
#[derive(Clone, Copy, Debug)]
pub struct Owing {
    /// Since when.
    pub since: Instant,
    /// A pass is under way.
    pub is_passing: bool,
}

impl Erasures {
    pub(crate) fn lock(&self) -> MutexGuard<'_, ErasureState> {
        self.state.lock()
    }
}

impl ErasureState {
    /// All that is owed, the present pass's included.
    pub(crate) fn all_owed(&self) -> Owed {
        let mut all = self.owed.clone();
        self.passing.iter().for_each(|passing| all.add(&passing.owed));
        all
    }

    /// Something more is owed, and written.
    pub(crate) fn owe(&mut self, owed: &Owed, last: u64, sequence: u64) {
        self.owed.add(owed);
        self.since.get_or_insert_with(Instant::now);
        (self.last, self.sequence) = (last, sequence);
    }

    /// What is still to be done, if anything is.
    pub(crate) fn owing(&self) -> Option<Owing> {
        match &self.passing {
            Some(passing) => Some(Owing { since: passing.since, is_passing: true }),
            None => self.since.map(|since| Owing { since, is_passing: false }),
        }
    }

    /// A pass takes on all that is owed, if anything is: what.
    fn take_on(&mut self) -> Option<Owed> {
        let since = self.since.take()?;
        let owed = std::mem::take(&mut self.owed);
        self.passing = Some(Passing { owed: owed.clone(), since, last: self.last, moments: Moments::default() });
        Some(owed)
    }

    /// The pass has come further.
    fn note(&mut self, moments: Moments) {
        self.passing.iter_mut().for_each(|passing| passing.moments = moments);
    }

    /// The pass is over, and that is written.
    fn end_pass(&mut self) {
        self.passing = None;
    }

    /// How far the pass is that has an erasure of this number, or is still to come.
    fn moments_of(&self, number: u64) -> Moments {
        match &self.passing {
            Some(passing) if number <= passing.last => passing.moments,
            Some(_) | None => Moments::default(),
        }
    }
}
