//! Writes to views: all are refused; here is which refusal PostgreSQL gives, and ours for views that it would write through.

use super::Resolver;
use crate::catalog::{Table, View};
use crate::error::PlanError;
use crate::hir::{Hir, HirNode};
use crate::parse::parse_query;
use sqlparser::ast::{Distinct, GroupByExpr, Query, Select, SetExpr, TableFactor};
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

impl Resolver<'_> {
    /// Why a view cannot be written.
    pub(super) fn unwritable(&self, table: &Arc<Table>, write: ViewWrite) -> PlanError {
        if let ViewWrite::Merge = write {
            let materialized = table.view.as_ref().is_some_and(|view| view.materialized);
            let what = if materialized { "materialized views" } else { "views" };
            return PlanError::new("0A000", format!("cannot execute MERGE on relation \"{}\"", table.name))
                .detail(format!("This operation is not supported for {what}."));
        }
        let mut table = Arc::clone(table);
        loop {
            let Some(view) = &table.view else {
                return PlanError::unsupported("writing through a view").hint("write to the table that the view reads");
            };
            if view.materialized {
                return PlanError::new("42809", format!("cannot change materialized view \"{}\"", table.name));
            }
            match self.single_base(view) {
                Ok(base) => table = base,
                Err(detail) => {
                    return PlanError::new("55000", write.refused(&table.name)).detail(detail).hint(write.hint());
                }
            }
        }
    }

    /// The one relation that an updatable view selects from, or why it is none.
    fn single_base(&self, view: &View) -> Result<Arc<Table>, &'static str> {
        const SINGLE: &str = "Views that do not select from a single table or view are not automatically updatable.";
        let Ok(query) = parse_query(&view.query) else { return Err(SINGLE) };
        let select = plain_select(&query)?;
        let calls =
            super::view::opaque(&view.query, self.catalog).map(|query| calls(&query.relation)).unwrap_or_default();
        if calls.aggregates {
            return Err("Views that return aggregate functions are not automatically updatable.");
        }
        if calls.windows {
            return Err("Views that return window functions are not automatically updatable.");
        }
        if calls.sets {
            return Err("Views that return set-returning functions are not automatically updatable.");
        }
        match (select.from.as_slice(), view.reads.keys().next()) {
            ([only], Some(id))
                if only.joins.is_empty()
                    && matches!(only.relation, TableFactor::Table { args: None, .. })
                    && view.reads.len() == 1 =>
            {
                self.catalog.table(*id).map(Arc::clone).ok_or(SINGLE)
            }
            _ => Err(SINGLE),
        }
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
