//! The audit record of an erasure request that found no one: of which table, and whose the key once was.
//!
//! An erasure that takes place is recorded with its receipt, in its own commit. Never holds the key that was asked
//! for: it may be a name.

use crate::receipt;
use repr::{RelationId, RowKey};
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::{SqlError, clock};
use std::sync::Arc;
use storage::audit::{AuditActor, AuditEntry, AuditOperation, AuditScope};

/// What is recorded.
pub fn audited(
    snapshot: &LayeredSnapshot,
    actor: &Arc<AuditActor>,
    table: RelationId,
    row_key: &RowKey,
) -> Result<AuditEntry, SqlError> {
    let leaves = snapshot.store().snapshot();
    let forgotten = match leaves.meta(&snapshot.store().forgotten_key(table, row_key))? {
        Some(id) => receipt::id_of_text(&id).map(|id| leaves.receipt(&id)).transpose()?.flatten(),
        None => None,
    };
    Ok(AuditEntry {
        time_us: clock::now_micros(),
        commit: snapshot.time(),
        actor: actor.clone(),
        operation: AuditOperation::Forget,
        statement: [0; 8],
        tables: [table].into(),
        key: None,
        subjects: forgotten.and_then(|receipt| receipt.microdb).into_iter().collect(),
        scope: AuditScope::default(),
        rows: 0,
        payload: None,
    })
}
