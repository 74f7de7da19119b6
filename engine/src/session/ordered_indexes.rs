//! Ordered indexes in memory that a statement's plan can read: asked for when it runs, named when it is explained.

use crate::session::Session;
use crate::session::plan::{Automatic, CachedPlan};
use operators::plan::children;
use planner::Planned;
use planner::catalog::{Catalog, Index, Table};
use planner::explain::report::OrderedIndex;
use planner::physical::KeyForms;
use planner::plan::{Access, Lookup, Plan, Query};
use repr::RelationId;
use state::SqlError;
use state::published::Published;
use state::view_states::OrderId;
use std::sync::Arc;
use views::automatic::Entry;
use views::no_view::NoView;

impl Session {
    /// An execution, which counts for each ordered index that it would read, and waits for those that commits have still to go
    /// through.
    pub(super) fn ask_for_orders(&mut self, cached: &CachedPlan) -> Result<(), SqlError> {
        let automatic = &self.database.views.automatic;
        let known = cached.orders.get_or_init(|| {
            let catalog = self.catalog();
            let orders = wanted(cached, &catalog);
            orders.into_iter().map(|(table, index, columns)| automatic.order(table, index, columns)).collect()
        });
        // What earns a view of its own needs no more.
        if known.is_empty() || !self.auto_views() || matches!(cached.automatic.get(), Some(Automatic::ByKey(_))) {
            return Ok(());
        }
        let ask = |request| self.database.ask_views(request);
        let made = known.iter().filter_map(|entry| automatic.executed(entry, || usize::MAX, &ask));
        let made: Vec<RelationId> = made.collect();
        self.await_filled(known)?;
        let is_overdue = |published: &Published| made.iter().any(|order| published.views.is_overdue(*order));
        if is_overdue(&self.database.published.load()) {
            return self.await_views(&made);
        }
        self.database.pipeline.publication.note_read(&made);
        Ok(())
    }

    /// Who comes while one is filled waits for it some moments: each of them would read as many rows as that does, all beside it.
    fn await_filled(&self, known: &[Arc<Entry>]) -> Result<(), SqlError> {
        let is_awaited = |published: &Published| {
            let is_filling = |entry: &Entry| entry.view().is_some_and(|order| published.views.is_filling(order));
            known.iter().any(|entry| is_filling(entry) && entry.is_awaited())
        };
        // In a snapshot of its own it would not be there.
        while is_awaited(&self.database.published.load()) && !self.has_snapshot() {
            self.control.account.check()?;
            self.database.pipeline.publication.await_news();
        }
        Ok(())
    }

    /// What a plan's ordered indexes are, and why one is not read.
    pub(super) fn explain_orders(&mut self, cached: &CachedPlan) -> Result<Vec<OrderedIndex>, SqlError> {
        let catalog = self.catalog();
        let mut named = Vec::new();
        for (table, index, columns) in wanted(cached, &catalog) {
            let id = OrderId { index: index.id, columns };
            let entry = self.database.views.automatic.find_order(id);
            let why_not = self.why_no_order(id, entry.as_deref())?;
            let mut name = if table.primary_key == Some(index.id) {
                format!("primary key of \"{}\"", table.name)
            } else {
                format!("\"{}\"", index.name)
            };
            if columns < index.columns.len() {
                let first = index.columns[..columns].iter().map(|column| table.columns[*column].name.as_str());
                name += &format!(" by ({})", first.collect::<Vec<_>>().join(", "));
            }
            named.push(OrderedIndex { name, why_not: why_not.map(|why| why.text(&catalog)) });
        }
        Ok(named)
    }

    fn why_no_order(&mut self, id: OrderId, entry: Option<&Entry>) -> Result<Option<NoView>, SqlError> {
        if !self.auto_views() {
            return Ok(Some(NoView::Off));
        }
        let Some(entry) = entry else { return Ok(Some(NoView::Seldom { runs: 0 })) };
        let Some(made) = entry.view() else { return Ok(Some(entry.why_none())) };
        let snapshot = self.snapshot()?;
        let unread = NoView::of(snapshot.views(), made);
        Ok(unread.or_else(|| snapshot.views().order(id).is_none().then_some(NoView::NotThere)))
    }
}

/// The query in a statement.
pub(super) fn source(planned: &Planned) -> Option<&Query> {
    match planned {
        Planned::Query(query)
        | Planned::CreateTableAs(_, query)
        | Planned::Described(_, query)
        | Planned::Cursor(_, query, _) => Some(query),
        Planned::Write(plan) => Some(plan.source()),
        Planned::With(plan) => Some(plan.main().source()),
        Planned::CopyOut(what, _) => source(what),
        Planned::CopyIn(..)
        | Planned::Subscribe(_)
        | Planned::SubscribeCursor(..)
        | Planned::Gdpr(..)
        | Planned::Call(_)
        | Planned::Explain(_)
        | Planned::Other => None,
    }
}

/// A key or index, by so many of its first columns.
type WantedOrder<'c> = (&'c Arc<Table>, &'c Index, usize);

/// The keys and indexes whose order a plan reads where it is in memory.
fn wanted<'c>(cached: &CachedPlan, catalog: &'c Catalog) -> Vec<WantedOrder<'c>> {
    let mut found = Vec::new();
    if let Some(query) = source(&cached.planned) {
        find(&query.plan, catalog, &mut found);
    }
    found
}

fn find<'c>(plan: &Plan, catalog: &'c Catalog, found: &mut Vec<WantedOrder<'c>>) {
    if let Plan::Get { relation, access, .. } = plan
        && let Some(table) = catalog.table(*relation)
        && let Some((index, columns)) = in_memory(access, table, catalog)
        && !found.iter().any(|(_, other, of)| other.id == index.id && *of == columns)
    {
        found.push((table, index, columns));
    }
    children(plan).into_iter().for_each(|child| find(child, catalog, found));
}

/// What an access reads in memory alone: an inverted index, or the order of one whose keys on disk have none.
fn in_memory<'c>(access: &Access, table: &'c Table, catalog: &Catalog) -> Option<(&'c Index, usize)> {
    match access {
        Access::Inverted { index, .. } => table.index(*index).map(|index| (index, index.columns.len())),
        Access::Range { lookup, in_order, .. } if !catalog.ordered(table.id) => {
            let id = match lookup {
                Lookup::PrimaryKey => table.primary_key?,
                Lookup::Index(id) => *id,
            };
            let index = table.index(id)?;
            Some((index, in_order.columns().unwrap_or(index.columns.len())))
        }
        Access::Scan | Access::Listed { .. } | Access::Met { .. } | Access::Lookup { .. } | Access::Range { .. } => {
            None
        }
    }
}
