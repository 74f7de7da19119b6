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

/// Microseconds in a day of 24 hours.
pub const DAY_MICROS: i64 = 86_400_000_000;

impl Interval {
    /// What PostgreSQL compares intervals by: microseconds, with months of 30 days of 24 hours.
    pub fn comparison_value(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY_MICROS) + i128::from(self.micros)
    }

    /// SQL order.
    pub fn sql_cmp(&self, other: &Interval) -> std::cmp::Ordering {
        self.comparison_value().cmp(&other.comparison_value())
    }
}
