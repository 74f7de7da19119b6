//! Long statements: what is made of their texts is made on a thread of its own, and freed on another.
//!
//! Parser and planner end a cancelled statement by unwinding, and that frees what they have made so far, piece by piece: of
//! megabytes of text for seconds. So the connection's thread only waits for them, asks its account meanwhile, and answers
//! at once. What a statement has left behind is freed when it is answered.

use repr::ValueError;
use repr::poll::{self, Overseer};
use state::SqlError;
use state::account::Account;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// From how many bytes on a text is long.
const TEXT_BYTES_MIN: usize = 1 << 20;
/// How often a cancel is looked for.
const LOOK: Duration = Duration::from_millis(2);
/// As a connection's: the parser is bounded by it.
const STACK_BYTES: usize = 16 << 20;

/// Whether a statement's text is long.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() >= TEXT_BYTES_MIN
}

/// The account's overseer, until nobody waits for the work any more.
struct Awaited {
    account: Arc<Account>,
    deserted: AtomicBool,
}

impl Overseer for Awaited {
    fn joined(&self) {
        self.account.joined();
    }

    fn left(&self) {
        // What it frees was another statement's.
        if !self.deserted.load(Ordering::Acquire) {
            self.account.left();
        }
    }

    fn look(&self, wanted_bytes: usize) -> Result<(), ValueError> {
        if self.deserted.load(Ordering::Acquire) {
            return Err(ValueError::new("57014", "nobody waits for it"));
        }
        self.account.look(wanted_bytes)
    }
}

/// Runs it on a thread of its own, and waits for it as long as the statement may go on.
pub fn run<T: Send + 'static>(
    account: &Arc<Account>,
    work: impl FnOnce() -> Result<T, SqlError> + Send + 'static,
) -> Result<T, SqlError> {
    let awaited = Arc::new(Awaited { account: account.clone(), deserted: AtomicBool::new(false) });
    let overseer: Arc<dyn Overseer> = awaited.clone();
    let (sender, receiver) = sync_channel(1);
    let worker = move || {
        let overseen = poll::under(&overseer);
        let outcome = catch_unwind(AssertUnwindSafe(|| poll::unwinds_to(work)));
        drop(overseen);
        // Nobody waits for it: then it goes here.
        let _sent = sender.send(outcome);
    };
    let started = std::thread::Builder::new().name("long statement".into()).stack_size(STACK_BYTES).spawn(worker);
    if let Err(error) = started {
        return Err(SqlError::new("53000", "could not start a thread for a long statement").detail(error.to_string()));
    }
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(Ok(outcome)) => return outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = account.check() {
                    awaited.deserted.store(true, Ordering::Release);
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(SqlError::new("XX000", "a long statement's thread has ended"));
            }
        }
    }
}
