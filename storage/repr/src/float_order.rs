//! The order of floats, which in SQL is total.

use std::cmp::Ordering;

/// PostgreSQL's order of floats: NaN equals itself and is greatest, -0 equals 0.
pub(crate) fn float_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
