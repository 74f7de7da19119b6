//! The first rung as text.

use super::{Text, columns, expr, order_items};
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, JoinKind};
use crate::mir::expr::visit_columns;

impl Text<'_> {
    /// A relation and its inputs.
    pub(super) fn hir(&mut self, hir: &Hir) {
        let column = |column: &HirColumn| expr::hir(&HirExpr::Column(column.clone()));
        match &hir.node {
            HirNode::Constant(rows) => self.line(format_args!("Constant ({} rows)", rows.len())),
            HirNode::Get { relation, with_key } => {
                let key = if *with_key { " with row key" } else { "" };
                let relation = self.relation(*relation);
                self.line(format_args!("Get {relation}{key}"));
            }
            HirNode::GetCte(id) => self.line(format_args!("Get cte{}", id.0)),
            HirNode::Map(input, exprs) => self.over("Map", exprs, input),
            HirNode::Filter(input, predicates) => self.over("Filter", predicates, input),
            HirNode::Project(input, chosen) => self.unary(format!("Project {}", columns(chosen)), input),
            HirNode::Join { left, right, kind, on, lateral } => {
                let kind = match kind {
                    JoinKind::Inner => "Inner",
                    JoinKind::Left => "Left",
                    JoinKind::Right => "Right",
                    JoinKind::Full => "Full",
                };
                let lateral = if *lateral { " lateral" } else { "" };
                self.line(format_args!("Join {kind}{lateral} on {}", expr::hir(on)));
                self.nested(|text| {
                    text.subqueries([on]);
                    text.hir(left);
                    text.hir(right);
                });
            }
            HirNode::TableFunction { input, functions, ordinality } => {
                let calls: Vec<String> = functions
                    .iter()
                    .map(|(function, args, _)| {
                        format!("{}({})", function.name, args.iter().map(expr::hir).collect::<Vec<_>>().join(", "))
                    })
                    .collect();
                let ordinality = if *ordinality { " with ordinality" } else { "" };
                self.unary(format!("TableFunction {}{ordinality}", calls.join(", ")), input);
            }
            HirNode::Reduce { input, keys, aggregates, .. } => {
                let keys: Vec<String> = keys.iter().map(expr::hir).collect();
                let calls: Vec<String> = aggregates.iter().map(|call| expr::aggregate(call, &column)).collect();
                self.unary(format!("Reduce by ({}) to ({})", keys.join(", "), calls.join(", ")), input);
            }
            HirNode::Distinct(input) => self.unary("Distinct".to_owned(), input),
            HirNode::TopK { input, keys, order, limit, offset } => {
                let mut line = format!("TopK by {} order ({})", columns(keys), order_items(order));
                for (word, bound) in [("limit", limit), ("offset", offset)] {
                    if let Some(bound) = bound {
                        line.push_str(&format!(" {word} {}", expr::hir(bound)));
                    }
                }
                self.unary(line, input);
            }
            HirNode::Window { input, partition, order, calls } => {
                let calls: Vec<String> = calls.iter().map(|call| expr::window(call, &column)).collect();
                self.unary(
                    format!("Window {} by {} order ({})", calls.join(", "), columns(partition), order_items(order)),
                    input,
                );
            }
            HirNode::Union(inputs) => {
                self.line(format_args!("Union"));
                self.nested(|text| inputs.iter().for_each(|input| text.hir(input)));
            }
            HirNode::Except { left, right, all } => {
                self.binary(if *all { "Except all" } else { "Except" }, left, right)
            }
            HirNode::Intersect { left, right, all } => {
                self.binary(if *all { "Intersect all" } else { "Intersect" }, left, right);
            }
            HirNode::Let { id, name, value, body } => {
                self.binary(&format!("With cte{} \"{name}\"", id.0), value, body);
            }
            HirNode::LetRec { id, name, base, step, distinct, body } => {
                let union = if *distinct { "union" } else { "union all" };
                self.line(format_args!("With recursive cte{} \"{name}\" {union}", id.0));
                self.nested(|text| {
                    text.hir(base);
                    text.hir(step);
                    text.hir(body);
                });
            }
        }
    }

    fn unary(&mut self, line: String, input: &Hir) {
        self.line(format_args!("{line}"));
        self.nested(|text| text.hir(input));
    }

    fn binary(&mut self, line: &str, left: &Hir, right: &Hir) {
        self.line(format_args!("{line}"));
        self.nested(|text| {
            text.hir(left);
            text.hir(right);
        });
    }

    fn over(&mut self, word: &str, exprs: &[HirExpr], input: &Hir) {
        let written: Vec<String> = exprs.iter().map(expr::hir).collect();
        self.line(format_args!("{word} {}", written.join(", ")));
        self.nested(|text| {
            text.subqueries(exprs);
            text.hir(input);
        });
    }

    fn subqueries<'e>(&mut self, exprs: impl IntoIterator<Item = &'e HirExpr>) {
        for expr in exprs {
            visit_columns(expr, &mut |column| match column {
                HirColumn::Column { .. } => {}
                HirColumn::Exists(relation)
                | HirColumn::Scalar(relation)
                | HirColumn::Any { relation, .. }
                | HirColumn::ArrayOf(relation, _) => {
                    self.line(format_args!("Subquery"));
                    self.nested(|text| text.hir(relation));
                }
            });
        }
    }
}
