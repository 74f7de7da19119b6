//! What RETURNING gives: in memory, and on the disk what is more than that, until the client has taken it.

use repr::{Datum, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::overlay::held_rows::{HeldRow, write_rows};
use state::parallel::{Bulk, Many, gather};
use std::ops::Bound;
use std::sync::Arc;
use storage::{SpilledRow, SpilledRows, Store};

/// So much is held in memory.
const HELD_BYTES_MAX: usize = 8 << 20;
/// About what a row takes beside its values.
const ROW_BYTES: usize = 48;

/// Rows, in the order in which they came.
#[derive(Default)]
pub struct ReturnedRows {
    held: Bulk<Vec<Vec<Datum>>>,
    bytes: usize,
    /// Those before, by their numbers.
    spilled: Option<Arc<SpilledRows>>,
}

impl ReturnedRows {
    /// In memory, all of them.
    pub(super) fn of(rows: Vec<Vec<Datum>>) -> Self {
        ReturnedRows { held: Bulk::new(rows), ..ReturnedRows::default() }
    }

    /// One more, of a statement that writes to a table.
    pub(super) fn push(&mut self, store: &Store, relation: RelationId, row: Vec<Datum>) -> Result<(), SqlError> {
        self.bytes += ROW_BYTES + row.iter().map(Datum::bytes).sum::<usize>();
        self.held.push(row);
        if self.bytes < HELD_BYTES_MAX {
            return Ok(());
        }
        let part = match self.spilled.take() {
            Some(part) => part,
            None => Arc::new(store.begin_spill(relation)?),
        };
        let mut rows = Vec::with_capacity(self.held.len());
        for (number, row) in (part.len() as u64..).zip(Many::new(std::mem::take(&mut *self.held))) {
            poll::step()?;
            let row_key = RowKey::new(&number.to_be_bytes());
            rows.push(HeldRow { row_key, row: Row::pack(&row), microdb: None });
        }
        write_rows(store, &part, None, &rows)?;
        (self.spilled, self.bytes) = (Some(part), 0);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len() + self.spilled.as_ref().map_or(0, |part| part.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One after another.
    pub fn into_rows(mut self) -> impl Iterator<Item = Result<Vec<Datum>, SqlError>> + Send {
        let spilled = self.spilled.take().into_iter();
        let spilled = spilled.flat_map(|part| part.rows((Bound::Unbounded, Bound::Unbounded), false));
        let spilled = spilled.map(|row| match row? {
            (_, SpilledRow { after: Some(row), .. }) => Ok(row.unpack()),
            _ => Err(SqlError::new("XX000", "a row of RETURNING is kept without its values")),
        });
        spilled.chain(Many::new(std::mem::take(&mut *self.held)).map(Ok))
    }

    /// All of them, in memory.
    pub fn gather(self) -> Result<Vec<Vec<Datum>>, SqlError> {
        gather(self.into_rows())
    }
}
