//! Reductions that read a group in its order, and only as far as they need.
//!
//! ```text
//! differential's reduce     reads every changed group to its end, and keeps what came of all groups
//! here                      logic pulls rows from the merged batches until it has what it wants, before and after
//! ```
//! The first rows of a group of a million then cost as much as those of a group of ten, and groups are held once.
//! One operator makes the keys, arranges and reduces. Needs times in total order, where a group changes at the times of
//! its updates only; nested times take differential's operators.

use crate::context::{Bundle, Context, RenderTime, Rows, both, give, split_operator};
use crate::groups::{Outcome, reduce};
use arrangements::arrangement::{Bytes, FlatBytes, RowBatch, RowBuilder, RowDiff, RowSpine, arrange};
use arrangements::inner::{InnerArrangement, Update};
use arrangements::ordered_row::OrderedRow;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate_updates;
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use differential_dataflow::trace::{BatchReader, Cursor, Navigable, TraceReader};
use repr::{Row, ValueError};
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::ToStream;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::progress::operate::FrontierInterest;

/// A group's rows in byte order with what they add up to, never zero.
pub type OrderedRows<'r, R> = &'r mut dyn Iterator<Item = (Bytes<'r>, R)>;

/// Logic that gives the first of a group's rows, which stand behind what orders them.
pub fn first_row(_key: &[u8], rows: OrderedRows<'_, isize>, output: &mut Vec<(Outcome, isize)>) {
    // A negative count is a transient of incremental input; such a row is not there.
    for (bytes, count) in rows {
        if count > 0 {
            output.push((Ok(Row::copy_from(OrderedRow::parts(bytes).1)), 1));
            return;
        }
    }
}

/// What is grouped, and how.
pub struct OrderedGrouping<K, R, T> {
    /// As the operator is called.
    pub name: &'static str,
    /// Gives rows their keys, and the errors of those that cannot be given one.
    pub keyed: K,
    /// What is there from the beginning.
    pub phantom: Option<Update<T, R>>,
}

/// Each group's outcomes, from its key and as many of its first rows as `logic` asks for.
pub fn reduce_in_order<'s, T, R, K>(
    context: &Context<'s, T>,
    rows: Rows<'s, T>,
    grouping: OrderedGrouping<K, R, T>,
    mut logic: impl FnMut(&[u8], OrderedRows<'_, R>, &mut Vec<(Outcome, isize)>) + 'static,
) -> Bundle<'s, T>
where
    T: RenderTime,
    R: RowDiff,
    K: FnMut(&mut Vec<(Row, T, isize)>, &mut Vec<Update<T, R>>, &mut Vec<(ValueError, T, isize)>) + 'static,
{
    let OrderedGrouping { name, mut keyed, phantom } = grouping;
    if !T::IN_TOTAL_ORDER {
        let keyed = split_operator(rows, "GroupKey", keyed);
        let grouped = match phantom {
            Some(phantom) => keyed.oks.concat(Some(phantom).to_stream(context.scope).as_collection()),
            None => keyed.oks,
        };
        let arranged = arrange(&context.meter, grouped, "ArrangeGroups");
        let reduced = reduce(arranged, name, move |key, rows, output| {
            logic(key.0, &mut rows.iter().cloned(), output);
        });
        return Bundle { oks: reduced.oks, errs: both(reduced.errs, Some(keyed.errs)) };
    }
    let mut builder = OperatorBuilder::new(name.to_owned(), context.scope);
    let operator = builder.operator_info();
    let mut input = builder.new_input(rows.inner, Pipeline);
    builder.set_notify_for(0, FrontierInterest::IfCapability);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    let (mut inner, mut trace) =
        InnerArrangement::<T, R, RowSpine<T, R>, RowBuilder<T, R>>::new(&context.scope, operator);
    context.meter.watch(&trace);
    builder.build(move |at_first| {
        let mut held = None;
        if let Some(phantom) = phantom {
            inner.push(&T::minimum(), &mut vec![phantom]);
            held = Some(at_first);
        }
        let (mut updates, mut oks, mut errs) = (Vec::new(), Vec::new(), Vec::new());
        move |frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            input.for_each(|capability, rows| {
                keyed(rows, &mut updates, &mut errs);
                give(&mut errs_handle, &capability, &mut errs);
                if !updates.is_empty() {
                    if inner.earliest().is_none_or(|earliest| capability.time() < earliest) {
                        held = Some(vec![capability.retain(0), capability.retain(1)]);
                    }
                    inner.push(capability.time(), &mut updates);
                    updates.clear();
                }
            });
            let frontier = frontiers[0].frontier();
            if let Some(batch) = inner.seal(frontier) {
                let mut before = Vec::new();
                trace.map_batches(|batch| {
                    if batch.len() > 0 {
                        before.push(batch.clone());
                    }
                });
                changes(before, batch.clone(), &mut logic, &mut oks, &mut errs);
                inner.insert(batch);
                if let Some([of_oks, of_errs]) = held.as_deref() {
                    give(&mut oks_handle, of_oks, &mut oks);
                    give(&mut errs_handle, of_errs, &mut errs);
                }
                match inner.earliest() {
                    Some(time) => held.iter_mut().flatten().for_each(|capability| capability.downgrade(time)),
                    None => held = None,
                }
            }
            trace.set_logical_compaction(frontier);
            trace.set_physical_compaction(frontier);
            inner.merge();
        }
    });
    Bundle { oks: oks.as_collection(), errs: Some(errs.as_collection()) }
}

type RowCursor<T, R> = CursorList<<RowBatch<T, R> as Navigable>::Cursor>;

/// What the outcomes of all groups become that have updates in `batch`, over what they were `before`.
fn changes<T: RenderTime, R: RowDiff>(
    before: Vec<RowBatch<T, R>>,
    batch: RowBatch<T, R>,
    logic: &mut impl FnMut(&[u8], OrderedRows<'_, R>, &mut Vec<(Outcome, isize)>),
    oks: &mut Vec<(Row, T, isize)>,
    errs: &mut Vec<(ValueError, T, isize)>,
) {
    let (mut old, before) = cursor_list(before);
    let (mut new, batch) = cursor_list(vec![batch]);
    let (mut of_key, mut outcomes) = (Vec::new(), Vec::new());
    while let Some(key) = new.get_key(&batch) {
        let times = times(&mut new, &batch);
        // Keys come in their order.
        old.seek_key(&before, key);
        let was_there = old.get_key(&before) == Some(key);
        if was_there {
            logic(key.0, &mut GroupAt { old: Some(Side::of(&mut old, &before)), new: None }, &mut outcomes);
        }
        for time in times {
            of_key.extend(outcomes.drain(..).map(|(outcome, count): (Outcome, isize)| (outcome, time.clone(), -count)));
            let side = was_there.then(|| Side::of(&mut old, &before));
            logic(key.0, &mut GroupAt { old: side, new: Some((Side::of(&mut new, &batch), &time)) }, &mut outcomes);
            of_key.extend(outcomes.iter().map(|(outcome, count)| (outcome.clone(), time.clone(), *count)));
        }
        outcomes.clear();
        consolidate_updates(&mut of_key);
        for (outcome, time, diff) in of_key.drain(..) {
            match outcome {
                Ok(row) => oks.push((row, time, diff)),
                Err(error) => errs.push((error, time, diff)),
            }
        }
        new.step_key(&batch);
    }
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

/// Some batches at a key.
struct Side<'r, T: RenderTime, R: RowDiff> {
    rows: &'r mut RowCursor<T, R>,
    batches: &'r Vec<RowBatch<T, R>>,
}

impl<'r, T: RenderTime, R: RowDiff> Side<'r, T, R> {
    /// From the first row of the key.
    fn of(rows: &'r mut RowCursor<T, R>, batches: &'r Vec<RowBatch<T, R>>) -> Self {
        rows.rewind_vals(batches);
        Side { rows, batches }
    }

    fn row(&self) -> Option<Bytes<'r>> {
        self.rows.get_val(self.batches)
    }

    /// Adds what its row comes to, up to a time if there is one, and goes on.
    fn add(&mut self, until: Option<&T>, sum: &mut Option<R>) {
        self.rows.map_times(self.batches, |time, diff| {
            if until.is_none_or(|until| time.less_equal(until)) {
                let diff = R::Column::into_owned(diff);
                match sum {
                    None => *sum = Some(diff),
                    Some(sum) => sum.plus_equals(&diff),
                }
            }
        });
        self.rows.step_val(self.batches);
    }
}

/// The rows of a key: what they were, and what is new up to a time.
struct GroupAt<'r, T: RenderTime, R: RowDiff> {
    old: Option<Side<'r, T, R>>,
    new: Option<(Side<'r, T, R>, &'r T)>,
}

impl<'r, T: RenderTime, R: RowDiff> Iterator for GroupAt<'r, T, R> {
    type Item = (Bytes<'r>, R);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let old = self.old.as_ref().and_then(Side::row);
            let new = self.new.as_ref().and_then(|(side, _)| side.row());
            let row = old.into_iter().chain(new).min()?;
            let mut sum = None;
            if let Some(side) = self.old.as_mut().filter(|_| old == Some(row)) {
                side.add(None, &mut sum);
            }
            if let Some((side, until)) = self.new.as_mut().filter(|_| new == Some(row)) {
                side.add(Some(until), &mut sum);
            }
            if let Some(sum) = sum.filter(|sum| !sum.is_zero()) {
                return Some((row, sum));
            }
        }
    }
}
