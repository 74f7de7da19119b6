//! Aggregation over an outer relation, and what aggregates give over nothing.

use super::Lowering;
use super::branch::pair;
use super::env::Env;
use super::ordered;
use super::scalar::Rel;
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr};
use crate::mir::{Mir, expr};
use crate::plan::MatchKind;
use crate::scalar::{AggregateCall, ScalarExpr};
use crate::transform::fold;
use repr::{ColumnType, Datum};

/// Keys, aggregates, and whether there is a row over nothing.
pub(super) type Grouping<'a> = (&'a [HirExpr], &'a [AggregateCall<HirColumn>], bool);

impl Lowering<'_> {
    /// A Reduce over `outer`, a set. Without GROUP BY every outer row gets its row.
    pub(super) fn reduce(&mut self, input: &Hir, grouping: Grouping, outer: Mir, env: &Env) -> Result<Mir, PlanError> {
        let (_, aggregates, scalar) = grouping;
        if !scalar || outer.is_unit() {
            return self.groups(input, grouping, outer, env);
        }
        self.bind(outer, |this, outer| {
            let groups = this.groups(input, grouping, outer.clone(), env)?;
            let key: Vec<usize> = (0..outer.arity()).collect();
            let arity = outer.arity();
            with_defaults(pair(outer, groups, &key, MatchKind::Left), arity, aggregates)
        })
    }

    /// The groups that have rows; over the unit and without GROUP BY, the one group.
    pub(super) fn groups(
        &mut self,
        input: &Hir,
        (keys, aggregates, scalar): Grouping,
        outer: Mir,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let arity = outer.arity();
        let alone = outer.is_unit();
        let (input, aggregates) = ordered::with_input_order(input, aggregates, &|id| self.cte_order(id), self.catalog);
        let mut rel: Rel = self.input(&input, outer, true, env)?;
        let mut all_keys: Vec<ScalarExpr> = (0..arity).map(ScalarExpr::Column).collect();
        all_keys.extend(self.scalars(keys, &mut rel)?);
        let mut calls = Vec::with_capacity(aggregates.len());
        for call in aggregates.iter() {
            calls.push(expr::try_replace_aggregate(call, &mut |expr| self.scalar(expr, &mut rel, &[]))?);
        }
        // Operators may look at what they group by as often as they like: what is volatile becomes a column first.
        let width = rel.mir.arity();
        let mut volatile = Vec::new();
        let exprs = all_keys.iter_mut().chain(calls.iter_mut().flat_map(expr::aggregate_exprs_mut));
        for expr in exprs.filter(|expr| expr::is_volatile(expr)) {
            let column = ScalarExpr::Column(width + volatile.len());
            volatile.push(std::mem::replace(expr, column));
        }
        let input = Box::new(rel.mir.map(volatile));
        Ok(Mir::Reduce { input, keys: all_keys, aggregates: calls, scalar: scalar && alone })
    }
}

/// After a left join that appended aggregates at `at`: puts in what they give over no rows, where that is
/// not NULL (count). Such aggregates never give NULL over rows.
pub(super) fn with_defaults(mir: Mir, at: usize, aggregates: &[AggregateCall<HirColumn>]) -> Result<Mir, PlanError> {
    let mut exprs = Vec::new();
    let mut columns: Vec<usize> = (0..mir.arity()).collect();
    for (index, call) in aggregates.iter().enumerate() {
        let default = fold::aggregate_over_nothing(call)?;
        if matches!(default, Datum::Null) {
            continue;
        }
        let literal = ScalarExpr::Literal(default, ColumnType::nullable(call.result.clone()));
        columns[at + index] = mir.arity() + exprs.len();
        exprs.push(ScalarExpr::Coalesce(vec![ScalarExpr::Column(at + index), literal], call.result.clone()));
    }
    Ok(mir.map(exprs).project(columns))
}
