//! Aggregates that need the whole group: DISTINCT, ORDER BY inside the call, MIN, MAX, string_agg, floats …
//!
//! The arranged value of a row is [true, group columns, then per call: its filter if it has one, its
//! arguments, its ORDER BY]. A phantom is [NULL].

use crate::context::{Bundle, Context, RenderTime, split_operator};
use crate::groups::reduce;
use crate::once::{OneShot, Pull};
use arrangements::arrangement::{Bytes, Group, Key, arrange, metered};
use differential_dataflow::AsCollection;
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::BTreeMap;
use timely::dataflow::operators::ToStream;

/// Renders a `Reduce` by evaluating its aggregates over each group.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    let (keys, calls) = (keys.to_vec(), aggregates.to_vec());
    let key_count = keys.len();
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let mut ticker = Ticker::default();
    let (mut datums, mut value) = (Vec::new(), Vec::new());
    let split = split_operator(input.oks, "GroupKey", move |updates, oks, errs| {
        let _joined = watch.join();
        for (row, time, diff) in updates.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut datums);
            match extract(&keys, &calls, &datums, &mut value, &eval) {
                Ok(()) => {
                    let key = key::encode_all(&value[1..=keys.len()]);
                    oks.push((metered(&meter, key, Row::pack(&value)), time, diff));
                }
                Err(error) => errs.push((error, time, diff)),
            }
        }
    });
    let mut keyed = split.oks;
    if scalar {
        let phantom = Some(((Key::default(), Row::pack(&[Datum::Null])), T::minimum(), 1));
        keyed = keyed.concat(phantom.to_stream(context.scope).as_collection());
    }
    let calls = aggregates.to_vec();
    let eval = context.eval.clone();
    let watch = context.watch.clone();
    let bundle = reduce(arrange(&context.meter, keyed, "ArrangeReduce"), "Reduce", move |_key, rows, output| {
        if watch.is_stopped() {
            return;
        }
        let _joined = watch.join();
        if let Some(outcome) = evaluate(rows, key_count, &calls, &eval).transpose() {
            output.push((outcome, 1));
        }
    });
    bundle.with_errs(crate::context::both(Some(split.errs), input.errs))
}

/// Fills `value` with what the group needs of a row.
fn extract(
    keys: &[ScalarExpr],
    calls: &[AggregateCall],
    datums: &[Datum],
    value: &mut Vec<Datum>,
    eval: &EvalContext,
) -> Result<(), ValueError> {
    value.clear();
    value.push(Datum::Bool(true));
    for key in keys {
        value.push(key.eval(datums, eval)?);
    }
    for call in calls {
        let passes = match &call.filter {
            None => true,
            Some(filter) => {
                let passes = filter.holds(datums, eval)?;
                value.push(Datum::Bool(passes));
                passes
            }
        };
        // Arguments of rows that the filter leaves out must not be evaluated: they may fail.
        let expressions = call.args.iter().chain(call.order_by.iter().map(|(expression, _, _)| expression));
        for expression in expressions {
            value.push(if passes { expression.eval(datums, eval)? } else { Datum::Null });
        }
    }
    Ok(())
}

/// The group's row, if the group is there.
fn evaluate(
    rows: Group<'_, '_, isize>,
    key_count: usize,
    calls: &[AggregateCall],
    eval: &EvalContext,
) -> Result<Option<Row>, ValueError> {
    let mut group: Vec<(Vec<Datum>, u64)> = Vec::with_capacity(rows.len());
    let mut exists = false;
    for (bytes, diff) in rows {
        let Some(copies) = u64::try_from(*diff).ok().filter(|copies| *copies > 0) else { continue };
        exists = true;
        poll::bytes(bytes.0.len())?;
        let mut datums = RowIter::over(bytes.0);
        if datums.next() == Some(Datum::Bool(true)) {
            group.push((datums.collect(), copies));
        }
    }
    if !exists {
        return Ok(None);
    }
    let mut output: Vec<Datum> = match group.first() {
        Some((first, _)) => first[..key_count].to_vec(),
        None => Vec::new(),
    };
    let mut start = key_count;
    for call in calls {
        output.push(evaluate_call(call, &group, start, eval)?);
        start += usize::from(call.filter.is_some()) + call.args.len() + call.order_by.len();
    }
    Ok(Some(Row::pack(&output)))
}

/// One aggregate over the group's rows, in which its columns begin at `start`.
fn evaluate_call(
    call: &AggregateCall,
    group: &[(Vec<Datum>, u64)],
    start: usize,
    eval: &EvalContext,
) -> Result<Datum, ValueError> {
    let filtered = call.filter.is_some();
    let args_start = start + usize::from(filtered);
    let args = args_start..args_start + call.args.len();
    let passes = |datums: &[Datum]| {
        (!filtered || datums[start] == Datum::Bool(true))
            && !(call.function.skips_nulls && datums[args.clone()].iter().any(Datum::is_null))
    };
    let mut members =
        group.iter().filter(|(datums, _)| passes(datums)).map(|(datums, copies)| (datums.as_slice(), *copies));
    if !call.distinct && call.order_by.is_empty() {
        let mut members = members.map(|(datums, copies)| (&datums[args.clone()], copies));
        return call.function.evaluate(eval, &mut members, &call.result);
    }
    // Sorted by the ORDER BY, then by the arguments: what is left equal is alike in all that the call sees. For DISTINCT
    // equal arguments are then neighbours, since its ORDER BY names arguments only.
    let mut sorted: Vec<(Vec<u8>, &[Datum], u64)> = Vec::with_capacity(group.len());
    for (datums, copies) in &mut members {
        poll::step()?;
        let mut code = Vec::with_capacity((call.order_by.len() + call.args.len()) * 10);
        for (value, (_, descending, nulls_first)) in datums[args.end..].iter().zip(&call.order_by) {
            key::encode_ordered(&mut code, value, *descending, *nulls_first);
        }
        for value in &datums[args.clone()] {
            key::encode(&mut code, value);
        }
        sorted.push((code, &datums[args.clone()], if call.distinct { 1 } else { copies }));
    }
    poll::sort_by(&mut sorted, |(left, _, _), (right, _, _)| left.cmp(right))?;
    if call.distinct {
        sorted.dedup_by(|(left, _, _), (right, _, _)| left == right);
    }
    let mut members = sorted.iter().map(|(_, args, copies)| (*args, *copies));
    call.function.evaluate(eval, &mut members, &call.result)
}

/// The groups of rows that are pulled, by key. Within a group rows stand in the order of an arrangement.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    if scalar {
        groups.insert(Vec::new(), vec![Row::pack(&[Datum::Null])]);
    }
    let (mut ticker, mut datums, mut value) = (Ticker::default(), Vec::new(), Vec::new());
    while input.next(&mut datums)? {
        ticker.tick(&shot.watch)?;
        extract(keys, aggregates, &datums, &mut value, &shot.eval)?;
        let key = key::encode_all(&value[1..=keys.len()]);
        let row = Row::pack(&value);
        poll::bytes(row.bytes().len())?;
        groups.entry(key).or_default().push(row);
    }
    let mut rows = Vec::with_capacity(groups.len());
    for mut members in groups.into_values() {
        ticker.tick(&shot.watch)?;
        poll::sort_by(&mut members, |left, right| left.bytes().cmp(right.bytes()))?;
        let mut counted: Vec<(Bytes<'_>, isize)> = Vec::with_capacity(members.len());
        for member in &members {
            poll::step()?;
            match counted.last_mut() {
                Some((last, copies)) if last.0 == member.bytes() => *copies += 1,
                Some(_) | None => counted.push((Bytes(member.bytes()), 1)),
            }
        }
        rows.extend(evaluate(&counted, keys.len(), aggregates, &shot.eval)?);
    }
    Ok(rows)
}
