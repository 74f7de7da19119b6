//! The view thread: owns the timely worker and every maintained view.
//!
//! ```text
//! flush thread ─▶ Group, Create, Drop ─▶ per group: affected views in the order of their ids ─▶ ViewResults
//!                                    └─▶ between groups: one chunk of a hydration; if there is none, some merging
//! ```
//!
//! A group is fed to the views that read a table it wrote, and to no other. A view that reads views comes
//! after them (its id is higher). A view that fails is marked failed and its readers compute for themselves;
//! a panic here aborts the process, as on the commit thread. Never touches a socket, a lock table or SQL text.

mod filling;
mod merge;
mod ordered_indexes;
mod row_errors;

use crate::automatic::{self, AutomaticViews};
use crate::dataflow::{Definition, Logs, ViewDataflow};
use crate::inspection::InspectedOperator;
use crate::maintained::{Maintained, Overview, Progress, definition};
use crate::message::Message;
use crate::ordered_index::OrderedIndexes;
use crate::results::{Made, ViewResults};
use crate::sources::{SourceChange, change, is_truncated, table_changes};
use crate::subscription::{Deltas, Subscriptions};
use arrangements::log::ArrangementLog;
use arrangements::merging::Merging;
use merge::Unmerged;
use operators::delta::{Feed, Group};
use operators::rendered::OperatorLog;
use planner::catalog::{Catalog, Table};
use planner::scalar::EvalContext;
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::Overlay;
use state::published::Published;
use state::reader::Reader;
use state::settings::server::ServerSettings;
use state::statistics::Statistics;
use state::view_states::{Stage, ViewState, Views};
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

/// Whom the view thread tells, and what it may take.
pub struct Surroundings {
    /// Where groups go.
    pub line: Arc<ViewResults>,
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

/// How a view came through a group.
enum Followed {
    /// It has followed.
    Well,
    /// So it has, and other rows of it fail than before.
    WithOtherErrors,
    /// It has to be filled anew.
    Not,
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
                    tracing::debug!(target: "dogwood::views", view = self.name(view), "a view of a query goes");
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
            Rc::new(Overview::of(views))
        };
        self.overview.get_or_insert_with(make).clone()
    }

    fn inspect(&mut self) -> Vec<InspectedOperator> {
        self.views.values().filter_map(|view| view.flow.as_ref()).flat_map(ViewDataflow::inspect).collect()
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
        Arc::new(LayeredSnapshot::new(self.store.clone(), Arc::new(state)).amid_errors())
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
        let (mut failing, mut doubtful, mut left_behind) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        while let Some(id) = affected.pop_first() {
            let Some(mut view) = self.views.remove(&id) else { continue };
            let group = Arc::new(Group {
                before: before.clone(),
                after: self.reader(after, &self.current),
                changes: changes.clone(),
            });
            let readers = overview.readers.get(&id);
            match self.follow(id, &mut view, group, readers.is_some(), &mut changes, deltas) {
                Ok(Followed::Not) => {
                    left_behind.insert(id);
                }
                Ok(Followed::WithOtherErrors) => {
                    doubtful.insert(id);
                }
                Ok(Followed::Well) => {
                    // What is joined with a view below may ask for other rows of it, and so for one that fails.
                    if overview.joined.get(&id).is_some_and(|below| self.one_fails(below)) {
                        doubtful.insert(id);
                    }
                }
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
        self.refill_left_behind(left_behind, deltas);
        if !doubtful.is_empty() {
            self.doubt(doubtful, after, deltas);
        }
    }

    /// Takes one view through a group. An error is why it has no rows any more.
    fn follow(
        &mut self,
        id: RelationId,
        view: &mut Maintained,
        group: Arc<Group>,
        read_by_others: bool,
        changes: &mut BTreeMap<RelationId, Arc<Vec<(Row, isize)>>>,
        deltas: &mut Deltas,
    ) -> Result<Followed, SqlError> {
        match &mut view.progress {
            Progress::Waiting | Progress::Failed => {}
            Progress::Hydrating(_) if view.since == self.time() => {}
            Progress::Hydrating(hydration) => hydration.backlog.push_back(group),
            Progress::Ready => {
                let Some(flow) = &mut view.flow else { return Ok(Followed::Well) };
                let started = Instant::now();
                let budget_bytes = self.around.settings.view_memory.bytes();
                if let Err(error) = flow.apply(&mut self.worker, vec![Feed::Group(group)], budget_bytes) {
                    if error.code == "54000" && view.may_be_left_behind() {
                        return Ok(Followed::Not);
                    }
                    self.fail(id, view, error.clone());
                    return Err(error);
                }
                if view.widens() {
                    return Ok(Followed::Not);
                }
                let Some(flow) = &mut view.flow else { return Ok(Followed::Well) };
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
                return Ok(if errors_changed { Followed::WithOtherErrors } else { Followed::Well });
            }
        }
        Ok(Followed::Well)
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
        let mut view = Maintained::new(vec![table.clone()], false, self.time());
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
        let mut view = Maintained::new(Vec::new(), true, self.time());
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

    /// What an operator knows a view by.
    fn name(&self, id: RelationId) -> String {
        self.state.catalog().table(id).map_or_else(|| automatic::name(id), |table| table.name.clone())
    }

    fn fail(&mut self, id: RelationId, view: &mut Maintained, error: SqlError) {
        self.overview = None;
        if let Some(flow) = view.flow.take() {
            flow.end(&mut self.worker);
        }
        view.progress = Progress::Failed;
        let name = self.name(id);
        // What was refused by a bound says so without a value; of another error only the code is known to be of nobody.
        let why = if matches!(error.code, "53200" | "54000") { error.message.as_str() } else { "" };
        // Without a query's own view its readers are slower, and nobody was promised it.
        if view.automatic {
            tracing::info!(target: "dogwood::views", view = name, sqlstate = error.code, why, "a view of a query fails");
        } else {
            tracing::warn!(target: "dogwood::views", view = name, sqlstate = error.code, why, "a view fails");
        }
        self.current.set(id, ViewState::at(Stage::Failed(error)));
    }
}
