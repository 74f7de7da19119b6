//! How often tables and indexes were read and written: `pg_stat_user_tables` and its kin.
//!
//! Counted since the database was opened, where it happens, and told when somebody asks. Rows count that were written and then
//! rolled back, as in PostgreSQL. What views follow is not counted: nobody asked for it.

use arc_swap::ArcSwap;
use planner::catalog::{Catalog, DatabaseId};
use planner::statistics::{DatabaseUsage, ReadUsage, TableUsage};
use repr::hash::HashMap;
use repr::id::is_temporary;
use repr::{IndexId, RelationId};
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn told(counter: &AtomicU64) -> i64 {
    i64::try_from(counter.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
}

/// Reads of one kind.
#[derive(Debug, Default)]
pub struct ReadCounters {
    /// How often they began; each key of a lookup is one.
    pub scans: AtomicU64,
    /// Rows that they found.
    pub rows: AtomicU64,
}

impl ReadCounters {
    /// These, too.
    pub fn add(&self, scans: u64, rows: u64) {
        self.scans.fetch_add(scans, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    fn read(&self) -> ReadUsage {
        ReadUsage { scans: told(&self.scans), rows: told(&self.rows) }
    }
}

/// What was done with a table.
#[derive(Debug, Default)]
pub struct TableCounters {
    /// Reads of all its rows.
    pub whole: ReadCounters,
    /// Reads by one of its indexes, or its key.
    pub by_index: ReadCounters,
    /// Rows that came.
    pub inserted: AtomicU64,
    /// Rows that changed.
    pub updated: AtomicU64,
    /// Rows that went.
    pub deleted: AtomicU64,
}

/// What was done in a database.
#[derive(Debug, Default)]
pub struct DatabaseCounters {
    /// Transactions that were committed.
    pub committed: AtomicU64,
    /// Transactions that were not.
    pub rolled_back: AtomicU64,
    /// Sessions that began.
    pub sessions: AtomicU64,
}

/// See the module.
#[derive(Default)]
pub struct Usage {
    tables: ById<RelationId, TableCounters>,
    indexes: ById<IndexId, ReadCounters>,
    databases: ById<DatabaseId, DatabaseCounters>,
}

/// Counters that begin when something is first counted.
struct ById<K, C>(ArcSwap<HashMap<K, Arc<C>>>);

impl<K, C> Default for ById<K, C> {
    fn default() -> Self {
        ById(ArcSwap::from_pointee(HashMap::default()))
    }
}

impl<K: Copy + Eq + Hash, C: Default> ById<K, C> {
    fn get(&self, id: K) -> Option<Arc<C>> {
        self.0.load().get(&id).cloned()
    }

    fn get_or_begin(&self, id: K) -> Arc<C> {
        if let Some(found) = self.get(id) {
            return found;
        }
        let new = Arc::new(C::default());
        let begin = |all: &Arc<HashMap<K, Arc<C>>>| {
            let mut all = HashMap::clone(all);
            all.entry(id).or_insert_with(|| new.clone());
            all
        };
        self.0.rcu(begin);
        // Somebody else may have been first.
        self.get(id).unwrap_or(new)
    }

    fn retain(&self, is_there: impl Fn(K) -> bool) {
        if self.0.load().keys().any(|id| !is_there(*id)) {
            self.0.rcu(|all| {
                let there = all.iter().filter(|(id, _)| is_there(**id));
                there.map(|(id, counters)| (*id, counters.clone())).collect::<HashMap<_, _>>()
            });
        }
    }
}

impl Usage {
    /// Where uses of a table are counted. Temporary ones come and go: of each that is nowhere but with whoever asked.
    pub fn of_table(&self, table: RelationId) -> Arc<TableCounters> {
        if is_temporary(table.0) { Arc::default() } else { self.tables.get_or_begin(table) }
    }

    /// Where reads by an index are counted, beside those of its table.
    pub fn of_index(&self, index: IndexId) -> Arc<ReadCounters> {
        if is_temporary(index.0) { Arc::default() } else { self.indexes.get_or_begin(index) }
    }

    /// Where transactions and sessions of a database are counted.
    pub fn of_database(&self, database: DatabaseId) -> Arc<DatabaseCounters> {
        self.databases.get_or_begin(database)
    }

    /// What was done in a database.
    pub fn database(&self, database: DatabaseId) -> DatabaseUsage {
        self.databases.get(database).map_or_else(DatabaseUsage::default, |counters| DatabaseUsage {
            committed: told(&counters.committed),
            rolled_back: told(&counters.rolled_back),
            sessions: told(&counters.sessions),
        })
    }

    /// What was done with a table.
    pub fn table(&self, table: RelationId) -> TableUsage {
        self.tables.get(table).map_or_else(TableUsage::default, |counters| TableUsage {
            whole: counters.whole.read(),
            by_index: counters.by_index.read(),
            written: [&counters.inserted, &counters.updated, &counters.deleted].map(told),
        })
    }

    /// Scans by an index, and rows that they found.
    pub fn index(&self, index: IndexId) -> ReadUsage {
        self.indexes.get(index).map_or_else(ReadUsage::default, |counters| counters.read())
    }

    /// Forgets what a catalog has not any more.
    pub fn retain(&self, catalog: &Catalog) {
        self.tables.retain(|id| catalog.relations.contains_key(&id));
        let all = catalog.relations.values().flat_map(|table| &table.indexes);
        let there: HashSet<IndexId> = all.map(|index| index.id).collect();
        self.indexes.retain(|id| there.contains(&id));
        self.databases.retain(|id| id == DatabaseId::FIRST || catalog.databases.contains_key(&id));
    }
}

/// Reads of a table that are under way: counted when they end.
pub struct CountedReads {
    table: Option<Arc<TableCounters>>,
    /// The index by which it is read; none if all of it is.
    by: Option<Arc<ReadCounters>>,
    scans: u64,
    rows: u64,
}

impl CountedReads {
    /// Of a table, by that index; nowhere if nobody counts.
    pub fn of(usage: Option<&Usage>, table: RelationId, by: Option<IndexId>) -> CountedReads {
        let (table, by) = match usage {
            Some(usage) => (Some(usage.of_table(table)), by.map(|index| usage.of_index(index))),
            None => (None, None),
        };
        CountedReads { table, by, scans: 0, rows: 0 }
    }

    /// Lookups of so many keys, or one scan.
    pub fn begin(&mut self, scans: u64) {
        self.scans += scans;
    }

    /// So many rows were found.
    pub fn find(&mut self, rows: u64) {
        self.rows += rows;
    }
}

impl Drop for CountedReads {
    fn drop(&mut self) {
        let Some(table) = self.table.as_ref().filter(|_| self.scans > 0) else { return };
        match &self.by {
            Some(index) => {
                index.add(self.scans, self.rows);
                table.by_index.add(self.scans, self.rows);
            }
            None => table.whole.add(self.scans, self.rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_counted_when_they_end_and_forgotten_with_their_table() {
        let usage = Usage::default();
        let (table, index) = (RelationId(7), IndexId(8));
        let mut reads = CountedReads::of(Some(&usage), table, Some(index));
        reads.begin(2);
        reads.find(3);
        assert_eq!(usage.index(index), ReadUsage::default());
        drop(reads);
        CountedReads::of(Some(&usage), table, None).begin(1);
        usage.of_table(table).updated.fetch_add(5, Ordering::Relaxed);
        let (whole, by_index) = (ReadUsage { scans: 1, rows: 0 }, ReadUsage { scans: 2, rows: 3 });
        assert_eq!(usage.table(table), TableUsage { whole, by_index, written: [0, 5, 0] });
        assert_eq!(usage.index(index), by_index);
        usage.retain(&Catalog::default());
        assert_eq!((usage.table(table), usage.index(index)), (TableUsage::default(), ReadUsage::default()));
    }
}
