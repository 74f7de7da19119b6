//! Where states of the database are published: tables when they are durable, views when they have followed.
//!
//! ```text
//! flush thread ── publish: the leaves as of T ─────────▶ ┌─────────────┐ ─▶ readers
//!                                                        │ one pointer │
//! view worker  ── pass: a component is through to T' ──▶ └─────────────┘ ─▶ subscribers, whoever waits for the component
//! ```
//!
//! Views that are tied by views over views are a *component*, which goes through commits as one, by a frontier of its own.
//! A commit that a component has not gone through yet is published all the same; then its views are *behind*: not wrong
//! there, but absent. Whoever committed is answered when the views of what it wrote are through, unless they may follow
//! later (see `deferral`), and nobody else's weight is felt. Of a component that is behind the last state that it has come
//! through to is kept, too, for readers who wait.
//!
//! The other way it carries which relations which components read, of all view workers. Only structural messages make them
//! read more, so whoever has told a worker some waits until they are heard.

mod lag;

use crate::dataflow::CLOCK;
use crate::deferral::{Attention, Attentions, DEFERRED_MAX, Demand};
use crate::subscription::{Deltas, Subscriptions};
use arc_swap::ArcSwap;
use lag::Lag;
use parking_lot::{Condvar, Mutex, MutexGuard};
use repr::{CommitTime, RelationId};
use state::SqlError;
use state::clock::now_micros;
use state::published::Published;
use state::view_states::{ViewState, Views};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A component: views that are tied by views over views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentId {
    /// The view worker that keeps it.
    pub worker: usize,
    number: u64,
}

impl ComponentId {
    /// The ordered indexes, which go through every commit at once.
    pub const ORDERED: ComponentId = ComponentId { worker: 0, number: 0 };

    /// The one after so many others of a worker.
    pub fn new(worker: usize, others: u64) -> Self {
        ComponentId { worker, number: others + 1 }
    }
}

/// A component, and a commit that it has to be through.
pub type Waits = BTreeMap<ComponentId, CommitTime>;

/// Called once what was waited for is there.
pub type OnReady = Box<dyn FnOnce() + Send>;

/// A reader who waits for a view looks again after so long whether it may wait on.
const LOOK: Duration = Duration::from_millis(10);
/// It waits as long as it took to fill the view, but within these.
const PATIENCE_MIN: Duration = Duration::from_millis(2);
const PATIENCE_MAX: Duration = Duration::from_secs(1);
/// So long whoever may read any view waits for what commits have still to go through.
const CATCH_UP: Duration = Duration::from_millis(20);
/// Not for those of which one group takes longer.
const QUICK: Duration = Duration::from_millis(10);
/// A reader waits for a tick as long as it took to fill the view, but so long at least: it is made durable like a commit.
const CLOCK_PATIENCE_MIN: Duration = Duration::from_millis(20);
/// While a row is due the clock is looked at again after so long, as it may have been set.
const CLOCK_LOOK: Duration = Duration::from_secs(10);

/// See the module.
pub struct Publication {
    published: Arc<ArcSwap<Published>>,
    subscriptions: Arc<Subscriptions>,
    frontiers: Mutex<Frontiers>,
    news: News,
    /// By worker, structural messages that it is done with.
    heard: Vec<AtomicU64>,
    routes: ArcSwap<Routes>,
    /// By worker, whether somebody waits for what it leaves for later.
    demands: Vec<Demand>,
    /// An erasure that views hold up no longer.
    given_up: AtomicU64,
}

/// Where one waits for what. Whoever waits is woken for what it waits for, and for nothing else: each time costs as much as
/// taking a small view through a commit.
#[derive(Default)]
struct News {
    /// Another state is published.
    published: Condvar,
    /// What `Waiting::quick` asks for is there.
    quick: Condvar,
    /// A worker has settled.
    settled: Condvar,
    /// A worker has heard a structural message.
    heard: Condvar,
    /// Something may be due earlier than it was; or nobody is to wait for that any more.
    due: Condvar,
}

/// Who reads what.
#[derive(Clone, Default)]
pub struct Routes {
    /// By relation, the components that read it.
    pub readers: BTreeMap<RelationId, Vec<ComponentId>>,
    /// The views of each.
    pub members: BTreeMap<ComponentId, Vec<RelationId>>,
    /// With so much lag of a view of the catalog those who read it and write its tables bear.
    pub max_lags: BTreeMap<RelationId, Duration>,
    /// Whether there is any such view, which is seldom.
    pub(crate) any_bears: bool,
    pub(crate) attentions: Attentions,
}

/// What views became.
pub struct Passed {
    /// As of this commit.
    pub time: CommitTime,
    /// The component that is through all groups up to there; none where only something else has changed.
    pub component: Option<ComponentId>,
    /// The leaves at that time, if it went through groups.
    pub after: Option<Arc<Published>>,
    /// What it took.
    pub pace: Pace,
    /// It has no views any more.
    pub retired: bool,
    /// Its views that have become others; none are gone.
    pub views: Vec<(RelationId, Option<Arc<ViewState>>)>,
    /// What changed in views that are watched.
    pub deltas: Deltas,
}

/// How long things take a component.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// To be filled.
    pub filling: Duration,
    /// To go through what came last.
    pub group: Duration,
}

/// Who keeps a view, and how far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// The worker that keeps it.
    pub worker: Option<usize>,
    /// How long it has been behind.
    pub lag: Option<Duration>,
}

/// How far all have come.
#[derive(Default)]
struct Frontiers {
    /// Of commits that are not published yet.
    ahead: Vec<Passed>,
    /// How far each component is, as far as it was told of commits.
    reached: BTreeMap<ComponentId, CommitTime>,
    /// By worker, all of its components are through all groups up to there that it was told of.
    settled: Vec<CommitTime>,
    /// An erasure that not all workers have settled.
    erasure: Option<CommitTime>,
    /// By worker, who reads what there.
    routes: Vec<Routes>,
    /// Components that published commits have to go through.
    lags: BTreeMap<ComponentId, Lag>,
    waiting: Waiting,
    paces: BTreeMap<ComponentId, Pace>,
}

/// Who waits for components; and the views that wait for the clock.
#[derive(Default)]
struct Waiting {
    /// What is waited for before it is published.
    quick: Option<Waits>,
    /// Answers to commits that are published.
    parked: Vec<(Waits, OnReady)>,
    /// Of views with temporal filters, when the clock next changes them.
    due: BTreeMap<RelationId, i64>,
    /// For which of these moments the clock's thread waits, if for one.
    woken_at: Option<i64>,
}

impl Publication {
    /// Publishes by this pointer what so many workers make of it.
    pub fn new(published: Arc<ArcSwap<Published>>, subscriptions: Arc<Subscriptions>, workers: usize) -> Self {
        let (settled, routes) = (vec![CommitTime::default(); workers], vec![Routes::default(); workers]);
        Publication {
            published,
            subscriptions,
            frontiers: Mutex::new(Frontiers { settled, routes, ..Frontiers::default() }),
            news: News::default(),
            heard: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            routes: ArcSwap::default(),
            demands: (0..workers).map(|_| Demand::default()).collect(),
            given_up: AtomicU64::new(0),
        }
    }

    /// A worker is done with so many structural messages; who reads what there, if that may have changed.
    pub fn hear(&self, worker: usize, messages: u64, routes: Option<Routes>) {
        if let Some(routes) = routes {
            let mut frontiers = self.frontiers.lock();
            frontiers.routes[worker] = routes;
            let all = Routes::of_all(&frontiers.routes, &self.routes.load().attentions);
            self.routes.store(Arc::new(all));
        }
        if self.heard[worker].swap(messages, Ordering::AcqRel) != messages {
            // Under the lock, so that nobody begins to wait in between.
            let _frontiers = self.frontiers.lock();
            self.news.heard.notify_all();
        }
    }

    /// Who reads what, for someone who has told each worker so many structural messages: waits until they are heard.
    pub fn routes(&self, told: &[u64]) -> Arc<Routes> {
        let is_heard = || self.heard.iter().zip(told).all(|(heard, told)| heard.load(Ordering::Acquire) >= *told);
        if !is_heard() {
            let mut frontiers = self.frontiers.lock();
            while !is_heard() {
                self.news.heard.wait(&mut frontiers);
            }
        }
        self.routes.load_full()
    }

    /// What views became, in order. What is of commits that are published is published at once, together; the rest with its commits.
    pub fn pass(&self, passed: Vec<Passed>) {
        self.pass_to(self.frontiers.lock(), passed);
    }

    fn pass_to(&self, mut frontiers: MutexGuard<'_, Frontiers>, passed: Vec<Passed>) {
        for Passed { component, time, pace, .. } in &passed {
            if let Some(component) = component {
                frontiers.reached.insert(*component, *time);
                frontiers.paces.insert(*component, *pace);
            }
        }
        let published = self.published.load_full();
        let (due, ahead): (Vec<_>, Vec<_>) = passed.into_iter().partition(|passed| passed.time <= published.time);
        if !ahead.is_empty() {
            frontiers.ahead.extend(ahead);
            if frontiers.waiting.quick.as_ref().is_some_and(|waits| frontiers.are_quick(waits)) {
                self.news.quick.notify_all();
            }
        }
        if due.is_empty() {
            return;
        }
        let mut views = published.views.clone();
        let told = due.into_iter().map(|passed| Self::apply(&mut frontiers, &mut views, passed)).collect();
        views.set_behind(frontiers.behind(&self.routes.load()));
        // Under the lock, so that no group is published in between.
        self.published.store(Arc::new(Published { views, ..Published::clone(&published) }));
        self.finish(frontiers, told, published.time);
    }

    /// All components of a worker are through all groups up to there that it was told of.
    pub fn settle(&self, worker: usize, time: CommitTime) {
        let mut frontiers = self.frontiers.lock();
        frontiers.settled[worker] = frontiers.settled[worker].max(time);
        let settled = frontiers.settled();
        self.news.settled.notify_all();
        if let Some(erasure) = frontiers.erasure.take_if(|erasure| *erasure <= settled) {
            // What subscribers were told of the erasure stands before it. Whoever waits for it sees it after this. What workers
            // have come through since is not of its time.
            let mut deltas = Deltas::default();
            deltas.forget();
            self.pass_to(frontiers, vec![Passed::only(erasure, deltas)]);
        }
    }

    /// Of these components those whose lag is borne with as yet: whoever writes what they read does not wait for them.
    pub fn borne(&self, waits: &Waits) -> BTreeSet<ComponentId> {
        let routes = self.routes.load();
        if !routes.any_bears {
            return BTreeSet::new();
        }
        let bears = |component: &ComponentId| routes.max_lag(component).filter(|max_lag| !max_lag.is_zero());
        let bearing: Vec<_> = waits.keys().filter_map(|component| Some((*component, bears(component)?))).collect();
        let frontiers = self.frontiers.lock();
        let is_borne = |(component, max_lag): &(ComponentId, Duration)| {
            frontiers.lags.get(component).is_none_or(|lag| lag.duration() < *max_lag)
        };
        bearing.into_iter().filter(is_borne).map(|(component, _)| component).collect()
    }

    /// Of these components, which a commit concerns, those that may follow it later: nobody has read their views since some
    /// commits, nobody watches them, and they are not far behind.
    pub fn deferrable(&self, components: &BTreeSet<ComponentId>) -> BTreeSet<ComponentId> {
        let routes = self.routes.load();
        let is_unread = |id: &&ComponentId| routes.attentions.get(**id).is_some_and(Attention::is_unread_after_another);
        let mut deferrable: BTreeSet<ComponentId> = components.iter().filter(is_unread).copied().collect();
        if deferrable.is_empty() {
            return deferrable;
        }
        let members = |id: &ComponentId| routes.members.get(id).into_iter().flatten();
        deferrable.retain(|id| !self.subscriptions.remembers(members(id)));
        let frontiers = self.frontiers.lock();
        deferrable.retain(|id| frontiers.lags.get(id).is_none_or(|lag| lag.duration() < DEFERRED_MAX));
        deferrable
    }

    /// A worker that has worked for so long rests before it goes through what may come later, on its own thread, as long as nobody
    /// waits for it.
    pub fn rest(&self, worker: usize, worked: Duration) {
        let _ended_early = self.demands[worker].rest(worked);
    }

    /// A worker is to rest no longer.
    pub fn demand(&self, worker: usize) {
        self.demands[worker].raise();
    }

    /// Somebody reads these views: the next commits take them along at once.
    pub fn note_read<'v>(&self, views: impl IntoIterator<Item = &'v RelationId>) {
        self.routes.load().attentions.note(views);
    }

    /// Waits until no view is behind but those that take long, or a moment: for whoever may read any of them as of now.
    pub fn catch_up(&self) {
        let is_any_behind = || self.published.load().views.are_any_behind();
        if !is_any_behind() {
            return;
        }
        let (mut frontiers, began) = (self.frontiers.lock(), Instant::now());
        loop {
            self.routes.load().attentions.note_all();
            let is_quick = |id: &&ComponentId| frontiers.paces.get(*id).is_none_or(|pace| pace.group < QUICK);
            let workers: BTreeSet<usize> = frontiers.lags.keys().filter(is_quick).map(|id| id.worker).collect();
            let left = CATCH_UP.saturating_sub(began.elapsed());
            if workers.is_empty() || left.is_zero() {
                return;
            }
            workers.into_iter().for_each(|worker| self.demand(worker));
            self.news.published.wait_for(&mut frontiers, LOOK.min(left));
        }
    }

    /// Waits until something is published, or a moment.
    pub fn await_news(&self) {
        self.news.published.wait_for(&mut self.frontiers.lock(), LOOK);
    }

    /// Waits until these components are through, but those that were behind before and no longer than that.
    pub fn await_quick(&self, waits: &Waits, patience: Duration) {
        let mut frontiers = self.frontiers.lock();
        let until = Instant::now() + patience;
        while !frontiers.are_quick(waits) {
            frontiers.waiting.quick = Some(waits.clone());
            if self.news.quick.wait_until(&mut frontiers, until).timed_out() {
                break;
            }
        }
        frontiers.waiting.quick = None;
    }

    /// All workers are about to be told of an erasure.
    pub fn expect_erasure(&self, time: CommitTime) {
        self.frontiers.lock().erasure = Some(time);
    }

    /// Waits until all components are through an erasure. Those that take longer than this are filled anew.
    pub fn await_settled(&self, time: CommitTime, patience: Duration) {
        let mut frontiers = self.frontiers.lock();
        let until = Instant::now() + patience;
        while frontiers.settled() < time {
            if self.given_up.load(Ordering::Relaxed) >= time.0 {
                self.news.settled.wait(&mut frontiers);
            } else if self.news.settled.wait_until(&mut frontiers, until).timed_out() {
                self.given_up.store(time.0, Ordering::Relaxed);
            }
        }
    }

    /// The last erasure that views have held up for too long.
    pub fn given_up(&self) -> CommitTime {
        CommitTime(self.given_up.load(Ordering::Relaxed))
    }

    /// Publishes a state that is durable. The views of these components are behind, unless they are through.
    pub fn publish(&self, state: &Published, waits: &Waits) {
        let mut frontiers = self.frontiers.lock();
        let published = self.published.load_full();
        let (mut views, mut told) = (published.views.clone(), Vec::new());
        let (routes, mut shown) = (self.routes.load(), BTreeMap::new());
        // A component may be further than another that came after it.
        let (due, ahead): (Vec<_>, Vec<_>) =
            std::mem::take(&mut frontiers.ahead).into_iter().partition(|passed| passed.time <= state.time);
        frontiers.ahead = ahead;
        for passed in due {
            shown.extend(passed.component.map(|component| (component, passed.time)));
            told.push(Self::apply(&mut frontiers, &mut views, passed));
        }
        for (component, time) in waits {
            let shown: Option<CommitTime> = shown.get(component).copied();
            if shown.is_some_and(|shown| shown >= *time) {
                continue;
            }
            let since = shown.unwrap_or(published.time);
            let members = routes.members.get(component).into_iter().flatten().copied();
            let lag = frontiers.lags.entry(*component).or_insert_with(|| Lag::new(since));
            lag.owe(*time);
            lag.views.extend(members);
        }
        views.set_behind(frontiers.behind(&routes));
        self.published.store(Arc::new(Published { views, ..Published::clone(state) }));
        self.finish(frontiers, told, state.time);
    }

    /// Who keeps which view, and which are behind.
    pub fn standing(&self) -> BTreeMap<RelationId, Standing> {
        let routes = self.routes.load();
        let mut standing = BTreeMap::new();
        for (component, views) in &routes.members {
            let worker = Some(component.worker);
            standing.extend(views.iter().map(|view| (*view, Standing { worker, lag: None })));
        }
        for lag in self.frontiers.lock().lags.values() {
            for view in &lag.views {
                standing.entry(*view).or_default().lag = Some(lag.duration());
            }
        }
        standing
    }

    /// The components that a tick of the clock concerns: those with views that have rows due by then.
    pub fn due_by(&self, clock: i64) -> BTreeSet<ComponentId> {
        let due: BTreeSet<RelationId> =
            self.frontiers.lock().waiting.due.iter().filter(|(_, due)| **due <= clock).map(|(view, _)| *view).collect();
        let routes = self.routes.load();
        let readers = routes.readers.get(&CLOCK).into_iter().flatten().copied();
        let concerned = |component: &ComponentId| {
            routes.members.get(component).is_some_and(|views| views.iter().any(|view| due.contains(view)))
        };
        readers.filter(concerned).collect()
    }

    /// Waits until a row is due in a view that has nothing else to go through; or until it is stopped.
    pub fn await_due(&self, stopped: &AtomicBool) {
        let mut frontiers = self.frontiers.lock();
        while !stopped.load(Ordering::Relaxed) {
            frontiers.waiting.woken_at = frontiers.next_due();
            let Some(due) = frontiers.waiting.woken_at else {
                self.news.due.wait(&mut frontiers);
                continue;
            };
            let Ok(left) = u64::try_from(due - now_micros()) else { return };
            if left == 0 {
                return;
            }
            // The clock may be set while somebody waits.
            self.news.due.wait_for(&mut frontiers, Duration::from_micros(left).min(CLOCK_LOOK));
        }
    }

    /// Nobody is to wait for what is due any more.
    pub fn wake_due(&self) {
        // Under the lock, so that nobody begins to wait in between.
        let _frontiers = self.frontiers.lock();
        self.news.due.notify_all();
    }

    /// Waits until the clock of these views has reached a moment, no longer than computing them would take. `check` says
    /// whether to wait on.
    pub fn await_clock(
        &self,
        views: &[RelationId],
        moment: i64,
        check: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let (mut frontiers, began) = (self.frontiers.lock(), Instant::now());
        let components = self.routes.load();
        let of = |(component, _): &(&ComponentId, &Pace)| {
            components.members.get(*component).is_some_and(|members| members.iter().any(|view| views.contains(view)))
        };
        let filling = frontiers.paces.iter().filter(of).map(|(_, pace)| pace.filling).max().unwrap_or_default();
        let patience = filling.clamp(CLOCK_PATIENCE_MIN, PATIENCE_MAX);
        while self.published.load().views.are_before(views, moment) {
            let waited = began.elapsed();
            if waited >= patience {
                break;
            }
            self.news.published.wait_for(&mut frontiers, LOOK.min(patience.saturating_sub(waited)));
            check()?;
        }
        Ok(())
    }

    /// Answers once these components are through, which may be at once.
    pub fn park(&self, waits: Waits, answer: OnReady) {
        let mut frontiers = self.frontiers.lock();
        if frontiers.are_through(&waits) {
            drop(frontiers);
            return answer();
        }
        frontiers.waiting.parked.push((waits, answer));
    }

    /// A state of now or later in which these views are not behind, if there is one soon; none if they can be read as they are.
    /// `check` says whether to wait on. Waits no longer than computing them would take.
    pub fn with_views(
        &self,
        views: &[RelationId],
        check: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<Option<Arc<Published>>, SqlError> {
        self.note_read(views);
        let is_overdue = |published: &Published| views.iter().any(|view| published.views.is_overdue(*view));
        let asked_at = {
            let published = self.published.load();
            // Most often: without a lock.
            if !is_overdue(&published) {
                return Ok(None);
            }
            published.time
        };
        let (mut frontiers, began) = (self.frontiers.lock(), Instant::now());
        loop {
            if !is_overdue(&self.published.load()) {
                return Ok(None);
            }
            let concerns = |lag: &Lag| views.iter().any(|view| lag.views.contains(view));
            let lags: Vec<(&ComponentId, &Lag)> = frontiers.lags.iter().filter(|(_, lag)| concerns(lag)).collect();
            lags.iter().for_each(|(id, _)| self.demand(id.worker));
            if let [(_, Lag { last: Some(last), .. })] = lags.as_slice()
                && last.time >= asked_at
                && views.iter().all(|view| last.views.ready(*view).is_some())
            {
                return Ok(Some(last.clone()));
            }
            let paces = lags.iter().filter_map(|(id, _)| frontiers.paces.get(id));
            let (patience, expected) = paces.fold((PATIENCE_MIN, Duration::ZERO), |(patience, expected), pace| {
                (patience.max(pace.filling.min(PATIENCE_MAX)), expected.max(pace.group))
            });
            let waited = began.elapsed();
            if waited >= patience || expected > patience {
                return Ok(None);
            }
            self.news.published.wait_for(&mut frontiers, LOOK.min(patience.saturating_sub(waited)));
            check()?;
        }
    }

    /// What came out of it stands in these views from now on. What subscribers are told of it.
    fn apply(frontiers: &mut Frontiers, views: &mut Views, passed: Passed) -> (CommitTime, Deltas) {
        let Passed { time, component, after, views: became, deltas, retired, .. } = passed;
        let ids: Vec<RelationId> = became.iter().map(|(id, _)| *id).collect();
        for (id, state) in became {
            match state.as_ref().and_then(|state| state.span).filter(|span| span.until < i64::MAX) {
                Some(span) => frontiers.waiting.due.insert(id, span.until),
                None => frontiers.waiting.due.remove(&id),
            };
            match state {
                Some(state) => views.set(id, state),
                None => views.remove(id),
            }
        }
        let Some(component) = component else { return (time, deltas) };
        if retired {
            frontiers.reached.remove(&component);
            frontiers.paces.remove(&component);
            frontiers.lags.remove(&component);
        } else if let Some(lag) = frontiers.lags.get_mut(&component) {
            lag.reach(time);
            lag.views.extend(ids);
            if time >= lag.until {
                frontiers.lags.remove(&component);
            } else if let Some(after) = after {
                let mut own = Views::default();
                let states = lag.views.iter().filter_map(|view| Some((*view, views.get(*view)?.clone())));
                states.for_each(|(view, state)| own.set(view, state));
                lag.last = Some(Arc::new(Published { views: own, ..Published::clone(&after) }));
            }
        }
        (time, deltas)
    }

    /// Tells what was published, to subscribers before those who wait.
    fn finish(&self, mut frontiers: MutexGuard<'_, Frontiers>, told: Vec<(CommitTime, Deltas)>, time: CommitTime) {
        let frontier = frontiers.lags.values().map(|lag| lag.since).min().unwrap_or(time);
        self.subscriptions.tell(told, frontier);
        let mut answers = Vec::new();
        if !frontiers.waiting.parked.is_empty() {
            let parked = std::mem::take(&mut frontiers.waiting.parked);
            for (waits, answer) in parked {
                if frontiers.are_through(&waits) {
                    answers.push(answer);
                } else {
                    frontiers.waiting.parked.push((waits, answer));
                }
            }
        }
        self.news.published.notify_all();
        if let Some(due) = frontiers.next_due()
            && frontiers.waiting.woken_at.is_none_or(|woken_at| due < woken_at)
        {
            self.news.due.notify_all();
        }
        drop(frontiers);
        answers.into_iter().for_each(|answer| answer());
    }
}

impl Passed {
    /// Subscribers are told, of no component.
    pub fn only(time: CommitTime, deltas: Deltas) -> Self {
        let (pace, views) = (Pace::default(), Vec::new());
        Passed { time, component: None, after: None, pace, retired: false, views, deltas }
    }
}

impl Routes {
    /// The lag of a component with which whoever writes its tables bears: none if it has no views of the catalog.
    fn max_lag(&self, component: &ComponentId) -> Option<Duration> {
        let views = self.members.get(component).into_iter().flatten();
        views.filter_map(|view| self.max_lags.get(view)).min().copied()
    }

    fn of_all(workers: &[Routes], before: &Attentions) -> Routes {
        let mut all = Routes::default();
        for Routes { readers, members, max_lags, .. } in workers {
            all.any_bears |= max_lags.values().any(|max_lag| !max_lag.is_zero());
            all.max_lags.extend(max_lags);
            readers.iter().for_each(|(relation, components)| {
                all.readers.entry(*relation).or_default().extend(components);
            });
            all.members.extend(members.iter().map(|(component, views)| (*component, views.clone())));
        }
        all.attentions = Attentions::of(&all.members, before);
        all
    }
}

impl Frontiers {
    /// All components of all workers are through all groups up to there.
    fn settled(&self) -> CommitTime {
        self.settled.iter().min().copied().unwrap_or_default()
    }

    /// When the clock next changes a view that has nothing to go through.
    fn next_due(&self) -> Option<i64> {
        let is_behind = |view: &RelationId| self.lags.values().any(|lag| lag.views.contains(view));
        self.waiting.due.iter().filter(|(view, _)| !is_behind(view)).map(|(_, due)| *due).min()
    }

    /// The views that are behind, and until when their readers bear with it.
    fn behind(&self, routes: &Routes) -> BTreeMap<RelationId, Instant> {
        let max_lag = |view: &RelationId| routes.max_lags.get(view).copied().unwrap_or_default();
        let of =
            |lag: &Lag| -> Vec<_> { lag.views.iter().map(|view| (*view, lag.borne_until(max_lag(view)))).collect() };
        self.lags.values().flat_map(of).collect()
    }

    /// Whether these are through, but for those that were behind before.
    fn are_quick(&self, waits: &Waits) -> bool {
        waits.iter().all(|(component, time)| {
            self.lags.contains_key(component) || self.reached.get(component).is_some_and(|reached| reached >= time)
        })
    }

    /// Whether whoever waits so sees what it waits for in what is published.
    fn are_through(&self, waits: &Waits) -> bool {
        waits.iter().all(|(component, time)| self.lags.get(component).is_none_or(|lag| lag.since >= *time))
    }
}
