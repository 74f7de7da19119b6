//! Locks of a transaction that has very many: each a number, while nobody asks for it.
//!
//! They are locks of rows and of unique values that it has taken `Exclusive`, and never otherwise. Whoever else asks for one finds it made an entry of the table, as
//! if it had been there all along. Two locks of one number would be one lock, which is more waiting and nothing worse.

use super::{
    LockEntry, LockMark, LockMode, LockState, Locks, Name, RELEASED_AT_ONCE, TakenLock, TransactionId, give_back,
};
use parking_lot::MutexGuard;
use repr::hash::HashSet;
use std::collections::hash_map::Entry;

/// See the module.
#[derive(Default)]
pub(super) struct ManyLocks {
    numbers: HashSet<u64>,
    /// Those that somebody has asked for: entries of the table.
    shown: Vec<Name>,
}

/// What a transaction has taken, in order; what stands among the many was taken before what is not.
#[derive(Default)]
pub(super) struct Held {
    pub(super) taken: Vec<TakenLock>,
    pub(super) many: Vec<ManyLocks>,
}

impl Held {
    pub(super) fn mark(&self) -> LockMark {
        LockMark { taken: self.taken.len(), many: self.many.len() }
    }

    /// What was taken since.
    pub(super) fn split_off(&mut self, mark: LockMark) -> Held {
        let taken = self.taken.split_off(mark.taken.min(self.taken.len()));
        Held { taken, many: self.many.split_off(mark.many.min(self.many.len())) }
    }

    fn has(&self, name: Name) -> bool {
        self.many.iter().any(|many| many.numbers.contains(&name.0))
    }
}

impl Locks {
    /// Has the locks that a transaction has taken since take little memory, as far as they are exclusive and nobody waits for them.
    /// There is no going back to a time between.
    pub fn gather(&self, transaction: TransactionId, since: LockMark) {
        let mut state = self.state.lock();
        let Some(held) = state.held.get_mut(&transaction) else { return };
        let taken = held.taken.split_off(since.taken.min(held.taken.len()));
        if held.many.len() <= since.many {
            held.many.push(ManyLocks::default());
        }
        if !state.with_many.contains(&transaction) {
            state.with_many.push(transaction);
        }
        let mut taken = taken.into_iter();
        let mut number = 0;
        while let Some(TakenLock(name, before)) = taken.next() {
            number += 1;
            if number % RELEASED_AT_ONCE == 0 {
                MutexGuard::bump(&mut state);
            }
            let is_alone = name.is_of_row() && before.is_none() && state.take_alone(transaction, name);
            let Some(held) = state.held.get_mut(&transaction) else {
                // An erasure has ended the transaction meanwhile.
                let taken = std::iter::once(TakenLock(name, before)).chain(taken).collect();
                return give_back(&mut state, transaction, Held { taken, many: Vec::new() });
            };
            match held.many.last_mut() {
                Some(many) if is_alone => _ = many.numbers.insert(name.0),
                Some(_) | None => held.taken.push(TakenLock(name, before)),
            }
        }
    }
}

impl LockState {
    /// Takes an entry out that a transaction alone has, exclusively.
    fn take_alone(&mut self, transaction: TransactionId, name: Name) -> bool {
        let Entry::Occupied(place) = self.entries.entry(name) else { return false };
        let entry = place.get();
        let is_alone = entry.crowd.is_none() && entry.first == Some((transaction, LockMode::Exclusive));
        if is_alone {
            place.remove();
            self.entries.shrink(&name);
        }
        is_alone
    }

    /// Whether a transaction has a lock among its many.
    pub(super) fn has_among_many(&self, transaction: TransactionId, name: Name) -> bool {
        self.with_many.contains(&transaction) && self.held.get(&transaction).is_some_and(|held| held.has(name))
    }

    /// Makes a lock that somebody has among their many an entry of the table.
    pub(super) fn show(&mut self, name: Name) {
        for holder in &self.with_many {
            let many = self.held.get_mut(holder).into_iter().flat_map(|held| &mut held.many);
            let Some(many) = many.into_iter().find(|many| many.numbers.contains(&name.0)) else { continue };
            let entry: &mut LockEntry = self.entries.entry(name).or_default();
            if entry.mode_of(*holder).is_none() {
                entry.set(*holder, Some(LockMode::Exclusive));
                many.shown.push(name);
            }
        }
    }

    /// Gives back what stood among the many.
    pub(super) fn give_back_many(&mut self, transaction: TransactionId, many: Vec<ManyLocks>) {
        if many.is_empty() {
            return;
        }
        if self.held.get(&transaction).is_none_or(|held| held.many.is_empty()) {
            self.with_many.retain(|holder| *holder != transaction);
        }
        for name in many.iter().flat_map(|many| &many.shown) {
            self.turn(transaction, *name, None);
        }
        crate::parallel::discard(many.into_iter().map(|many| many.numbers).collect::<Vec<_>>());
    }
}
