//! Index entries: from a value to the row keys that have it.
//!
//! Hashed entries serve equality on any table and hold a keyed hash of the value, never the value. Ordered entries
//! hold order-preserving bytes in clear, and exist only for impersonal tables with no path to a person; the engine sees to that.

use std::ops::Bound;

use repr::{IndexId, MicroDbId, RowKey};

use crate::batch::Batch;
use crate::error::{StorageError, StoredEntry};
use crate::keyspace::{self, FILTER_PREFIX_BYTES, ValueHash, varint};
use crate::microdb;
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};

impl Batch {
    /// Adds a row to a hashed value's entries. The locator is the owner whose copy a reader should take.
    pub fn put_index_hashed(&mut self, index: IndexId, value: &ValueHash, key: &RowKey, locator: Option<MicroDbId>) {
        let at = keyspace::index_hashed(index, value, key);
        match locator {
            Some(locator) => self.put(Family::Index, &at, &microdb::stored(locator)),
            None => self.put(Family::Index, &at, &[]),
        }
    }

    /// Removes a row from a hashed value's entries.
    pub fn delete_index_hashed(&mut self, index: IndexId, value: &ValueHash, key: &RowKey) {
        self.delete(Family::Index, &keyspace::index_hashed(index, value, key));
    }

    /// Adds a row under order-preserving, self-delimiting value bytes.
    pub fn put_index_ordered(&mut self, index: IndexId, value: &[u8], key: &RowKey) {
        let mut length = Vec::new();
        varint::write(value.len() as u64, &mut length);
        self.put(Family::Index, &keyspace::index_ordered(index, value, key), &length);
    }

    /// Removes a row from under value bytes.
    pub fn delete_index_ordered(&mut self, index: IndexId, value: &[u8], key: &RowKey) {
        self.delete(Family::Index, &keyspace::index_ordered(index, value, key));
    }
}

/// One cursor for many look-ups by hashed values: it costs more to make than to move.
pub struct IndexProbe {
    cursor: Cursor,
}

impl IndexProbe {
    /// The rows with a hashed value, each with its locator.
    pub fn rows(
        &mut self,
        index: IndexId,
        value: &ValueHash,
    ) -> Result<Vec<(RowKey, Option<MicroDbId>)>, StorageError> {
        Ok(self.rows_up_to(index, value, usize::MAX)?.unwrap_or_default())
    }

    /// The same, unless they are more than `at_most`.
    pub fn rows_up_to(
        &mut self,
        index: IndexId,
        value: &ValueHash,
        at_most: usize,
    ) -> Result<Option<Vec<(RowKey, Option<MicroDbId>)>>, StorageError> {
        let (mut rows, mut parsed) = (Vec::new(), true);
        let prefix = keyspace::index_hashed_prefix(index, value);
        self.cursor.find_all(&prefix, "read an index", |key, value| {
            match parse_hashed(key, value) {
                Some((_, key, locator)) => rows.push((key, locator)),
                None => parsed = false,
            }
            rows.len() <= at_most
        })?;
        if parsed { Ok((rows.len() <= at_most).then_some(rows)) } else { Err(malformed(index)) }
    }
}

impl Snapshot {
    /// The rows with a hashed value, each with its locator.
    pub fn index_hashed(
        &self,
        index: IndexId,
        value: &ValueHash,
    ) -> Result<Vec<(RowKey, Option<MicroDbId>)>, StorageError> {
        self.index_probe().rows(index, value)
    }

    /// The same if it is in memory.
    pub fn held_index_rows(&self, index: IndexId, value: &ValueHash) -> Option<Vec<(RowKey, Option<MicroDbId>)>> {
        self.store().reads().index_rows(index, value, self.sequence())
    }

    /// Leaves in memory what this snapshot has under a hashed value, if it keeps what is read.
    pub fn keep_index_rows(&self, index: IndexId, value: &ValueHash, rows: &[(RowKey, Option<MicroDbId>)]) {
        if self.keeps() {
            self.store().reads().put_index_rows(index, value, self.sequence(), rows);
        }
    }

    /// Asks for many hashed values.
    pub fn index_probe(&self) -> IndexProbe {
        IndexProbe { cursor: Cursor::probe(self, Family::Index) }
    }

    /// Row keys in the order of their value bytes, then of themselves.
    ///
    /// A bound is a prefix of value bytes at a column's end: `Included` takes every value that starts with it,
    /// `Excluded` none of them.
    pub fn scan_index_ordered(
        &self,
        index: IndexId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        reverse: bool,
    ) -> impl Iterator<Item = Result<RowKey, StorageError>> + Send + use<> {
        let direction = Direction::of(reverse);
        let cursor = Cursor::range(self, Family::Index, &keyspace::index(index), lower, upper, direction);
        cursor.entries("scan an index", move |key, value| {
            parse_ordered(key, value).map(|(_, key)| key).ok_or(malformed(index))
        })
    }

    /// All entries of an ordered index: value bytes and row key, for the offline check.
    pub fn scan_index_ordered_all(
        &self,
        index: IndexId,
    ) -> impl Iterator<Item = Result<(Vec<u8>, RowKey), StorageError>> + Send + use<> {
        let cursor = Cursor::all(self, Family::Index, &keyspace::index(index));
        cursor.entries("scan an index", move |key, value| parse_ordered(key, value).ok_or(malformed(index)))
    }

    /// All entries of a hashed index, for the offline check.
    pub fn scan_index_hashed_all(
        &self,
        index: IndexId,
    ) -> impl Iterator<Item = Result<(ValueHash, RowKey, Option<MicroDbId>), StorageError>> + Send + use<> {
        let cursor = Cursor::all(self, Family::Index, &keyspace::index(index));
        cursor.entries("scan an index", move |key, value| parse_hashed(key, value).ok_or(malformed(index)))
    }
}

fn malformed(index: IndexId) -> StorageError {
    StorageError::Malformed { entry: StoredEntry::Index(index) }
}

fn parse_hashed(key: &[u8], value: &[u8]) -> Option<(ValueHash, RowKey, Option<MicroDbId>)> {
    let (prefix, row) = key.split_at_checked(FILTER_PREFIX_BYTES)?;
    let hash = prefix[4..].try_into().ok()?;
    let locator = match value {
        [] => None,
        bytes => Some(microdb::loaded(bytes.try_into().ok()?)),
    };
    Some((hash, RowKey::new(row), locator))
}

fn parse_ordered(key: &[u8], length: &[u8]) -> Option<(Vec<u8>, RowKey)> {
    let (length, rest) = varint::read(length)?;
    let (value, row) = key.get(4..)?.split_at_checked(usize::try_from(length).ok()?)?;
    rest.is_empty().then(|| (value.to_vec(), RowKey::new(row)))
}
