//! What may end a query before its last row: its session's account, an erased snapshot, a reader that has gone.
//!
//! One `Watch` is shared by all threads of a query. It is asked between rows, between dataflow steps and
//! inside long operators; it never interrupts by force. What knows no query asks `repr::poll`, which asks the account.

use crate::SqlError;
use crate::account::Account;
use parking_lot::Mutex;
use repr::poll::{self, Overseen, Overseer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The bounds within which a query runs.
#[derive(Clone)]
pub struct QueryLimits {
    /// Cancel, timeout and memory, of the session.
    pub account: Arc<Account>,
    /// Why the snapshot underneath may no longer be read (a data subject was forgotten), if so.
    pub ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
}

/// The state behind a query's limits.
pub struct Watch {
    account: Arc<Account>,
    /// The same, for threads that join.
    overseer: Arc<dyn Overseer>,
    ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
    stopped: AtomicBool,
    failure: Mutex<Option<SqlError>>,
}

impl Watch {
    /// Starts watching.
    pub fn new(limits: QueryLimits) -> Self {
        Watch {
            overseer: limits.account.clone(),
            account: limits.account,
            ended: limits.ended,
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// The account that it is on.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// This thread works for the query.
    pub fn join(&self) -> Overseen {
        poll::under(&self.overseer)
    }

    /// Whether the query is over; cheap, and never the first to notice.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the query with an error that no row carries, such as one of storage. The first one counts.
    pub fn fail(&self, error: SqlError) {
        self.failure.lock().get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Why the snapshot underneath may no longer be read, if so.
    pub fn ended(&self) -> Option<SqlError> {
        (self.ended)()
    }

    /// Looks at every limit. Errors are 57014, 53200, 54000, or why the snapshot ended.
    pub fn check(&self) -> Result<(), SqlError> {
        let error = if let Some(error) = self.failure.lock().clone() {
            error
        } else if let Err(error) = self.account.check() {
            error
        } else if let Some(error) = (self.ended)() {
            error
        } else if self.is_stopped() {
            SqlError::new("57014", "canceling statement because its result is no longer read")
        } else {
            return Ok(());
        };
        self.stopped.store(true, Ordering::Relaxed);
        Err(error)
    }
}

/// Counts rows, so that limits are looked at once in many.
#[derive(Default)]
pub struct Ticker {
    rows: u32,
}

impl Ticker {
    const ROWS_BETWEEN_CHECKS: u32 = 256;

    /// One more row: fails if a limit was found crossed.
    pub fn tick(&mut self, watch: &Watch) -> Result<(), SqlError> {
        self.rows = self.rows.wrapping_add(1);
        if self.rows.is_multiple_of(Self::ROWS_BETWEEN_CHECKS) { watch.check() } else { Ok(()) }
    }

    /// One more row: whether to stop work.
    pub fn stops(&mut self, watch: &Watch) -> bool {
        self.tick(watch).is_err() || watch.is_stopped()
    }
}
