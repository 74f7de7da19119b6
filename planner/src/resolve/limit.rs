//! LIMIT, OFFSET and FETCH: how many rows of a query come out.
//!
//! What is known once the statement runs stays a limit. What is computed from other rows, by a subquery or from the rows
//! around a subquery, becomes a condition on the number of each row; the order stays what it was.

use super::levels::{expr_levels, has_subquery};
use super::scope::{Clause, Frame};
use super::ties::{numbered, refuse_ties};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{HirExpr, HirQuery};
use crate::scalar::cast::CastContext;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{Expr, LimitClause, Query, Value, ValueWithSpan};

/// Whether a limit depends on rows.
pub(super) fn is_computed(limit: &HirExpr) -> bool {
    let mut outer = false;
    expr_levels(limit, &mut |_, _| outer = true);
    outer || has_subquery(limit)
}

impl Resolver<'_> {
    /// LIMIT and OFFSET: over no row of the query.
    pub(super) fn limits(&mut self, query: &Query) -> Result<(Option<HirExpr>, Option<HirExpr>), PlanError> {
        let (mut limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(_) => {
                return Err(PlanError::new("42601", "LIMIT #,# syntax is not supported")
                    .hint("Use separate LIMIT and OFFSET clauses."));
            }
        };
        let one = Expr::Value(Value::Number("1".to_owned(), false).into());
        if let Some(fetch) = &query.fetch {
            if fetch.percent {
                return Err(PlanError::new("42601", "syntax error at or near \"PERCENT\""));
            }
            // What is no literal stands behind LIMIT: see `parse::row_limit`.
            limit = limit.or(Some(fetch.quantity.as_ref().unwrap_or(&one)));
            if fetch.with_ties {
                if limit.is_some_and(is_null) {
                    let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
                    return Err(PlanError::new("2201W", message));
                }
                refuse_ties(query)?;
            }
        }
        let limit = limit.map(|expr| self.bound(expr, Clause::Limit)).transpose()?.flatten();
        let offset = offset.map(|expr| self.bound(expr, Clause::Offset)).transpose()?.flatten();
        Ok((limit, offset))
    }

    fn bound(&mut self, expr: &Expr, clause: Clause) -> Result<Option<HirExpr>, PlanError> {
        let position = self.position_of(expr);
        let result = self.with_frame(Frame::default().clause(clause), |resolver| {
            let typed = resolver.expr(expr)?;
            let wanted = ColumnType::nullable(ScalarType::Int8);
            let label = resolver.type_label(typed.scalar());
            resolver.cast(typed, &wanted, CastContext::Assignment).map_err(|error| {
                if error.code == "42846" {
                    PlanError::new(
                        "42804",
                        format!("argument of {} must be type bigint, not type {label}", clause.describe()),
                    )
                } else {
                    error
                }
            })
        });
        let (typed, _) = result.map_err(|error| {
            match error.code {
                "42703" | "42P01" => {
                    PlanError::new("42P10", format!("argument of {} must not contain variables", clause.describe()))
                }
                _ => error,
            }
            .at(position)
        })?;
        // LIMIT NULL is no limit.
        Ok(match &typed.expr {
            HirExpr::Literal(Datum::Null, _) => None,
            _ => Some(typed.expr),
        })
    }

    /// The query with its limits as conditions on the rows' numbers.
    pub(super) fn limited_by_numbers(&mut self, query: HirQuery) -> Result<HirQuery, PlanError> {
        let HirQuery { relation, order_by, limit, offset, project, columns, locks, locking } = query;
        if !locks.is_empty() {
            if matches!(self.row_locks.lefts.as_slice(), [Some(_)]) {
                // Each row beside it has a limit of its own: see `lateral_lock`.
                return Ok(HirQuery { relation, order_by, limit, offset, project, columns, locks, locking });
            }
            return Err(PlanError::unsupported("LIMIT of a subquery where rows are locked")
                .hint("Use a constant or a parameter."));
        }
        let bigint = |expr| Typed::new(expr, ScalarType::Int8);
        let (numbered, number) = numbered("row_number", relation, &order_by)?;
        let skipped = match offset {
            Some(offset) => self.call_named("rows_skipped", vec![bigint(offset)], None)?,
            None => Typed::literal(Datum::Int8(0), ScalarType::Int8),
        };
        let beyond = self.operate_built_in("-", number, skipped, None)?;
        let mut within =
            vec![self.operate_built_in(">", beyond.clone(), Typed::literal(Datum::Int8(0), ScalarType::Int8), None)?];
        if let Some(limit) = limit {
            let count = self.call_named("rows_with_ties", vec![bigint(limit)], None)?;
            within.push(self.operate_built_in("<=", beyond, count, None)?);
        }
        let relation = numbered.filter(within.into_iter().map(|condition| condition.expr).collect());
        Ok(HirQuery { relation, order_by, limit: None, offset: None, project, columns, locks, locking })
    }
}

/// NULL as it is written.
fn is_null(expr: &Expr) -> bool {
    matches!(super::expr::unnested(expr), Expr::Value(ValueWithSpan { value: Value::Null, .. }))
}
