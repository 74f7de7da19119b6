//! What each operator of one statement did: rows, calls, time and the way that was chosen, for EXPLAIN.
//!
//! Every operator that is pulled is wrapped: a call, its time, its row. An ordinary statement has no profile, and asks once for
//! each operator whether there is one. A statement that is computed anew, or a copy of its plan, counts on for the same operators.

use crate::once::Pull;
use crate::plan::children;
use parking_lot::Mutex;
use planner::explain::report::Actual;
use planner::plan::{Plan, Way};
use repr::Datum;
use state::SqlError;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// See the module.
pub struct Profile {
    /// One counter a plan, each before its inputs.
    counters: Vec<Arc<Counter>>,
    /// The same by the place of each plan in memory.
    places: Mutex<HashMap<usize, Arc<Counter>>>,
    /// Whether times are taken.
    pub timing: bool,
}

/// What one operator did.
#[derive(Default)]
pub struct Counter {
    loops: AtomicU64,
    rows: AtomicU64,
    first_ns: AtomicU64,
    all_ns: AtomicU64,
    way: Mutex<Option<Way>>,
}

impl Profile {
    /// Of a plan and all below it.
    pub fn new(plan: &Plan, timing: bool) -> Arc<Profile> {
        let counters: Vec<Arc<Counter>> = addresses(plan).iter().map(|_| Arc::default()).collect();
        let profile = Profile { counters, places: Mutex::default(), timing };
        profile.follow(plan);
        Arc::new(profile)
    }

    /// Counts a copy of the plan as the plan itself.
    pub fn follow(&self, copy: &Plan) {
        let addresses = addresses(copy);
        if addresses.len() == self.counters.len() {
            self.places.lock().extend(addresses.into_iter().zip(self.counters.iter().cloned()));
        }
    }

    /// An operator's rows, counted.
    pub fn counted<'p>(&self, plan: &Plan, input: Box<dyn Pull + 'p>) -> Box<dyn Pull + 'p> {
        match self.counter(std::ptr::from_ref(plan).addr()) {
            Some(counter) => Box::new(CountedPull { input, counter, begun: false, timing: self.timing }),
            None => input,
        }
    }

    /// Counts what an operator's parts give as its own: it has no rows in one place.
    pub(crate) fn count_parts<'i, 'p: 'i>(&self, plan: &Plan, parts: impl Iterator<Item = &'i mut Box<dyn Pull + 'p>>) {
        let Some(counter) = self.counter(std::ptr::from_ref(plan).addr()) else { return };
        for (position, part) in parts.enumerate() {
            let input = std::mem::replace(part, crate::once::nothing());
            // All of them are one run of it.
            *part = Box::new(CountedPull { input, counter: counter.clone(), begun: position > 0, timing: self.timing });
        }
    }

    /// What an operator did, by its plan's place in memory.
    pub fn actual(&self, node: usize) -> Option<Actual> {
        let counter = self.counter(node)?;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let time = |count: &AtomicU64| Duration::from_nanos(read(count));
        let first = (read(&counter.first_ns) > 0).then(|| time(&counter.first_ns));
        Some(Actual {
            loops: read(&counter.loops),
            rows: read(&counter.rows),
            times: self.timing.then(|| (first, time(&counter.all_ns))),
        })
    }

    /// Notes the way in which a plan's rows are found; of several runs the last one's stays.
    pub fn chose(&self, plan: &Plan, way: Way) {
        if let Some(counter) = self.counter(std::ptr::from_ref(plan).addr()) {
            *counter.way.lock() = Some(way);
        }
    }

    /// That way, where there was one to choose, by the plan's place in memory.
    pub fn way(&self, node: usize) -> Option<Way> {
        *self.counter(node)?.way.lock()
    }

    fn counter(&self, node: usize) -> Option<Arc<Counter>> {
        self.places.lock().get(&node).cloned()
    }
}

/// The places of a plan and all below it, each before its inputs.
fn addresses(plan: &Plan) -> Vec<usize> {
    let mut found = vec![std::ptr::from_ref(plan).addr()];
    for child in children(plan) {
        found.extend(addresses(child));
    }
    found
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An iterator whose calls are counted.
struct CountedPull<'p> {
    input: Box<dyn Pull + 'p>,
    counter: Arc<Counter>,
    begun: bool,
    timing: bool,
}

impl Pull for CountedPull<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        if !self.begun {
            self.begun = true;
            self.counter.loops.fetch_add(1, Ordering::Relaxed);
        }
        let started = self.timing.then(Instant::now);
        let found = self.input.next(row);
        if let Some(started) = started {
            let took = nanoseconds(started.elapsed()).max(1);
            let all = self.counter.all_ns.fetch_add(took, Ordering::Relaxed) + took;
            if matches!(found, Ok(true)) && self.counter.rows.load(Ordering::Relaxed) == 0 {
                self.counter.first_ns.store(all, Ordering::Relaxed);
            }
        }
        if matches!(found, Ok(true)) {
            self.counter.rows.fetch_add(1, Ordering::Relaxed);
        }
        found
    }
}
