//! `… IN (…)` over literals and parameters, as a set: one search a row in place of a comparison with each of them, and what is
//! searched for is computed once.
//!
//! Decides for values of the kind that the list has; of any other it says nothing, and the predicate has to. Knows no plan.

use planner::scalar::{EvalContext, Mfp, ScalarExpr, Volatility};
use planner::transform::shape;
use repr::hash::HashSet;
use repr::{Datum, ScalarType, key};
use std::mem::{Discriminant, discriminant};

/// Fewer comparisons take less than a search.
const TERMS_MIN: usize = 4;

/// The lists of an `Mfp`.
#[derive(Default)]
pub struct InLists {
    lists: Vec<List>,
    /// The `Mfp` without them, if there are any.
    rest: Option<Mfp>,
}

/// What an expression must be one of.
struct List {
    of: ScalarExpr,
    values: Values,
}

enum Values {
    /// Integers, sorted.
    Numbers(Vec<i64>),
    /// Values of one kind, by their codes.
    Codes { kind: Discriminant<Datum>, codes: HashSet<Vec<u8>> },
}

impl InLists {
    /// What the predicates of an `Mfp` say of its input.
    pub fn of(mfp: &Mfp, eval: &EvalContext) -> InLists {
        let mut found = InLists::default();
        let mut decided = Vec::new();
        for (at, (_, predicate)) in mfp.filter.iter().enumerate() {
            if let Some(list) = list(predicate, eval).filter(|list| list.is_over(mfp.input_arity)) {
                found.lists.push(list);
                decided.push(at);
            }
        }
        if !decided.is_empty() {
            let kept = mfp.filter.iter().enumerate().filter(|(at, _)| !decided.contains(at));
            found.rest = Some(Mfp {
                input_arity: mfp.input_arity,
                map: mfp.map.clone(),
                filter: kept.map(|(_, filter)| filter.clone()).collect(),
                project: mfp.project.clone(),
            });
        }
        found
    }

    /// What is still to be done with a row; none if it cannot pass.
    pub fn after<'m>(&'m self, mfp: &'m Mfp, row: &[Datum], eval: &EvalContext) -> Option<&'m Mfp> {
        let Some(rest) = &self.rest else { return Some(mfp) };
        let mut certain = true;
        for list in &self.lists {
            match list.holds(row, eval) {
                Some(true) => {}
                Some(false) => return None,
                None => certain = false,
            }
        }
        Some(if certain { rest } else { mfp })
    }
}

impl List {
    fn is_over(&self, arity: usize) -> bool {
        self.of.columns().last().is_none_or(|last| *last < arity)
    }

    /// Whether the predicate holds for a row; none if that cannot be told, as where it fails.
    fn holds(&self, row: &[Datum], eval: &EvalContext) -> Option<bool> {
        let datum = &*self.of.operand(row, eval).ok()?;
        if datum.is_null() {
            return Some(false);
        }
        match &self.values {
            Values::Numbers(numbers) => datum.as_i64().map(|number| numbers.binary_search(&number).is_ok()),
            Values::Codes { kind, codes } => (discriminant(datum) == *kind).then(|| codes.contains(&code(datum))),
        }
    }
}

fn code(datum: &Datum) -> Vec<u8> {
    let mut code = Vec::with_capacity(24);
    key::encode(&mut code, datum);
    code
}

fn list(predicate: &ScalarExpr, eval: &EvalContext) -> Option<List> {
    let ScalarExpr::Or(terms) = predicate else { return None };
    if terms.len() < TERMS_MIN {
        return None;
    }
    let (mut of, mut values) = (None, Vec::with_capacity(terms.len()));
    let is_given = |side: &ScalarExpr| matches!(side, ScalarExpr::Literal(..) | ScalarExpr::Param(..));
    for term in terms {
        let (own, value) = match shape::equality(term)? {
            (own, value) if is_given(value) => (own, value),
            (value, own) if is_given(value) => (own, value),
            _ => return None,
        };
        // What is volatile has another value each time.
        if *of.get_or_insert(own) != own || own.volatility() == Volatility::Volatile {
            return None;
        }
        let (ScalarExpr::Literal(_, repr::ColumnType { scalar, .. }) | ScalarExpr::Param(_, scalar)) = value else {
            return None;
        };
        // Padding or case does not count in some, and parts can be NULL in others.
        if matches!(scalar, ScalarType::Bpchar | ScalarType::Citext | ScalarType::Record(_) | ScalarType::Array(_)) {
            return None;
        }
        shape::key_class(scalar)?;
        let value = value.operand(&[], eval).ok()?;
        // Nothing equals NULL.
        if !value.is_null() {
            values.push(value.into_owned());
        }
    }
    let of = of?.clone();
    if let Some(numbers) = values.iter().map(Datum::as_i64).collect::<Option<Vec<i64>>>() {
        let mut numbers = numbers;
        numbers.sort_unstable();
        return Some(List { of, values: Values::Numbers(numbers) });
    }
    let kind = discriminant(values.first()?);
    let alike = values.iter().all(|value| discriminant(value) == kind);
    alike.then(|| List { of, values: Values::Codes { kind, codes: values.iter().map(code).collect() } })
}
