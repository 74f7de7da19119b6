//! `x < ANY (subquery)` and its kind, as a value and as a condition: of the subquery's rows only one end is compared with.
//!
//! ```text
//!   rows ──┬───────────────────────────────────────┬─ the end ─┬─ a NULL where it counts? ─▶ CASE
//!          └─ outer columns ─ subquery ─ top of all ┘          └─ (per field, by those before it)
//! ```
//!
//! Some row of a subquery is greater exactly if the greatest is, and `<>` says that the least or the greatest differs. Rows of
//! several fields are compared in the order of these, so that the greatest is the first when sorted, NULLs last: it is at
//! least as great in the first field in which a smaller one already decides. A comparison that no row makes true is NULL if for
//! some field the ones before it are equal and one of its sides is NULL. All of it costs what sorting costs, where comparing
//! each row with each would cost their product.

use super::Lowering;
use super::branch::pair;
use super::filter::is_false;
use super::mark_join::{Field, MarkSides, compare, field, marked};
use super::scalar::Rel;
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr};
use crate::mir::{Mir, expr};
use crate::plan::{Counting, MatchKind};
use crate::scalar::func::Comparison;
use crate::scalar::{Function, Order, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnType, ScalarType};

/// A comparison of which an end of the subquery's rows decides.
struct Quantified<'e> {
    /// What is compared with what. Of an order all fields but the last by `<` or `>` alone.
    fields: Vec<Field<'e>>,
    kind: ExtremeKind,
    /// NOT around it all.
    negated: bool,
}

enum ExtremeKind {
    /// The fields one after another.
    InOrder {
        /// `=` of all but the last.
        equal: Vec<&'static Function>,
        /// The greatest row decides, else the least.
        greatest: bool,
    },
    /// Any field that differs.
    Different,
}

impl Lowering<'_> {
    /// `condition ANY (sub)` by the subquery's ends; none if it is no such comparison.
    pub(super) fn extreme(
        &mut self,
        sub: &Hir,
        condition: &HirExpr,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<Option<ScalarExpr>, PlanError> {
        let Some(quantified) = quantified(condition) else { return Ok(None) };
        self.beside_found(&quantified.fields, sub, rel, guard, |_, sides| {
            let types = sides.rows.types();
            let (mir, holds) = quantified.with_ends(sides.rows.clone(), &sides)?;
            let (mir, unknown) = quantified.unknown(mir, &sides, &types)?;
            let mut branches = vec![(holds, expr::boolean(true))];
            branches.extend(unknown.into_iter().map(|unknown| (unknown, expr::null(ScalarType::Bool))));
            let otherwise = Box::new(expr::boolean(false));
            Ok((mir, ScalarExpr::Case { branches, otherwise, result: ScalarType::Bool }))
        })
    }

    /// The rows of `rel` for which `condition ANY (sub)` is true, by the ends; none if it is no such comparison, or if `sub` reads
    /// what is around it, by which its rows are found rather.
    pub(super) fn within_ends(&mut self, rel: &Rel, sub: &Hir, condition: &HirExpr) -> Result<Option<Mir>, PlanError> {
        let Some(quantified) = quantified(condition) else { return Ok(None) };
        if !self.free(sub, rel.inside().scopes).is_empty() {
            return Ok(None);
        }
        let arity = rel.mir.arity();
        let mut rel = Rel { mir: rel.mir.clone(), columns: rel.columns.clone(), env: rel.env.clone() };
        let value = self.beside_found(&quantified.fields, sub, &mut rel, &[], |_, sides| {
            quantified.with_ends(sides.rows.clone(), &sides)
        })?;
        Ok(value.map(|holds| rel.mir.filter(vec![holds]).project((0..arity).collect())))
    }

    /// The same for which it is false.
    pub(super) fn outside_ends(&mut self, rel: &Rel, sub: &Hir, condition: &HirExpr) -> Result<Option<Mir>, PlanError> {
        if quantified(condition).is_none() || !self.free(sub, rel.inside().scopes).is_empty() {
            return Ok(None);
        }
        self.marked(rel, sub, condition, is_false)
    }
}

impl Quantified<'_> {
    /// The rows with the ends appended, and whether the comparison holds for one of them.
    fn with_ends(&self, rows: Mir, sides: &MarkSides) -> Result<(Mir, ScalarExpr), PlanError> {
        let width = sides.correlated.len();
        let count = self.fields.len();
        match &self.kind {
            ExtremeKind::InOrder { equal, greatest } => {
                let at = rows.arity();
                let columns: Vec<usize> = (width..width + count).collect();
                let mir = beside_end(rows, sides, columns, *greatest);
                let sides = |field: usize| (ScalarExpr::Column(sides.left[field]), ScalarExpr::Column(at + field));
                let compared = |field: usize, function| {
                    let (outside, inside) = sides(field);
                    compare(function, self.fields[field].in_order, outside, inside)
                };
                let mut holds = compared(count - 1, self.fields[count - 1].function);
                for field in (0..count - 1).rev() {
                    let before = compared(field, self.fields[field].function);
                    let same = compared(field, equal[field]);
                    holds = ScalarExpr::Or(vec![before, ScalarExpr::And(vec![same, holds])]);
                }
                Ok((mir, self.signed(holds)?))
            }
            ExtremeKind::Different => {
                let (mut mir, mut differs) = (rows, Vec::new());
                for (at, field) in self.fields.iter().enumerate() {
                    for greatest in [false, true] {
                        let end = mir.arity();
                        mir = beside_end(mir, sides, vec![width + at], greatest);
                        let (outside, inside) = (ScalarExpr::Column(sides.left[at]), ScalarExpr::Column(end));
                        differs.push(self.signed(compare(field.function, field.in_order, outside, inside))?);
                    }
                }
                Ok((mir, ScalarExpr::Or(differs)))
            }
        }
    }

    fn signed(&self, holds: ScalarExpr) -> Result<ScalarExpr, PlanError> {
        if self.negated { shape::not(holds) } else { Ok(holds) }
    }

    /// The rows with marks appended, and what says that a comparison with some row is NULL.
    fn unknown(
        &self,
        mut mir: Mir,
        sides: &MarkSides,
        rows_types: &[ColumnType],
    ) -> Result<(Mir, Vec<ScalarExpr>), PlanError> {
        let width = sides.correlated.len();
        let found_types = sides.found.types();
        let mut unknown = Vec::new();
        for at in 0..self.fields.len() {
            let before = match &self.kind {
                ExtremeKind::InOrder { .. } => at,
                ExtremeKind::Different => 0,
            };
            let same: Vec<usize> = sides.correlated.iter().chain(&sides.left[..before]).copied().collect();
            let of_same = |found: Mir| found.project((0..width + before).collect()).distinct();
            let inside = ScalarExpr::Column(width + at);
            if expr::nullable(&inside, &found_types) {
                let nulls = sides.found.clone().filter(vec![shape::is_null(&inside, &found_types)?]);
                let (with_mark, mark) = marked(mir, of_same(nulls), &same);
                mir = with_mark;
                unknown.push(mark);
            }
            let outside = ScalarExpr::Column(sides.left[at]);
            if expr::nullable(&outside, rows_types) {
                let (with_mark, any) = marked(mir, of_same(sides.found.clone()), &same);
                mir = with_mark;
                unknown.push(ScalarExpr::And(vec![shape::is_null(&outside, rows_types)?, any]));
            }
        }
        Ok((mir, unknown))
    }
}

/// The rows with the first of those found appended, per outer columns: NULLs without one.
fn beside_end(rows: Mir, sides: &MarkSides, columns: Vec<usize>, greatest: bool) -> Mir {
    let width = sides.correlated.len();
    let order = (width..width + columns.len())
        .map(|column| Order { descending: greatest, ..Order::ascending(column) })
        .collect();
    let end = Mir::TopK {
        input: Box::new(sides.found.clone().project((0..width).chain(columns).collect())),
        keys: (0..width).collect(),
        order,
        limit: Some(expr::bigint(1)),
        offset: None,
        counting: Counting::Rows,
    };
    pair(rows, end, &sides.correlated, MatchKind::Left)
}

/// The condition as a comparison with an end; none if it is something else.
fn quantified(condition: &HirExpr) -> Option<Quantified<'_>> {
    let (condition, negated) = match shape::negated(condition) {
        Some(inner) => (inner, true),
        None => (condition, false),
    };
    let parts = match condition {
        ScalarExpr::Or(parts) if !negated => parts.as_slice(),
        ScalarExpr::And(parts) if negated => parts.as_slice(),
        only => std::slice::from_ref(only),
    };
    let unequal = if negated { Comparison::Equal } else { Comparison::NotEqual };
    let different = parts.iter().map(|part| field(part).filter(|field| field.function.comparison() == Some(unequal)));
    if let Some(fields) = different.collect() {
        return Some(Quantified { fields, kind: ExtremeKind::Different, negated });
    }
    let (mut fields, mut equal) = (Vec::new(), Vec::new());
    let mut rest = condition;
    while let ScalarExpr::Or(parts) = rest {
        let [before, ScalarExpr::And(after)] = parts.as_slice() else { return None };
        let [ScalarExpr::Call { function, args, .. }, last] = after.as_slice() else { return None };
        let ScalarExpr::Call { args: compared, .. } = before else { return None };
        if function.comparison() != Some(Comparison::Equal) || args != compared {
            return None;
        }
        fields.push(field(before)?);
        equal.push(*function);
        rest = last;
    }
    fields.push(field(rest)?);
    let greatest = ends(&fields[0], negated)?;
    let agree = fields.iter().all(|field| ends(field, negated) == Some(greatest));
    agree.then_some(Quantified { fields, kind: ExtremeKind::InOrder { equal, greatest }, negated })
}

/// Whether the greatest value decides about a field, or the least; none for what is no order.
fn ends(field: &Field<'_>, negated: bool) -> Option<bool> {
    let comparison = field.function.comparison()?;
    let comparison = if field.in_order { comparison } else { comparison.commuted() };
    let less = match comparison {
        Comparison::Less | Comparison::LessOrEqual => true,
        Comparison::Greater | Comparison::GreaterOrEqual => false,
        Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => return None,
    };
    Some(less != negated)
}
