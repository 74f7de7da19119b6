//! The reader over the leaves: a published snapshot, with nothing or with overlays on top.
//!
//! The topmost layer that knows a row decides. An earlier transaction's layer in the commit group, then
//! this transaction's own: the order is the order of `layers`. Tells sizes, and what is in memory; never chooses a way.

mod batch;
mod exportable;
mod filled;
mod inverted;
mod notes;
mod range;
mod read_ahead;
mod spilled;
mod stored;
mod written;

use crate::SqlError;
use crate::audit::ReadObserver;
use crate::overlay::{Overlay, Owners};
use crate::ownership_hints::{ObservedOwners, OwnershipHints};
use crate::published::Published;
use crate::read_memo::ReadMemo;
pub use crate::reader::Located;
use crate::reader::{KeyRange, PackedRows, RangeRows, Reader, RowIterator, find_one};
use crate::shape::{Schema, TableShape};
use crate::snapshot_holders::SnapshotHold;
use crate::temporary::PersonalReads;
use crate::usage::Usage;
use crate::validation::ReadSet;
use crate::view_states::{Arrangement, Stage, Views};
use planner::catalog::{Catalog, Index, Table};
use planner::ownership::graph::KeyForm;
use planner::scalar::inverted::Wanted;
pub use read_ahead::{Ahead, Asks};
use repr::{CommitTime, Datum, IndexId, MicroDbId, RelationId, Row, RowKey, key, poll};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use storage::{Snapshot, Store};
pub use stored::{MicroDb, StoredRows};

/// No further key is asked for once so many rows are found.
const ROWS_AT_ONCE: usize = 256;

/// A snapshot under overlays.
#[derive(Clone)]
pub struct LayeredSnapshot {
    store: Store,
    base: Arc<Published>,
    /// From bottom to top.
    layers: Vec<Arc<Overlay>>,
    schema: Arc<Schema>,
    /// For whom, where the reading may last.
    hold: Option<Arc<SnapshotHold>>,
    /// Ordered indexes in memory are read.
    orders: bool,
    /// What was read of the snapshot already, where that is kept.
    recall: Option<Arc<ReadMemo>>,
    /// Where it is noted whose copies were read.
    seen: Option<Arc<ObservedOwners>>,
    /// What need not be looked up.
    known: Option<Arc<OwnershipHints>>,
    /// What is read stays in memory for the next statement.
    keeps: bool,
    /// Views are read though a row of them fails.
    amid_errors: bool,
    /// Where a SERIALIZABLE transaction notes what it reads.
    reads: Option<Arc<ReadSet>>,
    /// Where a session with temporary tables notes whether it reads what is personal.
    personal: Option<Arc<PersonalReads>>,
    /// Where it is noted for the audit log what is read, and the leaves that note it.
    observed: Option<(Arc<ReadObserver>, Snapshot)>,
    /// Where entries stand of indexes that a layer's transaction has filled.
    fresh: Option<Snapshot>,
}

impl LayeredSnapshot {
    /// The snapshot alone.
    pub fn new(store: Store, base: Arc<Published>) -> Self {
        let schema = base.schema.clone();
        LayeredSnapshot {
            store,
            base,
            layers: Vec::new(),
            schema,
            hold: None,
            orders: true,
            recall: None,
            seen: None,
            known: None,
            keeps: false,
            amid_errors: false,
            reads: None,
            personal: None,
            observed: None,
            fresh: None,
        }
    }

    /// With the schema that a session sees, temporary objects and all.
    #[must_use]
    pub fn seeing(mut self, schema: Arc<Schema>) -> Self {
        self.schema = schema;
        self
    }

    /// Without ordered indexes in memory: what they answer is computed from all rows.
    #[must_use]
    pub fn without_orders(mut self) -> Self {
        self.orders = false;
        self
    }

    /// Held for a session as long as any copy of this is there.
    #[must_use]
    pub fn held(mut self, hold: Arc<SnapshotHold>) -> Self {
        self.hold = Some(hold);
        self
    }

    /// For views: of a view of which a row fails they have the others, and whoever reads them is told.
    #[must_use]
    pub fn amid_errors(mut self) -> Self {
        self.amid_errors = true;
        self
    }

    /// For a statement of a client: what it reads stays in memory for the next.
    #[must_use]
    pub fn keeping(mut self) -> Self {
        self.keeps = true;
        self
    }

    /// For one who looks at very many rows once: nothing of it stays in memory.
    #[must_use]
    pub fn passing(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// For a derivation: what the transaction knows of the snapshot is not looked up.
    #[must_use]
    pub fn knowing(mut self, known: Arc<OwnershipHints>) -> Self {
        self.known = Some(known);
        self
    }

    /// What the transaction knows of the snapshot.
    pub fn known(&self) -> Option<&OwnershipHints> {
        self.known.as_deref()
    }

    /// The leaves below all layers.
    fn snapshot(&self) -> &Snapshot {
        match &self.observed {
            Some((_, leaves)) => leaves,
            None if self.keeps => &self.base.kept,
            None => &self.base.snapshot,
        }
    }

    /// With one more layer on top.
    #[must_use]
    pub fn under(mut self, overlay: Arc<Overlay>) -> Self {
        if overlay.changes_schema() {
            self.schema = overlay.schema().clone();
        }
        if self.fresh.is_none() && overlay.filled().next().is_some() {
            self.fresh = Some(self.store.snapshot());
        }
        if !overlay.is_empty() {
            self.layers.push(overlay);
        }
        self
    }

    /// Whether this is the published state that it is over.
    pub fn is_over(&self, base: &Arc<Published>) -> bool {
        Arc::ptr_eq(&self.base, base)
    }

    /// The catalog, compiled.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The store, for key hashing and sealing.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// One table, compiled.
    pub fn shape(&self, relation: RelationId) -> Result<&Arc<TableShape>, SqlError> {
        self.schema
            .shape(relation)
            .ok_or_else(|| SqlError::new("42P01", format!("relation with OID {relation} does not exist")))
    }

    /// The µDB of a data subject's row.
    pub fn subject(&self, relation: RelationId, row_key: &RowKey) -> Result<Option<MicroDbId>, SqlError> {
        for layer in self.layers.iter().rev() {
            if let Some(microdb) = layer.subject(relation, row_key) {
                return Ok(microdb);
            }
            let changes = layer.table(relation).filter(|changes| changes.spilled_rows() > 0);
            if let Some(microdb) = changes.map_or(Ok(None), |changes| changes.spilled_subject(row_key))? {
                return Ok(Some(microdb));
            }
        }
        Ok(self.base.snapshot.subject(relation, row_key)?)
    }

    /// Whether a row is there, without opening its seal.
    pub fn exists(&self, shape: &TableShape, row_key: &RowKey) -> Result<bool, SqlError> {
        let relation = shape.id();
        match self.decided_to_exist(relation, row_key)? {
            Some(exists) => Ok(exists),
            None => self.stored_exists(relation, row_key),
        }
    }

    /// Keys of the rows whose indexed columns have this canonical value.
    pub fn keys_by_value(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> Result<Vec<RowKey>, SqlError> {
        if shape.table().primary_key == Some(index) {
            let row_key = shape.key_of_value(&self.store, value);
            return Ok(if self.exists(shape, &row_key)? { vec![row_key] } else { Vec::new() });
        }
        if shape.key_form == KeyForm::Ordered {
            let rows = self.index_by_value(shape, index, value)?;
            return Ok(rows.into_iter().map(|(row_key, _)| row_key).collect());
        }
        let relation = shape.id();
        let mut keys = Vec::new();
        if self.has_no_entries(relation, index) {
            // All are in the layers.
        } else if let Some(as_of) = self.filled(relation, index) {
            keys.extend(self.filled_rows(shape, index, value, as_of)?.into_iter().map(|(row_key, _)| row_key));
        } else {
            let mut entries = self.stored_located(shape, index, value)?;
            if self.changes(relation) {
                self.retain_unhidden(relation, &mut entries)?;
            }
            keys.extend(entries.into_iter().map(|(row_key, _)| row_key));
        }
        keys.extend(self.layered_by_value(shape, index, value).into_iter().map(|(row_key, _)| row_key.clone()));
        keys.append(&mut self.spilled_keys(shape, index, value)?);
        Ok(keys)
    }

    /// As `keys_by_value`, each with the µDB from whose copy the row is best read, where the index says it.
    pub fn located_by_value(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> Result<Vec<Located>, SqlError> {
        let stored = !self.changes(shape.id()) && shape.key_form == KeyForm::Hashed;
        if stored && shape.table().primary_key != Some(index) {
            return self.stored_located(shape, index, value);
        }
        let keys = self.keys_by_value(shape, index, value)?;
        Ok(keys.into_iter().map(|row_key| (row_key, None)).collect())
    }

    /// One row, from where it was located.
    pub fn get_located(&self, shape: &TableShape, (row_key, locator): &Located) -> Result<Option<Row>, SqlError> {
        let Some(microdb) = locator else { return self.get(shape.table(), row_key) };
        self.recalled_row(shape.id(), row_key, |_| self.snapshot().get_copy(shape.id(), row_key, *microdb))
    }

    /// Rows whose indexed columns have this canonical value.
    pub fn index_by_value(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let relation = shape.id();
        if shape.table().primary_key == Some(index) {
            let row_key = shape.key_of_value(&self.store, value);
            let row = self.get(shape.table(), &row_key)?;
            return Ok(row.into_iter().map(|row| (row_key.clone(), row)).collect());
        }
        let mut found = Vec::new();
        if self.has_no_entries(relation, index) {
            // All are in the layers.
        } else if let Some(as_of) = self.filled(relation, index) {
            found = self.filled_rows(shape, index, value, as_of)?;
        } else {
            self.stored_index(shape, index, value, &mut found)?;
        }
        let layered = self.layered_by_value(shape, index, value);
        found.extend(layered.into_iter().map(|(row_key, row)| (row_key.clone(), row.clone())));
        found.append(&mut self.spilled_by_value(shape, index, value)?);
        Ok(found)
    }

    /// As `index_by_value`, of the rows that the layers decide.
    fn layered_by_value(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> Vec<(&RowKey, &Row)> {
        let relation = shape.id();
        let mut found = Vec::new();
        let mut seen: HashSet<&RowKey> = HashSet::new();
        for layer in &self.layers {
            let Some(changes) = layer.table(relation) else { continue };
            for row_key in changes.index_keys(shape, index, value) {
                if seen.insert(row_key)
                    && let Some(Some(row)) = self.layered(relation, row_key)
                    && self.still_has(shape, index, value, row)
                {
                    found.push((row_key, row));
                }
            }
        }
        found
    }

    fn stored_index(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
        found: &mut Vec<(RowKey, Row)>,
    ) -> Result<(), SqlError> {
        let relation = shape.id();
        match shape.key_form {
            KeyForm::Hashed => {
                let mut located = self.stored_located_again(shape, index, value)?;
                if self.changes(relation) {
                    self.retain_unhidden(relation, &mut located)?;
                }
                self.read_located_into(shape, located, found)?;
            }
            KeyForm::Ordered => {
                let end = prefix_end(value);
                let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut located = Vec::new();
                for row_key in self.base.snapshot.scan_index_ordered(index, Bound::Included(value), upper, false) {
                    poll::step()?;
                    let row_key = row_key?;
                    if !self.hides(relation, &row_key)? {
                        located.push((row_key, None));
                    }
                }
                self.read_located_into(shape, located, found)?;
            }
        }
        Ok(())
    }

    /// Reads rows from below the layers, from where an index says that they are.
    fn read_located_into(
        &self,
        shape: &TableShape,
        located: Vec<Located>,
        found: &mut Vec<(RowKey, Row)>,
    ) -> Result<(), SqlError> {
        found.reserve(located.len());
        let mut located = located.into_iter().peekable();
        while located.peek().is_some() {
            // So many at once, as their blocks are held in the cache meanwhile.
            poll::steps(ROWS_AT_ONCE)?;
            let some: Vec<Located> = located.by_ref().take(ROWS_AT_ONCE).collect();
            let rows = batch::read(self.snapshot(), shape, &some)?;
            if let Some(seen) = self.seen.as_ref().filter(|_| shape.one_owner) {
                let owned = some.iter().filter_map(|(row_key, locator)| Some((row_key, (*locator)?)));
                seen.note_all(shape.id(), owned, self.base.time);
            }
            for ((row_key, _), row) in some.into_iter().zip(rows) {
                found.push((row_key, row.ok_or_else(|| damaged(shape, "an index entry leads to no row"))?));
            }
        }
        Ok(())
    }

    /// See `find_first`, without layers.
    fn stored_first(
        &self,
        shape: &TableShape,
        index: Option<&Index>,
        keys: &[Vec<Datum>],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let (relation, snapshot) = (shape.id(), self.snapshot());
        if let Some(index) = index.filter(|index| shape.table().primary_key != Some(index.id)) {
            let mut located = Vec::new();
            for key in keys {
                let value = self.store.hash_index(index.id, &key::encode_all(key));
                let of_key = self.base.index_rows_again(snapshot, index.id, &value)?;
                tell(of_key.len());
                located.extend(of_key);
                if located.len() >= ROWS_AT_ONCE {
                    break;
                }
            }
            let mut found = Vec::with_capacity(located.len());
            self.read_located_into(shape, located, &mut found)?;
            return Ok(found);
        }
        let row_keys: Vec<RowKey> = keys.iter().map(|key| shape.key_of(&self.store, key)).collect();
        if let ([row_key], Some(seen)) = (row_keys.as_slice(), &self.seen)
            && shape.one_owner
        {
            let found = self.base.personal_located(snapshot, relation, row_key)?;
            let found = found.map(|(row, owner)| {
                seen.note(relation, row_key, owner, self.base.time);
                (row_key.clone(), row)
            });
            tell(usize::from(found.is_some()));
            return Ok(found.into_iter().collect());
        }
        let rows = if shape.table().data_subject {
            snapshot.get_subjects(relation, &row_keys)?
        } else if shape.personal {
            snapshot.get_personals(relation, &row_keys)?
        } else {
            snapshot.get_impersonals(relation, &row_keys)?
        };
        let found = row_keys.into_iter().zip(rows).filter_map(|(row_key, row)| {
            tell(usize::from(row.is_some()));
            Some((row_key, row?))
        });
        Ok(found.collect())
    }

    /// The version of a row in the layers, if one of them decides it in memory: what is stored is not looked at then.
    fn layered(&self, relation: RelationId, row_key: &RowKey) -> Option<Option<&Row>> {
        for layer in self.layers.iter().rev() {
            let Some(changes) = layer.table(relation) else { continue };
            if let Some(change) = changes.rows.get(row_key) {
                return Some(change.after.as_ref());
            }
            if changes.truncated {
                return Some(None);
            }
        }
        None
    }

    /// Whether a layer changes anything of what all share.
    pub fn has_changes(&self) -> bool {
        self.layers.iter().any(|layer| layer.changes_shared())
    }

    /// Whether a table is defined as it is published: what memory has of it holds.
    fn is_as_published(&self, table: &Arc<Table>) -> bool {
        Arc::ptr_eq(&self.schema, &self.base.schema)
            || (!self.layers.iter().any(|layer| layer.changes_schema())
                && self.base.schema.shape(table.id).is_some_and(|shape| Arc::ptr_eq(shape.table(), table)))
    }

    /// Whether a layer has changed rows of a table.
    pub fn changes(&self, relation: RelationId) -> bool {
        self.layers.iter().any(|layer| layer.table(relation).is_some())
    }

    /// The maintained views, as of the snapshot.
    pub fn views(&self) -> &Views {
        &self.base.views
    }

    /// Whether a truncation hides the stored rows.
    fn base_hidden(&self, relation: RelationId) -> bool {
        self.layers.iter().any(|layer| layer.table(relation).is_some_and(|changes| changes.truncated))
    }

    /// A maintained view's rows, by an index or anyhow.
    fn arrangement(&self, table: &Table, index: Option<IndexId>) -> Result<&Arrangement, SqlError> {
        let views = &self.base.views;
        let state = match self.amid_errors {
            true => views.get(table.id).filter(|state| matches!(state.stage, Stage::Ready)),
            false => views.ready(table.id),
        };
        let arrangement = state.and_then(|state| match index {
            Some(index) => state.arrangement(index),
            None => state.arrangements.first(),
        });
        arrangement.ok_or_else(|| {
            SqlError::new("55000", format!("view \"{}\" cannot be read now", table.name))
                .hint("It is being filled, or a row of it cannot be evaluated; try again.")
        })
    }

    // A lower layer's entry may have been overwritten by a higher layer with another value.
    fn still_has(&self, shape: &TableShape, index: IndexId, value: &[u8], row: &Row) -> bool {
        self.layers.len() == 1 || shape.index_value(shape.index(index), &shape.unpack(row)).as_deref() == Some(value)
    }
}

/// Rows of views are told apart by nothing but what they hold.
fn view_row_key() -> RowKey {
    RowKey::new(&[])
}

fn damaged(shape: &TableShape, what: &str) -> SqlError {
    SqlError::new("XX001", format!("{what} in table \"{}\"", shape.table().name))
        .hint("stop the server and run \"dogwood check\"")
}

/// The first byte string after all that start with `prefix`.
fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

impl Reader for LayeredSnapshot {
    fn usage(&self) -> Option<&Usage> {
        Some(&self.base.usage)
    }

    fn time(&self) -> CommitTime {
        self.base.time
    }

    fn catalog(&self) -> &Arc<Catalog> {
        self.schema.catalog()
    }

    fn row_key(&self, table: &Table, primary_key: &[Datum]) -> RowKey {
        let shape = self.schema.shape(table.id).expect("plans are made against this reader's catalog");
        shape.key_of(&self.store, primary_key)
    }

    fn get(&self, table: &Table, row_key: &RowKey) -> Result<Option<Row>, SqlError> {
        assert!(table.is_stored(), "rows of views have no keys to be asked for by");
        self.note_personal(table);
        if let Some(reads) = &self.reads {
            reads.row(table.id, row_key);
        }
        match self.decided(table.id, row_key)? {
            Some(version) => Ok(version.map(Cow::into_owned)),
            None => self.stored_row(table.id, row_key),
        }
    }

    fn index(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.note_value(table, index, values);
        if !table.is_stored() {
            let arrangement = self.arrangement(table, Some(index.id))?;
            let (mut rows, key) = (Vec::new(), key::encode_all(values));
            self.note_view_key(table, Some(&key));
            arrangement.for_key(&key, |bytes| {
                rows.push((view_row_key(), Row::from_bytes(bytes.into())));
                true
            });
            return Ok(rows);
        }
        if values.len() < index.columns.len() {
            let range = KeyRange { prefix: values.to_vec(), ..KeyRange::default() };
            let shape = self.shape(table.id)?;
            assert!(shape.key_form == KeyForm::Ordered, "hashed indexes are asked for whole values");
            return self.stored_range(shape, Some(index), &range)?.collect();
        }
        self.index_by_value(self.shape(table.id)?, index.id, &key::encode_all(values))
    }

    fn arranged(&self, table: &Table, index: Option<&Index>) -> Result<Option<Arrangement>, SqlError> {
        if table.is_stored() {
            return Ok(None);
        }
        self.note_table(table);
        index.map(|index| self.arrangement(table, Some(index.id)).cloned()).transpose()
    }

    fn note_arranged(&self, table: &Table, key: Option<&[u8]>) {
        self.note_view_key(table, key);
    }

    fn find_first(
        &self,
        table: &Table,
        index: Option<&Index>,
        keys: &[Vec<Datum>],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.note_table(table);
        let shape = self.schema.shape(table.id).filter(|_| table.is_stored() && !self.changes(table.id));
        if let Some(shape) = shape.filter(|shape| index.is_none() || shape.key_form == KeyForm::Hashed) {
            return self.stored_first(shape, index, keys, tell);
        }
        find_one(self, table, index, keys, tell)
    }

    fn locate(
        &self,
        table: &Table,
        index: &Index,
        values: &[Datum],
        at_most: usize,
    ) -> Result<Option<Vec<Located>>, SqlError> {
        self.note_value(table, index, values);
        let shape = self.schema.shape(table.id).filter(|_| table.is_stored() && !self.changes(table.id));
        let has_entries = shape.is_some_and(|shape| shape.key_form == KeyForm::Hashed)
            && table.primary_key != Some(index.id)
            && values.len() == index.columns.len();
        if !has_entries {
            return Ok(None);
        }
        let hash = self.store.hash_index(index.id, &key::encode_all(values));
        Ok(self.base.index_rows_again_up_to(self.snapshot(), index.id, &hash, at_most)?)
    }

    fn read_located(&self, table: &Table, located: Vec<Located>) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let mut found = Vec::new();
        self.read_located_into(self.shape(table.id)?, located, &mut found)?;
        Ok(found)
    }

    fn index_any(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<bool, SqlError> {
        if !table.is_stored() || self.changes(table.id) {
            return Ok(!self.index(table, index, values)?.is_empty());
        }
        self.note_value(table, index, values);
        self.stored_any(self.shape(table.id)?, index.id, &key::encode_all(values))
    }

    fn range(&self, table: &Table, index: Option<&Index>, range: &KeyRange) -> Result<Option<RangeRows>, SqlError> {
        self.note_table(table);
        let shape = self.shape(table.id)?;
        match shape.key_form {
            KeyForm::Ordered => {
                let rows = self.stored_range(shape, index, range)?;
                Ok(Some(RangeRows { rows, in_memory: None }))
            }
            // What stands on the disk has no such order.
            KeyForm::Hashed if self.has_spilled(table.id) => Ok(None),
            KeyForm::Hashed => Ok(self.range_in_memory(shape, index, range)),
        }
    }

    fn inverted(&self, table: &Table, index: &Index, wanted: &Wanted) -> Result<Option<RangeRows>, SqlError> {
        self.note_table(table);
        if self.has_spilled(table.id) {
            return Ok(None);
        }
        Ok(self.inverted_in_memory(self.shape(table.id)?, index, wanted))
    }

    fn scan(&self, table: &Table) -> Result<RowIterator, SqlError> {
        self.note_table(table);
        if !table.is_stored() {
            self.note_view_key(table, None);
            let rows = self.arrangement(table, None)?.rows();
            return Ok(Box::new(rows.map(|row| Ok((view_row_key(), row)))));
        }
        let shape = self.shape(table.id)?;
        let stored = self.snapshot().scan(table.id, shape.personal).map(|item| {
            poll::step()?;
            item.map_err(SqlError::from)
        });
        if !self.changes(table.id) {
            return Ok(Box::new(stored));
        }
        let relation = table.id;
        let changed = self.as_written(relation)?;
        let stored: RowIterator = match self.base_hidden(relation) {
            true => Box::new(std::iter::empty()),
            false => self.clone().unhidden(relation, stored),
        };
        let spilled = self.spilled_rows(relation);
        Ok(Box::new(stored.chain(spilled).chain(changed.into_iter().map(Ok))))
    }

    fn scan_packed(&self, table: &Table) -> Result<Option<PackedRows>, SqlError> {
        if !table.is_stored() || self.changes(table.id) {
            return Ok(None);
        }
        self.note_table(table);
        Ok(self.snapshot().scan_bulk(table.id, self.shape(table.id)?.personal).map(PackedRows::of))
    }

    fn scan_once(&self, table: &Table) -> Result<RowIterator, SqlError> {
        if !table.is_stored() || self.changes(table.id) {
            return self.scan(table);
        }
        self.note_table(table);
        let shape = self.shape(table.id)?;
        Ok(Box::new(self.snapshot().scan_once(table.id, shape.personal).map(|item| {
            poll::step()?;
            item.map_err(SqlError::from)
        })))
    }

    fn owners(&self, table: &Table, row_key: &RowKey) -> Result<Owners, SqlError> {
        self.owners_of(table.id, row_key)
    }
}
