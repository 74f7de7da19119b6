//! What is made of a table's row type, while the table changes or goes.

use super::change::DefinitionChange;
use crate::catalog::composite::is_made_of;
use crate::catalog::row_type::row_type_of;
use crate::error::PlanError;
use repr::{ColumnType, RelationId};

impl DefinitionChange<'_> {
    /// 0A000 while something is made of the table's row type, whose fields are about to be others: stored values would have to be
    /// written anew.
    pub(super) fn require_unused_row_type(&self, id: RelationId) -> Result<(), PlanError> {
        let Some(row) = row_type_of(id) else { return Ok(()) };
        let refused = |user: String| {
            let message = format!("cannot alter table \"{}\" because {user} uses its row type", self.get(id).name);
            Err(PlanError::new("0A000", message).hint("Drop that first, or make it of a type of its own."))
        };
        for table in self.catalog.relations.values() {
            let mut columns = table.live_columns();
            if let Some((_, column)) = columns.find(|(_, column)| is_made_of(&column.column_type.scalar, row)) {
                return refused(format!("column \"{}.{}\"", table.name, column.name));
            }
        }
        for found in self.catalog.types.values() {
            if is_made_of(&found.column_type().scalar, row) {
                return refused(format!("type \"{}\"", found.name));
            }
        }
        Ok(())
    }

    /// 42P16 for a column that would be made of its own table's rows.
    pub(super) fn require_no_own_row(&self, id: RelationId, column_type: &ColumnType) -> Result<(), PlanError> {
        match row_type_of(id).filter(|row| is_made_of(&column_type.scalar, *row)) {
            Some(_) => {
                let shown = self.shown(self.get(id));
                Err(PlanError::new("42P16", format!("composite type {shown} cannot be made a member of itself")))
            }
            None => Ok(()),
        }
    }

    /// Refuses, or drops what is of the row type of a table that goes.
    pub(super) fn drop_users_of_row_type(
        &mut self,
        id: RelationId,
        gone: &[RelationId],
        cascade: bool,
    ) -> Result<(), PlanError> {
        let Some(row) = row_type_of(id) else { return Ok(()) };
        let shown = self.shown(self.get(id));
        self.drop_users(row, &format!("table {shown}"), &format!("type {shown}"), gone, cascade)
    }
}
