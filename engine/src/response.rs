//! What running a statement gives.

use crate::session::copy::{CopyFormat, CopyIn};
use crate::session::subscribed::Subscribed;
use planner::hir::OutputColumn;
use repr::Datum;
use state::answer::QueryRows;
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
    CopyIn(Box<CopyIn>),
    /// COPY … TO STDOUT: rows to be encoded in this format.
    CopyOut(RowStream, CopyFormat),
    /// SUBSCRIBE: what it tells, mostly without an end. In COPY … TO STDOUT to be encoded in this format, by itself as rows.
    Subscribed(Box<Subscribed>, Option<CopyFormat>),
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

/// A fixed result of text values.
pub(crate) fn text_rows(columns: Arc<[OutputColumn]>, rows: Vec<Vec<String>>, tag: &str) -> Response {
    let rows = rows.into_iter().map(|row| Ok(row.into_iter().map(|value| Datum::Text(value.into())).collect()));
    Response::Rows(RowStream { columns, rows: QueryRows::new(rows), tag: RowTag::Fixed(tag.into()) })
}
