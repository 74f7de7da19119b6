//! Large batches: what they write stands in files of its own before they are written, and comes into RocksDB as files.
//!
//! ```text
//! batch ─▶ sorted files in `ingest/`, on the disk ─▶ WRITE: the rest of it, with an intent, flushed ─▶ each family's files taken in ─▶ intent gone
//!   │ off the commit stage                             └───────────── killed in here: the next start takes in what is missing ──────────┘
//!   └─▶ dropped: the files go
//! ```
//! So others wait for a small write, a flush, and RocksDB's noting of some files, whatever the batch's size. The files hold what
//! RocksDB's own would: sealed rows, hashes, index entries. A family's files come in at once, with a marker that no other key of
//! it can be: by it a start tells whether they have, since later commits may have written to any of their keys by then. The
//! intent is flushed before the first file comes in: what RocksDB notes of files is on the disk at once, and must not be there
//! while its commit can be lost. From the intent on nothing can refuse the batch: where it cannot be finished the server stops,
//! and the next start finishes it.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use rocksdb::{IngestExternalFileOptions, Options, SstFileWriter};

use crate::batch::{Batch, Operation};
use crate::crypto::sodium;
use crate::erasure::Owed;
use crate::error::StorageError;
use crate::keyring::sync_folder;
use crate::rocks::{self, Family};
use crate::side_files::{INGESTED, IngestId, MARKER, SideFile, SideFiles, decode, families_of};
use crate::store::Store;

/// Smaller batches are written to RocksDB's log: that takes less time in all, and nobody waits long.
pub(crate) const BYTES_MIN: usize = 8 << 20;
/// So does one of fewer operations: each takes a microsecond or more of RocksDB's memory, while others wait. Rows that go are few bytes.
/// Files of operations all over a family are merged with all of it: 4,000 rows with nine indexes that change hands are 68,000.
const OPERATIONS_MIN: usize = 5 << 14;
/// So much of a batch that is being made is held in memory, three times while it is sorted: at first the least. What it makes on the
/// disk lies over each other until it is merged, so of a larger batch it is more.
const HELD_BYTES: RangeInclusive<usize> = 12 << 20..=32 << 20;
/// What is held is this part of what stands in files already.
const HELD_PART: u64 = 4;
/// About what goes into one file.
pub(crate) const FILE_BYTES: usize = 32 << 20;
/// Under what the intent stands in `meta`.
const INTENT: &[u8] = b"ingest";
impl Store {
    /// Writes what a large batch does into files, durable, so that little is left to be done by `write`; a small one stays as it
    /// is. For whoever waits for nobody, when the batch is whole.
    pub fn set_aside(&self, batch: &mut Batch) -> Result<(), StorageError> {
        if !batch.is_set_aside() {
            // What is shipped goes through the log; more than can wait there is lost to it either way.
            let is_small = batch.bytes() < BYTES_MIN && batch.len() < OPERATIONS_MIN;
            if is_small || self.backups().tee.takes(batch.bytes()) {
                return Ok(());
            }
            batch.side_files = Some(self.begin_side_files()?);
        }
        drop(self.write_aside(batch)?);
        let Some(side) = &mut batch.side_files else { return Ok(()) };
        mark(side, self)?;
        sync_folder(&self.side_folder().path.join("-"))?;
        // What they would meet there RocksDB brings to files before it takes them in, and lets nobody write meanwhile.
        self.flush_buffers_of(&families_of(&side.files))
    }

    /// The same while it is being made, so that little of it is in memory: what is added later is newer. It has to be set aside
    /// when it is whole, too.
    pub fn set_aside_so_far(&self, batch: &mut Batch) -> Result<(), StorageError> {
        let written: u64 = batch.side_files.iter().flat_map(|side| &side.files).map(|file| file.bytes).sum();
        let held_bytes_max = usize::try_from(written / HELD_PART).unwrap_or(usize::MAX);
        if batch.bytes() < held_bytes_max.clamp(*HELD_BYTES.start(), *HELD_BYTES.end()) {
            return Ok(());
        }
        if !batch.is_set_aside() {
            batch.side_files = Some(self.begin_side_files()?);
        }
        let written = self.write_aside(batch)?;
        batch.take_room_of(written);
        Ok(())
    }

    pub(crate) fn begin_side_files(&self) -> Result<SideFiles, StorageError> {
        self.check_writable()?;
        self.side_folder().begin(sodium::random_array(), self.db().latest_sequence_number())
    }

    /// Gives what it has written.
    fn write_aside(&self, batch: &mut Batch) -> Result<Batch, StorageError> {
        self.check_room(batch)?;
        let places = Owed::places_of(batch);
        let large = batch.take_large(|family| INGESTED.contains(&family));
        let Some(side) = &mut batch.side_files else { return Ok(large) };
        side.places.extend(places);
        INGESTED.into_iter().try_for_each(|family| write_family(side, self, family, &large))?;
        // What is held in memory of its keys is not to be read when it is written, and nothing is to be added until then.
        let (rows, subjects) = (self.reads().begin_writing(&large), self.subjects().begin_writing(&large));
        let segments = self.segments().begin_writing(&large, &|relation| self.holds_no_row(relation));
        let store = self.clone();
        side.afterwards.push(Box::new(move |is_written| {
            let latest = store.db().latest_sequence_number();
            store.reads().end_writing(&rows, latest);
            store.subjects().end_writing(&subjects, latest);
            store.segments().end_writing(segments, latest, is_written);
        }));
        Ok(large)
    }

    /// Writes a batch whose operations stand in files, but for the rest of it.
    pub(crate) fn write_with_files(
        &self,
        mut batch: Batch,
        added: &Batch,
        side: &SideFiles,
    ) -> Result<(), StorageError> {
        side.files.iter().try_for_each(|file| file.check(&side.folder.path, &side.id))?;
        // No backup is of the time between.
        let _whole = self.backups().pins.whole();
        self.backups().tee.lose();
        batch.put_meta(self, INTENT, &side.encode());
        self.write_to_log(batch, added)?;
        let finished = self.flush().and_then(|()| self.take_in(&side.id, &side.files));
        if let Err(error) = finished {
            tracing::error!(
                target: "dogwood::storage",
                "stopping at once: a commit could not be finished, the next start finishes it: {error}"
            );
            std::process::abort();
        }
        Ok(())
    }

    /// Takes in the files of families that have not been, and the intent away.
    fn take_in(&self, id: &IngestId, files: &[SideFile]) -> Result<(), StorageError> {
        let mut ended = Batch::default();
        ended.delete(Family::Meta, INTENT);
        for family in families_of(files) {
            ended.delete(family, &MARKER);
            if !self.is_taken_in(family, id)? {
                self.take_in_family(family, id, files)?;
            }
        }
        self.write_to_log(ended, &Batch::default())
    }

    fn take_in_family(&self, family: Family, id: &IngestId, files: &[SideFile]) -> Result<(), StorageError> {
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let files = files.iter().filter(|file| file.family == family);
        let paths: Vec<PathBuf> = files.map(|file| file.path(&self.side_folder().path, id)).collect();
        let taken = self.db().ingest_external_file_cf_opts(family.handle(self.db()), &options, paths);
        taken.map_err(rocks::failed("take in the files of a batch"))
    }

    fn is_taken_in(&self, family: Family, id: &IngestId) -> Result<bool, StorageError> {
        let marker = self.db().get_cf(family.handle(self.db()), MARKER);
        Ok(marker.map_err(rocks::failed("read a marker"))?.as_deref() == Some(id.as_slice()))
    }

    /// The batch that a killed server has not finished, if there is one.
    fn unfinished(&self) -> Result<Option<(IngestId, Vec<SideFile>)>, StorageError> {
        let Some(intent) = self.snapshot().meta(INTENT)? else { return Ok(None) };
        let what = "it names files of a batch in no form that this version writes";
        let malformed = || StorageError::FileDamaged { path: self.rocks_folder(), what };
        decode(&intent).map(Some).ok_or_else(malformed)
    }

    /// Finishes what a killed server has left: a batch whose intent stands is taken in, other files go.
    pub(crate) fn finish_ingest(&self) -> Result<(), StorageError> {
        if let Some((id, files)) = self.unfinished()? {
            for family in families_of(&files) {
                if !self.is_taken_in(family, &id)? {
                    let of_family = files.iter().filter(|file| file.family == family);
                    of_family.into_iter().try_for_each(|file| file.check(&self.side_folder().path, &id))?;
                }
            }
            self.take_in(&id, &files)?;
            self.flush()?;
            tracing::info!(target: "dogwood::storage", "a commit that was being written when the server ended is finished");
        }
        self.side_folder().clear()
    }

    /// Whoever only reads sees no half of a batch.
    pub(crate) fn check_finished(&self) -> Result<(), StorageError> {
        let Some((id, files)) = self.unfinished()? else { return Ok(()) };
        for family in families_of(&files) {
            if !self.is_taken_in(family, &id)? {
                return Err(StorageError::Unfinished { path: self.side_folder().path.clone() });
            }
        }
        Ok(())
    }
}

/// The files of one family, if the batch has anything for it.
fn write_family(side: &mut SideFiles, store: &Store, family: Family, large: &Batch) -> Result<(), StorageError> {
    let options = rocks::file_options(family, store.cache())?;
    let mut operations = large.last_operations(family).peekable();
    while operations.peek().is_some() {
        let mut bytes = 0;
        let mut file = begin_file(side, family, &options)?;
        while bytes < FILE_BYTES
            && let Some(operation) = operations.next()
        {
            let written = match operation {
                Operation::Put(_, key, value) => {
                    bytes += key.len() + value.len();
                    file.put(key, value)
                }
                Operation::Delete(_, key) => {
                    bytes += key.len();
                    file.delete(key)
                }
                Operation::DeleteRange(_, from, to) => file.delete_range(from, to),
            };
            written.map_err(rocks::failed("write a file of a batch"))?;
        }
        end_file(side, file)?;
    }
    Ok(())
}

/// A file for each family by which a start tells whether its others have come in.
fn mark(side: &mut SideFiles, store: &Store) -> Result<(), StorageError> {
    for family in families_of(&side.files) {
        let options = rocks::file_options(family, store.cache())?;
        let mut file = begin_file(side, family, &options)?;
        file.put(MARKER, side.id).map_err(rocks::failed("write a marker"))?;
        end_file(side, file)?;
    }
    Ok(())
}

pub(crate) fn begin_file<'o>(
    side: &mut SideFiles,
    family: Family,
    options: &'o Options,
) -> Result<SstFileWriter<'o>, StorageError> {
    let path = side.add(family);
    let writer = SstFileWriter::create(options);
    writer.open(path).map_err(rocks::failed("make a file of a batch"))?;
    Ok(writer)
}

pub(crate) fn end_file(side: &mut SideFiles, mut writer: SstFileWriter<'_>) -> Result<(), StorageError> {
    writer.finish().map_err(rocks::failed("write a file of a batch"))?;
    let file = side.files.last_mut().expect("it was begun");
    file.bytes = writer.file_size();
    Ok(())
}

#[cfg(test)]
mod tests;
