//! Who has logged in, and as whom they act by their settings.

use planner::catalog::{Actor, Catalog, DatabaseId, ObjectClass, Privilege, RoleId};
use state::SqlError;
use state::activity;
use state::notice::Notice;
use state::settings::server::is_shared;
use state::settings::{Settings, StartSource};
use std::sync::Arc;
use subject_requests::own;
use transactions::database::Database;

pub(super) fn no_purpose(purpose: &str) -> SqlError {
    SqlError::new("22023", format!("purpose \"{purpose}\" does not exist"))
        .hint("CREATE PURPOSE declares one; dogwood.purposes shows those that there are.")
}

/// 22023 for a purpose that is not declared, 42501 for one that was not granted.
fn check_purpose(actor: &Actor, purpose: &str, home: DatabaseId, catalog: &Catalog) -> Result<(), SqlError> {
    match catalog.may_use_for(actor.role, purpose, home) {
        None => Err(no_purpose(purpose)),
        Some(false) => Err(SqlError::new("42501", format!("permission denied for purpose \"{purpose}\""))
            .hint("A controller grants it: GRANT PURPOSE … TO …")),
        Some(true) => Ok(()),
    }
}

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
        // A name that it had may be another's by now.
        let mut actor = Actor::of_login(self.role, activity::called(catalog, self.role, &self.name));
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
        actor.purpose = said("dogwood.purpose").map(Arc::from);
        actor
    }

    /// Who finds roles by the names that this login's session gives them.
    fn first(&self, actor: &Actor) -> Actor {
        match self.role {
            RoleId::FIRST => Actor::of_login(self.role, self.name.clone()),
            _ => actor.clone(),
        }
    }

    /// Before SET and RESET. Of roles and purposes 22023 for what is not called so, 42501 for what is not for this login; 42501 of
    /// what is set for all sessions, but for who operates the server.
    pub(super) fn check_setting(
        &self,
        name: &str,
        value: Option<&str>,
        settings: &Settings,
        (catalog, home): (&Catalog, DatabaseId),
    ) -> Result<(), SqlError> {
        let is = |setting: &str| name.eq_ignore_ascii_case(setting);
        if is_shared(&name.to_ascii_lowercase()) && !catalog.may_operate(self.actor(settings, catalog).role) {
            return Err(SqlError::new("42501", format!("permission denied to set parameter \"{name}\""))
                .hint("It is set for all sessions: by members of dogwood_operator and dogwood_controller."));
        }
        if let Some(value) = value.filter(|value| is("dogwood.purpose") && !value.is_empty()) {
            return check_purpose(&self.actor(settings, catalog), value, home, catalog);
        }
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

    /// The role and the purpose that a session starts with are asked for as SET asks. But a purpose that its role or its database
    /// was given, rather than that its client says it, is left and told, so that nobody is locked out.
    pub(super) fn check_started(
        &self,
        settings: &mut Settings,
        said: &[(String, String)],
        seen: (&Catalog, DatabaseId),
    ) -> Result<Option<Notice>, SqlError> {
        if let Some(role) = settings.get("role") {
            self.check_setting("role", Some(role), settings, seen)?;
        }
        let name = "dogwood.purpose";
        match self.check_setting(name, settings.get(name), settings, seen) {
            Ok(()) => Ok(None),
            Err(error) if said.iter().any(|(said, _)| said.eq_ignore_ascii_case(name)) => Err(error),
            Err(error) => {
                settings.start(name, "", StartSource::Role)?;
                let message = format!("{} ({name})", error.message);
                Ok(Some(Notice { hint: error.hint, ..Notice::new("WARNING", error.code, message) }))
            }
        }
    }

    fn not_permitted(&self) -> SqlError {
        SqlError::new("28000", format!("role \"{}\" is not permitted to log in", self.name))
    }

    /// 28000 for the login of a person who is not there any more.
    pub(super) fn check_person(&self, database: &Database) -> Result<(), SqlError> {
        let Some(person) = database.latest().catalog().person_of(self.role).cloned() else { return Ok(()) };
        own::living(&database.latest_snapshot(), &person)?.map(|_| ()).ok_or_else(|| self.not_permitted())
    }

    /// Whether it may open a session: 28000 for a role that may not log in, 53300 beyond its limit, 42501 without CONNECT.
    pub(super) fn check_opening(&self, database: &Database, name: &str, id: DatabaseId) -> Result<(), SqlError> {
        let published = database.published.load();
        let catalog = published.catalog();
        if catalog.roles.get(&self.role).is_some_and(|role| !role.attributes.can_login) {
            return Err(self.not_permitted());
        }
        if let Some(terms) = catalog.login_terms(self.role) {
            let sessions = database.sessions.holders.living();
            let open = sessions.iter().filter(|session| session.activity.owner.role == self.role).count();
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
