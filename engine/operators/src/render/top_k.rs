//! Rows chosen within groups by order: the first ones (`TopK`), or the only one (`AtMostOne`).
//!
//! The order is in the arranged bytes: see `OrderedRow`.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context};
use crate::render::ordered::{Grouping, reduce_in_order};
use arrangements::arrangement::{FlatBytes, metered};
use arrangements::key_columns::Told;
use arrangements::ordered_row::{OrderedRow, group_key};
use planner::scalar::{EvalContext, Order, ScalarExpr};
use repr::{Row, ValueError};
use state::SqlError;
use state::interrupt::Ticker;
use std::rc::Rc;

/// The value of a LIMIT; none if it is absent or NULL. 2201W if negative.
pub fn limit(expression: Option<&ScalarExpr>, eval: &EvalContext) -> Result<Option<usize>, ValueError> {
    count(expression, eval, "2201W", "LIMIT")
}

/// The value of an OFFSET. 2201X if negative.
pub fn offset(expression: Option<&ScalarExpr>, eval: &EvalContext) -> Result<usize, ValueError> {
    Ok(count(expression, eval, "2201X", "OFFSET")?.unwrap_or(0))
}

fn count(
    expression: Option<&ScalarExpr>,
    eval: &EvalContext,
    code: &'static str,
    clause: &str,
) -> Result<Option<usize>, ValueError> {
    let Some(expression) = expression else { return Ok(None) };
    let value = expression.eval(&[], eval)?;
    if value.is_null() {
        return Ok(None);
    }
    let value = value.as_i64().ok_or_else(|| ValueError::new("XX000", format!("{clause} is not an integer")))?;
    usize::try_from(value).map(Some).map_err(|_| ValueError::new(code, format!("{clause} must not be negative")))
}

/// Renders a `TopK`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[usize],
    order: &[Order],
    limit_expression: Option<&ScalarExpr>,
    offset_expression: Option<&ScalarExpr>,
) -> Result<Bundle<'s, T>, SqlError> {
    let limit = limit(limit_expression, &context.eval)?;
    let offset = offset(offset_expression, &context.eval)?;
    // The rows of a group are all alike in what makes its key.
    let order: Vec<Order> = order.iter().filter(|item| !keys.contains(&item.column)).cloned().collect();
    let (keys, meter) = (keys.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let told = Rc::new(Told::new(keys.clone()));
    let tells = told.clone();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            let ordered = OrderedRow::make(&order, &datums, &tells.value(&datums, row));
            updates.push((metered(&meter, group_key(&keys, &datums), ordered), time, diff));
        }
    };
    let watch = context.watch.clone();
    let mut ticker = Ticker::default();
    let grouping = Grouping { name: "TopK", keyed, phantom: None };
    let mut bundle = reduce_in_order(context, input.oks, grouping, move |key, rows, output| {
        if ticker.stops(&watch) {
            return;
        }
        let (mut skip, mut left) = (offset, limit.unwrap_or(usize::MAX));
        while left > 0
            && let Some((bytes, diff)) = rows.next()
        {
            // A negative count is a transient of incremental input; such a row is not there.
            let copies = usize::try_from(diff).unwrap_or(0);
            let skipped = copies.min(skip);
            skip -= skipped;
            let taken = (copies - skipped).min(left);
            left -= taken;
            if taken > 0 {
                let row = told.row(key, OrderedRow::parts(bytes).1);
                output.push((Ok(row), taken.cast_signed()));
            }
        }
    });
    bundle.errs = input.errs;
    Ok(bundle)
}

/// What a scalar subquery that gave several rows is told.
pub fn more_than_one_row() -> ValueError {
    ValueError::new("21000", "more than one row returned by a subquery used as an expression")
}

/// Renders an `AtMostOne`.
pub fn render_at_most_one<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[usize],
) -> Bundle<'s, T> {
    let (keys, meter) = (keys.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            updates.push((metered(&meter, group_key(&keys, &datums), row), time, diff));
        }
    };
    let grouping = Grouping { name: "AtMostOne", keyed, phantom: None };
    reduce_in_order(context, input.oks, grouping, |_key, rows, output| match (rows.next(), rows.next()) {
        (None, _) => {}
        (Some((row, 1)), None) => output.push((Ok(Row::copy_from(row.0)), 1)),
        _ => output.push((Err(more_than_one_row()), 1)),
    })
    .with_errs(input.errs)
}
