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
use crate::SqlError;
use crate::one_shot::OneShot;
use crate::one_shot::stream::Pull;
use planner::scalar::{AggregateCall, ScalarExpr};
use repr::Row;

/// Renders a `Reduce`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    if accumulable(aggregates) {
        accumulate::render(context, input, keys, aggregates, scalar)
    } else {
        evaluate::render(context, input, keys, aggregates, scalar)
    }
}

/// The groups of rows that are pulled, by key: what `render` gives, without a dataflow.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    if accumulable(aggregates) {
        accumulate::fold(input, keys, aggregates, scalar, shot)
    } else {
        evaluate::fold(input, keys, aggregates, scalar, shot)
    }
}

fn accumulable(aggregates: &[AggregateCall]) -> bool {
    aggregates.iter().all(|call| call.function.accumulable.is_some() && !call.distinct)
}
