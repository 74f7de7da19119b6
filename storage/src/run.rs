//! New rows of a table that come in the order of their keys: written at once as they will stand in the store, by a thread of their own.
//!
//! ```text
//! rows, in order ─▶ some thousand wait ─▶ thread: sealed ─▶ a file in `ingest/`, flushed ─ 32 MB ─▶ the next
//!                                             COMMIT: a batch takes them under second names ─▶ as in `ingest`
//!                                             read before: a RocksDB of their own takes them under third ones
//! ```
//! So what is committed is sealed once and never sorted. Whoever reads a run ends it: what comes later stands elsewhere. Only for rows
//! that are nobody's: the database's own key is not replaced while they wait. The files go with the run, whatever has become of them.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use repr::{RelationId, Row, RowKey, poll};
use rocksdb::SstFileWriter;

use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::sodium;
use crate::error::{RocksFailure, StorageError};
use crate::ingest::{BYTES_MIN, FILE_BYTES, begin_file, end_file};
use crate::keyspace;
use crate::rocks::{self, Family};
use crate::scratch::Scratch;
use crate::side_files::SideFiles;
use crate::store::Store;

/// Rows with their keys.
pub(crate) type KeyedRows = Vec<(RowKey, Row)>;

/// So many pieces may wait for the thread.
const WAITING_MAX: usize = 4;
/// So many rows are a piece, at most.
const PIECE_ROWS: usize = 1_024;

/// See the module. Dropped, it leaves nothing.
pub(crate) struct Run {
    store: Store,
    relation: RelationId,
    schema_version: u32,
    state: Mutex<RunState>,
}

struct RunState {
    /// The first and the last key.
    reach: Option<(RowKey, RowKey)>,
    rows: usize,
    bytes: u64,
    stage: RunStage,
}

enum RunStage {
    /// No row has come.
    Begun,
    Writing(RunThread),
    /// It takes no more.
    Written(RunFiles),
    /// What it had is lost, and its statement was told.
    Failed,
}

struct RunThread {
    pieces: SyncSender<RunPiece>,
    thread: JoinHandle<Result<SideFiles, StorageError>>,
}

struct RunFiles {
    files: SideFiles,
    /// Who reads them, once somebody has.
    reader: Option<Arc<Scratch>>,
}

/// What the thread is told. Where it hears no end, all of it was for nothing.
enum RunPiece {
    Rows(KeyedRows),
    End,
}

impl Run {
    pub(crate) fn new(store: &Store, relation: RelationId, schema_version: u32) -> Run {
        let state = RunState { reach: None, rows: 0, bytes: 0, stage: RunStage::Begun };
        Run { store: store.clone(), relation, schema_version, state: Mutex::new(state) }
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().rows
    }

    /// The first and the last key that are there.
    pub(crate) fn reach(&self) -> Option<(RowKey, RowKey)> {
        self.state.lock().reach.clone()
    }

    /// Adds rows, if they are in order, behind all others, and nobody has read: else it gives them back.
    pub(crate) fn push(&self, rows: KeyedRows) -> Result<Option<KeyedRows>, StorageError> {
        let mut state = self.state.lock();
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else { return Ok(None) };
        let before = state.reach.as_ref();
        let comes_behind = before.is_none_or(|(_, last)| last < first);
        let may_come = matches!(state.stage, RunStage::Begun | RunStage::Writing(_));
        if !comes_behind || !may_come || !rows.is_sorted_by(|(one, _), (other, _)| one < other) {
            return Ok(Some(rows));
        }
        let bytes = rows.iter().map(|(key, row)| (key.bytes().len() + row.bytes().len()) as u64).sum();
        self.store.check_room_for(bytes)?;
        let reach = (before.map_or_else(|| first.clone(), |(first, _)| first.clone()), last.clone());
        let count = rows.len();
        self.send(&mut state, rows)?;
        (state.reach, state.rows, state.bytes) = (Some(reach), state.rows + count, state.bytes + bytes);
        Ok(None)
    }

    fn send(&self, state: &mut RunState, rows: KeyedRows) -> Result<(), StorageError> {
        if matches!(state.stage, RunStage::Begun) {
            state.stage = RunStage::Writing(self.begin()?);
        }
        let RunStage::Writing(writing) = &state.stage else { return Err(lost()) };
        let mut rows = rows.into_iter();
        loop {
            let piece: KeyedRows = rows.by_ref().take(PIECE_ROWS).collect();
            if piece.is_empty() {
                return Ok(());
            }
            if writing.pieces.send(RunPiece::Rows(piece)).is_err() {
                // The thread has ended by itself: why, it tells.
                return state.end().and_then(|_| Err(lost()));
            }
        }
    }

    fn begin(&self) -> Result<RunThread, StorageError> {
        self.store.check_writable()?;
        let files = self.store.side_folder().begin(sodium::random_array(), self.store.db().latest_sequence_number())?;
        let (pieces, come) = sync_channel(WAITING_MAX);
        let (relation, schema_version, store) = (self.relation, self.schema_version, self.store.clone());
        // What it holds is the statement's.
        let overseer = poll::overseer();
        let body = move || {
            let _overseen = overseer.as_ref().map(poll::under);
            write(&store, relation, schema_version, files, &come)
        };
        let thread = std::thread::Builder::new().name("run".into()).spawn(body);
        Ok(RunThread {
            pieces,
            thread: thread.map_err(StorageError::io("start a thread for", &self.store.side_folder().path))?,
        })
    }

    /// The row under a key.
    pub(crate) fn get(&self, key: &RowKey) -> Result<Option<Row>, StorageError> {
        let Some(reader) = self.reader_of(key)? else { return Ok(None) };
        let at = keyspace::impersonal_row(self.relation, key.bytes());
        let sealed = reader.db().get_pinned(at).map_err(rocks::failed("read a row of a large transaction"))?;
        sealed.map(|sealed| self.open(key.bytes(), &sealed)).transpose()
    }

    /// Whether there is one.
    pub(crate) fn contains(&self, key: &RowKey) -> Result<bool, StorageError> {
        let Some(reader) = self.reader_of(key)? else { return Ok(false) };
        let at = keyspace::impersonal_row(self.relation, key.bytes());
        let found = reader.db().get_pinned(at).map_err(rocks::failed("look for a row of a large transaction"))?;
        Ok(found.is_some())
    }

    /// Opens what stands under a key.
    pub(crate) fn open(&self, key: &[u8], sealed: &[u8]) -> Result<Row, StorageError> {
        let place = SealPlace::Impersonal(self.relation, key);
        let (_, plain) = self.store.open_impersonal(place, sealed)?;
        Ok(Row::from_bytes(plain.into()))
    }

    /// With what keys of its rows begin.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        keyspace::impersonal_row(self.relation, &[])
    }

    fn reader_of(&self, key: &RowKey) -> Result<Option<Arc<Scratch>>, StorageError> {
        match self.reach() {
            Some((first, last)) if first <= *key && *key <= last => self.reader(),
            Some(_) | None => Ok(None),
        }
    }

    /// What reads all of them; none if there are none. From here on it takes no more.
    pub(crate) fn reader(&self) -> Result<Option<Arc<Scratch>>, StorageError> {
        let mut state = self.state.lock();
        let Some(RunFiles { files, reader }) = state.end()? else { return Ok(None) };
        if reader.is_none() {
            let paths = files.files.iter().map(|file| file.path(&files.folder.path, &files.id)).collect();
            *reader = Some(Scratch::of_files(&files.folder.path, paths)?);
        }
        Ok(reader.clone())
    }
}

impl RunState {
    /// It takes no more; none if it has nothing.
    fn end(&mut self) -> Result<Option<&mut RunFiles>, StorageError> {
        if let RunStage::Writing(_) = self.stage
            && let RunStage::Writing(RunThread { pieces, thread }) =
                std::mem::replace(&mut self.stage, RunStage::Failed)
        {
            // If it has ended by itself it does not hear, and tells why.
            let _heard = pieces.send(RunPiece::End);
            drop(pieces);
            let files = thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))?;
            self.stage = RunStage::Written(RunFiles { files, reader: None });
        }
        match &mut self.stage {
            RunStage::Begun => Ok(None),
            RunStage::Written(written) => Ok(Some(written)),
            RunStage::Writing(_) | RunStage::Failed => Err(lost()),
        }
    }
}

fn lost() -> StorageError {
    let failure = RocksFailure::Other;
    StorageError::Rocks { tried: "go on with a file of a large transaction", failure, file: None }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let RunStage::Writing(RunThread { pieces, thread }) =
            std::mem::replace(&mut self.state.get_mut().stage, RunStage::Failed)
        {
            drop(pieces);
            // Its files are gone when it is.
            let _ended = thread.join();
        }
    }
}

impl Store {
    /// Adds what a run has to a batch, as it stands. Not where it is little, or can wait in the log that is shipped: then it is to be added row
    /// by row.
    pub(crate) fn take_run(&self, batch: &mut Batch, run: &Run) -> Result<bool, StorageError> {
        let mut state = run.state.lock();
        let bytes = state.bytes as usize;
        if bytes < BYTES_MIN || self.backups().tee.takes(bytes) {
            return Ok(false);
        }
        let Some(RunFiles { files, .. }) = state.end()? else { return Ok(false) };
        if !batch.is_set_aside() {
            batch.side_files = Some(self.begin_side_files()?);
        }
        let Some(side) = &mut batch.side_files else { return Ok(false) };
        for file in &files.files {
            let path = side.add(Family::Rows);
            fs::hard_link(file.path(&files.folder.path, &files.id), &path).map_err(StorageError::io("link", &path))?;
            side.files.last_mut().expect("it was added").bytes = file.bytes;
        }
        // Nothing stands under new keys in memory, but counts of the table's parts.
        let mut whole = Batch::default();
        let prefix = run.prefix();
        let end = keyspace::successor(&prefix).unwrap_or_default();
        whole.delete_range(Family::Rows, &prefix, &end);
        let (segments, store) = (self.segments().begin_writing(&whole, &|_| false), self.clone());
        side.afterwards.push(Box::new(move |is_written| {
            store.segments().end_writing(segments, store.db().latest_sequence_number(), is_written);
        }));
        Ok(true)
    }
}

/// What the thread does.
fn write(
    store: &Store,
    relation: RelationId,
    schema_version: u32,
    mut files: SideFiles,
    come: &Receiver<RunPiece>,
) -> Result<SideFiles, StorageError> {
    let options = rocks::last_file_options(store.cache())?;
    let header = Header { kind: SealKind::Impersonal, cipher: store.cipher(), schema_version };
    let mut file: Option<SstFileWriter<'_>> = None;
    let (mut bytes, mut at, mut sealed) = (0, keyspace::impersonal_row(relation, &[]), Vec::new());
    let prefix_bytes = at.len();
    loop {
        let rows = match come.recv() {
            Ok(RunPiece::Rows(rows)) => rows,
            Ok(RunPiece::End) => break,
            Err(_) => return Ok(files),
        };
        // So that what it frees is counted; whoever pushes hears why the statement ends.
        let _asked = poll::steps(rows.len());
        for (key, row) in rows {
            let into = match &mut file {
                Some(file) => file,
                None => file.insert(begin_file(&mut files, Family::Rows, &options)?),
            };
            at.truncate(prefix_bytes);
            at.extend_from_slice(key.bytes());
            sealed.clear();
            store.seal_impersonal(SealPlace::Impersonal(relation, key.bytes()), header, row.bytes(), &mut sealed);
            into.put(&at, &sealed).map_err(rocks::failed("write a file of a large transaction"))?;
            bytes += at.len() + sealed.len();
            if bytes >= FILE_BYTES {
                (bytes, file) = (0, end(&mut files, file)?);
            }
        }
    }
    end(&mut files, file)?;
    Ok(files)
}

fn end<'o>(files: &mut SideFiles, file: Option<SstFileWriter<'o>>) -> Result<Option<SstFileWriter<'o>>, StorageError> {
    file.map_or(Ok(()), |file| end_file(files, file)).map(|()| None)
}

#[cfg(test)]
mod tests;
