//! pg_roles and its kin: who there is, who is whose member, what their sessions and their objects begin with.

use super::{Rows, Source, array, assignments, flag, optional, text};
use crate::catalog::{Role, RoleAttributes, RoleId, StartScope};
use crate::system::access_list;
use repr::Datum;

/// What stands for a password, whether there is one or not.
const HIDDEN: &str = "********";

/// A role as catalog relations show it.
struct ShownRole<'a> {
    id: RoleId,
    name: String,
    created: Option<&'a Role>,
}

impl<'a> Source<'a> {
    fn shown_roles(&self) -> impl Iterator<Item = ShownRole<'a>> {
        let catalog = self.catalog;
        let shown =
            move |id| ShownRole { id, name: self.role_name(id), created: catalog.roles.get(&id).map(|role| &**role) };
        catalog.all_roles().filter(|role| self.actor.knows(catalog, *role)).map(shown)
    }

    /// Those that log in: the first, and those that are said to.
    fn logins(&self) -> impl Iterator<Item = ShownRole<'a>> {
        self.shown_roles().filter(ShownRole::can_login)
    }

    fn has(&self, role: RoleId, attribute: fn(&RoleAttributes) -> bool) -> Datum {
        flag(self.catalog.has_attribute(role, attribute))
    }

    /// What the role's sessions start with in every database.
    fn role_settings(&self, name: &str) -> Datum {
        let scope = StartScope { database: None, role: Some(name.to_owned()) };
        let found = self.catalog.start_settings.iter().find(|found| found.scope == scope);
        found.map_or(Datum::Null, |found| assignments(&found.values))
    }

    /// pg_roles and pg_authid. What a password is checked against stands in the second alone, which is not for everybody.
    pub(super) fn roles(&self, rows: &mut Rows) {
        let is_secret = rows.relation.is_secret();
        for role in self.shown_roles() {
            let verifier = role.created.and_then(|role| role.login.verifier.as_deref());
            rows.add(&[
                ("oid", Datum::Oid(role.id.0)),
                ("rolname", text(&role.name)),
                ("rolsuper", flag(false)),
                ("rolinherit", flag(role.created.is_none_or(|role| role.attributes.inherit))),
                ("rolcreaterole", self.has(role.id, |attributes| attributes.create_role)),
                ("rolcreatedb", self.has(role.id, |attributes| attributes.create_database)),
                ("rolcanlogin", flag(role.can_login())),
                ("rolreplication", flag(false)),
                ("rolconnlimit", Datum::Int4(role.created.map_or(-1, |role| role.login.connection_limit))),
                ("rolpassword", if is_secret { optional(verifier) } else { text(HIDDEN) }),
                ("rolvaliduntil", role.valid_until()),
                ("rolbypassrls", flag(false)),
                ("rolconfig", self.role_settings(&role.name)),
            ]);
        }
    }

    /// pg_user and pg_shadow.
    pub(super) fn users(&self, rows: &mut Rows) {
        for role in self.logins() {
            rows.add(&[
                ("usename", text(&role.name)),
                ("usesysid", Datum::Oid(role.id.0)),
                ("usecreatedb", self.has(role.id, |attributes| attributes.create_database)),
                ("usesuper", flag(false)),
                ("userepl", flag(false)),
                ("usebypassrls", flag(false)),
                ("passwd", text(HIDDEN)),
                ("valuntil", role.valid_until()),
                ("useconfig", self.role_settings(&role.name)),
            ]);
        }
    }

    /// pg_group: roles that nobody logs in as, with their members.
    pub(super) fn groups(&self, rows: &mut Rows) {
        for role in self.shown_roles().filter(|role| !role.can_login()) {
            let members = self.catalog.given_memberships().filter(|(of, ..)| *of == role.id);
            rows.add(&[
                ("groname", text(&role.name)),
                ("grosysid", Datum::Oid(role.id.0)),
                ("grolist", array(members.map(|(_, member, _)| Datum::Oid(member.0)).collect())),
            ]);
        }
    }

    /// pg_auth_members
    pub(super) fn memberships(&self, rows: &mut Rows) {
        let known = |role: RoleId| self.actor.knows(self.catalog, role);
        let all = self.catalog.given_memberships();
        for (role, member, how) in all.filter(|(role, member, _)| known(*role) && known(*member)) {
            rows.add(&[
                ("roleid", Datum::Oid(role.0)),
                ("member", Datum::Oid(member.0)),
                ("grantor", Datum::Oid(how.grantor.0)),
                ("admin_option", flag(how.admin)),
            ]);
        }
    }

    /// pg_db_role_setting
    pub(super) fn start_settings(&self, rows: &mut Rows) {
        for found in &self.catalog.start_settings {
            let role = match &found.scope.role {
                None => 0,
                Some(name) => match self.actor.find(self.catalog, name) {
                    Some(role) => role.0,
                    // A login without a role of its own, which no other session can name.
                    None => continue,
                },
            };
            rows.add(&[
                ("setdatabase", Datum::Oid(found.scope.database.map_or(0, |database| database.0))),
                ("setrole", Datum::Oid(role)),
                ("setconfig", assignments(&found.values)),
            ]);
        }
    }

    /// pg_default_acl
    pub(super) fn default_privileges(&self, rows: &mut Rows) {
        for found in &self.catalog.rights.defaults {
            rows.add(&[
                ("oid", Datum::Oid(found.id)),
                ("defaclrole", Datum::Oid(found.role.0)),
                ("defaclnamespace", Datum::Oid(found.namespace.map_or(0, |namespace| namespace.0))),
                ("defaclobjtype", text(found.class.letter())),
                ("defaclacl", array(access_list::entries(&found.acl, &|role| self.called(role)))),
            ]);
        }
    }
}

impl ShownRole<'_> {
    fn can_login(&self) -> bool {
        self.id == RoleId::FIRST || self.created.is_some_and(|role| role.attributes.can_login)
    }

    fn valid_until(&self) -> Datum {
        let until = self.created.and_then(|role| role.login.valid_until);
        until.map_or(Datum::Null, Datum::Timestamptz)
    }
}
