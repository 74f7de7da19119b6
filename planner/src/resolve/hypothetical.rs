//! `rank`, `dense_rank`, `percent_rank` and `cume_dist` with WITHIN GROUP: where a row would stand that is only supposed.
//!
//! They are counts: of the rows that come before it, by the keys that WITHIN GROUP orders by. So they are kept as counts are.

use super::build::is_stable;
use super::call::WrittenArguments;
use super::comparable::require_ordering;
use super::levels::expr_levels;
use super::scope::Clause;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::parse_expression;
use crate::scalar::cast::CastContext;
use crate::scalar::registry::type_name;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};

/// One key of WITHIN GROUP, and what the supposed row has for it.
struct Key<'q> {
    key: &'q Expr,
    supposed: &'q Expr,
    descending: bool,
    nulls_first: bool,
}

impl Resolver<'_> {
    pub(super) fn hypothetical(
        &mut self,
        function: &Function,
        name: &str,
        written: &WrittenArguments<'_>,
    ) -> Result<Typed, PlanError> {
        if !written.order_by.is_empty() {
            return Err(PlanError::new("42601", "cannot use multiple ORDER BY clauses with WITHIN GROUP"));
        }
        if written.distinct {
            return Err(PlanError::new("42601", "cannot use DISTINCT with WITHIN GROUP"));
        }
        let keys = self.supposed(function, name, written)?;
        let before = keys.iter().rev().fold(None, |rest, key| Some(comes_before(key, rest)));
        let before = before.unwrap_or_else(|| boolean(false));
        let filter = function.filter.as_deref();
        match name {
            "rank" | "dense_rank" => {
                let of = (name == "dense_rank").then_some(keys.as_slice());
                let count = self.expr(&count(of, and(filter, before))?)?;
                self.operate_built_in("+", count, one(), None)
            }
            "percent_rank" => {
                let all = self.expr(&count(None, filter.cloned())?)?;
                let count = self.expr(&count(None, and(filter, before))?)?;
                let is_none =
                    self.operate_built_in("=", all.clone(), Typed::literal(Datum::Int8(0), ScalarType::Int8), None)?;
                let share = self.share(count, all)?;
                let zero = HirExpr::Literal(Datum::Float8(0.0), ColumnType::nullable(ScalarType::Float8));
                Ok(either(is_none, zero, share))
            }
            _ => {
                let same = keys.iter().map(|key| is_same(key)).reduce(|all, key| binary(all, BinaryOperator::And, key));
                let until = binary(before, BinaryOperator::Or, same.unwrap_or_else(|| boolean(true)));
                let all = self.expr(&count(None, filter.cloned())?)?;
                let count = self.expr(&count(None, and(filter, until))?)?;
                let (count, all) =
                    (self.operate_built_in("+", count, one(), None)?, self.operate_built_in("+", all, one(), None)?);
                self.share(count, all)
            }
        }
    }

    /// The keys. What is supposed is the same for all groups: of a column that groups, grouping sets would make something else in
    /// the rows that they leave it out of.
    fn supposed<'q>(
        &mut self,
        function: &'q Function,
        name: &str,
        written: &WrittenArguments<'q>,
    ) -> Result<Vec<Key<'q>>, PlanError> {
        let (within, direct) = (&function.within_group, &written.args);
        let mut values = Vec::with_capacity(direct.len());
        for value in direct {
            values.push(self.expr(value)?);
        }
        let mut orders = Vec::with_capacity(within.len());
        for item in within {
            orders.push(self.in_clause(Clause::AggregateArguments, |resolver| resolver.expr(&item.expr))?);
        }
        if direct.len() != within.len() {
            let types: Vec<String> = values.iter().chain(&orders).map(|own| type_name(own.scalar())).collect();
            let error = PlanError::new("42883", format!("function {name}({}) does not exist", types.join(", ")));
            return Err(error.hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) \
                 must match the number of ordering columns (here {}).",
                direct.len(),
                within.len()
            )));
        }
        let mut keys = Vec::with_capacity(within.len());
        for ((item, key), (supposed, value)) in within.iter().zip(&orders).zip(direct.iter().zip(&values)) {
            self.unify("WITHIN GROUP", vec![key.clone(), value.clone()])?;
            require_ordering(key.scalar())?;
            let mut of_row = false;
            expr_levels(&value.expr, &mut |level, _| of_row |= level == 0);
            if of_row || !is_stable(&key.expr) || !is_stable(&value.expr) {
                return Err(PlanError::unsupported(format!("a column or a volatile value as an argument of {name}"))
                    .hint("Count the rows that come before, or compute the key in a subquery."));
            }
            let (descending, nulls_first) = super::direction::direction(&item.options)?;
            keys.push(Key { key: &item.expr, supposed, descending, nulls_first });
        }
        Ok(keys)
    }

    fn share(&mut self, count: Typed, all: Typed) -> Result<Typed, PlanError> {
        let float = ColumnType::nullable(ScalarType::Float8);
        let count = self.cast(count, &float, CastContext::Explicit)?;
        let all = self.cast(all, &float, CastContext::Explicit)?;
        self.operate_built_in("/", count, all, None)
    }
}

fn one() -> Typed {
    Typed::literal(Datum::Int8(1), ScalarType::Int8)
}

fn either(condition: Typed, then: HirExpr, otherwise: Typed) -> Typed {
    let result = otherwise.scalar().clone();
    let case = HirExpr::Case {
        branches: vec![(condition.expr, then)],
        otherwise: Box::new(otherwise.expr),
        result: result.clone(),
    };
    Typed::new(case, result)
}

fn boolean(value: bool) -> Expr {
    Expr::Value(sqlparser::ast::Value::Boolean(value).into())
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

fn and(filter: Option<&Expr>, condition: Expr) -> Option<Expr> {
    Some(match filter {
        Some(filter) => binary(Expr::Nested(Box::new(filter.clone())), BinaryOperator::And, condition),
        None => condition,
    })
}

fn is_same(key: &Key<'_>) -> Expr {
    let both = [key.key, key.supposed].map(|expr| Box::new(Expr::Nested(Box::new(expr.clone()))));
    let [key, supposed] = both;
    Expr::Nested(Box::new(Expr::IsNotDistinctFrom(key, supposed)))
}

/// Whether a row comes before the supposed one, by this key, or by those behind it where this is the same.
fn comes_before(key: &Key<'_>, rest: Option<Expr>) -> Expr {
    let nested = |expr: &Expr| Expr::Nested(Box::new(expr.clone()));
    let op = if key.descending { BinaryOperator::Gt } else { BinaryOperator::Lt };
    let compared = Expr::IsTrue(Box::new(binary(nested(key.key), op, nested(key.supposed))));
    let (null, other) = if key.nulls_first { (key.key, key.supposed) } else { (key.supposed, key.key) };
    let is_null = Expr::IsNull(Box::new(nested(null)));
    let by_null = binary(is_null, BinaryOperator::And, Expr::IsNotNull(Box::new(nested(other))));
    let before = binary(compared, BinaryOperator::Or, by_null);
    match rest {
        Some(rest) => binary(before, BinaryOperator::Or, binary(is_same(key), BinaryOperator::And, rest)),
        None => before,
    }
}

/// `count(*) FILTER (WHERE …)`, or `count(DISTINCT ROW(keys))`.
fn count(distinct: Option<&[Key<'_>]>, filter: Option<Expr>) -> Result<Expr, PlanError> {
    let mut made = parse_expression(if distinct.is_some() { "count(DISTINCT ROW(1))" } else { "count(*)" })?;
    let Expr::Function(function) = &mut made else { return Ok(made) };
    function.filter = filter.map(Box::new);
    if let (Some(keys), FunctionArguments::List(list)) = (distinct, &mut function.args) {
        list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
        let fields = keys.iter().map(|key| FunctionArg::Unnamed(FunctionArgExpr::Expr(key.key.clone())));
        let mut row = parse_expression("ROW(1)")?;
        if let Expr::Function(Function { args: FunctionArguments::List(row), .. }) = &mut row {
            row.args = fields.collect();
        }
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(row))];
    }
    Ok(made)
}
