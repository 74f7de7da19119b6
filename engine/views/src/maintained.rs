//! A view as a view worker keeps it: its dataflow, how far it is, and what it was made over.

use crate::bound::Bound;
use crate::dataflow::{ArrangedBy, Definition, ViewDataflow};
use crate::hydrate::{Hydration, PATIENCE};
use crate::publication::{ComponentId, Routes};
use operators::plan::recurses;
use planner::catalog::{Catalog, Table};
use repr::{CommitTime, RelationId};
use state::SqlError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A view that is left behind by commits more often is given up.
const LEFT_BEHIND_EVERY: Duration = Duration::from_mins(10);
/// So long a commit may take to go through a view that recurses, by the clock: it may come to no end.
const RECURSION_PATIENCE: Duration = Duration::from_secs(15);

/// A view and how far it is.
pub struct Maintained {
    /// None while it waits, or after it failed.
    pub flow: Option<ViewDataflow>,
    /// How far it is.
    pub progress: ViewProgress,
    /// The tables and views that it reads, as they were when it was made.
    pub sources: Vec<Arc<Table>>,
    /// Not a catalog's, but made for queries.
    pub automatic: bool,
    /// The state that it is hydrated from has all up to here.
    pub since: CommitTime,
    /// When a commit took it too long, and it was filled anew.
    pub left_behind: Option<Instant>,
    /// The views that it goes through commits with.
    pub component: ComponentId,
    /// When it began to be filled.
    pub began: Instant,
}

/// What a group need not look for among all views.
#[derive(Default)]
pub struct Overview {
    /// By relation, the views that read it.
    pub readers: BTreeMap<RelationId, Vec<RelationId>>,
    /// Views that wait for others.
    pub waiting: Vec<RelationId>,
    /// Views that are being filled.
    pub hydrating: Vec<RelationId>,
    /// Of views that join others, or join tables with them, all views below.
    pub joined: BTreeMap<RelationId, Vec<RelationId>>,
    /// By relation, the components that read it.
    pub components: BTreeMap<RelationId, BTreeSet<ComponentId>>,
    /// The views of each component.
    pub members: BTreeMap<ComponentId, Vec<RelationId>>,
}

impl Overview {
    /// Of these views.
    pub fn of(views: &BTreeMap<RelationId, Maintained>) -> Overview {
        let mut overview = Overview::default();
        let mut below: BTreeMap<RelationId, BTreeSet<RelationId>> = BTreeMap::new();
        for (id, view) in views {
            // Views read views of lower ids only.
            let read_views = view.reads().filter(|read| views.contains_key(read));
            let under: BTreeSet<RelationId> =
                read_views.flat_map(|read| below.get(&read).into_iter().flatten().copied().chain([read])).collect();
            if view.reads().count() > 1 && !under.is_empty() {
                overview.joined.insert(*id, under.iter().copied().collect());
            }
            below.insert(*id, under);
            for read in view.reads() {
                overview.readers.entry(read).or_default().push(*id);
                overview.components.entry(read).or_default().insert(view.component);
            }
            overview.members.entry(view.component).or_default().push(*id);
            match view.progress {
                ViewProgress::Waiting => overview.waiting.push(*id),
                ViewProgress::Hydrating(_) => overview.hydrating.push(*id),
                ViewProgress::Ready | ViewProgress::Failed => {}
            }
        }
        overview
    }

    /// Whether a component has no views any more. The ordered indexes have none, and are never gone.
    pub fn is_gone(&self, component: ComponentId) -> bool {
        component != ComponentId::ORDERED && !self.members.contains_key(&component)
    }

    /// For those who publish commits; ordered indexes with the tables that they are of.
    pub fn routes(&self, ordered: impl Iterator<Item = (RelationId, RelationId)>, catalog: &Catalog) -> Routes {
        let mut readers: BTreeMap<RelationId, Vec<ComponentId>> = BTreeMap::new();
        for (relation, components) in &self.components {
            readers.insert(*relation, components.iter().copied().collect());
        }
        let mut members = self.members.clone();
        for (index, relation) in ordered {
            // While commits have still to go through it, it is not to be read either.
            members.entry(ComponentId::ORDERED).or_default().push(index);
            let components = readers.entry(relation).or_default();
            if !components.contains(&ComponentId::ORDERED) {
                components.push(ComponentId::ORDERED);
            }
        }
        let views = self.members.values().flatten();
        let max_lags = views.filter_map(|view| Some((*view, Duration::from_millis(catalog.table(*view)?.max_lag_ms))));
        let max_lags = max_lags.collect();
        Routes { readers, members, max_lags, ..Routes::default() }
    }
}

/// How far a view is.
pub enum ViewProgress {
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
    /// Not begun.
    pub fn new(sources: Vec<Arc<Table>>, automatic: bool, since: CommitTime) -> Self {
        let (component, began) = (ComponentId::ORDERED, Instant::now());
        let progress = ViewProgress::Waiting;
        Maintained { flow: None, progress, sources, automatic, since, left_behind: None, component, began }
    }

    /// Whether it is filled anew rather than given up if a commit takes it too long. A recursion that comes to no end would
    /// not come to one then.
    pub(crate) fn may_be_left_behind(&mut self) -> bool {
        let again = self.left_behind.is_some_and(|last| last.elapsed() < LEFT_BEHIND_EVERY);
        let may = !again && !self.recurses();
        if may {
            self.left_behind = Some(Instant::now());
        }
        may
    }

    fn recurses(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| recurses(&flow.definition.plan))
    }

    /// How long a commit may take to go through it.
    pub(crate) fn patience(&self) -> Duration {
        if self.recurses() { RECURSION_PATIENCE } else { PATIENCE }
    }

    /// Whether it has lost too many of the rows that it holds of a key: then it will hold more, when it has been filled anew.
    pub fn widens(&mut self) -> bool {
        let Some(flow) = self.flow.as_mut().filter(|flow| flow.is_short()) else { return false };
        flow.definition.bound = flow.definition.bound.map(Bound::wider);
        true
    }

    /// Whether rows of it come or go by a moment of the clock.
    pub(crate) fn is_due(&self, clock: i64) -> bool {
        let span = self.flow.as_ref().and_then(ViewDataflow::span);
        matches!(self.progress, ViewProgress::Ready) && span.is_some_and(|span| span.until <= clock)
    }

    /// The tables and views that it reads, and whether the clock; none after it failed.
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
    Ok(Definition { id: table.id, name: table.name.clone(), plan, arrangements, bound: None, planned_over: Vec::new() })
}
