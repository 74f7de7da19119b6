//! What stands in the arrangements of a worker, by the numbers of their operators: from differential's own log.
//!
//! Counts records, in batches and on their way into one; never their bytes, which `Meter` reads or estimates.

use differential_dataflow::logging::{DifferentialEvent, DifferentialEventBuilder};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use timely::worker::Worker;

/// See the module.
#[derive(Default)]
pub struct ArrangementLog {
    held: RefCell<BTreeMap<usize, HeldUpdates>>,
}

/// What one operator holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldUpdates {
    /// Updates in batches.
    pub updates: isize,
    /// Batches that are not empty.
    pub batches: isize,
    /// Updates that are no batch yet.
    pub unsorted: isize,
}

impl HeldUpdates {
    /// All updates.
    pub fn records(&self) -> usize {
        usize::try_from(self.updates + self.unsorted).unwrap_or(0)
    }
}

impl ArrangementLog {
    /// Listens to a worker.
    pub fn listen(worker: &Worker) -> Rc<ArrangementLog> {
        let log = Rc::new(ArrangementLog::default());
        let Some(mut register) = worker.log_register() else { return log };
        let heard = log.clone();
        register.insert::<DifferentialEventBuilder, _>(
            "differential/arrange",
            move |_time: &Duration, events: &mut Option<Vec<(Duration, DifferentialEvent)>>| {
                let mut held = heard.held.borrow_mut();
                events.iter().flatten().for_each(|(_, event)| hear(&mut held, event));
            },
        );
        log
    }

    /// Operators that are no more.
    pub fn forget(&self, worker: &Worker, numbers: Range<usize>) {
        if let Some(mut register) = worker.log_register() {
            register.flush();
        }
        self.held.borrow_mut().retain(|operator, _| !numbers.contains(operator));
    }

    /// What the operators with these numbers hold, in order; those that hold nothing are left out.
    pub fn within(&self, numbers: Range<usize>) -> Vec<(usize, HeldUpdates)> {
        self.held.borrow().range(numbers).map(|(operator, held)| (*operator, *held)).collect()
    }

    /// Updates that the operators with these numbers hold.
    pub fn records(&self, numbers: Range<usize>) -> usize {
        self.held.borrow().range(numbers).map(|(_, held)| held.records()).sum()
    }
}

fn hear(held: &mut BTreeMap<usize, HeldUpdates>, event: &DifferentialEvent) {
    let filled = |length: usize| isize::from(length > 0);
    let (operator, change) = match event {
        DifferentialEvent::Batch(batch) => {
            let (updates, batches) = (batch.length.cast_signed(), filled(batch.length));
            (batch.operator, HeldUpdates { updates, batches, unsorted: 0 })
        }
        DifferentialEvent::Merge(merge) => {
            let Some(length) = merge.complete else { return };
            let updates = length.cast_signed() - (merge.length1 + merge.length2).cast_signed();
            let batches = filled(length) - filled(merge.length1) - filled(merge.length2);
            (merge.operator, HeldUpdates { updates, batches, unsorted: 0 })
        }
        DifferentialEvent::Drop(batch) => {
            let (updates, batches) = (-batch.length.cast_signed(), -filled(batch.length));
            (batch.operator, HeldUpdates { updates, batches, unsorted: 0 })
        }
        DifferentialEvent::Batcher(batcher) => {
            (batcher.operator, HeldUpdates { updates: 0, batches: 0, unsorted: batcher.records_diff })
        }
        DifferentialEvent::MergeShortfall(_) | DifferentialEvent::TraceShare(_) => return,
    };
    let now = held.entry(operator).or_default();
    now.updates += change.updates;
    now.batches += change.batches;
    now.unsorted += change.unsorted;
    if *now == HeldUpdates::default() {
        held.remove(&operator);
    }
}
