//! Which operators that somebody created a text of the catalog uses.

use super::domain::value_table;
use super::outputs::Outputs;
use super::scope::Clause;
use super::{Resolver, SessionInfo, ViewUse};
use crate::catalog::{Scope, Table};
use crate::error::PlanError;
use crate::parse::parse_query;
use repr::{ColumnType, Id};
use std::collections::BTreeSet;

/// What a text of the catalog is over.
#[derive(Clone, Copy)]
pub(crate) enum TextOver<'a> {
    /// It is a view's query.
    Nothing,
    /// A row of that table.
    Row(&'a Table),
    /// VALUE, of that type.
    Value(&'a ColumnType),
}

/// The created operators that a text uses, those in the bodies of functions that stand in place of their calls among them.
///
/// # Errors
/// Those of the text.
pub(crate) fn operators_used(scope: Scope<'_>, text: &str, over: TextOver<'_>) -> Result<BTreeSet<Id>, PlanError> {
    let (catalog, path) = (scope.catalog, scope.path.clone());
    let session = SessionInfo { path, views: ViewUse::Opaque, ..SessionInfo::default() };
    let mut resolver = Resolver::new(catalog, &session, text, &[]);
    resolver.keeps = true;
    let of_value;
    let table = match over {
        TextOver::Nothing => {
            resolver.query(&*parse_query(text)?, Outputs::Settled)?;
            return Ok(resolver.operators);
        }
        TextOver::Row(table) => table,
        TextOver::Value(base) => {
            of_value = value_table(base);
            &of_value
        }
    };
    let frame = resolver.row_frame(table, Clause::Other);
    resolver.catalog_expression(text, frame, |inner, _| Ok(std::mem::take(&mut inner.operators)))
}
