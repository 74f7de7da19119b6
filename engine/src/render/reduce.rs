//! Grouping and aggregation.
//!
//! ```text
//! all accumulable   row ──▶ (key, group row) with differences [rows, sums …]   summed by the arrangement itself
//! any other         row ──▶ (key, [group row, arguments …])                    evaluated per group
//! ```
//!
//! Groups are equal by SQL equality; the group row that comes out is the smallest representation by
//! bytes. A scalar aggregate's one group is always there: a phantom row, which counts for nothing, holds it.

mod accumulate;
mod evaluate;

use super::RenderTime;
use super::context::{Bundle, Context};
use planner::scalar::{AggregateCall, ScalarExpr};

/// Renders a `Reduce`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    let accumulable = aggregates.iter().all(|call| call.function.accumulable.is_some() && !call.distinct);
    if accumulable {
        accumulate::render(context, input, keys, aggregates, scalar)
    } else {
        evaluate::render(context, input, keys, aggregates, scalar)
    }
}
