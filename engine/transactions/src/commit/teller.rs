//! The thread that tells many at once that what they have read is recorded.
//!
//! ```text
//! flush ─▶ durable ─┬─ a few wait:  told by whoever flushed ──────────────────┐
//!                   └─ many:        this thread tells them ── beside ─────────┴─▶ the next round's flush
//! ```
//! To send an answer takes some microseconds: of many, a good part of a flush, in which the disk would stand still.

use crate::commit::stage::{Stage, Worker, spawn};
use state::audit::Heard;
use std::sync::Arc;
use std::thread::JoinHandle;

/// As many are told before the next flush: another thread would first have to wake up.
const TOLD_AT_ONCE: usize = 2;
const ROUNDS_AT_ONCE: usize = 16;

/// See the module.
pub(super) struct Teller {
    rounds: Arc<Stage<Telling>>,
    thread: Option<JoinHandle<()>>,
}

struct Telling;

impl Worker for Telling {
    type Work = Heard;

    fn work(&mut self, rounds: Vec<Heard>) {
        rounds.into_iter().for_each(Heard::tell);
    }
}

impl Teller {
    /// Starts its thread.
    pub(super) fn start() -> Teller {
        let rounds = Arc::new(Stage::new(Telling, ROUNDS_AT_ONCE));
        let stage = rounds.clone();
        let thread = Some(spawn("teller", Box::new(move || stage.run(|| ()))));
        Teller { rounds, thread }
    }

    /// Tells them, here or soon.
    pub(super) fn tell(&self, heard: Heard) {
        if heard.count() <= TOLD_AT_ONCE {
            return heard.tell();
        }
        self.rounds.put(heard);
        self.rounds.rouse();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        // It tells all first.
        self.rounds.close();
        let _told = self.thread.take().map(JoinHandle::join);
    }
}
