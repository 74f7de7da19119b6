//! A semi or anti join that takes most rows away, or is asked much less often there, goes below the joins on its left, to the one
//! relation that it asks about.
//!
//! ```text
//!   (a ⋈ b ⋈ c) ⋉ d on b.x = d.x      ▶      a ⋈ (b ⋉ d) ⋈ c
//! ```
//! Each row of the join has one row of b, and stays or goes with it: so both give the same. So does each of an outer join, or of another
//! semi or anti join, with its row of the left side. Only where statistics say that it is worth it, and that the joins give no fewer rows
//! than that relation has: else whoever joins finds some rows by their keys, and few of them are asked.

use super::Planner;
use super::costs::{SOONER_LEVELS_MAX, SOONER_ROWS_MIN, SOONER_SHARE_MAX};
use crate::mir::{Mir, expr};
use crate::plan::MatchKind;
use crate::scalar::ScalarExpr;
use crate::transform::shape;
use std::ops::Range;

/// What is asked of each row.
#[derive(Clone, Copy)]
struct Asking<'m> {
    right: &'m Mir,
    kind: MatchKind,
    /// What the joins of the left side give.
    rows: f64,
    levels: usize,
}

impl Planner<'_> {
    /// The left side with the join in it, where that is better.
    pub(super) fn sooner(&self, (left, right): (&Mir, &Mir), kind: MatchKind, on: &[ScalarExpr]) -> Option<Mir> {
        let are_equalities = !on.is_empty() && on.iter().all(|condition| shape::equality(condition).is_some());
        let is_plain = matches!(kind, MatchKind::Semi | MatchKind::Anti) && !on.iter().any(expr::is_volatile);
        if self.maintained || self.sizes.is_none() || !is_plain || !are_equalities {
            return None;
        }
        let rows = self.estimate(left).rows;
        self.below(left, on, Asking { right, kind, rows, levels: SOONER_LEVELS_MAX })
    }

    /// The same of what lies under maps, filters and projections of the left side.
    fn below(&self, left: &Mir, on: &[ScalarExpr], asking: Asking<'_>) -> Option<Mir> {
        let asking = Asking { levels: asking.levels.checked_sub(1)?, ..asking };
        let arity = left.arity();
        let moved = |to: &dyn Fn(usize) -> usize, width: usize| -> Vec<ScalarExpr> {
            let column = |column: usize| if column < arity { to(column) } else { column - arity + width };
            on.iter().map(|condition| expr::renumber(condition, column)).collect()
        };
        // Of the left side it is asked about these columns only.
        let is_within = |within: &Range<usize>| {
            on.iter().all(|on| expr::reads_only(on, |column| within.contains(&column) || column >= arity))
        };
        match left {
            Mir::Project { input, columns } => {
                let on = moved(&|column| columns[column], input.arity());
                Some(self.below(input, &on, asking)?.project(columns.clone()))
            }
            Mir::Filter { input, predicates } if !predicates.iter().any(expr::is_volatile) => {
                Some(self.below(input, on, asking)?.filter(predicates.clone()))
            }
            Mir::Map { input, exprs } if !exprs.iter().any(expr::is_volatile) => {
                let width = input.arity();
                if !is_within(&(0..width)) {
                    return None;
                }
                let on = moved(&|column| column, width);
                Some(self.below(input, &on, asking)?.map(exprs.clone()))
            }
            Mir::Join { inputs, on: joined_on, same } => {
                let ranges = inputs.iter().scan(0, |start, input| {
                    let range = *start..*start + input.arity();
                    *start = range.end;
                    Some(range)
                });
                let (number, within) = ranges.enumerate().find(|(_, within)| is_within(within))?;
                let on = moved(&|column| column - within.start, within.len());
                let asked = self.asked(&inputs[number], &on, asking)?;
                let mut inputs = inputs.clone();
                inputs[number] = asked;
                Some(Mir::Join { inputs, on: joined_on.clone(), same: same.clone() })
            }
            // Its left side's rows stay as they are.
            Mir::Match { left: inner, right: other, kind: outer, on: joined_on, same } => {
                let width = inner.arity();
                if joined_on.iter().any(expr::is_volatile) || !is_within(&(0..width)) {
                    return None;
                }
                let on = moved(&|column| column, width);
                let left = Box::new(self.asked(inner, &on, asking)?);
                let (right, on, same) = (other.clone(), joined_on.clone(), same.clone());
                Some(Mir::Match { left, right, kind: *outer, on, same })
            }
            // What is no join says by itself which rows there are.
            _ => None,
        }
    }

    /// A relation of which it is asked, as far down in it as it may be, where that is better than for all rows of the joins.
    fn asked(&self, input: &Mir, on: &[ScalarExpr], asking: Asking<'_>) -> Option<Mir> {
        if let Some(found) = self.below(input, on, asking) {
            return Some(found);
        }
        let Asking { right, kind, rows, .. } = asking;
        let before = self.estimate(input).rows;
        if rows < before {
            return None;
        }
        let (left, right) = (Box::new(input.clone()), Box::new(right.clone()));
        let asked = Mir::Match { left, right, kind, on: on.to_vec(), same: Vec::new() };
        let is_seldom = rows >= before * SOONER_ROWS_MIN;
        (is_seldom || self.estimate(&asked).rows <= before * SOONER_SHARE_MAX).then_some(asked)
    }
}
