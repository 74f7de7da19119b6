//! Conditions that are decided where a row stands packed: comparisons of columns with each other or with what is the same for all
//! rows, and AND and OR of these.
//!
//! ```text
//! conditions, those of the first columns first ─▶ decided: the row is passed over, or goes on to the predicates that are left
//!                                              └▶ not decided, for a value that is not plain: to all predicates
//! ```
//! No column is read behind one that decides. Such conditions cannot fail, so they may come before those that can.

use crate::plain::Plain;
use planner::scalar::{Comparison, EvalContext, FunctionKind, Mfp, ScalarExpr};
use repr::row::Columns;
use state::answer::Stored;

/// Columns that are looked at; of more the conditions are left to the general way.
const COLUMNS_MAX: usize = 12;

/// Of more alternatives it takes less to search for a value: see `in_list`.
const ALTERNATIVES_MAX: usize = 8;

/// See the module.
#[derive(Default)]
pub(crate) struct PlainFilter {
    /// The columns by where they stand, rising.
    places: Vec<usize>,
    /// With how many of the columns each needs.
    conditions: Vec<(usize, Condition)>,
}

enum Condition {
    Compare(Comparison, Operand, Operand),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

enum Operand {
    /// Its number in `places`, once these are known; before, its place.
    Column(usize),
    Constant(Plain<'static>),
    Text(Box<[u8]>),
}

impl PlainFilter {
    /// What can be decided of the predicates of an `Mfp` over rows whose columns stand at these places, and the predicates that are
    /// left; none if nothing can.
    pub(crate) fn of(mfp: &Mfp, place: &impl Fn(usize) -> usize, eval: &EvalContext) -> Option<(PlainFilter, Mfp)> {
        let mut found = PlainFilter::default();
        let mut left = Vec::new();
        for (needed, predicate) in &mfp.filter {
            let condition = condition(predicate, mfp.input_arity, place, eval);
            match condition.and_then(|condition| found.admit(condition)) {
                Some(condition) => found.conditions.push((0, condition)),
                None => left.push((*needed, predicate.clone())),
            }
        }
        if found.conditions.is_empty() {
            return None;
        }
        let PlainFilter { places, conditions } = &mut found;
        conditions.iter_mut().for_each(|(needed, condition)| *needed = condition.settle(places));
        conditions.sort_by_key(|(needed, _)| *needed);
        let left =
            Mfp { input_arity: mfp.input_arity, map: mfp.map.clone(), filter: left, project: mfp.project.clone() };
        Some((found, left))
    }

    /// Takes a condition's columns in, if there is room for them.
    fn admit(&mut self, condition: Condition) -> Option<Condition> {
        let mut places = self.places.clone();
        condition.columns(&mut places);
        places.sort_unstable();
        places.dedup();
        if places.len() > COLUMNS_MAX {
            return None;
        }
        self.places = places;
        Some(condition)
    }

    /// Whether a row passes all of them; none if that is not to be told here.
    #[inline]
    pub(crate) fn decide(&self, stored: Stored<'_>) -> Option<bool> {
        let mut values = Columns::over(stored.bytes);
        let mut read = [Plain::Null; COLUMNS_MAX];
        let (mut have, mut certain) = (0, true);
        for (needed, condition) in &self.conditions {
            while have < *needed {
                read[have] = Plain::of(stored.value(&mut values, self.places[have]));
                have += 1;
            }
            match condition.holds(&read) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => certain = false,
            }
        }
        certain.then_some(true)
    }
}

impl Condition {
    fn columns(&self, places: &mut Vec<usize>) {
        match self {
            Condition::Compare(_, one, other) => {
                for operand in [one, other] {
                    if let Operand::Column(place) = operand {
                        places.push(*place);
                    }
                }
            }
            Condition::All(conditions) | Condition::Any(conditions) => {
                conditions.iter().for_each(|condition| condition.columns(places));
            }
        }
    }

    /// Replaces places by their numbers; how many columns are needed.
    fn settle(&mut self, places: &[usize]) -> usize {
        match self {
            Condition::Compare(_, one, other) => {
                let settle = |operand: &mut Operand| match operand {
                    Operand::Column(place) => {
                        *place = places.partition_point(|other| other < place);
                        *place + 1
                    }
                    Operand::Constant(_) | Operand::Text(_) => 0,
                };
                settle(one).max(settle(other))
            }
            Condition::All(conditions) | Condition::Any(conditions) => {
                conditions.iter_mut().map(|condition| condition.settle(places)).max().unwrap_or(0)
            }
        }
    }

    /// Whether it is true. That it is NULL is no more than that it is not: nothing here negates.
    #[inline]
    fn holds(&self, read: &[Plain<'_>]) -> Option<bool> {
        match self {
            Condition::Compare(comparison, one, other) => {
                let (one, other) = (one.value(read), other.value(read));
                if one == Plain::Null || other == Plain::Null {
                    return Some(false);
                }
                one.order(other).map(|order| comparison.accepts(order))
            }
            Condition::All(conditions) => junction(conditions, read, false),
            Condition::Any(conditions) => junction(conditions, read, true),
        }
    }
}

fn junction(conditions: &[Condition], read: &[Plain<'_>], deciding: bool) -> Option<bool> {
    let mut certain = true;
    for condition in conditions {
        match condition.holds(read) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => certain = false,
        }
    }
    certain.then_some(!deciding)
}

impl Operand {
    #[inline]
    fn value<'v>(&'v self, read: &[Plain<'v>]) -> Plain<'v> {
        match self {
            Operand::Column(number) => read[*number],
            Operand::Constant(value) => *value,
            Operand::Text(text) => Plain::Text(text),
        }
    }
}

fn condition(
    predicate: &ScalarExpr,
    arity: usize,
    place: &impl Fn(usize) -> usize,
    eval: &EvalContext,
) -> Option<Condition> {
    let all = |terms: &[ScalarExpr]| -> Option<Vec<Condition>> {
        terms.iter().map(|term| condition(term, arity, place, eval)).collect()
    };
    match predicate {
        ScalarExpr::And(terms) => all(terms).map(Condition::All),
        ScalarExpr::Or(terms) if terms.len() <= ALTERNATIVES_MAX => all(terms).map(Condition::Any),
        ScalarExpr::Call { function, args, .. } => {
            let (FunctionKind::Compare(comparison), [one, other]) = (function.kind, args.as_slice()) else {
                return None;
            };
            // Those that tell NULLs apart are not strict.
            if !function.strict {
                return None;
            }
            let operand = |expression: &ScalarExpr| operand(expression, arity, place, eval);
            Some(Condition::Compare(comparison, operand(one)?, operand(other)?))
        }
        _ => None,
    }
}

fn operand(
    expression: &ScalarExpr,
    arity: usize,
    place: &impl Fn(usize) -> usize,
    eval: &EvalContext,
) -> Option<Operand> {
    match expression {
        ScalarExpr::Column(column) if *column < arity => Some(Operand::Column(place(*column))),
        ScalarExpr::Literal(..) | ScalarExpr::Param(..) => {
            let value = expression.operand(&[], eval).ok()?;
            Some(match Plain::of_datum(&value) {
                Plain::Null => Operand::Constant(Plain::Null),
                Plain::Integer(value) => Operand::Constant(Plain::Integer(value)),
                Plain::Decimal { unscaled, scale } => Operand::Constant(Plain::Decimal { unscaled, scale }),
                Plain::Counted(kind, value) => Operand::Constant(Plain::Counted(kind, value)),
                Plain::Text(text) => Operand::Text(text.into()),
                Plain::Other => return None,
            })
        }
        _ => None,
    }
}
