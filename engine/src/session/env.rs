//! What expressions see of their session: clock, settings, sequences, catalog.

use crate::session::login::Login;
use crate::session::routines::{KnownBodies, Lent};
use crate::session::statements::Statements;
use crate::session::styles;
use crate::system::audit::AuditReader;
use parking_lot::Mutex;
use planner::catalog::{Actor, Catalog, DatabaseId, SearchPath, Sequence};
use planner::scalar::{
    AuditQuestion, Environment, ListedCursor, ListedSetting, ListedStatement, SessionActs, TableRows,
};
use planner::statistics::{DatabaseUsage, KnownStatistics, ReadUsage, TableUsage};
use repr::id::is_temporary;
use repr::poll::Overseer;
use repr::random::SeededRandom;
use repr::text::TextContext;
use repr::{Datum, Id, IndexId, RelationId, ScalarType, SequenceId, ValueError};
use state::account::Account;
use state::audit::AuditMode;
use state::cancel::CancelFlag;
use state::locks::TransactionId;
use state::notice::Notice;
use state::notifications::PendingNotifications;
use state::settings::{Settings, SettingsVersion};
use state::snapshot_holders::Holder;
use state::{SqlError, clock};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use subject_requests::own::OwnRows;
use transactions::database::Database;
use transactions::modes::{Isolation, Modes};
use transactions::transaction::HeldState;

/// Rows may come before labels while this is on.
pub(crate) const RESTORING: &str = "dogwood.restoring";

/// What outlives a statement: settings, prepared statements and the sequence values that this session took.
#[derive(Default)]
pub struct SessionState {
    /// Settings.
    pub settings: Settings,
    pub(super) statements: Statements,
    /// What the transaction will have said to other sessions.
    pub(super) pending: PendingNotifications,
    /// The transaction's number, once it was asked for.
    pub(super) transaction_number: Option<u64>,
    /// What functions have to say to the client.
    pub(super) notices: Vec<Notice>,
    drawn: Drawn,
    pub(super) remembered: Remembered,
    /// What every statement asks of the settings, as of a version of them.
    everyday: Option<(u64, Everyday)>,
}

/// What follows from the settings and the catalog, as of a version of those and that catalog.
#[derive(Default)]
pub(super) struct Remembered {
    /// How values are written.
    pub text: Option<(u64, Arc<Catalog>, TextContext)>,
    /// Where bare names are looked for.
    pub path: Option<(u64, Arc<Catalog>, Arc<SearchPath>)>,
    /// What is in the session's database, of a catalog.
    pub own: Option<(Arc<Catalog>, Arc<Catalog>)>,
    /// The bodies of functions.
    pub bodies: KnownBodies,
}

impl Remembered {
    /// How values are written with that version of the settings and that catalog, in a transaction that began then.
    pub(super) fn texts(&self, version: u64, catalog: &Arc<Catalog>, began: i64) -> Option<TextContext> {
        let (made_at, made_for, texts) = self.text.as_ref()?;
        let holds = *made_at == version && Arc::ptr_eq(made_for, catalog);
        holds.then(|| TextContext { now: texts.now.map(|_| began), ..texts.clone() })
    }
}

/// What a session has drawn, and what it draws from.
#[derive(Default)]
struct Drawn {
    /// Of sequences.
    values: TakenValues,
    /// What `random()` gives once the session has said a seed.
    seeded: Option<SeededRandom>,
}

/// The values of sequences that a session has taken.
#[derive(Default)]
struct TakenValues {
    of: HashMap<SequenceId, i64>,
    last: Option<SequenceId>,
}

/// Settings that every statement asks for.
#[derive(Clone, Copy)]
pub(super) struct Everyday {
    pub statement_timeout: Option<Duration>,
    pub statement_memory_bytes: usize,
    pub lock_timeout: Option<Duration>,
    pub transaction_timeout: Option<Duration>,
    /// What an erasure leaves others to end by themselves.
    pub forget_wait: Duration,
    pub idle_session_timeout: Option<Duration>,
    pub idle_in_transaction_timeout: Option<Duration>,
    /// Of a transaction that does not say otherwise.
    pub modes: Modes,
    /// Whether its queries may be views, and read ordered indexes in memory.
    pub auto_views: bool,
    /// Whether policies may have a say, or what they would bind is refused.
    pub row_security: bool,
    /// From how long on a statement is logged.
    pub log_min_duration: Option<Duration>,
    /// How sure the audit log is of what it does.
    pub audit: AuditMode,
}

impl SessionState {
    /// Forgets the values of sequences that are not there: their ids may be those of others one day.
    pub(super) fn forget_dropped_sequences(&mut self, catalog: &Catalog) {
        self.drawn.values.of.retain(|sequence, _| catalog.sequences.contains_key(sequence));
    }

    /// SAVEPOINT
    pub(super) fn savepoint(&mut self) {
        self.settings.savepoint();
        self.pending.savepoint();
    }

    /// RELEASE SAVEPOINT of the transaction's n-th.
    pub(super) fn release_savepoint(&mut self, position: usize) {
        self.settings.release_savepoint(position);
        self.pending.release_savepoint(position);
    }

    /// ROLLBACK TO SAVEPOINT, the transaction's n-th.
    pub(super) fn roll_back_to_savepoint(&mut self, position: usize) {
        self.settings.roll_back_to_savepoint(position);
        self.pending.roll_back_to_savepoint(position);
    }

    /// A transaction has ended. What it had to say is said already, or never.
    pub(super) fn end_transaction(&mut self, committed: bool) {
        self.settings.end_transaction(committed);
        self.pending = PendingNotifications::default();
        self.transaction_number = None;
    }

    /// DISCARD SEQUENCES: `currval` and `lastval` have nothing to say again.
    pub(super) fn forget_sequences(&mut self) {
        self.drawn.values = TakenValues::default();
    }

    /// Read again only after a setting has changed.
    pub(super) fn everyday(&mut self) -> Everyday {
        let version = self.settings.version();
        match self.everyday {
            Some((of, everyday)) if of == version => everyday,
            Some(_) | None => self.everyday.insert((version, Everyday::of(&self.settings))).1,
        }
    }
}

impl Everyday {
    fn of(settings: &Settings) -> Everyday {
        let isolation = match settings.get("default_transaction_isolation") {
            Some("read uncommitted") => Isolation::ReadUncommitted,
            Some("repeatable read") => Isolation::RepeatableRead,
            Some("serializable") => Isolation::Serializable,
            Some(_) | None => Isolation::ReadCommitted,
        };
        Everyday {
            statement_timeout: settings.timeout("statement_timeout"),
            statement_memory_bytes: settings.size("statement_memory"),
            lock_timeout: settings.timeout("lock_timeout"),
            transaction_timeout: settings.timeout("transaction_timeout"),
            forget_wait: settings.timeout("dogwood.forget_wait").unwrap_or_default(),
            idle_session_timeout: settings.timeout("idle_session_timeout"),
            idle_in_transaction_timeout: settings.timeout("idle_in_transaction_session_timeout"),
            modes: Modes {
                isolation,
                read_only: settings.is_on("default_transaction_read_only"),
                deferrable: settings.is_on("default_transaction_deferrable"),
            },
            auto_views: settings.is_on("dogwood.auto_views"),
            row_security: settings.is_on("row_security"),
            log_min_duration: settings.log_min_duration(),
            audit: settings.get("dogwood.audit").map_or_else(AuditMode::default, AuditMode::named),
        }
    }
}

/// The environment of one statement.
#[derive(Clone)]
pub struct StatementEnvironment {
    /// The database.
    pub database: Arc<Database>,
    /// The session's state.
    pub state: Arc<Mutex<SessionState>>,
    /// The catalog that the statement was planned against, of its database.
    pub catalog: Arc<Catalog>,
    /// When it began.
    pub started: Started,
    /// Whose it is.
    pub client: ClientNames,
    /// What ends the statement.
    pub account: Arc<Account>,
    /// Settings that are not as the session has set them.
    pub shown: ShownOtherwise,
    /// For what it does, rather than asks.
    pub acting: Acting,
}

/// Settings that a transaction or a statement has of its own.
#[derive(Clone)]
pub struct ShownOtherwise {
    /// `transaction_isolation`, `transaction_read_only`
    pub modes: Modes,
    /// Whether values are read and written as without a session.
    pub has_no_styles: bool,
    /// Of the session's settings.
    pub version: SettingsVersion,
}

/// In whose name functions act.
#[derive(Clone)]
pub struct Acting {
    /// The session.
    pub holder: Arc<Holder>,
    /// Its transaction, if there is one.
    pub transaction: Option<TransactionId>,
    /// Whether that has written.
    pub has_written: bool,
    /// `statement_timeout`
    pub deadline: Option<Instant>,
    /// Raised to cancel the statement.
    pub cancel: Arc<CancelFlag>,
    /// The session's cursors.
    pub cursors: Vec<ListedCursor>,
    /// To a person's own login, what is theirs.
    pub own: Option<Arc<OwnRows>>,
    /// What some queries have besides.
    pub query: OfQuery,
}

/// What few queries have.
#[derive(Clone)]
pub struct OfQuery {
    /// What it reads, if it may export that.
    pub exportable: Option<Exportable>,
    /// What calls functions that somebody created.
    pub lent: Option<Arc<Lent>>,
}

/// What a statement reads, which others may read too.
#[derive(Clone)]
pub struct Exportable {
    /// The state.
    pub state: HeldState,
    /// Whether its transaction has savepoints to go back to.
    pub in_savepoint: bool,
}

/// When a statement began.
#[derive(Clone, Copy)]
pub struct Started {
    /// `now()`
    pub transaction: i64,
    /// `statement_timestamp()`
    pub statement: i64,
}

/// Who a client is, and to what it has connected.
#[derive(Clone)]
pub struct ClientNames {
    /// Who has logged in.
    pub login: Login,
    /// As whom it acts.
    pub actor: Actor,
    /// The database's name.
    pub database: Arc<str>,
    /// Which of the catalog's databases that is.
    pub database_id: DatabaseId,
    /// The backend's number.
    pub backend: i32,
}

// How often `pg_sleep` looks up.
const SLEEP_POLL: Duration = Duration::from_millis(10);

impl StatementEnvironment {
    /// 25006 for a sequence that others count by, too.
    fn refuse_read_only(&self, sequence: SequenceId, what: &str) -> Result<(), ValueError> {
        if self.shown.modes.read_only && !is_temporary(sequence.0) {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(ValueError::new("25006", message));
        }
        Ok(())
    }

    fn sequence(&self, id: SequenceId) -> Result<&Arc<Sequence>, ValueError> {
        self.catalog.sequences.get(&id).ok_or_else(|| ValueError::new("42P01", "the sequence does not exist"))
    }
}

pub(super) fn value_error(error: SqlError) -> ValueError {
    ValueError { detail: error.detail, hint: error.hint, ..ValueError::new(error.code, error.message) }
}

/// 0A000 where a function is called by what cannot wait for it.
fn not_here() -> ValueError {
    value_error(
        SqlError::unsupported("a function that is more than one SELECT in this place")
            .hint("Call it first, and give the statement what it returned."),
    )
}

impl Environment for StatementEnvironment {
    fn transaction_timestamp(&self) -> i64 {
        self.started.transaction
    }
    fn statement_timestamp(&self) -> i64 {
        self.started.statement
    }
    fn clock_timestamp(&self) -> i64 {
        clock::now_micros()
    }
    fn settings_version(&self) -> u64 {
        self.shown.version.get()
    }
    fn kept_texts(&self) -> Option<TextContext> {
        let now = self.started.transaction;
        let kept = |state: &SessionState| state.remembered.texts(state.settings.version(), &self.catalog, now);
        if self.shown.has_no_styles { None } else { kept(&self.state.lock()) }
    }
    fn keep_texts(&self, version: u64, texts: &TextContext) {
        if !self.shown.has_no_styles {
            self.state.lock().remembered.text = Some((version, self.catalog.clone(), texts.clone()));
        }
    }
    fn setting(&self, name: &str) -> Option<String> {
        if let Some(mode) = self.shown.modes.shown(name) {
            return Some(mode.to_string());
        }
        if self.shown.has_no_styles
            && let Some(value) = styles::without_session(name)
        {
            return Some(value.to_owned());
        }
        self.state.lock().settings.show(name).ok().map(|(_, value)| value)
    }
    fn set_setting(&self, name: &str, value: &str, local: bool) -> Result<(), ValueError> {
        if name.eq_ignore_ascii_case(RESTORING) {
            // Its end changes the catalog, which no expression may.
            return Err(value_error(SqlError::unsupported(format!("set_config of {RESTORING}")).hint("use SET")));
        }
        if self.shown.modes.shown(name).is_some() {
            return Err(value_error(
                SqlError::unsupported(format!("set_config of {name}")).hint("use SET TRANSACTION"),
            ));
        }
        let mut state = self.state.lock();
        let published = self.database.published.load();
        let seen = (&**published.catalog(), self.client.database_id);
        let checked = self.client.login.check_setting(name, Some(value), &state.settings, seen);
        checked.and_then(|()| state.settings.set(name, Some(value), local)).map_err(value_error)
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn over(&self, catalog: Arc<Catalog>) -> Option<Arc<dyn Environment>> {
        Some(Arc::new(StatementEnvironment { catalog, ..self.clone() }))
    }
    fn session_user(&self) -> String {
        self.client.actor.login_name.to_string()
    }
    fn actor(&self) -> Actor {
        self.client.actor.clone()
    }
    fn database(&self) -> String {
        self.client.database.to_string()
    }
    fn database_id(&self) -> DatabaseId {
        self.client.database_id
    }
    fn backend_pid(&self) -> i32 {
        self.client.backend
    }
    fn next_value(&self, sequence: SequenceId) -> Result<i64, ValueError> {
        self.refuse_read_only(sequence, "nextval()")?;
        let value = self.database.sequences.next_value(self.sequence(sequence)?).map_err(value_error)?;
        let mut state = self.state.lock();
        state.drawn.values.of.insert(sequence, value);
        state.drawn.values.last = Some(sequence);
        Ok(value)
    }
    fn current_value(&self, sequence: SequenceId) -> Result<i64, ValueError> {
        let name = &self.sequence(sequence)?.name;
        let taken = self.state.lock().drawn.values.of.get(&sequence).copied();
        taken.ok_or_else(|| {
            ValueError::new("55000", format!("currval of sequence \"{name}\" is not yet defined in this session"))
        })
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        let state = self.state.lock();
        let last = state.drawn.values.last.filter(|last| self.catalog.sequences.contains_key(last));
        let taken = last.and_then(|last| state.drawn.values.of.get(&last).copied());
        taken.ok_or_else(|| ValueError::new("55000", "lastval is not yet defined in this session"))
    }
    fn set_value(&self, sequence: SequenceId, value: i64, is_called: bool) -> Result<(), ValueError> {
        self.refuse_read_only(sequence, "setval()")?;
        self.database.sequences.set_value(self.sequence(sequence)?, value, is_called).map_err(value_error)?;
        if is_called {
            let mut state = self.state.lock();
            state.drawn.values.of.insert(sequence, value);
            state.drawn.values.last = Some(sequence);
        }
        Ok(())
    }
    fn sequence_state(&self, sequence: SequenceId) -> Result<(i64, bool), ValueError> {
        self.database.sequences.state(self.sequence(sequence)?).map_err(value_error)
    }
    fn random_bytes(&self, buffer: &mut [u8]) {
        storage::random_bytes(buffer);
    }
    fn seeded_fraction(&self) -> Option<f64> {
        self.state.lock().drawn.seeded.as_mut().map(SeededRandom::next_fraction)
    }
    fn set_seed(&self, seed: f64) -> Result<(), ValueError> {
        self.state.lock().drawn.seeded = Some(SeededRandom::new(seed));
        Ok(())
    }
    fn sleep(&self, duration: Duration) -> Result<(), ValueError> {
        let end = Instant::now().checked_add(duration);
        loop {
            self.account.look(0)?;
            let now = Instant::now();
            // Longer than the clock reaches is for ever.
            let left = end.map_or(SLEEP_POLL, |end| end.saturating_duration_since(now));
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLEEP_POLL));
        }
    }
    fn subject_rows(&self, relation: RelationId, owned: bool) -> Result<Vec<Vec<Datum>>, ValueError> {
        let unknown = || ValueError::new("0A000", "a person's own login cannot run this statement");
        self.acting.own.as_ref().ok_or_else(unknown)?.of(relation, owned).map_err(value_error)
    }
    fn call_routine(&self, routine: Id, given: &[Datum]) -> Result<Datum, ValueError> {
        self.acting.query.lent.as_ref().ok_or_else(not_here)?.call(routine, given)
    }
    fn routine_rows(&self, routine: Id, given: &[Datum], types: &[ScalarType]) -> Result<TableRows, ValueError> {
        self.acting.query.lent.as_ref().ok_or_else(not_here)?.rows(routine, given, types)
    }
    fn audit(&self, question: &AuditQuestion) -> Result<TableRows, ValueError> {
        let reader = AuditReader::new(&self.database, &self.catalog, &self.client.actor).map_err(value_error)?;
        let rows = reader.answer(question).map_err(value_error)?;
        Ok(Box::new(rows.map(|row| Ok(row.map_err(value_error)?.unpack()))))
    }
    fn acts(&self) -> Result<&dyn SessionActs, ValueError> {
        Ok(self)
    }
    fn settings(&self) -> Vec<ListedSetting> {
        let mut listed = self.state.lock().settings.listed();
        for setting in &mut listed {
            if let Some(mode) = self.shown.modes.shown(setting.name) {
                setting.value = mode.to_string();
            }
        }
        listed
    }
    fn prepared_statements(&self) -> Vec<ListedStatement> {
        self.state.lock().statements.list()
    }
    fn table_statistics(&self) -> Arc<KnownStatistics> {
        self.database.views.statistics.tables.known()
    }
    fn table_usage(&self, table: RelationId) -> TableUsage {
        self.database.usage().table(table)
    }
    fn index_usage(&self, index: IndexId) -> ReadUsage {
        self.database.usage().index(index)
    }
    fn database_usage(&self, database: DatabaseId) -> DatabaseUsage {
        self.database.usage().database(database)
    }
    fn relation_size(&self, relation: RelationId) -> i64 {
        i64::try_from(self.database.store.approximate_size(relation)).unwrap_or(i64::MAX)
    }
    fn index_size(&self, index: IndexId) -> i64 {
        i64::try_from(self.database.store.approximate_index_size(index)).unwrap_or(i64::MAX)
    }
    fn database_size(&self, database: DatabaseId) -> i64 {
        let published = self.database.published.load();
        let catalog = published.catalog();
        let its = catalog.relations.values().filter(|table| catalog.database_of(table.namespace) == database);
        let sizes = its.flat_map(|table| {
            let indexes = table.indexes.iter().map(|index| self.index_size(index.id));
            indexes.chain([self.relation_size(table.id)])
        });
        sizes.fold(0, i64::saturating_add)
    }
}
