//! Reductions that read a group in its order, and only as far as they need.
//!
//! ```text
//! differential's reduce     reads every changed group to its end, and keeps what came of all groups
//! here                      logic pulls rows from the merged batches until it has what it wants, before and after
//! ```
//! The first rows of a group of a million then cost as much as those of a group of ten, and groups are held once.
//! Needs times in total order, where a group changes at the times of its updates only; nested times take
//! differential's reduce.

use super::RenderTime;
use super::arrangement::{Bytes, Key, Outcome, RowBatch, RowDiff, RowsByKey, reduce, split};
use super::context::Bundle;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate_updates;
use differential_dataflow::lattice::antichain_join_into;
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use differential_dataflow::trace::{BatchReader, Cursor, Navigable, TraceReader};
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::progress::Antichain;

/// A group's rows in byte order with what they add up to, never zero.
pub type Rows<'r, R> = &'r mut dyn Iterator<Item = (Bytes<'r>, R)>;

/// Each group's outcomes, from as many of its first rows as `logic` asks for.
pub fn reduce_in_order<'s, T: RenderTime, R: RowDiff>(
    arranged: RowsByKey<'s, T, R>,
    name: &str,
    mut logic: impl FnMut(Rows<'_, R>, &mut Vec<(Outcome, isize)>) + 'static,
) -> Bundle<'s, T> {
    if !T::IN_TOTAL_ORDER {
        return reduce(arranged, name, move |rows, output| logic(&mut rows.iter().cloned(), output));
    }
    let mut trace = arranged.trace;
    let outcomes = arranged.stream.unary_frontier(Pipeline, name, move |_capability, _info| {
        let mut upper = Antichain::from_elem(T::minimum());
        move |(input, frontier), output| {
            let lower = upper.clone();
            let (mut earliest, mut batches) = (None, Vec::new());
            input.for_each(|capability, some| {
                // They come in the order of their times.
                earliest.get_or_insert_with(|| capability.retain(0));
                for batch in some.drain(..) {
                    upper.clone_from(batch.upper());
                    batches.push(batch);
                }
            });
            trace.advance_upper(&mut upper);
            let mut complete = Antichain::new();
            antichain_join_into(&upper.borrow()[..], &frontier.frontier()[..], &mut complete);
            upper = complete;
            if upper == lower {
                return;
            }
            if let Some(capability) = earliest {
                let before = trace.batches_through(lower.borrow()).expect("nothing was compacted beyond here");
                let mut updates = changes(before, batches, &mut logic);
                if !updates.is_empty() {
                    output.session(&capability).give_container(&mut updates);
                }
            }
            trace.set_logical_compaction(upper.borrow());
            trace.set_physical_compaction(upper.borrow());
        }
    });
    split(outcomes.as_collection())
}

type RowCursor<T, R> = CursorList<<RowBatch<T, R> as Navigable>::Cursor>;

/// What the outcomes of all groups become that have updates in `batches`, over what they were `before`.
fn changes<T: RenderTime, R: RowDiff>(
    before: Vec<RowBatch<T, R>>,
    batches: Vec<RowBatch<T, R>>,
    logic: &mut impl FnMut(Rows<'_, R>, &mut Vec<(Outcome, isize)>),
) -> Vec<(Outcome, T, isize)> {
    let all = before.iter().chain(&batches).cloned().collect();
    let (mut rows_before, before) = cursor_list(before);
    let (mut rows_after, all) = cursor_list(all);
    let (mut changed, batches) = cursor_list(batches);
    let mut updates = Vec::new();
    while let Some(key) = changed.get_key(&batches) {
        let times = times(&mut changed, &batches);
        let key = Key(key.0.into());
        let mut of_key = Vec::new();
        let mut outcomes = Vec::new();
        let mut rows = UpTo { rows: &mut rows_before, storage: &before, time: None };
        if rows.seek(&key) {
            logic(&mut rows, &mut outcomes);
        }
        for time in times {
            of_key.extend(outcomes.drain(..).map(|(outcome, count): (Outcome, isize)| (outcome, time.clone(), -count)));
            let mut rows = UpTo { rows: &mut rows_after, storage: &all, time: Some(&time) };
            if rows.seek(&key) {
                logic(&mut rows, &mut outcomes);
            }
            of_key.extend(outcomes.iter().map(|(outcome, count)| (outcome.clone(), time.clone(), *count)));
        }
        consolidate_updates(&mut of_key);
        updates.append(&mut of_key);
        changed.step_key(&batches);
    }
    updates
}

/// The times at which a key changes, once each, in their order.
fn times<T: RenderTime, R: RowDiff>(changed: &mut RowCursor<T, R>, storage: &Vec<RowBatch<T, R>>) -> Vec<T> {
    let mut times = Vec::new();
    while changed.get_val(storage).is_some() {
        changed.map_times(storage, |time, _| times.push(time.clone()));
        changed.step_val(storage);
    }
    times.sort();
    times.dedup();
    times
}

/// The rows of a key, as of a time or as of all.
struct UpTo<'r, T: RenderTime, R: RowDiff> {
    rows: &'r mut RowCursor<T, R>,
    storage: &'r Vec<RowBatch<T, R>>,
    time: Option<&'r T>,
}

impl<T: RenderTime, R: RowDiff> UpTo<'_, T, R> {
    /// Goes to the first row of a key, which comes after those that were asked for before or is the last of them.
    fn seek(&mut self, key: &Key) -> bool {
        self.rows.seek_key(self.storage, Bytes(&key.0));
        self.rows.rewind_vals(self.storage);
        self.rows.get_key(self.storage) == Some(Bytes(&key.0))
    }
}

impl<'r, T: RenderTime, R: RowDiff> Iterator for UpTo<'r, T, R> {
    type Item = (Bytes<'r>, R);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(row) = self.rows.get_val(self.storage) {
            let mut sum: Option<R> = None;
            self.rows.map_times(self.storage, |time, diff| {
                if self.time.is_none_or(|until| time.less_equal(until)) {
                    let diff = R::Column::into_owned(diff);
                    match &mut sum {
                        None => sum = Some(diff),
                        Some(sum) => sum.plus_equals(&diff),
                    }
                }
            });
            self.rows.step_val(self.storage);
            if let Some(sum) = sum.filter(|sum| !sum.is_zero()) {
                return Some((row, sum));
            }
        }
        None
    }
}
