//! Subqueries as values: each appends columns to the relation that its expression stands over.

use super::Lowering;
use super::aggregate::with_defaults;
use super::branch::{pair, row_by_row};
use super::env::{Env, free_in_expr, has_subquery};
use super::ordered::{self, By};
use super::peel::{peel, without_order};
use super::scalar::Rel;
use super::stored_order::stored_order;
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::mir::{Mir, expr};
use crate::names::Label;
use crate::plan::{Counting, MatchKind};
use crate::scalar::{AggregateCall, Order, ScalarExpr};
use crate::transform::shape;
use repr::{Datum, ScalarType};
use std::collections::BTreeSet;

impl Lowering<'_> {
    /// EXISTS: true where a row is found, else false.
    pub(super) fn exists_value(
        &mut self,
        sub: &Hir,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let sub = without_order(sub, true);
        let inside = rel.inside();
        let used = self.free(sub, inside.scopes);
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let (mir, inside, used) = row_by_row(mir, inside, used, sub)?;
        rel.mir = self.attach(mir, &inside, &used, MatchKind::Left, guard, |this, keys, env| {
            let width = keys.arity();
            let found = this.apply(sub, keys, true, env)?;
            Ok(found.project((0..width).collect()).distinct().map(vec![expr::boolean(true)]))
        })?;
        let found = ScalarExpr::Column(rel.mir.arity() - 1);
        Ok(ScalarExpr::Coalesce(vec![found, expr::boolean(false)], ScalarType::Bool))
    }

    /// `op ANY`: true if true for a row, else NULL if NULL for a row, else false.
    pub(super) fn any_value(
        &mut self,
        sub: &Hir,
        condition: &HirExpr,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let sub = without_order(sub, false);
        if let Some(value) = self.mark(sub, condition, rel, guard)? {
            return Ok(value);
        }
        if let Some(value) = self.extreme(sub, condition, rel, guard)? {
            return Ok(value);
        }
        let inside = rel.inside();
        let mut used = self.free(sub, inside.scopes);
        let key = |id| self.ctes.get(&id).map_or(&[] as &[(usize, usize)], |cte| cte.key.as_slice());
        used.extend(free_in_expr(condition, inside.scopes, false, &key));
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let (mir, inside, used) = row_by_row(mir, inside, used, sub)?;
        rel.mir = self.attach(mir, &inside, &used, MatchKind::Left, guard, |this, keys, env| {
            let width = keys.arity();
            let applied = this.apply(sub, keys, true, env)?;
            let mut rows = Rel::over(applied, width, env);
            let condition = this.scalar(condition, &mut rows, &[])?;
            let at = rows.mir.arity();
            // Per key the verdict that counts most: true, then NULL, then false.
            let rank = ScalarExpr::Case {
                branches: vec![(ScalarExpr::Column(at), expr::bigint(0))],
                otherwise: Box::new(ScalarExpr::Case {
                    branches: vec![(expr::is_not_false(ScalarExpr::Column(at)), expr::bigint(1))],
                    otherwise: Box::new(expr::bigint(2)),
                    result: ScalarType::Int8,
                }),
                result: ScalarType::Int8,
            };
            let verdicts = rows.mir.map(vec![condition, rank]).project((0..width).chain([at, at + 1]).collect());
            let best = Mir::TopK {
                input: Box::new(verdicts.distinct()),
                keys: (0..width).collect(),
                order: vec![Order::ascending(width + 1)],
                limit: Some(expr::bigint(1)),
                offset: None,
                counting: Counting::Rows,
            };
            Ok(best.project((0..=width).collect()).map(vec![expr::boolean(true)]))
        })?;
        let found = rel.mir.arity() - 1;
        Ok(ScalarExpr::Case {
            branches: vec![(ScalarExpr::Column(found), ScalarExpr::Column(found - 1))],
            otherwise: Box::new(expr::boolean(false)),
            result: ScalarType::Bool,
        })
    }

    /// A scalar subquery: NULL without a row, 21000 for two.
    pub(super) fn scalar_value(
        &mut self,
        sub: &Hir,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let inside = rel.inside();
        if guard.is_empty() && self.unique_lookup(sub, rel)? {
            return Ok(ScalarExpr::Column(rel.mir.arity() - 1));
        }
        if let Some((nodes, reduce)) = over_scalar_reduce(sub) {
            return self.aggregate_value(&nodes, reduce, rel, guard);
        }
        let used = self.free(sub, inside.scopes);
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let (mir, inside, used) = row_by_row(mir, inside, used, sub)?;
        rel.mir = self.attach(mir, &inside, &used, MatchKind::Left, guard, |this, keys, env| {
            let width = keys.arity();
            let applied = this.apply(sub, keys, true, env)?;
            if at_most_one(sub) {
                return Ok(applied);
            }
            Ok(Mir::AtMostOne { input: Box::new(applied), keys: (0..width).collect() })
        })?;
        Ok(ScalarExpr::Column(rel.mir.arity() - 1))
    }

    /// ARRAY(subquery): array_agg in the subquery's order; empty, not NULL, without a row.
    pub(super) fn array_value(
        &mut self,
        sub: &Hir,
        result: &ScalarType,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let (input, order) = ordered::carry(sub, By::Coming, &|id| self.cte_order(id))
            .or_else(|| stored_order(sub, self.catalog))
            .unwrap_or_else(|| (sub.clone(), Vec::new()));
        let element = sub.types.first().map_or(ScalarType::Unknown, |column| column.scalar.clone());
        let call = AggregateCall {
            function: shape::array_agg(&element)?,
            args: vec![ScalarExpr::Column(HirColumn::Column { level: 0, index: 0 })],
            distinct: false,
            filter: None,
            order_by: ordered::as_aggregate_order(&order),
            result: result.clone(),
            label: Label::default(),
        };
        let types = vec![repr::ColumnType::nullable(result.clone())];
        let node = HirNode::Reduce { input: Box::new(input), keys: Vec::new(), aggregates: vec![call], scalar: true };
        let array = self.aggregate_value(&[], &Hir { node, types }, rel, guard)?;
        Ok(ScalarExpr::Coalesce(vec![array, shape::empty_array(result)?], result.clone()))
    }

    /// Maps and projections (`nodes`, innermost first) over an aggregate without GROUP BY.
    fn aggregate_value(
        &mut self,
        nodes: &[&HirNode],
        reduce: &Hir,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let HirNode::Reduce { input, keys, aggregates, scalar } = &reduce.node else {
            return Err(PlanError::new("XX000", "an aggregate was expected"));
        };
        let inside = rel.inside();
        let used = self.free(reduce, inside.scopes);
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let (mir, inside, used) = row_by_row(mir, inside, used, reduce)?;
        let before = mir.arity();
        let grouping = (keys.as_slice(), aggregates.as_slice(), *scalar);
        rel.mir = if used.is_empty() && guard.is_empty() {
            let one = self.groups(input, grouping, Mir::unit(), &inside.closed())?;
            pair(mir, one, &[], MatchKind::Inner)
        } else {
            let groups = self.attach(mir, &inside, &used, MatchKind::Left, guard, |this, keys, env| {
                this.groups(input, grouping, keys, env)
            })?;
            with_defaults(groups, before, aggregates)?
        };
        let mut columns: Vec<usize> = (before..rel.mir.arity()).collect();
        for node in nodes {
            match node {
                HirNode::Project(_, chosen) => columns = chosen.iter().map(|column| columns[*column]).collect(),
                HirNode::Map(_, exprs) => {
                    let mir = std::mem::replace(&mut rel.mir, Mir::unit());
                    let over = Rel { mir, columns: columns.iter().copied().map(Some).collect(), env: inside.clone() };
                    let exprs = exprs.iter().map(|expr| self.pure(expr, &over)).collect::<Result<Vec<_>, _>>()?;
                    let arity = over.mir.arity();
                    columns.extend(arity..arity + exprs.len());
                    rel.mir = over.mir.map(exprs);
                }
                _ => return Err(PlanError::new("XX000", "a projection was expected")),
            }
        }
        Ok(ScalarExpr::Column(columns[0]))
    }

    /// A subquery that reads one row of a table by a unique key becomes a left join with that table.
    fn unique_lookup(&mut self, sub: &Hir, rel: &mut Rel) -> Result<bool, PlanError> {
        let peeled = peel(sub);
        let ([base], [ScalarExpr::Column(HirColumn::Column { level: 0, index: output })]) =
            (peeled.bases.as_slice(), peeled.outputs.as_slice())
        else {
            return Ok(false);
        };
        let HirNode::Get { relation, with_key: false, .. } = &base.node else {
            return Ok(false);
        };
        let fixed: BTreeSet<usize> = peeled.predicates.iter().filter_map(fixed_column).collect();
        let Some(table) = self.catalog.table(*relation) else {
            return Ok(false);
        };
        let unique = table.whole_indexes().any(|index| {
            let certain = index.unique && index.constraint.as_ref().is_none_or(|constraint| !constraint.deferrable);
            certain && index.columns.iter().all(|column| fixed.contains(column))
        });
        if !unique {
            return Ok(false);
        }
        let inside = rel.inside();
        let right = self.apply(base, Mir::unit(), true, &Env::scopes(inside.scopes))?;
        let arity = rel.mir.arity();
        let over = Rel { mir: Mir::unit(), columns: (arity..arity + right.arity()).map(Some).collect(), env: inside };
        let on =
            peeled.predicates.iter().map(|predicate| self.pure(predicate, &over)).collect::<Result<Vec<_>, _>>()?;
        let left = std::mem::replace(&mut rel.mir, Mir::unit());
        let joined =
            Mir::Match { left: Box::new(left), right: Box::new(right), kind: MatchKind::Left, on, same: Vec::new() };
        rel.mir = joined.project((0..arity).chain([arity + output]).collect());
        Ok(true)
    }
}

/// The column of level 0 that a predicate makes equal to something outside.
fn fixed_column(predicate: &HirExpr) -> Option<usize> {
    let (left, right) = shape::equality(predicate)?;
    let own = |expr: &HirExpr| match shape::relabelled(expr) {
        ScalarExpr::Column(HirColumn::Column { level: 0, index }) => Some(*index),
        _ => None,
    };
    let outside = |expr: &HirExpr| {
        let mut outside = true;
        expr::visit_columns(expr, &mut |column| {
            outside &= matches!(column, HirColumn::Column { level, .. } if *level > 0);
        });
        outside
    };
    match (own(left), own(right)) {
        (Some(column), None) if outside(right) => Some(column),
        (None, Some(column)) if outside(left) => Some(column),
        _ => None,
    }
}

/// Maps and projections without subqueries over an aggregate without GROUP BY, innermost first.
fn over_scalar_reduce(hir: &Hir) -> Option<(Vec<&HirNode>, &Hir)> {
    match &hir.node {
        HirNode::Reduce { scalar: true, .. } => Some((Vec::new(), hir)),
        HirNode::Map(input, exprs) if !exprs.iter().any(has_subquery) => {
            let (mut nodes, reduce) = over_scalar_reduce(input)?;
            nodes.push(&hir.node);
            Some((nodes, reduce))
        }
        HirNode::Project(input, _) => {
            let (mut nodes, reduce) = over_scalar_reduce(input)?;
            nodes.push(&hir.node);
            Some((nodes, reduce))
        }
        _ => None,
    }
}

/// Whether a relation certainly has at most one row per outer row.
fn at_most_one(hir: &Hir) -> bool {
    match &hir.node {
        HirNode::Constant(rows, _) => rows.len() <= 1,
        HirNode::Reduce { scalar: true, .. } => true,
        HirNode::Map(input, _) | HirNode::Filter(input, _) | HirNode::Project(input, _) | HirNode::Distinct(input) => {
            at_most_one(input)
        }
        HirNode::TopK { input, keys, limit, .. } => {
            let one = matches!(limit, Some(ScalarExpr::Literal(Datum::Int8(limit), _)) if *limit <= 1);
            (keys.is_empty() && one) || at_most_one(input)
        }
        _ => false,
    }
}
