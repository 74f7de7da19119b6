//! Which way a query goes: read from a maintained view, or computed.
//!
//! A plan that names materialized views reads them if all of them can be read at the statement's snapshot and
//! the transaction itself has changed none of their tables; else the views are expanded in the plan. A query
//! with parameters may have earned a view of its own (`view::automatic`).

use super::Session;
use super::statement::CachedPlan;
use crate::SqlError;
use crate::layered::Layered;
use crate::one_shot::QueryRows;
use crate::one_shot::watch::Watch;
use crate::protocol::Prepared;
use crate::reader::Reader;
use crate::view::automatic::Entry;
use crate::view::read;
use planner::catalog::Catalog;
use planner::plan::{Access, Plan, Query};
use planner::{MaintainedViews, PlannedStatement};
use repr::{Datum, RelationId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a query may be a view by its parameters.
pub enum Automatic {
    /// It may.
    Shape(Arc<Entry>),
    /// It may not.
    Never,
}

impl Session {
    /// The plan, or the one that computes the views which cannot be read now.
    pub(super) fn readable_plan(
        &mut self,
        prepared: &Prepared,
        cached: Arc<CachedPlan>,
    ) -> Result<Arc<CachedPlan>, SqlError> {
        if cached.views.is_empty() {
            return Ok(cached);
        }
        let view = self.view()?;
        let ready = readable(&view, cached.views.iter().copied());
        if ready && !changes_any(&view, cached.views.iter().copied()) {
            return Ok(cached);
        }
        if let Some(expanded) = cached.expanded.get() {
            return Ok(expanded.clone());
        }
        let catalog = self.catalog();
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let planned = planner::plan_statement(&prepared.parsed, &catalog, &known, MaintainedViews::Expand)?;
        let PlannedStatement { planned, views, .. } = planned;
        let expanded = Arc::new(CachedPlan::new(catalog.version, planned, views));
        Ok(cached.expanded.get_or_init(|| expanded).clone())
    }

    /// The rows of a query from a view of its own, if it has one that can be read now.
    pub(super) fn rows_by_view(
        &mut self,
        prepared: &Prepared,
        cached: &CachedPlan,
        query: &Query,
        params: &Arc<[Datum]>,
    ) -> Result<Option<QueryRows>, SqlError> {
        if !query.locks.is_empty() || is_lookup(&query.plan) || !self.auto_views() {
            return Ok(None);
        }
        let Automatic::Shape(entry) = self.automatic(prepared, cached)? else { return Ok(None) };
        let view = self.view()?;
        let database = self.database.clone();
        let wanted = database.automatic_views.executed(entry, view.views(), &database.pipeline)?;
        let Some(state) = wanted.and_then(|id| view.views().ready(id)) else { return Ok(None) };
        if changes_any(&view, entry.lifted.reads.iter().copied())
            || !readable(&view, entry.lifted.reads.iter().copied())
        {
            return Ok(None);
        }
        let context = self.eval_context(params.clone(), view.catalog());
        let watch = Watch::new(self.limits(view.time()));
        watch.check()?;
        read::rows(&entry.lifted, state, &context, &watch)
    }

    pub(super) fn auto_views(&self) -> bool {
        self.state.lock().settings.is_on("dogwood.auto_views")
    }

    /// Whether a query may be a view by its parameters; found out once a plan.
    pub(super) fn automatic<'c>(
        &self,
        prepared: &Prepared,
        cached: &'c CachedPlan,
    ) -> Result<&'c Automatic, SqlError> {
        if let Some(known) = cached.automatic.get() {
            return Ok(known);
        }
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let found = match planner::plan_lifted(&prepared.parsed, &self.catalog(), &known)? {
            None | Some(Err(_)) => Automatic::Never,
            // Without a parameter that a column must equal it would be a copy of all there is.
            Some(Ok(lifted)) if lifted.key.is_empty() => Automatic::Never,
            Some(Ok(lifted)) => Automatic::Shape(self.database.automatic_views.entry(lifted, &prepared.text)),
        };
        Ok(cached.automatic.get_or_init(|| found))
    }
}

/// Whether the maintained views among these relations can be read, and all that they are made of: a row that
/// fails in one is missing in those above it.
fn readable(view: &Layered, relations: impl Iterator<Item = RelationId>) -> bool {
    let catalog = view.schema().catalog();
    let maintained = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
    with_tables_below(catalog, relations).iter().filter(|id| maintained(id)).all(|id| view.views().ready(*id).is_some())
}

/// Whether the transaction has changed a table that one of these relations is or reads.
fn changes_any(view: &Layered, relations: impl Iterator<Item = RelationId>) -> bool {
    view.has_changes()
        && with_tables_below(view.schema().catalog(), relations).into_iter().any(|relation| view.changes(relation))
}

/// Tables and views, and the tables and views that they read.
pub(super) fn with_tables_below(
    catalog: &Catalog,
    relations: impl IntoIterator<Item = RelationId>,
) -> BTreeSet<RelationId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<RelationId> = relations.into_iter().collect();
    while let Some(relation) = open.pop() {
        if found.insert(relation) {
            let view = catalog.table(relation).and_then(|table| table.view.as_ref());
            open.extend(view.iter().flat_map(|view| view.reads.keys()));
        }
    }
    found
}

/// Whether a plan finds its rows by keys alone: it is as fast as a view.
fn is_lookup(plan: &Plan) -> bool {
    match plan {
        Plan::Get { access, .. } => matches!(access, Access::Lookup { .. }),
        Plan::Mfp(input, _) => is_lookup(input),
        Plan::Constant { .. } => true,
        _ => false,
    }
}
