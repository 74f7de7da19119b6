//! Requests that were answered at once and stand in `dogwood.requests` soon: their answers do not wait for it.

use parking_lot::Mutex;
use planner::parse::request::RequestKind;

/// More are written by those who answer.
const REQUESTS_MAX: usize = 10_000;

/// One of them.
#[derive(Clone, Debug)]
pub struct UnwrittenRequest {
    /// What was asked for.
    pub kind: RequestKind,
    /// The data-subject table.
    pub table: String,
    /// The person, as the audit log names them.
    pub subject: String,
    /// The role that answered.
    pub by: String,
    /// When.
    pub at: i64,
}

/// Those that wait.
#[derive(Default)]
pub struct UnwrittenRequests(Mutex<Vec<UnwrittenRequest>>);

impl UnwrittenRequests {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// One more; given back if too many wait.
    pub fn push(&self, request: UnwrittenRequest) -> Result<(), UnwrittenRequest> {
        let mut waiting = self.0.lock();
        if waiting.len() >= REQUESTS_MAX {
            return Err(request);
        }
        waiting.push(request);
        Ok(())
    }

    /// All, for who writes them.
    pub fn take(&self) -> Vec<UnwrittenRequest> {
        std::mem::take(&mut *self.0.lock())
    }

    /// They could not be written.
    pub fn put_back(&self, mut requests: Vec<UnwrittenRequest>) {
        let mut waiting = self.0.lock();
        requests.append(&mut waiting);
        *waiting = requests;
    }
}
