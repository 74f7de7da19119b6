//! The data folder's own files: format, lock, witness, keys. What a folder is, is decided here, before anything is written.
//!
//! ```text
//! nothing of ours                    a new folder: it becomes a database
//! witness that is not live           a creation that was cut short: it is finished
//! witness that is live, FORMAT 2     a database: nothing is made anew, and what is missing is refused by its name
//! no witness, FORMAT 1               a database of before there were witnesses: it gets one when it is plausible
//! anything else                      refused
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::config::{Mode, StoreOptions};
use crate::crypto::hex;
use crate::error::StorageError;
use crate::keyring::{Keyring, rotation, sync_folder};
use crate::witness::{self, Testimony, WitnessFile};

const FORMAT: &str = "dogwood data format ";
const FORMAT_VERSION: u32 = 2;
/// Of before there were witnesses.
const FORMAT_FORMER: u32 = 1;

/// What a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    /// New, or half made.
    New,
    /// A database without a witness, by its format or, when it is salvaged, because it is lost.
    Unwitnessed,
    /// A database. Whether a copy of its witness is damaged, and whether its format is a former one.
    Witnessed { testimony: Testimony, damaged: bool, former: bool },
}

pub(crate) fn keyring(options: &StoreOptions) -> PathBuf {
    options.file("keyring")
}

pub(crate) fn public_key(options: &StoreOptions) -> PathBuf {
    options.file("public.key")
}

pub(crate) fn rocks(options: &StoreOptions) -> PathBuf {
    options.file("rocks")
}

pub(crate) fn witness(options: &StoreOptions) -> PathBuf {
    options.file("witness")
}

/// Locks the folder and says what it is. A new one gets what must be there before the keyring is opened.
pub(crate) fn prepare(options: &StoreOptions) -> Result<(Option<File>, FolderState), StorageError> {
    let folder = &options.path;
    if options.mode == Mode::Serve {
        // Before the lock, whose file would be the first of ours in somebody else's folder.
        refuse_foreign(options)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(StorageError::io("create data folder", folder))?;
    }
    let lock = lock(&options.file("dogwood.lock"), options.mode)?;
    let state = look(options)?;
    if options.mode == Mode::Serve {
        // A rotation that was cut short has left all keys in a second file.
        rotation::clear(&keyring(options))?;
    }
    match (state, options.mode) {
        (FolderState::New, Mode::Serve) => create(options)?,
        (FolderState::New, Mode::Check | Mode::Salvage) => {
            return Err(StorageError::NoDatabase { path: folder.clone() });
        }
        (FolderState::Unwitnessed | FolderState::Witnessed { .. }, _) => {
            for path in [keyring(options), rocks(options)] {
                if !exists(&path)? {
                    return Err(StorageError::FileMissing { path });
                }
            }
        }
    }
    Ok((lock, state))
}

fn refuse_foreign(options: &StoreOptions) -> Result<(), StorageError> {
    if exists(&options.file("FORMAT"))? || exists(&witness(options))? {
        return Ok(());
    }
    for ours in ["keyring", "public.key", "rocks"] {
        if exists(&options.file(ours))? {
            return Err(StorageError::FileMissing { path: options.file("FORMAT") });
        }
    }
    match exists(&options.file("PG_VERSION"))? {
        true => Err(StorageError::NotADatabase { path: options.path.clone() }),
        false => Ok(()),
    }
}

fn look(options: &StoreOptions) -> Result<FolderState, StorageError> {
    refuse_foreign(options)?;
    let path = witness(options);
    let found = witness::read(&path)?;
    let format = format(&options.file("FORMAT"))?;
    match (format, found) {
        (None, WitnessFile::Missing) => Ok(FolderState::New),
        (None | Some(FORMAT_VERSION), WitnessFile::Said(Testimony { live: false, .. }, _)) => Ok(FolderState::New),
        (None, WitnessFile::Said(..) | WitnessFile::Damaged) => {
            Err(StorageError::FileMissing { path: options.file("FORMAT") })
        }
        (Some(version), WitnessFile::Said(testimony, damaged)) => {
            Ok(FolderState::Witnessed { testimony, damaged, former: version == FORMAT_FORMER })
        }
        (Some(FORMAT_FORMER), WitnessFile::Missing) => Ok(FolderState::Unwitnessed),
        (Some(_), WitnessFile::Missing | WitnessFile::Damaged) if options.mode == Mode::Salvage => {
            Ok(FolderState::Unwitnessed)
        }
        (Some(_), WitnessFile::Missing) => Err(StorageError::FileMissing { path }),
        (Some(_), WitnessFile::Damaged) => Err(StorageError::FileDamaged { path, what: "neither copy holds" }),
    }
}

/// What the format file says, if it is there. Refuses what is not known.
fn format(path: &Path) -> Result<Option<u32>, StorageError> {
    let unknown = |found| StorageError::UnknownFormat { path: path.to_owned(), found, known: FORMAT_VERSION };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(unknown(None)),
        Err(error) => return Err(StorageError::io("read format file", path)(error)),
    };
    let version = text.strip_prefix(FORMAT).and_then(|version| version.strip_suffix('\n')?.parse().ok());
    match version {
        Some(FORMAT_FORMER | FORMAT_VERSION) => Ok(version),
        Some(_) | None => Err(unknown(version)),
    }
}

/// Makes the files of a new database, or those that a crash has left to be made.
fn create(options: &StoreOptions) -> Result<(), StorageError> {
    settle_names(&options.path)?;
    // First, so that whatever stands beside it is known to be half made.
    if witness::read(&witness(options))? == WitnessFile::Missing {
        witness::create(&witness(options), &Testimony::default())?;
    }
    write_format(options)?;
    let keyring = keyring(options);
    if exists(&keyring)? {
        return Ok(());
    }
    if exists(&rocks(options))? {
        return Err(StorageError::FileMissing { path: keyring });
    }
    let root = options.root_key();
    root.make()?;
    Keyring::create(&keyring, &*root)
}

/// Makes the names of a new folder, and of those that were made on the way to it, durable: else a power failure takes it with all
/// that is in it. Folders further up than its own may be others' business, and refuse.
fn settle_names(folder: &Path) -> Result<(), StorageError> {
    let folder = fs::canonicalize(folder).map_err(StorageError::io("look for", folder))?;
    for (height, above) in folder.ancestors().skip(1).enumerate() {
        match File::open(above).and_then(|above| above.sync_all()) {
            // Who may not list a folder cannot flush it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(error) if height == 0 => return Err(StorageError::io("flush folder", above)(error)),
            Err(_) | Ok(()) => {}
        }
    }
    Ok(())
}

/// Notes that the folder has the present format.
pub(crate) fn write_format(options: &StoreOptions) -> Result<(), StorageError> {
    write_whole(&options.file("FORMAT"), &format!("{FORMAT}{FORMAT_VERSION}\n"))
}

/// Locks a folder that may hold a database, for whoever is about to replace it.
pub(crate) fn lock_if_there(folder: &Path) -> Result<Option<File>, StorageError> {
    lock(&folder.join("dogwood.lock"), Mode::Check)
}

/// Locks the folder. Who writes nothing makes no lock file either: where there is none, no server is.
fn lock(path: &Path, mode: Mode) -> Result<Option<File>, StorageError> {
    let mut how = OpenOptions::new();
    match mode {
        Mode::Serve => how.write(true).create(true).truncate(false).mode(0o600),
        Mode::Check | Mode::Salvage => how.read(true),
    };
    let file = match how.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && mode != Mode::Serve => return Ok(None),
        Err(error) => return Err(StorageError::io("open lock file", path)(error)),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(StorageError::AlreadyOpen { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(StorageError::io("lock", path)(error)),
    }
}

/// Refuses a public key that stands beside the data and is not the database's: receipts would not verify against it.
/// Whether there is one.
pub(crate) fn check_public_key(options: &StoreOptions, key: &[u8; 32]) -> Result<bool, StorageError> {
    let path = public_key(options);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StorageError::io("read", &path)(error)),
    };
    if text.trim_ascii_end() == hex::encode(key).as_bytes() {
        return Ok(true);
    }
    let what = "it does not hold this database's public key";
    Err(StorageError::FileDamaged { path, what })
}

/// Writes the public key beside the data.
pub(crate) fn publish_key(options: &StoreOptions, key: &[u8; 32]) -> Result<(), StorageError> {
    write_whole(&public_key(options), &format!("{}\n", hex::encode(key)))
}

fn exists(path: &Path) -> Result<bool, StorageError> {
    path.try_exists().map_err(StorageError::io("look for", path))
}

/// Writes a small file that appears whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), StorageError> {
    let staged = path.with_extension("new");
    let write = || {
        let mut file = File::create(&staged)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&staged, path)
    };
    write().map_err(StorageError::io("write", path))?;
    sync_folder(path)
}
