//! Rows of large statements, out of memory and back.

use crate::transaction::Transaction;
use repr::{RelationId, Row, RowKey};
use state::SqlError;
use state::locks::LockMark;
use state::overlay::UndoPosition;
use state::shape::TableShape;
use std::sync::Arc;

impl Transaction {
    /// Moves what a statement has written since it began out of memory, if that is much; the locks of so many rows are gathered.
    pub(crate) fn spill(&mut self, since: UndoPosition) -> Result<(), SqlError> {
        let is_due = self.overlay.is_to_spill(since, self.database.config.held_bytes_max);
        if is_due && Arc::make_mut(&mut self.overlay).spill(&self.database.store, since)? {
            self.gather_locks();
        }
        Ok(())
    }

    /// Adds new rows of a statement to those of it that stand on the disk: see `Overlay::adds_to_part`.
    pub(crate) fn add_to_part(&mut self, shape: &TableShape, rows: Vec<(RowKey, Row)>) -> Result<(), SqlError> {
        Arc::make_mut(&mut self.overlay).add_to_part(&self.database.store, shape, rows)?;
        self.gather_locks();
        Ok(())
    }

    /// Has the locks that were taken since the last savepoint take little memory.
    pub(crate) fn gather_locks(&self) {
        let locks = self.pending.savepoints.last().map_or_else(LockMark::default, |savepoint| savepoint.locks);
        self.database.sessions.locks.gather(self.begun.id, locks);
    }

    /// Brings rows of tables back into memory, for whoever looks at all changes one by one, or makes other tables of these.
    pub fn bring_back_spilled(&mut self, is_wanted: impl Fn(RelationId) -> bool) -> Result<(), SqlError> {
        for relation in self.overlay.spilled_tables().into_iter().filter(|relation| is_wanted(*relation)) {
            let shape = self.latest_snapshot().shape(relation)?.clone();
            Arc::make_mut(&mut self.overlay).bring_back(&shape)?;
        }
        Ok(())
    }

    /// What is thrown away leaves nothing on the disk when that is answered.
    pub(super) fn let_go_of_spilled(&mut self) {
        if let Some(overlay) = Arc::get_mut(&mut self.overlay) {
            overlay.let_go_of_spilled();
        }
    }
}
