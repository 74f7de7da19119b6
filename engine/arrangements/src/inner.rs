//! An arrangement that an operator keeps to itself, where times are in total order.
//!
//! ```text
//! differential   rows ─▶ [map: keys] ─▶ [arrange] ─▶ batches ─▶ [read them]
//! here           rows ─▶ [keys, batches, what is read from them]
//! ```
//! In each tick a view tells every operator of its dataflow how far the one before it is, whether it has anything to do
//! or not: the fewer there are, the less a small change costs.

use crate::arrangement::{Key, RowBatcher, RowDiff};
use crate::merging;
use crate::time::ArrangeTime;
use differential_dataflow::logging::DifferentialEventBuilder;
use differential_dataflow::operators::arrange::{TraceAgent, TraceWriter};
use differential_dataflow::trace::implementations::ContainerChunker;
use differential_dataflow::trace::{Batcher, Builder, Trace};
use repr::Row;
use std::marker::PhantomData;
use timely::container::{ContainerBuilder, PushInto};
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::OperatorInfo;
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

/// A row by its key, when, and what its updates add up to.
pub type Update<T, R> = ((Key, Row), T, R);

/// See the module.
pub struct InnerArrangement<T: ArrangeTime, R: RowDiff, Tr: Trace<Time = T>, Bu> {
    chunker: ContainerChunker<Vec<Update<T, R>>>,
    batcher: RowBatcher<T, R>,
    writer: TraceWriter<Tr>,
    /// The earliest update that is in no batch.
    earliest: Option<T>,
    /// Updates of earlier times are in batches.
    sealed: Antichain<T>,
    builder: PhantomData<Bu>,
}

impl<T, R, Tr, Bu> InnerArrangement<T, R, Tr, Bu>
where
    T: ArrangeTime,
    R: RowDiff,
    Tr: Trace<Time = T> + 'static,
    Bu: Builder<Time = T, Input = Vec<Update<T, R>>, Output = Tr::Batch>,
{
    /// An empty one, and what reads it.
    pub fn new(scope: &Scope<'_, T>, operator: OperatorInfo) -> (Self, TraceAgent<Tr>) {
        let logger = scope.worker().logger_for::<DifferentialEventBuilder>("differential/arrange").map(Into::into);
        let activator = scope.activator_for(operator.address.clone());
        let mut trace = Tr::new(operator.clone(), logger.clone(), Some(activator));
        if let Some(logic) = merging::logic(scope.worker()) {
            trace.set_exert_logic(logic);
        }
        let batcher = Batcher::new(logger.clone(), operator.global_id);
        let (reader, writer) = TraceAgent::new(trace, operator, logger);
        let inner = InnerArrangement {
            chunker: ContainerChunker::default(),
            batcher,
            writer,
            earliest: None,
            sealed: Antichain::from_elem(T::minimum()),
            builder: PhantomData,
        };
        (inner, reader)
    }

    /// Takes updates, none of them earlier than `time`.
    pub fn push(&mut self, time: &T, updates: &mut Vec<Update<T, R>>) {
        if self.earliest.as_ref().is_none_or(|earliest| time < earliest) {
            self.earliest = Some(time.clone());
        }
        self.chunker.push_into(updates);
        while let Some(chunk) = self.chunker.extract() {
            self.batcher.push_into(std::mem::take(chunk));
        }
    }

    /// What came of times before a frontier, as a batch that is to be inserted; none if nothing came.
    pub fn seal(&mut self, frontier: AntichainRef<'_, T>) -> Option<Tr::Batch> {
        if self.sealed.borrow() == frontier {
            return None;
        }
        while let Some(chunk) = self.chunker.finish() {
            self.batcher.push_into(std::mem::take(chunk));
        }
        self.sealed.clear();
        self.sealed.extend(frontier.iter().cloned());
        let (mut chain, description) = self.batcher.seal(self.sealed.clone());
        if self.earliest.as_ref().is_none_or(|earliest| frontier.less_equal(earliest)) {
            self.writer.seal(self.sealed.clone());
            return None;
        }
        self.earliest = self.batcher.frontier().first().cloned();
        Some(Bu::seal(&mut chain, description))
    }

    /// Takes a batch in, in the order in which they were sealed.
    pub fn insert(&mut self, batch: Tr::Batch) {
        self.writer.insert(batch, None);
    }

    /// Merges batches if that is allowed now: see `merging`. To be called whenever the operator runs.
    pub fn merge(&mut self) {
        self.writer.exert();
    }

    /// The earliest update that is in no batch yet.
    pub fn earliest(&self) -> Option<&T> {
        self.earliest.as_ref()
    }
}
