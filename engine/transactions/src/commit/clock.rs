//! The clock's way into views: as ticks, which are commits that write nothing.
//!
//! ```text
//! rows due (Publication) ─▶ clock thread ─┐
//!                                         ├─▶ queue ─▶ COMMIT STAGE: a time, and a moment ─▶ FLUSH STAGE ─▶ views with rows due
//! a reader whose now() is ahead ──────────┘            no earlier than the last
//! ```
//! Every commit has a moment of the clock, which is never before an earlier commit's: if the clock is set back, views stand
//! still until it is where it was, and what was told stays told. A tick comes when a row is due, and not otherwise; several a
//! second at most, however many rows are. Who reads a view whose clock is behind its own `now()` asks for a tick to that moment,
//! so that it finds the rows of that moment and of no later one. Nobody's answer waits for the views that a tick concerns.

use crate::commit::stage::Stage;
use crate::commit::{CommitPipeline, Committer, Hear, Outcome, Request, shutting_down};
use state::SqlError;
use state::clock::now_micros;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use views::publication::Publication;

/// So long after a tick comes the next, however many rows are due.
const REST: Duration = Duration::from_millis(10);
/// And so long after one that could not be written.
const REFUSED_REST: Duration = Duration::from_secs(1);

/// A moment that is to come into the order of commits.
pub(super) struct TickRequest {
    /// The moment.
    pub(super) moment: i64,
    /// Hears when it is published.
    pub(super) hear: Hear,
}

impl CommitPipeline {
    /// Waits until all that was handed over before is published or refused.
    pub(crate) fn settle(&self) -> Result<(), SqlError> {
        let (reply, outcome) = sync_channel(1);
        let hear = move |outcome| {
            // Whoever asked waits for it.
            let _heard = reply.send(outcome);
        };
        self.commit.put(Request::Tick(TickRequest { moment: now_micros(), hear: Box::new(hear) }));
        self.commit.rouse();
        match outcome.recv().map_err(|_| shutting_down())? {
            Outcome::Refused(error) => Err(error),
            Outcome::Committed(_) | Outcome::Again => Ok(()),
        }
    }

    /// Asks for the clock to go on to a moment, in the order of commits. Whoever reads waits for what is published.
    pub fn tick(&self, moment: i64) {
        self.commit.put(Request::Tick(TickRequest { moment, hear: Box::new(|_outcome| ()) }));
        self.commit.rouse();
    }
}

/// The thread that asks for ticks when rows are due.
pub(super) struct ClockThread {
    /// Where it asks.
    pub(super) commit: Arc<Stage<Committer>>,
    /// Where it hears what is due.
    pub(super) publication: Arc<Publication>,
    /// It is to end.
    pub(super) stopped: Arc<AtomicBool>,
}

impl ClockThread {
    /// Runs until it is stopped.
    pub(super) fn run(&self) {
        loop {
            self.publication.await_due(&self.stopped);
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let (reply, outcome) = sync_channel(1);
            let hear = Box::new(move |outcome| {
                // Whoever asked waits for it.
                let _heard = reply.send(outcome);
            });
            self.commit.put(Request::Tick(TickRequest { moment: now_micros(), hear }));
            self.commit.rouse();
            match outcome.recv() {
                Ok(Outcome::Committed(_)) => std::thread::sleep(REST),
                Ok(Outcome::Refused(_) | Outcome::Again) => std::thread::sleep(REFUSED_REST),
                Err(_ended) => return,
            }
        }
    }
}
