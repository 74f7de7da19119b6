//! The latest changes of a watched view, for subscriptions that go on from an earlier time.
//!
//! Bounded by bytes and by age. What a person's erasure took away is held for nobody: at an erasure every history
//! lets go of what was before. Never holds a snapshot of the leaves.

use crate::subscription::Delta;
use repr::CommitTime;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Batches of one view.
const BYTES_MAX: usize = 16 << 20;
/// How long a change is held.
const AGE_MAX: Duration = Duration::from_mins(5);

/// See the module.
pub struct History {
    /// All changes after this time are here.
    since: CommitTime,
    held: VecDeque<PastDelta>,
    bytes: usize,
}

struct PastDelta {
    time: CommitTime,
    delta: Arc<Delta>,
    bytes: usize,
    at: Instant,
}

impl History {
    /// Nothing yet, for a view whose every change after this time will be recorded.
    pub fn after(since: CommitTime) -> Self {
        History { since, held: VecDeque::new(), bytes: 0 }
    }

    /// The time after which all changes are here.
    pub fn since(&self) -> CommitTime {
        self.since
    }

    /// Adds what one commit group changed.
    pub fn record(&mut self, time: CommitTime, delta: Arc<Delta>) {
        if time <= self.since {
            return;
        }
        let bytes = delta.bytes();
        self.bytes += bytes;
        self.held.push_back(PastDelta { time, delta, bytes, at: Instant::now() });
        self.trim();
    }

    /// Lets go of what is too old or too much.
    pub fn trim(&mut self) {
        while self.held.front().is_some_and(|oldest| self.bytes > BYTES_MAX || oldest.at.elapsed() > AGE_MAX) {
            if let Some(oldest) = self.held.pop_front() {
                self.bytes -= oldest.bytes;
                self.since = oldest.time;
            }
        }
    }

    /// Holds nothing of this time and before.
    pub fn let_go(&mut self, until: CommitTime) {
        while let Some(oldest) = self.held.pop_front_if(|oldest| oldest.time <= until) {
            self.bytes -= oldest.bytes;
        }
        self.since = self.since.max(until);
    }

    /// Bytes that nothing else holds: until they are merged, changes are the view's own batches.
    pub fn bytes(&self) -> usize {
        self.held.iter().map(|held| held.delta.bytes_of_its_own()).sum()
    }

    /// The changes after a time, in commit order; none if some are no longer held.
    pub(crate) fn changes_after(&self, time: CommitTime) -> Option<impl Iterator<Item = (CommitTime, &Delta)>> {
        let later = self.held.iter().filter(move |held| held.time > time);
        (time >= self.since).then(|| later.map(|held| (held.time, held.delta.as_ref())))
    }
}
