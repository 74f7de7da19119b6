//! Views that queries earn by being asked again: counted, made, shared, dropped.
//!
//! A query that is no lookup and was executed five times within a minute gets a view keyed by its parameters;
//! equal queries share it. Where all that earned it have a LIMIT, it holds no more of a key than its first rows; once more
//! are asked for as often, a wider one takes its place. It is filled in the background, and until it can be read the query is a one-shot.
//! Whoever has not been asked for long goes, and the longest idle first when the budget is exceeded. A view
//! that is subscribed to is held. DDL below ends a view; its query is counted anew. Never blocks a query.

use crate::bound::Bound;
use crate::dataflow::{ArrangedBy, Definition};
use crate::message::ViewRequest;
use crate::no_view::NoView;
use crate::ordered_index::OrderedBy;
use crate::sources::{self, SourceChange};
use parking_lot::Mutex;
use planner::catalog::{Catalog, Index, Table};
use planner::lift::Lifted;
use repr::{IndexId, RelationId};
use state::view_states::{OrderId, Stage, Views};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// So many executions …
pub(crate) const RUNS_MIN: usize = 5;
/// … within this time make a view.
const RUNS_WITHIN: Duration = Duration::from_mins(1);
/// So long after it was made who would read an ordered index waits for it.
const AWAITED: Duration = Duration::from_secs(3);
/// A view that was not asked for so long is dropped.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// A view that was dropped over the budget is not made again for so long.
const PAUSE: Duration = Duration::from_mins(1);
/// Queries that are counted at once.
const COUNTED_MAX: usize = 10_000;
/// Above all catalog objects.
const FIRST_ID: u32 = 0xF000_0000;

/// All queries that are counted or have a view.
pub struct AutomaticViews {
    entries: Mutex<Entries>,
    next: AtomicU32,
    started: Instant,
}

#[derive(Default)]
struct Entries {
    /// What queries find.
    by_identity: HashMap<String, Arc<Entry>>,
    /// What has a view, found by queries or no longer.
    made: BTreeMap<RelationId, Arc<Entry>>,
}

/// A query shape as it was planned.
#[derive(Clone)]
pub struct PlannedShape {
    /// What is maintained, and from what. Which keys are asked for, and how their rows are finished, is each
    /// query's own.
    pub lifted: Arc<Lifted>,
    /// What it reads, as it was then.
    over: Vec<Arc<Table>>,
}

impl PlannedShape {
    /// Planned over this catalog.
    pub fn new(lifted: Arc<Lifted>, catalog: &Catalog) -> Self {
        let over = lifted.reads.iter().filter_map(|id| catalog.table(*id).cloned()).collect();
        PlannedShape { lifted, over }
    }

    /// The view of its rows.
    fn definition(&self, id: RelationId, bound: Option<Bound>) -> Definition {
        let lifted = &self.lifted;
        let by = ArrangedBy { index: IndexId(id.0), key: lifted.key.clone(), order: lifted.view.order.clone() };
        Definition {
            id,
            name: name(id),
            plan: Arc::new(lifted.view.plan.clone()),
            arrangements: vec![by],
            bound,
            planned_over: self.over.clone(),
        }
    }
}

/// What is kept for queries.
#[derive(Clone)]
enum WantedView {
    /// The rows of all queries of this shape.
    Query(PlannedShape),
    /// An ordered index.
    Order(OrderedBy),
}

impl WantedView {
    /// Equal for queries that share it.
    fn identity(&self) -> String {
        match self {
            WantedView::Query(shape) => shape.lifted.identity.clone(),
            WantedView::Order(by) => order_identity(by.id),
        }
    }

    /// Whether the other is made in the same way.
    fn is_same(&self, other: &WantedView) -> bool {
        match (self, other) {
            (WantedView::Query(own), WantedView::Query(other)) => own.lifted.view == other.lifted.view,
            (WantedView::Order(own), WantedView::Order(other)) => {
                sources::change(&own.table, Some(&other.table)) != SourceChange::Other
            }
            (WantedView::Query(_), WantedView::Order(_)) | (WantedView::Order(_), WantedView::Query(_)) => false,
        }
    }
}

/// One query shape, or one ordered index.
pub struct Entry {
    wanted: WantedView,
    /// A statement of this shape, without values, or what is ordered: what is shown of it.
    pub text: String,
    /// The view's id; zero while there is none.
    id: AtomicU32,
    /// Seconds after the start at which it was last asked.
    used_s: AtomicU32,
    /// Subscriptions that need it.
    holders: AtomicUsize,
    runs: Mutex<Runs>,
    /// That its view was dropped over the budget.
    over_budget: Mutex<Option<OverBudget>>,
}

/// Executions that had no view to answer them.
#[derive(Default)]
struct Runs {
    /// When, and how many rows of a key each may show.
    latest: VecDeque<(Instant, usize)>,
    /// What the view holds of a key, if there is one, and not all.
    bound: Option<Bound>,
    /// When the view was made.
    made: Option<Instant>,
}

impl Runs {
    /// One more; how many rows of a key all of them need, once they have earned a view.
    fn add(&mut self, rows: usize) -> Option<usize> {
        let now = Instant::now();
        self.latest.push_back((now, rows));
        let is_old = |(run, _): &(Instant, usize)| now.duration_since(*run) > RUNS_WITHIN;
        while self.latest.len() > RUNS_MIN || self.latest.front().is_some_and(is_old) {
            self.latest.pop_front();
        }
        let most = self.latest.iter().map(|(_, rows)| *rows).max();
        most.filter(|_| self.latest.len() >= RUNS_MIN)
    }
}

/// A view that was dropped over the budget.
#[derive(Clone, Copy)]
struct OverBudget {
    at: Instant,
    budget_bytes: usize,
    /// It is not made again for so long.
    pause: Duration,
}

impl Entry {
    /// Its view, whether it can be read already or not.
    pub fn view(&self) -> Option<RelationId> {
        match self.id.load(Ordering::Acquire) {
            0 => None,
            id => Some(RelationId(id)),
        }
    }
    /// Whether it is worth while to wait until its view is filled: so it is for some moments after that was made.
    pub fn is_awaited(&self) -> bool {
        self.runs.lock().made.is_some_and(|made| made.elapsed() < AWAITED)
    }
    /// Whether it is an ordered index.
    pub fn is_order(&self) -> bool {
        matches!(self.wanted, WantedView::Order(_))
    }
    /// The table that it is an ordered index of.
    pub fn table(&self) -> Option<RelationId> {
        match &self.wanted {
            WantedView::Query(_) => None,
            WantedView::Order(by) => Some(by.table.id),
        }
    }
    /// Subscriptions that need it.
    pub fn holders(&self) -> usize {
        self.holders.load(Ordering::SeqCst)
    }

    /// Why it has no view.
    pub fn why_none(&self) -> NoView {
        if let Some(OverBudget { at, budget_bytes, .. }) = self.pausing() {
            return NoView::OverBudget { since: at.elapsed(), budget_bytes };
        }
        let runs = self.runs.lock();
        NoView::Seldom { runs: runs.latest.iter().filter(|(run, _)| run.elapsed() <= RUNS_WITHIN).count() }
    }

    fn pausing(&self) -> Option<OverBudget> {
        self.over_budget.lock().filter(|over| over.at.elapsed() < over.pause)
    }
}

impl Default for AutomaticViews {
    fn default() -> Self {
        AutomaticViews { entries: Mutex::default(), next: AtomicU32::new(FIRST_ID), started: Instant::now() }
    }
}

impl AutomaticViews {
    /// The entry of a query shape.
    pub fn entry(&self, shape: &PlannedShape, text: &str) -> Arc<Entry> {
        self.known(WantedView::Query(shape.clone()), || without_values(text))
    }

    /// The entry of an ordered index, by the first columns of an index or key.
    pub fn order(&self, table: &Arc<Table>, index: &Index, columns: usize) -> Arc<Entry> {
        let by = OrderedBy { table: table.clone(), id: OrderId { index: index.id, columns } };
        let columns = index.columns.iter().take(columns).map(|column| table.columns[*column].name.as_str());
        let kind = if index.is_inverted() { "inverted" } else { "ordered" };
        let text = || format!("{kind} index on {} ({})", table.name, columns.collect::<Vec<_>>().join(", "));
        self.known(WantedView::Order(by), text)
    }

    fn known(&self, wanted: WantedView, text: impl FnOnce() -> String) -> Arc<Entry> {
        let identity = wanted.identity();
        let mut entries = self.entries.lock();
        let known = entries.by_identity.get(&identity);
        // The same rows may be found by other indexes since.
        if let Some(entry) = known.filter(|entry| entry.wanted.is_same(&wanted)) {
            return entry.clone();
        }
        if entries.by_identity.len() >= COUNTED_MAX {
            entries.by_identity.retain(|_, entry| entry.view().is_some());
        }
        let entry = Arc::new(Entry {
            text: text(),
            id: AtomicU32::new(0),
            used_s: AtomicU32::new(self.now_s()),
            holders: AtomicUsize::new(0),
            runs: Mutex::default(),
            over_budget: Mutex::default(),
            wanted,
        });
        entries.by_identity.insert(identity, entry.clone());
        entry
    }

    /// The same, if it is counted already.
    pub fn find(&self, identity: &str) -> Option<Arc<Entry>> {
        self.entries.lock().by_identity.get(identity).cloned()
    }

    /// The entry of an ordered index, if it is counted already.
    pub fn find_order(&self, id: OrderId) -> Option<Arc<Entry>> {
        self.find(&order_identity(id))
    }

    /// One more execution; the view, if there is one. Makes it when it has been earned, by executions that each show so many
    /// rows of a key at most.
    pub fn executed(
        &self,
        entry: &Arc<Entry>,
        rows: impl FnOnce() -> usize,
        ask: &dyn Fn(ViewRequest),
    ) -> Option<RelationId> {
        entry.used_s.store(self.now_s(), Ordering::Relaxed);
        if let Some(view) = entry.view() {
            return Some(view);
        }
        let earned = entry.runs.lock().add(rows());
        let rows = earned.filter(|_| entry.pausing().is_none())?;
        Some(self.make(entry, Some(rows), ask))
    }

    /// An execution showed more rows of a key than its view holds. Once that has come often enough, a view that holds as
    /// many takes its place.
    pub fn was_short(&self, entry: &Arc<Entry>, rows: usize, ask: &dyn Fn(ViewRequest)) {
        let earned = entry.runs.lock().add(rows);
        if let Some(rows) = earned.filter(|_| entry.pausing().is_none()) {
            self.make(entry, Some(rows), ask);
        }
    }

    /// The entry of a query shape and its view, made now if there is none, and kept until `release`.
    pub fn hold(&self, shape: &PlannedShape, text: &str, ask: &dyn Fn(ViewRequest)) -> (Arc<Entry>, RelationId) {
        loop {
            let entry = self.entry(shape, text);
            entry.holders.fetch_add(1, Ordering::SeqCst);
            // Looked at again once it is held: whoever drops it either finds the holder or has taken it away.
            if self.find(&shape.lifted.identity).is_some_and(|found| Arc::ptr_eq(&found, &entry)) {
                let view = self.make(&entry, None, ask);
                return (entry, view);
            }
            self.release(&entry);
        }
    }

    /// A holder less.
    pub fn release(&self, entry: &Entry) {
        entry.used_s.store(self.now_s(), Ordering::Relaxed);
        entry.holders.fetch_sub(1, Ordering::SeqCst);
    }

    /// The view that holds so many rows of each key, or all: that which there is, or else another in its place. Whoever
    /// holds a view is told of all rows.
    fn make(&self, entry: &Arc<Entry>, rows: Option<usize>, ask: &dyn Fn(ViewRequest)) -> RelationId {
        // A plan outlives its entry: what was dropped comes back, unless another has taken its place.
        let known = {
            let mut entries = self.entries.lock();
            entries.by_identity.entry(entry.wanted.identity()).or_insert_with(|| entry.clone()).clone()
        };
        known.used_s.store(self.now_s(), Ordering::Relaxed);
        let entry = &known;
        // One maker a shape.
        let mut runs = entry.runs.lock();
        let bound = rows.filter(|_| entry.holders() == 0).and_then(Bound::for_rows);
        let before = entry.view();
        if let Some(view) = before
            && runs.bound.is_none_or(|held| bound.is_some_and(|bound| bound.rows_min() <= held.rows_min()))
        {
            return view;
        }
        let id = RelationId(self.next.fetch_add(1, Ordering::Relaxed));
        let request = match &entry.wanted {
            WantedView::Query(shape) => ViewRequest::Create(Box::new(shape.definition(id, bound))),
            WantedView::Order(by) => ViewRequest::Order(id, Box::new(by.clone())),
        };
        *runs = Runs { latest: VecDeque::new(), bound, made: Some(Instant::now()) };
        {
            // Before a view worker hears of it, which may say at once that it has ended.
            let mut entries = self.entries.lock();
            if let Some(before) = before {
                entries.made.remove(&before);
            }
            entries.made.insert(id, entry.clone());
            entry.id.store(id.0, Ordering::Release);
        }
        if let Some(before) = before {
            ask(ViewRequest::Drop(before));
        }
        ask(request);
        id
    }

    /// A view worker has dropped a view, since DDL has changed what it reads: the query has to earn another.
    pub fn ended(&self, view: RelationId) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.made.remove(&view) {
            entry.id.store(0, Ordering::Release);
            entries.by_identity.retain(|_, other| !Arc::ptr_eq(other, &entry));
        }
    }

    /// Drops what is idle and what exceeds the budget. Called now and then.
    pub fn evict(&self, views: &Views, memory_bytes_max: usize, ask: &dyn Fn(ViewRequest)) {
        let now = self.now_s();
        let mut made = self.all();
        made.sort_by_key(|entry| entry.used_s.load(Ordering::Relaxed));
        let bytes = |view: RelationId| views.get(view).map_or(0, |state| state.bytes());
        let mut total: usize = made.iter().filter_map(|entry| entry.view()).map(bytes).sum();
        for entry in made {
            let Some(view) = entry.view() else { continue };
            let idle = u64::from(now.saturating_sub(entry.used_s.load(Ordering::Relaxed)));
            let failure = views.get(view).and_then(|state| match &state.stage {
                Stage::Failed(error) => Some(error.code),
                Stage::Waiting | Stage::Hydrating { .. } | Stage::Ready => None,
            });
            let failed = failure.is_some();
            // Too much by itself.
            let exploded = matches!(failure, Some("53200" | "54000"));
            let over = exploded || (total > memory_bytes_max && bytes(view) > 0);
            if (over || (idle > IDLE_MAX.as_secs() && !failed)) && self.forget(&entry, view, over) {
                total = total.saturating_sub(bytes(view));
                let name = name(view);
                tracing::info!(target: "dogwood::views", view = name, bytes = bytes(view), over, idle_s = idle, "dropping a view of a query");
                if over {
                    let pause = if exploded { IDLE_MAX } else { PAUSE };
                    let over = OverBudget { at: Instant::now(), budget_bytes: memory_bytes_max, pause };
                    *entry.over_budget.lock() = Some(over);
                }
                ask(ViewRequest::Drop(view));
            }
        }
    }

    /// There is more room: what was dropped for lack of it may come back.
    pub fn allow_again(&self, memory_bytes_max: usize) {
        for entry in self.entries.lock().by_identity.values() {
            let mut over = entry.over_budget.lock();
            over.take_if(|over| over.budget_bytes < memory_bytes_max);
        }
    }

    /// Takes an entry's view away, unless somebody holds it. What is `counted` on stays known.
    fn forget(&self, entry: &Arc<Entry>, view: RelationId, counted: bool) -> bool {
        let mut entries = self.entries.lock();
        if entry.holders() > 0 {
            return false;
        }
        if entries.made.remove(&view).is_none() {
            return false;
        }
        if !counted {
            entries.by_identity.retain(|_, other| !Arc::ptr_eq(other, entry));
        }
        entry.id.store(0, Ordering::Release);
        true
    }

    /// Every entry that has a view, by the view's id.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.entries.lock().made.values().cloned().collect()
    }

    fn now_s(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX)
    }
}

fn order_identity(id: OrderId) -> String {
    format!("order of {} columns of {}", id.columns, id.index)
}

/// What an automatic view is called.
pub fn name(view: RelationId) -> String {
    format!("auto_{}", view.0 - FIRST_ID + 1)
}

/// A statement's text with its literals replaced: what a query asks for is nobody else's business.
pub fn without_values(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let in_word = shown.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '$');
        match character {
            '\'' => {
                while let Some(next) = characters.next() {
                    if next == '\'' && characters.next_if_eq(&'\'').is_none() {
                        break;
                    }
                }
                shown.push('?');
            }
            '0'..='9' if !in_word => {
                while characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '.').is_some() {}
                shown.push('?');
            }
            other => shown.push(other),
        }
    }
    shown
}
