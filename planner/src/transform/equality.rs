//! Equality propagation: of `a = b` and `b = constant` follows `a = constant`, which an index can answer.

use super::shape;
use crate::mir::expr;
use crate::scalar::{Function, ScalarExpr};
use repr::ScalarType;

/// Adds `column = constant` for every column that is equal to one that is; equalities that then follow from
/// two such are left out. Only equalities by the very same operator are chained.
pub(crate) fn propagate(predicates: &mut Vec<ScalarExpr>) {
    let mut fixed: Vec<(usize, &'static Function, ScalarExpr)> =
        predicates.iter().filter_map(column_is_constant).collect();
    if fixed.is_empty() {
        return;
    }
    let pairs: Vec<(usize, usize, &'static Function)> = predicates.iter().filter_map(columns_are_equal).collect();
    let mut grown = true;
    while grown {
        grown = false;
        for (left, right, function) in &pairs {
            let known = |column: &usize| fixed.iter().position(|(other, by, _)| other == column && by == function);
            let (from, to) = match (known(left), known(right)) {
                (Some(from), None) => (from, *right),
                (None, Some(from)) => (from, *left),
                (Some(_), Some(_)) | (None, None) => continue,
            };
            let constant = fixed[from].2.clone();
            let args = vec![ScalarExpr::Column(to), constant.clone()];
            predicates.push(ScalarExpr::Call { function, args, result: ScalarType::Bool });
            fixed.push((to, function, constant));
            grown = true;
        }
    }
    predicates.retain(|predicate| {
        let Some((left, right, function)) = columns_are_equal(predicate) else { return true };
        let value =
            |column| fixed.iter().find(|(other, by, _)| *other == column && *by == function).map(|(_, _, value)| value);
        !matches!((value(left), value(right)), (Some(a), Some(b)) if a == b)
    });
}

fn column_is_constant(predicate: &ScalarExpr) -> Option<(usize, &'static Function, ScalarExpr)> {
    let ScalarExpr::Call { function, .. } = predicate else { return None };
    let (left, right) = shape::equality(predicate)?;
    let (column, constant) = match (left, right) {
        (ScalarExpr::Column(column), constant) | (constant, ScalarExpr::Column(column)) => (*column, constant),
        _ => return None,
    };
    let fixed = expr::is_constant(constant) && !expr::is_volatile(constant);
    fixed.then(|| (column, *function, constant.clone()))
}

fn columns_are_equal(predicate: &ScalarExpr) -> Option<(usize, usize, &'static Function)> {
    let ScalarExpr::Call { function, .. } = predicate else { return None };
    match shape::equality(predicate)? {
        (ScalarExpr::Column(left), ScalarExpr::Column(right)) => Some((*left, *right, function)),
        _ => None,
    }
}
