//! What is known of the sizes of tables and of the values in their columns: asked for estimates, never for an answer.
//!
//! ```text
//! rows of a sample ─▶ TableStatistics ─▶ physical::sizes: in which order joins happen, which side is held
//!                                     └▶ pg_stats, pg_class.reltuples, EXPLAIN
//! ```
//! Whoever reads tables makes them (`engine::analyzer`) and says who may know the values.

use repr::types::Equality;
use repr::{ColumnIndex, Datum, RelationId, ScalarType, poll};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Values that are kept of a column by themselves, with how often they come.
const COMMON_MAX: usize = 100;
/// Values that are kept of the others, in order, each with as many between it and the next.
const BOUNDS_MAX: usize = 101;
/// Longer values are counted, and not kept.
const VALUE_BYTES_MAX: usize = 256;
/// A table of fewer rows has no statistics that anybody asks for by itself: any plan will do.
pub const LARGE_ROWS: u64 = 10_000;

/// The statistics of all tables that have any.
#[derive(Clone, Debug, Default)]
pub struct KnownStatistics {
    /// Another for other statistics.
    pub version: u64,
    /// By table.
    pub tables: BTreeMap<RelationId, KnownTable>,
}

/// What is known of a table, and what anybody may know of it.
#[derive(Clone, Debug)]
pub struct KnownTable {
    /// All.
    pub whole: Arc<TableStatistics>,
    /// Without the values of people: the same, if it has none.
    pub bare: Arc<TableStatistics>,
}

impl KnownTable {
    /// Of a table.
    pub fn new(whole: TableStatistics) -> KnownTable {
        let bare = if whole.personal { Some(Arc::new(whole.without_values())) } else { None };
        let whole = Arc::new(whole);
        KnownTable { bare: bare.unwrap_or_else(|| whole.clone()), whole }
    }
}

impl KnownStatistics {
    /// None of any table.
    pub fn none() -> &'static KnownStatistics {
        static NONE: LazyLock<KnownStatistics> = LazyLock::new(KnownStatistics::default);
        &NONE
    }
}

/// What is known of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStatistics {
    /// How many rows it has.
    pub rows: u64,
    /// Of each physical column.
    pub columns: Vec<ColumnStatistics>,
    /// When they were made: microseconds since 2000-01-01 UTC.
    pub made_at: i64,
    /// Its rows are of people.
    pub personal: bool,
}

/// What is known of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Its type when they were made: of another they say nothing.
    pub scalar: ScalarType,
    /// The share of rows in which it is NULL.
    pub null_share: f64,
    /// About how many different values it has.
    pub distinct: f64,
    /// About how many bytes one takes.
    pub width: usize,
    /// Values that come often, each with its share of all rows, the most common first.
    pub common: Vec<(Datum, f64)>,
    /// Of the others some in order, with as many rows between each two.
    pub bounds: Vec<Datum>,
}

impl TableStatistics {
    /// Of a table of so many rows, some of which are the sample.
    pub fn of_sample(rows: u64, types: &[ScalarType], sample: &[Vec<Datum>]) -> TableStatistics {
        let column = |(index, scalar): (usize, &ScalarType)| {
            let values = sample.iter().map(|row| row.get(index).unwrap_or(&Datum::Null));
            ColumnStatistics::of_sample(rows as f64, scalar, values)
        };
        let columns = types.iter().enumerate().map(column).collect();
        TableStatistics { rows, columns, made_at: 0, personal: false }
    }

    /// Without anybody's values.
    #[must_use]
    pub fn without_values(&self) -> TableStatistics {
        let bare =
            |column: &ColumnStatistics| ColumnStatistics { common: Vec::new(), bounds: Vec::new(), ..column.clone() };
        TableStatistics { columns: self.columns.iter().map(bare).collect(), ..self.clone() }
    }

    /// What is known of a column, if it still is of that type.
    pub fn column(&self, column: ColumnIndex, scalar: &ScalarType) -> Option<&ColumnStatistics> {
        self.columns.get(column).filter(|known| known.scalar == *scalar)
    }
}

impl ColumnStatistics {
    fn of_sample<'v>(rows: f64, scalar: &ScalarType, values: impl Iterator<Item = &'v Datum>) -> ColumnStatistics {
        let (mut present, mut sampled, mut bytes) = (Vec::new(), 0_usize, 0_usize);
        for value in values {
            sampled += 1;
            if !value.is_null() {
                bytes += size_of::<i64>().max(value.bytes());
                present.push(value);
            }
        }
        let share_of_one = 1.0 / sampled.max(1) as f64;
        let null_share = (sampled - present.len()) as f64 * share_of_one;
        let width = bytes / present.len().max(1);
        let mut known = ColumnStatistics {
            scalar: scalar.clone(),
            null_share,
            distinct: present.len() as f64,
            width,
            common: Vec::new(),
            bounds: Vec::new(),
        };
        if scalar.equality() == Equality::Nothing {
            known.distinct = rows * (1.0 - null_share);
            return known;
        }
        present.sort_by(|one, other| {
            poll::step_or_unwind();
            one.sql_cmp(other)
        });
        let groups: Vec<&[&Datum]> = present.chunk_by(|one, other| one.sql_eq(other)).collect();
        known.distinct = distinct(rows * (1.0 - null_share), present.len(), &groups);
        known.keep(&groups, share_of_one, sampled as f64 >= rows);
        known
    }

    /// Keeps some of the values, which come in order, equal ones together.
    fn keep(&mut self, groups: &[&[&Datum]], share_of_one: f64, all: bool) {
        let is_short = |group: &&&[&Datum]| group[0].bytes() <= VALUE_BYTES_MAX;
        let average = (1.0 - self.null_share) / self.distinct.max(1.0);
        // Where all values are few they are known, each.
        let some_twice = groups.iter().any(|group| group.len() > 1);
        let few = some_twice && groups.len() <= COMMON_MAX && (all || self.distinct <= groups.len() as f64 * 1.05);
        let often = |group: &&&[&Datum]| few || (group.len() > 1 && group.len() as f64 * share_of_one > 1.25 * average);
        let mut common: Vec<&[&Datum]> = groups.iter().filter(is_short).filter(often).copied().collect();
        common.sort_by_key(|group| std::cmp::Reverse(group.len()));
        common.truncate(COMMON_MAX);
        let least = common.last().map_or(usize::MAX, |group| group.len());
        self.common = common.iter().map(|group| (group[0].clone(), group.len() as f64 * share_of_one)).collect();
        let kept =
            |group: &[&Datum]| group.len() >= least && self.common.iter().any(|(value, _)| value.sql_eq(group[0]));
        let others: Vec<&Datum> = groups
            .iter()
            .filter(is_short)
            .filter(|group| !kept(group))
            .flat_map(|group| group.iter().copied())
            .collect();
        if others.len() > 1 {
            let bounds = BOUNDS_MAX.min(others.len());
            let at = |place: usize| others[place * (others.len() - 1) / (bounds - 1)].clone();
            self.bounds = (0..bounds).map(at).collect();
        }
    }

    /// The share of rows in which it has a value that is not known yet, or not among those that are kept.
    pub fn share_of_any(&self) -> f64 {
        (1.0 - self.null_share) / self.distinct.max(1.0)
    }

    /// The share of rows in which it equals a value.
    pub fn share_of(&self, value: &Datum) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        if let Some((_, share)) = self.common.iter().find(|(common, _)| common.sql_eq(value)) {
            return *share;
        }
        let others = self.distinct - self.common.len() as f64;
        if others < 1.0 && !self.common.is_empty() {
            // All values are known, and this is none of them.
            return 0.0;
        }
        (self.share_of_others() / others.max(1.0)).min(self.share_of_any())
    }

    /// The share of rows with values that are not kept by themselves.
    pub fn share_of_others(&self) -> f64 {
        (1.0 - self.null_share - self.common.iter().map(|(_, share)| share).sum::<f64>()).max(0.0)
    }
}

/// About how many different values there are among so many, by a sample of which equal ones stand together: the estimator of
/// Haas and Stokes that PostgreSQL uses ("Sampling-based estimation of the number of distinct values", Duj1).
fn distinct(rows: f64, sampled: usize, groups: &[&[&Datum]]) -> f64 {
    let (seen, sampled) = (groups.len() as f64, sampled as f64);
    let once = groups.iter().filter(|group| group.len() == 1).count() as f64;
    if sampled >= rows || once == 0.0 {
        return seen;
    }
    if once >= sampled {
        return rows;
    }
    (sampled * seen / (sampled - once + once * sampled / rows)).clamp(seen, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: impl Iterator<Item = Datum>, rows: u64) -> ColumnStatistics {
        let sample: Vec<Vec<Datum>> = values.map(|value| vec![value]).collect();
        TableStatistics::of_sample(rows, &[ScalarType::Int4], &sample).columns.remove(0)
    }

    #[test]
    fn unique_values_are_as_many_as_rows() {
        let column = known((0..1_000).map(Datum::Int4), 50_000);
        assert!((column.distinct - 50_000.0).abs() < 1.0, "{}", column.distinct);
        assert!(column.common.is_empty());
        assert_eq!(column.bounds.len(), BOUNDS_MAX);
    }

    #[test]
    fn few_values_are_all_known_with_their_shares() {
        let column = known((0..1_000).map(|row| Datum::Int4(if row < 900 { 1 } else { row % 5 + 2 })), 50_000);
        assert!((column.distinct - 6.0).abs() < 0.1, "{}", column.distinct);
        assert!((column.share_of(&Datum::Int4(1)) - 0.9).abs() < 1e-9);
        assert!(column.share_of(&Datum::Int4(77)) < 1e-9, "no row has it");
    }

    #[test]
    fn values_are_gone_where_nobody_may_know_them() {
        let sample: Vec<Vec<Datum>> = (0..100).map(|row| vec![Datum::Int4(row % 3)]).collect();
        let known = TableStatistics::of_sample(100, &[ScalarType::Int4], &sample);
        assert!(!known.columns[0].common.is_empty());
        let bare = known.without_values();
        assert!(bare.columns[0].common.is_empty() && bare.columns[0].bounds.is_empty());
        assert!((bare.columns[0].share_of(&Datum::Int4(1)) - 1.0 / 3.0).abs() < 1e-9);
    }
}

/// Scans, or lookups of keys, and rows that they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadUsage {
    /// How often.
    pub scans: i64,
    /// Rows.
    pub rows: i64,
}

/// What was done with a table since its database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUsage {
    /// Reads of all its rows.
    pub whole: ReadUsage,
    /// Reads by one of its indexes, or its key.
    pub by_index: ReadUsage,
    /// Rows that came, changed and went.
    pub written: [i64; 3],
}

/// What was done in a database since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseUsage {
    /// Transactions that were committed.
    pub committed: i64,
    /// Transactions that were not.
    pub rolled_back: i64,
    /// Sessions that began.
    pub sessions: i64,
}
