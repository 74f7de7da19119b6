//! Going back to a savepoint.

use super::{Savepoint, Transaction};
use state::SqlError;

impl Transaction {
    /// ROLLBACK TO SAVEPOINT. Its place among the savepoints, and the cursors declared since, which go with it.
    pub fn roll_back_to_savepoint(&mut self, name: &str) -> Result<(usize, Vec<String>), SqlError> {
        let position = self.find_savepoint(name)?;
        let Savepoint { mark, locks, modes, deferred, constraint_modes, cursors, moved, audit, .. } =
            self.pending.savepoints[position];
        self.roll_back_to(mark);
        self.release_since(locks);
        self.modes = modes;
        self.pending.deferred.truncate(deferred);
        self.pending.moved.truncate(moved);
        self.pending.constraint_modes.truncate(constraint_modes);
        self.pending.audit.iter_mut().skip(audit).for_each(|entry| entry.scope.undone = true);
        self.pending.savepoints.truncate(position + 1);
        Ok((position, self.pending.cursors.split_off(cursors)))
    }
    /// Whether there are savepoints to go back to.
    pub fn has_savepoints(&self) -> bool {
        !self.pending.savepoints.is_empty()
    }
    pub(super) fn find_savepoint(&self, name: &str) -> Result<usize, SqlError> {
        self.pending
            .savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name)
            .ok_or_else(|| SqlError::new("3B001", format!("savepoint \"{name}\" does not exist")))
    }
}
