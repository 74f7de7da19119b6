//! What is stored below all layers: read from the snapshot, or recalled where the reader recalls.

use crate::SqlError;
use crate::audit::ReadObserver;
use crate::layered_snapshot::{LayeredSnapshot, Located, prefix_end};
use crate::overlay::Owners;
use crate::published::Published;
use crate::read_memo::ReadMemo;
use crate::shape::TableShape;
use planner::ownership::KeyForm;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use std::ops::Bound;
use std::sync::Arc;
use storage::{MicroDbProbe, OwnerProbe, StorageError};

/// A person's µDB as of one commit, read a table at a time.
pub struct MicroDb {
    probe: MicroDbProbe,
    id: MicroDbId,
    observer: Option<Arc<ReadObserver>>,
}

impl MicroDb {
    /// The rows of a table, in the order of their keys.
    pub fn rows(&mut self, relation: RelationId, mut give: impl FnMut(RowKey, Row)) -> Result<(), SqlError> {
        let mut gives = false;
        self.probe.rows(relation, self.id, |row_key, row| {
            gives = true;
            give(row_key, row);
        })?;
        if let Some(observer) = self.observer.as_ref().filter(|_| gives) {
            observer.note_table(relation);
        }
        Ok(())
    }
}

impl LayeredSnapshot {
    /// What is read is kept in the memo, or is there from earlier readers of the same state.
    #[must_use]
    pub fn recalling(mut self, recall: Arc<ReadMemo>) -> Self {
        assert!(recall.time() == self.base.time, "what is recalled is of this state");
        self.recall = Some(recall);
        self
    }

    /// Recalls nothing any more; what was recalled.
    pub fn take_recall(&mut self) -> Option<Arc<ReadMemo>> {
        self.recall.take()
    }

    /// Recalls a person's rows from here on.
    pub fn keep_microdb(&self, microdb: MicroDbId, tables: Vec<(RelationId, Vec<(RowKey, Row)>)>) {
        let Some(recall) = &self.recall else { return };
        for (relation, rows) in tables {
            recall.keep_copies(relation, microdb, rows);
        }
    }

    /// Recalls which rows a canonical value leads to.
    pub fn keep_located(&self, relation: RelationId, index: IndexId, value: Vec<u8>, located: Vec<Located>) {
        if let Some(recall) = &self.recall {
            recall.keep_located(relation, index, value, located);
        }
    }

    /// A person's rows as they are stored.
    pub fn microdb(&self, id: MicroDbId) -> MicroDb {
        if let Some(reads) = &self.reads {
            self.schema.order().iter().for_each(|relation| reads.table(*relation));
        }
        let observer = self.observed.as_ref().map(|(observer, _)| observer.clone());
        MicroDb { probe: self.base.snapshot.microdb_probe(), id, observer }
    }

    /// A row, by what its table is in the stored catalog: one that an overlay makes, or makes another of, has all its rows
    /// in the overlay.
    pub(super) fn stored_row(&self, relation: RelationId, row_key: &RowKey) -> Result<Option<Row>, SqlError> {
        poll::step()?;
        let Some(stored) = self.base.schema.shape(relation) else { return Ok(None) };
        let read = |locator: Option<MicroDbId>| {
            let snapshot = self.snapshot();
            match locator {
                Some(microdb) => {
                    let row = snapshot.get_copy(relation, row_key, microdb)?;
                    row.map(Some).ok_or(StorageError::CopyMissing { relation })
                }
                None if stored.table().data_subject => snapshot.get_subject(relation, row_key),
                None if stored.personal => self.base.personal(snapshot, relation, row_key),
                None => snapshot.get_impersonal(relation, row_key),
            }
        };
        self.recalled_row(relation, row_key, read)
    }

    /// A row, from where it is recalled, or else read; `read` is told whose copy there is, if that is recalled.
    pub(super) fn recalled_row(
        &self,
        relation: RelationId,
        row_key: &RowKey,
        read: impl FnOnce(Option<MicroDbId>) -> Result<Option<Row>, StorageError>,
    ) -> Result<Option<Row>, SqlError> {
        Ok(match &self.recall {
            Some(recall) => recall.row(relation, row_key, read)?,
            None => read(None)?,
        })
    }

    /// Whether a row is there, without opening its seal.
    pub(super) fn stored_exists(&self, relation: RelationId, row_key: &RowKey) -> Result<bool, SqlError> {
        if let Some(holds) = self.recall.as_ref().and_then(|recall| recall.holds(relation, row_key)) {
            return Ok(holds);
        }
        let Some(stored) = self.base.schema.shape(relation) else { return Ok(false) };
        let snapshot = &self.base.snapshot;
        Ok(if stored.table().data_subject {
            snapshot.subject(relation, row_key)?.is_some()
        } else if stored.personal {
            self.base.holds_personal(relation, row_key)?
        } else {
            snapshot.holds_impersonal(relation, row_key)?
        })
    }

    /// A personal row's owners, whichever layer knows them.
    pub fn owners_of(&self, relation: RelationId, row_key: &RowKey) -> Result<Owners, SqlError> {
        for layer in self.layers.iter().rev() {
            if let Some(owners) = layer.owners(relation, row_key) {
                return Ok(owners.clone());
            }
        }
        self.stored_owners(relation, row_key)
    }

    fn stored_owners(&self, relation: RelationId, row_key: &RowKey) -> Result<Owners, SqlError> {
        if let Some(owner) = self.known().and_then(|known| known.owner(relation, row_key)) {
            return Ok(vec![(owner, 1)]);
        }
        let read = || self.base.owners(relation, row_key);
        let Some(recall) = &self.recall else { return Ok(read()?) };
        if self.base.schema.shape(relation).is_some_and(|shape| shape.one_owner)
            && let Some(owner) = recall.locator(relation, row_key)
        {
            // The copy that was found is the only one.
            return Ok(vec![(owner, 1)]);
        }
        Ok(recall.owners(relation, row_key, read)?)
    }

    /// Whether there are rows whose indexed columns have this canonical value.
    pub fn leads(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> Result<bool, SqlError> {
        let recalled = self.recall.as_ref().filter(|_| !self.changes(shape.id()));
        match recalled.and_then(|recall| recall.leads(index, value)) {
            Some(leads) => Ok(leads),
            None => Ok(!self.keys_by_value(shape, index, value)?.is_empty()),
        }
    }

    /// As `stored_located`, of a value that may have been asked for before.
    pub(super) fn stored_located_again(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<Located>, SqlError> {
        if self.recall.is_some() {
            return self.stored_located(shape, index, value);
        }
        Ok(self.base.index_rows_again(self.snapshot(), index, &self.store.hash_index(index, value))?)
    }

    /// Whether a canonical value has rows in an index, none of whose seals is opened; without layers.
    pub(super) fn stored_any(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> Result<bool, SqlError> {
        if shape.table().primary_key == Some(index) {
            return Ok(!self.located_by_value(shape, index, value)?.is_empty());
        }
        if shape.key_form == KeyForm::Ordered {
            let end = prefix_end(value);
            let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut entries = self.snapshot().scan_index_ordered(index, Bound::Included(value), upper, false);
            return Ok(entries.next().transpose()?.is_some());
        }
        let located = self.stored_located_again(shape, index, value)?;
        self.snapshot().note_located(shape.id(), &located);
        Ok(!located.is_empty())
    }

    /// The rows that a canonical value leads to in a hashed index.
    pub(super) fn stored_located(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<Located>, SqlError> {
        let read = || self.base.index_rows(index, &self.store.hash_index(index, value));
        Ok(match &self.recall {
            Some(recall) => recall.located(shape.id(), index, value, read)?,
            None => read()?,
        })
    }
}

impl LayeredSnapshot {
    /// Asks for many rows of a table whether they are stored below all layers.
    pub fn stored_rows(&self, relation: RelationId) -> StoredRows {
        let shape = self.base.schema.shape(relation).cloned();
        let personal = shape.as_ref().is_some_and(|shape| shape.personal && !shape.table().data_subject);
        let probe = personal.then(|| self.base.snapshot.owner_probe());
        StoredRows { base: self.base.clone(), shape, probe }
    }
}

/// Which rows of one table are stored, asked for one after another.
pub struct StoredRows {
    base: Arc<Published>,
    shape: Option<Arc<TableShape>>,
    probe: Option<OwnerProbe>,
}

impl StoredRows {
    /// Whether the row is stored.
    pub fn contains(&mut self, row_key: &RowKey) -> Result<bool, SqlError> {
        let Some(shape) = &self.shape else { return Ok(false) };
        Ok(match &mut self.probe {
            Some(probe) => probe.exists(shape.id(), row_key)?,
            None if shape.personal => self.base.snapshot.subject(shape.id(), row_key)?.is_some(),
            None => self.base.snapshot.holds_impersonal(shape.id(), row_key)?,
        })
    }
}
