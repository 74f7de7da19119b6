//! `column IN (…)` over integers, as a set: one search a row in place of a comparison with each of them.
//!
//! Only ever says that a row cannot pass; whether it does is the predicate's to say. Knows no plan.

use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use planner::transform::shape;
use repr::Datum;

/// Fewer comparisons take less than a search.
const TERMS_MIN: usize = 4;

/// The integers that a column must be one of.
pub struct Members {
    column: usize,
    numbers: Vec<i64>,
}

impl Members {
    /// What the predicates of an `Mfp` say of its input.
    pub fn of(mfp: &Mfp, eval: &EvalContext) -> Vec<Members> {
        let all = mfp.filter.iter().filter_map(|(_, predicate)| members(predicate, eval));
        all.filter(|members| members.column < mfp.input_arity).collect()
    }

    /// False if the predicate does not hold for a row.
    pub fn may_hold(&self, row: &[Datum]) -> bool {
        match row.get(self.column) {
            Some(Datum::Null) => false,
            Some(datum) => datum.as_i64().is_none_or(|number| self.numbers.binary_search(&number).is_ok()),
            None => true,
        }
    }
}

fn members(predicate: &ScalarExpr, eval: &EvalContext) -> Option<Members> {
    let ScalarExpr::Or(terms) = predicate else { return None };
    if terms.len() < TERMS_MIN {
        return None;
    }
    let (mut column, mut numbers) = (None, Vec::with_capacity(terms.len()));
    for term in terms {
        let (own, value) = match shape::equality(term)? {
            (ScalarExpr::Column(own), value) | (value, ScalarExpr::Column(own)) => (*own, value),
            _ => return None,
        };
        if *column.get_or_insert(own) != own {
            return None;
        }
        let (ScalarExpr::Literal(..) | ScalarExpr::Param(..)) = value else { return None };
        match &*value.operand(&[], eval).ok()? {
            // Nothing equals it.
            Datum::Null => {}
            datum => numbers.push(datum.as_i64()?),
        }
    }
    numbers.sort_unstable();
    Some(Members { column: column?, numbers })
}
