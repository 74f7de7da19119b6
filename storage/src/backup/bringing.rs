//! A backup's files on their way to the target.
//!
//! ```text
//! names ─▶ READERS: each reads a file, hashes it ─┬─ the target has it ─▶ nothing more
//!                                                 └─ one thread brings it, a file at a time ─▶ its memory is read into again
//! ```
//! A hash takes as long as a fast disk takes for its bytes: two are made beside each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::vec::IntoIter;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::backup::fault::BackupFault;
use crate::backup::manifest::{BackedFile, FILES};
use crate::backup::survey::Survey;
use crate::backup::take::Form;
use crate::backup::target::Target;
use crate::crypto::hex;
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::rocks;

/// With what is being brought, so many files and one are in memory.
const READERS: usize = 2;

/// What has been brought so far.
#[derive(Default)]
pub(super) struct Brought {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// By their names.
    objects: BTreeSet<String>,
    /// Those that the target did not have.
    pub(super) added: Vec<String>,
}

/// See the module.
pub(super) struct Bringing<'a> {
    pub(super) target: &'a dyn Target,
    pub(super) survey: &'a Survey,
    pub(super) form: Form,
    /// Asked before each file.
    pub(super) goes_on: &'a (dyn Fn() -> bool + Sync),
}

/// How far the readers are, together.
struct BackupProgress<'a> {
    names: IntoIter<String>,
    /// RocksDB's files, which never change: their hashes.
    known: &'a mut BTreeMap<String, [u8; 32]>,
    brought: &'a mut Brought,
    files: Vec<BackedFile>,
    /// Memory of files that were brought.
    spare: Vec<Vec<u8>>,
    /// Not all were read.
    left_off: bool,
}

/// Hands files over.
pub(super) struct Bringer<'a, 's> {
    bringing: &'a Bringing<'a>,
    progress: &'a Mutex<BackupProgress<'s>>,
    next: SyncSender<(String, Vec<u8>)>,
}

impl Bringing<'_> {
    /// Brings RocksDB's files of a folder, and then what `others` does: all are there once this returns. In order of their names;
    /// none where it was to leave off.
    pub(super) fn all(
        &self,
        (folder, names): (&Path, Vec<String>),
        known: &mut BTreeMap<String, [u8; 32]>,
        brought: &mut Brought,
        others: impl FnOnce(&Bringer<'_, '_>) -> Result<(), StorageError>,
    ) -> Result<Option<Vec<BackedFile>>, StorageError> {
        let progress = Mutex::new(BackupProgress {
            names: names.into_iter(),
            known,
            brought,
            files: Vec::new(),
            spare: Vec::new(),
            left_off: false,
        });
        let (next, files) = sync_channel::<(String, Vec<u8>)>(0);
        std::thread::scope(|scope| {
            let start = |name: &str| std::thread::Builder::new().name(name.to_owned());
            let failed = || StorageError::io("start a thread for", Path::new(self.target.name()));
            let progress = &progress;
            // Dropped where the target fails: nobody waits to hand over the next.
            let put = move || {
                files.iter().try_for_each(|(object, content)| {
                    let put = self.target.put(&object, &content);
                    progress.lock().spare.push(content);
                    put
                })
            };
            let bringing = start("bringing").spawn_scoped(scope, put).map_err(failed())?;
            let bringer = Bringer { bringing: self, progress, next };
            let read = |bringer: &Bringer<'_, '_>| bringer.read(folder);
            let beside: Vec<_> = (1..READERS)
                .map(|_| {
                    let bringer = Bringer { next: bringer.next.clone(), ..bringer };
                    start("backup").spawn_scoped(scope, move || read(&bringer)).map_err(failed())
                })
                .collect();
            let mut done = read(&bringer);
            for reader in beside {
                let one = reader.and_then(|reader| reader.join().expect("reading does not panic"));
                done = done.and(one);
            }
            let done = done.and_then(|()| others(&bringer));
            drop(bringer);
            // Where the target failed, what could not be handed over says nothing new.
            bringing.join().expect("bringing does not panic").map_err(BackupFault::from)?;
            done
        })?;
        let BackupProgress { mut files, left_off, .. } = progress.into_inner();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok((!left_off).then_some(files))
    }
}

impl Bringer<'_, '_> {
    /// Reads files for as long as there are some.
    fn read(&self, folder: &Path) -> Result<(), StorageError> {
        let read = || {
            loop {
                let (name, spare) = {
                    let mut progress = self.progress.lock();
                    let Some(name) = progress.names.next() else { return Ok(()) };
                    if !(self.bringing.goes_on)() {
                        progress.left_off = true;
                        progress.names = Vec::new().into_iter();
                        return Ok(());
                    }
                    (name, progress.spare.pop().unwrap_or_default())
                };
                self.read_one(folder, name, spare)?;
            }
        };
        let done = read();
        if done.is_err() {
            // The others need not go on.
            self.progress.lock().names = Vec::new().into_iter();
        }
        done
    }

    /// Reads and hashes a pinned file, and has it brought if the target does not have it.
    fn read_one(&self, folder: &Path, name: String, mut content: Vec<u8>) -> Result<(), StorageError> {
        let path = folder.join(&name);
        let known = self.progress.lock().known.get(&name).copied();
        if let Some(hash) = known {
            let bytes = std::fs::metadata(&path).map_err(StorageError::io("look at", &path))?.len();
            let object = object_of(&name, &hash);
            if self.has(&object, bytes) {
                let mut progress = self.progress.lock();
                progress.files.push(BackedFile { name: format!("rocks/{name}"), object, bytes, hash });
                progress.spare.push(content);
                return Ok(());
            }
        }
        // Whole: no file stays open while the target is waited for.
        content.clear();
        let read = File::open(&path).and_then(|mut file| {
            content.reserve_exact(usize::try_from(file.metadata()?.len()).unwrap_or(0));
            file.read_to_end(&mut content)
        });
        read.map_err(StorageError::io("read", &path))?;
        let file = backed(format!("rocks/{name}"), &content);
        if rocks::file_number(&name).is_some() {
            self.progress.lock().known.insert(name, file.hash);
        }
        self.hand_over(file, content)
    }

    /// Has a file brought that is none of RocksDB's.
    pub(super) fn bring(&self, name: &str, content: Vec<u8>) -> Result<(), StorageError> {
        self.hand_over(backed(name.to_owned(), &content), content)
    }

    /// Whether a file need not be brought.
    fn has(&self, object: &str, bytes: u64) -> bool {
        let Bringing { survey, form, .. } = self.bringing;
        let is_there = survey.files.get(object) == Some(&bytes);
        self.progress.lock().brought.objects.contains(object) || is_there && *form == Form::Incremental
    }

    fn hand_over(&self, file: BackedFile, content: Vec<u8>) -> Result<(), StorageError> {
        let is_there = self.has(&file.object, file.bytes);
        if !is_there {
            if !self.bringing.survey.files.contains_key(&file.object) {
                // Before it is there: what came half is removed, too.
                self.progress.lock().brought.added.push(file.object.clone());
            }
            self.next.send((file.object.clone(), content)).map_err(|_the_target_failed| BackupFault::Stopped)?;
        }
        let mut progress = self.progress.lock();
        if !is_there {
            progress.brought.objects.insert(file.object.clone());
            progress.brought.files += 1;
            progress.brought.bytes += file.bytes;
        }
        progress.files.push(file);
        Ok(())
    }
}

/// A file's hash: SHA-256, for which processors have instructions.
fn content_hash(content: &[u8]) -> [u8; 32] {
    Sha256::digest(content).into()
}

/// Whether a file has this hash. Manifests of versions before have BLAKE2b's.
pub(super) fn has_hash(content: &[u8], hash: &[u8; 32]) -> bool {
    content_hash(content) == *hash || sodium::hash::<32>(content) == *hash
}

fn object_of(name: &str, hash: &[u8; 32]) -> String {
    format!("{FILES}{name}-{}", hex::encode(&hash[..16]))
}

fn backed(name: String, content: &[u8]) -> BackedFile {
    let hash = content_hash(content);
    let object = object_of(name.strip_prefix("rocks/").unwrap_or(&name), &hash);
    BackedFile { name, object, bytes: content.len() as u64, hash }
}
