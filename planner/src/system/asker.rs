//! Whether somebody may: the question of has_*_privilege, of pg_has_role, and of what information_schema shows to whom.
//!
//! The answers are `Catalog::privileges`; here stands what PostgreSQL asks of them.

use super::{SystemRelation, access_list};
use crate::catalog::{
    Catalog, Class, DatabaseId, ObjectClass, Privilege, Privileges, REQUESTS, RoleId, Sequence, Table,
};
use repr::id::is_temporary;
use repr::{ColumnIndex, Id};
use std::collections::BTreeSet;

/// Everybody's privileges are those of a role that is nobody's member.
pub(crate) const PUBLIC: RoleId = RoleId(0);

/// What somebody may do with an object, and what of it they may grant on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) privileges: Privileges,
    pub(crate) grantable: Privileges,
}

impl Held {
    fn both(privileges: Privileges) -> Held {
        Held { privileges, grantable: privileges }
    }

    fn within(self, all: Privileges) -> Held {
        Held { privileges: self.privileges.within(all), grantable: self.grantable.within(all) }
    }

    fn and(self, other: Held) -> Held {
        Held { privileges: self.privileges.and(other.privileges), grantable: self.grantable.and(other.grantable) }
    }

    /// Whether any of the others is among it.
    pub(crate) fn has_any(self, of: Held) -> bool {
        let common = self.within(of.privileges.and(of.grantable));
        !common.privileges.within(of.privileges).is_empty() || !common.grantable.within(of.grantable).is_empty()
    }
}

/// A role in a database, of which something is asked.
pub(crate) struct Asker<'a> {
    catalog: &'a Catalog,
    /// Who.
    pub(crate) role: RoleId,
    home: DatabaseId,
    /// Those whose privileges it has, itself among them.
    roles: BTreeSet<RoleId>,
    is_controller: bool,
    has_no_rows: bool,
    /// Whether it is a person's own login.
    is_person: bool,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(catalog: &'a Catalog, role: RoleId, home: DatabaseId) -> Asker<'a> {
        let roles = catalog.counted(role, home);
        let has_no_rows = catalog.kind_without_rows(role).is_some();
        let (is_controller, is_person) = (catalog.is_controller(role), catalog.person_of(role).is_some());
        Asker { catalog, role, home, roles, is_controller, has_no_rows, is_person }
    }

    /// Whether it has the privileges of another role: `pg_has_role(…, 'USAGE')`.
    pub(crate) fn has_privileges_of(&self, other: RoleId) -> bool {
        self.is_controller || self.roles.contains(&other)
    }

    /// Whether it may become another role: `pg_has_role(…, 'MEMBER')`.
    pub(crate) fn is_member_of(&self, other: RoleId) -> bool {
        let members = || self.catalog.memberships(self.role);
        let owns_database = || members().contains(&self.catalog.owner(self.home.0));
        self.catalog.is_member(self.role, other) || other == RoleId::DATABASE_OWNER && owns_database()
    }

    /// Whether it may make others members of a role. No role may of itself.
    pub(crate) fn administers(&self, other: RoleId) -> bool {
        self.is_controller || other != self.role && self.catalog.administers(self.role, other)
    }

    /// What it may do with an object that is no relation.
    pub(crate) fn on(&self, class: ObjectClass, id: Id) -> Held {
        let privileges = self.catalog.privileges(self.role, class, id, self.home);
        let owns = self.catalog.owns(self.role, id, self.home);
        let grantable = match owns {
            // Whatever an owner has taken from itself it may give back.
            true => class.privileges(),
            false => self.catalog.acl(class, id).grantable(&self.roles),
        };
        Held { privileges, grantable }
    }

    /// What it may do with a relation, and so with all of its columns.
    pub(crate) fn on_relation(&self, relation: &Class<'_>) -> Held {
        match relation {
            Class::Relation(table) => self.on_table(table),
            Class::Sequence(sequence) => self.on_sequence(sequence),
            Class::System(relation) => self.on_system(relation),
            // It has no rows to see.
            Class::Composite(found) if self.owns(found.id) => Held::both(ObjectClass::Table.privileges()),
            Class::Composite(_) => Held { privileges: Privileges::NONE, grantable: Privileges::NONE },
            // Nothing is granted on one: it is its table's owner's, and of those that read or write everything.
            Class::Index(table, _) if self.owns(table.id.0) => Held::both(table.privileges()),
            Class::Index(_, index) => Held {
                privileges: self.catalog.privileges(self.role, ObjectClass::Table, index.id.0, self.home),
                grantable: Privileges::NONE,
            },
        }
    }

    /// What it may do with a table or a view.
    pub(crate) fn on_table(&self, table: &Table) -> Held {
        let mut held = self.on(ObjectClass::Table, table.id.0).within(table.privileges());
        if self.is_person {
            // Whatever was granted: of every table there is what GET gives.
            held.privileges = held.privileges.and(Privilege::Select.into());
        }
        if self.has_no_rows && !is_temporary(table.id.0) { Held::default() } else { held }
    }

    /// What it may do with a sequence.
    pub(crate) fn on_sequence(&self, sequence: &Sequence) -> Held {
        self.on(ObjectClass::Sequence, sequence.id.0)
    }

    fn on_system(&self, relation: &SystemRelation) -> Held {
        if self.is_controller {
            return Held::both(ObjectClass::Table.privileges().without(REQUESTS));
        }
        Held { privileges: access_list::of_system(relation).held(&self.roles), grantable: Privileges::NONE }
    }

    /// What it may do with a column, by the table or by itself.
    pub(crate) fn on_column(&self, table: &Table, column: ColumnIndex) -> Held {
        let acl = self.catalog.rights.columns.get(&table.id).and_then(|columns| columns.get(&column));
        let own = acl.filter(|_| !self.has_no_rows).map_or_else(Held::default, |acl| Held {
            privileges: acl.held(&self.roles),
            grantable: acl.grantable(&self.roles),
        });
        self.on_table(table).and(own)
    }

    /// Whether it may do any of these with the relation or with one of its columns.
    pub(crate) fn has_any(&self, table: &Table, of: Held) -> bool {
        let on_columns = || table.live_columns().any(|(column, _)| self.on_column(table, column).has_any(of));
        self.on_table(table).has_any(of) || on_columns()
    }

    /// Whether it owns an object, itself or as a member.
    pub(crate) fn owns(&self, id: Id) -> bool {
        self.catalog.owns(self.role, id, self.home)
    }

    /// Whether information_schema shows it a table: it owns it, or may do something with it.
    pub(crate) fn sees(&self, table: &Table) -> bool {
        let anything = Held { privileges: ObjectClass::Table.privileges(), grantable: Privileges::NONE };
        self.owns(table.id.0) || self.has_any(table, anything)
    }

    /// The same of a column.
    pub(crate) fn sees_column(&self, table: &Table, column: ColumnIndex) -> bool {
        let held = self.on_column(table, column).privileges;
        self.owns(table.id.0) || !held.within(ObjectClass::of_columns()).is_empty()
    }

    /// The same of what constrains a table: who may read it only does not see that.
    pub(crate) fn sees_constraints(&self, table: &Table) -> bool {
        let privileges = ObjectClass::Table.privileges().without(REQUESTS).without(Privilege::Select.into());
        self.owns(table.id.0) || self.has_any(table, Held { privileges, grantable: Privileges::NONE })
    }

    /// The same of a relation of the system.
    pub(crate) fn sees_system(&self, relation: &SystemRelation) -> bool {
        !self.on_system(relation).privileges.is_empty()
    }

    /// The same of a sequence.
    pub(crate) fn sees_sequence(&self, sequence: &Sequence) -> bool {
        self.owns(sequence.id.0) || !self.on_sequence(sequence).privileges.is_empty()
    }
}
