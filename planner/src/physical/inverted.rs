//! Conditions that an inverted index finds rows for. What it finds may be too much, so that they stay as predicates.

use super::access::same_class;
use crate::catalog::Table;
use crate::mir::expr;
use crate::plan::Access;
use crate::scalar::ScalarExpr;
use crate::scalar::inverted::Asked;
use crate::transform::shape;
use repr::{ColumnIndex, ScalarType};
use std::cmp::Reverse;

/// The inverted index that knows most of a table's predicates, if one knows any.
pub(super) fn access(table: &Table, predicates: &[&ScalarExpr]) -> Option<Access> {
    let asked: Vec<_> = predicates.iter().filter_map(|predicate| asked(table, predicate)).collect();
    let found = table.indexes.iter().filter(|index| index.is_inverted()).map(|index| {
        let place = |column: &ColumnIndex| index.columns.iter().position(|own| own == column);
        let conditions =
            asked.iter().filter_map(|(column, asked, value)| Some((place(column)?, *asked, value.clone())));
        (Reverse(index.columns.len()), index.id, conditions.collect::<Vec<_>>())
    });
    // Of those that know as much the one that is of least besides.
    let (_, index, conditions) = found.max_by_key(|(columns, _, conditions)| (conditions.len(), *columns))?;
    (!conditions.is_empty()).then_some(Access::Inverted { index, conditions })
}

/// What a predicate asks of a column beside a constant.
fn asked(table: &Table, predicate: &ScalarExpr) -> Option<(ColumnIndex, Asked, ScalarExpr)> {
    if let Some((element, array)) = shape::equal_to_any(predicate) {
        let ScalarExpr::Column(column) = array else { return None };
        let of = table.columns.get(*column)?.column_type.scalar.element()?;
        let agrees = same_class(&of, &element.scalar_type(&|_| ScalarType::Unknown));
        return (agrees && is_constant(element)).then(|| (*column, Asked::Has, element.clone()));
    }
    let ScalarExpr::Call { function, args, .. } = predicate else { return None };
    let [left, right] = args.as_slice() else { return None };
    let (column, asked, value) = match (function.name, right) {
        ("<@", _) => (right, Asked::Contains, left),
        // Either side may be the column.
        ("@@" | "@@@" | "&&", ScalarExpr::Column(_)) => (right, Asked::of_operator(function)?, left),
        _ => (left, Asked::of_operator(function)?, right),
    };
    let ScalarExpr::Column(column) = shape::relabelled(column) else { return None };
    // Of texts, `@@` looks for words, and not for what they are indexed by.
    let is_vector = table.columns.get(*column)?.column_type.scalar == ScalarType::TsVector;
    if (asked == Asked::Matches) != is_vector {
        return None;
    }
    is_constant(value).then(|| (*column, asked, value.clone()))
}

fn is_constant(value: &ScalarExpr) -> bool {
    expr::is_constant(value) && !expr::is_volatile(value)
}
