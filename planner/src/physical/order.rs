//! Equalities between what is there and what could come next: the links that keys are made of.

use super::access::same_class;
use crate::mir::expr;
use crate::scalar::{Function, ScalarExpr};
use crate::transform::shape;
use repr::ColumnType;
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
    let mut all = direct.clone();
    let mut at = 0;
    while at < all.len() {
        let (left, right, function) = all[at];
        for (other_left, other_right, by) in &direct {
            if *by != function {
                continue;
            }
            for (shared, other) in [(*other_left, *other_right), (*other_right, *other_left)] {
                for (mine, rest) in [(left, right), (right, left)] {
                    let pair = (rest.min(other), rest.max(other), function);
                    let known = |pair: &(usize, usize, &'static Function)| {
                        all.iter().any(|found| (found.0.min(found.1), found.0.max(found.1)) == (pair.0, pair.1))
                    };
                    if mine == shared && rest != other && !known(&pair) {
                        all.push(pair);
                    }
                }
            }
        }
        at += 1;
    }
    all.split_off(direct.len()).into_iter().map(|(left, right, _)| (left, right)).collect()
}
