//! What an index is of: columns, and expressions over them.
//!
//! ```text
//! CREATE INDEX ON t (lower(email))  ─▶  a hidden column of t: lower(email), computed as a generated one is  ◀─ the index is of it
//! ```
//! So whatever keeps, reads, orders and erases indexes knows columns only; statements that ask for the expression read the
//! column (`physical/index_expressions.rs`). Indexes on the same expression share it, and with the last of them it goes.

use super::change::DefinitionChange;
use super::constraint::unwrapped;
use super::{DdlEffect, ExpressionPurpose, RewriteColumn, RewriteValue, rewrite};
use crate::catalog::{Column, DefaultValue, Index, Table};
use crate::error::PlanError;
use crate::parse::definition::{CreateIndex, IndexElement, IndexKey};
use crate::parse::parse_expression;
use crate::parse::statement::{ObjectName, SqlText};
use crate::resolve::index_key::{is_like_a_call, key_type};
use crate::resolve::names::output_name;
use crate::scalar::collation;
use crate::scalar::func::quote_identifier;
use crate::system::definition_text::DefinitionText;
use repr::{ColumnIndex, ColumnType, RelationId};
use sqlparser::ast::Expr;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One key of an index that is to be made.
pub(super) enum Key {
    /// A column.
    Column(ColumnIndex),
    /// An expression.
    Expression(String),
}

impl DefinitionChange<'_> {
    /// The keys that are asked for. Changes nothing.
    pub(super) fn index_keys(&self, table: &Table, create: &CreateIndex) -> Result<Vec<Key>, PlanError> {
        let key = |element: &IndexElement| {
            let collation = element.collation.as_ref().filter(|_| !create.unique).filter(|name| orders(name));
            if let Some(collation) = collation {
                let key = collated(&element.key, collation);
                self.check_expression(ExpressionPurpose::IndexKey, &key, table)?;
                return Ok(Key::Expression(self.kept(&key.text)));
            }
            let (name, position) = match &element.key {
                IndexKey::Column(column) => (column.name.clone(), column.position),
                IndexKey::Expression(text) => match bare_column(&text.text) {
                    Some(name) => (name, text.position),
                    None => {
                        self.check_expression(ExpressionPurpose::IndexKey, text, table)?;
                        return Ok(Key::Expression(unwrapped(&self.kept(&text.text))));
                    }
                },
            };
            match table.column_by_name(&name) {
                Some((index, _)) => Ok(Key::Column(index)),
                None => Err(PlanError::new("42703", format!("column \"{name}\" does not exist")).at(Some(position))),
            }
        };
        create.elements.iter().map(key).collect()
    }

    /// The columns that hold keys; those that are not there yet are made. A table that is `fresh` has no rows.
    pub(super) fn columns_of_keys(
        &mut self,
        id: RelationId,
        keys: &[Key],
        fresh: bool,
    ) -> Result<Vec<ColumnIndex>, PlanError> {
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys {
            columns.push(match key {
                Key::Column(column) => *column,
                Key::Expression(text) => self.expression_column(id, text, fresh)?,
            });
        }
        Ok(columns)
    }

    fn expression_column(&mut self, id: RelationId, text: &str, fresh: bool) -> Result<ColumnIndex, PlanError> {
        let table = Arc::clone(self.get(id));
        if let Some((column, ..)) = table.expression_keys().find(|(_, _, other)| *other == text) {
            return Ok(column);
        }
        let column_type = key_type(&self.catalog, &table, text)?;
        if column_type.scalar.is_anonymous() {
            return Err(PlanError::new("42P16", "column \"row\" has pseudo-type record"));
        }
        let column = table.columns.len();
        let entry = self.edit(id);
        entry.schema_version += 1;
        entry.columns.push(Column {
            default: Some(DefaultValue::Generated(text.to_owned())),
            hidden: true,
            ..Column::new(text, column_type.clone())
        });
        self.name_expressions(id);
        if !fresh {
            let column = self.computed_anew(column, text, column_type);
            self.effects.push(DdlEffect::RewriteTable { table: id, columns: vec![column] });
        }
        Ok(column)
    }

    fn computed_anew(&self, column: ColumnIndex, text: &str, column_type: ColumnType) -> RewriteColumn {
        RewriteColumn { column, value: RewriteValue::Generated(text.to_owned()), column_type }
    }

    /// Calls the expressions of a table as they are shown, after anything in them got another name.
    pub(super) fn name_expressions(&mut self, id: RelationId) {
        let table = Arc::clone(self.get(id));
        if table.expression_keys().next().is_none() {
            return;
        }
        let shown = DefinitionText::of(Arc::new(self.catalog.clone()));
        for (column, ..) in table.expression_keys() {
            self.edit(id).columns[column].name = shown.index_key(&table, column, true);
        }
    }

    /// Expressions of which no index is any more go.
    pub(super) fn drop_unused_expressions(&mut self, id: RelationId, of: &[ColumnIndex]) {
        for &column in of {
            let table = self.get(id);
            let used = table.indexes.iter().any(|index| index.columns.contains(&column));
            if table.columns[column].hidden && !used {
                self.edit(id).drop_column(column);
            }
        }
    }

    /// Before a table takes part in it: the expressions over a column that gets another type, by what they become.
    pub(super) fn retype_expressions(
        &mut self,
        id: RelationId,
        changed: ColumnIndex,
        position: u32,
    ) -> Result<Vec<RewriteColumn>, PlanError> {
        let table = Arc::clone(self.get(id));
        let mut rewritten = Vec::new();
        for (column, _, text) in expressions_over(&table, changed) {
            let written = SqlText { text: self.written(text), position };
            self.check_expression(ExpressionPurpose::IndexKey, &written, &table)?;
            let column_type = key_type(&self.catalog, &table, text)?;
            self.edit(id).columns[column].column_type = column_type.clone();
            rewritten.push(self.computed_anew(column, text, column_type));
        }
        self.name_expressions(id);
        Ok(rewritten)
    }
}

/// Expressions of indexes that name a column.
fn expressions_over(table: &Table, column: ColumnIndex) -> impl Iterator<Item = (ColumnIndex, &Column, &str)> {
    table.expression_keys().filter(move |(_, _, text)| rewrite::columns_used(text, table).contains(&column))
}

/// Whether an index is of a column, asks for it, or is of an expression over it.
pub(super) fn stands_on(table: &Table, index: &Index, column: ColumnIndex) -> bool {
    index.mentions(column) || is_of_expression_over(table, index, column)
}

/// Whether an index is of an expression over a column.
pub(super) fn is_of_expression_over(table: &Table, index: &Index, column: ColumnIndex) -> bool {
    let over: BTreeSet<ColumnIndex> = expressions_over(table, column).map(|(key, ..)| key).collect();
    index.columns.iter().any(|key| over.contains(key))
}

/// Whether a collation orders by anything but code points, so that an index of the texts themselves would not serve it.
/// One that tells values apart does that by the texts.
fn orders(name: &ObjectName) -> bool {
    collation::named(&name.name).is_some_and(collation::has_keys)
}

/// A key of an index with its collation, as an expression.
fn collated(key: &IndexKey, collation: &ObjectName) -> SqlText {
    let (text, position) = match key {
        IndexKey::Column(column) => (quote_identifier(&column.name), column.position),
        IndexKey::Expression(text) => (format!("({})", text.text), text.position),
    };
    SqlText { text: format!("{text} COLLATE {}", quote_identifier(&collation.name)), position }
}

/// A column's name within parentheses, which is no expression.
fn bare_column(text: &str) -> Option<String> {
    match parse_expression(&unwrapped(text)) {
        Ok(expr @ Expr::Identifier(_)) => Some(output_name(&expr)),
        _ => None,
    }
}

/// What an index calls its keys, each once.
pub(crate) fn key_names(table: &Table, columns: &[ColumnIndex]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for &column in columns {
        let name = key_name(&table.columns[column]);
        let mut numbered = (1..).map(|number| format!("{name}{number}"));
        let free = if names.contains(&name) { numbered.find(|free| !names.contains(free)) } else { None };
        names.push(free.unwrap_or(name));
    }
    names
}

fn key_name(column: &Column) -> String {
    let (true, Some(DefaultValue::Generated(text))) = (column.hidden, &column.default) else {
        return column.name.clone();
    };
    let name = parse_expression(text).map(|expr| output_name(&expr)).unwrap_or_default();
    if name.is_empty() || name == "?column?" { "expr".to_owned() } else { name }
}

/// The key as a definition has it: a call stands by itself, and so does what has a collation; all else within parentheses.
pub(crate) fn delimited(shown: String) -> String {
    if let Ok(Expr::Nested(within)) = parse_expression(&shown)
        && let Expr::Collate { .. } = *within
    {
        return unwrapped(&shown);
    }
    if is_like_a_call(&shown) { shown } else { format!("({shown})") }
}
