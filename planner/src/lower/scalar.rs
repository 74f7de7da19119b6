//! Expressions lowered over a relation that grows: each subquery within appends columns to it.
//!
//! Branches of CASE carry a guard, so that their subqueries are computed for rows that reach them only.

use super::Lowering;
use super::branch::position;
use super::env::{Env, has_subquery};
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr};
use crate::mir::{Mir, expr};
use crate::scalar::ScalarExpr;

/// A relation, where the columns of level 0 are in it, and what is around it. Columns past those are free
/// to be appended; positions never change.
pub(super) struct Rel {
    /// The relation so far.
    pub(super) mir: Mir,
    /// Positions of level 0; `None` for columns that nothing asks for.
    pub(super) columns: Vec<Option<usize>>,
    /// Enclosing scopes.
    pub(super) env: Env,
}

impl Rel {
    /// An applied relation: `outer` columns of the outer, then its own.
    pub(super) fn over(mir: Mir, outer: usize, env: &Env) -> Rel {
        let columns = (outer..mir.arity()).map(Some).collect();
        Rel { mir, columns, env: env.clone() }
    }

    /// Where a column that an expression over this relation names is.
    pub(super) fn resolve(&self, level: usize, index: usize) -> Result<usize, PlanError> {
        if level == 0 {
            let column = self.columns.get(index).copied().flatten();
            return column.ok_or_else(|| PlanError::new("XX000", "a column is out of reach"));
        }
        let scope = self.env.scopes.checked_sub(level);
        position(&self.env, (scope.ok_or_else(|| PlanError::new("XX000", "a column is outside all scopes"))?, index))
    }

    /// The scopes that a subquery in an expression over this relation sees.
    pub(super) fn inside(&self) -> Env {
        self.env.entered(&self.columns)
    }
}

impl Lowering<'_> {
    /// Lowers an expression without subqueries.
    pub(super) fn pure(&self, expr: &HirExpr, rel: &Rel) -> Result<ScalarExpr, PlanError> {
        expr::try_replace(expr, &mut |column| match column {
            HirColumn::Column { level, index } => Ok(ScalarExpr::Column(rel.resolve(*level, *index)?)),
            HirColumn::Exists(_) | HirColumn::Scalar(_) | HirColumn::Any { .. } | HirColumn::ArrayOf(..) => {
                Err(PlanError::unsupported("a subquery at this place"))
            }
        })
    }

    /// The conjuncts of a predicate without subqueries.
    pub(super) fn pure_conjuncts(&self, predicate: &HirExpr, rel: &Rel) -> Result<Vec<ScalarExpr>, PlanError> {
        let mut conjuncts = Vec::new();
        expr::conjuncts(&self.pure(predicate, rel)?, &mut conjuncts);
        Ok(conjuncts)
    }

    /// Lowers several expressions, none of which sees another.
    pub(super) fn scalars(&mut self, exprs: &[HirExpr], rel: &mut Rel) -> Result<Vec<ScalarExpr>, PlanError> {
        exprs.iter().map(|expr| self.scalar(expr, rel, &[])).collect()
    }

    /// Lowers an expression; its subqueries become columns of `rel`, computed where `guard` holds.
    pub(super) fn scalar(
        &mut self,
        expr: &HirExpr,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        if !has_subquery(expr) {
            return self.pure(expr, rel);
        }
        match expr {
            ScalarExpr::Column(HirColumn::Exists(relation)) => self.exists_value(relation, rel, guard),
            ScalarExpr::Column(HirColumn::Scalar(relation)) => self.scalar_value(relation, rel, guard),
            ScalarExpr::Column(HirColumn::Any { relation, condition }) => {
                self.any_value(relation, condition, rel, guard)
            }
            ScalarExpr::Column(HirColumn::ArrayOf(relation, result)) => self.array_value(relation, result, rel, guard),
            ScalarExpr::Case { branches, otherwise, result } => {
                let mut guard = guard.to_vec();
                let mut lowered = Vec::with_capacity(branches.len());
                for (when, then) in branches {
                    let when = self.scalar(when, rel, &guard)?;
                    // A volatile condition would be rolled twice: its branch goes unguarded.
                    let certain = !expr::is_volatile(&when);
                    let reached = guard.len();
                    if certain {
                        guard.push(when.clone());
                    }
                    let then = self.scalar(then, rel, &guard)?;
                    guard.truncate(reached);
                    if certain {
                        guard.push(expr::is_not_true(when.clone()));
                    }
                    lowered.push((when, then));
                }
                let otherwise = Box::new(self.scalar(otherwise, rel, &guard)?);
                Ok(ScalarExpr::Case { branches: lowered, otherwise, result: result.clone() })
            }
            ScalarExpr::Column(HirColumn::Column { .. })
            | ScalarExpr::Literal(..)
            | ScalarExpr::Param(..)
            | ScalarExpr::Operand(_) => self.pure(expr, rel),
            ScalarExpr::Once { operand, body } => self.once(operand, body, rel, guard),
            // What domains ask is about the value alone.
            ScalarExpr::Tested { operand, body } => Ok(ScalarExpr::Tested {
                operand: Box::new(self.scalar(operand, rel, guard)?),
                body: Box::new(self.pure(body, rel)?),
            }),
            ScalarExpr::Call { function, args, result } => {
                Ok(ScalarExpr::Call { function, args: self.guarded(args, rel, guard)?, result: result.clone() })
            }
            ScalarExpr::And(args) => Ok(ScalarExpr::And(self.guarded(args, rel, guard)?)),
            ScalarExpr::Or(args) => Ok(ScalarExpr::Or(self.guarded(args, rel, guard)?)),
            ScalarExpr::Coalesce(args, result) => {
                Ok(ScalarExpr::Coalesce(self.guarded(args, rel, guard)?, result.clone()))
            }
            ScalarExpr::Array(args, result) => Ok(ScalarExpr::Array(self.guarded(args, rel, guard)?, result.clone())),
            ScalarExpr::Record(args, result) => Ok(ScalarExpr::Record(self.guarded(args, rel, guard)?, result.clone())),
            ScalarExpr::Cast { expr, cast, to } => Ok(ScalarExpr::Cast {
                expr: Box::new(self.scalar(expr, rel, guard)?),
                cast: cast.clone(),
                to: to.clone(),
            }),
        }
    }

    /// What is made of an operand that is evaluated once. It becomes a column beside the rows where subqueries of the body stand
    /// behind tests of it, or where it is one itself.
    fn once(
        &mut self,
        operand: &HirExpr,
        body: &HirExpr,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<ScalarExpr, PlanError> {
        let mut operand = self.scalar(operand, rel, guard)?;
        if !has_subquery(body) && expr::is_volatile(&operand) {
            let body = Box::new(self.pure(body, rel)?);
            return Ok(ScalarExpr::Once { operand: Box::new(operand), body });
        }
        if !guard.is_empty() {
            // Rows that do not get here must not fail here, nor call anything.
            let result = expr::scalar_type(&operand, &rel.mir.types());
            operand = ScalarExpr::Case {
                branches: vec![(ScalarExpr::And(guard.to_vec()), operand)],
                otherwise: Box::new(expr::null(result.clone())),
                result,
            };
        }
        let at = rel.mir.arity();
        rel.mir = std::mem::replace(&mut rel.mir, Mir::unit()).map(vec![operand]);
        rel.columns.push(Some(at));
        let column = ScalarExpr::Column(HirColumn::Column { level: 0, index: rel.columns.len() - 1 });
        self.scalar(&body.with_operand(&column), rel, guard)
    }

    fn guarded(
        &mut self,
        exprs: &[HirExpr],
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<Vec<ScalarExpr>, PlanError> {
        exprs.iter().map(|expr| self.scalar(expr, rel, guard)).collect()
    }
}
