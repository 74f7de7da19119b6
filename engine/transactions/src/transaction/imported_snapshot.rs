//! SET TRANSACTION SNAPSHOT: a transaction that reads what another has read.

use super::{OneSnapshot, Transaction};
use planner::catalog::DatabaseId;
use state::SqlError;
use std::sync::Arc;

impl Transaction {
    /// Takes the snapshot that another transaction has exported under this name, in place of one of its own.
    pub fn import_snapshot(&mut self, name: &str, database: DatabaseId) -> Result<(), SqlError> {
        self.check_not_ended()?;
        if self.has_begun() || self.has_savepoints() {
            return Err(SqlError::new("25001", "SET TRANSACTION SNAPSHOT must be called before any query"));
        }
        if !self.modes.isolation.is_of_one_snapshot() {
            let message = "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ";
            return Err(SqlError::new("0A000", message));
        }
        let base = self.database.sessions.exchange.exported.find(name, self.modes.reading(database))?;
        let hold = self.holder.hold(base.time);
        // Looked at once it is held: an erasure either finds the hold or is found here.
        self.database.check_not_ended(base.time)?;
        self.reads.snapshot = OneSnapshot::Taken(base, Arc::new(hold));
        self.reads.has_looked = true;
        Ok(())
    }
}
