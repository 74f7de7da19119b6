//! Aggregates that are sums: they travel as differences, so that a group is a few numbers per aggregate.
//!
//! DISTINCT is the case without aggregates.

use crate::context::{Bundle, Context, RenderTime};
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use crate::reduce::distinct::{self, DistinctCalls, Seen, is_distinct};
use crate::reduce::extreme::{is_extreme, is_greatest};
use crate::reduce::looked_at::LookedAt;
use arrangements::arrangement::Key;
use arrangements::key_columns::KeyColumns;
use arrangements::totals::Totals;
use differential_dataflow::difference::Semigroup;
use planner::scalar::aggregate::AggregateKind;
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::write_datum;
use repr::{Datum, Row, ValueError, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The best argument of a `min` or `max` so far: its code and bytes.
type Best = Option<(Vec<u8>, Vec<u8>)>;

/// A group that is folded.
struct Folded {
    group_row: Vec<u8>,
    totals: Totals,
    /// One for each `min` and `max`.
    best: Vec<Best>,
    /// One for each of the distinct calls.
    seen: Vec<Seen>,
}

/// The node's expressions, and buffers that are reused from row to row.
struct Accumulator {
    keys: Vec<ScalarExpr>,
    calls: Vec<AggregateCall>,
    datums: Vec<Datum>,
    args: Vec<Datum>,
    /// The packed key columns of the row at hand.
    group_row: Vec<u8>,
}

impl Accumulator {
    fn new(keys: &[ScalarExpr], calls: &[AggregateCall]) -> Self {
        Accumulator {
            keys: keys.to_vec(),
            calls: calls.to_vec(),
            datums: Vec::new(),
            args: Vec::new(),
            group_row: Vec::new(),
        }
    }

    /// Reads a row: its key columns stand in `group_row` afterwards.
    fn read(&mut self, row: &Row, eval: &EvalContext) -> Result<(), ValueError> {
        row.unpack_into(&mut self.datums);
        self.read_datums(eval)
    }

    /// Reads the row in `datums`.
    fn read_datums(&mut self, eval: &EvalContext) -> Result<(), ValueError> {
        self.group_row.clear();
        for expression in &self.keys {
            write_datum(&mut self.group_row, &*expression.operand(&self.datums, eval)?);
        }
        Ok(())
    }

    /// Nobody's row is kept until the next one comes.
    fn forget(&mut self) {
        self.datums.clear();
        self.args.clear();
        self.group_row = Vec::new();
    }

    /// Adds the row that was read, `diff` times.
    fn add(&mut self, diff: isize, totals: &mut Totals, eval: &EvalContext) -> Result<(), ValueError> {
        for (position, call) in self.calls.iter().enumerate() {
            let AggregateKind::Summed(summed) = call.function.kind else { continue };
            if is_distinct(call) {
                continue;
            }
            if let Some(filter) = &call.filter
                && !filter.holds(&self.datums, eval)?
            {
                continue;
            }
            self.args.clear();
            for arg in &call.args {
                self.args.push(arg.eval(&self.datums, eval)?);
            }
            if call.function.skips_nulls && self.args.iter().any(Datum::is_null) {
                continue;
            }
            (summed.add)(&self.args, &mut totals.accumulators.contribution(position, diff as i64))?;
        }
        totals.rows += diff as i64;
        Ok(())
    }

    /// Keeps the arguments of `min` and `max` of the row that was read, if they are the best.
    fn keep(&self, best: &mut [Best], eval: &EvalContext) -> Result<(), ValueError> {
        for (call, best) in self.calls.iter().filter(|call| is_extreme(call)).zip(best) {
            let passes = call.filter.as_ref().map_or(Ok(true), |filter| filter.holds(&self.datums, eval))?;
            let Some(argument) = call.args.first().filter(|_| passes) else { continue };
            let value = argument.operand(&self.datums, eval)?;
            if value.is_null() {
                continue;
            }
            let (mut code, mut bytes) = (Vec::new(), Vec::new());
            key::encode_ordered(&mut code, &value, is_greatest(call), false);
            write_datum(&mut bytes, &value);
            // Of several writings of a value the least, whichever came first.
            let found = (code, bytes);
            if best.as_ref().is_none_or(|best| found < *best) {
                poll::bytes(found.1.len())?;
                *best = Some(found);
            }
        }
        Ok(())
    }

    /// The key of the row that was read, and what stands for its key columns there.
    fn key(&self, told: &KeyColumns, eval: &EvalContext) -> Result<(Key, Row), ValueError> {
        let (mut bytes, mut columns) = (Vec::with_capacity(self.keys.len() * 12), Vec::with_capacity(self.keys.len()));
        for expression in &self.keys {
            let column = expression.operand(&self.datums, eval)?;
            key::encode(&mut bytes, &column);
            columns.push(column);
        }
        let value = told.value_of_key(columns.iter().map(AsRef::as_ref), &self.group_row);
        Ok((Key(bytes.into_boxed_slice()), value))
    }

    fn encode_key(&self, bytes: &mut Vec<u8>, eval: &EvalContext) -> Result<(), ValueError> {
        for expression in &self.keys {
            key::encode(bytes, &*expression.operand(&self.datums, eval)?);
        }
        Ok(())
    }
}

/// Groups of one batch of updates by their key columns, with what they add up to at each time. The map's order is lost
/// at once: the arrangement sorts.
type Groups<T> = HashMap<Vec<u8>, ((Key, Row), Vec<(T, Totals)>)>;

/// Renders a `Reduce` whose aggregates are all sums, and none of them distinct.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let mut ticker = Ticker::default();
    let told = Rc::new(KeyColumns::new((0..keys.len()).collect()));
    let mut accumulator = Accumulator::new(keys, aggregates);
    let mut groups: Groups<T> = HashMap::new();
    let tells = told.clone();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, errs: &mut Vec<_>| {
        let _joined = watch.join();
        for (row, time, diff) in rows.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            if let Err(error) = accumulate(&mut accumulator, &mut groups, &tells, (&row, &time, diff), &eval) {
                errs.push((error, time, diff));
            }
        }
        accumulator.forget();
        for (_, ((key, row), totals)) in groups.drain() {
            for (time, totals) in totals {
                meter.count(key.0.len() + row.bytes().len() + totals.bytes());
                updates.push(((key.clone(), row.clone()), time, totals));
            }
        }
    };
    let phantom = scalar.then(|| ((Key::default(), Row::default()), T::minimum(), Totals::phantom()));
    let calls = aggregates.to_vec();
    let grouping = OrderedGrouping { name: "ReduceAccumulable", keyed, phantom };
    let bundle = reduce_in_order(context, input.oks, grouping, move |key, rows, output| {
        let rows = rows.map(|(value, totals)| (told.row(key, value.0), totals));
        if let Some(outcome) = finish(rows, &calls).transpose() {
            output.push((outcome, 1));
        }
    });
    if can_fail(keys, aggregates) { bundle.with_errs(input.errs) } else { Bundle { oks: bundle.oks, errs: input.errs } }
}

/// Whether there can be errors: DISTINCT over columns and `count(*)` give none.
fn can_fail(keys: &[ScalarExpr], aggregates: &[AggregateCall]) -> bool {
    let computes = |expression: &ScalarExpr| !matches!(expression, ScalarExpr::Column(_));
    keys.iter().any(computes) || aggregates.iter().any(|call| call.filter.is_some() || !call.args.is_empty())
}

fn accumulate<T: RenderTime>(
    accumulator: &mut Accumulator,
    groups: &mut Groups<T>,
    told: &KeyColumns,
    (row, time, diff): (&Row, &T, isize),
    eval: &EvalContext,
) -> Result<(), ValueError> {
    accumulator.read(row, eval)?;
    let calls = accumulator.calls.len();
    if !groups.contains_key(accumulator.group_row.as_slice()) {
        let key = accumulator.key(told, eval)?;
        groups.insert(accumulator.group_row.clone(), (key, Vec::with_capacity(1)));
    }
    let (_, totals) = groups.get_mut(accumulator.group_row.as_slice()).expect("inserted if it was not there");
    let position = match totals.iter().position(|(at, _)| at == time) {
        Some(position) => position,
        None => {
            totals.push((time.clone(), Totals::with_room(calls)));
            totals.len() - 1
        }
    };
    accumulator.add(diff, &mut totals[position].1, eval)
}

/// The group's row, if the group is there.
fn finish(rows: impl Iterator<Item = (Row, Totals)>, calls: &[AggregateCall]) -> Result<Option<Row>, ValueError> {
    let mut total = Totals::default();
    let mut group_row: Option<(bool, Row)> = None;
    for (row, totals) in rows {
        total.plus_equals(&totals);
        // The least of those that are there, if there are any.
        let row = (totals.rows <= 0, row);
        if group_row.as_ref().is_none_or(|least| row < *least) {
            group_row = Some(row);
        }
    }
    let group_row = group_row.map_or_else(Row::default, |(_, row)| row);
    group(group_row.bytes(), &total, &[], calls)
}

/// The group's row of what it adds up to; `best` are the values of `min` and `max`, in order.
fn group(group_row: &[u8], total: &Totals, best: &[Best], calls: &[AggregateCall]) -> Result<Option<Row>, ValueError> {
    if total.rows <= 0 && total.phantoms <= 0 {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(group_row.len() + calls.len() * 10);
    bytes.extend_from_slice(group_row);
    let mut best = best.iter();
    for (position, call) in calls.iter().enumerate() {
        match call.function.kind {
            AggregateKind::Summed(summed) => {
                let value = (summed.value)(total.accumulators.total(position), &call.result)?;
                write_datum(&mut bytes, &value);
            }
            AggregateKind::Extreme { .. } => match best.next() {
                Some(Some((_, value))) => bytes.extend_from_slice(value),
                Some(None) | None => write_datum(&mut bytes, &Datum::Null),
            },
            AggregateKind::Listed(_) | AggregateKind::Placed(_) | AggregateKind::MostFrequent => {
                unreachable!("a node with such a call is evaluated over whole groups")
            }
        }
    }
    Ok(Some(Row::from_bytes(bytes.into_boxed_slice())))
}

/// The groups of rows that are pulled, by key. Calls may be distinct, and there may be `min` and `max`.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    let mut accumulator = Accumulator::new(keys, aggregates);
    let distinct = distinct::of(aggregates);
    let extremes = aggregates.iter().filter(|call| is_extreme(call)).count();
    let new = |group_row: Vec<u8>, totals| Folded {
        group_row,
        totals,
        best: vec![None; extremes],
        seen: distinct.iter().map(|_| Seen::default()).collect(),
    };
    let mut groups: BTreeMap<Vec<u8>, Folded> = BTreeMap::new();
    if scalar {
        groups.insert(Vec::new(), new(Vec::new(), Totals::phantom()));
    }
    let (mut ticker, mut key) = (Ticker::default(), Vec::new());
    let looked_at = LookedAt::of(input, keys, aggregates);
    while looked_at.next(input, &mut accumulator.datums)? {
        ticker.tick(&shot.watch)?;
        accumulator.read_datums(&shot.eval)?;
        key.clear();
        accumulator.encode_key(&mut key, &shot.eval)?;
        let group = match groups.get_mut(&key) {
            Some(group) => group,
            None => {
                let group = new(accumulator.group_row.clone(), Totals::with_room(aggregates.len()));
                groups.entry(key.clone()).or_insert(group)
            }
        };
        group.take(&accumulator, &distinct, &shot.eval)?;
        accumulator.add(1, &mut group.totals, &shot.eval)?;
    }
    let mut rows = Vec::with_capacity(groups.len());
    for Folded { group_row, mut totals, best, seen } in groups.into_values() {
        poll::step()?;
        for (seen, distinct) in seen.iter().zip(&distinct) {
            seen.add_to(&mut totals, (aggregates, distinct), keys.len())?;
        }
        rows.extend(group(&group_row, &totals, &best, aggregates)?);
    }
    Ok(rows)
}

impl Folded {
    /// Takes of the row that was read what is not summed at once.
    fn take(&mut self, read: &Accumulator, distinct: &[DistinctCalls], eval: &EvalContext) -> Result<(), ValueError> {
        if read.group_row < self.group_row {
            self.group_row.clone_from(&read.group_row);
        }
        for (seen, calls) in self.seen.iter_mut().zip(distinct) {
            seen.see(calls, &read.datums, &read.group_row, eval)?;
        }
        if self.best.is_empty() { Ok(()) } else { read.keep(&mut self.best, eval) }
    }
}
