//! A subscription under way: what it tells, when it has something to tell, and what it checks.

use crate::session::audit_entries::Deliveries;
use crate::session::permit::Permit;
use operators::query;
use planner::catalog::with_tables_below;
use planner::hir::OutputColumn;
use planner::ownership::graph::KeyForm;
use planner::plan::Query;
use planner::scalar::EvalContext;
use planner::{SubscribeTerms, ToldForm};
use repr::row::RowIter;
use repr::{CommitTime, Datum, RelationId, key};
use state::SqlError;
use state::account::Account;
use state::cancel::CancelFlag;
use state::interrupt::QueryLimits;
use state::layered_snapshot::LayeredSnapshot;
use state::published::Published;
use state::snapshot_holders::SnapshotHold;
use state::view_states::Stage;
use std::any::Any;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use transactions::database::Database;
use views::automatic::Entry;
use views::subscription::form::{self, Changes, time_of};
use views::subscription::{Change, Subscription, Taken};

/// With `progress` a quiet subscription says this often how far it is, however many commits there are.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A FETCH that waits and is not woken looks around this often.
const LOOK: Duration = Duration::from_secs(1);
/// What may be held where a view is compared with its query.
const LOOK_BYTES_MAX: usize = 1 << 30;

/// A subscription under way.
pub struct Subscribed {
    pub(super) columns: Arc<[OutputColumn]>,
    pub(super) project: Arc<[usize]>,
    pub(super) giving: Giving,
    pub(super) subscription: Subscription,
    pub(super) markers: Markers,
    pub(super) cancel: Arc<CancelFlag>,
    /// Whether its role may read what it is told, still.
    pub(super) permit: Permit,
    /// What the audit log is told of what it gives.
    pub(super) deliveries: Option<Deliveries>,
    // Dropped last: the view goes when nobody holds it.
    pub(super) _held: KeptView,
}

/// What a subscription gives next.
pub(super) struct Giving {
    /// In which form.
    form: ToldForm,
    /// What is ready, and is on no line yet.
    ready: VecDeque<Told>,
    /// Changes of one time that are told together, once all are here.
    gathered: Option<(CommitTime, Changes)>,
    in_hand: Option<Arc<SnapshotHold>>,
    /// Of one change so many rows are taken at once.
    rows_max: usize,
}

impl Giving {
    pub(super) fn nothing(form: ToldForm) -> Self {
        Giving { form, ready: VecDeque::new(), gathered: None, in_hand: None, rows_max: usize::MAX }
    }

    /// What was gathered is ready.
    fn tell_gathered(&mut self) {
        if let Some((time, changes)) = self.gathered.take() {
            self.ready.extend(form::told(&self.form, time, changes).into_iter().map(Told::Row));
        }
    }
}

/// What a subscription has said of time.
pub(super) struct Markers {
    /// PROGRESS was asked for.
    progress: bool,
    /// A marker has to come once the queue is empty, as after a snapshot.
    owed: bool,
    /// It ends before the changes of this time, and whether it has.
    up_to: Option<CommitTime>,
    is_over: bool,
    /// The time of the last change that was given.
    told: CommitTime,
    /// The last time that was said to be closed, and when that was.
    closed: CommitTime,
    said: Instant,
}

impl Markers {
    pub(super) fn since(time: CommitTime, terms: &SubscribeTerms) -> Self {
        Markers {
            progress: terms.progress,
            owed: terms.as_of.is_some(),
            up_to: terms.up_to,
            is_over: terms.up_to.is_some_and(|up_to| up_to <= time),
            told: time,
            closed: time,
            said: Instant::now(),
        }
    }
}

/// What a subscription tells.
pub enum Told {
    /// A row as it is, or a marker.
    Row(Vec<Datum>),
    /// What a commit changed.
    Changed(Changed),
    /// Nothing any more: the time up to which it was to go is here.
    End,
}

/// The rows of one commit's change, which other subscribers may be told too.
pub struct Changed {
    pub(super) change: Change,
    pub(super) project: Arc<[usize]>,
}

/// Whether a subscription has something to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It has, or has ended.
    Ready,
    /// Not now.
    Quiet {
        /// When it has something even if nothing happens.
        until: Option<Instant>,
    },
}

/// What a subscription watches, as a query that can be asked by itself.
pub(super) struct Looked {
    pub(super) database: Weak<Database>,
    /// Over tables alone: a row that fails in a view below is missing there.
    pub(super) query: Arc<Query>,
    pub(super) context: EvalContext,
    pub(super) view: RelationId,
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) project: Arc<[usize]>,
    /// What the view reads.
    pub(super) reads: BTreeSet<RelationId>,
}

impl Looked {
    /// Whether the view has in this state, for its keys, the rows that the query has, though rows of other keys may fail
    /// there. The row's error, if one of its own does.
    pub(super) fn check(&self, state: &Arc<Published>) -> Result<(), SqlError> {
        // Nobody is told any more.
        let Some(database) = self.database.upgrade() else { return Ok(()) };
        if !is_readable(state, &self.reads, self.view)? {
            return Err(gone());
        }
        let arrangement = state.views.get(self.view).and_then(|view| view.arrangements.first()).ok_or_else(gone)?;
        let mut copies: HashMap<Vec<u8>, i64> = HashMap::new();
        for key in &self.keys {
            arrangement.for_key(key, |bytes| {
                let datums: Vec<Datum> = RowIter::over(bytes).collect();
                let row: Vec<Datum> = self.project.iter().map(|column| datums[*column].clone()).collect();
                *copies.entry(key::encode_all(&row)).or_default() += 1;
                true
            });
        }
        let time = state.time;
        let reader = Arc::new(LayeredSnapshot::new(database.store.clone(), state.clone()));
        let limits = QueryLimits {
            account: Account::new(Arc::default(), Some(Instant::now() + LOOK), LOOK_BYTES_MAX),
            ended: Arc::new(move || database.check_not_ended(time).err()),
        };
        for row in query::run(self.query.clone(), reader, self.context.clone(), limits)? {
            *copies.entry(key::encode_all(&row?)).or_default() -= 1;
        }
        // What evaluates here and not in the view fails there.
        if copies.values().all(|copies| *copies == 0) { Ok(()) } else { Err(gone()) }
    }
}

/// Keeps a view alive.
pub(super) struct KeptView {
    pub(super) database: Arc<Database>,
    pub(super) entry: Arc<Entry>,
}

impl Drop for KeptView {
    fn drop(&mut self) {
        self.database.views.automatic.release(&self.entry);
    }
}

impl Subscribed {
    /// The columns of its rows.
    pub fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// Whether there is something to tell (or the end). If not, the waker is woken as soon as there may be.
    pub fn ready(&mut self, waker: &Waker) -> Readiness {
        loop {
            match self.collect() {
                // The error comes with the next row.
                Ok(true) | Err(_) => return Readiness::Ready,
                // What came before the waker was left is found by looking again.
                Ok(false) if self.subscription.watch(waker) => {}
                Ok(false) => return Readiness::Quiet { until: self.next_marker() },
            }
        }
    }

    /// What is told next, if it is here.
    pub fn tell(&mut self) -> Result<Option<Told>, SqlError> {
        let is_there = self.collect()?;
        self.permit.check()?;
        let told = self.giving.ready.pop_front().filter(|_| is_there);
        if let (Some(deliveries), Some(told)) = (&mut self.deliveries, &told) {
            deliveries.given(match told {
                Told::Row(_) => 1,
                Told::Changed(changed) => changed.count(),
                Told::End => 0,
            })?;
        }
        Ok(told)
    }

    /// Held until what was given is on the client's line.
    pub fn in_hand(&self) -> Option<Arc<SnapshotHold>> {
        self.giving.in_hand.clone()
    }

    /// What was given is on the client's line.
    pub fn sent(&mut self) {
        self.giving.in_hand = None;
    }

    fn next_marker(&self) -> Option<Instant> {
        // While changes are being queued, a marker that is due has to wait for them.
        let soon = Instant::now() + Duration::from_millis(1);
        match (self.markers.owed, self.markers.progress) {
            (true, _) => Some(soon),
            (false, true) => Some(self.due().max(soon)),
            (false, false) => None,
        }
    }

    /// When the next marker is to come.
    fn due(&self) -> Instant {
        let Markers { told, closed, said, .. } = self.markers;
        // Behind what was told at once, for whoever leaves now and comes back; else once in a while, whatever others commit.
        if told > closed { said } else { said + HEARTBEAT }
    }

    /// Takes what has arrived; whether there is something (or the end) to give.
    fn collect(&mut self) -> Result<bool, SqlError> {
        loop {
            if !self.giving.ready.is_empty() {
                return Ok(true);
            }
            if self.markers.is_over {
                self.giving.ready.push_back(Told::End);
                return Ok(true);
            }
            // Read before the queue is found empty: all up to it has been given then.
            let frontier = self.subscription.frontier();
            // By key a time is told whole.
            let rows_max = if self.giving.form == ToldForm::Diffs { self.giving.rows_max } else { usize::MAX };
            match self.subscription.take(rows_max, &mut self.giving.in_hand) {
                // What came before the end is told before it.
                Err(_) if self.giving.gathered.is_some() => self.giving.tell_gathered(),
                Err(error) => return Err(error),
                Ok(Taken::Marker(time)) => {
                    self.giving.tell_gathered();
                    self.mark(time);
                }
                Ok(Taken::Change(change)) => self.change(change),
                Ok(Taken::Nothing) if self.giving.gathered.is_some() => self.giving.tell_gathered(),
                // What was just queued may be later than the frontier that was read, or was told only as it is later.
                Ok(Taken::Nothing) if frontier < self.markers.told.max(self.subscription.erased_at()) => {
                    return Ok(false);
                }
                Ok(Taken::Nothing) => {
                    if self.markers.up_to.is_some_and(|up_to| frontier.0.saturating_add(1) >= up_to.0) {
                        self.markers.is_over = true;
                    } else if self.markers.owed || (self.markers.progress && Instant::now() >= self.due()) {
                        self.markers.owed = false;
                        self.mark(frontier);
                    } else {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Says that nothing more comes up to a time.
    fn mark(&mut self, time: CommitTime) {
        self.markers.closed = self.markers.closed.max(time);
        self.markers.said = Instant::now();
        let mut row = vec![Datum::Null; self.columns.len()];
        row[0] = time_of(self.markers.closed);
        self.giving.ready.push_back(Told::Row(row));
    }

    fn change(&mut self, change: Change) {
        if self.markers.up_to.is_some_and(|up_to| change.time >= up_to) {
            self.giving.tell_gathered();
            self.markers.is_over = true;
            return;
        }
        self.markers.told = self.markers.told.max(change.time);
        if self.giving.form == ToldForm::Diffs {
            self.giving.ready.push_back(Told::Changed(Changed { change, project: self.project.clone() }));
            return;
        }
        if self.giving.gathered.as_ref().is_some_and(|(time, _)| *time != change.time) {
            self.giving.tell_gathered();
        }
        let (_, gathered) = self.giving.gathered.get_or_insert_with(|| (change.time, Changes::new()));
        gathered.extend(change.rows.iter().map(|(row, diff)| {
            let datums: Vec<Datum> = RowIter::over(row.bytes()).collect();
            (self.project.iter().map(|column| datums[*column].clone()).collect(), *diff)
        }));
    }

    /// FETCH: at most so many rows, once there is one, or none when the time is over; of what was committed before it all that
    /// it has room for. 57014 if the statement's own is over before:
    /// what comes later is for the next FETCH.
    pub fn fetch(
        &mut self,
        rows_max: u64,
        timeout: Option<Duration>,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<Datum>>, SqlError> {
        // What another FETCH takes stays where an erasure finds it.
        self.giving.rows_max = usize::try_from(rows_max).unwrap_or(usize::MAX);
        let until = timeout.map(|timeout| Instant::now() + timeout);
        self.subscription.settle();
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        self.cancel.watch(&waker);
        while let Readiness::Quiet { until: marker } = self.ready(&waker) {
            if self.cancel.is_cancelled() {
                return Err(SqlError::new("57014", "canceling statement due to user request"));
            }
            let now = Instant::now();
            if until.is_some_and(|until| now >= until) {
                return Ok(Vec::new());
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(SqlError::new("57014", "canceling statement due to statement timeout")
                    .hint("FETCH … WITH (timeout = '1s') gives no rows when nothing has come by then."));
            }
            let soonest = [until, marker, deadline].into_iter().flatten().fold(now + LOOK, Instant::min);
            std::thread::park_timeout(soonest.saturating_duration_since(now));
        }
        let mut rows = Vec::new();
        while self.giving.rows_max > 0 {
            match self.tell()? {
                None => break,
                Some(Told::Row(row)) => rows.push(row),
                Some(Told::Changed(changed)) => rows.extend(changed.rows()),
                Some(Told::End) => break,
            }
            self.giving.rows_max = usize::try_from(rows_max).unwrap_or(usize::MAX) - rows.len();
        }
        Ok(rows)
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Changed {
    /// Its rows, as the subscription gives them.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Vec<Datum>> {
        self.change.rows.iter().map(|(changed, diff)| {
            let diff = Datum::Int8(i64::try_from(*diff).unwrap_or(i64::MAX));
            let datums: Vec<Datum> = RowIter::over(changed.bytes()).collect();
            let mut row = Vec::with_capacity(2 + self.project.len());
            row.extend([time_of(self.change.time), diff]);
            row.extend(self.project.iter().map(|column| datums[*column].clone()));
            row
        })
    }

    /// How many they are.
    pub fn count(&self) -> u64 {
        self.change.rows.len() as u64
    }

    /// What was made of the same rows for another subscriber, if it was and is what is asked for.
    pub fn made<T: Any>(&self) -> Option<&T> {
        let (project, made) = self.change.made.as_ref()?.get()?;
        if *project == self.project { made.downcast_ref() } else { None }
    }

    /// Leaves what was made of them for other subscribers who are told them too, if there are any.
    pub fn leave<T: Any + Send + Sync>(&self, made: impl FnOnce() -> T) {
        if let Some(place) = &self.change.made {
            place.get_or_init(|| (self.project.clone(), Box::new(made())));
        }
    }
}

/// The maintained views that these relations are or are made of.
pub(super) fn views_below(published: &Published, reads: &BTreeSet<RelationId>) -> impl Iterator<Item = RelationId> {
    let catalog = published.catalog();
    let maintained = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
    with_tables_below(catalog, reads.iter().copied()).into_iter().filter(maintained)
}

/// Whether rows of these relations, or of those that they are made of, may be of a person, or name one.
pub(super) fn may_be_personal(published: &Published, reads: &BTreeSet<RelationId>) -> bool {
    let below = with_tables_below(published.catalog(), reads.iter().copied());
    let stored = |id: &RelationId| published.schema.shape(*id).filter(|shape| shape.table().is_stored());
    below.iter().filter_map(stored).any(|shape| shape.key_form == KeyForm::Hashed)
}

/// Whether rows of a view below cannot be evaluated.
pub(super) fn fails_below(published: &Published, reads: &BTreeSet<RelationId>) -> bool {
    let fails = |id| published.views.get(id).is_some_and(|state| state.error.is_some());
    views_below(published, reads).any(fails)
}

/// Whether a view and all views below it can be read, though rows may fail; why not, if waiting does not help.
pub(super) fn is_readable(
    published: &Published,
    reads: &BTreeSet<RelationId>,
    view: RelationId,
) -> Result<bool, SqlError> {
    let mut readable = true;
    for id in views_below(published, reads).chain([view]) {
        match published.views.get(id) {
            Some(state) if matches!(state.stage, Stage::Ready) => {}
            Some(state) => {
                if let Stage::Failed(error) = &state.stage {
                    return Err(error.clone());
                }
                readable = false;
            }
            None => readable = false,
        }
    }
    Ok(readable)
}

pub(super) fn gone() -> SqlError {
    SqlError::new("55000", "the view that is subscribed to was dropped").hint("Subscribe again.")
}
