//! The publishing threads: where the audit log ends is told to a file or a witness, every few seconds if it has gone on.
//!
//! ```text
//! head that is read ─▶ what it is of is made durable ─▶ target
//! ```
//! A head that was published never leads to what a crash took. A target that fails or is slow holds up nobody: the next time it is
//! told of the end of then.

use state::SqlError;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use storage::audit::head_target::HeadTarget;
use transactions::database::Database;

/// A thread for each target. Dropped, they have published the last head, and have let go of the database.
pub struct Publishing {
    threads: Vec<(Option<Sender<()>>, Option<JoinHandle<()>>)>,
}

impl Publishing {
    /// Starts them.
    pub fn start(database: &Arc<Database>, targets: &[String], every: Duration) -> Result<Publishing, SqlError> {
        let mut threads = Vec::new();
        for given in targets {
            let (stays, ended) = channel::<()>();
            let mut publisher =
                Publisher { target: HeadTarget::of(given), given: given.clone(), published: 0, failing: false };
            let database = Arc::downgrade(database);
            let body = move || {
                loop {
                    let ends = ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                    let Some(database) = database.upgrade() else { return };
                    publisher.look(&database);
                    if ends {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("publishing".into()).spawn(body);
            let thread =
                thread.map_err(|error| SqlError::new("58030", format!("could not start a thread: {error}")))?;
            threads.push((Some(stays), Some(thread)));
        }
        Ok(Publishing { threads })
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        for (stays, _) in &mut self.threads {
            drop(stays.take());
        }
        // One that has panicked has let go, too.
        for (_, thread) in &mut self.threads {
            let _ended = thread.take().map(JoinHandle::join);
        }
    }
}

struct Publisher {
    target: HeadTarget,
    given: String,
    /// The last record of the head that was published last.
    published: u64,
    failing: bool,
}

impl Publisher {
    fn look(&mut self, database: &Database) {
        match self.publish(database) {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!(target: "dogwood::audit", to = self.given, "heads of the audit log are published again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(target: "dogwood::audit", to = self.given, "the head of the audit log is not published: {error}");
                }
            }
        }
    }

    fn publish(&mut self, database: &Database) -> Result<(), Box<dyn std::error::Error>> {
        let Some(head) = database.store.snapshot().head_line()? else { return Ok(()) };
        if head.sequence == self.published {
            return Ok(());
        }
        // What was written before is on the disk behind it.
        database.pipeline.record_waiting(&database.published.load().schema)?;
        self.target.publish(&head)?;
        self.published = head.sequence;
        tracing::debug!(target: "dogwood::audit", record = head.sequence, "a head of the audit log is published");
        Ok(())
    }
}
