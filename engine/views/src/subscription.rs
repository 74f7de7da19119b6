//! Who watches which view, and how changes reach them.
//!
//! ```text
//! flush thread, after publishing ──▶ DISPATCH THREAD ──▶ one bounded queue a subscriber ──▶ its connection
//!                                     by view, then by key
//! ```
//!
//! A subscriber registers first and takes its snapshot afterwards: changes up to the snapshot's time are then
//! dropped from its queue, later ones arrive once each, in commit order. Whoever does not take its changes
//! is cut; nobody ever waits for a subscriber. The latest changes are held for who comes back (`history`).

pub mod form;
mod queue;

pub use queue::{Begun, Change, Listed, Made, Taken};

use crate::history::History;
use arrangements::ordered_row::OrderedRow;
use arrangements::shared::ViewBatch;
use parking_lot::Mutex;
use queue::Queue;
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::published::Published;
use state::settings::server::ServerSettings;
use state::snapshot_holders::{Holder, SnapshotHold};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long it is looked, at one commit, whose rows fail. Whoever is not looked at by then counts as one of them.
const RECHECKS_MAX: Duration = Duration::from_secs(1);

/// What one commit group changed in views.
#[derive(Clone, Default)]
pub struct Deltas {
    changed: Vec<(RelationId, Arc<Delta>)>,
    ended: Vec<(RelationId, SqlError)>,
    doubts: Option<Doubts>,
    forgets: bool,
}

/// Views in which other rows fail than before, each with why one does (in it, or in a view below), and the state in which
/// they do: whose rows they are is found by looking.
#[derive(Clone)]
struct Doubts {
    views: Vec<(RelationId, Option<SqlError>)>,
    state: Arc<Published>,
}

/// Whether what is watched has in a state the rows that the view says, though rows of others may fail there: why not.
pub type Recheck = Arc<dyn Fn(&Arc<Published>) -> Result<(), SqlError> + Send + Sync>;

/// What the hub has to know of a subscription.
pub struct SubscriptionTerms {
    /// Whether its rows are among those that fail.
    pub recheck: Recheck,
    /// Whether what it is told may be of a person.
    pub personal: bool,
}

/// What one commit group changed in one view.
pub struct Delta {
    /// The changes, by the key of its first arrangement.
    batches: Vec<ViewBatch>,
    /// Whether rows stand behind the codes of an order.
    ordered: bool,
}

impl Deltas {
    /// Whether nobody has to hear of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.ended.is_empty() && self.doubts.is_none() && !self.forgets
    }

    /// Adds a view's changes.
    pub fn push(&mut self, view: RelationId, batches: Vec<ViewBatch>, ordered: bool) {
        if !batches.is_empty() {
            self.changed.push((view, Arc::new(Delta { batches, ordered })));
        }
    }

    /// The view is no more, or its rows cannot be told.
    pub fn end(&mut self, view: RelationId, error: SqlError) {
        self.ended.push((view, error));
    }

    /// Other rows fail in these views than before; where rows fail at all, why.
    pub fn doubt(&mut self, views: Vec<(RelationId, Option<SqlError>)>, state: Arc<Published>) {
        self.doubts = Some(Doubts { views, state });
    }

    /// A person was forgotten: nobody may go on from before.
    pub fn forget(&mut self) {
        self.forgets = true;
    }
}

impl Delta {
    /// Bytes of its batches.
    pub fn bytes(&self) -> usize {
        self.batches.iter().map(ViewBatch::bytes).sum()
    }

    /// Bytes of batches that nobody holds but this.
    pub(crate) fn bytes_of_its_own(&self) -> usize {
        self.batches.iter().filter(|batch| batch.is_held_once()).map(ViewBatch::bytes).sum()
    }

    /// Its changes of some keys.
    fn for_keys<'k>(&self, key: impl Fn(&[u8]) -> Option<&'k [u8]>) -> HashMap<&'k [u8], Vec<(Row, isize)>> {
        let row = |bytes: &[u8]| Row::from_bytes(if self.ordered { OrderedRow::row(bytes) } else { bytes }.into());
        let mut by_key: HashMap<&[u8], Vec<(Row, isize)>> = HashMap::new();
        for batch in &self.batches {
            batch.for_each(|found, bytes, diff| {
                if let Some(key) = key(found) {
                    by_key.entry(key).or_default().push((row(bytes), diff));
                }
            });
        }
        by_key
    }
}

/// All subscribers.
pub struct Subscriptions {
    told: Sender<News>,
    hub: Mutex<HashMap<RelationId, SubscribedView>>,
    /// Up to when changes of views that nobody watched may be told together, though they are of several commits. Locked after the hub.
    folded: Mutex<HashMap<RelationId, CommitTime>>,
    /// All changes up to here are in the queues.
    frontier: AtomicU64,
    begun: AtomicU64,
    /// Those that are told how far the frontier has come.
    followers: Mutex<BTreeMap<u64, Arc<Queue>>>,
    /// What waits in all queues.
    queued_bytes: Arc<AtomicUsize>,
    settings: Arc<ServerSettings>,
}

/// What the dispatch thread is given, in order.
enum News {
    /// What was published, and how far all have been told then.
    Groups(Vec<(CommitTime, Deltas)>, CommitTime),
    /// Somebody waits until all that was told before is in the queues.
    Awaited(Sender<()>),
}

/// A view that is or was subscribed to.
#[derive(Default)]
struct SubscribedView {
    by_key: HashMap<Box<[u8]>, Vec<Arc<Queue>>>,
    subscribers: usize,
    /// None while its rows cannot be told.
    history: Option<History>,
}

impl Subscriptions {
    /// Starts the dispatch thread, which ends with the last `Arc`. Nothing was told up to this time.
    pub fn start(time: CommitTime, settings: Arc<ServerSettings>) -> Arc<Subscriptions> {
        let (told, changes) = channel();
        let subscriptions = Arc::new(Subscriptions {
            told,
            hub: Mutex::new(HashMap::new()),
            folded: Mutex::default(),
            frontier: AtomicU64::new(time.0),
            begun: AtomicU64::new(0),
            followers: Mutex::default(),
            queued_bytes: Arc::default(),
            settings,
        });
        let dispatcher = Arc::downgrade(&subscriptions);
        std::thread::Builder::new()
            .name("subscriptions".into())
            .spawn(move || {
                let changes: Receiver<News> = changes;
                while let Ok(news) = changes.recv() {
                    match news {
                        News::Groups(groups, frontier) => {
                            let Some(subscriptions) = dispatcher.upgrade() else { return };
                            subscriptions.dispatch(groups, frontier);
                        }
                        // Who asked may have gone.
                        News::Awaited(asker) => {
                            let _gone = asker.send(());
                        }
                    }
                }
            })
            .expect("the process can start its dispatch thread");
        subscriptions
    }

    /// Hands over what was published; with it all changes up to the frontier have been. Never waits.
    pub fn tell(&self, mut groups: Vec<(CommitTime, Deltas)>, frontier: CommitTime) {
        // Whoever begins after this reads what was published: as long as nobody watches, no thread is woken for it.
        if let Some(hub) = self.hub.try_lock()
            && hub.is_empty()
        {
            self.frontier.fetch_max(frontier.0, Ordering::AcqRel);
            return;
        }
        groups.retain(|(_, deltas)| !deltas.is_empty());
        if groups.is_empty() && !self.are_followed() {
            return;
        }
        // The dispatch thread lives as long as this does.
        let _told = self.told.send(News::Groups(groups, frontier));
    }

    /// Whether somebody is to hear of commits that change nothing for anybody.
    fn are_followed(&self) -> bool {
        !self.followers.lock().is_empty()
    }

    /// Waits until the queues and histories hold all that was told before.
    pub fn settle(&self) {
        // What was told to nobody is in no queue.
        if self.hub.try_lock().is_some_and(|hub| hub.is_empty()) {
            return;
        }
        let (done, settled) = channel();
        if self.told.send(News::Awaited(done)).is_ok() {
            // The dispatch thread answers, or has ended with the database.
            let _settled = settled.recv();
        }
    }

    /// How many subscriptions each view has.
    pub fn by_view(&self) -> Vec<(RelationId, usize)> {
        self.hub.lock().iter().map(|(view, watched)| (*view, watched.subscribers)).collect()
    }

    /// All subscriptions, in the order in which they began.
    pub fn list(&self) -> Vec<Listed> {
        let mut listed = BTreeMap::new();
        for (view, watched) in self.hub.lock().iter() {
            for queue in watched.by_key.values().flatten() {
                // One subscription may stand at several keys.
                listed.entry(queue.number).or_insert_with(|| queue.listed(*view));
            }
        }
        listed.into_values().collect()
    }

    fn queue(&self, watch: SubscriptionTerms) -> Arc<Queue> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Queue::new(number, self.queued_bytes.clone(), watch.recheck, watch.personal))
    }

    /// Whether somebody has still to be told that rows are gone which an erasure up to this time took. Those are cut, if they
    /// have had their time.
    pub fn owe(&self, time: CommitTime, cut: bool) -> bool {
        let hub = self.hub.lock();
        let mut owing =
            hub.values().flat_map(|watched| watched.by_key.values().flatten()).filter(|queue| queue.owes(time));
        if !cut {
            return owing.next().is_some();
        }
        owing.for_each(|queue| {
            queue.cut("A data subject was forgotten, and rows that were told earlier had to be told to be gone.");
        });
        false
    }

    /// What waits in all queues.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }

    /// What is held for those who come back.
    pub fn history_bytes(&self) -> usize {
        self.hub.lock().values().filter_map(|watched| watched.history.as_ref()).map(History::bytes).sum()
    }

    /// Cuts those for whom most waits until no more waits for all together than may.
    fn cut_largest(&self, hub: &HashMap<RelationId, SubscribedView>) {
        let bytes_max = self.settings.subscription_memory.bytes();
        if self.queued_bytes() <= bytes_max {
            return;
        }
        let mut queues: Vec<(usize, &Arc<Queue>)> = hub
            .values()
            .flat_map(|watched| watched.by_key.values().flatten())
            .map(|queue| (queue.waiting_bytes(), queue))
            .collect();
        // One subscription may stand at several keys: what was cut holds nothing any more.
        queues.sort_by_key(|(bytes, queue)| (Reverse(*bytes), queue.number));
        for (bytes, queue) in queues {
            if bytes == 0 || self.queued_bytes() <= bytes_max {
                return;
            }
            queue.cut(&format!(
                "More than dogwood.subscription_memory ({bytes_max} bytes) was waiting for all subscribers, and most of it here."
            ));
        }
    }

    /// Whether a view has subscribers.
    pub fn is_watched(&self, view: RelationId) -> bool {
        self.hub.lock().get(&view).is_some_and(|watched| watched.subscribers > 0)
    }

    /// Whether somebody watches one of these views, or may come back to an earlier time of it.
    pub fn remembers<'v>(&self, views: impl IntoIterator<Item = &'v RelationId>) -> bool {
        let hub = self.hub.lock();
        !hub.is_empty() && views.into_iter().any(|view| hub.contains_key(view))
    }

    /// Whether what several commits change in these views may be told as one change, of the last of them: nobody watches them. Whoever
    /// begins to watch one begins no earlier than that, and who comes back to an earlier time is refused.
    pub fn fold<'v>(&self, views: impl IntoIterator<Item = &'v RelationId> + Clone, until: CommitTime) -> bool {
        let mut hub = self.hub.lock();
        let is_watched = |view: &RelationId| hub.get(view).is_some_and(|watched| watched.subscribers > 0);
        if views.clone().into_iter().any(is_watched) {
            return false;
        }
        let mut folded = self.folded.lock();
        for view in views {
            if let Some(watched) = hub.get_mut(view) {
                watched.history = watched.history.take().map(|history| History::after(until.max(history.since())));
            }
            let noted = folded.entry(*view).or_insert(until);
            *noted = until.max(*noted);
        }
        true
    }

    /// The time before which a view's changes may be told together: who watches it reads it no earlier.
    pub fn folded_until(&self, view: RelationId) -> CommitTime {
        self.folded.lock().get(&view).copied().unwrap_or_default()
    }

    /// Begins to collect the changes of some keys of a view's first arrangement, each given once. The view can
    /// be read at this time, and is followed from there.
    pub fn subscribe(
        self: &Arc<Self>,
        view: RelationId,
        keys: Vec<Vec<u8>>,
        readable_at: CommitTime,
        watch: SubscriptionTerms,
    ) -> Subscription {
        let mut hub = self.hub.lock();
        // What nobody watched until here was told to nobody.
        let since = readable_at.max(CommitTime(self.frontier.load(Ordering::Acquire))).max(self.folded_until(view));
        let watched = hub.entry(view).or_default();
        watched.history.get_or_insert_with(|| History::after(since));
        self.enter(watched, view, keys, self.queue(watch))
    }

    /// The same, with all changes after `time` first. An error if they are no longer held: the time from which on
    /// they are.
    pub fn resume(
        self: &Arc<Self>,
        view: RelationId,
        keys: Vec<Vec<u8>>,
        time: CommitTime,
        watch: SubscriptionTerms,
    ) -> Result<Subscription, Option<CommitTime>> {
        // An erasure that has been answered has to be known here, and so has every change that the caller has seen.
        self.settle();
        let mut hub = self.hub.lock();
        let watched = hub.get_mut(&view).ok_or(None)?;
        let history = watched.history.as_ref().ok_or(None)?;
        let changes = history.changes_after(time).ok_or(Some(history.since()))?;
        let queue = self.queue(watch);
        for (time, delta) in changes {
            let wanted = |found: &[u8]| keys.iter().find(|key| key.as_slice() == found).map(Vec::as_slice);
            for rows in delta.for_keys(wanted).into_values() {
                queue.push(&Change { time, rows: rows.into(), made: None });
            }
        }
        let subscription = self.enter(watched, view, keys, queue);
        self.cut_largest(&hub);
        Ok(subscription)
    }

    fn enter(
        self: &Arc<Self>,
        watched: &mut SubscribedView,
        view: RelationId,
        keys: Vec<Vec<u8>>,
        queue: Arc<Queue>,
    ) -> Subscription {
        for key in &keys {
            watched.by_key.entry(key.as_slice().into()).or_default().push(queue.clone());
        }
        watched.subscribers += 1;
        Subscription { subscriptions: self.clone(), view, keys, queue }
    }

    /// A view was dropped that nobody needs.
    pub fn forget(&self, view: RelationId) {
        let mut hub = self.hub.lock();
        if hub.get(&view).is_none_or(|watched| watched.subscribers == 0) {
            hub.remove(&view);
            self.folded.lock().remove(&view);
        }
    }

    /// Lets go of changes that are too old. Called now and then.
    pub fn trim(&self) {
        self.hub.lock().values_mut().filter_map(|watched| watched.history.as_mut()).for_each(History::trim);
    }

    fn dispatch(&self, groups: Vec<(CommitTime, Deltas)>, frontier: CommitTime) {
        for (time, deltas) in groups {
            if let Some(doubts) = &deltas.doubts {
                self.resolve(time, doubts);
            }
            let mut hub = self.hub.lock();
            // First, so that nobody is told half of what cannot be told.
            for (view, error) in &deltas.ended {
                if let Some(watched) = hub.get_mut(view) {
                    watched.history = None;
                    watched.by_key.values().flatten().for_each(|queue| queue.end(error.clone()));
                }
            }
            for (view, delta) in &deltas.changed {
                if let Some(watched) = hub.get_mut(view) {
                    watched.dispatch(time, delta);
                }
            }
            if deltas.forgets {
                for watched in hub.values_mut() {
                    watched.history.iter_mut().for_each(|history| history.let_go(time));
                    watched.by_key.values().flatten().for_each(|queue| queue.erase(time));
                }
            }
            self.cut_largest(&hub);
            hub.retain(|_, watched| watched.subscribers > 0 || watched.history.is_some());
        }
        self.frontier.fetch_max(frontier.0, Ordering::AcqRel);
        self.followers.lock().values().for_each(|queue| queue.wake());
    }
}

impl Subscriptions {
    /// Ends the subscriptions whose rows fail; those of other keys go on.
    fn resolve(&self, time: CommitTime, doubts: &Doubts) {
        let until = Instant::now() + RECHECKS_MAX;
        for (view, error) in &doubts.views {
            let queues: BTreeMap<u64, Arc<Queue>> = match self.hub.lock().get_mut(view) {
                Some(watched) => {
                    // Whose rows failed is found for those who watch now, and for nobody who comes back.
                    watched.history.iter_mut().for_each(|history| history.let_go(time));
                    watched.by_key.values().flatten().map(|queue| (queue.number, queue.clone())).collect()
                }
                None => continue,
            };
            let Some(error) = error else { continue };
            for queue in queues.into_values() {
                // Whoever began later has looked by itself.
                if queue.begun.get().is_some_and(|begun| begun.since >= time) {
                    continue;
                }
                let stands = if Instant::now() < until { (queue.recheck)(&doubts.state) } else { Err(error.clone()) };
                if let Err(found) = stands {
                    queue.end(row_error(found, error));
                }
            }
        }
    }
}

/// Why a row of a subscription fails: what was found by looking, unless that came of the looking.
pub fn row_error(found: SqlError, error: &SqlError) -> SqlError {
    match found.code {
        "40001" | "53200" | "55000" | "57014" => error.clone(),
        _ => found,
    }
}

impl SubscribedView {
    fn dispatch(&mut self, time: CommitTime, delta: &Arc<Delta>) {
        let known = |found: &[u8]| self.by_key.get_key_value(found).map(|(key, _)| key.as_ref());
        for (key, rows) in delta.for_keys(known) {
            let queues = self.by_key.get(key).map_or(&[][..], Vec::as_slice);
            let change = Change { time, rows: rows.into(), made: (queues.len() > 1).then(Arc::default) };
            queues.iter().for_each(|queue| queue.push(&change));
        }
        if let Some(history) = &mut self.history {
            history.record(time, delta.clone());
        }
    }
}

/// One subscriber's end. Dropping it unsubscribes.
pub struct Subscription {
    subscriptions: Arc<Subscriptions>,
    view: RelationId,
    keys: Vec<Vec<u8>>,
    queue: Arc<Queue>,
}

impl Subscription {
    /// See [`Queue::watch`].
    pub fn watch(&self, waker: &Waker) -> bool {
        self.queue.watch(waker)
    }

    /// From now on it is woken too when the frontier has moved.
    pub fn follow(&self) {
        self.subscriptions.followers.lock().insert(self.queue.number, self.queue.clone());
    }

    /// See [`Queue::take`].
    pub fn take(&self, rows_max: usize, in_hand: &mut Option<Arc<SnapshotHold>>) -> Result<Taken, SqlError> {
        self.queue.take(rows_max, in_hand)
    }

    /// See [`Queue::begin`].
    pub fn begin(&self, begun: Begun, holder: &Arc<Holder>, opening: Option<Vec<Row>>) {
        self.queue.begin(begun, holder, opening);
    }

    /// See [`Subscriptions::settle`].
    pub fn settle(&self) {
        self.subscriptions.settle();
    }

    /// See [`Queue::erased_at`].
    pub fn erased_at(&self) -> CommitTime {
        self.queue.erased_at()
    }

    /// A time up to which all changes have been queued.
    pub fn frontier(&self) -> CommitTime {
        let frontier = CommitTime(self.subscriptions.frontier.load(Ordering::Acquire));
        // Of commits that changed nothing for anybody nobody had to hear before this began.
        self.queue.begun.get().map_or(frontier, |begun| frontier.max(begun.since))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscriptions.followers.lock().remove(&self.queue.number);
        let mut hub = self.subscriptions.hub.lock();
        if let Some(watched) = hub.get_mut(&self.view) {
            let keep = |queue: &Arc<Queue>| !Arc::ptr_eq(queue, &self.queue);
            for key in &self.keys {
                if let Some(queues) = watched.by_key.get_mut(key.as_slice()) {
                    queues.retain(keep);
                    if queues.is_empty() {
                        watched.by_key.remove(key.as_slice());
                    }
                }
            }
            watched.subscribers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> SubscriptionTerms {
        SubscriptionTerms { recheck: Arc::new(|_| Ok(())), personal: false }
    }

    #[test]
    fn what_is_told_together_is_told_to_nobody_who_came_meanwhile() {
        let settings = Arc::new(ServerSettings::new(1 << 20, 1 << 20, 1 << 20));
        let subscriptions = Subscriptions::start(CommitTime(5), settings);
        let (view, other, keys) = (RelationId(1), RelationId(2), vec![vec![1]]);
        // Three commits are taken together while nobody watches; who comes then reads the view no earlier than the last of them.
        assert!(subscriptions.fold([&view, &other], CommitTime(8)));
        let one = subscriptions.subscribe(view, keys.clone(), CommitTime(6), watch());
        assert_eq!(subscriptions.folded_until(view), CommitTime(8));
        // Nothing is taken together as long as somebody watches one of the views.
        assert!(!subscriptions.fold([&other, &view], CommitTime(9)));
        assert_eq!(subscriptions.folded_until(other), CommitTime(8));
        drop(one);
        // Afterwards it is, and nobody comes back to a time in its midst.
        assert!(subscriptions.resume(view, keys.clone(), CommitTime(8), watch()).is_ok());
        assert!(subscriptions.fold([&view], CommitTime(12)));
        let resumed = |time| subscriptions.resume(view, keys.clone(), CommitTime(time), watch()).err();
        assert_eq!(resumed(11), Some(Some(CommitTime(12))));
        assert_eq!(resumed(12), None);
        subscriptions.forget(view);
        assert_eq!(subscriptions.folded_until(view), CommitTime(0));
    }
}
