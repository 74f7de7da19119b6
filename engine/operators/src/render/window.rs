//! Window functions, per partition.
//!
//! A partition is arranged in its ORDER BY (see `top_k::OrderedRow`; ties by the row's bytes) and evaluated as
//! a whole whenever it changes. Copies of a row are rows of their own here: row_number tells them apart.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context};
use crate::render::groups::reduce;
use arrangements::arrangement::{Group, arrange, metered};
use arrangements::ordered_row::{OrderedRow, group_key};
use planner::scalar::window::evaluate_partition;
use planner::scalar::{EvalContext, Order, WindowCall};
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, poll};

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
        match evaluate(rows, &order, &calls, &eval) {
            Ok(rows) => output.extend(rows.into_iter().map(|row| (Ok(row), 1))),
            Err(error) => output.push((Err(error), 1)),
        }
        // Copies that get equal values are one row twice.
        differential_dataflow::consolidation::consolidate(output);
    })
    .with_errs(input.errs)
}

/// The partition's rows with the calls' values behind them.
fn evaluate(
    group: Group<'_, '_, isize>,
    order: &[Order],
    calls: &[WindowCall],
    eval: &EvalContext,
) -> Result<Vec<Row>, ValueError> {
    let mut rows: Vec<Vec<Datum>> = Vec::with_capacity(group.len());
    for (bytes, copies) in group {
        for _ in 0..*copies {
            poll::bytes(bytes.0.len())?;
            rows.push(RowIter::over(OrderedRow::parts(*bytes).1).collect());
        }
    }
    poll::room_for::<Datum>(rows.len() * calls.len())?;
    let values = evaluate_partition(&rows, order, calls, eval)?;
    let packed = |(row, values): (&Vec<Datum>, &Vec<Datum>)| {
        let row = Row::pack(row.iter().chain(values));
        poll::bytes(row.bytes().len())?;
        Ok(row)
    };
    rows.iter().zip(&values).map(packed).collect()
}
