//! Schemas: made, renamed, dropped with what is in them; and objects that move from one to another.

use super::change::DefinitionChange;
use crate::catalog::{Catalog, CreatedType, DatabaseId, DefaultValue, Namespace, NamespaceId, Scope, Table, TypeKind};
use crate::error::PlanError;
use crate::parse::Statement;
use crate::parse::definition::CreateSchema;
use crate::parse::statement::{Identifier, ObjectKind, ObjectName};
use crate::resolve::kept_text::respelled;
use crate::resolve::view::moved;
use repr::{Id, RelationId, SequenceId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_schema(&mut self, create: &CreateSchema) -> Result<&'static str, PlanError> {
        const TAG: &str = "CREATE SCHEMA";
        let asking = || self.path.actor().name.to_string();
        let owner = create.owner.as_ref().map(|owner| self.new_owner(&owner.name)).transpose()?;
        let name = match (&create.name, &create.owner) {
            (Some(name), _) | (None, Some(name)) => name.name.clone(),
            (None, None) => asking(),
        };
        refuse_reserved(&name)?;
        let home = self.path.home();
        if home != DatabaseId::FIRST && !self.catalog.databases.contains_key(&home) {
            return Err(PlanError::new("3D000", "the database has been dropped"));
        }
        if self.scope().namespace(&name).is_some() {
            let message = format!("schema \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(PlanError::new("42P06", message));
            }
            self.notice("42P06", format!("{message}, skipping"));
            return Ok(TAG);
        }
        let id = NamespaceId(self.next_id());
        self.catalog.namespaces.insert(id, Namespace { name: name.clone(), database: self.path.home() });
        if let Some(owner) = owner {
            self.catalog.rights_mut().owners.insert(id.0, owner);
        }
        let around = self.path.clone();
        self.path = around.behind(id);
        let made = self.create_elements(&name, &create.elements);
        self.path = around;
        made.map(|()| TAG)
    }

    /// What CREATE SCHEMA makes at once: sequences before tables before views before indexes, as in PostgreSQL.
    fn create_elements(&mut self, schema: &str, elements: &[Statement]) -> Result<(), PlanError> {
        let rank = |element: &&Statement| match element {
            Statement::CreateSequence { .. } => 0,
            Statement::CreateTable(_) => 1,
            Statement::CreateView(_) => 2,
            _ => 3,
        };
        let mut elements: Vec<&Statement> = elements.iter().collect();
        elements.sort_by_key(rank);
        for element in elements {
            let named = match element {
                Statement::CreateSequence { name, .. } => name,
                Statement::CreateTable(create) => &create.name,
                Statement::CreateView(create) => &create.name,
                Statement::CreateIndex(create) => &create.table,
                _ => return Err(PlanError::unsupported("this statement within CREATE SCHEMA")),
            };
            if let Some(other) = named.schema.as_ref().filter(|other| *other != schema) {
                let message =
                    format!("CREATE specifies a schema ({other}) different from the one being created ({schema})");
                return Err(PlanError::new("42P15", message));
            }
            self.apply(element)?;
        }
        Ok(())
    }

    /// A schema by its name in a statement about schemas.
    pub(super) fn schema(&self, name: &ObjectName) -> Result<NamespaceId, PlanError> {
        match &name.schema {
            None => self.scope().require_namespace(&name.name),
            Some(_) => Err(PlanError::new("42601", "syntax error at or near \".\"").at(Some(name.position))),
        }
    }

    /// ALTER SCHEMA … RENAME TO
    pub(super) fn rename_schema(&mut self, name: &ObjectName, new: &Identifier) -> Result<(), PlanError> {
        let id = self.schema(name)?;
        if self.scope().namespace(&new.name).is_some() {
            return Err(PlanError::new("42P06", format!("schema \"{}\" already exists", new.name)));
        }
        refuse_reserved(&new.name)?;
        if !self.catalog.namespaces.contains_key(&id) {
            return Err(PlanError::denied("schema", &name.name));
        }
        self.renaming(|change| {
            if let Some(found) = change.catalog.namespaces.get_mut(&id) {
                found.name.clone_from(&new.name);
            }
        });
        Ok(())
    }

    /// ALTER … SET SCHEMA
    pub(super) fn set_schema(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        name: &ObjectName,
        schema: &Identifier,
    ) -> Result<&'static str, PlanError> {
        let tag = super::alter::alter_tag(kind);
        if matches!(kind, ObjectKind::Type | ObjectKind::Domain) {
            let id = if kind == ObjectKind::Type { self.type_named(name)? } else { self.domain_named(name)? };
            let to = self.destination(schema)?;
            self.move_type(id, to)?;
            return Ok(tag);
        }
        if if_exists && self.is_missing(name)? {
            return Ok(tag);
        }
        match kind {
            ObjectKind::Sequence => {
                let id = self.sequence(name)?;
                self.set_schema_of_sequence(id, schema)?;
            }
            ObjectKind::View | ObjectKind::MaterializedView => {
                let id = self.view(name, kind == ObjectKind::MaterializedView)?;
                self.set_schema_of_relation(id, schema)?;
            }
            ObjectKind::Table | ObjectKind::Index | ObjectKind::Schema | ObjectKind::Type | ObjectKind::Domain => {
                return Err(PlanError::unsupported(format!("{tag} … SET SCHEMA")));
            }
        }
        Ok(tag)
    }

    /// ALTER SEQUENCE … SET SCHEMA: one that a column owns goes where its table goes.
    pub(super) fn set_schema_of_sequence(&mut self, id: SequenceId, schema: &Identifier) -> Result<(), PlanError> {
        let sequence = Arc::clone(&self.catalog.sequences[&id]);
        if let Some((table, _)) = sequence.owned_by {
            let message = "cannot move an owned sequence into another schema";
            return Err(PlanError::new("0A000", message).detail(format!(
                "Sequence \"{}\" is linked to table \"{}\".",
                sequence.name,
                self.get(table).name
            )));
        }
        let to = self.destination(schema)?;
        refuse_temporary(sequence.namespace)?;
        if to != sequence.namespace {
            self.require_free_there(to, &sequence.name)?;
            self.renaming(|change| change.catalog.move_sequence(id, to, &sequence.name));
        }
        Ok(())
    }

    /// ALTER TABLE … SET SCHEMA, of views too: indexes and owned sequences go along.
    pub(super) fn set_schema_of_relation(&mut self, id: RelationId, schema: &Identifier) -> Result<(), PlanError> {
        let to = self.destination(schema)?;
        let table = Arc::clone(self.get(id));
        refuse_temporary(table.namespace)?;
        if to == table.namespace {
            return Ok(());
        }
        let owned = self.catalog.sequences.values().filter(|found| found.owned_by.is_some_and(|(of, _)| of == id));
        let owned: Vec<(SequenceId, String)> = owned.map(|found| (found.id, found.name.clone())).collect();
        let indexes = table.indexes.iter().map(|index| &index.name);
        for name in std::iter::once(&table.name).chain(indexes).chain(owned.iter().map(|(_, name)| name)) {
            self.require_free_there(to, name)?;
        }
        self.require_no_type(to, &table.name)?;
        self.renaming(|change| {
            change.catalog.move_relation(id, to, &table.name);
            for (sequence, name) in &owned {
                change.catalog.move_sequence(*sequence, to, name);
            }
        });
        Ok(())
    }

    fn move_type(&mut self, id: Id, to: NamespaceId) -> Result<(), PlanError> {
        let found = Arc::clone(&self.catalog.types[&id]);
        if found.namespace == to {
            return Ok(());
        }
        if self.catalog.type_in(to, &found.name).is_some() || self.catalog.table_in(to, &found.name).is_some() {
            let schema = self.catalog.namespace_name(to).unwrap_or_default();
            let message = format!("type \"{}\" already exists in schema \"{schema}\"", found.name);
            return Err(PlanError::new("42710", message));
        }
        self.renaming(|change| {
            if let Some(found) = change.catalog.types.get_mut(&id) {
                Arc::make_mut(found).namespace = to;
            }
        });
        Ok(())
    }

    pub(super) fn destination(&self, schema: &Identifier) -> Result<NamespaceId, PlanError> {
        let id = self.scope().require_namespace(&schema.name)?;
        if id == NamespaceId::PG_TEMP {
            return Err(PlanError::new("0A000", "cannot move objects into or out of temporary schemas"));
        }
        if self.catalog.namespaces.contains_key(&id) {
            return Ok(id);
        }
        Err(PlanError::denied("schema", &schema.name).detail("System catalog modifications are currently disallowed."))
    }

    fn require_free_there(&self, to: NamespaceId, name: &str) -> Result<(), PlanError> {
        let Some(_) = self.kind_in(to, name) else { return Ok(()) };
        let schema = self.catalog.namespace_name(to).unwrap_or_default();
        Err(PlanError::new("42P07", format!("relation \"{name}\" already exists in schema \"{schema}\"")))
    }

    /// Gives something another name, or another schema, and all kept texts with it.
    pub(super) fn renaming(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.catalog.clone();
        change(self);
        let types: Vec<Id> = self.catalog.types.keys().copied().collect();
        for id in types {
            if let Some(found) = respelled_type(&self.catalog.types[&id], &before, &self.catalog) {
                self.catalog.types.insert(id, Arc::new(found));
            }
        }
        let ids: Vec<RelationId> = self.catalog.relations.keys().copied().collect();
        for id in ids {
            if let Some(table) = respelled_table(self.get(id), &before, &self.catalog) {
                *self.edit(id) = table;
                self.name_expressions(id);
            }
        }
    }

    /// DROP SCHEMA, with what is in it where CASCADE says so.
    pub(super) fn drop_schemas(
        &mut self,
        if_exists: bool,
        names: &[ObjectName],
        cascade: bool,
    ) -> Result<(), PlanError> {
        let mut dropped: Vec<(NamespaceId, String)> = Vec::new();
        for name in names {
            match self.schema(name) {
                Ok(id) if !self.catalog.namespaces.contains_key(&id) => {
                    let message =
                        format!("cannot drop schema {} because it is required by the database system", name.name);
                    return Err(PlanError::new("2BP01", message));
                }
                Ok(id) if dropped.iter().any(|(known, _)| *known == id) => {}
                Ok(id) => dropped.push((id, name.name.clone())),
                Err(error) if if_exists && error.code == "3F000" => {
                    self.notice("00000", format!("{error}, skipping"));
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_members(&dropped, cascade)?;
        for (id, _) in dropped {
            self.catalog.namespaces.remove(&id);
            self.catalog.comments.remove(&id.0);
        }
        Ok(())
    }

    /// What is in schemas, by OID.
    pub(super) fn members(&self, schemas: &[(NamespaceId, String)]) -> Vec<Member> {
        let goes = |namespace: NamespaceId| schemas.iter().find(|(id, _)| *id == namespace).map(|(_, name)| name);
        let relations = self.catalog.relations.values().filter_map(|table| {
            let what = if table.is_stored() { What::Table(table.id) } else { What::View(table.id) };
            Some(Member { id: table.id.0, what, schema: goes(table.namespace)?.clone() })
        });
        // One that a column owns goes with its table.
        let free = self.catalog.sequences.values().filter(|sequence| sequence.owned_by.is_none());
        let sequences = free.filter_map(|sequence| {
            let (id, what) = (sequence.id.0, What::Sequence(sequence.id));
            Some(Member { id, what, schema: goes(sequence.namespace)?.clone() })
        });
        let types = self.catalog.types.values().filter_map(|found| {
            let schema = goes(found.namespace)?.clone();
            // A multirange goes with its range, wherever that is.
            let id = found.range_type().map_or(found.id, |range| range.id);
            let with_range = id != found.id && goes(self.catalog.types.get(&id)?.namespace).is_some();
            (!with_range).then_some(Member { id, what: What::Type(id), schema })
        });
        let routines = self.catalog.routines.values().filter_map(|found| {
            Some(Member { id: found.id, what: What::Routine(found.id), schema: goes(found.namespace)?.clone() })
        });
        let operators = self.catalog.operators.values().filter_map(|found| {
            Some(Member { id: found.id, what: What::Operator(found.id), schema: goes(found.namespace)?.clone() })
        });
        let mut members: Vec<Member> =
            relations.chain(sequences).chain(types).chain(routines).chain(operators).collect();
        members.sort_by_key(|member| member.id);
        members
    }
}

/// An object of a schema that is dropped.
pub(super) struct Member {
    pub(super) id: Id,
    pub(super) what: What,
    pub(super) schema: String,
}

pub(super) enum What {
    Table(RelationId),
    View(RelationId),
    Sequence(SequenceId),
    Type(Id),
    Routine(Id),
    Operator(Id),
}

/// The names under which the members stand that are relations.
pub(super) fn relations_of(members: &[Member]) -> BTreeSet<RelationId> {
    let relation = |member: &Member| match member.what {
        What::Table(id) | What::View(id) => Some(id),
        What::Sequence(_) | What::Type(_) | What::Routine(_) | What::Operator(_) => None,
    };
    members.iter().filter_map(relation).collect()
}

fn refuse_reserved(name: &str) -> Result<(), PlanError> {
    if name.starts_with("pg_") {
        return Err(PlanError::new("42939", format!("unacceptable schema name \"{name}\""))
            .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}

/// A table with its kept texts as the new catalog reads them; none if they stay as they are.
fn respelled_table(table: &Arc<Table>, before: &Catalog, after: &Catalog) -> Option<Table> {
    let mut new = Table::clone(table);
    let mut changed = false;
    let mut respell = |text: &mut String| {
        let now = respelled(text, Scope::from(before), Scope::from(after));
        changed |= now != *text;
        *text = now;
    };
    new.checks.iter_mut().for_each(|check| respell(&mut check.expression));
    let predicates = new.indexes.iter_mut().filter_map(|index| index.declared.predicate.as_mut());
    predicates.for_each(|predicate| respell(&mut predicate.expression));
    for column in &mut new.columns {
        if let Some(DefaultValue::Expr(text) | DefaultValue::Generated(text)) = &mut column.default {
            respell(text);
        }
    }
    if let Some(view) = &mut new.view {
        let mut query = moved(&view.query, before, after);
        respell(&mut query);
        changed |= query != view.query;
        view.query = query;
    }
    changed.then_some(new)
}

/// A domain with its kept texts as the new catalog reads them; none if they stay as they are.
fn respelled_type(found: &CreatedType, before: &Catalog, after: &Catalog) -> Option<CreatedType> {
    let mut new = found.clone();
    let TypeKind::Domain(domain) = &mut new.kind else { return None };
    let mut changed = false;
    for text in domain.checks.iter_mut().map(|check| &mut check.expression).chain(&mut domain.default) {
        let now = respelled(text, Scope::from(before), Scope::from(after));
        changed |= now != *text;
        *text = now;
    }
    changed.then_some(new)
}

/// What is temporary stays so.
fn refuse_temporary(from: NamespaceId) -> Result<(), PlanError> {
    if from == NamespaceId::PG_TEMP {
        return Err(PlanError::new("0A000", "cannot move objects into or out of temporary schemas"));
    }
    Ok(())
}
