//! Walks over `hir`: outer references counted, shifted and replaced across nested scopes.
//!
//! `depth` is how many scopes lie between the expression at hand and the one the walk started from: a column
//! is free there if its level is at least `depth`. The operators of a relation see their input as one scope.

use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::scalar::ScalarExpr;

/// What a walk does at an expression before it descends.
pub(super) enum Step {
    /// Look inside.
    Descend,
    /// Put this in its place, and do not look inside.
    Replace(HirExpr),
}

type Visitor<'v> = dyn FnMut(&HirExpr, usize) -> Result<Step, PlanError> + 'v;

/// Rewrites an expression top-down.
pub(super) fn rewrite_expr(expr: &mut HirExpr, depth: usize, visit: &mut Visitor<'_>) -> Result<(), PlanError> {
    if let Step::Replace(replacement) = visit(expr, depth)? {
        *expr = replacement;
        return Ok(());
    }
    match expr {
        ScalarExpr::Column(column) => match column {
            HirColumn::Column { .. } => {}
            HirColumn::Exists(relation) | HirColumn::Scalar(relation) | HirColumn::ArrayOf(relation, _) => {
                rewrite_hir(relation, depth + 1, visit)?;
            }
            HirColumn::Any { relation, condition } => {
                rewrite_hir(relation, depth + 1, visit)?;
                rewrite_expr(condition, depth + 1, visit)?;
            }
        },
        ScalarExpr::Literal(..) | ScalarExpr::Param(..) | ScalarExpr::Operand(_) => {}
        ScalarExpr::Call { args, .. } => rewrite_all(args, depth, visit)?,
        ScalarExpr::And(items)
        | ScalarExpr::Or(items)
        | ScalarExpr::Coalesce(items, _)
        | ScalarExpr::Array(items, _)
        | ScalarExpr::Record(items, _) => rewrite_all(items, depth, visit)?,
        ScalarExpr::Case { branches, otherwise, .. } => {
            for (condition, result) in branches {
                rewrite_expr(condition, depth, visit)?;
                rewrite_expr(result, depth, visit)?;
            }
            rewrite_expr(otherwise, depth, visit)?;
        }
        ScalarExpr::Once { operand, body } | ScalarExpr::Tested { operand, body } => {
            rewrite_expr(operand, depth, visit)?;
            rewrite_expr(body, depth, visit)?;
        }
        ScalarExpr::Cast { expr, .. } => rewrite_expr(expr, depth, visit)?,
    }
    Ok(())
}

fn rewrite_all(items: &mut [HirExpr], depth: usize, visit: &mut Visitor<'_>) -> Result<(), PlanError> {
    items.iter_mut().try_for_each(|item| rewrite_expr(item, depth, visit))
}

/// Rewrites every expression of a relation; its operators' own expressions are at `depth`.
pub(super) fn rewrite_hir(hir: &mut Hir, depth: usize, visit: &mut Visitor<'_>) -> Result<(), PlanError> {
    match &mut hir.node {
        HirNode::Constant(..) | HirNode::Get { .. } | HirNode::GetCte(..) => {}
        HirNode::Map(input, exprs) | HirNode::Filter(input, exprs) => {
            rewrite_hir(input, depth, visit)?;
            rewrite_all(exprs, depth, visit)?;
        }
        HirNode::Project(input, _) | HirNode::Distinct(input) => rewrite_hir(input, depth, visit)?,
        HirNode::Join { left, right, on, lateral, .. } => {
            rewrite_hir(left, depth, visit)?;
            rewrite_hir(right, if *lateral { depth + 1 } else { depth }, visit)?;
            rewrite_expr(on, depth, visit)?;
        }
        HirNode::TableFunction { input, functions, .. } => {
            rewrite_hir(input, depth, visit)?;
            for (_, args, _) in functions {
                rewrite_all(args, depth, visit)?;
            }
        }
        HirNode::Reduce { input, keys, aggregates, .. } => {
            rewrite_hir(input, depth, visit)?;
            rewrite_all(keys, depth, visit)?;
            for aggregate in aggregates {
                rewrite_all(&mut aggregate.args, depth, visit)?;
                if let Some(filter) = &mut aggregate.filter {
                    rewrite_expr(filter, depth, visit)?;
                }
                for (expr, _, _) in &mut aggregate.order_by {
                    rewrite_expr(expr, depth, visit)?;
                }
            }
        }
        HirNode::TopK { input, limit, offset, .. } => {
            rewrite_hir(input, depth, visit)?;
            for bound in [limit, offset].into_iter().flatten() {
                rewrite_expr(bound, depth, visit)?;
            }
        }
        HirNode::Window { input, calls, .. } => {
            rewrite_hir(input, depth, visit)?;
            for call in calls {
                rewrite_all(&mut call.args, depth, visit)?;
                if let Some(filter) = &mut call.filter {
                    rewrite_expr(filter, depth, visit)?;
                }
            }
        }
        HirNode::Union(inputs, _) => inputs.iter_mut().try_for_each(|input| rewrite_hir(input, depth, visit))?,
        HirNode::Except { left, right, .. } | HirNode::Intersect { left, right, .. } => {
            rewrite_hir(left, depth, visit)?;
            rewrite_hir(right, depth, visit)?;
        }
        HirNode::Let { value, body, .. } => {
            rewrite_hir(value, depth, visit)?;
            rewrite_hir(body, depth, visit)?;
        }
        HirNode::LetRec { base, step, body, .. } => {
            rewrite_hir(base, depth, visit)?;
            rewrite_hir(step, depth, visit)?;
            rewrite_hir(body, depth, visit)?;
        }
    }
    Ok(())
}

fn shifted(expr: &HirExpr, depth: usize, by: isize) -> Step {
    match expr {
        ScalarExpr::Column(HirColumn::Column { level, index }) if *level >= depth => {
            let level = level.checked_add_signed(by).expect("a reference is never shifted below the innermost scope");
            Step::Replace(ScalarExpr::Column(HirColumn::Column { level, index: *index }))
        }
        _ => Step::Descend,
    }
}

/// Moves all references of an expression `by` scopes outwards.
pub(super) fn shift_expr(expr: &mut HirExpr, by: isize) {
    if by != 0 {
        rewrite_expr(expr, 0, &mut |expr, depth| Ok(shifted(expr, depth, by))).expect("shifting does not fail");
    }
}

/// An expression whose columns of the row that it is evaluated over stand elsewhere, in subqueries too.
pub(crate) fn with_columns_moved(expr: &HirExpr, to: &impl Fn(usize) -> usize) -> HirExpr {
    let mut moved = expr.clone();
    rewrite_expr(&mut moved, 0, &mut |expr, depth| {
        Ok(match expr {
            ScalarExpr::Column(HirColumn::Column { level, index }) if *level == depth => {
                Step::Replace(ScalarExpr::Column(HirColumn::Column { level: *level, index: to(*index) }))
            }
            _ => Step::Descend,
        })
    })
    .expect("moving does not fail");
    moved
}

/// Moves the references of a relation to scopes around it `by` scopes outwards, those below `from` (counted
/// from the scope just around it, which is 0) excepted.
pub(super) fn shift_hir(hir: &mut Hir, from: usize, by: isize) {
    if by != 0 {
        rewrite_hir(hir, 1, &mut |expr, depth| Ok(shifted(expr, depth + from, by))).expect("shifting does not fail");
    }
}

/// The scopes around a relation that it refers to: `visit` gets their number, 0 for the one just around it.
pub(super) fn outer_references(hir: &mut Hir, visit: &mut dyn FnMut(usize, usize)) {
    rewrite_hir(hir, 1, &mut |expr, depth| {
        if let ScalarExpr::Column(HirColumn::Column { level, index }) = expr
            && *level >= depth
        {
            visit(*level - depth, *index);
        }
        Ok(Step::Descend)
    })
    .expect("looking does not fail");
}

/// The levels that an expression refers to, 0 being the row it is evaluated over.
pub(super) fn expr_levels(expr: &HirExpr, visit: &mut dyn FnMut(usize, usize)) {
    rewrite_expr(&mut expr.clone(), 0, &mut |expr, depth| {
        if let ScalarExpr::Column(HirColumn::Column { level, index }) = expr
            && *level >= depth
        {
            visit(*level - depth, *index);
        }
        Ok(Step::Descend)
    })
    .expect("looking does not fail");
}

/// Whether anything in an expression is read of a row, or of another query.
pub(super) fn reads_columns(expr: &HirExpr) -> bool {
    let mut found = false;
    rewrite_expr(&mut expr.clone(), 0, &mut |expr, _| {
        found |= matches!(expr, HirExpr::Column(_));
        Ok(Step::Descend)
    })
    .expect("looking does not fail");
    found
}

/// Whether an expression holds a subquery.
pub(crate) fn has_subquery(expr: &HirExpr) -> bool {
    let mut found = false;
    rewrite_expr(&mut expr.clone(), 0, &mut |expr, _| {
        found |= matches!(expr, ScalarExpr::Column(column) if !matches!(column, HirColumn::Column { .. }));
        Ok(Step::Descend)
    })
    .expect("looking does not fail");
    found
}
