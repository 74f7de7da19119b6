//! Looks at every operator and every expression of a resolved query, subqueries included.

use super::{Hir, HirColumn, HirExpr, HirNode, HirQuery};
use crate::scalar::ScalarExpr;
use repr::poll;

/// Who looks: both are called before what is inside.
pub struct Visitor<'v> {
    /// Sees operators.
    pub operator: &'v mut dyn FnMut(&Hir),
    /// Sees expressions.
    pub expression: &'v mut dyn FnMut(&HirExpr),
}

impl Visitor<'_> {
    /// A whole query, its bounds included.
    pub fn query(&mut self, query: &HirQuery) {
        self.relation(&query.relation);
        self.expressions(query.limit.iter().chain(&query.offset));
    }

    /// A relation.
    pub fn relation(&mut self, hir: &Hir) {
        poll::step_or_unwind();
        (self.operator)(hir);
        match &hir.node {
            HirNode::Constant(..) | HirNode::Get { .. } | HirNode::GetCte(..) => {}
            HirNode::Map(input, exprs) | HirNode::Filter(input, exprs) => {
                self.relation(input);
                self.expressions(exprs);
            }
            HirNode::Project(input, _) | HirNode::Distinct(input) => self.relation(input),
            HirNode::Join { left, right, on, .. } => {
                self.relation(left);
                self.relation(right);
                self.expression(on);
            }
            HirNode::TableFunction { input, functions, .. } => {
                self.relation(input);
                self.expressions(functions.iter().flat_map(|(_, args, _)| args));
            }
            HirNode::Reduce { input, keys, aggregates, .. } => {
                self.relation(input);
                self.expressions(keys);
                for aggregate in aggregates {
                    self.expressions(aggregate.args.iter().chain(&aggregate.filter));
                    self.expressions(aggregate.order_by.iter().map(|(expr, _, _)| expr));
                }
            }
            HirNode::TopK { input, limit, offset, .. } => {
                self.relation(input);
                self.expressions(limit.iter().chain(offset));
            }
            HirNode::Window { input, calls, .. } => {
                self.relation(input);
                self.expressions(calls.iter().flat_map(|call| call.args.iter().chain(&call.filter)));
            }
            HirNode::Union(inputs, _) => inputs.iter().for_each(|input| self.relation(input)),
            HirNode::Except { left, right, .. } | HirNode::Intersect { left, right, .. } => {
                self.relation(left);
                self.relation(right);
            }
            HirNode::Let { value, body, .. } => {
                self.relation(value);
                self.relation(body);
            }
            HirNode::LetRec { base, step, body, .. } => {
                self.relation(base);
                self.relation(step);
                self.relation(body);
            }
        }
    }

    fn expressions<'e>(&mut self, exprs: impl IntoIterator<Item = &'e HirExpr>) {
        exprs.into_iter().for_each(|expr| self.expression(expr));
    }

    /// An expression.
    pub fn expression(&mut self, expr: &HirExpr) {
        (self.expression)(expr);
        match expr {
            ScalarExpr::Column(column) => match column {
                HirColumn::Column { .. } => {}
                HirColumn::Exists(relation) | HirColumn::Scalar(relation) | HirColumn::ArrayOf(relation, _) => {
                    self.relation(relation);
                }
                HirColumn::Any { relation, condition } => {
                    self.relation(relation);
                    self.expression(condition);
                }
            },
            ScalarExpr::Literal(..) | ScalarExpr::Param(..) | ScalarExpr::Operand(_) => {}
            ScalarExpr::Call { args, .. } => self.expressions(args),
            ScalarExpr::And(items)
            | ScalarExpr::Or(items)
            | ScalarExpr::Coalesce(items, _)
            | ScalarExpr::Array(items, _)
            | ScalarExpr::Record(items, _) => self.expressions(items),
            ScalarExpr::Case { branches, otherwise, .. } => {
                for (condition, result) in branches {
                    self.expression(condition);
                    self.expression(result);
                }
                self.expression(otherwise);
            }
            ScalarExpr::Once { operand, body } | ScalarExpr::Tested { operand, body } => {
                self.expression(operand);
                self.expression(body);
            }
            ScalarExpr::Cast { expr, .. } => self.expression(expr),
        }
    }
}
