//! `interval`: months, days and microseconds, kept apart as in PostgreSQL.

/// A span of time whose parts do not convert into each other until it is applied or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}
