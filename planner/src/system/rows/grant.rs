//! What was granted to whom, as information_schema shows it; and pg_init_privs, what the system's own has from the beginning.
//!
//! Whoever asks sees what their roles have given or been given, and what everybody has.

use super::object::PG_CLASS;
use super::{Datum, PG_CATALOG, Rows, Source, text};
use crate::catalog::{Acl, ObjectClass, Privilege, Privileges, RoleId, Table};
use crate::scalar::collation;
use crate::system::asker::Asker;
use crate::system::schemas::{DOGWOOD, INFORMATION_SCHEMA};
use crate::system::{access_list, relations};
use repr::Id;

/// OID of the relation pg_namespace.
const PG_NAMESPACE: Id = 2615;

/// One privilege that was given.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Given {
    grantor: RoleId,
    grantee: Option<RoleId>,
    privilege: Privilege,
    grantable: bool,
}

fn given(acl: &Acl, of: Privileges) -> impl Iterator<Item = Given> {
    acl.items.iter().flat_map(move |item| {
        item.privileges.within(of).iter().map(|privilege| Given {
            grantor: item.grantor,
            grantee: item.grantee,
            privilege,
            grantable: item.grantable.has(privilege),
        })
    })
}

/// A relation that has privileges: what columns call it.
struct GrantPlace<'a> {
    schema: &'a str,
    name: &'a str,
    owner: RoleId,
}

fn yes(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

impl<'a> Source<'a> {
    /// The views of information_schema about roles and privileges.
    pub(super) fn information_privileges(&self, view: &str, rows: &mut Rows) {
        match view {
            "enabled_roles" => self.enabled_roles(rows),
            "applicable_roles" => self.applicable_roles(false, rows),
            "administrable_role_authorizations" => self.applicable_roles(true, rows),
            "table_privileges" | "role_table_grants" => self.table_privileges(rows),
            "column_privileges" | "role_column_grants" => self.column_privileges(rows),
            "usage_privileges" | "role_usage_grants" => self.usage_privileges(rows),
            _ => {}
        }
    }

    fn enabled_roles(&self, rows: &mut Rows) {
        let asker = self.asker();
        for role in self.catalog.all_roles().filter(|role| asker.has_privileges_of(*role)) {
            rows.add(&[("role_name", text(&self.role_name(role)))]);
        }
    }

    fn applicable_roles(&self, with_option: bool, rows: &mut Rows) {
        let asker = self.asker();
        let owner = self.catalog.owner(self.environment.database_id().0);
        let by_owning = std::iter::once((RoleId::DATABASE_OWNER, owner, false));
        let given = self.catalog.given_memberships().map(|(role, member, how)| (role, member, how.admin));
        for (role, member, admin) in given.chain(by_owning) {
            if asker.has_privileges_of(member) && (admin || !with_option) {
                rows.add(&[
                    ("grantee", text(&self.role_name(member))),
                    ("role_name", text(&self.role_name(role))),
                    ("is_grantable", yes(admin)),
                ]);
            }
        }
    }

    /// Whether the view at hand shows it to whoever asks: those of roles leave out what is everybody's alone.
    fn is_shown(&self, asker: &Asker<'_>, given: Given, rows: &Rows) -> bool {
        let of_roles = rows.relation.name.starts_with("role_");
        let to_all = || given.grantee.map_or(!of_roles, |grantee| asker.has_privileges_of(grantee));
        asker.has_privileges_of(given.grantor) || to_all()
    }

    fn may_grant(&self, given: Given, owner: RoleId) -> bool {
        let home = self.environment.database_id();
        let as_owner = |grantee| Asker::new(self.catalog, grantee, home).has_privileges_of(owner);
        given.grantable || given.grantee.is_some_and(as_owner)
    }

    fn grant(&self, given: Given, place: &GrantPlace<'_>, more: &[(&'static str, Datum)], rows: &mut Rows) {
        let database = self.environment.database();
        let grantee = given.grantee.map_or_else(|| "PUBLIC".to_owned(), |grantee| self.role_name(grantee));
        let mut row = vec![
            ("grantor", text(&self.role_name(given.grantor))),
            ("grantee", text(&grantee)),
            ("table_catalog", text(&database)),
            ("table_schema", text(place.schema)),
            ("table_name", text(place.name)),
            ("object_catalog", text(&database)),
            ("object_schema", text(place.schema)),
            ("object_name", text(place.name)),
            ("privilege_type", text(given.privilege.name())),
            ("is_grantable", yes(self.may_grant(given, place.owner))),
            ("with_hierarchy", yes(given.privilege == Privilege::Select)),
        ];
        row.extend(more.iter().cloned());
        rows.add(&row);
    }

    fn place(&self, table: &'a Table) -> GrantPlace<'a> {
        let schema = self.catalog.namespace_name(table.namespace).unwrap_or_default();
        GrantPlace { schema, name: &table.name, owner: self.catalog.owner(table.id.0) }
    }

    /// Tables and views; materialized ones are no part of the standard.
    fn tables_with_privileges(&self) -> impl Iterator<Item = &'a Table> {
        self.catalog.relations.values().map(|table| &**table).filter(|table| !table.is_maintained())
    }

    fn table_privileges(&self, rows: &mut Rows) {
        let asker = self.asker();
        for relation in relations() {
            let place = GrantPlace { schema: relation.schema, name: relation.name, owner: RoleId::FIRST };
            let acl = access_list::of_system(relation);
            for given in given(&acl, ObjectClass::Table.privileges()) {
                if self.is_shown(&asker, given, rows) {
                    self.grant(given, &place, &[], rows);
                }
            }
        }
        for table in self.tables_with_privileges() {
            let acl = self.catalog.acl(ObjectClass::Table, table.id.0);
            for given in given(&acl, table.privileges()) {
                if self.is_shown(&asker, given, rows) {
                    self.grant(given, &self.place(table), &[], rows);
                }
            }
        }
    }

    /// What may be done with a column by the whole relation, and what by itself, each once.
    fn column_privileges(&self, rows: &mut Rows) {
        let asker = self.asker();
        let of = ObjectClass::of_columns();
        for relation in relations() {
            let place = GrantPlace { schema: relation.schema, name: relation.name, owner: RoleId::FIRST };
            let acl = access_list::of_system(relation);
            for column in &relation.columns {
                for given in given(&acl, of) {
                    if self.is_shown(&asker, given, rows) {
                        self.grant(given, &place, &[("column_name", text(column.name))], rows);
                    }
                }
            }
        }
        for table in self.tables_with_privileges() {
            let place = self.place(table);
            let acl = self.catalog.acl(ObjectClass::Table, table.id.0);
            let of_columns = self.catalog.rights.columns.get(&table.id);
            for (index, column) in table.live_columns() {
                let mut all: Vec<Given> = given(&acl, of).collect();
                let own = of_columns.and_then(|columns| columns.get(&index));
                for given in own.into_iter().flat_map(|acl| given(acl, of)) {
                    let may_grant = |given| self.may_grant(given, place.owner);
                    let same = |other: &Given| {
                        Given { grantable: given.grantable, ..*other } == given && may_grant(*other) == may_grant(given)
                    };
                    if !all.iter().any(same) {
                        all.push(given);
                    }
                }
                for given in all {
                    if self.is_shown(&asker, given, rows) {
                        self.grant(given, &place, &[("column_name", text(&column.name))], rows);
                    }
                }
            }
        }
    }

    /// Collations, which are everybody's, and sequences on which something was granted.
    fn usage_privileges(&self, rows: &mut Rows) {
        let asker = self.asker();
        let of_all = Given { grantor: RoleId::FIRST, grantee: None, privilege: Privilege::Usage, grantable: false };
        let of_roles = rows.relation.name.starts_with("role_");
        if !of_roles || self.is_shown(&asker, of_all, rows) {
            for (_, known) in collation::all() {
                let place = GrantPlace { schema: "pg_catalog", name: &known.name, owner: RoleId::FIRST };
                self.grant(of_all, &place, &[("object_type", text("COLLATION"))], rows);
            }
        }
        for sequence in self.catalog.sequences.values() {
            let Some(acl) = self.catalog.rights.acls.get(&sequence.id.0) else { continue };
            let schema = self.catalog.namespace_name(sequence.namespace).unwrap_or_default();
            let place = GrantPlace { schema, name: &sequence.name, owner: self.catalog.owner(sequence.id.0) };
            for given in given(acl, Privilege::Usage.into()) {
                if self.is_shown(&asker, given, rows) {
                    self.grant(given, &place, &[("object_type", text("SEQUENCE"))], rows);
                }
            }
        }
    }

    /// pg_init_privs: pg_dump leaves out what is still as it was at first.
    pub(super) fn first_privileges(&self, rows: &mut Rows) {
        let mut add = |class: Id, object: Id, is_ours: bool, acl: Datum| {
            rows.add(&[
                ("objoid", Datum::Oid(object)),
                ("classoid", Datum::Oid(class)),
                ("privtype", text(if is_ours { "e" } else { "i" })),
                ("initprivs", acl),
            ]);
        };
        // Those of information_schema are in a schema that is never dumped.
        for relation in relations().iter().filter(|relation| relation.schema != "information_schema") {
            let acl = self.written(&access_list::of_system(relation));
            add(PG_CLASS, relation.id.0, relation.schema == "dogwood", acl);
        }
        for schema in [PG_CATALOG, INFORMATION_SCHEMA, DOGWOOD] {
            add(PG_NAMESPACE, schema, schema == DOGWOOD, self.schema_acl(schema));
        }
    }
}
