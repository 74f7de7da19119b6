//! Aggregates that are sums: they travel as differences, so that a group is two numbers per aggregate.
//!
//! DISTINCT is the case without aggregates.

use crate::context::{Bundle, Context, RenderTime};
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use crate::reduce::extreme::is_extreme;
use arrangements::arrangement::Key;
use arrangements::key_columns::KeyColumns;
use arrangements::totals::Totals;
use differential_dataflow::difference::Semigroup;
use planner::scalar::aggregate::Contribution;
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

    /// Adds the row that was read, `diff` times.
    fn add(&mut self, diff: isize, totals: &mut Totals, eval: &EvalContext) -> Result<(), ValueError> {
        for (position, call) in self.calls.iter().enumerate() {
            let Some(accumulable) = &call.function.accumulable else { continue };
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
            let Contribution { count, sum } = (accumulable.contribution)(&self.args)?;
            totals.add(position, count, sum, diff);
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
            let descending = call.function.prefers_greater == Some(true);
            key::encode_ordered(&mut code, &value, descending, false);
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

/// Renders a `Reduce` whose aggregates are all accumulable.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let mut ticker = Ticker::default();
    let mut accumulator = Accumulator {
        keys: keys.to_vec(),
        calls: aggregates.to_vec(),
        datums: Vec::new(),
        args: Vec::new(),
        group_row: Vec::new(),
    };
    let mut groups: Groups<T> = HashMap::new();
    let told = Rc::new(KeyColumns::new((0..keys.len()).collect()));
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
        for (_, ((key, row), totals)) in groups.drain() {
            for (time, totals) in totals {
                let sums_bytes = size_of::<Totals>() + size_of_val(totals.sums.as_slice());
                meter.count(key.0.len() + row.bytes().len() + sums_bytes);
                updates.push(((key.clone(), row.clone()), time, totals));
            }
        }
    };
    let phantom = scalar.then(|| {
        let totals = Totals { phantoms: 1, ..Totals::zeros(aggregates.len()) };
        ((Key::default(), Row::default()), T::minimum(), totals)
    });
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
            totals.push((time.clone(), Totals::zeros(calls)));
            totals.len() - 1
        }
    };
    accumulator.add(diff, &mut totals[position].1, eval)
}

/// The group's row, if the group is there.
fn finish(rows: impl Iterator<Item = (Row, Totals)>, calls: &[AggregateCall]) -> Result<Option<Row>, ValueError> {
    let mut total = Totals::zeros(calls.len());
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
    group(group_row.bytes(), total, &[], calls)
}

/// The group's row of what it adds up to; `best` are the values of `min` and `max`, in order.
fn group(group_row: &[u8], total: Totals, best: &[Best], calls: &[AggregateCall]) -> Result<Option<Row>, ValueError> {
    if total.rows <= 0 && total.phantoms <= 0 {
        return Ok(None);
    }
    if total.overflows > 0 {
        return Err(ValueError::new("22003", "value out of range: a sum exceeds 128 bits"));
    }
    let mut bytes = Vec::with_capacity(group_row.len() + calls.len() * 10);
    bytes.extend_from_slice(group_row);
    let mut best = best.iter();
    for (call, (count, sum)) in calls.iter().zip(total.sums) {
        let Some(accumulable) = &call.function.accumulable else {
            match best.next() {
                Some(Some((_, value))) => bytes.extend_from_slice(value),
                Some(None) | None => write_datum(&mut bytes, &Datum::Null),
            }
            continue;
        };
        let value = (accumulable.finish)(Contribution { count, sum }, &call.result)?;
        write_datum(&mut bytes, &value);
    }
    Ok(Some(Row::from_bytes(bytes.into_boxed_slice())))
}

/// The groups of rows that are pulled, by key. Beside what is accumulable there may be `min` and `max`.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    let mut accumulator = Accumulator {
        keys: keys.to_vec(),
        calls: aggregates.to_vec(),
        datums: Vec::new(),
        args: Vec::new(),
        group_row: Vec::new(),
    };
    let extremes = aggregates.iter().filter(|call| is_extreme(call)).count();
    let mut groups: BTreeMap<Vec<u8>, Folded> = BTreeMap::new();
    if scalar {
        let totals = Totals { phantoms: 1, ..Totals::zeros(aggregates.len()) };
        groups.insert(Vec::new(), Folded { group_row: Vec::new(), totals, best: vec![None; extremes] });
    }
    let (mut ticker, mut key) = (Ticker::default(), Vec::new());
    while input.next(&mut accumulator.datums)? {
        ticker.tick(&shot.watch)?;
        accumulator.read_datums(&shot.eval)?;
        key.clear();
        accumulator.encode_key(&mut key, &shot.eval)?;
        if let Some(group) = groups.get_mut(&key) {
            if accumulator.group_row < group.group_row {
                group.group_row.clone_from(&accumulator.group_row);
            }
            accumulator.add(1, &mut group.totals, &shot.eval)?;
            if extremes > 0 {
                accumulator.keep(&mut group.best, &shot.eval)?;
            }
        } else {
            let (mut totals, mut best) = (Totals::zeros(aggregates.len()), vec![None; extremes]);
            accumulator.add(1, &mut totals, &shot.eval)?;
            accumulator.keep(&mut best, &shot.eval)?;
            groups.insert(key.clone(), Folded { group_row: accumulator.group_row.clone(), totals, best });
        }
    }
    let mut rows = Vec::with_capacity(groups.len());
    for Folded { group_row, totals, best } in groups.into_values() {
        poll::step()?;
        rows.extend(group(&group_row, totals, &best, aggregates)?);
    }
    Ok(rows)
}
