//! A view worker: a thread that keeps some of the maintained views, and takes them through commits.
//!
//! ```text
//! flush thread ─▶ Group ─▶ the components that read what it wrote ─▶ each a slice at a time ─▶ Publication
//!             └─▶ Create, Drop, … at once
//!                      between messages, in turn: a slice of a component that lags; one chunk of a hydration; merging
//! ```
//!
//! A group is told to the components that read a table it wrote, and to no other. A view that reads views comes
//! after them (its id is higher). What takes longer than a slice goes on between what others need; what comes meanwhile
//! waits in the component's queue. A view that fails is marked failed and its readers compute for themselves;
//! a panic here aborts the process, as on the commit thread. Never touches a socket, a lock table or SQL text.

mod catalog;
mod commit_groups;
mod filling;
mod merge;
mod ordered_indexes;
mod row_errors;

use crate::automatic::{self, AutomaticViews};
use crate::component::Component;
use crate::dataflow::ViewDataflow;
use crate::inspection::InspectedOperator;
use crate::maintained::{Maintained, Overview, ViewProgress};
use crate::message::{self, Message};
use crate::ordered_index::OrderedIndexes;
use crate::placement::{Busy, Occupation, Placements};
use crate::publication::{ComponentId, Pace, Passed, Publication};
use crate::shared_scan::SharedScans;
use crate::subscription::{Deltas, Subscriptions};
use merge::Unmerged;
use repr::RelationId;
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::published::Published;
use state::reader::Reader;
use state::settings::server::ServerSettings;
use state::statistics::Statistics;
use state::view_states::{Stage, ViewState, Views};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use storage::Store;

/// Whom a view worker tells, and what it may take.
pub struct Surroundings {
    /// The leaves.
    pub store: Store,
    /// Where what views become is published.
    pub publication: Arc<Publication>,
    /// Where it counts.
    pub statistics: Arc<Statistics>,
    /// Who watches views.
    pub subscriptions: Arc<Subscriptions>,
    /// Which views queries have.
    pub automatic: Arc<AutomaticViews>,
    /// What one view may hold stands there.
    pub settings: Arc<ServerSettings>,
    /// How long it has worked.
    pub busy: Arc<Busy>,
}

/// See the module.
pub struct ViewWorker {
    around: Surroundings,
    place: WorkerPlace,
    views: BTreeMap<RelationId, Maintained>,
    components: Components,
    ordered: OrderedIndexes,
    known: KnownOverview,
    at: At,
    upkeep: Upkeep,
}

/// Which of the workers it is.
struct WorkerPlace {
    number: usize,
    /// Where the catalog's views are kept.
    placed: Arc<Placements>,
}

/// What is done beside following commits.
#[derive(Default)]
struct Upkeep {
    /// Tables that views are filled from.
    scans: Rc<SharedScans>,
    /// Views that may have something to merge.
    unmerged: BTreeMap<RelationId, Unmerged>,
    /// Who waits until there is nothing to merge.
    await_merged: Vec<Sender<()>>,
}

/// The components, and which is next.
#[derive(Default)]
struct Components {
    of: BTreeMap<ComponentId, Component>,
    /// So many have been made.
    made: u64,
    /// The one that had a slice last.
    served: Option<ComponentId>,
}

/// Who reads what, as far as that is known.
struct KnownOverview {
    /// None after it has changed.
    overview: Option<Rc<Overview>>,
    /// What views and ordered indexes read is said to those who publish.
    is_read_said: bool,
}

/// How far the views have come.
struct At {
    /// The newest state that was told.
    state: Arc<Published>,
    /// Each view as far as it is.
    current: Views,
    /// Views that have become others, by their component, and of which nobody was told.
    untold: BTreeMap<(ComponentId, RelationId), Option<Arc<ViewState>>>,
    /// The catalog has moved on, and components have not been told of what was written with it.
    amid_group: bool,
    /// The last erasure for which what held it up was given up.
    given_up: Arc<AtomicU64>,
    /// What is to be said together, and since when that waits.
    unsaid: Option<(Instant, Vec<Passed>)>,
    /// When it was last told of a commit.
    told: Option<Instant>,
}

/// What became of one component is said with what becomes of others within this: who publishes it, and who waits, looks at all
/// that is waited for.
const SAID_TOGETHER: Duration = Duration::from_micros(250);

impl ViewWorker {
    /// The worker of this number, over the state that the server starts with.
    pub fn new(number: usize, around: Surroundings, state: Arc<Published>, placed: Arc<Placements>) -> Self {
        let at = At {
            state,
            current: Views::default(),
            untold: BTreeMap::new(),
            amid_group: false,
            given_up: Arc::default(),
            unsaid: None,
            told: None,
        };
        ViewWorker {
            around,
            place: WorkerPlace { number, placed },
            views: BTreeMap::new(),
            components: Components::default(),
            ordered: OrderedIndexes::default(),
            known: KnownOverview { overview: None, is_read_said: false },
            at,
            upkeep: Upkeep::default(),
        }
    }

    /// Runs until it is told to stop.
    pub fn run(mut self, messages: &Receiver<Message>) {
        self.follow_catalog(&mut Deltas::default());
        let mut heard = message::START;
        self.tell_all();
        self.say();
        self.say_what_is_read(heard);
        let (mut idle, mut fills) = (false, false);
        let (mut next, mut worked) = (None, Duration::ZERO);
        loop {
            let (pending, filling) = (self.is_pending(), self.is_filling());
            self.tell_merged();
            let message = if next.is_some() {
                next.take()
            } else if pending || filling || !self.upkeep.unmerged.is_empty() {
                // While commits come one after the other, nothing is merged between them.
                let patience = if pending || filling || idle { Duration::ZERO } else { merge::AFTER };
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
            if let Some(Message::Group(group)) = &message
                && group.is_deferred
                && !(pending || filling)
            {
                self.around.publication.rest(self.place.number, worked);
            }
            let began = Instant::now();
            idle = message.is_none();
            let mut occupation = Occupation::Commits;
            if let Some(message) = message {
                if !matches!(message, Message::Group(_)) {
                    occupation = Occupation::Filling;
                }
                heard += u64::from(message.is_structural());
                match self.hear(message, messages) {
                    ControlFlow::Continue(behind) => next = behind,
                    ControlFlow::Break(()) => return,
                }
            } else {
                // What lags has others waiting for it, and what is filled shall come to an end, too.
                fills = filling && (!pending || !fills);
                if fills || !pending {
                    occupation = Occupation::Filling;
                }
                self.give_up();
                self.work(fills, pending);
            }
            self.say();
            self.say_what_is_read(heard);
            worked = began.elapsed();
            self.around.busy.add(occupation, worked);
        }
    }

    /// A slice of what there is to do.
    fn work(&mut self, fills: bool, pending: bool) {
        if fills {
            self.fill_ordered();
            self.hydrate();
        } else if pending {
            self.go_on();
        } else {
            self.merge();
        }
    }

    /// Breaks off if it is to stop. Gives a message that it came upon behind this one, and has not heard.
    fn hear(&mut self, message: Message, messages: &Receiver<Message>) -> ControlFlow<(), Option<Message>> {
        match message {
            Message::Group(group) => return ControlFlow::Continue(self.groups(group, messages)),
            Message::Create(definition, state) => {
                self.at.state = state;
                self.create_automatic(*definition);
                self.tell_all();
            }
            Message::Order(id, by, state) => {
                self.at.state = state;
                self.create_ordered(id, *by);
                self.tell_all();
            }
            Message::Drop(view, state) => {
                self.at.state = state;
                self.drop_view(view);
                self.tell_all();
            }
            Message::Refill(view, state) => {
                self.at.state = state;
                self.refill(view);
                self.tell_all();
            }
            Message::Place(placed) => self.place.placed = placed,
            Message::Adopt(state) => {
                self.at.state = state;
                let mut deltas = Deltas::default();
                self.follow_catalog(&mut deltas);
                self.pass(Passed::only(self.at.state.time, deltas));
                self.tell_all();
            }
            Message::Release(views, state) => {
                self.at.state = state;
                self.release(&views);
                self.tell_all();
            }
            Message::Inspect(reply) => {
                // Whoever asked may have gone.
                let _unheard = reply.send(self.inspect());
            }
            Message::Merge(reply, state) => {
                // With it the worker lets go of the leaves as they were before.
                self.at.state = state;
                self.merge_all(reply);
            }
            Message::Stop => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(None)
    }

    fn drop_view(&mut self, view: RelationId) {
        tracing::debug!(target: "dogwood::views", view = self.name(view), "a view of a query goes");
        self.ordered.remove(view);
        self.forget(view);
        self.around.subscriptions.forget(view);
    }

    /// A view is no more.
    fn forget(&mut self, id: RelationId) -> Option<Maintained> {
        self.known.overview = None;
        let mut view = self.views.remove(&id);
        if let Some(flow) = view.as_mut().and_then(|view| view.flow.take()) {
            flow.end();
        }
        let component = view.as_ref().map_or(ComponentId::ORDERED, |view| view.component);
        self.at.current.remove(id);
        // Of the ordered indexes nobody speaks but the worker that keeps them.
        if component.worker == self.place.number {
            self.at.untold.insert((component, id), None);
        }
        self.around.statistics.dropped(id);
        view
    }

    /// A view has become another.
    fn set(&mut self, component: ComponentId, id: RelationId, state: ViewState) {
        let state = Arc::new(state);
        self.at.current.set(id, state.clone());
        self.at.untold.insert((component, id), Some(state));
    }

    /// After so many structural messages: whoever sends the next may look at this first.
    fn say_what_is_read(&mut self, heard: u64) {
        let overview = self.overview();
        let anew = !std::mem::replace(&mut self.known.is_read_said, true);
        if anew {
            self.retire_all(&overview);
        }
        let routes = anew.then(|| overview.routes(self.ordered.read(), self.at.state.catalog()));
        self.around.publication.hear(self.place.number, heard, routes);
    }

    /// Lets go of components that have no views any more.
    fn retire_all(&mut self, overview: &Overview) {
        let gone: Vec<ComponentId> = self.components.of.keys().copied().filter(|id| overview.is_gone(*id)).collect();
        for id in gone {
            self.components.of.remove(&id);
            self.tell(id, None, Deltas::default());
            self.retire(id);
        }
        self.settle();
    }

    fn overview(&mut self) -> Rc<Overview> {
        let (views, is_read_said) = (&self.views, &mut self.known.is_read_said);
        let make = || {
            *is_read_said = false;
            Rc::new(Overview::of(views))
        };
        self.known.overview.get_or_insert_with(make).clone()
    }

    fn inspect(&mut self) -> Vec<InspectedOperator> {
        self.views.values().filter_map(|view| view.flow.as_ref()).flat_map(ViewDataflow::inspect).collect()
    }

    fn is_pending(&self) -> bool {
        self.components.of.values().any(Component::is_pending)
    }

    fn is_filling(&mut self) -> bool {
        self.ordered.is_filling() || !self.overview().hydrating.is_empty()
    }

    /// The state from which a component goes on.
    fn position(&self, component: ComponentId) -> Arc<Published> {
        let component = self.components.of.get(&component);
        component.and_then(Component::position).unwrap_or(&self.at.state).clone()
    }

    /// Tells what has become of a component's views, up to where it is; nothing while it is amid a group.
    fn tell(&mut self, id: ComponentId, after: Option<Arc<Published>>, deltas: Deltas) {
        let component = self.components.of.get(&id);
        if component.is_some_and(|component| component.passage.is_some()) {
            return;
        }
        let time = after.as_ref().map_or_else(|| self.position(id).time, |after| after.time);
        let pace = component.map_or_else(Pace::default, |component| component.pace);
        let all = (id, RelationId(0))..=(id, RelationId(u32::MAX));
        let untold: Vec<_> = self.at.untold.range(all).map(|(key, _)| *key).collect();
        let views = untold.into_iter().filter_map(|key| Some((key.1, self.at.untold.remove(&key)?))).collect();
        self.pass(Passed { time, component: Some(id), after, pace, retired: false, views, deltas });
    }

    /// What views became is to be said, soon, with what was before it.
    fn pass(&mut self, passed: Passed) {
        let (since, unsaid) = self.at.unsaid.get_or_insert_with(|| (Instant::now(), Vec::new()));
        unsaid.push(passed);
        if since.elapsed() >= SAID_TOGETHER {
            self.say();
        }
    }

    /// Says what views became, before others have to wait for anything else.
    fn say(&mut self) {
        if let Some((_, unsaid)) = self.at.unsaid.take() {
            self.around.publication.pass(unsaid);
        }
    }

    /// Tells what has become of all components that something has become of.
    fn tell_all(&mut self) {
        let mut components: Vec<ComponentId> = self.at.untold.keys().map(|(component, _)| *component).collect();
        components.dedup();
        components.into_iter().for_each(|component| self.tell(component, None, Deltas::default()));
    }

    /// The leaves and views at a state.
    fn reader(&self, state: &Published, views: &Views) -> Arc<dyn Reader> {
        let state = Published { views: views.clone(), ..state.clone() };
        Arc::new(LayeredSnapshot::new(self.around.store.clone(), Arc::new(state)).amid_errors())
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
        let catalog = self.at.state.catalog();
        catalog.table(id).map_or_else(|| automatic::name(id), |table| catalog.server_name(table).into_owned())
    }

    fn fail(&mut self, id: RelationId, view: &mut Maintained, error: SqlError) {
        self.known.overview = None;
        if let Some(flow) = view.flow.take() {
            flow.end();
        }
        view.progress = ViewProgress::Failed;
        let name = self.name(id);
        // What was refused by a bound says so without a value; of another error only the code is known to be of nobody.
        let why = if matches!(error.code, "53200" | "54000") { error.message.as_str() } else { "" };
        // Without a query's own view its readers are slower, and nobody was promised it.
        if view.automatic {
            tracing::info!(target: "dogwood::views", view = name, sqlstate = error.code, why, "a view of a query fails");
        } else {
            tracing::warn!(target: "dogwood::views", view = name, sqlstate = error.code, why, "a view fails");
        }
        if view.component == ComponentId::ORDERED {
            // It fails before it could be tied to others.
            view.component = self.new_component();
        }
        self.set(view.component, id, ViewState::at(Stage::Failed(error)));
    }
}
