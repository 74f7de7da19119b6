//! Grouping and aggregation.
//!
//! ```text
//! sums       row ──▶ (key, group row) with differences [rows, numbers …]   summed by the arrangement itself
//! DISTINCT   row ──▶ (key and arguments, [group row, arguments])           each once; sums of these
//! min, max   row ──▶ (key, [argument, group row])                          the first of each group
//! mode       row ──▶ (key and argument), counted                           the first of each group, by the count
//! lists      row ──▶ (key, [order, arguments])                             in a tree: the n-th is found, or all are read in order
//! ```
//! Of a node with calls of several kinds each kind is its own reduction, and their rows are put together by key.
//! Once, all are folded together, counts and plain sums where rows stand packed: `plain_calls`. Only a list costs as much per change as its group is long: its value is.
//!
//! Groups are equal by SQL equality; the group row that comes out is the smallest representation by
//! bytes. A scalar aggregate's one group is always there: a phantom row, which counts for nothing, holds it.

mod accumulate;
mod distinct;
mod evaluate;
mod extreme;
mod frequent;
mod looked_at;
mod plain_calls;

use crate::context::{Bundle, Context, RenderTime, both};
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, reduce_in_order};
use crate::reduce::distinct::DistinctCalls;
use arrangements::arrangement::{concatenate, metered};
use planner::scalar::aggregate::AggregateKind;
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
    // Lists are held at one time, which those of rounds are not.
    if !T::IN_TOTAL_ORDER && aggregates.iter().any(|call| call.function.is_ordered()) {
        return evaluate::render(context, input, keys, aggregates, scalar);
    }
    let mut parts = parts(aggregates);
    let last = parts.pop().expect("there is always one");
    if parts.is_empty() {
        return last.render(context, input, keys, aggregates, scalar);
    }
    parts.push(last);
    // Each part reads the same rows, whose errors count once.
    let rows = Bundle::infallible(input.oks);
    let render = |part: ReducedTogether| (part.render(context, rows.clone(), keys, aggregates, scalar), part.places());
    let parts: Vec<_> = parts.into_iter().map(render).collect();
    let errs = parts.iter().fold(input.errs, |errs, (part, _)| both(errs, part.errs.clone()));
    combined(context, parts, keys.len()).with_errs(errs)
}

/// Calls of a node that are reduced together.
enum ReducedTogether {
    /// At these places among the node's calls. Without any it is DISTINCT.
    Sums(Vec<usize>),
    Distinct(DistinctCalls),
    /// At this place.
    Extreme(usize),
    /// Lists without an order of their own, which have one in common.
    Lists(Vec<usize>),
    /// At this place, in its order.
    List(usize),
    /// At this place.
    MostFrequent(usize),
}

/// The parts of a node.
fn parts(aggregates: &[AggregateCall]) -> Vec<ReducedTogether> {
    let kind = |place: &usize| aggregates[*place].function.kind;
    let places = || 0..aggregates.len();
    let extremes = places().filter(|place| matches!(kind(place), AggregateKind::Extreme { .. }));
    let is_summed = |place: &usize| matches!(kind(place), AggregateKind::Summed(_));
    let sums = places().filter(is_summed).filter(|place| !distinct::is_distinct(&aggregates[*place]));
    let sums: Vec<usize> = sums.collect();
    let lists: Vec<usize> = places().filter(|place| evaluate::has_no_order(&aggregates[*place])).collect();
    let lists = (!lists.is_empty()).then_some(ReducedTogether::Lists(lists));
    let ordered = places().filter_map(|place| match kind(&place) {
        AggregateKind::Listed(_) if evaluate::has_no_order(&aggregates[place]) => None,
        AggregateKind::Listed(_) | AggregateKind::Placed(_) => Some(ReducedTogether::List(place)),
        AggregateKind::MostFrequent => Some(ReducedTogether::MostFrequent(place)),
        AggregateKind::Summed(_) | AggregateKind::Extreme { .. } => None,
    });
    let sums = (aggregates.is_empty() || !sums.is_empty()).then_some(ReducedTogether::Sums(sums));
    let distinct = distinct::of(aggregates).into_iter().map(ReducedTogether::Distinct);
    sums.into_iter().chain(distinct).chain(extremes.map(ReducedTogether::Extreme)).chain(lists).chain(ordered).collect()
}

impl ReducedTogether {
    fn places(&self) -> Vec<usize> {
        match self {
            ReducedTogether::Sums(places) => places.clone(),
            ReducedTogether::Distinct(distinct) => distinct.places.clone(),
            ReducedTogether::Lists(places) => places.clone(),
            ReducedTogether::Extreme(place) | ReducedTogether::List(place) | ReducedTogether::MostFrequent(place) => {
                vec![*place]
            }
        }
    }

    fn render<'s, T: RenderTime>(
        &self,
        context: &Context<'s, T>,
        input: Bundle<'s, T>,
        keys: &[ScalarExpr],
        aggregates: &[AggregateCall],
        scalar: bool,
    ) -> Bundle<'s, T> {
        match self {
            ReducedTogether::Sums(places) => {
                let calls: Vec<AggregateCall> = places.iter().map(|place| aggregates[*place].clone()).collect();
                accumulate::render(context, input, keys, &calls, scalar)
            }
            ReducedTogether::Distinct(calls) => distinct::render(context, input, keys, (aggregates, calls), scalar),
            ReducedTogether::Lists(places) => {
                let calls = places.iter().map(|place| aggregates[*place].clone()).collect();
                evaluate::render_lists(context, input, keys, calls, scalar)
            }
            ReducedTogether::List(place) => evaluate::render_list(context, input, keys, &aggregates[*place], scalar),
            ReducedTogether::MostFrequent(place) => frequent::render(context, input, keys, &aggregates[*place], scalar),
            ReducedTogether::Extreme(place) => extreme::render(context, input, keys, &aggregates[*place], scalar),
        }
    }
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
    let meter = context.meter.clone();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            // What stands behind the keys may be long, and is not looked at.
            let datums: Vec<Datum> = row.iter().skip(1).take(keys).collect();
            updates.push((metered(&meter, key::encode_all(&datums), row), time, diff));
        }
    };
    let grouping = OrderedGrouping { name: "ReduceParts", keyed, phantom: None };
    reduce_in_order(context, tagged, grouping, move |_key, rows, output| {
        let mut row: Vec<Option<&[u8]>> = vec![None; keys + positions.iter().map(Vec::len).sum::<usize>()];
        for (bytes, _) in rows {
            let mut columns = RowIter::over(bytes.0);
            let Some(Datum::Int4(number)) = columns.next() else { continue };
            let Some(calls) = usize::try_from(number).ok().and_then(|number| positions.get(number)) else { continue };
            // The parts may have met other writings of equal keys: the first part's stand.
            for key in &mut row[..keys] {
                key.get_or_insert(packed(&mut columns));
            }
            for call in calls {
                row[keys + call] = Some(packed(&mut columns));
            }
        }
        // A group of which a part is missing has an error.
        if let Some(columns) = row.into_iter().collect::<Option<Vec<&[u8]>>>() {
            output.push((Ok(Row::from_bytes(columns.concat().into_boxed_slice())), 1));
        }
    })
}

/// The next column as it is packed.
fn packed<'r>(columns: &mut RowIter<'r>) -> &'r [u8] {
    let from = columns.rest();
    columns.pass();
    &from[..from.len() - columns.rest().len()]
}

/// The groups of rows that are pulled, by key: what `render` gives, without a dataflow.
pub fn fold(
    input: &mut dyn Pull,
    keys: &[ScalarExpr],
    aggregates: &[AggregateCall],
    scalar: bool,
    shot: &OneShot,
) -> Result<Vec<Row>, SqlError> {
    if aggregates.iter().any(|call| call.function.is_ordered()) {
        evaluate::fold(input, keys, aggregates, scalar, shot)
    } else {
        accumulate::fold(input, keys, aggregates, scalar, shot)
    }
}
