//! Files that hold what a large batch writes, until RocksDB takes them in: see `ingest`. Dropped before that, they are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::crypto::hex;
use crate::error::StorageError;
use crate::rocks::{FAMILIES, Family};
use crate::scratch::CurrentScratch;

/// Whose operations go into files. The others are small, and say what the batch is.
pub(crate) const INGESTED: [Family; 4] = [Family::Rows, Family::Index, Family::Owners, Family::Subjects];
/// What a family's marker stands under: no relation, index or record has a key like it.
pub(crate) const MARKER: [u8; 32] = [0xff; 32];

/// Names one batch's files, intent and markers.
pub(crate) type IngestId = [u8; 8];

/// The files of batches that are not written yet.
pub(crate) struct SideFolder {
    pub(crate) path: PathBuf,
    /// Each batch's or transaction's, and RocksDB's sequence number before they were begun.
    live: Mutex<BTreeMap<IngestId, u64>>,
    /// Where rows of large transactions stand: see `spill`.
    pub(crate) scratch: CurrentScratch,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SideFile {
    pub(crate) family: Family,
    pub(crate) number: u32,
    pub(crate) bytes: u64,
}

/// What a batch writes, in files.
pub(crate) struct SideFiles {
    pub(crate) folder: Arc<SideFolder>,
    pub(crate) id: IngestId,
    pub(crate) files: Vec<SideFile>,
    /// Families, and in them the numbers with which keys begin of what is deleted and overwritten.
    pub(crate) places: BTreeSet<(u8, u32)>,
    /// Done when they are gone or taken in, which they are told.
    pub(crate) afterwards: Vec<Box<dyn FnOnce(bool) + Send>>,
    pub(crate) is_taken_in: bool,
}

impl SideFolder {
    /// In a data folder.
    pub(crate) fn new(path: PathBuf) -> Arc<SideFolder> {
        Arc::new(SideFolder { path, live: Mutex::default(), scratch: CurrentScratch::default() })
    }

    /// Something is begun at a sequence number.
    pub(crate) fn note(&self, id: IngestId, sequence: u64) {
        self.live.lock().insert(id, sequence);
    }

    /// It is gone.
    pub(crate) fn forget(&self, id: &IngestId) {
        self.live.lock().remove(id);
    }

    /// Begins a batch's files, at a sequence number.
    pub(crate) fn begin(self: &Arc<Self>, id: IngestId, sequence: u64) -> Result<SideFiles, StorageError> {
        self.note(id, sequence);
        let (files, places, afterwards) = (Vec::new(), BTreeSet::new(), Vec::new());
        let side = SideFiles { folder: self.clone(), id, files, places, afterwards, is_taken_in: false };
        fs::create_dir_all(&self.path).map_err(StorageError::io("create", &self.path))?;
        Ok(side)
    }

    /// Whether there are files that were begun before a write: they may hold what it has erased.
    pub(crate) fn holds_before(&self, sequence: u64) -> bool {
        self.live.lock().values().any(|begun| *begun < sequence)
    }

    /// Removes what a killed server has left.
    pub(crate) fn clear(&self) -> Result<(), StorageError> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StorageError::io("remove", &self.path)(error)),
            Err(_) | Ok(()) => Ok(()),
        }
    }
}

impl SideFile {
    pub(crate) fn path(&self, folder: &Path, id: &IngestId) -> PathBuf {
        folder.join(format!("{}-{}-{}.sst", hex::encode(id), self.family.name(), self.number))
    }

    /// Refuses one that is not there as it was written.
    pub(crate) fn check(&self, folder: &Path, id: &IngestId) -> Result<(), StorageError> {
        let path = self.path(folder, id);
        match fs::metadata(&path) {
            Ok(found) if found.len() == self.bytes => Ok(()),
            Ok(_) => Err(StorageError::FileDamaged { path, what: "it has another length than was written" }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(StorageError::FileMissing { path }),
            Err(error) => Err(StorageError::io("look for", &path)(error)),
        }
    }
}

impl SideFiles {
    /// One more file: where it is to be written. It is known before it is there.
    pub(crate) fn add(&mut self, family: Family) -> PathBuf {
        let number = u32::try_from(self.files.len()).expect("a batch has fewer bytes than that many files");
        let file = SideFile { family, number, bytes: 0 };
        let path = file.path(&self.folder.path, &self.id);
        self.files.push(file);
        path
    }

    /// As the intent names them: id(8) ‖ { family(1) ‖ number(4) ‖ bytes(8) }…
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.id.to_vec();
        for SideFile { family, number, bytes: length } in &self.files {
            bytes.push(*family as u8);
            bytes.extend_from_slice(&number.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
        }
        bytes
    }
}

impl Drop for SideFiles {
    fn drop(&mut self) {
        self.afterwards.drain(..).for_each(|after| after(self.is_taken_in));
        for file in &self.files {
            let path = file.path(&self.folder.path, &self.id);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    // The next start removes it.
                    tracing::error!(target: "dogwood::storage", "a file of a batch is left in \"{}\": {error}", path.display());
                }
                Err(_) | Ok(()) => {}
            }
        }
        self.folder.forget(&self.id);
    }
}

/// Reads an intent back; nothing where it has another form.
pub(crate) fn decode(bytes: &[u8]) -> Option<(IngestId, Vec<SideFile>)> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (files, []) = rest.as_chunks::<13>() else { return None };
    let file = |[family, a, b, c, d, length @ ..]: &[u8; 13]| {
        let family = *FAMILIES.get(usize::from(*family))?;
        Some(SideFile { family, number: u32::from_be_bytes([*a, *b, *c, *d]), bytes: u64::from_be_bytes(*length) })
    };
    Some((*id, files.iter().map(file).collect::<Option<_>>()?))
}

/// Of whom there are files.
pub(crate) fn families_of(files: &[SideFile]) -> Vec<Family> {
    INGESTED.into_iter().filter(|family| files.iter().any(|file| file.family == *family)).collect()
}
