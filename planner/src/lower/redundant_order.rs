//! Ties that nothing is left to decide of: where rows that are equal so far have the same value in a column, that column
//! orders none of them.
//!
//! ```text
//! ORDER BY story.created, then story.id, author.id      author.id is what story.author is      ─▶   … then story.id
//! ```
//! What the order does not hold need not be read, carried or kept by whoever follows. Changes no answer.

use crate::catalog::Catalog;
use crate::mir::{Mir, Types, expr};
use crate::physical::same_class;
use crate::plan::{LocalId, MatchKind};
use crate::scalar::{Order, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnType, Datum, poll};
use std::collections::{BTreeMap, BTreeSet};

type ColumnSet = BTreeSet<usize>;

/// Takes such columns out of the orders in a relation, and of the order of its rows.
pub(super) fn without_determined(relation: &mut Mir, order: &mut Vec<Order>, catalog: &Catalog) {
    if !has_ties(relation) && !order.iter().any(|item| item.tie) {
        return;
    }
    let mut determined = Determined { catalog, locals: BTreeMap::new() };
    determined.below(relation);
    determined.shorten(relation, &[], order);
}

fn has_ties(mir: &Mir) -> bool {
    let own = match mir {
        Mir::TopK { order, .. } | Mir::Window { order, .. } => order.iter().any(|item| item.tie),
        _ => false,
    };
    own || mir.children().into_iter().any(has_ties)
}

struct Determined<'c> {
    catalog: &'c Catalog,
    /// Locals in scope.
    locals: BTreeMap<LocalId, Mir>,
}

impl Determined<'_> {
    fn below(&mut self, mir: &mut Mir) {
        poll::step_or_unwind();
        match mir {
            Mir::TopK { input, keys, order, .. } | Mir::Window { input, partition: keys, order, .. } => {
                self.below(input);
                self.shorten(input, keys, order);
            }
            Mir::Let { id, value, body } => {
                self.below(value);
                // Of a table, or what is made of few: others are told apart by all that they have.
                self.locals.insert(*id, (**value).clone());
                self.below(body);
                self.locals.remove(id);
            }
            other => other.children_mut().into_iter().for_each(|child| self.below(child)),
        }
    }

    fn shorten(&self, input: &Mir, keys: &[usize], order: &mut Vec<Order>) {
        if !order.iter().any(|item| item.tie) {
            return;
        }
        let types = input.types();
        let mut known: ColumnSet = keys.iter().copied().collect();
        order.retain(|item| {
            if item.tie {
                self.close(input, &mut known);
            }
            let is_new = known.insert(item.column);
            // Equal values that are written otherwise still have an order.
            is_new || !item.tie || !types[item.column].scalar.has_one_writing()
        });
    }

    /// Adds the columns whose values rows have in common, by SQL equality, that have those of `known` in common.
    fn close(&self, mir: &Mir, known: &mut ColumnSet) {
        poll::step_or_unwind();
        match mir {
            Mir::Constant { rows, types, .. } if rows.len() <= 1 => known.extend(0..types.len()),
            Mir::Get { relation, types, .. } => {
                let primary_key = self.catalog.table(*relation).and_then(|table| table.primary_key_columns());
                if primary_key.is_some_and(|key| key.iter().all(|column| known.contains(column))) {
                    known.extend(0..types.len());
                }
            }
            Mir::GetLocal { id, .. } => {
                if let Some(value) = self.locals.get(id) {
                    self.close(value, known);
                }
            }
            Mir::Map { input, exprs } => self.close_mapped(input, exprs, known),
            Mir::Filter { input, predicates } => {
                let types: Types = input.types().into();
                to_the_end(known, |known| {
                    self.close(input, known);
                    predicates.iter().for_each(|predicate| equated(predicate, &types, known));
                });
            }
            Mir::Project { input, columns } => {
                let mut below: ColumnSet = known.iter().map(|column| columns[*column]).collect();
                self.close(input, &mut below);
                known.extend((0..columns.len()).filter(|column| below.contains(&columns[*column])));
            }
            Mir::Join { inputs, on, same } => {
                let types = mir.types();
                to_the_end(known, |known| {
                    let mut start = 0;
                    for input in inputs {
                        self.close_input(input, start, known);
                        start += input.arity();
                    }
                    on.iter().for_each(|condition| equated(condition, &types, known));
                    same.iter().for_each(|(left, right)| both(*left, *right, known));
                });
            }
            Mir::Match { left, right, kind, on, same } => {
                self.close_input(left, 0, known);
                if *kind == MatchKind::Left {
                    self.close_matched(left, right, (on, same), known);
                }
            }
            Mir::TableFunction { input, .. } | Mir::Window { input, .. } => self.close_input(input, 0, known),
            Mir::Reduce { input, keys, aggregates, .. } => self.close_groups(input, keys, aggregates.len(), known),
            Mir::AtMostOne { input, keys } => {
                self.close(input, known);
                if keys.iter().all(|key| known.contains(key)) {
                    known.extend(0..input.arity());
                }
            }
            Mir::TopK { input, keys, limit: Some(ScalarExpr::Literal(Datum::Int8(1), _)), .. }
                if keys.iter().all(|key| known.contains(key)) =>
            {
                known.extend(0..input.arity());
            }
            Mir::TopK { input, .. } | Mir::Negate(input) | Mir::Threshold(input) => self.close(input, known),
            Mir::Let { body, .. } | Mir::LetRec { body, .. } => self.close(body, known),
            Mir::Constant { .. } | Mir::Union(..) => {}
        }
    }

    fn close_mapped(&self, input: &Mir, exprs: &[ScalarExpr], known: &mut ColumnSet) {
        let arity = input.arity();
        self.close_input(input, 0, known);
        for (column, mapped) in (arity..).zip(exprs) {
            match mapped {
                ScalarExpr::Column(copied) if known.contains(copied) => known.insert(column),
                ScalarExpr::Literal(..) | ScalarExpr::Param(..) => known.insert(column),
                _ => false,
            };
        }
    }

    /// All of a group is decided by its keys.
    fn close_groups(&self, input: &Mir, keys: &[ScalarExpr], aggregates: usize, known: &mut ColumnSet) {
        let copied = |key: &ScalarExpr| match key {
            ScalarExpr::Column(column) => Some(*column),
            _ => None,
        };
        let of_known = |key: &usize| keys.get(*key).and_then(copied);
        let mut below: ColumnSet = known.iter().filter_map(of_known).collect();
        self.close(input, &mut below);
        let is_below = |key: &usize| copied(&keys[*key]).is_some_and(|column| below.contains(&column));
        known.extend((0..keys.len()).filter(is_below));
        if (0..keys.len()).all(|key| known.contains(&key)) {
            known.extend(0..keys.len() + aggregates);
        }
    }

    /// The same of an input whose columns are those from `start` on.
    fn close_input(&self, input: &Mir, start: usize, known: &mut ColumnSet) {
        let own = start..start + input.arity();
        let mut below: ColumnSet = known.range(own).map(|column| column - start).collect();
        self.close(input, &mut below);
        known.extend(below.into_iter().map(|column| column + start));
    }

    /// Columns of the right side of an outer join, if whatever has a match, and which, is decided by known columns of the left.
    fn close_matched(
        &self,
        left: &Mir,
        right: &Mir,
        (on, same): (&[ScalarExpr], &[(usize, usize)]),
        known: &mut ColumnSet,
    ) {
        let arity = left.arity();
        let types: Vec<ColumnType> = left.types().into_iter().chain(right.types()).collect();
        let whole = (0..arity).all(|column| known.contains(&column));
        let mut matched = known.clone();
        for condition in on {
            let pair = columns_equated(condition, &types);
            let by_known = |(one, other): (usize, usize)| {
                let (left, right) = (one.min(other), one.max(other));
                left < arity && right >= arity && known.contains(&left)
            };
            if !whole && !pair.is_some_and(by_known) {
                return;
            }
            pair.into_iter().for_each(|(one, other)| both(one, other, &mut matched));
        }
        for (one, other) in same {
            if !whole && !known.contains(one.min(other)) {
                return;
            }
            both(*one, *other, &mut matched);
        }
        self.close_input(right, arity, &mut matched);
        *known = matched;
    }
}

/// Runs a step until it adds nothing.
fn to_the_end(known: &mut ColumnSet, mut step: impl FnMut(&mut ColumnSet)) {
    loop {
        let before = known.len();
        step(known);
        if known.len() == before {
            return;
        }
    }
}

fn both(one: usize, other: usize, known: &mut ColumnSet) {
    if known.contains(&one) || known.contains(&other) {
        known.extend([one, other]);
    }
}

/// Two columns that a condition says are equal, by bytes that order them.
fn columns_equated(condition: &ScalarExpr, types: &[ColumnType]) -> Option<(usize, usize)> {
    let (left, right) = shape::equality(condition)?;
    match (shape::relabelled(left), shape::relabelled(right)) {
        (ScalarExpr::Column(one), ScalarExpr::Column(other)) => {
            same_class(&types[*one].scalar, &types[*other].scalar).then_some((*one, *other))
        }
        _ => None,
    }
}

fn equated(condition: &ScalarExpr, types: &[ColumnType], known: &mut ColumnSet) {
    if let Some((one, other)) = columns_equated(condition, types) {
        both(one, other, known);
        return;
    }
    let Some((left, right)) = shape::equality(condition) else { return };
    for (side, value) in [(left, right), (right, left)] {
        if let ScalarExpr::Column(column) = shape::relabelled(side)
            && expr::is_constant(value)
            && !expr::is_volatile(value)
            && same_class(&types[*column].scalar, &expr::scalar_type(value, types))
        {
            known.insert(*column);
        }
    }
}
