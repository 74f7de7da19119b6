//! `min` and `max`: the first row of a group whose rows are arranged by the argument.

use crate::context::{Bundle, Context, RenderTime};
use crate::ordered_groups::{OrderedGrouping, first_row, reduce_in_order};
use arrangements::arrangement::metered;
use arrangements::ordered_row::OrderedRow;
use planner::scalar::aggregate::AggregateKind;
use planner::scalar::{AggregateCall, EvalContext, Order, ScalarExpr};
use repr::{Datum, Row, ValueError, key};
use state::interrupt::Ticker;

/// Whether a call is one of these. DISTINCT is nothing to them.
pub fn is_extreme(call: &AggregateCall) -> bool {
    matches!(call.function.kind, AggregateKind::Extreme { .. })
}

/// Whether the greatest is wanted.
pub fn is_greatest(call: &AggregateCall) -> bool {
    matches!(call.function.kind, AggregateKind::Extreme { greatest: true })
}

/// Renders a `Reduce` of one such call.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    call: &AggregateCall,
    scalar: bool,
) -> Bundle<'s, T> {
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let mut ticker = Ticker::default();
    let (mut datums, mut value) = (Vec::new(), Vec::new());
    // The argument stands behind the keys; NULL, which counts for nothing, comes last.
    let order = [Order { descending: is_greatest(call), ..Order::ascending(keys.len()) }];
    let phantom = scalar.then(|| {
        let nulls = vec![Datum::Null; keys.len() + 1];
        let row = OrderedRow::make(&order, &nulls, &Row::pack(&nulls));
        (metered(&meter, Vec::new(), row), T::minimum(), 1)
    });
    let (keys, call) = (keys.to_vec(), call.clone());
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, errs: &mut Vec<_>| {
        let _joined = watch.join();
        for (row, time, diff) in rows.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut datums);
            match extract(&keys, &call, &datums, &mut value, &eval) {
                Ok(()) => {
                    let key = key::encode_all(&value[..keys.len()]);
                    let row = OrderedRow::make(&order, &value, &Row::pack(&value));
                    updates.push((metered(&meter, key, row), time, diff));
                }
                Err(error) => errs.push((error, time, diff)),
            }
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
        value.clear();
    };
    let grouping = OrderedGrouping { name: "ReduceExtreme", keyed, phantom };
    let bundle = reduce_in_order(context, input.oks, grouping, first_row);
    bundle.with_errs(input.errs)
}

/// Fills `value` with the keys and the argument.
fn extract(
    keys: &[ScalarExpr],
    call: &AggregateCall,
    datums: &[Datum],
    value: &mut Vec<Datum>,
    eval: &EvalContext,
) -> Result<(), ValueError> {
    value.clear();
    for key in keys {
        value.push(key.eval(datums, eval)?);
    }
    // The argument of a row that the filter leaves out must not be evaluated: it may fail.
    let passes = call.filter.as_ref().map_or(Ok(true), |filter| filter.holds(datums, eval))?;
    let argument = call.args.first().filter(|_| passes);
    value.push(argument.map_or(Ok(Datum::Null), |argument| argument.eval(datums, eval))?);
    Ok(())
}
