//! The flag by which somebody else ends a statement.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Raised by a CancelRequest or the server's shutdown; looked at between rows and dataflow steps.
#[derive(Debug, Default)]
pub struct CancelFlag {
    cancelled: AtomicBool,
    /// Who waits for something else meanwhile.
    waiting: Mutex<Option<Waker>>,
}

impl CancelFlag {
    /// Asks the running statement to stop with 57014.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        let waiting = self.waiting.lock().take();
        waiting.into_iter().for_each(Waker::wake);
    }
    /// Wakes this, once, when it is asked.
    pub fn watch(&self, waker: &Waker) {
        *self.waiting.lock() = Some(waker.clone());
    }
    /// Whether it was asked; the next statement starts clear.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
    /// Clears it, at the start of a statement.
    pub fn clear(&self) {
        self.cancelled.store(false, Ordering::Release);
    }
}
