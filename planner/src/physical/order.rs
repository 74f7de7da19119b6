//! Equalities between what is there and what could come next: the links that keys are made of.

use super::access::same_class;
use crate::mir::expr;
use crate::scalar::{Function, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnType, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// `outer = inner`, the outer side being there, the inner side the candidate's.
pub(super) struct Link {
    /// Over the columns of the whole.
    pub(super) outer: ScalarExpr,
    /// Over the candidate's own columns.
    pub(super) inner: ScalarExpr,
    /// The condition that says so; `None` if it follows from others.
    pub(super) condition: Option<usize>,
}

/// All links of one candidate.
pub(super) struct Links {
    /// The links; those that are conditions themselves come first.
    pub(super) found: Vec<Link>,
}

impl Links {
    /// The equalities among `on` (and `derived` pairs of columns) between expressions that satisfy `there`
    /// and the columns in `range`. Sides of different key classes are no links.
    pub(super) fn between(
        on: &[ScalarExpr],
        derived: &[(usize, usize)],
        range: &Range<usize>,
        types: &[ColumnType],
        there: impl Fn(&ScalarExpr) -> bool,
    ) -> Links {
        let own =
            |expr: &ScalarExpr| !expr::is_constant(expr) && expr::reads_only(expr, |column| range.contains(&column));
        let mut found: Vec<Link> = Vec::new();
        for (at, condition) in on.iter().enumerate() {
            poll::step_or_unwind();
            let Some((left, right)) = shape::equality(condition) else { continue };
            let (outer, inner) = if own(right) && there(left) {
                (left, right)
            } else if own(left) && there(right) {
                (right, left)
            } else {
                continue;
            };
            let agrees = same_class(&expr::scalar_type(outer, types), &expr::scalar_type(inner, types));
            if agrees && !expr::is_volatile(condition) {
                let inner = expr::renumber(inner, |column| column - range.start);
                found.push(Link { outer: outer.clone(), inner, condition: Some(at) });
            }
        }
        for (left, right) in derived {
            poll::step_or_unwind();
            for (outer, inner) in [(*left, *right), (*right, *left)] {
                let outer = ScalarExpr::Column(outer);
                if !range.contains(&inner) || !there(&outer) {
                    continue;
                }
                let inner = ScalarExpr::Column(inner - range.start);
                if !found.iter().any(|link| link.inner == inner) {
                    found.push(Link { outer, inner, condition: None });
                }
            }
        }
        Links { found }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// Pairs of columns that are equal because both are equal to a third, by the same operator.
pub(super) fn implied_pairs(on: &[ScalarExpr]) -> Vec<(usize, usize)> {
    let direct: Vec<(usize, usize, &'static Function)> = on
        .iter()
        .filter_map(|condition| match (condition, shape::equality(condition)?) {
            (ScalarExpr::Call { function, .. }, (ScalarExpr::Column(left), ScalarExpr::Column(right))) => {
                Some((*left, *right, *function))
            }
            _ => None,
        })
        .collect();
    // Which of them a column stands in, and what is known.
    let mut of_column: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (left, right, _)) in direct.iter().enumerate() {
        of_column.entry(*left).or_default().push(at);
        of_column.entry(*right).or_default().push(at);
    }
    let mut known: BTreeSet<(usize, usize)> = direct.iter().map(|(left, right, _)| ordered(*left, *right)).collect();
    let mut all = direct.clone();
    let mut at = 0;
    while at < all.len() {
        poll::step_or_unwind();
        let (left, right, function) = all[at];
        let mut near: Vec<usize> =
            [left, right].iter().filter_map(|column| of_column.get(column)).flatten().copied().collect();
        near.sort_unstable();
        near.dedup();
        for (other_left, other_right, by) in near.into_iter().map(|near| direct[near]) {
            if by != function {
                continue;
            }
            for (shared, other) in [(other_left, other_right), (other_right, other_left)] {
                for (mine, rest) in [(left, right), (right, left)] {
                    if mine == shared && rest != other && known.insert(ordered(rest, other)) {
                        all.push((rest.min(other), rest.max(other), function));
                    }
                }
            }
        }
        at += 1;
    }
    all.split_off(direct.len()).into_iter().map(|(left, right, _)| (left, right)).collect()
}

fn ordered(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
