//! What a query computes of literals and parameters alone. PostgreSQL computes it while it plans, before it looks for any row:
//! so `SELECT 1 / 0 FROM t` is an error where `t` is empty, too.
//!
//! Only what is computed whichever rows there are is found here: no branch of CASE, nothing behind a condition that may decide
//! by itself, no column that nobody asks for.

use crate::error::PlanError;
use crate::hir::walk::Visitor;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, HirQuery};
use crate::mir::row_expr::plan_expr;
use crate::scalar::{EvalContext, ScalarExpr, Volatility};
use crate::system::builtin::function;
use repr::{ColumnType, Datum, ScalarType, poll};
use std::collections::BTreeSet;

/// The parts of a query that give an error, or may give one by its parameters: whoever runs it computes them first.
pub(crate) fn constants(query: &HirQuery) -> Result<Vec<ScalarExpr>, PlanError> {
    let mut found = Constants::default();
    let order = query.order_by.iter().map(|order| order.column);
    found.relation(&query.relation, &query.project.iter().copied().chain(order).collect())?;
    for bound in query.limit.iter().chain(&query.offset) {
        found.whole(bound)?;
    }
    Ok(found.parts)
}

/// The same of expressions over the rows of a query.
pub(crate) fn constants_of<'e>(exprs: impl IntoIterator<Item = &'e HirExpr>) -> Result<Vec<ScalarExpr>, PlanError> {
    let mut found = Constants::default();
    exprs.into_iter().try_for_each(|expr| found.whole(expr))?;
    Ok(found.parts)
}

type Wanted = BTreeSet<usize>;

#[derive(Default)]
struct Constants {
    parts: Vec<ScalarExpr>,
    /// What must hold for what is found now to be computed; `false` where it must not.
    guards: Vec<(ScalarExpr, bool)>,
}

impl Constants {
    /// What stands in a relation of which these columns are asked for.
    fn relation(&mut self, hir: &Hir, wanted: &Wanted) -> Result<(), PlanError> {
        poll::step_or_unwind();
        match &hir.node {
            HirNode::Constant(..) | HirNode::Get { .. } | HirNode::GetCte(..) => Ok(()),
            HirNode::Map(input, exprs) => {
                let arity = input.types.len();
                let asked = exprs.iter().enumerate().filter(|(at, _)| wanted.contains(&(arity + at)));
                self.over(input, wanted, asked.map(|(_, expr)| expr))
            }
            HirNode::Filter(input, predicates) => {
                // Together they are one AND.
                if self.junction(predicates, false)? {
                    self.keep(&ScalarExpr::And(predicates.clone()))?;
                }
                let mut below = wanted.clone();
                predicates.iter().for_each(|predicate| below.extend(columns(predicate)));
                self.relation(input, &below)
            }
            HirNode::Project(input, columns) => {
                self.relation(input, &wanted.iter().filter_map(|at| columns.get(*at).copied()).collect())
            }
            HirNode::Join { left, right, on, .. } => {
                let mut below = wanted.clone();
                below.extend(self.read(on)?);
                let arity = left.types.len();
                self.relation(left, &below.iter().copied().filter(|at| *at < arity).collect())?;
                self.relation(right, &below.iter().filter_map(|at| at.checked_sub(arity)).collect())
            }
            HirNode::TableFunction { input, functions, .. } => {
                self.over(input, wanted, functions.iter().flat_map(|(_, args, _)| args))
            }
            HirNode::Reduce { input, keys, aggregates, .. } => {
                let asked = aggregates.iter().enumerate().filter(|(at, _)| wanted.contains(&(keys.len() + at)));
                let of_aggregates = asked.flat_map(|(_, call)| {
                    call.args.iter().chain(&call.filter).chain(call.order_by.iter().map(|(expr, _, _)| expr))
                });
                self.over(input, &Wanted::new(), keys.iter().chain(of_aggregates))
            }
            HirNode::TopK { input, keys, order, limit, offset } => {
                let read = keys.iter().copied().chain(order.iter().map(|order| order.column));
                let wanted = wanted.iter().copied().chain(read).collect();
                self.over(input, &wanted, limit.iter().chain(offset))
            }
            HirNode::Window { input, partition, order, calls } => {
                let arity = input.types.len();
                let read = partition.iter().copied().chain(order.iter().map(|order| order.column));
                let wanted_below = wanted.iter().copied().chain(read).collect();
                let asked = calls.iter().enumerate().filter(|(at, _)| wanted.contains(&(arity + at)));
                self.over(input, &wanted_below, asked.flat_map(|(_, call)| call.args.iter().chain(&call.filter)))
            }
            HirNode::Distinct(input) => self.relation(input, &all(input)),
            HirNode::Union(inputs, _) => inputs.iter().try_for_each(|input| self.relation(input, wanted)),
            HirNode::Except { left, right, .. } | HirNode::Intersect { left, right, .. } => {
                self.relation(left, &all(left))?;
                self.relation(right, &all(right))
            }
            // Of what a definition is asked for, its readers say: here, whether it is.
            HirNode::Let { id, value, body, .. } => {
                let mut is_read = false;
                let reads = &mut |hir: &Hir| is_read |= matches!(&hir.node, HirNode::GetCte(read, _) if read == id);
                Visitor { operator: reads, expression: &mut |_| {} }.relation(body);
                if is_read {
                    self.relation(value, &Wanted::new())?;
                }
                self.relation(body, wanted)
            }
            HirNode::LetRec { body, .. } => self.relation(body, wanted),
        }
    }

    /// Expressions over an input, and the input by the columns that they read.
    fn over<'e>(
        &mut self,
        input: &Hir,
        wanted: &Wanted,
        exprs: impl IntoIterator<Item = &'e HirExpr>,
    ) -> Result<(), PlanError> {
        let mut below: Wanted = wanted.iter().copied().filter(|at| *at < input.types.len()).collect();
        for expr in exprs {
            below.extend(self.read(expr)?);
        }
        self.relation(input, &below)
    }

    /// The parts of an expression, and which columns it reads of its own row.
    fn read(&mut self, expr: &HirExpr) -> Result<Wanted, PlanError> {
        self.whole(expr)?;
        Ok(columns(expr))
    }

    fn whole(&mut self, expr: &HirExpr) -> Result<(), PlanError> {
        if self.parts_of(expr)? { self.keep(expr) } else { Ok(()) }
    }

    /// Finds the parts of an expression; whether it is all of literals and parameters, and so its own whole part.
    fn parts_of(&mut self, expr: &HirExpr) -> Result<bool, PlanError> {
        poll::step_or_unwind();
        match expr {
            ScalarExpr::Literal(..) | ScalarExpr::Param(..) => Ok(true),
            ScalarExpr::Operand(_) => Ok(false),
            ScalarExpr::Column(column) => {
                self.subquery(column)?;
                Ok(false)
            }
            ScalarExpr::And(terms) => self.junction(terms, false),
            ScalarExpr::Or(terms) => self.junction(terms, true),
            // Which of them is computed the rows may say.
            ScalarExpr::Case { branches, .. } if !is_constant(expr) => {
                branches.first().map_or(Ok(()), |(condition, _)| self.whole(condition))?;
                Ok(false)
            }
            ScalarExpr::Coalesce(args, _) if !is_constant(expr) => {
                args.first().map_or(Ok(()), |first| self.whole(first))?;
                Ok(false)
            }
            ScalarExpr::Case { .. } | ScalarExpr::Coalesce(..) => Ok(true),
            ScalarExpr::Once { operand, .. } | ScalarExpr::Tested { operand, .. } => {
                self.whole(operand)?;
                Ok(false)
            }
            ScalarExpr::Call { .. } | ScalarExpr::Array(..) | ScalarExpr::Record(..) | ScalarExpr::Cast { .. } => {
                self.arguments(expr)
            }
        }
    }

    fn arguments(&mut self, expr: &HirExpr) -> Result<bool, PlanError> {
        let mut constant = Vec::new();
        let arguments = expr.children();
        for argument in &arguments {
            if self.parts_of(argument)? {
                constant.push(*argument);
            }
        }
        if constant.len() == arguments.len() && expr.own_volatility() == Volatility::Immutable {
            return Ok(true);
        }
        constant.into_iter().try_for_each(|argument| self.keep(argument))?;
        Ok(false)
    }

    /// AND, OR: what is behind a constant that decides is not computed.
    fn junction(&mut self, terms: &[HirExpr], deciding: bool) -> Result<bool, PlanError> {
        let before = self.guards.len();
        let (mut is_constant, mut held) = (true, Vec::new());
        for term in terms {
            if !self.parts_of(term)? {
                is_constant = false;
                continue;
            }
            match plan_expr(term)? {
                ScalarExpr::Literal(Datum::Bool(value), _) if value == deciding => {
                    is_constant = false;
                    break;
                }
                ScalarExpr::Literal(..) => {}
                planned => {
                    held.push((self.guards.len(), term));
                    self.guards.push((planned, !deciding));
                }
            }
        }
        if !is_constant {
            for (guards, term) in held {
                let later = self.guards.split_off(guards);
                self.keep(term)?;
                self.guards.extend(later);
            }
        }
        self.guards.truncate(before);
        Ok(is_constant)
    }

    fn subquery(&mut self, column: &HirColumn) -> Result<(), PlanError> {
        match column {
            HirColumn::Column { .. } => Ok(()),
            // Of what it selects nothing is computed.
            HirColumn::Exists(relation) => {
                let mut below = &**relation;
                while let HirNode::Map(input, _) | HirNode::Project(input, _) = &below.node {
                    below = input;
                }
                self.relation(below, &Wanted::new())
            }
            HirColumn::Scalar(relation) | HirColumn::ArrayOf(relation, _) => self.relation(relation, &all(relation)),
            HirColumn::Any { relation, .. } => self.relation(relation, &all(relation)),
        }
    }

    /// Keeps an expression over nothing, unless it gives a value already.
    fn keep(&mut self, expr: &HirExpr) -> Result<(), PlanError> {
        let mut part = plan_expr(expr)?;
        if matches!(part, ScalarExpr::Literal(..) | ScalarExpr::Param(..)) || !is_immutable_elsewhere(&part) {
            return Ok(());
        }
        let scalar = part.scalar_type(&|_| ScalarType::Text);
        for (guard, holds) in self.guards.iter().rev() {
            let nothing = ScalarExpr::Literal(Datum::Null, ColumnType::nullable(scalar.clone()));
            let (then, otherwise) = if *holds { (part, nothing) } else { (nothing, part) };
            let branches = vec![(guard.clone(), then)];
            part = ScalarExpr::Case { branches, otherwise: Box::new(otherwise), result: scalar.clone() };
        }
        if reads_parameters(&part) || part.eval(&[], &EvalContext::immutable()).is_err() {
            self.parts.push(part);
        }
        Ok(())
    }
}

/// The columns that an expression reads of its own row; those that subqueries of it read are left out.
fn columns(expr: &HirExpr) -> Wanted {
    let mut columns = Wanted::new();
    expr.visit(&mut |part| {
        if let ScalarExpr::Column(HirColumn::Column { level: 0, index }) = part {
            columns.insert(*index);
        }
    });
    columns
}

fn all(hir: &Hir) -> Wanted {
    (0..hir.types.len()).collect()
}

/// Whether an expression is of literals and parameters alone, and the same whenever it is computed.
fn is_constant(expr: &HirExpr) -> bool {
    let mut is_constant = expr.volatility() == Volatility::Immutable;
    expr.visit(&mut |part| is_constant &= !matches!(part, ScalarExpr::Column(_)));
    is_constant
}

/// Whether PostgreSQL, too, has what is called for functions of their arguments alone: some of its read settings that are not here.
fn is_immutable_elsewhere(expr: &ScalarExpr) -> bool {
    let mut is_immutable = true;
    expr.visit(&mut |part| {
        if let ScalarExpr::Call { function, args, .. } = part {
            is_immutable &= !function::by_name(function.name).any(|found| found.is_changing(args.len()));
        }
    });
    is_immutable
}

fn reads_parameters(expr: &ScalarExpr) -> bool {
    let mut reads = false;
    expr.visit(&mut |part| reads |= matches!(part, ScalarExpr::Param(..)));
    reads
}
