//! Aggregates that are sums: they travel as differences, so that a group is a few numbers per aggregate.
//!
//! DISTINCT is the case without aggregates.

use crate::context::{Bundle, Context, RenderTime};
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use crate::reduce::distinct::{self, DistinctCalls, Seen, is_distinct};
use crate::reduce::extreme::{is_extreme, is_greatest};
use crate::reduce::looked_at::LookedAt;
use crate::reduce::plain_calls::PlainCalls;
use arrangements::arrangement::Key;
use arrangements::key_columns::KeyColumns;
use arrangements::totals::Totals;
use differential_dataflow::difference::Semigroup;
use planner::scalar::aggregate::AggregateKind;
use planner::scalar::aggregate::accumulators::Accumulators;
use planner::scalar::aggregate::plain_sum::PlainTotal;
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::{RowIter, write_datum};
use repr::{Datum, Row, ValueError, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::HashMap;
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
    /// Of the plain calls, what is not in the totals yet.
    plain: Box<[PlainTotal]>,
}

/// The node's expressions, and buffers that are reused from row to row.
struct Accumulator {
    keys: Vec<ScalarExpr>,
    calls: Vec<AggregateCall>,
    /// The calls that are summed as rows come, by their places.
    summed: Vec<usize>,
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
            summed: (0..calls.len()).filter(|position| is_summed(&calls[*position])).collect(),
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
        for place in 0..self.summed.len() {
            self.add_to(self.summed[place], diff, &mut totals.accumulators, eval)?;
        }
        totals.rows += diff as i64;
        Ok(())
    }

    /// Adds the row that was read to what one call's add up to.
    fn add_to(
        &mut self,
        position: usize,
        diff: isize,
        accumulators: &mut Accumulators,
        eval: &EvalContext,
    ) -> Result<(), ValueError> {
        let call = &self.calls[position];
        let AggregateKind::Summed(summed) = call.function.kind else { return Ok(()) };
        if let Some(filter) = &call.filter
            && !filter.holds(&self.datums, eval)?
        {
            return Ok(());
        }
        self.args.clear();
        for arg in &call.args {
            self.args.push(arg.eval(&self.datums, eval)?);
        }
        if call.function.skips_nulls && self.args.iter().any(Datum::is_null) {
            return Ok(());
        }
        (summed.add)(&self.args, &mut accumulators.contribution(position, diff as i64))
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
}

/// Whether a call's rows are summed as they come.
fn is_summed(call: &AggregateCall) -> bool {
    matches!(call.function.kind, AggregateKind::Summed(_)) && !is_distinct(call)
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
    let mut reading = RowsRead::of(input, &mut accumulator, &shot.eval);
    let extremes = aggregates.iter().filter(|call| is_extreme(call)).count();
    let new = |group_row: Vec<u8>, totals, plain: Option<&PlainCalls>| Folded {
        group_row,
        totals,
        best: vec![None; extremes],
        seen: distinct.iter().map(|_| Seen::default()).collect(),
        plain: plain.map(PlainCalls::totals).unwrap_or_default(),
    };
    let mut groups = FoldedGroups::default();
    if scalar {
        groups.add(new(Vec::new(), Totals::phantom(), reading.plain()))?;
    }
    let mut ticker = Ticker::default();
    while reading.next(input, &mut accumulator, &shot.eval)? {
        ticker.tick(&shot.watch)?;
        let group = match groups.find(&accumulator.group_row) {
            Some(group) => group,
            None => {
                let room = Totals::with_room(accumulator.summed.len());
                groups.add(new(accumulator.group_row.clone(), room, reading.plain()))?
            }
        };
        let group = groups.at(group);
        group.take(&accumulator, &distinct, &shot.eval)?;
        accumulator.add(1, &mut group.totals, &shot.eval)?;
        if let Some(plain) = reading.plain() {
            plain.add(&mut group.plain, &mut group.totals.accumulators, |position, accumulators| {
                plain.read_own(input, &mut accumulator.datums);
                accumulator.add_to(position, 1, accumulators, &shot.eval)
            })?;
        }
    }
    let groups = groups.by_key(reading.plain())?;
    let mut rows = Vec::with_capacity(groups.len());
    for Folded { group_row, mut totals, best, seen, .. } in groups {
        poll::step()?;
        for (seen, distinct) in seen.iter().zip(&distinct) {
            seen.add_to(&mut totals, (aggregates, distinct), keys.len())?;
        }
        rows.extend(group(&group_row, &totals, &best, aggregates)?);
    }
    Ok(rows)
}

/// How an input's rows are read: where they stand packed, or as values.
enum RowsRead {
    Packed(PlainCalls),
    Values(LookedAt),
}

impl RowsRead {
    /// Leaves to the accumulator the calls that are not plain.
    fn of(input: &mut dyn Pull, accumulator: &mut Accumulator, eval: &EvalContext) -> RowsRead {
        match PlainCalls::of(input, &accumulator.keys, &accumulator.calls, eval) {
            Some(plain) => {
                accumulator.summed.retain(|position| !plain.has(*position));
                RowsRead::Packed(plain)
            }
            None => RowsRead::Values(LookedAt::of(input, &accumulator.keys, &accumulator.calls)),
        }
    }

    fn plain(&self) -> Option<&PlainCalls> {
        match self {
            RowsRead::Packed(plain) => Some(plain),
            RowsRead::Values(_) => None,
        }
    }

    /// Reads the next row; false at the end.
    fn next(
        &mut self,
        input: &mut dyn Pull,
        accumulator: &mut Accumulator,
        eval: &EvalContext,
    ) -> Result<bool, SqlError> {
        match self {
            RowsRead::Packed(plain) => plain.next(input, &mut accumulator.group_row, &mut accumulator.datums),
            RowsRead::Values(looked_at) => {
                let found = looked_at.next(input, &mut accumulator.datums)?;
                if found {
                    accumulator.read_datums(eval)?;
                }
                Ok(found)
            }
        }
    }
}

/// Groups that are folded, by their columns as they are written: those of equal keys come together in the end.
#[derive(Default)]
struct FoldedGroups {
    places: repr::hash::HashMap<Vec<u8>, usize>,
    folded: Vec<Folded>,
}

impl FoldedGroups {
    fn find(&self, group_row: &[u8]) -> Option<usize> {
        self.places.get(group_row).copied()
    }

    fn at(&mut self, place: usize) -> &mut Folded {
        &mut self.folded[place]
    }

    fn add(&mut self, group: Folded) -> Result<usize, ValueError> {
        poll::bytes(group.group_row.len())?;
        let place = self.folded.len();
        self.places.insert(group.group_row.clone(), place);
        self.folded.push(group);
        Ok(place)
    }

    /// The groups in the order of their keys. What is sorted says where they are: they are moved once.
    fn by_key(mut self, plain: Option<&PlainCalls>) -> Result<Vec<Folded>, ValueError> {
        drop(std::mem::take(&mut self.places));
        let (mut keys, mut order) = (Vec::new(), Vec::with_capacity(self.folded.len()));
        for (place, group) in self.folded.iter_mut().enumerate() {
            poll::step()?;
            if let Some(plain) = plain {
                plain.give(&mut group.plain, &mut group.totals.accumulators);
            }
            let start = keys.len();
            RowIter::over(&group.group_row).for_each(|datum| key::encode(&mut keys, &datum));
            poll::bytes(keys.len() - start)?;
            order.push((start..keys.len(), place));
        }
        poll::sort_by(&mut order, |(one, _), (other, _)| keys[one.clone()].cmp(&keys[other.clone()]))?;
        let mut folded: Vec<Option<Folded>> = self.folded.into_iter().map(Some).collect();
        let mut groups: Vec<Folded> = Vec::with_capacity(order.len());
        let mut last: Option<&[u8]> = None;
        for (key, place) in &order {
            let group = folded[*place].take().expect("each place stands once in the order");
            let key = &keys[key.clone()];
            match groups.last_mut().filter(|_| last == Some(key)) {
                Some(same) => same.merge(group),
                None => groups.push(group),
            }
            last = Some(key);
        }
        Ok(groups)
    }
}

impl Folded {
    /// Takes of the row that was read what is not summed at once.
    fn take(&mut self, read: &Accumulator, distinct: &[DistinctCalls], eval: &EvalContext) -> Result<(), ValueError> {
        for (seen, calls) in self.seen.iter_mut().zip(distinct) {
            seen.see(calls, &read.datums, &read.group_row, eval)?;
        }
        if self.best.is_empty() { Ok(()) } else { read.keep(&mut self.best, eval) }
    }

    /// Takes another of the same key, whose columns are written otherwise.
    fn merge(&mut self, other: Folded) {
        if other.group_row < self.group_row {
            self.group_row = other.group_row;
        }
        self.totals.plus_equals(&other.totals);
        for (best, others) in self.best.iter_mut().zip(other.best) {
            if others.is_some() && best.as_ref().is_none_or(|best| others.as_ref().is_some_and(|other| other < best)) {
                *best = others;
            }
        }
        self.seen.iter_mut().zip(other.seen).for_each(|(seen, others)| seen.merge(others));
    }
}
