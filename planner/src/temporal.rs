//! Temporal filters: conditions that compare the clock with a row, by which it is in a view from a moment on, or until one.
//!
//! ```text
//! WHERE happened > now() - interval '1 hour'   true until happened + 1 hour, never after        Turn::Ends
//!   AND shown_from <= now()                    false before shown_from, true ever after         Turn::Begins
//! ```
//! A condition is one if its truth turns once at most, for whatever row, as the clock goes on: `slope` finds that out. Then the
//! moment can be found by asking the condition itself, and nothing here or in the engine computes an inverse of anything.
//! The clock must stand in conditions of WHERE and HAVING, and of ON between inner joins; anywhere else it is refused by name.
//! In a view the time zone is UTC.

mod slope;

use crate::error::PlanError;
use crate::mir::{Mir, expr};
use crate::scalar::cast::CastMethod;
use crate::scalar::func::Comparison;
use crate::scalar::{Function, ScalarExpr, Volatility, registry};
use crate::transform::shape;
use repr::datetime::DAY_MICROS;
use repr::{ColumnType, Datum, ScalarType};
use slope::{Slope, slope};

/// Functions that say when the transaction began. What says more, or something else, is no temporal filter's.
const CLOCK: [&str; 5] = ["now", "current_timestamp", "transaction_timestamp", "localtimestamp", "current_date"];

/// Those of them that give another value in another time zone.
const ZONED: [&str; 2] = ["localtimestamp", "current_date"];

/// What may be done with a clock.
const HINT: &str =
    "compare it with columns, as in WHERE happened > now() - interval '1 hour'; or compute it where the view is read";

/// Which way the truth of a condition turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// From false to true.
    Begins,
    /// From true to false.
    Ends,
}

impl Turn {
    fn opposite(self) -> Turn {
        match self {
            Turn::Begins => Turn::Ends,
            Turn::Ends => Turn::Begins,
        }
    }
}

/// A condition whose truth turns once at most as the clock goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockCondition {
    /// The condition. It is NULL at all times or at none.
    pub condition: ScalarExpr,
    /// Which way it turns.
    pub turn: Turn,
    /// It turns at multiples of so many microseconds only.
    pub step_us: i64,
    /// What says about when: the clock's side of a comparison of two moments, and the row's.
    pub sides: Option<(ScalarExpr, ScalarExpr)>,
}

/// Whether a function gives the transaction's time.
pub(crate) fn is_clock(function: &Function) -> bool {
    CLOCK.contains(&function.name)
}

/// Whether an expression reads the clock.
pub fn reads_clock(expr: &ScalarExpr) -> bool {
    clock_in(expr).is_some()
}

fn clock_in(expr: &ScalarExpr) -> Option<&'static str> {
    let mut found = None;
    expr.visit(&mut |part| {
        if let ScalarExpr::Call { function, .. } = part
            && is_clock(function)
        {
            found = Some(function.name);
        }
    });
    found
}

/// The clock is not where a temporal filter has it.
pub(crate) fn refused(function: &str) -> PlanError {
    PlanError::unsupported(format!("function {function}() in a materialized view")).hint(HINT)
}

/// Temporal filters become filters of their own, from which nothing is moved any more.
///
/// # Errors
/// 0A000 naming a clock that is read anywhere else.
pub(crate) fn set_apart(mir: &mut Mir) -> Result<(), PlanError> {
    if let Mir::LetRec { step, .. } = mir
        && let Some(function) = clock_below(step)
    {
        return Err(refused(function).detail("It stands in the step of a recursion."));
    }
    for child in mir.children_mut() {
        set_apart(child)?;
    }
    match mir {
        Mir::Filter { input, predicates } => {
            let mut all = Vec::with_capacity(predicates.len());
            predicates.iter().for_each(|predicate| expr::conjuncts(predicate, &mut all));
            let (clocked, others): (Vec<_>, Vec<_>) = all.into_iter().partition(reads_clock);
            if clocked.is_empty() {
                return Ok(());
            }
            conditions(&clocked, &input.types())?;
            let input = std::mem::replace(&mut **input, Mir::empty(Vec::new()));
            *mir = apart(input.filter(others), clocked);
        }
        Mir::Join { on, .. } if on.iter().any(reads_clock) => {
            let mut all = Vec::with_capacity(on.len());
            on.iter().for_each(|condition| expr::conjuncts(condition, &mut all));
            let (clocked, others): (Vec<_>, Vec<_>) = all.into_iter().partition(reads_clock);
            *on = others;
            conditions(&clocked, &mir.types())?;
            let join = std::mem::replace(mir, Mir::empty(Vec::new()));
            *mir = apart(join, clocked);
        }
        other => {
            if let Some(function) = other.exprs_mut().into_iter().find_map(|own| clock_in(own)) {
                return Err(refused(function));
            }
        }
    }
    Ok(())
}

fn apart(input: Mir, predicates: Vec<ScalarExpr>) -> Mir {
    Mir::Filter { input: Box::new(input), predicates }
}

fn clock_below(mir: &Mir) -> Option<&'static str> {
    let own = mir.clone().exprs_mut().into_iter().find_map(|own| clock_in(own));
    own.or_else(|| mir.children().into_iter().find_map(clock_below))
}

/// Temporal filters, each turning one way.
///
/// # Errors
/// 0A000 for what is none.
pub(crate) fn conditions(predicates: &[ScalarExpr], types: &[ColumnType]) -> Result<Vec<ClockCondition>, PlanError> {
    let mut found = Vec::with_capacity(predicates.len());
    for predicate in predicates {
        match shape::compared(predicate) {
            Some((Comparison::Equal, left, right)) => {
                for symbol in [">=", "<="] {
                    found.push(condition(&compare(symbol, left, right, types)?, types)?);
                }
            }
            _ => found.push(condition(predicate, types)?),
        }
    }
    Ok(found)
}

fn compare(symbol: &str, left: &ScalarExpr, right: &ScalarExpr, types: &[ColumnType]) -> Result<ScalarExpr, PlanError> {
    let scalars = [left, right].map(|side| expr::scalar_type(side, types));
    let found = registry::resolve_operator(symbol, Some(&scalars[0]), &scalars[1])?;
    let args = vec![left.clone(), right.clone()];
    Ok(ScalarExpr::Call { function: found.function, args, result: ScalarType::Bool })
}

fn condition(predicate: &ScalarExpr, types: &[ColumnType]) -> Result<ClockCondition, PlanError> {
    let turning = turning(predicate, types)?;
    let Some(turn) = turning.turn else {
        return Err(refused(clock_in(predicate).unwrap_or("now")).detail("The clock does not matter to the condition."));
    };
    let step_us = if turning.daily { DAY_MICROS } else { 1 };
    Ok(ClockCondition { condition: predicate.clone(), turn, step_us, sides: sides(predicate, types) })
}

/// How the truth of a condition turns, if it does.
struct Turning {
    turn: Option<Turn>,
    /// At midnights only.
    daily: bool,
}

impl Turning {
    const STILL: Turning = Turning { turn: None, daily: true };
}

/// Of two-valued truth: what is NULL is not true, at no time.
fn turning(predicate: &ScalarExpr, types: &[ColumnType]) -> Result<Turning, PlanError> {
    let Some(function) = clock_in(predicate) else { return Ok(Turning::STILL) };
    if let ScalarExpr::And(terms) | ScalarExpr::Or(terms) = predicate {
        let mut all = Turning::STILL;
        for term in terms {
            let own = turning(term, types)?;
            if all.turn.is_some() && own.turn.is_some() && all.turn != own.turn {
                return Err(refused(function)
                    .detail("A condition begins and ends: each has to be a condition of WHERE by itself."));
            }
            all = Turning { turn: all.turn.or(own.turn), daily: all.daily && own.daily };
        }
        return Ok(all);
    }
    if let Some(inner) = shape::negated(predicate) {
        let inner = turning(inner, types)?;
        return Ok(Turning { turn: inner.turn.map(Turn::opposite), ..inner });
    }
    let Some((comparison, left, right)) = shape::compared(predicate) else { return Err(refused(function)) };
    let (left, right) = (slope(left, types)?, slope(right, types)?);
    // The left side over the right one.
    let over = Slope::difference(&left, &right)
        .ok_or_else(|| refused(function).detail("The clock moves both sides of a comparison."))?;
    let turn = match comparison {
        Comparison::Less | Comparison::LessOrEqual => {
            over.rises().map(|rises| if rises { Turn::Ends } else { Turn::Begins })
        }
        Comparison::Greater | Comparison::GreaterOrEqual => {
            over.rises().map(|rises| if rises { Turn::Begins } else { Turn::Ends })
        }
        Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => {
            return Err(
                refused(function).detail("The clock is compared by <, <=, > and >=, or by = as a condition of WHERE.")
            );
        }
    };
    Ok(Turning { turn, daily: over.daily })
}

/// The sides of a comparison of two moments, the clock's without columns first.
fn sides(predicate: &ScalarExpr, types: &[ColumnType]) -> Option<(ScalarExpr, ScalarExpr)> {
    let (_, left, right) = shape::compared(predicate)?;
    let is_moment =
        |side: &ScalarExpr| matches!(expr::scalar_type(side, types), ScalarType::Timestamptz | ScalarType::Timestamp);
    let is_clocks = |side: &ScalarExpr| reads_clock(side) && side.columns().is_empty();
    match (left, right) {
        _ if !is_moment(left) || !is_moment(right) => None,
        (clock, row) | (row, clock) if is_clocks(clock) && !reads_clock(row) => Some((clock.clone(), row.clone())),
        _ => None,
    }
}

/// Whether a call reads the clock alone, or adds what is as long everywhere to it.
pub(crate) fn is_of_any_zone<C: Clone>(expr: &ScalarExpr<C>) -> bool {
    let ScalarExpr::Call { function, args, .. } = expr else { return false };
    let is_duration = |arg: &ScalarExpr<C>| {
        let mut folded = arg.clone();
        folded.fold();
        is_plain_duration(&folded)
    };
    is_clock(function) && !ZONED.contains(&function.name)
        || matches!(function.name, "+" | "-") && args.iter().any(is_duration)
}

/// Whether a condition is the same whatever the session's time zone.
pub(crate) fn is_of_no_zone(predicate: &ScalarExpr) -> bool {
    // Intervals that were written are constants.
    let mut folded = predicate.clone();
    folded.fold();
    let mut free = true;
    folded.visit(&mut |part| {
        free &= match part {
            ScalarExpr::Call { function, .. } if is_clock(function) => !ZONED.contains(&function.name),
            // An hour is as long everywhere; a day is not.
            ScalarExpr::Call { function, args, .. } if matches!(function.name, "+" | "-") => {
                function.volatility == Volatility::Immutable || args.iter().any(is_plain_duration)
            }
            other => other.own_volatility() == Volatility::Immutable,
        };
    });
    free
}

/// Whether a condition depends on nothing but the clock and the time zone, which is UTC then.
pub(crate) fn is_of_utc(predicate: &ScalarExpr) -> bool {
    let mut free = true;
    predicate.visit(&mut |part| {
        free &= match part {
            ScalarExpr::Call { function, .. } => {
                is_clock(function)
                    || function.volatility == Volatility::Immutable
                    || matches!(function.name, "+" | "-" | "date_trunc" | "date_part" | "extract")
            }
            ScalarExpr::Cast { cast, .. } if cast.method == CastMethod::DateTime => true,
            other => other.own_volatility() == Volatility::Immutable,
        };
    });
    free
}

fn is_plain_duration<C>(expr: &ScalarExpr<C>) -> bool {
    matches!(expr.as_literal(), Some(Datum::Interval(length)) if length.months == 0 && length.days == 0)
}
