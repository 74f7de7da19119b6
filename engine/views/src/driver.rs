//! The timely worker of one view: its dataflow runs on it and on no other, so that a step of one view is no step of another's.
//!
//! A worker of its own costs some kilobytes. What shares one is stepped together, however long one of them takes.

use arrangements::log::ArrangementLog;
use arrangements::merging::{Extent, Merged, Merging};
use operators::rendered::OperatorLog;
use std::rc::Rc;
use std::time::Instant;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::worker::Worker;

/// See the module.
pub struct Driver {
    /// The worker.
    pub worker: Worker,
    /// What its operators took.
    pub operators: Rc<OperatorLog>,
    /// What they hold.
    pub arrangements: Rc<ArrangementLog>,
    merging: Merging,
}

impl Default for Driver {
    fn default() -> Self {
        let (merging, mut config) = (Merging::default(), WorkerConfig::default());
        merging.configure(&mut config);
        let worker = Worker::new(config, Allocator::Thread(Thread::default()), Some(Instant::now()));
        let operators = Rc::new(OperatorLog::new(&worker));
        let arrangements = ArrangementLog::listen(&worker);
        Driver { worker, operators, arrangements, merging }
    }
}

impl Driver {
    /// Merges for a while what its arrangements hold: see `Merging`.
    pub fn merge(&mut self, extent: Extent, consider: impl FnMut()) -> Merged {
        self.merging.some(&mut self.worker, extent, consider)
    }
}
