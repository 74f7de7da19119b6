//! GRANT and REVOKE of privileges, and those that later objects begin with.

use super::change::{DefinitionChange, no_relation};
use crate::catalog::{Acl, Class, DefaultAcl, NamespaceId, ObjectClass, Privileges, Revoked, RoleId};
use crate::error::PlanError;
use crate::parse::definition::RoutineName;
use crate::parse::rights::{AlterDefaultPrivileges, Grant, GrantedObjects, RoleName};
use crate::parse::statement::{DropBehavior, Identifier, ObjectName};
use repr::{ColumnIndex, Id, RelationId};
use std::collections::BTreeSet;

/// An object that privileges are granted on.
struct Object {
    class: ObjectClass,
    id: Id,
    name: String,
}

/// By whom, and what of it they may.
struct Grantor {
    role: RoleId,
    available: Privileges,
}

impl DefinitionChange<'_> {
    pub(super) fn grant(&mut self, grant: &Grant) -> Result<&'static str, PlanError> {
        if let Some(grantor) = &grant.grantor
            && self.role(grantor)? != self.path.actor().role
        {
            return Err(PlanError::new("0A000", "grantor must be current user"));
        }
        let grantees = self.grantees(&grant.grantees)?;
        if grant.grants && grant.option && grantees.contains(&None) {
            return Err(PlanError::new("0LP01", "grant options can only be granted to roles"));
        }
        for object in self.granted_on(&grant.objects)? {
            self.grant_on(&object, grant, &grantees)?;
        }
        Ok(if grant.grants { "GRANT" } else { "REVOKE" })
    }

    pub(super) fn grantees(&self, names: &[RoleName]) -> Result<Vec<Option<RoleId>>, PlanError> {
        let grantee = |name: &RoleName| match name {
            RoleName::Public(_) => Ok(None),
            name => self.role(name).map(Some),
        };
        names.iter().map(grantee).collect()
    }

    fn granted_on(&self, objects: &GrantedObjects) -> Result<Vec<Object>, PlanError> {
        match objects {
            GrantedObjects::Relations(names) => names.iter().map(|name| self.object_of_relation(name)).collect(),
            GrantedObjects::Sequences(names) => {
                let object = |name: &ObjectName| {
                    let id = self.sequence(name)?;
                    Ok(Object { class: ObjectClass::Sequence, id: id.0, name: name.name.clone() })
                };
                names.iter().map(object).collect()
            }
            GrantedObjects::Databases(names) => {
                let object = |name: &Identifier| {
                    let id = self.start_database(&name.name)?;
                    Ok(Object { class: ObjectClass::Database, id: id.0, name: name.name.clone() })
                };
                names.iter().map(object).collect()
            }
            GrantedObjects::Schemas(names) => {
                let object = |name: &Identifier| {
                    let id = self.namespace_named(name)?;
                    Ok(Object { class: ObjectClass::Schema, id: id.0, name: name.name.clone() })
                };
                names.iter().map(object).collect()
            }
            GrantedObjects::Types(names) => {
                let object = |name: &ObjectName| {
                    let id = self.type_named(name)?;
                    Ok(Object { class: ObjectClass::Type, id, name: name.name.clone() })
                };
                names.iter().map(object).collect()
            }
            GrantedObjects::Routines(kind, names) => {
                let object = |name: &RoutineName| {
                    let id = self.routine_named(*kind, name)?;
                    Ok(Object { class: ObjectClass::Function, id, name: name.name.name.clone() })
                };
                names.iter().map(object).collect()
            }
            GrantedObjects::AllInSchemas(class, schemas) => {
                let mut objects = Vec::new();
                for schema in schemas {
                    objects.extend(self.all_in(*class, self.namespace_named(schema)?));
                }
                Ok(objects)
            }
        }
    }

    fn namespace_named(&self, name: &Identifier) -> Result<NamespaceId, PlanError> {
        self.scope().require_namespace(&name.name).map_err(|error| error.at(Some(name.position)))
    }

    fn object_of_relation(&self, name: &ObjectName) -> Result<Object, PlanError> {
        let (class, id) = match self.find(name)?.ok_or_else(|| no_relation(name))? {
            Class::Relation(table) => (ObjectClass::Table, table.id.0),
            Class::Sequence(sequence) => (ObjectClass::Sequence, sequence.id.0),
            Class::Index(..) => {
                return Err(PlanError::new("42809", format!("\"{}\" is an index", name.name)));
            }
            Class::Composite(_) => {
                return Err(PlanError::new("42809", format!("\"{}\" is a composite type", name.name)));
            }
            Class::System(_) => return Err(no_relation(name)),
        };
        Ok(Object { class, id, name: name.name.clone() })
    }

    fn all_in(&self, class: ObjectClass, namespace: NamespaceId) -> Vec<Object> {
        match class {
            ObjectClass::Table => {
                let tables = self.catalog.relations.values().filter(|table| table.namespace == namespace);
                tables.map(|table| Object { class, id: table.id.0, name: table.name.clone() }).collect()
            }
            ObjectClass::Sequence => {
                let found = self.catalog.sequences.values().filter(|found| found.namespace == namespace);
                found.map(|found| Object { class, id: found.id.0, name: found.name.clone() }).collect()
            }
            ObjectClass::Function => {
                let found = self.catalog.routines.values().filter(|found| found.namespace == namespace);
                found.map(|found| Object { class, id: found.id, name: found.name.clone() }).collect()
            }
            ObjectClass::Database | ObjectClass::Schema | ObjectClass::Type => Vec::new(),
        }
    }

    fn grant_on(&mut self, object: &Object, grant: &Grant, grantees: &[Option<RoleId>]) -> Result<(), PlanError> {
        if self.catalog.owner(object.id) == RoleId::FIRST
            && object.class == ObjectClass::Schema
            && !self.catalog.namespaces.contains_key(&NamespaceId(object.id))
        {
            return Err(denied(object));
        }
        let (whole, columns) = self.wanted(object, grant)?;
        if !whole.is_empty() {
            let grantor = self.grantor(object, whole)?;
            self.tell_of_left_out(object, grant, whole, grantor.available);
            let what = whole.within(grantor.available);
            for grantee in grantees {
                self.change_acl(object, None, grant, (*grantee, grantor.role, what))?;
                if !grant.grants && object.class == ObjectClass::Table {
                    // What is taken of a table is taken of its columns.
                    self.take_of_columns(object, grant, (*grantee, grantor.role, what))?;
                }
            }
        }
        for (column, wanted) in columns {
            let grantor = self.grantor_of_column(object, column, wanted)?;
            self.tell_of_left_out(object, grant, wanted, grantor.available);
            let what = wanted.within(grantor.available);
            for grantee in grantees {
                self.change_acl(object, Some(column), grant, (*grantee, grantor.role, what))?;
            }
        }
        Ok(())
    }

    /// What the statement speaks of: on the object, and on its columns.
    fn wanted(
        &self,
        object: &Object,
        grant: &Grant,
    ) -> Result<(Privileges, Vec<(ColumnIndex, Privileges)>), PlanError> {
        let all = self.applicable(object);
        let mut columns: Vec<(ColumnIndex, Privileges)> = Vec::new();
        let Some(items) = &grant.privileges else {
            if grant.all_columns.is_empty() {
                return Ok((all, columns));
            }
            for column in &grant.all_columns {
                columns.push((self.granted_column(object, column)?, ObjectClass::of_columns()));
            }
            return Ok((Privileges::NONE, columns));
        };
        let mut whole = Privileges::NONE;
        for item in items {
            let what = Privileges::from(item.privilege);
            let of_class = if item.columns.is_empty() { object.class.privileges() } else { ObjectClass::of_columns() };
            if !of_class.contains(what) {
                let noun = if item.columns.is_empty() { object.class.noun() } else { "column" };
                let message = format!("invalid privilege type {} for {noun}", item.privilege.name());
                return Err(PlanError::new("0LP01", message));
            }
            if !all.contains(what) {
                let message = format!("invalid privilege type {} for table \"{}\"", item.privilege.name(), object.name);
                return Err(PlanError::new("0LP01", message)
                    .hint("Subject requests are made of the people of a data-subject table."));
            }
            if item.columns.is_empty() {
                whole = whole.and(what);
            }
            for column in &item.columns {
                columns.push((self.granted_column(object, column)?, what));
            }
        }
        Ok((whole, columns))
    }

    /// What there is to grant on an object.
    fn applicable(&self, object: &Object) -> Privileges {
        self.catalog.table(RelationId(object.id)).map_or(object.class.privileges(), |table| table.privileges())
    }

    fn granted_column(&self, object: &Object, column: &Identifier) -> Result<ColumnIndex, PlanError> {
        match object.class {
            ObjectClass::Table => self.column(RelationId(object.id), column),
            _ => {
                let noun = object.class.noun();
                Err(PlanError::new(
                    "0LP01",
                    format!("column privileges are only valid for relations, not for a {noun}"),
                ))
            }
        }
    }

    /// Who grants: the owner, in whose name its members and controllers do, or who may grant on. 42501 for whoever has none of it.
    fn grantor(&self, object: &Object, wanted: Privileges) -> Result<Grantor, PlanError> {
        let (actor, home) = (self.path.actor().role, self.path.home());
        if self.catalog.owns(actor, object.id, home) {
            return Ok(Grantor { role: self.catalog.owner(object.id), available: wanted });
        }
        let roles = self.catalog.counted(actor, home);
        let acl = self.catalog.acl(object.class, object.id);
        let best = roles
            .iter()
            .map(|role| (*role, acl.grantable(&BTreeSet::from([*role])).within(wanted)))
            .max_by_key(|(role, available)| (available.iter().count(), *role == actor));
        match best {
            Some((role, available)) if !available.is_empty() => Ok(Grantor { role, available }),
            _ if acl.held(&roles).is_empty() => Err(denied(object)),
            _ => Ok(Grantor { role: actor, available: Privileges::NONE }),
        }
    }

    fn grantor_of_column(
        &self,
        object: &Object,
        column: ColumnIndex,
        wanted: Privileges,
    ) -> Result<Grantor, PlanError> {
        let whole = self.grantor(object, wanted);
        if whole.as_ref().is_ok_and(|grantor| !grantor.available.is_empty()) {
            return whole;
        }
        let roles = self.catalog.counted(self.path.actor().role, self.path.home());
        let acl = self.catalog.rights.columns.get(&RelationId(object.id)).and_then(|columns| columns.get(&column));
        let grantable = |role: &RoleId| acl.map(|acl| acl.grantable(&BTreeSet::from([*role])).within(wanted));
        let best = roles.iter().filter_map(|role| Some((*role, grantable(role)?)));
        match best.max_by_key(|(_, available)| available.iter().count()) {
            Some((role, available)) if !available.is_empty() => Ok(Grantor { role, available }),
            _ => whole,
        }
    }

    fn tell_of_left_out(&mut self, object: &Object, grant: &Grant, wanted: Privileges, available: Privileges) {
        let done = if grant.grants { "granted" } else { "revoked" };
        let name = &object.name;
        let code = if grant.grants { "01007" } else { "01006" };
        if available.is_empty() {
            self.notice(code, format!("no privileges could be {done} for \"{name}\""));
        } else if grant.privileges.is_some() && !available.contains(wanted) {
            self.notice(code, format!("not all privileges could be {done} for \"{name}\""));
        }
    }

    /// Changes what one role has on an object, or on one of its columns, from another.
    fn change_acl(
        &mut self,
        object: &Object,
        column: Option<ColumnIndex>,
        grant: &Grant,
        (grantee, grantor, what): (Option<RoleId>, RoleId, Privileges),
    ) -> Result<(), PlanError> {
        if what.is_empty() {
            return Ok(());
        }
        if let Some(role) = grantee.filter(|_| grant.grants && object.class == ObjectClass::Table) {
            self.require_role_with_rows(role)?;
        }
        let relation = RelationId(object.id);
        let mut acl = match column {
            None => self.catalog.acl(object.class, object.id),
            Some(column) => {
                let columns = self.catalog.rights.columns.get(&relation);
                columns.and_then(|columns| columns.get(&column)).cloned().unwrap_or_default()
            }
        };
        if grant.grants {
            acl.grant(grantee, grantor, what, grant.option);
        } else {
            let cascade = grant.behavior == DropBehavior::Cascade;
            let revoked = Revoked { privileges: what, option_only: grant.option, cascade };
            if !acl.revoke(grantee, grantor, revoked) {
                return Err(
                    PlanError::new("2BP01", "dependent privileges exist").hint("Use CASCADE to revoke them too.")
                );
            }
        }
        let rights = self.catalog.rights_mut();
        match column {
            None => drop(rights.acls.insert(object.id, acl)),
            Some(column) => drop(rights.columns.entry(relation).or_default().insert(column, acl)),
        }
        Ok(())
    }

    fn take_of_columns(
        &mut self,
        object: &Object,
        grant: &Grant,
        whose: (Option<RoleId>, RoleId, Privileges),
    ) -> Result<(), PlanError> {
        let columns = self.catalog.rights.columns.get(&RelationId(object.id));
        let columns: Vec<ColumnIndex> = columns.into_iter().flat_map(|columns| columns.keys().copied()).collect();
        columns.into_iter().try_for_each(|column| self.change_acl(object, Some(column), grant, whose))
    }

    /// ALTER DEFAULT PRIVILEGES
    pub(super) fn alter_default_privileges(
        &mut self,
        alter: &AlterDefaultPrivileges,
    ) -> Result<&'static str, PlanError> {
        let actor = self.path.actor().role;
        let roles = match alter.roles.as_slice() {
            [] => vec![actor],
            names => names.iter().map(|name| self.role(name)).collect::<Result<_, _>>()?,
        };
        roles.iter().try_for_each(|role| self.require_member(*role))?;
        if alter.class == ObjectClass::Schema && !alter.schemas.is_empty() {
            return Err(PlanError::new("0LP01", "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS"));
        }
        let mut namespaces = Vec::new();
        for schema in &alter.schemas {
            namespaces.push(Some(self.namespace_named(schema)?));
        }
        if namespaces.is_empty() {
            namespaces.push(None);
        }
        let all = alter.class.privileges();
        let what = match &alter.privileges {
            None => all,
            Some(named) => named.iter().fold(Privileges::NONE, |all, privilege| all.and((*privilege).into())),
        };
        if let Some(wrong) = what.without(all).iter().next() {
            let message = format!("invalid privilege type {} for {}", wrong.name(), alter.class.noun());
            return Err(PlanError::new("0LP01", message));
        }
        let grantees = self.grantees(&alter.grantees)?;
        for role in roles {
            for namespace in &namespaces {
                self.change_default(role, *namespace, alter, (&grantees, what))?;
            }
        }
        Ok("ALTER DEFAULT PRIVILEGES")
    }

    fn change_default(
        &mut self,
        role: RoleId,
        namespace: Option<NamespaceId>,
        alter: &AlterDefaultPrivileges,
        (grantees, what): (&[Option<RoleId>], Privileges),
    ) -> Result<(), PlanError> {
        let at_first = match namespace {
            None => Acl::at_first(alter.class, role),
            Some(_) => Acl::default(),
        };
        let is = |found: &DefaultAcl| (found.role, found.namespace, found.class) == (role, namespace, alter.class);
        let known =
            self.catalog.rights.defaults.iter().find(|found| is(found)).map(|found| (found.id, found.acl.clone()));
        let (id, mut acl) = match known {
            Some(known) => known,
            None => (self.next_id(), at_first.clone()),
        };
        for grantee in grantees {
            if let Some(role) = grantee.filter(|_| alter.grants && alter.class == ObjectClass::Table) {
                self.require_role_with_rows(role)?;
            }
            match alter.grants {
                true => acl.grant(*grantee, role, what, alter.option),
                false => {
                    acl.revoke(*grantee, role, Revoked { privileges: what, option_only: alter.option, cascade: true });
                }
            }
        }
        let rights = self.catalog.rights_mut();
        rights.defaults.retain(|found| !is(found));
        if acl != at_first {
            rights.defaults.push(DefaultAcl { id, role, namespace, class: alter.class, acl });
        }
        Ok(())
    }
}

fn denied(object: &Object) -> PlanError {
    PlanError::denied(object.class.noun(), &object.name)
}
