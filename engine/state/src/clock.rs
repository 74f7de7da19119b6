//! The one place that reads the wall clock.

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
