//! WHERE CURRENT OF: the row that a cursor stands on, as the relation of one row or none that a write is about.
//!
//! The cursor knows the row's key. It is locked before it is read: what the write finds is what it changes. A row that the
//! transaction has put under another key meanwhile is found there; one that is gone is none.

use crate::session::Session;
use crate::session::cursor::Cursor;
use planner::plan::WritePlan;
use planner::scalar::table_func::GivenRows;
use repr::{Datum, RelationId, RowKey};
use state::SqlError;
use state::locks::{LockKey, LockMode};
use state::reader::Reader;
use transactions::transaction::Moved;

impl Session {
    /// The rows that the writes of a statement are about, where cursors stand on them.
    pub(super) fn current_rows(&mut self, parts: &[&WritePlan], mut given: GivenRows) -> Result<GivenRows, SqlError> {
        for plan in parts {
            if let Some(current_of) = plan.current_of() {
                let key = self.current_key(&current_of.cursor, plan.table())?;
                let row = key.map(|key| self.current_row(plan.table(), key)).transpose()?.flatten();
                given = given.with(current_of.number, row.into_iter().collect());
            }
        }
        Ok(given)
    }

    /// The key of the row of that table that a cursor stands on; none if it is gone, or has no part in the cursor's.
    fn current_key(&mut self, name: &str, relation: RelationId) -> Result<Option<RowKey>, SqlError> {
        if self.cursors.subscribed.contains_key(name) {
            return Err(unusable(format!("cursor \"{name}\" is not a SELECT query")));
        }
        let Some(cursor) = self.cursors.open.get(name) else {
            return Err(SqlError::new("34000", format!("cursor \"{name}\" does not exist")));
        };
        if let Err(ended) = self.database.check_not_ended(cursor.opened_at) {
            // The row may be of the person forgotten.
            self.cursors.open.remove(name);
            return Err(ended);
        }
        if cursor.declared.held {
            return Err(unusable(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        let pending = self.transaction.active.as_ref().map(|active| &active.transaction.pending);
        let key = key_of(name, cursor, self.table_name(relation), relation)?;
        let moved = pending.and_then(|pending| pending.moved.get(cursor.rows_of().moved_before..)).unwrap_or_default();
        Ok(key.and_then(|key| followed(key, relation, moved)))
    }

    fn table_name(&self, relation: RelationId) -> String {
        self.catalog().table(relation).map_or_else(String::new, |table| table.name.clone())
    }

    /// The row of a key, and the key behind it: locked, so that it stands still.
    fn current_row(&mut self, relation: RelationId, key: RowKey) -> Result<Option<Vec<Datum>>, SqlError> {
        let patience = self.patience();
        let transaction = self.transaction();
        transaction.lock(LockKey::Table(relation), LockMode::Shared, &patience)?;
        transaction.lock(LockKey::Row(relation, key.clone()), LockMode::NoKeyUpdate, &patience)?;
        let seen = transaction.statement_snapshot()?;
        // In READ COMMITTED a row that was waited for is what it is now.
        let snapshot = match transaction.modes.isolation.is_of_one_snapshot() {
            true => seen,
            false => transaction.latest_snapshot(),
        };
        let shape = snapshot.shape(relation)?.clone();
        let Some(row) = snapshot.get(shape.table(), &key)? else { return Ok(None) };
        let mut row = shape.unpack(&row);
        row.push(Datum::Bytea(key.bytes().into()));
        Ok(Some(row))
    }
}

/// The key that a cursor gives for a table; 24000 for a cursor that has none.
fn key_of(name: &str, cursor: &Cursor, table: String, relation: RelationId) -> Result<Option<RowKey>, SqlError> {
    let tables = &cursor.rows_of().tables;
    let mut places = tables.tables.iter().enumerate().filter(|(_, other)| **other == relation);
    let place = match (places.next(), places.next(), tables.locked) {
        (Some((place, _)), None, _) => place,
        (None, _, true) => {
            let message = format!("cursor \"{name}\" does not have a FOR UPDATE/SHARE reference to table \"{table}\"");
            return Err(unusable(message));
        }
        (Some(_), Some(_), true) => {
            let message = format!("cursor \"{name}\" has multiple FOR UPDATE/SHARE references to table \"{table}\"");
            return Err(unusable(message));
        }
        (_, _, false) => {
            return Err(unusable(format!("cursor \"{name}\" is not a simply updatable scan of table \"{table}\"")));
        }
    };
    match cursor.current_keys().map(|keys| &keys[place]) {
        Some(Datum::Bytea(key)) => Ok(Some(RowKey::new(key))),
        // The NULL side of an outer join has no row.
        Some(_) => Ok(None),
        None => Err(unusable(format!("cursor \"{name}\" is not positioned on a row"))),
    }
}

/// Where a row is after the statements that have moved rows: each moves it once.
fn followed(mut key: RowKey, relation: RelationId, moved: &[Moved]) -> Option<RowKey> {
    let mut last = None;
    for step in moved {
        if step.relation == relation && step.from == key && last != Some(step.statement) {
            key = step.to.clone()?;
            last = Some(step.statement);
        }
    }
    Some(key)
}

fn unusable(message: String) -> SqlError {
    SqlError::new("24000", message)
}

#[cfg(test)]
mod tests {
    use super::followed;
    use repr::{RelationId, RowKey};
    use transactions::transaction::Moved;

    #[test]
    fn a_row_moves_once_in_a_statement() {
        let key = |byte: u8| RowKey::new(&[byte]);
        let moved = |statement, from, to: Option<u8>| Moved {
            statement,
            relation: RelationId(7),
            from: key(from),
            to: to.map(key),
        };
        let steps = [moved(0, 1, Some(2)), moved(0, 2, Some(3)), moved(2, 2, Some(9)), moved(3, 3, None)];
        let from = |first: u8| followed(key(first), RelationId(7), &steps);
        assert_eq!((from(1), from(2), from(3)), (Some(key(9)), None, None));
        assert_eq!(followed(key(1), RelationId(8), &steps), Some(key(1)));
        assert_eq!(followed(key(1), RelationId(7), &steps[2..]), Some(key(1)));
    }
}
