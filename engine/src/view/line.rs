//! Where the view thread leaves what it made of each commit group, and the flush thread fetches it.
//!
//! ```text
//! commit thread ──▶ flush thread: fdatasync ──────────────┐
//!        └────────▶ view thread: dataflows ──▶ Line ──────┴─▶ publish (leaves, views) at one time
//! ```
//!
//! A group is published once both are done. What a view thread finishes between commits (a hydration) is
//! published at the time that it was made for, if that is still the latest.

use super::published::Views;
use super::subscription::Deltas;
use crate::published::Published;
use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};
use repr::CommitTime;
use std::collections::VecDeque;
use std::sync::Arc;

/// See the module.
pub struct Line {
    published: Arc<ArcSwap<Published>>,
    made: Mutex<VecDeque<Made>>,
    arrived: Condvar,
}

/// What views became by one commit group.
pub struct Made {
    /// The group's time.
    pub time: CommitTime,
    /// All views.
    pub views: Views,
    /// What changed in views that are watched.
    pub deltas: Deltas,
}

impl Line {
    /// A line that ends in this pointer.
    pub fn new(published: Arc<ArcSwap<Published>>) -> Self {
        Line { published, made: Mutex::new(VecDeque::new()), arrived: Condvar::new() }
    }

    /// A group is through all views.
    pub fn arrive(&self, made: Made) {
        self.made.lock().push_back(made);
        self.arrived.notify_one();
    }

    /// Views as of `time` have become others without a commit.
    pub fn replace(&self, time: CommitTime, views: Views) {
        let mut made = self.made.lock();
        if let Some(waiting) = made.iter_mut().rfind(|made| made.time == time) {
            waiting.views = views;
            return;
        }
        // Under the lock, so that no group is published in between.
        let published = self.published.load_full();
        if published.time == time {
            self.published.store(Arc::new(Published { views, ..Published::clone(&published) }));
        } else if published.time < time {
            made.push_back(Made { time, views, deltas: Deltas::default() });
        }
    }

    /// Waits until views have followed up to `time`, and takes all up to there.
    pub fn fetch(&self, time: CommitTime) -> Vec<Made> {
        let mut made = self.made.lock();
        while !made.iter().any(|made| made.time == time) {
            self.arrived.wait(&mut made);
        }
        let mut taken = Vec::new();
        while made.front().is_some_and(|made| made.time <= time) {
            taken.extend(made.pop_front());
        }
        taken
    }

    /// Publishes; views that have become others since they were fetched, too.
    pub fn publish(&self, mut state: Published) {
        let mut made = self.made.lock();
        while made.front().is_some_and(|made| made.time <= state.time) {
            if let Some(late) = made.pop_front()
                && late.time == state.time
            {
                state.views = late.views;
            }
        }
        self.published.store(Arc::new(state));
    }
}
