//! Composite types: created, their attributes added, dropped, renamed and given other types.
//!
//! Every type that a column has says what it is made of, so a change of attributes changes the columns' types as well. Stored values
//! are written anew where attributes come or go.

use super::Becomes;
use super::change::DefinitionChange;
use super::column::column_collation;
use super::drop::is_of;
use crate::catalog::composite::{is_made_of, replaced};
use crate::catalog::{Attribute, Composite, CreatedType, TypeKind};
use crate::error::PlanError;
use crate::parse::statement::Identifier;
use crate::parse::type_definition::{AlterComposite, AttributeChange, AttributeDefinition, CreateComposite};
use repr::{ColumnType, Id, RelationId};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_composite(&mut self, create: &CreateComposite) -> Result<&'static str, PlanError> {
        let CreateComposite { name, attributes } = create;
        let namespace = self.place_of(name)?;
        self.require_free_type(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        let mut made = Composite::default();
        for definition in attributes {
            if made.attribute(&definition.name.name).is_some() {
                let message = format!("column \"{}\" specified more than once", definition.name.name);
                return Err(PlanError::new("42701", message));
            }
            made.attributes.push(self.attribute(definition)?);
        }
        // Three: those of the array type and of the `pg_class` row follow.
        let id = self.next_id();
        self.next_id();
        self.next_id();
        let found = CreatedType { id, name: name.name.clone(), namespace, kind: TypeKind::Composite(made) };
        self.catalog.types.insert(id, Arc::new(found));
        Ok("CREATE TYPE")
    }

    pub(super) fn alter_composite(&mut self, alter: &AlterComposite) -> Result<&'static str, PlanError> {
        let AlterComposite { name, changes } = alter;
        let id = self.type_named(name)?;
        for change in changes {
            let Some(composite) = self.catalog.types[&id].composite() else {
                return Err(PlanError::new("42809", format!("\"{}\" is not a composite type", name.name)));
            };
            let mut composite = composite.clone();
            let before = composite.clone();
            if let AttributeChange::Retype(_) = change {
                self.require_unstored(id, &name.name)?;
            }
            self.change_attribute(id, &name.name, &mut composite, change)?;
            if matches!(change, AttributeChange::Add(_) | AttributeChange::Drop { .. }) {
                self.write_fields_anew(id, &before, &composite);
            }
            self.keep_composite(id, composite);
        }
        Ok("ALTER TYPE")
    }

    fn attribute(&self, definition: &AttributeDefinition) -> Result<Attribute, PlanError> {
        let AttributeDefinition { name, type_name, collation } = definition;
        let mut column_type = self.column_type(type_name).map_err(|error| match error.code {
            "42P16" => PlanError {
                message: error.message.replacen("column", &format!("column \"{}\"", name.name), 1),
                ..error
            },
            _ => error,
        })?;
        if column_type.domain != 0 {
            return Err(PlanError::unsupported("an attribute of a domain")
                .hint("Use the type below it, or a domain over the composite type."));
        }
        if let Some(collation) = collation {
            column_type.collation = column_collation(collation, &column_type.scalar)?;
        }
        Ok(Attribute { name: name.name.clone(), column_type })
    }

    fn change_attribute(
        &mut self,
        id: Id,
        of: &str,
        composite: &mut Composite,
        change: &AttributeChange,
    ) -> Result<(), PlanError> {
        let missing = |name: &Identifier| {
            PlanError::new("42703", format!("column \"{}\" of relation \"{of}\" does not exist", name.name))
        };
        let taken = |composite: &Composite, name: &Identifier| match composite.attribute(&name.name) {
            Some(_) => {
                Err(PlanError::new("42701", format!("column \"{}\" of relation \"{of}\" already exists", name.name)))
            }
            None => Ok(()),
        };
        match change {
            AttributeChange::Add(definition) => {
                taken(composite, &definition.name)?;
                let attribute = self.attribute(definition)?;
                if is_made_of(&attribute.column_type.scalar, id) {
                    return Err(PlanError::new(
                        "42P16",
                        format!("composite type {} cannot be made a member of itself", self.shown_type(id)),
                    ));
                }
                composite.attributes.push(attribute);
            }
            AttributeChange::Drop { name, if_exists } => {
                if composite.attribute(&name.name).is_none() {
                    if *if_exists {
                        let message = missing(name).message;
                        self.notice("00000", format!("{message}, skipping"));
                        return Ok(());
                    }
                    return Err(missing(name));
                }
                composite.attributes.retain(|attribute| attribute.name != name.name);
            }
            AttributeChange::Retype(definition) => {
                let attribute = self.attribute(definition)?;
                let own = composite.attributes.iter_mut().find(|own| own.name == attribute.name);
                *own.ok_or_else(|| missing(&definition.name))? = attribute;
            }
            AttributeChange::Rename { old, new } => {
                composite.attribute(&old.name).ok_or_else(|| missing(old))?;
                taken(composite, new)?;
                for attribute in composite.attributes.iter_mut().filter(|attribute| attribute.name == old.name) {
                    attribute.name.clone_from(&new.name);
                }
            }
        }
        Ok(())
    }

    /// The attributes of composite types that are of a type themselves.
    pub(super) fn attributes_of_type(&self, id: Id) -> Vec<(Id, String)> {
        let of_it = |found: &Arc<CreatedType>| {
            let attributes = found.composite().into_iter().flat_map(|composite| &composite.attributes);
            let of_it = attributes.filter(|own| is_of(&own.column_type, id));
            of_it.map(|own| (found.id, own.name.clone())).collect::<Vec<_>>()
        };
        self.catalog.types.values().flat_map(of_it).collect()
    }

    /// Drops an attribute, whose type goes.
    pub(super) fn drop_attribute(&mut self, id: Id, attribute: &str) {
        let found = self.catalog.types.get(&id).map(Arc::clone);
        // What it is of may have gone before.
        let Some(composite) = found.as_ref().and_then(|found| found.composite()) else { return };
        let mut after = composite.clone();
        after.attributes.retain(|own| own.name != attribute);
        self.write_fields_anew(id, composite, &after);
        self.keep_composite(id, after);
    }

    fn write_fields_anew(&mut self, id: Id, before: &Composite, after: &Composite) {
        let place = |own: &Attribute| before.attributes.iter().position(|other| other.name == own.name);
        let from: Vec<Option<usize>> = after.attributes.iter().map(place).collect();
        if from.len() != before.attributes.len() || from.contains(&None) {
            self.write_values_anew(id, &Becomes::Fields(from.into()), true);
        }
    }

    /// 0A000 while a column's values are made of the type: they would have to be written anew.
    fn require_unstored(&self, id: Id, name: &str) -> Result<(), PlanError> {
        for table in self.catalog.relations.values() {
            let mut columns = table.live_columns();
            if let Some((_, column)) = columns.find(|(_, column)| is_made_of(&column.column_type.scalar, id)) {
                let user = format!("{}.{}", table.name, column.name);
                let message = format!("cannot alter type \"{name}\" because column \"{user}\" uses it");
                return Err(PlanError::new("0A000", message).hint("Create another type, and a column of it."));
            }
        }
        Ok(())
    }

    /// What a type is made of from now on, in every type that is made of it.
    fn keep_composite(&mut self, id: Id, composite: Composite) {
        let record = composite.record(id);
        let renew = |column_type: &mut ColumnType| {
            let uses = is_made_of(&column_type.scalar, id);
            if uses {
                column_type.scalar = replaced(&column_type.scalar, &record);
            }
            uses
        };
        if let Some(found) = self.catalog.types.get_mut(&id) {
            Arc::make_mut(found).kind = TypeKind::Composite(composite);
        }
        for found in self.catalog.types.values_mut().filter(|found| found.id != id) {
            let mut new = CreatedType::clone(found);
            let uses = match &mut new.kind {
                TypeKind::Composite(other) => {
                    other.attributes.iter_mut().fold(false, |uses, own| renew(&mut own.column_type) | uses)
                }
                TypeKind::Domain(domain) => renew(&mut domain.base),
                TypeKind::Enum(_) => false,
            };
            if uses {
                *found = Arc::new(new);
            }
        }
        let ids: Vec<RelationId> = self.catalog.relations.keys().copied().collect();
        for relation in ids {
            if self.get(relation).columns.iter().any(|column| is_made_of(&column.column_type.scalar, id)) {
                let table = self.edit(relation);
                table.schema_version += 1;
                table.columns.iter_mut().for_each(|column| {
                    renew(&mut column.column_type);
                });
            }
        }
    }
}
