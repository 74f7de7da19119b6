//! What a session is doing, for `pg_stat_activity` of others: noted at each statement's begin and end, read when somebody asks.
//!
//! Never holds a row or a value beyond the text of the statement, which others are shown by its shape.

use crate::clock;
use crate::progress::ProgressSlot;
use parking_lot::Mutex;
use planner::catalog::{Catalog, DatabaseId, RoleId};
use planner::scalar::ListedConnection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a session is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// It waits for its client.
    #[default]
    Idle,
    /// A statement runs.
    Active,
    /// It waits for its client within a transaction.
    IdleInTransaction,
    /// The same, and the transaction has failed.
    IdleInFailedTransaction,
}

impl Doing {
    /// As `pg_stat_activity` names it.
    pub fn name(self) -> &'static str {
        match self {
            Doing::Idle => "idle",
            Doing::Active => "active",
            Doing::IdleInTransaction => "idle in transaction",
            Doing::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// Who a session is of.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    /// The name that it has logged in by.
    pub user: Arc<str>,
    /// The login, whatever it is called by now.
    pub role: RoleId,
    /// The database's name.
    pub database: Arc<str>,
    /// Which that is.
    pub database_id: DatabaseId,
    /// How its client has come.
    pub connection: ListedConnection,
}

impl Owner {
    /// What the login is called now.
    pub fn called(&self, catalog: &Catalog) -> Arc<str> {
        called(catalog, self.role, &self.user)
    }
}

/// What a login is called now that was called otherwise when it came. One that was dropped has no name that a role could have.
pub fn called(catalog: &Catalog, role: RoleId, before: &Arc<str>) -> Arc<str> {
    match catalog.roles.get(&role) {
        _ if role == RoleId::FIRST => before.clone(),
        Some(found) if *found.name == **before => before.clone(),
        Some(found) => found.name.as_str().into(),
        None => format!("unknown (OID={})", role.0).into(),
    }
}

/// What a session is doing now. Times are microseconds since 2000-01-01.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// What it is at.
    pub doing: Doing,
    /// The statement that runs, or ran last.
    pub query: Option<Arc<str>>,
    /// When that began.
    pub query_at: i64,
    /// When its transaction began, if there is one.
    pub transaction_at: Option<i64>,
    /// When it turned to what it is at.
    pub changed_at: i64,
    /// `application_name`
    pub application: Arc<str>,
}

/// See the module.
pub struct Activity {
    /// Who it is of.
    pub owner: Owner,
    /// When it began.
    pub began_at: i64,
    now: Mutex<Now>,
    /// How far its long command is.
    pub progress: Arc<ProgressSlot>,
    ended: AtomicBool,
    to_end: AtomicBool,
}

impl Activity {
    /// A session that begins.
    pub fn new(owner: Owner) -> Activity {
        let began_at = clock::now_micros();
        let now = Now { changed_at: began_at, ..Now::default() };
        Activity {
            owner,
            began_at,
            now: Mutex::new(now),
            progress: Arc::default(),
            ended: AtomicBool::new(false),
            to_end: AtomicBool::new(false),
        }
    }

    /// A statement begins.
    pub fn runs(&self, query: &Arc<str>, at: i64, transaction_at: Option<i64>) {
        let mut now = self.now.lock();
        (now.doing, now.query_at, now.changed_at) = (Doing::Active, at, at);
        now.transaction_at = Some(transaction_at.unwrap_or(at));
        now.query = Some(query.clone());
    }

    /// It waits for its client.
    pub fn rests(&self, doing: Doing) {
        let changed_at = clock::now_micros();
        let mut now = self.now.lock();
        (now.doing, now.changed_at) = (doing, changed_at);
        if matches!(doing, Doing::Idle | Doing::IdleInFailedTransaction) {
            now.transaction_at = None;
        }
    }

    /// Whether a statement runs.
    pub fn is_at_work(&self) -> bool {
        self.now.lock().doing == Doing::Active
    }

    /// It calls itself so.
    pub fn is_called(&self, application: &str) {
        self.now.lock().application = application.into();
    }

    /// Somebody ends it, perhaps before it can be reached.
    pub fn is_told_to_end(&self) {
        self.to_end.store(true, Ordering::SeqCst);
    }

    /// Whether somebody ends it.
    pub fn is_to_end(&self) -> bool {
        self.to_end.load(Ordering::SeqCst)
    }

    /// It has ended, though others may hold it still.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// What it is doing.
    pub fn now(&self) -> Now {
        self.now.lock().clone()
    }
}
