//! `in_range`, by which PostgreSQL finds the rows of a window's frame: (value, base, distance, whether it lies before, whether the
//! value is to be no more than that, or no less).

use super::arguments::boolean;
use super::date::shift_by;
use crate::scalar::EvalContext;
use repr::{Datum, ScalarType, ValueError};
use std::cmp::Ordering;

pub(crate) fn in_range(_: &EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    let [value, base, distance, before, less] = args else {
        return Err(ValueError::new("42883", "in_range takes five arguments"));
    };
    let (before, less) = (boolean(before)?, boolean(less)?);
    let compared = match (value.as_i64(), base.as_i64(), distance.as_i64()) {
        (Some(value), Some(base), Some(distance)) => {
            if distance < 0 {
                return Err(ValueError::new("22013", "invalid preceding or following size in window function"));
            }
            let (base, distance) = (i128::from(base), i128::from(distance));
            i128::from(value).cmp(&if before { base - distance } else { base + distance })
        }
        _ => {
            let limit = shift_by(base, distance, !before)?;
            // From one end of all numbers to beyond the other.
            if is_nan(&limit) && !is_nan(base) && !is_nan(value) {
                return Ok(Datum::Bool(true));
            }
            let limit = if is_nan(&limit) && !is_nan(base) { base.clone() } else { limit };
            compare(value, &limit)
        }
    };
    Ok(Datum::Bool(if less { compared != Ordering::Greater } else { compared != Ordering::Less }))
}

/// Whether it is no number.
pub(crate) fn is_nan(value: &Datum) -> bool {
    match value {
        Datum::Numeric(number) => number.is_nan(),
        other => other.as_f64().is_some_and(f64::is_nan),
    }
}

/// A value and a limit, which for a day is a moment, and for a number of one width one of the other.
pub(crate) fn compare(value: &Datum, limit: &Datum) -> Ordering {
    match (value, limit) {
        (Datum::Date(days), Datum::Timestamp(limit)) => match crate::scalar::cast::date_to_timestamp(*days) {
            Ok(moment) => moment.cmp(limit),
            // Beyond all moments, on one side or the other.
            Err(_) => days.cmp(&0),
        },
        (value, limit) => value.sql_cmp(limit),
    }
}
