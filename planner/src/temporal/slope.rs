//! Whether a value only rises, or only falls, as the clock goes on, the columns being what they are.
//!
//! In UTC, where every day is as long as the others. Months are not: the last day of a month is a month before or after
//! several days, so that `now() - interval '1 month'` goes back at times. Midnights do not, and neither do firsts of months.

use super::{clock_in, is_clock, refused};
use crate::error::PlanError;
use crate::mir::expr;
use crate::scalar::ScalarExpr;
use crate::scalar::cast::{Cast, CastMethod};
use repr::datetime::DAY_MICROS;
use repr::interval::Interval;
use repr::{ColumnType, Datum, ScalarType};

/// Which values a moment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Any.
    Instants,
    /// Midnights.
    Midnights,
    /// The first midnight of a month.
    Months,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    /// None if it stands still.
    rising: Option<bool>,
    /// It changes at midnights only.
    pub(super) daily: bool,
    /// Its midnights are the clock's.
    aligned: bool,
    at: At,
}

impl Slope {
    const STILL: Slope = Slope { rising: None, daily: true, aligned: false, at: At::Instants };

    /// Whether it rises rather than falls; none if it stands still.
    pub(super) fn rises(&self) -> Option<bool> {
        self.rising
    }

    /// Of a sum. None if one goes up and the other down.
    fn sum(left: &Slope, right: &Slope) -> Option<Slope> {
        let rising = match (left.rising, right.rising) {
            (Some(left), Some(right)) if left != right => return None,
            (left, right) => left.or(right),
        };
        Some(Slope { rising, daily: left.daily && right.daily, aligned: false, at: At::Instants })
    }

    /// Of the left one over the right one.
    pub(super) fn difference(left: &Slope, right: &Slope) -> Option<Slope> {
        Slope::sum(left, &Slope { rising: right.rising.map(|rising| !rising), ..*right })
    }
}

/// See the module.
///
/// # Errors
/// 0A000 naming the clock of an expression that may go both ways.
pub(super) fn slope(value: &ScalarExpr, types: &[ColumnType]) -> Result<Slope, PlanError> {
    let Some(clock) = clock_in(value) else { return Ok(Slope::STILL) };
    let found = match value {
        ScalarExpr::Call { function, .. } if is_clock(function) => {
            let is_date = function.name == "current_date";
            let at = if is_date { At::Midnights } else { At::Instants };
            return Ok(Slope { rising: Some(true), daily: is_date, aligned: true, at });
        }
        ScalarExpr::Call { function, args, .. } => of_call(function.name, args, types)?,
        ScalarExpr::Cast { expr: inner, cast, to } => of_cast(slope(inner, types)?, cast, &to.scalar),
        ScalarExpr::Column(_)
        | ScalarExpr::Literal(..)
        | ScalarExpr::Param(..)
        | ScalarExpr::And(_)
        | ScalarExpr::Or(_)
        | ScalarExpr::Case { .. }
        | ScalarExpr::Coalesce(..)
        | ScalarExpr::Array(..)
        | ScalarExpr::Record(..)
        | ScalarExpr::Once { .. }
        | ScalarExpr::Tested { .. }
        | ScalarExpr::Operand(_) => None,
    };
    found.ok_or_else(|| match months_of(value) {
        true => refused(clock)
            .detail("Months are not of one length: add them to the columns, or to current_date, instead of the clock."),
        false => refused(clock),
    })
}

/// Whether a part of it adds months.
fn months_of(value: &ScalarExpr) -> bool {
    let mut found = false;
    value.visit(&mut |part| {
        found |= matches!(part.as_literal(), Some(Datum::Interval(length)) if length.months != 0);
    });
    found
}

fn of_call(name: &str, args: &[ScalarExpr], types: &[ColumnType]) -> Result<Option<Slope>, PlanError> {
    let scalar = |arg: &ScalarExpr| expr::scalar_type(arg, types);
    Ok(match (name, args) {
        ("+" | "-", [left, right]) => {
            let (left_slope, right_slope) = (slope(left, types)?, slope(right, types)?);
            match (scalar(left), scalar(right)) {
                (moment, ScalarType::Interval) if is_moment(&moment) => moved(&left_slope, right, name == "-"),
                (ScalarType::Interval, moment) if is_moment(&moment) => moved(&right_slope, left, false),
                (ScalarType::Date, ScalarType::Int4) if right_slope.rising.is_none() => {
                    Some(Slope { at: At::Midnights, ..left_slope })
                }
                (ScalarType::Int4, ScalarType::Date) if left_slope.rising.is_none() => {
                    Some(Slope { at: At::Midnights, ..right_slope })
                }
                (one, other) if one == other && (is_moment(&one) || is_number(&one)) && name == "-" => {
                    Slope::difference(&left_slope, &right_slope)
                }
                (one, other) if is_number(&one) && is_number(&other) && name == "+" => {
                    Slope::sum(&left_slope, &right_slope)
                }
                _ => None,
            }
        }
        ("*", [value, factor] | [factor, value]) if is_positive(factor) && is_number(&scalar(value)) => {
            Some(anywhere(slope(value, types)?))
        }
        ("/", [value, divisor]) if is_positive(divisor) && is_number(&scalar(value)) => {
            Some(anywhere(slope(value, types)?))
        }
        ("date_trunc", [unit, value]) => truncated(unit, slope(value, types)?),
        ("extract" | "date_part", [field, value]) if is_moment(&scalar(value)) => {
            says(field, &["epoch", "year", "julian"]).then_some(anywhere(slope(value, types)?))
        }
        ("timezone", [zone, value]) => says(zone, &["utc", "gmt", "etc/utc"]).then_some(slope(value, types)?),
        ("floor" | "ceil" | "ceiling" | "round" | "trunc", [value]) if is_number(&scalar(value)) => {
            Some(anywhere(slope(value, types)?))
        }
        _ => None,
    })
}

fn anywhere(slope: Slope) -> Slope {
    Slope { at: At::Instants, aligned: false, ..slope }
}

/// Whether it is a literal of one of these words.
fn says(expr: &ScalarExpr, words: &[&str]) -> bool {
    let Some(Datum::Text(said)) = expr.as_literal() else { return false };
    words.iter().any(|word| said.eq_ignore_ascii_case(word))
}

fn is_moment(scalar: &ScalarType) -> bool {
    matches!(scalar, ScalarType::Timestamptz | ScalarType::Timestamp | ScalarType::Date)
}

fn is_number(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Int8
            | ScalarType::Float4
            | ScalarType::Float8
            | ScalarType::Numeric
    )
}

/// A moment moved by an interval, which must be a constant: a column could have months.
fn moved(moment: &Slope, by: &ScalarExpr, back: bool) -> Option<Slope> {
    let Some(Datum::Interval(by)) = by.as_literal() else { return None };
    let Interval { months, days, micros } = if back { by.negate().ok()? } else { *by };
    if months != 0 && moment.at < At::Midnights {
        return None;
    }
    let at = match moment.at {
        _ if micros != 0 => At::Instants,
        At::Months if days == 0 => At::Months,
        At::Months | At::Midnights => At::Midnights,
        At::Instants => At::Instants,
    };
    Some(Slope { at, aligned: moment.aligned && micros % DAY_MICROS == 0, ..*moment })
}

fn truncated(unit: &ScalarExpr, moment: Slope) -> Option<Slope> {
    if says(unit, &["microseconds", "milliseconds", "second", "minute", "hour"]) {
        return Some(moment);
    }
    let at = match says(unit, &["day", "week"]) {
        true => moment.at.max(At::Midnights),
        false if says(unit, &["month", "quarter", "year", "decade", "century", "millennium"]) => At::Months,
        false => return None,
    };
    Some(Slope { daily: moment.daily || moment.aligned, at, ..moment })
}

fn of_cast(slope: Slope, cast: &Cast, to: &ScalarType) -> Option<Slope> {
    match cast.method {
        CastMethod::DateTime if is_moment(&cast.from) && is_moment(to) => {
            if *to != ScalarType::Date {
                return Some(slope);
            }
            Some(Slope { at: slope.at.max(At::Midnights), daily: slope.daily || slope.aligned, ..slope })
        }
        CastMethod::Number if is_number(&cast.from) && is_number(to) => Some(anywhere(slope)),
        // To a precision.
        CastMethod::Relabel if cast.from == *to && (is_moment(to) || is_number(to)) => Some(anywhere(slope)),
        _ => None,
    }
}

fn is_positive(expr: &ScalarExpr) -> bool {
    match expr.as_literal() {
        Some(Datum::Numeric(number)) => !number.is_nan() && !number.is_negative() && !number.is_zero(),
        Some(number) => {
            number.as_f64().or_else(|| number.as_i64().map(|whole| whole as f64)).is_some_and(|number| number > 0.0)
        }
        None => false,
    }
}
