//! Expressions over one row at hand, without subqueries.

use super::expr;
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr};
use crate::scalar::ScalarExpr;

/// An expression over one row: DEFAULT, CHECK, SET, RETURNING. Subqueries are refused, outer columns too.
pub(crate) fn plan_expr(hir: &HirExpr) -> Result<ScalarExpr, PlanError> {
    let mut planned = expr::try_replace(hir, &mut |column| match column {
        HirColumn::Column { level: 0, index } => Ok(ScalarExpr::Column(*index)),
        HirColumn::Column { .. } => Err(PlanError::unsupported("an outer column at this place")),
        HirColumn::Exists(_) | HirColumn::Scalar(_) | HirColumn::Any { .. } | HirColumn::ArrayOf(..) => {
            Err(PlanError::unsupported("a subquery at this place"))
        }
    })?;
    planned.fold();
    Ok(planned)
}
