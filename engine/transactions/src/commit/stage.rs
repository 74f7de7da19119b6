//! A stage of the pipeline: work in order, one at a time, by whoever brings it or by the stage's own thread.
//!
//! ```text
//! put ─▶ queue ─┬─ help:  whoever put it does it, if nobody is at it ──────┐
//!               └─ rouse: the stage's thread takes all that has gathered ──┴─▶ the next stage
//! ```
//! Waking a thread takes longer than the work of one small transaction, so a lone client does it by itself. Where many
//! come, the thread stays awake, and what it takes at once shares one flush.

use parking_lot::{Condvar, Mutex, MutexGuard};
use repr::poll;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::thread::{self, JoinHandle};

/// What a stage does.
pub(super) trait Worker {
    /// What it is brought.
    type Work;
    /// Does some pieces of work, which came in this order.
    fn work(&mut self, some: Vec<Self::Work>);
}

/// See the module.
pub(super) struct Stage<W: Worker> {
    queue: Mutex<Queue<W::Work>>,
    arrived: Condvar,
    worker: Mutex<W>,
    at_once: usize,
}

struct Queue<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

impl<W: Worker> Stage<W> {
    /// A stage of which `at_once` pieces of work are done together at most.
    pub(super) fn new(worker: W, at_once: usize) -> Self {
        let queue = Queue { waiting: VecDeque::new(), closed: false };
        Stage { queue: Mutex::new(queue), arrived: Condvar::new(), worker: Mutex::new(worker), at_once }
    }

    /// Brings work. It is done once somebody calls `help` or `rouse`.
    pub(super) fn put(&self, work: W::Work) {
        self.queue.lock().waiting.push_back(work);
    }

    /// Does what waits, unless somebody is at it. What comes meanwhile is left to the stage's thread.
    pub(super) fn help(&self) {
        // Whoever is at it looks at the queue afterwards.
        if let Some(worker) = self.worker.try_lock() {
            self.round(worker);
            self.rouse();
        }
    }

    /// Leaves what waits to the stage's thread.
    pub(super) fn rouse(&self) {
        if !self.queue.lock().waiting.is_empty() {
            self.arrived.notify_one();
        }
    }

    /// No work comes any more: the thread ends when all is done.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_one();
    }

    /// The stage's thread. `after` is called after each round.
    pub(super) fn run(&self, after: impl Fn()) {
        loop {
            {
                let mut queue = self.queue.lock();
                while queue.waiting.is_empty() {
                    if queue.closed {
                        return;
                    }
                    self.arrived.wait(&mut queue);
                }
            }
            self.round(self.worker.lock());
            after();
        }
    }

    fn round(&self, mut worker: MutexGuard<'_, W>) {
        let some: Vec<_> = {
            let mut queue = self.queue.lock();
            let count = queue.waiting.len().min(self.at_once);
            queue.waiting.drain(..count).collect()
        };
        if some.is_empty() {
            return;
        }
        // Whoever brought it: what is begun here is not given up.
        let _alone = poll::alone();
        or_abort(|| worker.work(some));
    }
}

/// A thread of the pipeline.
pub(super) fn spawn(name: &str, body: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    thread::Builder::new()
        .name(name.into())
        .spawn(move || or_abort(body))
        .expect("the process can start its pipeline threads")
}

/// Half a commit cannot be taken back: recovery is the tested way out of a bug here.
pub(super) fn or_abort(body: impl FnOnce()) {
    if std::panic::catch_unwind(AssertUnwindSafe(body)).is_err() {
        tracing::error!(target: "dogwood::panics", "stopping at once: a commit could not be finished, and half of it cannot be taken back");
        std::process::abort();
    }
}
