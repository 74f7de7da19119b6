//! Predicates go down: through projections, joins, unions, and below groups by their keys. On the way nested
//! inner joins become one, and outer joins whose NULL rows a predicate refuses become inner ones.

use super::{equality, factor, ranks, shape};
use crate::mir::{Mir, expr};
use crate::plan::MatchKind;
use crate::scalar::{AggregateCall, ScalarExpr};
use repr::Datum;

// What an expression may grow to when others are put in the place of its columns. Expressions of expressions would
// double with every level: above this size, evaluating them once above is cheaper than carrying them down.
const NODES_MAX: usize = 256;

/// Rewrites a relation under predicates over its columns; the result satisfies them.
pub fn push(mir: Mir, predicates: Vec<ScalarExpr>) -> Mir {
    let mut conjuncts = Vec::with_capacity(predicates.len());
    predicates.iter().for_each(|predicate| expr::conjuncts(predicate, &mut conjuncts));
    let predicates = conjuncts;
    if predicates.iter().any(is_never_true) {
        return Mir::empty(mir.types());
    }
    match mir {
        Mir::Filter { input, predicates: own } => {
            let mut all = Vec::new();
            own.iter().for_each(|predicate| expr::conjuncts(predicate, &mut all));
            all.extend(predicates);
            let (volatile, movable): (Vec<_>, Vec<_>) = all.into_iter().partition(expr::is_volatile);
            push(*input, movable).filter(volatile)
        }
        Mir::Project { input, columns } => {
            let predicates =
                predicates.iter().map(|predicate| expr::renumber(predicate, |column| columns[column])).collect();
            push(*input, predicates).project(columns)
        }
        Mir::Map { input, exprs } => push_map(*input, exprs, predicates),
        Mir::Join { inputs, on, same } => push_join(inputs, on, same, predicates),
        Mir::Match { left, right, kind, on, same } => push_match((*left, *right), kind, on, same, predicates),
        Mir::TableFunction { input, functions, ordinality, names } => {
            let arity = input.arity();
            let (below, above) = split(predicates, |column| column < arity);
            let input = Box::new(push(*input, below));
            Mir::TableFunction { input, functions, ordinality, names }.filter(above)
        }
        Mir::Reduce { input, keys, aggregates, scalar } => push_groups(*input, keys, (aggregates, scalar), predicates),
        Mir::TopK { input, keys, order, limit, offset, counting } => {
            let (below, above) = split_by_keys(predicates, &keys);
            let input = Box::new(push(*input, below));
            Mir::TopK { input, keys, order, limit, offset, counting }.filter(above)
        }
        Mir::Window { input, partition, order, calls } => {
            let (below, above) = split_by_keys(predicates, &partition);
            let input = push(*input, below);
            ranks::window(input, (partition, order), calls, above)
        }
        Mir::AtMostOne { input, keys } => {
            let (below, above) = split_by_keys(predicates, &keys);
            let input = Box::new(push(*input, below));
            Mir::AtMostOne { input, keys }.filter(above)
        }
        Mir::Union(inputs, names) => {
            Mir::Union(inputs.into_iter().map(|input| push(input, predicates.clone())).collect(), names)
        }
        Mir::Negate(input) => Mir::Negate(Box::new(push(*input, predicates))),
        Mir::Threshold(input) => Mir::Threshold(Box::new(push(*input, predicates))),
        Mir::Let { id, value, body } => {
            let value = Box::new(push(*value, Vec::new()));
            Mir::Let { id, value, body: Box::new(push(*body, predicates)) }
        }
        Mir::LetRec { id, base, step, distinct, body } => Mir::LetRec {
            id,
            base: Box::new(push(*base, Vec::new())),
            step: Box::new(push(*step, Vec::new())),
            distinct,
            body: Box::new(push(*body, predicates)),
        },
        leaf @ (Mir::Constant { .. } | Mir::Get { .. } | Mir::GetLocal { .. }) => leaf.filter(predicates),
    }
}

fn is_never_true(predicate: &ScalarExpr) -> bool {
    matches!(predicate, ScalarExpr::Literal(Datum::Bool(false) | Datum::Null, _))
}

/// (those that read only columns within, the others).
fn split(predicates: Vec<ScalarExpr>, within: impl Fn(usize) -> bool) -> (Vec<ScalarExpr>, Vec<ScalarExpr>) {
    predicates.into_iter().partition(|predicate| !expr::is_volatile(predicate) && expr::reads_only(predicate, &within))
}

/// Without keys there is one group, and no predicate commutes with it.
fn split_by_keys(predicates: Vec<ScalarExpr>, keys: &[usize]) -> (Vec<ScalarExpr>, Vec<ScalarExpr>) {
    if keys.is_empty() {
        return (Vec::new(), predicates);
    }
    split(predicates, |column| keys.contains(&column))
}

fn push_groups(
    input: Mir,
    keys: Vec<ScalarExpr>,
    (aggregates, scalar): (Vec<AggregateCall>, bool),
    predicates: Vec<ScalarExpr>,
) -> Mir {
    let movable = |column: usize| keys.get(column).is_some_and(|key| !expr::is_volatile(key));
    let (below, above) = split(predicates, movable);
    let below = below.iter().map(|predicate| expr::replace(predicate, |column| keys[column].clone())).collect();
    // A predicate on nothing (a parameter) must not empty a scalar aggregate's input: no keys, nothing moves.
    let (below, above) = if keys.is_empty() { (Vec::new(), [above, below].concat()) } else { (below, above) };
    let input = Box::new(push(input, below));
    Mir::Reduce { input, keys, aggregates, scalar }.filter(above)
}

fn push_map(input: Mir, exprs: Vec<ScalarExpr>, predicates: Vec<ScalarExpr>) -> Mir {
    let arity = input.arity();
    let over_input = unfolded(arity, &exprs);
    let movable = |column: usize| column < arity || over_input[column - arity].is_some();
    let (below, mut above) = split(predicates, movable);
    let weigh = |column: usize| match column.checked_sub(arity) {
        None => 1,
        Some(index) => over_input[index].as_ref().map_or(1, |mapped| expr::weight(mapped, &|_| 1)),
    };
    let (below, heavy): (Vec<_>, Vec<_>) = below
        .into_iter()
        .partition(|predicate| reads_no_mapped(predicate, arity) || expr::weight(predicate, &weigh) <= NODES_MAX);
    above.extend(heavy);
    let replace = |column: usize| match column.checked_sub(arity) {
        None => ScalarExpr::Column(column),
        Some(index) => over_input[index].clone().unwrap_or(ScalarExpr::Column(column)),
    };
    let below = below.iter().map(|predicate| folded(expr::replace(predicate, replace))).collect();
    push(input, below).map(exprs).filter(above)
}

fn reads_no_mapped(predicate: &ScalarExpr, arity: usize) -> bool {
    expr::reads_only(predicate, |column| column < arity)
}

/// Mapped expressions over the input's columns alone; `None` for what depends on a volatile one or would grow too large.
fn unfolded(arity: usize, exprs: &[ScalarExpr]) -> Vec<Option<ScalarExpr>> {
    let mut over_input: Vec<Option<ScalarExpr>> = Vec::with_capacity(exprs.len());
    let mut weights: Vec<usize> = Vec::with_capacity(exprs.len());
    for mapped in exprs {
        let weight = expr::weight(mapped, &|column| column.checked_sub(arity).map_or(1, |index| weights[index]));
        weights.push(weight);
        let grows = weight > NODES_MAX && !reads_no_mapped(mapped, arity);
        let unfolded = if grows || expr::is_volatile(mapped) {
            None
        } else {
            expr::replace_if(mapped, |column| match column.checked_sub(arity) {
                None => Some(ScalarExpr::Column(column)),
                Some(index) => over_input[index].clone(),
            })
        };
        over_input.push(unfolded);
    }
    over_input
}

fn folded(mut expr: ScalarExpr) -> ScalarExpr {
    expr.fold();
    expr
}

/// Inputs that are multiplied, conditions over their columns, and an expression for each column of the whole.
struct Flat {
    inputs: Vec<Mir>,
    arity: usize,
    on: Vec<ScalarExpr>,
    same: Vec<(usize, usize)>,
    columns: Vec<ScalarExpr>,
}

fn push_join(inputs: Vec<Mir>, on: Vec<ScalarExpr>, same: Vec<(usize, usize)>, predicates: Vec<ScalarExpr>) -> Mir {
    let whole = Mir::Join { inputs, on, same };
    let mut flat = Flat { inputs: Vec::new(), arity: 0, on: Vec::new(), same: Vec::new(), columns: Vec::new() };
    flat.columns = flatten(whole, &mut flat);
    let (volatile, movable): (Vec<_>, Vec<_>) = predicates.into_iter().partition(expr::is_volatile);
    let mut on = flat.on;
    for predicate in &movable {
        expr::conjuncts(&folded(expr::replace(predicate, |column| flat.columns[column].clone())), &mut on);
    }
    if on.iter().any(is_never_true) {
        let types: Vec<_> = flat.inputs.iter().flat_map(Mir::types).collect();
        return columns_of(Mir::empty(types), flat.columns).filter(volatile);
    }
    equality::propagate(&mut on);
    let mut below: Vec<Vec<ScalarExpr>> = vec![Vec::new(); flat.inputs.len()];
    let ranges = ranges(&flat.inputs);
    let mut across = Vec::new();
    for predicate in on {
        let home = ranges.iter().position(|range| expr::reads_only(&predicate, |column| range.contains(&column)));
        match home {
            // A predicate on no column goes with the first input, which then decides for all.
            Some(home) if !expr::is_volatile(&predicate) => {
                below[home].push(expr::renumber(&predicate, |column| column - ranges[home].start));
            }
            Some(_) | None => {
                for (range, below) in ranges.iter().zip(&mut below) {
                    let implied = factor::implied(&predicate, &|column| range.contains(&column));
                    below.extend(implied.map(|said| expr::renumber(&said, |column| column - range.start)));
                }
                across.push(predicate);
            }
        }
    }
    let mut inputs = Vec::with_capacity(flat.inputs.len());
    for (input, predicates) in flat.inputs.into_iter().zip(below) {
        inputs.push(push(input, predicates));
    }
    let joined = match inputs.len() {
        1 => inputs.swap_remove(0).filter(across),
        _ => Mir::Join { inputs, on: across, same: flat.same },
    };
    columns_of(joined, flat.columns).filter(volatile)
}

fn ranges(inputs: &[Mir]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    inputs
        .iter()
        .map(|input| {
            let range = start..start + input.arity();
            start = range.end;
            range
        })
        .collect()
}

/// A relation of the given expressions.
fn columns_of(mir: Mir, columns: Vec<ScalarExpr>) -> Mir {
    let arity = mir.arity();
    let mut exprs = Vec::new();
    let mut chosen = Vec::with_capacity(columns.len());
    for column in columns {
        match column {
            ScalarExpr::Column(column) => chosen.push(column),
            other => {
                chosen.push(arity + exprs.len());
                exprs.push(other);
            }
        }
    }
    mir.map(exprs).project(chosen)
}

/// Adds a relation to the flat join; gives its columns as expressions over the flat join's columns.
fn flatten(mir: Mir, flat: &mut Flat) -> Vec<ScalarExpr> {
    match mir {
        Mir::Join { inputs, on, same } => {
            let mut columns = Vec::new();
            for input in inputs {
                let part = flatten(input, flat);
                columns.extend(part);
            }
            for predicate in on {
                expr::conjuncts(&folded(expr::replace(&predicate, |column| columns[column].clone())), &mut flat.on);
            }
            for (left, right) in same {
                // Only projections and filters are looked through, so that columns stay columns.
                if let (ScalarExpr::Column(left), ScalarExpr::Column(right)) = (&columns[left], &columns[right]) {
                    flat.same.push((*left, *right));
                }
            }
            columns
        }
        Mir::Filter { input, predicates } if !predicates.iter().any(expr::is_volatile) => {
            let columns = flatten(*input, flat);
            for predicate in predicates {
                expr::conjuncts(&folded(expr::replace(&predicate, |column| columns[column].clone())), &mut flat.on);
            }
            columns
        }
        Mir::Project { input, columns: chosen } => {
            let columns = flatten(*input, flat);
            chosen.into_iter().map(|column| columns[column].clone()).collect()
        }
        other => {
            let start = flat.arity;
            flat.arity += other.arity();
            let columns = (start..flat.arity).map(ScalarExpr::Column).collect();
            flat.inputs.push(other);
            columns
        }
    }
}

fn push_match(
    (left, right): (Mir, Mir),
    kind: MatchKind,
    on: Vec<ScalarExpr>,
    same: Vec<(usize, usize)>,
    predicates: Vec<ScalarExpr>,
) -> Mir {
    let arity = left.arity();
    let refuses_nulls = || predicates.iter().any(|predicate| shape::rejects_null(predicate, &|column| column >= arity));
    if kind == MatchKind::Inner || (kind == MatchKind::Left && refuses_nulls()) {
        return push_join(vec![left, right], on, same, predicates);
    }
    let (mut to_left, above) = split(predicates, |column| column < arity);
    let mut to_right = Vec::new();
    let mut kept = Vec::new();
    let mut conjuncts = Vec::new();
    on.iter().for_each(|predicate| expr::conjuncts(predicate, &mut conjuncts));
    to_left.extend(above.iter().filter_map(|predicate| factor::implied(predicate, &|column| column < arity)));
    for predicate in conjuncts {
        let said_of_right = factor::implied(&predicate, &|column| column >= arity);
        to_right.extend(said_of_right.map(|said| expr::renumber(&said, |column| column - arity)));
        if kind == MatchKind::Semi {
            to_left.extend(factor::implied(&predicate, &|column| column < arity));
        }
        if expr::is_volatile(&predicate) {
            kept.push(predicate);
        } else if expr::reads_only(&predicate, |column| column >= arity) {
            to_right.push(expr::renumber(&predicate, |column| column - arity));
        } else if kind == MatchKind::Semi && expr::reads_only(&predicate, |column| column < arity) {
            to_left.push(predicate);
        } else {
            kept.push(predicate);
        }
    }
    let left = Box::new(push(left, to_left));
    let right = Box::new(push(right, to_right));
    Mir::Match { left, right, kind, on: kept, same }.filter(above)
}
