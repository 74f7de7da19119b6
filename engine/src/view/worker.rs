//! The view thread: owns the timely worker and every maintained view.
//!
//! ```text
//! flush thread ─▶ Group, Create, Drop ─▶ per group: affected views in the order of their ids ─▶ Line
//!                                    └─▶ between groups: one chunk of a hydration
//! ```
//!
//! A group is fed to the views that read a table it wrote, and to no other. A view that reads views comes
//! after them (its id is higher). A view that fails is marked failed and its readers compute for themselves;
//! a panic here aborts the process, as on the commit thread. Never touches a socket, a lock table or SQL text.

use super::dataflow::{ArrangedBy, Definition, Logs, ViewDataflow};
use super::hydrate::Hydration;
use super::inspection::Inspected;
use super::line::{Line, Made};
use super::published::{Stage, ViewState, Views};
use super::statistics::Statistics;
use super::subscription::Deltas;
use crate::SqlError;
use crate::layered::Layered;
use crate::overlay::Overlay;
use crate::published::Published;
use crate::reader::Reader;
use crate::render::arrangement_log::ArrangementLog;
use crate::render::delta::{Feed, Group};
use crate::render::rendered::OperatorLog;
use crate::settings::server::ServerSettings;
use crossbeam_channel::{Receiver, RecvError, Sender, TryRecvError};
use differential_dataflow::consolidation::consolidate;
use planner::catalog::{Catalog, Table};
use planner::scalar::EvalContext;
use repr::{CommitTime, RelationId, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use storage::Store;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::worker::Worker;

/// What the flush thread tells the view thread, in commit order.
pub enum Message {
    /// Commit groups were written. Only one by itself erases people, truncates tables or changes the catalog.
    Group {
        /// The state before them; its views are not looked at.
        before: Arc<Published>,
        /// The state after them; likewise.
        after: Arc<Published>,
        /// The changes, in order.
        layers: Vec<Arc<Overlay>>,
    },
    /// A view that no DDL made is wanted from this state on.
    Create(Box<Definition>, Arc<Published>),
    /// It is no longer.
    Drop(RelationId, Arc<Published>),
    /// A view that has failed is filled again, from this state.
    Refill(RelationId, Arc<Published>),
    /// What dataflows hold and took.
    Inspect(Sender<Vec<Inspected>>),
}

/// A view and how far it is.
struct Maintained {
    /// None while it waits, or after it failed.
    flow: Option<ViewDataflow>,
    progress: Progress,
    /// The tables and views that it reads, as they were when it was made.
    sources: Vec<Arc<Table>>,
    /// Not a catalog's, but made for queries.
    automatic: bool,
    /// The state that it is hydrated from has all up to here.
    since: CommitTime,
}

/// What a group need not look for among all views.
struct Overview {
    /// By relation, the views that read it.
    readers: BTreeMap<RelationId, Vec<RelationId>>,
    waiting: Vec<RelationId>,
    hydrating: Vec<RelationId>,
}

enum Progress {
    /// For views that it reads.
    Waiting,
    Hydrating(Box<Hydration>),
    Ready,
    Failed,
}

/// See the module.
pub struct ViewWorker {
    worker: Worker,
    store: Store,
    line: Arc<Line>,
    statistics: Arc<Statistics>,
    settings: Arc<ServerSettings>,
    logs: Logs,
    views: BTreeMap<RelationId, Maintained>,
    /// None after it has changed.
    overview: Option<Rc<Overview>>,
    /// As of `state`.
    current: Views,
    /// A group is under way: `current` is that of its beginning for views that it has not reached.
    amid_group: bool,
    state: Arc<Published>,
}

impl ViewWorker {
    /// Over the state that the server starts with.
    pub fn new(
        store: Store,
        line: Arc<Line>,
        statistics: Arc<Statistics>,
        settings: Arc<ServerSettings>,
        state: Arc<Published>,
    ) -> Self {
        let allocator = Allocator::Thread(Thread::default());
        let worker = Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()));
        let logs =
            Logs { operators: Rc::new(OperatorLog::new(&worker)), arrangements: ArrangementLog::listen(&worker) };
        ViewWorker {
            worker,
            store,
            line,
            statistics,
            settings,
            logs,
            views: BTreeMap::new(),
            overview: None,
            current: Views::default(),
            amid_group: false,
            state,
        }
    }

    /// Runs until the commit thread is gone.
    pub fn run(mut self, messages: &Receiver<Message>) {
        self.follow_catalog();
        self.republish();
        loop {
            let message = if !self.overview().hydrating.is_empty() {
                match messages.try_recv() {
                    Ok(message) => Some(message),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => return,
                }
            } else {
                match messages.recv() {
                    Ok(message) => Some(message),
                    Err(RecvError) => return,
                }
            };
            match message {
                Some(Message::Group { before, after, layers }) => self.group(&before, after, &layers),
                Some(Message::Create(definition, state)) => {
                    self.state = state;
                    self.create_automatic(*definition);
                    self.republish();
                }
                Some(Message::Drop(view, state)) => {
                    self.state = state;
                    if let Some(flow) = self.views.remove(&view).and_then(|view| view.flow) {
                        flow.end(&mut self.worker);
                    }
                    self.overview = None;
                    self.current.remove(view);
                    self.statistics.dropped(view);
                    self.republish();
                }
                Some(Message::Refill(view, state)) => {
                    self.state = state;
                    self.refill(view);
                    self.republish();
                }
                Some(Message::Inspect(reply)) => {
                    // Whoever asked may have gone.
                    let _unheard = reply.send(self.inspect());
                }
                None => self.hydrate(),
            }
        }
    }

    fn overview(&mut self) -> Rc<Overview> {
        let views = &self.views;
        let make = || {
            let mut overview = Overview { readers: BTreeMap::new(), waiting: Vec::new(), hydrating: Vec::new() };
            for (id, view) in views {
                view.reads().for_each(|read| overview.readers.entry(read).or_default().push(*id));
                match view.progress {
                    Progress::Waiting => overview.waiting.push(*id),
                    Progress::Hydrating(_) => overview.hydrating.push(*id),
                    Progress::Ready | Progress::Failed => {}
                }
            }
            Rc::new(overview)
        };
        self.overview.get_or_insert_with(make).clone()
    }

    /// A failed view of the catalog, from the newest state.
    fn refill(&mut self, id: RelationId) {
        let failed = |view: &Maintained| matches!(view.progress, Progress::Failed) && !view.automatic;
        if !self.views.get(&id).is_some_and(failed) {
            return;
        }
        let catalog = self.state.catalog().clone();
        if let Some(table) = catalog.table(id) {
            self.overview = None;
            self.views.remove(&id);
            self.create(table, &catalog);
        }
    }

    fn inspect(&mut self) -> Vec<Inspected> {
        let catalog = self.state.catalog();
        self.views.values().filter_map(|view| view.flow.as_ref()).flat_map(|flow| flow.inspect(catalog)).collect()
    }

    fn time(&self) -> CommitTime {
        self.state.time
    }

    fn republish(&self) {
        self.line.replace(self.time(), self.current.clone());
    }

    /// The leaves and views at a state.
    fn reader(&self, state: &Published, views: &Views) -> Arc<dyn Reader> {
        let state = Published { views: views.clone(), ..state.clone() };
        Arc::new(Layered::new(self.store.clone(), Arc::new(state)))
    }

    fn group(&mut self, before: &Arc<Published>, after: Arc<Published>, layers: &[Arc<Overlay>]) {
        let started = Instant::now();
        let old_views = self.current.clone();
        self.state = after.clone();
        self.amid_group = true;
        let mut deltas = Deltas::default();
        if !Arc::ptr_eq(&before.schema, &after.schema) {
            self.follow_catalog_telling(&mut deltas);
        }
        // Keys go once this group is through: what is hydrated from an older state would miss rows that it must
        // take back later.
        if layers.iter().any(|layer| layer.subjects().any(|(_, microdb)| microdb.is_none())) {
            let hydrating = self.overview().hydrating.iter().copied().collect();
            self.fill_anew(hydrating);
        }
        // What is truncated is filled anew rather than taken back row by row.
        let tables = layers.iter().flat_map(|layer| layer.tables());
        let truncated: BTreeSet<RelationId> =
            tables.filter(|(_, changes)| changes.truncated).map(|(relation, _)| relation).collect();
        if !truncated.is_empty() {
            let readers = self.readers_of(&truncated);
            for id in &readers {
                deltas.end(*id, SqlError::new("55000", "a table of the subscribed query was truncated").hint("Subscribe again."));
            }
            self.fill_anew(readers);
        }
        self.follow_all(before, &after, &old_views, layers, &mut deltas);
        self.amid_group = false;
        self.wake_waiting();
        self.statistics.views.record(started.elapsed());
        self.line.arrive(Made { time: self.time(), views: self.current.clone(), deltas });
    }

    /// Takes the views that read what was written through it, those that they are read by after them.
    fn follow_all(
        &mut self,
        before: &Arc<Published>,
        after: &Arc<Published>,
        old_views: &Views,
        layers: &[Arc<Overlay>],
        deltas: &mut Deltas,
    ) {
        let overview = self.overview();
        let mut affected: BTreeSet<RelationId> = BTreeSet::new();
        let mut changes = BTreeMap::new();
        let written: BTreeSet<RelationId> =
            layers.iter().flat_map(|layer| layer.tables().map(|(relation, _)| relation)).collect();
        for relation in written {
            let Some(readers) = overview.readers.get(&relation) else { continue };
            let rows = table_changes(layers, relation);
            if !rows.is_empty() {
                changes.insert(relation, Arc::new(rows));
                affected.extend(readers);
            }
        }
        if affected.is_empty() {
            return;
        }
        let before = self.reader(before, old_views);
        while let Some(id) = affected.pop_first() {
            let Some(mut view) = self.views.remove(&id) else { continue };
            let group = Arc::new(Group {
                before: before.clone(),
                after: self.reader(after, &self.current),
                changes: changes.clone(),
            });
            let readers = overview.readers.get(&id);
            self.follow(id, &mut view, group, readers.is_some(), &mut changes, deltas);
            if changes.contains_key(&id) {
                affected.extend(readers.into_iter().flatten());
            }
            self.views.insert(id, view);
        }
    }

    /// Takes one view through a group.
    fn follow(
        &mut self,
        id: RelationId,
        view: &mut Maintained,
        group: Arc<Group>,
        read_by_others: bool,
        changes: &mut BTreeMap<RelationId, Arc<Vec<(Row, isize)>>>,
        deltas: &mut Deltas,
    ) {
        match &mut view.progress {
            Progress::Waiting | Progress::Failed => {}
            Progress::Hydrating(_) if view.since == self.time() => {}
            Progress::Hydrating(hydration) => hydration.backlog.push_back(group),
            Progress::Ready => {
                let Some(flow) = &mut view.flow else { return };
                let started = Instant::now();
                match flow.apply(&mut self.worker, [Feed::Group(group)], self.settings.view_memory_bytes()) {
                    Err(error) => {
                        deltas.end(id, error.clone());
                        self.fail(id, view, error);
                    }
                    Ok(()) => {
                        let fresh = flow.take_fresh();
                        let state = flow.state(Stage::Ready);
                        self.statistics.view(id, started.elapsed());
                        if read_by_others {
                            let mut rows = Vec::new();
                            let first = state.arrangements.first();
                            for batch in &fresh {
                                batch.for_each(|_key, bytes, diff| {
                                    let bytes = first.map_or(bytes, |first| first.row(bytes));
                                    rows.push((Row::from_bytes(bytes.into()), diff));
                                });
                            }
                            if !rows.is_empty() {
                                changes.insert(id, Arc::new(rows));
                            }
                        }
                        let error = flow.error();
                        let ordered = state.arrangements.first().is_some_and(|first| first.ordered);
                        self.current.set(id, state);
                        deltas.push(id, fresh, ordered, error);
                    }
                }
            }
        }
    }

    fn follow_catalog(&mut self) {
        self.follow_catalog_telling(&mut Deltas::default());
    }

    /// Makes, remakes and drops views until they are those of the catalog.
    fn follow_catalog_telling(&mut self, deltas: &mut Deltas) {
        let catalog = self.state.catalog().clone();
        let stale: Vec<RelationId> = self
            .views
            .iter()
            .filter(|(id, view)| {
                let gone = !view.automatic && !catalog.table(**id).is_some_and(|table| table.is_maintained());
                gone || view.sources.iter().any(|source| changed(source, catalog.table(source.id)))
            })
            .map(|(id, _)| *id)
            .collect();
        let mut stale: BTreeSet<RelationId> = stale.into_iter().collect();
        stale.extend(self.readers_of(&stale));
        for id in stale {
            self.overview = None;
            // Queries plan again after DDL, and ask for what they need.
            if let Some(flow) = self.views.remove(&id).and_then(|view| view.flow) {
                flow.end(&mut self.worker);
            }
            self.current.remove(id);
            self.statistics.dropped(id);
            let ended = SqlError::new("55000", "the view that is subscribed to was dropped or defined anew");
            deltas.end(id, ended.hint("Subscribe again."));
        }
        for table in catalog.relations.values().filter(|table| table.is_maintained()) {
            if !self.views.contains_key(&table.id) {
                self.create(table, &catalog);
            }
        }
        self.worker.step();
    }

    fn create(&mut self, table: &Arc<Table>, catalog: &Arc<Catalog>) {
        let sources = vec![table.clone()];
        let mut view = Maintained { flow: None, progress: Progress::Waiting, sources, automatic: false, since: self.time() };
        match definition(table, catalog) {
            Ok(definition) => self.start(&mut view, definition),
            Err(error) => self.fail(table.id, &mut view, error),
        }
        self.overview = None;
        self.views.insert(table.id, view);
    }

    fn create_automatic(&mut self, definition: Definition) {
        let id = definition.id;
        if self.views.contains_key(&id) {
            return;
        }
        let mut view = Maintained {
            flow: None,
            progress: Progress::Waiting,
            sources: Vec::new(),
            automatic: true,
            since: self.time(),
        };
        self.start(&mut view, definition);
        self.overview = None;
        self.views.insert(id, view);
    }

    /// Renders a view, and begins to hydrate it if all that it reads is there.
    fn start(&mut self, view: &mut Maintained, definition: Definition) {
        let id = definition.id;
        self.overview = None;
        let catalog = self.state.catalog().clone();
        let eval = EvalContext::without_session(catalog.clone());
        match ViewDataflow::build(&mut self.worker, definition, &catalog, eval, self.logs.clone()) {
            Err(error) => self.fail(id, view, error),
            Ok(flow) => {
                self.statistics.created(id);
                view.sources.extend(flow.reads.iter().filter_map(|id| catalog.table(*id).cloned()));
                view.flow = Some(flow);
                self.begin(id, view);
            }
        }
    }

    /// Views that read one of these relations, at first or second hand.
    fn readers_of(&self, relations: &BTreeSet<RelationId>) -> BTreeSet<RelationId> {
        let mut found = BTreeSet::new();
        // Views read views of lower ids only.
        for (id, view) in &self.views {
            if view.reads().any(|read| relations.contains(&read) || found.contains(&read)) {
                found.insert(*id);
            }
        }
        found
    }

    /// These views from the newest state again.
    fn fill_anew(&mut self, ids: BTreeSet<RelationId>) {
        self.overview = None;
        // All are unreadable before the first looks at the others.
        for id in &ids {
            self.current.set(*id, ViewState::at(Stage::Waiting));
        }
        for id in ids {
            let Some(mut view) = self.views.remove(&id) else { continue };
            if let Some(flow) = view.flow.take() {
                view.sources.truncate(usize::from(!view.automatic));
                view.progress = Progress::Waiting;
                let definition = flow.definition.clone();
                flow.end(&mut self.worker);
                self.start(&mut view, definition);
            }
            self.views.insert(id, view);
        }
    }

    fn begin(&mut self, id: RelationId, view: &mut Maintained) {
        self.overview = None;
        let Some(flow) = &view.flow else { return };
        let catalog = self.state.catalog();
        let is_view = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
        let mut failed = None;
        for source in flow.reads.iter().filter(|id| is_view(id)) {
            match self.current.get(*source).map(|state| (&state.stage, state.errors)) {
                Some((Stage::Ready, 0)) if !self.amid_group => {}
                Some((Stage::Failed(error), _)) => failed = Some(error.clone()),
                Some(_) | None => {
                    self.current.set(id, ViewState::at(Stage::Waiting));
                    return;
                }
            }
        }
        if let Some(error) = failed {
            self.fail(id, view, error);
            return;
        }
        let hydration = Hydration::new(self.reader(&self.state, &self.current), &flow.chains);
        view.progress = Progress::Hydrating(Box::new(hydration));
        view.since = self.state.time;
        self.current.set(id, ViewState::at(Stage::Hydrating { rows: 0 }));
    }

    fn wake_waiting(&mut self) {
        let waiting = self.overview().waiting.clone();
        for id in waiting {
            if let Some(mut view) = self.views.remove(&id) {
                self.begin(id, &mut view);
                self.views.insert(id, view);
            }
        }
    }

    /// One chunk of the first view that is being filled, or one group of its backlog.
    fn hydrate(&mut self) {
        let Some(&id) = self.overview().hydrating.first() else { return };
        let Some(mut view) = self.views.remove(&id) else { return };
        if let Err(error) = self.hydrate_some(id, &mut view) {
            self.fail(id, &mut view, error);
            self.views.insert(id, view);
            self.wake_waiting();
            self.republish();
            return;
        }
        self.views.insert(id, view);
        // It may have been drawn up while the view was out.
        self.overview = None;
    }

    fn hydrate_some(&mut self, id: RelationId, view: &mut Maintained) -> Result<(), SqlError> {
        let (Some(flow), Progress::Hydrating(hydration)) = (&mut view.flow, &mut view.progress) else { return Ok(()) };
        if let Some(feed) = hydration.next_chunk()? {
            let started = Instant::now();
            flow.apply(&mut self.worker, [feed], self.settings.view_memory_bytes())?;
            hydration.chunk_took(started.elapsed());
            flow.take_fresh();
            self.current.set(id, ViewState::at(Stage::Hydrating { rows: hydration.rows }));
            return Ok(());
        }
        if !hydration.backlog.is_empty() {
            // Several at once, or a view that looks at large groups would never catch up with its writers.
            let (groups, started) = (hydration.next_groups(), Instant::now());
            flow.apply(&mut self.worker, groups.into_iter().map(Feed::Group), self.settings.view_memory_bytes())?;
            hydration.groups_took(started.elapsed());
            flow.take_fresh();
            return Ok(());
        }
        flow.take_fresh();
        let state = flow.state(Stage::Ready);
        view.progress = Progress::Ready;
        self.overview = None;
        self.current.set(id, state);
        self.wake_waiting();
        self.republish();
        Ok(())
    }

    fn fail(&mut self, id: RelationId, view: &mut Maintained, error: SqlError) {
        self.overview = None;
        if let Some(flow) = view.flow.take() {
            flow.end(&mut self.worker);
        }
        view.progress = Progress::Failed;
        self.current.set(id, ViewState::at(Stage::Failed(error)));
    }
}

impl Maintained {
    fn reads(&self) -> impl Iterator<Item = RelationId> {
        self.flow.iter().flat_map(|flow| flow.reads.iter().copied())
    }
}

/// Whether a relation is no longer what a view was made against: other columns, keys or indexes.
fn changed(then: &Arc<Table>, now: Option<&Arc<Table>>) -> bool {
    let Some(now) = now else { return true };
    if Arc::ptr_eq(then, now) {
        return false;
    }
    let columns = |table: &Table| {
        table.columns.iter().map(|column| (column.column_type.clone(), column.dropped)).collect::<Vec<_>>()
    };
    let indexes = |table: &Table| {
        table.indexes.iter().map(|index| (index.id, index.columns.clone())).collect::<Vec<_>>()
    };
    then.schema_version != now.schema_version
        || then.view != now.view
        || columns(then) != columns(now)
        || indexes(then) != indexes(now)
        || then.primary_key != now.primary_key
}

/// A materialized view's definition, planned.
pub fn definition(table: &Table, catalog: &Arc<Catalog>) -> Result<Definition, SqlError> {
    let planned = planner::plan_view(catalog, table.id)?;
    let arrangements = table
        .indexes
        .iter()
        .map(|index| ArrangedBy { index: index.id, key: index.columns.clone(), order: planned.order.clone() })
        .collect();
    Ok(Definition { id: table.id, name: table.name.clone(), plan: Arc::new(planned.plan), arrangements })
}

/// The changed rows of a table that was not truncated.
fn table_changes(layers: &[Arc<Overlay>], relation: RelationId) -> Vec<(Row, isize)> {
    let mut rows = Vec::new();
    for layer in layers {
        let Some(changes) = layer.table(relation).filter(|changes| !changes.truncated) else { continue };
        for change in changes.rows.values().filter(|change| change.before != change.after) {
            rows.extend(change.before.iter().map(|row| (row.clone(), -1)));
            rows.extend(change.after.iter().map(|row| (row.clone(), 1)));
        }
    }
    // A row that several groups changed counts as what became of it.
    if layers.len() > 1 {
        consolidate(&mut rows);
    }
    rows
}
