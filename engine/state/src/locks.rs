//! The lock table: rows, unique values, tables and the catalog, locked by transactions until they end.
//!
//! Waiting happens on the connection's own thread, never on the commit thread. One mutex guards the whole
//! table: it is held for a hash-map operation only, and the waits-for graph needs a consistent picture.
//!
//! Advisory locks stand in the same table. What a session holds beyond its transactions, and how often, is kept in `advisory`.

mod advisory;
mod listing;
mod many;

pub use listing::{Listed, ListedKey};

use crate::cancel::CancelFlag;
use crate::{SqlError, clock};
use advisory::AdvisoryBook;
use many::Held;
use parking_lot::{Condvar, Mutex, MutexGuard};
use planner::hir::LockStrength;
use planner::scalar::AdvisoryKey;
use repr::hash::{HashMap, HashSet, RandomState};
use repr::{IndexId, RelationId, RowKey};
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transaction, for locks: numbered from process start. Sessions have such numbers too, for what they hold beyond a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u64);

/// Who asks for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Whose it becomes.
    taker: TransactionId,
    /// Of a session and its transaction the other: what it holds does not stand in the way, and who waits for it waits for both.
    kin: Option<TransactionId>,
    /// Until the session gives it back, rather than until the transaction ends.
    keeps: bool,
}

impl Asker {
    /// A transaction of a session.
    pub fn transaction(transaction: TransactionId, session: TransactionId) -> Asker {
        Asker { taker: transaction, kin: Some(session), keeps: false }
    }

    /// A session, with the transaction that it is in: only for advisory locks.
    pub fn session(session: TransactionId, transaction: Option<TransactionId>) -> Asker {
        Asker { taker: session, kin: transaction, keeps: true }
    }

    fn is(self, other: TransactionId) -> bool {
        self.taker == other || self.kin == Some(other)
    }
}

/// A transaction without a session.
impl From<TransactionId> for Asker {
    fn from(taker: TransactionId) -> Asker {
        Asker { taker, kin: None, keeps: false }
    }
}

/// What can be locked.
#[derive(Clone, Hash)]
pub enum LockKey {
    /// A logical row, existing or about to.
    Row(RelationId, RowKey),
    /// A value of a unique index.
    Unique(IndexId, Vec<u8>),
    /// A table: shared by writers, exclusive for DDL.
    Table(RelationId),
    /// The catalog: one DDL transaction at a time.
    Catalog,
    /// What applications say it is.
    Advisory(AdvisoryKey),
}

/// How strongly. Each mode conflicts with all that the one before conflicts with, so that the strongest that a transaction has
/// taken says all:
/// ```text
///                KeyShare  Shared  NoKeyUpdate  Exclusive
/// KeyShare                                          x
/// Shared                                x           x
/// NoKeyUpdate                 x         x           x
/// Exclusive          x        x         x           x
/// ```
/// Rows have all four, as PostgreSQL's; what else is locked is locked `Shared` or `Exclusive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// The row stays, and so do its keys: what a foreign key needs of its parent.
    KeyShare,
    /// Nothing of it changes.
    Shared,
    /// No key of it changes, and nobody else changes it.
    NoKeyUpdate,
    /// Alone.
    Exclusive,
}

const MODES: usize = 4;
const ALL_MODES: [LockMode; MODES] = [LockMode::KeyShare, LockMode::Shared, LockMode::NoKeyUpdate, LockMode::Exclusive];

impl LockMode {
    fn conflicts(self, other: LockMode) -> bool {
        self as usize + other as usize >= MODES - 1
    }

    /// Whether only one transaction can have it.
    fn is_for_one(self) -> bool {
        self.conflicts(self)
    }
}

impl From<LockStrength> for LockMode {
    fn from(strength: LockStrength) -> LockMode {
        match strength {
            LockStrength::KeyShare => LockMode::KeyShare,
            LockStrength::Share => LockMode::Shared,
            LockStrength::NoKeyUpdate => LockMode::NoKeyUpdate,
            LockStrength::Update => LockMode::Exclusive,
        }
    }
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
    /// From then on those who hold it are ended, where that is possible: for an erasure.
    pub insists_from: Option<Instant>,
}

impl Patience {
    /// 57014 once it is over: cancelled, or past the statement's time.
    pub fn check(&self) -> Result<(), SqlError> {
        if self.cancel.is_cancelled() {
            return Err(SqlError::new("57014", "canceling statement due to user request"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(SqlError::new("57014", "canceling statement due to statement timeout"));
        }
        Ok(())
    }
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
/// would be one lock, which is more waiting and nothing worse. The last bit of the first says whether it is of a row or a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Name(u64, u64);

impl Name {
    fn is_of_row(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A lock: mostly of one, whom nobody waits for. A transaction may have a million of them.
#[derive(Default)]
struct LockEntry {
    first: Option<(TransactionId, LockMode)>,
    crowd: Option<Box<Crowd>>,
}

/// What a lock has beside who has taken it first.
#[derive(Default)]
struct Crowd {
    /// Few: at most one for each connection.
    others: Vec<(TransactionId, LockMode)>,
    /// By mode.
    waiters: [u32; MODES],
    /// Made by the first that waits.
    changed: Option<Arc<Condvar>>,
}

impl LockEntry {
    /// Who has it.
    fn holders(&self) -> impl Iterator<Item = (TransactionId, LockMode)> {
        self.first.iter().chain(self.crowd.iter().flat_map(|crowd| &crowd.others)).copied()
    }
    fn mode_of(&self, transaction: TransactionId) -> Option<LockMode> {
        self.holders().find(|(holder, _)| *holder == transaction).map(|(_, mode)| mode)
    }
    /// Those that keep somebody from taking the lock in a mode.
    fn against(&self, asker: Asker, mode: LockMode) -> impl Iterator<Item = TransactionId> {
        let against = move |(holder, held): &(TransactionId, LockMode)| !asker.is(*holder) && held.conflicts(mode);
        self.holders().filter(against).map(|(holder, _)| holder)
    }
    /// Makes what a transaction holds this; none is nothing.
    fn set(&mut self, transaction: TransactionId, mode: Option<LockMode>) {
        let Some(mode) = mode else {
            self.crowd.iter_mut().for_each(|crowd| crowd.others.retain(|(holder, _)| *holder != transaction));
            if self.first.is_some_and(|(holder, _)| holder == transaction) {
                self.first = self.crowd.as_mut().and_then(|crowd| crowd.others.pop());
            }
            return;
        };
        let others = self.crowd.iter_mut().flat_map(|crowd| &mut crowd.others);
        if let Some(held) = self.first.iter_mut().chain(others).find(|(holder, _)| *holder == transaction) {
            held.1 = mode;
        } else if self.first.is_none() {
            self.first = Some((transaction, mode));
        } else {
            self.crowd.get_or_insert_default().others.push((transaction, mode));
        }
    }

    fn is_idle(&self) -> bool {
        self.first.is_none() && self.crowd.as_ref().is_none_or(|crowd| crowd.waiters == [0; MODES])
    }

    /// Whether somebody waits for the lock whom one who has it in this mode would keep waiting.
    fn is_wanted_against(&self, mode: LockMode) -> bool {
        let waiters = self.crowd.as_ref().map_or([0; MODES], |crowd| crowd.waiters);
        ALL_MODES.into_iter().zip(waiters).any(|(waited, count)| count > 0 && waited.conflicts(mode))
    }

    /// Wakes who may take the lock now: of those who want it alone the one who has waited longest. The others would only
    /// go to sleep again.
    fn wake(&self) {
        let Some(Crowd { waiters, changed: Some(changed), .. }) = self.crowd.as_deref() else { return };
        let sharers = waiters[LockMode::KeyShare as usize] + waiters[LockMode::Shared as usize];
        if self.first.is_none() && sharers == 0 {
            changed.notify_one();
        } else {
            changed.notify_all();
        }
    }
}

/// A lock as it was taken: what it is of, and in which mode the transaction had it before.
struct TakenLock(Name, Option<LockMode>);

/// How many locks a transaction had taken at some time, a lock that it took again more strongly counted again; and how often
/// they were gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockMark {
    taken: usize,
    many: usize,
}

/// Locks that somebody has or wants. In parts, since a table that grows moves all that it has while everybody waits.
struct LockEntries(Vec<HashMap<Name, LockEntry>>);

const PARTS: usize = 64;
/// A part that has held more, and is empty, gives its memory back.
const EMPTY_PART_MAX: usize = 256;

impl Default for LockEntries {
    fn default() -> Self {
        LockEntries((0..PARTS).map(|_| HashMap::default()).collect())
    }
}

impl LockEntries {
    fn get(&self, name: &Name) -> Option<&LockEntry> {
        self.0[Self::part(name)].get(name)
    }

    fn entry(&mut self, name: Name) -> Entry<'_, Name, LockEntry> {
        self.0[Self::part(&name)].entry(name)
    }

    /// One is gone.
    fn shrink(&mut self, name: &Name) {
        let part = &mut self.0[Self::part(name)];
        if part.is_empty() && part.capacity() > EMPTY_PART_MAX {
            *part = HashMap::default();
        }
    }

    // The other number is what a part's own places follow from.
    fn part(name: &Name) -> usize {
        name.1 as usize % PARTS
    }
}

#[derive(Default)]
struct LockState {
    entries: LockEntries,
    held: HashMap<TransactionId, Held>,
    /// Those of whom some stand among many: few.
    with_many: Vec<TransactionId>,
    waits: HashMap<TransactionId, Wait>,
    advisory: AdvisoryBook,
}

/// What somebody waits for. A session and its transaction wait for the same.
#[derive(Clone)]
struct Wait {
    asker: Asker,
    name: Name,
    mode: LockMode,
    key: ListedKey,
    /// In microseconds since 2000-01-01.
    since: i64,
}

/// All locks of the database.
#[derive(Default)]
pub struct Locks {
    seeds: (RandomState, RandomState),
    state: Mutex<LockState>,
}

// So many locks are given back before somebody else has a turn.
const RELEASED_AT_ONCE: usize = 1_024;
// How often a waiter looks at its cancel flag.
const POLL: Duration = Duration::from_millis(20);

impl Locks {
    /// Takes a lock, waiting if need be. 40P01 if that would close a cycle, 53200 for one advisory lock too many. `ended` says
    /// why a transaction that waits has nothing to wait for any more.
    pub fn lock(
        &self,
        asker: impl Into<Asker>,
        key: LockKey,
        mode: LockMode,
        patience: &Patience,
        ended: &dyn Fn() -> Option<SqlError>,
    ) -> Result<Granted, SqlError> {
        let (name, asker) = (self.name(&key), asker.into());
        let mut state = self.state.lock();
        state.advisory.enters(name, &key)?;
        if state.try_grant(asker, name, mode, Turn::BehindWaiters) {
            return Ok(Granted::AtOnce);
        }
        if state.closes_cycle(asker, name, mode) {
            return Err(SqlError::new("40P01", "deadlock detected")
                .hint("another transaction waits for this one; retry the transaction"));
        }
        let give_up = patience.timeout.map(|timeout| Instant::now() + timeout);
        let changed = {
            let crowd = state.entries.entry(name).or_default().crowd.get_or_insert_default();
            crowd.waiters[mode as usize] += 1;
            crowd.changed.get_or_insert_default().clone()
        };
        state.begin_wait(Wait { asker, name, mode, key: ListedKey::of(&key), since: clock::now_micros() });
        let outcome = loop {
            changed.wait_for(&mut state, POLL);
            if let Err(over) = patience.check() {
                break Err(over);
            }
            if let Some(error) = ended() {
                break Err(error);
            }
            if state.try_grant(asker, name, mode, Turn::Any) {
                break Ok(Granted::AfterWait);
            }
            if give_up.is_some_and(|give_up| Instant::now() >= give_up) {
                break Err(SqlError::new("55P03", "canceling statement due to lock timeout"));
            }
        };
        state.end_wait(asker);
        if let Entry::Occupied(mut place) = state.entries.entry(name) {
            let entry = place.get_mut();
            entry.crowd.get_or_insert_default().waiters[mode as usize] -= 1;
            if outcome.is_err() {
                // It may have been woken for nothing, or others have waited behind it.
                changed.notify_all();
            }
            if entry.is_idle() {
                place.remove();
                state.entries.shrink(&name);
                state.advisory.leaves(name);
            }
        }
        outcome
    }

    /// Takes a lock if it is free at once (NOWAIT, SKIP LOCKED).
    pub fn try_lock(&self, asker: impl Into<Asker>, key: &LockKey, mode: LockMode) -> bool {
        let name = self.name(key);
        self.state.lock().try_grant(asker.into(), name, mode, Turn::Any)
    }

    /// What a transaction has taken so far.
    pub fn mark(&self, transaction: TransactionId) -> LockMark {
        self.state.lock().held.get(&transaction).map_or_else(LockMark::default, Held::mark)
    }

    /// Gives back what a transaction has taken since; a lock that it had before it has as it had it then.
    pub fn release_since(&self, transaction: TransactionId, mark: LockMark) {
        let mut state = self.state.lock();
        let since = state.held.get_mut(&transaction).map(|held| held.split_off(mark));
        give_back(&mut state, transaction, since.unwrap_or_default());
    }

    /// Those whose locks keep a transaction from taking this one.
    pub fn holders_against(&self, asker: impl Into<Asker>, key: &LockKey, mode: LockMode) -> Vec<TransactionId> {
        let state = self.state.lock();
        let Some(entry) = state.entries.get(&self.name(key)) else { return Vec::new() };
        entry.against(asker.into(), mode).collect()
    }

    /// Ends a transaction: all its locks are free.
    pub fn release(&self, transaction: TransactionId) {
        let mut state = self.state.lock();
        let held = state.held.remove(&transaction).unwrap_or_default();
        give_back(&mut state, transaction, held);
    }

    fn name(&self, key: &LockKey) -> Name {
        let is_of_row = matches!(key, LockKey::Row(..) | LockKey::Unique(..));
        Name(self.seeds.0.hash_one(key) & !1 | u64::from(is_of_row), self.seeds.1.hash_one(key))
    }
}

/// Whether a request may come before those who wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It has waited itself, or does not wait at all.
    Any,
    /// Sharers who come later do not overtake a waiting writer, but for one round of its waiting.
    BehindWaiters,
}

impl LockState {
    fn try_grant(&mut self, asker: Asker, name: Name, mode: LockMode, turn: Turn) -> bool {
        if !self.with_many.is_empty() {
            if self.has_among_many(asker.taker, name, mode) {
                return true;
            }
            self.show(name);
        }
        let entry = self.entries.entry(name).or_default();
        let held = entry.mode_of(asker.taker);
        if held < Some(mode) {
            // Whoever has the lock in some mode is waited for already.
            let has_some = held.is_some() || asker.kin.is_some_and(|kin| entry.mode_of(kin).is_some());
            let waits_its_turn = turn == Turn::BehindWaiters && !has_some && !mode.is_for_one();
            let is_held_against = entry.against(asker, mode).next().is_some();
            if is_held_against || (waits_its_turn && entry.is_wanted_against(mode)) {
                return false;
            }
            entry.set(asker.taker, Some(mode));
            if !asker.keeps {
                self.held.entry(asker.taker).or_default().taken.push(TakenLock(name, held));
            }
        }
        if asker.keeps {
            self.advisory.count(asker.taker, name, mode);
        }
        true
    }

    /// Makes what somebody holds of a lock this; none is nothing.
    fn turn(&mut self, holder: TransactionId, name: Name, mode: Option<LockMode>) {
        if let Entry::Occupied(mut place) = self.entries.entry(name) {
            let entry = place.get_mut();
            entry.set(holder, mode);
            entry.wake();
            if entry.is_idle() {
                place.remove();
                self.entries.shrink(&name);
                self.advisory.leaves(name);
            }
        }
    }

    fn begin_wait(&mut self, wait: Wait) {
        if let Some(kin) = wait.asker.kin {
            self.waits.insert(kin, wait.clone());
        }
        self.waits.insert(wait.asker.taker, wait);
    }

    fn end_wait(&mut self, asker: Asker) {
        self.waits.remove(&asker.taker);
        if let Some(kin) = asker.kin {
            self.waits.remove(&kin);
        }
    }

    // Who waits behind waiters is not among those whom they wait for: it takes its turn in the next round.
    fn blockers(&self, asker: Asker, name: Name, mode: LockMode) -> Vec<TransactionId> {
        self.entries.get(&name).map_or_else(Vec::new, |entry| entry.against(asker, mode).collect())
    }

    fn closes_cycle(&self, asker: Asker, name: Name, mode: LockMode) -> bool {
        let mut open = self.blockers(asker, name, mode);
        let mut seen: HashSet<TransactionId> = HashSet::default();
        while let Some(next) = open.pop() {
            if asker.is(next) {
                return true;
            }
            if seen.insert(next)
                && let Some(wait) = self.waits.get(&next)
            {
                open.extend(self.blockers(wait.asker, wait.name, wait.mode));
            }
        }
        false
    }
}

/// Gives back locks, the last taken first. Of many some at a time: others lock meanwhile.
fn give_back(state: &mut MutexGuard<'_, LockState>, transaction: TransactionId, Held { taken, many, .. }: Held) {
    for (number, TakenLock(name, before)) in taken.into_iter().rev().enumerate() {
        if number > 0 && number % RELEASED_AT_ONCE == 0 {
            MutexGuard::bump(state);
        }
        state.turn(transaction, name, before);
    }
    // What was taken more strongly since is as it had been.
    state.give_back_many(transaction, many);
}

#[cfg(test)]
mod tests {
    use super::{Granted, LockKey, LockMark, LockMode, Locks, Patience, TransactionId};
    use crate::SqlError;
    use repr::hash::HashMap;
    use repr::{RelationId, RowKey};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn patience(milliseconds: u64) -> Patience {
        Patience {
            timeout: Some(Duration::from_millis(milliseconds)),
            deadline: None,
            cancel: Arc::default(),
            insists_from: None,
        }
    }
    fn table(id: u32) -> LockKey {
        LockKey::Table(RelationId(id))
    }

    fn row(id: u32) -> LockKey {
        LockKey::Row(RelationId(1), RowKey::new(&id.to_be_bytes()))
    }

    fn lock(
        locks: &Locks,
        transaction: TransactionId,
        key: LockKey,
        mode: LockMode,
        milliseconds: u64,
    ) -> Result<Granted, SqlError> {
        locks.lock(transaction, key, mode, &patience(milliseconds), &|| None)
    }

    #[test]
    fn sharers_exclude_a_writer_until_they_end() {
        let locks = Locks::default();
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
    fn modes_conflict_as_in_postgresql() {
        use LockMode::{Exclusive, KeyShare, NoKeyUpdate, Shared};
        let compatible = [
            (KeyShare, KeyShare),
            (KeyShare, Shared),
            (KeyShare, NoKeyUpdate),
            (Shared, KeyShare),
            (Shared, Shared),
            (NoKeyUpdate, KeyShare),
        ];
        for held in [KeyShare, Shared, NoKeyUpdate, Exclusive] {
            for wanted in [KeyShare, Shared, NoKeyUpdate, Exclusive] {
                let locks = Locks::default();
                assert!(locks.try_lock(TransactionId(1), &table(1), held));
                let free = locks.try_lock(TransactionId(2), &table(1), wanted);
                assert_eq!(free, compatible.contains(&(held, wanted)), "{held:?} held, {wanted:?} wanted");
                assert!(locks.try_lock(TransactionId(1), &table(1), held), "what one has keeps nobody from having it");
            }
        }
    }

    #[test]
    fn what_was_taken_since_is_given_back() {
        let locks = Locks::default();
        let (a, b) = (TransactionId(1), TransactionId(2));
        assert!(locks.try_lock(a, &table(1), LockMode::KeyShare));
        let mark = locks.mark(a);
        assert!(locks.try_lock(a, &table(1), LockMode::Exclusive));
        assert!(locks.try_lock(a, &table(2), LockMode::Exclusive));
        assert!(!locks.try_lock(b, &table(1), LockMode::KeyShare));
        locks.release_since(a, mark);
        assert!(locks.try_lock(b, &table(2), LockMode::Exclusive));
        assert!(locks.try_lock(b, &table(1), LockMode::NoKeyUpdate));
        assert!(!locks.try_lock(b, &table(1), LockMode::Exclusive), "the weaker lock from before is still there");
        locks.release(a);
        assert!(locks.try_lock(b, &table(1), LockMode::Exclusive));
        locks.release(b);
        assert!(locks.state.lock().entries.0.iter().all(HashMap::is_empty));
    }

    #[test]
    fn what_is_gathered_can_be_taken_more_strongly() {
        let locks = Locks::default();
        let (a, b) = (TransactionId(1), TransactionId(2));
        let free = |id, mode| {
            let granted = locks.try_lock(b, &row(id), mode);
            locks.release(b);
            granted
        };
        for id in 0..100 {
            assert!(locks.try_lock(a, &row(id), LockMode::NoKeyUpdate));
        }
        locks.gather(a, LockMark::default());
        assert!(free(1, LockMode::KeyShare) && !free(1, LockMode::Shared) && !free(2, LockMode::NoKeyUpdate));
        let mark = locks.mark(a);
        assert!(locks.try_lock(a, &row(2), LockMode::Exclusive) && locks.try_lock(a, &row(3), LockMode::Exclusive));
        assert!(!free(2, LockMode::KeyShare) && !free(3, LockMode::KeyShare) && free(4, LockMode::KeyShare));
        locks.gather(a, mark);
        assert!(!free(3, LockMode::KeyShare));
        locks.release_since(a, mark);
        assert!(free(3, LockMode::KeyShare) && !free(3, LockMode::Shared));
        assert!(locks.try_lock(a, &row(3), LockMode::Exclusive));
        locks.release(a);
        assert!((0..100).all(|id| free(id, LockMode::Exclusive)));
        let state = locks.state.lock();
        assert!(state.entries.0.iter().all(HashMap::is_empty) && state.held.is_empty() && state.with_many.is_empty());
    }

    #[test]
    fn locks_that_are_gathered_are_locks() {
        let locks = Locks::default();
        let (a, b) = (TransactionId(1), TransactionId(2));
        let free = |id, mode| locks.try_lock(b, &row(id), mode);
        assert!(locks.try_lock(a, &row(1), LockMode::Exclusive) && locks.try_lock(a, &table(1), LockMode::Exclusive));
        assert!(locks.try_lock(a, &row(2), LockMode::Shared));
        let mark = locks.mark(a);
        for id in 3..5_000 {
            assert!(locks.try_lock(a, &row(id), LockMode::Exclusive));
        }
        assert!(free(2, LockMode::KeyShare), "what others have, too, is no part of it");
        assert!(locks.try_lock(a, &table(2), LockMode::Exclusive));
        locks.gather(a, mark);
        assert_eq!(locks.listed([1, 2].map(RelationId).into_iter()).len(), 2, "tables are listed");
        let later = locks.mark(a);
        assert!(locks.try_lock(a, &row(3), LockMode::Exclusive), "what one has");
        assert!(locks.try_lock(a, &row(5_000), LockMode::Exclusive));
        assert!(!free(1, LockMode::KeyShare) && !free(4, LockMode::KeyShare) && !free(5_000, LockMode::KeyShare));
        assert_eq!(locks.holders_against(b, &row(4), LockMode::KeyShare), [a]);
        locks.gather(a, later);
        locks.release_since(a, later);
        assert!(free(5_000, LockMode::Exclusive) && !free(4, LockMode::KeyShare) && !free(7, LockMode::KeyShare));
        locks.gather(a, mark);
        locks.release_since(a, mark);
        assert!(free(4, LockMode::Exclusive) && free(7, LockMode::Exclusive) && !free(1, LockMode::KeyShare));
        locks.release(a);
        assert!(free(1, LockMode::Exclusive));
        locks.release(b);
        let state = locks.state.lock();
        assert!(state.entries.0.iter().all(HashMap::is_empty) && state.held.is_empty() && state.with_many.is_empty());
    }

    #[test]
    fn what_is_shared_is_gathered_once() {
        let locks = Locks::default();
        let (a, b) = (TransactionId(1), TransactionId(2));
        let held = |transaction| {
            let state = locks.state.lock();
            state.held.get(&transaction).map_or(0, |held| held.taken.len())
        };
        for id in 0..2_000 {
            assert!(locks.try_lock(a, &row(id), LockMode::KeyShare));
        }
        locks.gather(a, LockMark::default());
        assert!(held(a) == 0 && locks.state.lock().entries.0.iter().all(HashMap::is_empty));
        for id in 0..1_000 {
            assert!(locks.try_lock(b, &row(id), LockMode::KeyShare), "with others");
        }
        locks.gather(b, LockMark::default());
        assert_eq!(held(b), 1_000, "somebody else has these, too");
        let mark = locks.mark(b);
        for id in 2_000..3_000 {
            assert!(locks.try_lock(b, &row(id), LockMode::Shared));
        }
        locks.gather(b, mark);
        assert_eq!(held(b), 1_000, "what was left once is not looked at again");
        assert!(
            !locks.try_lock(a, &row(2_500), LockMode::NoKeyUpdate) && !locks.try_lock(b, &row(7), LockMode::Exclusive)
        );
        assert!(locks.try_lock(a, &row(2_501), LockMode::KeyShare));
        locks.release_since(b, mark);
        assert!(!locks.try_lock(TransactionId(3), &row(7), LockMode::Exclusive), "both have it");
        assert!(locks.try_lock(TransactionId(3), &row(2_500), LockMode::Exclusive), "given back");
        locks.release(a);
        assert!(!locks.try_lock(TransactionId(3), &row(7), LockMode::Exclusive), "one has it");
        assert!(locks.try_lock(TransactionId(3), &row(1_500), LockMode::Exclusive));
        locks.release(b);
        assert!(locks.try_lock(TransactionId(3), &row(7), LockMode::Exclusive));
        locks.release(TransactionId(3));
        let state = locks.state.lock();
        assert!(state.entries.0.iter().all(HashMap::is_empty) && state.held.is_empty() && state.with_many.is_empty());
    }

    #[test]
    fn whoever_waits_for_a_gathered_lock_gets_it() {
        let locks = Arc::new(Locks::default());
        let (a, b) = (TransactionId(1), TransactionId(2));
        lock(&locks, a, row(1), LockMode::Exclusive, 5).unwrap();
        locks.gather(a, LockMark::default());
        let waiting = {
            let locks = locks.clone();
            std::thread::spawn(move || lock(&locks, b, row(1), LockMode::KeyShare, 120_000))
        };
        let began = Instant::now();
        while locks.state.lock().waits.is_empty() {
            assert!(began.elapsed() < Duration::from_mins(1), "nobody waits");
            std::thread::yield_now();
        }
        // One that is waited for stays what it is.
        locks.gather(a, LockMark::default());
        locks.release(a);
        assert_eq!(waiting.join().unwrap().unwrap(), Granted::AfterWait);
    }

    #[test]
    fn writers_who_wait_follow_each_other() {
        let locks = Arc::new(Locks::default());
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
            assert!(began.elapsed() < Duration::from_mins(1), "not all wait");
            std::thread::yield_now();
        }
        locks.release(TransactionId(0));
        let granted = waiting.into_iter().map(|thread| thread.join().unwrap()).filter(|ok| *ok).count();
        assert!(granted >= 19, "{granted} of 20 had the lock");
        assert!(locks.state.lock().entries.0.iter().all(HashMap::is_empty));
    }

    #[test]
    fn the_transaction_that_closes_a_cycle_is_refused() {
        let locks = Arc::new(Locks::default());
        let (a, b) = (TransactionId(1), TransactionId(2));
        lock(&locks, a, table(1), LockMode::Exclusive, 5).unwrap();
        lock(&locks, b, table(2), LockMode::Exclusive, 5).unwrap();
        let waiting = {
            let locks = locks.clone();
            std::thread::spawn(move || lock(&locks, a, table(2), LockMode::Exclusive, 120_000))
        };
        let began = Instant::now();
        while locks.state.lock().waits.is_empty() {
            assert!(began.elapsed() < Duration::from_mins(1), "nobody waits");
            std::thread::yield_now();
        }
        assert_eq!(lock(&locks, b, table(1), LockMode::Exclusive, 120_000).unwrap_err().code, "40P01");
        locks.release(b);
        assert_eq!(waiting.join().unwrap().unwrap(), Granted::AfterWait);
    }
}
