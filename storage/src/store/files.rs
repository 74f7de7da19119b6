//! The data folder's own files: format, lock, keys. Made once, in an order that a crash may cut anywhere.
//!
//! FORMAT comes first. A folder with FORMAT and no `rocks` is a creation that was cut short and is finished; one with `rocks` and
//! without a keyring or root key has lost them, and nothing is made anew over it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::config::StoreOptions;
use crate::crypto::{hex, sodium};
use crate::error::StorageError;
use crate::keyring::{Keyring, root, sync_folder};

const FORMAT: &str = "dogwood data format ";
const FORMAT_VERSION: u32 = 1;

pub(super) fn keyring(options: &StoreOptions) -> PathBuf {
    options.file("keyring")
}

pub(super) fn rocks(options: &StoreOptions) -> PathBuf {
    options.file("rocks")
}

/// Locks the folder and checks or makes what must be there before the keyring is opened.
pub(super) fn prepare(options: &StoreOptions) -> Result<File, StorageError> {
    let folder = &options.path;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(StorageError::io("create data folder", folder))?;
    let lock = lock(&options.file("dogwood.lock"))?;
    let format = options.file("FORMAT");
    match fs::read_to_string(&format) {
        Ok(text) => check_format(&format, &text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            for foreign in ["rocks", "keyring", "PG_VERSION"] {
                if exists(&options.file(foreign))? {
                    return Err(StorageError::NotADatabase { path: folder.clone() });
                }
            }
            write_whole(&format, &format!("{FORMAT}{FORMAT_VERSION}\n"))?;
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => check_format(&format, "")?,
        Err(error) => return Err(StorageError::io("read format file", &format)(error)),
    }
    let keyring = keyring(options);
    let root_path = options.root_key_path();
    if exists(&keyring)? {
        return Ok(lock);
    }
    if exists(&rocks(options))? {
        let what = "the file is missing";
        return Err(StorageError::KeyringDamaged { path: keyring, what });
    }
    if !exists(&root_path)? {
        root::create(&root_path)?;
    }
    let mut root = root::read(&root_path)?;
    let created = Keyring::create(&keyring, &root);
    sodium::wipe(&mut root);
    created?;
    Ok(lock)
}

fn lock(path: &Path) -> Result<File, StorageError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(StorageError::io("open lock file", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StorageError::AlreadyOpen { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(StorageError::io("lock", path)(error)),
    }
}

fn check_format(path: &Path, text: &str) -> Result<(), StorageError> {
    let found = text.strip_prefix(FORMAT).and_then(|version| version.trim_end().parse().ok());
    if found == Some(FORMAT_VERSION) {
        return Ok(());
    }
    Err(StorageError::UnknownFormat { path: path.to_owned(), found, known: FORMAT_VERSION })
}

/// Writes the public key beside the data where it is not there yet. What stands there is the operator's and not touched.
pub(super) fn publish_key(options: &StoreOptions, key: &[u8; 32]) -> Result<(), StorageError> {
    let path = options.file("public.key");
    if exists(&path)? {
        return Ok(());
    }
    write_whole(&path, &format!("{}\n", hex::encode(key)))
}

fn exists(path: &Path) -> Result<bool, StorageError> {
    path.try_exists().map_err(StorageError::io("look for", path))
}

/// Writes a small file that appears whole or not at all.
fn write_whole(path: &Path, text: &str) -> Result<(), StorageError> {
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
