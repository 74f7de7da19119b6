//! Readers from before, where something is destroyed that they could still read: what is published is published anew, so that nobody
//! holds it out of habit, and after PATIENCE they end.

use state::clock::now_micros;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use transactions::database::Database;
use views::message::ViewRequest;

/// So long readers may take to let go.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// Between two ticks for those who hold what nobody reads.
const TICKS_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub(crate) struct ReaderRelease {
    ticked: Option<Instant>,
}

impl ReaderRelease {
    /// Readers have been in the way since then: has them let go. How many sessions were closed for it.
    pub(crate) fn urge(&mut self, database: &Arc<Database>, since: Instant) -> usize {
        if self.ticked.is_none_or(|ticked| ticked.elapsed() >= TICKS_EVERY) {
            // What is published holds a snapshot and cursors over it: with the next state they go.
            self.ticked = Some(Instant::now());
            database.pipeline.tick(now_micros());
            let (reply, _nobody) = channel();
            database.ask_views(ViewRequest::Merge(reply));
        }
        if since.elapsed() >= PATIENCE { database.end_held_for(PATIENCE) } else { 0 }
    }
}
