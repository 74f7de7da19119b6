//! DROP and TRUNCATE, with PostgreSQL's dependencies: RESTRICT refuses, CASCADE takes along and says so.

use super::alter::no_constraint;
use super::change::DefinitionChange;
use super::index_key::stands_on;
use super::{DdlEffect, rewrite};
use crate::catalog::{Class, DefaultValue, EdgeRef, ForeignKey, RuleAction, Table};
use crate::error::PlanError;
use crate::parse::statement::{DropBehavior, Identifier, ObjectKind, ObjectName};
use repr::{ColumnIndex, ColumnType, Id, IndexId, RelationId, SequenceId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn drop_objects(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        names: &[ObjectName],
        behavior: DropBehavior,
    ) -> Result<&'static str, PlanError> {
        let cascade = behavior == DropBehavior::Cascade;
        match kind {
            ObjectKind::Table => {
                self.drop_tables(if_exists, names, cascade)?;
                Ok("DROP TABLE")
            }
            ObjectKind::Index => {
                names.iter().try_for_each(|name| self.drop_index(name, if_exists, cascade))?;
                Ok("DROP INDEX")
            }
            ObjectKind::Sequence => {
                names.iter().try_for_each(|name| self.drop_sequence(name, if_exists, cascade))?;
                Ok("DROP SEQUENCE")
            }
            ObjectKind::Type => {
                names.iter().try_for_each(|name| self.drop_type(name, if_exists, cascade, false))?;
                Ok("DROP TYPE")
            }
            ObjectKind::Domain => {
                names.iter().try_for_each(|name| self.drop_type(name, if_exists, cascade, true))?;
                Ok("DROP DOMAIN")
            }
            ObjectKind::View => {
                self.drop_views_named(false, if_exists, names, cascade)?;
                Ok("DROP VIEW")
            }
            ObjectKind::MaterializedView => {
                self.drop_views_named(true, if_exists, names, cascade)?;
                Ok("DROP MATERIALIZED VIEW")
            }
            ObjectKind::Schema => {
                self.drop_schemas(if_exists, names, cascade)?;
                Ok("DROP SCHEMA")
            }
        }
    }

    /// What is to go, as far as it is there: with IF EXISTS a notice tells of what is not.
    pub(super) fn find_to_drop(
        &mut self,
        name: &ObjectName,
        what: &str,
        if_exists: bool,
    ) -> Result<Option<Class<'_>>, PlanError> {
        let missing = match self.find(name) {
            Ok(Some(_)) => return self.find(name),
            Ok(None) => {
                let code = if what == "index" { "42704" } else { "42P01" };
                PlanError::new(code, format!("{what} \"{}\" does not exist", name.name)).at(Some(name.position))
            }
            Err(error) if error.code == "3F000" => error,
            Err(error) => return Err(error),
        };
        if !if_exists {
            return Err(missing);
        }
        self.notice("00000", format!("{missing}, skipping"));
        Ok(None)
    }

    fn drop_tables(&mut self, if_exists: bool, names: &[ObjectName], cascade: bool) -> Result<(), PlanError> {
        let mut dropped = BTreeSet::new();
        for name in names {
            match self.find_to_drop(name, "table", if_exists)? {
                Some(Class::Relation(table)) if table.is_stored() => {
                    dropped.insert(table.id);
                }
                Some(other) => return Err(wrong_kind(name, "table", other.kind())),
                None => {}
            }
        }
        for &id in &dropped {
            let name = self.shown(self.get(id));
            let keys = self.referencing(|key| key.target == id, &dropped);
            self.drop_dependents(&format!("table {name}"), keys, self.readers(id, None), &dropped, cascade)?;
        }
        let gone: Vec<RelationId> = dropped.iter().copied().collect();
        for id in dropped {
            self.drop_users_of_row_type(id, &gone, cascade)?;
            self.remove_table(id);
        }
        Ok(())
    }

    pub(super) fn remove_table(&mut self, id: RelationId) {
        let owned: Vec<_> = self
            .catalog
            .sequences
            .values()
            .filter(|sequence| sequence.owned_by.is_some_and(|(table, _)| table == id))
            .map(|sequence| sequence.id)
            .collect();
        owned.into_iter().for_each(|sequence| self.remove_sequence(sequence));
        if let Some(table) = self.catalog.remove_relation(id) {
            for key in &table.foreign_keys {
                self.forget_edge(EdgeRef { table: id, foreign_key: key.constraint.id });
            }
        }
        self.catalog.pending_annotations.remove(&id);
        let created = self.effects.iter().position(|effect| *effect == DdlEffect::CreateTable(id));
        match created {
            Some(position) => {
                self.effects.remove(position);
            }
            None => self.effects.push(DdlEffect::DropTable(id)),
        }
    }

    /// Rules and notes about an edge that is no more.
    pub(super) fn forget_edge(&mut self, edge: EdgeRef) {
        self.catalog.labelled_edges.remove(&edge);
        let affected: Vec<RelationId> = self
            .catalog
            .relations
            .values()
            .filter(|table| table.rules.iter().any(|rule| rule.edge == edge))
            .map(|table| table.id)
            .collect();
        for id in affected {
            self.edit(id).rules.retain(|rule| rule.edge != edge);
        }
    }

    /// Foreign keys of tables outside `except` that satisfy a condition.
    pub(super) fn referencing(
        &self,
        condition: impl Fn(&ForeignKey) -> bool,
        except: &BTreeSet<RelationId>,
    ) -> Vec<(RelationId, Id, String)> {
        let mut found = Vec::new();
        for table in self.catalog.relations.values().filter(|table| !except.contains(&table.id)) {
            for key in table.foreign_keys.iter().filter(|key| condition(key)) {
                let description = format!("constraint {} on table {}", key.constraint.name, self.shown(table));
                found.push((table.id, key.constraint.id, description));
            }
        }
        found
    }

    /// Takes a foreign key away, with its rules and its automatic index.
    pub(super) fn remove_foreign_key(&mut self, table: RelationId, key: Id) {
        let found = self.get(table).foreign_keys.iter().find(|found| found.constraint.id == key);
        let Some(index) = found.map(|found| found.index) else { return };
        self.edit(table).foreign_keys.retain(|found| found.constraint.id != key);
        self.forget_edge(EdgeRef { table, foreign_key: key });
        self.release_index(table, index);
    }

    /// Foreign keys that lead to a unique index which is about to go.
    pub(super) fn drop_keys_that_need(
        &mut self,
        table: RelationId,
        index: IndexId,
        what: &str,
        cascade: bool,
    ) -> Result<(), PlanError> {
        let found = Arc::clone(self.get(table));
        let Some(entry) = found.index(index).filter(|entry| entry.unique && entry.is_whole()) else { return Ok(()) };
        let same = |columns: &[ColumnIndex], other: &[ColumnIndex]| {
            columns.len() == other.len() && columns.iter().all(|column| other.contains(column))
        };
        let views: Vec<RelationId> =
            if found.primary_key == Some(index) { self.grouped_by_key(table) } else { Vec::new() };
        let other_key = found
            .whole_indexes()
            .any(|other| other.id != index && other.unique && same(&other.columns, &entry.columns));
        let keys = if other_key {
            Vec::new()
        } else {
            self.referencing(|key| key.target == table && same(&key.target_columns, &entry.columns), &BTreeSet::new())
        };
        self.drop_dependents(what, keys, views, &BTreeSet::new(), cascade)
    }

    fn drop_sequence(&mut self, name: &ObjectName, if_exists: bool, cascade: bool) -> Result<(), PlanError> {
        let id = match self.find_to_drop(name, "sequence", if_exists)? {
            Some(Class::Sequence(sequence)) => sequence.id,
            Some(other) => return Err(wrong_kind(name, "sequence", other.kind())),
            None => return Ok(()),
        };
        let shown = self.scope().spelled_sequence(&self.catalog.sequences[&id]);
        if let Some((table, column)) = self.owner_of_sequence(id)
            && self.is_identity_sequence(&self.catalog.sequences[&id])
        {
            let column =
                format!("column {} of table {}", self.get(table).columns[column].name, self.shown(self.get(table)));
            return Err(PlanError::new("2BP01", format!("cannot drop sequence {shown} because {column} requires it"))
                .hint(format!("You can drop {column} instead.")));
        }
        let users = self.defaults_counted_by(id);
        if !users.is_empty() && !cascade {
            let detail: Vec<String> = users
                .iter()
                .map(|(_, _, column)| format!("default value for {column} depends on sequence {shown}"))
                .collect();
            return Err(PlanError::new(
                "2BP01",
                format!("cannot drop sequence {shown} because other objects depend on it"),
            )
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        for (table, column, description) in users {
            self.notice("00000", format!("drop cascades to default value for {description}"));
            self.edit(table).columns[column].default = None;
        }
        self.remove_sequence(id);
        Ok(())
    }

    fn owner_of_sequence(&self, id: SequenceId) -> Option<(RelationId, ColumnIndex)> {
        self.catalog.sequences.get(&id)?.owned_by
    }

    /// The columns whose default is the next value of a sequence, and what messages call them.
    pub(super) fn defaults_counted_by(&self, id: SequenceId) -> Vec<(RelationId, ColumnIndex, String)> {
        let of_table = |table: &Arc<Table>| {
            let columns = table.columns.iter().enumerate();
            let counted = columns
                .filter(|(_, column)| matches!(column.default, Some(DefaultValue::Serial(sequence)) if sequence == id));
            let described = counted.map(|(index, column)| {
                (table.id, index, format!("column {} of {} {}", column.name, table.kind(), self.shown(table)))
            });
            described.collect::<Vec<_>>()
        };
        self.catalog.relations.values().flat_map(of_table).collect()
    }

    fn drop_type(&mut self, name: &ObjectName, if_exists: bool, cascade: bool, domain: bool) -> Result<(), PlanError> {
        let found = if domain { self.domain_named(name) } else { self.type_named(name) };
        let id = match found {
            Ok(id) => id,
            Err(error) if if_exists && matches!(error.code, "42704" | "3F000") => {
                self.notice("00000", format!("{error}, skipping"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let shown = self.scope().spelled_type(&self.catalog.types[&id]);
        self.require_no_multirange(id)?;
        self.drop_users_of_type(id, &format!("type {shown}"), cascade)?;
        self.remove_type(id);
        Ok(())
    }

    /// The columns of tables that are of a type, and what messages call them.
    pub(super) fn columns_of_type(&self, id: Id) -> Vec<(RelationId, Identifier, String)> {
        let of_table = |table: &Arc<Table>| {
            let columns = table.live_columns().filter(|(_, column)| is_of(&column.column_type, id));
            let described = columns.map(|(_, column)| {
                let line = format!("column {} of table {}", column.name, self.shown(table));
                (table.id, Identifier { name: column.name.clone(), position: 1 }, line)
            });
            described.collect::<Vec<_>>()
        };
        self.catalog.stored_tables().flat_map(of_table).collect()
    }

    /// The views that have a column of a type.
    pub(super) fn views_of_type(&self, id: Id) -> Vec<RelationId> {
        let has_it = |view: &Table| view.columns.iter().any(|column| is_of(&column.column_type, id));
        self.catalog.views().filter(|(view, _)| has_it(view)).map(|(view, _)| view.id).collect()
    }

    pub(super) fn drop_column(
        &mut self,
        id: RelationId,
        if_exists: bool,
        column: &Identifier,
        behavior: DropBehavior,
    ) -> Result<(), PlanError> {
        let cascade = behavior == DropBehavior::Cascade;
        let index = match self.column(id, column) {
            Ok(index) => index,
            Err(error) if if_exists => {
                self.notice("00000", format!("{error}, skipping"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.require_unused_row_type(id)?;
        let table = Arc::clone(self.get(id));
        let what = format!("column {} of table {}", column.name, self.shown(&table));
        self.drop_generated_from(id, index, &what, cascade)?;
        self.drop_dependents(&what, Vec::new(), self.readers(id, Some(index)), &BTreeSet::new(), cascade)?;
        // Keys go with any of their columns; keys elsewhere that lead here depend on them.
        for entry in table.indexes.iter().filter(|entry| stands_on(&table, entry, index)) {
            self.drop_keys_that_need(id, entry.id, &what, cascade)?;
        }
        for key in table.foreign_keys.iter().filter(|key| key.columns.contains(&index)) {
            self.remove_foreign_key(id, key.constraint.id);
        }
        let rule_names_column =
            |action: &RuleAction| matches!(action, RuleAction::Anon(columns) if columns.contains(&index));
        if let Some(rule) = self.get(id).rules.iter().find(|rule| rule_names_column(&rule.action)) {
            let edge = crate::ownership::describe_edge_ref(&self.catalog, rule.edge);
            return Err(PlanError::new("2BP01", format!("cannot drop {what} because a rule on edge {edge} names it"))
                .hint("drop the rule first: ALTER TABLE … DROP ON GET|DEL …"));
        }
        let entries: Vec<IndexId> =
            table.indexes.iter().filter(|entry| stands_on(&table, entry, index)).map(|entry| entry.id).collect();
        self.take_property(id, index)?;
        entries.into_iter().for_each(|entry| self.remove_index(id, entry));
        let expressions = Arc::clone(self.get(id));
        self.edit(id).checks.retain(|check| !rewrite::columns_used(&check.expression, &expressions).contains(&index));
        let owned: Vec<_> = self
            .catalog
            .sequences
            .values()
            .filter(|sequence| sequence.owned_by == Some((id, index)))
            .map(|sequence| sequence.id)
            .collect();
        owned.into_iter().for_each(|sequence| self.remove_sequence(sequence));
        if let Some(pending) = self.catalog.pending_annotations.get_mut(&id) {
            pending.retain(|annotation| annotation.column != Some(index));
        }
        if cascade {
            self.drop_policies_of_column(id, index);
        }
        self.edit(id).drop_column(index);
        Ok(())
    }

    fn drop_generated_from(
        &mut self,
        id: RelationId,
        index: ColumnIndex,
        what: &str,
        cascade: bool,
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        for (_, other) in table.live_columns() {
            let Some(DefaultValue::Generated(text)) = &other.default else { continue };
            if !rewrite::columns_used(text, &table).contains(&index) {
                continue;
            }
            let line = format!("column {} of table {}", other.name, self.shown(&table));
            if !cascade {
                return Err(PlanError::new("2BP01", format!("cannot drop {what} because other objects depend on it"))
                    .detail(format!("{line} depends on {what}"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            self.notice("00000", format!("drop cascades to {line}"));
            let identifier = Identifier { name: other.name.clone(), position: 1 };
            self.drop_column(id, false, &identifier, DropBehavior::Cascade)?;
        }
        Ok(())
    }

    pub(super) fn drop_constraint(
        &mut self,
        id: RelationId,
        name: &Identifier,
        if_exists: bool,
        behavior: DropBehavior,
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        if let Some(key) = table.foreign_keys.iter().find(|key| key.constraint.name == name.name) {
            self.remove_foreign_key(id, key.constraint.id);
            return Ok(());
        }
        if table.checks.iter().any(|check| check.constraint.name == name.name) {
            self.edit(id).checks.retain(|check| check.constraint.name != name.name);
            return Ok(());
        }
        let index = table.indexes.iter().find(|index| index.constraint.as_ref().is_some_and(|c| c.name == name.name));
        if let Some(index) = index {
            let what = format!("constraint {} on table {}", name.name, self.shown(&table));
            self.drop_keys_that_need(id, index.id, &what, behavior == DropBehavior::Cascade)?;
            self.remove_index(id, index.id);
            return Ok(());
        }
        let error = no_constraint(&name.name, &table.name);
        if if_exists {
            self.notice("00000", format!("{error}, skipping"));
            return Ok(());
        }
        Err(error.at(Some(name.position)))
    }

    pub(super) fn truncate(
        &mut self,
        names: &[ObjectName],
        restart_identity: bool,
        behavior: DropBehavior,
    ) -> Result<&'static str, PlanError> {
        let mut tables = BTreeSet::new();
        for name in names {
            tables.insert(self.table(name)?);
        }
        loop {
            let next = self.catalog.relations.values().find_map(|table| {
                if tables.contains(&table.id) {
                    return None;
                }
                let key = table.foreign_keys.iter().find(|key| tables.contains(&key.target))?;
                Some((table.id, table.name.clone(), key.target))
            });
            let Some((referencing, name, target)) = next else { break };
            if behavior == DropBehavior::Restrict {
                return Err(PlanError::new("0A000", "cannot truncate a table referenced in a foreign key constraint")
                    .detail(format!("Table \"{name}\" references \"{}\".", self.get(target).name))
                    .hint(format!("Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE.")));
            }
            self.notice("00000", format!("truncate cascades to table \"{name}\""));
            tables.insert(referencing);
        }
        if restart_identity {
            let resets: Vec<DdlEffect> = self
                .catalog
                .sequences
                .values()
                .filter(|sequence| sequence.owned_by.is_some_and(|(table, _)| tables.contains(&table)))
                .map(|sequence| DdlEffect::RenewSequence { sequence: sequence.id, next: Some(sequence.start) })
                .collect();
            self.effects.extend(resets);
        }
        self.effects.push(DdlEffect::Truncate(tables.into_iter().collect()));
        Ok("TRUNCATE TABLE")
    }
}

/// Whether a column is of that type itself, or of an array of it. One that is of a domain hangs on what that is over by the domain alone.
pub(super) fn is_of(column_type: &ColumnType, id: Id) -> bool {
    if column_type.domain != 0 {
        return column_type.domain == id || column_type.domain == id + 1;
    }
    column_type.scalar.unarrayed().created() == Some(id)
}

/// "is not a view": another kind of object has the name.
pub(super) fn wrong_kind(name: &ObjectName, wanted: &str, found: &str) -> PlanError {
    let article = if wanted.starts_with('i') { "an" } else { "a" };
    let hint = if found.starts_with('i') { "an" } else { "a" };
    PlanError::new("42809", format!("\"{}\" is not {article} {wanted}", name.name))
        .hint(format!("Use DROP {} to remove {hint} {found}.", found.to_uppercase()))
}
