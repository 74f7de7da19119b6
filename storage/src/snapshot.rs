//! Everything stored as it was at one commit: rows opened, never their keys or ciphertexts shown.
//!
//! Cheap to make and to clone, used by any thread. While one is held, RocksDB keeps what was erased since, so the engine
//! bounds its age. A row of a person forgotten since reads as `KeyDestroyed`, never as absent or as stale data.

mod bulk;
pub(crate) mod cursor;
mod salvage;
mod sample;

use std::ops::{Bound, Range};
use std::sync::Arc;

use repr::{MicroDbId, RelationId, Row, RowKey};
use rocksdb::ReadOptions;
use self_cell::self_cell;

use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::error::{Sealed, StorageError, StoredEntry};
use crate::keyring::once::KeyAtHand;
use crate::keyspace::{self, ROW_PREFIX_BYTES};
use crate::people_read::PeopleRead;
use crate::rocks::{self, Family};
use crate::segments::arrived::ArrivedCopies;
use crate::segments::{self, ToldPart};
use crate::snapshot::cursor::{Cursor, Direction};
use crate::store::Store;

pub use bulk::{BulkScan, OpenedRows};
pub use sample::SampledRows;

type RocksSnapshot<'a> = rocksdb::Snapshot<'a>;

self_cell!(
    struct OwnedSnapshot {
        owner: Store,
        #[covariant]
        dependent: RocksSnapshot,
    }
);

/// The store as it was at one moment.
#[derive(Clone)]
pub struct Snapshot {
    owned: Arc<OwnedSnapshot>,
    /// What is read stays in memory for the next.
    keeps: bool,
    /// Where it is noted whose rows are read.
    observer: Option<Arc<PeopleRead>>,
}

/// One cursor for a person's rows of many relations: it costs more to make than to move.
pub struct MicroDbProbe {
    store: Store,
    cursor: Cursor,
}

impl MicroDbProbe {
    /// Visits a data subject's copies in one relation, canonical or not, in the order of their keys.
    pub fn rows(
        &mut self,
        relation: RelationId,
        microdb: MicroDbId,
        mut visit: impl FnMut(RowKey, Row),
    ) -> Result<(), StorageError> {
        let (store, mut opened) = (&self.store, Ok(()));
        let prefix = keyspace::relation_of_microdb(relation, microdb);
        self.cursor.find_all(&prefix, "scan a data subject's rows", |key, sealed| {
            match open_copy(store, relation, key, sealed) {
                Ok(copy) => visit(copy.key, copy.row),
                Err(error) => opened = Err(error),
            }
            opened.is_ok()
        })?;
        opened
    }
}

/// One stored copy of a personal row.
#[derive(Debug)]
pub struct StoredCopy {
    /// Whose copy.
    pub owner: MicroDbId,
    /// The row's key.
    pub key: RowKey,
    /// Whether scans read this copy.
    pub canonical: bool,
    /// The version of the relation's columns that it was written under.
    pub schema_version: u32,
    /// The row.
    pub row: Row,
}

impl Snapshot {
    pub(crate) fn new(store: Store) -> Snapshot {
        let owned = Arc::new(OwnedSnapshot::new(store, |store| store.db().snapshot()));
        Snapshot { owned, keeps: false, observer: None }
    }

    /// The same for those whose reads are worth keeping in memory for the next, such as statements of clients. Any other finds
    /// what is held there, and leaves it as it is.
    #[must_use]
    pub fn keeping(&self) -> Snapshot {
        Snapshot { owned: Arc::clone(&self.owned), keeps: true, observer: None }
    }

    /// The same for those of whom it is noted whose rows they read.
    #[must_use]
    pub fn observed(&self, observer: Option<Arc<PeopleRead>>) -> Snapshot {
        Snapshot { observer, ..self.clone() }
    }

    /// For the audit log: that rows are there was read of an index, as much as if they had been opened.
    pub fn note_located(&self, relation: RelationId, located: &[(RowKey, Option<MicroDbId>)]) {
        for (key, owner) in located {
            owner.iter().for_each(|owner| self.note(relation, *owner, key));
        }
    }

    fn note(&self, relation: RelationId, owner: MicroDbId, key: &RowKey) {
        if let Some(observer) = &self.observer {
            observer.note(relation, owner, key);
        }
    }

    pub(crate) fn store(&self) -> &Store {
        self.owned.borrow_owner()
    }

    pub(crate) fn rocks(&self) -> &RocksSnapshot<'_> {
        self.owned.borrow_dependent()
    }

    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// RocksDB's sequence number: grows with every write, equal for equal contents.
    pub fn sequence(&self) -> u64 {
        self.rocks().sequence_number()
    }

    /// A personal row, through the copy that was read last, or the canonical one.
    pub fn get_personal(&self, relation: RelationId, key: &RowKey) -> Result<Option<Row>, StorageError> {
        Ok(self.get_owned(relation, key, || self.canonical_owner(relation, key))?.map(|(row, _)| row))
    }

    /// A data subject's own row, through the copy of its own µDB.
    pub fn get_subject(&self, relation: RelationId, key: &RowKey) -> Result<Option<Row>, StorageError> {
        Ok(self.get_owned(relation, key, || self.subject(relation, key))?.map(|(row, _)| row))
    }

    /// A personal row, through the copy that was read last, or that of the owner whom `owner` names; nothing if it names none.
    /// With the owner whose copy it is.
    pub fn get_owned(
        &self,
        relation: RelationId,
        key: &RowKey,
        owner: impl FnOnce() -> Result<Option<MicroDbId>, StorageError>,
    ) -> Result<Option<(Row, MicroDbId)>, StorageError> {
        let hints = self.store().hints();
        // All copies of a row are alike in one snapshot. Where a hint finds none, or one that cannot be opened any more,
        // it says nothing about the row.
        if let Some(hint) = hints.get(relation, key) {
            match self.get_copy(relation, key, hint) {
                Ok(None) | Err(StorageError::KeyDestroyed) => {}
                found => return Ok(found?.map(|row| (row, hint))),
            }
        }
        let Some(owner) = owner()? else { return Ok(None) };
        match self.get_copy(relation, key, owner)? {
            Some(row) => {
                hints.set(relation, key, owner);
                Ok(Some((row, owner)))
            }
            None => Err(StorageError::CopyMissing { relation }),
        }
    }

    /// One owner's copy of a personal row.
    pub fn get_copy(&self, relation: RelationId, key: &RowKey, owner: MicroDbId) -> Result<Option<Row>, StorageError> {
        let (reads, sequence) = (self.store().reads(), self.sequence());
        if let Some(row) = reads.personal(relation, owner, key, sequence) {
            self.note(relation, owner, key);
            return Ok(Some(row));
        }
        let at = keyspace::personal_row(relation, owner, key);
        let Some(sealed) = self.get(Family::Rows, &at, "read a row")? else { return Ok(None) };
        let row = self.open_personal(relation, key, owner, &sealed)?;
        self.note(relation, owner, key);
        Ok(Some(row))
    }

    fn open_personal(
        &self,
        relation: RelationId,
        key: &RowKey,
        owner: MicroDbId,
        sealed: &[u8],
    ) -> Result<Row, StorageError> {
        let (_, plain) =
            self.store().open_personal(owner, SealPlace::Personal(relation, owner, key.bytes()), sealed)?;
        let row = Row::from_bytes(plain.into_boxed_slice());
        if self.keeps {
            self.store().reads().put_personal(relation, owner, key, self.sequence(), &row);
        }
        Ok(row)
    }

    /// Rows of a personal relation, each one owner's copy, in the order asked for: cheaper together than one by one. The
    /// error is that of the first that has one.
    pub fn get_copies(
        &self,
        relation: RelationId,
        copies: &[(&RowKey, MicroDbId)],
    ) -> Result<Vec<Option<Row>>, StorageError> {
        self.copies(relation, copies).into_iter().collect()
    }

    /// Personal rows as `get_personal` reads them, in the order asked for.
    pub fn get_personals(&self, relation: RelationId, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        self.get_all_owned(relation, keys, |key| self.get_personal(relation, key))
    }

    /// Data subjects' own rows as `get_subject` reads them, in the order asked for.
    pub fn get_subjects(&self, relation: RelationId, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        self.get_all_owned(relation, keys, |key| self.get_subject(relation, key))
    }

    /// By guesses together, and where a guess says nothing by `get`.
    fn get_all_owned(
        &self,
        relation: RelationId,
        keys: &[RowKey],
        get: impl Fn(&RowKey) -> Result<Option<Row>, StorageError>,
    ) -> Result<Vec<Option<Row>>, StorageError> {
        let hints = self.store().hints();
        let guesses: Vec<_> = keys.iter().map(|key| hints.get(relation, key)).collect();
        let guessed: Vec<_> = keys.iter().zip(&guesses).filter_map(|(key, guess)| Some((key, (*guess)?))).collect();
        let mut copies = self.copies(relation, &guessed).into_iter();
        let rows = keys.iter().zip(&guesses).map(|(key, guess)| match guess.and_then(|_| copies.next()) {
            None | Some(Ok(None) | Err(StorageError::KeyDestroyed)) => get(key),
            Some(found) => found,
        });
        rows.collect()
    }

    fn copies(&self, relation: RelationId, copies: &[(&RowKey, MicroDbId)]) -> Vec<Result<Option<Row>, StorageError>> {
        if let [(key, owner)] = copies {
            return vec![self.get_copy(relation, key, *owner)];
        }
        let (reads, sequence) = (self.store().reads(), self.sequence());
        let held = |(key, owner): &(&RowKey, MicroDbId)| reads.personal(relation, *owner, key, sequence);
        let held: Vec<_> = copies.iter().map(held).collect();
        let absent = held.iter().zip(copies).filter(|(row, _)| row.is_none());
        let at: Vec<_> = absent.map(|(_, (key, owner))| keyspace::personal_row(relation, *owner, key)).collect();
        let mut found = self.get_many(Family::Rows, &at, "read rows").into_iter();
        let rows = held.into_iter().zip(copies).map(|(row, (key, owner))| {
            let row = match row {
                Some(row) => row,
                None => match found.next().transpose()?.flatten() {
                    Some(sealed) => self.open_personal(relation, key, *owner, &sealed)?,
                    None => return Ok(None),
                },
            };
            self.note(relation, *owner, key);
            Ok(Some(row))
        });
        rows.collect()
    }

    /// Rows that are nobody's, in the order asked for.
    pub fn get_impersonals(&self, relation: RelationId, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        if let [key] = keys {
            return Ok(vec![self.get_impersonal(relation, key)?]);
        }
        let (reads, sequence) = (self.store().reads(), self.sequence());
        let held: Vec<_> = keys.iter().map(|key| reads.impersonal(relation, key, sequence)).collect();
        let absent = held.iter().zip(keys).filter(|(row, _)| row.is_none());
        let at: Vec<_> = absent.map(|(_, key)| keyspace::impersonal_row(relation, key.bytes())).collect();
        let mut found = self.get_many(Family::Rows, &at, "read rows").into_iter();
        let rows = held.into_iter().zip(keys).map(|(row, key)| match row {
            Some(row) => Ok(Some(row)),
            None => match found.next().transpose()?.flatten() {
                Some(sealed) => self.open_impersonal(relation, key, &sealed).map(Some),
                None => Ok(None),
            },
        });
        rows.collect()
    }

    /// A row that is nobody's.
    pub fn get_impersonal(&self, relation: RelationId, key: &RowKey) -> Result<Option<Row>, StorageError> {
        if let Some(row) = self.store().reads().impersonal(relation, key, self.sequence()) {
            return Ok(Some(row));
        }
        let at = keyspace::impersonal_row(relation, key.bytes());
        let Some(sealed) = self.get(Family::Rows, &at, "read a row")? else { return Ok(None) };
        self.open_impersonal(relation, key, &sealed).map(Some)
    }

    fn open_impersonal(&self, relation: RelationId, key: &RowKey, sealed: &[u8]) -> Result<Row, StorageError> {
        let (_, plain) = self.store().open_impersonal(SealPlace::Impersonal(relation, key.bytes()), sealed)?;
        let row = Row::from_bytes(plain.into_boxed_slice());
        if self.keeps {
            self.store().reads().put_impersonal(relation, key, self.sequence(), &row);
        }
        Ok(row)
    }

    /// Whether a row that is nobody's is there, without opening it.
    pub fn holds_impersonal(&self, relation: RelationId, key: &RowKey) -> Result<bool, StorageError> {
        let at = keyspace::impersonal_row(relation, key.bytes());
        Ok(self.get(Family::Rows, &at, "read a row")?.is_some())
    }

    /// All rows of a relation, sequentially: of personal ones the canonical copies, each logical row once.
    pub fn scan(
        &self,
        relation: RelationId,
        personal: bool,
    ) -> Box<dyn Iterator<Item = Result<(RowKey, Row), StorageError>> + Send> {
        self.scan_by(Cursor::all(self, Family::Rows, &keyspace::relation(relation)), relation, personal)
    }

    /// The rows of `scan`, some at a time and without their keys; none of a damaged store that is to be saved.
    pub fn scan_bulk(&self, relation: RelationId, personal: bool) -> Option<BulkScan> {
        let cursor = || Cursor::all(self, Family::Rows, &keyspace::relation(relation));
        (!self.store().salvages()).then(|| BulkScan::new(cursor(), relation, personal, self.observer.clone()))
    }

    /// The same for one who reads a whole relation and will not come again: what others read stays in the cache.
    pub fn scan_once(
        &self,
        relation: RelationId,
        personal: bool,
    ) -> Box<dyn Iterator<Item = Result<(RowKey, Row), StorageError>> + Send> {
        self.scan_by(Cursor::all_once(self, Family::Rows, &keyspace::relation(relation)), relation, personal)
    }

    fn scan_by(
        &self,
        cursor: Cursor,
        relation: RelationId,
        personal: bool,
    ) -> Box<dyn Iterator<Item = Result<(RowKey, Row), StorageError>> + Send> {
        let (store, observer) = (self.store().clone(), self.observer.clone());
        if store.salvages() {
            Box::new(salvage::scan(store, cursor, relation, personal))
        } else if personal {
            Box::new(cursor.filtered("scan a relation", move |key, sealed| {
                let (header, _) = Header::parse(sealed).ok_or(malformed(relation))?;
                match header.kind {
                    SealKind::Personal { canonical: true } => {
                        let copy = open_copy(&store, relation, key, sealed)?;
                        observer.iter().for_each(|observer| observer.note(relation, copy.owner, &copy.key));
                        Ok(Some((copy.key, copy.row)))
                    }
                    SealKind::Personal { canonical: false } => Ok(None),
                    SealKind::Impersonal => Err(malformed(relation)),
                }
            }))
        } else {
            Box::new(
                cursor.entries("scan a relation", move |key, sealed| open_impersonal(&store, relation, key, sealed)),
            )
        }
    }

    /// Rows that are nobody's, in the order of their keys; bounds are prefixes of row keys, as in `scan_index_ordered`.
    pub fn scan_impersonal_range(
        &self,
        relation: RelationId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        reverse: bool,
    ) -> impl Iterator<Item = Result<(RowKey, Row), StorageError>> + Send + use<> {
        let store = self.store().clone();
        let direction = Direction::of(reverse);
        let cursor = Cursor::range(self, Family::Rows, &keyspace::relation(relation), lower, upper, direction);
        cursor.entries("scan a relation", move |key, sealed| open_impersonal(&store, relation, key, sealed))
    }

    /// Every stored copy of a personal relation, canonical or not, by µDB id and row key.
    pub fn scan_copies(
        &self,
        relation: RelationId,
    ) -> impl Iterator<Item = Result<StoredCopy, StorageError>> + Send + use<> {
        let store = self.store().clone();
        let cursor = Cursor::all(self, Family::Rows, &keyspace::relation(relation));
        cursor.entries("scan a relation", move |key, sealed| open_copy(&store, relation, key, sealed))
    }

    /// What is told of a relation's segments, in their order: see `segments`.
    pub fn told(&self, relation: RelationId) -> Vec<Option<ToldPart>> {
        self.store().segments().told(relation, self.sequence())
    }

    /// What came into a relation of which all is known, of segments of which nothing is told: see `segments::arrived`.
    pub fn arrived(&self, relation: RelationId, form: &[u8]) -> Option<ArrivedCopies> {
        self.store().segments().arrived(relation, self.sequence(), form)
    }

    /// Segments of which nothing is told, and that were last written to up to a sequence number. None while there is little room.
    pub fn untold_at_rest(&self, relation: RelationId, written_until: u64) -> Vec<usize> {
        self.store().segments().untold_at_rest(relation, written_until)
    }

    /// Notes what this snapshot tells of some segments, with the bytes that it takes.
    pub fn tell(&self, relation: RelationId, told: Vec<(usize, ToldPart, usize)>) {
        self.store().segments().tell(relation, self.sequence(), told);
    }

    /// Visits every copy in some segments of a personal relation, by µDB id and row key, for one who will not come again: what
    /// others read stays in the caches, of blocks and of keys.
    pub fn visit_copies<E: From<StorageError>>(
        &self,
        relation: RelationId,
        segments: Range<usize>,
        mut visit: impl FnMut(StoredCopy) -> Result<(), E>,
    ) -> Result<(), E> {
        let (store, mut keys) = (self.store(), KeyAtHand::default());
        let mut cursor = self.segments_cursor(relation, segments);
        while let Some(copy) = cursor.next("scan a relation", |at, sealed| {
            open_copy_by(relation, at, |owner, place| store.open_personal_once(owner, place, sealed, &mut keys))
        })? {
            visit(copy?)?;
        }
        Ok(())
    }

    /// Visits who holds each of these copies, and whether scans read it. None is opened.
    pub fn visit_holders<E: From<StorageError>>(
        &self,
        relation: RelationId,
        segments: Range<usize>,
        mut visit: impl FnMut(MicroDbId, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cursor = self.segments_cursor(relation, segments);
        while let Some(holder) = cursor.next("scan a relation", |key, sealed| {
            let (owner, _) = keyspace::parse_personal_row(key).ok_or(malformed(relation))?;
            let (header, _) = Header::parse(sealed).ok_or(malformed(relation))?;
            Ok::<_, StorageError>((owner, matches!(header.kind, SealKind::Personal { canonical: true })))
        })? {
            let (owner, is_row) = holder?;
            visit(owner, is_row)?;
        }
        Ok(())
    }

    fn segments_cursor(&self, relation: RelationId, segments: Range<usize>) -> Cursor {
        let (from, to) = segments::bounds(&segments);
        let relation = keyspace::relation(relation);
        let to = to.map_or_else(|| keyspace::successor(&relation), |to| Some([&relation[..], &to].concat()));
        Cursor::between_once(self, Family::Rows, [&relation[..], &from].concat(), to)
    }

    /// Reads a data subject's copies, one relation after the other.
    pub fn microdb_probe(&self) -> MicroDbProbe {
        MicroDbProbe { store: self.store().clone(), cursor: Cursor::probe(self, Family::Rows) }
    }

    /// A metadata value.
    pub fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let Some(sealed) = self.get(Family::Meta, key, "read metadata")? else { return Ok(None) };
        self.open_meta(key, &sealed).map(Some)
    }

    /// A metadata value that was read.
    pub(crate) fn open_meta(&self, key: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StorageError> {
        let (_, value) = self.store().open_impersonal(SealPlace::Meta(key), sealed)?;
        Ok(value)
    }

    fn get_many<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
        tried: &'static str,
    ) -> Vec<Result<Option<rocksdb::DBPinnableSlice<'_>>, StorageError>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let db = self.store().db();
        let mut options = ReadOptions::default();
        options.set_snapshot(self.rocks());
        let found = db.batched_multi_get_cf_opt(family.handle(db), keys, false, &options);
        found.into_iter().map(|one| one.map_err(rocks::failed(tried))).collect()
    }

    pub(crate) fn get(
        &self,
        family: Family,
        key: &[u8],
        tried: &'static str,
    ) -> Result<Option<rocksdb::DBPinnableSlice<'_>>, StorageError> {
        let handle = family.handle(self.store().db());
        self.rocks().get_pinned_cf_opt(handle, key, ReadOptions::default()).map_err(rocks::failed(tried))
    }
}

fn malformed(relation: RelationId) -> StorageError {
    StorageError::Malformed { entry: StoredEntry::Row(relation) }
}

pub(crate) fn open_impersonal(
    store: &Store,
    relation: RelationId,
    key: &[u8],
    sealed: &[u8],
) -> Result<(RowKey, Row), StorageError> {
    let key = &key[4..];
    let (_, plain) = store.open_impersonal(SealPlace::Impersonal(relation, key), sealed)?;
    Ok((RowKey::new(key), Row::from_bytes(plain.into_boxed_slice())))
}

/// Opens a stored copy found at a key of `rows`.
pub(crate) fn open_copy(
    store: &Store,
    relation: RelationId,
    at: &[u8],
    sealed: &[u8],
) -> Result<StoredCopy, StorageError> {
    open_copy_by(relation, at, |owner, place| store.open_personal(owner, place, sealed))
}

fn open_copy_by(
    relation: RelationId,
    at: &[u8],
    open: impl FnOnce(MicroDbId, SealPlace<'_>) -> Result<(Header, Vec<u8>), StorageError>,
) -> Result<StoredCopy, StorageError> {
    let (owner, key) = keyspace::parse_personal_row(at).ok_or(malformed(relation))?;
    let place = SealPlace::Personal(relation, owner, &at[ROW_PREFIX_BYTES..]);
    let (header, plain) = open(owner, place)?;
    let canonical = match header.kind {
        SealKind::Personal { canonical } => canonical,
        SealKind::Impersonal => return Err(StorageError::SealBroken { sealed: Sealed::Row(relation) }),
    };
    let row = Row::from_bytes(plain.into_boxed_slice());
    Ok(StoredCopy { owner, key, canonical, schema_version: header.schema_version, row })
}
