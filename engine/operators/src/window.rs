//! Window functions, per partition.
//!
//! A partition stands in its ORDER BY (see `OrderedRow`; ties by the row's bytes) and is evaluated as a whole: once, when all
//! rows have come; kept, whenever it changes, unless its calls see a few neighbours only, or nothing behind their row:
//!
//! ```text
//! rows                 · · · · · · c · · · · · · · ·       c has changed
//! neighbours                   [. . c . . .]               given again, of whom a row sees 3 before it and 2 after it
//! read for that      [. . . . . . . c . . . . . .]
//! running                         [c . . . . . . . ]       given again, from the first peer of c on
//! ```
//! Copies of a row are rows of their own here: row_number tells them apart.

mod reach;

use crate::context::{Bundle, Context, RenderTime};
use crate::groups::{Outcome, reduce};
use crate::held_groups::{HeldChange, HeldGroup, HeldGrouping, HeldRow, reduce_held};
use crate::once::{OneShot, Pull};
use arrangements::arrangement::{Group, arrange, metered};
use arrangements::ordered_row::{OrderedRow, group_key};
use planner::scalar::window::evaluate_partition;
use planner::scalar::{EvalContext, Order, WindowCall};
use reach::Reach;
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::BTreeMap;
use std::collections::btree_map::IntoValues;
use std::ops::Range;

/// The rows with their calls' values behind them, once: one partition after another.
pub struct WindowRows<'p> {
    input: Box<dyn Pull + 'p>,
    partition: &'p [usize],
    order: &'p [Order],
    calls: &'p [WindowCall],
    partitions: Option<IntoValues<Vec<u8>, Vec<Row>>>,
    /// What is left of the partition at hand.
    rows: std::vec::IntoIter<Row>,
    shot: OneShot,
}

impl<'p> WindowRows<'p> {
    /// Of these calls.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        partition: &'p [usize],
        order: &'p [Order],
        calls: &'p [WindowCall],
        shot: &OneShot,
    ) -> Self {
        let rows = Vec::new().into_iter();
        WindowRows { input, partition, order, calls, partitions: None, rows, shot: shot.clone() }
    }

    fn partitions(&mut self) -> Result<BTreeMap<Vec<u8>, Vec<Row>>, SqlError> {
        let mut partitions: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
        let (mut ticker, mut datums) = (Ticker::default(), Vec::new());
        while self.input.next(&mut datums)? {
            ticker.tick(&self.shot.watch)?;
            let row = OrderedRow::make(self.order, &datums, &Row::pack(&datums));
            poll::bytes(row.bytes().len())?;
            partitions.entry(group_key(self.partition, &datums)).or_default().push(row);
        }
        Ok(partitions)
    }

    fn advance(&mut self) -> Result<Option<Row>, SqlError> {
        if self.partitions.is_none() {
            self.partitions = Some(self.partitions()?.into_values());
        }
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(mut partition) = self.partitions.as_mut().and_then(Iterator::next) else { return Ok(None) };
            self.shot.watch.check()?;
            poll::sort_by(&mut partition, Row::cmp)?;
            let mut rows: Vec<Vec<Datum>> = Vec::with_capacity(partition.len());
            for row in partition {
                poll::bytes(row.bytes().len())?;
                rows.push(RowIter::over(OrderedRow::row(row.bytes())).collect());
            }
            self.rows = evaluate(&rows, self.order, self.calls, &self.shot.eval)?.into_iter();
        }
    }
}

impl Iterator for WindowRows<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// A partition's rows with the calls' values behind them.
fn evaluate(
    rows: &[Vec<Datum>],
    order: &[Order],
    calls: &[WindowCall],
    eval: &EvalContext,
) -> Result<Vec<Row>, ValueError> {
    poll::room_for::<Datum>(rows.len() * calls.len())?;
    let values = evaluate_partition(rows, order, calls, eval)?;
    let packed = |(row, values): (&Vec<Datum>, &Vec<Datum>)| {
        let row = Row::pack(row.iter().chain(values));
        poll::bytes(row.bytes().len())?;
        Ok(row)
    };
    rows.iter().zip(&values).map(packed).collect()
}

/// Renders a `Window`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    partition: &[usize],
    order: &[Order],
    calls: &[WindowCall],
) -> Bundle<'s, T> {
    // A tree shows one time, which those of rounds are not.
    if let Some(reach) = Reach::of(calls).filter(|_| T::IN_TOTAL_ORDER) {
        return render_held(context, input, (partition, order), calls, reach);
    }
    let (partition, meter) = (partition.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let keyed = {
        let order = order.to_vec();
        input.oks.map(move |row| {
            row.unpack_into(&mut datums);
            let keyed = metered(&meter, group_key(&partition, &datums), OrderedRow::make(&order, &datums, &row));
            // Nobody's row is kept until the next one comes.
            datums.clear();
            keyed
        })
    };
    let (order, calls) = (order.to_vec(), calls.to_vec());
    let (eval, watch) = (context.eval.clone(), context.watch.clone());
    reduce(arrange(&context.meter, keyed, "ArrangeWindow"), "Window", move |_key, rows, output| {
        if watch.is_stopped() {
            return;
        }
        let _joined = watch.join();
        match unpacked(rows).and_then(|rows| evaluate(&rows, &order, &calls, &eval)) {
            Ok(rows) => output.extend(rows.into_iter().map(|row| (Ok(row), 1))),
            Err(error) => output.push((Err(error), 1)),
        }
        // Copies that get equal values are one row twice.
        differential_dataflow::consolidation::consolidate(output);
    })
    .with_errs(input.errs)
}

/// Renders a `Window` of which a change moves a part only.
fn render_held<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    (partition, order): (&[usize], &[Order]),
    calls: &[WindowCall],
    reach: Reach,
) -> Bundle<'s, T> {
    let meter = context.meter.clone();
    let (partition, by) = (partition.to_vec(), order.to_vec());
    let mut datums = Vec::new();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            let key = group_key(&partition, &datums);
            let entry = OrderedRow::make(&by, &datums, &row);
            meter.count(key.len() + entry.bytes().len());
            updates.push((HeldRow { key, columns: Row::default(), entry: Some(entry) }, time, diff));
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    };
    let grouping = HeldGrouping { name: "Window", keyed, scalar: false };
    let (eval, watch) = (context.eval.clone(), context.watch.clone());
    let window = Window { order: order.to_vec(), calls: calls.to_vec(), eval };
    let bundle = reduce_held(context, input.oks, grouping, move |group, changes, output| {
        if watch.is_stopped() {
            return;
        }
        let _joined = watch.join();
        match reach {
            Reach::Rows { before, after } => window.neighbours(group, changes, (before, after), output),
            Reach::Running => window.running(group, changes, output),
        }
    });
    bundle.with_errs(input.errs)
}

/// The calls over one order.
struct Window {
    order: Vec<Order>,
    calls: Vec<WindowCall>,
    eval: EvalContext,
}

impl Window {
    /// Some of these rows with the calls' values behind them.
    fn evaluate(&self, rows: &[Vec<Datum>], wanted: Range<usize>) -> Result<Vec<Row>, ValueError> {
        let values = evaluate_partition(rows, &self.order, &self.calls, &self.eval)?;
        let wanted = rows.iter().zip(&values).skip(wanted.start).take(wanted.len());
        Ok(wanted.map(|(row, values)| Row::pack(row.iter().chain(values))).collect())
    }

    /// The rows whose values may be others by changes of their group: each depends on what it sees alone, whatever is
    /// evaluated beside it.
    fn neighbours(
        &self,
        group: &HeldGroup<'_>,
        changes: &[HeldChange],
        (before, after): (usize, usize),
        output: &mut Vec<(Outcome, isize)>,
    ) {
        let (_, count) = group.ranks();
        for moved in neighbourhoods(group, changes, (before, after), count) {
            let seen = moved.start.saturating_sub(before)..(moved.end + after).min(count);
            let rows = rows_of(group, seen.clone());
            let within = |ranks: Range<usize>| ranks.start - seen.start..ranks.end - seen.start;
            match self.evaluate(&rows, within(moved.clone())) {
                Ok(rows) => output.extend(rows.into_iter().map(|row| (Ok(row), 1))),
                // Which row fails is found one by one.
                Err(_) => output.extend(moved.map(|rank| {
                    let seen = rank.saturating_sub(before)..(rank + 1 + after).min(count);
                    let own = rank - seen.start..rank - seen.start + 1;
                    let row = self.evaluate(&rows[within(seen)], own);
                    (row.map(|mut rows| rows.swap_remove(0)), 1)
                })),
            }
        }
    }

    /// The rows from the first peer of what changed on. Of rows that fail, the first peers give their error, and what is
    /// behind them nothing: so each depends on what is before it alone.
    fn running(&self, group: &HeldGroup<'_>, changes: &[HeldChange], output: &mut Vec<(Outcome, isize)>) {
        let Some(entry) = changes.iter().find_map(|(row, _)| row.entry.as_ref()) else { return };
        let (_, count) = group.ranks();
        let rows = rows_of(group, 0..count);
        let changed: Vec<Datum> = RowIter::over(OrderedRow::row(entry.bytes())).collect();
        let (behind, _) = group.ranks_of(entry.bytes());
        let peers = rows[..behind].iter().rev().take_while(|row| self.are_peers(row, &changed)).count();
        let first = behind - peers;
        if first == count {
            return;
        }
        let error = match self.evaluate(&rows, first..count) {
            Ok(rows) => return output.extend(rows.into_iter().map(|row| (Ok(row), 1))),
            Err(error) => error,
        };
        // Each ends where peers do.
        let ends = (1..=count).filter(|end| *end == count || !self.are_peers(&rows[end - 1], &rows[*end]));
        let ends: Vec<usize> = ends.collect();
        let fine = ends.partition_point(|end| self.evaluate(&rows[..*end], 0..0).is_ok());
        let fine_rows = fine.checked_sub(1).map_or(0, |at| ends[at]);
        if first < fine_rows {
            let given = self.evaluate(&rows[..fine_rows], first..fine_rows);
            output.extend(given.into_iter().flatten().map(|row| (Ok(row), 1)));
        }
        if first <= fine_rows {
            let failing = ends.get(fine).map(|end| self.evaluate(&rows[..*end], 0..0));
            output.push((Err(failing.and_then(Result::err).unwrap_or(error)), 1));
        }
    }

    fn are_peers(&self, left: &[Datum], right: &[Datum]) -> bool {
        Order::written(&self.order).iter().all(|item| left[item.column].sql_eq(&right[item.column]))
    }
}

/// A group's rows of these ranks.
fn rows_of(group: &HeldGroup<'_>, ranks: Range<usize>) -> Vec<Vec<Datum>> {
    group.within(ranks).map(|entry| RowIter::over(OrderedRow::row(&entry)).collect()).collect()
}

/// The ranks within a group of so many rows whose values may be others by its changes. Of rows that did not change they
/// are the same before and after: to the nearest change each is as far.
fn neighbourhoods(
    group: &HeldGroup<'_>,
    changes: &[HeldChange],
    (before, after): (usize, usize),
    count: usize,
) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::with_capacity(changes.len());
    for entry in changes.iter().filter_map(|(row, _)| row.entry.as_ref()) {
        let (first, behind) = group.ranks_of(entry.bytes());
        let moved = first.saturating_sub(after)..(behind + before).min(count);
        match found.last_mut() {
            Some(last) if moved.start <= last.end => last.end = last.end.max(moved.end),
            _ => found.push(moved),
        }
    }
    found
}

/// A group's rows, each copy by itself.
fn unpacked(group: Group<'_, '_, isize>) -> Result<Vec<Vec<Datum>>, ValueError> {
    let mut rows: Vec<Vec<Datum>> = Vec::with_capacity(group.len());
    for (bytes, copies) in group {
        for _ in 0..*copies {
            poll::bytes(bytes.0.len())?;
            rows.push(RowIter::over(OrderedRow::parts(*bytes).1).collect());
        }
    }
    Ok(rows)
}
