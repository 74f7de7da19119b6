//! How far a component is behind what is published.

use repr::{CommitTime, RelationId};
use state::published::Published;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far a component is behind.
pub(super) struct Lag {
    /// It is through all up to here …
    pub(super) since: CommitTime,
    /// … and has to be through this.
    pub(super) until: CommitTime,
    /// What it has to go through, and when that was published.
    due: VecDeque<(CommitTime, Instant)>,
    /// Its views.
    pub(super) views: BTreeSet<RelationId>,
    /// Its views and the leaves as of `since`, once it has come through something while it was behind.
    pub(super) last: Option<Arc<Published>>,
}

/// So many commits that a component has to go through are told apart; of more the lag is that of an earlier one.
const DUE_MAX: usize = 1_024;

impl Lag {
    /// Of a component that is through all up to there.
    pub(super) fn new(since: CommitTime) -> Lag {
        Lag { since, until: since, due: VecDeque::new(), views: BTreeSet::new(), last: None }
    }

    /// It has to go through a commit that is published now.
    pub(super) fn owe(&mut self, time: CommitTime) {
        self.until = time;
        let is_full = self.due.len() >= DUE_MAX;
        match self.due.back_mut() {
            Some((last, _)) if is_full => *last = time,
            _ => self.due.push_back((time, Instant::now())),
        }
    }

    /// It is through all up to there.
    pub(super) fn reach(&mut self, time: CommitTime) {
        self.since = time;
        while self.due.pop_front_if(|(due, _)| *due <= time).is_some() {}
    }

    /// For how long the earliest of them has been published.
    pub(super) fn duration(&self) -> Duration {
        self.due.front().map_or(Duration::ZERO, |(_, published)| published.elapsed())
    }

    /// When readers who bear with so much lag no longer do.
    pub(super) fn borne_until(&self, max_lag: Duration) -> Instant {
        self.due.front().map_or_else(Instant::now, |(_, published)| *published) + max_lag
    }
}
