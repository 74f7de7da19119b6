//! Expressions of the catalog as they are shown: resolved, but with no cast to where their value goes.

use super::scope::Clause;
use super::{Resolver, SessionInfo};
use crate::catalog::{Catalog, Scope, Table};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::scalar::cast::CastContext;
use repr::ColumnType;

/// An expression over a table's row. `to` is what an untyped literal becomes; all else keeps the type it has, as
/// PostgreSQL hides the cast that assignment adds.
///
/// # Errors
/// Those of the expression.
pub(crate) fn shown_expression<'a>(
    scope: impl Into<Scope<'a>>,
    table: &Table,
    text: &str,
    to: Option<&ColumnType>,
) -> Result<HirExpr, PlanError> {
    let Scope { catalog, path } = scope.into();
    shown_by(&SessionInfo { path: path.clone(), ..SessionInfo::default() }, catalog, table, text, to)
}

/// The same, as a session reads it.
pub(super) fn shown_by(
    session: &SessionInfo,
    catalog: &Catalog,
    table: &Table,
    text: &str,
    to: Option<&ColumnType>,
) -> Result<HirExpr, PlanError> {
    let mut resolver = Resolver::new(catalog, session, "", &[]);
    (resolver.as_shown, resolver.keeps) = (true, true);
    let frame = resolver.row_frame(table, Clause::CheckConstraint);
    let typed = resolver.catalog_expression(text, frame, |resolver, typed| match to {
        Some(to) if typed.is_unknown() => {
            let bare = ColumnType { modifier: -1, ..to.clone() };
            resolver.cast(typed, &bare, CastContext::Assignment)
        }
        _ => resolver.settle(typed),
    })?;
    Ok(typed.expr)
}
