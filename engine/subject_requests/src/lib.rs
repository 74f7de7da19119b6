//! Subject requests: access and erasure. What becomes of the rows that `operators::traversal` finds.
//!
//! The plan is the planner's: `planner::ownership::traversal`. All read through the one reader interface; an erasure writes
//! through the one write path.

pub mod access;
pub mod book;
pub mod disposition;
pub mod erase;
pub mod explain;
pub mod export;
pub mod forget_again;
pub mod notices;
pub mod own;
pub mod read_ahead;
pub mod restrict;
pub mod retain;

use operators::traversal::Subject;
use repr::{Datum, RowKey};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::shape::TableShape;
use std::sync::Arc;

/// Finds a data subject by its primary key. DG003 if there is none.
pub fn find(snapshot: &LayeredSnapshot, shape: &Arc<TableShape>, primary_key: &[Datum]) -> Result<Subject, SqlError> {
    let table = shape.table();
    if !table.data_subject {
        return Err(SqlError::new("42809", format!("table \"{}\" is not a data-subject table", table.name))
            .hint("subject requests name a table declared DATA_SUBJECT and a primary key of it"));
    }
    let row_key = shape.key_of(snapshot.store(), primary_key);
    match snapshot.subject(shape.id(), &row_key)? {
        Some(microdb) => Ok(Subject { shape: shape.clone(), row_key, microdb }),
        None => Err(no_such_subject(snapshot, shape, &row_key)?),
    }
}

/// DG003, whoever it is.
pub fn absent(shape: &TableShape) -> SqlError {
    SqlError::new("DG003", format!("no such data subject in table \"{}\"", shape.full_name()))
}

/// DG003, with the receipt if the person was forgotten.
fn no_such_subject(snapshot: &LayeredSnapshot, shape: &TableShape, row_key: &RowKey) -> Result<SqlError, SqlError> {
    with_receipt(absent(shape), snapshot, (shape, row_key), "Forgotten already")
}

/// With the receipt, if there was a person of that key who was forgotten.
fn with_receipt(
    error: SqlError,
    snapshot: &LayeredSnapshot,
    (shape, row_key): (&TableShape, &RowKey),
    said: &str,
) -> Result<SqlError, SqlError> {
    let store = snapshot.store();
    let earlier = store.snapshot().meta(&store.forgotten_key(shape.id(), row_key))?;
    Ok(match earlier {
        Some(id) => error.detail(format!("{said}: receipt {}.", String::from_utf8_lossy(&id))),
        None => error,
    })
}
