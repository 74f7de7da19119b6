//! Rows that a transaction has changed and not committed, where they would take too much memory: a RocksDB of their own beside
//! the store, without a log, which nobody else reads and no start keeps.
//!
//! ```text
//! part(8) ‖ 0 ‖ row key                      ─▶ seal of: length + 1 of the row before (4), or 0 ‖ row before ‖ 1 ‖ row after, or 0
//! part(8) ‖ 1 ‖ index(4) ‖ place ‖ row key   ─▶ length of place(4)      place: keyed hash, or the value where the table is ordered
//! part(8) ‖ 2 ‖ row key                      ─▶ µDB(6)                  of people
//! ```
//! Each part is sealed under a key of its own, which is only in memory: with the part its rows are gone. What stands in keys is what
//! stands in the store's own. The files go with the last part.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};
use rocksdb::{ReadOptions, WriteBatch};

use crate::config::Cipher;
use crate::crypto::seal::{self, Header, SealKind, SealPlace};
use crate::crypto::sodium::{self, KEY_BYTES, SecretMemory};
use crate::error::{Sealed, StorageError, StoredEntry};
use crate::keyspace;
use crate::microdb;
use crate::rocks;
use crate::scratch::Scratch;
use crate::side_files::{IngestId, SideFolder};
use crate::store::Store;

/// Entries that an iterator reads at once.
const ENTRIES_AT_ONCE: usize = 1_024;
const ROWS: u8 = 0;
const ENTRIES: u8 = 1;
const PEOPLE: u8 = 2;
/// The length of the row before, and one more.
const LENGTH_BYTES: usize = 4;

/// A row as a statement has left it, and as it was committed before; none is absence.
#[derive(Debug, PartialEq, Eq)]
pub struct SpilledRow {
    /// The committed version.
    pub before: Option<Row>,
    /// The version that the statement has left.
    pub after: Option<Row>,
}

/// Rows of one table, written by one statement. Dropped, they are gone.
pub struct SpilledRows {
    scratch: Arc<Scratch>,
    number: u64,
    relation: RelationId,
    rows: AtomicUsize,
    covers: AtomicBool,
    seals: Seals,
    _live: Live,
}

/// What its rows are sealed with.
struct Seals {
    key: SecretMemory,
    database: [u8; 16],
    cipher: Cipher,
}

/// By this an erasure knows that rows are there, until it is dropped.
struct Live(Arc<SideFolder>, IngestId);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.forget(&self.1);
    }
}

/// Rows and index entries that are written at once.
pub struct SpillBatch<'a> {
    spilled: &'a SpilledRows,
    writes: WriteBatch,
    rows: usize,
    covers: bool,
}

impl Store {
    /// A place for rows of a table, on the disk.
    pub fn begin_spill(&self, relation: RelationId) -> Result<SpilledRows, StorageError> {
        self.check_writable()?;
        let folder = self.side_folder().clone();
        let scratch = Scratch::current(&folder.scratch, &folder.path)?;
        let mut key = SecretMemory::new(KEY_BYTES);
        sodium::random(key.bytes_mut());
        let id = sodium::random_array();
        folder.note(id, self.db().latest_sequence_number());
        let number = scratch.next.fetch_add(1, Ordering::Relaxed);
        let seals = Seals { key, database: self.database_id(), cipher: self.cipher() };
        let (rows, covers) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(SpilledRows { scratch, number, relation, rows, covers, seals, _live: Live(folder, id) })
    }
}

impl SpilledRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any of them was there before: what is stored of it is hidden by what is here.
    pub fn covers(&self) -> bool {
        self.covers.load(Ordering::Relaxed)
    }

    /// Rows and entries to be written together.
    pub fn begin_batch(&self) -> SpillBatch<'_> {
        SpillBatch { spilled: self, writes: WriteBatch::default(), rows: 0, covers: false }
    }

    /// Writes them, if there is room on the disk.
    pub fn write(&self, store: &Store, batch: SpillBatch<'_>) -> Result<(), StorageError> {
        let SpillBatch { writes, rows, covers, .. } = batch;
        store.check_room_for(writes.size_in_bytes() as u64)?;
        self.covers.fetch_or(covers, Ordering::Relaxed);
        self.scratch.write(writes)?;
        self.rows.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }

    /// What is there of a row.
    pub fn get(&self, key: &RowKey) -> Result<Option<SpilledRow>, StorageError> {
        let sealed = self.scratch.db().get_pinned(self.row_place(key)).map_err(rocks::failed("read a spilled row"))?;
        sealed.map(|sealed| self.open(key.bytes(), &sealed)).transpose()
    }

    /// Whether a row is there.
    pub fn contains(&self, key: &RowKey) -> Result<bool, StorageError> {
        let found =
            self.scratch.db().get_pinned(self.row_place(key)).map_err(rocks::failed("look for a spilled row"))?;
        Ok(found.is_some())
    }

    /// Rows whose keys are within bounds, in their order.
    pub fn rows(
        self: &Arc<Self>,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> impl Iterator<Item = Result<(RowKey, SpilledRow), StorageError>> + Send + use<> {
        let (this, prefix) = (self.clone(), self.prefix(ROWS));
        let entries = self.within(&prefix, (lower, upper), reverse);
        entries.map(move |entry| {
            let (key, sealed) = entry?;
            let key = &key[prefix.len()..];
            Ok((RowKey::new(key), this.open(key, &sealed)?))
        })
    }

    /// The µDB of the person whose row it is.
    pub fn subject(&self, key: &RowKey) -> Result<Option<MicroDbId>, StorageError> {
        let place = [self.prefix(PEOPLE).as_slice(), key.bytes()].concat();
        let found = self.scratch.db().get_pinned(place).map_err(rocks::failed("look for a spilled person"))?;
        found.map(|microdb| Self::microdb(&microdb)).transpose()
    }

    /// People with their µDBs, in the order of their rows' keys.
    pub fn subjects(
        self: &Arc<Self>,
    ) -> impl Iterator<Item = Result<(RowKey, MicroDbId), StorageError>> + Send + use<> {
        let prefix = self.prefix(PEOPLE);
        let entries = self.within(&prefix, (Bound::Unbounded, Bound::Unbounded), false);
        entries.map(move |entry| {
            let (key, microdb) = entry?;
            Ok((RowKey::new(&key[prefix.len()..]), Self::microdb(&microdb)?))
        })
    }

    /// Keys of the rows that stand at a place of an index: a value's keyed hash, or the value in an ordered one.
    pub fn keys_at(self: &Arc<Self>, index: IndexId, place: &[u8]) -> Result<Vec<RowKey>, StorageError> {
        let prefix = [self.prefix(ENTRIES).as_slice(), &keyspace::index(index), place].concat();
        let entries = self.within(&prefix, (Bound::Unbounded, Bound::Unbounded), false);
        entries.map(|entry| entry.map(|(key, _)| RowKey::new(&key[prefix.len()..]))).collect()
    }

    /// Entries of an ordered index at about these bounds, in their order: there may be some outside.
    pub fn entries(
        self: &Arc<Self>,
        index: IndexId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> impl Iterator<Item = Result<(Vec<u8>, RowKey), StorageError>> + Send + use<> {
        let prefix = [self.prefix(ENTRIES).as_slice(), &keyspace::index(index)].concat();
        let entries = self.within(&prefix, bounds, reverse);
        entries.map(move |entry| {
            let (key, length) = entry?;
            let broken = || StorageError::Malformed { entry: StoredEntry::Index(index) };
            let length: [u8; 4] = length.as_slice().try_into().map_err(|_| broken())?;
            let parts = key[prefix.len()..].split_at_checked(u32::from_be_bytes(length) as usize);
            let (place, key) = parts.ok_or_else(broken)?;
            Ok((place.to_vec(), RowKey::new(key)))
        })
    }

    fn microdb(stored: &[u8]) -> Result<MicroDbId, StorageError> {
        let stored = stored.try_into().map_err(|_| StorageError::Malformed { entry: StoredEntry::Subject })?;
        Ok(microdb::loaded(stored))
    }

    fn prefix(&self, kind: u8) -> Vec<u8> {
        let mut prefix = self.number.to_be_bytes().to_vec();
        prefix.push(kind);
        prefix
    }

    fn row_place(&self, key: &RowKey) -> Vec<u8> {
        let mut place = self.prefix(ROWS);
        place.extend_from_slice(key.bytes());
        place
    }

    fn open(&self, key: &[u8], sealed: &[u8]) -> Result<SpilledRow, StorageError> {
        let place = SealPlace::Impersonal(self.relation, key);
        let broken = || StorageError::SealBroken { sealed: Sealed::Row(self.relation) };
        let (_, plain) = seal::open(self.seals.key(), &self.seals.database, place, sealed).ok_or_else(broken)?;
        SpilledRow::read(&plain).ok_or_else(broken)
    }

    /// Entries with a prefix and behind it what is within bounds, or has a bound before it.
    fn within(
        self: &Arc<Self>,
        prefix: &[u8],
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> SpilledEntries {
        let with = |bytes: &[u8]| [prefix, bytes].concat();
        let from = match lower {
            Bound::Included(bytes) | Bound::Excluded(bytes) => with(bytes),
            Bound::Unbounded => prefix.to_vec(),
        };
        let to = match upper {
            Bound::Included(bytes) => keyspace::successor(&with(bytes)),
            Bound::Excluded(bytes) => Some(with(bytes)),
            Bound::Unbounded => keyspace::successor(prefix),
        };
        SpilledEntries { spilled: self.clone(), from, to, reverse, read: VecDeque::new(), ended: false }
    }
}

impl fmt::Debug for SpilledRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpilledRows(..)")
    }
}

impl Drop for SpilledRows {
    fn drop(&mut self) {
        // Others' parts stay: what is this one's goes with the next merge, and cannot be opened any more.
        if Arc::strong_count(&self.scratch) > 1 {
            let mut writes = WriteBatch::default();
            writes.delete_range(self.number.to_be_bytes(), (self.number + 1).to_be_bytes());
            // Where it fails, they stand there until the last part goes.
            let _gone = self.scratch.write(writes);
        }
    }
}

impl Seals {
    fn key(&self) -> &[u8; KEY_BYTES] {
        self.key.bytes().try_into().expect("it was made so long")
    }
}

impl SpilledRow {
    fn write(before: Option<&Row>, after: Option<&Row>) -> Vec<u8> {
        let bytes = |row: Option<&Row>| row.map_or(0, |row| row.bytes().len());
        let mut plain = Vec::with_capacity(LENGTH_BYTES + bytes(before) + 1 + bytes(after));
        let length = u32::try_from(bytes(before) + usize::from(before.is_some()));
        plain.extend_from_slice(&length.expect("rows are bounded far below 4 GiB").to_be_bytes());
        before.into_iter().for_each(|row| plain.extend_from_slice(row.bytes()));
        plain.push(u8::from(after.is_some()));
        after.into_iter().for_each(|row| plain.extend_from_slice(row.bytes()));
        plain
    }

    fn read(plain: &[u8]) -> Option<SpilledRow> {
        let row = |bytes: &[u8]| Row::from_bytes(bytes.into());
        let (length, rest) = plain.split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let (before, rest) = rest.split_at_checked(length.saturating_sub(1))?;
        let (after, bytes) = rest.split_first()?;
        Some(SpilledRow { before: (length > 0).then(|| row(before)), after: (*after > 0).then(|| row(bytes)) })
    }
}

impl SpillBatch<'_> {
    /// A row that is new.
    pub fn put_row(&mut self, key: &RowKey, row: &Row) {
        self.put_change(key, None, Some(row));
        self.rows += 1;
    }

    /// A row that was there before, and as it is now, if it is; of which nothing stands here yet.
    pub fn put_changed(&mut self, key: &RowKey, before: &Row, after: Option<&Row>) {
        self.put_change(key, Some(before), after);
        self.rows += 1;
    }

    /// A row of which something stands here already: its entries are taken away before.
    pub fn put_again(&mut self, key: &RowKey, before: Option<&Row>, after: Option<&Row>) {
        self.put_change(key, before, after);
    }

    fn put_change(&mut self, key: &RowKey, before: Option<&Row>, after: Option<&Row>) {
        self.covers |= before.is_some();
        let spilled = self.spilled;
        let seals = &spilled.seals;
        let header = Header { kind: SealKind::Impersonal, cipher: seals.cipher, schema_version: 0 };
        let plain = SpilledRow::write(before, after);
        let mut sealed = Vec::with_capacity(plain.len() + 80);
        let place = SealPlace::Impersonal(spilled.relation, key.bytes());
        seal::seal(seals.key(), &seals.database, place, header, &plain, &mut sealed);
        self.writes.put(spilled.row_place(key), sealed);
    }

    /// Whose row it is, of a person's.
    pub fn put_subject(&mut self, key: &RowKey, microdb: MicroDbId) {
        let place = [self.spilled.prefix(PEOPLE).as_slice(), key.bytes()].concat();
        self.writes.put(place, microdb::stored(microdb));
    }

    /// A row's place in an index.
    pub fn put_entry(&mut self, index: IndexId, place: &[u8], key: &RowKey) {
        let at = [self.spilled.prefix(ENTRIES).as_slice(), &keyspace::index(index), place, key.bytes()].concat();
        let length = u32::try_from(place.len()).expect("values are bounded far below 4 GiB");
        self.writes.put(at, length.to_be_bytes());
    }

    /// A row's place in an index that it has left.
    pub fn delete_entry(&mut self, index: IndexId, place: &[u8], key: &RowKey) {
        self.writes
            .delete([self.spilled.prefix(ENTRIES).as_slice(), &keyspace::index(index), place, key.bytes()].concat());
    }
}

/// Entries in their order, some read at a time, so that no iterator of RocksDB is held.
struct SpilledEntries {
    spilled: Arc<SpilledRows>,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    reverse: bool,
    read: VecDeque<(Vec<u8>, Vec<u8>)>,
    ended: bool,
}

impl SpilledEntries {
    fn read_some(&mut self) -> Result<(), StorageError> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(self.from.clone());
        self.to.iter().for_each(|to| options.set_iterate_upper_bound(to.clone()));
        let mut iterator = self.spilled.scratch.db().raw_iterator_opt(options);
        if self.reverse {
            iterator.seek_to_last();
        } else {
            iterator.seek_to_first();
        }
        while self.read.len() < ENTRIES_AT_ONCE
            && let Some((key, value)) = iterator.item()
        {
            self.read.push_back((key.to_vec(), value.to_vec()));
            if self.reverse { iterator.prev() } else { iterator.next() }
        }
        iterator.status().map_err(rocks::failed("read spilled rows"))?;
        self.ended = self.read.len() < ENTRIES_AT_ONCE;
        if let Some((last, _)) = self.read.back() {
            if self.reverse {
                self.to = Some(last.clone());
            } else {
                self.from = [last.as_slice(), &[0]].concat();
            }
        }
        Ok(())
    }
}

impl Iterator for SpilledEntries {
    type Item = Result<(Vec<u8>, Vec<u8>), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.is_empty()
            && !self.ended
            && let Err(error) = self.read_some()
        {
            self.ended = true;
            return Some(Err(error));
        }
        self.read.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests;
