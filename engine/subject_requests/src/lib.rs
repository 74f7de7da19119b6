//! Subject requests: access and erasure. Walks over the reversed data ownership graph.
//!
//! All read through the one reader interface; an erasure writes through the one write path.

pub mod access;
pub mod disposition;
pub mod erase;
pub mod explain;
pub mod export;
pub mod flow;
pub mod profile;
pub mod read_ahead;
pub mod traverse;

use repr::{Datum, MicroDbId, RowKey};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::shape::TableShape;
use std::sync::Arc;

/// A data subject that exists.
#[derive(Clone)]
pub struct Subject {
    /// Its table.
    pub shape: Arc<TableShape>,
    /// Its row.
    pub row_key: RowKey,
    /// Its µDB.
    pub microdb: MicroDbId,
}

/// Finds a data subject by its primary key. DG003 if there is none.
pub fn find(view: &LayeredSnapshot, shape: &Arc<TableShape>, primary_key: &[Datum]) -> Result<Subject, SqlError> {
    let table = shape.table();
    if !table.data_subject {
        return Err(SqlError::new("42809", format!("table \"{}\" is not a data-subject table", table.name))
            .hint("subject requests name a table declared DATA_SUBJECT and a primary key of it"));
    }
    let row_key = shape.key_of(view.store(), primary_key);
    match view.subject(shape.id(), &row_key)? {
        Some(microdb) => Ok(Subject { shape: shape.clone(), row_key, microdb }),
        None => Err(no_such_subject(view, shape, &row_key)?),
    }
}

/// DG003, with the receipt if the person was forgotten.
fn no_such_subject(view: &LayeredSnapshot, shape: &TableShape, row_key: &RowKey) -> Result<SqlError, SqlError> {
    let error = SqlError::new("DG003", format!("no such data subject in table \"{}\"", shape.table().name));
    let earlier = view.store().snapshot().meta(&transactions::receipt::forgotten_key(shape.id(), row_key))?;
    Ok(match earlier {
        Some(id) => error.detail(format!("Forgotten already: receipt {}.", String::from_utf8_lossy(&id))),
        None => error,
    })
}
