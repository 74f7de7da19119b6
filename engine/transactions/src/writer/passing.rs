//! Amid a statement of many rows: what has been written of it goes on, so that memory holds some of it at a time.
//!
//! ```text
//! some thousand rows ─▶ referential actions ─▶ checks that hold by now ─▶ too much in memory? ─▶ the disk
//!                        └─ later rows may have a part in it: at the end ─┘
//! ```
//! Nothing is refused here that could hold at the end of the statement.

use super::{CASCADE_DEPTH_MAX, Writer, foreign_key, unique};
use state::SqlError;

impl Writer<'_> {
    /// Many rows of a statement are inserted: as `pass_changed`, and a value that another row has by now it will have at the end.
    pub fn pass_inserted(&mut self) -> Result<(), SqlError> {
        if self.changed.is_none() {
            for check in std::mem::take(&mut *self.checks.unique) {
                unique::check(self.transaction, &check, &self.patience)?;
            }
        }
        self.pass_changed()
    }

    /// Many rows of a statement are written: looks at what can be looked at of them before its end, and moves them out of memory if they
    /// are too many for it.
    pub fn pass_changed(&mut self) -> Result<(), SqlError> {
        self.transaction.check_not_ended()?;
        // Another part of the statement may take a row away that is in the way now.
        if self.changed.is_none() {
            self.act_early()?;
            self.check_early()?;
        }
        self.transaction.spill(self.before.mark)
    }

    /// What the foreign keys say of rows that are gone, as far as the statement's other rows have no part in it.
    fn act_early(&mut self) -> Result<(), SqlError> {
        let mut later = Vec::new();
        for _ in 0..CASCADE_DEPTH_MAX {
            let gone = std::mem::take(&mut *self.checks.gone);
            if gone.is_empty() {
                self.checks.gone.append(&mut later);
                return Ok(());
            }
            for key in gone {
                match foreign_key::acts_early(self, &key)? {
                    true => foreign_key::act(self, key)?,
                    false => later.push(key),
                }
            }
        }
        Err(SqlError::new("54001", "referential actions nest too deeply"))
    }

    /// What holds by now holds at the end; what does not may do so once the statement has written its other rows.
    fn check_early(&mut self) -> Result<(), SqlError> {
        for key in std::mem::take(&mut *self.checks.unreferenced) {
            if foreign_key::is_referred_to(self.transaction, &key)? {
                self.checks.unreferenced.push(key);
            }
        }
        for check in std::mem::take(&mut *self.checks.unique) {
            if !unique::stands_alone(self.transaction, &check)? {
                self.checks.unique.push(check);
            }
        }
        for parent in std::mem::take(&mut *self.checks.parents) {
            if !foreign_key::holds_parent(self.transaction, &self.patience, &parent)? {
                self.checks.parents.push(parent);
            }
        }
        Ok(())
    }
}
