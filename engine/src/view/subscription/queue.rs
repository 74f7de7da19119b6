//! What one subscriber has not taken yet.

use super::Recheck;
use crate::SqlError;
use parking_lot::Mutex;
use repr::{CommitTime, RelationId, Row};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

/// Changed rows of one subscriber that nobody has taken. What may wait for all is `dogwood.subscription_memory`.
const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What a queued row costs beside its bytes.
const ROW_OVERHEAD_BYTES: usize = 48;

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
    changes: VecDeque<Change>,
    bytes: usize,
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
    pub fn new(number: u64, queued_bytes: Arc<AtomicUsize>, recheck: Recheck) -> Queue {
        Queue {
            state: Mutex::default(),
            queued_bytes,
            number,
            begun: OnceLock::new(),
            delivered: AtomicU64::new(0),
            recheck,
        }
    }

    /// Adds a change, or cuts who has not taken those before.
    pub fn push(&self, change: &Change) {
        let mut state = self.state.lock();
        if state.ended.is_some() {
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
        state.ended.get_or_insert_with(|| {
            SqlError::new("53400", "the subscription was cut: its changes were not taken in time")
                .detail(why)
                .hint("Subscribe again; the snapshot brings you up to date.")
        });
        drop(state);
        self.wake();
    }

    fn clear(&self, state: &mut QueueState) {
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
        if !state.changes.is_empty() || state.ended.is_some() {
            return true;
        }
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        false
    }

    /// The next change; none if there is none now. An error is the end.
    pub fn take(&self) -> Result<Option<Change>, SqlError> {
        let mut state = self.state.lock();
        if let Some(change) = state.changes.pop_front() {
            let bytes = change.bytes();
            state.bytes -= bytes;
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            // What its first rows show already is not told again.
            if self.begun.get().is_some_and(|begun| change.time > begun.since) {
                self.delivered.fetch_add(change.rows.len() as u64, Ordering::Relaxed);
            }
            return Ok(Some(change));
        }
        state.ended.clone().map_or(Ok(None), Err)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let left = self.state.get_mut().bytes;
        self.queued_bytes.fetch_sub(left, Ordering::Relaxed);
    }
}
