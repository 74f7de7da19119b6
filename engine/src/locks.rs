//! The lock table: rows, unique values, tables and the catalog, locked by transactions until they end.
//!
//! Waiting happens on the connection's own thread, never on the commit thread. One mutex guards the whole
//! table: it is held for a hash-map operation only, and the waits-for graph needs a consistent picture.

use crate::SqlError;
use crate::protocol::CancelFlag;
use parking_lot::{Condvar, Mutex};
use repr::hash::{HashMap, HashSet, RandomState};
use repr::{IndexId, RelationId, RowKey};
use std::collections::hash_map::Entry as Place;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transaction, for locks: numbered from process start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u64);

/// What can be locked.
#[derive(Hash)]
pub enum LockKey {
    /// A logical row, existing or about to.
    Row(RelationId, RowKey),
    /// A value of a unique index.
    Unique(IndexId, Vec<u8>),
    /// A table: shared by writers, exclusive for DDL.
    Table(RelationId),
    /// The catalog: one DDL transaction at a time.
    Catalog,
}

/// How strongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// With other sharers.
    Shared,
    /// Alone.
    Exclusive,
}

/// How long to wait for a lock.
#[derive(Clone)]
pub struct Patience {
    /// No longer than this (55P03); `None` is for ever.
    pub timeout: Option<Duration>,
    /// Not after this (57014, statement_timeout).
    pub deadline: Option<Instant>,
    /// Not once cancelled (57014).
    pub cancel: Arc<CancelFlag>,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// At once.
    AtOnce,
    /// Another transaction held it meanwhile: look at the row again.
    AfterWait,
}

/// A key in the table: two hashes of it, under seeds of this process. A transaction may hold a hundred thousand. Two keys that meet
/// would be one lock, which is more waiting and nothing worse.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Name(u64, u64);

#[derive(Default)]
struct Entry {
    exclusive: Option<TransactionId>,
    shared: Sharers,
    exclusive_waiters: u32,
    waiters: u32,
    /// Made by the first that waits.
    changed: Option<Arc<Condvar>>,
}

/// Mostly one, and few: at most one for each connection.
#[derive(Default)]
struct Sharers {
    first: Option<TransactionId>,
    others: Vec<TransactionId>,
}

impl Sharers {
    fn iter(&self) -> impl Iterator<Item = TransactionId> {
        self.first.iter().chain(&self.others).copied()
    }
    fn contains(&self, transaction: TransactionId) -> bool {
        self.iter().any(|holder| holder == transaction)
    }
    fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    fn add(&mut self, transaction: TransactionId) {
        match self.first {
            None => self.first = Some(transaction),
            Some(_) => self.others.push(transaction),
        }
    }
    fn remove(&mut self, transaction: TransactionId) {
        self.others.retain(|holder| *holder != transaction);
        if self.first == Some(transaction) {
            self.first = self.others.pop();
        }
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        self.exclusive.is_none() && self.shared.is_empty() && self.waiters == 0
    }

    /// Wakes who may take the lock now: of those who want it alone the one who has waited longest. The others would only
    /// go to sleep again.
    fn wake(&self) {
        let Some(changed) = &self.changed else { return };
        if self.shared.is_empty() && self.waiters == self.exclusive_waiters {
            changed.notify_one();
        } else {
            changed.notify_all();
        }
    }
}

#[derive(Default)]
struct State {
    entries: HashMap<Name, Entry>,
    held: HashMap<TransactionId, Vec<Name>>,
    waits: HashMap<TransactionId, (Name, LockMode)>,
}

/// All locks of the database.
#[derive(Default)]
pub struct LockTable {
    seeds: (RandomState, RandomState),
    state: Mutex<State>,
}

// How often a waiter looks at its cancel flag.
const POLL: Duration = Duration::from_millis(20);

impl LockTable {
    /// Takes a lock, waiting if need be. 40P01 if that would close a cycle. `ended` says why a transaction that
    /// waits has nothing to wait for any more.
    pub fn lock(
        &self,
        transaction: TransactionId,
        key: LockKey,
        mode: LockMode,
        patience: &Patience,
        ended: &dyn Fn() -> Option<SqlError>,
    ) -> Result<Granted, SqlError> {
        let name = self.name(&key);
        let mut state = self.state.lock();
        if state.try_grant(transaction, name, mode) {
            return Ok(Granted::AtOnce);
        }
        if state.closes_cycle(transaction, name, mode) {
            return Err(SqlError::new("40P01", "deadlock detected")
                .hint("another transaction waits for this one; retry the transaction"));
        }
        let give_up = patience.timeout.map(|timeout| Instant::now() + timeout);
        let changed = {
            let entry = state.entries.entry(name).or_default();
            entry.waiters += 1;
            entry.exclusive_waiters += u32::from(mode == LockMode::Exclusive);
            entry.changed.get_or_insert_default().clone()
        };
        state.waits.insert(transaction, (name, mode));
        let outcome = loop {
            changed.wait_for(&mut state, POLL);
            let now = Instant::now();
            if patience.cancel.is_cancelled() {
                break Err(SqlError::new("57014", "canceling statement due to user request"));
            }
            if patience.deadline.is_some_and(|deadline| now >= deadline) {
                break Err(SqlError::new("57014", "canceling statement due to statement timeout"));
            }
            if let Some(error) = ended() {
                break Err(error);
            }
            if state.try_grant(transaction, name, mode) {
                break Ok(Granted::AfterWait);
            }
            if give_up.is_some_and(|give_up| now >= give_up) {
                break Err(SqlError::new("55P03", "canceling statement due to lock timeout"));
            }
        };
        state.waits.remove(&transaction);
        if let Place::Occupied(mut place) = state.entries.entry(name) {
            let entry = place.get_mut();
            entry.waiters -= 1;
            entry.exclusive_waiters -= u32::from(mode == LockMode::Exclusive);
            if outcome.is_err() {
                // It may have been woken for nothing, or others have waited behind it.
                changed.notify_all();
            }
            if entry.is_idle() {
                place.remove();
            }
        }
        outcome
    }

    /// Takes a lock if it is free at once (NOWAIT, SKIP LOCKED).
    pub fn try_lock(&self, transaction: TransactionId, key: &LockKey, mode: LockMode) -> bool {
        let name = self.name(key);
        self.state.lock().try_grant(transaction, name, mode)
    }

    /// Ends a transaction: all its locks are free.
    pub fn release(&self, transaction: TransactionId) {
        let mut state = self.state.lock();
        for name in state.held.remove(&transaction).unwrap_or_default() {
            if let Place::Occupied(mut place) = state.entries.entry(name) {
                let entry = place.get_mut();
                if entry.exclusive == Some(transaction) {
                    entry.exclusive = None;
                }
                entry.shared.remove(transaction);
                entry.wake();
                if entry.is_idle() {
                    place.remove();
                }
            }
        }
    }

    fn name(&self, key: &LockKey) -> Name {
        Name(self.seeds.0.hash_one(key), self.seeds.1.hash_one(key))
    }
}

impl State {
    fn try_grant(&mut self, transaction: TransactionId, name: Name, mode: LockMode) -> bool {
        let entry = self.entries.entry(name).or_default();
        if entry.exclusive == Some(transaction) {
            return true;
        }
        let held = entry.shared.contains(transaction);
        let free = match mode {
            LockMode::Shared if held => return true,
            // Sharers who come later do not overtake a waiting writer for ever.
            LockMode::Shared => {
                entry.exclusive.is_none() && (entry.exclusive_waiters == 0 || self.waits.contains_key(&transaction))
            }
            LockMode::Exclusive => entry.exclusive.is_none() && entry.shared.iter().all(|holder| holder == transaction),
        };
        if !free {
            return false;
        }
        match mode {
            LockMode::Shared => entry.shared.add(transaction),
            LockMode::Exclusive => {
                entry.shared.remove(transaction);
                entry.exclusive = Some(transaction);
            }
        }
        if !held {
            self.held.entry(transaction).or_default().push(name);
        }
        true
    }

    fn blockers(&self, transaction: TransactionId, name: Name, mode: LockMode) -> Vec<TransactionId> {
        let Some(entry) = self.entries.get(&name) else { return Vec::new() };
        let mut blockers: Vec<TransactionId> = entry.exclusive.into_iter().collect();
        match mode {
            LockMode::Exclusive => blockers.extend(entry.shared.iter()),
            // A sharer also waits for the writers that it may not overtake.
            LockMode::Shared => blockers.extend(self.waits.iter().filter_map(|(waiter, (waited, mode))| {
                (*waited == name && *mode == LockMode::Exclusive).then_some(*waiter)
            })),
        }
        blockers.retain(|blocker| *blocker != transaction);
        blockers
    }

    fn closes_cycle(&self, transaction: TransactionId, name: Name, mode: LockMode) -> bool {
        let mut open = self.blockers(transaction, name, mode);
        let mut seen: HashSet<TransactionId> = HashSet::default();
        while let Some(next) = open.pop() {
            if next == transaction {
                return true;
            }
            if seen.insert(next)
                && let Some((name, mode)) = self.waits.get(&next)
            {
                open.extend(self.blockers(next, *name, *mode));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Granted, LockKey, LockMode, LockTable, Patience, TransactionId};
    use crate::SqlError;
    use repr::RelationId;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn patience(milliseconds: u64) -> Patience {
        Patience { timeout: Some(Duration::from_millis(milliseconds)), deadline: None, cancel: Arc::default() }
    }
    fn table(id: u32) -> LockKey {
        LockKey::Table(RelationId(id))
    }

    fn lock(
        locks: &LockTable,
        transaction: TransactionId,
        key: LockKey,
        mode: LockMode,
        milliseconds: u64,
    ) -> Result<Granted, SqlError> {
        locks.lock(transaction, key, mode, &patience(milliseconds), &|| None)
    }

    #[test]
    fn sharers_exclude_a_writer_until_they_end() {
        let locks = LockTable::default();
        let (a, b) = (TransactionId(1), TransactionId(2));
        assert_eq!(lock(&locks, a, table(1), LockMode::Shared, 5).unwrap(), Granted::AtOnce);
        assert_eq!(lock(&locks, b, table(1), LockMode::Shared, 5).unwrap(), Granted::AtOnce);
        assert_eq!(lock(&locks, b, table(1), LockMode::Exclusive, 30).unwrap_err().code, "55P03");
        locks.release(a);
        assert_eq!(lock(&locks, b, table(1), LockMode::Exclusive, 5).unwrap(), Granted::AtOnce);
        assert!(!locks.try_lock(a, &table(1), LockMode::Shared));
        locks.release(b);
        assert!(lock(&locks, a, table(1), LockMode::Exclusive, 5).is_ok());
    }

    #[test]
    fn writers_who_wait_follow_each_other() {
        let locks = Arc::new(LockTable::default());
        assert!(locks.try_lock(TransactionId(0), &table(1), LockMode::Exclusive));
        let waiting: Vec<_> = (1..=20)
            .map(|id| {
                let locks = locks.clone();
                let patience = patience(if id == 7 { 1 } else { 120_000 });
                std::thread::spawn(move || {
                    let granted = locks.lock(TransactionId(id), table(1), LockMode::Exclusive, &patience, &|| None);
                    locks.release(TransactionId(id));
                    granted.is_ok()
                })
            })
            .collect();
        let began = Instant::now();
        while locks.state.lock().waits.len() < 19 {
            assert!(began.elapsed() < Duration::from_secs(60), "not all wait");
            std::thread::yield_now();
        }
        locks.release(TransactionId(0));
        let granted = waiting.into_iter().map(|thread| thread.join().unwrap()).filter(|ok| *ok).count();
        assert!(granted >= 19, "{granted} of 20 had the lock");
        assert!(locks.state.lock().entries.is_empty());
    }

    #[test]
    fn the_transaction_that_closes_a_cycle_is_refused() {
        let locks = Arc::new(LockTable::default());
        let (a, b) = (TransactionId(1), TransactionId(2));
        lock(&locks, a, table(1), LockMode::Exclusive, 5).unwrap();
        lock(&locks, b, table(2), LockMode::Exclusive, 5).unwrap();
        let waiting = {
            let locks = locks.clone();
            std::thread::spawn(move || lock(&locks, a, table(2), LockMode::Exclusive, 120_000))
        };
        let began = Instant::now();
        while locks.state.lock().waits.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "nobody waits");
            std::thread::yield_now();
        }
        assert_eq!(lock(&locks, b, table(1), LockMode::Exclusive, 120_000).unwrap_err().code, "40P01");
        locks.release(b);
        assert_eq!(waiting.join().unwrap().unwrap(), Granted::AfterWait);
    }
}
