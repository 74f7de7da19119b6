//! The shipping thread: what is written is at a target within seconds.
//!
//! It belongs to the server and to no command of its own, so that it runs whenever there is something to ship. A target that fails
//! holds up nobody: what waits is bounded, and once there is no room for it a backup closes the gap.

use crate::backup::{BackupOrder, Variables, shipper};
use state::SqlError;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use storage::backup::{Shipped, Shipper};
use transactions::database::Database;

/// Between two pieces. A piece takes as long as its target takes, and nothing else stands before the five seconds that are promised.
const SHIPS_EVERY: Duration = Duration::from_secs(1);
/// After a failure.
const PAUSE: Duration = Duration::from_secs(2);

/// The thread. Dropped, it has shipped what it could, and has let go of the database.
pub struct Shipping {
    stays: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shipping {
    /// Starts it.
    pub fn start(
        database: &Arc<Database>,
        order: &BackupOrder,
        variables: Variables<'_>,
    ) -> Result<Shipping, SqlError> {
        let mut shipper = shipper(order, variables)?;
        let (stays, ended) = channel::<()>();
        let database = Arc::downgrade(database);
        let body = move || {
            let mut failing = false;
            let mut pause = Duration::ZERO;
            loop {
                let ends = ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
                let Some(database) = database.upgrade() else { return };
                pause = ship(&mut shipper, &database, &mut failing);
                if ends {
                    return shipper.end(&database.store);
                }
            }
        };
        let thread = std::thread::Builder::new().name("shipping".into()).spawn(body);
        let thread = thread.map_err(|error| SqlError::new("58030", format!("could not start a thread: {error}")))?;
        Ok(Shipping { stays: Some(stays), thread: Some(thread) })
    }
}

impl Drop for Shipping {
    fn drop(&mut self) {
        drop(self.stays.take());
        // One that has panicked has let go, too.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Ships all that waits, and says after how long to look again.
fn ship(shipper: &mut Shipper, database: &Database, failing: &mut bool) -> Duration {
    loop {
        match shipper.step(&database.store) {
            Ok(Shipped::Nothing) => break,
            Ok(Shipped::Piece { last, bytes }) => {
                tracing::debug!(target: "dogwood::storage", last, bytes, "a piece of the log is shipped");
            }
            Ok(Shipped::Backup(report)) => {
                let (backup, new_bytes) = (&report.id, report.new_bytes);
                tracing::info!(target: "dogwood::storage", backup, new_bytes, "a backup is taken that the shipped log follows on");
            }
            Err(error) => {
                if !std::mem::replace(failing, true) {
                    tracing::error!(target: "dogwood::storage", "the log is not shipped: {error}");
                }
                return PAUSE;
            }
        }
        // While its backup fails pieces go on, and are of no use by themselves.
        if shipper.follows_on_backup() && std::mem::take(failing) {
            tracing::info!(target: "dogwood::storage", "the log is shipped again");
        }
    }
    SHIPS_EVERY
}
