//! DISTINCT inside calls: of equal arguments one counts.
//!
//! ```text
//! kept    row ──▶ the group's columns and arguments ──▶ each once, arranged ──▶ accumulated by the group's columns
//! once    row ──▶ the group's arguments, each once ──▶ accumulated in the end
//! ```
//! So a change costs a look-up of its argument, however large the group. Calls of the same arguments and filter share what is
//! arranged. Of several writings of equal arguments the one counts whose row is the least by bytes.

use crate::context::{Bundle, Context, RenderTime};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use crate::reduce::accumulate;
use arrangements::arrangement::metered;
use arrangements::key_columns::KeyColumns;
use arrangements::totals::Totals;
use planner::scalar::aggregate::AggregateKind;
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::{RowIter, write_datum};
use repr::{Datum, Row, ValueError, key, poll};
use state::interrupt::Ticker;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// Calls over the same distinct arguments.
#[derive(Clone)]
pub struct DistinctCalls {
    args: Vec<ScalarExpr>,
    filter: Option<ScalarExpr>,
    /// Their places among the node's calls.
    pub places: Vec<usize>,
}

/// Whether a call is accumulated once for each of its arguments. DISTINCT is nothing to `min` and `max`.
pub fn is_distinct(call: &AggregateCall) -> bool {
    call.distinct && matches!(call.function.kind, AggregateKind::Summed(_))
}

/// The calls of a node that are distinct.
pub fn of(aggregates: &[AggregateCall]) -> Vec<DistinctCalls> {
    let mut found: Vec<DistinctCalls> = Vec::new();
    for (place, call) in aggregates.iter().enumerate().filter(|(_, call)| is_distinct(call)) {
        match found.iter_mut().find(|calls| calls.args == call.args && calls.filter == call.filter) {
            Some(calls) => calls.places.push(place),
            None => {
                found.push(DistinctCalls { args: call.args.clone(), filter: call.filter.clone(), places: vec![place] });
            }
        }
    }
    found
}

impl DistinctCalls {
    /// Appends a row's arguments: NULLs, which no call counts, where the filter does not hold.
    fn push_args(&self, datums: &[Datum], args: &mut Vec<Datum>, eval: &EvalContext) -> Result<(), ValueError> {
        // The arguments of a row that the filter leaves out must not be evaluated: they may fail.
        let passes = self.filter.as_ref().map_or(Ok(true), |filter| filter.holds(datums, eval))?;
        for arg in &self.args {
            args.push(if passes { arg.eval(datums, eval)? } else { Datum::Null });
        }
        Ok(())
    }
}

/// Renders a `Reduce` of such calls.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    (aggregates, distinct): (&[AggregateCall], &DistinctCalls),
    scalar: bool,
) -> Bundle<'s, T> {
    let rows = each_once(context, input, keys, distinct);
    let calls = distinct.places.iter().map(|place| AggregateCall {
        args: (keys.len()..keys.len() + distinct.args.len()).map(ScalarExpr::Column).collect(),
        filter: None,
        distinct: false,
        order_by: Vec::new(),
        ..aggregates[*place].clone()
    });
    let keys: Vec<ScalarExpr> = (0..keys.len()).map(ScalarExpr::Column).collect();
    accumulate::render(context, rows, &keys, &calls.collect::<Vec<_>>(), scalar)
}

/// The columns of groups and the arguments in them, each once.
fn each_once<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    distinct: &DistinctCalls,
) -> Bundle<'s, T> {
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let (keys, distinct) = (keys.to_vec(), distinct.clone());
    let told = Rc::new(KeyColumns::new((0..keys.len() + distinct.args.len()).collect()));
    let tells = told.clone();
    let (mut ticker, mut datums, mut value) = (Ticker::default(), Vec::new(), Vec::new());
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, errs: &mut Vec<_>| {
        let _joined = watch.join();
        let mut read = |row: &Row, value: &mut Vec<Datum>| {
            row.unpack_into(&mut datums);
            value.clear();
            for key in &keys {
                value.push(key.eval(&datums, &eval)?);
            }
            let pushed = distinct.push_args(&datums, value, &eval);
            // Nobody's row is kept until the next one comes.
            datums.clear();
            pushed
        };
        for (row, time, diff) in rows.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            match read(&row, &mut value) {
                Ok(()) => {
                    let row = tells.value(&value, Row::pack(&value));
                    updates.push((metered(&meter, key::encode_all(&value), row), time, diff));
                }
                Err(error) => errs.push((error, time, diff)),
            }
        }
        value.clear();
    };
    let grouping = OrderedGrouping { name: "ReduceDistinct", keyed, phantom: None };
    let bundle = reduce_in_order(context, input.oks, grouping, move |key, rows, output| {
        // A negative count is a transient of incremental input; such a row is not there.
        for (bytes, count) in rows {
            if count > 0 {
                output.push((Ok(told.row(key, bytes.0)), 1));
                return;
            }
        }
    });
    bundle.with_errs(input.errs)
}

/// The distinct arguments of a group, by their codes: of each the group's columns and the arguments, packed. No order is
/// seen of them: they are summed.
#[derive(Default)]
pub struct Seen(HashMap<Vec<u8>, Vec<u8>>);

impl Seen {
    /// Takes the arguments of a row, whose group's columns are given packed.
    pub fn see(
        &mut self,
        calls: &DistinctCalls,
        datums: &[Datum],
        group_row: &[u8],
        eval: &EvalContext,
    ) -> Result<(), ValueError> {
        let mut args = Vec::with_capacity(calls.args.len());
        calls.push_args(datums, &mut args, eval)?;
        if args.iter().any(Datum::is_null) {
            return Ok(());
        }
        let mut row = group_row.to_vec();
        args.iter().for_each(|arg| write_datum(&mut row, arg));
        let code = key::encode_all(&args);
        match self.0.entry(code) {
            Entry::Vacant(place) => {
                poll::bytes(place.key().len() + row.len() + size_of::<(Vec<u8>, Vec<u8>)>())?;
                place.insert(row);
            }
            Entry::Occupied(mut place) => {
                if row < *place.get() {
                    place.insert(row);
                }
            }
        }
        Ok(())
    }

    /// Takes those of another group of the same key.
    pub fn merge(&mut self, other: Seen) {
        for (code, row) in other.0 {
            match self.0.entry(code) {
                Entry::Vacant(place) => {
                    place.insert(row);
                }
                Entry::Occupied(mut place) => {
                    if row < *place.get() {
                        place.insert(row);
                    }
                }
            }
        }
    }

    /// Adds them up for all calls.
    pub fn add_to(
        &self,
        totals: &mut Totals,
        (aggregates, distinct): (&[AggregateCall], &DistinctCalls),
        keys: usize,
    ) -> Result<(), ValueError> {
        for row in self.0.values() {
            poll::step()?;
            let args: Vec<Datum> = RowIter::over(row).skip(keys).collect();
            for place in &distinct.places {
                if let AggregateKind::Summed(summed) = aggregates[*place].function.kind {
                    (summed.add)(&args, &mut totals.accumulators.contribution(*place, 1))?;
                }
            }
        }
        Ok(())
    }
}
