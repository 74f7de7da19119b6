//! What one subscriber has not taken yet.
//!
//! ```text
//! opening: the rows as they were ─▶ a marker ─▶ changes, one for each time
//!          └──────────── an erasure folds what waits of it into one ─────────┘
//! ```
//! At an erasure what waits adds up: a row that came and went again is told to nobody any more. What is left of rows that
//! were told goes first; whoever does not take that in time is cut.

use crate::subscription::Recheck;
use parking_lot::Mutex;
use repr::hash::HashMap;
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::snapshot_holders::{Holder, SnapshotHold};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

/// Changed rows of one subscriber that nobody has taken. What may wait for all is `dogwood.subscription_memory`.
const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What a queued row costs beside its bytes.
const ROW_OVERHEAD_BYTES: usize = 48;
/// Of the first rows so many are told at once.
const OPENING_ROWS: usize = 500;

/// Rows that changed at one time, with their differences.
#[derive(Clone)]
pub struct Change {
    /// When.
    pub time: CommitTime,
    /// The rows.
    pub rows: Arc<[(Row, isize)]>,
    /// If several are told them: what one has made of them, and of which columns, for the others to use.
    pub made: Option<Arc<Made>>,
}

/// See `Change::made`.
pub type Made = OnceLock<(Arc<[usize]>, Box<dyn Any + Send + Sync>)>;

/// What a subscriber has not taken yet.
pub struct Queue {
    state: Mutex<QueueState>,
    /// What waits in all queues.
    queued_bytes: Arc<AtomicUsize>,
    /// Its place among all that there were since the start.
    pub number: u64,
    /// Whether what it is told may be of a person.
    personal: bool,
    /// Whose it is, once its first rows are found.
    pub begun: OnceLock<Begun>,
    /// Changed rows that were taken.
    delivered: AtomicU64,
    /// Whether its rows are among those that fail.
    pub recheck: Recheck,
}

/// Whose a subscription is, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The session's number.
    pub backend: i32,
    /// The time of its first rows: it has all changes after it.
    pub since: CommitTime,
}

/// What is told before the changes: the rows as they are, and a marker.
struct Opening {
    parts: VecDeque<Change>,
    time: CommitTime,
}

/// What is told next.
pub enum Taken {
    /// These rows.
    Change(Change),
    /// All up to here was told: the first marker.
    Marker(CommitTime),
    /// Nothing now.
    Nothing,
}

/// One subscription, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub number: u64,
    /// The view.
    pub view: RelationId,
    /// None before its first rows are found.
    pub begun: Option<Begun>,
    /// Changed rows that wait.
    pub queued_changes: usize,
    /// What they hold.
    pub queued_bytes: usize,
    /// Changed rows that were taken.
    pub delivered_changes: u64,
    /// Why it gets no more, if it does not.
    pub ended: Option<SqlError>,
}

#[derive(Default)]
struct QueueState {
    opening: Option<Opening>,
    changes: VecDeque<Change>,
    bytes: usize,
    /// The last erasure.
    erased_at: CommitTime,
    /// The first erasure since which retractions wait that it left.
    owed: Option<CommitTime>,
    /// The session's, to note what is on its way to the client.
    holder: Option<Arc<Holder>>,
    ended: Option<SqlError>,
    /// Who waits for it.
    waker: Option<Waker>,
}

impl Change {
    fn bytes(&self) -> usize {
        self.rows.iter().map(|(row, _)| row.bytes().len() + ROW_OVERHEAD_BYTES).sum()
    }
}

impl Queue {
    /// An empty one, whose bytes are counted among those of all.
    pub fn new(number: u64, queued_bytes: Arc<AtomicUsize>, recheck: Recheck, personal: bool) -> Queue {
        Queue {
            state: Mutex::default(),
            queued_bytes,
            number,
            personal,
            begun: OnceLock::new(),
            delivered: AtomicU64::new(0),
            recheck,
        }
    }

    /// Its first rows have been found: they and a marker come before the changes after them. Without any it goes on from there.
    pub fn begin(&self, begun: Begun, holder: &Arc<Holder>, opening: Option<Vec<Row>>) {
        // Under the lock: an erasure folds what waits either before or after this.
        let mut state = self.state.lock();
        self.begun.get_or_init(|| begun);
        while state.changes.front().is_some_and(|change| change.time <= begun.since) {
            self.pop(&mut state);
        }
        state.holder = Some(holder.clone());
        state.opening = opening.map(|rows| {
            let (mut parts, mut rows) = (VecDeque::new(), rows.into_iter().map(|row| (row, 1)).peekable());
            while rows.peek().is_some() {
                let rows = rows.by_ref().take(OPENING_ROWS).collect();
                parts.push_back(Change { time: begun.since, rows, made: None });
            }
            Opening { parts, time: begun.since }
        });
        // Whoever forgot somebody meanwhile has found no rows here.
        let erased_at = state.erased_at;
        if erased_at > begun.since {
            self.fold(&mut state, erased_at);
        }
    }

    /// A person was forgotten at this time, and all changes up to it are here: what waits is told as one change.
    pub fn erase(&self, time: CommitTime) {
        if !self.personal {
            return;
        }
        let mut state = self.state.lock();
        state.erased_at = time;
        // Which of the changes its first rows have already is not known before.
        if self.begun.get().is_some_and(|begun| begun.since < time) {
            self.fold(&mut state, time);
        }
    }

    /// All that waits up to a time, as one change at that time.
    fn fold(&self, state: &mut QueueState, time: CommitTime) {
        let mut places: HashMap<Row, usize> = HashMap::default();
        let mut sums: Vec<(Row, isize)> = Vec::new();
        while state.changes.front().is_some_and(|change| change.time <= time) {
            for (row, diff) in self.pop(state).iter().flat_map(|change| change.rows.iter()) {
                let place = *places.entry(row.clone()).or_insert(sums.len());
                match sums.get_mut(place) {
                    Some((_, sum)) => *sum += diff,
                    None => sums.push((row.clone(), *diff)),
                }
            }
        }
        // First rows that wait and have gone are not told; those that were told are told to be gone.
        for part in state.opening.iter_mut().flat_map(|opening| &mut opening.parts) {
            let mut stays = Vec::with_capacity(part.rows.len());
            for (row, diff) in part.rows.iter() {
                match places.get(row).and_then(|place| sums.get_mut(*place)) {
                    Some((_, sum)) if *sum < 0 => *sum += diff,
                    Some(_) | None => stays.push((row.clone(), *diff)),
                }
            }
            part.rows = stays.into();
        }
        sums.retain(|(_, sum)| *sum != 0);
        sums.sort_by_key(|(_, sum)| *sum > 0);
        if retracts(&sums) {
            state.owed.get_or_insert(time);
        }
        let change = Change { time, rows: sums.into(), made: None };
        match &mut state.opening {
            Some(opening) => {
                opening.parts.push_back(change);
                opening.parts.retain(|part| !part.rows.is_empty());
                opening.time = time;
            }
            None if change.rows.is_empty() => {}
            None => self.put_back(state, change),
        }
    }

    fn put_back(&self, state: &mut QueueState, change: Change) {
        let bytes = change.bytes();
        state.bytes += bytes;
        self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        state.changes.push_front(change);
    }

    fn pop(&self, state: &mut QueueState) -> Option<Change> {
        let change = state.changes.pop_front()?;
        let bytes = change.bytes();
        state.bytes -= bytes;
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(change)
    }

    /// Whether retractions wait that an erasure up to this time left.
    pub(crate) fn owes(&self, time: CommitTime) -> bool {
        self.state.lock().owed.is_some_and(|owed| owed <= time)
    }

    /// The last erasure: what is told from then on is not what was true before it.
    pub fn erased_at(&self) -> CommitTime {
        self.state.lock().erased_at
    }

    /// Adds a change, or cuts who has not taken those before.
    pub fn push(&self, change: &Change) {
        let mut state = self.state.lock();
        // What its first rows show already is not told again.
        if state.ended.is_some() || self.begun.get().is_some_and(|begun| change.time <= begun.since) {
            return;
        }
        let bytes = change.bytes();
        if state.bytes + bytes > QUEUE_BYTES_MAX && !state.changes.is_empty() {
            drop(state);
            self.cut(&format!("More than {QUEUE_BYTES_MAX} bytes of changes were waiting."));
            return;
        }
        state.bytes += bytes;
        self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        state.changes.push_back(change.clone());
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ends it for whoever does not take its changes, and lets go of them.
    pub fn cut(&self, why: &str) {
        let mut state = self.state.lock();
        self.clear(&mut state);
        if state.ended.is_none() {
            tracing::warn!(target: "dogwood::subscriptions", subscription = self.number, why, "a subscription is cut");
        }
        state.ended.get_or_insert_with(|| {
            SqlError::new("53400", "the subscription was cut: its changes were not taken in time")
                .detail(why)
                .hint("Subscribe again; the snapshot brings you up to date.")
        });
        drop(state);
        self.wake();
    }

    fn clear(&self, state: &mut QueueState) {
        state.opening = None;
        state.owed = None;
        state.changes.clear();
        self.queued_bytes.fetch_sub(std::mem::take(&mut state.bytes), Ordering::Relaxed);
    }

    /// Wakes who waits for it.
    pub fn wake(&self) {
        let waker = self.state.lock().waker.take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// As it stands.
    pub fn listed(&self, view: RelationId) -> Listed {
        let state = self.state.lock();
        Listed {
            number: self.number,
            view,
            begun: self.begun.get().copied(),
            queued_changes: state.changes.iter().map(|change| change.rows.len()).sum(),
            queued_bytes: state.bytes,
            delivered_changes: self.delivered.load(Ordering::Relaxed),
            ended: state.ended.clone(),
        }
    }

    /// Nothing more comes, for this reason if there was none before.
    pub fn end(&self, error: SqlError) {
        self.state.lock().ended.get_or_insert(error);
        self.wake();
    }

    /// What waits in it.
    pub fn waiting_bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Whether there is something to take. If not, the waker is woken once there is.
    pub fn watch(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.opening.is_some() || !state.changes.is_empty() || state.ended.is_some() {
            return true;
        }
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        false
    }

    /// What is told next, of a change at most so many rows. An error is the end. As long as what was taken is on its way to
    /// the client, `in_hand` is to be kept.
    pub fn take(&self, rows_max: usize, in_hand: &mut Option<Arc<SnapshotHold>>) -> Result<Taken, SqlError> {
        let mut state = self.state.lock();
        let Some(begun) = self.begun.get() else { return Ok(Taken::Nothing) };
        let mut opens = false;
        let mut change = match &mut state.opening {
            Some(opening) => match opening.parts.pop_front() {
                Some(part) => {
                    opens = part.time == begun.since;
                    part
                }
                None => {
                    let time = opening.time;
                    state.opening = None;
                    return Ok(Taken::Marker(time));
                }
            },
            None => match self.pop(&mut state) {
                Some(change) => change,
                None => return state.ended.clone().map_or(Ok(Taken::Nothing), Err),
            },
        };
        if in_hand.is_none() {
            // It tells of what was before it.
            let before = CommitTime(change.time.0.saturating_sub(1));
            *in_hand = state.holder.as_ref().map(|holder| Arc::new(holder.hold(before)));
        }
        let mut owes = false;
        if change.rows.len() > rows_max {
            let (taken, left) = change.rows.split_at(rows_max);
            owes = retracts(left);
            let left = Change { time: change.time, rows: left.into(), made: None };
            change = Change { time: change.time, rows: taken.into(), made: None };
            match &mut state.opening {
                Some(opening) => opening.parts.push_front(left),
                None => self.put_back(&mut state, left),
            }
        }
        if !owes && state.owed.is_some_and(|owed| owed <= change.time) {
            // Other erasures may have left theirs behind it.
            let parts = state.opening.iter().flat_map(|opening| &opening.parts);
            state.owed = parts.filter(|part| retracts(&part.rows)).map(|part| part.time).min();
        }
        if !opens {
            self.delivered.fetch_add(change.rows.len() as u64, Ordering::Relaxed);
        }
        Ok(Taken::Change(change))
    }
}

fn retracts(rows: &[(Row, isize)]) -> bool {
    rows.iter().any(|(_, diff)| *diff < 0)
}

impl Drop for Queue {
    fn drop(&mut self) {
        let left = self.state.get_mut().bytes;
        self.queued_bytes.fetch_sub(left, Ordering::Relaxed);
    }
}
