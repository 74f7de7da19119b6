//! SUBSCRIBE: a query's rows as they are, then every change of them as it commits.
//!
//! ```text
//! (dogwood_time, dogwood_diff, columns …)      snapshot rows at the snapshot's time, then one marker
//!                                              (diff NULL), then each later change once, in commit order
//! ```
//!
//! A row whose `dogwood_diff` is NULL says that nothing more will come up to `dogwood_time`. With `as_of` the
//! changes after that time stand in the place of the snapshot. The query is watched as a view by key, which
//! many subscribers share and which is held as long as one is there. Holds no snapshot of the leaves and no
//! lock; runs outside the transaction that it is asked in.

use super::Session;
use super::view::with_tables_below;
use crate::SqlError;
use crate::database::Database;
use crate::one_shot::watch::Watch;
use crate::protocol::{CancelFlag, RowStream, RowTag, RowWait};
use crate::published::Published;
use crate::view::automatic::{Entry, PlannedShape};
use crate::view::published::{Stage, ViewState};
use crate::view::read;
use crate::view::subscription::{Begun, Subscription};
use parking_lot::Mutex;
use planner::SubscribePlan;
use planner::hir::OutputColumn;
use planner::lift::Lifted;
use repr::row::RowIter;
use repr::{CommitTime, Datum, RelationId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A quiet subscription says so this often.
const HEARTBEAT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);
/// Views that DDL takes away while they are waited for; then the query has to be planned anew.
const ATTEMPTS_MAX: usize = 3;

/// A subscription under way.
pub struct Subscribed {
    columns: Arc<[OutputColumn]>,
    project: Vec<usize>,
    /// Rows that are ready to be given.
    ready: VecDeque<Vec<Datum>>,
    subscription: Subscription,
    /// Changes up to here are in the snapshot, or were told before.
    since: CommitTime,
    progress: bool,
    /// A marker has to come once the queue is empty, as after a snapshot.
    marks: bool,
    /// The time of the last change that was given.
    told: CommitTime,
    /// The last time that was said to be closed.
    closed: CommitTime,
    said: Instant,
    cancel: Arc<CancelFlag>,
    ended: bool,
    // Dropped last: the view goes when nobody holds it.
    _held: Held,
}

/// Keeps a view alive.
struct Held {
    database: Arc<Database>,
    entry: Arc<Entry>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.database.automatic_views.release(&self.entry);
    }
}

impl Session {
    /// Begins a subscription.
    pub(super) fn subscribe(&mut self, plan: &SubscribePlan, params: Arc<[Datum]>) -> Result<Subscribed, SqlError> {
        let database = self.database.clone();
        let catalog = self.catalog();
        let context = self.eval_context(params, &catalog);
        let keys = read::keys(&plan.lifted, &context)?;
        let shape = PlannedShape::new(Arc::new(plan.lifted.clone()), &catalog);
        for _ in 0..ATTEMPTS_MAX {
            let (entry, view) = database.automatic_views.hold(&shape, &plan.text, &database.pipeline);
            let held = Held { database: database.clone(), entry };
            let Some(readable_at) = self.wait_until_readable(&held.entry, view, &plan.lifted)? else { continue };
            // Registered before the snapshot is taken: nothing falls in between.
            let subscription = match plan.as_of {
                None => database.subscriptions.subscribe(view, keys.clone(), readable_at),
                Some(time) if time > readable_at => return Err(in_the_future(time, readable_at)),
                Some(time) => {
                    let resumed = database.subscriptions.resume(view, keys.clone(), time);
                    resumed.map_err(|held_since| no_longer_held(time, held_since))?
                }
            };
            let published = database.latest();
            let Some(state) = published.views.ready(view) else { continue };
            let mut ready = VecDeque::new();
            if plan.snapshot {
                self.snapshot(plan, &published, state, &keys, &mut ready)?;
            }
            let project = plan.lifted.finishing.project.clone();
            let since = plan.as_of.unwrap_or(published.time);
            if plan.as_of.is_none() {
                ready.push_back(row(since, None, None, &project));
            }
            subscription.begin(Begun { backend: self.backend, since });
            return Ok(Subscribed {
                columns: plan.columns.as_slice().into(),
                project,
                ready,
                subscription,
                since,
                progress: plan.progress,
                marks: plan.as_of.is_some(),
                told: since,
                closed: since,
                said: Instant::now(),
                cancel: self.cancel.clone(),
                ended: false,
                _held: held,
            });
        }
        Err(gone())
    }

    /// The rows as they are.
    fn snapshot(
        &self,
        plan: &SubscribePlan,
        published: &Published,
        state: &ViewState,
        keys: &[Vec<u8>],
        ready: &mut VecDeque<Vec<Datum>>,
    ) -> Result<(), SqlError> {
        let watch = Watch::new(self.limits(published.time));
        let arrangement = state.arrangements.first().ok_or_else(gone)?;
        let mut stopped = Ok(());
        for key in keys {
            arrangement.for_key(key, |bytes| {
                ready.push_back(row(published.time, Some(1), Some(bytes), &plan.lifted.finishing.project));
                stopped = watch.charge(bytes.len() + size_of::<Vec<Datum>>());
                stopped.is_ok()
            });
        }
        stopped
    }

    /// Waits until a view can be read, and all that it is made of, as long as the statement may: a time at which
    /// it can. None if it is no more.
    fn wait_until_readable(
        &self,
        entry: &Entry,
        view: RelationId,
        lifted: &Lifted,
    ) -> Result<Option<CommitTime>, SqlError> {
        let watch = Watch::new(self.limits(self.database.latest().time));
        loop {
            if entry.view() != Some(view) {
                return Ok(None);
            }
            let published = self.database.latest();
            if is_readable(&published, lifted, view)? {
                return Ok(Some(published.time));
            }
            self.check_patience(&watch)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn check_patience(&self, watch: &Watch) -> Result<(), SqlError> {
        if self.cancel.is_cancelled() {
            watch.check()?;
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(SqlError::new("57014", "canceling statement due to statement timeout"));
        }
        Ok(())
    }
}

/// Whether a view and all views below it can be read; why not, if waiting does not help.
fn is_readable(published: &Published, lifted: &Lifted, view: RelationId) -> Result<bool, SqlError> {
    let catalog = published.catalog();
    let maintained = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
    let below = with_tables_below(catalog, lifted.reads.iter().copied());
    let mut readable = true;
    for id in below.into_iter().filter(maintained).chain([view]) {
        match published.views.get(id) {
            Some(state) if matches!(state.stage, Stage::Ready) => {
                if let Some(error) = &state.error {
                    return Err(error.clone().into());
                }
            }
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

fn gone() -> SqlError {
    SqlError::new("55000", "the view that is subscribed to was dropped").hint("Subscribe again.")
}

fn in_the_future(time: CommitTime, now: CommitTime) -> SqlError {
    SqlError::new("22023", format!("dogwood_time {} is in the future", time.0))
        .detail(format!("The last commit has the time {}.", now.0))
}

fn no_longer_held(time: CommitTime, since: Option<CommitTime>) -> SqlError {
    let error = SqlError::new("72000", format!("the changes after dogwood_time {} are no longer held", time.0));
    let error = match since {
        Some(since) => error.detail(format!("Changes are held from the time {} on.", since.0)),
        None => error.detail("No changes of this query are held."),
    };
    error.hint("Subscribe without as_of: the snapshot brings you up to date.")
}

/// A row of a subscription: a change, or what says that a time is closed.
fn row(time: CommitTime, diff: Option<i64>, bytes: Option<&[u8]>, project: &[usize]) -> Vec<Datum> {
    let mut row = Vec::with_capacity(2 + project.len());
    row.push(Datum::Int8(i64::try_from(time.0).unwrap_or(i64::MAX)));
    row.push(diff.map_or(Datum::Null, Datum::Int8));
    match bytes {
        None => row.resize(2 + project.len(), Datum::Null),
        Some(bytes) => {
            let datums: Vec<Datum> = RowIter::over(bytes).collect();
            row.extend(project.iter().map(|column| datums[*column].clone()));
        }
    }
    row
}

impl Subscribed {
    /// The columns of its rows.
    pub fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// Takes what has arrived; whether there is a row (or the end) to give.
    fn collect(&mut self) -> Result<bool, SqlError> {
        loop {
            if !self.ready.is_empty() {
                return Ok(true);
            }
            // Read before the queue is found empty: all up to it has been given then.
            let frontier = self.subscription.frontier();
            match self.subscription.take()? {
                Some(change) if change.time <= self.since => {}
                Some(change) => {
                    self.told = change.time;
                    for (changed, diff) in change.rows.iter() {
                        let diff = i64::try_from(*diff).unwrap_or(i64::MAX);
                        self.ready.push_back(row(change.time, Some(diff), Some(changed.bytes()), &self.project));
                    }
                    // Later rows must not be said to be closed by an older time.
                    self.said = Instant::now();
                }
                // What was just queued may be later than the frontier that was read.
                None if frontier < self.told => return Ok(false),
                None => {
                    let due = frontier > self.closed || self.said.elapsed() >= HEARTBEAT;
                    if self.marks || self.progress && due {
                        self.marks = false;
                        self.closed = self.closed.max(frontier);
                        self.said = Instant::now();
                        self.ready.push_back(row(self.closed, None, None, &self.project));
                        return Ok(true);
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Waits at most so long for something to give.
    fn wait(&mut self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        loop {
            match self.collect() {
                // The error comes with the next row.
                Ok(true) | Err(_) => return true,
                Ok(false) => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.subscription.wait(left.min(POLL));
        }
    }

    /// FETCH: at most so many rows, once there is one, or none when the time is over.
    pub fn fetch(&mut self, rows_max: u64, timeout: Option<Duration>) -> Result<Vec<Vec<Datum>>, SqlError> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        while !self.wait(POLL) {
            if self.cancel.is_cancelled() {
                return Err(SqlError::new("57014", "canceling statement due to user request"));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Vec::new());
            }
        }
        let mut rows = Vec::new();
        while (rows.len() as u64) < rows_max && self.collect()? {
            rows.extend(self.ready.pop_front());
        }
        Ok(rows)
    }

    /// All of it, as rows without an end.
    pub fn stream(self) -> RowStream {
        let columns = self.columns.clone();
        let shared = Arc::new(Mutex::new(self));
        let waiting = shared.clone();
        let wait: RowWait = Box::new(move |at_most| waiting.lock().wait(at_most));
        RowStream { columns, rows: Box::new(Endless(shared)), tag: RowTag::Counted("COPY"), wait: Some(wait) }
    }
}

struct Endless(Arc<Mutex<Subscribed>>);

impl Iterator for Endless {
    type Item = Result<Vec<Datum>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut subscribed = self.0.lock();
        if subscribed.ended {
            return None;
        }
        loop {
            match subscribed.collect() {
                Ok(true) => return subscribed.ready.pop_front().map(Ok),
                Ok(false) => {}
                Err(error) => {
                    subscribed.ended = true;
                    return Some(Err(error));
                }
            }
            subscribed.wait(POLL);
            if subscribed.cancel.is_cancelled() {
                subscribed.ended = true;
                return Some(Err(SqlError::new("57014", "canceling statement due to user request")));
            }
        }
    }
}
