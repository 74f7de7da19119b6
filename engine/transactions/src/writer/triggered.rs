//! Rows that a statement has inserted and that triggers are called for once it is done: held as what RETURNING gives is.
//!
//! Nothing is held of a table without triggers. What the server inserts by itself (cases, what was erased and comes again) calls none.

use crate::writer::Writer;
use crate::writer::returned::ReturnedRows;
use repr::{Datum, RelationId};
use state::SqlError;
use state::shape::TableShape;
use storage::Store;

/// Rows by their tables, in the order in which they came.
#[derive(Default)]
pub struct InsertedRows(Vec<(RelationId, ReturnedRows)>);

impl InsertedRows {
    /// Whether nothing is to be called.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of(&mut self, relation: RelationId) -> &mut ReturnedRows {
        let place = self.0.iter().position(|(known, _)| *known == relation).unwrap_or_else(|| {
            self.0.push((relation, ReturnedRows::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    /// More of the same statement.
    ///
    /// # Errors
    /// Of the disk.
    pub fn add(&mut self, store: &Store, more: InsertedRows) -> Result<(), SqlError> {
        for (relation, rows) in more.0 {
            for row in rows.into_rows() {
                self.of(relation).push(store, relation, row?)?;
            }
        }
        Ok(())
    }
}

impl IntoIterator for InsertedRows {
    type Item = (RelationId, ReturnedRows);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Writer<'_> {
    /// Rows were inserted by what a statement says.
    pub(super) fn note_inserted<R: AsRef<[Datum]>>(&mut self, shape: &TableShape, rows: &[R]) -> Result<(), SqlError> {
        if !shape.table().calls_triggers() {
            return Ok(());
        }
        for row in rows {
            let held = self.checks.inserted.of(shape.id());
            held.push(&self.transaction.database().store, shape.id(), row.as_ref().to_vec())?;
        }
        Ok(())
    }

    /// What triggers are to be called for.
    pub fn take_inserted(&mut self) -> InsertedRows {
        std::mem::take(&mut self.checks.inserted)
    }
}
