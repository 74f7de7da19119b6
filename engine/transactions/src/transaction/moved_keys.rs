//! Rows whose keys a transaction has changed: what a cursor that stands on one follows.

use repr::{RelationId, RowKey};

/// A row that a statement has put under another key, or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// How many there were before the statement: a row moves once in each.
    pub statement: usize,
    /// Its table.
    pub relation: RelationId,
    /// The key that it had.
    pub from: RowKey,
    /// The key that it has, if it is there.
    pub to: Option<RowKey>,
}
