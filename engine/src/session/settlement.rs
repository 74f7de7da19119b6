//! What became of a commit that was left to the pipeline, on its way back to the session.
//!
//! A session has one such commit at a time, and waits for it before it does anything else: so one slot serves them all, and none is
//! made for each.

use parking_lot::{Condvar, Mutex};
use state::SqlError;
use std::sync::Arc;
use transactions::commit::Committed;

/// What became of it.
type CommitResult = Result<Committed, SqlError>;

/// The session's side.
#[derive(Default)]
pub(super) struct Settlement {
    slot: Arc<SettlementSlot>,
    is_awaited: bool,
}

/// The pipeline's side: dropped untold, nothing more is heard of it.
pub(super) struct Settling(Option<Arc<SettlementSlot>>);

#[derive(Default)]
struct SettlementSlot {
    told: Mutex<Option<Settled>>,
    changed: Condvar,
}

enum Settled {
    Outcome(CommitResult),
    Unheard,
}

impl Settlement {
    /// One begins.
    pub(super) fn begin(&mut self) -> Settling {
        // Whoever told of the last one may not have let go of it yet.
        match Arc::get_mut(&mut self.slot) {
            Some(slot) => *slot.told.get_mut() = None,
            None => self.slot = Arc::default(),
        }
        self.is_awaited = true;
        Settling(Some(self.slot.clone()))
    }

    /// Waits for the one that is under way: none if none is, or nothing is heard of it.
    pub(super) fn wait(&mut self) -> Option<CommitResult> {
        if !std::mem::take(&mut self.is_awaited) {
            return None;
        }
        let mut told = self.slot.told.lock();
        loop {
            match told.take() {
                Some(Settled::Outcome(outcome)) => return Some(outcome),
                Some(Settled::Unheard) => return None,
                None => self.slot.changed.wait(&mut told),
            }
        }
    }
}

impl Settling {
    /// The session hears of it.
    pub(super) fn tell(&mut self, outcome: CommitResult) {
        if let Some(slot) = self.0.take() {
            slot.tell(Settled::Outcome(outcome));
        }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.tell(Settled::Unheard);
        }
    }
}

impl SettlementSlot {
    fn tell(&self, what: Settled) {
        *self.told.lock() = Some(what);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slot_serves_one_commit_after_the_other() {
        let mut settlement = Settlement::default();
        assert!(settlement.wait().is_none(), "none is under way");
        let slot = Arc::as_ptr(&settlement.slot);
        for turn in 0..1_000 {
            let mut settling = settlement.begin();
            let telling = std::thread::spawn(move || {
                if turn % 3 > 0 {
                    settling.tell(if turn % 3 == 1 {
                        Ok(Committed::default())
                    } else {
                        Err(SqlError::new("53100", "full"))
                    });
                }
            });
            let told = settlement.wait();
            assert_eq!(told.as_ref().map(Result::is_ok), [None, Some(true), Some(false)][turn % 3]);
            assert!(settlement.wait().is_none(), "once");
            telling.join().expect("no panic");
        }
        assert_eq!(Arc::as_ptr(&settlement.slot), slot, "nobody held it any more");
    }
}
