//! As whom a session acts, and what that role may run.
//!
//! Who has logged in never changes; `SET SESSION AUTHORIZATION` and `SET ROLE` say for whom the session acts from then on. What a
//! statement needs its plan says; whether the role has it is asked before each statement runs, whatever its way.

use crate::password;
use crate::session::Session;
use crate::session::plan::CachedPlan;
use planner::catalog::{Actor, Catalog, DatabaseId, ObjectClass, Privilege, RoleId, Table};
use planner::parse::Statement;
use planner::parse::rights::{RightsStatement, RoleOption, RoleOptionKind};
use planner::parse::statement::ObjectName;
use planner::resolve::Needs;
use repr::RelationId;
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::settings::Settings;
use std::sync::Arc;
use subject_requests::own;
use transactions::database::Database;

/// Nobody: what a session acts as whose role has been dropped, or taken from it.
const NOBODY: RoleId = RoleId(0);

/// Who has logged in.
#[derive(Clone)]
pub struct Login {
    /// As which role.
    pub role: RoleId,
    /// By what name.
    pub name: Arc<str>,
}

impl Login {
    /// As whom its session acts by its settings.
    pub(super) fn actor(&self, settings: &Settings, catalog: &Catalog) -> Actor {
        let said = |setting: &str| settings.get(setting).filter(|name| !name.is_empty());
        let mut actor = Actor::of_login(self.role, self.name.clone());
        if let Some(name) = said("session_authorization").filter(|name| *name != &*self.name) {
            let role = Some(NOBODY).filter(|_| !catalog.is_controller(self.role));
            let role = role.or_else(|| actor.find(catalog, name)).unwrap_or(NOBODY);
            actor = Actor::of_login(role, name.into());
        }
        if let Some(name) = said("role").filter(|name| *name != "none" && *name != &*actor.name) {
            let found = self.first(&actor).find(catalog, name);
            actor.role = found.filter(|role| catalog.may_act_as(actor.login, *role)).unwrap_or(NOBODY);
            actor.name = name.into();
        }
        actor
    }

    /// Who finds roles by the names that this login's session gives them.
    fn first(&self, actor: &Actor) -> Actor {
        match self.role {
            RoleId::FIRST => Actor::of_login(self.role, self.name.clone()),
            _ => actor.clone(),
        }
    }

    /// Before SET ROLE and SET SESSION AUTHORIZATION: 22023 for what no role is called, 42501 for one that is not for it.
    pub(super) fn check_setting(
        &self,
        name: &str,
        value: Option<&str>,
        settings: &Settings,
        catalog: &Catalog,
    ) -> Result<(), SqlError> {
        let is = |setting: &str| name.eq_ignore_ascii_case(setting);
        let Some(value) = value.filter(|_| is("role") || is("session_authorization")) else { return Ok(()) };
        if is("role") && value == "none" {
            return Ok(());
        }
        let actor = self.actor(settings, catalog);
        let role = self.first(&actor).find(catalog, value);
        let role = role.ok_or_else(|| SqlError::new("22023", format!("role \"{value}\" does not exist")))?;
        if is("role") && !catalog.may_act_as(actor.login, role) {
            return Err(SqlError::new("42501", format!("permission denied to set role \"{value}\"")));
        }
        if is("session_authorization") && role != self.role && !catalog.is_controller(self.role) {
            return Err(SqlError::new("42501", "permission denied to set session authorization"));
        }
        Ok(())
    }

    /// 28000 for the login of a person who is not there any more.
    pub(super) fn check_person(&self, database: &Database) -> Result<(), SqlError> {
        let latest = database.latest();
        let Some(person) = latest.schema.catalog().person_of(self.role).cloned() else { return Ok(()) };
        let view = LayeredSnapshot::new(database.store.clone(), latest);
        match own::living(&view, &person)? {
            Some(_) => Ok(()),
            None => Err(SqlError::new("28000", format!("role \"{}\" is not permitted to log in", self.name))),
        }
    }

    /// Whether it may open a session: 28000 for a role that may not log in, 53300 beyond its limit, 42501 without CONNECT.
    pub(super) fn check_opening(&self, database: &Database, name: &str, id: DatabaseId) -> Result<(), SqlError> {
        let published = database.published.load();
        let catalog = published.catalog();
        if catalog.roles.get(&self.role).is_some_and(|role| !role.attributes.can_login) {
            return Err(SqlError::new("28000", format!("role \"{}\" is not permitted to log in", self.name)));
        }
        if let Some(terms) = catalog.login_terms(self.role) {
            let sessions = database.sessions.holders.living();
            let open = sessions.iter().filter(|session| session.activity.owner.user == self.name).count();
            if usize::try_from(terms.connection_limit).is_ok_and(|limit| open >= limit) {
                return Err(SqlError::new("53300", format!("too many connections for role \"{}\"", self.name)));
            }
        }
        match catalog.privileges(self.role, ObjectClass::Database, id.0, id).has(Privilege::Connect) {
            true => Ok(()),
            false => Err(SqlError::new("42501", format!("permission denied for database \"{name}\""))
                .detail("User does not have CONNECT privilege.")),
        }
    }
}

impl Session {
    /// As whom the session acts.
    pub(super) fn actor(&self, catalog: &Arc<Catalog>) -> Actor {
        self.search_path(catalog).actor().clone()
    }

    /// 42501 if the acting role has not what the statement needs.
    pub(super) fn permitted(&self, cached: &CachedPlan) -> Result<(), SqlError> {
        if cached.needs.is_empty() {
            return Ok(());
        }
        let seen = self.seen();
        let role = seen.path.actor().role;
        if cached.is_permitted_to(role, &seen.catalog) {
            return Ok(());
        }
        cached.needs.check(&seen.catalog, role, self.client.database_id)?;
        cached.permit(role, &seen.catalog);
        Ok(())
    }

    /// A violated constraint as it is told to whoever may not read the table: that it is violated, and no more.
    pub(super) fn without_rows(&self, error: SqlError) -> SqlError {
        let Some(name) = error.object.table.as_ref().filter(|_| error.code.starts_with("23") && error.detail.is_some())
        else {
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
        };
        let mut named = catalog.relations.values().filter(|table| table.name == *name);
        if named.all(may_read) { error } else { SqlError { detail: None, ..error } }
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
}

/// That a role may read what a subscription tells it, asked again whenever the catalog has changed.
pub struct Permit {
    database: Arc<Database>,
    needs: Arc<Needs>,
    role: RoleId,
    home: DatabaseId,
    /// By which catalog it was permitted last.
    catalog: Arc<Catalog>,
    /// Whether policies have a say in what it reads.
    of_role: bool,
}

impl Permit {
    /// For a statement that was permitted.
    pub(super) fn new(session: &Session, cached: &CachedPlan) -> Permit {
        let catalog = session.catalog();
        Permit {
            database: session.database.clone(),
            needs: cached.needs.clone(),
            role: session.actor(&catalog).role,
            home: session.client.database_id,
            catalog,
            of_role: cached.made_for.role.is_some(),
        }
    }

    /// 42501 if it was taken away.
    pub(super) fn check(&mut self) -> Result<(), SqlError> {
        let published = self.database.published.load();
        let catalog = published.catalog();
        if Arc::ptr_eq(&self.catalog, catalog) || self.catalog.version > catalog.version {
            return Ok(());
        }
        self.needs.check(catalog, self.role, self.home)?;
        let same = || {
            self.catalog.rights.row_security == catalog.rights.row_security
                && self.catalog.counted(self.role, self.home) == catalog.counted(self.role, self.home)
        };
        if self.of_role && !same() {
            return Err(SqlError::new("42501", "the policies of what this subscription reads have changed")
                .hint("subscribe again"));
        }
        self.catalog = catalog.clone();
        Ok(())
    }
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
    let mut found = false;
    for option in options {
        if let RoleOptionKind::Password(password) = &mut option.kind
            && let Some(clear) = password.take().filter(|clear| !clear.is_empty())
        {
            *password = Some(password::kept(&clear)?);
            found = true;
        }
    }
    Ok(Some(Statement::Rights(rights)).filter(|_| found || is_cleared(statement)))
}

/// Whether it sets the empty password.
fn is_cleared(statement: &Statement) -> bool {
    let Statement::Rights(rights) = statement else { return false };
    let options = match &**rights {
        RightsStatement::CreateRole(create) => &create.options,
        RightsStatement::AlterRole(alter) => &alter.options,
        _ => return false,
    };
    options.iter().any(|option| matches!(&option.kind, RoleOptionKind::Password(Some(text)) if text.is_empty()))
}
