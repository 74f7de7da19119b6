//! The statistics of tables, in memory: made again after each start, never on the way of a commit.
//!
//! ```text
//! commit stage ─▶ how many rows it changed ─▶ engine::analyzer, at its next look: a sample ─▶ here ─▶ plans made from then on
//! an erasure   ─▶ no value of anybody stays here
//! ```
//! Values of people are kept for estimates alone: nothing shows them, and each erasure drops all of them.

use crate::overlay::Overlay;
use parking_lot::{Mutex, RwLock};
use planner::statistics::{KnownStatistics, KnownTable, LARGE_ROWS, TableStatistics};
use repr::RelationId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Default)]
pub struct StatisticsBook {
    known: RwLock<Arc<KnownStatistics>>,
    /// Rows that were changed since the statistics of their table were made.
    changed: Mutex<BTreeMap<RelationId, u64>>,
    /// How often people were forgotten.
    erasures: AtomicU64,
}

/// That a table's statistics are being made: of nothing that is erased meanwhile.
pub struct Making {
    relation: RelationId,
    erasures: u64,
    changed: u64,
}

impl StatisticsBook {
    /// What is known now.
    pub fn known(&self) -> Arc<KnownStatistics> {
        self.known.read().clone()
    }

    /// Counts what a group changes.
    pub fn count(&self, layer: &Overlay) {
        if layer.changes_schema() {
            // Of what has become a table of people, or is none any more, nothing is known.
            let shape = |relation| layer.schema().shape(relation);
            self.keep(|relation, known| shape(relation).is_some_and(|shape| shape.personal == known.whole.personal));
        }
        let mut changed = self.changed.lock();
        for (relation, changes) in layer.tables() {
            // Of a table that is emptied nothing is known any more.
            let rows = if changes.truncated { u64::MAX / 2 } else { changes.len() as u64 };
            let of_table = changed.entry(relation).or_default();
            *of_table = of_table.saturating_add(rows);
        }
    }

    /// How many rows were changed since a table's statistics were made.
    pub fn changed(&self, relation: RelationId) -> u64 {
        self.changed.lock().get(&relation).copied().unwrap_or(0)
    }

    /// Before the first row of a sample is read.
    pub fn begin(&self, relation: RelationId) -> Making {
        Making { relation, erasures: self.erasures.load(Ordering::SeqCst), changed: self.changed(relation) }
    }

    /// Whether somebody was forgotten since: what is read is of no use.
    pub fn is_over(&self, making: &Making) -> bool {
        self.erasures.load(Ordering::SeqCst) != making.erasures
    }

    /// Keeps what was made. False if somebody was forgotten meanwhile.
    pub fn put(&self, making: &Making, made: TableStatistics) -> bool {
        // Nobody is forgotten between the question and the change: `forget` waits for the same lock.
        let mut changed = self.changed.lock();
        if self.is_over(making) {
            return false;
        }
        if let Some(rows) = changed.get_mut(&making.relation) {
            *rows = rows.saturating_sub(making.changed);
        }
        let mut known = KnownStatistics::clone(&self.known.read());
        let before = known.tables.insert(making.relation, KnownTable::new(made.clone()));
        if !is_alike(before.as_ref().map(|before| &*before.whole), &made) {
            known.version += 1;
        }
        *self.known.write() = Arc::new(known);
        true
    }

    /// Somebody is forgotten: no value of anybody stays. Sizes and counts do.
    pub fn forget(&self) {
        let mut changed = self.changed.lock();
        self.erasures.fetch_add(1, Ordering::SeqCst);
        let mut known = KnownStatistics::clone(&self.known.read());
        for (relation, table) in &mut known.tables {
            if table.whole.personal {
                table.whole = table.bare.clone();
                changed.insert(*relation, u64::MAX / 2);
            }
        }
        *self.known.write() = Arc::new(known);
    }

    fn keep(&self, is_kept: impl Fn(RelationId, &KnownTable) -> bool) {
        let _changing = self.changed.lock();
        if self.known.read().tables.iter().all(|(relation, known)| is_kept(*relation, known)) {
            return;
        }
        let mut known = KnownStatistics::clone(&self.known.read());
        known.tables.retain(|relation, known| is_kept(*relation, known));
        known.version += 1;
        *self.known.write() = Arc::new(known);
    }

    /// Counts no changes of what is no table any more.
    pub fn retain(&self, is_there: impl Fn(RelationId) -> bool) {
        self.changed.lock().retain(|relation, _| is_there(*relation));
    }
}

/// Whether plans are as good by the one as by the other.
fn is_alike(before: Option<&TableStatistics>, made: &TableStatistics) -> bool {
    let rows_before = before.map_or(0, |before| before.rows);
    if rows_before < LARGE_ROWS && made.rows < LARGE_ROWS {
        // Beside a large table it is no matter how small another is, but for its order of magnitude.
        return rows_before.max(made.rows) < 10 * rows_before.min(made.rows).max(10);
    }
    let Some(before) = before else { return false };
    let is_near = |one: f64, other: f64, times: f64| one.max(other) <= times * one.min(other).max(1.0);
    let columns = || before.columns.iter().zip(&made.columns);
    is_near(before.rows as f64, made.rows as f64, 1.25)
        && before.columns.len() == made.columns.len()
        && columns().all(|(one, other)| {
            is_near(one.distinct, other.distinct, 2.0) && one.common.is_empty() == other.common.is_empty()
        })
}
