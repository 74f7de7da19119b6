//! Bounds of a column by a value of another type: what a comparison after a cast of the column says of the column itself.
//!
//! ```text
//! day < timestamp '2026-03-01 12:00'     day  <= 2026-03-01
//! at > timestamptz '…'                   at   >= the local time then, less some days
//! n < 4.5                                n    <= 5
//! ```
//! A bound never leaves out a value that passes, and lets others pass: the comparison itself is asked again. It cannot fail:
//! beyond the column's values it is the last of them. A moment is turned in the session's zone where the statement runs.

use super::{EvalContext, Evaluate, Function, FunctionKind, Volatility};
use crate::scalar::cast::timestamp_to_date;
use repr::datetime::{DAY_MICROS, Zone};
use repr::{Datum, Numeric, ScalarType, ValueError};

/// The least value of the call's type that may be at or above the argument. No name that a statement can write leads here.
pub(crate) static AT_LEAST: Function = bound("AT LEAST", |ctx, args, column| end(ctx, &args[0], column, BoundEnd::Low));
/// The greatest value of the call's type that may be at or below the argument.
pub(crate) static AT_MOST: Function = bound("AT MOST", |ctx, args, column| end(ctx, &args[0], column, BoundEnd::High));

/// Local time is away from a moment by an offset. Within one zone offsets differ by little more than a day, where it changed sides
/// of the date line.
const OFFSETS_DAYS: i64 = 3;
/// From here on not every integer is a double.
const EXACT_MAX: f64 = 4_503_599_627_370_496.0;
/// More than integers of 64 bits are rounded by when they become doubles.
const ROUNDED_MAX: i128 = 4_096;

const fn bound(name: &'static str, evaluate: Evaluate) -> Function {
    Function { name, strict: true, volatility: Volatility::Stable, kind: FunctionKind::Native(evaluate), written: None }
}

#[derive(Clone, Copy)]
enum BoundEnd {
    Low,
    High,
}

/// Whether a comparison after this cast bounds what is cast.
pub(crate) fn is_bounded_through(from: &ScalarType, to: &ScalarType) -> bool {
    matches!(
        (from, to),
        (ScalarType::Date, ScalarType::Timestamp | ScalarType::Timestamptz)
            | (ScalarType::Timestamp, ScalarType::Timestamptz)
            | (ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8, ScalarType::Numeric | ScalarType::Float8)
    )
}

fn end(ctx: &EvalContext, value: &Datum, column: &ScalarType, side: BoundEnd) -> Result<Datum, ValueError> {
    match (value, column) {
        (Datum::Timestamp(micros), ScalarType::Date) => Ok(Datum::Date(timestamp_to_date(*micros))),
        (Datum::Timestamptz(micros), ScalarType::Date) => {
            Ok(Datum::Date(timestamp_to_date(local(*micros, &ctx.zone(), side))))
        }
        (Datum::Timestamptz(micros), ScalarType::Timestamp) => Ok(Datum::Timestamp(local(*micros, &ctx.zone(), side))),
        (Datum::Numeric(value), ScalarType::Int8) => Ok(Datum::Int8(whole(value, side))),
        (Datum::Float8(value), ScalarType::Int8) => Ok(Datum::Int8(near(*value, side))),
        _ => Err(ValueError::new("XX000", "a bound of another type than its column's")),
    }
}

/// The first or last local time that may be that moment.
fn local(micros: i64, zone: &Zone, side: BoundEnd) -> i64 {
    // Near the last of all moments there is no local time for it: the moment's own differs by an offset, too.
    let local = zone.to_local(micros).unwrap_or(micros);
    if repr::datetime::is_infinite(local) {
        return local;
    }
    match side {
        BoundEnd::Low => local.saturating_sub(OFFSETS_DAYS * DAY_MICROS),
        BoundEnd::High => local.saturating_add(OFFSETS_DAYS * DAY_MICROS),
    }
}

fn whole(value: &Numeric, side: BoundEnd) -> i64 {
    let rounded = match side {
        BoundEnd::Low => value.floor(),
        BoundEnd::High => value.ceil(),
    };
    // NaN is above all numbers, and no negative one.
    rounded.to_i64().unwrap_or(if value.is_negative() { i64::MIN } else { i64::MAX })
}

fn near(value: f64, side: BoundEnd) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    let slack = if value.abs() < EXACT_MAX { 0 } else { ROUNDED_MAX };
    let bound = match side {
        BoundEnd::Low => (value.floor() as i128).saturating_sub(slack),
        BoundEnd::High => (value.ceil() as i128).saturating_add(slack),
    };
    bound.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(value: &Datum, column: &ScalarType) -> (Datum, Datum) {
        let ctx = EvalContext::immutable();
        let at = |side| end(&ctx, value, column, side).expect("a bound");
        (at(BoundEnd::Low), at(BoundEnd::High))
    }

    #[test]
    fn integers_are_bounded_widely() {
        let numeric = |text: &str| Datum::Numeric(text.parse().expect("a number"));
        let ints = |low, high| (Datum::Int8(low), Datum::Int8(high));
        assert_eq!(ends(&numeric("4.5"), &ScalarType::Int8), ints(4, 5));
        assert_eq!(ends(&numeric("-4.5"), &ScalarType::Int8), ints(-5, -4));
        assert_eq!(ends(&numeric("1e30"), &ScalarType::Int8), ints(i64::MAX, i64::MAX));
        assert_eq!(ends(&numeric("-1e30"), &ScalarType::Int8), ints(i64::MIN, i64::MIN));
        assert_eq!(ends(&numeric("NaN"), &ScalarType::Int8), ints(i64::MAX, i64::MAX));
        assert_eq!(ends(&numeric("-Infinity"), &ScalarType::Int8), ints(i64::MIN, i64::MIN));
        assert_eq!(ends(&Datum::Float8(-0.5), &ScalarType::Int8), ints(-1, 0));
        assert_eq!(ends(&Datum::Float8(f64::INFINITY), &ScalarType::Int8), ints(i64::MAX, i64::MAX));
        assert_eq!(ends(&Datum::Float8(f64::NAN), &ScalarType::Int8), ints(i64::MAX, i64::MAX));
        for value in [i64::MAX, i64::MAX - 700, (1 << 53) + 1, -(1 << 53) - 1, i64::MIN, i64::MIN + 511] {
            let (Datum::Int8(low), Datum::Int8(high)) = ends(&Datum::Float8(value as f64), &ScalarType::Int8) else {
                panic!("integers")
            };
            assert!(low <= value && value <= high, "{low} {value} {high}");
        }
    }

    #[test]
    fn days_are_bounded_widely() {
        let noon = Datum::Timestamp(DAY_MICROS / 2 - DAY_MICROS);
        assert_eq!(ends(&noon, &ScalarType::Date), (Datum::Date(-1), Datum::Date(-1)));
        let (low, high) = ends(&Datum::Timestamptz(i64::MAX), &ScalarType::Date);
        assert_eq!((low, high), (Datum::Date(i32::MAX), Datum::Date(i32::MAX)));
        let (low, high) = ends(&Datum::Timestamptz(0), &ScalarType::Date);
        assert_eq!((low, high), (Datum::Date(-3), Datum::Date(3)));
    }
}
