//! The view thread: owns the timely worker and every maintained view.
//!
//! ```text
//! flush thread ─▶ Group, Create, Drop ─▶ per group: affected views in the order of their ids ─▶ Line
//!                                    └─▶ between groups: one chunk of a hydration; if there is none, some merging
//! ```
//!
//! A group is fed to the views that read a table it wrote, and to no other. A view that reads views comes
//! after them (its id is higher). A view that fails is marked failed and its readers compute for themselves;
//! a panic here aborts the process, as on the commit thread. Never touches a socket, a lock table or SQL text.

mod merge;
mod orders;

use super::automatic::AutomaticViews;
use super::below::{SourceChange, change, is_truncated, table_changes};
use super::dataflow::{Definition, Logs, ViewDataflow};
use super::hydrate::{self, Hydration, UnderWay};
use super::inspection::Inspected;
use super::line::{Line, Made};
use super::maintained::{Maintained, Overview, Progress, definition};
use super::message::Message;
use super::ordered::OrderedIndexes;
use super::published::{Stage, ViewState, Views};
use super::statistics::Statistics;
use super::subscription::{Deltas, Subscriptions};
use crate::SqlError;
use crate::layered::Layered;
use crate::overlay::Overlay;
use crate::published::Published;
use crate::reader::Reader;
use crate::render::arrangement_log::ArrangementLog;
use crate::render::delta::{Feed, Group};
use crate::render::merging::Merging;
use crate::render::rendered::OperatorLog;
use crate::settings::server::ServerSettings;
use merge::Unmerged;
use planner::catalog::{Catalog, Table};
use planner::scalar::EvalContext;
use repr::{CommitTime, RelationId, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError};
use std::time::{Duration, Instant};
use storage::Store;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::worker::Worker;

/// TRUNCATE is taken back row by row up to so many rows; beyond, views are filled anew …
const TRUNCATED_ROWS_MAX: usize = 1_000;
/// … and their subscriptions end.
const TRUNCATED_WATCHED_ROWS_MAX: usize = 20_000;

/// Whom the view thread tells, and what it may take.
pub struct Surroundings {
    /// Where groups go.
    pub line: Arc<Line>,
    /// Where it counts.
    pub statistics: Arc<Statistics>,
    /// Who watches views.
    pub subscriptions: Arc<Subscriptions>,
    /// Which views queries have.
    pub automatic: Arc<AutomaticViews>,
    /// What one view may hold stands there.
    pub settings: Arc<ServerSettings>,
}

/// See the module.
pub struct ViewWorker {
    worker: Worker,
    store: Store,
    around: Surroundings,
    logs: Logs,
    views: BTreeMap<RelationId, Maintained>,
    ordered: OrderedIndexes,
    merging: Merging,
    /// Views that may have something to merge.
    unmerged: BTreeMap<RelationId, Unmerged>,
    /// None after it has changed.
    overview: Option<Rc<Overview>>,
    /// What views and ordered indexes read is said on the line.
    is_read_said: bool,
    /// As of `state`.
    current: Views,
    /// A group is under way: `current` is that of its beginning for views that it has not reached.
    amid_group: bool,
    state: Arc<Published>,
}

impl ViewWorker {
    /// Over the state that the server starts with.
    pub fn new(store: Store, around: Surroundings, state: Arc<Published>) -> Self {
        let allocator = Allocator::Thread(Thread::default());
        let (merging, mut config) = (Merging::default(), WorkerConfig::default());
        merging.configure(&mut config);
        let worker = Worker::new(config, allocator, Some(Instant::now()));
        let logs =
            Logs { operators: Rc::new(OperatorLog::new(&worker)), arrangements: ArrangementLog::listen(&worker) };
        ViewWorker {
            worker,
            store,
            around,
            logs,
            views: BTreeMap::new(),
            ordered: OrderedIndexes::default(),
            merging,
            unmerged: BTreeMap::new(),
            overview: None,
            is_read_said: false,
            current: Views::default(),
            amid_group: false,
            state,
        }
    }

    /// Runs until it is told to stop.
    pub fn run(mut self, messages: &Receiver<Message>) {
        self.follow_catalog();
        self.republish();
        let mut heard = 0;
        self.say_what_is_read(heard);
        let mut idle = false;
        loop {
            let filling = self.ordered.is_filling() || !self.overview().hydrating.is_empty();
            let message = if filling || !self.unmerged.is_empty() {
                // While commits come one after the other, nothing is merged between them.
                let patience = if filling || idle { Duration::ZERO } else { merge::AFTER };
                match messages.recv_timeout(patience) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            } else {
                match messages.recv() {
                    Ok(message) => Some(message),
                    Err(RecvError) => return,
                }
            };
            let is_told = message.is_some();
            idle = !is_told;
            match message {
                Some(Message::Group { before, after, layers }) => self.group(&before, after, &layers),
                Some(Message::Create(definition, state)) => {
                    self.state = state;
                    self.create_automatic(*definition);
                    self.republish();
                }
                Some(Message::Order(id, by, state)) => {
                    self.state = state;
                    self.create_ordered(id, *by);
                    self.republish();
                }
                Some(Message::Drop(view, state)) => {
                    self.state = state;
                    self.ordered.remove(view);
                    if let Some(flow) = self.views.remove(&view).and_then(|view| view.flow) {
                        flow.end(&mut self.worker);
                    }
                    self.overview = None;
                    self.current.remove(view);
                    self.around.statistics.dropped(view);
                    self.around.subscriptions.forget(view);
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
                Some(Message::Stop) => return,
                None if filling => {
                    self.fill_ordered();
                    self.hydrate();
                }
                None => self.merge(),
            }
            if is_told {
                heard += 1;
                self.say_what_is_read(heard);
            }
        }
    }

    /// After so many messages: whoever sends the next may look at this first.
    fn say_what_is_read(&mut self, heard: u64) {
        let overview = self.overview();
        let anew = !std::mem::replace(&mut self.is_read_said, true);
        let read = anew.then(|| overview.readers.keys().copied().chain(self.ordered.read()).collect());
        self.around.line.heard(heard, read);
    }

    fn overview(&mut self) -> Rc<Overview> {
        let (views, is_read_said) = (&self.views, &mut self.is_read_said);
        let make = || {
            *is_read_said = false;
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
        self.around.line.replace(self.time(), self.current.clone());
    }

    /// The leaves and views at a state.
    fn reader(&self, state: &Published, views: &Views) -> Arc<dyn Reader> {
        let state = Published { views: views.clone(), ..state.clone() };
        Arc::new(Layered::new(self.store.clone(), Arc::new(state)).amid_errors())
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
            deltas.forget();
            let hydrating = self.overview().hydrating.iter().copied().collect();
            self.fill_anew(hydrating);
        }
        self.follow_ordered(layers);
        self.follow_all(before, &after, &old_views, layers, &mut deltas);
        self.amid_group = false;
        self.wake_waiting();
        self.around.statistics.views.record(started.elapsed());
        self.around.line.arrive(Made { time: self.time(), views: self.current.clone(), deltas });
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
        let written = layers.iter().flat_map(|layer| layer.tables().map(|(relation, _)| relation));
        let read: BTreeSet<RelationId> = written.filter(|relation| overview.readers.contains_key(relation)).collect();
        if read.is_empty() {
            return;
        }
        let before = self.reader(before, old_views);
        let (mut affected, mut changes, mut cleared) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        for relation in read {
            let rows_max = if is_truncated(layers, relation) { self.taken_back_rows_max(relation) } else { 0 };
            match table_changes(before.as_ref(), layers, relation, rows_max) {
                Some(rows) if rows.is_empty() => {}
                Some(rows) => {
                    changes.insert(relation, Arc::new(rows));
                    affected.extend(overview.readers.get(&relation).into_iter().flatten());
                }
                None => {
                    cleared.insert(relation);
                }
            }
        }
        self.refill_readers(&cleared, deltas);
        let (mut failing, mut doubtful) = (BTreeMap::new(), BTreeSet::new());
        while let Some(id) = affected.pop_first() {
            let Some(mut view) = self.views.remove(&id) else { continue };
            let group = Arc::new(Group {
                before: before.clone(),
                after: self.reader(after, &self.current),
                changes: changes.clone(),
            });
            let readers = overview.readers.get(&id);
            match self.follow(id, &mut view, group, readers.is_some(), &mut changes, deltas) {
                // What is joined with a view below may ask for other rows of it, and so for one that fails.
                Ok(changed) if changed || view.reads().count() > 1 && view.reads().any(|read| self.fails(read)) => {
                    doubtful.insert(id);
                }
                Ok(_) => {}
                Err(error) => {
                    failing.insert(id, error);
                }
            }
            if changes.contains_key(&id) {
                affected.extend(readers.into_iter().flatten());
            }
            self.views.insert(id, view);
        }
        for (id, error) in failing {
            for reader in self.readers_of(&BTreeSet::from([id])) {
                deltas.end(reader, error.clone());
            }
            deltas.end(id, error);
        }
        if !doubtful.is_empty() {
            self.doubt(doubtful, after, deltas);
        }
    }

    /// Whether rows of a view, or of one below it, cannot be evaluated.
    fn fails(&self, id: RelationId) -> bool {
        self.current.get(id).is_some_and(|state| state.error.is_some())
            || self.views.get(&id).is_some_and(|view| view.reads().any(|read| self.fails(read)))
    }

    /// Rows have come to fail in these views, or fail no more. A row that fails is missing in the views above, too.
    fn doubt(&self, mut doubtful: BTreeSet<RelationId>, after: &Arc<Published>, deltas: &mut Deltas) {
        doubtful.extend(self.readers_of(&doubtful));
        let mut errors: BTreeMap<RelationId, SqlError> = BTreeMap::new();
        for (id, state) in self.current.iter() {
            if let Some(error) = &state.error {
                for view in self.readers_of(&BTreeSet::from([*id])).into_iter().chain([*id]) {
                    errors.entry(view).or_insert_with(|| error.clone().into());
                }
            }
        }
        let views = doubtful.into_iter().map(|id| (id, errors.remove(&id))).collect();
        let state = Published { views: self.current.clone(), ..Published::clone(after) };
        deltas.doubt(views, Arc::new(state));
    }

    /// How many rows of a truncated table are taken back one by one: more where somebody watches.
    fn taken_back_rows_max(&self, relation: RelationId) -> usize {
        let readers = self.readers_of(&BTreeSet::from([relation]));
        let watched = readers.iter().any(|view| self.around.subscriptions.is_watched(*view));
        if watched { TRUNCATED_WATCHED_ROWS_MAX } else { TRUNCATED_ROWS_MAX }
    }

    /// What lost more rows than are taken back one by one is filled anew.
    fn refill_readers(&mut self, cleared: &BTreeSet<RelationId>, deltas: &mut Deltas) {
        if cleared.is_empty() {
            return;
        }
        let readers = self.readers_of(cleared);
        for id in &readers {
            let ended = SqlError::new("55000", "a large table of the subscribed query was truncated");
            deltas.end(*id, ended.hint("Subscribe again."));
        }
        self.fill_anew(readers);
    }

    /// Takes one view through a group; whether other rows of it fail than before. An error is why it has none any more.
    fn follow(
        &mut self,
        id: RelationId,
        view: &mut Maintained,
        group: Arc<Group>,
        read_by_others: bool,
        changes: &mut BTreeMap<RelationId, Arc<Vec<(Row, isize)>>>,
        deltas: &mut Deltas,
    ) -> Result<bool, SqlError> {
        match &mut view.progress {
            Progress::Waiting | Progress::Failed => {}
            Progress::Hydrating(_) if view.since == self.time() => {}
            Progress::Hydrating(hydration) => hydration.backlog.push_back(group),
            Progress::Ready => {
                let Some(flow) = &mut view.flow else { return Ok(false) };
                let started = Instant::now();
                let budget_bytes = self.around.settings.view_memory.bytes();
                if let Err(error) = flow.apply(&mut self.worker, vec![Feed::Group(group)], budget_bytes) {
                    self.fail(id, view, error.clone());
                    return Err(error);
                }
                let fresh = flow.take_fresh();
                let state = flow.state(Stage::Ready);
                self.around.statistics.view(id, started.elapsed());
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
                self.unmerged.entry(id).or_insert(Unmerged::AFTER_A_GROUP);
                let errors_changed = flow.take_errors_changed();
                let ordered = state.arrangements.first().is_some_and(|first| first.ordered);
                self.current.set(id, state);
                deltas.push(id, fresh, ordered);
                return Ok(errors_changed);
            }
        }
        Ok(false)
    }

    fn follow_catalog(&mut self) {
        self.follow_catalog_telling(&mut Deltas::default());
    }

    /// Makes, remakes and drops views until they are those of the catalog.
    fn follow_catalog_telling(&mut self, deltas: &mut Deltas) {
        let catalog = self.state.catalog().clone();
        self.end_ordered(&catalog);
        let (mut stale, mut improvable) = (BTreeSet::new(), Vec::new());
        for (id, view) in &self.views {
            let gone = !view.automatic && !catalog.table(*id).is_some_and(|table| table.is_maintained());
            let changes = view.sources.iter().map(|source| (source.id, change(source, catalog.table(source.id))));
            let worst = changes.map(|(source, change)| if source == *id { change.of_itself() } else { change }).max();
            if gone || worst == Some(SourceChange::Other) {
                stale.insert(*id);
            } else if worst == Some(SourceChange::MoreIndexes) {
                improvable.push(*id);
            }
        }
        // A new index may make a better plan, for which nobody's subscription is to end.
        for id in improvable {
            let mut concerned = self.readers_of(&BTreeSet::from([id]));
            concerned.insert(id);
            if !concerned.iter().any(|view| self.around.subscriptions.is_watched(*view)) {
                stale.insert(id);
            }
        }
        stale.extend(self.readers_of(&stale));
        for id in stale {
            self.overview = None;
            let Some(view) = self.views.remove(&id) else { continue };
            if let Some(flow) = view.flow {
                flow.end(&mut self.worker);
            }
            self.current.remove(id);
            self.around.statistics.dropped(id);
            if view.automatic {
                // Queries plan again after DDL, and ask for what they need.
                self.around.automatic.ended(id);
            }
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
        let mut view =
            Maintained { flow: None, progress: Progress::Waiting, sources, automatic: false, since: self.time() };
        match definition(table, catalog) {
            Ok(definition) => self.start(&mut view, definition),
            Err(error) => self.fail(table.id, &mut view, error),
        }
        self.overview = None;
        self.views.insert(table.id, view);
    }

    fn create_automatic(&mut self, definition: Definition) {
        let id = definition.id;
        let catalog = self.state.catalog();
        if definition.planned_over.iter().any(|table| change(table, catalog.table(table.id)) == SourceChange::Other) {
            // Planned before DDL and asked for after it.
            self.around.automatic.ended(id);
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
                self.around.statistics.created(id);
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
        let fed = match hydration.under_way.take() {
            Some(fed) => Some(fed),
            None => {
                if let Some(feed) = hydration.next_chunk()? {
                    flow.feed([feed]);
                    Some(UnderWay { groups: false, took: Duration::ZERO })
                } else if !hydration.backlog.is_empty() {
                    // Several at once, or a view that looks at large groups would never catch up with its writers.
                    flow.feed(hydration.next_groups().into_iter().map(Feed::Group));
                    Some(UnderWay { groups: true, took: Duration::ZERO })
                } else {
                    None
                }
            }
        };
        if let Some(mut fed) = fed {
            let started = Instant::now();
            let until = started + hydrate::PATIENCE.saturating_sub(fed.took);
            let budget_bytes = self.around.settings.view_memory.bytes();
            let through = flow.advance(&mut self.worker, Some(hydrate::AIM), until, budget_bytes)?;
            fed.took += started.elapsed();
            if through {
                hydration.has_gone_through(fed);
                flow.take_fresh();
                self.current.set(id, ViewState::at(Stage::Hydrating { rows: hydration.rows }));
            } else {
                hydration.under_way = Some(fed);
            }
            return Ok(());
        }
        flow.take_fresh();
        let state = flow.state(Stage::Ready);
        view.progress = Progress::Ready;
        self.unmerged.insert(id, Unmerged::AFTER_FILLING);
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
