//! Rough sizes, in the absence of statistics: enough to tell a point from a table.

use super::Planner;
use super::chain::Chain;
use super::costs::{
    CATALOG_ROWS, EQUAL_SHARE, FUNCTION_ROWS, GROUP_SHARE, INDEX_ROWS, LIMIT_ROWS, LISTED_SHARE, LOOKUP_COST,
    OTHER_SHARE, PREFIX_SHARE, RANGE_SHARE, RECURSION_GROWTH, ROWS_MIN, TABLE_ROWS, UNEQUAL_SHARE,
};
use crate::mir::Mir;
use crate::plan::{Access, MatchKind};
use crate::scalar::ScalarExpr;
use crate::scalar::func::Comparison;
use crate::transform::shape;
use repr::Datum;

/// How many rows come out, and how many are touched for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// Rows that come out.
    pub(super) rows: f64,
    /// Rows touched.
    pub(super) cost: f64,
}

impl Planner<'_> {
    /// The size of a relation.
    pub(super) fn estimate(&self, mir: &Mir) -> Estimate {
        if let Some(sizes) = &self.sizes {
            let size = self.size(mir, sizes);
            return Estimate { rows: size.rows, cost: size.cost };
        }
        let Chain { core, mfp } = Chain::of(mir, self.maintained);
        let (mut estimate, filtered) = match core {
            Mir::Get { relation, .. } => {
                let mfp = self.with_kept(*relation, mfp);
                let found = self.access(*relation, &mfp);
                // What may have to read all rows is planned as if it had to.
                let estimate = if self.reads_all(*relation, &found.access) {
                    let rows = self.access_rows(*relation, &Access::Scan);
                    Estimate { rows, cost: rows }
                } else {
                    let rows = self.access_rows(*relation, &found.access);
                    Estimate { rows, cost: rows * LOOKUP_COST }
                };
                (estimate, found.residual)
            }
            other => (self.estimate_core(other), mfp.filter.into_iter().map(|(_, predicate)| predicate).collect()),
        };
        for predicate in &filtered {
            estimate.rows *= selectivity(predicate);
        }
        estimate.rows = estimate.rows.max(ROWS_MIN);
        estimate
    }

    /// Rows that an access gives.
    pub(super) fn access_rows(&self, relation: repr::RelationId, access: &Access) -> f64 {
        let Some(table) = self.catalog.table(relation) else { return CATALOG_ROWS };
        match access {
            Access::Scan | Access::Listed { .. } | Access::Met { .. } => TABLE_ROWS,
            Access::Lookup { lookup, keys, .. } => {
                let bound = keys.first().map_or(0, Vec::len);
                keys.len() as f64 * self.lookup_rows(table, *lookup, bound)
            }
            Access::Inverted { conditions, .. } => TABLE_ROWS * PREFIX_SHARE.powi(conditions.len() as i32),
            Access::Range { prefix, lower, upper, .. } => {
                let bounds = [lower.is_some(), upper.is_some()].into_iter().filter(|bound| *bound).count();
                TABLE_ROWS * PREFIX_SHARE.powi(prefix.len() as i32) * RANGE_SHARE.powi(bounds as i32)
            }
        }
    }

    fn estimate_core(&self, core: &Mir) -> Estimate {
        match core {
            Mir::Constant { rows, .. } => Estimate { rows: rows.len() as f64, cost: rows.len() as f64 },
            Mir::GetLocal { id, .. } => {
                let rows = self.locals.get(id).copied().unwrap_or(TABLE_ROWS);
                Estimate { rows, cost: rows }
            }
            Mir::Join { inputs, on, same } => self.estimate_join(inputs, on.len() + same.len()),
            Mir::Match { left, right, kind, .. } => {
                let (left, right) = (self.estimate(left), self.estimate(right));
                let rows = match kind {
                    MatchKind::Inner | MatchKind::Left => left.rows,
                    MatchKind::Semi | MatchKind::Anti => left.rows * OTHER_SHARE,
                };
                Estimate { rows, cost: left.cost + right.cost.min(left.rows * LOOKUP_COST) }
            }
            Mir::TableFunction { input, .. } => {
                let input = self.estimate(input);
                let rows = input.rows * FUNCTION_ROWS;
                Estimate { rows, cost: input.cost + rows }
            }
            Mir::Reduce { input, keys, aggregates, .. } => {
                let input = self.estimate(input);
                let rows = match (keys.is_empty(), aggregates.is_empty()) {
                    (true, _) => 1.0,
                    (false, true) => input.rows,
                    (false, false) => input.rows * GROUP_SHARE,
                };
                Estimate { rows, cost: input.cost + input.rows }
            }
            Mir::TopK { input, keys, limit, .. } => {
                let input = self.estimate(input);
                let rows = if keys.is_empty() { limit_rows(limit.as_ref(), input.rows) } else { input.rows };
                Estimate { rows, cost: input.cost + input.rows }
            }
            Mir::Union(inputs, _) => {
                inputs.iter().map(|input| self.estimate(input)).fold(Estimate { rows: 0.0, cost: 0.0 }, |sum, input| {
                    Estimate { rows: sum.rows + input.rows, cost: sum.cost + input.cost }
                })
            }
            Mir::Window { input, .. } | Mir::AtMostOne { input, .. } | Mir::Negate(input) | Mir::Threshold(input) => {
                let input = self.estimate(input);
                Estimate { rows: input.rows, cost: input.cost + input.rows }
            }
            Mir::Let { value, body, .. } => {
                let (value, body) = (self.estimate(value), self.estimate(body));
                Estimate { rows: body.rows, cost: value.cost + body.cost }
            }
            Mir::LetRec { base, body, .. } => {
                let (base, body) = (self.estimate(base), self.estimate(body));
                Estimate { rows: body.rows, cost: base.cost * RECURSION_GROWTH + body.cost }
            }
            Mir::Filter { input, .. } => {
                let input = self.estimate(input);
                Estimate { rows: input.rows * RANGE_SHARE, cost: input.cost + input.rows }
            }
            Mir::Get { .. } | Mir::Map { .. } | Mir::Project { .. } => Estimate { rows: TABLE_ROWS, cost: TABLE_ROWS },
        }
    }

    fn estimate_join(&self, inputs: &[Mir], conditions: usize) -> Estimate {
        let mut inputs: Vec<Estimate> = inputs.iter().map(|input| self.estimate(input)).collect();
        inputs.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        let mut total = Estimate { rows: 1.0, cost: 0.0 };
        let mut linked = conditions;
        for (index, input) in inputs.iter().enumerate() {
            if index > 0 && linked > 0 {
                linked -= 1;
                total.cost += input.cost.min(total.rows * LOOKUP_COST);
                total.rows *= (input.rows / TABLE_ROWS).clamp(ROWS_MIN, 1.0) * INDEX_ROWS.min(input.rows.max(1.0));
            } else {
                total.cost += input.cost;
                total.rows *= input.rows;
            }
        }
        total
    }
}

/// How many of so many rows a limit lets through.
pub(super) fn limit_rows(limit: Option<&ScalarExpr>, rows: f64) -> f64 {
    match limit {
        Some(ScalarExpr::Literal(Datum::Int8(limit), _)) => rows.min(*limit as f64),
        Some(_) => rows.min(LIMIT_ROWS),
        None => rows,
    }
}

/// The share of rows that pass a predicate.
pub(super) fn selectivity(predicate: &ScalarExpr) -> f64 {
    match shape::compared(predicate) {
        Some((Comparison::Equal | Comparison::NotDistinct, ..)) => EQUAL_SHARE,
        Some((Comparison::NotEqual | Comparison::Distinct, ..)) => UNEQUAL_SHARE,
        Some((Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual, ..)) => {
            RANGE_SHARE
        }
        None if shape::equal_to_any(predicate).is_some() => LISTED_SHARE,
        None => OTHER_SHARE,
    }
}
