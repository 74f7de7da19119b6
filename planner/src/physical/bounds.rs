//! Bounds: which predicates say that a column is below or above a value, of its own type or of one that it is cast to.
//!
//! Bounds are no answers: the predicates that they come from stay.

use super::access::{TypedColumns, column_and_constant, is_null_literal, same_class};
use crate::mir::expr;
use crate::plan::{Access, InOrder, Lookup};
use crate::scalar::func::{Comparison, Function, bound};
use crate::scalar::{EvalContext, Mfp, ScalarExpr};
use crate::system::{self, SystemRelation};
use crate::transform::shape;
use repr::{ColumnIndex, ColumnType, Datum, RelationId, ScalarType};

/// A bound of a column.
pub(super) struct ColumnBound {
    pub(super) column: ColumnIndex,
    pub(super) comparison: Comparison,
    pub(super) value: ScalarExpr,
}

/// The bounds that a predicate sets to columns.
pub(super) fn bounded_columns(relation: &impl TypedColumns, predicate: &ScalarExpr) -> Vec<ColumnBound> {
    match bounded_column(relation, predicate) {
        Some(bound) => vec![bound],
        None => shape::compared(predicate).map_or_else(Vec::new, |(comparison, left, right)| {
            let column = bounded_through_cast(relation, comparison, left, right);
            column.or_else(|| bounded_through_cast(relation, comparison.commuted(), right, left)).unwrap_or_default()
        }),
    }
}

fn bounded_column(relation: &impl TypedColumns, predicate: &ScalarExpr) -> Option<ColumnBound> {
    let (comparison, left, right) = shape::compared(predicate)?;
    if !is_order(comparison) {
        return None;
    }
    if let Some((column, value)) = column_and_constant(relation, left, right) {
        return Some(ColumnBound { column, comparison, value: value.clone() });
    }
    let (column, value) = column_and_constant(relation, right, left)?;
    Some(ColumnBound { column, comparison: comparison.commuted(), value: value.clone() })
}

fn is_order(comparison: Comparison) -> bool {
    match comparison {
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => true,
        Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => false,
    }
}

/// The bounds of a column that is cast to what it is compared with: wide ones, of which `func::bound` tells.
fn bounded_through_cast(
    relation: &impl TypedColumns,
    comparison: Comparison,
    column: &ScalarExpr,
    value: &ScalarExpr,
) -> Option<Vec<ColumnBound>> {
    let ScalarExpr::Cast { expr: inner, cast, to } = shape::relabelled(column) else { return None };
    let ScalarExpr::Column(column) = shape::relabelled(inner) else { return None };
    let own = relation.scalar(*column)?;
    let is_bounded = to.modifier == -1
        && bound::is_bounded_through(&cast.from, &to.scalar)
        && same_class(own, &cast.from)
        && value.scalar_type(&|_| ScalarType::Unknown) == to.scalar;
    if !is_bounded || !expr::is_constant(value) || expr::is_volatile(value) || is_null_literal(value) {
        return None;
    }
    // Integers of all widths are one class of keys.
    let result = if same_class(own, &ScalarType::Int8) { ScalarType::Int8 } else { own.clone() };
    let at = |comparison: Comparison, function: &'static Function| {
        let call = ScalarExpr::Call { function, args: vec![value.clone()], result: result.clone() };
        ColumnBound { column: *column, comparison, value: known_now(call, value) }
    };
    let lower = || at(Comparison::GreaterOrEqual, &bound::AT_LEAST);
    let upper = || at(Comparison::LessOrEqual, &bound::AT_MOST);
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => Some(vec![upper()]),
        Comparison::Greater | Comparison::GreaterOrEqual => Some(vec![lower()]),
        Comparison::Equal => Some(vec![lower(), upper()]),
        Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => None,
    }
}

/// The values that columns of a catalog relation have in all rows that pass, as far as that can be told before one is read.
pub fn wanted_values(relation: &SystemRelation, mfp: &Mfp, context: &EvalContext) -> Vec<(ColumnIndex, Datum)> {
    let of = |(_, predicate): &(usize, ScalarExpr)| {
        let (left, right) = shape::equality(predicate)?;
        let sides = column_and_constant(relation, left, right).or_else(|| column_and_constant(relation, right, left));
        let (column, value) = sides?;
        // What fails does so for a row that is read.
        Some((column, value.eval(&[], context).ok()?))
    };
    mfp.filter.iter().filter_map(of).collect()
}

/// The range of a catalog relation's numbers that predicates leave. They stay as predicates.
pub(super) fn numbered_range(relation: RelationId, predicates: &[&ScalarExpr]) -> Option<Access> {
    let relation = system::find_by_id(relation).filter(|relation| relation.is_numbered)?;
    let (mut lower, mut upper) = (None, None);
    for predicate in predicates {
        if let Some((left, right)) = shape::equality(predicate) {
            let sides = column_and_constant(relation, left, right);
            if let Some((0, value)) = sides.or_else(|| column_and_constant(relation, right, left)) {
                (lower, upper) = (Some((value.clone(), true)), Some((value.clone(), true)));
                break;
            }
        }
        let Some(ColumnBound { column: 0, comparison, value }) = bounded_column(relation, predicate) else { continue };
        match comparison {
            Comparison::Greater | Comparison::GreaterOrEqual => {
                lower.get_or_insert((value, comparison == Comparison::GreaterOrEqual));
            }
            Comparison::Less | Comparison::LessOrEqual => {
                upper.get_or_insert((value, comparison == Comparison::LessOrEqual));
            }
            Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => {}
        }
    }
    let found = lower.is_some() || upper.is_some();
    found.then_some(Access::Range {
        lookup: Lookup::PrimaryKey,
        prefix: Vec::new(),
        lower,
        upper,
        reverse: false,
        in_order: InOrder::No,
    })
}

/// A bound by a constant as a constant, unless the session's time zone has a say.
fn known_now(call: ScalarExpr, value: &ScalarExpr) -> ScalarExpr {
    let result = call.scalar_type(&|_| ScalarType::Unknown);
    match value {
        ScalarExpr::Literal(_, column_type) if column_type.scalar != ScalarType::Timestamptz => {
            match call.eval(&[], &EvalContext::immutable()) {
                Ok(bound) => ScalarExpr::Literal(bound, ColumnType::not_null(result)),
                Err(_) => call,
            }
        }
        _ => call,
    }
}
