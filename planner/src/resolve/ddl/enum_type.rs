//! Enum types: created, renamed, given labels, whose names may change.
//!
//! Stored values hold a label and its place. So tables are written anew where a label gets another name, or finds no room
//! between its neighbours.

use super::change::DefinitionChange;
use super::{Becomes, DdlEffect, ValueChange};
use crate::catalog::composite::is_made_of;
use crate::catalog::{Catalog, CreatedType, DefaultValue, Enumeration, NamespaceId, Table, TypeKind};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName};
use crate::parse::type_definition::AddEnumValue;
use crate::resolve::relabel::Relabel;
use repr::{ColumnIndex, Id, RelationId, ScalarType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// PostgreSQL's limit on a label.
const LABEL_BYTES_MAX: usize = 63;

impl DefinitionChange<'_> {
    pub(super) fn create_enum(&mut self, name: &ObjectName, labels: &[String]) -> Result<&'static str, PlanError> {
        let namespace = self.place_of_type(name)?;
        self.require_free_type(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        for (index, label) in labels.iter().enumerate() {
            require_label(label)?;
            if labels[..index].contains(label) {
                return Err(PlanError::new("42710", format!("enum label \"{label}\" used more than once")));
            }
        }
        // Two ids: the array type's OID is the next one.
        let id = self.next_id();
        self.next_id();
        let mut made = Enumeration::default();
        for (index, label) in labels.iter().enumerate() {
            let id = self.next_id();
            if !made.insert(index, label, id) {
                made.place_anew();
            }
        }
        let found = CreatedType { id, name: name.name.clone(), namespace, kind: TypeKind::Enum(made) };
        self.insert_type(found);
        Ok("CREATE TYPE")
    }

    pub(super) fn add_enum_value(&mut self, add: &AddEnumValue) -> Result<&'static str, PlanError> {
        let AddEnumValue { name, label, neighbour, .. } = add;
        let (id, found) = self.enumeration_named(name)?;
        require_label(label)?;
        if found.label(label).is_some() {
            let message = format!("enum label \"{label}\" already exists");
            if add.if_not_exists {
                self.notice("42710", format!("{message}, skipping"));
                return Ok("ALTER TYPE");
            }
            return Err(PlanError::new("42710", message));
        }
        let index = match neighbour {
            None => found.labels.len(),
            Some((before, neighbour)) => {
                let position = found.labels.iter().position(|existing| existing.name == *neighbour);
                position.ok_or_else(|| no_label(neighbour))? + usize::from(!before)
            }
        };
        let mut changed = found.clone();
        let label_id = self.next_id();
        if !changed.insert(index, label, label_id) {
            let before: BTreeMap<Id, u32> = changed.labels.iter().map(|label| (label.id, label.place)).collect();
            changed.place_anew();
            let moved = changed.labels.iter().filter(|label| label.id != label_id);
            let labels =
                moved.map(|label| (before[&label.id], (label.place, Arc::from(label.name.as_str())))).collect();
            self.write_values_anew(id, &Becomes::Labels(Arc::new(labels)), true);
        }
        self.keep_enumeration(id, changed);
        Ok("ALTER TYPE")
    }

    pub(super) fn rename_enum_value(
        &mut self,
        name: &ObjectName,
        old: &str,
        new: &str,
    ) -> Result<&'static str, PlanError> {
        let (id, mut changed) = self.enumeration_named(name)?;
        require_label(new)?;
        let found = &changed;
        let place = found.label(old).ok_or_else(|| no_label(old))?.place;
        if found.label(new).is_some() {
            return Err(PlanError::new("42710", format!("enum label \"{new}\" already exists")));
        }
        let before = self.catalog.clone();
        for label in changed.labels.iter_mut().filter(|label| label.name == old) {
            new.clone_into(&mut label.name);
        }
        self.keep_enumeration(id, changed);
        let relabel = Relabel { of: id, old: old.to_owned(), new: new.to_owned() };
        self.relabel_texts(&relabel, &before);
        self.relabel = Some(relabel);
        let labels = BTreeMap::from([(place, (place, Arc::from(new)))]);
        self.write_values_anew(id, &Becomes::Labels(Arc::new(labels)), false);
        Ok("ALTER TYPE")
    }

    /// The enumeration of that name: 42809 if it is another type.
    fn enumeration_named(&self, name: &ObjectName) -> Result<(Id, Enumeration), PlanError> {
        let id = self.type_named(name)?;
        match self.catalog.types[&id].enumeration() {
            Some(found) => Ok((id, found.clone())),
            None => Err(PlanError::new("42809", format!("{} is not an enum", name.dotted()))),
        }
    }

    fn keep_enumeration(&mut self, id: Id, changed: Enumeration) {
        if let Some(found) = self.catalog.types.get_mut(&id) {
            Arc::make_mut(found).kind = TypeKind::Enum(changed);
        }
    }

    /// Has all stored values of a type, which is as it was yet, become something else.
    pub(super) fn write_values_anew(&mut self, id: Id, becomes: &Becomes, moves: bool) {
        let tables: Vec<Arc<Table>> = self.catalog.stored_tables().cloned().collect();
        let mut placed_anew: Vec<RelationId> = Vec::new();
        for table in tables {
            let columns = table.columns.iter().map(|column| column.column_type.scalar.clone()).enumerate();
            let columns: Vec<(ColumnIndex, ScalarType)> =
                columns.filter(|(_, scalar)| is_made_of(scalar, id)).collect();
            if columns.is_empty() {
                continue;
            }
            let change = ValueChange { table: table.id, columns, of: id, becomes: becomes.clone(), moves };
            let entry = self.edit(table.id);
            entry.schema_version += 1;
            for (column, scalar) in &change.columns {
                let missing = &mut entry.columns[*column].missing;
                *missing = missing.as_ref().map(|value| change.apply(value, scalar));
            }
            if moves {
                placed_anew.push(table.id);
            }
            self.effects.push(DdlEffect::Remake(change));
        }
        if !placed_anew.is_empty() {
            self.effects.push(DdlEffect::Replace(placed_anew));
        }
    }

    /// Kept texts by a label's new name.
    fn relabel_texts(&mut self, relabel: &Relabel, before: &Catalog) {
        let ids: Vec<RelationId> = self.catalog.relations.keys().copied().collect();
        for id in ids {
            if let Some(table) = relabelled_table(self.get(id), relabel, before) {
                *self.edit(id) = table;
                self.name_expressions(id);
            }
        }
    }

    pub(super) fn rename_type(&mut self, name: &ObjectName, new: &Identifier) -> Result<(), PlanError> {
        let id = self.type_named(name)?;
        let namespace = self.catalog.types[&id].namespace;
        self.require_free_type(namespace, &new.name).map_err(|error| error.at(Some(new.position)))?;
        self.renaming(|change| {
            if let Some(found) = change.catalog.types.get_mut(&id) {
                Arc::make_mut(found).name.clone_from(&new.name);
            }
        });
        Ok(())
    }

    pub(super) fn type_named(&self, name: &ObjectName) -> Result<Id, PlanError> {
        let found = (|| {
            name.require_own(&self.path)?;
            if let Some(schema) = &name.schema {
                self.scope().require_namespace(schema)?;
            }
            let missing = || PlanError::new("42704", format!("type \"{}\" does not exist", name.dotted()));
            self.scope().type_named(name.schema.as_deref(), &name.name).map(|found| found.id).ok_or_else(missing)
        })();
        found.map_err(|error: PlanError| error.at(Some(name.position)))
    }

    /// A type that is new. An array that has its name gets another one.
    pub(super) fn insert_type(&mut self, found: CreatedType) {
        let renames = self.catalog.element_in(found.namespace, &found.name).is_some();
        let insert = |change: &mut Self| _ = change.catalog.types.insert(found.id, Arc::new(found));
        if renames { self.renaming(insert) } else { insert(self) }
    }

    pub(super) fn require_free_type(&self, namespace: NamespaceId, name: &str) -> Result<(), PlanError> {
        let scope = self.scope();
        let is_type = scope.catalog.type_in(namespace, name).is_some();
        let found = scope.created_type(scope.catalog.namespace_name(namespace), name);
        let is_extensions = found.is_some_and(|found| found.extension().is_some());
        if is_type || is_extensions || scope.catalog.table_in(namespace, name).is_some() {
            return Err(PlanError::new("42710", format!("type \"{name}\" already exists")));
        }
        Ok(())
    }
}

/// A table whose texts name the label; none if there is no such text.
fn relabelled_table(table: &Arc<Table>, relabel: &Relabel, before: &Catalog) -> Option<Table> {
    let mut new = Table::clone(table);
    let mut changed = false;
    let mut keep = |text: &mut String, now: String| {
        changed |= now != *text;
        *text = now;
    };
    for check in &mut new.checks {
        let now = relabel.expression(&check.expression, before, table, None);
        keep(&mut check.expression, now);
    }
    for predicate in new.indexes.iter_mut().filter_map(|index| index.declared.predicate.as_mut()) {
        let now = relabel.expression(&predicate.expression, before, table, None);
        keep(&mut predicate.expression, now);
    }
    for column in &mut new.columns {
        if let Some(DefaultValue::Expr(text) | DefaultValue::Generated(text)) = &mut column.default {
            let to = (!column.hidden).then_some(&column.column_type);
            let now = relabel.expression(text, before, table, to);
            keep(text, now);
        }
    }
    if let Some(view) = &mut new.view {
        let now = relabel.query(&view.query, before);
        keep(&mut view.query, now);
    }
    changed.then_some(new)
}

fn no_label(label: &str) -> PlanError {
    PlanError::new("22023", format!("\"{label}\" is not an existing enum label"))
}

fn require_label(label: &str) -> Result<(), PlanError> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(PlanError::new("42602", format!("invalid enum label \"{label}\""))
            .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")));
    }
    Ok(())
}
