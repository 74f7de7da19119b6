//! What was read from one state, kept for whoever asks again: an erasure's rules, owners and writing meet the same rows.
//!
//! Holds rows in clear, like a transaction's overlay, until they are written, and goes when a helper takes it apart. Never says what
//! another state holds: a reader over another one starts anew.

use crate::layered_snapshot::Located;
use crate::overlay::Owners;
use parking_lot::Mutex;
use repr::hash::HashMap;
use repr::{CommitTime, IndexId, MicroDbId, RelationId, Row, RowKey};

/// Reads of the state of one commit.
pub struct ReadMemo {
    time: CommitTime,
    // One lock for all: one thread asks.
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    rows: HashMap<RelationId, HashMap<RowKey, Option<Row>>>,
    owners: HashMap<RelationId, HashMap<RowKey, Owners>>,
    located: HashMap<IndexId, HashMap<Vec<u8>, Vec<Located>>>,
    /// The copies that index entries lead to.
    locators: HashMap<RelationId, HashMap<RowKey, MicroDbId>>,
}

impl ReadMemo {
    /// Nothing read yet.
    pub fn new(time: CommitTime) -> ReadMemo {
        ReadMemo { time, read: Mutex::default() }
    }

    /// The state's commit.
    pub fn time(&self) -> CommitTime {
        self.time
    }

    /// A row's content.
    pub fn row<E>(
        &self,
        relation: RelationId,
        row_key: &RowKey,
        read: impl FnOnce(Option<MicroDbId>) -> Result<Option<Row>, E>,
    ) -> Result<Option<Row>, E> {
        let known = self.read.lock();
        if let Some(row) = known.rows.get(&relation).and_then(|rows| rows.get(row_key)) {
            return Ok(row.clone());
        }
        let locator = known.locators.get(&relation).and_then(|rows| rows.get(row_key)).copied();
        drop(known);
        let row = read(locator)?;
        self.keep_row(relation, row_key.clone(), row.clone());
        Ok(row)
    }

    /// Whether a row that was read is there; nothing if it was not read.
    pub fn holds(&self, relation: RelationId, row_key: &RowKey) -> Option<bool> {
        self.read.lock().rows.get(&relation)?.get(row_key).map(Option::is_some)
    }

    /// Keeps a row that was read otherwise.
    pub(crate) fn keep_row(&self, relation: RelationId, row_key: RowKey, row: Option<Row>) {
        self.read.lock().rows.entry(relation).or_default().insert(row_key, row);
    }

    /// The owner whose copy an index entry leads to, if one did.
    pub fn locator(&self, relation: RelationId, row_key: &RowKey) -> Option<MicroDbId> {
        self.read.lock().locators.get(&relation)?.get(row_key).copied()
    }

    /// Keeps rows of a table of which an owner's copies were read.
    pub(crate) fn keep_copies(&self, relation: RelationId, owner: MicroDbId, copies: Vec<(RowKey, Row)>) {
        let mut known = self.read.lock();
        let read = &mut *known;
        let locators = read.locators.entry(relation).or_default();
        locators.extend(copies.iter().map(|(row_key, _)| (row_key.clone(), owner)));
        read.rows.entry(relation).or_default().extend(copies.into_iter().map(|(row_key, row)| (row_key, Some(row))));
    }

    /// Keeps many rows of a table that were read otherwise.
    pub(crate) fn keep_rows(&self, relation: RelationId, rows: impl IntoIterator<Item = (RowKey, Row)>) {
        let rows = rows.into_iter().map(|(row_key, row)| (row_key, Some(row)));
        self.read.lock().rows.entry(relation).or_default().extend(rows);
    }

    /// A row's owners.
    pub fn owners<E>(
        &self,
        relation: RelationId,
        row_key: &RowKey,
        read: impl FnOnce() -> Result<Owners, E>,
    ) -> Result<Owners, E> {
        if let Some(owners) = self.read.lock().owners.get(&relation).and_then(|rows| rows.get(row_key)) {
            return Ok(owners.clone());
        }
        let owners = read()?;
        self.read.lock().owners.entry(relation).or_default().insert(row_key.clone(), owners.clone());
        Ok(owners)
    }

    /// The rows of a table that a canonical value leads to.
    pub fn located<E>(
        &self,
        relation: RelationId,
        index: IndexId,
        value: &[u8],
        read: impl FnOnce() -> Result<Vec<Located>, E>,
    ) -> Result<Vec<Located>, E> {
        if let Some(located) = self.read.lock().located.get(&index).and_then(|values| values.get(value)) {
            return Ok(located.clone());
        }
        let located = read()?;
        self.keep_located(relation, index, value.to_vec(), located.clone());
        Ok(located)
    }

    /// Whether it was asked which rows a canonical value leads to.
    pub(crate) fn has_located(&self, index: IndexId, value: &[u8]) -> bool {
        self.read.lock().located.get(&index).is_some_and(|values| values.contains_key(value))
    }

    /// Whether a canonical value that was asked for leads to any row; nothing if it was not.
    pub fn leads(&self, index: IndexId, value: &[u8]) -> Option<bool> {
        self.read.lock().located.get(&index)?.get(value).map(|located| !located.is_empty())
    }

    /// Keeps the rows of a table that a canonical value leads to.
    pub fn keep_located(&self, relation: RelationId, index: IndexId, value: Vec<u8>, located: Vec<Located>) {
        let mut known = self.read.lock();
        let locators = known.locators.entry(relation).or_default();
        for (row_key, locator) in &located {
            locators.extend(locator.map(|locator| (row_key.clone(), locator)));
        }
        known.located.entry(index).or_default().insert(value, located);
    }
}
