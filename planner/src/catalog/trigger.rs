//! Triggers: what is called for each row that a statement has inserted.
//!
//! All are AFTER INSERT FOR EACH ROW: those of other times and events are refused when they are created.

use super::{Catalog, Table};
use repr::{Id, RelationId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// CREATE TRIGGER
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// OID of its `pg_trigger` row.
    pub id: Id,
    /// Its name; unique within the table.
    pub name: String,
    /// OID of the function that it calls.
    pub function: Id,
    /// What stands behind the function, as `TG_ARGV`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// DISABLE TRIGGER: it is there, and is not called.
    #[serde(default)]
    pub disabled: bool,
}

impl Table {
    /// Whether a row that is inserted has something called.
    pub fn calls_triggers(&self) -> bool {
        self.triggers.iter().any(|trigger| !trigger.disabled)
    }
}

impl Catalog {
    /// All triggers, with their tables.
    pub fn triggers(&self) -> impl Iterator<Item = (&Arc<Table>, &Trigger)> {
        self.relations.values().flat_map(|table| table.triggers.iter().map(move |trigger| (table, trigger)))
    }

    /// Those that call a function.
    pub(crate) fn triggers_calling(&self, function: Id) -> impl Iterator<Item = (RelationId, &Trigger)> {
        let calling = self.triggers().filter(move |(_, trigger)| trigger.function == function);
        calling.map(|(table, trigger)| (table.id, trigger))
    }
}
