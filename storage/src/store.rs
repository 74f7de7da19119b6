//! The store: one data folder, opened once; where batches go in and snapshots come out.
//!
//! ```text
//! <data>/FORMAT         version of everything below; an unknown one is refused by name
//! <data>/witness        whose folder this is, and up to where its writes were acknowledged
//! <data>/dogwood.lock   held while open
//! <data>/root.key       0600, or elsewhere; wraps the keyring's key-encryption key
//! <data>/keyring        0600, data keys
//! <data>/public.key     verifies receipts and capsules; to be published by the operator
//! <data>/rocks/         sealed rows, indexes, owners, metadata, audit log
//! ```
//! Durability: `write` puts a batch into the write-ahead log of the system, `flush` makes all written so far survive a
//! power failure. A write that the system refuses (no room) leaves the store as it was:
//! reads go on. An erasure's order is:
//! write its batch with the receipt, flush, `destroy_keys`. A crash in between is rolled forward by `open`.

mod arriving;
pub(crate) mod files;
mod opening;
mod rekeying;
mod renewal;
mod repair;
mod seals;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use repr::{IndexId, MicroDbId, RelationId, RowKey};
use rocksdb::{BottommostLevelCompaction, Cache, CompactOptions, DB, FlushOptions, Range};

use crate::audit::PendingAudit;
use crate::audit::log::Log;
use crate::background_merge::BackgroundMerge;
use crate::backup::{Backups, WrittenAt};
use crate::batch::Batch;
use crate::config::{Cipher, Mode, StoreOptions};
use crate::crypto::sodium;
use crate::erasure::{Entry, Erasures, Owed};
use crate::error::{RocksFailure, StorageError};
use crate::free_space::{self, FreeSpace};
use crate::hash_memory::HashMemory;
use crate::keyring::{Keyring, cache};
use crate::keyspace;
use crate::location_cache::LocationCache;
use crate::log_room::LogRoom;
use crate::no_room::NoRoom;
use crate::read_cache::ReadCache;
use crate::rocks::{self, FAMILIES, Family};
use crate::segments::{self, Segments};
use crate::side_files::SideFolder;
use crate::snapshot::Snapshot;
use crate::subjects::Subjects;
use crate::witness::Witness;
use crate::write_form::{WriteForm, Writes};

use renewal::Renewals;
pub use renewal::RowsToReseal;
pub use repair::Repair;

/// The key in `meta` under which the last commit's time stands.
pub const COMMIT_TIME: &[u8] = b"time";

/// The key in `meta` under which the last opening's id stands.
const OPENING: &[u8] = b"opening";

/// An open data folder. Clones share it; it closes with the last clone, snapshot and iterator.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    db: DB,
    form: WriteForm,
    room: LogRoom,
    cache: Cache,
    keyring: Keyring,
    /// Held while keys that wrap are replaced.
    rekeying: Mutex<()>,
    renewals: Renewals,
    cipher: Cipher,
    options: StoreOptions,
    log: Mutex<Log>,
    hints: LocationCache,
    subjects: Subjects,
    reads: ReadCache,
    segments: Segments,
    hashes: HashMemory,
    /// Apart: more keys than people are asked for.
    pseudonyms: HashMemory,
    settling: Mutex<BackgroundMerge>,
    erasures: Erasures,
    backups: Backups,
    side_folder: Arc<SideFolder>,
    writable: bool,
    /// None where nothing is written.
    witness: Mutex<Option<Witness>>,
    space: FreeSpace,
    /// A write to a log has failed, and not a flush of one.
    append_failed: AtomicBool,
    /// RocksDB takes no write any more, and does not resume by itself.
    stuck: AtomicBool,
    no_room: NoRoom,
    /// Copies of rows that were left out.
    unreadable: AtomicU64,
    /// What an operator is to be told.
    notices: Mutex<Vec<String>>,
    /// The last commit's time and the number of receipts, as written.
    time: AtomicU64,
    receipts: AtomicU64,
    // Last, so that the folder is free only when all else is closed.
    _lock: Option<Arc<File>>,
}

/// What a reclamation rewrites, so that deleted bytes leave the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// A relation's rows and ownership entries.
    Relation(RelationId),
    /// One data subject's rows of a relation.
    MicroDb(RelationId, MicroDbId),
    /// An index's entries.
    Index(IndexId),
    /// Everything.
    Everything,
}

/// Sizes, for operators. Bytes unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatistics {
    /// Live files of each column family, by name.
    pub family_bytes: Vec<(&'static str, u64)>,
    /// Write buffers of all families.
    pub memtable_bytes: u64,
    /// What they may hold.
    pub memtable_bytes_max: u64,
    /// Data keys in locked memory, and where each stands.
    pub key_cache_bytes: u64,
    /// What they may hold.
    pub key_cache_bytes_max: u64,
    /// Data subjects found last.
    pub subject_cache_bytes: u64,
    /// Rows opened last, and index entries.
    pub read_cache_bytes: u64,
    /// What they may hold.
    pub read_cache_bytes_max: u64,
    /// What was told of parts of relations.
    pub told_bytes: u64,
    /// What it may hold.
    pub told_bytes_max: u64,
    /// Keyed hashes computed last.
    pub hash_memory_bytes: u64,
    /// Blocks in the cache.
    pub block_cache_bytes: u64,
    /// Blocks in the cache that cannot be evicted now.
    pub block_cache_pinned_bytes: u64,
    /// Snapshots held (a number).
    pub snapshots: u64,
    /// Slots in the keyring (a number).
    pub keyring_slots: u64,
    /// Slots made and not given out (a number).
    pub keyring_slots_free: u64,
    /// Data keys in locked memory (a number).
    pub keyring_keys_cached: u64,
}

impl Store {
    /// Everything written so far, as it is now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.clone())
    }

    /// The row key of a canonical primary key: a keyed hash, so that no personal key stands on disk.
    pub fn hash_key(&self, relation: RelationId, canonical: &[u8]) -> RowKey {
        let digest = self.known_hash(b'k', relation.0, canonical);
        RowKey::new(&digest)
    }

    /// Under what a person who was forgotten is found again: no row key stands there.
    pub fn hash_forgotten(&self, relation: RelationId, key: &RowKey) -> [u8; 16] {
        self.keyed_hash(b'f', &[&relation.0.to_be_bytes(), key.bytes()])
    }

    /// Where the last receipt of a key stands in `meta`: by a keyed hash of the row key, which is itself no longer anywhere.
    pub fn forgotten_key(&self, relation: RelationId, key: &RowKey) -> Vec<u8> {
        [b"forgotten/".as_slice(), &self.hash_forgotten(relation, key)].concat()
    }

    /// The keyed hash of a canonical index value.
    pub fn hash_index(&self, index: IndexId, canonical: &[u8]) -> [u8; 16] {
        self.known_hash(b'i', index.0, canonical)
    }

    /// The same for whoever remembers it, or will not ask again: nothing is looked for among what was hashed last, nor left there.
    pub fn hash_index_once(&self, index: IndexId, canonical: &[u8]) -> [u8; 16] {
        self.keyed_hash(b'i', &[&index.0.to_be_bytes(), canonical])
    }

    /// As `keyed_hash`, of what is hashed again and again.
    fn known_hash(&self, domain: u8, of: u32, canonical: &[u8]) -> [u8; keyspace::HASH_BYTES] {
        let mut bytes = [0; 64];
        let Some(rest) = bytes.get_mut(5..5 + canonical.len()) else {
            return self.keyed_hash(domain, &[&of.to_be_bytes(), canonical]);
        };
        rest.copy_from_slice(canonical);
        bytes[0] = domain;
        bytes[1..5].copy_from_slice(&of.to_be_bytes());
        self.remembered_hash(&bytes[..5 + canonical.len()])
    }

    /// The keyed hash of some bytes, the first of which is their domain.
    fn remembered_hash(&self, bytes: &[u8]) -> [u8; keyspace::HASH_BYTES] {
        self.inner.hashes.of(bytes, || sodium::keyed_hash(self.inner.keyring.hash_key(), bytes))
    }

    /// The same of bytes that tell a person.
    pub(crate) fn remembered_pseudonym(&self, bytes: &[u8]) -> [u8; keyspace::HASH_BYTES] {
        self.inner.pseudonyms.of(bytes, || sodium::keyed_hash(self.inner.keyring.hash_key(), bytes))
    }

    /// A keyed hash under a domain. All parts but the last must have a fixed width in that domain.
    pub(crate) fn keyed_hash<const N: usize>(&self, domain: u8, parts: &[&[u8]]) -> [u8; N] {
        let key = self.inner.keyring.hash_key();
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut short = [0; 128];
        if bytes < short.len() {
            short[0] = domain;
            let mut end = 1;
            for part in parts {
                short[end..end + part.len()].copy_from_slice(part);
                end += part.len();
            }
            sodium::keyed_hash(key, &short[..end])
        } else {
            let mut long = Vec::with_capacity(1 + bytes);
            long.push(domain);
            parts.iter().for_each(|part| long.extend_from_slice(part));
            sodium::keyed_hash(key, &long)
        }
    }

    /// A µDB id whose data key is already durable. Flushes once for many.
    pub fn allocate_microdb(&self) -> Result<MicroDbId, StorageError> {
        self.check_writable()?;
        self.inner.keyring.allocate()
    }

    /// Writes a batch: visible to later snapshots, in the system's hands, durable after the next `flush`.
    ///
    /// All or nothing, also in a crash. Audit records of the batch get their places in the log here, and an erasure its number.
    pub fn write(&self, batch: Batch) -> Result<(), StorageError> {
        self.check_writable()?;
        let Some(owed) = Owed::of(&batch) else { return self.write_with(batch, &Batch::default()) };
        let mut erasures = self.inner.erasures.lock();
        let mut all = erasures.all_owed();
        all.add(&owed);
        let entries = self.entries_of(&batch);
        let (first, last) = (erasures.last + 1, erasures.last + entries.len() as u64);
        let mut noted = Batch::default();
        noted.put_erasures(self, &all, first, &entries);
        self.write_with(batch, &noted)?;
        erasures.owe(&owed, last, self.inner.db.latest_sequence_number());
        Ok(())
    }

    /// What is noted of the erasures in a batch. Only one batch that erases is written at a time, so receipts' numbers are known.
    fn entries_of(&self, batch: &Batch) -> Vec<Entry> {
        let before = self.inner.log.lock().receipts;
        let of_receipt = |pending: &PendingAudit| match pending {
            PendingAudit::Receipt { time_us, id, .. } => Some((*time_us, *id)),
            PendingAudit::Entry(_) | PendingAudit::Entries(_) => None,
        };
        let receipts = batch.audit.iter().filter_map(of_receipt);
        let mut entries: Vec<Entry> = receipts
            .zip(before + 1..)
            .map(|((time_us, id), number)| Entry { time_us, receipt: Some((number, id)) })
            .collect();
        if let (true, Some(time_us)) = (entries.is_empty(), batch.erases) {
            entries.push(Entry { time_us, receipt: None });
        }
        entries
    }

    /// Writes a batch and what the store adds to it.
    fn write_with(&self, mut batch: Batch, added: &Batch) -> Result<(), StorageError> {
        let Some(mut side) = batch.side_files.take() else { return self.write_to_log(batch, added) };
        self.write_with_files(batch, added, &side)?;
        side.is_taken_in = true;
        Ok(())
    }

    /// The same, all of it through the log.
    pub(crate) fn write_to_log(&self, mut batch: Batch, added: &Batch) -> Result<(), StorageError> {
        let db = &self.inner.db;
        let mut writes = self.inner.form.begin(batch.bytes() + added.bytes() + 512);
        writes.add(&batch);
        writes.add(added);
        let _subjects = self.inner.subjects.writing(&batch, || db.latest_sequence_number());
        let _reads = self.inner.reads.writing(&batch, || db.latest_sequence_number());
        let is_empty = |relation| self.holds_no_row(relation);
        let mut segments = self.inner.segments.writing(&batch, || db.latest_sequence_number(), &is_empty);
        // A large one is not held three times.
        batch.forget_operations();
        let commit = batch.commit_time.unwrap_or(0).max(self.inner.time.load(Ordering::Acquire));
        if batch.audit.is_empty() {
            let records = if self.inner.backups.tee.is_on() { self.inner.log.lock().sequence } else { 0 };
            self.put(writes, commit, records)?;
        } else {
            let mut log = self.inner.log.lock();
            let mut put = |key: &[u8], value: &[u8]| writes.put(Family::Audit, key, value);
            let next = log.link(&batch.audit, self.inner.keyring.signing(), &mut put);
            self.put(writes, commit, next.sequence)?;
            self.inner.receipts.fetch_max(next.receipts, Ordering::Release);
            *log = next;
        }
        segments.written();
        if let Some(time) = batch.commit_time {
            self.inner.time.fetch_max(time, Ordering::Release);
        }
        Ok(())
    }

    /// Whether nothing can be written: the folder is looked at.
    pub fn is_read_only(&self) -> bool {
        !self.inner.writable
    }

    /// Whether what cannot be read is left out.
    pub(crate) fn salvages(&self) -> bool {
        self.inner.options.mode == Mode::Salvage
    }

    /// A copy of a row was left out.
    pub(crate) fn note_unreadable(&self) {
        self.inner.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn check_writable(&self) -> Result<(), StorageError> {
        if self.inner.writable { Ok(()) } else { Err(StorageError::ReadOnly) }
    }

    /// Writes to RocksDB, with which the store stands at this commit and this record of the log.
    fn put(&self, writes: Writes<'_>, commit: u64, records: u64) -> Result<(), StorageError> {
        let Inner { db, room, append_failed, backups, .. } = &*self.inner;
        let written = room.write(writes.bytes(), || {
            let batch = writes.finish();
            let teed = backups.tee.is_on().then(|| batch.data().to_vec());
            db.write(batch)?;
            // One after the other: the last number is this batch's.
            teed.into_iter().for_each(|teed| {
                backups.tee.push(teed, WrittenAt { last: db.latest_sequence_number(), commit, records });
            });
            Ok(())
        });
        if let Err(error) = &written {
            append_failed.store(rocks::is_of_appending(error), Ordering::Release);
        }
        let written = written.map_err(rocks::failed("write a batch"));
        match &written {
            Ok(()) => self.inner.no_room.written(),
            Err(error) => tracing::error!(target: "dogwood::storage", "a write failed: {error}"),
        }
        if let Err(StorageError::Rocks { failure: RocksFailure::NoSpace, .. }) = &written {
            self.inner.no_room.refused();
        }
        if let Err(StorageError::Rocks { failure: RocksFailure::Io | RocksFailure::Other, .. }) = &written
            && !self.inner.stuck.swap(true, Ordering::AcqRel)
        {
            tracing::error!(target: "dogwood::storage", "no write is taken any more");
        }
        written
    }

    /// Whether no write is taken any more, and would be if the folder was opened anew: files of the size that an opening writes can
    /// be made again. Makes one to see that. From a full disk RocksDB most often resumes by itself. To be asked every few seconds.
    pub fn would_write_again(&self) -> bool {
        let has_room = || {
            let bytes = self.buffered_bytes() + rocks::WAL_BYTES_MAX;
            free_space::can_make(&self.inner.options.file("probe.new"), bytes)
        };
        match self.inner.stuck.load(Ordering::Acquire) {
            true => has_room(),
            false => self.inner.no_room.lasts(has_room),
        }
    }

    /// Whether there is room for a batch on the disk, beside what is kept. What makes room may use most of that, too.
    pub fn check_room(&self, batch: &Batch) -> Result<(), StorageError> {
        self.inner.space.take(batch.bytes() as u64, batch.makes_room(), || self.buffered_bytes())
    }

    /// The same for so many bytes, which make no room.
    pub(crate) fn check_room_for(&self, bytes: u64) -> Result<(), StorageError> {
        self.inner.space.take(bytes, false, || self.buffered_bytes())
    }

    fn buffered_bytes(&self) -> u64 {
        let db = &self.inner.db;
        let bytes =
            |family: Family| db.property_int_value_cf(family.handle(db), rocksdb::properties::CUR_SIZE_ALL_MEM_TABLES);
        FAMILIES.iter().filter_map(|family| bytes(*family).ok().flatten()).sum()
    }

    /// What an operator is to be told and has not been, as sentences.
    pub fn take_notices(&self) -> Vec<String> {
        if self.inner.keyring.take_damage() {
            let path = files::keyring(&self.inner.options);
            self.notice(format!("a copy of a data key in \"{}\" is damaged, the other is used", path.display()));
        }
        let unreadable = self.inner.unreadable.swap(0, Ordering::Relaxed);
        if unreadable > 0 {
            self.notice(format!("{unreadable} copies of rows could not be read and were left out"));
        }
        std::mem::take(&mut *self.inner.notices.lock())
    }

    fn notice(&self, notice: String) {
        self.inner.notices.lock().push(notice);
    }

    /// Begins to make durable what was written, for whoever has something else to do before it waits for that by `flush`.
    pub fn begin_flush(&self) {
        self.inner.room.begin();
    }

    /// Makes everything written so far durable: one fdatasync. After a failure the server must stop.
    pub fn flush(&self) -> Result<(), StorageError> {
        if !self.inner.writable {
            return Ok(());
        }
        self.inner.room.make();
        let written = self.position();
        match self.inner.db.flush_wal(true) {
            // After a write to a log has failed RocksDB does not even try; what it wrote before is to be acknowledged.
            Err(error) if self.inner.append_failed.load(Ordering::Acquire) && rocks::is_of_before(&error) => {
                self.inner.room.flush_all()?;
            }
            flushed => flushed.map_err(rocks::failed("flush the write-ahead log"))?,
        }
        self.inner.witness.lock().as_ref().map_or(Ok(()), |witness| witness.vouch(written))
    }

    /// Makes everything durable and empties the write buffers into files: the next start has no log to replay.
    pub fn settle(&self) -> Result<(), StorageError> {
        self.flush()?;
        self.flush_buffers()
    }

    pub(crate) fn flush_buffers(&self) -> Result<(), StorageError> {
        // All families: a log file goes only when every family has left it.
        self.flush_buffers_of(&FAMILIES)
    }

    /// The same for some families.
    pub(crate) fn flush_buffers_of(&self, families: &[Family]) -> Result<(), StorageError> {
        if !self.inner.writable {
            return Ok(());
        }
        let db = &self.inner.db;
        let mut wait = FlushOptions::default();
        wait.set_wait(true);
        let handles: Vec<_> = families.iter().map(|family| family.handle(db)).collect();
        self.inner.room.leave();
        let started = std::time::Instant::now();
        db.flush_cfs_opt(&handles, &wait).map_err(rocks::failed("flush write buffers"))?;
        let took_ms = started.elapsed().as_secs_f64() * 1e3;
        tracing::debug!(target: "dogwood::storage", took_ms, "write buffers are in files");
        Ok(())
    }

    /// Starts merging files that wait, if it is time and little is written. To be called twice a second or so.
    pub fn look_after_files(&self) -> Result<(), StorageError> {
        if self.inner.writable { self.inner.settling.lock().look(&self.inner.db) } else { Ok(()) }
    }

    /// Destroys data keys for good: both slot copies overwritten, one fdatasync, wiped from memory.
    ///
    /// The receipt must be durable before. After a failure the server must stop; the next start tries again.
    pub fn destroy_keys(&self, microdbs: &[MicroDbId]) -> Result<(), StorageError> {
        self.check_writable()?;
        self.inner.keyring.destroy(microdbs)?;
        // After it, so that nothing is opened in between.
        self.inner.reads.forget(microdbs);
        self.inner.erasures.lock().keys_at = Some(std::time::Instant::now());
        Ok(())
    }

    /// Whether this person's data key still exists.
    pub fn key_exists(&self, microdb: MicroDbId) -> Result<bool, StorageError> {
        self.inner.keyring.is_live(microdb)
    }

    /// The Ed25519 key that verifies this database's receipts and capsules.
    pub fn public_key(&self) -> [u8; 32] {
        self.inner.keyring.signing().public()
    }

    /// The database's random id.
    pub fn database_id(&self) -> [u8; 16] {
        *self.inner.keyring.database()
    }

    /// Deletes a relation's rows and ownership entries with the batch. One of which nothing was ever written is left alone: files that the
    /// batch brings would have to be merged with what deletes nothing.
    pub fn drop_relation(&self, batch: &mut Batch, relation: RelationId) {
        if self.has_never_held(relation) {
            return;
        }
        let from = keyspace::relation(relation);
        if let Some(to) = keyspace::successor(&from) {
            batch.delete_range(Family::Rows, &from, &to);
            batch.delete_range(Family::Owners, &from, &to);
        }
    }

    /// Deletes an index's entries with the batch.
    pub fn drop_index(&self, batch: &mut Batch, index: IndexId) {
        let from = keyspace::index(index);
        if let Some(to) = keyspace::successor(&from) {
            batch.delete_range(Family::Index, &from, &to);
        }
    }

    /// Rewrites ranges so that what was deleted from them, and no snapshot holds, leaves files and write-ahead log.
    ///
    /// Takes as long as rewriting takes: never on the commit thread.
    pub fn reclaim(&self, ranges: &[Reclaim]) -> Result<(), StorageError> {
        self.check_writable()?;
        self.flush_buffers()?;
        for range in ranges {
            match range {
                Reclaim::Relation(relation) => {
                    let prefix = keyspace::relation(*relation);
                    self.compact(Family::Rows, Some(&prefix));
                    self.compact(Family::Owners, Some(&prefix));
                }
                Reclaim::MicroDb(relation, microdb) => {
                    self.compact(Family::Rows, Some(&keyspace::relation_of_microdb(*relation, *microdb)));
                }
                Reclaim::Index(index) => self.compact(Family::Index, Some(&keyspace::index(*index))),
                Reclaim::Everything => FAMILIES.iter().for_each(|family| self.compact(*family, None)),
            }
        }
        Ok(())
    }

    fn compact(&self, family: Family, prefix: Option<&[u8]>) {
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        let db = &self.inner.db;
        let end = prefix.and_then(keyspace::successor);
        db.compact_range_cf_opt(family.handle(db), prefix, end, &options);
    }

    /// Sizes, for operators.
    pub fn statistics(&self) -> StoreStatistics {
        let db = &self.inner.db;
        let number =
            |family: Family, name| db.property_int_value_cf(family.handle(db), name).ok().flatten().unwrap_or(0);
        let slots = self.inner.keyring.slots();
        StoreStatistics {
            family_bytes: FAMILIES
                .map(|family| (family.name(), number(family, rocksdb::properties::LIVE_SST_FILES_SIZE)))
                .to_vec(),
            memtable_bytes: self.buffered_bytes(),
            memtable_bytes_max: rocks::WRITE_BUFFER_BYTES_MAX as u64,
            key_cache_bytes: slots.cached * cache::ENTRY_BYTES,
            key_cache_bytes_max: cache::KEYS_MAX * cache::ENTRY_BYTES,
            subject_cache_bytes: self.inner.subjects.bytes(),
            read_cache_bytes: self.inner.reads.bytes(),
            read_cache_bytes_max: self.inner.reads.bytes_max(),
            told_bytes_max: (segments::BYTES_MAX + segments::arrived::BYTES_MAX) as u64,
            told_bytes: self.inner.segments.bytes(),
            hash_memory_bytes: self.inner.hashes.bytes() + self.inner.pseudonyms.bytes(),
            block_cache_bytes: self.inner.cache.get_usage() as u64,
            block_cache_pinned_bytes: self.inner.cache.get_pinned_usage() as u64,
            snapshots: number(Family::Rows, rocksdb::properties::NUM_SNAPSHOTS),
            keyring_slots: slots.made,
            keyring_slots_free: slots.free,
            keyring_keys_cached: slots.cached,
        }
    }

    /// About how many bytes a relation's rows take in files; what is still in write buffers is not counted.
    pub fn approximate_size(&self, relation: RelationId) -> u64 {
        self.size_below(Family::Rows, keyspace::relation(relation))
    }

    /// The same of an index.
    pub fn approximate_index_size(&self, index: IndexId) -> u64 {
        self.size_below(Family::Index, keyspace::index(index))
    }

    fn size_below(&self, family: Family, prefix: [u8; 4]) -> u64 {
        let db = &self.inner.db;
        let to = keyspace::successor(&prefix).unwrap_or_else(|| vec![0xff; 5]);
        db.get_approximate_sizes_cf(family.handle(db), &[Range::new(&prefix, &to)]).iter().sum()
    }

    pub(crate) fn db(&self) -> &DB {
        &self.inner.db
    }

    /// Where RocksDB's files are.
    pub(crate) fn rocks_folder(&self) -> PathBuf {
        files::rocks(&self.inner.options)
    }

    /// Whether files of so many bytes can be written before those that they replace go.
    pub(crate) fn has_room_to_rewrite(&self, bytes: u64) -> Result<bool, StorageError> {
        self.inner.space.holds(bytes)
    }

    pub(crate) fn side_folder(&self) -> &Arc<SideFolder> {
        &self.inner.side_folder
    }

    pub(crate) fn backups(&self) -> &Backups {
        &self.inner.backups
    }

    /// A backup has to do without the files that it copies, which hold erased bytes: it begins anew.
    pub fn take_from_backup(&self) -> Result<(), StorageError> {
        self.inner.backups.pins.take_away()
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.inner.cache
    }

    /// A file of the data folder.
    pub(crate) fn data_file(&self, name: &str) -> PathBuf {
        self.inner.options.file(name)
    }

    pub(crate) fn erasures(&self) -> &Erasures {
        &self.inner.erasures
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.inner.keyring
    }

    pub(crate) fn subjects(&self) -> &Subjects {
        &self.inner.subjects
    }

    pub(crate) fn reads(&self) -> &ReadCache {
        &self.inner.reads
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.inner.segments
    }

    pub(crate) fn hints(&self) -> &LocationCache {
        &self.inner.hints
    }

    pub(crate) fn cipher(&self) -> Cipher {
        self.inner.cipher
    }

    /// How many records the audit log has.
    pub fn audit_records(&self) -> u64 {
        self.log_head().0
    }

    /// The audit log's present head: sequence and hash.
    pub(crate) fn log_head(&self) -> (u64, [u8; 32]) {
        let log = self.inner.log.lock();
        (log.sequence, log.hash)
    }

    /// How many receipts of erasures there are.
    pub(crate) fn log_receipts(&self) -> u64 {
        self.inner.log.lock().receipts
    }
}
