//! In which order joins happen, where statistics tell sizes: the cheapest of all orders that take one input after the other.
//!
//! ```text
//! sets of inputs, by size ─▶ of each set the cheapest way to it ─▶ + one input: looked up, held, or held against ─▶ …
//! ```
//! How many rows a set gives does not depend on the order. Up to ten inputs no order is left out; of more each round goes on
//! with the cheapest sets alone.

use super::Planner;
use super::costs::{ALL_ORDERS_MAX, HASHED_COST, HELD_COST, INPUTS_MAX, JOINED_COST, LOOKUP_COST, SETS_MAX};
use super::join::{LookedUp, Pending};
use super::order::Links;
use super::sizes::{Size, equal_shares};
use crate::mir::expr;
use crate::scalar::ScalarExpr;
use crate::transform::shape;
use repr::poll;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Inputs, as bits.
type Set = u64;

/// How an input comes to those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinMethod {
    /// It is looked up.
    Lookup,
    /// It is held by key, what is there streams past it.
    HoldInput,
    /// What is there is held by key, it streams past that.
    HoldStream,
}

/// Inputs in their order, each with how it comes and how many rows there are then; and what that costs, in rows of a scan.
#[derive(Clone)]
pub(super) struct JoinOrder {
    pub(super) steps: Vec<(usize, JoinMethod, f64)>,
    pub(super) cost: f64,
}

/// Columns that are all equal: the inputs they are of, with their different values.
struct EqualColumns {
    members: Vec<(usize, Option<f64>)>,
}

/// How many rows sets of a join's inputs give.
pub(super) struct JoinGraph {
    inputs: Vec<Size>,
    equal: Vec<EqualColumns>,
    /// Other conditions: what they are over, and the share that passes.
    others: Vec<(Set, f64)>,
    /// Pairs of inputs that several columns tie, which say less together than each by itself.
    together: Vec<(Set, f64)>,
    known: RefCell<BTreeMap<Set, f64>>,
}

impl JoinGraph {
    pub(super) fn new(inputs: Vec<Size>, on: &[ScalarExpr], same: &[(usize, usize)]) -> JoinGraph {
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let start = ranges.last().map_or(0, |range: &Range<usize>| range.end);
            ranges.push(start..start + input.distinct.len());
        }
        let home = |side: &ScalarExpr| {
            let home = ranges.iter().position(|range| expr::reads_only(side, |column| range.contains(&column)));
            home.filter(|_| !expr::is_constant(side))
        };
        let distinct = |input: usize, side: &ScalarExpr| {
            inputs[input].distinct_of(&expr::renumber(side, |column| column - ranges[input].start))
        };
        let mut classes: Vec<Vec<(usize, ScalarExpr)>> = Vec::new();
        let mut others = Vec::new();
        let columns = same.iter().map(|(left, right)| (ScalarExpr::Column(*left), ScalarExpr::Column(*right)));
        let sides = on.iter().map(|condition| {
            let sides = shape::equality(condition);
            sides
                .map(|(one, other)| (shape::relabelled(one).clone(), shape::relabelled(other).clone()))
                .ok_or(condition)
        });
        for sides in columns.map(Ok).chain(sides) {
            let condition = match sides {
                Ok((one, other)) => match (home(&one), home(&other)) {
                    (Some(left), Some(right)) if left != right => {
                        join_classes(&mut classes, [(left, one), (right, other)]);
                        continue;
                    }
                    _ => None,
                },
                Err(condition) => Some(condition),
            };
            if let Some(condition) = condition {
                let over = ranges
                    .iter()
                    .enumerate()
                    .filter(|(_, range)| condition.columns().iter().any(|column| range.contains(column)));
                others
                    .push((over.fold(0, |set, (input, _)| set | bit(input)), super::estimate::selectivity(condition)));
            }
        }
        let class = |members: Vec<(usize, ScalarExpr)>| EqualColumns {
            members: members.iter().map(|(input, side)| (*input, distinct(*input, side))).collect(),
        };
        let equal: Vec<EqualColumns> = classes.into_iter().map(class).collect();
        let together = tied_by_several(&inputs, &equal);
        JoinGraph { inputs, equal, others, together, known: RefCell::default() }
    }

    /// Of all inputs.
    pub(super) fn all_rows(&self) -> f64 {
        self.rows(self.inputs.iter().enumerate().fold(0, |set, (input, _)| set | bit(input)))
    }

    /// Rows that the inputs of a set give together.
    fn rows(&self, set: Set) -> f64 {
        if let Some(rows) = self.known.borrow().get(&set) {
            return *rows;
        }
        let mut rows: f64 =
            self.inputs.iter().enumerate().filter(|(input, _)| has(set, *input)).map(|(_, size)| size.rows).product();
        for class in &self.equal {
            rows *= class.share(set, &self.inputs);
        }
        for (over, share) in self.others.iter().chain(&self.together) {
            if over & set == *over {
                rows *= share;
            }
        }
        let rows = rows.max(1.0);
        self.known.borrow_mut().insert(set, rows);
        rows
    }
}

impl EqualColumns {
    /// The share of pairs in which those of a set are equal: of each input one value in as many as there are.
    fn share(&self, set: Set, inputs: &[Size]) -> f64 {
        let mut of_inputs: BTreeMap<usize, f64> = BTreeMap::new();
        for (input, distinct) in self.members.iter().filter(|(input, _)| has(set, *input)) {
            let distinct = distinct.unwrap_or(inputs[*input].all_rows).max(1.0);
            let least = of_inputs.entry(*input).or_insert(distinct);
            *least = least.min(distinct);
        }
        let mut distinct: Vec<f64> = of_inputs.into_values().collect();
        distinct.sort_by(f64::total_cmp);
        distinct.iter().skip(1).map(|distinct| 1.0 / distinct).product()
    }
}

/// Puts two sides of an equality into one class.
fn join_classes(classes: &mut Vec<Vec<(usize, ScalarExpr)>>, sides: [(usize, ScalarExpr); 2]) {
    let mut joined = Vec::new();
    for side in sides {
        match classes.iter().position(|class| class.contains(&side)) {
            Some(place) => joined.extend(classes.swap_remove(place)),
            None if joined.contains(&side) => {}
            None => joined.push(side),
        }
    }
    classes.push(joined);
}

/// Columns that tie two inputs have no more values together than either has rows.
fn tied_by_several(inputs: &[Size], equal: &[EqualColumns]) -> Vec<(Set, f64)> {
    let mut found = Vec::new();
    for left in 0..inputs.len() {
        for right in left + 1..inputs.len() {
            let distinct = |class: &EqualColumns, input: usize| {
                let member = class.members.iter().find(|(member, _)| *member == input)?;
                Some(member.1.unwrap_or(inputs[input].all_rows).max(1.0))
            };
            let pairs: Vec<(f64, f64)> =
                equal.iter().filter_map(|class| Some((distinct(class, left)?, distinct(class, right)?))).collect();
            if pairs.len() < 2 {
                continue;
            }
            let (apart, together) = equal_shares(&pairs, inputs[left].all_rows, inputs[right].all_rows);
            found.push((bit(left) | bit(right), (together / apart).max(1.0)));
        }
    }
    found
}

fn bit(input: usize) -> Set {
    1 << input.min(63)
}

fn has(set: Set, input: usize) -> bool {
    set & bit(input) != 0
}

/// What one input is to those that are there.
struct Ties {
    linked: bool,
    /// Rows that one key finds, where it can be looked up.
    looked_up: Option<f64>,
}

impl Planner<'_> {
    /// The order in which a join takes its inputs; none where sizes are not known, or there are too many, or some are tied by no
    /// key: from which side bounds can be asked is not told by sizes.
    pub(super) fn join_order(&self, pending: &Pending<'_>, same: &[(usize, usize)]) -> Option<JoinOrder> {
        let sizes = self.sizes.as_ref()?;
        let count = pending.inputs.len();
        if !(2..=INPUTS_MAX).contains(&count) {
            return None;
        }
        let inputs: Vec<Size> = pending.inputs.iter().map(|input| self.size(input, sizes)).collect();
        let graph = JoinGraph::new(inputs, &pending.on, same);
        let near: Vec<Set> = (0..count).map(|input| pending.near(input)).collect();
        let mut ties: BTreeMap<(usize, Set), Ties> = BTreeMap::new();
        let alone = |input: usize| JoinOrder {
            cost: graph.inputs[input].cost,
            steps: vec![(input, JoinMethod::HoldInput, graph.inputs[input].rows)],
        };
        let mut ways: BTreeMap<Set, JoinOrder> = (0..count).map(|input| (bit(input), alone(input))).collect();
        for _ in 1..count {
            let mut next: BTreeMap<Set, JoinOrder> = BTreeMap::new();
            for (set, way) in &ways {
                for input in (0..count).filter(|input| !has(*set, *input) && near[*input] & set != 0) {
                    poll::step_or_unwind();
                    let tie = ties.entry((input, set & near[input])).or_insert_with(|| self.ties(pending, input, *set));
                    let Some((step, cost)) = cheapest(&graph, *set, input, tie) else { continue };
                    let to = set | bit(input);
                    let rows = graph.rows(to);
                    let cost = way.cost + cost + rows * JOINED_COST;
                    if next.get(&to).is_none_or(|other| cost < other.cost) {
                        let steps = way.steps.iter().copied().chain([(input, step, rows)]).collect();
                        next.insert(to, JoinOrder { steps, cost });
                    }
                }
            }
            ways = next;
            if count > ALL_ORDERS_MAX && ways.len() > SETS_MAX {
                let mut costs: Vec<f64> = ways.values().map(|way| way.cost).collect();
                costs.sort_by(f64::total_cmp);
                ways.retain(|_, way| way.cost <= costs[SETS_MAX - 1]);
            }
        }
        ways.into_values().next()
    }

    /// What an input is to those of a set.
    fn ties(&self, pending: &Pending<'_>, input: usize, set: Set) -> Ties {
        let there = |column: usize| {
            pending.ranges.iter().enumerate().any(|(at, range)| has(set, at) && range.contains(&column))
        };
        let links = pending.links_to(input, |expr| expr::reads_only(expr, there));
        let same = pending.is_same_as(input, there);
        let looked_up: Option<LookedUp> =
            if same { None } else { self.look_up(&pending.inputs[input], &links, &pending.types) };
        Ties { linked: same || !Links::is_empty(&links), looked_up: looked_up.map(|found| found.rows) }
    }
}

/// The cheapest way in which an input comes to a set, if a key ties it.
fn cheapest(graph: &JoinGraph, set: Set, input: usize, tie: &Ties) -> Option<(JoinMethod, f64)> {
    if !tie.linked {
        return None;
    }
    let (stream, size) = (graph.rows(set), &graph.inputs[input]);
    let hold_input = size.cost + size.rows * HELD_COST + stream * HASHED_COST;
    let hold_stream = size.cost + stream * HELD_COST + size.rows * HASHED_COST;
    let mut best = if hold_stream < hold_input {
        (JoinMethod::HoldStream, hold_stream)
    } else {
        (JoinMethod::HoldInput, hold_input)
    };
    if let Some(rows) = tie.looked_up {
        let looked_up = stream * (1.0 + rows) * LOOKUP_COST;
        if looked_up < best.1 {
            best = (JoinMethod::Lookup, looked_up);
        }
    }
    Some(best)
}

impl Pending<'_> {
    /// The inputs that a condition ties to one.
    fn near(&self, input: usize) -> Set {
        let of = |column: usize| self.ranges.partition_point(|range| range.end <= column);
        let mut near = 0;
        let mut tie = |columns: BTreeSet<usize>| {
            let inputs = columns.into_iter().map(of).fold(0, |set, input| set | bit(input));
            if has(inputs, input) {
                near |= inputs;
            }
        };
        self.on.iter().filter(|on| shape::equality(on).is_some()).for_each(|on| tie(on.columns()));
        self.same.iter().for_each(|(left, right)| tie(BTreeSet::from([*left, *right])));
        self.derived[input].iter().for_each(|(left, right)| tie(BTreeSet::from([*left, *right])));
        near & !bit(input)
    }
}
