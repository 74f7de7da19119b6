//! Which rows stand in partial indexes.

use super::SessionInfo;
use super::statement::{ExpressionUse, check_expression};
use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::mir::row_expr::plan_expr;
use crate::scalar::ScalarExpr;
use repr::IndexId;

/// A condition over the table's physical columns for each of its partial indexes: rows for which it is true stand in it.
///
/// # Errors
/// Those of the stored expressions.
pub fn index_predicates(catalog: &Catalog, table: &Table) -> Result<Vec<(IndexId, ScalarExpr)>, PlanError> {
    let partial = table.indexes.iter().filter_map(|index| Some((index.id, index.declared.predicate.as_ref()?)));
    let session = SessionInfo::default();
    let planned = partial.map(|(id, predicate)| {
        let text = &predicate.expression;
        let condition = check_expression(text, table, catalog, &session, ExpressionUse::IndexPredicate)?;
        Ok((id, plan_expr(&condition)?))
    });
    planned.collect()
}
