//! Locks of a transaction that has very many: each a number, while nobody asks for it.
//!
//! They are locks of rows and of unique values that it has taken once, and that it has alone. Whoever else asks for one finds it made an
//! entry of the table, as if it had been there all along. Two locks of one number would be one lock, which is more waiting and nothing
//! worse.

use super::{
    ALL_MODES, LockEntry, LockMark, LockMode, LockState, Locks, MODES, Name, RELEASED_AT_ONCE, TakenLock,
    TransactionId, give_back,
};
use parking_lot::MutexGuard;
use repr::hash::HashSet;
use std::collections::hash_map::Entry;

/// See the module.
#[derive(Default)]
pub(super) struct ManyLocks {
    by_mode: [HashSet<u64>; MODES],
    /// Those that somebody has asked for: entries of the table.
    shown: Vec<Name>,
}

/// What a transaction has taken, in order; what stands among the many was taken before what is not.
#[derive(Default)]
pub(super) struct Held {
    pub(super) taken: Vec<TakenLock>,
    pub(super) many: Vec<ManyLocks>,
    /// So many of what was taken stay as they are: they are not looked at again.
    left: usize,
}

impl ManyLocks {
    fn mode_of(&self, name: Name) -> Option<LockMode> {
        ALL_MODES.into_iter().rev().find(|mode| self.by_mode[*mode as usize].contains(&name.0))
    }

    fn insert(&mut self, name: Name, mode: LockMode) {
        self.by_mode[mode as usize].insert(name.0);
    }
}

impl Held {
    pub(super) fn mark(&self) -> LockMark {
        LockMark { taken: self.taken.len(), many: self.many.len() }
    }

    /// What was taken since.
    pub(super) fn split_off(&mut self, mark: LockMark) -> Held {
        let taken = self.taken.split_off(mark.taken.min(self.taken.len()));
        self.left = self.left.min(self.taken.len());
        Held { taken, many: self.many.split_off(mark.many.min(self.many.len())), left: 0 }
    }

    fn mode_among_many(&self, name: Name) -> Option<LockMode> {
        self.many.iter().filter_map(|many| many.mode_of(name)).max()
    }
}

impl Locks {
    /// Has the locks that a transaction has taken since take little memory, as far as they are for one alone and nobody waits for them.
    /// There is no going back to a time between.
    pub fn gather(&self, transaction: TransactionId, since: LockMark) {
        let mut state = self.state.lock();
        let Some(held) = state.held.get_mut(&transaction) else { return };
        let taken = held.taken.split_off(since.taken.max(held.left).min(held.taken.len()));
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
            let is_row = name.is_of_row() && before.is_none();
            let alone = if is_row { state.take_alone(transaction, name) } else { None };
            let Some(held) = state.held.get_mut(&transaction) else {
                // An erasure has ended the transaction meanwhile.
                let taken = std::iter::once(TakenLock(name, before)).chain(taken).collect();
                return give_back(&mut state, transaction, Held { taken, ..Held::default() });
            };
            match (held.many.last_mut(), alone) {
                (Some(many), Some(mode)) => many.insert(name, mode),
                (Some(_) | None, _) => held.taken.push(TakenLock(name, before)),
            }
        }
        if let Some(held) = state.held.get_mut(&transaction) {
            held.left = held.taken.len();
        }
    }
}

impl LockState {
    /// Takes an entry out that a transaction alone has, and in which mode.
    fn take_alone(&mut self, transaction: TransactionId, name: Name) -> Option<LockMode> {
        let Entry::Occupied(place) = self.entries.entry(name) else { return None };
        let entry = place.get();
        let (_, mode) = entry.first.filter(|(holder, _)| *holder == transaction)?;
        if entry.crowd.is_some() {
            return None;
        }
        place.remove();
        self.entries.shrink(&name);
        Some(mode)
    }

    /// Whether a transaction has a lock among its many that is as strong.
    pub(super) fn has_among_many(&self, transaction: TransactionId, name: Name, mode: LockMode) -> bool {
        let held = || self.held.get(&transaction).and_then(|held| held.mode_among_many(name));
        self.with_many.contains(&transaction) && held() >= Some(mode)
    }

    /// Makes a lock that somebody has among their many an entry of the table.
    pub(super) fn show(&mut self, name: Name) {
        for holder in &self.with_many {
            let many = self.held.get_mut(holder).into_iter().flat_map(|held| &mut held.many);
            // One that was taken more strongly after it had been gathered is an entry, and stays one.
            let Some((mode, many)) = many.into_iter().find_map(|many| Some((many.mode_of(name)?, many))) else {
                continue;
            };
            let entry: &mut LockEntry = self.entries.entry(name).or_default();
            if entry.mode_of(*holder).is_none() {
                entry.set(*holder, Some(mode));
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
        crate::parallel::discard(many);
    }
}
