//! The root key: where it comes from, and how.
//!
//! ```text
//! file          64 hexadecimal digits, readable by its owner alone
//! variable      the same digits, in the environment
//! passphrase    in such a file or in the environment ─▶ Argon2id, with salt and costs from the keyring's header
//! ```
//! Never an argument of the command: those stand in the list of processes. A key management service would be one more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::config::RootKeySource;
use crate::crypto::hex;
use crate::crypto::sodium::{self, Argon2id, KEY_BYTES};
use crate::error::StorageError;
use crate::keyring::{refuse_exposed, sync_folder};

/// A longer one is none.
const PASSPHRASE_BYTES_MAX: u64 = 4096;

/// Something that gives the root key.
pub(crate) trait RootKey {
    /// The key, by what the keyring says of how it is derived; the holder wipes it.
    fn read(&self, derivation: Option<&Argon2id>) -> Result<[u8; KEY_BYTES], StorageError>;

    /// How a keyring that is wrapped under it from now on derives it: anew each time.
    fn derivation(&self) -> Option<Argon2id> {
        None
    }

    /// Makes a key for a new keyring, if it is not there and this is where it is made.
    fn make(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Where an operator finds it.
    fn place(&self) -> PathBuf;

    /// The file of it, if it may be replaced there.
    fn file(&self) -> Option<&Path> {
        None
    }
}

impl RootKeySource {
    /// Of a data folder.
    pub(crate) fn root_key(&self, folder: &Path) -> Box<dyn RootKey> {
        match self {
            RootKeySource::DataFolder => Box::new(KeyFile(folder.join("root.key"))),
            RootKeySource::File(path) => Box::new(KeyFile(path.clone())),
            RootKeySource::Environment(name) => Box::new(KeyVariable(name.clone())),
            RootKeySource::PassphraseFile(path) => Box::new(Passphrase(Secret::File(path.clone()))),
            RootKeySource::PassphraseEnvironment(name) => Box::new(Passphrase(Secret::Variable(name.clone()))),
        }
    }
}

/// A key in a file.
struct KeyFile(PathBuf);

impl RootKey for KeyFile {
    fn read(&self, _derivation: Option<&Argon2id>) -> Result<[u8; KEY_BYTES], StorageError> {
        decoded(read_file(&self.0, 2 * KEY_BYTES as u64 + 2)?, &self.0)
    }

    fn make(&self) -> Result<(), StorageError> {
        match self.0.try_exists().map_err(StorageError::io("look for", &self.0))? {
            true => Ok(()),
            false => create(&self.0),
        }
    }

    fn place(&self) -> PathBuf {
        self.0.clone()
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.0)
    }
}

/// A key in the environment.
struct KeyVariable(String);

impl RootKey for KeyVariable {
    fn read(&self, _derivation: Option<&Argon2id>) -> Result<[u8; KEY_BYTES], StorageError> {
        decoded(read_variable(&self.0)?, &self.place())
    }

    fn place(&self) -> PathBuf {
        variable(&self.0)
    }
}

/// A passphrase.
struct Passphrase(Secret);

enum Secret {
    File(PathBuf),
    Variable(String),
}

impl RootKey for Passphrase {
    fn read(&self, derivation: Option<&Argon2id>) -> Result<[u8; KEY_BYTES], StorageError> {
        let Some(derivation) = derivation else { return Err(StorageError::WrongRootKey { path: self.place() }) };
        let mut secret = match &self.0 {
            Secret::File(path) => read_file(path, PASSPHRASE_BYTES_MAX + 1)?,
            Secret::Variable(name) => read_variable(name)?,
        };
        let unusable = |what| StorageError::RootKeyUnusable { path: self.place(), what };
        let passphrase = secret.strip_suffix(b"\n").unwrap_or(&secret);
        let key = match passphrase.len() as u64 {
            1..=PASSPHRASE_BYTES_MAX => sodium::derive(passphrase, derivation)
                .ok_or(unusable("there is not the memory to derive it from its passphrase")),
            _ => Err(unusable("the passphrase is empty, or longer than 4096 bytes")),
        };
        sodium::wipe(&mut secret);
        key
    }

    fn derivation(&self) -> Option<Argon2id> {
        Some(Argon2id::fresh())
    }

    fn place(&self) -> PathBuf {
        match &self.0 {
            Secret::File(path) => path.clone(),
            Secret::Variable(name) => variable(name),
        }
    }
}

/// A variable, as errors name it.
fn variable(name: &str) -> PathBuf {
    format!("${name}").into()
}

fn decoded(mut text: Vec<u8>, place: &Path) -> Result<[u8; KEY_BYTES], StorageError> {
    let key = hex::decode::<KEY_BYTES>(text.trim_ascii_end());
    sodium::wipe(&mut text);
    key.ok_or_else(|| StorageError::RootKeyMalformed { path: place.to_owned() })
}

fn read_variable(name: &str) -> Result<Vec<u8>, StorageError> {
    let value = std::env::var_os(name).ok_or_else(|| StorageError::RootKeyMissing { path: variable(name) })?;
    Ok(value.into_vec())
}

/// Reads a file that nobody else may read, up to so many bytes. The holder wipes them.
fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, StorageError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StorageError::RootKeyMissing { path: path.to_owned() });
        }
        Err(error) => return Err(StorageError::io("open root key", path)(error)),
    };
    let metadata = file.metadata().map_err(StorageError::io("open root key", path))?;
    refuse_exposed(path, metadata.permissions().mode())?;
    // Allocated once: what grows leaves copies.
    let mut text = Vec::with_capacity(bytes_max as usize);
    // One byte more than a good file has is enough to tell a bad one.
    file.take(bytes_max).read_to_end(&mut text).map_err(StorageError::io("read root key", path))?;
    Ok(text)
}

/// Where a new root key stands while the keyring goes over to it.
pub(crate) fn fresh(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Of a keyring that was to go over to a new root key when that was cut short: what gives the new one, if it is there.
pub(crate) fn fresh_of(root: &dyn RootKey) -> Result<Option<(Box<dyn RootKey>, PathBuf)>, StorageError> {
    let Some(path) = root.file().map(fresh) else { return Ok(None) };
    let there = path.try_exists().map_err(StorageError::io("look for", &path))?;
    Ok(there.then(|| (Box::new(KeyFile(path.clone())) as Box<dyn RootKey>, path)))
}

/// Puts a new root key in the place of the old one, which is overwritten.
pub(crate) fn replace(path: &Path) -> Result<(), StorageError> {
    let fresh = fresh(path);
    let old = OpenOptions::new().write(true).open(path).map_err(StorageError::io("open root key", path))?;
    fs::rename(&fresh, path).map_err(StorageError::io("put root key in place as", path))?;
    sync_folder(path)?;
    overwrite(&old, path)
}

/// Destroys a new root key that no keyring has gone over to.
pub(crate) fn discard(fresh: &Path) -> Result<(), StorageError> {
    let file = OpenOptions::new().write(true).open(fresh).map_err(StorageError::io("open root key", fresh))?;
    overwrite(&file, fresh)?;
    fs::remove_file(fresh).map_err(StorageError::io("remove", fresh))?;
    sync_folder(fresh)
}

fn overwrite(file: &File, path: &Path) -> Result<(), StorageError> {
    let noise: [u8; 2 * KEY_BYTES + 1] = sodium::random_array();
    let written = file.write_all_at(&noise, 0).and_then(|()| file.sync_all());
    written.map_err(StorageError::io("overwrite root key", path))
}

/// Makes the file with a random key. It appears whole or not at all. There must be none.
pub(crate) fn create(path: &Path) -> Result<(), StorageError> {
    let mut key: [u8; KEY_BYTES] = sodium::random_array();
    let written = write(path, &key);
    sodium::wipe(&mut key);
    written
}

/// Writes a key's file. It appears whole or not at all.
pub(crate) fn write(path: &Path, key: &[u8; KEY_BYTES]) -> Result<(), StorageError> {
    let mut text = hex::encode(key).into_bytes();
    text.push(b'\n');
    let staged = path.with_extension("part");
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&staged, path)
    };
    let written = write();
    sodium::wipe(&mut text);
    written.map_err(StorageError::io("create root key", path))?;
    sync_folder(path)
}
