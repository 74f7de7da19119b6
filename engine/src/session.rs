//! A client's session: its statements from text to response, its transaction, settings, cursors.
//!
//! Station on the trip: `wire` above, the planner and the transaction below. One session is used by one
//! thread; everything here blocks.

mod apart;
mod client;
pub mod copy;
mod create_as;
pub mod cursor;
pub mod env;
mod explain;
mod fill;
mod gdpr;
mod known;
mod modes;
mod orders;
mod statement;
mod subscribe;
mod utility;
mod view;

use crate::SqlError;
use crate::clock;
use crate::commit::Committed;
use crate::database::Database;
use crate::holders::{Closer, Holder};
use crate::locks::Patience;
use crate::one_shot::QueryLimits;
use crate::one_shot::profile::Profile;
use crate::protocol::{CancelFlag, Notice, Prepared, Response, TransactionStatus};
use crate::sar::receipt::Erasure;
use crate::transaction::{Modes, Transaction};
use apart::UnderWay;
pub use apart::{Answered, Apart};
use cursor::Cursor;
use env::{SessionState, StatementEnvironment};
pub use known::{Known, Unlearned};
use parking_lot::Mutex;
use planner::catalog::Catalog;
use planner::parse::statement::CtxCommand;
use planner::parse::{ParsedStatement, Statement};
use planner::scalar::EvalContext;
use repr::text::TextContext;
use repr::{CommitTime, Datum, RelationId, ScalarType};
pub use statement::CachedPlan;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;
pub use subscribe::{Changed, Readiness, Subscribed, Told};

/// Who connects, and with which settings.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The login, authenticated by `wire`.
    pub user: String,
    /// The database's name as the client gave it.
    pub database: String,
    /// Settings of the startup packet.
    pub settings: Vec<(String, String)>,
    /// Whether the connection is encrypted.
    pub secure: bool,
}

/// A session.
pub struct Session {
    database: Arc<Database>,
    state: Arc<Mutex<SessionState>>,
    user: Arc<str>,
    database_name: Arc<str>,
    backend: i32,
    holder: Arc<Holder>,
    /// What was forgotten when this session last let go of what had ended.
    released_at: CommitTime,
    cancel: Arc<CancelFlag>,
    active: Option<Active>,
    notices: Vec<Notice>,
    reported: BTreeMap<String, String>,
    /// The version of the settings that `reported` is of.
    reported_version: u64,
    /// SQL-level PREPARE.
    statements: HashMap<String, Arc<Prepared>>,
    cursors: HashMap<String, Cursor>,
    /// Cursors of subscriptions.
    subscribed: HashMap<String, Subscribed>,
    statement_started: i64,
    deadline: Option<Instant>,
    /// What the last commit gave.
    committed: Committed,
    /// What counts the statement's operators, while EXPLAIN ANALYZE runs it.
    profile: Option<Arc<Profile>>,
    /// Materialized views that the transaction has made WITH DATA: whoever commits waits until they are filled.
    unfilled: Vec<RelationId>,
    /// A commit that was left to the pipeline.
    under_way: Option<UnderWay>,
    /// Statements that have been run in this implicit transaction.
    company: Option<Company>,
}

/// What shares an implicit transaction: a statement that must be alone says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Statements of one query string.
    Script,
    /// Statements of the extended protocol before one Sync.
    Pipeline,
}

struct Active {
    transaction: Transaction,
    /// Begun by BEGIN, rather than for one statement.
    block: bool,
    failed: bool,
}

impl Session {
    /// Opens a session for an authenticated login.
    pub fn connect(database: &Arc<Database>, options: ConnectOptions) -> Result<Session, SqlError> {
        let mut state = SessionState::default();
        state.settings.share(&database.settings);
        state.settings.force("session_authorization", options.user.clone());
        for (name, value) in &options.settings {
            state.settings.start(name, value)?;
        }
        let name = if options.database.is_empty() { options.user.clone() } else { options.database };
        let backend = database.next_backend();
        Ok(Session {
            backend,
            holder: database.holders.register(backend),
            released_at: database.forgotten_at(),
            database: database.clone(),
            reported: state.settings.reported().into_iter().collect(),
            reported_version: state.settings.version(),
            state: Arc::new(Mutex::new(state)),
            user: options.user.into(),
            database_name: name.into(),
            cancel: Arc::default(),
            active: None,
            notices: Vec::new(),
            statements: HashMap::new(),
            cursors: HashMap::new(),
            subscribed: HashMap::new(),
            statement_started: clock::now_micros(),
            deadline: None,
            committed: Committed::default(),
            profile: None,
            unfilled: Vec::new(),
            under_way: None,
            company: None,
        })
    }

    /// What the client is told at connection.
    pub fn initial_parameters(&self) -> Vec<(String, String)> {
        self.state.lock().settings.reported()
    }

    /// Settings that changed since the client was last told.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        let now = {
            let state = self.state.lock();
            if state.settings.version() == self.reported_version {
                return Vec::new();
            }
            self.reported_version = state.settings.version();
            state.settings.reported()
        };
        let changed: Vec<_> = now.into_iter().filter(|(name, value)| self.reported.get(name) != Some(value)).collect();
        self.reported.extend(changed.iter().cloned());
        changed
    }

    /// Notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Raised by a CancelRequest.
    pub fn cancel_flag(&self) -> Arc<CancelFlag> {
        self.cancel.clone()
    }

    /// Says how this session's connection is closed when it holds on to a snapshot that a FORGET has ended.
    pub fn set_closer(&self, closer: Closer) {
        self.holder.set_closer(closer);
    }

    /// PostgreSQL's backend pid.
    pub fn backend_id(&self) -> i32 {
        self.backend
    }

    /// How values are written as text.
    pub fn text_context(&self) -> TextContext {
        let catalog = self.catalog();
        let started = self.active.as_ref().map_or(self.statement_started, |active| active.transaction.started_at);
        let version = {
            let state = self.state.lock();
            let version = state.settings.version();
            if let Some((made_at, made_for, text)) = &state.text
                && *made_at == version
                && Arc::ptr_eq(made_for, &catalog)
            {
                return TextContext { now: text.now.map(|_| started), ..text.clone() };
            }
            version
        };
        // Reading the settings takes the lock again.
        let text = self.eval_context(Arc::from([]), &catalog).text_context();
        self.state.lock().text = Some((version, catalog, text.clone()));
        text
    }

    /// Whether the session is in a transaction block.
    pub fn status(&self) -> TransactionStatus {
        match &self.active {
            Some(Active { failed: true, .. }) => TransactionStatus::Failed,
            Some(Active { block: true, .. }) => TransactionStatus::InTransaction,
            Some(_) | None => TransactionStatus::Idle,
        }
    }

    /// Splits a query string.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>, SqlError> {
        Ok(planner::parse::parse(sql)?)
    }

    /// Resolves and plans a statement. Some parameter types may be known.
    pub fn prepare(
        &mut self,
        parsed: ParsedStatement,
        param_types: &[Option<ScalarType>],
    ) -> Result<Arc<Prepared>, SqlError> {
        if self.status() == TransactionStatus::Failed && !ends_failed_block(&parsed.statement) {
            return Err(block_failed());
        }
        let catalog = self.catalog();
        let mut prepared = statement::prepare(parsed, &catalog, param_types)?;
        if let Some(columns) = self.late_columns(&prepared.statement) {
            prepared.columns = Some(columns);
        }
        Ok(Arc::new(prepared))
    }

    /// Runs a prepared statement. `in_script`: more statements of the same query string follow, so that they
    /// share one implicit transaction.
    pub fn execute(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        self.cancel.clear();
        self.statement_started = clock::now_micros();
        let timeout = self.state.lock().everyday().statement_timeout;
        self.deadline = timeout.map(|timeout| Instant::now() + timeout);
        self.execute_again(prepared, params, in_script)
    }

    /// Whether a statement, run now, would be a transaction by itself of which nothing stays when it fails, so that
    /// it can be run again.
    pub fn stands_alone(&self, prepared: &Prepared) -> bool {
        self.active.is_none() && statement::is_repeatable(prepared)
    }

    /// Takes a statement back that stood alone. Its notices go with it.
    pub fn take_back(&mut self, error: &SqlError) {
        self.fail(error);
        self.notices.clear();
    }

    /// As `execute`, for one that was taken back: what it was given to begin with, a cancel and its deadline among it, holds on.
    pub fn execute_again(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        self.release_ended();
        if self.status() == TransactionStatus::Failed && !ends_failed_block(&prepared.statement) {
            return Err(block_failed());
        }
        let response = self.run(prepared, params, in_script)?;
        if in_script {
            self.company = Some(Company::Script);
        } else if !prepared.statement.ends_or_begins_transaction() {
            self.company.get_or_insert(Company::Pipeline);
        }
        Ok(response)
    }

    /// Lets go of the snapshots that a FORGET has ended, so that it need not wait for a session that goes on. Who asks
    /// for them is told later.
    fn release_ended(&mut self) {
        let forgotten_at = self.database.forgotten_at();
        if forgotten_at == self.released_at {
            return;
        }
        self.released_at = forgotten_at;
        if let Some(active) = &mut self.active {
            active.transaction.release_ended();
        }
        self.cursors.values_mut().filter(|cursor| cursor.opened_at < forgotten_at).for_each(Cursor::release);
    }

    /// Ends the implicit transaction, if there is one: commits it, durably, before the client hears of it.
    pub fn complete(&mut self) -> Result<(), SqlError> {
        self.company = None;
        match self.active.take() {
            Some(active) if active.block => {
                self.active = Some(active);
                Ok(())
            }
            Some(active) => self.end(active, true).map(|_| ()),
            None => {
                // What SET has done stands, though no transaction began.
                self.state.lock().settings.end_transaction(true);
                Ok(())
            }
        }
    }

    /// After an error: the implicit transaction is rolled back, the block has failed.
    pub fn fail(&mut self, _error: &SqlError) {
        self.company = None;
        match self.active.take() {
            Some(mut active) if active.block => {
                active.failed = true;
                active.transaction.release_ended();
                self.active = Some(active);
            }
            Some(active) => {
                let _nothing_written = self.end(active, false);
            }
            None => self.state.lock().settings.end_transaction(false),
        }
    }

    /// Commits or rolls back. True if it committed.
    fn end(&mut self, active: Active, commit: bool) -> Result<bool, SqlError> {
        self.company = None;
        let unfilled = std::mem::take(&mut self.unfilled);
        if !commit || active.failed {
            drop(active);
            self.close_cursors(false);
            self.state.lock().settings.end_transaction(false);
            return Ok(false);
        }
        let patience = self.patience();
        let outcome = self.hold_cursors().and_then(|()| active.transaction.commit(&patience));
        self.close_cursors(outcome.is_ok());
        self.state.lock().settings.end_transaction(outcome.is_ok());
        self.committed = outcome?;
        unfilled.into_iter().for_each(|view| self.await_created(view));
        if !self.committed.erasures.is_empty() {
            self.database.holders.end_older(self.database.forgotten_at(), &self.holder);
        }
        for Erasure { receipt, .. } in &self.committed.erasures {
            self.notices.push(Notice {
                severity: "NOTICE",
                code: "00000",
                message: format!("receipt {}", receipt.id_text()),
                detail: Some(receipt.text().to_string()),
                hint: Some("\"dogwood verify --key public.key RECEIPT\" checks it without the server".into()),
            });
        }
        Ok(true)
    }

    /// At COMMIT, holdable cursors take their rows with them.
    fn hold_cursors(&mut self) -> Result<(), SqlError> {
        self.cursors.values_mut().filter(|cursor| cursor.hold).try_for_each(Cursor::hold_rows)
    }

    /// The end of a transaction closes its cursors, but those held over a commit.
    fn close_cursors(&mut self, committed: bool) {
        self.cursors.retain(|_, cursor| committed && cursor.hold);
        self.subscribed.clear();
    }

    /// The catalog as this session sees it: published, or with its own transaction's DDL.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        match &self.active {
            Some(active) if active.transaction.overlay().changes_schema() => {
                active.transaction.overlay().catalog().clone()
            }
            Some(_) | None => self.database.published.load().catalog().clone(),
        }
    }

    /// The transaction, begun for this statement if there is none.
    pub(super) fn transaction(&mut self) -> &mut Transaction {
        let active = self.active.take().unwrap_or_else(|| Active {
            transaction: Transaction::begin(&self.database, &self.holder, self.default_modes(), self.statement_started),
            block: false,
            failed: false,
        });
        &mut self.active.insert(active).transaction
    }

    fn default_modes(&self) -> Modes {
        self.state.lock().everyday().modes
    }

    pub(super) fn patience(&self) -> Patience {
        Patience {
            timeout: self.state.lock().everyday().lock_timeout,
            deadline: self.deadline,
            cancel: self.cancel.clone(),
        }
    }

    fn limits(&self, time: CommitTime) -> QueryLimits {
        QueryLimits {
            cancel: self.cancel.clone(),
            deadline: self.deadline,
            memory_bytes_max: self.database.config.query_memory_bytes_max,
            ended: self.database.ended_since(time),
        }
    }

    pub(super) fn eval_context(&self, params: Arc<[Datum]>, catalog: &Arc<Catalog>) -> EvalContext {
        let started = self.active.as_ref().map_or(self.statement_started, |active| active.transaction.started_at);
        EvalContext {
            params,
            environment: Arc::new(StatementEnvironment {
                database: self.database.clone(),
                state: self.state.clone(),
                catalog: catalog.clone(),
                transaction_started: started,
                statement_started: self.statement_started,
                user: self.user.clone(),
                database_name: self.database_name.clone(),
                backend: self.backend,
                cancel: self.cancel.clone(),
                deadline: self.deadline,
                modes: self.modes(),
            }),
        }
    }

    fn notice(&mut self, severity: &'static str, code: &'static str, message: impl Into<String>) {
        self.notices.push(Notice { severity, code, message: message.into(), detail: None, hint: None });
    }
}

fn block_failed() -> SqlError {
    SqlError::new("25P02", "current transaction is aborted, commands ignored until end of transaction block")
}

fn ends_failed_block(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::RollbackToSavepoint(_)
            | Statement::Ctx(CtxCommand::Commit | CtxCommand::Rollback)
    )
}
