//! What has expired is deleted, by itself, some moments after nobody sees it any more.
//!
//! ```text
//! each LOOKS_EVERY ─▶ tables with an EXPIRES column ─▶ GDPR PURGE of each, in a session of the server's own
//!                  ─▶ erasures that can be taken back no more ─▶ what was kept of them, and its key
//! ```
//! So what it does is an ordinary commit: cascades, ownership, views, subscriptions and the audit log follow as with any DELETE.

use crate::housekeeping::Housekeeping;
use crate::session::{ConnectOptions, Session};
use crate::templates::Templates;
use planner::catalog::{CONTROLLER, Catalog, DEFAULT_DATABASE, DatabaseId, Property, RetentionEnd, SearchPath, Table};
use planner::ownership::quote_identifier;
use planner::scalar::ListedConnection;
use repr::RelationId;
use state::SqlError;
use state::clock::now_micros;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use subject_requests::retain;
use transactions::database::Database;

const LOOKS_EVERY: Duration = Duration::from_millis(250);
/// A table whose rows could not be deleted is tried again after so long.
const PAUSE: Duration = Duration::from_secs(30);

/// Somebody else was there first: the next look tries again.
const PASSING: [&str; 5] = ["40001", "40P01", "55P03", "DG001", "DG002"];

/// Starts the thread. Dropped, it has ended.
pub fn start(database: &Arc<Database>, templates: &Arc<Templates>) -> Housekeeping {
    let (database, templates) = (Arc::downgrade(database), templates.clone());
    let mut purging = Purging::default();
    Housekeeping::looking("expiry", LOOKS_EVERY, move || {
        if let Some(database) = database.upgrade() {
            purging.look(&database, &templates);
        }
    })
}

/// Tables that failed, and when.
#[derive(Default)]
struct Purging {
    failed: HashMap<RelationId, Instant>,
}

impl Purging {
    fn look(&mut self, database: &Arc<Database>, templates: &Arc<Templates>) {
        if database.store.is_read_only() {
            return;
        }
        write_requests(database, templates);
        if has_ended_cases(database).unwrap_or(false)
            && let Ok(mut session) = session(database, templates, DEFAULT_DATABASE[0].to_owned())
            && let Err(error) = session.end_cases()
        {
            session.fail(&error);
            tracing::warn!(target: "dogwood::expiry", code = error.code, "what was kept of an erasure could not be deleted");
        }
        let due = self.due(database.published.load().catalog());
        for (name, tables) in due {
            // It is gone, or the server is full: the next look tries again.
            let Ok(mut session) = session(database, templates, name) else { continue };
            for (id, text) in tables {
                if let Err(error) = purge(&mut session, &text) {
                    session.fail(&error);
                    if PASSING.contains(&error.code) {
                        continue;
                    }
                    self.failed.insert(id, Instant::now());
                    tracing::warn!(target: "dogwood::expiry", code = error.code, statement = text, "expired rows could not be deleted");
                }
            }
        }
    }

    /// What to run in which database.
    fn due(&mut self, catalog: &Catalog) -> BTreeMap<String, Vec<(RelationId, String)>> {
        self.failed.retain(|_, failed| failed.elapsed() < PAUSE);
        let mut due: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let expires = |table: &&Arc<Table>| table.is_stored() && table.property(Property::Expires).is_some();
        for table in catalog.relations.values().filter(expires).filter(|table| !self.failed.contains_key(&table.id)) {
            let id = catalog.database_of(table.namespace);
            let name = match catalog.databases.get(&id) {
                Some(database) => database.name.clone(),
                None if id == DatabaseId::FIRST => DEFAULT_DATABASE[0].to_owned(),
                None => continue,
            };
            // As kept texts name it, which search the same.
            let spelled = planner::catalog::Scope { catalog, path: SearchPath::kept() }.spelled_table(table);
            let basis = table.retention.as_ref().and_then(|retention| retention.basis.as_deref());
            let basis = basis.map_or_else(String::new, |basis| format!(" BASIS {}", quote_identifier(basis)));
            let due = due.entry(name).or_default();
            due.push((table.id, format!("GDPR PURGE {spelled}{basis}")));
            if table.ends_by() == RetentionEnd::Anonymize {
                due.push((table.id, format!("GDPR PURGE {spelled}{basis} WITHOUT OWNER")));
            }
        }
        due
    }
}

/// Requests that were answered stand in their book.
pub fn write_requests(database: &Arc<Database>, templates: &Arc<Templates>) {
    if database.audit.requests.is_empty() || database.store.is_read_only() {
        return;
    }
    let Ok(mut session) = session(database, templates, DEFAULT_DATABASE[0].to_owned()) else { return };
    if let Err(error) = session.write_requests() {
        session.fail(&error);
        tracing::warn!(target: "dogwood::expiry", code = error.code, "answered requests could not be entered yet");
    }
}

fn has_ended_cases(database: &Database) -> Result<bool, SqlError> {
    retain::has_ended(&database.latest_snapshot(), now_micros())
}

fn session(database: &Arc<Database>, templates: &Arc<Templates>, name: String) -> Result<Session, SqlError> {
    let settings = [("application_name", "dogwood expiry"), ("search_path", "public"), ("statement_timeout", "0")];
    let options = ConnectOptions {
        user: CONTROLLER.to_owned(),
        database: name,
        any_database: false,
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        secure: true,
        connection: ListedConnection::default(),
    };
    Session::of_server(database, templates, options)
}

fn purge(session: &mut Session, text: &str) -> Result<(), SqlError> {
    for parsed in session.read(text)? {
        let prepared = session.prepare(parsed, &[])?;
        session.execute(&prepared, Arc::default(), false)?;
        session.complete()?;
    }
    Ok(())
}
