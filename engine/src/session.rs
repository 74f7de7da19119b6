//! A client's session: its statements from text to response, its transaction, settings, cursors.
//!
//! Station on the trip: `wire` above, the planner and the transaction below. One session is used by one
//! thread; everything here blocks.

pub mod async_commit;
mod audit_entries;
mod audited_rows;
pub mod auditing;
mod cases;
pub mod client;
pub mod copy;
mod copy_in;
mod create_as;
mod current_statement;
pub mod cursor;
mod databases;
mod descriptions;
pub mod env;
mod evaluation;
mod explain;
mod failed_block;
mod gdpr;
mod locking;
pub mod login;
pub mod long_text;
mod names;
mod notifications;
mod ordered_indexes;
pub mod permit;
pub mod plan;
mod positioned;
mod prepared;
mod restored;
pub mod result_columns;
mod roles;
mod routines;
mod session_functions;
mod settlement;
mod standard_conforming_strings;
mod statement;
pub mod statement_path;
pub mod statement_shapes;
pub mod statements;
mod styles;
mod subscribe;
pub mod subscribed;
mod temporary;
mod transaction_modes;
mod utility;
mod view_choice;
mod view_filling;
mod with_writes;

use crate::response::{Response, TransactionStatus};
use crate::templates::Templates;
use auditing::SessionAudit;
use current_statement::{CurrentStatement, Deadlines};
use cursor::Cursor;
pub use databases::ConnectOptions;
use env::{Everyday, SessionState};
use login::Login;
use parking_lot::Mutex;
use plan::Prepared;
use planner::catalog::{Catalog, DatabaseId};
use planner::parse::ParsedStatement;
use planner::scalar::EvalContext;
use prepared::is_kept_as_sent;
use repr::poll::{self, Overseen, Overseer};
use repr::text::TextContext;
use repr::{CommitTime, Datum, RelationId, ScalarType};
use routines::Lending;
use settlement::Settlement;
use state::account::Account;
use state::activity::Owner;
use state::cancel::CancelFlag;
use state::interrupt::QueryLimits;
use state::locks::{LockKey, LockMode, Patience};
use state::notice::Notice;
use state::settings::SettingsVersion;
use state::snapshot_holders::{Closer, Holder, SnapshotHold};
use state::usage::DatabaseCounters;
use state::{SqlError, clock};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use subscribed::Subscribed;
use transactions::commit::Committed;
use transactions::database::Database;
use transactions::modes::Modes;
use transactions::receipt::{Erased, Erasure};
use transactions::transaction::{HeldState, Transaction};

/// A session.
pub struct Session {
    database: Arc<Database>,
    /// Statements by their shape, of all sessions.
    templates: Arc<Templates>,
    state: Arc<Mutex<SessionState>>,
    client: Client,
    control: Control,
    statement: CurrentStatement,
    transaction: CurrentTransaction,
    cursors: Cursors,
    audit: SessionAudit,
}

/// Who is served, and what it was told and will be.
struct Client {
    login: Login,
    /// It was a person's own login, and they are forgotten.
    is_forgotten: bool,
    database: Arc<str>,
    database_id: DatabaseId,
    backend: i32,
    notices: Vec<Notice>,
    /// Settings that it knows.
    reported: BTreeMap<String, String>,
    /// The version of the settings that `reported` is of.
    reported_version: u64,
}

/// By what others end what the session does.
struct Control {
    cancel: Arc<CancelFlag>,
    /// What ends its statements.
    account: Arc<Account>,
    /// The same, for threads that join.
    overseer: Arc<dyn Overseer>,
    /// What takes its snapshots away.
    holder: Arc<Holder>,
    /// What was forgotten when this session last let go of what had ended.
    released_at: CommitTime,
    /// Where its transactions are counted.
    counters: Arc<DatabaseCounters>,
    /// What functions have of it.
    lending: Lending,
    /// Of its settings.
    settings_version: SettingsVersion,
}

/// The transaction, and what its end leaves to be done.
#[derive(Default)]
struct CurrentTransaction {
    active: Option<Active>,
    /// Statements that have been run in it, if it is an implicit one.
    company: Option<Company>,
    /// Materialized views that it has made WITH DATA: whoever commits waits until they are filled.
    unfilled: Vec<RelationId>,
    /// A commit that was left to the pipeline.
    settlement: Settlement,
    /// A database that it drops: whoever commits ends those who have come in meanwhile.
    dropped: Option<DatabaseId>,
    /// What the last commit gave.
    committed: Committed,
    /// What the statement under way reads, if that was chosen for the views that it reads.
    pinned: Option<HeldState>,
}

/// Cursors by their names.
#[derive(Default)]
struct Cursors {
    open: HashMap<String, Cursor>,
    /// Of subscriptions.
    subscribed: HashMap<String, Subscribed>,
    /// What they have given and is not on the client's line yet.
    in_hand: Option<Arc<SnapshotHold>>,
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
    // It goes into the pipeline as it is.
    transaction: Box<Transaction>,
    /// Begun by BEGIN, rather than for one statement.
    block: bool,
    failed: bool,
}

impl Session {
    /// Opens a session for an authenticated login.
    pub fn connect(
        database: &Arc<Database>,
        templates: &Arc<Templates>,
        options: ConnectOptions,
    ) -> Result<Session, SqlError> {
        let mut session = Session::of_server(database, templates, options)?;
        session.audit_connected()?;
        Ok(session)
    }

    /// One of the server's own, in which nobody has logged in.
    pub(crate) fn of_server(
        database: &Arc<Database>,
        templates: &Arc<Templates>,
        options: ConnectOptions,
    ) -> Result<Session, SqlError> {
        let mut state = SessionState::default();
        state.settings.share(&database.sessions.settings);
        state.settings.force("session_authorization", options.user.clone());
        let cancel: Arc<CancelFlag> = Arc::default();
        let account = Account::of_session(&database.sessions.accounts, cancel.clone());
        let name = if options.database.is_empty() { options.user.clone() } else { options.database.clone() };
        let backend = database.next_backend();
        let database_id = databases::open(database, &name, &options.user, options.any_database)?;
        let mut notices = databases::start(database, database_id, &options, &mut state.settings)?;
        let role = database.published.load().catalog().role_of_login(&options.user);
        let login = Login { role, name: options.user.as_str().into() };
        login.check_opening(database, &name, database_id)?;
        login.check_person(database)?;
        let catalog = database.published.load().catalog().clone();
        let seen = (&*catalog, database_id);
        notices.extend(login.check_started(&mut state.settings, &options.settings, seen)?);
        let (address, connection) = (options.address(), options.connection);
        let owner = Owner { user: options.user.into(), role, database: name.into(), database_id, connection };
        let counters = database.usage().of_database(database_id);
        counters.sessions.fetch_add(1, Ordering::Relaxed);
        let client = Client {
            login,
            is_forgotten: false,
            database: owner.database.clone(),
            database_id,
            backend,
            notices,
            reported: state.settings.reported().into_iter().collect(),
            reported_version: state.settings.version(),
        };
        let control = Control {
            cancel,
            overseer: account.clone(),
            account,
            holder: database.sessions.holders.register(backend, database.next_transaction(), owner),
            released_at: database.forgotten_at(),
            counters,
            lending: Lending::default(),
            settings_version: state.settings.watched_version(),
        };
        // It may have been dropped meanwhile: who drops it looks at those that are there by now.
        databases::check_there(database, &client.database, database_id)?;
        control.holder.activity.is_called(state.settings.get("application_name").unwrap_or_default());
        let audit = SessionAudit::of(address);
        Ok(Session {
            database: database.clone(),
            templates: templates.clone(),
            state: Arc::new(Mutex::new(state)),
            client,
            control,
            statement: CurrentStatement::begun(clock::now_micros()),
            transaction: CurrentTransaction::default(),
            cursors: Cursors::default(),
            audit,
        })
    }

    /// Raised by a CancelRequest.
    pub fn cancel_flag(&self) -> Arc<CancelFlag> {
        self.control.cancel.clone()
    }

    /// Says how this session's connection is closed when it holds on to a snapshot that a FORGET has ended.
    pub fn set_closer(&self, closer: Closer) {
        self.control.holder.set_closer(closer);
    }

    /// PostgreSQL's backend pid.
    pub fn backend_id(&self) -> i32 {
        self.client.backend
    }

    /// How values are written as text.
    pub fn text_context(&self) -> TextContext {
        let catalog = self.catalog();
        let kept = {
            let state = self.state.lock();
            state.remembered.texts(state.settings.version(), &catalog, self.transaction_moment())
        };
        kept.unwrap_or_else(|| {
            let mut environment = self.environment(&catalog);
            // However the statement computes: this is for the client's values.
            environment.shown.has_no_styles = false;
            EvalContext::within(Arc::from([]), Arc::new(environment)).text_context()
        })
    }

    /// All that statements gave is on the client's line.
    pub fn sent(&mut self) {
        self.cursors.in_hand = None;
        self.cursors.subscribed.values_mut().for_each(Subscribed::sent);
    }

    /// Whether the session is in a transaction block.
    pub fn status(&self) -> TransactionStatus {
        match &self.transaction.active {
            Some(Active { failed: true, .. }) => TransactionStatus::Failed,
            Some(Active { block: true, .. }) => TransactionStatus::InTransaction,
            Some(_) | None => TransactionStatus::Idle,
        }
    }

    /// Splits a client's query string, and tells which of its names are cut.
    pub fn read(&mut self, sql: &str) -> Result<Vec<ParsedStatement>, SqlError> {
        match self.conforming(sql)? {
            Some(sql) => self.read_conforming(&sql),
            None => self.read_conforming(sql),
        }
    }

    fn read_conforming(&mut self, sql: &str) -> Result<Vec<ParsedStatement>, SqlError> {
        for cut in planner::parse::cut_names(sql) {
            self.notice("NOTICE", "42622", cut);
        }
        self.parse(sql)
    }

    fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>, SqlError> {
        if long_text::is_long(sql) {
            let sql = sql.to_owned();
            return long_text::run(&self.control.account, move || Ok(planner::parse::parse(&sql)?));
        }
        let _overseen = self.oversee();
        poll::unwinds_to(|| Ok(planner::parse::parse(sql)?))
    }

    /// Resolves and plans a statement. Some parameter types may be known.
    pub fn prepare(
        &mut self,
        parsed: ParsedStatement,
        param_types: &[Option<ScalarType>],
    ) -> Result<Arc<Prepared>, SqlError> {
        Ok(Arc::new(self.planned(parsed, param_types)?))
    }

    /// The same, of a query string of the simple protocol, which is kept whole by what it makes.
    pub fn prepare_sent(&mut self, parsed: ParsedStatement, source: &str) -> Result<Arc<Prepared>, SqlError> {
        let mut prepared = self.planned(parsed, &[])?;
        if is_kept_as_sent(&prepared.statement) {
            prepared.source = Some(source.into());
        }
        Ok(Arc::new(prepared))
    }

    fn planned(&self, parsed: ParsedStatement, param_types: &[Option<ScalarType>]) -> Result<Prepared, SqlError> {
        self.refuse_failed(&parsed.statement)?;
        if long_text::is_long(&parsed.text) {
            let (seen, param_types) = (self.seen(), param_types.to_vec());
            return long_text::run(&self.control.account, move || plan::prepare(parsed, &seen, &param_types));
        }
        let _overseen = self.oversee();
        poll::unwinds_to(|| plan::prepare(parsed, &self.seen(), param_types))
    }

    /// Runs a prepared statement. `in_script`: more statements of the same query string follow, so that they
    /// share one implicit transaction.
    pub fn execute(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        if !std::mem::take(&mut self.statement.beginning.begun) {
            if self.transaction.company.is_none() {
                self.control.cancel.clear();
            }
            self.begin_on_account();
        }
        self.statement.started = clock::now_micros();
        let transaction_at = self.transaction.active.as_ref().map(|active| active.transaction.begun.at);
        self.control.holder.activity.runs(&prepared.text, self.statement.started, transaction_at);
        self.execute_again(prepared, params, in_script)
    }

    /// A statement begins, which is parsed, planned and executed from here on, or goes on: with the timeout and the memory that
    /// a statement has.
    pub fn begin_statement(&mut self) {
        self.begin_on_account();
        (self.statement.beginning.begun, self.statement.beginning.goes_on) = (true, false);
    }

    /// The same for a statement that comes in several messages, up to the one that executes it: it begins with the first of them.
    pub fn begin_or_go_on(&mut self) {
        if !(self.statement.beginning.begun && self.statement.beginning.goes_on) {
            self.begin_statement();
            self.statement.beginning.goes_on = true;
        }
    }

    /// 57014 if a statement that goes on has no time left: a client may wait between its messages.
    pub fn check_going_on(&self) -> Result<(), SqlError> {
        if self.statement.beginning.begun && self.statement.beginning.goes_on {
            self.control.account.check()
        } else {
            Ok(())
        }
    }

    /// What comes next begins another statement.
    pub fn goes_on_no_more(&mut self) {
        self.statement.beginning.goes_on = false;
    }

    /// The end of implicit transactions is asked for: as a statement, if there is one.
    pub fn begin_completion(&mut self) {
        match self.transaction.active {
            Some(_) => self.begin_statement(),
            None => {
                (self.statement.beginning.begun, self.statement.beginning.goes_on) = (false, false);
                self.control.account.end();
            }
        }
    }

    fn begin_on_account(&mut self) {
        let Everyday { statement_timeout, transaction_timeout, statement_memory_bytes, log_min_duration, .. } =
            self.state.lock().everyday();
        self.statement.log.min_duration = log_min_duration;
        let statement = statement_timeout.map(|timeout| Instant::now() + timeout);
        let transaction = transaction_timeout.map(|timeout| self.transaction_began() + timeout);
        let statement = statement.into_iter().chain(transaction).min();
        self.statement.deadlines = Deadlines { statement, transaction, even_since: None };
        self.control.account.begin(statement, statement_memory_bytes);
    }

    /// Before something is kept for later statements: 53200 if all sessions together hold too much already.
    pub fn may_keep(&self) -> Result<(), SqlError> {
        self.database.sessions.accounts.check_keeping()
    }

    /// As long as this is held the calling thread works for the statement that has begun.
    pub fn oversee(&self) -> Overseen {
        poll::resume(&self.control.overseer)
    }

    /// Whether a statement, run now, would be a transaction by itself of which nothing stays when it fails, so that
    /// it can be run again.
    pub fn stands_alone(&self, prepared: &Prepared) -> bool {
        self.transaction.active.is_none() && plan::is_repeatable(prepared)
    }

    /// What runs next stands alone, and no erasure is carried out beside it: those wait, and end it only when it takes too long.
    pub fn hold_off_erasures(&mut self) -> Result<(), SqlError> {
        let patience = self.patience();
        self.transaction().lock(LockKey::Catalog, LockMode::Exclusive, &patience).map(|_| ())
    }

    /// Takes a statement back that stood alone. Its notices go with it.
    pub fn take_back(&mut self, error: &SqlError) {
        self.fail(error);
        self.client.notices.clear();
        self.state.lock().notices.clear();
    }

    /// As `execute`, for one that was taken back: what it was given to begin with, a cancel and its deadline among it, holds on.
    pub fn execute_again(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        let _overseen = self.oversee();
        self.release_ended();
        self.statement.stands = false;
        self.refuse_failed(&prepared.statement)?;
        if !failed_block::ends_failed_block(&prepared.statement) {
            self.check_not_ended()?;
        }
        self.audit_begins();
        let response = poll::unwinds_to(|| self.run(prepared, params, in_script));
        let response = self.audit_ends(response)?;
        if in_script {
            self.transaction.company = Some(Company::Script);
        } else if !prepared.statement.ends_or_begins_transaction() {
            self.transaction.company.get_or_insert(Company::Pipeline);
        }
        Ok(response)
    }

    /// 40001 if an erasure has ended the transaction: nothing of it is answered any more.
    pub fn check_not_ended(&self) -> Result<(), SqlError> {
        self.transaction.active.as_ref().map_or(Ok(()), |active| active.transaction.check_not_ended())
    }

    /// Whether what the last statement did was committed before its rows are read, as an erasure is: it is too late to cancel it.
    pub fn stands(&self) -> bool {
        self.statement.stands
    }

    /// No statement runs any more, though its transaction may not have ended: `statement_timeout` is not for the time between.
    pub fn ends_statement(&mut self) {
        self.statement.deadlines.statement = None;
    }

    /// Lets go of the snapshots that a FORGET has ended, so that it need not wait for a session that goes on. Who asks
    /// for them is told later.
    fn release_ended(&mut self) {
        let forgotten_at = self.database.forgotten_at();
        if forgotten_at == self.control.released_at {
            return;
        }
        self.control.released_at = forgotten_at;
        if let Some(active) = &mut self.transaction.active {
            active.transaction.release_ended();
        }
        self.cursors.open.values_mut().filter(|cursor| cursor.opened_at < forgotten_at).for_each(Cursor::release);
    }

    /// Ends the implicit transaction, if there is one: commits it, durably, before the client hears of it.
    pub fn complete(&mut self) -> Result<(), SqlError> {
        let _overseen = self.oversee();
        self.transaction.company = None;
        match self.transaction.active.take() {
            Some(active) if active.block => {
                self.transaction.active = Some(active);
                Ok(())
            }
            Some(active) => poll::unwinds_to(|| self.end(active, true)).map(|_| ()),
            None => {
                // What SET has done stands, though no transaction began.
                self.state.lock().end_transaction(true);
                self.control.counters.committed.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// After an error: the implicit transaction is rolled back, the block has failed.
    pub fn fail(&mut self, _error: &SqlError) {
        let _alone = poll::alone();
        self.transaction.company = None;
        match self.transaction.active.take() {
            Some(mut active) if active.block => {
                if !active.failed {
                    active.transaction.fail();
                }
                active.failed = true;
                active.transaction.release_ended();
                self.transaction.active = Some(active);
            }
            Some(active) => {
                let _nothing_written = self.end(active, false);
            }
            None => {
                self.state.lock().end_transaction(false);
                self.control.counters.rolled_back.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Commits or rolls back. True if it committed.
    fn end(&mut self, active: Active, commit: bool) -> Result<bool, SqlError> {
        self.transaction.company = None;
        let unfilled = std::mem::take(&mut self.transaction.unfilled);
        let dropped = self.transaction.dropped.take();
        if !commit || active.failed {
            let _alone = poll::alone();
            let changed_schema = active.transaction.overlay().has_definitions();
            drop(active);
            if changed_schema {
                let catalog = self.catalog();
                self.state.lock().forget_dropped_sequences(&catalog);
            }
            self.close_cursors(false);
            self.state.lock().end_transaction(false);
            self.control.counters.rolled_back.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        let patience = self.patience();
        let outcome = self.hold_cursors().and_then(|()| self.commit_and_tell(*active.transaction, &patience));
        self.close_cursors(outcome.is_ok());
        self.state.lock().end_transaction(outcome.is_ok());
        let counter =
            if outcome.is_ok() { &self.control.counters.committed } else { &self.control.counters.rolled_back };
        counter.fetch_add(1, Ordering::Relaxed);
        self.transaction.committed = outcome?;
        if let Some(id) = dropped {
            self.end_sessions_in(id);
        }
        unfilled.into_iter().for_each(|view| self.await_created(view));
        self.control.account.stand();
        if !self.transaction.committed.erasures.is_empty() {
            let wait = self.state.lock().everyday().forget_wait;
            self.database.end_older(&self.control.holder, wait);
        }
        for Erasure { receipt, .. } in
            self.transaction.committed.erasures.iter().filter(|erasure| erasure.of != Erased::Case)
        {
            self.client.notices.push(Notice {
                detail: Some(receipt.text().to_string()),
                hint: Some("\"dogwood verify --key public.key RECEIPT\" checks it without the server".into()),
                ..Notice::new("NOTICE", "00000", format!("receipt {}", receipt.id_text()))
            });
        }
        Ok(true)
    }

    /// The catalog as this session sees it: published, or with its own transaction's DDL.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        match &self.transaction.active {
            Some(active) => active.transaction.seen_schema().catalog().clone(),
            None if self.temporary().in_use() => {
                self.temporary().schema(&self.database.published.load().schema, None).catalog().clone()
            }
            None => self.database.published.load().catalog().clone(),
        }
    }

    /// The transaction, begun for this statement if there is none.
    pub(super) fn transaction(&mut self) -> &mut Transaction {
        if self.transaction.active.is_none() {
            let (modes, started) = (self.default_modes(), self.statement.started);
            let mut transaction = Box::new(Transaction::begin(&self.database, &self.control.holder, modes, started));
            transaction.pin(self.transaction.pinned.clone());
            self.transaction.active = Some(Active { transaction, block: false, failed: false });
            self.audit_transaction();
        }
        &mut self.transaction.active.as_mut().expect("it was begun").transaction
    }

    fn default_modes(&self) -> Modes {
        self.state.lock().everyday().modes
    }

    pub(super) fn patience(&self) -> Patience {
        Patience {
            timeout: self.state.lock().everyday().lock_timeout,
            deadline: self.statement.deadlines.statement,
            cancel: self.control.cancel.clone(),
            insists_from: None,
        }
    }

    fn limits(&self, time: CommitTime) -> QueryLimits {
        let ended = match &self.transaction.active {
            Some(active) => active.transaction.ended_since(time),
            None => self.database.ended_since(time),
        };
        QueryLimits { account: self.control.account.clone(), ended }
    }

    /// What `now()` is: when the transaction began, or else the statement.
    fn transaction_moment(&self) -> i64 {
        self.transaction.active.as_ref().map_or(self.statement.started, |active| active.transaction.begun.at)
    }

    fn notice(&mut self, severity: &'static str, code: &'static str, message: impl Into<String>) {
        self.client.notices.push(Notice::new(severity, code, message));
    }
}
