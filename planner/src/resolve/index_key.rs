//! The expressions that indexes are of.

use super::SessionInfo;
use super::statement::{ExpressionUse, check_expression};
use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::mir::row_expr::plan_expr;
use crate::parse::parse_expression;
use crate::scalar::ScalarExpr;
use repr::{ColumnIndex, ColumnType, ScalarType};
use sqlparser::ast::Expr;

/// Each column that holds a key of an index which is an expression, with the expression over the table's physical columns.
///
/// # Errors
/// Those of the stored expressions.
pub(crate) fn expression_keys(catalog: &Catalog, table: &Table) -> Result<Vec<(ColumnIndex, ScalarExpr)>, PlanError> {
    let session = SessionInfo::default();
    let planned = table.expression_keys().map(|(column, _, text)| {
        Ok((column, plan_expr(&check_expression(text, table, catalog, &session, ExpressionUse::IndexKey)?)?))
    });
    planned.collect()
}

/// The type of such an expression.
///
/// # Errors
/// Those of the expression.
pub(crate) fn key_type(catalog: &Catalog, table: &Table, text: &str) -> Result<ColumnType, PlanError> {
    let session = SessionInfo::default();
    let expr = check_expression(text, table, catalog, &session, ExpressionUse::IndexKey)?;
    let scalar = expr.scalar_type(&|column| match column {
        crate::hir::HirColumn::Column { index, .. } => {
            table.columns.get(*index).map_or(ScalarType::Unknown, |column| column.column_type.scalar.clone())
        }
        _ => ScalarType::Unknown,
    });
    Ok(ColumnType::nullable(scalar))
}

/// Whether a definition shows an expression without parentheses around it, as it does calls.
pub(crate) fn is_like_a_call(text: &str) -> bool {
    matches!(
        parse_expression(text),
        Ok(Expr::Function(_)
            | Expr::Extract { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Position { .. }
            | Expr::Overlay { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. })
    )
}
