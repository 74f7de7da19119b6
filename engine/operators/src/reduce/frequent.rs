//! `mode`: the argument that comes most often. Arguments are counted, and of those of a group the first by its count is found.

use crate::context::{Bundle, Context, RenderTime};
use crate::ordered_groups::{OrderedGrouping, first_row, reduce_in_order};
use crate::reduce::accumulate;
use arrangements::arrangement::metered;
use arrangements::ordered_row::OrderedRow;
use planner::names::Label;
use planner::scalar::{AggregateCall, ScalarExpr, registry};
use repr::{ColumnType, Datum, Row, ScalarType, key};

/// Renders a `Reduce` of one such call.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    call: &AggregateCall,
    scalar: bool,
) -> Bundle<'s, T> {
    let width = keys.len();
    let by_argument: Vec<ScalarExpr> = keys.iter().cloned().chain([argument(call)]).collect();
    let counted = accumulate::render(context, input, &by_argument, &[count()], false);
    let (descending, nulls_first) =
        call.order_by.first().map_or((false, false), |(_, descending, nulls_first)| (*descending, *nulls_first));
    // NULL, which counts for nothing, comes last; of arguments that come as often the first in their order.
    let placed = move |row: &[Datum]| {
        let (argument, count) = (&row[width], &row[width + 1]);
        let mut codes = vec![u8::from(argument.is_null())];
        key::encode_ordered(&mut codes, count, true, false);
        key::encode_ordered(&mut codes, argument, descending, nulls_first);
        OrderedRow::behind(codes, &Row::pack(&row[..=width]))
    };
    let meter = context.meter.clone();
    let phantom = scalar.then(|| {
        let nulls = vec![Datum::Null; width + 2];
        (metered(&meter, Vec::new(), placed(&nulls)), T::minimum(), 1)
    });
    let mut datums = Vec::new();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            updates.push((metered(&meter, key::encode_all(&datums[..width]), placed(&datums)), time, diff));
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    };
    let grouping = OrderedGrouping { name: "ReduceMostFrequent", keyed, phantom };
    let bundle = reduce_in_order(context, counted.oks, grouping, first_row);
    bundle.with_errs(counted.errs)
}

/// The call's argument; NULL of a row that the filter leaves out, of which it must not be evaluated: it may fail.
fn argument(call: &AggregateCall) -> ScalarExpr {
    let null = || ScalarExpr::Literal(Datum::Null, ColumnType::nullable(call.result.clone()));
    let argument = call.args.first().cloned().unwrap_or_else(null);
    match &call.filter {
        None => argument,
        Some(filter) => ScalarExpr::Case {
            branches: vec![(filter.clone(), argument)],
            otherwise: Box::new(null()),
            result: call.result.clone(),
        },
    }
}

/// `count(*)`.
fn count() -> AggregateCall {
    let function = registry::resolve_aggregate("count", &[]).expect("count(*) is an aggregate").function;
    AggregateCall {
        function,
        args: Vec::new(),
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        result: ScalarType::Int8,
        label: Label::default(),
    }
}
