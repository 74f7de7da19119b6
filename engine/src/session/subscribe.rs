//! SUBSCRIBE: a query's rows as they are, then every change of them as it commits.
//!
//! ```text
//! (dogwood_time, dogwood_diff, columns …)      snapshot rows at the snapshot's time, then one marker
//!                                              (diff NULL), then each later change once, in commit order
//! ```
//!
//! A row whose `dogwood_diff` is NULL says that nothing more will come up to `dogwood_time`. The query is
//! watched as a view by key, which many subscribers share and which is held as long as one is there. Holds no
//! snapshot of the leaves and no lock; runs outside the transaction that it is asked in.

use super::Session;
use crate::SqlError;
use crate::database::Database;
use crate::one_shot::watch::Watch;
use crate::protocol::{CancelFlag, RowStream, RowTag, RowWait};
use crate::view::automatic::Entry;
use crate::view::published::{Stage, ViewState};
use crate::view::read;
use crate::view::subscription::{Begun, Subscription};
use parking_lot::Mutex;
use planner::SubscribePlan;
use planner::hir::OutputColumn;
use repr::row::RowIter;
use repr::{CommitTime, Datum};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A quiet subscription says so this often.
const HEARTBEAT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);

/// A subscription under way.
pub struct Subscribed {
    columns: Arc<[OutputColumn]>,
    project: Vec<usize>,
    /// Rows that are ready to be given.
    ready: VecDeque<Vec<Datum>>,
    subscription: Subscription,
    /// The snapshot's time: changes up to it are in the snapshot.
    since: CommitTime,
    progress: bool,
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
        let (entry, view) =
            database.automatic_views.hold(&Arc::new(plan.lifted.clone()), "SUBSCRIBE", &database.pipeline)?;
        let held = Held { database: database.clone(), entry };
        let context = self.eval_context(params, &self.catalog());
        let keys = read::keys(&plan.lifted, &context)?;
        self.wait_until_filled(view)?;
        // Registered before the snapshot is taken: nothing falls in between.
        let subscription = database.subscriptions.subscribe(view, keys.clone());
        let published = database.latest();
        let state = published.views.get(view).ok_or_else(gone)?;
        if !state.is_readable() {
            return Err(unreadable(state));
        }
        let watch = Watch::new(self.limits(published.time));
        let mut ready = VecDeque::new();
        if plan.snapshot {
            let arrangement = state.arrangements.first().ok_or_else(gone)?;
            let mut stopped = Ok(());
            for key in &keys {
                arrangement.for_key(key, |bytes| {
                    ready.push_back(row(published.time, Some(1), Some(bytes), &plan.lifted.finishing.project));
                    stopped = watch.charge(bytes.len() + size_of::<Vec<Datum>>());
                    stopped.is_ok()
                });
            }
            stopped?;
        }
        subscription.begin(Begun { backend: self.backend, since: published.time });
        let columns: Arc<[OutputColumn]> = plan.columns.as_slice().into();
        let project = plan.lifted.finishing.project.clone();
        ready.push_back(row(published.time, None, None, &project));
        Ok(Subscribed {
            columns,
            project,
            ready,
            subscription,
            since: published.time,
            progress: plan.progress,
            closed: published.time,
            said: Instant::now(),
            cancel: self.cancel.clone(),
            ended: false,
            _held: held,
        })
    }
}

fn gone() -> SqlError {
    SqlError::new("55000", "the view that is subscribed to was dropped").hint("Subscribe again.")
}

fn unreadable(state: &ViewState) -> SqlError {
    match &state.stage {
        Stage::Failed(error) => error.clone(),
        Stage::Waiting | Stage::Hydrating { .. } | Stage::Ready => {
            SqlError::new("55000", "a row of the subscribed query cannot be evaluated")
                .hint("The query itself tells which error it is.")
        }
    }
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
                    for (changed, diff) in change.rows.iter() {
                        let diff = i64::try_from(*diff).unwrap_or(i64::MAX);
                        self.ready.push_back(row(change.time, Some(diff), Some(changed.bytes()), &self.project));
                    }
                    // Later rows must not be said to be closed by an older time.
                    self.said = Instant::now();
                }
                None => {
                    if self.progress && (frontier > self.closed || self.said.elapsed() >= HEARTBEAT) {
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
