//! Expressions over positions: which columns they read, how these are renumbered or replaced, their types.
//!
//! Pure rewriting. Never evaluates, never decides whether a rewrite is a good idea.

use crate::scalar::func::Volatility;
use crate::scalar::{AggregateCall, ScalarExpr, WindowCall};
use repr::{ColumnType, Datum, ScalarType, poll};

/// Rebuilds an expression with each column replaced by what `replace` gives for it.
pub(crate) fn try_replace<C, D, E>(
    expr: &ScalarExpr<C>,
    replace: &mut impl FnMut(&C) -> Result<ScalarExpr<D>, E>,
) -> Result<ScalarExpr<D>, E> {
    poll::step_or_unwind();
    Ok(match expr {
        ScalarExpr::Column(column) => replace(column)?,
        ScalarExpr::Literal(datum, column_type) => ScalarExpr::Literal(datum.clone(), column_type.clone()),
        ScalarExpr::Param(index, scalar) => ScalarExpr::Param(*index, scalar.clone()),
        ScalarExpr::Call { function, args, result } => {
            ScalarExpr::Call { function, args: try_replace_all(args, replace)?, result: result.clone() }
        }
        ScalarExpr::And(args) => ScalarExpr::And(try_replace_all(args, replace)?),
        ScalarExpr::Or(args) => ScalarExpr::Or(try_replace_all(args, replace)?),
        ScalarExpr::Case { branches, otherwise, result } => ScalarExpr::Case {
            branches: branches
                .iter()
                .map(|(when, then)| Ok((try_replace(when, replace)?, try_replace(then, replace)?)))
                .collect::<Result<_, E>>()?,
            otherwise: Box::new(try_replace(otherwise, replace)?),
            result: result.clone(),
        },
        ScalarExpr::Coalesce(args, result) => ScalarExpr::Coalesce(try_replace_all(args, replace)?, result.clone()),
        ScalarExpr::Array(args, result) => ScalarExpr::Array(try_replace_all(args, replace)?, result.clone()),
        ScalarExpr::Record(args, result) => ScalarExpr::Record(try_replace_all(args, replace)?, result.clone()),
        ScalarExpr::Once { operand, body } => ScalarExpr::Once {
            operand: Box::new(try_replace(operand, replace)?),
            body: Box::new(try_replace(body, replace)?),
        },
        ScalarExpr::Tested { operand, body } => ScalarExpr::Tested {
            operand: Box::new(try_replace(operand, replace)?),
            body: Box::new(try_replace(body, replace)?),
        },
        ScalarExpr::Operand(scalar) => ScalarExpr::Operand(scalar.clone()),
        ScalarExpr::Cast { expr, cast, to } => {
            ScalarExpr::Cast { expr: Box::new(try_replace(expr, replace)?), cast: cast.clone(), to: to.clone() }
        }
    })
}

fn try_replace_all<C, D, E>(
    exprs: &[ScalarExpr<C>],
    replace: &mut impl FnMut(&C) -> Result<ScalarExpr<D>, E>,
) -> Result<Vec<ScalarExpr<D>>, E> {
    exprs.iter().map(|expr| try_replace(expr, replace)).collect()
}

/// An aggregate call with its expressions rebuilt.
pub(crate) fn try_replace_aggregate<C, D, E>(
    call: &AggregateCall<C>,
    rebuild: &mut impl FnMut(&ScalarExpr<C>) -> Result<ScalarExpr<D>, E>,
) -> Result<AggregateCall<D>, E> {
    Ok(AggregateCall {
        function: call.function,
        args: call.args.iter().map(&mut *rebuild).collect::<Result<_, E>>()?,
        distinct: call.distinct,
        filter: call.filter.as_ref().map(&mut *rebuild).transpose()?,
        order_by: call
            .order_by
            .iter()
            .map(|(expr, descending, nulls_first)| Ok((rebuild(expr)?, *descending, *nulls_first)))
            .collect::<Result<_, E>>()?,
        result: call.result.clone(),
        label: call.label.clone(),
    })
}

/// A window call with its expressions rebuilt.
pub(crate) fn try_replace_window<C, D, E>(
    call: &WindowCall<C>,
    rebuild: &mut impl FnMut(&ScalarExpr<C>) -> Result<ScalarExpr<D>, E>,
) -> Result<WindowCall<D>, E> {
    Ok(WindowCall {
        function: call.function,
        args: call.args.iter().map(&mut *rebuild).collect::<Result<_, E>>()?,
        filter: call.filter.as_ref().map(rebuild).transpose()?,
        frame: call.frame.clone(),
        result: call.result.clone(),
        label: call.label.clone(),
    })
}

/// All expressions of an aggregate call.
pub(crate) fn aggregate_exprs_mut(call: &mut AggregateCall) -> impl Iterator<Item = &mut ScalarExpr> {
    call.args.iter_mut().chain(call.filter.iter_mut()).chain(call.order_by.iter_mut().map(|(expr, _, _)| expr))
}

/// All expressions of an aggregate call.
pub(crate) fn aggregate_exprs<C>(call: &AggregateCall<C>) -> impl Iterator<Item = &ScalarExpr<C>> {
    call.args.iter().chain(call.filter.iter()).chain(call.order_by.iter().map(|(expr, _, _)| expr))
}

/// All expressions of a window call.
pub(crate) fn window_exprs_mut(call: &mut WindowCall) -> impl Iterator<Item = &mut ScalarExpr> {
    call.args.iter_mut().chain(call.filter.iter_mut())
}

/// The expression with each column replaced.
pub fn replace(expr: &ScalarExpr, mut with: impl FnMut(usize) -> ScalarExpr) -> ScalarExpr {
    let Ok(replaced) = try_replace::<_, _, std::convert::Infallible>(expr, &mut |column| Ok(with(*column)));
    replaced
}

/// The expression with each column replaced, unless one cannot be.
pub(crate) fn replace_if(expr: &ScalarExpr, mut with: impl FnMut(usize) -> Option<ScalarExpr>) -> Option<ScalarExpr> {
    try_replace(expr, &mut |column| with(*column).ok_or(())).ok()
}

/// The expression with its columns renumbered.
pub(crate) fn renumber(expr: &ScalarExpr, mut to: impl FnMut(usize) -> usize) -> ScalarExpr {
    replace(expr, |column| ScalarExpr::Column(to(column)))
}

/// Renumbers in place.
pub(crate) fn renumber_mut(expr: &mut ScalarExpr, to: &mut impl FnMut(usize) -> usize) {
    expr.visit_mut(&mut |node| {
        if let ScalarExpr::Column(column) = node {
            *column = to(*column);
        }
    });
}

/// Visits every column.
pub(crate) fn visit_columns<C>(expr: &ScalarExpr<C>, visit: &mut impl FnMut(&C)) {
    match expr {
        ScalarExpr::Column(column) => visit(column),
        other => other.children().into_iter().for_each(|part| visit_columns(part, visit)),
    }
}

/// The number of its nodes, a column counting as what `weigh` says it stands for.
pub fn weight(expr: &ScalarExpr, weigh: &impl Fn(usize) -> usize) -> usize {
    match expr {
        ScalarExpr::Column(column) => weigh(*column),
        other => other.children().into_iter().fold(1, |sum: usize, part| sum.saturating_add(weight(part, weigh))),
    }
}

/// Whether every column that it reads satisfies a condition.
pub(crate) fn reads_only(expr: &ScalarExpr, mut within: impl FnMut(usize) -> bool) -> bool {
    let mut all = true;
    visit_columns(expr, &mut |column| all &= within(*column));
    all
}

/// Whether it reads no column.
pub(crate) fn is_constant(expr: &ScalarExpr) -> bool {
    reads_only(expr, |_| false)
}

/// Whether it may neither move nor be evaluated a different number of times.
pub(crate) fn is_volatile<C>(expr: &ScalarExpr<C>) -> bool {
    expr.volatility() == Volatility::Volatile
}

/// The scalar type of an expression.
pub(crate) fn scalar_type(expr: &ScalarExpr, types: &[ColumnType]) -> ScalarType {
    expr.scalar_type(&|column| types[*column].scalar.clone())
}

/// The type of an expression; nullable unless it certainly gives no NULL.
pub fn column_type(expr: &ScalarExpr, types: &[ColumnType]) -> ColumnType {
    match expr {
        ScalarExpr::Column(column) => types[*column].clone(),
        other => {
            let modifier = match other {
                ScalarExpr::Cast { to, .. } | ScalarExpr::Literal(_, to) => to.modifier,
                ScalarExpr::Column(_)
                | ScalarExpr::Param(..)
                | ScalarExpr::Call { .. }
                | ScalarExpr::And(_)
                | ScalarExpr::Or(_)
                | ScalarExpr::Case { .. }
                | ScalarExpr::Coalesce(..)
                | ScalarExpr::Array(..)
                | ScalarExpr::Record(..)
                | ScalarExpr::Once { .. }
                | ScalarExpr::Tested { .. }
                | ScalarExpr::Operand(_) => -1,
            };
            ColumnType { modifier, nullable: nullable(other, types), ..ColumnType::nullable(scalar_type(other, types)) }
        }
    }
}

/// Whether an expression may give NULL; true when in doubt.
pub fn nullable(expr: &ScalarExpr, types: &[ColumnType]) -> bool {
    match expr {
        ScalarExpr::Column(column) => types[*column].nullable,
        ScalarExpr::Literal(datum, _) => matches!(datum, Datum::Null),
        ScalarExpr::Param(..) | ScalarExpr::Call { .. } | ScalarExpr::Cast { .. } | ScalarExpr::Operand(_) => true,
        ScalarExpr::Once { body: value, .. } | ScalarExpr::Tested { operand: value, .. } => nullable(value, types),
        ScalarExpr::And(args) | ScalarExpr::Or(args) => args.iter().any(|arg| nullable(arg, types)),
        ScalarExpr::Case { branches, otherwise, .. } => {
            nullable(otherwise, types) || branches.iter().any(|(_, then)| nullable(then, types))
        }
        ScalarExpr::Coalesce(args, _) => args.iter().all(|arg| nullable(arg, types)),
        ScalarExpr::Array(..) | ScalarExpr::Record(..) => false,
    }
}

/// A boolean constant.
pub fn boolean<C>(value: bool) -> ScalarExpr<C> {
    ScalarExpr::Literal(Datum::Bool(value), ColumnType::not_null(ScalarType::Bool))
}

/// NULL of a type.
pub fn null<C>(scalar: ScalarType) -> ScalarExpr<C> {
    ScalarExpr::Literal(Datum::Null, ColumnType::nullable(scalar))
}

/// A bigint constant.
pub fn bigint<C>(value: i64) -> ScalarExpr<C> {
    ScalarExpr::Literal(Datum::Int8(value), ColumnType::not_null(ScalarType::Int8))
}

/// Whether an expression is the constant true.
pub(crate) fn is_true<C>(expr: &ScalarExpr<C>) -> bool {
    matches!(expr, ScalarExpr::Literal(Datum::Bool(true), _))
}

/// The conjuncts of a predicate, ANDs taken apart, constant truths left out.
pub(crate) fn conjuncts<C: Clone>(predicate: &ScalarExpr<C>, into: &mut Vec<ScalarExpr<C>>) {
    match predicate {
        ScalarExpr::And(args) => args.iter().for_each(|arg| conjuncts(arg, into)),
        other if is_true(other) => {}
        other => into.push(other.clone()),
    }
}

/// `expr IS NOT FALSE`.
pub(crate) fn is_not_false<C>(expr: ScalarExpr<C>) -> ScalarExpr<C> {
    ScalarExpr::Coalesce(vec![expr, boolean(true)], ScalarType::Bool)
}

/// `expr IS NOT TRUE`.
pub(crate) fn is_not_true<C>(expr: ScalarExpr<C>) -> ScalarExpr<C> {
    ScalarExpr::Case {
        branches: vec![(expr, boolean(false))],
        otherwise: Box::new(boolean(true)),
        result: ScalarType::Bool,
    }
}
