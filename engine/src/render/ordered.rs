//! Reductions that read a group in its order, and only as far as they need.
//!
//! ```text
//! differential's reduce     every changed group is read to its end
//! here                      logic pulls rows from the merged batches until it has what it wants
//! ```
//! The first rows of a group of a million then cost as much as those of a group of ten. Needs times in total order,
//! where a group changes at the times of its updates only; nested times take differential's reduce.

use super::RenderTime;
use super::arrangement::{
    Bytes, Outcome, OutcomeBatch, OutcomeBuilder, OutcomeSpine, RowBatch, RowsByKey, reduce, split,
};
use super::context::Bundle;
use differential_dataflow::operators::reduce::{ReduceTactic, reduce_with_tactic};
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::{Builder, Cursor, Description, Navigable};
use timely::progress::Antichain;

/// A group's rows in byte order with what they add up to, never zero.
pub type Rows<'r> = &'r mut dyn Iterator<Item = (Bytes<'r>, isize)>;

/// Each group's outcomes, from as many of its first rows as `logic` asks for.
pub fn reduce_in_order<'s, T: RenderTime>(
    arranged: RowsByKey<'s, T>,
    name: &str,
    mut logic: impl FnMut(Rows<'_>, &mut Vec<(Outcome, isize)>) + 'static,
) -> Bundle<'s, T> {
    if !T::IN_TOTAL_ORDER {
        return reduce(arranged, name, move |rows, output| logic(&mut rows.iter().copied(), output));
    }
    let reduced = reduce_with_tactic::<_, OutcomeSpine<T>, _>(arranged, name, InOrder { logic });
    split(reduced.as_collection(|_key, outcome| outcome.clone()))
}

struct InOrder<L> {
    logic: L,
}

type RowCursor<T> = CursorList<<RowBatch<T, isize> as Navigable>::Cursor>;

impl<T, L> ReduceTactic<RowBatch<T, isize>, OutcomeBatch<T>> for InOrder<L>
where
    T: RenderTime,
    L: FnMut(Rows<'_>, &mut Vec<(Outcome, isize)>) + 'static,
{
    fn retire(
        &mut self,
        mut source_batches: Vec<RowBatch<T, isize>>,
        output_batches: Vec<OutcomeBatch<T>>,
        input_batches: Vec<RowBatch<T, isize>>,
        lower: &Antichain<T>,
        upper: &Antichain<T>,
        held: &Antichain<T>,
    ) -> (Vec<(T, OutcomeBatch<T>)>, Antichain<T>) {
        // All of the interval is done here, so nothing is held back for later.
        let done = Antichain::new();
        let Some(at) = held.elements().iter().find(|time| !upper.less_equal(time)) else {
            return (Vec::new(), done);
        };
        source_batches.extend(input_batches.iter().cloned());
        let (mut rows, row_storage) = cursor_list(source_batches);
        let (mut outputs, output_storage) = cursor_list(output_batches);
        let (mut changed, changed_storage) = cursor_list(input_batches);
        let mut builder = <OutcomeBuilder<T> as Builder>::new();
        let mut updates = Vec::new();
        while let Some(key) = changed.get_key(&changed_storage) {
            let times = times(&mut changed, &changed_storage);
            outputs.seek_key(&output_storage, key);
            let mut before = Vec::new();
            if outputs.get_key(&output_storage) == Some(key) {
                while let Some(outcome) = outputs.get_val(&output_storage) {
                    let mut count = 0;
                    outputs.map_times(&output_storage, |_, diff| count += *diff);
                    if count != 0 {
                        before.push((outcome.clone(), count));
                    }
                    outputs.step_val(&output_storage);
                }
            }
            let mut of_key = Vec::new();
            for time in times {
                rows.seek_key(&row_storage, key);
                rows.rewind_vals(&row_storage);
                let mut after = Vec::new();
                if rows.get_key(&row_storage) == Some(key) {
                    (self.logic)(&mut UpTo { rows: &mut rows, storage: &row_storage, time: &time }, &mut after);
                    differential_dataflow::consolidation::consolidate(&mut after);
                }
                of_key.extend(before.drain(..).map(|(outcome, count)| (outcome, time.clone(), -count)));
                of_key.extend(after.iter().map(|(outcome, count)| (outcome.clone(), time.clone(), *count)));
                before = after;
            }
            differential_dataflow::consolidation::consolidate_updates(&mut of_key);
            let key = super::arrangement::Key(key.0.into());
            updates.extend(of_key.into_iter().map(|(outcome, time, diff)| ((key.clone(), outcome), time, diff)));
            changed.step_key(&changed_storage);
        }
        if updates.is_empty() {
            return (Vec::new(), done);
        }
        builder.push(&mut updates);
        let description = Description::new(lower.clone(), upper.clone(), Antichain::from_elem(T::minimum()));
        (vec![(at.clone(), builder.done(description))], done)
    }
}

/// The times at which a key changes, once each, in their order.
fn times<T: RenderTime>(changed: &mut RowCursor<T>, storage: &Vec<RowBatch<T, isize>>) -> Vec<T> {
    let mut times = Vec::new();
    while changed.get_val(storage).is_some() {
        changed.map_times(storage, |time, _| times.push(time.clone()));
        changed.step_val(storage);
    }
    times.sort();
    times.dedup();
    times
}

/// The rows of the key that a cursor stands at, as of a time.
struct UpTo<'r, T: RenderTime> {
    rows: &'r mut RowCursor<T>,
    storage: &'r Vec<RowBatch<T, isize>>,
    time: &'r T,
}

impl<'r, T: RenderTime> Iterator for UpTo<'r, T> {
    type Item = (Bytes<'r>, isize);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(row) = self.rows.get_val(self.storage) {
            let mut sum = 0;
            self.rows.map_times(self.storage, |time, diff| {
                if time.less_equal(self.time) {
                    sum += *diff;
                }
            });
            self.rows.step_val(self.storage);
            if sum != 0 {
                return Some((row, sum));
            }
        }
        None
    }
}
