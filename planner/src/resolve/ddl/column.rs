//! One column of CREATE TABLE or ADD COLUMN: its type, and what its constraints mean for the table.

use super::ExpressionPurpose;
use super::change::DefinitionChange;
use super::rewrite;
use crate::catalog::{Column, DefaultValue, Property, Table};
use crate::error::PlanError;
use crate::parse::definition::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, SequenceOptions, TableConstraint, TableConstraintKind,
};
use crate::parse::statement::{Identifier, ObjectName, SqlText, TypeName};
use crate::resolve::collate::for_type;
use crate::resolve::scope::fold;
use crate::resolve::system_columns::is_system_column;
use crate::resolve::types;
use crate::resolve::view::{of_cstring, refuse_access_list};
use crate::scalar::registry;
use repr::{Collation, ColumnIndex, ColumnType, RelationId, ScalarType};
use sqlparser::ast::DataType;

/// A column read, and what else it asks of its table.
pub(super) struct NewColumn {
    pub(super) column: Column,
    /// Its column constraints as table constraints.
    pub(super) constraints: Vec<TableConstraint>,
    pub(super) default: Option<SqlText>,
    pub(super) generated: Option<SqlText>,
    pub(super) sequence: Option<ColumnSequence>,
    pub(super) properties: Vec<Property>,
}

/// The sequence behind a serial or identity column.
pub(super) struct ColumnSequence {
    /// ALWAYS or BY DEFAULT of identity columns; `None` for serial.
    pub(super) identity: Option<bool>,
    pub(super) options: SequenceOptions,
    pub(super) scalar: ScalarType,
}

impl DefinitionChange<'_> {
    pub(super) fn new_column(&self, id: RelationId, definition: &ColumnDefinition) -> Result<NewColumn, PlanError> {
        let table = self.get(id).name.clone();
        let name = &definition.name;
        if is_system_column(&name.name) {
            return Err(PlanError::new(
                "42701",
                format!("column name \"{}\" conflicts with a system column name", name.name),
            )
            .at(Some(name.position)));
        }
        let serial = serial_type(&definition.type_name.data_type);
        let column_type = match &serial {
            Some(scalar) => ColumnType::not_null(scalar.clone()),
            None => self.column_type(&definition.type_name)?,
        };
        let mut new = NewColumn {
            column: Column::new(&name.name, column_type),
            constraints: Vec::new(),
            default: None,
            generated: None,
            sequence: serial.map(|scalar| ColumnSequence {
                identity: None,
                options: SequenceOptions::default(),
                scalar,
            }),
            properties: Vec::new(),
        };
        let mut nullability: Option<bool> = None;
        for constraint in &definition.constraints {
            self.column_constraint(&table, definition, constraint, &mut new, &mut nullability)?;
        }
        if new.sequence.is_some() || nullability == Some(false) {
            new.column.column_type.nullable = false;
        }
        Ok(new)
    }

    fn column_constraint(
        &self,
        table: &str,
        definition: &ColumnDefinition,
        constraint: &ColumnConstraint,
        new: &mut NewColumn,
        nullability: &mut Option<bool>,
    ) -> Result<(), PlanError> {
        let name = &definition.name;
        let at = |error: PlanError| Err(error.at(Some(name.position)));
        let mut say_nullable = |nullable: bool| {
            if nullability.replace(nullable).is_some_and(|said| said != nullable) {
                return at(conflicting_nullability(table, name));
            }
            Ok(())
        };
        let as_table = |kind: TableConstraintKind| TableConstraint {
            name: constraint.name.clone(),
            kind,
            timing: constraint.timing,
            not_valid: false,
            include: Vec::new(),
            nulls_not_distinct: matches!(constraint.kind, ColumnConstraintKind::Unique { nulls_not_distinct: true }),
            position: name.position,
        };
        let has_source = new.default.is_some() || new.generated.is_some() || new.sequence.is_some();
        match &constraint.kind {
            ColumnConstraintKind::NotNull => say_nullable(false)?,
            ColumnConstraintKind::Null => {
                if new.sequence.is_some() {
                    say_nullable(false)?;
                }
                say_nullable(true)?;
            }
            ColumnConstraintKind::Default(_)
            | ColumnConstraintKind::Generated(_)
            | ColumnConstraintKind::Identity { .. }
                if has_source =>
            {
                return at(multiple_defaults(table, name));
            }
            ColumnConstraintKind::Default(text) => new.default = Some(text.clone()),
            ColumnConstraintKind::Generated(text) => new.generated = Some(text.clone()),
            ColumnConstraintKind::Identity { always, options } => {
                let scalar = new.column.column_type.scalar.clone();
                require_identity_type(&scalar)?;
                new.sequence = Some(ColumnSequence { identity: Some(*always), options: options.clone(), scalar });
                say_nullable(false)?;
            }
            ColumnConstraintKind::PrimaryKey => {
                say_nullable(false)?;
                new.constraints.push(as_table(TableConstraintKind::PrimaryKey(vec![name.clone()])));
            }
            ColumnConstraintKind::Unique { .. } => {
                new.constraints.push(as_table(TableConstraintKind::Unique(vec![name.clone()])));
            }
            ColumnConstraintKind::Check(text) => {
                new.constraints.push(as_table(TableConstraintKind::Check(text.clone())));
            }
            ColumnConstraintKind::References(references) => {
                let kind = TableConstraintKind::ForeignKey(vec![name.clone()], references.clone());
                new.constraints.push(as_table(kind));
            }
            ColumnConstraintKind::Property(property) => new.properties.push(*property),
            ColumnConstraintKind::Collate(collation) => {
                new.column.column_type.collation = column_collation(collation, &new.column.column_type.scalar)?;
            }
        }
        Ok(())
    }

    /// What a type name means for a column.
    pub(super) fn column_type(&self, type_name: &TypeName) -> Result<ColumnType, PlanError> {
        let column_type =
            types::data_type(&type_name.data_type, self.scope()).map_err(|error| error.at(Some(type_name.position)))?;
        let scalar = &column_type.scalar;
        if scalar.is_pseudo() || scalar.is_anonymous() || of_cstring(scalar) {
            let message = format!("column has pseudo-type {}", scalar.name());
            return Err(PlanError::new("42P16", message).at(Some(type_name.position)));
        }
        refuse_access_list(scalar).map_err(|error| error.at(Some(type_name.position)))?;
        Ok(column_type)
    }

    /// A generated column's expression: over base columns only, and what the resolver says.
    pub(super) fn check_generated(&self, table: &Table, index: ColumnIndex, text: &SqlText) -> Result<(), PlanError> {
        for used in rewrite::columns_used(&text.text, table) {
            let generated = used == index || matches!(table.columns[used].default, Some(DefaultValue::Generated(_)));
            if generated {
                return Err(PlanError::new(
                    "42P17",
                    format!(
                        "cannot use generated column \"{}\" in column generation expression",
                        table.columns[used].name
                    ),
                )
                .detail("A generated column cannot reference another generated column.")
                .at(Some(text.position)));
            }
        }
        self.check_expression(ExpressionPurpose::Generated(&table.columns[index]), text, table)
    }
}

/// smallserial, serial, bigserial and their numbered names.
fn serial_type(data_type: &DataType) -> Option<ScalarType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    let [part] = name.0.as_slice() else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match fold(part.as_ident()?).as_str() {
        "smallserial" | "serial2" => Some(ScalarType::Int2),
        "serial" | "serial4" => Some(ScalarType::Int4),
        "bigserial" | "serial8" => Some(ScalarType::Int8),
        _ => None,
    }
}

pub(super) fn require_identity_type(scalar: &ScalarType) -> Result<(), PlanError> {
    match scalar {
        ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => Ok(()),
        _ => Err(PlanError::new("22023", "identity column type must be smallint, integer, or bigint")),
    }
}

fn conflicting_nullability(table: &str, column: &Identifier) -> PlanError {
    let column = &column.name;
    PlanError::new(
        "42601",
        format!("conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""),
    )
}

fn multiple_defaults(table: &str, column: &Identifier) -> PlanError {
    let message = format!("multiple default values specified for column \"{}\" of table \"{table}\"", column.name);
    PlanError::new("42601", message)
}

/// The collation of that name, for a column of that type.
pub(super) fn column_collation(collation: &ObjectName, scalar: &ScalarType) -> Result<Collation, PlanError> {
    let label = registry::type_name(scalar);
    for_type(collation.schema.as_deref(), &collation.name, scalar, &label)
        .map_err(|error| error.at(Some(collation.position)))
}
