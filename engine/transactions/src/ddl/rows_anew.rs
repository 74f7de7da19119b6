//! Rows of tables that a definition lays anew, as they will be written: where they are many, never all of them in memory.
//!
//! ```text
//! as they stood before the definition ─▶ rewritten ─▶ memory ─ too many ─▶ the disk, sealed ─▶ rewritten again … ─▶ written
//! ```
//! What stands on the disk goes with whoever holds it.

use repr::{RelationId, Row, RowKey, poll};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::shape::TableShape;
use std::ops::Bound;
use std::sync::Arc;
use storage::{SpilledRows, Store};

/// So much of rewritten rows is held in memory.
const HELD_BYTES_MAX: usize = 4 << 20;
/// About what a row takes beside its bytes.
const ROW_BYTES: usize = 64;
/// Rows that are written to the disk at once.
const ROWS_AT_ONCE: usize = 4_096;
/// Of a table whose columns have never changed.
const SCHEMA_VERSION_FIRST: u32 = 1;

/// The rows of a table that is laid anew.
pub(super) enum RowsAnew {
    /// As they stand in a state.
    Stored(LayeredSnapshot, Arc<TableShape>),
    /// As they were rewritten.
    Rewritten(RewrittenRows),
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
            RowsAnew::Rewritten(rows) => Ok(rows.held.is_empty() && rows.spilled.is_none()),
        }
    }
}

/// Rewritten rows: in memory, or on the disk.
pub(super) struct RewrittenRows {
    store: Store,
    relation: RelationId,
    held: Vec<(RowKey, Row)>,
    held_bytes: usize,
    spilled: Option<Arc<SpilledRows>>,
}

impl RewrittenRows {
    /// None yet.
    pub(super) fn new(store: &Store, relation: RelationId) -> Self {
        RewrittenRows { store: store.clone(), relation, held: Vec::new(), held_bytes: 0, spilled: None }
    }

    /// One more, under a key of its own.
    pub(super) fn push(&mut self, row_key: RowKey, row: Row) -> Result<(), SqlError> {
        self.held_bytes += ROW_BYTES + row.bytes().len();
        self.held.push((row_key, row));
        if self.held_bytes >= HELD_BYTES_MAX { self.spill() } else { Ok(()) }
    }

    /// Whether they are more than memory holds.
    pub(super) fn are_many(&self) -> bool {
        self.spilled.is_some()
    }

    /// Looks at one after the other.
    pub(super) fn each(&self, mut look: impl FnMut(RowKey, Row) -> Result<(), SqlError>) -> Result<(), SqlError> {
        if let Some(part) = &self.spilled {
            for row in part.rows((Bound::Unbounded, Bound::Unbounded), false) {
                poll::step()?;
                let (row_key, row) = row?;
                look(row_key, row)?;
            }
        }
        for (row_key, row) in &self.held {
            poll::step()?;
            look(row_key.clone(), row.clone())?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), SqlError> {
        let part = match &self.spilled {
            Some(part) => part.clone(),
            None => Arc::new(self.store.begin_spill(self.relation)?),
        };
        self.held.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for some in self.held.chunks(ROWS_AT_ONCE) {
            poll::steps(some.len())?;
            let mut batch = part.begin_batch();
            some.iter().for_each(|(row_key, row)| batch.put_row(row_key, row));
            part.write(&self.store, batch)?;
        }
        self.spilled = Some(part);
        self.held = Vec::new();
        self.held_bytes = 0;
        Ok(())
    }
}
