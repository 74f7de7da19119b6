//! Who may define what: asked before anything is changed, in PostgreSQL's words.
//!
//! Controllers may define everything; for all others each statement says here what it takes.

use super::change::DefinitionChange;
use crate::catalog::{Catalog, Class, NamespaceId, ObjectClass, Privilege, RoleId};
use crate::error::PlanError;
use crate::parse::Statement;
use crate::parse::definition::{
    AlterStart, AlterTableAction, CreateSchema, CreateTable, CreateView, RoutineKind, RoutineName, StartRole,
};
use crate::parse::statement::{LabelledObject, ObjectKind, ObjectName};
use crate::parse::type_definition::CreateRange;
use crate::parse::type_definition::{OperatorChange, OperatorName, OperatorStatement, RoutineChange};
use crate::resolve::Needs;
use repr::{Id, RelationId};

/// What messages call an index.
pub(super) const INDEX: &str = "index";

impl DefinitionChange<'_> {
    fn is_controller(&self) -> bool {
        self.catalog.is_controller(self.path.actor().role)
    }

    /// 42501 for whoever may not.
    pub(super) fn permit(&self, statement: &Statement) -> Result<(), PlanError> {
        if self.is_controller() {
            return Ok(());
        }
        match statement {
            Statement::CreateSchema(create) => self.permit_schema(create),
            Statement::CreateDatabase(_) => self.permit_databases(),
            Statement::AlterDatabase(alter) => {
                self.require_owner(self.start_database(&alter.name.name)?.0, "database", &alter.name.name)?;
                self.permit_databases()
            }
            Statement::DropDatabase(drop) => match self.start_database(&drop.name.name) {
                Ok(id) => self.require_owner(id.0, "database", &drop.name.name),
                Err(_) => Ok(()),
            },
            Statement::AlterStart(alter) => self.permit_start(alter),
            Statement::CreateExtension { .. } => self.may_in_database(Privilege::Create),
            Statement::DropExtension { names, .. } => match names.first() {
                Some(name) => Err(PlanError::new("42501", format!("must be owner of extension {}", name.name))),
                None => Ok(()),
            },
            Statement::CreateTable(create) => self.permit_table(create),
            Statement::CreateView(create) => self.permit_view(create),
            Statement::CreateIndex(create) => {
                self.require_owner_of(&create.table)?;
                let namespace = self.catalog.table(self.relation(&create.table)?).map(|table| table.namespace);
                namespace.map_or(Ok(()), |namespace| self.may_create_in(namespace))
            }
            Statement::CreateSequence { name, temporary, .. } => self.may_create(name, *temporary),
            Statement::CreateEnum { name, .. } => self.may_create(name, false),
            Statement::CreateComposite(create) => self.may_create(&create.name, false),
            Statement::CreateRange(create) => self.permit_range(create),
            Statement::AlterComposite(alter) => self.require_owner_as(ObjectKind::Type, &alter.name),
            Statement::CreateDomain(create) => self.may_create(&create.name, false),
            Statement::AlterDomain(alter) => self.require_owner_as(ObjectKind::Domain, &alter.name),
            Statement::AlterTable(alter) => {
                self.require_owner_of(&alter.name)?;
                let moves = alter.actions.iter().find_map(|action| match action {
                    AlterTableAction::SetSchema(schema) => Some(schema),
                    _ => None,
                });
                moves.map_or(Ok(()), |schema| self.may_create_in(self.scope().require_namespace(&schema.name)?))
            }
            Statement::SetSchema { kind, name, schema, .. } => {
                self.require_owner_as(*kind, name)?;
                self.may_create_in(self.scope().require_namespace(&schema.name)?)
            }
            Statement::Rename { kind: ObjectKind::Schema, name, .. } => {
                self.require_owner_as(ObjectKind::Schema, name)?;
                self.may_in_database(Privilege::Create)
            }
            Statement::Rename { kind, name, .. } | Statement::AlterNothing { kind, name, .. } => {
                self.require_owner_as(*kind, name)
            }
            Statement::RenameViewColumn { name, .. }
            | Statement::SetMaxLag { name, .. }
            | Statement::SetViewOptions { name, .. }
            | Statement::AlterSequence { name, .. } => self.require_owner_of(name),
            Statement::AddEnumValue(add) => self.require_owner_as(ObjectKind::Type, &add.name),
            Statement::RenameEnumValue { name, .. } => self.require_owner_as(ObjectKind::Type, name),
            Statement::Drop { kind, names, .. } => names.iter().try_for_each(|name| self.permit_drop(*kind, name)),
            Statement::Truncate { tables, .. } => tables.iter().try_for_each(|name| self.permit_truncate(name)),
            Statement::Comment { object, .. } | Statement::SecurityLabel { object, .. } => self.permit_label(object),
            // These say themselves who may.
            Statement::Rights(_) => Ok(()),
            // Of what others name there is nothing.
            other => self.permit_routine(other),
        }
    }

    /// 42501 for a foreign key to somebody else's table without REFERENCES, which tells what is there.
    pub(super) fn permit_references(&self, old: &Catalog) -> Result<(), PlanError> {
        if self.is_controller() {
            return Ok(());
        }
        let (role, home) = (self.path.actor().role, self.path.home());
        for table in self.catalog.relations.values() {
            let before = old.table(table.id);
            let known =
                |id: Id| before.is_some_and(|table| table.foreign_keys.iter().any(|key| key.constraint.id == id));
            for key in table.foreign_keys.iter().filter(|key| !known(key.constraint.id)) {
                let may = |column: &usize| {
                    let whole = self.catalog.privileges(role, ObjectClass::Table, key.target.0, home);
                    let of_column = self.catalog.column_privileges(role, (key.target, *column), home);
                    whole.and(of_column).has(Privilege::References)
                };
                if !key.target_columns.iter().all(may) {
                    let name = &self.get(key.target).name;
                    return Err(PlanError::denied("table", name));
                }
            }
        }
        Ok(())
    }

    fn permit_schema(&self, create: &CreateSchema) -> Result<(), PlanError> {
        self.may_in_database(Privilege::Create)?;
        let Some(owner) = &create.owner else { return Ok(()) };
        self.require_member(self.role_named(owner)?)
    }

    fn permit_databases(&self) -> Result<(), PlanError> {
        match self.catalog.has_attribute(self.path.actor().role, |role| role.create_database) {
            true => Ok(()),
            false => Err(PlanError::new("42501", "permission denied to create database")),
        }
    }

    fn permit_routine(&self, statement: &Statement) -> Result<(), PlanError> {
        match statement {
            Statement::CreateRoutine(create) => self.may_create(&create.name, false),
            Statement::AlterRoutine(alter) => {
                self.require_owner_of_routine(alter.kind, &alter.routine)?;
                match &alter.change {
                    RoutineChange::Schema(schema) => self.may_create_in(self.scope().require_namespace(&schema.name)?),
                    _ => Ok(()),
                }
            }
            Statement::Operator(operator) => self.permit_operator(operator),
            Statement::DropRoutines(drop) => {
                drop.routines.iter().try_for_each(|name| self.require_owner_of_routine(drop.kind, name))
            }
            _ => Ok(()),
        }
    }

    fn permit_operator(&self, statement: &OperatorStatement) -> Result<(), PlanError> {
        match statement {
            OperatorStatement::Create(create) => self.may_create(&create.name, false),
            OperatorStatement::Alter(alter) => {
                self.require_owner_of_operator(&alter.operator)?;
                match &alter.change {
                    OperatorChange::Schema(schema) => self.may_create_in(self.scope().require_namespace(&schema.name)?),
                    OperatorChange::Owner(_) | OperatorChange::Estimators(_) => Ok(()),
                }
            }
            OperatorStatement::Drop { operators, .. } => {
                operators.iter().try_for_each(|operator| self.require_owner_of_operator(operator))
            }
        }
    }

    fn permit_start(&self, alter: &AlterStart) -> Result<(), PlanError> {
        let actor = self.path.actor();
        if let Some(name) = &alter.database {
            self.require_owner(self.start_database(&name.name)?.0, "database", &name.name)?;
        }
        match &alter.role {
            StartRole::All if alter.database.is_some() => Ok(()),
            StartRole::All => Err(PlanError::new("42501", "must be a controller to alter settings globally")),
            StartRole::Current => Ok(()),
            StartRole::Named(name) => {
                let role = self.role_named(name)?;
                let makes_roles = self.catalog.has_attribute(actor.role, |role| role.create_role);
                let may = role == actor.role || makes_roles && !self.outranks(role);
                if may { Ok(()) } else { Err(PlanError::new("42501", "permission denied")) }
            }
        }
    }

    fn permit_table(&self, create: &CreateTable) -> Result<(), PlanError> {
        self.may_create(&create.name, create.temporary)
    }

    fn permit_view(&self, create: &CreateView) -> Result<(), PlanError> {
        self.may_create(&create.name, create.temporary)?;
        match self.find(&create.name) {
            Ok(Some(Class::Relation(table))) if create.or_replace && table.view.is_some() => {
                self.require_owner(table.id.0, table.kind(), &table.name)
            }
            _ => Ok(()),
        }
    }

    fn permit_drop(&self, kind: ObjectKind, name: &ObjectName) -> Result<(), PlanError> {
        // What is not there says so itself.
        let Ok(denied) = self.owner_denial(kind, name) else { return Ok(()) };
        let Some((id, denied)) = denied else { return Ok(()) };
        let namespace = self.catalog.namespace_of(id);
        let role = self.path.actor().role;
        match namespace.is_some_and(|namespace| self.catalog.owns(role, namespace.0, self.path.home())) {
            true => Ok(()),
            false => Err(denied),
        }
    }

    fn permit_truncate(&self, name: &ObjectName) -> Result<(), PlanError> {
        let Ok(id) = self.table(name) else { return Ok(()) };
        self.permit_emptying(id)
    }

    /// Of a table that TRUNCATE reaches by CASCADE, too.
    pub(super) fn permit_emptying(&self, id: RelationId) -> Result<(), PlanError> {
        let table = self.get(id);
        if !self.holds(ObjectClass::Table, id.0, Privilege::Truncate) {
            return Err(PlanError::denied("table", &table.name));
        }
        let role = self.path.actor().role;
        if table.may_be_restricted() || self.catalog.binds_to_purpose(role, table, self.path.home()) {
            return Err(PlanError::denied("table", &table.name)
                .hint("TRUNCATE would take rows that are not there for this role. DELETE takes those that are."));
        }
        Ok(())
    }

    fn permit_label(&self, object: &LabelledObject) -> Result<(), PlanError> {
        match object {
            LabelledObject::Column(name, _) => self.require_owner_of(name),
            LabelledObject::Object(kind, name) => self.require_owner_as(*kind, name),
            LabelledObject::Constraint(_, table) => self.require_owner_of(table),
            LabelledObject::DomainConstraint(_, name) => self.require_owner_as(ObjectKind::Domain, name),
            LabelledObject::Database(name) => match self.start_database(name) {
                Ok(id) => self.require_owner(id.0, "database", name),
                Err(error) if error.code == "3D000" => Ok(()),
                Err(error) => Err(error),
            },
            LabelledObject::Extension(name) => {
                Err(PlanError::new("42501", format!("must be owner of extension {}", name.name)))
            }
            LabelledObject::Routine(kind, name) => self.require_owner_of_routine(*kind, name),
            LabelledObject::Operator(name) => self.require_owner_of_operator(name),
            LabelledObject::Role(name) => {
                let role = self.role_named(name)?;
                if !self.may_make_roles() || self.outranks(role) {
                    return Err(PlanError::new("42501", "must have CREATEROLE privilege"));
                }
                Ok(())
            }
            LabelledObject::Other(_) => Ok(()),
        }
    }

    /// 42501 where TRUNCATE reaches a table that its role may not empty.
    pub(super) fn permit_emptied(&self) -> Result<(), PlanError> {
        if self.is_controller() {
            return Ok(());
        }
        let emptied = self.effects.iter().filter_map(|effect| match effect {
            super::DdlEffect::Truncate(tables) => Some(tables),
            _ => None,
        });
        emptied.flatten().try_for_each(|table| self.permit_emptying(*table))
    }

    /// 42501 for a new maintained view of what its owner may not read.
    pub(super) fn permit_filling(&self, old: &Catalog) -> Result<(), PlanError> {
        if self.is_controller() {
            return Ok(());
        }
        let made =
            self.catalog.relations.values().filter(|table| table.is_maintained() && old.table(table.id).is_none());
        let actor = self.path.actor().role;
        for view in made {
            Needs::of_maintained(&self.catalog, view.id).check(&self.catalog, actor, self.path.home())?;
        }
        Ok(())
    }

    pub(super) fn holds(&self, class: ObjectClass, object: Id, privilege: Privilege) -> bool {
        self.catalog.privileges(self.path.actor().role, class, object, self.path.home()).has(privilege)
    }

    /// 42501 for whoever is no member.
    pub(super) fn require_member(&self, of: RoleId) -> Result<(), PlanError> {
        match self.catalog.is_member(self.path.actor().role, of) {
            true => Ok(()),
            false => Err(PlanError::new("42501", format!("must be member of role \"{}\"", self.role_called(of)))),
        }
    }

    fn may_in_database(&self, privilege: Privilege) -> Result<(), PlanError> {
        let home = self.path.home();
        match self.holds(ObjectClass::Database, home.0, privilege) {
            true => Ok(()),
            false => {
                let name = self.path.database().unwrap_or_default();
                Err(PlanError::denied("database", name))
            }
        }
    }

    /// The multirange may be made elsewhere.
    fn permit_range(&self, create: &CreateRange) -> Result<(), PlanError> {
        self.may_create(&create.name, false)?;
        create.multirange.as_ref().map_or(Ok(()), |name| self.may_create(name, false))
    }

    fn may_create(&self, name: &ObjectName, temporary: bool) -> Result<(), PlanError> {
        let place = self.place_for(name, temporary)?;
        if place == NamespaceId::PG_TEMP {
            let may = self.holds(ObjectClass::Database, self.path.home().0, Privilege::Temporary);
            let name = self.path.database().unwrap_or_default();
            let message = format!("permission denied to create temporary tables in database \"{name}\"");
            return if may { Ok(()) } else { Err(PlanError::new("42501", message)) };
        }
        self.may_create_in(place)
    }

    fn may_create_in(&self, namespace: NamespaceId) -> Result<(), PlanError> {
        // What it makes it would own, and see.
        self.require_role_with_rows(self.path.actor().role)?;
        if namespace == NamespaceId::PG_TEMP || self.holds(ObjectClass::Schema, namespace.0, Privilege::Create) {
            return Ok(());
        }
        let name = self.catalog.namespace_name(namespace).unwrap_or_default();
        Err(PlanError::denied("schema", name))
    }

    /// 42501 for whoever does not own it.
    pub(super) fn require_owner(&self, id: Id, noun: &str, name: &str) -> Result<(), PlanError> {
        if self.catalog.owns(self.path.actor().role, id, self.path.home()) {
            return Ok(());
        }
        Err(PlanError::new("42501", format!("must be owner of {noun} {name}")))
    }

    /// The same of a relation, sequence or index by its name; what is not there says so itself.
    fn require_owner_of(&self, name: &ObjectName) -> Result<(), PlanError> {
        self.require_owner_as(ObjectKind::Table, name)
    }

    /// The same of a function or procedure.
    fn require_owner_of_routine(&self, kind: RoutineKind, name: &RoutineName) -> Result<(), PlanError> {
        let Ok(id) = self.routine_named(kind, name) else { return Ok(()) };
        let noun = self.catalog.routines[&id].noun();
        self.require_owner(id, noun, &name.name.name)
    }

    /// The same of an operator.
    fn require_owner_of_operator(&self, name: &OperatorName) -> Result<(), PlanError> {
        let Ok(id) = self.operator_named(name) else { return Ok(()) };
        self.require_owner(id, "operator", &name.name.dotted())
    }

    fn require_owner_as(&self, kind: ObjectKind, name: &ObjectName) -> Result<(), PlanError> {
        match self.owner_denial(kind, name) {
            Ok(Some((_, denied))) => Err(denied),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// The object, and what is said to who does not own it.
    fn owner_denial(&self, kind: ObjectKind, name: &ObjectName) -> Result<Option<(Id, PlanError)>, PlanError> {
        let Some((id, noun)) = self.owned_object(kind, name)? else { return Ok(None) };
        Ok(self.require_owner(id, noun, &name.name).err().map(|denied| (id, denied)))
    }

    /// What has an owner by this name, and what kind of thing it is. An index is its table's.
    pub(super) fn owned_object(
        &self,
        kind: ObjectKind,
        name: &ObjectName,
    ) -> Result<Option<(Id, &'static str)>, PlanError> {
        Ok(match kind {
            ObjectKind::Schema => Some((self.schema(name)?.0, "schema")),
            ObjectKind::Type | ObjectKind::Domain => Some((self.type_named(name)?, "type")),
            ObjectKind::Table
            | ObjectKind::View
            | ObjectKind::MaterializedView
            | ObjectKind::Index
            | ObjectKind::Sequence => match self.find(name)? {
                Some(Class::Relation(table)) => Some((table.id.0, table.kind())),
                Some(Class::Sequence(sequence)) => Some((sequence.id.0, "sequence")),
                Some(Class::Index(table, _)) => Some((table.id.0, INDEX)),
                Some(Class::Composite(found)) => Some((found.id, "type")),
                Some(Class::System(_)) | None => None,
            },
        })
    }
}
