//! Rows with their keys on their way through memory: so many are held, and go on together, in the order of their keys.
//!
//! ```text
//! rows, as they come ─▶ held ─ too many ─▶ sorted ─ some thousand at a time ─▶ a part on the disk, sealed
//! ```
//! Whoever lays a table anew takes them by `HeldRows`; who only wants them back later, by `KeyedRows`.

use crate::SqlError;
use crate::overlay::spilled::put_new;
use crate::shape::TableShape;
use repr::{MicroDbId, RelationId, Row, RowKey, poll};
use std::ops::Bound;
use std::sync::Arc;
use storage::{SpilledRow, SpilledRows, Store};

/// About what a row takes in memory beside its bytes.
const ROW_BYTES: usize = 96;
/// Rows that are written to the disk at once.
pub(super) const ROWS_AT_ONCE: usize = 4_096;
/// So much of rows by their keys is held in memory.
const KEYED_BYTES_MAX: usize = 4 << 20;

/// A row, and whose µDB it is, of a person's.
pub struct HeldRow {
    /// Its key.
    pub row_key: RowKey,
    /// The row.
    pub row: Row,
    /// Of a person's row.
    pub microdb: Option<MicroDbId>,
}

/// Rows in memory, up to a bound.
pub struct HeldRows {
    rows: Vec<HeldRow>,
    bytes: usize,
    bytes_max: usize,
    /// None that was taken had come before one with a smaller key.
    in_order: bool,
}

impl HeldRows {
    /// None yet, and so many bytes of them at most.
    pub fn new(bytes_max: usize) -> Self {
        HeldRows { rows: Vec::new(), bytes: 0, bytes_max, in_order: true }
    }

    /// One more. Whether they are to go on now.
    pub fn push(&mut self, row: HeldRow) -> bool {
        self.bytes += ROW_BYTES + row.row.bytes().len();
        self.rows.push(row);
        self.bytes >= self.bytes_max
    }

    /// From here on so many bytes of them at most.
    pub fn hold_at_most(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether those that were taken so far came in the order of their keys each time.
    pub fn come_in_order(&self) -> bool {
        self.in_order
    }

    /// Takes all that are held, in the order of their keys; of equal keys in that in which they came.
    pub fn take(&mut self) -> Result<Vec<HeldRow>, SqlError> {
        self.bytes = 0;
        let mut rows = std::mem::take(&mut self.rows);
        if rows.is_sorted_by(|one, other| one.row_key <= other.row_key) {
            return Ok(rows);
        }
        self.in_order = false;
        poll::sort_by(&mut rows, |one, other| one.row_key.cmp(&other.row_key))?;
        Ok(rows)
    }
}

/// Writes rows that are new to a part, with their entries if they are a table's.
pub fn write_rows(
    store: &Store,
    part: &SpilledRows,
    shape: Option<&TableShape>,
    rows: &[HeldRow],
) -> Result<(), SqlError> {
    for some in rows.chunks(ROWS_AT_ONCE) {
        poll::steps(some.len())?;
        let mut batch = part.begin_batch()?;
        for HeldRow { row_key, row, microdb } in some {
            match shape {
                Some(shape) => put_new(store, &mut batch, shape, (row_key, row, *microdb)),
                None => batch.put_row(row_key, row),
            }
        }
        part.write(store, batch)?;
    }
    Ok(())
}

/// Adds rows to a part as they come, none of them a person's; it gives them back if it does not take them so.
pub fn push_in_order(part: &SpilledRows, rows: Vec<HeldRow>) -> Result<Vec<HeldRow>, SqlError> {
    let left = part.push_in_order(rows.into_iter().map(|HeldRow { row_key, row, .. }| (row_key, row)).collect())?;
    Ok(left.into_iter().flatten().map(|(row_key, row)| HeldRow { row_key, row, microdb: None }).collect())
}

/// Rows by their keys, of equal ones the first: in memory, or on the disk.
pub struct KeyedRows {
    store: Store,
    relation: RelationId,
    held: HeldRows,
    spilled: Option<Arc<SpilledRows>>,
    had_repeats: bool,
}

impl KeyedRows {
    /// None yet; of a table, or made of its rows.
    pub fn new(store: &Store, relation: RelationId) -> Self {
        KeyedRows {
            store: store.clone(),
            relation,
            held: HeldRows::new(KEYED_BYTES_MAX),
            spilled: None,
            had_repeats: false,
        }
    }

    /// One more.
    pub fn push(&mut self, row_key: RowKey, row: Row) -> Result<(), SqlError> {
        if self.held.push(HeldRow { row_key, row, microdb: None }) { self.spill() } else { Ok(()) }
    }

    /// Whether they are more than memory holds.
    pub fn are_many(&self) -> bool {
        self.spilled.is_some()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.spilled.is_none()
    }

    /// Whether several came with one key; once there are no more of them.
    pub fn had_repeats(&self) -> bool {
        self.had_repeats
    }

    /// There are no more of them: looked at, they come in the order of their keys.
    pub fn settle(&mut self) -> Result<(), SqlError> {
        if self.spilled.is_some() {
            return self.spill();
        }
        self.held.rows = self.take_held()?;
        Ok(())
    }

    /// Those in memory, each once.
    fn take_held(&mut self) -> Result<Vec<HeldRow>, SqlError> {
        let mut rows = self.held.take()?;
        let came = rows.len();
        rows.dedup_by(|later, first| later.row_key == first.row_key);
        self.had_repeats |= rows.len() < came;
        Ok(rows)
    }

    /// Looks at one after the other.
    pub fn each(&self, mut look: impl FnMut(RowKey, Row) -> Result<(), SqlError>) -> Result<(), SqlError> {
        if let Some(part) = &self.spilled {
            for row in part.rows((Bound::Unbounded, Bound::Unbounded), false) {
                poll::step()?;
                if let (row_key, SpilledRow { after: Some(row), .. }) = row? {
                    look(row_key, row)?;
                }
            }
        }
        for HeldRow { row_key, row, .. } in &self.held.rows {
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
        let rows = self.take_held()?;
        let came = rows.len();
        let mut fresh = Vec::with_capacity(came);
        for row in rows {
            if !part.contains(&row.row_key)? {
                fresh.push(row);
            }
        }
        self.had_repeats |= fresh.len() < came;
        write_rows(&self.store, &part, None, &fresh)?;
        self.spilled = Some(part);
        Ok(())
    }
}
