//! Subqueries inside expressions: EXISTS, IN, ANY and ALL, scalar ones, ARRAY(…).

use super::created_operator::parts;
use super::levels::shift_expr;
use super::operator::{Field, row_items, symbol};
use super::outputs::Limits;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, OutputColumn};
use repr::ScalarType;
use sqlparser::ast::{BinaryOperator, Expr, Query};

impl Resolver<'_> {
    pub(super) fn sublink(&mut self, query: &Query, limits: Limits) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        self.nesting.sublinks += 1;
        let resolved = self.subquery(query, limits);
        self.nesting.sublinks -= 1;
        let resolved = resolved?;
        self.show_subquery(query, &resolved.0)?;
        Ok(resolved)
    }

    pub(super) fn exists(&mut self, query: &Query, negated: bool) -> Result<Typed, PlanError> {
        let (relation, _) = self.sublink(query, Limits::Rows)?;
        let exists = HirExpr::Column(HirColumn::Exists(Box::new(relation)));
        if negated { self.negate(exists) } else { Ok(Typed::boolean(exists)) }
    }

    pub(super) fn scalar_subquery(&mut self, query: &Query) -> Result<Typed, PlanError> {
        let (relation, columns) = self.sublink(query, Limits::Rows)?;
        if columns.len() != 1 {
            return Err(PlanError::new("42601", "subquery must return only one column"));
        }
        let column_type = repr::ColumnType { nullable: true, ..relation.types[0].clone() };
        Ok(Typed::of(HirExpr::Column(HirColumn::Scalar(Box::new(relation))), column_type))
    }

    pub(super) fn array_subquery(&mut self, query: &Query) -> Result<Typed, PlanError> {
        let (relation, columns) = self.sublink(query, Limits::Ordered)?;
        if columns.len() != 1 {
            return Err(PlanError::new("42601", "subquery must return only one column"));
        }
        let element = match &relation.types[0].scalar {
            ScalarType::Array(inner) => (**inner).clone(),
            other => other.clone(),
        };
        let array = HirExpr::Column(HirColumn::ArrayOf(Box::new(relation), element.clone()));
        Ok(Typed::new(array, ScalarType::Array(Box::new(element))))
    }

    pub(super) fn in_subquery(&mut self, operand: &Expr, query: &Query, negated: bool) -> Result<Typed, PlanError> {
        self.any_subquery(operand, "=", query, false, negated)
    }

    /// `left op ANY (…)` and ALL: over a subquery, else over an array.
    pub(super) fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        all: bool,
    ) -> Result<Typed, PlanError> {
        let symbol = symbol(op)?;
        if let Expr::Subquery(query) = super::expr::unnested(right) {
            return self.any_subquery(left, &symbol, query, all, false);
        }
        let position = self.position_of(left);
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        self.quantified_array(&symbol, left, right, all, position)
    }

    /// `x op ALL (q)` is `NOT (NOT (x op y)) ANY (q)`.
    fn any_subquery(
        &mut self,
        operand: &Expr,
        symbol: &str,
        query: &Query,
        all: bool,
        negated: bool,
    ) -> Result<Typed, PlanError> {
        let is_created = || self.has_created_operators("<>") || self.has_created_operators("=");
        let is_built_in = |symbol| matches!(parts(symbol), (None | Some("pg_catalog"), "<>" | "!="));
        if all && is_built_in(symbol) && !is_created() {
            // Different from all is what NOT IN says.
            return self.any_subquery(operand, "=", query, false, !negated);
        }
        let position = self.position_of(operand);
        let lefts = match row_items(operand) {
            Some(fields) => self.fields(&fields)?,
            None => vec![self.expr(operand)?],
        };
        let (relation, columns) = self.sublink(query, Limits::Rows)?;
        if columns.len() != lefts.len() {
            let which = if columns.len() > lefts.len() { "many" } else { "few" };
            return Err(PlanError::new("42601", format!("subquery has too {which} columns")).at(position));
        }
        let mut condition = self.over_subquery(symbol, lefts, &relation).map_err(|error| error.at(position))?;
        if all {
            condition = self.negate(condition)?.expr;
        }
        let any = HirExpr::Column(HirColumn::Any { relation: Box::new(relation), condition: Box::new(condition) });
        if all == negated { Ok(Typed::boolean(any)) } else { self.negate(any) }
    }

    /// `lefts op row of the subquery`, seen from the subquery's row.
    fn over_subquery(&mut self, symbol: &str, lefts: Vec<Typed>, relation: &Hir) -> Result<HirExpr, PlanError> {
        let rights = relation
            .types
            .iter()
            .enumerate()
            .map(|(index, column_type)| Typed::column(index, column_type.clone()))
            .collect();
        let lefts = lefts
            .into_iter()
            .map(|mut left| {
                shift_expr(&mut left.expr, 1);
                left
            })
            .collect();
        let compared = self.compare_fields(symbol, lefts, rights)?;
        if *compared.scalar() != ScalarType::Bool {
            let label = self.type_label(compared.scalar());
            let message = format!("row comparison operator must yield type boolean, not type {label}");
            return Err(PlanError::new("42804", message));
        }
        self.condition(compared, "ANY", None)
    }

    /// `(a, b) = (SELECT …)`: at most one row, compared field by field.
    pub(super) fn row_equals_subquery(
        &mut self,
        symbol: &str,
        left: &[Field<'_>],
        query: &Query,
    ) -> Result<Typed, PlanError> {
        let lefts = self.fields(left)?;
        let (relation, columns) = self.sublink(query, Limits::Rows)?;
        if columns.len() != lefts.len() {
            let which = if columns.len() > lefts.len() { "many" } else { "few" };
            return Err(PlanError::new("42601", format!("subquery has too {which} columns")));
        }
        // The comparison is computed in the subquery, so that two rows are still an error and none is NULL.
        let condition = self.over_subquery(symbol, lefts, &relation)?;
        let arity = relation.arity();
        let compared = relation.map(vec![Typed::boolean(condition)]).project(vec![arity]);
        Ok(Typed::boolean(HirExpr::Column(HirColumn::Scalar(Box::new(compared)))))
    }
}
