//! Demand: columns that nobody reads are not computed, joined or kept.
//!
//! Goes from the top down. What tells rows apart (keys of groups, differences) keeps all its columns.

use crate::mir::{Mir, TableFunctionCall, expr};
use crate::names::Names;
use crate::plan::{LocalId, MatchKind};
use crate::scalar::{AggregateCall, Order, ScalarExpr, WindowCall};
use std::collections::BTreeSet;

/// A relation with exactly the `needed` columns of `mir`, in that order.
pub fn prune(mir: Mir, needed: &[usize]) -> Mir {
    match mir {
        Mir::Constant { rows, types, names } if needed.iter().copied().eq(0..types.len()) => {
            Mir::Constant { rows, types, names }
        }
        Mir::Constant { rows, types, names } => {
            let rows = rows.into_iter().map(|row| needed.iter().map(|column| row[*column].clone()).collect()).collect();
            let types = needed.iter().map(|column| types[*column].clone()).collect();
            Mir::Constant { rows, types, names: names.kept(needed) }
        }
        leaf @ (Mir::Get { .. } | Mir::GetLocal { .. }) => leaf.project(needed.to_vec()),
        Mir::Project { input, columns } => {
            let wanted: Vec<usize> = needed.iter().map(|column| columns[*column]).collect();
            let kept = sorted(wanted.iter().copied());
            prune(*input, &kept).project(wanted.iter().map(|column| place(&kept, *column)).collect())
        }
        Mir::Filter { input, predicates } => {
            let kept =
                sorted(needed.iter().copied().chain(predicates.iter().flat_map(|predicate| predicate.columns())));
            let predicates = moved_all(&predicates, &kept);
            prune(*input, &kept).filter(predicates).project(places(&kept, needed))
        }
        Mir::Map { input, exprs } => prune_map(*input, exprs, needed),
        Mir::Join { inputs, on, same } => prune_join(inputs, on, same, needed),
        Mir::Match { left, right, kind, on, same } => prune_match((*left, *right), kind, on, same, needed),
        Mir::TableFunction { input, functions, ordinality, names } => {
            prune_functions(*input, functions, (ordinality, names), needed)
        }
        Mir::Reduce { input, keys, aggregates, scalar } => prune_groups(*input, &keys, (&aggregates, scalar), needed),
        Mir::TopK { input, keys, order, limit, offset, counting } => {
            let kept = sorted(needed.iter().chain(&keys).copied().chain(order.iter().map(|order| order.column)));
            let input = Box::new(prune(*input, &kept));
            let (keys, order) = (places(&kept, &keys), moved_order(&order, &kept));
            Mir::TopK { input, keys, order, limit, offset, counting }.project(places(&kept, needed))
        }
        Mir::Window { input, partition, order, calls } => prune_windows(*input, (&partition, &order), &calls, needed),
        Mir::AtMostOne { input, keys } => {
            let kept = sorted(needed.iter().chain(&keys).copied());
            let input = Box::new(prune(*input, &kept));
            Mir::AtMostOne { input, keys: places(&kept, &keys) }.project(places(&kept, needed))
        }
        Mir::Union(inputs, names) => {
            Mir::Union(inputs.into_iter().map(|input| prune(input, needed)).collect(), names.kept(needed))
        }
        Mir::Negate(input) => Mir::Negate(Box::new(prune(*input, needed))),
        Mir::Threshold(input) => {
            let all: Vec<usize> = (0..input.arity()).collect();
            Mir::Threshold(Box::new(prune(*input, &all))).project(needed.to_vec())
        }
        Mir::Let { id, value, body } => prune_let(id, *value, *body, needed),
        Mir::LetRec { id, base, step, distinct, body } => {
            let all: Vec<usize> = (0..base.arity()).collect();
            Mir::LetRec {
                id,
                base: Box::new(prune(*base, &all)),
                step: Box::new(prune(*step, &all)),
                distinct,
                body: Box::new(prune(*body, needed)),
            }
        }
    }
}

fn sorted(columns: impl Iterator<Item = usize>) -> Vec<usize> {
    columns.collect::<BTreeSet<_>>().into_iter().collect()
}

fn place(kept: &[usize], column: usize) -> usize {
    kept.binary_search(&column).expect("columns that are read are kept")
}

fn places(kept: &[usize], columns: &[usize]) -> Vec<usize> {
    columns.iter().map(|column| place(kept, *column)).collect()
}

fn moved_all(exprs: &[ScalarExpr], kept: &[usize]) -> Vec<ScalarExpr> {
    exprs.iter().map(|expr| expr::renumber(expr, |column| place(kept, column))).collect()
}

fn moved_order(order: &[Order], kept: &[usize]) -> Vec<Order> {
    order.iter().map(|order| Order { column: place(kept, order.column), ..*order }).collect()
}

fn prune_let(id: LocalId, value: Mir, body: Mir, needed: &[usize]) -> Mir {
    let mut body = prune(body, needed);
    let mut used = BTreeSet::new();
    local_columns(&body, id, &mut used);
    let kept: Vec<usize> = used.into_iter().collect();
    if kept.len() < value.arity() {
        body = narrow_local(body, id, &kept);
    }
    Mir::Let { id, value: Box::new(prune(value, &kept)), body: Box::new(body) }
}

fn prune_functions(
    input: Mir,
    functions: Vec<TableFunctionCall>,
    (ordinality, names): (bool, Names),
    needed: &[usize],
) -> Mir {
    let arity = input.arity();
    let used = functions.iter().flat_map(|(_, args, _)| args).flat_map(|arg| arg.columns());
    let kept = sorted(needed.iter().copied().filter(|column| *column < arity).chain(used));
    let functions =
        functions.into_iter().map(|(function, args, types)| (function, moved_all(&args, &kept), types)).collect();
    let input = Box::new(prune(input, &kept));
    let to = |column: usize| if column < arity { place(&kept, column) } else { column - arity + kept.len() };
    Mir::TableFunction { input, functions, ordinality, names }
        .project(needed.iter().map(|column| to(*column)).collect())
}

/// Aggregates that nobody reads are not computed; the keys stay.
fn prune_groups(
    input: Mir,
    keys: &[ScalarExpr],
    (aggregates, scalar): (&[AggregateCall], bool),
    needed: &[usize],
) -> Mir {
    let wanted: Vec<usize> = (0..aggregates.len()).filter(|index| needed.contains(&(keys.len() + index))).collect();
    if scalar && wanted.is_empty() {
        return Mir::unit();
    }
    let used =
        |index: &usize| expr::aggregate_exprs(&aggregates[*index]).flat_map(|expr| expr.columns()).collect::<Vec<_>>();
    let kept = sorted(keys.iter().flat_map(|key| key.columns()).chain(wanted.iter().flat_map(used)));
    let width = keys.len();
    let keys = moved_all(keys, &kept);
    let mut calls: Vec<_> = wanted.iter().map(|index| aggregates[*index].clone()).collect();
    for expr in calls.iter_mut().flat_map(expr::aggregate_exprs_mut) {
        expr::renumber_mut(expr, &mut |column| place(&kept, column));
    }
    let input = Box::new(prune(input, &kept));
    let to = |column: usize| if column < width { column } else { width + place(&wanted, column - width) };
    Mir::Reduce { input, keys, aggregates: calls, scalar }.project(needed.iter().map(|column| to(*column)).collect())
}

fn prune_windows(input: Mir, (partition, order): (&[usize], &[Order]), calls: &[WindowCall], needed: &[usize]) -> Mir {
    let arity = input.arity();
    let wanted: Vec<usize> = (0..calls.len()).filter(|index| needed.contains(&(arity + index))).collect();
    let mut calls: Vec<_> = wanted.iter().map(|index| calls[*index].clone()).collect();
    let used: Vec<usize> = calls.iter_mut().flat_map(expr::window_exprs_mut).flat_map(|expr| expr.columns()).collect();
    let own = needed.iter().copied().filter(|column| *column < arity);
    let kept = sorted(own.chain(partition.iter().copied()).chain(order.iter().map(|order| order.column)).chain(used));
    for expr in calls.iter_mut().flat_map(expr::window_exprs_mut) {
        expr::renumber_mut(expr, &mut |column| place(&kept, column));
    }
    let input = Box::new(prune(input, &kept));
    let to = |column: usize| {
        if column < arity { place(&kept, column) } else { kept.len() + place(&wanted, column - arity) }
    };
    let chosen = needed.iter().map(|column| to(*column)).collect();
    if calls.is_empty() {
        return input.project(chosen);
    }
    let (partition, order) = (places(&kept, partition), moved_order(order, &kept));
    Mir::Window { input, partition, order, calls }.project(chosen)
}

fn prune_map(input: Mir, exprs: Vec<ScalarExpr>, needed: &[usize]) -> Mir {
    let arity = input.arity();
    let mut used: BTreeSet<usize> = needed.iter().copied().collect();
    for (index, mapped) in exprs.iter().enumerate().rev() {
        // What has an effect (nextval) happens even if its value is not asked for.
        if used.contains(&(arity + index)) || expr::is_volatile(mapped) {
            used.insert(arity + index);
            used.extend(mapped.columns());
        }
    }
    let used: Vec<usize> = used.into_iter().collect();
    let from_input: Vec<usize> = used.iter().copied().filter(|column| *column < arity).collect();
    let exprs = used.iter().filter(|column| **column >= arity).map(|column| &exprs[column - arity]);
    let exprs = exprs.map(|mapped| expr::renumber(mapped, |column| place(&used, column))).collect();
    prune(input, &from_input).map(exprs).project(places(&used, needed))
}

fn prune_join(inputs: Vec<Mir>, on: Vec<ScalarExpr>, same: Vec<(usize, usize)>, needed: &[usize]) -> Mir {
    let kept = sorted(
        needed
            .iter()
            .copied()
            .chain(on.iter().flat_map(|predicate| predicate.columns()))
            .chain(same.iter().flat_map(|(left, right)| [*left, *right])),
    );
    let mut start = 0;
    let mut pruned = Vec::with_capacity(inputs.len());
    for input in inputs {
        let end = start + input.arity();
        let own: Vec<usize> =
            kept.iter().filter(|column| (start..end).contains(column)).map(|column| column - start).collect();
        pruned.push(prune(input, &own));
        start = end;
    }
    let on = moved_all(&on, &kept);
    let same = same.iter().map(|(left, right)| (place(&kept, *left), place(&kept, *right))).collect();
    Mir::Join { inputs: pruned, on, same }.project(places(&kept, needed))
}

fn prune_match(
    (left, right): (Mir, Mir),
    kind: MatchKind,
    on: Vec<ScalarExpr>,
    same: Vec<(usize, usize)>,
    needed: &[usize],
) -> Mir {
    let arity = left.arity();
    let equated: Vec<usize> = same.iter().map(|(_, column)| column - arity).collect();
    let is_asked_for = needed.iter().any(|column| *column >= arity);
    if kind == MatchKind::Left && on.is_empty() && !is_asked_for && has_one_at_most(&right, &equated) {
        // The left rows come as they are, each once.
        return prune(left, needed);
    }
    let used = on
        .iter()
        .flat_map(|predicate| predicate.columns())
        .chain(same.iter().flat_map(|(left, right)| [*left, *right]));
    let kept = sorted(needed.iter().copied().chain(used));
    let (from_left, from_right): (Vec<usize>, Vec<usize>) = kept.iter().partition(|column| **column < arity);
    let from_right: Vec<usize> = from_right.into_iter().map(|column| column - arity).collect();
    let on = moved_all(&on, &kept);
    let same = same.iter().map(|(left, right)| (place(&kept, *left), place(&kept, *right))).collect();
    let left = Box::new(prune(left, &from_left));
    let right = Box::new(prune(right, &from_right));
    Mir::Match { left, right, kind, on, same }.project(places(&kept, needed))
}

/// Whether no two rows are equal in these columns.
fn has_one_at_most(mir: &Mir, columns: &[usize]) -> bool {
    match mir {
        Mir::AtMostOne { keys, .. } => keys.iter().all(|key| columns.contains(key)),
        Mir::Reduce { keys, .. } => (0..keys.len()).all(|key| columns.contains(&key)),
        Mir::Project { input, columns: chosen } => {
            has_one_at_most(input, &columns.iter().map(|column| chosen[*column]).collect::<Vec<_>>())
        }
        _ => false,
    }
}

/// The columns of a local that are read; after pruning, projections stand right over it.
fn local_columns(mir: &Mir, local: LocalId, used: &mut BTreeSet<usize>) {
    match mir {
        Mir::Project { input, columns } if is_local(input, local) => used.extend(columns),
        Mir::GetLocal { id, types, .. } if *id == local => used.extend(0..types.len()),
        other => other.children().into_iter().for_each(|child| local_columns(child, local, used)),
    }
}

fn is_local(mir: &Mir, local: LocalId) -> bool {
    matches!(mir, Mir::GetLocal { id, .. } if *id == local)
}

/// The same over a local of which only `kept` columns are left.
fn narrow_local(mir: Mir, local: LocalId, kept: &[usize]) -> Mir {
    match mir {
        Mir::Project { input, columns } => match *input {
            Mir::GetLocal { id, types, names } if id == local => {
                let types = kept.iter().map(|column| types[*column].clone()).collect();
                Mir::GetLocal { id, types, names: names.kept(kept) }.project(places(kept, &columns))
            }
            other => Mir::Project { input: Box::new(narrow_local(other, local, kept)), columns },
        },
        mut other => {
            for child in other.children_mut() {
                let taken = std::mem::replace(child, Mir::unit());
                *child = narrow_local(taken, local, kept);
            }
            other
        }
    }
}
