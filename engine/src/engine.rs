//! The engine's door: open a data folder, connect sessions, stop.

use crate::analyzer;
use crate::backup::{BackupOrder, Variables};
use crate::erasure_passes::ErasurePasses;
use crate::expiry;
use crate::housekeeping::Housekeeping;
use crate::password::PasswordVerifier;
use crate::publishing::Publishing;
use crate::referring::{Others, Referring};
use crate::session::{ConnectOptions, Session, auditing};
use crate::shipping::Shipping;
use crate::system::registers::ahead;
use crate::templates::Templates;
use parking_lot::Mutex;
use planner::catalog::CONTROLLER;
use state::config::Config;
use state::login_rules::AskedOfServer;
use state::{SqlError, clock};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use storage::Store;
use transactions::database::{Database, tell_operator};

/// A running engine.
pub struct Engine {
    // First, so that the folder is free once the engine and its sessions are gone.
    _keepers: [Housekeeping; 4],
    eraser: ErasurePasses,
    /// While there is a target for the log.
    shipping: Mutex<Option<Shipping>>,
    /// While there is a target for heads of the audit log.
    publishing: Mutex<Option<Publishing>>,
    referring: Mutex<Option<Referring>>,
    database: Arc<Database>,
    templates: Arc<Templates>,
}

impl Engine {
    /// Opens a data folder, making it if it is empty. Refuses to start over anything that is not whole.
    pub fn open(config: Config) -> Result<Arc<Engine>, SqlError> {
        let database = Database::open(config)?;
        let templates = Arc::default();
        Ok(Arc::new(Engine {
            _keepers: [
                Housekeeping::start(&database),
                expiry::start(&database, &templates),
                analyzer::start(&database),
                ahead::start(&database),
            ],
            eraser: ErasurePasses::start(&database),
            shipping: Mutex::default(),
            publishing: Mutex::default(),
            referring: Mutex::default(),
            database,
            templates,
        }))
    }

    /// Ships what is written to these targets from now on.
    pub fn ship(&self, order: &BackupOrder, variables: Variables<'_>) -> Result<(), SqlError> {
        *self.shipping.lock() = Some(Shipping::start(&self.database, order, variables)?);
        Ok(())
    }

    /// Publishes heads of the audit log to these files and witnesses from now on, each so often if it has gone on.
    pub fn publish_heads(&self, targets: &[String], every: Duration) -> Result<(), SqlError> {
        *self.publishing.lock() = Some(Publishing::start(&self.database, targets, every)?);
        Ok(())
    }

    /// Refers to other databases' heads from now on, each so often if they have gone on.
    pub fn refer_to(&self, others: &Others, every: Duration) -> Result<(), SqlError> {
        *self.referring.lock() = Some(Referring::start(&self.database, others, every)?);
        Ok(())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.database.store
    }

    /// Opens a session for an authenticated login.
    pub fn connect(&self, options: ConnectOptions) -> Result<Session, SqlError> {
        Session::connect(&self.database, &self.templates, options)
    }

    /// A login that was refused is in the audit log soon.
    pub fn reject(&self, login: &str, address: IpAddr) {
        auditing::rejected(&self.database, login, Some(address));
    }

    /// What a login's password is checked against, by its name; none if it has none, or no more. The first role's is in the
    /// catalog once it was changed.
    pub fn password_of(&self, login: &str) -> Option<PasswordVerifier> {
        let published = self.database.published.load();
        let catalog = published.catalog();
        let role = catalog.role_by_name(login)?;
        let terms = catalog.login_terms(role)?;
        if terms.has_ended(clock::now_micros()) {
            return None;
        }
        PasswordVerifier::parse(terms.verifier.as_deref()?)
    }

    /// Whether first start's password counts for the first role no more: it has another, or its time is over.
    pub fn first_password_ended(&self) -> bool {
        let published = self.database.published.load();
        let terms = published.catalog().first_login.as_ref();
        terms.is_some_and(|terms| terms.verifier.is_some() || terms.has_ended(clock::now_micros()))
    }

    /// Whether there is a login of that name.
    pub fn has_login(&self, name: &str) -> bool {
        let published = self.database.published.load();
        name == CONTROLLER || published.catalog().roles.values().any(|role| role.name == name)
    }

    /// Whether a login's role is a member of another, or that itself.
    pub fn is_member(&self, login: &str, role: &str) -> bool {
        let published = self.database.published.load();
        let catalog = published.catalog();
        let found = catalog.role_by_name(role).filter(|_| self.has_login(login));
        found.is_some_and(|role| catalog.memberships(catalog.role_of_login(login)).contains(&role))
    }

    /// Sessions ask so whom the server lets in.
    pub fn serve_login_rules(&self, asked: AskedOfServer) {
        self.database.sessions.login_rules.serve(asked);
    }

    /// Has the server read again whom it lets in. Whether it was understood.
    pub fn reload_login_rules(&self) -> bool {
        self.database.sessions.login_rules.reload()
    }

    /// Whether a write has failed for good, and would not if the folder was opened anew now: whoever serves it should.
    pub fn wants_reopening(&self) -> bool {
        self.database.store.would_write_again()
    }

    /// Has what erasures still owe rewritten if that is little. Makes everything written durable and leaves the next start no
    /// log to replay; sessions that are still open hear 57P01 from `wire`.
    pub fn shutdown(&self) -> Result<(), SqlError> {
        drop(self.referring.lock().take());
        expiry::write_requests(&self.database, &self.templates);
        self.database.record_waiting()?;
        self.eraser.finish(&self.database);
        // The last that was written is shipped and published, too.
        drop(self.publishing.lock().take());
        drop(self.shipping.lock().take());
        tell_operator(&self.database.store);
        Ok(self.database.store.settle()?)
    }
}
