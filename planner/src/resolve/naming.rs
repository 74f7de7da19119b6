//! FROM items leave what they call their columns with the operators that make these (`names`): with tables and common
//! table expressions as they are read, with aggregates and windows of subqueries, with VALUES, functions and UNION.
//!
//! What an expression computes has no operator of its own to keep a name; EXPLAIN shows the expression.

use super::Resolver;
use super::scope::{Binding, FromItem};
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, OutputColumn};
use crate::names::{ColumnName, ItemName, Names};
use std::sync::Arc;

impl Resolver<'_> {
    /// One relation under one name.
    pub(super) fn from_item(&mut self, hir: Hir, item: Binding) -> FromItem {
        self.nesting.items += 1;
        let place = Some((self.nesting.depth, self.nesting.items));
        let relation = Arc::new(ItemName { name: item.name.clone(), place });
        FromItem::single(hir.named(&item, &relation), item)
    }

    /// A copy of a relation: its FROM items are others than those of the first.
    pub(super) fn with_items_of_its_own(&mut self, hir: &mut Hir) {
        let mut others: Vec<(Arc<ItemName>, Arc<ItemName>)> = Vec::new();
        each_item(hir, &mut |item| {
            let Some((depth, _)) = item.place else { return };
            let known = others.iter().find(|(first, _)| Arc::ptr_eq(first, item)).map(|(_, other)| other.clone());
            let other = known.unwrap_or_else(|| {
                self.nesting.items += 1;
                let other = Arc::new(ItemName { name: item.name.clone(), place: Some((depth, self.nesting.items)) });
                others.push((item.clone(), other.clone()));
                other
            });
            *item = other;
        });
    }
}

impl Hir {
    fn named(mut self, item: &Binding, relation: &Arc<ItemName>) -> Hir {
        match &mut self.node {
            HirNode::Get { names, .. } => {
                names.call(relation);
                return self;
            }
            HirNode::GetCte(_, names) | HirNode::TableFunction { names, .. } | HirNode::Constant(_, names) => {
                names.call(relation);
            }
            HirNode::Map(..)
            | HirNode::Filter(..)
            | HirNode::Project(..)
            | HirNode::Join { .. }
            | HirNode::Reduce { .. }
            | HirNode::Distinct(_)
            | HirNode::TopK { .. }
            | HirNode::Window { .. }
            | HirNode::Union(..)
            | HirNode::Except { .. }
            | HirNode::Intersect { .. }
            | HirNode::Let { .. }
            | HirNode::LetRec { .. } => {}
        }
        for column in &item.columns {
            let name = ColumnName { relation: Some(relation.clone()), name: column.name.as_str().into() };
            self.name_column(column.index, &name);
        }
        self
    }

    /// A table under names of its columns that the query gives.
    pub(super) fn with_column_names(mut self, item: &Binding) -> Hir {
        if let HirNode::Get { names, .. } = &mut self.node {
            for column in &item.columns {
                let name = ColumnName { relation: None, name: column.name.as_str().into() };
                names.call_column(column.index, &name);
            }
        }
        self
    }

    /// The rows of a WITH query.
    pub(super) fn named_outputs(&mut self, name: &str, outputs: &[OutputColumn]) {
        let relation = Arc::new(ItemName { name: name.to_owned(), place: None });
        for (index, output) in outputs.iter().enumerate() {
            let name = ColumnName { relation: Some(relation.clone()), name: output.name.as_str().into() };
            self.name_column(index, &name);
        }
    }

    /// Calls a column so where it is made, if what makes it can be told.
    fn name_column(&mut self, column: usize, name: &ColumnName) {
        match &mut self.node {
            HirNode::Get { .. } => {}
            HirNode::Constant(_, names) | HirNode::GetCte(_, names) | HirNode::Union(_, names) => {
                names.call_column(column, name);
            }
            HirNode::Filter(input, _) | HirNode::Distinct(input) | HirNode::TopK { input, .. } => {
                input.name_column(column, name);
            }
            HirNode::Project(input, columns) => {
                if let Some(column) = columns.get(column) {
                    input.name_column(*column, name);
                }
            }
            HirNode::Map(input, exprs) => match column.checked_sub(input.types.len()) {
                None => input.name_column(column, name),
                Some(mapped) => {
                    if let Some(column) = exprs.get(mapped).and_then(plain) {
                        input.name_column(column, name);
                    }
                }
            },
            HirNode::Join { left, right, .. } => match column.checked_sub(left.types.len()) {
                None => left.name_column(column, name),
                Some(column) => right.name_column(column, name),
            },
            HirNode::TableFunction { input, names, .. } => match column.checked_sub(input.types.len()) {
                None => input.name_column(column, name),
                Some(column) => names.call_column(column, name),
            },
            HirNode::Window { input, calls, .. } => match column.checked_sub(input.types.len()) {
                None => input.name_column(column, name),
                Some(call) => {
                    if let Some(call) = calls.get_mut(call) {
                        call.label.call(name);
                    }
                }
            },
            HirNode::Reduce { input, keys, aggregates, .. } => match column.checked_sub(keys.len()) {
                None => {
                    if let Some(column) = keys.get(column).and_then(plain) {
                        input.name_column(column, name);
                    }
                }
                Some(call) => {
                    if let Some(call) = aggregates.get_mut(call) {
                        call.label.call(name);
                    }
                }
            },
            HirNode::Except { left, .. } | HirNode::Intersect { left, .. } => left.name_column(column, name),
            HirNode::Let { body, .. } | HirNode::LetRec { body, .. } => body.name_column(column, name),
        }
    }
}

/// Visits what FROM items are called in a relation, subqueries included.
fn each_item(hir: &mut Hir, visit: &mut dyn FnMut(&mut Arc<ItemName>)) {
    match &mut hir.node {
        HirNode::Get { names, .. } | HirNode::GetCte(_, names) | HirNode::Constant(_, names) => names.each_item(visit),
        HirNode::Map(input, exprs) | HirNode::Filter(input, exprs) => {
            each_item(input, visit);
            exprs.iter_mut().for_each(|expr| each_item_within(expr, visit));
        }
        HirNode::Project(input, _) | HirNode::Distinct(input) | HirNode::TopK { input, .. } => each_item(input, visit),
        HirNode::Join { left, right, on, .. } => {
            each_item(left, visit);
            each_item(right, visit);
            each_item_within(on, visit);
        }
        HirNode::TableFunction { input, functions, names, .. } => {
            each_item(input, visit);
            functions.iter_mut().flat_map(|(_, args, _)| args).for_each(|arg| each_item_within(arg, visit));
            names.each_item(visit);
        }
        HirNode::Reduce { input, keys, aggregates, .. } => {
            each_item(input, visit);
            keys.iter_mut().for_each(|key| each_item_within(key, visit));
            for call in aggregates {
                call.args.iter_mut().chain(&mut call.filter).for_each(|expr| each_item_within(expr, visit));
                call.label.each_item(visit);
            }
        }
        HirNode::Window { input, calls, .. } => {
            each_item(input, visit);
            for call in calls {
                call.args.iter_mut().chain(&mut call.filter).for_each(|expr| each_item_within(expr, visit));
                call.label.each_item(visit);
            }
        }
        HirNode::Union(inputs, names) => {
            inputs.iter_mut().for_each(|input| each_item(input, visit));
            names.each_item(visit);
        }
        HirNode::Except { left, right, .. } | HirNode::Intersect { left, right, .. } => {
            each_item(left, visit);
            each_item(right, visit);
        }
        HirNode::Let { value, body, .. } => {
            each_item(value, visit);
            each_item(body, visit);
        }
        HirNode::LetRec { base, step, body, .. } => {
            each_item(base, visit);
            each_item(step, visit);
            each_item(body, visit);
        }
    }
}

fn each_item_within(expr: &mut HirExpr, visit: &mut dyn FnMut(&mut Arc<ItemName>)) {
    match expr {
        HirExpr::Column(HirColumn::Column { .. }) => {}
        HirExpr::Column(
            HirColumn::Exists(relation) | HirColumn::Scalar(relation) | HirColumn::ArrayOf(relation, _),
        ) => {
            each_item(relation, visit);
        }
        HirExpr::Column(HirColumn::Any { relation, condition }) => {
            each_item(relation, visit);
            each_item_within(condition, visit);
        }
        other => other.children_mut().into_iter().for_each(|part| each_item_within(part, visit)),
    }
}

/// What VALUES calls its columns.
pub(super) fn value_names(count: usize) -> Names {
    let names: Vec<String> = (1..=count).map(|number| format!("column{number}")).collect();
    Names::bare(names.iter().map(String::as_str))
}

/// The column that an expression is.
fn plain(expr: &HirExpr) -> Option<usize> {
    match expr {
        HirExpr::Column(HirColumn::Column { level: 0, index }) => Some(*index),
        _ => None,
    }
}
