//! Composite types: created, their attributes added, dropped, renamed and given other types.
//!
//! Every type that a column has says what it is made of, so a change of attributes changes the columns' types as well. Stored values
//! are written anew where attributes come or go.

use super::change::DefinitionChange;
use super::column::column_collation;
use super::drop::is_of;
use super::{Becomes, ExpressionPurpose};
use crate::catalog::composite::{is_made_of, over_replaced, replaced};
use crate::catalog::{Attribute, Composite, CreatedType, DefaultValue, Policy, Table, TypeKind};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, SqlText};
use crate::parse::type_definition::{AlterComposite, AttributeChange, AttributeDefinition, CreateComposite};
use crate::resolve::domain::value_table;
use repr::types::RangeType;
use repr::{ColumnType, Id, RelationId};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_composite(&mut self, create: &CreateComposite) -> Result<&'static str, PlanError> {
        let CreateComposite { name, attributes } = create;
        let namespace = self.place_of_type(name)?;
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
        self.insert_type(found);
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
            if !matches!(change, AttributeChange::Rename { .. }) {
                self.require_in_no_range(id, &name.name)?;
            }
            if matches!(change, AttributeChange::Add(_) | AttributeChange::Drop { .. }) {
                self.write_fields_anew(id, &before, &composite);
            }
            self.keep_composite(id, composite);
            self.require_readable(id, change.removed())?;
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
                let absent = || PlanError::new("42703", format!("column \"{}\" does not exist", old.name));
                composite.attribute(&old.name).ok_or_else(absent)?;
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
    pub(super) fn drop_attribute(&mut self, id: Id, attribute: &str) -> Result<(), PlanError> {
        let found = self.catalog.types.get(&id).map(Arc::clone);
        // What it is of may have gone before.
        let Some(composite) = found.as_ref().and_then(|found| found.composite()) else { return Ok(()) };
        let mut after = composite.clone();
        after.attributes.retain(|own| own.name != attribute);
        self.write_fields_anew(id, composite, &after);
        self.keep_composite(id, after);
        self.require_readable(id, Some(attribute))
    }

    /// 2BP01 if a text that the catalog keeps makes no sense any more: conditions of tables and domains, defaults, keys of indexes,
    /// holds. Policies, which may ask of other tables, must not name what goes. Of views `still_means` says so.
    fn require_readable(&self, id: Id, removed: Option<&str>) -> Result<(), PlanError> {
        let shown = self.shown_type(id);
        let needed = |what: String, why: String| {
            Err(PlanError::new("2BP01", format!("cannot alter type {shown} because {what} depends on it"))
                .detail(why)
                .hint("Drop that, make the change, and create it again."))
        };
        let reads = |purpose: ExpressionPurpose<'_>, text: &str, table: &Table| {
            self.check_expression(purpose, &SqlText { text: self.written(text), position: 1 }, table)
        };
        let uses = |table: &&Arc<Table>| table.live_columns().any(|(_, own)| is_made_of(&own.column_type.scalar, id));
        for table in self.catalog.stored_tables().filter(uses) {
            for (purpose, text) in kept_texts(table) {
                if let Err(error) = reads(purpose, text, table) {
                    return needed(format!("table {}", self.shown(table)), error.message);
                }
            }
        }
        let over = |found: &&Arc<CreatedType>| found.domain().is_some_and(|own| is_made_of(&own.base.scalar, id));
        for found in self.catalog.types.values().filter(over) {
            let Some(domain) = found.domain() else { continue };
            for check in &domain.checks {
                if let Err(error) = reads(ExpressionPurpose::Check, &check.expression, &value_table(&domain.base)) {
                    return needed(format!("domain {}", self.shown_type(found.id)), error.message);
                }
            }
        }
        let Some(removed) = removed else { return Ok(()) };
        for (table, security) in &self.catalog.rights.row_security {
            let names_it =
                |policy: &&Policy| policy.using.iter().chain(&policy.check).any(|text| text.contains(removed));
            if let Some(policy) = security.policies.iter().find(names_it) {
                let what = format!("policy {} on table {}", policy.name, self.shown(self.get(*table)));
                return needed(what, format!("Its text has \"{removed}\" in it."));
            }
        }
        Ok(())
    }

    fn write_fields_anew(&mut self, id: Id, before: &Composite, after: &Composite) {
        let place = |own: &Attribute| before.attributes.iter().position(|other| other.name == own.name);
        let from: Vec<Option<usize>> = after.attributes.iter().map(place).collect();
        if from.len() != before.attributes.len() || from.contains(&None) {
            self.write_values_anew(id, &Becomes::Fields(from.into()), true);
        }
    }

    /// 0A000 while a range is over what is made of the type: its bounds might come in another order.
    fn require_in_no_range(&self, id: Id, name: &str) -> Result<(), PlanError> {
        let over_it = |found: &&Arc<CreatedType>| found.range().is_some_and(|range| is_made_of(range.of.subtype(), id));
        let Some(range) = self.catalog.types.values().find(over_it) else { return Ok(()) };
        let message = format!("cannot alter type \"{name}\" because type \"{}\" uses it", range.name);
        Err(PlanError::new("0A000", message).hint("Create another type, and a range over it."))
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
        let renew_range = |of: &mut RangeType| {
            let uses = is_made_of(of.subtype(), id);
            if uses {
                *of = over_replaced(of, &record);
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
                TypeKind::Range(range) => renew_range(&mut range.of),
                TypeKind::Multirange(of) => renew_range(of),
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

/// The expressions that a table keeps.
fn kept_texts(table: &Table) -> Vec<(ExpressionPurpose<'_>, &str)> {
    let mut texts: Vec<(ExpressionPurpose<'_>, &str)> = Vec::new();
    texts.extend(table.checks.iter().map(|check| (ExpressionPurpose::Check, check.expression.as_str())));
    for (_, column) in table.live_columns() {
        match &column.default {
            Some(DefaultValue::Expr(text)) => texts.push((ExpressionPurpose::Default(column), text)),
            Some(DefaultValue::Generated(text)) => texts.push((ExpressionPurpose::Generated(column), text)),
            Some(_) | None => {}
        }
    }
    let hidden = table.columns.iter().filter(|column| column.hidden);
    texts.extend(hidden.filter_map(|column| match &column.default {
        Some(DefaultValue::Generated(text)) => Some((ExpressionPurpose::IndexKey, text.as_str())),
        _ => None,
    }));
    let predicates = table.indexes.iter().filter_map(|index| index.declared.predicate.as_ref());
    texts.extend(predicates.map(|predicate| (ExpressionPurpose::IndexPredicate, predicate.expression.as_str())));
    let holds = table.holds.iter().filter_map(|hold| hold.expression.as_deref());
    texts.extend(holds.map(|text| (ExpressionPurpose::Check, text)));
    texts
}
