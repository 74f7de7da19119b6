//! WHERE and ON: conjuncts that are EXISTS, IN or their negations become semi and anti joins.
//!
//! `x NOT IN (…)` keeps a row if no comparison is true *or NULL*. For a plain comparison that is three anti
//! joins, each by a key or over few rows: a match, a NULL inside, a NULL outside with any row inside. For rows of several
//! fields, or a subquery per outer value, it is a mark that is false (`mark`).

use super::Lowering;
use super::branch::row_by_row;
use super::env::{Env, free_in_expr, has_subquery};
use super::peel::{over_bases, peel, without_order};
use super::scalar::Rel;
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr};
use crate::mir::{Mir, expr};
use crate::plan::MatchKind;
use crate::scalar::ScalarExpr;
use crate::transform::shape;
use repr::ScalarType;
use std::collections::BTreeSet;

impl Lowering<'_> {
    /// Keeps the rows for which all predicates are true.
    pub(super) fn filter(&mut self, mut rel: Rel, predicates: &[HirExpr]) -> Result<Mir, PlanError> {
        let arity = rel.mir.arity();
        let mut conjuncts = Vec::new();
        predicates.iter().for_each(|predicate| expr::conjuncts(predicate, &mut conjuncts));
        let (with_subquery, plain): (Vec<HirExpr>, Vec<HirExpr>) = conjuncts.into_iter().partition(has_subquery);
        let plain = plain.iter().map(|predicate| self.pure(predicate, &rel)).collect::<Result<Vec<_>, _>>()?;
        rel.mir = rel.mir.filter(plain);
        for predicate in with_subquery {
            rel.mir = match &predicate {
                ScalarExpr::Column(HirColumn::Exists(sub)) => self.semi(&rel, sub, None, MatchKind::Semi)?,
                ScalarExpr::Column(HirColumn::Any { relation, condition }) => {
                    self.semi(&rel, relation, Some(condition), MatchKind::Semi)?
                }
                other => match shape::negated(other) {
                    Some(ScalarExpr::Column(HirColumn::Exists(sub))) => self.semi(&rel, sub, None, MatchKind::Anti)?,
                    Some(ScalarExpr::Column(HirColumn::Any { relation, condition })) => {
                        self.not_any(&rel, relation, condition)?
                    }
                    Some(_) | None => {
                        let predicate = self.scalar(other, &mut rel, &[])?;
                        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
                        mir.filter(vec![predicate]).project((0..arity).collect())
                    }
                },
            };
        }
        Ok(rel.mir)
    }

    /// Rows of `rel` with (Semi) or without (Anti) a row of `sub` for which `condition` is true.
    fn semi(&mut self, rel: &Rel, sub: &Hir, condition: Option<&HirExpr>, kind: MatchKind) -> Result<Mir, PlanError> {
        let sub = without_order(sub, condition.is_none());
        let inside = rel.inside();
        if kind == MatchKind::Semi
            && let Some(condition) = condition
            && let Some(kept) = self.within_ends(rel, sub, condition)?
        {
            return Ok(kept);
        }
        if let Some(joint) = self.standing_alone(rel, sub, condition)? {
            let mut on = joint.predicates;
            on.extend(joint.condition);
            // What is around a LATERAL can be told from what is found inside before both are multiplied.
            if kind == MatchKind::Semi
                && reads_around(rel, &on)
                && let Some(joined) = joined_once(&rel.mir, &joint.right, &on)
            {
                return Ok(joined);
            }
            return Ok(matching(&rel.mir, joint.right, kind, on));
        }
        if kind == MatchKind::Semi
            && let Some(condition) = condition
        {
            if let Some(joined) = self.found_around(rel, sub, condition)? {
                return Ok(joined);
            }
            // What is compared is a subquery of its own: computed for each row, not for each pair.
            if has_subquery(condition)
                && let Some(kept) = self.marked(rel, sub, condition, |value| value)?
            {
                return Ok(kept);
            }
        }
        let mut used = self.free(sub, inside.scopes);
        if let Some(condition) = condition {
            let key = |id| self.ctes.get(&id).map_or(&[] as &[(usize, usize)], |cte| cte.key.as_slice());
            used.extend(free_in_expr(condition, inside.scopes, false, &key));
        }
        let (mir, inside, used) = row_by_row(rel.mir.clone(), inside, used, sub)?;
        let kept = self.attach(mir, &inside, &used, kind, &[], |this, keys, env| {
            let width = keys.arity();
            let applied = this.apply(sub, keys, true, env)?;
            match condition {
                Some(condition) => this.filter(Rel::over(applied, width, env), std::slice::from_ref(condition)),
                None => Ok(applied),
            }
        })?;
        Ok(kept.project((0..rel.mir.arity()).collect()))
    }

    /// Rows of `rel` for which `condition` is false for every row of `sub`.
    fn not_any(&mut self, rel: &Rel, sub: &Hir, condition: &HirExpr) -> Result<Mir, PlanError> {
        let sub = without_order(sub, false);
        if let Some(kept) = self.outside_ends(rel, sub, condition)? {
            return Ok(kept);
        }
        let Some(joint) = self.standing_alone(rel, sub, Some(condition))? else {
            if let Some(kept) = self.marked(rel, sub, condition, is_false)? {
                return Ok(kept);
            }
            let condition = expr::is_not_false(condition.clone());
            return self.semi(rel, sub, Some(&condition), MatchKind::Anti);
        };
        let left_arity = rel.mir.arity();
        let whole = condition;
        let condition = ScalarExpr::And(joint.condition);
        let nulls = comparison(&condition).and_then(|args| {
            let types: Vec<_> = rel.mir.types().into_iter().chain(joint.right.types()).collect();
            let one_sided = |arg: &ScalarExpr| {
                expr::reads_only(arg, |column| column < left_arity)
                    || expr::reads_only(arg, |column| column >= left_arity)
            };
            let simple = args.iter().all(|arg| {
                one_sided(arg)
                    && !matches!(expr::scalar_type(arg, &types), ScalarType::Record(_) | ScalarType::Array(_))
            });
            let nullable = args.iter().filter(|arg| expr::nullable(arg, &types));
            simple.then(|| nullable.map(|arg| shape::is_null(arg, &types)).collect::<Result<Vec<_>, _>>())
        });
        let Some(nulls) = nulls.transpose()? else {
            if let Some(kept) = self.marked(rel, sub, whole, is_false)? {
                return Ok(kept);
            }
            let mut on = joint.predicates;
            on.push(expr::is_not_false(condition));
            return Ok(matching(&rel.mir, joint.right, MatchKind::Anti, on));
        };
        self.bind(joint.right, |_, right| {
            let mut on = joint.predicates.clone();
            expr::conjuncts(&condition, &mut on);
            let mut kept = matching(&rel.mir, right.clone(), MatchKind::Anti, on);
            for null in nulls {
                let mut on = joint.predicates.clone();
                on.push(null);
                kept = matching(&kept, right.clone(), MatchKind::Anti, on);
            }
            Ok(kept)
        })
    }

    /// Rows whose mark is as a condition says; none if they cannot be marked.
    pub(super) fn marked(
        &mut self,
        rel: &Rel,
        sub: &Hir,
        condition: &HirExpr,
        says: impl FnOnce(ScalarExpr) -> ScalarExpr,
    ) -> Result<Option<Mir>, PlanError> {
        let arity = rel.mir.arity();
        let mut rel = Rel { mir: rel.mir.clone(), columns: rel.columns.clone(), env: rel.env.clone() };
        let value = match self.mark(sub, condition, &mut rel, &[])? {
            Some(value) => Some(value),
            None => self.extreme(sub, condition, &mut rel, &[])?,
        };
        Ok(value.map(|value| rel.mir.filter(vec![says(value)]).project((0..arity).collect())))
    }

    /// A subquery whose correlation is in its predicates only, as a relation of its own and conditions over
    /// the columns of `rel`, then its. `None` if it has to be computed per outer value.
    fn standing_alone(
        &mut self,
        rel: &Rel,
        sub: &Hir,
        condition: Option<&HirExpr>,
    ) -> Result<Option<Joint>, PlanError> {
        let inside = rel.inside();
        let peeled = peel(sub);
        let correlated = |base: &&Hir| !self.free(base, inside.scopes).is_empty();
        if condition.is_some_and(has_subquery) || peeled.bases.iter().any(correlated) {
            return Ok(None);
        }
        let mut right = Mir::unit();
        for base in &peeled.bases {
            right = self.apply(base, right, true, &Env::scopes(inside.scopes))?;
        }
        let arity = rel.mir.arity();
        let columns = (arity..arity + right.arity()).map(Some).collect();
        let over = Rel { mir: Mir::unit(), columns, env: inside };
        let predicates =
            peeled.predicates.iter().map(|predicate| self.pure(predicate, &over)).collect::<Result<Vec<_>, _>>()?;
        let mut conditions = Vec::new();
        if let Some(condition) = condition {
            expr::conjuncts(&self.pure(&over_bases(condition, &peeled.outputs), &over)?, &mut conditions);
        }
        Ok(Some(Joint { right, predicates, condition: conditions }))
    }
}

pub(super) fn is_false(value: ScalarExpr) -> ScalarExpr {
    expr::is_not_true(expr::is_not_false(value))
}

/// Whether conditions read columns of the relation that are not its own, but of scopes around it.
fn reads_around(rel: &Rel, on: &[ScalarExpr]) -> bool {
    let own: BTreeSet<usize> = rel.columns.iter().flatten().copied().collect();
    on.iter().flat_map(ScalarExpr::columns).any(|column| column < rel.mir.arity() && !own.contains(&column))
}

/// A semi join by equalities as an inner join with the right side's distinct values, of which a left row equals one at most.
fn joined_once(left: &Mir, right: &Mir, on: &[ScalarExpr]) -> Option<Mir> {
    let (arity, width) = (left.arity(), right.arity());
    let types: Vec<_> = left.types().into_iter().chain(right.types()).collect();
    let of_left = |expr: &ScalarExpr| expr::reads_only(expr, |column| column < arity);
    let of_right = |expr: &ScalarExpr| expr::reads_only(expr, |column| column >= arity);
    let class = |expr: &ScalarExpr| shape::key_class(&expr::scalar_type(expr, &types));
    let (mut within, mut conditions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for condition in on {
        if expr::is_volatile(condition) {
            return None;
        }
        if of_left(condition) {
            conditions.push(condition.clone());
            continue;
        }
        if of_right(condition) {
            within.push(expr::renumber(condition, |column| column - arity));
            continue;
        }
        let ScalarExpr::Call { function, result, .. } = condition else { return None };
        let (one, other) = shape::equality(condition)?;
        if class(one).is_none() || class(one) != class(other) {
            return None;
        }
        let value = ScalarExpr::Column(arity + values.len());
        let (args, inner) = match (of_left(one), of_right(one), of_left(other), of_right(other)) {
            (true, _, _, true) => (vec![one.clone(), value], other),
            (_, true, true, _) => (vec![value, other.clone()], one),
            _ => return None,
        };
        conditions.push(ScalarExpr::Call { function, args, result: result.clone() });
        values.push(expr::renumber(inner, |column| column - arity));
    }
    let count = values.len();
    let distinct = right.clone().filter(within).map(values).project((width..width + count).collect()).distinct();
    let joined = Mir::Join { inputs: vec![left.clone(), distinct], on: conditions, same: Vec::new() };
    Some(joined.project((0..arity).collect()))
}

/// The right side of a semi join, and conditions over both sides.
struct Joint {
    right: Mir,
    predicates: Vec<ScalarExpr>,
    condition: Vec<ScalarExpr>,
}

fn matching(left: &Mir, right: Mir, kind: MatchKind, on: Vec<ScalarExpr>) -> Mir {
    Mir::Match { left: Box::new(left.clone()), right: Box::new(right), kind, on, same: Vec::new() }
}

/// A lone comparison, NULL only where an argument is.
fn comparison(condition: &ScalarExpr) -> Option<&[ScalarExpr]> {
    match condition {
        ScalarExpr::And(args) => match args.as_slice() {
            [only] => comparison(only),
            _ => None,
        },
        ScalarExpr::Call { function, args, .. } if shape::is_comparison(function) && args.len() == 2 => Some(args),
        _ => None,
    }
}
