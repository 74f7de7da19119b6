//! Holds: rows that must stay, whatever expires and whoever asks for their erasure.

use super::{RoleId, Table};
use crate::error::PlanError;
use repr::{Id, RelationId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// CREATE HOLD, of one table. The same matter may hold rows of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Its number.
    pub id: Id,
    /// Of the matter.
    pub name: String,
    /// Which rows, as SQL text over the table's columns; none are all.
    pub expression: Option<String>,
    /// REASON
    pub reason: Option<String>,
    /// Who made it.
    pub by: RoleId,
}

/// A table of the catalog that a change was made to, and what it was called.
pub(crate) fn refuse_held(
    old: &std::collections::BTreeMap<RelationId, Arc<Table>>,
    gone: RelationId,
    what: &str,
) -> Result<(), PlanError> {
    match old.get(&gone).and_then(|table| Some((table, table.holds.first()?))) {
        Some((table, hold)) => {
            let message = format!("cannot {what} table \"{}\": hold \"{}\" keeps rows of it", table.name, hold.name);
            Err(PlanError::new("DG006", message).hint("DROP HOLD ends it."))
        }
        None => Ok(()),
    }
}
