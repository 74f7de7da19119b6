//! Commits that views may follow a little later, several of them as one: what nobody reads between two commits need not have
//! gone through each.
//!
//! ```text
//! commit ─▶ durable ─▶ published ─▶ answered
//!    └─▶ view worker rests ─▶ what has come by then goes through its views as one
//!             ▲
//!             └─ some milliseconds, or until one of them is read; an erasure, DDL, and whatever else it is told end its rest
//! ```
//!
//! A reader waits for a view that is behind, and says so. So whoever was told of a commit reads it in every view, as
//! always; but who only writes does not pay for each commit what all of them together cost.

use crate::publication::ComponentId;
use repr::RelationId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A worker rests so many times as long as it has worked last: a passage costs nearly the same for one commit and for ten, so with
/// many views it takes a part of a core and no more.
const RESTS: u32 = 3;
const REST_MIN: Duration = Duration::from_millis(2);
const REST_MAX: Duration = Duration::from_millis(8);
/// A component that is behind for longer is waited for by whoever writes its tables. A passage costs nearly the same for a hundred
/// commits as for ten, and a worker gives way to statements: where processors are short, writers would else wait for its turn.
pub(crate) const DEFERRED_MAX: Duration = Duration::from_millis(250);
/// After so many commits that nobody has read the next ones are deferred.
const UNREAD_MIN: u32 = 2;

/// What is deferred ends a worker's rest at once.
#[derive(Default)]
pub(crate) struct Demand {
    is_raised: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Demand {
    /// Somebody waits for what the worker would leave for later.
    pub(crate) fn raise(&self) {
        self.is_raised.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The worker rests, on its own thread, after it has worked for so long; whether that was ended. What was raised while it worked
    /// ends the next rest: it may be of what has just come.
    pub(crate) fn rest(&self, worked: Duration) -> bool {
        let _own = self.thread.get_or_init(std::thread::current);
        let until = Instant::now() + (worked * RESTS).clamp(REST_MIN, REST_MAX);
        while !self.is_raised.swap(false, Ordering::SeqCst) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            std::thread::park_timeout(left);
        }
        true
    }
}

/// Whether somebody has read the views of a component of late.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// Commits since then.
    unread: AtomicU32,
}

impl Attention {
    fn note(&self) {
        if self.unread.load(Ordering::Relaxed) != 0 {
            self.unread.store(0, Ordering::Relaxed);
        }
    }

    /// One more commit; whether it may be deferred.
    pub(crate) fn is_unread_after_another(&self) -> bool {
        let before = self.unread.load(Ordering::Relaxed);
        self.unread.store(before.saturating_add(1), Ordering::Relaxed);
        before >= UNREAD_MIN
    }
}

/// The same of all of them.
#[derive(Clone, Default)]
pub(crate) struct Attentions {
    by_component: BTreeMap<ComponentId, Arc<Attention>>,
    by_view: BTreeMap<RelationId, Arc<Attention>>,
}

impl Attentions {
    /// Of these, as far as there were any before.
    pub(crate) fn of(members: &BTreeMap<ComponentId, Vec<RelationId>>, before: &Attentions) -> Attentions {
        let mut attentions = Attentions::default();
        for (component, views) in members {
            let attention = before.by_component.get(component).cloned().unwrap_or_default();
            attentions.by_view.extend(views.iter().map(|view| (*view, attention.clone())));
            attentions.by_component.insert(*component, attention);
        }
        attentions
    }

    /// Of a component.
    pub(crate) fn get(&self, component: ComponentId) -> Option<&Attention> {
        self.by_component.get(&component).map(|attention| &**attention)
    }

    /// Somebody reads these views.
    pub(crate) fn note<'v>(&self, views: impl IntoIterator<Item = &'v RelationId>) {
        views.into_iter().filter_map(|view| self.by_view.get(view)).for_each(|attention| attention.note());
    }

    /// Somebody may read any.
    pub(crate) fn note_all(&self) {
        self.by_component.values().for_each(|attention| attention.note());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_between_commits_is_not_deferred() {
        let members = BTreeMap::from([(ComponentId::ORDERED, vec![RelationId(7)])]);
        let attentions = Attentions::of(&members, &Attentions::default());
        let deferred = || attentions.get(ComponentId::ORDERED).is_some_and(Attention::is_unread_after_another);
        for _ in 0..4 {
            assert!(!deferred() && !deferred());
            attentions.note([&RelationId(7)]);
        }
        assert!(!deferred() && !deferred() && deferred() && deferred());
        let again = Attentions::of(&members, &attentions);
        assert!(again.get(ComponentId::ORDERED).is_some_and(Attention::is_unread_after_another), "it is not forgotten");
    }

    #[test]
    fn a_demand_ends_a_rest() {
        let demand = Arc::new(Demand::default());
        let rest = |demand: &Demand| demand.rest(Duration::ZERO);
        assert!(!rest(&demand), "nobody waits");
        demand.raise();
        assert!(rest(&demand), "one that was raised before ends it");
        assert!(!rest(&demand), "and no other");
        let began = Instant::now();
        assert!(!demand.rest(Duration::from_mins(1)) && began.elapsed() >= REST_MAX, "after long work it is longer");
        let other = demand.clone();
        let resting = std::thread::spawn(move || while !rest(&other) {});
        demand.raise();
        resting.join().expect("a demand while it rests, or before, ends it");
    }
}
