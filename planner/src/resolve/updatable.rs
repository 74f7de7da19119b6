//! Which views can be written: those that select from one relation, row for row; and what PostgreSQL says of the others.

use super::write_target::WriteTarget;
use super::{Resolver, SessionInfo};
use crate::catalog::{Catalog, Table, View};
use crate::error::PlanError;
use crate::hir::{Hir, HirNode};
use repr::ColumnIndex;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, ObjectName, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a statement would do to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewWrite {
    Insert,
    Update,
    Delete,
    Merge,
}

impl ViewWrite {
    fn refused(self, view: &str) -> String {
        match self {
            ViewWrite::Insert => format!("cannot insert into view \"{view}\""),
            ViewWrite::Update => format!("cannot update view \"{view}\""),
            ViewWrite::Delete => format!("cannot delete from view \"{view}\""),
            ViewWrite::Merge => format!("cannot execute MERGE on relation \"{view}\""),
        }
    }

    fn hint(self) -> String {
        let (doing, event) = match self {
            ViewWrite::Insert => ("inserting into", "INSERT"),
            ViewWrite::Update => ("updating", "UPDATE"),
            ViewWrite::Delete => ("deleting from", "DELETE"),
            ViewWrite::Merge => ("merging into", "MERGE"),
        };
        format!(
            "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
        )
    }
}

/// Why MERGE does not write a view.
pub(super) fn unmergeable(table: &Table) -> PlanError {
    let materialized = table.view.as_ref().is_some_and(|view| view.materialized);
    let what = if materialized { "materialized views" } else { "views" };
    PlanError::new("0A000", format!("cannot execute MERGE on relation \"{}\"", table.name))
        .detail(format!("This operation is not supported for {what}."))
}

/// 55000 for a view by which its table cannot be written.
pub(super) fn refused(write: ViewWrite, view: &str, why: &'static str) -> PlanError {
    PlanError::new("55000", write.refused(view)).detail(why).hint(write.hint())
}

/// Why nothing can be inserted or updated by a view, if so.
pub(super) fn why_not_updatable(catalog: &Catalog, view: &Arc<Table>) -> Option<String> {
    match written_by(catalog, view, ViewWrite::Insert) {
        Ok(_) => None,
        Err(error) => Some(error.detail.unwrap_or(error.message)),
    }
}

/// What is written by a view, if anything can be.
fn written_by(catalog: &Catalog, view: &Arc<Table>, write: ViewWrite) -> Result<WriteTarget, PlanError> {
    Resolver::new(catalog, &SessionInfo::default(), "", &[]).written_through(view, write)
}

/// What can be done by the name of a relation, as `pg_relation_is_updatable` counts it.
pub(crate) fn writes_of(catalog: &Catalog, table: &Arc<Table>) -> i32 {
    const UPDATE: i32 = 1 << 2;
    const INSERT: i32 = 1 << 3;
    const DELETE: i32 = 1 << 4;
    match &table.view {
        None => INSERT | UPDATE | DELETE,
        Some(view) if view.materialized => 0,
        Some(_) if written_by(catalog, table, ViewWrite::Insert).is_ok() => INSERT | UPDATE | DELETE,
        Some(_) if written_by(catalog, table, ViewWrite::Delete).is_ok() => DELETE,
        Some(_) => 0,
    }
}

/// The columns of a relation to which values can be given.
pub(crate) fn updatable_columns(catalog: &Catalog, table: &Arc<Table>) -> BTreeSet<ColumnIndex> {
    let written = match &table.view {
        None => Ok(WriteTarget::from(Arc::clone(table))),
        Some(_) => written_by(catalog, table, ViewWrite::Insert),
    };
    let columns = written.map(|written| written.columns()).unwrap_or_default();
    columns.into_iter().filter(|(_, index)| index.is_some()).map(|(place, _)| place).collect()
}

/// The one relation that a view selects from, and what it selects.
pub(super) struct Base<'q> {
    /// What stands in FROM.
    pub(super) relation: &'q ObjectName,
    /// What it is called there, and its first columns.
    pub(super) alias: Option<&'q TableAlias>,
    pub(super) items: &'q [SelectItem],
    pub(super) condition: Option<&'q Expr>,
}

/// What an updatable view selects, or why it is none.
pub(super) fn single_base<'q>(query: &'q Query, view: &View, catalog: &Catalog) -> Result<Base<'q>, &'static str> {
    const SINGLE: &str = "Views that do not select from a single table or view are not automatically updatable.";
    let select = plain_select(query)?;
    let calls = super::view::opaque(&view.query, catalog).map(|query| calls(&query.relation)).unwrap_or_default();
    if calls.aggregates {
        return Err("Views that return aggregate functions are not automatically updatable.");
    }
    if calls.windows {
        return Err("Views that return window functions are not automatically updatable.");
    }
    if calls.sets {
        return Err("Views that return set-returning functions are not automatically updatable.");
    }
    let [only] = select.from.as_slice() else { return Err(SINGLE) };
    match &only.relation {
        TableFactor::Table { name, alias, args: None, sample: None, .. } if only.joins.is_empty() => Ok(Base {
            relation: name,
            alias: alias.as_ref(),
            items: &select.projection,
            condition: select.selection.as_ref(),
        }),
        TableFactor::Table { args: None, sample: Some(_), .. } if only.joins.is_empty() => {
            Err("Views containing TABLESAMPLE are not automatically updatable.")
        }
        _ => Err(SINGLE),
    }
}

fn plain_select(query: &Query) -> Result<&Select, &'static str> {
    let select = match &*query.body {
        SetExpr::Select(select) => Some(&**select),
        SetExpr::Query(_)
        | SetExpr::SetOperation { .. }
        | SetExpr::Values(_)
        | SetExpr::Table(_)
        | SetExpr::Insert(_)
        | SetExpr::Update(_)
        | SetExpr::Delete(_)
        | SetExpr::Merge(_) => None,
    };
    if let Some(select) = select {
        if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
            return Err("Views containing DISTINCT are not automatically updatable.");
        }
        let grouped = match &select.group_by {
            GroupByExpr::All(_) => true,
            GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        };
        if grouped {
            return Err("Views containing GROUP BY are not automatically updatable.");
        }
        if select.having.is_some() {
            return Err("Views containing HAVING are not automatically updatable.");
        }
    }
    if matches!(&*query.body, SetExpr::SetOperation { .. }) {
        return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
    }
    if query.with.is_some() {
        return Err("Views containing WITH are not automatically updatable.");
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    select.ok_or("Views that do not select from a single table or view are not automatically updatable.")
}

#[derive(Default)]
struct CallKinds {
    aggregates: bool,
    windows: bool,
    sets: bool,
}

/// What a SELECT computes over its rows as a whole.
fn calls(select: &Hir) -> CallKinds {
    let mut kinds = CallKinds::default();
    let mut at = select;
    loop {
        at = match &at.node {
            HirNode::Map(input, _)
            | HirNode::Filter(input, _)
            | HirNode::Project(input, _)
            | HirNode::Distinct(input) => input,
            HirNode::Reduce { input, .. } => {
                kinds.aggregates = true;
                input
            }
            HirNode::Window { input, .. } => {
                kinds.windows = true;
                input
            }
            HirNode::TableFunction { input, .. } => {
                // Under a constant it is a function in FROM.
                kinds.sets |= !matches!(input.node, HirNode::Constant(..));
                input
            }
            HirNode::TopK { .. }
            | HirNode::Constant(..)
            | HirNode::Get { .. }
            | HirNode::GetCte(..)
            | HirNode::Join { .. }
            | HirNode::Union(..)
            | HirNode::Except { .. }
            | HirNode::Intersect { .. }
            | HirNode::Let { .. }
            | HirNode::LetRec { .. } => return kinds,
        };
    }
}
