//! CREATE TABLE (LIKE …): another table's columns written out where the clause stands, and what else it takes over.
//!
//! As in PostgreSQL, foreign keys are never taken over, so neither is whose the rows are. A copy of a personal table
//! must therefore say it itself: one that does not is refused, and never becomes a place for rows without an owner
//! by mere brevity.

use super::change::DefinitionChange;
use super::constraint::column_list;
use super::index_key::{Key, key_names};
use crate::catalog::{Column, DefaultValue, Index, IndexDeclaration, IndexPredicate, Sequence, Table};
use crate::error::PlanError;
use crate::ownership::{Dog, quote_identifier};
use crate::parse::definition::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, CreateTable, LikeClause, SequenceOptions,
    TableConstraint, TableConstraintKind, Timing,
};
use crate::parse::statement::{Identifier, LabelledObject, ObjectName, SqlText, Statement};
use crate::system::definition_text::DefinitionText;
use repr::{ColumnIndex, RelationId};
use std::sync::Arc;

/// A table that another one is made like.
pub(super) struct Model {
    table: Arc<Table>,
    clause: LikeClause,
}

impl DefinitionChange<'_> {
    /// The tables that a statement names by LIKE.
    pub(super) fn models(&self, create: &CreateTable) -> Result<Vec<Model>, PlanError> {
        create
            .likes
            .iter()
            .map(|clause| {
                let table = Arc::clone(self.get(self.relation(&clause.table)?));
                Ok(Model { table, clause: clause.clone() })
            })
            .collect()
    }

    /// All columns, in order: the statement's own, and its models' where LIKE stands.
    pub(super) fn columns_with_models(
        &self,
        create: &CreateTable,
        models: &[Model],
    ) -> Result<Vec<ColumnDefinition>, PlanError> {
        let mut columns = Vec::new();
        for place in 0..=create.columns.len() {
            for model in models.iter().filter(|model| model.clause.before == place) {
                for (_, column) in model.table.live_columns() {
                    columns.push(self.column_like(model, column)?);
                }
            }
            columns.extend(create.columns.get(place).cloned());
        }
        Ok(columns)
    }

    fn column_like(&self, model: &Model, column: &Column) -> Result<ColumnDefinition, PlanError> {
        let position = model.clause.table.position;
        let mut definition = self.written_column(column)?;
        definition.name = Identifier { name: column.name.clone(), position };
        definition.type_name.position = position;
        let mut say = |kind| {
            let constraint = ColumnConstraint { name: None, kind, timing: Timing::default() };
            definition.constraints.push(constraint);
        };
        if !column.column_type.nullable {
            say(ColumnConstraintKind::NotNull);
        }
        let text = |text: String| SqlText { text, position };
        let parts = model.clause.parts;
        match &column.default {
            Some(DefaultValue::Expr(default)) if parts.defaults => {
                say(ColumnConstraintKind::Default(text(self.written(default))));
            }
            Some(DefaultValue::Serial(sequence)) if parts.defaults => {
                if let Some(sequence) = self.catalog.sequences.get(sequence) {
                    let name = self.scope().spelled_sequence(sequence).replace('\'', "''");
                    say(ColumnConstraintKind::Default(text(format!("nextval('{name}')"))));
                }
            }
            Some(DefaultValue::Generated(expression)) if parts.generated => {
                say(ColumnConstraintKind::Generated(text(self.written(expression))));
            }
            Some(DefaultValue::Identity { sequence, always }) if parts.identity => {
                let options = self.catalog.sequences.get(sequence).map(|found| options_like(found));
                let options = options.unwrap_or_default();
                say(ColumnConstraintKind::Identity { always: *always, options });
            }
            Some(
                DefaultValue::Expr(_)
                | DefaultValue::Serial(_)
                | DefaultValue::Generated(_)
                | DefaultValue::Identity { .. },
            )
            | None => {}
        }
        Ok(definition)
    }

    /// A column's name and type, read back from how they are written.
    fn written_column(&self, column: &Column) -> Result<ColumnDefinition, PlanError> {
        let column_type = &column.column_type;
        let written = self.scope().spelled_scalar(&column_type.scalar, column_type.modifier);
        let text = format!("CREATE TABLE t ({} {written})", quote_identifier(&column.name));
        let statement = crate::parse::parse(&text)?.pop().map(|parsed| parsed.statement);
        match statement {
            Some(Statement::CreateTable(mut create)) if create.columns.len() == 1 => Ok(create.columns.remove(0)),
            _ => Err(PlanError::new("42P16", format!("column \"{}\" has a type that no table has", column.name))),
        }
    }

    /// Keys and indexes of the models, over the new table's columns of the same names.
    pub(super) fn copy_indexes(&mut self, id: RelationId, models: &[Model]) -> Result<(), PlanError> {
        for model in models.iter().filter(|model| model.clause.parts.indexes && model.table.is_stored()) {
            for index in model.table.indexes.iter().filter(|index| !index.automatic) {
                self.copy_index(id, model, index)?;
            }
        }
        Ok(())
    }

    /// What is of the model's column there.
    fn key_like(&self, id: RelationId, model: &Model, column: ColumnIndex) -> Option<Key> {
        let column = &model.table.columns[column];
        match &column.default {
            Some(DefaultValue::Generated(text)) if column.hidden => Some(Key::Expression(text.clone())),
            _ => self.get(id).column_by_name(&column.name).map(|(place, _)| Key::Column(place)),
        }
    }

    fn copy_index(&mut self, id: RelationId, model: &Model, index: &Index) -> Result<(), PlanError> {
        let keys: Vec<Key> = index.columns.iter().filter_map(|column| self.key_like(id, model, *column)).collect();
        let columns = self.columns_of_keys(id, &keys, true)?;
        let table = Arc::clone(self.get(id));
        let there =
            |column: &ColumnIndex| table.column_by_name(&model.table.columns[*column].name).map(|(place, _)| place);
        let primary = model.table.primary_key == Some(index.id);
        if primary && table.primary_key.is_some() {
            return Err(PlanError::new(
                "42P16",
                format!("multiple primary keys for table \"{}\" are not allowed", table.name),
            ));
        }
        let (named, label) = match (&index.constraint, primary) {
            (_, true) => (String::new(), "pkey"),
            (Some(_), false) => (column_list(&table, &columns), "key"),
            (None, false) => {
                let included = index.declared.include.iter().filter_map(there);
                (key_names(&table, &columns.iter().copied().chain(included).collect::<Vec<_>>()).join("_"), "idx")
            }
        };
        let name = self.relation_name(&table.name, &named, label, &table);
        let constraint = index.constraint.as_ref().map(|constraint| {
            let timing =
                Timing { deferrable: constraint.deferrable, initially_deferred: constraint.initially_deferred };
            self.constraint(name.clone(), timing)
        });
        let include = index.declared.include.iter().filter_map(there).collect();
        let predicate = index.declared.predicate.as_ref().map(|predicate| IndexPredicate {
            columns: predicate.columns.iter().filter_map(there).collect(),
            ..predicate.clone()
        });
        let declared = IndexDeclaration { include, predicate, ..index.declared.clone() };
        let copy = Index { name, columns, constraint, nulls: true, declared, ..index.clone() };
        let copied = self.add_index(id, copy, primary, true);
        let comment = self.catalog.comments.get(&index.id.0).filter(|_| model.clause.parts.comments).cloned();
        if let Some(comment) = comment {
            self.catalog.comments.insert(copied.0, comment);
        }
        Ok(())
    }

    /// The models' CHECKs.
    pub(super) fn checks_like(&self, models: &[Model]) -> Vec<TableConstraint> {
        let shown = models.iter().any(|model| model.clause.parts.constraints && !model.table.checks.is_empty());
        // Written anew: a column may be qualified by the other table's name.
        let shown = shown.then(|| DefinitionText::of(Arc::new(self.catalog.clone())));
        let with_checks = models.iter().filter(|model| model.clause.parts.constraints);
        let checks = with_checks.flat_map(|model| model.table.checks.iter().map(move |check| (model, check)));
        checks
            .map(|(model, check)| {
                let position = model.clause.table.position;
                let text = shown.as_ref().map_or_else(
                    || check.expression.clone(),
                    |shown| shown.expression(&model.table, &check.expression, false),
                );
                let text = self.written(&text);
                TableConstraint {
                    name: Some(Identifier { name: check.constraint.name.clone(), position }),
                    kind: TableConstraintKind::Check(SqlText { text, position }),
                    timing: Timing::default(),
                    not_valid: false,
                    include: Vec::new(),
                    nulls_not_distinct: false,
                    position,
                }
            })
            .collect()
    }

    /// Comments on columns and CHECKs; their tags annotate the new table as COMMENT would.
    pub(super) fn copy_comments(&mut self, id: RelationId, models: &[Model]) -> Result<(), PlanError> {
        for model in models.iter().filter(|model| model.clause.parts.comments) {
            let (name, position) = (self.get(id).name.clone(), model.clause.table.position);
            let schema = self.catalog.namespace_name(self.get(id).namespace).map(str::to_owned);
            let table = ObjectName { database: None, schema, name, position };
            for (_, column) in model.table.live_columns() {
                if let Some(comment) = &column.comment {
                    let column = Identifier { name: column.name.clone(), position: table.position };
                    self.comment(&LabelledObject::Column(table.clone(), column), Some(comment))?;
                }
            }
            for check in model.table.checks.iter().filter(|_| model.clause.parts.constraints) {
                if let Some(comment) = self.catalog.comments.get(&check.constraint.id).cloned() {
                    let check = Identifier { name: check.constraint.name.clone(), position: table.position };
                    self.comment(&LabelledObject::Constraint(check, table.clone()), Some(&comment))?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a table like a personal one that does not say whose its own rows are.
    pub(super) fn require_owner_like(&self, id: RelationId, models: &[Model]) -> Result<(), PlanError> {
        if models.is_empty() {
            return Ok(());
        }
        let dog = Dog::new(&self.catalog);
        let is_owned = |table: RelationId| dog.is_subject(table) || dog.is_personal(table);
        let waits = self.catalog.pending_annotations.get(&id).is_some_and(|waiting| !waiting.is_empty());
        if waits || is_owned(id) {
            return Ok(());
        }
        let Some(model) = models.iter().find(|model| is_owned(model.table.id)) else { return Ok(()) };
        let (name, position) = (&model.table.name, model.clause.table.position);
        let hint = if dog.is_subject(model.table.id) {
            "Write CREATE DATA_SUBJECT TABLE, or the columns that are wanted one by one.".to_owned()
        } else {
            let edge = dog.ownership(model.table.id).find(|edge| edge.reference.table == model.table.id);
            let said = edge.and_then(|edge| crate::ownership::foreign_key(&self.catalog, edge.reference));
            said.map_or_else(
                || "Write the columns that are wanted one by one, and annotate what owns them.".to_owned(),
                |(table, key)| {
                    let described = crate::ownership::describe_edge(&self.catalog, table, key);
                    format!("Say whose its rows are in the same statement, as \"{name}\" does by {described}.")
                },
            )
        };
        Err(PlanError::unsupported(format!("LIKE of table \"{name}\", whose rows belong to people, without an owner"))
            .detail(
                "LIKE takes over no foreign keys, and so no ownership: rows of the new table would belong to nobody.",
            )
            .hint(hint)
            .at(Some(position)))
    }
}

fn options_like(sequence: &Sequence) -> SequenceOptions {
    SequenceOptions {
        start: Some(sequence.start),
        increment: Some(sequence.increment),
        min_value: Some(Some(sequence.min_value)),
        max_value: Some(Some(sequence.max_value)),
        cycle: Some(sequence.cycle),
        ..SequenceOptions::default()
    }
}
