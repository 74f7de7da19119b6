//! Inner joins: starts from the smallest input, then takes in turn what costs least: looking up a table by
//! an index, arranging both sides by a key, or all pairs.

use super::access::{is_null_literal, lookups, same_class, with_filters};
use super::chain::Chain;
use super::costs::{JOINED_ROWS, LOOKUP_COST, RANGE_SHARE, TABLE_ROWS};
use super::estimate::Estimate;
use super::join_order::{JoinMethod, JoinOrder};
use super::order::Links;
use super::range::Between;
use super::{Planner, through};
use crate::delta;
use crate::error::PlanError;
use crate::mir::{Mir, expr};
use crate::names::Names;
use crate::plan::{JoinRange, Lookup, MatchKind, Plan};
use crate::scalar::{Mfp, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnType, RelationId, Row, poll};
use std::collections::BTreeSet;
use std::ops::Range;

/// Of so many inputs each step takes the cheapest; those that were written later wait.
const CANDIDATES_MAX: usize = 24;

/// A table that can be looked up by what is already there.
pub(super) struct LookedUp {
    /// Which.
    pub(super) table: LookedUpTable,
    /// The path.
    pub(super) lookup: Lookup,
    /// The key, over the columns that the links' outer sides stand over.
    pub(super) key: Vec<ScalarExpr>,
    /// What the table's rows go through.
    pub(super) mfp: Mfp,
    /// Rows that one key finds.
    pub(super) rows: f64,
    /// The links that became parts of the key.
    pub(super) used: Vec<usize>,
}

/// A table as a query has it.
pub(super) struct LookedUpTable {
    /// Which.
    pub(super) relation: RelationId,
    /// The row key is asked for.
    pub(super) with_key: bool,
    /// What the query calls it.
    pub(super) names: Names,
    /// Its columns, the row key included if asked for.
    pub(super) width: usize,
}

/// How the next input is joined.
enum NextInput {
    Lookup(LookedUp),
    /// Both sides by key; of a join that runs once the input is held, or what is there.
    Arrange(HeldSide),
    Cross,
}

/// Which side of a join that runs once is held by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldSide {
    Input,
    Stream,
}

/// What has been joined so far.
struct Stream {
    plan: Plan,
    arity: usize,
    /// Where each column of the whole join is.
    places: Vec<Option<usize>>,
    rows: f64,
}

impl Stream {
    fn moved(&self, expr: &ScalarExpr) -> Option<ScalarExpr> {
        expr::replace_if(expr, |column| self.places[column].map(ScalarExpr::Column))
    }

    fn has(&self, expr: &ScalarExpr) -> bool {
        expr::reads_only(expr, |column| self.places[column].is_some())
    }
}

/// The join under construction.
pub(super) struct Pending<'a> {
    pub(super) inputs: &'a [Mir],
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) types: Vec<ColumnType>,
    estimates: Vec<Estimate>,
    left: BTreeSet<usize>,
    pub(super) on: Vec<ScalarExpr>,
    pub(super) same: Vec<(usize, usize)>,
    /// Of each input, columns that are equal by way of others, one of them its own.
    pub(super) derived: Vec<Vec<(usize, usize)>>,
}

impl LookedUp {
    /// The rows of a plan of that many columns, each with those of the table that have its key.
    fn joined(self, (plan, arity): (Plan, usize), key: Vec<ScalarExpr>) -> Plan {
        let total = arity + self.table.width;
        let mut own = self.mfp;
        own.permute_input(total, &|column| arity + column);
        own.project = (0..arity).chain(own.project).collect();
        Plan::LookupJoin {
            input: Box::new(plan),
            relation: self.table.relation,
            lookup: self.lookup,
            key,
            kind: MatchKind::Inner,
            condition: Vec::new(),
            with_key: self.table.with_key,
            names: self.table.names,
            mfp: own,
        }
    }
}

/// What both sides of a join are arranged by.
struct ArrangedKeys {
    left: Vec<ScalarExpr>,
    right: Vec<ScalarExpr>,
    /// NULLs are the same.
    null_safe: bool,
}

impl Planner<'_> {
    /// Plans an inner join.
    pub(super) fn join(
        &mut self,
        inputs: &[Mir],
        on: &[ScalarExpr],
        same: &[(usize, usize)],
        mfp: Mfp,
    ) -> Result<Plan, PlanError> {
        let mut pending = Pending::new(inputs, on, same, self);
        if let Some(order) = self.join_order(&pending, same) {
            return match self.by_reference(&pending, same, &order) {
                Some(found) => Ok(through(self.plan(&found)?, mfp)),
                None => self.join_in_order(pending, &order, mfp),
            };
        }
        let Some(first) = pending.first(self.maintained) else {
            return Ok(through(Plan::Constant { rows: vec![Row::pack([])], arity: 0, names: Names::default() }, mfp));
        };
        let mut stream = Stream {
            plan: self.plan(&inputs[first])?,
            arity: pending.ranges[first].len(),
            places: vec![None; pending.types.len()],
            rows: pending.estimates[first].rows,
        };
        pending.arrived(first, &mut stream.places, 0);
        while let Some((next, step)) = self.next_step(&pending, &stream) {
            stream = self.take(&mut pending, stream, next, step, &mfp)?;
        }
        Ok(joined(stream, mfp))
    }

    /// Takes the inputs in an order that was found by their sizes.
    fn join_in_order(&mut self, mut pending: Pending<'_>, order: &JoinOrder, mfp: Mfp) -> Result<Plan, PlanError> {
        let mut order = order.steps.iter().copied();
        let (first, _, rows) = order.next().ok_or_else(out_of_reach)?;
        let mut stream = Stream {
            plan: self.plan(&pending.inputs[first])?,
            arity: pending.ranges[first].len(),
            places: vec![None; pending.types.len()],
            rows,
        };
        pending.arrived(first, &mut stream.places, 0);
        for (next, step, rows) in order {
            let links = pending.links(next, &stream);
            let looked_up = match step {
                JoinMethod::Lookup => self.look_up(&pending.inputs[next], &links, &pending.types),
                JoinMethod::HoldInput | JoinMethod::HoldStream => None,
            };
            // Bounds are of what streams past what is held in their order.
            let ranged = self.join_range(&pending, next, &stream).is_some();
            let next_input = match (step, looked_up) {
                (JoinMethod::Lookup, Some(looked_up)) => NextInput::Lookup(looked_up),
                (JoinMethod::HoldStream, None) if !ranged => NextInput::Arrange(HeldSide::Stream),
                (JoinMethod::Lookup | JoinMethod::HoldInput | JoinMethod::HoldStream, _) => {
                    NextInput::Arrange(HeldSide::Input)
                }
            };
            stream = self.take(&mut pending, stream, next, next_input, &mfp)?;
            stream.rows = rows;
        }
        Ok(joined(stream, mfp))
    }

    fn next_step(&self, pending: &Pending, stream: &Stream) -> Option<(usize, NextInput)> {
        // Of many only those that were written first: the search ends by itself, however many there are.
        let first: Vec<usize> = pending.left.iter().copied().take(CANDIDATES_MAX).collect();
        let rest: Vec<usize> = pending.left.iter().copied().skip(CANDIDATES_MAX).collect();
        let best = self.cheapest(pending, stream, &first);
        match (&best, rest.as_slice()) {
            (Some((_, _, NextInput::Cross)), [_, ..]) => rest
                .chunks(CANDIDATES_MAX)
                .filter_map(|some| self.cheapest(pending, stream, some))
                .find(|(_, _, step)| !matches!(step, NextInput::Cross))
                .or(best),
            _ => best,
        }
        .map(|(_, candidate, step)| (candidate, step))
    }

    /// The candidate that costs least.
    fn cheapest(&self, pending: &Pending, stream: &Stream, candidates: &[usize]) -> Option<(f64, usize, NextInput)> {
        let mut best: Option<(f64, usize, NextInput)> = None;
        for candidate in candidates {
            poll::step_or_unwind();
            let estimate = pending.estimates[*candidate];
            let range = &pending.ranges[*candidate];
            let linked_same = pending.same.iter().any(|pair| crosses(*pair, range, stream));
            let links = pending.links(*candidate, stream);
            let mut options = Vec::with_capacity(2);
            if !linked_same
                && let Some(looked_up) = self.look_up(&pending.inputs[*candidate], &links, &pending.types)
                && let Some(memory_rows) = self.memory_rows(stream, &looked_up)
            {
                let cost = stream.rows * LOOKUP_COST * looked_up.rows.sqrt();
                // In a maintained plan, what counts is what is held in memory.
                let cost = if self.maintained { cost / TABLE_ROWS.powi(2) + memory_rows } else { cost };
                options.push((cost, NextInput::Lookup(looked_up)));
            }
            options.push(if linked_same || !links.is_empty() {
                (estimate.cost + estimate.rows + stream.rows, NextInput::Arrange(HeldSide::Input))
            } else {
                let pairs = stream.rows * estimate.rows * self.range_share(pending, *candidate, stream);
                (estimate.cost + pairs + 1.0, NextInput::Cross)
            });
            for (cost, step) in options {
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, *candidate, step));
                }
            }
        }
        best
    }

    /// What the conditions say of the order of the candidate's rows and those that are there.
    fn join_range(&self, pending: &Pending, candidate: usize, stream: &Stream) -> Option<Box<JoinRange>> {
        let found = pending.range(candidate, self.maintained, |expr| stream.has(expr))?;
        let moved = |bound: Option<(ScalarExpr, bool)>| match bound {
            None => Some(None),
            Some((bound, inclusive)) => Some(Some((stream.moved(&bound)?, inclusive))),
        };
        let (lower, upper) = (moved(found.lower)?, moved(found.upper)?);
        Some(Box::new(JoinRange { value: found.value, lower, upper, ends: None }))
    }

    /// The share of all pairs that is within such a range.
    fn range_share(&self, pending: &Pending, candidate: usize, stream: &Stream) -> f64 {
        let range = pending.range(candidate, self.maintained, |expr| stream.has(expr));
        range.map_or(1.0, |range| RANGE_SHARE.powi(i32::from(range.bounds())))
    }

    /// How many rows a lookup holds in memory: none if the changes of its table can be followed back to the rows before it
    /// in the leaves, else those. No answer if it must not hold any.
    fn memory_rows(&self, stream: &Stream, looked_up: &LookedUp) -> Option<f64> {
        if !self.maintained {
            return Some(0.0);
        }
        let key: Vec<ScalarExpr> = looked_up.key.iter().map(|key| stream.moved(key)).collect::<Option<_>>()?;
        if delta::can_look_up(&stream.plan, &key, self.catalog) {
            return Some(0.0);
        }
        (!looked_up.table.with_key && self.may_look_up(&stream.plan, &key)).then_some(stream.rows)
    }

    fn take(
        &mut self,
        pending: &mut Pending,
        stream: Stream,
        next: usize,
        step: NextInput,
        mfp: &Mfp,
    ) -> Result<Stream, PlanError> {
        let range = pending.ranges[next].clone();
        let estimate = pending.estimates[next];
        let links = pending.links(next, &stream);
        // Where the columns of what is there stand then, and the input's.
        let mut at = [0, stream.arity];
        let (plan, rows) = match step {
            NextInput::Lookup(looked_up) => {
                let rows = stream.rows * looked_up.rows;
                let key = looked_up.key.iter().map(|key| stream.moved(key));
                let key = key.collect::<Option<Vec<_>>>().ok_or_else(out_of_reach)?;
                pending.drop_links(&links, &looked_up.used);
                let plan = looked_up.joined((stream.plan, stream.arity), key);
                (plan, rows)
            }
            NextInput::Arrange(held) => {
                let range_hint = if held == HeldSide::Input { self.join_range(pending, next, &stream) } else { None };
                let keys = pending.arranged_keys(next, &stream, &links)?;
                let (least, most) = (stream.rows.min(estimate.rows), stream.rows.max(estimate.rows));
                let rows = most * (least / JOINED_ROWS).clamp(0.1, 10.0);
                let (there, input) = (Box::new(stream.plan), Box::new(self.plan(&pending.inputs[next])?));
                let ((left, left_key), (right, right_key)) = match held {
                    HeldSide::Input => ((there, keys.left), (input, keys.right)),
                    HeldSide::Stream => ((input, keys.right), (there, keys.left)),
                };
                at = if held == HeldSide::Input { [0, stream.arity] } else { [range.len(), 0] };
                let left =
                    if keys.null_safe || range_hint.is_some() { left } else { Box::new(self.met(*left, &left_key)) };
                let plan = Plan::Join {
                    left,
                    right,
                    left_key,
                    right_key,
                    null_safe: keys.null_safe,
                    kind: MatchKind::Inner,
                    range: range_hint,
                    mfp: Mfp::identity(stream.arity + range.len()),
                };
                (plan, rows)
            }
            NextInput::Cross => {
                let pairs = stream.rows * estimate.rows * self.range_share(pending, next, &stream);
                let range_hint = self.join_range(pending, next, &stream);
                let plan = Plan::Join {
                    left: Box::new(stream.plan),
                    right: Box::new(self.plan(&pending.inputs[next])?),
                    left_key: Vec::new(),
                    right_key: Vec::new(),
                    null_safe: false,
                    kind: MatchKind::Inner,
                    range: range_hint,
                    mfp: Mfp::identity(stream.arity + range.len()),
                };
                (plan, pairs)
            }
        };
        let [there, input] = at;
        let mut places = stream.places;
        places.iter_mut().flatten().for_each(|place| *place += there);
        pending.arrived(next, &mut places, input);
        let stream = Stream { plan, arity: stream.arity + range.len(), places, rows };
        pending.settle(stream, mfp)
    }

    /// Whether a relation is a table that can be looked up by the links.
    pub(super) fn look_up(&self, mir: &Mir, links: &Links, types: &[ColumnType]) -> Option<LookedUp> {
        let Chain { core, mfp } = Chain::of(mir, self.maintained);
        let Mir::Get { relation, with_key, types: columns, names } = core else { return None };
        let table = self.catalog.table(*relation)?;
        let mut best: Option<LookedUp> = None;
        for (lookup, wanted) in lookups(table) {
            let mut key = Vec::with_capacity(wanted.len());
            let mut used = Vec::new();
            let mut answered = Vec::new();
            let mut nulls = Vec::new();
            let with_nulls = !self.maintained && self.has_nulls(table, lookup);
            for column in wanted {
                let class = &columns[*column].scalar;
                let link = links.found.iter().position(|link| {
                    let inner = shape::relabelled(&link.inner);
                    let own = matches!(inner, ScalarExpr::Column(inner) if mfp.project.get(*inner) == Some(column));
                    own && same_class(class, &expr::scalar_type(shape::relabelled(&link.outer), types))
                });
                if let Some(link) = link {
                    key.push(shape::relabelled(&links.found[link].outer).clone());
                    used.push(link);
                    continue;
                }
                let constant = mfp.filter.iter().enumerate().find_map(|(at, (_, predicate))| {
                    if with_nulls && shape::null_test(predicate) == Some(&ScalarExpr::Column(*column)) {
                        return Some((at, expr::null(class.clone())));
                    }
                    let (left, right) = shape::equality(predicate)?;
                    let value = match (shape::relabelled(left), shape::relabelled(right)) {
                        (ScalarExpr::Column(own), value) | (value, ScalarExpr::Column(own)) if own == column => value,
                        _ => return None,
                    };
                    let fits = expr::is_constant(value)
                        && !expr::is_volatile(value)
                        && same_class(class, &expr::scalar_type(value, types));
                    fits.then(|| (at, value.clone()))
                });
                let Some((at, value)) = constant else { break };
                nulls.extend(is_null_literal(&value).then_some(*column));
                key.push(value);
                answered.push(at);
            }
            if key.len() < wanted.len() || used.is_empty() {
                continue;
            }
            let residual = mfp.filter.iter().enumerate().filter(|(at, _)| !answered.contains(at));
            let residual = residual.map(|(_, (_, predicate))| predicate.clone()).collect();
            let found = LookedUp {
                table: LookedUpTable {
                    relation: *relation,
                    with_key: *with_key,
                    names: names.clone(),
                    width: columns.len(),
                },
                lookup,
                key,
                mfp: with_filters(mfp.clone(), residual),
                rows: self.lookup_rows(table, lookup, wanted.len()) * self.times_null(table, &nulls),
                used,
            };
            let better = |best: &LookedUp| {
                found.rows < best.rows || (found.rows <= best.rows && found.key.len() > best.key.len())
            };
            if best.as_ref().is_none_or(better) {
                best = Some(found);
            }
        }
        best
    }
}

impl<'a> Pending<'a> {
    pub(super) fn new(inputs: &'a [Mir], on: &[ScalarExpr], same: &[(usize, usize)], planner: &Planner) -> Pending<'a> {
        let mut start = 0;
        let mut ranges = Vec::with_capacity(inputs.len());
        for input in inputs {
            let end = start + input.arity();
            ranges.push(start..end);
            start = end;
        }
        let mut derived = vec![Vec::new(); inputs.len()];
        for (left, right) in super::order::implied_pairs(on) {
            let inputs = [left, right].map(|column| ranges.partition_point(|range: &Range<usize>| range.end <= column));
            derived[inputs[0]].push((left, right));
            if inputs[0] != inputs[1] {
                derived[inputs[1]].push((left, right));
            }
        }
        Pending {
            inputs,
            ranges,
            types: inputs.iter().flat_map(Mir::types).collect(),
            estimates: inputs.iter().map(|input| planner.estimate(input)).collect(),
            left: (0..inputs.len()).collect(),
            on: on.to_vec(),
            same: same.to_vec(),
            derived,
        }
    }

    /// The input to start from: of two whose rows are compared by order, the one that gives the other's values both bounds.
    fn first(&self, maintained: bool) -> Option<usize> {
        let smallest = self.smallest(maintained)?;
        let by_key = || self.on.iter().any(|on| shape::equality(on).is_some());
        if self.inputs.len() == 2 && self.same.is_empty() && !by_key() {
            let bounds = |candidate: usize| {
                let start = &self.ranges[1 - candidate];
                let there = |expr: &ScalarExpr| expr::reads_only(expr, |column| start.contains(&column));
                self.range(candidate, maintained, there).map_or(0, |range| range.bounds())
            };
            if bounds(smallest) > bounds(1 - smallest) {
                return Some(1 - smallest);
            }
        }
        Some(smallest)
    }

    fn range(&self, candidate: usize, maintained: bool, there: impl Fn(&ScalarExpr) -> bool) -> Option<Between> {
        if maintained {
            return None;
        }
        Between::find(&self.on, &self.ranges[candidate], &self.types, there, None)
    }

    /// The input to start from; if maintained, a table, so that others can be looked up from it.
    fn smallest(&self, maintained: bool) -> Option<usize> {
        let derived =
            |index: &usize| maintained && !matches!(Chain::of(&self.inputs[*index], maintained).core, Mir::Get { .. });
        let size = |index: &usize| (derived(index), self.estimates[*index].rows, self.estimates[*index].cost);
        self.left.iter().copied().min_by(|a, b| {
            let ((a_derived, a_rows, a_cost), (b_derived, b_rows, b_cost)) = (size(a), size(b));
            a_derived.cmp(&b_derived).then(a_rows.total_cmp(&b_rows)).then(a_cost.total_cmp(&b_cost))
        })
    }

    fn arrived(&mut self, input: usize, places: &mut [Option<usize>], at: usize) {
        for (index, column) in self.ranges[input].clone().enumerate() {
            places[column] = Some(at + index);
        }
        self.left.remove(&input);
    }

    fn links(&self, candidate: usize, stream: &Stream) -> Links {
        self.links_to(candidate, |expr| stream.has(expr))
    }

    /// What ties an input to what is there.
    pub(super) fn links_to(&self, candidate: usize, there: impl Fn(&ScalarExpr) -> bool) -> Links {
        Links::between(&self.on, &self.derived[candidate], &self.ranges[candidate], &self.types, there)
    }

    /// Whether a column of an input is the same as one that is there.
    pub(super) fn is_same_as(&self, candidate: usize, there: impl Fn(usize) -> bool) -> bool {
        let range = &self.ranges[candidate];
        let crosses = |left: &usize, right: &usize| range.contains(left) && there(*right);
        self.same.iter().any(|(left, right)| crosses(left, right) || crosses(right, left))
    }

    /// What the candidate and the stream are arranged by: columns that are the same, or else those that links equate.
    fn arranged_keys(&mut self, next: usize, stream: &Stream, links: &Links) -> Result<ArrangedKeys, PlanError> {
        let range = self.ranges[next].clone();
        let (same, rest): (Vec<_>, Vec<_>) = self.same.iter().copied().partition(|pair| crosses(*pair, &range, stream));
        let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
        if same.is_empty() {
            for link in &links.found {
                left_key.push(stream.moved(&link.outer).ok_or_else(out_of_reach)?);
                right_key.push(link.inner.clone());
            }
            let all: Vec<usize> = (0..links.found.len()).collect();
            self.drop_links(links, &all);
        } else {
            for (left, right) in &same {
                let (outer, inner) = if range.contains(left) { (right, left) } else { (left, right) };
                left_key.push(ScalarExpr::Column(stream.places[*outer].ok_or_else(out_of_reach)?));
                right_key.push(ScalarExpr::Column(inner - range.start));
            }
            // Here NULLs are the same: the conditions of these are checked again.
            for link in &links.found {
                left_key.push(stream.moved(&link.outer).ok_or_else(out_of_reach)?);
                right_key.push(link.inner.clone());
            }
            self.same = rest;
        }
        Ok(ArrangedKeys { left: left_key, right: right_key, null_safe: !same.is_empty() })
    }

    /// Conditions that a key answers need not be checked again.
    fn drop_links(&mut self, links: &Links, used: &[usize]) {
        let answered: BTreeSet<usize> = used.iter().filter_map(|link| links.found[*link].condition).collect();
        let mut at = 0;
        self.on.retain(|_| {
            at += 1;
            !answered.contains(&(at - 1))
        });
    }

    /// Checks the conditions whose columns are all there, and drops columns that nothing reads any more.
    fn settle(&mut self, stream: Stream, mfp: &Mfp) -> Result<Stream, PlanError> {
        let mut step = Mfp::identity(stream.arity);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.on).into_iter().partition(|on| stream.has(on));
        self.on = waiting;
        for condition in ready {
            step.add_filter(stream.moved(&condition).ok_or_else(out_of_reach)?);
        }
        let mut waiting = Vec::new();
        for (left, right) in std::mem::take(&mut self.same) {
            match (stream.places[left], stream.places[right]) {
                (Some(a), Some(b)) => step.add_filter(shape::not_distinct(a, b, &self.types[left].scalar)?),
                (Some(_) | None, None) | (None, Some(_)) => waiting.push((left, right)),
            }
        }
        self.same = waiting;
        let mut wanted: BTreeSet<usize> = self.on.iter().flat_map(|on| on.columns()).collect();
        wanted.extend(self.same.iter().flat_map(|(left, right)| [*left, *right]));
        wanted.extend(
            mfp.map.iter().chain(mfp.filter.iter().map(|(_, predicate)| predicate)).flat_map(|expr| expr.columns()),
        );
        wanted.extend(&mfp.project);
        let mut places = vec![None; stream.places.len()];
        let mut kept = Vec::new();
        for (column, place) in stream.places.iter().enumerate() {
            if let Some(place) = place
                && wanted.contains(&column)
            {
                places[column] = Some(kept.len());
                kept.push(*place);
            }
        }
        step.add_project(&kept);
        Ok(Stream { plan: through(stream.plan, step), arity: kept.len(), places, rows: stream.rows })
    }
}

/// Whether a pair joins the candidate with what is there.
fn crosses((left, right): (usize, usize), range: &Range<usize>, stream: &Stream) -> bool {
    (range.contains(&left) && stream.places[right].is_some())
        || (range.contains(&right) && stream.places[left].is_some())
}

/// The plan of what was joined, through what is done with all columns.
fn joined(stream: Stream, mut mfp: Mfp) -> Plan {
    mfp.permute_input(stream.arity, &|column| stream.places[column].unwrap_or(0));
    through(stream.plan, mfp)
}

fn out_of_reach() -> PlanError {
    PlanError::new("XX000", "a join condition reads a column that is not there yet")
}
