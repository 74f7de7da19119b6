//! Where the view thread leaves what it made of each commit group, and the flush thread fetches it.
//!
//! ```text
//! commit thread ──▶ flush thread: fdatasync ──────────────┐
//!        └────────▶ view thread: dataflows ──▶ ViewResults ──────┴─▶ publish (leaves, views) at one time
//! ```
//!
//! A group is published once both are done. What a view thread finishes between commits (a hydration) is published at
//! the time that it was made for, or where nothing that views read was written since.
//!
//! The other way the line carries which relations views read: of groups that wrote none of them the view thread is not
//! told, if what it said last is its answer to all that it was told.

use crate::subscription::Deltas;
use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};
use repr::{CommitTime, RelationId};
use state::published::Published;
use state::view_states::Views;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
pub struct ViewResults {
    published: Arc<ArcSwap<Published>>,
    made: Mutex<VecDeque<Made>>,
    arrived: Condvar,
    /// Messages that the view thread is done with.
    heard: AtomicU64,
    /// What views and ordered indexes read after them.
    read: ArcSwap<BTreeSet<RelationId>>,
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

impl ViewResults {
    /// A line that ends in this pointer.
    pub fn new(published: Arc<ArcSwap<Published>>) -> Self {
        ViewResults {
            published,
            made: Mutex::new(VecDeque::new()),
            arrived: Condvar::new(),
            heard: AtomicU64::new(0),
            read: ArcSwap::default(),
        }
    }

    /// The view thread is done with one more message, or with none yet; what is read, if that may have changed.
    pub fn heard(&self, messages: u64, read: Option<BTreeSet<RelationId>>) {
        if let Some(read) = read {
            self.read.store(Arc::new(read));
        }
        self.heard.store(messages, Ordering::Release);
    }

    /// Whether views may read one of these relations, for someone who has told the view thread so much.
    pub fn concerns(&self, told: u64, mut written: impl Iterator<Item = RelationId>) -> bool {
        self.heard.load(Ordering::Acquire) != told || {
            let read = self.read.load();
            written.any(|relation| read.contains(&relation))
        }
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
        if published.time >= time {
            // Nobody was told of the groups in between, or they had waited for this thread.
            self.published.store(Arc::new(Published { views, ..Published::clone(&published) }));
        } else {
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

    /// Publishes a state with the views that followed it, or with those of before; views that have become others
    /// since, too. What was published before: whoever is in a hurry lets go of it later, as it may hold much.
    pub fn publish(&self, state: &Published, followed: Option<Views>) -> Arc<Published> {
        let mut made = self.made.lock();
        let mut views = followed.unwrap_or_else(|| self.published.load().views.clone());
        while made.front().is_some_and(|made| made.time <= state.time) {
            views = made.pop_front().map_or(views, |late| late.views);
        }
        self.published.swap(Arc::new(Published { views, ..Published::clone(state) }))
    }
}
