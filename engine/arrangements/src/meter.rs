//! How much a dataflow holds: what its arrangements hold, read from them, and an estimate of the rest.

use crate::arrangement::{RowDiff, RowLayout, RowSpine};
use crate::merging;
use crate::ordered_set::Entries;
use crate::time::ArrangeTime;
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::implementations::ord_neu::OrdValBatch;
use differential_dataflow::trace::{BatchReader, TraceReader};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use timely::progress::Antichain;

/// Containers that know how much they hold.
pub trait HeapBytes {
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
    /// Lets go of room for what is not there.
    fn trim(&mut self);
}

/// Lets go of a vector's room that is not in use, if that is worth moving the rest.
pub(crate) fn trim_vec<T>(vec: &mut Vec<T>) {
    if vec.capacity() - vec.len() > vec.len() / 8 {
        vec.shrink_to_fit();
    }
}

/// Of numbers: what elements hold themselves is not counted.
impl HeapBytes for Vec<isize> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<isize>()
    }
    fn trim(&mut self) {
        trim_vec(self);
    }
}

/// What an arrangement holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arranged {
    /// Updates: rows, and those not merged away yet.
    pub updates: usize,
    /// Batches that are not empty.
    pub batches: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Arranged {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Arranged) -> Arranged {
        Arranged {
            updates: self.updates + other.updates,
            batches: self.batches + other.batches,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// What the arrangements of a dataflow hold. Operators that make records tell of each, so that what is in no arrangement
/// that can be read is estimated by the records' mean size; how many there are, `ArrangementLog` knows.
#[derive(Default)]
pub struct Meter {
    keyed_records: Cell<usize>,
    keyed_bytes: Cell<usize>,
    /// By the numbers of their operators; none of a one-shot, which lets go of arrangements that it has read.
    arrangements: Option<RefCell<BTreeMap<usize, Box<dyn WatchedArrangement>>>>,
}

/// An arrangement that can be read.
trait WatchedArrangement {
    fn read(&self) -> Arranged;
    fn consider_merging(&mut self);
}

/// What one operator holds in a tree of its own.
impl WatchedArrangement for Rc<RefCell<Entries>> {
    fn read(&self) -> Arranged {
        let entries = self.borrow();
        Arranged { updates: entries.entries(), batches: usize::from(entries.entries() > 0), bytes: entries.bytes() }
    }

    fn consider_merging(&mut self) {}
}

impl<T: ArrangeTime, R: RowDiff> WatchedArrangement for TraceAgent<RowSpine<T, R>> {
    fn read(&self) -> Arranged {
        let mut held = Arranged::default();
        self.map_batches(|batch| {
            if batch.len() > 0 {
                held = held.and(Arranged { updates: batch.len(), batches: 1, bytes: batch.bytes() });
            }
        });
        held
    }

    fn consider_merging(&mut self) {
        merging::consider(self);
    }
}

impl Meter {
    const OVERHEAD_BYTES: usize = 80;

    /// For what lives on: its arrangements can be read.
    pub fn of_view() -> Self {
        Meter { arrangements: Some(RefCell::default()), ..Meter::default() }
    }

    /// One record of so many bytes is about to be arranged.
    pub fn count(&self, bytes: usize) {
        self.keyed_records.set(self.keyed_records.get() + 1);
        self.keyed_bytes.set(self.keyed_bytes.get() + bytes);
    }

    /// Bytes of all records so far.
    pub fn made_bytes(&self) -> usize {
        self.keyed_bytes.get()
    }

    /// An estimate of what so many records hold.
    pub fn bytes(&self, records: usize) -> usize {
        let mean = self.keyed_bytes.get() / self.keyed_records.get().max(1);
        records.saturating_mul(mean + Self::OVERHEAD_BYTES)
    }

    /// This will be read.
    pub fn watch<T: ArrangeTime, R: RowDiff>(&self, trace: &TraceAgent<RowSpine<T, R>>) {
        let Some(arrangements) = &self.arrangements else { return };
        let operator = trace.operator().global_id;
        let mut trace = trace.clone();
        // Nobody waits for us: others decide what is merged.
        trace.set_logical_compaction(Antichain::new().borrow());
        trace.set_physical_compaction(Antichain::new().borrow());
        arrangements.borrow_mut().insert(operator, Box::new(trace));
    }

    /// So will what this operator holds in a tree.
    pub fn watch_tree(&self, operator: usize, tree: &Rc<RefCell<Entries>>) {
        let Some(arrangements) = &self.arrangements else { return };
        arrangements.borrow_mut().insert(operator, Box::new(tree.clone()));
    }

    /// What an operator's arrangement holds, if it can be read.
    pub fn arrangement(&self, operator: usize) -> Option<Arranged> {
        Some(self.arrangements.as_ref()?.borrow().get(&operator)?.read())
    }

    /// What all arrangements hold that can be read.
    pub fn arranged(&self) -> Arranged {
        let Some(arrangements) = &self.arrangements else { return Arranged::default() };
        arrangements.borrow().values().map(|watched| watched.read()).fold(Arranged::default(), Arranged::and)
    }

    /// Has these arrangements look whether there is something to merge: see `merging`.
    pub fn consider_merging(&self) {
        let Some(arrangements) = &self.arrangements else { return };
        arrangements.borrow_mut().values_mut().for_each(|watched| watched.consider_merging());
    }
}

/// Bytes of a batch on the heap.
pub fn batch_bytes<T: ArrangeTime, R: RowDiff>(batch: &OrdValBatch<RowLayout<T, R>>) -> usize {
    let storage = &batch.storage;
    storage.keys.heap_bytes()
        + storage.vals.vals.heap_bytes()
        + storage.vals.offs.heap_bytes()
        + storage.upds.offs.heap_bytes()
        + storage.upds.times.heap_bytes()
        + storage.upds.diffs.heap_bytes()
}

/// Lets go of room for what is not there.
pub(crate) fn trim_batch<T: ArrangeTime, R: RowDiff>(batch: &mut OrdValBatch<RowLayout<T, R>>) {
    let storage = &mut batch.storage;
    storage.keys.trim();
    storage.vals.vals.trim();
    storage.vals.offs.trim();
    storage.upds.offs.trim();
    storage.upds.times.trim();
    storage.upds.diffs.trim();
}
