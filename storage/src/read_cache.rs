//! Rows opened last and index entries read last, in memory: what is asked for again costs neither a search of the leaves nor
//! the opening of a seal.
//!
//! ```text
//! bucket:  ── changed ──────── read_at ───────▶ sequence numbers     an entry is good for every snapshot from `since` on
//! ```
//! A bucket knows when the last write to any of its keys was done, and takes nothing that was read before that; a write takes
//! the entries of its keys out before it begins. So what an entry holds was so at each snapshot since `changed` as it was when
//! the entry came, and a row that is erased is gone from here before its erasure is acknowledged. Holds rows in clear, as views
//! do, within a bound. While a bucket has room a key is let in at once; in a full one when it is asked for a second time: who
//! reads everything once displaces nothing.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use repr::hash::RandomState;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};

use crate::batch::{Batch, Operation};
use crate::keyspace::{self, FILTER_PREFIX_BYTES, ROW_PREFIX_BYTES, ValueHash};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;

/// A bucket has room for some thirty rows, which are passed over one after the other.
const BUCKET_BYTES: usize = 8 << 10;
/// Keys asked for once, that are remembered for each bucket.
const DOOR_PLACES: usize = 16;
/// What an allocation takes beside its bytes.
const ENTRY_BYTES: usize = size_of::<CachedEntry>() + size_of::<u64>() + 16;

/// The rows with a hashed value, each with its locator.
pub(crate) type IndexRows = Vec<(RowKey, Option<MicroDbId>)>;

/// See the module.
pub(crate) struct ReadCache {
    state: RandomState,
    buckets: Box<[Mutex<Bucket>]>,
    door: Box<[AtomicU32]>,
    /// For each bucket a bit for each person of whom it may hold a row.
    people: Box<[AtomicU64]>,
    bytes: AtomicUsize,
    bucket_bytes_max: usize,
}

#[derive(Default)]
struct Bucket {
    /// Of each entry, in the same order.
    hashes: Vec<u64>,
    entries: Vec<CachedEntry>,
    /// The sequence number after the last write here.
    changed: u64,
    /// Writes under way.
    writing: u32,
    bytes: usize,
    hand: usize,
}

struct CachedEntry {
    /// The key, then what was found.
    content: Box<[u8]>,
    key_bytes: u32,
    kind: EntryKind,
    used: bool,
    since: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    PersonalRow,
    ImpersonalRow,
    IndexRows,
}

/// A write that may change what is held, until dropped.
pub(crate) struct Writing<'a, L: Fn() -> u64> {
    cache: &'a ReadCache,
    buckets: Touched,
    latest: L,
}

/// Buckets to which something is being written.
pub(crate) enum Touched {
    Some(Vec<u32>),
    All,
}

impl ReadCache {
    /// An empty cache that will hold so many bytes at most; none if that is too little to be of use.
    pub(crate) fn new(bytes_max: usize) -> ReadCache {
        let buckets = (bytes_max / BUCKET_BYTES).max(1);
        ReadCache {
            state: RandomState::default(),
            buckets: (0..buckets).map(|_| Mutex::default()).collect(),
            door: (0..buckets * DOOR_PLACES).map(|_| AtomicU32::new(0)).collect(),
            people: (0..buckets).map(|_| AtomicU64::new(0)).collect(),
            bytes: AtomicUsize::new(0),
            bucket_bytes_max: bytes_max / buckets,
        }
    }

    /// An owner's copy of a personal row, if it is held for a snapshot with this sequence number.
    pub(crate) fn personal(&self, relation: RelationId, owner: MicroDbId, key: &RowKey, at: u64) -> Option<Row> {
        let key = keyspace::personal_row(relation, owner, key);
        self.find(EntryKind::PersonalRow, &key, at, |row| Row::from_bytes(row.into()))
    }

    /// Notes the copy that a snapshot has.
    pub(crate) fn put_personal(&self, relation: RelationId, owner: MicroDbId, key: &RowKey, at: u64, row: &Row) {
        let key = keyspace::personal_row(relation, owner, key);
        self.put(EntryKind::PersonalRow, &key, at, row.bytes().len(), |content| content.extend_from_slice(row.bytes()));
    }

    /// A row that is nobody's.
    pub(crate) fn impersonal(&self, relation: RelationId, key: &RowKey, at: u64) -> Option<Row> {
        let key = keyspace::impersonal_row(relation, key.bytes());
        self.find(EntryKind::ImpersonalRow, &key, at, |row| Row::from_bytes(row.into()))
    }

    /// Notes a row that is nobody's.
    pub(crate) fn put_impersonal(&self, relation: RelationId, key: &RowKey, at: u64, row: &Row) {
        let key = keyspace::impersonal_row(relation, key.bytes());
        self.put(EntryKind::ImpersonalRow, &key, at, row.bytes().len(), |content| {
            content.extend_from_slice(row.bytes());
        });
    }

    /// The rows with a hashed value of an index.
    pub(crate) fn index_rows(&self, index: IndexId, value: &ValueHash, at: u64) -> Option<IndexRows> {
        self.find(EntryKind::IndexRows, &keyspace::index_hashed_prefix(index, value), at, parse_rows)
    }

    /// Notes the rows that a snapshot has.
    pub(crate) fn put_index_rows(
        &self,
        index: IndexId,
        value: &ValueHash,
        at: u64,
        rows: &[(RowKey, Option<MicroDbId>)],
    ) {
        if rows.len() * (MICRODB_BYTES + 2) > self.bucket_bytes_max {
            return;
        }
        let key = keyspace::index_hashed_prefix(index, value);
        let bytes = rows.iter().map(row_bytes).sum();
        self.put(EntryKind::IndexRows, &key, at, bytes, |content| rows.iter().for_each(|row| write_row(row, content)));
    }

    fn find<T>(&self, kind: EntryKind, key: &[u8], at: u64, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let hash = self.hash(kind.family(), key);
        let mut bucket = self.bucket(hash).lock();
        let place = bucket.place(hash, kind.family(), key)?;
        let entry = &mut bucket.entries[place];
        if entry.since > at || entry.kind != kind {
            return None;
        }
        entry.used = true;
        Some(read(&entry.content[key.len()..]))
    }

    /// `write` appends so many bytes.
    fn put(&self, kind: EntryKind, key: &[u8], at: u64, bytes: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.bucket_bytes_max == 0 {
            return;
        }
        let hash = self.hash(kind.family(), key);
        let door = &self.door[(hash >> 8) as usize % self.door.len()];
        let mark = (hash >> 32) as u32 | 1;
        let is_first = door.load(Ordering::Relaxed) != mark;
        if is_first {
            door.store(mark, Ordering::Relaxed);
        }
        let mut bucket = self.bucket(hash).lock();
        let room = self.bucket_bytes_max.saturating_sub(bucket.bytes);
        let bytes = key.len() + bytes;
        // What takes a quarter of a bucket would displace too much.
        if bytes > self.bucket_bytes_max / 4 || (is_first && bytes + ENTRY_BYTES > room) {
            return;
        }
        if bucket.writing > 0 || bucket.changed > at {
            return;
        }
        let mut content = Vec::with_capacity(bytes);
        content.extend_from_slice(key);
        write(&mut content);
        debug_assert_eq!(content.len(), bytes, "as many as were said");
        if let (EntryKind::PersonalRow, Some(person)) = (kind, person_of(key)) {
            self.people[self.number(hash)].fetch_or(person_bit(person), Ordering::Relaxed);
        }
        let before = bucket.bytes;
        if let Some(place) = bucket.place(hash, kind.family(), key) {
            bucket.remove(place);
        }
        let key_bytes = u32::try_from(key.len()).expect("keys are far below 4 GiB");
        let since = bucket.changed;
        bucket.insert(hash, CachedEntry { content: content.into_boxed_slice(), key_bytes, kind, used: false, since });
        bucket.shrink(self.bucket_bytes_max);
        let after = bucket.bytes;
        // Wraps where the bucket got smaller.
        self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Says that a batch is being written. `latest` gives the sequence number after it.
    pub(crate) fn writing<L: Fn() -> u64>(&self, batch: &Batch, latest: L) -> Writing<'_, L> {
        Writing { cache: self, buckets: self.begin_writing(batch), latest }
    }

    /// The same, until `end_writing`.
    pub(crate) fn begin_writing(&self, batch: &Batch) -> Touched {
        let mut touched = Vec::with_capacity(batch.len());
        let mut all = false;
        for operation in batch.operations() {
            let (family, key) = match operation {
                Operation::Put(family @ (Family::Rows | Family::Index), key, _) => (family, key),
                Operation::Delete(family @ (Family::Rows | Family::Index), key) => (family, key),
                Operation::DeleteRange(Family::Rows | Family::Index, ..) => {
                    all = true;
                    break;
                }
                Operation::Put(..) | Operation::Delete(..) | Operation::DeleteRange(..) => continue,
            };
            let key = match family {
                // Entries are held by their value, all rows of one together.
                Family::Index => &key[..key.len().min(FILTER_PREFIX_BYTES)],
                _ => key,
            };
            touched.push((family, self.hash(family, key), key));
        }
        if all {
            // A table or an index goes: seldom, and never a small thing.
            for bucket in &self.buckets {
                let mut bucket = bucket.lock();
                bucket.writing += 1;
                self.bytes.fetch_sub(bucket.clear(), Ordering::Relaxed);
            }
            return Touched::All;
        }
        // Each bucket once, as a batch may touch hundreds of thousands of keys; in order, so that it is done a bucket at a time.
        let mut touched: Vec<(u32, u64, Family, &[u8])> =
            touched.into_iter().map(|(family, hash, key)| (self.number(hash) as u32, hash, family, key)).collect();
        touched.sort_unstable_by_key(|(number, ..)| *number);
        let mut buckets = Vec::new();
        for of_bucket in touched.chunk_by(|(one, ..), (other, ..)| one == other) {
            let number = of_bucket[0].0;
            let mut bucket = self.buckets[number as usize].lock();
            bucket.writing += 1;
            for (_, hash, family, key) in of_bucket {
                if let Some(place) = bucket.place(*hash, *family, key) {
                    self.bytes.fetch_sub(bucket.remove(place), Ordering::Relaxed);
                }
            }
            buckets.push(number);
        }
        Touched::Some(buckets)
    }

    /// What was begun is over, done or not, with this sequence number.
    pub(crate) fn end_writing(&self, touched: &Touched, latest: u64) {
        let end = |bucket: &Mutex<Bucket>| {
            let mut bucket = bucket.lock();
            bucket.writing -= 1;
            bucket.changed = bucket.changed.max(latest);
        };
        match touched {
            Touched::Some(numbers) => numbers.iter().for_each(|number| end(&self.buckets[*number as usize])),
            Touched::All => self.buckets.iter().for_each(end),
        }
    }

    /// Drops all rows of people whose keys are destroyed.
    pub(crate) fn forget(&self, people: &[MicroDbId]) {
        let people: Vec<_> = people.iter().map(|person| microdb::stored(*person)).collect();
        let bits = people.iter().map(person_bit).fold(0, |all, bit| all | bit);
        for (bucket, held) in self.buckets.iter().zip(&self.people) {
            if held.load(Ordering::Relaxed) & bits == 0 {
                continue;
            }
            let mut bucket = bucket.lock();
            let mut place = 0;
            while let Some(entry) = bucket.entries.get(place) {
                let person = person_of(entry.key()).filter(|_| entry.kind == EntryKind::PersonalRow);
                if person.is_some_and(|person| people.contains(person)) {
                    self.bytes.fetch_sub(bucket.remove(place), Ordering::Relaxed);
                } else {
                    place += 1;
                }
            }
            let kept = bucket.entries.iter().filter(|entry| entry.kind == EntryKind::PersonalRow);
            let kept = kept.filter_map(|entry| person_of(entry.key())).map(person_bit).fold(0, |all, bit| all | bit);
            held.store(kept, Ordering::Relaxed);
        }
    }

    /// What is held, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.bytes.load(Ordering::Relaxed) + self.fixed_bytes()) as u64
    }

    /// What it may hold.
    pub(crate) fn bytes_max(&self) -> u64 {
        (self.bucket_bytes_max * self.buckets.len() + self.fixed_bytes()) as u64
    }

    fn fixed_bytes(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.door) + size_of_val(&*self.people)
    }

    fn hash(&self, family: Family, key: &[u8]) -> u64 {
        self.state.hash_one((family as u8, key))
    }

    fn number(&self, hash: u64) -> usize {
        hash as usize % self.buckets.len()
    }

    fn bucket(&self, hash: u64) -> &Mutex<Bucket> {
        &self.buckets[self.number(hash)]
    }
}

impl<L: Fn() -> u64> Drop for Writing<'_, L> {
    fn drop(&mut self) {
        self.cache.end_writing(&self.buckets, (self.latest)());
    }
}

impl Bucket {
    fn place(&self, hash: u64, family: Family, key: &[u8]) -> Option<usize> {
        let same = |place: &usize| {
            let entry = &self.entries[*place];
            entry.kind.family() == family && entry.key() == key
        };
        let places = self.hashes.iter().enumerate().filter(|(_, one)| **one == hash).map(|(place, _)| place);
        places.into_iter().find(same)
    }

    fn insert(&mut self, hash: u64, entry: CachedEntry) {
        self.bytes += entry.bytes();
        self.hashes.push(hash);
        self.entries.push(entry);
    }

    /// Takes an entry out; how many bytes that gives back.
    fn remove(&mut self, place: usize) -> usize {
        self.hashes.swap_remove(place);
        let bytes = self.entries.swap_remove(place).bytes();
        self.bytes -= bytes;
        bytes
    }

    fn clear(&mut self) -> usize {
        self.hashes.clear();
        self.entries.clear();
        std::mem::take(&mut self.bytes)
    }

    /// Takes out what was not asked for lately, until the rest fits; never what came last.
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max && self.entries.len() > 1 {
            let before_last = self.entries.len() - 1;
            let place = self.hand % before_last;
            if std::mem::take(&mut self.entries[place].used) {
                self.hand = place + 1;
            } else {
                // The last one stands here now, and its turn comes after all others.
                self.remove(place);
                self.hand = place + 1;
            }
        }
    }
}

impl CachedEntry {
    fn key(&self) -> &[u8] {
        &self.content[..self.key_bytes as usize]
    }

    fn bytes(&self) -> usize {
        self.content.len() + ENTRY_BYTES
    }
}

impl EntryKind {
    fn family(self) -> Family {
        match self {
            EntryKind::PersonalRow | EntryKind::ImpersonalRow => Family::Rows,
            EntryKind::IndexRows => Family::Index,
        }
    }
}

/// Whose copy a personal row's key names.
fn person_of(key: &[u8]) -> Option<&[u8; MICRODB_BYTES]> {
    key.get(ROW_PREFIX_BYTES - MICRODB_BYTES..)?.first_chunk()
}

fn person_bit(person: &[u8; MICRODB_BYTES]) -> u64 {
    // Ids look random.
    1 << (person[MICRODB_BYTES - 1] % 64)
}

/// What `write_row` appends.
fn row_bytes((key, locator): &(RowKey, Option<MicroDbId>)) -> usize {
    size_of::<u32>() + key.bytes().len() + 1 + locator.map_or(0, |_| MICRODB_BYTES)
}

/// `length of the row key (4) ‖ row key ‖ 0`, or `… ‖ 1 ‖ µDB`.
fn write_row((key, locator): &(RowKey, Option<MicroDbId>), content: &mut Vec<u8>) {
    let length = u32::try_from(key.bytes().len()).expect("keys are far below 4 GiB");
    content.extend_from_slice(&length.to_le_bytes());
    content.extend_from_slice(key.bytes());
    match locator {
        None => content.push(0),
        Some(microdb) => {
            content.push(1);
            content.extend_from_slice(&microdb::stored(*microdb));
        }
    }
}

fn parse_rows(mut content: &[u8]) -> IndexRows {
    const WRITTEN: &str = "written by `write_row`";
    let mut rows = Vec::new();
    while let Some((length, rest)) = content.split_first_chunk::<4>() {
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).expect(WRITTEN);
        let (located, rest) = rest.split_first().expect(WRITTEN);
        let (microdb, rest) = match located {
            0 => (None, rest),
            _ => {
                let (id, rest) = rest.split_first_chunk::<MICRODB_BYTES>().expect(WRITTEN);
                (Some(microdb::loaded(*id)), rest)
            }
        };
        rows.push((RowKey::new(key), microdb));
        content = rest;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use repr::Datum;
    use std::cell::Cell;

    const TABLE: RelationId = RelationId(7);

    fn key(of: u64) -> RowKey {
        let mut bytes = [3; 16];
        bytes[4..12].copy_from_slice(&of.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        RowKey::new(&bytes)
    }

    fn row(of: i64) -> Row {
        Row::pack(&[Datum::Int8(of)])
    }

    /// Twice, as in a full bucket the first time only opens the door.
    fn put(cache: &ReadCache, owner: MicroDbId, of: u64, at: u64, row: &Row) {
        for _ in 0..2 {
            cache.put_personal(TABLE, owner, &key(of), at, row);
        }
    }

    #[test]
    fn what_is_held_is_so_from_the_last_write_on() {
        let (cache, ann) = (ReadCache::new(64 << 20), crate::microdb::loaded([1; 6]));
        let found = |at| cache.personal(TABLE, ann, &key(1), at);
        cache.put_personal(TABLE, ann, &key(1), 10, &row(1));
        assert_eq!(found(10), Some(row(1)));
        assert_eq!(found(4), Some(row(1)), "nothing was written since the start");
        assert_eq!(cache.personal(TABLE, crate::microdb::loaded([2; 6]), &key(1), 10), None);
        let mut batch = Batch::default();
        batch.delete_copy(TABLE, &key(1), ann);
        let now = Cell::new(10);
        {
            let _writing = cache.writing(&batch, || now.get());
            assert_eq!(found(10), None);
            // Who reads from before may still see it, and must not leave it here.
            put(&cache, ann, 1, 10, &row(1));
            assert_eq!(found(10), None);
            now.set(12);
        }
        put(&cache, ann, 1, 11, &row(1));
        assert_eq!(found(12), None);
        put(&cache, ann, 1, 12, &row(2));
        assert_eq!(found(11), None);
        assert_eq!(found(13), Some(row(2)));
        assert_eq!(
            cache.bytes() as usize - cache.fixed_bytes(),
            cache.buckets.iter().map(|one| one.lock().bytes).sum::<usize>()
        );
    }

    #[test]
    fn rows_of_a_value_come_back_and_go_with_any_of_them() {
        let (cache, ann) = (ReadCache::new(64 << 20), crate::microdb::loaded([1; 6]));
        let (index, value) = (IndexId(9), [5; 16]);
        let rows = vec![(key(1), Some(ann)), (key(2), None)];
        for (rows, value) in [(&rows, value), (&Vec::new(), [6; 16])] {
            for _ in 0..2 {
                cache.put_index_rows(index, &value, 3, rows);
            }
            assert_eq!(cache.index_rows(index, &value, 3).as_ref(), Some(rows));
        }
        let mut batch = Batch::default();
        batch.put_index_hashed(index, &value, &key(3), Some(ann));
        drop(cache.writing(&batch, || 5));
        assert_eq!(cache.index_rows(index, &value, 5), None);
        assert_eq!(cache.index_rows(index, &[6; 16], 5), Some(Vec::new()));
        let mut batch = Batch::default();
        batch.delete_range(Family::Index, &[0], &[9]);
        drop(cache.writing(&batch, || 6));
        assert_eq!(cache.index_rows(index, &[6; 16], 6), None);
        assert_eq!(cache.bytes() as usize, cache.fixed_bytes());
    }

    #[test]
    fn it_stays_within_its_bound_and_forgets_people() {
        let cache = ReadCache::new(1 << 20);
        let owners = [1, 2].map(|of| crate::microdb::loaded([of; 6]));
        for of in 0..100_000_u64 {
            put(&cache, owners[of as usize % 2], of, 1, &row(of as i64));
        }
        assert!(cache.bytes() <= cache.bytes_max());
        let held = |owner: usize| {
            let mine = (0..100_000_u64).filter(|of| *of as usize % 2 == owner);
            mine.filter(|of| cache.personal(TABLE, owners[owner], &key(*of), 1).is_some()).count()
        };
        assert!(held(0) > 1_000 && held(1) > 1_000);
        cache.forget(&owners[..1]);
        assert_eq!(held(0), 0);
        assert!(held(1) > 1_000);
    }

    #[test]
    fn who_comes_once_takes_room_and_displaces_nothing() {
        let (cache, ann) = (ReadCache::new(1 << 20), crate::microdb::loaded([1; 6]));
        let once = |of: u64| cache.put_personal(TABLE, ann, &key(of), 1, &row(of as i64));
        let is_held = |of: &u64| cache.personal(TABLE, ann, &key(*of), 1).is_some();
        (0..50_000).for_each(once);
        let first: Vec<u64> = (0..50_000).filter(is_held).collect();
        assert!(first.len() > 5_000, "{}", first.len());
        assert!(first.iter().filter(|of| **of < 1_000).count() > 950, "there was room for them");
        (50_000..100_000).for_each(once);
        assert!(first.iter().all(is_held));
        assert_eq!((50_000..100_000).filter(is_held).count(), 0);
        (50_000..50_100).for_each(|of| put(&cache, ann, of, 1, &row(0)));
        assert!((50_000..50_100).filter(is_held).count() > 50, "asked for a second time");
    }

    #[test]
    fn no_room_holds_nothing() {
        let (cache, ann) = (ReadCache::new(0), crate::microdb::loaded([1; 6]));
        put(&cache, ann, 1, 1, &row(1));
        assert_eq!(cache.personal(TABLE, ann, &key(1), 1), None);
    }
}
