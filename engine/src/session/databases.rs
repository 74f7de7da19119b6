//! Databases to a session: which one it opens, and who else is in one that is renamed or dropped.

use crate::session::Session;
use crate::session::login::no_purpose;
use planner::catalog::{Catalog, DEFAULT_DATABASE, DatabaseId};
use planner::parse::Statement;
use planner::parse::definition::{AlterStart, StartChange};
use planner::parse::utility::SetValue;
use planner::scalar::ListedConnection;
use state::SqlError;
use state::notice::Notice;
use state::settings::{Settings, StartSource, is_of_definers, spelled};
use state::snapshot_holders::Holder;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transactions::database::Database;

/// Who connects, and with which settings.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The login, authenticated by `wire`.
    pub user: String,
    /// The database's name as the client gave it.
    pub database: String,
    /// Whether a name that no database has leads to the first one.
    pub any_database: bool,
    /// Settings of the startup packet.
    pub settings: Vec<(String, String)>,
    /// Whether the connection is encrypted.
    pub secure: bool,
    /// How it has come; from nowhere within the server.
    pub connection: ListedConnection,
}

impl ConnectOptions {
    /// From where it comes.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.connection.client.map(|client| client.ip())
    }
}

/// So long others have for leaving, as in PostgreSQL.
const LEAVING_MAX: Duration = Duration::from_secs(5);
const LEAVING_POLL: Duration = Duration::from_millis(2);

/// The database of that name. The first has several, and that of a login among them, which clients send who name none. 3D000 if
/// there is none.
pub(super) fn open(database: &Database, name: &str, user: &str, any: bool) -> Result<DatabaseId, SqlError> {
    let created = database.published.load().catalog().database_by_name(name);
    let is_first = any || name == user || DEFAULT_DATABASE.contains(&name);
    created.or(is_first.then_some(DatabaseId::FIRST)).ok_or_else(|| no_database(name))
}

/// 3D000 if it has been dropped.
pub(super) fn check_there(database: &Database, name: &str, id: DatabaseId) -> Result<(), SqlError> {
    let there = id == DatabaseId::FIRST || database.published.load().catalog().databases.contains_key(&id);
    if there { Ok(()) } else { Err(no_database(name)) }
}

fn no_database(name: &str) -> SqlError {
    SqlError::new("3D000", format!("database \"{name}\" does not exist"))
}

/// What a login's sessions start with in a database, and then what its client says. What cannot be any more is told, and left.
pub(super) fn start(
    database: &Database,
    id: DatabaseId,
    options: &ConnectOptions,
    settings: &mut Settings,
) -> Result<Vec<Notice>, SqlError> {
    let mut notices = Vec::new();
    for found in database.published.load().catalog().start_settings_of(id, &options.user) {
        let given = match (&found.scope.role, found.scope.database) {
            (None, None) => StartSource::Global,
            (None, Some(_)) => StartSource::Database,
            (Some(_), None) => StartSource::Role,
            (Some(_), Some(_)) => StartSource::RoleInDatabase,
        };
        for (name, value) in &found.values {
            if let Err(error) = settings.start(name, value, given) {
                let message = format!("{} ({name})", error.message);
                notices.push(Notice { hint: error.hint, ..Notice::new("WARNING", error.code, message) });
            }
        }
    }
    for (name, value) in &options.settings {
        settings.start(name, value, StartSource::Client)?;
    }
    Ok(notices)
}

impl Session {
    /// Before a definition: nobody but this session may be in a database that is dropped or renamed. They have some time to leave
    /// it, and FORCE ends them. 55006 if they do not. Gives the one that is dropped.
    pub(super) fn empty_database(&self, statement: &Statement) -> Result<Option<DatabaseId>, SqlError> {
        let (name, force, drops) = match statement {
            Statement::DropDatabase(drop) => (&drop.name.name, drop.force, true),
            Statement::AlterDatabase(alter) => (&alter.name.name, false, false),
            _ => return Ok(None),
        };
        // What is not there, or one's own, the planner refuses.
        let Some(id) = self.catalog().database_by_name(name).filter(|id| *id != self.client.database_id) else {
            return Ok(None);
        };
        let until = Instant::now() + LEAVING_MAX;
        loop {
            let others = self.sessions_in(id);
            if others.is_empty() {
                return Ok(drops.then_some(id));
            }
            if force {
                others.iter().for_each(|session| session.terminate());
            }
            if Instant::now() >= until {
                return Err(in_use(name, others.len()));
            }
            self.control.account.check()?;
            std::thread::sleep(LEAVING_POLL);
        }
    }

    /// ALTER DATABASE and ALTER ROLE with a setting's name and value as they are kept.
    pub(super) fn checked_start(&self, statement: &Statement) -> Result<Option<Statement>, SqlError> {
        let Statement::AlterStart(alter) = statement else { return Ok(None) };
        self.may_define_start(&alter.change)?;
        let catalog = self.catalog();
        let settings = &self.state.lock().settings;
        let set = |name: &str, values: &[SetValue]| {
            let (name, value) = settings.for_later_sessions(name, values)?;
            // Whether it is granted is asked when a session starts: that may follow.
            if name == "dogwood.purpose" && !value.is_empty() && !catalog.rights.purposes.contains_key(&value) {
                return Err(no_purpose(&value));
            }
            Ok::<_, SqlError>(StartChange::Set(name, vec![SetValue::Text(value)]))
        };
        let change = match &alter.change {
            StartChange::Set(name, values) => set(name, values)?,
            StartChange::FromCurrent(name) => {
                let (name, value) = settings.show(name)?;
                set(&name, &[SetValue::Number(value)])?
            }
            StartChange::Reset(name) => {
                // 42704 for what no setting is called.
                settings.show(name)?;
                StartChange::Reset(spelled(name).to_owned())
            }
            StartChange::ResetAll => StartChange::ResetAll,
        };
        Ok(Some(Statement::AlterStart(Box::new(AlterStart { change, ..AlterStart::clone(alter) }))))
    }

    /// 42501 for what no role may decide of itself.
    fn may_define_start(&self, change: &StartChange) -> Result<(), SqlError> {
        let catalog = self.catalog();
        if catalog.is_controller(self.actor(&catalog).role) {
            return Ok(());
        }
        let name = match change {
            StartChange::Set(name, _) | StartChange::FromCurrent(name) | StartChange::Reset(name) => name.as_str(),
            StartChange::ResetAll => "dogwood.audit",
        };
        match is_of_definers(name) {
            true => Err(SqlError::new("42501", format!("permission denied to set parameter \"{name}\""))),
            false => Ok(()),
        }
    }

    /// What a table is called in this session's database, by its name in the whole server.
    pub(super) fn own_name<'n>(&self, catalog: &Catalog, name: &'n str) -> &'n str {
        let database = catalog.databases.get(&self.client.database_id).map(|database| &*database.name);
        let own = database.and_then(|database| name.strip_prefix(database)?.strip_prefix('.'));
        own.map_or(name, |own| own.strip_prefix("public.").unwrap_or(own))
    }

    /// Ends those who came in while it was dropped.
    pub(super) fn end_sessions_in(&self, id: DatabaseId) {
        self.sessions_in(id).iter().for_each(|session| session.terminate());
    }

    fn sessions_in(&self, id: DatabaseId) -> Vec<Arc<Holder>> {
        let mut sessions = self.database.sessions.holders.living();
        sessions.retain(|session| session.activity.owner.database_id == id);
        sessions
    }
}

fn in_use(name: &str, others: usize) -> SqlError {
    let detail = match others {
        1 => "There is 1 other session using the database.".to_owned(),
        _ => format!("There are {others} other sessions using the database."),
    };
    SqlError::new("55006", format!("database \"{name}\" is being accessed by other users")).detail(detail)
}
