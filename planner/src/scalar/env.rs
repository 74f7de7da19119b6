//! What an expression may ask of the world: parameters, clock, settings, catalog, sequences.

pub(crate) mod names;
pub mod session_acts;

use super::table_func::{GivenRows, TableRows};
use crate::catalog::{Actor, Catalog, DatabaseId, RoleId, SearchPath};
use crate::statistics::{DatabaseUsage, KnownStatistics, ReadUsage, TableUsage};
use names::CatalogNames;
use repr::datetime::{DateStyle, Zone};
use repr::interval::IntervalStyle;
use repr::text::{ByteaOutput, TextContext};
use repr::{Array, ColumnType, Datum, Encoding, Id, ScalarType, SequenceId, ValueError};
use session_acts::SessionActs;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The session and transaction around an evaluation. The engine implements it; planner stays pure.
pub trait Environment: Send + Sync {
    /// Microseconds since 2000-01-01 UTC at the start of the transaction: `now()`.
    fn transaction_timestamp(&self) -> i64;
    /// The same at the start of the statement: `statement_timestamp()`.
    fn statement_timestamp(&self) -> i64;
    /// The same now: `clock_timestamp()`.
    fn clock_timestamp(&self) -> i64;
    /// Of which version the session's settings are: what follows from them stands while this does.
    fn settings_version(&self) -> u64 {
        0
    }
    /// How values are read and written, if that was kept since the settings or the catalog have changed last.
    fn kept_texts(&self) -> Option<TextContext> {
        None
    }
    /// Keeps it, as gathered at a version of the settings.
    fn keep_texts(&self, _version: u64, _texts: &TextContext) {}
    /// A session setting by its lower-case name ("timezone", "datestyle", …).
    fn setting(&self, name: &str) -> Option<String>;
    /// `set_config`; `local` for the transaction only.
    fn set_setting(&self, name: &str, value: &str, local: bool) -> Result<(), ValueError>;
    /// The catalog that the statement was planned against.
    fn catalog(&self) -> &Arc<Catalog>;
    /// The same over a catalog that a definition makes: what it fills in may ask for what it makes. `None` where nothing
    /// is defined.
    fn over(&self, _catalog: Arc<Catalog>) -> Option<Arc<dyn Environment>> {
        None
    }
    /// The login.
    fn session_user(&self) -> String;
    /// In whose name it is evaluated.
    fn actor(&self) -> Actor {
        Actor::of_login(RoleId::FIRST, self.session_user().into())
    }
    /// The database's name.
    fn database(&self) -> String;
    /// Which of the catalog's databases that is.
    fn database_id(&self) -> DatabaseId {
        DatabaseId::FIRST
    }
    /// `pg_backend_pid()`.
    fn backend_pid(&self) -> i32;
    /// Advances a sequence and returns its new value.
    fn next_value(&self, sequence: SequenceId) -> Result<i64, ValueError>;
    /// This session's last value of a sequence.
    fn current_value(&self, sequence: SequenceId) -> Result<i64, ValueError>;
    /// The last sequence value this session took, of any sequence: `lastval()`.
    fn last_value(&self) -> Result<i64, ValueError>;
    /// `setval`.
    fn set_value(&self, sequence: SequenceId, value: i64, is_called: bool) -> Result<(), ValueError>;
    /// A sequence's counter: the last value, or the first to come; and whether it was given.
    fn sequence_state(&self, sequence: SequenceId) -> Result<(i64, bool), ValueError>;
    /// Fills with random bytes from the system's generator (`random()`, `gen_random_uuid()`).
    fn random_bytes(&self, buffer: &mut [u8]);
    /// What `random()` gives: from 0 to below 1.
    fn random_fraction(&self) -> f64 {
        if let Some(fraction) = self.seeded_fraction() {
            return fraction;
        }
        let mut bytes = [0; 8];
        self.random_bytes(&mut bytes);
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
    }
    /// The same of a session that has said a seed.
    fn seeded_fraction(&self) -> Option<f64> {
        None
    }
    /// `setseed`: from here on the session's `random()` follows from the seed.
    fn set_seed(&self, _seed: f64) -> Result<(), ValueError> {
        nothing_to_ask()
    }
    /// Waits; fails with 57014 when the statement is cancelled or out of time.
    fn sleep(&self, duration: Duration) -> Result<(), ValueError>;
    /// Approximate bytes of a relation for `pg_relation_size`.
    fn relation_size(&self, relation: repr::RelationId) -> i64;
    /// The same of an index, for `pg_indexes_size`.
    fn index_size(&self, _index: repr::IndexId) -> i64 {
        0
    }
    /// The same of all relations of a database, and of their indexes.
    fn database_size(&self, _database: DatabaseId) -> i64 {
        let sizes = self.catalog().relations.keys().map(|id| self.relation_size(*id));
        sizes.fold(0, i64::saturating_add)
    }
    /// The rows of a table that its role's person owns or may access, columns that are hidden from them NULL, each behind its
    /// row's key; `owned`: those alone that are theirs and of which nothing is hidden.
    fn subject_rows(&self, _relation: repr::RelationId, _owned: bool) -> Result<Vec<Vec<Datum>>, ValueError> {
        nothing_to_ask()
    }
    /// What a function gives that somebody created.
    fn call_routine(&self, _routine: Id, _given: &[Datum]) -> Result<Datum, ValueError> {
        nothing_to_ask()
    }
    /// The same of one that gives rows, or of one row, as columns of these types.
    fn routine_rows(&self, _routine: Id, _given: &[Datum], _types: &[ScalarType]) -> Result<TableRows, ValueError> {
        nothing_to_ask()
    }
    /// What the audit log says.
    fn audit(&self, _question: &AuditQuestion) -> Result<TableRows, ValueError> {
        nothing_to_ask()
    }
    /// What functions do in the session.
    fn acts(&self) -> Result<&dyn SessionActs, ValueError> {
        nothing_to_ask()
    }
    /// The session's settings, where there is a session.
    fn settings(&self) -> Vec<ListedSetting> {
        Vec::new()
    }
    /// What is known of the sizes of tables.
    fn table_statistics(&self) -> Arc<KnownStatistics> {
        Arc::default()
    }
    /// What was done with a table.
    fn table_usage(&self, _table: repr::RelationId) -> TableUsage {
        TableUsage::default()
    }
    /// How often an index was read.
    fn index_usage(&self, _index: repr::IndexId) -> ReadUsage {
        ReadUsage::default()
    }
    /// What was done in a database.
    fn database_usage(&self, _database: DatabaseId) -> DatabaseUsage {
        DatabaseUsage::default()
    }
    /// The session's prepared statements, where there is a session.
    fn prepared_statements(&self) -> Vec<ListedStatement> {
        Vec::new()
    }
}

/// What the audit log is asked. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditQuestion {
    /// Of whoever appears so in it.
    Pseudonym(String),
    /// Of a data subject: its table, and its key as text.
    Person(repr::RelationId, String),
    /// From one time to another.
    Between(i64, i64),
    /// The same, by a role.
    Role(String, i64, i64),
    /// Whose data was touched then, by a role or by all: by table, role and operation, or by person.
    Breach {
        /// The role.
        role: Option<String>,
        /// From when.
        from: i64,
        /// Until when.
        to: i64,
        /// By person.
        people: bool,
    },
    /// The same, of a table or view.
    Table(repr::RelationId, i64, i64),
}

/// A prepared statement, for `pg_prepared_statements`.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedStatement {
    /// Its name.
    pub name: String,
    /// What the client sent to have it prepared.
    pub text: String,
    /// When, in microseconds since 2000-01-01 UTC.
    pub made_at: i64,
    /// The types of its parameters.
    pub parameter_types: Vec<ScalarType>,
    /// The types of its result's columns, if it has rows.
    pub result_types: Option<Vec<ScalarType>>,
    /// By PREPARE, rather than the protocol.
    pub from_sql: bool,
    /// How often it was executed. No plan is made for the values of parameters.
    pub executions: i64,
}

/// A setting, for `pg_settings`. Values are in the setting's unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSetting {
    /// Its name.
    pub name: &'static str,
    /// As it is.
    pub value: String,
    /// What its number counts.
    pub unit: Option<&'static str>,
    /// What it belongs to.
    pub category: &'static str,
    /// What it is, in a sentence.
    pub description: &'static str,
    /// More about it.
    pub further: Option<&'static str>,
    /// Who may change it: `internal` is nobody.
    pub context: &'static str,
    /// `bool`, `integer`, `real`, `enum` or `string`.
    pub kind: &'static str,
    /// Where its value is from.
    pub source: &'static str,
    /// The least and the greatest number.
    pub bounds: Option<(String, String)>,
    /// The words that it takes.
    pub words: Option<&'static [&'static str]>,
    /// As the server has it for a new session.
    pub default: String,
    /// What RESET goes back to.
    pub reset: String,
}

/// What every evaluation gets.
#[derive(Clone)]
pub struct EvalContext {
    /// Values of `$1`, `$2`, …, already of the planned types.
    pub params: Arc<[Datum]>,
    /// Rows that queries read by number: what subqueries that lock rows have given, what a write has at hand.
    pub given: GivenRows,
    /// The rest of the world.
    pub environment: Arc<dyn Environment>,
    /// Long lists as the session reads them.
    pub lists: CastLists,
    /// How the session reads and writes values.
    pub texts: KnownTexts,
}

/// How a session reads and writes values: gathered when a value is met for which it matters, and not for each of them. Each with
/// the version of the settings that it is of.
#[derive(Default)]
pub struct KnownTexts {
    texts: OnceLock<(u64, TextContext)>,
    names: OnceLock<(u64, Arc<CatalogNames>)>,
}

/// A copy begins anew: it may be given another environment.
impl Clone for KnownTexts {
    fn clone(&self) -> Self {
        KnownTexts::default()
    }
}

/// Long lists of literals that only the session can read, such as times without an offset: cast once, and not for each row.
#[derive(Default)]
pub struct CastLists(Mutex<Vec<(Arc<Array>, ColumnType, Datum)>>);

impl CastLists {
    /// Shorter lists are cast as often as they are met.
    pub(super) const ELEMENTS_MIN: usize = 64;

    /// What a cast of that array to that type gives, `made` when it is asked for the first time.
    pub(super) fn cast(
        &self,
        array: &Arc<Array>,
        to: &ColumnType,
        made: impl FnOnce() -> Result<Datum, ValueError>,
    ) -> Result<Datum, ValueError> {
        let is_this = |(own, known, _): &&(Arc<Array>, ColumnType, Datum)| Arc::ptr_eq(own, array) && known == to;
        if let Some((.., value)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().find(is_this) {
            return Ok(value.clone());
        }
        let value = made()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((array.clone(), to.clone(), value.clone()));
        Ok(value)
    }
}

/// A copy begins anew.
impl Clone for CastLists {
    fn clone(&self) -> Self {
        CastLists::default()
    }
}

impl EvalContext {
    /// The session's settings for text forms, `now` and the catalog's names included.
    pub fn text_context(&self) -> TextContext {
        self.with_texts(TextContext::clone)
    }

    /// Calls with the same. What a statement sets holds for what it evaluates from then on.
    pub(crate) fn with_texts<R>(&self, call: impl FnOnce(&TextContext) -> R) -> R {
        let version = self.environment.settings_version();
        let (known_at, known) = self.texts.texts.get_or_init(|| (version, self.gathered(version)));
        if *known_at == version { call(known) } else { call(&self.gathered(version)) }
    }

    fn gathered(&self, version: u64) -> TextContext {
        let environment = &*self.environment;
        if let Some(kept) = environment.kept_texts() {
            return kept;
        }
        let zone = environment.setting("timezone");
        let texts = TextContext {
            // A session always has a time zone, which SET has checked; without one there is no session, and no time is now.
            now: zone.as_ref().map(|_| environment.transaction_timestamp()),
            zone: zone.map_or_else(Zone::utc, |name| Zone::named(&name).unwrap_or_default()),
            catalog: Some(self.names()),
            ..styles(environment)
        };
        environment.keep_texts(version, &texts);
        texts
    }

    /// The session's time zone.
    pub fn zone(&self) -> Zone {
        self.with_texts(|texts| texts.zone.clone())
    }

    /// Names of the catalog's objects.
    pub(crate) fn names(&self) -> Arc<CatalogNames> {
        let version = self.environment.settings_version();
        let gathered = || Arc::new(CatalogNames::of_session(&*self.environment));
        let (known_at, known) = self.texts.names.get_or_init(|| (version, gathered()));
        if *known_at == version { known.clone() } else { gathered() }
    }

    /// Where the session looks for bare names, over a catalog that may not be the one of this context.
    pub fn search_path(&self, catalog: &Catalog) -> SearchPath {
        names::search_path(&*self.environment, catalog)
    }
}

/// How a session writes and reads values, without its zone, clock and catalog.
pub(crate) fn styles(environment: &dyn Environment) -> TextContext {
    let setting = |name: &str| environment.setting(name);
    TextContext {
        extra_float_digits: setting("extra_float_digits").and_then(|digits| digits.trim().parse().ok()).unwrap_or(1),
        bytea_output: match setting("bytea_output").as_deref() {
            Some("escape") => ByteaOutput::Escape,
            Some(_) | None => ByteaOutput::Hex,
        },
        date_style: setting("datestyle").and_then(|style| DateStyle::of_canonical(&style)).unwrap_or_default(),
        interval_style: match setting("intervalstyle").as_deref() {
            Some("postgres_verbose") => IntervalStyle::PostgresVerbose,
            Some("sql_standard") => IntervalStyle::SqlStandard,
            Some("iso_8601") => IntervalStyle::Iso8601,
            Some(_) | None => IntervalStyle::Postgres,
        },
        encoding: setting("client_encoding").and_then(|name| Encoding::named(&name)).unwrap_or_default(),
        ..TextContext::default()
    }
}

/// The environment of functions that ask for nothing but the catalog: UTC, ISO dates. And of temporal filters, which ask for
/// a moment besides.
struct NoEnvironment {
    catalog: Arc<Catalog>,
    moment: Arc<AtomicI64>,
}

impl EvalContext {
    /// For evaluating immutable expressions while planning; what asks for more gets an error or a fixed answer,
    /// so only `Volatility::Immutable` may be evaluated with it.
    pub fn immutable() -> EvalContext {
        static CONTEXT: std::sync::LazyLock<EvalContext> =
            std::sync::LazyLock::new(|| EvalContext::without_session(Arc::default()));
        CONTEXT.clone()
    }

    /// For what is the same for every session, such as the rows of a maintained view: this catalog, default
    /// settings, and no clock, user or sequence (planning has refused what asks for one).
    pub fn without_session(catalog: Arc<Catalog>) -> EvalContext {
        EvalContext::at_moments(catalog, Arc::default())
    }

    /// The same, with the clock at whatever moment `moment` is set to: for conditions of temporal filters.
    pub fn at_moments(catalog: Arc<Catalog>, moment: Arc<AtomicI64>) -> EvalContext {
        EvalContext::within(Arc::from([]), Arc::new(NoEnvironment { catalog, moment }))
    }

    /// In an environment, with values of parameters.
    pub fn within(params: Arc<[Datum]>, environment: Arc<dyn Environment>) -> EvalContext {
        EvalContext {
            params,
            given: GivenRows::default(),
            environment,
            lists: CastLists::default(),
            texts: KnownTexts::default(),
        }
    }
}

fn nothing_to_ask<T>() -> Result<T, ValueError> {
    Err(ValueError::new("XX000", "an immutable expression asked for its environment"))
}

impl Environment for NoEnvironment {
    fn transaction_timestamp(&self) -> i64 {
        self.moment.load(Ordering::Relaxed)
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn set_setting(&self, _name: &str, _value: &str, _local: bool) -> Result<(), ValueError> {
        nothing_to_ask()
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn session_user(&self) -> String {
        String::new()
    }
    fn database(&self) -> String {
        String::new()
    }
    fn backend_pid(&self) -> i32 {
        0
    }
    fn next_value(&self, _sequence: SequenceId) -> Result<i64, ValueError> {
        nothing_to_ask()
    }
    fn current_value(&self, _sequence: SequenceId) -> Result<i64, ValueError> {
        nothing_to_ask()
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        nothing_to_ask()
    }
    fn set_value(&self, _sequence: SequenceId, _value: i64, _is_called: bool) -> Result<(), ValueError> {
        nothing_to_ask()
    }
    fn sequence_state(&self, _sequence: SequenceId) -> Result<(i64, bool), ValueError> {
        nothing_to_ask()
    }
    fn random_bytes(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    fn sleep(&self, _duration: Duration) -> Result<(), ValueError> {
        nothing_to_ask()
    }
    fn relation_size(&self, _relation: repr::RelationId) -> i64 {
        0
    }
}
