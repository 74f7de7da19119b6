//! Unique keys: a value is locked when it is claimed and looked up when the statement (or transaction) ends.

use crate::key_text::key_text;
use crate::transaction::Transaction;

use repr::{Datum, IndexId, RelationId, RowKey};
use state::SqlError;
use state::locks::{Granted, LockKey, LockMode, Patience};
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// A claim to be verified.
pub struct UniqueCheck {
    /// The table.
    pub shape: Arc<TableShape>,
    /// The unique index.
    pub index: IndexId,
    /// The claimed value, canonical.
    pub value: Vec<u8>,
    /// Who claims it.
    pub row_key: RowKey,
}

/// Whether no other row has the value. The claim itself may be gone again by now.
pub(crate) fn stands_alone(transaction: &mut Transaction, check: &UniqueCheck) -> Result<bool, SqlError> {
    let keys = transaction.latest_snapshot().keys_by_value(&check.shape, check.index, &check.value)?;
    Ok(keys.len() < 2 || !keys.contains(&check.row_key))
}

/// 23505 if another row has the value and keeps it: whoever is about to take it away is waited for. The claim itself may be
/// gone again by now.
pub fn check(transaction: &mut Transaction, check: &UniqueCheck, patience: &Patience) -> Result<(), SqlError> {
    loop {
        let mut keys = transaction.latest_snapshot().keys_by_value(&check.shape, check.index, &check.value)?;
        if keys.len() < 2 || !keys.contains(&check.row_key) {
            return Ok(());
        }
        keys.retain(|key| *key != check.row_key);
        if !stood_in_the_way(transaction, check.shape.id(), keys, patience)? {
            // The claimant has the value, so what it is can be told by its row.
            let row = transaction.latest_snapshot().get(check.shape.table(), &check.row_key)?;
            let row = row.map_or_else(Vec::new, |row| check.shape.unpack(&row));
            return Err(violation(&check.shape, check.index, &row));
        }
    }
}

/// Whether one of these rows was being changed by somebody else, who has been waited for: it may stand elsewhere now.
pub(crate) fn stood_in_the_way(
    transaction: &mut Transaction,
    table: RelationId,
    keys: Vec<RowKey>,
    patience: &Patience,
) -> Result<bool, SqlError> {
    let mut waited = false;
    for key in keys {
        let granted = transaction.lock(LockKey::Row(table, key), LockMode::KeyShare, patience)?;
        waited |= granted == Granted::AfterWait;
    }
    Ok(waited)
}

/// PostgreSQL's words for a taken key.
pub fn violation(shape: &TableShape, index: IndexId, row: &[Datum]) -> SqlError {
    let index = shape.index(index);
    let name = index.constraint.as_ref().map_or(&index.name, |constraint| &constraint.name);
    SqlError::new("23505", format!("duplicate key value violates unique constraint \"{name}\""))
        .detail(format!("{} already exists.", key_text(shape, &index.columns, row)))
        .on(shape.place(), Some(name))
}
