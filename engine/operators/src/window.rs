//! Window functions, per partition.
//!
//! A partition stands in its ORDER BY (see `OrderedRow`; ties by the row's bytes) and is evaluated as a whole: once, when all
//! rows have come; kept, whenever it changes. Copies of a row are rows of their own here: row_number tells them apart.

use crate::context::{Bundle, Context, RenderTime};
use crate::groups::reduce;
use crate::once::{OneShot, Pull};
use arrangements::arrangement::{Group, arrange, metered};
use arrangements::ordered_row::{OrderedRow, group_key};
use planner::scalar::window::evaluate_partition;
use planner::scalar::{EvalContext, Order, WindowCall};
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::BTreeMap;
use std::collections::btree_map::IntoValues;

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
    let (partition, meter) = (partition.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let keyed = {
        let order = order.to_vec();
        input.oks.map(move |row| {
            row.unpack_into(&mut datums);
            metered(&meter, group_key(&partition, &datums), OrderedRow::make(&order, &datums, &row))
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
