//! ALTER COLUMN … TYPE: the rows are rewritten, and what stands on the column is built and checked again.

use super::change::DefinitionChange;
use super::column::column_collation;
use super::constraint::require_comparable;
use super::index_key::is_of_expression_over;
use super::{DdlEffect, ExpressionPurpose, RewriteColumn, RewriteValue, rewrite};
use crate::catalog::{DefaultValue, Index, Table};
use crate::error::PlanError;
use crate::parse::definition::SequenceOptions;
use crate::parse::statement::{Identifier, ObjectName, SqlText, TypeName};
use repr::{ColumnIndex, ColumnType, RelationId, ScalarType};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn alter_type(
        &mut self,
        id: RelationId,
        column: &Identifier,
        (type_name, collation): (&TypeName, Option<&ObjectName>),
        using: Option<&SqlText>,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = Arc::clone(self.get(id));
        if let Some(view) = self.readers(id, Some(index)).first() {
            return Err(PlanError::new("0A000", "cannot alter type of a column used by a view or rule").detail(
                format!(
                    "rule _RETURN on {} {} depends on column \"{}\"",
                    self.get(*view).kind(),
                    self.get(*view).name,
                    column.name
                ),
            ));
        }
        let old = &table.columns[index];
        let mut new_type = ColumnType { nullable: old.column_type.nullable, ..self.column_type(type_name)? };
        if let Some(collation) = collation {
            new_type.collation = column_collation(collation, &new_type.scalar)?;
        }
        let uses_column = |text: &str| rewrite::columns_used(text, &table).contains(&index);
        for (_, other, text) in table.computed_columns().filter(|(_, other, _)| !other.hidden) {
            if uses_column(text) {
                return Err(PlanError::new("0A000", "cannot alter type of a column used by a generated column")
                    .detail(format!("Column \"{}\" is used by generated column \"{}\".", column.name, other.name))
                    .at(Some(column.position)));
            }
        }
        if let (Some(text), Some(DefaultValue::Generated(_))) = (using, &old.default) {
            let message = "cannot specify USING when altering type of generated column";
            return Err(PlanError::new("42611", message)
                .detail(format!("Column \"{}\" is a generated column.", column.name))
                .at(Some(text.position)));
        }
        let written = format!("\"{}\"", old.name.replace('"', "\"\""));
        let (text, position) = match using {
            Some(text) => (text.text.clone(), text.position),
            None => (written, type_name.position),
        };
        let text = SqlText { text, position };
        self.check_conversion(&table, column, &new_type, (&text, using.is_some()))?;
        if new_type == old.column_type && using.is_none() {
            return Ok(());
        }
        if let Some(DefaultValue::Identity { sequence, .. }) = &old.default {
            super::column::require_identity_type(&new_type.scalar)?;
            let data_type = Some(type_name.clone());
            self.change_sequence(*sequence, &SequenceOptions { data_type, ..SequenceOptions::default() })?;
        }
        {
            let entry = self.edit(id);
            entry.columns[index].column_type = new_type.clone();
            entry.columns[index].missing = None;
            entry.schema_version += 1;
        }
        self.keep_default_type(id, index, &old.column_type);
        let changed = Arc::clone(self.get(id));
        if let Some(DefaultValue::Expr(default)) = &changed.columns[index].default {
            self.check_default(&changed, (index, default), column)?;
        }
        let value = RewriteValue::Using(self.kept(&text.text));
        let mut columns = vec![RewriteColumn { column: index, value, column_type: new_type }];
        columns.extend(self.retype_expressions(id, index, column.position)?);
        self.rewrite_retyped(id, columns);
        self.rebuild(id, index, column)
    }

    /// What several columns become is computed from the row as it was before any of them.
    fn rewrite_retyped(&mut self, id: RelationId, mut columns: Vec<RewriteColumn>) {
        let is_retyped = |column: &RewriteColumn| matches!(column.value, RewriteValue::Using(_));
        let earlier = self.effects.iter_mut().find_map(|effect| match effect {
            DdlEffect::RewriteTable { table, columns } if *table == id && columns.iter().any(is_retyped) => {
                Some(columns)
            }
            _ => None,
        });
        match earlier {
            Some(earlier) => earlier.append(&mut columns),
            None => self.effects.push(DdlEffect::RewriteTable { table: id, columns }),
        }
    }

    /// That the column's values, or what is `written` instead, can be of a new type.
    fn check_conversion(
        &mut self,
        table: &Table,
        column: &Identifier,
        new_type: &ColumnType,
        (text, written): (&SqlText, bool),
    ) -> Result<(), PlanError> {
        self.require_no_own_row(table.id, new_type)?;
        if let Some((_, changed)) = table.column_by_name(&column.name) {
            super::property::require_same_property(table, column, changed.property, &new_type.scalar)?;
        }
        self.check_expression(ExpressionPurpose::Using(new_type), text, table).map_err(|error| {
            if !matches!(error.code, "42804" | "42846") {
                return error;
            }
            let type_name = new_type.scalar.format_type(new_type.modifier);
            let (what, hint) = match written {
                true => (
                    format!("result of USING clause for column \"{}\"", column.name),
                    "You might need to add an explicit cast.".to_string(),
                ),
                false => (
                    format!("column \"{}\"", column.name),
                    format!("You might need to specify \"USING {}::{type_name}\".", column.name),
                ),
            };
            PlanError::new("42804", format!("{what} cannot be cast automatically to type {type_name}"))
                .hint(hint)
                .at(Some(column.position))
        })
    }

    /// A default that is a string was of the column's type, and becomes another's by a cast. A number has a type of its own.
    fn keep_default_type(&mut self, id: RelationId, index: ColumnIndex, old: &ColumnType) {
        let column = &self.get(id).columns[index];
        let Some(DefaultValue::Expr(text)) = &column.default else { return };
        // Labels of an enum are texts to all other types.
        let element = old.scalar.element();
        let is_label = matches!(element.as_ref().unwrap_or(&old.scalar), ScalarType::Enum(_));
        let is_same = column.column_type.scalar == old.scalar;
        if is_same || is_label || !is_string(text) {
            return;
        }
        let typed = format!("{}::{}", text.trim(), old.scalar.format_type(-1));
        let typed = self.kept(&typed);
        self.edit(id).columns[index].default = Some(DefaultValue::Expr(typed));
    }

    /// That a column's default can be of its new type.
    fn check_default(
        &mut self,
        changed: &Table,
        (index, default): (ColumnIndex, &str),
        column: &Identifier,
    ) -> Result<(), PlanError> {
        let default = SqlText { text: self.written(default), position: column.position };
        self.check_expression(ExpressionPurpose::Default(&changed.columns[index]), &default, changed).map_err(|_| {
            PlanError::new(
                "42804",
                format!(
                    "default for column \"{}\" cannot be cast automatically to type {}",
                    column.name,
                    changed.columns[index].column_type.scalar.name()
                ),
            )
            .at(Some(column.position))
        })
    }

    /// Indexes, checks and foreign keys on the column are built and validated against the new values.
    fn rebuild(&mut self, id: RelationId, index: usize, column: &Identifier) -> Result<(), PlanError> {
        self.require_unused_row_type(id)?;
        let table = Arc::clone(self.get(id));
        if table.columns[index].column_type.domain != 0 {
            self.validate_domain(id, index);
        }
        let stands_on_values = |found: &&Index| {
            found.columns.contains(&index) || found.asks_for(index) || is_of_expression_over(&table, found, index)
        };
        for found in table.indexes.iter().filter(stands_on_values) {
            if let Some(predicate) = &found.declared.predicate {
                let text = SqlText { text: self.written(&predicate.expression), position: column.position };
                self.check_expression(ExpressionPurpose::IndexPredicate, &text, &table)?;
            }
            super::constraint::require_indexable(&table, &found.columns)?;
            self.effects.push(DdlEffect::DropIndex { table: id, index: found.id });
            self.effects.push(DdlEffect::BuildIndex { table: id, index: found.id });
        }
        // What is not valid stays so.
        for check in table.checks.iter().filter(|check| !check.constraint.not_valid) {
            if rewrite::columns_used(&check.expression, &table).contains(&index) {
                let text = SqlText { text: self.written(&check.expression), position: column.position };
                self.check_expression(ExpressionPurpose::Check, &text, &table)?;
                self.effects.push(DdlEffect::ValidateCheck {
                    table: id,
                    name: check.constraint.name.clone(),
                    expression: check.expression.clone(),
                });
            }
        }
        let tables: Vec<_> = self.catalog.relations.values().cloned().collect();
        for referencing in &tables {
            for key in &referencing.foreign_keys {
                let from_here = referencing.id == id && key.columns.contains(&index);
                let to_here = key.target == id && key.target_columns.contains(&index);
                if !from_here && !to_here {
                    continue;
                }
                let target = self.get(key.target);
                let columns = (key.columns.as_slice(), key.target_columns.as_slice());
                require_comparable((referencing, target), columns, &key.constraint.name)
                    .map_err(|error| error.at(Some(column.position)))?;
                if !key.constraint.not_valid {
                    let foreign_key = key.constraint.id;
                    self.effects.push(DdlEffect::ValidateForeignKey { table: referencing.id, foreign_key });
                }
            }
        }
        Ok(())
    }
}

/// Whether a text is one string.
fn is_string(text: &str) -> bool {
    let inside = text.trim().strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inside.is_some_and(|inside| !inside.replace("''", "").contains('\''))
}
