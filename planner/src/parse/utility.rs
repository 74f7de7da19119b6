//! The nouns of session and utility statements: COPY, cursors, transactions, settings, maintenance.
//!
//! Read by `parse::session` and `parse::copy`; carried out by the engine's session, never by the planner.

use super::statement::{Identifier, ObjectName, Statement};
use sqlparser::ast;

/// BEGIN, START TRANSACTION
#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    /// How it was said, as the client is told: BEGIN or START TRANSACTION.
    pub tag: &'static str,
    /// The modes.
    pub modes: TransactionModes,
}

/// Transaction modes; `None` is not mentioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY (true) or READ WRITE
    pub read_only: Option<bool>,
    /// DEFERRABLE or NOT DEFERRABLE
    pub deferrable: Option<bool>,
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Treated as READ COMMITTED, as in PostgreSQL.
    ReadUncommitted,
    /// The default.
    ReadCommitted,
    /// One snapshot.
    RepeatableRead,
    /// One snapshot, reads validated.
    Serializable,
}

/// COPY
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// What is copied.
    pub source: CopySource,
    /// FROM or TO, and where.
    pub direction: CopyDirection,
    /// Its options.
    pub options: CopyOptions,
}

/// What COPY copies.
#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    /// table [(columns)]
    Table(ObjectName, Vec<Identifier>),
    /// (statement): a query, DML with RETURNING, SUBSCRIBE, GDPR GET or GDPR EXPORT.
    Statement(Box<Statement>, String),
}

/// Where COPY goes.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyDirection {
    /// FROM STDIN
    FromStdin,
    /// TO STDOUT
    ToStdout,
    /// FROM or TO a file or program on the server: always refused.
    Server(String),
}

/// COPY's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// FORMAT
    pub format: CopyLayout,
    /// DELIMITER; `None` is the format's own.
    pub delimiter: Option<String>,
    /// NULL; `None` is the format's own.
    pub null: Option<String>,
    /// HEADER
    pub header: CopyHeader,
    /// QUOTE
    pub quote: Option<String>,
    /// ESCAPE
    pub escape: Option<String>,
    /// FORCE_QUOTE: `Some(empty)` is `*`.
    pub force_quote: Option<Vec<String>>,
    /// FORCE_NOT_NULL
    pub force_not_null: Vec<String>,
    /// FORCE_NULL
    pub force_null: Vec<String>,
    /// ENCODING
    pub encoding: Option<String>,
    /// DEFAULT marker
    pub default: Option<String>,
    /// WHERE of COPY FROM
    pub condition: Option<ast::Expr>,
}

/// COPY's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyLayout {
    /// PostgreSQL's tab-separated text.
    Text,
    /// CSV.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// HEADER false | true | MATCH
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyHeader {
    /// None.
    Absent,
    /// The first line is a header.
    Present,
    /// The first line must name the columns.
    Match,
}

/// DECLARE … CURSOR FOR
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: String,
    /// BINARY
    pub binary: bool,
    /// SCROLL (true), NO SCROLL (false), or neither.
    pub scroll: Option<bool>,
    /// WITH HOLD
    pub hold: bool,
    /// A query, or SUBSCRIBE.
    pub statement: Box<Statement>,
    /// The query's text.
    pub text: String,
}

/// FETCH and MOVE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor.
    pub cursor: String,
    /// Which rows.
    pub direction: FetchDirection,
    /// MOVE: rows are passed over, not sent.
    pub is_move: bool,
    /// WITH (timeout = '…'), of subscriptions.
    pub timeout: Option<String>,
}

/// Which rows FETCH takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// NEXT, FORWARD, n, FORWARD n: that many onwards; negative is backwards.
    Forward(i64),
    /// ALL, FORWARD ALL
    ForwardAll,
    /// BACKWARD ALL
    BackwardAll,
    /// FIRST, LAST (-1), ABSOLUTE n
    Absolute(i64),
    /// RELATIVE n
    Relative(i64),
}

/// SET
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// SET LOCAL
    pub local: bool,
    /// The setting, spelled as it was written.
    pub name: String,
    /// The values; `None` is DEFAULT.
    pub values: Option<Vec<SetValue>>,
}

/// A value in SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A string, or a word.
    Text(String),
    /// A number, as it was written.
    Number(String),
}

impl SetValue {
    /// As it was written, without quotes.
    pub fn text(&self) -> &str {
        match self {
            SetValue::Text(text) | SetValue::Number(text) => text,
        }
    }
}

/// SHOW
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// SHOW ALL
    All,
    /// SHOW name, spelled as it was written.
    Setting(String),
}

/// LOCK TABLE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTable {
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// The mode.
    pub mode: TableLockMode,
    /// NOWAIT
    pub no_wait: bool,
}

/// Table lock modes, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLockMode {
    /// ACCESS SHARE
    AccessShare,
    /// ROW SHARE
    RowShare,
    /// ROW EXCLUSIVE
    RowExclusive,
    /// SHARE UPDATE EXCLUSIVE
    ShareUpdateExclusive,
    /// SHARE
    Share,
    /// SHARE ROW EXCLUSIVE
    ShareRowExclusive,
    /// EXCLUSIVE
    Exclusive,
    /// ACCESS EXCLUSIVE, the default
    AccessExclusive,
}

/// VACUUM and ANALYZE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vacuum {
    /// The tables; empty for all.
    pub tables: Vec<ObjectName>,
    /// VACUUM FULL
    pub full: bool,
    /// VACUUM ANALYZE
    pub analyze: bool,
}

/// What REINDEX names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReindexNames {
    /// The table or index.
    pub relation: Option<ObjectName>,
    /// The schema.
    pub schema: Option<Identifier>,
}
