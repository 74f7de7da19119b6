//! What functions do in a session, beside giving a value, and what the session knows of the others. The engine implements it.

use crate::catalog::DatabaseId;
use repr::ValueError;
use std::net::SocketAddr;
use std::time::Duration;

/// An advisory lock's name, as `pg_locks` shows it: both halves of one number (`form` 1), or two numbers (`form` 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The database that it is of.
    pub database: DatabaseId,
    /// The higher half, or the first number.
    pub class: u32,
    /// The lower half, or the second number.
    pub object: u32,
    /// 1 or 2.
    pub form: i16,
}

/// Until when an advisory lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvisoryScope {
    /// Until it is given back as often as it was taken, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// A wish for an advisory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryLock {
    /// Which.
    pub key: AdvisoryKey,
    /// With others, rather than alone.
    pub shared: bool,
    /// Until when.
    pub scope: AdvisoryScope,
    /// Whether it is waited for.
    pub waits: bool,
}

/// How a client has come: `inet_client_addr()`, `pg_stat_ssl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedConnection {
    /// The client's end.
    pub client: Option<SocketAddr>,
    /// The server's end.
    pub server: Option<SocketAddr>,
    /// How it is encrypted, if it is.
    pub tls: Option<ListedTls>,
}

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTls {
    /// `TLSv1.3`
    pub version: &'static str,
    /// The cipher suite, by the name that it is registered under.
    pub cipher: String,
    /// Bits of the cipher's key.
    pub bits: i32,
}

/// A session, for `pg_stat_activity`. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Its number.
    pub backend: i32,
    /// The login.
    pub user: String,
    /// The database's name.
    pub database: String,
    /// Which of the catalog's databases that is.
    pub database_id: DatabaseId,
    /// How its client has come.
    pub connection: ListedConnection,
    /// `application_name`
    pub application: String,
    /// When it began.
    pub began_at: i64,
    /// When its transaction began, if there is one.
    pub transaction_at: Option<i64>,
    /// When its statement began, if there was one.
    pub query_at: Option<i64>,
    /// When it turned to what it is at.
    pub changed_at: i64,
    /// `active`, `idle` and their kin.
    pub state: &'static str,
    /// The statement, of others without its literals.
    pub query: String,
    /// Kind and name of what it waits for.
    pub waits: Option<(&'static str, &'static str)>,
}

/// A lock that is held or waited for, for `pg_locks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLock {
    /// The database of whoever has it or waits for it.
    pub database: DatabaseId,
    /// What it is of.
    pub key: ListedLockKey,
    /// In PostgreSQL's words.
    pub mode: &'static str,
    /// The session that has it or waits for it.
    pub backend: i32,
    /// The transaction, or the session.
    pub holder: u64,
    /// Since when it is waited for, in microseconds since 2000-01-01 UTC; none if it is held.
    pub waits_since: Option<i64>,
}

/// What a lock is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedLockKey {
    /// A table or an index, by its OID.
    Relation(u32),
    /// Some row of a table.
    Row(u32),
    /// The session's place among those that are in a transaction.
    Session,
    /// What an application calls so.
    Advisory(AdvisoryKey),
}

/// An open cursor, for `pg_cursors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCursor {
    /// Its name.
    pub name: String,
    /// The statement that declared it.
    pub text: String,
    /// WITH HOLD
    pub hold: bool,
    /// BINARY
    pub binary: bool,
    /// SCROLL
    pub scroll: bool,
    /// When it was declared, in microseconds since 2000-01-01 UTC.
    pub made_at: i64,
}

/// A long command that a session is at, for `pg_stat_progress_create_index` and `pg_stat_progress_copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedProgress {
    /// The session's number.
    pub backend: i32,
    /// The database's name.
    pub database: String,
    /// Which of the catalog's databases that is.
    pub database_id: DatabaseId,
    /// The login.
    pub user: String,
    /// The table.
    pub relation: u32,
    /// What is done.
    pub command: ListedCommand,
    /// Rows that are through.
    pub rows: i64,
    /// Bytes that are through.
    pub bytes: i64,
}

/// What a long command does, and what only it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedCommand {
    /// An index is filled.
    CreateIndex {
        /// Its OID.
        index: u32,
        /// All rows have entries, and values that must not repeat are compared.
        compares: bool,
        /// About how many bytes the table has.
        bytes_total: i64,
    },
    /// COPY FROM STDIN, which leaves out so many rows.
    CopyIn {
        /// By its condition.
        excluded: i64,
    },
}

/// See the module.
pub trait SessionActs: Send + Sync {
    /// Takes an advisory lock; false if others have it and it is not waited for.
    fn advisory_lock(&self, lock: &AdvisoryLock) -> Result<bool, ValueError>;
    /// Gives back one that the session has taken, once; false, and a warning, if it has not.
    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool, ValueError>;
    /// Gives back all that the session has taken.
    fn advisory_unlock_all(&self);
    /// Tells this to who listens, once the transaction commits.
    fn notify(&self, channel: &str, payload: &str) -> Result<(), ValueError>;
    /// The channels that the session listens to.
    fn listening(&self) -> Vec<String>;
    /// How much of what may wait to be told does.
    fn notification_queue_usage(&self) -> f64;
    /// Cancels what a session runs; false, and a warning, if there is no such session.
    fn cancel_backend(&self, backend: i32) -> Result<bool, ValueError>;
    /// Ends a session, and waits at most so long until it has; false, and a warning, if there is no such session, or it has not.
    fn terminate_backend(&self, backend: i32, wait: Duration) -> Result<bool, ValueError>;
    /// The number of the transaction, given when it is asked for or, by `only_if_given`, only if it has one or has written.
    fn transaction_number(&self, only_if_given: bool) -> Result<Option<u64>, ValueError>;
    /// Gives what the statement reads a name by which other transactions may read the same, until this one ends.
    fn export_snapshot(&self) -> Result<String, ValueError>;
    /// Has the server read again whom it lets in; false if it did not understand that.
    fn reload_configuration(&self) -> Result<bool, ValueError>;
    /// Replaces the key-encryption key, and says under how many keys of people.
    fn rotate_keys(&self) -> Result<i64, ValueError>;
    /// The same, and the root key in its file is another from then on.
    fn rotate_root_key(&self) -> Result<i64, ValueError>;
    /// Whom a session waits for.
    fn blocking(&self, backend: i32) -> Vec<i32>;
    /// When the server began to serve this folder, in microseconds since 2000-01-01 UTC.
    fn server_began_at(&self) -> i64;
    /// When it last read whom it lets in.
    fn configured_at(&self) -> i64;
    /// All sessions.
    fn sessions(&self) -> Vec<ListedSession>;
    /// Long commands that are under way.
    fn progress(&self) -> Vec<ListedProgress>;
    /// What is locked, and what is waited for.
    fn locks(&self) -> Vec<ListedLock>;
    /// The session's open cursors.
    fn cursors(&self) -> Vec<ListedCursor>;
}
