//! What may still become of a session's transaction: whether an erasure may end it, and whether one has.
//!
//! ```text
//!  OPEN ◀───▶ SHIELDED          shielded: erases somebody itself, or a definition of it is being carried out
//!   │  └─────────┴──▶ HANDED OVER ─▶ the pipeline's
//!   └──▶ ENDED                     its locks may be freed by whoever ended it: it is never handed over
//! ```
//! One word a session, which has one transaction at a time. Never waits.

use crate::locks::TransactionId;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Default)]
pub struct Fate {
    /// The transaction's id and, in the last bits, its step; 0 without one.
    word: AtomicU64,
}

const STEP_BITS: u32 = 2;
const OPEN: u64 = 0;
const SHIELDED: u64 = 1;
const HANDED_OVER: u64 = 2;
const ENDED: u64 = 3;

fn word(transaction: TransactionId, step: u64) -> u64 {
    transaction.0 << STEP_BITS | step
}

impl Fate {
    /// A transaction begins.
    pub fn begin(&self, transaction: TransactionId) {
        self.word.store(word(transaction, OPEN), Ordering::SeqCst);
    }

    /// From here on no erasure ends it, until it is open again. Of no effect on one that is ended.
    pub fn shield(&self, transaction: TransactionId) {
        self.turn(transaction, OPEN, SHIELDED);
    }

    /// See `shield`.
    pub fn open(&self, transaction: TransactionId) {
        self.turn(transaction, SHIELDED, OPEN);
    }

    /// The pipeline takes over; false if it was ended before.
    pub fn hand_over(&self, transaction: TransactionId) -> bool {
        self.turn(transaction, OPEN, HANDED_OVER)
            || self.turn(transaction, SHIELDED, HANDED_OVER)
            || self.is_at(transaction, HANDED_OVER)
    }

    /// Ends it, if that is possible: it will not be committed, now or later.
    pub fn end(&self, transaction: TransactionId) -> bool {
        self.turn(transaction, OPEN, ENDED) || self.is_ended(transaction)
    }

    /// Whether it was ended.
    pub fn is_ended(&self, transaction: TransactionId) -> bool {
        self.is_at(transaction, ENDED)
    }

    /// Whether it is the session's transaction.
    pub fn is_of(&self, transaction: TransactionId) -> bool {
        self.word.load(Ordering::SeqCst) >> STEP_BITS == transaction.0
    }

    /// The session's transaction, if there is one.
    pub fn current(&self) -> Option<TransactionId> {
        let word = self.word.load(Ordering::SeqCst) >> STEP_BITS;
        (word != 0).then_some(TransactionId(word))
    }

    /// There is nothing left of it.
    pub fn leave(&self, transaction: TransactionId) {
        let left = |found: u64| (found >> STEP_BITS == transaction.0).then_some(0);
        // Else the next one has begun.
        let _left = self.word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
    }

    fn turn(&self, transaction: TransactionId, from: u64, to: u64) -> bool {
        let (from, to) = (word(transaction, from), word(transaction, to));
        self.word.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn is_at(&self, transaction: TransactionId, step: u64) -> bool {
        self.word.load(Ordering::SeqCst) == word(transaction, step)
    }
}

#[cfg(test)]
mod tests {
    use super::Fate;
    use crate::locks::TransactionId;

    #[test]
    fn what_is_ended_is_not_handed_over_and_the_other_way_round() {
        let (fate, first, second) = (Fate::default(), TransactionId(7), TransactionId(8));
        fate.begin(first);
        assert!(fate.is_of(first) && !fate.is_of(second) && !fate.end(second));
        fate.shield(first);
        assert!(!fate.end(first));
        fate.open(first);
        assert!(fate.end(first) && fate.end(first) && fate.is_ended(first) && !fate.hand_over(first));
        fate.shield(first);
        assert!(fate.is_ended(first));
        fate.begin(second);
        fate.leave(first);
        assert!(fate.hand_over(second) && fate.hand_over(second) && !fate.end(second) && !fate.is_ended(second));
        fate.leave(second);
        assert!(!fate.is_of(second) && !fate.hand_over(second));
    }
}
