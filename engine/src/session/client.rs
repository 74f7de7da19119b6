//! What `wire` asks of a session beside statements: types by number, cursors as portals, and patience with a client that says nothing.

use super::Session;
use planner::hir::OutputColumn;
use repr::ScalarType;
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// The columns of an open SQL cursor: on the wire it is a portal, and drivers describe it as one.
    pub fn cursor_columns(&self, name: &str) -> Option<Arc<[OutputColumn]>> {
        self.cursors.get(name).map(|cursor| cursor.columns().clone())
    }

    /// The type that a client names by its `pg_type.oid`, enums and their arrays included.
    pub fn type_by_oid(&self, oid: u32) -> Option<ScalarType> {
        ScalarType::from_oid(oid).or_else(|| {
            let catalog = self.catalog();
            let enumeration = |oid: u32| catalog.enums.contains_key(&oid).then_some(ScalarType::Enum(oid));
            // An enum's array type has the OID after the enum's own.
            enumeration(oid).or_else(|| enumeration(oid.checked_sub(1)?).map(|element| element.array()))
        })
    }

    /// How long the client may be silent outside a transaction.
    pub fn idle_session_timeout(&self) -> Option<Duration> {
        self.state.lock().everyday().idle_session_timeout
    }

    /// How long it may be silent inside one.
    pub fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.state.lock().everyday().idle_in_transaction_timeout
    }
}
