//! Aggregates of a group's rows in their order: string_agg, array_agg, JSON, percentiles; once and in rounds with all others of
//! their node.
//!
//! ```text
//! kept        a tree of (key, order, arguments): percentiles find their places, lists are put together as they stand
//! in rounds   a group's rows [true, group columns, then per call: its filter if it has one, its arguments, its ORDER BY],
//!             or [NULL] for a phantom, evaluated whole
//! once        the same
//! ```
//! Rows stand by the ORDER BY, then by the arguments; for lists without one, by the arguments of all such lists of the node.

use crate::context::{Bundle, Context, RenderTime, split_operator};
use crate::groups::reduce;
use crate::held_groups::{HeldGroup, HeldGrouping, HeldRow, reduce_held};
use crate::once::{OneShot, Pull};
use arrangements::arrangement::{Bytes, Group, Key, arrange, metered};
use arrangements::key_columns::KeyColumns;
use arrangements::ordered_row::OrderedRow;
use differential_dataflow::AsCollection;
use planner::scalar::aggregate::{AggregateKind, Places};
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::{RowIter, write_datum};
use repr::{Datum, Row, ValueError, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::BTreeMap;
use std::rc::Rc;
use timely::dataflow::operators::ToStream;

/// Whether a call is a list that asks for no order.
pub fn has_no_order(call: &AggregateCall) -> bool {
    matches!(call.function.kind, AggregateKind::Listed(_)) && !call.distinct && call.order_by.is_empty()
}

/// Renders a `Reduce` of lists without an order of their own.
pub fn render_lists<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    calls: Vec<AggregateCall>,
    scalar: bool,
) -> Bundle<'s, T> {
    let of_rows = calls.clone();
    let entry = move |datums: &[Datum], eval: &EvalContext| {
        let mut values = Vec::new();
        of_rows.iter().try_for_each(|call| extract_call(call, datums, &mut values, eval))?;
        Ok(Some(Row::pack(&values)))
    };
    render_held(context, input, (keys, scalar), entry, move |group, eval| {
        let mut rows: Vec<(Vec<Datum>, u64)> = Vec::new();
        group.each(|entry, copies| {
            poll::bytes(entry.len())?;
            rows.push((RowIter::over(entry).collect(), copies));
            Ok(())
        })?;
        let mut start = 0;
        let values = calls.iter().map(|call| {
            let from = start;
            start += width(call);
            let passing = passing(call, from);
            let args = from + usize::from(call.filter.is_some());
            let members = rows.iter().filter(|(datums, _)| passing(datums));
            let mut members = members.map(|(datums, copies)| (&datums[args..args + call.args.len()], *copies));
            call.function.evaluate(eval, &mut members, &call.result)
        });
        values.collect()
    })
}

/// Renders a `Reduce` of one call that has an order, or looks at places of it.
pub fn render_list<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    call: &AggregateCall,
    scalar: bool,
) -> Bundle<'s, T> {
    let of_rows = call.clone();
    let entry = move |datums: &[Datum], eval: &EvalContext| ordered_entry(&of_rows, datums, eval);
    let call = call.clone();
    render_held(context, input, (keys, scalar), entry, move |group, eval| Ok(vec![of_ordered(&call, group, eval)?]))
}

/// What a row adds to the group of a call with an order: its codes, and its arguments behind them.
fn ordered_entry(call: &AggregateCall, datums: &[Datum], eval: &EvalContext) -> Result<Option<Row>, ValueError> {
    if let Some(filter) = &call.filter
        && !filter.holds(datums, eval)?
    {
        return Ok(None);
    }
    let args = call.args.iter().map(|arg| arg.eval(datums, eval)).collect::<Result<Vec<_>, _>>()?;
    if call.function.skips_nulls && args.iter().any(Datum::is_null) {
        return Ok(None);
    }
    let mut codes = Vec::with_capacity((call.order_by.len() + args.len()) * 10);
    for (expression, descending, nulls_first) in &call.order_by {
        key::encode_ordered(&mut codes, &expression.eval(datums, eval)?, *descending, *nulls_first);
    }
    args.iter().for_each(|arg| key::encode(&mut codes, arg));
    Ok(Some(OrderedRow::behind(codes, &Row::pack(&args))))
}

/// The value of a call whose rows stand in its order.
fn of_ordered(call: &AggregateCall, group: &HeldGroup<'_>, eval: &EvalContext) -> Result<Datum, ValueError> {
    let args = |entry: &[u8]| RowIter::over(OrderedRow::row(entry)).collect::<Vec<_>>();
    if let (AggregateKind::Placed(evaluate), false) = (call.function.kind, call.distinct) {
        let (first, count) = group.ranks();
        let row = |place: u64| args(group.at(first + usize::try_from(place).unwrap_or(usize::MAX)));
        return evaluate(&Places { count: count as u64, row: &row });
    }
    let (mut datums, mut copies_of, mut last) = (Vec::new(), Vec::new(), Vec::new());
    group.each(|entry, copies| {
        poll::bytes(entry.len())?;
        let (codes, row) = OrderedRow::parts(Bytes(entry));
        if call.distinct {
            // Equal arguments have equal codes, and are neighbours.
            if !copies_of.is_empty() && codes == last.as_slice() {
                return Ok(());
            }
            last = codes.to_vec();
        }
        datums.extend(RowIter::over(row));
        copies_of.push(if call.distinct { 1 } else { copies });
        Ok(())
    })?;
    let mut members = datums.chunks(call.args.len().max(1)).zip(copies_of);
    call.function.evaluate(eval, &mut members, &call.result)
}

/// Renders a `Reduce` over groups that are held in order: what a row adds to its group, and what a group comes to.
fn render_held<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    (keys, scalar): (&[ScalarExpr], bool),
    entry: impl Fn(&[Datum], &EvalContext) -> Result<Option<Row>, ValueError> + 'static,
    values: impl Fn(&HeldGroup<'_>, &EvalContext) -> Result<Vec<Datum>, ValueError> + 'static,
) -> Bundle<'s, T> {
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let told = Rc::new(KeyColumns::new((0..keys.len()).collect()));
    let (tells, keys) = (told.clone(), keys.to_vec());
    let held = move |datums: &[Datum], eval: &EvalContext| {
        let group = keys.iter().map(|key| key.eval(datums, eval)).collect::<Result<Vec<_>, _>>()?;
        let columns = tells.value_of_key(group.iter(), Row::pack(&group).bytes());
        Ok(HeldRow { key: key::encode_all(&group), columns, entry: entry(datums, eval)? })
    };
    let mut ticker = Ticker::default();
    let mut datums = Vec::new();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, errs: &mut Vec<_>| {
        let _joined = watch.join();
        for (row, time, diff) in rows.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut datums);
            match held(&datums, &eval) {
                Ok(row) => {
                    meter.count(row.key.len() + row.entry.as_ref().map_or(0, |entry| entry.bytes().len()));
                    updates.push((row, time, diff));
                }
                Err(error) => errs.push((error, time, diff)),
            }
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    };
    let grouping = HeldGrouping { name: "ReduceLists", keyed, scalar };
    let (eval, watch) = (context.eval.clone(), context.watch.clone());
    let bundle = reduce_held(context, input.oks, grouping, move |group, _, output| {
        if watch.is_stopped() {
            return;
        }
        let _joined = watch.join();
        let Some(columns) = group.columns() else { return };
        let columns = told.row(group.key(), &columns);
        let outcome = values(group, &eval).map(|values| {
            let mut bytes = columns.bytes().to_vec();
            values.iter().for_each(|value| write_datum(&mut bytes, value));
            Row::from_bytes(bytes.into_boxed_slice())
        });
        output.push((outcome, 1));
    });
    bundle.with_errs(input.errs)
}

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
        // Nobody's row is kept until the next one comes.
        datums.clear();
        value.clear();
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
    calls.iter().try_for_each(|call| extract_call(call, datums, value, eval))
}

/// Appends what a call needs of a row.
fn extract_call(
    call: &AggregateCall,
    datums: &[Datum],
    value: &mut Vec<Datum>,
    eval: &EvalContext,
) -> Result<(), ValueError> {
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
    Ok(())
}

/// How many columns that are.
fn width(call: &AggregateCall) -> usize {
    usize::from(call.filter.is_some()) + call.args.len() + call.order_by.len()
}

/// Whether a row counts for a call, whose columns begin there.
fn passing(call: &AggregateCall, start: usize) -> impl Fn(&[Datum]) -> bool {
    let filtered = call.filter.is_some();
    let args = start + usize::from(filtered)..start + usize::from(filtered) + call.args.len();
    move |datums: &[Datum]| {
        (!filtered || datums[start] == Datum::Bool(true))
            && !(call.function.skips_nulls && datums[args.clone()].iter().any(Datum::is_null))
    }
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
    order_of_lists(&mut group, key_count, calls)?;
    let mut start = key_count;
    for call in calls {
        output.push(evaluate_call(call, &group, start, eval)?);
        start += width(call);
    }
    Ok(Some(Row::pack(&output)))
}

/// Puts rows in the order of the lists that ask for none: by what those see.
fn order_of_lists(
    group: &mut [(Vec<Datum>, u64)],
    key_count: usize,
    calls: &[AggregateCall],
) -> Result<(), ValueError> {
    let mut start = key_count;
    let columns = calls.iter().map(|call| {
        let from = start;
        start += width(call);
        (from..start, has_no_order(call))
    });
    let columns: Vec<_> = columns.filter(|(_, has_no_order)| *has_no_order).flat_map(|(columns, _)| columns).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let seen = |datums: &[Datum]| Row::pack(columns.iter().map(|column| &datums[*column]));
    let mut packed: Vec<(Row, (Vec<Datum>, u64))> = Vec::with_capacity(group.len());
    for member in group.iter_mut() {
        poll::step()?;
        packed.push((seen(&member.0), std::mem::take(member)));
    }
    poll::sort_by(&mut packed, |(left, _), (right, _)| left.cmp(right))?;
    group.iter_mut().zip(packed).for_each(|(place, (_, member))| *place = member);
    Ok(())
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
    let passes = passing(call, start);
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
    poll::sort_by(&mut sorted, |(left, left_args, _), (right, right_args, _)| {
        left.cmp(right).then_with(|| Row::pack(*left_args).cmp(&Row::pack(*right_args)))
    })?;
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
