//! Ordered indexes in memory that a statement's plan can read: asked for when it runs, named when it is explained.

use crate::session::Session;
use crate::session::plan::{Automatic, CachedPlan};
use operators::plan::children;
use planner::Planned;
use planner::catalog::{Catalog, Index, Table};
use planner::explain::report::OrderedIndex;
use planner::physical::KeyForms;
use planner::plan::{Access, Lookup, Plan, Query};
use state::SqlError;
use std::sync::Arc;
use views::automatic::Entry;
use views::no_view::NoView;

impl Session {
    /// An execution, which counts for each ordered index that it would read.
    pub(super) fn ask_for_orders(&self, cached: &CachedPlan) {
        let automatic = &self.database.automatic_views;
        let known = cached.orders.get_or_init(|| {
            let catalog = self.catalog();
            wanted(cached, &catalog).into_iter().map(|(table, index)| automatic.order(table, index)).collect()
        });
        // What earns a view of its own needs no more.
        if known.is_empty() || !self.auto_views() || matches!(cached.automatic.get(), Some(Automatic::Shape(_))) {
            return;
        }
        for entry in known {
            automatic.executed(entry, || usize::MAX, &|request| self.database.ask_views(request));
        }
    }

    /// What a plan's ordered indexes are, and why one is not read.
    pub(super) fn explain_orders(&mut self, cached: &CachedPlan) -> Result<Vec<OrderedIndex>, SqlError> {
        let catalog = self.catalog();
        let mut named = Vec::new();
        for (table, index) in wanted(cached, &catalog) {
            let entry = self.database.automatic_views.find_order(index);
            let why_not = self.why_no_order(index, entry.as_deref())?;
            let name = if table.primary_key == Some(index.id) {
                format!("primary key of \"{}\"", table.name)
            } else {
                format!("\"{}\"", index.name)
            };
            named.push(OrderedIndex { name, why_not: why_not.map(|why| why.text(&catalog)) });
        }
        Ok(named)
    }

    fn why_no_order(&mut self, index: &Index, entry: Option<&Entry>) -> Result<Option<NoView>, SqlError> {
        if !self.auto_views() {
            return Ok(Some(NoView::Off));
        }
        let Some(entry) = entry else { return Ok(Some(NoView::Seldom { runs: 0 })) };
        let Some(id) = entry.view() else { return Ok(Some(entry.why_none())) };
        let view = self.snapshot()?;
        let unread = NoView::of(view.views(), id);
        Ok(unread.or_else(|| view.views().order(index.id).is_none().then_some(NoView::NotThere)))
    }
}

/// The query in a statement.
fn source(planned: &Planned) -> Option<&Query> {
    match planned {
        Planned::Query(query) | Planned::CreateTableAs(_, query) | Planned::Cursor(_, query) => Some(query),
        Planned::Write(plan) => Some(plan.source()),
        Planned::CopyOut(what, _) => source(what),
        Planned::CopyIn(..)
        | Planned::Subscribe(_)
        | Planned::SubscribeCursor(..)
        | Planned::Gdpr(..)
        | Planned::Explain(_)
        | Planned::Other => None,
    }
}

/// The keys and indexes whose order a plan reads where it is in memory.
fn wanted<'c>(cached: &CachedPlan, catalog: &'c Catalog) -> Vec<(&'c Arc<Table>, &'c Index)> {
    let mut found = Vec::new();
    if let Some(query) = source(&cached.planned) {
        find(&query.plan, catalog, &mut found);
    }
    found
}

fn find<'c>(plan: &Plan, catalog: &'c Catalog, found: &mut Vec<(&'c Arc<Table>, &'c Index)>) {
    if let Plan::Get { relation, access: Access::Range { lookup, .. }, .. } = plan
        && !catalog.ordered(*relation)
        && let Some(table) = catalog.table(*relation)
    {
        let id = match lookup {
            Lookup::PrimaryKey => table.primary_key,
            Lookup::Index(id) => Some(*id),
        };
        if let Some(index) = id.and_then(|id| table.index(id))
            && !found.iter().any(|(_, other)| other.id == index.id)
        {
            found.push((table, index));
        }
    }
    children(plan).into_iter().for_each(|child| find(child, catalog, found));
}
