//! What is written, once more: batches on their way to RocksDB's log, for whoever ships them elsewhere.
//!
//! ```text
//! Store::put ─▶ RocksDB
//!     └───────▶ queue, bounded ─▶ Shipper
//! ```
//! In memory, so that no log stays on the disk for a target that is slow. What does not fit is a gap, and the next backup closes it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::write_form::COUNT_AT;

/// What may wait.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// A batch.
pub(super) struct Teed {
    /// When it was written, in microseconds since 2000-01-01 UTC.
    pub(super) time_us: i64,
    pub(super) at: WrittenAt,
    /// As RocksDB takes it.
    pub(super) batch: Vec<u8>,
}

/// Where the store stands with a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenAt {
    /// Its last operation's number in RocksDB.
    pub(crate) last: u64,
    /// The last commit.
    pub(crate) commit: u64,
    /// The audit log's last record.
    pub(crate) records: u64,
}

impl Teed {
    /// The number of its first operation.
    pub(super) fn first(&self) -> u64 {
        let count =
            self.batch.get(COUNT_AT..).and_then(|rest| rest.first_chunk().copied()).map_or(0, u32::from_le_bytes);
        (self.at.last + 1).saturating_sub(u64::from(count))
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Tee {
    is_on: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    now_us: Option<fn() -> i64>,
    batches: VecDeque<Teed>,
    bytes: usize,
    /// Something did not fit.
    has_gap: bool,
}

impl Waiting {
    fn lose(&mut self) {
        self.has_gap = true;
        self.batches.clear();
        self.bytes = 0;
    }
}

impl Tee {
    /// Begins anew: what waits is forgotten.
    pub(super) fn start(&self, now_us: fn() -> i64) {
        *self.waiting.lock() = Waiting { now_us: Some(now_us), ..Waiting::default() };
        self.is_on.store(true, Ordering::Release);
    }

    /// Nobody listens any more.
    pub(super) fn stop(&self) {
        self.is_on.store(false, Ordering::Release);
        *self.waiting.lock() = Waiting::default();
    }

    /// Whether somebody listens.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Whether somebody listens, and so many bytes may wait.
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.is_on() && bytes <= WAITING_BYTES_MAX
    }

    /// Something is written that does not come by here.
    pub(crate) fn lose(&self) {
        let mut waiting = self.waiting.lock();
        if waiting.now_us.is_some() {
            waiting.lose();
        }
    }

    /// A batch that was written. In the order of writing.
    pub(crate) fn push(&self, batch: Vec<u8>, at: WrittenAt) {
        let mut waiting = self.waiting.lock();
        let Some(now_us) = waiting.now_us else { return };
        if waiting.has_gap || waiting.bytes + batch.len() > WAITING_BYTES_MAX {
            waiting.lose();
            return;
        }
        waiting.bytes += batch.len();
        waiting.batches.push_back(Teed { time_us: now_us(), at, batch });
    }

    /// What waits, up to so many bytes; none where something is lost.
    pub(super) fn take(&self, bytes_max: usize) -> Option<Vec<Teed>> {
        let mut waiting = self.waiting.lock();
        if waiting.has_gap {
            return None;
        }
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while bytes < bytes_max
            && let Some(next) = waiting.batches.pop_front()
        {
            bytes += next.batch.len();
            taken.push(next);
        }
        waiting.bytes -= bytes;
        Some(taken)
    }

    /// Puts back what could not be shipped.
    pub(super) fn put_back(&self, taken: Vec<Teed>) {
        let mut waiting = self.waiting.lock();
        if waiting.has_gap {
            return;
        }
        for teed in taken.into_iter().rev() {
            waiting.bytes += teed.batch.len();
            waiting.batches.push_front(teed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_a_gap() {
        let tee = Tee::default();
        let at = |last| WrittenAt { last, ..WrittenAt::default() };
        tee.push(vec![1], at(1));
        tee.start(|| 7);
        tee.push(vec![1; 10], at(2));
        tee.push(vec![2; 10], at(3));
        let taken = tee.take(5).expect("nothing is lost");
        assert_eq!(taken.iter().map(|teed| teed.at.last).collect::<Vec<_>>(), [2]);
        tee.put_back(taken);
        let taken = tee.take(usize::MAX).expect("nothing is lost");
        assert_eq!(taken.iter().map(|teed| teed.at.last).collect::<Vec<_>>(), [2, 3]);
        tee.push(vec![0; WAITING_BYTES_MAX + 1], at(4));
        assert!(tee.take(1).is_none());
        tee.push(vec![3], at(5));
        assert!(tee.take(1).is_none(), "until it begins anew");
        tee.start(|| 8);
        assert!(tee.take(1).is_some());
    }
}
