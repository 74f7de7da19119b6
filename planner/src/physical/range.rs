//! Joins by order: conditions with `<`, `<=`, `>`, `>=` and BETWEEN say which rows of the other side can match at all, and
//! what only asks for the nearest of them reads no further.
//!
//! ```text
//! a.x BETWEEN b.low AND b.high                        each b reads the a of its range
//! max(i.id) … WHERE i.id < o.id                       each o reads the last i of its range
//! ORDER BY p.at DESC LIMIT 1 … WHERE p.at <= o.at     likewise
//! EXISTS (… WHERE i.id < o.id)                        each o reads any i of its range
//! ```
//! For plans that run once. Never changes what rows come out: what is left out would not match, or not count.

use super::access::same_class;
use super::chain::Chain;
use super::costs::LOOKUP_COST;
use super::late_materialization::First;
use super::order::Links;
use super::{Planner, through};
use crate::error::PlanError;
use crate::mir::{Mir, expr};
use crate::plan::{Counting, Ends, JoinRange, MatchKind, Plan};
use crate::scalar::aggregate::AggregateKind;
use crate::scalar::func::Comparison;
use crate::scalar::{AggregateCall, Mfp, Order, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnType, Datum, ScalarType};
use std::collections::BTreeSet;
use std::ops::Range;

/// Bounds of a value of one relation by what others give.
pub(super) struct Between {
    /// Over the relation's own columns.
    pub(super) value: ScalarExpr,
    /// Over all columns: (bound, inclusive).
    pub(super) lower: Option<(ScalarExpr, bool)>,
    /// Likewise.
    pub(super) upper: Option<(ScalarExpr, bool)>,
}

impl Between {
    /// What conditions say of a value of the relation whose columns are `range`, by expressions that satisfy `there`: of the
    /// value that is asked for, else of the one that they say most of.
    pub(super) fn find(
        on: &[ScalarExpr],
        range: &Range<usize>,
        types: &[ColumnType],
        there: impl Fn(&ScalarExpr) -> bool,
        wanted: Option<&ScalarExpr>,
    ) -> Option<Between> {
        let own =
            |expr: &ScalarExpr| !expr::is_constant(expr) && expr::reads_only(expr, |column| range.contains(&column));
        let mut found: Vec<Between> = Vec::new();
        for condition in on {
            let Some((comparison, left, right)) = shape::compared(condition) else { continue };
            if expr::is_volatile(condition) {
                continue;
            }
            let (left, right) = (shape::relabelled(left), shape::relabelled(right));
            // As `value comparison bound`.
            let (value, bound, is_lower, inclusive) = match (comparison, own(left), own(right)) {
                (Comparison::Less, true, false) => (left, right, false, false),
                (Comparison::LessOrEqual, true, false) => (left, right, false, true),
                (Comparison::Greater, true, false) => (left, right, true, false),
                (Comparison::GreaterOrEqual, true, false) => (left, right, true, true),
                (Comparison::Less, false, true) => (right, left, true, false),
                (Comparison::LessOrEqual, false, true) => (right, left, true, true),
                (Comparison::Greater, false, true) => (right, left, false, false),
                (Comparison::GreaterOrEqual, false, true) => (right, left, false, true),
                _ => continue,
            };
            let scalar = expr::scalar_type(value, types);
            let ordered = same_class(&scalar, &expr::scalar_type(bound, types))
                && !matches!(scalar, ScalarType::Record(_) | ScalarType::Array(_));
            if !ordered || !there(bound) || expr::is_constant(bound) {
                continue;
            }
            let value = expr::renumber(value, |column| column - range.start);
            let at = found.iter().position(|between| between.value == value).unwrap_or_else(|| {
                found.push(Between { value, lower: None, upper: None });
                found.len() - 1
            });
            let side = if is_lower { &mut found[at].lower } else { &mut found[at].upper };
            side.get_or_insert_with(|| (bound.clone(), inclusive));
        }
        if let Some(wanted) = wanted {
            return found.into_iter().find(|between| between.value == *wanted);
        }
        // The first of those with most bounds.
        found.into_iter().rev().max_by_key(Between::bounds)
    }

    /// How many bounds there are.
    pub(super) fn bounds(&self) -> u8 {
        u8::from(self.lower.is_some()) + u8::from(self.upper.is_some())
    }
}

/// Which rows of a group count.
enum WantedRows {
    /// Any one.
    Any,
    /// Those at the ends of an expression.
    Ends { value: ScalarExpr, low: usize, high: usize, ties: Vec<(ScalarExpr, bool, bool)> },
}

impl Planner<'_> {
    /// Plans what is grouped: for DISTINCT, `min` and `max` not every row counts.
    pub(super) fn plan_for_groups(
        &mut self,
        input: &Mir,
        keys: &[ScalarExpr],
        aggregates: &[AggregateCall],
    ) -> Result<Plan, PlanError> {
        match self.maintained {
            false => match extremes(aggregates) {
                Some(wanted) => self.plan_ends(input, keys, wanted),
                None => self.plan(input),
            },
            true => self.plan(input),
        }
    }

    /// Plans what first rows are chosen from.
    pub(super) fn plan_for_first(
        &mut self,
        input: &Mir,
        keys: &[usize],
        order: &[Order],
        First { limit, offset, counting }: &First,
    ) -> Result<Plan, PlanError> {
        let count = |bound: &Option<ScalarExpr>| match bound {
            Some(ScalarExpr::Literal(Datum::Int8(count), _)) => usize::try_from(*count).ok(),
            Some(_) | None => None,
        };
        let skipped = if offset.is_some() { count(offset) } else { Some(0) };
        // What all rows of a group have in common orders none of them.
        let mut order = order.iter().filter(|order| !keys.contains(&order.column));
        let rows = count(limit).zip(skipped).and_then(|(limit, skipped)| limit.checked_add(skipped));
        let few = !self.maintained && *counting == Counting::Rows;
        let (Some(rows), Some(first), true) = (rows, order.next(), few) else {
            return self.plan(input);
        };
        let (low, high) = if first.descending { (0, rows) } else { (rows, 0) };
        // Ties are seen from the low end.
        let turned = |order: &Order| {
            let (descending, nulls_first) = match first.descending {
                true => (!order.descending, !order.nulls_first),
                false => (order.descending, order.nulls_first),
            };
            (ScalarExpr::Column(order.column), descending, nulls_first)
        };
        let wanted =
            WantedRows::Ends { value: ScalarExpr::Column(first.column), low, high, ties: order.map(turned).collect() };
        let keys: Vec<ScalarExpr> = keys.iter().copied().map(ScalarExpr::Column).collect();
        self.plan_ends(input, &keys, wanted)
    }

    /// Plans a relation of whose groups not every row counts: as a join that gives fewer, if it is one.
    fn plan_ends(&mut self, input: &Mir, keys: &[ScalarExpr], wanted: WantedRows) -> Result<Plan, PlanError> {
        match self.nearest(input, keys, wanted)? {
            Some(plan) => Ok(plan),
            None => self.plan(input),
        }
    }

    /// The join whose one side has the group's keys and whose other side has its value within bounds of the first's.
    fn nearest(&mut self, input: &Mir, keys: &[ScalarExpr], wanted: WantedRows) -> Result<Option<Plan>, PlanError> {
        let Chain { core, mut mfp } = Chain::of(input, self.maintained);
        let Mir::Join { inputs, on, same } = core else { return Ok(None) };
        if inputs.len() < 2 || mfp.map.iter().any(expr::is_volatile) {
            return Ok(None);
        }
        let keys: BTreeSet<usize> = keys.iter().flat_map(|key| over_core(&mfp, key).columns()).collect();
        let Some(sides) = Sides::of(inputs, on, same, &keys) else { return Ok(None) };
        let (arity, total) = (sides.arity, sides.types.len());
        let right = arity..total;
        let there = |expr: &ScalarExpr| expr::reads_only(expr, |column| column < arity);
        let of_right = |expression: &ScalarExpr| {
            let moved = sides.moved(shape::relabelled(&over_core(&mfp, expression)));
            let own = !expr::is_constant(&moved) && expr::reads_only(&moved, |column| right.contains(&column));
            own.then(|| expr::renumber(&moved, |column| column - arity))
        };
        let (between, ends) = match wanted {
            WantedRows::Any => {
                let found = Between::find(&sides.on, &right, &sides.types, there, None);
                (found, Some(Ends { low: 1, high: 0, ties: Vec::new() }))
            }
            WantedRows::Ends { value, low, high, ties } => {
                let Some(value) = of_right(&value) else { return Ok(None) };
                let found = Between::find(&sides.on, &right, &sides.types, there, Some(&value));
                let tie = |(tie, descending, nulls_first): &(ScalarExpr, bool, bool)| {
                    Some((of_right(tie)?, *descending, *nulls_first))
                };
                let ties: Option<Vec<_>> = ties.iter().map(tie).collect();
                (found, ties.map(|ties| Ends { low, high, ties }))
            }
        };
        let (Some(between), Some(ends)) = (between, ends) else { return Ok(None) };
        let links = Links::between(&sides.on, &[], &right, &sides.types, there);
        if !self.is_worth(&sides, &links) {
            return Ok(None);
        }
        let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
        let mut answered = BTreeSet::new();
        for (left, right) in &sides.same {
            left_key.push(ScalarExpr::Column(*left));
            right_key.push(ScalarExpr::Column(right - arity));
        }
        for link in &links.found {
            left_key.push(link.outer.clone());
            right_key.push(link.inner.clone());
            // Where NULLs are the same, the conditions are checked again.
            answered.extend(link.condition.filter(|_| sides.same.is_empty()));
        }
        let mut own = Mfp::identity(total);
        for (_, condition) in sides.on.iter().enumerate().filter(|(at, _)| !answered.contains(at)) {
            own.add_filter(condition.clone());
        }
        mfp.permute_input(total, &|column| sides.places[column]);
        let join = Plan::Join {
            left: Box::new(self.plan(&sides.left)?),
            right: Box::new(self.plan(&sides.right.joined)?),
            left_key,
            right_key,
            null_safe: !sides.same.is_empty(),
            kind: MatchKind::Inner,
            range: Some(Box::new(JoinRange {
                value: between.value,
                lower: between.lower,
                upper: between.upper,
                ends: Some(ends),
            })),
            mfp: own,
        };
        Ok(Some(through(join, mfp)))
    }
}

impl Planner<'_> {
    /// Whether the sides are better joined as a whole than by looking up what one of them has.
    fn is_worth(&self, sides: &Sides, links: &Links) -> bool {
        if sides.right.count > 1 {
            // Of several relations each may be found by the keys of the others.
            return links.is_empty() && sides.same.is_empty() && sides.right.are_connected;
        }
        if !sides.same.is_empty() {
            return true;
        }
        let (left_size, right_size) = (self.estimate(&sides.left), self.estimate(&sides.right.joined));
        let whole = left_size.cost + right_size.cost + right_size.rows;
        let finds = |mir: &Mir, links: &Links, rows: f64| {
            let looked_up = self.look_up(mir, links, &sides.types);
            looked_up.is_some_and(|looked_up| rows * LOOKUP_COST * looked_up.rows.sqrt() < whole)
        };
        let right = |expr: &ScalarExpr| expr::reads_only(expr, |column| column >= sides.arity);
        let back = Links::between(&sides.on, &[], &(0..sides.arity), &sides.types, right);
        !finds(&sides.right.joined, links, left_size.rows) && !finds(&sides.left, &back, right_size.rows)
    }
}

/// What `min` and `max` of one expression want; DISTINCT is the case without calls.
fn extremes(aggregates: &[AggregateCall]) -> Option<WantedRows> {
    let mut value: Option<&ScalarExpr> = None;
    let (mut low, mut high) = (0, 0);
    for call in aggregates {
        let AggregateKind::Extreme { greatest } = call.function.kind else { return None };
        let argument = call.args.first()?;
        if call.filter.is_some() || *value.get_or_insert(argument) != argument {
            return None;
        }
        if greatest { high = 1 } else { low = 1 }
    }
    Some(match value {
        None => WantedRows::Any,
        Some(value) => WantedRows::Ends { value: value.clone(), low, high, ties: Vec::new() },
    })
}

/// An expression over an `Mfp`'s output as one over its input.
fn over_core(mfp: &Mfp, expression: &ScalarExpr) -> ScalarExpr {
    let mut columns: Vec<ScalarExpr> = (0..mfp.input_arity).map(ScalarExpr::Column).collect();
    for mapped in &mfp.map {
        let mapped = expr::replace(mapped, |column| columns[column].clone());
        columns.push(mapped);
    }
    expr::replace(expression, |column| columns[mfp.project[column]].clone())
}

/// A join as one of two: the input with the keys of groups, and all others.
struct Sides {
    left: Mir,
    right: Others,
    /// Columns of the left.
    arity: usize,
    /// Where each of the join's columns is.
    places: Vec<usize>,
    /// Types of the left's, then the right's columns.
    types: Vec<ColumnType>,
    /// The conditions over both.
    on: Vec<ScalarExpr>,
    /// Pairs of both.
    same: Vec<(usize, usize)>,
}

/// The others of a join's relations, joined.
struct Others {
    joined: Mir,
    /// How many there are.
    count: usize,
    /// Conditions lead from each of them to each other.
    are_connected: bool,
}

impl Sides {
    fn of(inputs: &[Mir], on: &[ScalarExpr], same: &[(usize, usize)], keys: &BTreeSet<usize>) -> Option<Sides> {
        let mut start = 0;
        let mut ranges = Vec::with_capacity(inputs.len());
        for input in inputs {
            ranges.push(start..start + input.arity());
            start += input.arity();
        }
        let own = keys.first()?;
        let left = ranges.iter().position(|range| range.contains(own))?;
        if !keys.iter().all(|key| ranges[left].contains(key)) {
            return None;
        }
        let arity = ranges[left].len();
        let mut places = vec![0; start];
        let mut next = arity;
        for (index, range) in ranges.iter().enumerate() {
            let first = if index == left { 0 } else { next };
            range.clone().enumerate().for_each(|(at, column)| places[column] = first + at);
            next += if index == left { 0 } else { range.len() };
        }
        let moved: Vec<ScalarExpr> = on.iter().map(|on| expr::renumber(on, |column| places[column])).collect();
        let of_right = |condition: &ScalarExpr| {
            !expr::is_constant(condition) && expr::reads_only(condition, |column| column >= arity)
        };
        let (within, on): (Vec<_>, Vec<_>) = moved.into_iter().partition(of_right);
        let pairs =
            same.iter().map(|(one, other)| (places[*one].min(places[*other]), places[*one].max(places[*other])));
        let (pairs_within, same): (Vec<_>, Vec<_>) = pairs.partition(|(one, _)| *one >= arity);
        if same.iter().any(|(_, other)| *other < arity) {
            return None;
        }
        let are_connected = connected(&ranges, left, &places, &within, &pairs_within);
        let mut others = inputs.iter().enumerate().filter(|(index, _)| *index != left).map(|(_, input)| input.clone());
        let right = match inputs.len() {
            2 => others.next()?.filter(within.iter().map(|on| expr::renumber(on, |column| column - arity)).collect()),
            _ => Mir::Join {
                inputs: others.collect(),
                on: within.iter().map(|on| expr::renumber(on, |column| column - arity)).collect(),
                same: pairs_within.iter().map(|(one, other)| (one - arity, other - arity)).collect(),
            },
        };
        let types = inputs[left].types().into_iter().chain(right.types()).collect();
        let left = inputs[left].clone();
        let right = Others { joined: right, count: inputs.len() - 1, are_connected };
        Some(Sides { left, right, arity, places, types, on, same })
    }

    /// An expression of the join's columns where they are.
    fn moved(&self, expression: &ScalarExpr) -> ScalarExpr {
        expr::renumber(expression, |column| self.places[column])
    }
}

/// Whether all relations but one are reached from any of them by conditions and pairs, whose columns stand at `places`.
fn connected(
    ranges: &[Range<usize>],
    left: usize,
    places: &[usize],
    within: &[ScalarExpr],
    pairs: &[(usize, usize)],
) -> bool {
    let of_column = |place: usize| {
        ranges.iter().position(|range| range.clone().any(|column| places[column] == place)).unwrap_or(left)
    };
    let mut edges: Vec<BTreeSet<usize>> =
        within.iter().map(|on| on.columns().into_iter().map(of_column).collect()).collect();
    edges.extend(pairs.iter().map(|(one, other)| BTreeSet::from([of_column(*one), of_column(*other)])));
    let others: BTreeSet<usize> = (0..ranges.len()).filter(|index| *index != left).collect();
    let mut reached: BTreeSet<usize> = others.first().copied().into_iter().collect();
    loop {
        let before = reached.len();
        for edge in &edges {
            if edge.iter().any(|index| reached.contains(index)) {
                reached.extend(edge);
            }
        }
        if reached.len() == before {
            return reached == others;
        }
    }
}
