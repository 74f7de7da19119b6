//! Evaluation of window calls over one sorted partition.

use super::WindowFunctionKind;
use super::frame::Peers;
use crate::scalar::aggregate::accumulators::Accumulators;
use crate::scalar::aggregate::{AggregateKind, Summed};
use crate::scalar::{Aggregate, EvalContext, Order, WindowCall, WindowKind};
use repr::{Datum, ValueError, poll};
use std::ops::Range;

/// The values of all calls for each row: one list per row, in the order of `calls`.
///
/// `rows` is one partition, sorted by `order`; frames count and compare by that order as it was written.
pub fn evaluate_partition(
    rows: &[Vec<Datum>],
    order: &[Order],
    calls: &[WindowCall],
    ctx: &EvalContext,
) -> Result<Vec<Vec<Datum>>, ValueError> {
    let peers = Peers::new(rows, Order::written(order), ctx)?;
    poll::room(rows.len() * (size_of::<Vec<Datum>>() + calls.len() * size_of::<Datum>()))?;
    let mut values: Vec<Vec<Datum>> = rows.iter().map(|_| Vec::with_capacity(calls.len())).collect();
    for call in calls {
        let column = match call.function {
            WindowKind::Function(function) => proper(function.kind, rows, &peers, call, ctx)?,
            WindowKind::Aggregate(aggregate) => over_frames(aggregate, rows, &peers, call, ctx)?,
        };
        for (row, value) in values.iter_mut().zip(column) {
            poll::step()?;
            row.push(value);
        }
    }
    Ok(values)
}

/// A window function that is no aggregate.
fn proper(
    kind: WindowFunctionKind,
    rows: &[Vec<Datum>],
    peers: &Peers<'_>,
    call: &WindowCall,
    ctx: &EvalContext,
) -> Result<Vec<Datum>, ValueError> {
    let count = rows.len();
    let arg = |place: usize, row: usize| match call.args.get(place) {
        Some(arg) => arg.eval(&rows[row], ctx),
        None => Ok(Datum::Null),
    };
    let group = |row: usize| &peers.groups[peers.group_of[row]];
    let share = |part: usize, of: usize| Datum::Float8(if of == 0 { 0.0 } else { part as f64 / of as f64 });
    let each = |value: &dyn Fn(usize) -> Result<Datum, ValueError>| {
        (0..count).map(|row| poll::step().and_then(|()| value(row))).collect()
    };
    match kind {
        WindowFunctionKind::RowNumber => each(&|row| Ok(Datum::Int8(row as i64 + 1))),
        WindowFunctionKind::Rank => each(&|row| Ok(Datum::Int8(group(row).start as i64 + 1))),
        WindowFunctionKind::DenseRank => each(&|row| Ok(Datum::Int8(peers.group_of[row] as i64 + 1))),
        WindowFunctionKind::PercentRank => each(&|row| Ok(share(group(row).start, count - 1))),
        WindowFunctionKind::CumeDist => each(&|row| Ok(share(group(row).end, count))),
        WindowFunctionKind::Ntile => {
            let buckets = if count == 0 { Datum::Null } else { arg(0, 0)? };
            ntile(count, &buckets)
        }
        WindowFunctionKind::Lag | WindowFunctionKind::Lead => each(&|row| {
            let offset = if call.args.len() > 1 { arg(1, row)?.as_i64() } else { Some(1) };
            let Some(offset) = offset else { return Ok(Datum::Null) };
            let signed = if kind == WindowFunctionKind::Lag { -i128::from(offset) } else { i128::from(offset) };
            match usize::try_from(row as i128 + signed).ok().filter(|target| *target < count) {
                Some(target) => arg(0, target),
                None => arg(2, row),
            }
        }),
        WindowFunctionKind::FirstValue => each(&|row| {
            peers
                .frame(&call.frame, row)?
                .iter()
                .find(|range| !range.is_empty())
                .map_or(Ok(Datum::Null), |range| arg(0, range.start))
        }),
        WindowFunctionKind::LastValue => each(&|row| {
            peers
                .frame(&call.frame, row)?
                .iter()
                .rev()
                .find(|range| !range.is_empty())
                .map_or(Ok(Datum::Null), |range| arg(0, range.end - 1))
        }),
        WindowFunctionKind::NthValue => each(&|row| {
            let Some(nth) = arg(1, row)?.as_i64() else { return Ok(Datum::Null) };
            let Some(mut rest) = usize::try_from(nth).ok().and_then(|nth| nth.checked_sub(1)) else {
                return Err(ValueError::new("22016", "argument of nth_value must be greater than zero"));
            };
            for range in peers.frame(&call.frame, row)? {
                if rest < range.len() {
                    return arg(0, range.start + rest);
                }
                rest -= range.len();
            }
            Ok(Datum::Null)
        }),
    }
}

/// The rows in so many buckets of nearly the same size, the larger first.
fn ntile(count: usize, buckets: &Datum) -> Result<Vec<Datum>, ValueError> {
    let Some(buckets) = buckets.as_i64() else { return Ok(vec![Datum::Null; count]) };
    let Some(buckets) = usize::try_from(buckets).ok().filter(|buckets| *buckets > 0) else {
        return Err(ValueError::new("22014", "argument of ntile must be greater than zero"));
    };
    let (size, larger) = (count / buckets, count % buckets);
    (0..count)
        .map(|row| {
            poll::step()?;
            let in_larger = larger * (size + 1);
            let bucket = if row < in_larger { row / (size + 1) } else { larger + (row - in_larger) / size.max(1) };
            Ok(Datum::Int4(i32::try_from(bucket + 1).unwrap_or(i32::MAX)))
        })
        .collect()
}

/// An aggregate over each row's frame.
fn over_frames(
    aggregate: &'static Aggregate,
    rows: &[Vec<Datum>],
    peers: &Peers<'_>,
    call: &WindowCall,
    ctx: &EvalContext,
) -> Result<Vec<Datum>, ValueError> {
    // What each row contributes; `None` for rows that are left out.
    let mut inputs: Vec<Option<Vec<Datum>>> = Vec::with_capacity(rows.len());
    for row in rows {
        poll::step()?;
        let passes = call.filter.as_ref().map_or(Ok(true), |filter| filter.holds(row, ctx))?;
        let args = call.args.iter().map(|arg| arg.eval(row, ctx)).collect::<Result<Vec<_>, _>>()?;
        let left_out = !passes || (aggregate.skips_nulls && args.iter().any(Datum::is_null));
        inputs.push((!left_out).then_some(args));
    }
    if let AggregateKind::Summed(summed) = aggregate.kind {
        return by_prefix_sums(summed, &inputs, peers, call);
    }
    let over = |frame: &[Range<usize>]| {
        let mut items = frame
            .iter()
            .flat_map(|range| &inputs[range.clone()])
            .filter_map(|input| input.as_ref().map(|args| (args.as_slice(), 1)));
        aggregate.evaluate(ctx, &mut items, &call.result)
    };
    let mut values: Vec<Datum> = Vec::with_capacity(rows.len());
    let mut last: Option<Vec<Range<usize>>> = None;
    for row in 0..rows.len() {
        let frame = peers.frame(&call.frame, row)?;
        let grown = match (&last, frame.as_slice()) {
            (Some(last), frame) if last == frame => Some(0..0),
            (Some(last), [now]) => match last.as_slice() {
                [before] if before.start == now.start && before.end <= now.end => Some(before.end..now.end),
                _ => None,
            },
            _ => None,
        };
        let value = match (grown, values.last()) {
            (Some(more), Some(value)) if more.is_empty() => value.clone(),
            // A frame that only grows: the aggregate of the old value and the new rows'.
            (Some(more), Some(value)) if composes(aggregate) => {
                let parts = [[value.clone()], [over(std::slice::from_ref(&more))?]];
                let mut items = parts.iter().filter(|part| !part[0].is_null()).map(|part| (part.as_slice(), 1));
                aggregate.evaluate(ctx, &mut items, &call.result)?
            }
            _ => over(&frame)?,
        };
        poll::bytes(value.bytes())?;
        values.push(value);
        last = Some(frame);
    }
    Ok(values)
}

/// Whether the aggregate of partial aggregates is the aggregate of all.
fn composes(aggregate: &Aggregate) -> bool {
    matches!(aggregate.kind, AggregateKind::Extreme { .. })
}

/// Sums of differences: any frame is the difference of two prefixes.
fn by_prefix_sums(
    summed: Summed,
    inputs: &[Option<Vec<Datum>>],
    peers: &Peers<'_>,
    call: &WindowCall,
) -> Result<Vec<Datum>, ValueError> {
    let mut prefixes = Vec::with_capacity(inputs.len() + 1);
    let mut total = Accumulators::default();
    prefixes.push(total.clone());
    for input in inputs {
        if let Some(args) = input {
            (summed.add)(args, &mut total.contribution(0, 1))?;
        }
        poll::bytes(size_of::<Accumulators>() + total.heap_bytes())?;
        prefixes.push(total.clone());
    }
    (0..inputs.len())
        .map(|row| {
            poll::step()?;
            let mut sums = Accumulators::default();
            for range in peers.frame(&call.frame, row)? {
                sums.add(&prefixes[range.end], 1);
                sums.add(&prefixes[range.start], -1);
            }
            (summed.value)(sums.total(0), &call.result)
        })
        .collect()
}
