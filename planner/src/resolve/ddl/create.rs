//! CREATE TABLE.

use super::change::DefinitionChange;
use super::column::NewColumn;
use super::{DdlEffect, ExpressionPurpose};
use crate::catalog::{Column, DefaultValue, NamespaceId, Table};
use crate::error::PlanError;
use crate::parse::definition::{CreateTable, TableConstraint, TableConstraintKind};
use repr::{ColumnIndex, RelationId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// PostgreSQL's MaxHeapAttributeNumber.
const COLUMNS_MAX: usize = 1_600;

impl DefinitionChange<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<&'static str, PlanError> {
        let namespace = self.place_for(&create.name, create.temporary)?;
        if let Some(refused) = &create.refused {
            return Err(PlanError::unsupported(refused));
        }
        if create.on_commit.is_some() && namespace != NamespaceId::PG_TEMP {
            return Err(PlanError::new("42P16", "ON COMMIT can only be used on temporary tables"));
        }
        let name = &create.name.name;
        if self.kind_in(namespace, name).is_some() && create.if_not_exists {
            self.notice("42P07", format!("relation \"{name}\" already exists, skipping"));
            return Ok("CREATE TABLE");
        }
        self.require_free(namespace, name)?;
        self.require_no_type(namespace, name)?;
        let models = self.models(create)?;
        let columns = self.columns_with_models(create, &models)?;
        if columns.len() > COLUMNS_MAX {
            return Err(PlanError::new("54011", format!("tables can have at most {COLUMNS_MAX} columns")));
        }
        let mut names = BTreeSet::new();
        for column in &columns {
            if !names.insert(column.name.name.as_str()) {
                return Err(PlanError::new(
                    "42701",
                    format!("column \"{}\" specified more than once", column.name.name),
                )
                .at(Some(column.name.position)));
            }
        }

        let id = RelationId(self.next_id());
        self.catalog.add_relation(Arc::new(Table {
            data_subject: create.data_subject,
            on_commit: create.on_commit.unwrap_or_default(),
            ..Table::new(id, namespace, name)
        }));
        self.effects.push(DdlEffect::CreateTable(id));

        let mut constraints: Vec<TableConstraint> = Vec::new();
        let mut new_columns = Vec::new();
        for definition in &columns {
            let new = self.new_column(id, definition)?;
            self.edit(id).columns.push(new.column.clone());
            constraints.extend(new.constraints.iter().cloned());
            new_columns.push(new);
        }
        for (index, new) in new_columns.iter().enumerate() {
            self.give_value_source(id, index, new)?;
        }
        self.copy_indexes(id, &models)?;
        constraints.extend(self.checks_like(&models));
        constraints.extend(create.constraints.iter().cloned());
        self.add_constraints(id, &constraints, true)?;
        for (index, new) in new_columns.iter().enumerate() {
            self.take_property_of(id, index, new)?;
        }
        for rule in &create.rules {
            self.add_rule(id, rule)?;
        }
        self.set_retention(id, &create.retention)?;
        self.copy_comments(id, &models)?;
        self.require_owner_like(id, &models)?;
        Ok("CREATE TABLE")
    }

    /// Keys before checks before foreign keys, so that a table may refer to itself.
    pub(super) fn add_constraints(
        &mut self,
        id: RelationId,
        constraints: &[TableConstraint],
        fresh: bool,
    ) -> Result<(), PlanError> {
        let rank = |constraint: &&TableConstraint| match constraint.kind {
            TableConstraintKind::PrimaryKey(_) => 0,
            TableConstraintKind::Unique(_) | TableConstraintKind::UsingIndex(..) => 1,
            TableConstraintKind::Check(_) => 2,
            TableConstraintKind::ForeignKey(..) => 3,
        };
        let mut ordered: Vec<&TableConstraint> = constraints.iter().collect();
        ordered.sort_by_key(rank);
        ordered.into_iter().try_for_each(|constraint| self.add_constraint(id, constraint, fresh))
    }

    /// The column's sequence, default or generation expression, once the column is in its table.
    pub(super) fn give_value_source(
        &mut self,
        id: RelationId,
        index: ColumnIndex,
        new: &NewColumn,
    ) -> Result<(), PlanError> {
        let value = if let Some(sequence) = &new.sequence {
            Some(self.create_column_sequence(id, index, sequence)?)
        } else if let Some(text) = &new.default {
            let table = Arc::clone(self.get(id));
            self.check_expression(ExpressionPurpose::Default(&new.column), text, &table)?;
            Some(self.default_of(text))
        } else if let Some(text) = &new.generated {
            let table = Arc::clone(self.get(id));
            self.check_generated(&table, index, text)?;
            Some(DefaultValue::Generated(self.kept(&text.text)))
        } else {
            None
        };
        let column: &mut Column = &mut self.edit(id).columns[index];
        column.default = value;
        Ok(())
    }
}
