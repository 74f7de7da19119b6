//! The first rung as text.

use super::Text;
use super::column::{Columns, Leaf, Made, Shown, chosen};
use super::expression::{Phrase, Piece};
use super::mir::{FunctionShown, first_rows};
use crate::hir::{Hir, HirColumn, HirExpr, HirFunctionCall, HirNode, JoinKind};
use crate::mir::expr::{try_replace, try_replace_aggregate, try_replace_window};
use crate::scalar::{AggregateCall, ScalarExpr, WindowCall};
use repr::{ColumnType, Datum, ScalarType};
use std::convert::Infallible;

/// The rows that expressions see, the outermost first.
type Scopes<'s> = &'s [Vec<Leaf>];

impl Text<'_> {
    /// A relation and its inputs, within the scopes around it; its columns.
    pub(super) fn hir(&mut self, hir: &Hir, scopes: Scopes<'_>) -> Vec<Leaf> {
        let line = self.open();
        let (phrase, columns) = match &hir.node {
            HirNode::Constant(rows, names) => {
                let columns = self.columns.constant(hir.types.iter().map(|column| column.scalar.clone()), names);
                (Phrase::of(format!("Constant ({} rows)", rows.len())), columns)
            }
            HirNode::Get { relation, with_key, names } => self.get(*relation, names, *with_key),
            HirNode::GetCte(id, names) => {
                let value = self.ctes.get(id).cloned().unwrap_or_default();
                let columns = self.columns.local(&value, names);
                (self.called(Phrase::of(format!("Get cte{}", id.0)), names), columns)
            }
            HirNode::Map(input, exprs) => self.hir_map(input, exprs, scopes),
            HirNode::Filter(input, predicates) => {
                let (columns, shown) = self.over_hir(input, predicates, scopes);
                (Phrase::of("Filter ").piece(Piece::All(shown)), columns)
            }
            HirNode::Project(input, places) => {
                let columns = chosen(&self.within(input, scopes), places);
                (Phrase::of("Project ").columns(&columns), columns)
            }
            HirNode::Join { left, right, kind, on, lateral } => {
                self.hir_join((left, right), (*kind, *lateral), on, scopes)
            }
            HirNode::TableFunction { input, functions, ordinality, names } => {
                let (columns, calls) = self.hir_functions(input, functions, scopes);
                self.functions(columns, calls, *ordinality, names)
            }
            HirNode::Reduce { input, keys, aggregates, .. } => self.hir_groups(input, keys, aggregates, scopes),
            HirNode::Distinct(input) => (Phrase::of("Distinct"), self.within(input, scopes)),
            HirNode::TopK { input, keys, order, limit, offset } => {
                let columns = self.within(input, scopes);
                let phrase = first_rows(&columns, keys, order);
                (self.hir_bounds(phrase, limit.as_ref(), offset.as_ref(), scopes), columns)
            }
            HirNode::Window { input, partition, order, calls } => {
                let (columns, calls) = self.hir_windows(input, calls, scopes);
                self.windows(columns, calls, partition, order)
            }
            HirNode::Union(inputs, names) => {
                let branches = inputs.iter().map(|input| (self.within(input, scopes), false)).collect();
                self.union(branches, names)
            }
            HirNode::Except { left, right, all } => {
                let columns = self.hir_sides(left, right, scopes);
                (Phrase::of(if *all { "Except all" } else { "Except" }), columns)
            }
            HirNode::Intersect { left, right, all } => {
                let columns = self.hir_sides(left, right, scopes);
                (Phrase::of(if *all { "Intersect all" } else { "Intersect" }), columns)
            }
            HirNode::Let { id, name, value, body } => {
                let value = self.within(value, scopes);
                self.ctes.insert(*id, value);
                (Phrase::of(format!("With cte{} \"{name}\"", id.0)), self.within(body, scopes))
            }
            HirNode::LetRec { id, name, base, step, distinct, body } => {
                let base = self.within(base, scopes);
                self.ctes.insert(*id, base);
                self.within(step, scopes);
                let union = if *distinct { "union" } else { "union all" };
                (Phrase::of(format!("With recursive cte{} \"{name}\" {union}", id.0)), self.within(body, scopes))
            }
        };
        self.lines[line].phrase = phrase;
        columns
    }

    fn hir_map(&mut self, input: &Hir, exprs: &[HirExpr], scopes: Scopes<'_>) -> (Phrase, Vec<Leaf>) {
        let (mut columns, shown) = self.over_hir(input, exprs, scopes);
        let (mapped, pieces): (Vec<Leaf>, Vec<Piece>) = shown.into_iter().map(|shown| self.mapped(shown)).unzip();
        columns.extend(mapped);
        (Phrase::of("Map ").list(pieces), columns)
    }

    fn hir_join(
        &mut self,
        (left, right): (&Hir, &Hir),
        (kind, lateral): (JoinKind, bool),
        on: &HirExpr,
        scopes: Scopes<'_>,
    ) -> (Phrase, Vec<Leaf>) {
        let start = self.lines.len();
        let mut columns = self.within(left, scopes);
        let width = columns.len();
        let right = if lateral {
            let inside: Vec<Vec<Leaf>> = scopes.iter().cloned().chain([columns.clone()]).collect();
            self.within(right, &inside)
        } else {
            self.within(right, scopes)
        };
        columns.extend(right);
        let mut shown = self.hir_exprs(start, [on], &columns, scopes);
        let (kind, left_null, right_null) = match kind {
            JoinKind::Inner => ("Inner", false, false),
            JoinKind::Left => ("Left", false, true),
            JoinKind::Right => ("Right", true, false),
            JoinKind::Full => ("Full", true, true),
        };
        if left_null {
            Columns::without_row(&columns[..width]);
        }
        if right_null {
            Columns::without_row(&columns[width..]);
        }
        let lateral = if lateral { " lateral" } else { "" };
        let phrase = Phrase::of(format!("Join {kind}{lateral} on "));
        (phrase.list(shown.drain(..).map(Piece::Expr)), columns)
    }

    /// An input's columns, and the functions called on them.
    fn hir_functions(
        &mut self,
        input: &Hir,
        functions: &[HirFunctionCall],
        scopes: Scopes<'_>,
    ) -> (Vec<Leaf>, Vec<FunctionShown>) {
        let columns = self.within(input, scopes);
        let start = self.lines.len();
        let mut calls = Vec::with_capacity(functions.len());
        for (function, args, types) in functions {
            let args = self.hir_exprs(start, args, &columns, scopes);
            calls.push((*function, args, types.iter().map(|column| column.scalar.clone()).collect()));
        }
        (columns, calls)
    }

    fn hir_groups(
        &mut self,
        input: &Hir,
        keys: &[HirExpr],
        aggregates: &[AggregateCall<HirColumn>],
        scopes: Scopes<'_>,
    ) -> (Phrase, Vec<Leaf>) {
        let start = self.lines.len();
        let columns = self.within(input, scopes);
        let keys = self.hir_exprs(start, keys, &columns, scopes);
        let mut calls = Vec::with_capacity(aggregates.len());
        for call in aggregates {
            let mut shown = |expr: &HirExpr| Ok(self.hir_expr(expr, &columns, scopes));
            let Ok(call) = try_replace_aggregate::<_, _, Infallible>(call, &mut shown);
            calls.push(call);
        }
        self.groups_of(keys, calls)
    }

    /// An input's columns, and the window calls over them.
    fn hir_windows(
        &mut self,
        input: &Hir,
        calls: &[WindowCall<HirColumn>],
        scopes: Scopes<'_>,
    ) -> (Vec<Leaf>, Vec<WindowCall<Leaf>>) {
        let columns = self.within(input, scopes);
        let mut shown_calls = Vec::with_capacity(calls.len());
        for call in calls {
            let mut shown = |expr: &HirExpr| Ok(self.hir_expr(expr, &columns, scopes));
            let Ok(call) = try_replace_window::<_, _, Infallible>(call, &mut shown);
            shown_calls.push(call);
        }
        (columns, shown_calls)
    }

    /// Both sides of a set operation; its columns are those of the left.
    fn hir_sides(&mut self, left: &Hir, right: &Hir, scopes: Scopes<'_>) -> Vec<Leaf> {
        let columns = self.within(left, scopes);
        self.within(right, scopes);
        columns
    }

    /// LIMIT and OFFSET: over no row of their own.
    pub(super) fn hir_bounds(
        &mut self,
        mut phrase: Phrase,
        limit: Option<&HirExpr>,
        offset: Option<&HirExpr>,
        scopes: Scopes<'_>,
    ) -> Phrase {
        for (word, bound) in [(" limit ", limit), (" offset ", offset)] {
            if let Some(bound) = bound {
                let shown = self.hir_expr(bound, &[], scopes);
                phrase = phrase.text(word).piece(Piece::Expr(shown));
            }
        }
        phrase
    }

    fn within(&mut self, hir: &Hir, scopes: Scopes<'_>) -> Vec<Leaf> {
        self.nested(|text| text.hir(hir, scopes))
    }

    /// An input's columns, and expressions over them, whose subqueries stand before it.
    fn over_hir(&mut self, input: &Hir, exprs: &[HirExpr], scopes: Scopes<'_>) -> (Vec<Leaf>, Vec<Shown>) {
        let start = self.lines.len();
        let columns = self.within(input, scopes);
        let shown = self.hir_exprs(start, exprs, &columns, scopes);
        (columns, shown)
    }

    /// Expressions, whose subqueries stand before the lines from `start` on.
    fn hir_exprs<'e>(
        &mut self,
        start: usize,
        exprs: impl IntoIterator<Item = &'e HirExpr>,
        columns: &[Leaf],
        scopes: Scopes<'_>,
    ) -> Vec<Shown> {
        let end = self.lines.len();
        let shown = exprs.into_iter().map(|expr| self.hir_expr(expr, columns, scopes)).collect();
        let added = self.lines.len() - end;
        self.lines[start..].rotate_right(added);
        shown
    }

    fn hir_expr(&mut self, expr: &HirExpr, columns: &[Leaf], scopes: Scopes<'_>) -> Shown {
        let Ok(shown) = try_replace::<_, _, Infallible>(expr, &mut |column| {
            Ok(match column {
                HirColumn::Column { level, index } => {
                    let row = match level.checked_sub(1) {
                        None => Some(columns),
                        Some(out) => scopes.iter().rev().nth(out).map(Vec::as_slice),
                    };
                    match row.and_then(|row| row.get(*index)) {
                        Some(leaf) => ScalarExpr::Column(leaf.clone()),
                        None => ScalarExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Unknown)),
                    }
                }
                HirColumn::Exists(relation) => {
                    self.subquery(relation, columns, scopes);
                    self.of_subquery("EXISTS ", None, ScalarType::Bool)
                }
                HirColumn::Scalar(relation) => {
                    let inside = self.subquery(relation, columns, scopes);
                    let scalar = inside.first().map_or(ScalarType::Unknown, Leaf::scalar);
                    self.of_subquery("", None, scalar)
                }
                HirColumn::Any { relation, condition } => {
                    let inside = self.subquery(relation, columns, scopes);
                    let around: Vec<Vec<Leaf>> = scopes.iter().cloned().chain([columns.to_vec()]).collect();
                    let condition = self.hir_expr(condition, &inside, &around);
                    self.of_subquery("ANY ", Some(condition), ScalarType::Bool)
                }
                HirColumn::ArrayOf(relation, element) => {
                    self.subquery(relation, columns, scopes);
                    self.of_subquery("ARRAY ", None, ScalarType::Array(Box::new(element.clone())))
                }
            })
        });
        shown
    }

    fn subquery(&mut self, relation: &Hir, columns: &[Leaf], scopes: Scopes<'_>) -> Vec<Leaf> {
        let around: Vec<Vec<Leaf>> = scopes.iter().cloned().chain([columns.to_vec()]).collect();
        self.nested(|text| {
            let line = text.open();
            text.lines[line].phrase = Phrase::of("Subquery");
            text.within(relation, &around)
        })
    }

    fn of_subquery(&mut self, word: &'static str, condition: Option<Shown>, scalar: ScalarType) -> Shown {
        ScalarExpr::Column(self.columns.made(Made::Subquery { word, condition }, scalar))
    }
}
