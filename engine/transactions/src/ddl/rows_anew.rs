//! Rows of tables that a definition lays anew, as they will be written: where they are many, never all of them in memory.
//!
//! ```text
//! as they stood before the definition ─▶ rewritten ─▶ memory ─ too many ─▶ the disk, sealed ─▶ rewritten again … ─▶ written
//! ```
//! What stands on the disk goes with whoever holds it.

use repr::{Row, RowKey, poll};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::held_rows::KeyedRows;
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// Of a table whose columns have never changed.
const SCHEMA_VERSION_FIRST: u32 = 1;

/// The rows of a table that is laid anew.
pub(super) enum RowsAnew {
    /// As they stand in a state.
    Stored(LayeredSnapshot, Arc<TableShape>),
    /// As they were rewritten.
    Rewritten(KeyedRows),
}

impl RowsAnew {
    /// Looks at one after the other, as wide as their table was.
    pub(super) fn each(&self, mut look: impl FnMut(RowKey, Row) -> Result<(), SqlError>) -> Result<(), SqlError> {
        match self {
            RowsAnew::Stored(snapshot, shape) => {
                let are_wide = shape.table().schema_version == SCHEMA_VERSION_FIRST;
                for item in snapshot.scan_once(shape.table())? {
                    poll::step()?;
                    let (row_key, row) = item?;
                    look(row_key, if are_wide { row } else { Row::pack(&shape.unpack(&row)) })?;
                }
                Ok(())
            }
            RowsAnew::Rewritten(rows) => rows.each(look),
        }
    }

    /// Whether there are none.
    pub(super) fn are_none(&self) -> Result<bool, SqlError> {
        match self {
            RowsAnew::Stored(snapshot, shape) => Ok(snapshot.scan(shape.table())?.next().is_none()),
            RowsAnew::Rewritten(rows) => Ok(rows.is_empty()),
        }
    }
}
