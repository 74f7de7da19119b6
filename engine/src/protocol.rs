//! What `wire` says to the engine and hears from it: plain values, no sockets, no async.
//!
//! The order of calls for one statement: `Session::parse` → `prepare` → `execute` → (rows are pulled)
//! → `complete` at the end of a simple query string or at Sync. An error goes through `Session::fail`.

pub use crate::session::prepared::{ResultColumns, Stored, differ, result_changed};
pub use crate::session::{Changed, Readiness, Subscribed, Told};
pub use planner::hir::OutputColumn;
use repr::{Datum, ScalarType};
use state::SqlError;
pub use state::answer::{AnswerRow, QueryRows};
pub use state::cancel::CancelFlag;
pub use state::notice::Notice;
use std::sync::Arc;

/// What ReadyForQuery reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Not in a transaction block.
    Idle,
    /// In one.
    InTransaction,
    /// In one that has failed: only ROLLBACK is taken (25P02).
    Failed,
}

/// What running a statement gives.
pub enum Response {
    /// The statement was empty.
    Empty,
    /// Done, with PostgreSQL's command tag ("INSERT 0 1", "BEGIN", "CREATE TABLE").
    Complete(String),
    /// Rows follow; the tag is the stream's.
    Rows(RowStream),
    /// COPY FROM STDIN: `wire` decodes the client's data and pushes rows.
    CopyIn(Box<dyn CopyIn>),
    /// COPY … TO STDOUT: rows to be encoded in this format.
    CopyOut(RowStream, CopyFormat),
    /// COPY (SUBSCRIBE …) TO STDOUT: what it tells, without an end, to be encoded in this format.
    Subscribed(Box<Subscribed>, CopyFormat),
}

/// Rows, pulled one by one. Dropping it ends the query.
pub struct RowStream {
    /// The result's columns.
    pub columns: Arc<[OutputColumn]>,
    /// The rows; each has one datum per column.
    pub rows: QueryRows,
    /// How the command tag is made.
    pub tag: RowTag,
}

/// The command tag of a statement that returns rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTag {
    /// This word and the number of rows sent: "SELECT 5", "FETCH 2", "COPY 10".
    Counted(&'static str),
    /// A fixed tag: "INSERT 0 3" with RETURNING, "SHOW", "EXPLAIN".
    Fixed(String),
}

/// The text formats of COPY (binary is refused by name).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFormat {
    /// CSV rather than text.
    pub csv: bool,
    /// DELIMITER; tab for text, comma for CSV.
    pub delimiter: u8,
    /// NULL; `\N` for text, empty for CSV.
    pub null: String,
    /// HEADER.
    pub header: bool,
    /// QUOTE (CSV).
    pub quote: u8,
    /// ESCAPE (CSV).
    pub escape: u8,
    /// FORCE_QUOTE columns (positions in the column list); `None` entry list means only where needed.
    pub force_quote: Vec<usize>,
    /// The one column is a document of its own: each value is sent as it is, one a line, without quoting.
    pub raw: bool,
}

/// A COPY FROM STDIN under way.
pub trait CopyIn: Send {
    /// The table's name, for the context of errors: "COPY t, line 3".
    fn table(&self) -> &str;
    /// The types and names of the columns that each row must have.
    fn columns(&self) -> &[OutputColumn];
    /// How the client's data is to be read.
    fn format(&self) -> &CopyFormat;
    /// One row, parsed.
    fn push(&mut self, session: &mut crate::session::Session, row: Vec<Datum>) -> Result<(), SqlError>;
    /// All rows are in: writes what is left and gives the tag ("COPY 100").
    fn finish(self: Box<Self>, session: &mut crate::session::Session) -> Result<String, SqlError>;
}

/// A prepared statement.
pub struct Prepared {
    /// The text, for `pg_stat_activity`-like relations and error positions.
    pub text: Arc<str>,
    /// Characters of the query string before it.
    pub offset: u32,
    /// What the parser made of it; planned again when the catalog has moved on.
    pub(crate) parsed: planner::parse::ParsedStatement,
    /// The statement alone.
    pub statement: planner::parse::Statement,
    /// Parameter types, inferred or given.
    pub param_types: Vec<ScalarType>,
    /// The result's columns; `None` if it returns no rows.
    pub columns: Option<Arc<[OutputColumn]>>,
    /// Whether clients may have been told of the columns, so that they must stay as they are.
    pub(crate) fixed_result: bool,
    /// The statement that prepared it, if not the protocol.
    pub(crate) source: Option<Arc<str>>,
    /// The plan and the catalog version that it was made against.
    pub(crate) plan: arc_swap::ArcSwap<crate::session::CachedPlan>,
}

impl Prepared {
    /// What the client sent to have it prepared.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or(&self.text)
    }
}
