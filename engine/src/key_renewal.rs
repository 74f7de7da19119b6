//! GDPR REKEY: another data key for a person who stays. Asked for by a session, gone on with by the eraser's thread.
//!
//! ```text
//! begin ─▶ all that was sealed before is written or refused ─▶ rows sealed anew, some at a time, in the commit order
//!       ─▶ nobody reads from before: a tick, so that nobody does out of habit; after PATIENCE they end ─▶ the old key destroyed
//! ```

use crate::reader_release::ReaderRelease;
use repr::MicroDbId;
use state::SqlError;
use state::clock::now_micros;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transactions::database::Database;

const POLL: Duration = Duration::from_millis(10);
/// After a failure the eraser's thread leaves it for so long.
const PAUSE: Duration = Duration::from_mins(1);

/// Replaces a person's key, and waits until the old one is destroyed. How many rows were sealed anew by this call. `check` says
/// whether to leave off: what has begun is gone on with then, by the eraser's thread.
pub(crate) fn renew(
    database: &Arc<Database>,
    of: MicroDbId,
    check: &dyn Fn() -> Result<(), SqlError>,
) -> Result<u64, SqlError> {
    database.store.begin_key_renewal(of)?;
    loop {
        if let Some(_alone) = database.store.drive_key_renewals() {
            return go_on(database, of, check);
        }
        check()?;
        std::thread::sleep(POLL);
    }
}

fn go_on(database: &Arc<Database>, of: MicroDbId, check: &dyn Fn() -> Result<(), SqlError>) -> Result<u64, SqlError> {
    let mut resealed = 0;
    if !database.store.is_resealed(of) {
        database.pipeline.await_written(of)?;
        database.store.visit_rows_to_reseal(of, |rows| {
            check()?;
            resealed += database.pipeline.reseal(of, rows)?;
            Ok::<_, SqlError>(())
        })?;
        database.store.end_resealing(of)?;
    }
    let (since, mut release) = (Instant::now(), ReaderRelease::default());
    while !database.store.finish_key_renewal(of, now_micros())? {
        check()?;
        let closed = release.urge(database, since);
        if closed > 0 {
            tracing::warn!(target: "dogwood::connections", closed, "sessions are closed that read under a key that is replaced");
        }
        std::thread::sleep(POLL);
    }
    tracing::info!(target: "dogwood::storage", rows = resealed, "the data key of a person is replaced");
    Ok(resealed)
}

/// What goes on with replacements whose session, or server, has left off.
#[derive(Default)]
pub(crate) struct LeftRenewals {
    failed: Option<Instant>,
}

impl LeftRenewals {
    /// Goes on, unless a session does.
    pub(crate) fn look(&mut self, database: &Arc<Database>, stops: &dyn Fn() -> bool) {
        if database.store.is_read_only() || self.failed.is_some_and(|failed| failed.elapsed() < PAUSE) {
            return;
        }
        let left = database.store.key_renewals();
        if left.is_empty() {
            return;
        }
        let Some(_alone) = database.store.drive_key_renewals() else { return };
        let check = || if stops() { Err(transactions::commit::shutting_down()) } else { Ok(()) };
        for of in left {
            self.failed = None;
            if let Err(error) = go_on(database, of, &check) {
                if !stops() {
                    tracing::warn!(target: "dogwood::storage", "the data key of a person could not be replaced yet: {error}");
                }
                self.failed = Some(Instant::now());
            }
        }
    }
}
