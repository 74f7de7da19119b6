//! New rows of a large statement, moved out of memory: they stand on the disk, sealed, until the transaction ends.
//!
//! ```text
//! rows ─▶ memory ─ too many ─▶ one part for each statement ─▶ COMMIT reads it in the order of its keys
//!           └── changed again: stands over what is on the disk ──┘
//! ```
//! Only rows that are new and that nothing but their statement has touched: where they stand nothing is committed, so each part is a layer
//! of its own, and going back to before its statement drops it whole. Of people it holds whose µDB is whose, too. What an erasure looks
//! at comes back into memory, and what a definition does, unless it lays the table anew.

use super::held_rows::ROWS_AT_ONCE;
use super::{Overlay, TableChanges, Undo, UndoPosition};
use crate::SqlError;
use crate::shape::TableShape;
use planner::ownership::graph::KeyForm;
use repr::id::is_temporary;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use std::ops::Bound;
use std::sync::Arc;
use storage::{SpillBatch, SpilledRows, Store};

/// So much of new rows is held in memory.
const HELD_BYTES_MAX: usize = 48 << 20;
/// Entries of the undo log for which room is kept.
const UNDO_KEPT_MAX: usize = 1 << 16;

impl Overlay {
    /// Whether rows that a statement has written since `since` are to be moved out of memory now.
    pub fn is_to_spill(&self, shape: &TableShape, since: UndoPosition) -> bool {
        self.held_bytes >= HELD_BYTES_MAX && self.may_spill(shape, since)
    }

    fn may_spill(&self, shape: &TableShape, since: UndoPosition) -> bool {
        let relation = shape.id();
        let Some(changes) = self.tables.get(&relation) else { return false };
        let written = self.undo.get(since.0..).unwrap_or_default();
        let own = match written.split_first() {
            Some((Undo::Spilled { relation: of }, own)) if *of == relation => own,
            _ => written,
        };
        let is_new = |undo: &Undo| match undo {
            Undo::Row { relation: of, key, previous: None } => {
                let change = changes.rows.get(key);
                *of == relation && change.is_some_and(|change| change.before.is_none() && change.after.is_some())
            }
            Undo::Subject { relation: of, key, previous: None } => {
                *of == relation
                    && changes.rows.contains_key(key)
                    && self.subject(relation, key).is_some_and(|microdb| microdb.is_some())
            }
            _ => false,
        };
        !own.is_empty()
            && !is_temporary(relation.0)
            && shape.spills()
            && changes.reindexed.is_empty()
            && changes.filled.is_empty()
            && own.iter().all(is_new)
    }

    /// Moves them there. Where that fails the statement has to be taken back.
    pub fn spill(&mut self, store: &Store, shape: &TableShape, since: UndoPosition) -> Result<(), SqlError> {
        let relation = shape.id();
        let goes_on = matches!(self.undo.get(since.0), Some(Undo::Spilled { .. }));
        let own = since.0 + usize::from(goes_on);
        let changes = self.tables.entry(relation).or_default();
        let part = match changes.spilled.last().filter(|_| goes_on) {
            Some(part) => part.clone(),
            None => Arc::new(store.begin_spill(relation)?),
        };
        let mut keys = self.undo[own..].iter().filter_map(Undo::row_key).collect::<Vec<_>>();
        keys.sort_unstable();
        for some in keys.chunks(ROWS_AT_ONCE) {
            poll::steps(some.len())?;
            let microdb = |key: &RowKey| self.subjects.get(&(relation, key.clone())).copied().flatten();
            let microdb = |key: &RowKey| if shape.table().data_subject { microdb(key) } else { None };
            let row = |key: &&'_ RowKey| changes.rows.get(*key).and_then(|change| change.after.as_ref());
            let mut batch = part.begin_batch();
            let rows = some.iter().filter_map(|key| Some((*key, row(key)?, microdb(key))));
            rows.for_each(|row| put_new(store, &mut batch, shape, row));
            part.write(store, batch)?;
        }
        if !goes_on {
            changes.spilled.push(part);
        }
        for key in keys {
            if let Some(change) = changes.rows.remove(key) {
                changes.values.leave(shape, key, change.after.as_ref());
            }
            if shape.table().data_subject {
                self.subjects.remove(&(relation, key.clone()));
            }
        }
        self.undo.truncate(own);
        if !goes_on {
            self.undo.push(Undo::Spilled { relation });
        }
        self.undo.shrink_to(UNDO_KEPT_MAX);
        self.held_bytes = 0;
        Ok(())
    }

    /// A part of a table for new rows that never stood in memory: see `held_rows`.
    pub fn begin_part(&mut self, store: &Store, relation: RelationId) -> Result<Arc<SpilledRows>, SqlError> {
        let part = Arc::new(store.begin_spill(relation)?);
        self.tables.entry(relation).or_default().spilled.push(part.clone());
        self.undo.push(Undo::Spilled { relation });
        Ok(part)
    }

    /// Brings the rows of a table back into memory, where they stand over what is on the disk.
    pub fn bring_back(&mut self, shape: &TableShape) -> Result<(), SqlError> {
        let parts = self.tables.get(&shape.id()).map(|changes| changes.spilled.clone()).unwrap_or_default();
        for part in parts {
            for row in part.rows((Bound::Unbounded, Bound::Unbounded), false) {
                poll::step()?;
                let (key, row) = row?;
                if !self.tables.get(&shape.id()).is_some_and(|changes| changes.rows.contains_key(&key)) {
                    self.set(shape, key, None, Some(row));
                }
            }
        }
        Ok(())
    }

    /// Tables that have rows on the disk.
    pub fn spilled_tables(&self) -> Vec<RelationId> {
        self.tables.iter().filter(|(_, changes)| !changes.spilled.is_empty()).map(|(relation, _)| *relation).collect()
    }

    /// Lets go of what is on the disk, for whoever throws it all away.
    pub fn let_go_of_spilled(&mut self) {
        self.tables.values_mut().for_each(|changes| changes.spilled.clear());
        let tables = self.undo.iter_mut().filter_map(|undo| match undo {
            Undo::Table { previous, .. } => Some(previous),
            _ => None,
        });
        tables.for_each(|previous| previous.spilled.clear());
    }
}

impl Undo {
    fn row_key(&self) -> Option<&RowKey> {
        match self {
            Undo::Row { key, .. } => Some(key),
            _ => None,
        }
    }
}

impl TableChanges {
    /// How many rows stand on the disk.
    pub fn spilled_rows(&self) -> usize {
        self.spilled.iter().map(|part| part.len()).sum()
    }

    /// Rows on the disk that have not changed again, in the order of their keys within each statement's.
    pub fn spilled(&self) -> impl Iterator<Item = Result<(RowKey, Row), SqlError>> {
        let rows = self.spilled.iter().flat_map(|part| part.rows((Bound::Unbounded, Bound::Unbounded), false));
        rows.filter_map(|row| match row {
            Ok((key, _)) if self.rows.contains_key(&key) => None,
            row => Some(row.map_err(SqlError::from)),
        })
    }

    /// The µDB of a person whose row was written to the disk, whether it has changed again or not.
    pub fn spilled_subject(&self, key: &RowKey) -> Result<Option<MicroDbId>, SqlError> {
        for part in &self.spilled {
            if let Some(microdb) = part.subject(key)? {
                return Ok(Some(microdb));
            }
        }
        Ok(None)
    }

    /// All people whose rows were written to the disk, whether they have changed again or not.
    pub fn spilled_subjects(&self) -> impl Iterator<Item = Result<(RowKey, MicroDbId), SqlError>> {
        self.spilled.iter().flat_map(|part| part.subjects()).map(|person| person.map_err(SqlError::from))
    }

    /// A row on the disk, whether it has changed again or not.
    pub fn spilled_row(&self, key: &RowKey) -> Result<Option<Row>, SqlError> {
        for part in &self.spilled {
            if let Some(row) = part.get(key)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Whether a row stands here, in memory or on the disk.
    pub fn has(&self, key: &RowKey) -> Result<bool, SqlError> {
        match self.rows.get(key) {
            Some(change) => Ok(change.after.is_some()),
            None => self.has_spilled(key),
        }
    }

    /// Whether a row is on the disk.
    pub fn has_spilled(&self, key: &RowKey) -> Result<bool, SqlError> {
        for part in &self.spilled {
            if part.contains(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keys of rows on the disk that had a canonical value in an index.
    pub(crate) fn spilled_keys(
        &self,
        store: &Store,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<RowKey>, SqlError> {
        let mut keys = Vec::new();
        for part in &self.spilled {
            keys.extend(match shape.key_form {
                KeyForm::Hashed => part.keys_at(index, &store.hash_index(index, value))?,
                KeyForm::Ordered => part.keys_at(index, value)?,
            });
        }
        Ok(keys)
    }
}

/// A new row as it is written to a part: with its entries, and of a person's with whose µDB it is.
pub(super) fn put_new(
    store: &Store,
    batch: &mut SpillBatch<'_>,
    shape: &TableShape,
    (key, row, microdb): (&RowKey, &Row, Option<MicroDbId>),
) {
    batch.put_row(key, row);
    microdb.into_iter().for_each(|microdb| batch.put_subject(key, microdb));
    for index in &shape.table().indexes {
        if let Some(value) = shape.index_value_of(index, row) {
            match shape.key_form {
                KeyForm::Hashed => batch.put_entry(index.id, &store.hash_index_once(index.id, &value), key),
                KeyForm::Ordered => batch.put_entry(index.id, &value, key),
            }
        }
    }
}
