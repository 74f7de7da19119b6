//! As whom a session acts, and what that role may run.
//!
//! Who has logged in never changes; `SET SESSION AUTHORIZATION` and `SET ROLE` say for whom the session acts from then on. What a
//! statement needs its plan says; whether the role has it is asked before each statement runs, whatever its way.

use crate::password;
use crate::session::Session;
use crate::session::permit::Permit;
use crate::session::plan::CachedPlan;
use planner::catalog::{Actor, Catalog, ObjectClass, Privilege, RoleId, Table};
use planner::parse::Statement;
use planner::parse::rights::{RightsStatement, RoleOption, RoleOptionKind};
use planner::parse::statement::ObjectName;
use repr::RelationId;
use state::SqlError;
use std::sync::Arc;

impl Session {
    /// As whom the session acts.
    pub(super) fn actor(&self, catalog: &Arc<Catalog>) -> Actor {
        self.search_path(catalog).actor().clone()
    }

    /// 42501 if the acting role has not what the statement needs.
    pub(super) fn permitted(&self, cached: &CachedPlan) -> Result<(), SqlError> {
        if !self.state.lock().everyday().row_security {
            cached.permission.needs.check_unbound()?;
        }
        if cached.permission.needs.is_empty() {
            return Ok(());
        }
        let seen = self.seen();
        let role = seen.path.actor().role;
        if cached.permission.is_given_to(role, &seen.catalog) {
            return Ok(());
        }
        cached.permission.needs.check(&seen.catalog, role, self.client.database_id)?;
        cached.permission.give(role, &seen.catalog);
        Ok(())
    }

    /// A violated constraint, or a row without an owner, as it is told to whoever may not read the table: that it is so, and no more.
    pub(super) fn without_rows(&self, error: SqlError) -> SqlError {
        let tells = || (error.code.starts_with("23") || error.code == "DG001") && error.detail.is_some();
        let Some(name) = error.object.table.as_ref().filter(|_| tells()) else {
            return error;
        };
        let catalog = self.catalog();
        let (role, home) = (self.actor(&catalog).role, self.client.database_id);
        if role == RoleId::FIRST {
            return error;
        }
        let may_read = |table: &Arc<Table>| {
            catalog.privileges(role, ObjectClass::Table, table.id.0, home).has(Privilege::Select)
                && catalog.binding_policies(role, table.id, home).is_none()
                && catalog.person_of(role).is_none()
        };
        let mut named = catalog.relations.values().filter(|table| table.name == *name);
        if named.all(may_read) { error } else { SqlError { detail: None, ..error } }
    }

    /// For a subscription that was permitted.
    pub(super) fn permit(&self, cached: &CachedPlan) -> Permit {
        let catalog = self.catalog();
        let actor = self.actor(&catalog);
        let (role, declared) = (actor.role, actor.purpose.as_deref());
        let purpose = declared.and_then(|purpose| catalog.rights.purposes.get(purpose));
        let by_consent = purpose.is_some_and(|purpose| purpose.by_consent);
        Permit {
            database: self.database.clone(),
            needs: cached.permission.needs.clone(),
            role,
            home: self.client.database_id,
            person: catalog.person_of(role).cloned(),
            catalog,
            of_role: cached.made_for.role.is_some(),
            by_consent,
        }
    }

    /// 42501 for a role that neither owns a relation nor is a controller.
    pub(super) fn require_ownership(&self, name: &ObjectName) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let actor = self.actor(&catalog);
        let Ok(Some(table)) = self.table_named(&catalog, name) else { return Ok(()) };
        match catalog.owns(actor.role, table.id.0, self.client.database_id) {
            true => Ok(()),
            false => Err(SqlError::new("42501", format!("must be owner of {} {}", table.kind(), table.name))),
        }
    }

    /// 42501 for a role without any of these privileges on a table.
    pub(super) fn require_any(&self, table: RelationId, any: &[Privilege]) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let actor = self.actor(&catalog);
        let held = catalog.privileges(actor.role, ObjectClass::Table, table.0, self.client.database_id);
        if any.iter().any(|privilege| held.has(*privilege)) {
            return Ok(());
        }
        let (kind, name) = catalog.table(table).map_or(("table", ""), |table| (table.kind(), table.name.as_str()));
        Err(SqlError::new("42501", format!("permission denied for {kind} {name}")))
    }

    /// 42501 for who is no controller, and no member of another role that may.
    pub(super) fn require_controller_or(&self, of: RoleId, what: &str) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let actor = self.actor(&catalog);
        match catalog.is_controller(actor.role) || catalog.inherited(actor.role).contains(&of) {
            true => Ok(()),
            false => Err(SqlError::new("42501", format!("permission denied to {what}"))),
        }
    }

    /// 42501 for a person's own login: it is told of that person, and this tells of others.
    pub(super) fn refuse_persons(&self, what: &str) -> Result<(), SqlError> {
        let catalog = self.catalog();
        match catalog.person_of(self.actor(&catalog).role) {
            None => Ok(()),
            Some(_) => Err(persons_refused(what)),
        }
    }
}

/// A person's own login may not do this.
pub(super) fn persons_refused(what: &str) -> SqlError {
    SqlError::new("42501", format!("permission denied for {what}"))
        .hint("A person's own login is told of that person alone.")
}

/// A statement about a role with its password as the catalog keeps it; none if it has none in clear. The empty one is none.
pub(super) fn with_kept_password(statement: &Statement) -> Result<Option<Statement>, SqlError> {
    let Statement::Rights(rights) = statement else { return Ok(None) };
    let mut rights = rights.clone();
    let options: &mut Vec<RoleOption> = match &mut *rights {
        RightsStatement::CreateRole(create) => &mut create.options,
        RightsStatement::AlterRole(alter) => &mut alter.options,
        _ => return Ok(None),
    };
    let mut changed = false;
    for option in options {
        if let RoleOptionKind::Password(password) = &mut option.kind
            && let Some(clear) = password.take()
        {
            changed = true;
            *password = if clear.is_empty() { None } else { Some(password::kept(&clear)?) };
        }
    }
    Ok(changed.then_some(Statement::Rights(rights)))
}
