//! A view as the view thread keeps it: its dataflow, how far it is, and what it was made over.

use super::dataflow::{ArrangedBy, Definition, ViewDataflow};
use super::hydrate::Hydration;
use crate::SqlError;
use planner::catalog::{Catalog, Table};
use repr::{CommitTime, RelationId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A view and how far it is.
pub struct Maintained {
    /// None while it waits, or after it failed.
    pub flow: Option<ViewDataflow>,
    /// How far it is.
    pub progress: Progress,
    /// The tables and views that it reads, as they were when it was made.
    pub sources: Vec<Arc<Table>>,
    /// Not a catalog's, but made for queries.
    pub automatic: bool,
    /// The state that it is hydrated from has all up to here.
    pub since: CommitTime,
}

/// What a group need not look for among all views.
pub struct Overview {
    /// By relation, the views that read it.
    pub readers: BTreeMap<RelationId, Vec<RelationId>>,
    /// Views that wait for others.
    pub waiting: Vec<RelationId>,
    /// Views that are being filled.
    pub hydrating: Vec<RelationId>,
}

/// How far a view is.
pub enum Progress {
    /// For views that it reads.
    Waiting,
    /// From its tables.
    Hydrating(Box<Hydration>),
    /// It follows every group.
    Ready,
    /// It gave up.
    Failed,
}

impl Maintained {
    /// The tables and views that it reads; none after it failed.
    pub fn reads(&self) -> impl Iterator<Item = RelationId> {
        self.flow.iter().flat_map(|flow| flow.reads.iter().copied())
    }
}

/// A materialized view's definition, planned.
pub fn definition(table: &Table, catalog: &Arc<Catalog>) -> Result<Definition, SqlError> {
    let planned = planner::plan_view(catalog, table.id)?;
    let arrangements = table
        .indexes
        .iter()
        .map(|index| ArrangedBy { index: index.id, key: index.columns.clone(), order: planned.order.clone() })
        .collect();
    let plan = Arc::new(planned.plan);
    Ok(Definition { id: table.id, name: table.name.clone(), plan, arrangements, planned_over: Vec::new() })
}
