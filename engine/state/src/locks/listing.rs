//! The lock table as `pg_locks` shows it: tables, advisory locks, and whatever somebody waits for. Rows that are locked and free of
//! waiting are not shown, as in PostgreSQL; of a row that is waited for only the table, never its key.

use crate::locks::{LockKey, LockMode, LockState, Locks, Name, TakenLock, TransactionId};
use planner::scalar::AdvisoryKey;
use repr::{IndexId, RelationId};

/// What a lock is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKey {
    /// A table.
    Relation(RelationId),
    /// Some row of a table.
    Row(RelationId),
    /// Some value of a unique index.
    Value(IndexId),
    /// The catalog.
    Catalog,
    /// What an application calls so.
    Advisory(AdvisoryKey),
}

impl ListedKey {
    pub(super) fn of(key: &LockKey) -> ListedKey {
        match key {
            LockKey::Row(relation, _) => ListedKey::Row(*relation),
            LockKey::Unique(index, _) => ListedKey::Value(*index),
            LockKey::Table(relation) => ListedKey::Relation(*relation),
            LockKey::Catalog => ListedKey::Catalog,
            LockKey::Advisory(key) => ListedKey::Advisory(*key),
        }
    }
}

/// A lock that somebody holds or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it is of.
    pub key: ListedKey,
    /// How strongly.
    pub mode: LockMode,
    /// The transaction, or the session.
    pub holder: TransactionId,
    /// Since when it is waited for, in microseconds since 2000-01-01; none if it is held.
    pub waits_since: Option<i64>,
}

impl Locks {
    /// What is held of these tables, the catalog and advisory locks, and what is waited for.
    pub fn listed(&self, tables: impl Iterator<Item = RelationId>) -> Vec<Listed> {
        let keys = tables.map(LockKey::Table).chain([LockKey::Catalog]);
        let named: Vec<(Name, ListedKey)> = keys.map(|key| (self.name(&key), ListedKey::of(&key))).collect();
        let state = self.state.lock();
        let mut listed = Vec::new();
        for (name, key) in named {
            let holders = state.entries.get(&name).into_iter().flat_map(|entry| entry.holders());
            listed.extend(holders.map(|(holder, mode)| Listed { key, mode, holder, waits_since: None }));
        }
        for (name, key) in &state.advisory.keys {
            let holders = state.entries.get(name).into_iter().flat_map(|entry| entry.holders());
            for (holder, strongest) in holders {
                for mode in state.advisory_modes(holder, *name, strongest) {
                    listed.push(Listed { key: ListedKey::Advisory(*key), mode, holder, waits_since: None });
                }
            }
        }
        let waits = state.waits.iter().filter(|(id, wait)| wait.asker.taker == **id);
        listed.extend(waits.map(|(holder, wait)| Listed {
            key: wait.key,
            mode: wait.mode,
            holder: *holder,
            waits_since: Some(wait.since),
        }));
        listed
    }

    /// Whom a transaction or a session waits for.
    pub fn waited_for(&self, waiting: TransactionId) -> Vec<TransactionId> {
        let state = self.state.lock();
        let Some(wait) = state.waits.get(&waiting) else { return Vec::new() };
        state.blockers(wait.asker, wait.name, wait.mode)
    }
}

impl LockState {
    /// The modes in which somebody holds an advisory lock.
    fn advisory_modes(&self, holder: TransactionId, name: Name, strongest: LockMode) -> Vec<LockMode> {
        let [shared, exclusive] = self.advisory.modes(holder, name).unwrap_or_else(|| {
            let was_shared = |taken: &TakenLock| taken.0 == name && taken.1 == Some(LockMode::Shared);
            let before = self.held.get(&holder).is_some_and(|held| held.taken.iter().any(was_shared));
            [before || strongest == LockMode::Shared, strongest == LockMode::Exclusive]
        });
        let modes = [(shared, LockMode::Shared), (exclusive, LockMode::Exclusive)];
        modes.into_iter().filter(|(held, _)| *held).map(|(_, mode)| mode).collect()
    }
}
