//! Grouping and aggregation.
//!
//! ```text
//! accumulable   row ──▶ (key, group row) with differences [rows, sums …]   summed by the arrangement itself
//! min, max      row ──▶ (key, [argument, group row])                       the first of each group
//! any other     row ──▶ (key, [group row, arguments …])                    evaluated per group, all calls together
//! ```
//! Of a node with calls of the first two kinds each kind is its own reduction, and their rows are put together by key.
//!
//! Groups are equal by SQL equality; the group row that comes out is the smallest representation by
//! bytes. A scalar aggregate's one group is always there: a phantom row, which counts for nothing, holds it.

mod accumulate;
mod evaluate;
mod extreme;

use crate::context::{Bundle, Context, RenderTime, both};
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use arrangements::arrangement::{concatenate, metered};
use planner::scalar::{AggregateCall, ScalarExpr};
use repr::row::RowIter;
use repr::{Datum, Row, key};
use state::SqlError;

/// The groups' rows, computed when first asked for.
pub struct GroupRows<'p> {
    input: Box<dyn Pull + 'p>,
    keys: &'p [ScalarExpr],
    aggregates: &'p [AggregateCall],
    scalar: bool,
    rows: Option<std::vec::IntoIter<Row>>,
    shot: OneShot,
}

impl<'p> GroupRows<'p> {
    /// Groups an input.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        keys: &'p [ScalarExpr],
        aggregates: &'p [AggregateCall],
        scalar: bool,
        shot: &OneShot,
    ) -> Self {
        GroupRows { input, keys, aggregates, scalar, rows: None, shot: shot.clone() }
    }
}

impl GroupRows<'_> {
    fn rows(&mut self) -> Result<&mut std::vec::IntoIter<Row>, SqlError> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => fold(&mut *self.input, self.keys, self.aggregates, self.scalar, &self.shot)?.into_iter(),
        };
        Ok(self.rows.insert(rows))
    }
}

impl Iterator for GroupRows<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows() {
            Ok(rows) => rows.next().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Renders a `Reduce`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
) -> Bundle<'s, T> {
    if accumulable(aggregates) {
        return accumulate::render(context, input, keys, aggregates, scalar);
    }
    let (extremes, others): (Vec<usize>, Vec<usize>) =
        (0..aggregates.len()).partition(|call| extreme::is_extreme(&aggregates[*call]));
    let calls = |positions: &[usize]| positions.iter().map(|at| aggregates[*at].clone()).collect::<Vec<_>>();
    let summed = calls(&others);
    if !accumulable(&summed) {
        return evaluate::render(context, input, keys, aggregates, scalar);
    }
    if let (&[only], true) = (extremes.as_slice(), others.is_empty()) {
        return extreme::render(context, input, keys, &aggregates[only], scalar);
    }
    let mut parts = Vec::new();
    // Each part reads the same rows, whose errors count once.
    let rows = Bundle::infallible(input.oks);
    if !others.is_empty() {
        parts.push((accumulate::render(context, rows.clone(), keys, &summed, scalar), others));
    }
    for position in extremes {
        let part = extreme::render(context, rows.clone(), keys, &aggregates[position], scalar);
        parts.push((part, vec![position]));
    }
    let errs = parts.iter().fold(input.errs, |errs, (part, _)| both(errs, part.errs.clone()));
    combined(context, parts, keys.len()).with_errs(errs)
}

/// The rows of a node from those of its parts: for each, which calls it answers.
fn combined<'s, T: RenderTime>(
    context: &Context<'s, T>,
    parts: Vec<(Bundle<'s, T>, Vec<usize>)>,
    keys: usize,
) -> Bundle<'s, T> {
    let positions: Vec<Vec<usize>> = parts.iter().map(|(_, positions)| positions.clone()).collect();
    let mut tagged = Vec::new();
    for (number, (part, _)) in parts.into_iter().enumerate() {
        let number = Row::pack(&[Datum::Int4(i32::try_from(number).expect("a node has few calls"))]);
        tagged.push(part.oks.map(move |row| concatenate(number.bytes(), row.bytes())));
    }
    let mut tagged = tagged.into_iter();
    let first = tagged.next().expect("a node has calls");
    let tagged = first.concatenate(tagged);
    let (mut datums, meter) = (Vec::new(), context.meter.clone());
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            updates.push((metered(&meter, key::encode_all(&datums[1..=keys]), row), time, diff));
        }
    };
    let grouping = OrderedGrouping { name: "ReduceParts", keyed, phantom: None };
    reduce_in_order(context, tagged, grouping, move |_key, rows, output| {
        let mut row: Vec<Option<Datum>> = vec![None; keys + positions.iter().map(Vec::len).sum::<usize>()];
        for (bytes, _) in rows {
            let mut datums = RowIter::over(bytes.0);
            let Some(Datum::Int4(number)) = datums.next() else { continue };
            let Some(calls) = usize::try_from(number).ok().and_then(|number| positions.get(number)) else { continue };
            // The parts may have met other writings of equal keys: the first part's stand.
            for key in &mut row[..keys] {
                let datum = datums.next();
                key.get_or_insert(datum.unwrap_or(Datum::Null));
            }
            for (call, value) in calls.iter().zip(datums) {
                row[keys + call] = Some(value);
            }
        }
        // A group of which a part is missing has an error.
        if let Some(row) = row.into_iter().collect::<Option<Vec<Datum>>>() {
            output.push((Ok(Row::pack(&row)), 1));
        }
    })
}

/// The groups of rows that are pulled, by key: what `render` gives, without a dataflow.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    let grows_no_further =
        |call: &AggregateCall| extreme::is_extreme(call) || call.function.accumulable.is_some() && !call.distinct;
    if aggregates.iter().all(grows_no_further) {
        accumulate::fold(input, keys, aggregates, scalar, shot)
    } else {
        evaluate::fold(input, keys, aggregates, scalar, shot)
    }
}

fn accumulable(aggregates: &[AggregateCall]) -> bool {
    aggregates.iter().all(|call| call.function.accumulable.is_some() && !call.distinct)
}
