//! What each operator of one subject request did: rows, rounds and time, for EXPLAIN ANALYZE.
//!
//! An ordinary request has an empty one, and asks once for each operator whether anybody wants to know.

use planner::catalog::EdgeRef;
use planner::explain::report::Actual;
use planner::ownership::traversal::OperatorId;
use repr::hash::HashMap;
use std::time::{Duration, Instant};

/// Whose work is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// An operator of the traversal's plan.
    Operator(OperatorId),
    /// Reading the µDB of who is erased.
    MicroDb,
    /// The rounds of an erasure.
    Rounds,
    /// What an annotated foreign key does to the rows that one of its rows had tied to the person.
    Edge(EdgeRef),
    /// What a foreign key does to the rows that name one that goes.
    ForeignKey(EdgeRef),
    /// The commit of an erasure.
    Commit,
    /// Deriving owners: rows that are left without one.
    Owners,
}

/// Counters; none at all if nobody asks.
#[derive(Default)]
pub struct RequestProfile {
    actuals: HashMap<Counted, Actual>,
    counting: bool,
    timing: bool,
}

impl RequestProfile {
    /// For a request that is explained.
    pub fn counting(timing: bool) -> RequestProfile {
        RequestProfile { actuals: HashMap::default(), counting: true, timing }
    }

    /// When an operator begins, if that is told.
    pub fn start(&self) -> Option<Instant> {
        self.timing.then(Instant::now)
    }

    /// An operator was run once, and gave so many rows.
    pub fn stop(&mut self, counted: Counted, started: Option<Instant>, rows: usize) {
        self.round(counted);
        self.stop_rounds(counted, started, rows);
    }

    /// One round of an iteration.
    pub fn round(&mut self, counted: Counted) {
        if self.counting {
            self.actuals.entry(counted).or_default().loops += 1;
        }
    }

    /// An iteration has come to its end, having gained so many rows.
    pub fn stop_rounds(&mut self, counted: Counted, started: Option<Instant>, rows: usize) {
        if !self.counting {
            return;
        }
        let actual = self.actuals.entry(counted).or_default();
        actual.rows += rows as u64;
        if let Some(started) = started {
            let (_, before) = actual.times.unwrap_or_default();
            actual.times = Some((None, before + started.elapsed()));
        }
    }

    /// What was done; nothing if nobody asked.
    pub fn actual(&self, counted: Counted) -> Option<Actual> {
        let idle = Actual { times: self.timing.then_some((None, Duration::ZERO)), ..Actual::default() };
        self.counting.then(|| self.actuals.get(&counted).cloned().unwrap_or(idle))
    }
}
