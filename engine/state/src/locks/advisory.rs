//! Advisory locks: what they are called, and how often a session has taken each, which it keeps beyond its transactions.
//!
//! ```text
//! pg_advisory_lock ─▶ the lock table, as the session's ─▶ counted here, by mode
//! pg_advisory_unlock ─▶ counted down; the last of a mode gives it back to the table
//! ```
//! Names in the lock table are hashes: here stands what `pg_locks` shows. Never decides who has a lock.

use crate::SqlError;
use crate::locks::{LockKey, LockMode, LockState, Locks, Name, TransactionId};
use planner::scalar::AdvisoryKey;
use repr::hash::HashMap;

/// Advisory locks that are held or waited for at once, over all sessions.
const ADVISORY_LOCKS_MAX: usize = 1 << 17;

/// See the module.
#[derive(Default)]
pub(super) struct AdvisoryBook {
    /// Those in the lock table.
    pub(super) keys: HashMap<Name, AdvisoryKey>,
    /// What sessions keep.
    kept: HashMap<TransactionId, HashMap<Name, Counts>>,
}

/// How often a session has a lock.
#[derive(Clone, Copy, Default)]
struct Counts {
    shared: u64,
    exclusive: u64,
}

impl Counts {
    fn of(&mut self, mode: LockMode) -> &mut u64 {
        if mode == LockMode::Exclusive { &mut self.exclusive } else { &mut self.shared }
    }

    fn strongest(self) -> Option<LockMode> {
        let shared = (self.shared > 0).then_some(LockMode::Shared);
        if self.exclusive > 0 { Some(LockMode::Exclusive) } else { shared }
    }
}

impl AdvisoryBook {
    /// Before a key comes into the lock table: 53200 if it is an advisory one, and one too many.
    pub(super) fn enters(&mut self, name: Name, key: &LockKey) -> Result<(), SqlError> {
        let LockKey::Advisory(key) = key else { return Ok(()) };
        if self.keys.len() >= ADVISORY_LOCKS_MAX && !self.keys.contains_key(&name) {
            return Err(SqlError::new("53200", "out of shared memory")
                .hint(format!("At most {ADVISORY_LOCKS_MAX} advisory locks can be held at once.")));
        }
        self.keys.insert(name, *key);
        Ok(())
    }

    /// Nobody holds it or waits for it any more.
    pub(super) fn leaves(&mut self, name: Name) {
        if !self.keys.is_empty() {
            self.keys.remove(&name);
        }
    }

    /// A session has taken one once more.
    pub(super) fn count(&mut self, session: TransactionId, name: Name, mode: LockMode) {
        *self.kept.entry(session).or_default().entry(name).or_default().of(mode) += 1;
    }

    /// The modes in which a session keeps one.
    pub(super) fn modes(&self, session: TransactionId, name: Name) -> Option<[bool; 2]> {
        let counts = self.kept.get(&session)?.get(&name)?;
        Some([counts.shared > 0, counts.exclusive > 0])
    }
}

impl Locks {
    /// As `try_lock`, of an advisory lock. 53200 for one too many.
    pub fn try_advisory(&self, asker: super::Asker, key: AdvisoryKey, mode: LockMode) -> Result<bool, SqlError> {
        let key = LockKey::Advisory(key);
        let name = self.name(&key);
        let mut state = self.state.lock();
        state.advisory.enters(name, &key)?;
        Ok(state.try_grant(asker, name, mode, super::Turn::Any))
    }

    /// Gives back what a session has taken once; false if it has not taken it in this mode.
    pub fn unlock_advisory(&self, session: TransactionId, key: AdvisoryKey, mode: LockMode) -> bool {
        let name = self.name(&LockKey::Advisory(key));
        let mut state = self.state.lock();
        let Some(kept) = state.advisory.kept.get_mut(&session) else { return false };
        let Some(counts) = kept.get_mut(&name) else { return false };
        if *counts.of(mode) == 0 {
            return false;
        }
        *counts.of(mode) -= 1;
        let (gone, left) = (*counts.of(mode) == 0, counts.strongest());
        if left.is_none() {
            kept.remove(&name);
        }
        if gone {
            state.turn(session, name, left);
        }
        true
    }

    /// Gives back all that a session keeps.
    pub fn unlock_all_advisory(&self, session: TransactionId) {
        let mut state = self.state.lock();
        let kept = state.advisory.kept.remove(&session).unwrap_or_default();
        kept.into_keys().for_each(|name| LockState::turn(&mut state, session, name, None));
    }
}

#[cfg(test)]
mod tests {
    use super::{ADVISORY_LOCKS_MAX, AdvisoryKey};
    use crate::locks::{Asker, LockKey, LockMode, Locks, Patience, TransactionId};
    use planner::catalog::DatabaseId;
    use repr::RelationId;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    const KEY: AdvisoryKey = AdvisoryKey { database: DatabaseId::FIRST, class: 0, object: 7, form: 1 };
    const SESSION: TransactionId = TransactionId(1);
    const TRANSACTION: TransactionId = TransactionId(2);
    const OTHER: TransactionId = TransactionId(3);
    use LockMode::{Exclusive, Shared};

    fn tries(locks: &Locks, asker: Asker, mode: LockMode) -> bool {
        locks.try_advisory(asker, KEY, mode).expect("not too many")
    }

    #[test]
    fn a_session_gives_back_as_often_as_it_takes() {
        let locks = Locks::default();
        let (own, other) = (Asker::session(SESSION, None), Asker::session(OTHER, None));
        assert!(tries(&locks, own, Exclusive) && tries(&locks, own, Shared) && tries(&locks, own, Exclusive));
        assert!(!tries(&locks, other, Shared));
        assert!(locks.unlock_advisory(SESSION, KEY, Exclusive) && locks.unlock_advisory(SESSION, KEY, Exclusive));
        assert!(!locks.unlock_advisory(SESSION, KEY, Exclusive), "not a third time");
        assert!(tries(&locks, other, Shared) && !tries(&locks, other, Exclusive));
        assert!(locks.unlock_advisory(SESSION, KEY, Shared) && tries(&locks, other, Exclusive));
        locks.unlock_all_advisory(OTHER);
        assert!(locks.listed(std::iter::empty()).is_empty());
    }

    #[test]
    fn a_session_and_its_transaction_do_not_keep_each_other_out() {
        let locks = Locks::default();
        let session = Asker::session(SESSION, Some(TRANSACTION));
        let transaction = Asker::transaction(TRANSACTION, SESSION);
        assert!(tries(&locks, session, Exclusive) && tries(&locks, transaction, Exclusive));
        assert!(locks.unlock_advisory(SESSION, KEY, Exclusive));
        assert!(!tries(&locks, Asker::session(OTHER, None), Shared));
        locks.release(TRANSACTION);
        assert!(tries(&locks, Asker::session(OTHER, None), Exclusive));
    }

    #[test]
    fn a_circle_over_what_a_session_keeps_and_what_its_transaction_wants_is_found() {
        let locks = Arc::new(Locks::default());
        let table = LockKey::Table(RelationId(1));
        let patience = Patience {
            timeout: Some(Duration::from_mins(2)),
            deadline: None,
            cancel: Arc::default(),
            insists_from: None,
        };
        assert!(tries(&locks, Asker::session(SESSION, None), Exclusive));
        assert!(locks.try_lock(OTHER, &table, Exclusive));
        let waiting = {
            let (locks, table, patience) = (locks.clone(), table.clone(), patience.clone());
            let asker = Asker::transaction(TRANSACTION, SESSION);
            std::thread::spawn(move || locks.lock(asker, table, Exclusive, &patience, &|| None).is_ok())
        };
        let began = Instant::now();
        while locks.waited_for(SESSION).is_empty() {
            assert!(began.elapsed() < Duration::from_mins(1), "nobody waits");
            std::thread::yield_now();
        }
        assert_eq!(locks.waited_for(TRANSACTION), [OTHER]);
        let refused = locks.lock(OTHER, LockKey::Advisory(KEY), Exclusive, &patience, &|| None);
        assert_eq!(refused.expect_err("a circle").code, "40P01");
        locks.release(OTHER);
        assert!(waiting.join().expect("ends"));
    }

    #[test]
    fn there_are_not_too_many() {
        let locks = Locks::default();
        let own = Asker::session(SESSION, None);
        let key = |number: usize| AdvisoryKey { database: DatabaseId::FIRST, class: 0, object: number as u32, form: 2 };
        let refused = (0..=ADVISORY_LOCKS_MAX).find_map(|number| locks.try_advisory(own, key(number), Shared).err());
        assert_eq!(refused.map(|error| error.code), Some("53200"));
        assert!(locks.try_advisory(own, key(5), Shared).is_ok(), "of those that are there one may take more");
        locks.unlock_all_advisory(SESSION);
        assert!(locks.try_advisory(own, key(ADVISORY_LOCKS_MAX), Shared).is_ok());
    }
}
