//! Savepoints: made, gone back to, let go of.

use super::{Savepoint, Transaction};
use state::SqlError;

impl Transaction {
    /// SAVEPOINT
    pub fn savepoint(&mut self, name: String) {
        self.pending.savepoints.push(Savepoint {
            name,
            mark: self.overlay.mark(),
            locks: self.database.sessions.locks.mark(self.begun.id),
            modes: self.modes,
            deferred: self.pending.deferred.len(),
            constraint_modes: self.pending.constraint_modes.len(),
            cursors: self.pending.cursors.len(),
            moved: self.pending.moved.len(),
            audit: self.pending.audit.len(),
        });
    }
    /// RELEASE SAVEPOINT. The savepoint's place among those that there were. READ ONLY was for what stood under it.
    pub fn release_savepoint(&mut self, name: &str) -> Result<usize, SqlError> {
        let position = self.find_savepoint(name)?;
        self.modes.read_only = self.pending.savepoints[position].modes.read_only;
        self.pending.savepoints.truncate(position);
        Ok(position)
    }
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
    /// How many savepoints there are.
    pub fn savepoints(&self) -> usize {
        self.pending.savepoints.len()
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
