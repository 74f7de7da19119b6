//! Where backups go: a folder, or a bucket of an S3-compatible store.
//!
//! An object appears whole or not at all, has a name with slashes, and is replaced by the next of its name. Nothing here knows what
//! is in one. The crate `object_store` has the same four calls, and a hundred crates behind them.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::backup::direct_file::DirectFile;
use crate::backup::fault::BackupFault;
use crate::backup::s3::Bucket;

/// What is brought to the disk at once: what others have to flush meanwhile waits for no more. As much as the disk takes in some
/// milliseconds, within these bounds; each by itself costs a write of the file system's log.
const PIECE_BYTES_MIN: usize = 256 << 10;
const PIECE_BYTES_MAX: usize = 4 << 20;
const PIECE_SHORT: Duration = Duration::from_millis(6);
const PIECE_LONG: Duration = Duration::from_millis(16);

/// Somewhere to put objects.
pub trait Target: Send + Sync {
    /// As an operator knows it; no secret.
    fn name(&self) -> &str;

    /// Puts an object, durably.
    fn put(&self, object: &str, bytes: &[u8]) -> Result<(), TargetError>;

    /// An object; none if there is none.
    fn get(&self, object: &str) -> Result<Option<Vec<u8>>, TargetError>;

    /// The objects under a prefix that ends with a slash, in order of their names, and their sizes.
    fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, TargetError>;

    /// Removes an object, if it is there.
    fn remove(&self, object: &str) -> Result<(), TargetError>;
}

/// Why a target did not do as it was asked.
#[derive(Clone, Debug)]
pub struct TargetError {
    /// The target.
    pub target: String,
    /// What was tried.
    pub tried: &'static str,
    /// With which object.
    pub object: String,
    /// What it said.
    pub reason: String,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TargetError { target, tried, object, reason } = self;
        if object == "." {
            return write!(f, "could not {tried} the backup target \"{target}\": {reason}");
        }
        write!(f, "could not {tried} \"{object}\" at the backup target \"{target}\": {reason}")
    }
}

/// Opens a target by how an operator writes it: a folder's path, or s3://BUCKET/PREFIX. With `make` a folder is made if only it
/// itself is missing. `variable` gives what stands in the environment of whoever asks; requests are dated by `now_us`.
pub fn open_target(
    given: &str,
    make: bool,
    variable: &dyn Fn(&str) -> Option<String>,
    now_us: fn() -> i64,
) -> Result<Box<dyn Target>, BackupFault> {
    let refuse = |what| BackupFault::NoTarget { given: given.to_owned(), what };
    match given.split_once("://") {
        None if given.is_empty() => Err(refuse("it is empty")),
        None => Ok(Box::new(Folder::open(Path::new(given), make)?)),
        Some(("s3", place)) => Ok(Box::new(Bucket::open(given, place, variable, now_us)?)),
        Some(_) => Err(refuse("it is neither a folder nor s3://BUCKET/PREFIX")),
    }
}

/// A folder. It is not made anew when it goes while it is written to: a disk that is not mounted any more is not the target.
pub struct Folder {
    name: String,
    root: PathBuf,
    piece_bytes: AtomicUsize,
}

impl Folder {
    /// Opens a folder, making it if it alone is missing.
    pub fn open(path: &Path, make: bool) -> Result<Folder, BackupFault> {
        let made = match (path.is_dir(), make) {
            (true, _) => Ok(()),
            (false, true) => fs::DirBuilder::new().mode(0o700).create(path).and_then(|()| settle_name(path)),
            (false, false) => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        // A relative path means the same to whoever reads the answer.
        let root = made.and_then(|()| fs::canonicalize(path));
        match root {
            // By that name it is known again, from wherever it is named.
            Ok(root) => Ok(Folder {
                name: root.display().to_string(),
                root,
                piece_bytes: AtomicUsize::new(4 * PIECE_BYTES_MIN),
            }),
            Err(error) => Err(BackupFault::Target(TargetError {
                target: path.display().to_string(),
                tried: if make { "make" } else { "open" },
                object: ".".to_owned(),
                reason: error.to_string(),
            })),
        }
    }

    fn failed<'a>(&'a self, tried: &'static str, object: &'a str) -> impl Fn(io::Error) -> TargetError + 'a {
        move |error| TargetError {
            target: self.name.clone(),
            tried,
            object: object.to_owned(),
            reason: match error.kind() {
                io::ErrorKind::NotFound if !self.root.is_dir() => "the folder is gone".to_owned(),
                _ => error.to_string(),
            },
        }
    }

    /// The folder of an object, made below the root where it is missing.
    fn make_folder(&self, object: &str) -> io::Result<PathBuf> {
        let mut folder = self.root.clone();
        let parts: Vec<&str> = object.split('/').collect();
        for part in &parts[..parts.len() - 1] {
            folder.push(part);
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
                Ok(()) => settle_name(&folder)?,
            }
        }
        Ok(folder)
    }

    /// The next pieces are larger where one took no time, and smaller where it took long.
    fn took(&self, bytes: usize, took: Duration) {
        let next = match took {
            _ if took > PIECE_LONG => (bytes / 2).max(PIECE_BYTES_MIN),
            _ if took < PIECE_SHORT => (bytes * 2).min(PIECE_BYTES_MAX),
            _ => return,
        };
        // What is less than a piece says nothing of pieces.
        if bytes >= PIECE_BYTES_MIN {
            self.piece_bytes.store(next, Ordering::Relaxed);
        }
    }

    fn write(&self, object: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.make_folder(object)?;
        let path = self.root.join(object);
        let staged = path.with_extension("part");
        let written = DirectFile::create(&staged, bytes.len()).and_then(|mut file| {
            let mut rest = bytes;
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.len().min(self.piece_bytes.load(Ordering::Relaxed)));
                let began = Instant::now();
                file.write(piece)?;
                let took = began.elapsed();
                self.took(piece.len(), took);
                // Who waits for the disk beside has it for a while.
                std::thread::sleep((took / 3).min(PIECE_LONG));
                rest = behind;
            }
            file.finish()?;
            fs::rename(&staged, &path)
        });
        if written.is_err() {
            // What does not fit is not left half there.
            let _gone = fs::remove_file(&staged);
        }
        written.and_then(|()| sync(&folder))
    }
}

/// Makes the name of a new folder durable. One that fails that is gone: else the next to find it would take it for whole.
fn settle_name(folder: &Path) -> io::Result<()> {
    let synced = fs::canonicalize(folder).and_then(|folder| folder.parent().map_or(Ok(()), sync));
    if synced.is_err() {
        let _gone = fs::remove_dir(folder);
    }
    synced
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

impl Target for Folder {
    fn name(&self) -> &str {
        &self.name
    }

    fn put(&self, object: &str, bytes: &[u8]) -> Result<(), TargetError> {
        self.write(object, bytes).map_err(self.failed("write", object))
    }

    fn get(&self, object: &str) -> Result<Option<Vec<u8>>, TargetError> {
        match fs::read(self.root.join(object)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.root.is_dir() => Ok(None),
            Err(error) => Err(self.failed("read", object)(error)),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, TargetError> {
        let mut found = Vec::new();
        let mut open = vec![prefix.to_owned()];
        while let Some(folder) = open.pop() {
            let entries = match fs::read_dir(self.root.join(&folder)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.root.is_dir() => continue,
                Err(error) => return Err(self.failed("list", prefix)(error)),
            };
            for entry in entries {
                let listed = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)));
                let (name, metadata) = listed.map_err(self.failed("list", prefix))?;
                let name = format!("{folder}{}", name.to_string_lossy());
                if metadata.is_dir() {
                    open.push(name + "/");
                } else if !name.ends_with(".part") {
                    found.push((name, metadata.len()));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn remove(&self, object: &str) -> Result<(), TargetError> {
        match fs::remove_file(self.root.join(object)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed("remove", object)(error)),
            Err(_) | Ok(()) => Ok(()),
        }
    }
}
