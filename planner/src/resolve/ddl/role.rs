//! Roles: made, changed, dropped, and put into one another.

use super::change::DefinitionChange;
use crate::catalog::{LoginTerms, Membership, PREDEFINED, Role, RoleAttributes, RoleId, RoleKind, StartSettings};
use crate::error::PlanError;
use crate::parse::rights::{AlterRole, CreateRole, GrantRoles, RoleName, RoleOption, RoleOptionKind};
use crate::parse::statement::{DropBehavior, Identifier};
use repr::ScalarType;
use repr::text::TextContext;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a verifier begins.
pub const SCRAM: &str = "SCRAM-SHA-256$";

/// 0A000 for a password that was hashed in another way.
pub fn other_hash() -> PlanError {
    PlanError::unsupported("a password that is no SCRAM-SHA-256 verifier")
        .hint("give it in clear, or as SCRAM-SHA-256$iterations:salt$stored key:server key")
}

impl DefinitionChange<'_> {
    /// The role that is meant: 42704 if there is none.
    pub(super) fn role(&self, name: &RoleName) -> Result<RoleId, PlanError> {
        match name {
            RoleName::CurrentUser => Ok(self.path.actor().role),
            RoleName::SessionUser => Ok(self.path.actor().login),
            RoleName::Named(name) => self.role_named(name),
            RoleName::Public(position) => Err(no_role("public").at(Some(*position))),
        }
    }

    pub(super) fn role_named(&self, name: &Identifier) -> Result<RoleId, PlanError> {
        let found = self.path.actor().find(&self.catalog, &name.name);
        found.ok_or_else(|| no_role(&name.name).at(Some(name.position)))
    }

    /// What messages call a role.
    pub(super) fn role_called(&self, role: RoleId) -> String {
        let name = self.path.actor().name_of(&self.catalog, role);
        name.map_or_else(|| role.0.to_string(), std::borrow::Cow::into_owned)
    }

    pub(super) fn may_make_roles(&self) -> bool {
        self.catalog.has_attribute(self.path.actor().role, |role| role.create_role)
    }

    pub(super) fn create_role(&mut self, create: &CreateRole) -> Result<&'static str, PlanError> {
        let name = &create.name.name;
        if !self.may_make_roles() {
            return Err(PlanError::new("42501", "permission denied to create role"));
        }
        self.require_free_role(name)?;
        let id = RoleId(self.next_id());
        let attributes = RoleAttributes { inherit: true, create_role: false, create_database: false, can_login: false };
        let (member_of, login) = (BTreeMap::new(), LoginTerms::default());
        let role = Role { name: name.clone(), attributes, member_of, login, person: None };
        self.catalog.roles.insert(id, Arc::new(role));
        self.apply_options(id, &create.options)?;
        self.require_person_alone(id)?;
        Ok("CREATE ROLE")
    }

    pub(super) fn alter_role(&mut self, alter: &AlterRole) -> Result<&'static str, PlanError> {
        let id = self.role(&alter.role)?;
        let actor = self.path.actor();
        // Everybody may change their own password.
        let own_password =
            id == actor.role && alter.options.iter().all(|option| matches!(option.kind, RoleOptionKind::Password(_)));
        if !own_password && !self.may_make_roles() || self.outranks(id) {
            return Err(PlanError::new("42501", "permission denied"));
        }
        if id == RoleId::FIRST {
            return self.alter_first(&alter.options);
        }
        self.require_created(id, "changed")?;
        self.apply_options(id, &alter.options)?;
        self.require_person_alone(id)?;
        Ok("ALTER ROLE")
    }

    /// 0LP01 for a person's own login that would be of another kind, too, or make roles and databases.
    fn require_person_alone(&self, id: RoleId) -> Result<(), PlanError> {
        let Some(role) = self.catalog.roles.get(&id).filter(|role| role.person.is_some()) else { return Ok(()) };
        let all = self.catalog.memberships(id);
        let kind = PREDEFINED.iter().find(|(_, kind)| *kind != RoleKind::Subject.role() && all.contains(kind));
        let (called, makes) = (self.role_called(id), role.attributes.create_role || role.attributes.create_database);
        let message = match kind {
            Some((kind, _)) => format!("role \"{called}\" is a person's own login and cannot be in role \"{kind}\""),
            None if makes => format!("role \"{called}\" is a person's own login and makes neither roles nor databases"),
            None => return Ok(()),
        };
        Err(PlanError::new("0LP01", message).hint("Make another role for what is not that person's."))
    }

    /// The first role keeps its rights; its login may have another password, an end and a limit.
    fn alter_first(&mut self, options: &[RoleOption]) -> Result<&'static str, PlanError> {
        let mut terms = self.catalog.first_login.clone().unwrap_or_default();
        for option in options {
            match &option.kind {
                RoleOptionKind::Password(None) => {
                    return Err(PlanError::new("0A000", "the first role cannot be without a password"));
                }
                RoleOptionKind::Password(_) | RoleOptionKind::ValidUntil(_) | RoleOptionKind::ConnectionLimit(_) => {
                    set_terms(&mut terms, &option.kind).map_err(|error| error.at(Some(option.position)))?;
                }
                _ => return self.require_created(RoleId::FIRST, "changed in this way").map(|()| "ALTER ROLE"),
            }
        }
        self.catalog.first_login = Some(terms);
        Ok("ALTER ROLE")
    }

    /// Whether a role may do what the acting one may not: it is not for that to change or to give away.
    pub(super) fn outranks(&self, role: RoleId) -> bool {
        let actor = self.path.actor().role;
        if self.catalog.is_controller(actor) {
            return false;
        }
        // Whoever makes roles gets at no rows by way of another's password, or as its member.
        let sees_rows = || {
            let all = self.catalog.memberships(role);
            self.catalog.person_of(role).is_some()
                || all.contains(&RoleId::READ_ALL_DATA)
                || all.contains(&RoleId::WRITE_ALL_DATA)
                || all.iter().any(|role| self.table_of_role(*role).is_some())
        };
        self.catalog.is_controller(role) || !self.catalog.memberships(actor).contains(&role) && sees_rows()
    }

    fn require_created(&self, role: RoleId, done: &str) -> Result<(), PlanError> {
        if self.catalog.roles.contains_key(&role) {
            return Ok(());
        }
        let name = self.role_called(role);
        Err(PlanError::new("0A000", format!("role \"{name}\" cannot be {done}"))
            .detail("It is there without having been created."))
    }

    fn require_free_role(&self, name: &str) -> Result<(), PlanError> {
        if ["pg_", "dogwood_"].iter().any(|prefix| name.starts_with(prefix)) || name == "none" {
            let error = PlanError::new("42939", format!("role name \"{name}\" is reserved"));
            return Err(match name {
                "none" => error,
                _ => error.detail("Role names starting with \"pg_\" and \"dogwood_\" are reserved."),
            });
        }
        match self.path.actor().find(&self.catalog, name).or_else(|| self.catalog.role_by_name(name)) {
            Some(_) => Err(PlanError::new("42710", format!("role \"{name}\" already exists"))),
            None => Ok(()),
        }
    }

    fn apply_options(&mut self, id: RoleId, options: &[RoleOption]) -> Result<(), PlanError> {
        for option in options {
            self.apply_option(id, &option.kind).map_err(|error| {
                let position = error.position.or(Some(option.position));
                error.at(position)
            })?;
        }
        Ok(())
    }

    fn apply_option(&mut self, id: RoleId, option: &RoleOptionKind) -> Result<(), PlanError> {
        match option {
            RoleOptionKind::InRole(roles) => {
                for role in roles {
                    let role = self.role(role)?;
                    self.require_admin(role)?;
                    self.join(role, id, false)?;
                }
            }
            RoleOptionKind::Members(members) | RoleOptionKind::Administrators(members) => {
                let admin = matches!(option, RoleOptionKind::Administrators(_));
                for member in members {
                    self.join(id, self.role(member)?, admin)?;
                }
            }
            RoleOptionKind::Superuser(true) | RoleOptionKind::BypassPolicies(true) => {
                return Err(PlanError::unsupported("a role that rights and policies do not bind")
                    .hint("Members of dogwood_controller have all rights; nobody is without them."));
            }
            RoleOptionKind::Replication(true) => return Err(PlanError::unsupported("REPLICATION of a role")),
            RoleOptionKind::Superuser(false)
            | RoleOptionKind::BypassPolicies(false)
            | RoleOptionKind::Replication(false)
            | RoleOptionKind::SystemId => {}
            RoleOptionKind::CreateDatabase(on) => self.edit_role(id)?.attributes.create_database = *on,
            RoleOptionKind::CreateRole(on) => self.edit_role(id)?.attributes.create_role = *on,
            RoleOptionKind::Inherit(on) => self.edit_role(id)?.attributes.inherit = *on,
            RoleOptionKind::Login(on) => self.edit_role(id)?.attributes.can_login = *on,
            RoleOptionKind::For(_) => {
                return Err(PlanError::new("XX000", "a person's login was not looked up"));
            }
            RoleOptionKind::Person(person) => self.edit_role(id)?.person = Some(person.clone()),
            RoleOptionKind::ConnectionLimit(_) | RoleOptionKind::ValidUntil(_) | RoleOptionKind::Password(_) => {
                set_terms(&mut self.edit_role(id)?.login, option)?;
            }
        }
        Ok(())
    }

    fn edit_role(&mut self, id: RoleId) -> Result<&mut Role, PlanError> {
        let role = self.catalog.roles.get_mut(&id).map(Arc::make_mut);
        role.ok_or_else(|| PlanError::new("42704", "the role is gone"))
    }

    pub(super) fn rename_role(&mut self, name: &Identifier, new: &Identifier) -> Result<&'static str, PlanError> {
        let id = self.role_named(name)?;
        let actor = self.path.actor().clone();
        if !self.may_make_roles() || self.outranks(id) {
            return Err(PlanError::new("42501", "permission denied to rename role"));
        }
        if id == actor.login || id == actor.role {
            let whose = if id == actor.login { "session" } else { "current" };
            return Err(PlanError::new("0A000", format!("{whose} user cannot be renamed")));
        }
        self.require_created(id, "renamed")?;
        self.require_free_role(&new.name)?;
        self.edit_role(id)?.name.clone_from(&new.name);
        for StartSettings { scope, .. } in &mut self.catalog.start_settings {
            if scope.role.as_ref() == Some(&name.name) {
                scope.role = Some(new.name.clone());
            }
        }
        Ok("ALTER ROLE")
    }

    pub(super) fn drop_roles(&mut self, if_exists: bool, roles: &[RoleName]) -> Result<&'static str, PlanError> {
        if !self.may_make_roles() {
            return Err(PlanError::new("42501", "permission denied to drop role"));
        }
        for role in roles {
            let RoleName::Named(name) = role else {
                return Err(PlanError::new("22023", "cannot use special role specifier in DROP ROLE"));
            };
            let Some(id) = self.path.actor().find(&self.catalog, &name.name) else {
                if !if_exists {
                    return Err(no_role(&name.name));
                }
                self.notice("00000", format!("role \"{}\" does not exist, skipping", name.name));
                continue;
            };
            self.drop_role(id)?;
        }
        Ok("DROP ROLE")
    }

    fn drop_role(&mut self, id: RoleId) -> Result<(), PlanError> {
        let actor = self.path.actor();
        if id == actor.role || id == actor.login {
            let whose = if id == actor.role { "current" } else { "session" };
            return Err(PlanError::new("55006", format!("{whose} user cannot be dropped")));
        }
        let name = self.role_called(id);
        if !self.catalog.roles.contains_key(&id) {
            let message = format!("cannot drop role {name} because it is required by the database system");
            return Err(PlanError::new("2BP01", message));
        }
        if self.outranks(id) {
            return Err(PlanError::new("42501", "permission denied to drop role"));
        }
        let dependents = self.dependents_of_role(id);
        if !dependents.is_empty() {
            return Err(PlanError::new(
                "2BP01",
                format!("role \"{name}\" cannot be dropped because some objects depend on it"),
            )
            .detail(dependents.join("\n")));
        }
        self.catalog.roles.remove(&id);
        for role in self.catalog.roles.values_mut().filter(|role| role.member_of.contains_key(&id)) {
            Arc::make_mut(role).member_of.remove(&id);
        }
        self.catalog.start_settings.retain(|found| found.scope.role.as_ref() != Some(&name));
        self.catalog.comments.remove(&id.0);
        Ok(())
    }

    /// GRANT and REVOKE of roles.
    pub(super) fn grant_roles(&mut self, grant: &GrantRoles) -> Result<&'static str, PlanError> {
        if let Some(grantor) = &grant.grantor
            && self.role(grantor)? != self.path.actor().role
        {
            return Err(PlanError::new("0A000", "grantor must be current user"));
        }
        for role in &grant.roles {
            let role = self.role_named(role)?;
            self.require_admin(role)?;
            for member in &grant.members {
                let member = self.role(member)?;
                match grant.grants {
                    true => self.join(role, member, grant.admin)?,
                    false => self.leave(role, member, grant)?,
                }
            }
        }
        Ok(if grant.grants { "GRANT ROLE" } else { "REVOKE ROLE" })
    }

    fn require_admin(&self, role: RoleId) -> Result<(), PlanError> {
        let actor = self.path.actor().role;
        // Whoever makes roles gives them, but for those that see rows or rule.
        let gives = self.may_make_roles() && !PREDEFINED.iter().any(|(_, id)| *id == role) && !self.outranks(role);
        if gives || self.catalog.administers(actor, role) {
            return Ok(());
        }
        let name = self.role_called(role);
        Err(PlanError::new("42501", format!("must have admin option on role \"{name}\"")))
    }

    /// Makes one role a member of another.
    fn join(&mut self, role: RoleId, member: RoleId, admin: bool) -> Result<(), PlanError> {
        let (called, member_called) = (self.role_called(role), self.role_called(member));
        if role == RoleId::DATABASE_OWNER || role == RoleKind::Subject.role() {
            return Err(PlanError::new("0LP01", format!("role \"{called}\" cannot have explicit members")));
        }
        if self.catalog.memberships(role).contains(&member) {
            return Err(PlanError::new("0LP01", format!("role \"{called}\" is a member of role \"{member_called}\"")));
        }
        self.require_created(member, "made a member")?;
        self.require_without_rows(role, member)?;
        let membership = Membership { admin, grantor: self.path.actor().role };
        let known = self.edit_role(member)?.member_of.get(&role).copied();
        if known.is_some_and(|known| known.admin || !admin) {
            self.notice("00000", format!("role \"{member_called}\" is already a member of role \"{called}\""));
            return Ok(());
        }
        self.edit_role(member)?.member_of.insert(role, membership);
        let all = self.catalog.memberships(role);
        let reads_rows = || {
            [RoleId::READ_ALL_DATA, RoleId::WRITE_ALL_DATA].iter().any(|kind| all.contains(kind))
                || all.iter().any(|role| self.table_of_role(*role).is_some())
        };
        if let Some(kind) = self.catalog.kind_without_rows(member).filter(|_| reads_rows()) {
            let kind = kind.name();
            self.notice("01007", format!("role \"{member_called}\" is a {kind}: rows of tables stay kept from it, whatever role \"{called}\" may do"));
        }
        if PREDEFINED.iter().any(|(_, kind)| all.contains(kind)) {
            let becomes = self.catalog.roles.keys().filter(|id| self.catalog.memberships(**id).contains(&member));
            becomes.copied().try_for_each(|id| self.require_person_alone(id))?;
        }
        Ok(())
    }

    /// 0LP01 where a role that has rows would become one that has none.
    fn require_without_rows(&self, role: RoleId, member: RoleId) -> Result<(), PlanError> {
        let Some(kind) = self.catalog.kind_without_rows(role) else { return Ok(()) };
        let becomes = self.catalog.roles.keys().filter(|id| self.catalog.memberships(**id).contains(&member));
        for id in becomes {
            if let Some(table) = self.table_of_role(*id) {
                let (name, kind) = (self.role_called(*id), kind.name());
                return Err(PlanError::new("0LP01", format!("role \"{name}\" cannot become a {kind}"))
                    .detail(format!("It owns or may read or write table \"{table}\"; a {kind} sees no rows."))
                    .hint("Revoke that first."));
            }
        }
        Ok(())
    }

    /// A table that a role owns, or on which something was granted to it.
    fn table_of_role(&self, role: RoleId) -> Option<String> {
        let rights = &self.catalog.rights;
        let granted = |acl: &crate::catalog::Acl| acl.items.iter().any(|item| item.grantee == Some(role));
        let has = |table: &&Arc<crate::catalog::Table>| {
            rights.owners.get(&table.id.0) == Some(&role)
                || rights.acls.get(&table.id.0).is_some_and(granted)
                || rights.columns.get(&table.id).is_some_and(|columns| columns.values().any(granted))
        };
        self.catalog.relations.values().find(has).map(|table| table.name.clone())
    }

    fn leave(&mut self, role: RoleId, member: RoleId, grant: &GrantRoles) -> Result<(), PlanError> {
        let (called, member_called) = (self.role_called(role), self.role_called(member));
        let is_member = self.catalog.roles.get(&member).is_some_and(|found| found.member_of.contains_key(&role));
        if !is_member {
            let message = format!("role \"{member_called}\" is not a member of role \"{called}\"");
            self.notice("01000", message);
            return Ok(());
        }
        let found = self.edit_role(member)?;
        match grant.admin {
            true => {
                if let Some(membership) = found.member_of.get_mut(&role) {
                    membership.admin = false;
                }
            }
            false => drop(found.member_of.remove(&role)),
        }
        Ok(())
    }

    /// The login of a person who was forgotten goes, with what was granted to it.
    pub(super) fn end_logins(&mut self, microdb: [u8; 16]) -> &'static str {
        let is = |role: &Role| role.person.as_ref().is_some_and(|person| person.microdb == microdb);
        let gone: Vec<RoleId> = self.catalog.roles.iter().filter(|(_, role)| is(role)).map(|(id, _)| *id).collect();
        for id in gone {
            let name = self.role_called(id);
            self.catalog.forget_role(id);
            let first: Vec<repr::Id> = {
                let owned = self.catalog.rights.owners.iter().filter(|(_, owner)| **owner == id);
                owned.map(|(object, _)| *object).collect()
            };
            for object in first {
                self.catalog.rights_mut().change_owner(object, id, RoleId::FIRST);
            }
            self.catalog.roles.remove(&id);
            for role in self.catalog.roles.values_mut().filter(|role| role.member_of.contains_key(&id)) {
                Arc::make_mut(role).member_of.remove(&id);
            }
            self.catalog.start_settings.retain(|found| found.scope.role.as_ref() != Some(&name));
            self.catalog.comments.remove(&id.0);
        }
        "DROP ROLE"
    }

    /// What keeps a role from being dropped, as PostgreSQL lists it.
    fn dependents_of_role(&self, role: RoleId) -> Vec<String> {
        let rights = &self.catalog.rights;
        let mut dependents = Vec::new();
        for (id, noun, name) in self.named_objects() {
            if rights.owners.get(&id) == Some(&role) {
                dependents.push(format!("owner of {noun} {name}"));
            } else if rights.acls.get(&id).is_some_and(|acl| acl.names(role)) {
                dependents.push(format!("privileges for {noun} {name}"));
            }
            let columns = rights.columns.get(&repr::RelationId(id)).into_iter().flatten();
            for (column, _) in columns.filter(|(_, acl)| acl.names(role)) {
                let table = self.get(repr::RelationId(id));
                dependents.push(format!("privileges for column {} of table {name}", table.columns[*column].name));
            }
        }
        let policies =
            rights.row_security.iter().flat_map(|(table, found)| found.policies.iter().map(move |p| (table, p)));
        for (table, policy) in policies.filter(|(_, policy)| policy.roles.contains(&Some(role))) {
            dependents.push(format!("target of policy {} on table {}", policy.name, self.get(*table).name));
        }
        for found in rights.defaults.iter().filter(|found| found.role == role || found.acl.names(role)) {
            let maker = self.role_called(found.role);
            dependents.push(format!("default privileges on new {}s belonging to role {maker}", found.class.noun()));
        }
        dependents
    }

    /// REASSIGN OWNED BY … TO
    pub(super) fn reassign_owned(&mut self, from: &[RoleName], to: &RoleName) -> Result<&'static str, PlanError> {
        let to = self.role(to)?;
        let from: Vec<RoleId> = from.iter().map(|name| self.role(name)).collect::<Result<_, _>>()?;
        for role in from.iter().chain([&to]) {
            if !self.catalog.is_member(self.path.actor().role, *role) {
                let message =
                    format!("permission denied to reassign objects owned by role \"{}\"", self.role_called(*role));
                return Err(PlanError::new("42501", "permission denied to reassign objects").detail(message));
            }
        }
        let home = self.path.home();
        let owners = self.catalog.rights.owners.iter().map(|(id, owner)| (*id, *owner));
        let owned: Vec<_> =
            owners.filter(|(id, owner)| from.contains(owner) && self.catalog.is_of_database(*id, home)).collect();
        for (id, owner) in owned {
            self.require_role_with_rows(to)?;
            self.catalog.rights_mut().change_owner(id, owner, to);
        }
        Ok("REASSIGN OWNED")
    }

    /// DROP OWNED BY
    pub(super) fn drop_owned(&mut self, roles: &[RoleName], behavior: DropBehavior) -> Result<&'static str, PlanError> {
        for role in roles {
            let role = self.role(role)?;
            if !self.catalog.is_member(self.path.actor().role, role) {
                return Err(PlanError::new("42501", "permission denied to drop objects"));
            }
            if !self.catalog.roles.contains_key(&role) {
                let message = format!(
                    "cannot drop objects owned by role {} because they are required by the database system",
                    self.role_called(role)
                );
                return Err(PlanError::new("2BP01", message));
            }
            self.drop_all_of(role, behavior == DropBehavior::Cascade)?;
            self.catalog.forget_role(role);
        }
        Ok("DROP OWNED")
    }
}

/// Limits, ends and passwords.
fn set_terms(terms: &mut LoginTerms, option: &RoleOptionKind) -> Result<(), PlanError> {
    match option {
        RoleOptionKind::ConnectionLimit(limit) => {
            let within = i32::try_from(*limit).ok().filter(|limit| *limit >= -1);
            let invalid = || PlanError::new("22023", format!("invalid connection limit: {limit}"));
            terms.connection_limit = within.ok_or_else(invalid)?;
        }
        RoleOptionKind::ValidUntil(text) => {
            let parsed = repr::text::parse(&ScalarType::Timestamptz, -1, text, &TextContext::default())?;
            let repr::Datum::Timestamptz(until) = parsed else {
                return Err(PlanError::new("22007", format!("invalid time \"{text}\"")));
            };
            terms.valid_until = (until != i64::MAX).then_some(until);
        }
        RoleOptionKind::Password(password) => {
            if password.as_ref().is_some_and(|verifier| !verifier.starts_with(SCRAM)) {
                return Err(other_hash());
            }
            terms.verifier.clone_from(password);
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn no_role(name: &str) -> PlanError {
    PlanError::new("42704", format!("role \"{name}\" does not exist"))
}

/// 0LP01 for rights to rows of a role that has none.
pub(super) fn kept_from(name: &str, kind: RoleKind) -> PlanError {
    let kind = kind.name();
    PlanError::new("0LP01", format!("role \"{name}\" is a {kind} and may hold no privileges on tables"))
        .hint(format!("Rows of tables are kept from a {kind}; give them to another role."))
}
