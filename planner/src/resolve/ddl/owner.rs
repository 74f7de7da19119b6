//! Whose objects are: what is made gets its owner, what is given away another.

use super::change::{DefinitionChange, no_relation};
use super::permission::INDEX;
use super::role::kept_from;
use crate::catalog::{Acl, Catalog, CreatedType, DatabaseId, NamespaceId, ObjectClass, RoleId, TypeKind};
use crate::error::PlanError;
use crate::parse::rights::RoleName;
use crate::parse::statement::{DropBehavior, Identifier, ObjectKind, ObjectName};
use repr::id::is_temporary;
use repr::{Id, RelationId};
use std::collections::BTreeSet;

impl DefinitionChange<'_> {
    /// Everything that has an owner: its OID, what kind of thing it is, its name.
    pub(super) fn named_objects(&self) -> Vec<(Id, &'static str, String)> {
        let catalog = &self.catalog;
        let databases = catalog.databases.iter().map(|(id, found)| (id.0, "database", found.name.clone()));
        let schemas = catalog.namespaces.iter().map(|(id, found)| (id.0, "schema", found.name.clone()));
        let relations = catalog.relations.values().map(|table| (table.id.0, table.kind(), table.name.clone()));
        let sequences = catalog.sequences.values().map(|found| (found.id.0, "sequence", found.name.clone()));
        let types = catalog.types.values().map(|found| (found.id, "type", found.name.clone()));
        let routines = catalog.routines.values().map(|found| (found.id, found.noun(), found.name.clone()));
        let operators = catalog.operators.values().map(|found| (found.id, "operator", found.name.clone()));
        let all =
            databases.chain(schemas).chain(relations).chain(sequences).chain(types).chain(routines).chain(operators);
        all.filter(|(id, ..)| !is_temporary(*id)).collect()
    }

    /// The end of a definition: what is new is its maker's, and what has gone has no rights.
    pub(super) fn settle_owners(&mut self, old: &Catalog) {
        let maker = self.path.actor().role;
        if maker == RoleId::FIRST && *self.catalog.rights == crate::catalog::Rights::default() {
            return;
        }
        let operators = self.catalog.operators.keys().filter(|id| !old.operators.contains_key(id));
        for id in operators.copied().collect::<Vec<Id>>() {
            if maker != RoleId::FIRST {
                self.catalog.rights_mut().owners.entry(id).or_insert(maker);
            }
        }
        for (id, class) in made(old, &self.catalog) {
            let given = self.catalog.rights.owners.contains_key(&id);
            let owner = self.owner_of_new(id, maker);
            if !given && owner != RoleId::FIRST {
                self.catalog.rights_mut().owners.insert(id, owner);
            }
            self.begin_with_defaults(id, class);
        }
        self.forget_gone();
    }

    /// A sequence is its column's table's; all else the maker's.
    fn owner_of_new(&self, id: Id, maker: RoleId) -> RoleId {
        let sequence = self.catalog.sequences.get(&repr::SequenceId(id));
        let table = sequence.and_then(|sequence| sequence.owned_by).map(|(table, _)| table.0);
        let owner = table.and_then(|table| self.catalog.rights.owners.get(&table).copied());
        owner.unwrap_or(maker)
    }

    /// ALTER DEFAULT PRIVILEGES of its maker.
    fn begin_with_defaults(&mut self, id: Id, class: ObjectClass) {
        let owner = self.catalog.owner(id);
        let namespace = self.catalog.namespace_of(id);
        let of = |namespace: Option<NamespaceId>| {
            let found = self.catalog.rights.defaults.iter();
            found.filter(|found| found.role == owner && found.class == class).find(|found| found.namespace == namespace)
        };
        let in_all = of(None).map(|found| found.acl.clone());
        let in_schema = namespace.and_then(|namespace| of(Some(namespace))).map(|found| found.acl.clone());
        if in_all.is_none() && in_schema.is_none() {
            return;
        }
        let mut acl = in_all.unwrap_or_else(|| Acl::at_first(class, owner));
        for item in in_schema.into_iter().flat_map(|acl| acl.items) {
            acl.add(item);
        }
        if acl != Acl::at_first(class, owner) {
            self.catalog.rights_mut().acls.insert(id, acl);
        }
    }

    fn forget_gone(&mut self) {
        let always = [DatabaseId::FIRST.0, NamespaceId::PUBLIC.0];
        let kept: BTreeSet<Id> = {
            let rights = &self.catalog.rights;
            let known = rights.owners.keys().chain(rights.acls.keys());
            known
                .copied()
                .filter(|id| always.contains(id) || !is_temporary(*id) && self.catalog.has_object(*id))
                .collect()
        };
        let gone = |id: &Id| !kept.contains(id);
        let dropped = |relation: RelationId, column: usize| {
            self.catalog.table(relation).is_none_or(|table| table.columns[column].dropped)
        };
        let columns: Vec<(RelationId, usize)> = {
            let all = self.catalog.rights.columns.iter();
            let all = all.flat_map(|(relation, columns)| columns.keys().map(move |column| (*relation, *column)));
            all.filter(|(relation, column)| dropped(*relation, *column)).collect()
        };
        let rights = &self.catalog.rights;
        if columns.is_empty() && !rights.owners.keys().chain(rights.acls.keys()).any(gone) {
            return;
        }
        let rights = self.catalog.rights_mut();
        rights.owners.retain(|id, _| !gone(id));
        rights.acls.retain(|id, _| !gone(id));
        for (relation, column) in columns {
            if let Some(of_relation) = rights.columns.get_mut(&relation) {
                of_relation.remove(&column);
            }
        }
        rights.columns.retain(|_, columns| !columns.is_empty());
    }

    /// ALTER … OWNER TO
    pub(super) fn change_owner(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        name: &ObjectName,
        owner: &RoleName,
    ) -> Result<&'static str, PlanError> {
        let tag = super::alter::alter_tag(kind);
        let is_relation = !matches!(kind, ObjectKind::Schema | ObjectKind::Type | ObjectKind::Domain);
        if if_exists && is_relation && self.is_missing(name)? {
            return Ok(tag);
        }
        let (id, noun) = self.owned_object(kind, name)?.ok_or_else(|| no_relation(name))?;
        if noun == INDEX {
            self.notice("01000", format!("cannot change owner of index \"{}\"", name.name));
            return Ok(tag);
        }
        if kind == ObjectKind::Sequence
            && let Some((table, _)) = self.catalog.sequences.get(&repr::SequenceId(id)).and_then(|found| found.owned_by)
        {
            let message = format!("cannot change owner of sequence \"{}\"", name.name);
            return Err(PlanError::new("0A000", message).detail(format!(
                "Sequence \"{}\" is linked to table \"{}\".",
                name.name,
                self.get(table).name
            )));
        }
        let owner = self.role(owner)?;
        self.give(id, noun, &name.name, owner)?;
        Ok(tag)
    }

    /// ALTER DATABASE … OWNER TO
    pub(super) fn change_database_owner(
        &mut self,
        name: &Identifier,
        owner: &RoleName,
    ) -> Result<&'static str, PlanError> {
        let database = self.start_database(&name.name)?;
        let owner = self.role(owner)?;
        self.give(database.0, "database", &name.name, owner)?;
        Ok("ALTER DATABASE")
    }

    /// Of a table, with the sequences of its columns.
    pub(super) fn give_table(&mut self, id: RelationId, owner: &RoleName) -> Result<(), PlanError> {
        let owner = self.role(owner)?;
        let (kind, name) = (self.get(id).kind(), self.get(id).name.clone());
        self.give(id.0, kind, &name, owner)
    }

    pub(super) fn give(&mut self, id: Id, noun: &str, name: &str, owner: RoleId) -> Result<(), PlanError> {
        self.require_owner(id, noun, name)?;
        let before = self.catalog.owner(id);
        if before == owner || is_temporary(id) {
            return Ok(());
        }
        self.require_member(owner)?;
        if self.catalog.table(RelationId(id)).is_some() {
            self.require_role_with_rows(owner)?;
        }
        let owned = self.catalog.sequences.values().filter(|found| found.owned_by.is_some_and(|(of, _)| of.0 == id));
        let range = self.catalog.types.get(&id).and_then(|found| found.range());
        let multirange = range.map(|range| range.of.multirange_id());
        let with: Vec<Id> = owned.map(|found| found.id.0).chain(multirange).chain([id]).collect();
        let rights = self.catalog.rights_mut();
        with.into_iter().for_each(|id| rights.change_owner(id, before, owner));
        Ok(())
    }

    /// 0LP01 if rows are kept from it.
    pub(super) fn require_role_with_rows(&self, role: RoleId) -> Result<(), PlanError> {
        match self.catalog.kind_without_rows(role) {
            Some(kind) => Err(kept_from(&self.role_called(role), kind)),
            None => Ok(()),
        }
    }

    /// DROP OWNED: what the role owns in this database.
    pub(super) fn drop_all_of(&mut self, role: RoleId, cascade: bool) -> Result<(), PlanError> {
        let behavior = if cascade { DropBehavior::Cascade } else { DropBehavior::Restrict };
        let kinds = [
            ObjectKind::View,
            ObjectKind::MaterializedView,
            ObjectKind::Table,
            ObjectKind::Sequence,
            ObjectKind::Domain,
            ObjectKind::Type,
            ObjectKind::Schema,
        ];
        for kind in kinds {
            let names = self.names_owned(role, kind);
            if !names.is_empty() {
                self.drop_objects(kind, true, &names, behavior)?;
            }
        }
        let home = self.path.home();
        let owned =
            |id: &Id| self.catalog.rights.owners.get(id) == Some(&role) && self.catalog.is_of_database(*id, home);
        let routines: Vec<Id> = self.catalog.routines.keys().copied().filter(owned).collect();
        for id in routines {
            let shown = self.routine_line(&self.catalog.routines[&id]);
            self.drop_callers(&shown, id, Vec::new(), cascade)?;
            self.remove_routine(id);
        }
        let owned =
            |id: &Id| self.catalog.rights.owners.get(id) == Some(&role) && self.catalog.is_of_database(*id, home);
        let operators: Vec<Id> = self.catalog.operators.keys().copied().filter(owned).collect();
        for id in operators {
            let operator = std::sync::Arc::clone(&self.catalog.operators[&id]);
            self.drop_users_of_operator(&operator, cascade)?;
            self.remove_operator(id);
        }
        Ok(())
    }

    fn names_owned(&self, role: RoleId, kind: ObjectKind) -> Vec<ObjectName> {
        let (catalog, home) = (&self.catalog, self.path.home());
        let owned = |id: Id| catalog.rights.owners.get(&id) == Some(&role) && catalog.is_of_database(id, home);
        let qualified = |namespace: NamespaceId, name: &str| ObjectName {
            database: None,
            schema: catalog.namespace_name(namespace).map(str::to_owned),
            name: name.to_owned(),
            position: 1,
        };
        let tables = |is: fn(&crate::catalog::Table) -> bool| {
            let found = catalog.relations.values().filter(|table| owned(table.id.0) && is(table));
            found.map(|table| qualified(table.namespace, &table.name)).collect()
        };
        match kind {
            ObjectKind::Table => tables(|table| table.is_stored()),
            ObjectKind::View => tables(|table| !table.is_stored() && !table.is_maintained()),
            ObjectKind::MaterializedView => tables(|table| table.is_maintained()),
            ObjectKind::Index => Vec::new(),
            ObjectKind::Sequence => {
                let found = catalog.sequences.values().filter(|found| found.owned_by.is_none() && owned(found.id.0));
                found.map(|found| qualified(found.namespace, &found.name)).collect()
            }
            ObjectKind::Type | ObjectKind::Domain => {
                let is_kind =
                    |found: &CreatedType| matches!(found.kind, TypeKind::Domain(_)) == (kind == ObjectKind::Domain);
                // A multirange goes with its range.
                let is_alone = |found: &CreatedType| !matches!(found.kind, TypeKind::Multirange(_));
                let found = catalog.types.values();
                let found = found.filter(|found| owned(found.id) && is_kind(found) && is_alone(found));
                found.map(|found| qualified(found.namespace, &found.name)).collect()
            }
            ObjectKind::Schema => {
                let found = catalog.namespaces.iter().filter(|(id, _)| owned(id.0));
                let bare = |name: &str| ObjectName { schema: None, ..qualified(NamespaceId::PUBLIC, name) };
                found.map(|(_, found)| bare(&found.name)).collect()
            }
        }
    }
}

/// Objects of the new catalog that the old one has not.
fn made(old: &Catalog, new: &Catalog) -> Vec<(Id, ObjectClass)> {
    let relations =
        new.relations.keys().filter(|id| !old.relations.contains_key(id)).map(|id| (id.0, ObjectClass::Table));
    let sequences =
        new.sequences.keys().filter(|id| !old.sequences.contains_key(id)).map(|id| (id.0, ObjectClass::Sequence));
    let types = new.types.keys().filter(|id| !old.types.contains_key(id)).map(|id| (*id, ObjectClass::Type));
    let schemas =
        new.namespaces.keys().filter(|id| !old.namespaces.contains_key(id)).map(|id| (id.0, ObjectClass::Schema));
    let databases =
        new.databases.keys().filter(|id| !old.databases.contains_key(id)).map(|id| (id.0, ObjectClass::Database));
    let routines = new.routines.keys().filter(|id| !old.routines.contains_key(id));
    let routines = routines.map(|id| (*id, ObjectClass::Function));
    let all = relations.chain(sequences).chain(types).chain(schemas).chain(databases).chain(routines);
    all.filter(|(id, _)| !is_temporary(*id) && *id != NamespaceId::PG_TEMP.0).collect()
}
