//! The one place that reads the wall clock; and spans of it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's timestamps begin.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Now, in microseconds since 2000-01-01 UTC.
pub fn now_micros() -> i64 {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    micros.saturating_sub(EPOCH_MICROS)
}

/// Moments between which nothing changes that the clock changes, in microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSpan {
    /// The first of them.
    pub from: i64,
    /// The first that is none of them.
    pub until: i64,
}

impl ClockSpan {
    /// All of them.
    pub const ALWAYS: ClockSpan = ClockSpan { from: i64::MIN, until: i64::MAX };

    /// Whether a moment is one of them.
    pub fn holds(&self, moment: i64) -> bool {
        self.from <= moment && moment < self.until
    }

    /// Those in both.
    #[must_use]
    pub fn and(self, other: ClockSpan) -> ClockSpan {
        ClockSpan { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}
