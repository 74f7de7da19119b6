//! What goes with an object that is dropped, in the order in which PostgreSQL tells of it.

use super::DdlNotice;
use super::change::DefinitionChange;
use super::schema::{Member, What, relations_of};
use crate::catalog::row_type::row_type_of;
use crate::catalog::{NamespaceId, Operator, Routine, Trigger};
use crate::error::PlanError;
use crate::parse::statement::{DropBehavior, Identifier};
use crate::scalar::func::quote_identifier;
use repr::{ColumnIndex, Id, RelationId, SequenceId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A foreign key that leads to the object: its table, its constraint, and what messages call it.
pub(super) type ReferringKey = (RelationId, Id, String);

enum Object {
    ForeignKey(RelationId, Id),
    View(RelationId),
    Table(RelationId),
    Sequence(SequenceId),
    Type(Id),
    Column(RelationId, Identifier),
    Attribute(Id, String),
    Default(RelationId, ColumnIndex),
    Routine(Id),
    Operator(Id),
    Trigger(RelationId, Id),
}

struct Dependent {
    object: Object,
    line: String,
    /// What it depends on.
    on: String,
}

impl DefinitionChange<'_> {
    /// Refuses, or drops these foreign keys and views, with the views over them, and says so.
    pub(super) fn drop_dependents(
        &mut self,
        what: &str,
        keys: Vec<ReferringKey>,
        views: Vec<RelationId>,
        except: &BTreeSet<RelationId>,
        cascade: bool,
    ) -> Result<(), PlanError> {
        let (mut dependents, mut seen) = (Vec::new(), BTreeSet::new());
        self.collect((keys, views), what, except, &mut seen, &mut dependents);
        dependents.reverse();
        self.drop_all(what, dependents, cascade)
    }

    /// The same of what calls a function: views, with those over them, and triggers.
    pub(super) fn drop_callers(
        &mut self,
        what: &str,
        routine: Id,
        views: Vec<RelationId>,
        cascade: bool,
    ) -> Result<(), PlanError> {
        let (mut dependents, mut seen) = (self.triggers_on(routine, what, &BTreeSet::new()), BTreeSet::new());
        self.collect_operators_on(routine, what, &mut seen, &mut dependents);
        self.collect((Vec::new(), views), what, &BTreeSet::new(), &mut seen, &mut dependents);
        dependents.reverse();
        self.drop_all(what, dependents, cascade)
    }

    /// The operators that call a function: the newest first, and what uses one before it.
    fn collect_operators_on(
        &self,
        routine: Id,
        what: &str,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        let calling: Vec<_> = self.catalog.operators_calling(routine).collect();
        calling.into_iter().rev().for_each(|operator| self.collect_operator(operator, what, seen, found));
    }

    fn collect_operator(
        &self,
        operator: &Operator,
        on: &str,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        if found.iter().any(|known| matches!(known.object, Object::Operator(other) if other == operator.id)) {
            return;
        }
        let line = self.operator_line(operator);
        let views = self.uses_of_operator(operator).into_iter().filter_map(|found| found.view).collect();
        self.collect((Vec::new(), views), &line, &BTreeSet::new(), seen, found);
        found.push(Dependent { object: Object::Operator(operator.id), line, on: on.to_owned() });
    }

    /// The triggers that call a function, of tables that stay: the newest first.
    fn triggers_on(&self, routine: Id, what: &str, gone: &BTreeSet<RelationId>) -> Vec<Dependent> {
        let mut calling: Vec<_> = self.catalog.triggers_calling(routine).collect();
        calling.retain(|(table, _)| !gone.contains(table));
        calling.sort_by_key(|(_, trigger)| std::cmp::Reverse(trigger.id));
        let dependent = |(table, trigger): (RelationId, &Trigger)| {
            let line = format!("trigger {} on table {}", trigger.name, self.shown(self.get(table)));
            Dependent { object: Object::Trigger(table, trigger.id), line, on: what.to_owned() }
        };
        calling.into_iter().map(dependent).collect()
    }

    /// The same of everything that is in schemas which are dropped.
    pub(super) fn drop_members(&mut self, schemas: &[(NamespaceId, String)], cascade: bool) -> Result<(), PlanError> {
        let members = self.members(schemas);
        let gone = relations_of(&members);
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for member in members.iter().rev() {
            self.collect_member(member, &gone, &mut seen, &mut found);
        }
        found.reverse();
        let what = match schemas {
            [(_, name)] => format!("schema {}", quote_identifier(name)),
            _ => "desired object(s)".to_owned(),
        };
        self.drop_all(&what, found, cascade)
    }

    fn drop_all(&mut self, what: &str, dependents: Vec<Dependent>, cascade: bool) -> Result<(), PlanError> {
        if dependents.is_empty() {
            return Ok(());
        }
        if !cascade {
            let detail: Vec<String> =
                dependents.iter().map(|found| format!("{} depends on {}", found.line, found.on)).collect();
            let them = if what.ends_with("(s)") { "them" } else { "it" };
            return Err(PlanError::new("2BP01", format!("cannot drop {what} because other objects depend on {them}"))
                .detail(detail.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let lines: Vec<String> = dependents.iter().map(|found| format!("drop cascades to {}", found.line)).collect();
        match lines.as_slice() {
            [only] => self.notice("00000", only.clone()),
            several => self.notices.push(DdlNotice {
                code: "00000",
                message: format!("drop cascades to {} other objects", several.len()),
                detail: Some(several.join("\n")),
            }),
        }
        // What hangs on others goes before them.
        for dependent in dependents.into_iter().rev() {
            match dependent.object {
                Object::ForeignKey(table, key) => self.remove_foreign_key(table, key),
                Object::View(view) => self.remove_view(view),
                Object::Table(table) => self.remove_table(table),
                Object::Sequence(sequence) => self.remove_sequence(sequence),
                Object::Type(id) => self.remove_type(id),
                Object::Attribute(composite, attribute) => self.drop_attribute(composite, &attribute)?,
                Object::Column(table, column) => {
                    self.drop_column(table, true, &column, DropBehavior::Cascade)?;
                }
                Object::Default(table, column) => self.edit(table).columns[column].default = None,
                Object::Routine(id) => self.remove_routine(id),
                Object::Operator(id) => self.remove_operator(id),
                Object::Trigger(table, trigger) => self.remove_trigger(table, trigger),
            }
        }
        Ok(())
    }

    /// A member of a schema that is dropped with the relations `gone`; behind it what hangs on it from elsewhere.
    fn collect_member(
        &self,
        member: &Member,
        gone: &BTreeSet<RelationId>,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        let on = format!("schema {}", quote_identifier(&member.schema));
        let none = BTreeSet::new();
        match member.what {
            What::View(id) => self.collect_view(id, &on, &none, seen, found),
            What::Table(id) => {
                let line = format!("table {}", self.shown(self.get(id)));
                let owned =
                    self.catalog.sequences.values().filter(|owned| owned.owned_by.is_some_and(|(of, _)| of == id));
                owned.for_each(|owned| self.collect_defaults(owned.id, gone, found));
                let keys = self.referencing(|key| key.target == id, gone);
                self.collect((keys, self.readers(id, None)), &line, &none, seen, found);
                if let Some(row) = row_type_of(id) {
                    let called = format!("type {}", self.shown(self.get(id)));
                    self.collect_users_of_type(row, &called, gone, seen, found);
                }
                found.push(Dependent { object: Object::Table(id), line, on });
            }
            What::Sequence(id) => {
                self.collect_defaults(id, gone, found);
                let line = format!("sequence {}", self.scope().spelled_sequence(&self.catalog.sequences[&id]));
                found.push(Dependent { object: Object::Sequence(id), line, on });
            }
            What::Routine(id) => {
                let routine = &self.catalog.routines[&id];
                let line = self.routine_line(routine);
                let views = self.uses_of_routine(routine).into_iter().filter_map(|found| found.view).collect();
                self.collect((Vec::new(), views), &line, &none, seen, found);
                found.extend(self.triggers_on(id, &line, gone));
                self.collect_operators_on(id, &line, seen, found);
                found.push(Dependent { object: Object::Routine(id), line, on });
            }
            What::Operator(id) => self.collect_operator(&self.catalog.operators[&id], &on, seen, found),
            What::Type(id) => {
                let line = format!("type {}", self.scope().spelled_type(&self.catalog.types[&id]));
                self.collect_users_of_type(id, &line, gone, seen, found);
                found.push(Dependent { object: Object::Type(id), line, on });
            }
        }
    }

    /// Refuses, or drops what is of a type, with the domains over it, and says so.
    pub(super) fn drop_users_of_type(&mut self, id: Id, what: &str, cascade: bool) -> Result<(), PlanError> {
        self.drop_users(id, what, what, &[], cascade)
    }

    /// The same of what depends on it as the type that it is called, but for columns of tables that go as well.
    pub(super) fn drop_users(
        &mut self,
        id: Id,
        what: &str,
        called: &str,
        gone: &[RelationId],
        cascade: bool,
    ) -> Result<(), PlanError> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        self.collect_users_of_type(id, called, &gone.iter().copied().collect(), &mut seen, &mut found);
        found.reverse();
        self.drop_all(what, found, cascade)
    }

    /// Views, columns and domains: the newest first.
    fn collect_users_of_type(
        &self,
        id: Id,
        what: &str,
        gone: &BTreeSet<RelationId>,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        self.collect((Vec::new(), self.views_of_type(id)), what, &BTreeSet::new(), seen, found);
        let routines = self.catalog.routines.values().filter(|routine| super::created_routine::is_of(routine, id));
        for routine in routines.rev() {
            let known = |known: &Dependent| matches!(known.object, Object::Routine(other) if other == routine.id);
            if !found.iter().any(known) {
                let line = self.routine_line(routine);
                self.collect_operators_on(routine.id, &line, seen, found);
                found.push(Dependent { object: Object::Routine(routine.id), line, on: what.to_owned() });
            }
        }
        for operator in self.catalog.operators.values().filter(|operator| operator.is_over(id)).rev() {
            self.collect_operator(operator, what, seen, found);
        }
        for (table, column, line) in self.columns_of_type(id).into_iter().rev() {
            if !gone.contains(&table) {
                found.push(Dependent { object: Object::Column(table, column), line, on: what.to_owned() });
            }
        }
        for (composite, attribute) in self.attributes_of_type(id).into_iter().rev() {
            let line = format!("column {attribute} of composite type {}", self.shown_type(composite));
            found.push(Dependent { object: Object::Attribute(composite, attribute), line, on: what.to_owned() });
        }
        for over in self.domains_over(id).into_iter().chain(self.ranges_over(id)).rev() {
            let line = format!("type {}", self.shown_type(over));
            self.collect_users_of_type(over, &line, gone, seen, found);
            found.push(Dependent { object: Object::Type(over), line, on: what.to_owned() });
        }
        if let Some(range) = self.catalog.types.get(&id).and_then(|found| found.range()) {
            let multirange = range.of.multirange_id();
            let line = format!("type {}", self.shown_type(multirange));
            self.collect_users_of_type(multirange, &line, gone, seen, found);
        }
    }

    pub(super) fn routine_line(&self, routine: &Routine) -> String {
        format!("{} {}", routine.noun(), routine.called(&self.scope().spelled_routine(routine), self.scope()))
    }

    fn collect_defaults(&self, sequence: SequenceId, gone: &BTreeSet<RelationId>, found: &mut Vec<Dependent>) {
        let on = format!("sequence {}", self.scope().spelled_sequence(&self.catalog.sequences[&sequence]));
        for (table, column, described) in self.defaults_counted_by(sequence).into_iter().rev() {
            if !gone.contains(&table) {
                let line = format!("default value for {described}");
                found.push(Dependent { object: Object::Default(table, column), line, on: on.clone() });
            }
        }
    }

    /// Views whose grouping relies on a table's primary key.
    pub(super) fn grouped_by_key(&self, table: RelationId) -> Vec<RelationId> {
        self.catalog.views().filter(|(_, view)| view.primary_keys.contains(&table)).map(|(view, _)| view.id).collect()
    }

    /// Foreign keys and views that hang on something: the newest first, and what hangs on a view before it.
    fn collect(
        &self,
        (keys, views): (Vec<ReferringKey>, Vec<RelationId>),
        what: &str,
        except: &BTreeSet<RelationId>,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        let mut first: Vec<(Id, Option<ReferringKey>)> = keys.into_iter().map(|key| (key.1, Some(key))).collect();
        first.extend(views.into_iter().map(|view| (view.0, None)));
        first.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        for (id, key) in first {
            match key {
                Some((table, key, line)) => {
                    found.push(Dependent { object: Object::ForeignKey(table, key), line, on: what.to_string() });
                }
                None => self.collect_view(RelationId(id), what, except, seen, found),
            }
        }
    }

    /// The newest first, and what depends on a view before it: reversed in the end, as PostgreSQL has it.
    fn collect_view(
        &self,
        id: RelationId,
        on: &str,
        except: &BTreeSet<RelationId>,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        if except.contains(&id) || !seen.insert(id) {
            return;
        }
        let table = Arc::clone(self.get(id));
        let line = format!("{} {}", table.kind(), self.shown(&table));
        for reader in self.readers(id, None).into_iter().rev() {
            self.collect_view(reader, &line, except, seen, found);
        }
        found.push(Dependent { object: Object::View(id), line, on: on.to_string() });
    }
}
