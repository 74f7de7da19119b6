//! Rows that a transaction has changed and not committed, where they would take too much memory: a RocksDB of their own beside
//! the store, without a log, which nobody else reads and no start keeps.
//!
//! ```text
//! part(8) ‖ 0 ‖ row key                      ─▶ seal of: length + 1 of the row before (4), or 0 ‖ row before ‖ 1 ‖ row after, or 0
//! part(8) ‖ 1 ‖ index(4) ‖ place ‖ row key   ─▶ length of place(4)      place: keyed hash, or the value where the table is ordered
//! part(8) ‖ 2 ‖ row key                      ─▶ µDB(6)                  of people
//! ```
//! Each part is sealed under a key of its own, which is only in memory: with the part its rows are gone. What stands in keys is what
//! stands in the store's own. The files go with the last part. New rows that come in order may stand in a run beside it: see `run`.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::VecDeque;
use std::fmt;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};
use rocksdb::{DB, ReadOptions, WriteBatch};

use crate::batch::Batch;
use crate::config::Cipher;
use crate::crypto::seal::{self, Header, SealKind, SealPlace};
use crate::crypto::sodium::{self, KEY_BYTES, SecretMemory};
use crate::error::{Sealed, StorageError, StoredEntry};
use crate::key_filter::KeyFilter;
use crate::keyspace;
use crate::microdb;
use crate::rocks;
use crate::run::{KeyedRows, Run};
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
/// The number of a part, and what kind of entry it is.
const PREFIX_BYTES: usize = 9;

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
    /// Where they stand, once there are some.
    part: OnceLock<SharedPart>,
    /// Those that came in order, if that is asked for.
    run: Option<Run>,
    relation: RelationId,
    noted: Noted,
    seals: Seals,
    live: Live,
}

/// A part of the RocksDB that others share.
struct SharedPart {
    scratch: Arc<Scratch>,
    number: u64,
}

/// What is known of all rows.
#[derive(Default)]
struct Noted {
    rows: AtomicUsize,
    covers: AtomicBool,
    /// Some have changed again.
    rewrites: AtomicBool,
    keys: Mutex<KeysNoted>,
}

/// What is known of the keys of all rows.
#[derive(Default)]
struct KeysNoted {
    /// The greatest: rows mostly come in the order of their keys, and none is looked for behind it.
    greatest: Option<RowKey>,
    /// Those that did not come in order: each new row is looked for among them.
    filter: KeyFilter,
}

impl Noted {
    /// Rows that came in order.
    fn add_in_order(&self, rows: usize, greatest: Option<RowKey>) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        let mut keys = self.keys.lock();
        keys.greatest = keys.greatest.take().max(greatest);
    }

    /// A row that is about to be written.
    fn add_key(&self, key: &RowKey) {
        let mut keys = self.keys.lock();
        if keys.greatest.as_ref().is_none_or(|greatest| greatest < key) {
            keys.greatest = Some(key.clone());
        }
        let hash = keys.filter.hash(key.bytes());
        keys.filter.add(hash);
    }

    /// Whether a key is behind all.
    fn is_behind_all(&self, key: &RowKey) -> bool {
        self.keys.lock().greatest.as_ref().is_none_or(|greatest| greatest < key)
    }

    /// Whether a row of this key may be among those that did not come in order.
    fn may_be_out_of_order(&self, key: &RowKey) -> bool {
        let keys = self.keys.lock();
        keys.filter.may_have(keys.filter.hash(key.bytes()))
    }
}

/// What its rows are sealed with.
struct Seals {
    key: SecretMemory,
    database: [u8; 16],
    cipher: Cipher,
    /// How many there are: a nonce each, as nothing else is sealed under this key.
    made: AtomicU64,
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
    part: &'a SharedPart,
    writes: WriteBatch,
    wrote: Wrote,
    /// A row's place, bytes and seal, each time.
    place: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

/// What is to be noted of a batch's rows.
#[derive(Default)]
struct Wrote {
    rows: usize,
    covers: bool,
    rewrites: bool,
}

impl Store {
    /// A place for rows of a table, on the disk.
    pub fn begin_spill(&self, relation: RelationId) -> Result<SpilledRows, StorageError> {
        self.check_writable()?;
        let folder = self.side_folder().clone();
        let mut key = SecretMemory::new(KEY_BYTES);
        sodium::random(key.bytes_mut());
        let id = sodium::random_array();
        folder.note(id, self.db().latest_sequence_number());
        let made = AtomicU64::new(0);
        let seals = Seals { key, database: self.database_id(), cipher: self.cipher(), made };
        let (part, noted, live) = (OnceLock::new(), Noted::default(), Live(folder, id));
        Ok(SpilledRows { part, run: None, relation, noted, seals, live })
    }

    /// The same for rows that are nobody's and have no entries in indexes: those that come in order are written as they will be stored.
    pub fn begin_spill_in_order(&self, relation: RelationId, schema_version: u32) -> Result<SpilledRows, StorageError> {
        Ok(SpilledRows { run: Some(Run::new(self, relation, schema_version)), ..self.begin_spill(relation)? })
    }

    /// Adds the rows that came in order to a batch, as they stand; whether they are there now. Of none of them anything newer may stand anywhere.
    pub fn take_in_order(&self, batch: &mut Batch, spilled: &SpilledRows) -> Result<bool, StorageError> {
        spilled.run.as_ref().map_or(Ok(false), |run| self.take_run(batch, run))
    }
}

impl SpilledRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.noted.rows.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any of them was there before: what is stored of it is hidden by what is here.
    pub fn covers(&self) -> bool {
        self.noted.covers.load(Ordering::Relaxed)
    }

    /// Adds new rows of which nothing stands anywhere, if they come in order, behind all others that did, and nobody has read these. Else it
    /// gives them back.
    pub fn push_in_order(&self, rows: KeyedRows) -> Result<Option<KeyedRows>, StorageError> {
        let Some(run) = &self.run else { return Ok(Some(rows)) };
        let (count, greatest) = (rows.len(), rows.last().map(|(key, _)| key.clone()));
        let left = run.push(rows)?;
        if left.is_none() {
            self.noted.add_in_order(count, greatest);
        }
        Ok(left)
    }

    /// The first and the last key of rows that came in order and have not changed since.
    pub fn in_order(&self) -> Option<(RowKey, RowKey)> {
        self.run.as_ref().filter(|_| !self.noted.rewrites.load(Ordering::Relaxed))?.reach()
    }

    /// Whether it surely has nothing between two keys.
    pub fn is_apart_from(&self, (first, last): &(RowKey, RowKey)) -> bool {
        let all_in_order = || self.run.as_ref().filter(|run| run.len() == self.len()).and_then(Run::reach);
        self.noted.is_behind_all(first) || all_in_order().is_some_and(|(its_first, _)| *last < its_first)
    }

    /// Rows and entries to be written together.
    pub fn begin_batch(&self) -> Result<SpillBatch<'_>, StorageError> {
        if self.part.get().is_none() {
            let Live(folder, _) = &self.live;
            let scratch = Scratch::current(&folder.scratch, &folder.path)?;
            let number = scratch.next.fetch_add(1, Ordering::Relaxed);
            self.part.get_or_init(|| SharedPart { scratch, number });
        }
        let part = self.part.get().expect("it was begun");
        Ok(SpillBatch {
            spilled: self,
            part,
            writes: WriteBatch::default(),
            wrote: Wrote::default(),
            place: part.prefix(ROWS),
            plain: Vec::new(),
            sealed: Vec::new(),
        })
    }

    /// Writes them, if there is room on the disk.
    pub fn write(&self, store: &Store, batch: SpillBatch<'_>) -> Result<(), StorageError> {
        let SpillBatch { part, writes, wrote: Wrote { rows, covers, rewrites }, .. } = batch;
        store.check_room_for(writes.size_in_bytes() as u64)?;
        self.noted.covers.fetch_or(covers, Ordering::Relaxed);
        self.noted.rewrites.fetch_or(rewrites, Ordering::Relaxed);
        part.scratch.write(&writes)?;
        self.noted.rows.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }

    /// What is there of a row.
    pub fn get(&self, key: &RowKey) -> Result<Option<SpilledRow>, StorageError> {
        if self.noted.is_behind_all(key) {
            return Ok(None);
        }
        if let Some(part) = self.part_with(key) {
            let sealed = part.db().get_pinned(part.row_place(key)).map_err(rocks::failed("read a spilled row"))?;
            if let Some(sealed) = sealed {
                return self.open(key.bytes(), &sealed).map(Some);
            }
        }
        let in_order = self.run.as_ref().map_or(Ok(None), |run| run.get(key))?;
        Ok(in_order.map(SpilledRow::new))
    }

    /// Whether a row is there.
    pub fn contains(&self, key: &RowKey) -> Result<bool, StorageError> {
        if self.noted.is_behind_all(key) {
            return Ok(false);
        }
        if let Some(part) = self.part_with(key) {
            let found = part.db().get_pinned(part.row_place(key)).map_err(rocks::failed("look for a spilled row"))?;
            if found.is_some() {
                return Ok(true);
            }
        }
        self.run.as_ref().map_or(Ok(false), |run| run.contains(key))
    }

    /// The part, if this row may stand there.
    fn part_with(&self, key: &RowKey) -> Option<&SharedPart> {
        self.part.get().filter(|_| self.noted.may_be_out_of_order(key))
    }

    /// Rows whose keys are within bounds, in their order.
    pub fn rows(
        self: &Arc<Self>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> impl Iterator<Item = Result<(RowKey, SpilledRow), StorageError>> + Send + use<> {
        let this = self.clone();
        let reader = self.run.as_ref().map_or(Ok(None), Run::reader);
        let prefix = self.run.as_ref().map_or_else(Vec::new, Run::prefix);
        let in_order = SpilledEntries::new(self, reader, prefix, bounds, reverse, move |key, sealed| {
            let run = this.run.as_ref().expect("its reader reads");
            Ok((RowKey::new(key), SpilledRow::new(run.open(key, sealed)?)))
        });
        InOrder::of(in_order, self.rows_out_of_order(bounds, reverse), reverse)
    }

    /// The same without those that came in order.
    pub fn rows_out_of_order(
        self: &Arc<Self>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> impl Iterator<Item = Result<(RowKey, SpilledRow), StorageError>> + Send + use<> {
        let this = self.clone();
        self.within(ROWS, &[], bounds, reverse, move |key, sealed| Ok((RowKey::new(key), this.open(key, sealed)?)))
    }

    /// The µDB of the person whose row it is.
    pub fn subject(&self, key: &RowKey) -> Result<Option<MicroDbId>, StorageError> {
        let Some(part) = self.part_with(key) else { return Ok(None) };
        let place = [part.prefix(PEOPLE).as_slice(), key.bytes()].concat();
        let found = part.db().get_pinned(place).map_err(rocks::failed("look for a spilled person"))?;
        found.map(|microdb| Self::microdb(&microdb)).transpose()
    }

    /// People with their µDBs, in the order of their rows' keys.
    pub fn subjects(
        self: &Arc<Self>,
    ) -> impl Iterator<Item = Result<(RowKey, MicroDbId), StorageError>> + Send + use<> {
        self.within(PEOPLE, &[], (Bound::Unbounded, Bound::Unbounded), false, |key, microdb| {
            Ok((RowKey::new(key), Self::microdb(microdb)?))
        })
    }

    /// Keys of the rows that stand at a place of an index: a value's keyed hash, or the value in an ordered one.
    pub fn keys_at(self: &Arc<Self>, index: IndexId, place: &[u8]) -> Result<Vec<RowKey>, StorageError> {
        let at = [keyspace::index(index).as_slice(), place].concat();
        self.within(ENTRIES, &at, (Bound::Unbounded, Bound::Unbounded), false, |key, _| Ok(RowKey::new(key))).collect()
    }

    /// Entries of an ordered index at about these bounds, in their order: there may be some outside.
    pub fn entries(
        self: &Arc<Self>,
        index: IndexId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
    ) -> impl Iterator<Item = Result<(Vec<u8>, RowKey), StorageError>> + Send + use<> {
        self.within(ENTRIES, &keyspace::index(index), bounds, reverse, move |key, length| {
            let broken = || StorageError::Malformed { entry: StoredEntry::Index(index) };
            let length: [u8; 4] = length.try_into().map_err(|_| broken())?;
            let parts = key.split_at_checked(u32::from_be_bytes(length) as usize);
            let (place, key) = parts.ok_or_else(broken)?;
            Ok((place.to_vec(), RowKey::new(key)))
        })
    }

    fn microdb(stored: &[u8]) -> Result<MicroDbId, StorageError> {
        let stored = stored.try_into().map_err(|_| StorageError::Malformed { entry: StoredEntry::Subject })?;
        Ok(microdb::loaded(stored))
    }

    fn open(&self, key: &[u8], sealed: &[u8]) -> Result<SpilledRow, StorageError> {
        let place = SealPlace::Impersonal(self.relation, key);
        let broken = || StorageError::SealBroken { sealed: Sealed::Row(self.relation) };
        let (_, plain) = seal::open(self.seals.key(), &self.seals.database, place, sealed).ok_or_else(broken)?;
        SpilledRow::read(&plain).ok_or_else(broken)
    }

    /// Entries of a kind, behind whose start comes what is within bounds, or has a bound before it: each made of what is behind the start,
    /// and its value.
    fn within<T, M: FnMut(&[u8], &[u8]) -> Result<T, StorageError>>(
        self: &Arc<Self>,
        kind: u8,
        start: &[u8],
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        make: M,
    ) -> SpilledEntries<T, M> {
        let part = self.part.get();
        let prefix = part.map_or_else(Vec::new, |part| [part.prefix(kind).as_slice(), start].concat());
        SpilledEntries::new(self, Ok(part.map(|part| part.scratch.clone())), prefix, bounds, reverse, make)
    }
}

impl SharedPart {
    fn db(&self) -> &DB {
        self.scratch.db()
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
}

impl fmt::Debug for SpilledRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpilledRows(..)")
    }
}

impl Drop for SharedPart {
    fn drop(&mut self) {
        // Others' parts stay: what is this one's goes with the next merge, and cannot be opened any more.
        if Arc::strong_count(&self.scratch) > 1 {
            let mut writes = WriteBatch::default();
            writes.delete_range(self.number.to_be_bytes(), (self.number + 1).to_be_bytes());
            // Where it fails, they stand there until the last part goes.
            let _gone = self.scratch.write(&writes);
        }
    }
}

impl Seals {
    fn key(&self) -> &[u8; KEY_BYTES] {
        self.key.bytes().try_into().expect("it was made so long")
    }
}

impl SpilledRow {
    /// One that is new.
    fn new(row: Row) -> SpilledRow {
        SpilledRow { before: None, after: Some(row) }
    }

    fn write(before: Option<&Row>, after: Option<&Row>, plain: &mut Vec<u8>) {
        let bytes = |row: Option<&Row>| row.map_or(0, |row| row.bytes().len());
        plain.reserve(LENGTH_BYTES + bytes(before) + 1 + bytes(after));
        let length = u32::try_from(bytes(before) + usize::from(before.is_some()));
        plain.extend_from_slice(&length.expect("rows are bounded far below 4 GiB").to_be_bytes());
        before.into_iter().for_each(|row| plain.extend_from_slice(row.bytes()));
        plain.push(u8::from(after.is_some()));
        after.into_iter().for_each(|row| plain.extend_from_slice(row.bytes()));
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
        self.wrote.rows += 1;
    }

    /// A row that was there before, and as it is now, if it is; of which nothing stands here yet.
    pub fn put_changed(&mut self, key: &RowKey, before: &Row, after: Option<&Row>) {
        self.put_change(key, Some(before), after);
        self.wrote.rows += 1;
    }

    /// A row of which something stands here already: its entries are taken away before.
    pub fn put_again(&mut self, key: &RowKey, before: Option<&Row>, after: Option<&Row>) {
        self.wrote.rewrites = true;
        self.put_change(key, before, after);
    }

    fn put_change(&mut self, key: &RowKey, before: Option<&Row>, after: Option<&Row>) {
        self.wrote.covers |= before.is_some();
        let spilled = self.spilled;
        spilled.noted.add_key(key);
        let seals = &spilled.seals;
        let header = Header { kind: SealKind::Impersonal, cipher: seals.cipher, schema_version: 0 };
        self.plain.clear();
        SpilledRow::write(before, after, &mut self.plain);
        self.sealed.clear();
        let place = SealPlace::Impersonal(spilled.relation, key.bytes());
        let number = seals.made.fetch_add(1, Ordering::Relaxed);
        seal::seal_numbered(seals.key(), &seals.database, place, header, (&self.plain, number), &mut self.sealed);
        self.place.truncate(PREFIX_BYTES);
        self.place.extend_from_slice(key.bytes());
        self.writes.put(&self.place, &self.sealed);
    }

    /// Whose row it is, of a person's.
    pub fn put_subject(&mut self, key: &RowKey, microdb: MicroDbId) {
        self.spilled.noted.add_key(key);
        let place = [self.part.prefix(PEOPLE).as_slice(), key.bytes()].concat();
        self.writes.put(place, microdb::stored(microdb));
    }

    /// A row's place in an index.
    pub fn put_entry(&mut self, index: IndexId, place: &[u8], key: &RowKey) {
        let at = [self.part.prefix(ENTRIES).as_slice(), &keyspace::index(index), place, key.bytes()].concat();
        let length = u32::try_from(place.len()).expect("values are bounded far below 4 GiB");
        self.writes.put(at, length.to_be_bytes());
    }

    /// A row's place in an index that it has left.
    pub fn delete_entry(&mut self, index: IndexId, place: &[u8], key: &RowKey) {
        self.writes
            .delete([self.part.prefix(ENTRIES).as_slice(), &keyspace::index(index), place, key.bytes()].concat());
    }
}

/// Entries in their order, some read at a time, so that no iterator of RocksDB is held.
struct SpilledEntries<T, M> {
    /// None if there is nothing.
    scratch: Option<Arc<Scratch>>,
    /// So long they stay.
    _spilled: Arc<SpilledRows>,
    prefix_bytes: usize,
    range: (Vec<u8>, Option<Vec<u8>>),
    reverse: bool,
    read: VecDeque<Result<T, StorageError>>,
    make: M,
}

impl<T, M: FnMut(&[u8], &[u8]) -> Result<T, StorageError>> SpilledEntries<T, M> {
    /// Those with a prefix, and behind it what is within bounds, or has a bound before it.
    fn new(
        spilled: &Arc<SpilledRows>,
        scratch: Result<Option<Arc<Scratch>>, StorageError>,
        prefix: Vec<u8>,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        make: M,
    ) -> Self {
        let with = |bytes: &[u8]| [prefix.as_slice(), bytes].concat();
        let from = match lower {
            Bound::Included(bytes) | Bound::Excluded(bytes) => with(bytes),
            Bound::Unbounded => prefix.clone(),
        };
        let to = match upper {
            Bound::Included(bytes) => keyspace::successor(&with(bytes)),
            Bound::Excluded(bytes) => Some(with(bytes)),
            Bound::Unbounded => keyspace::successor(&prefix),
        };
        let (scratch, failed) = match scratch {
            Ok(scratch) => (scratch, None),
            Err(error) => (None, Some(Err(error))),
        };
        let read = failed.into_iter().collect();
        let (range, prefix_bytes) = ((from, to), prefix.len());
        SpilledEntries { scratch, _spilled: spilled.clone(), prefix_bytes, range, reverse, read, make }
    }

    fn read_some(&mut self) -> Result<(), StorageError> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let (from, to) = &mut self.range;
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(from.clone());
        to.iter().for_each(|to| options.set_iterate_upper_bound(to.clone()));
        let mut iterator = scratch.db().raw_iterator_opt(options);
        if self.reverse {
            iterator.seek_to_last();
        } else {
            iterator.seek_to_first();
        }
        let mut last = Vec::new();
        while let Some((key, value)) = iterator.item() {
            self.read.push_back((self.make)(&key[self.prefix_bytes..], value));
            if self.read.len() == ENTRIES_AT_ONCE {
                last = key.to_vec();
                break;
            }
            if self.reverse { iterator.prev() } else { iterator.next() }
        }
        iterator.status().map_err(rocks::failed("read spilled rows"))?;
        drop(iterator);
        if last.is_empty() {
            self.scratch = None;
        } else if self.reverse {
            *to = Some(last);
        } else {
            last.push(0);
            *from = last;
        }
        Ok(())
    }
}

impl<T, M: FnMut(&[u8], &[u8]) -> Result<T, StorageError>> Iterator for SpilledEntries<T, M> {
    type Item = Result<T, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.is_empty()
            && let Err(error) = self.read_some()
        {
            self.scratch = None;
            return Some(Err(error));
        }
        self.read.pop_front()
    }
}

/// Rows of two iterators that are in order; of equal keys the later one's.
struct InOrder<A: Iterator, B: Iterator> {
    earlier: Peekable<A>,
    later: Peekable<B>,
    reverse: bool,
}

impl<A: Iterator, B: Iterator> InOrder<A, B> {
    fn of(earlier: A, later: B, reverse: bool) -> Self {
        InOrder { earlier: earlier.peekable(), later: later.peekable(), reverse }
    }
}

impl<T, A, B> Iterator for InOrder<A, B>
where
    A: Iterator<Item = Result<(RowKey, T), StorageError>>,
    B: Iterator<Item = Result<(RowKey, T), StorageError>>,
{
    type Item = Result<(RowKey, T), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.earlier.peek(), self.later.peek()) {
            (Some(Ok((one, _))), Some(Ok((other, _)))) if self.reverse => other.cmp(one),
            (Some(Ok((one, _))), Some(Ok((other, _)))) => one.cmp(other),
            (Some(Err(_)), _) | (_, None) => Less,
            (_, Some(_)) => Greater,
        };
        match order {
            Less => self.earlier.next(),
            Equal => self.earlier.next().and_then(|_| self.later.next()),
            Greater => self.later.next(),
        }
    }
}

#[cfg(test)]
mod tests;
