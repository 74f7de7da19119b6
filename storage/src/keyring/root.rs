//! The root key's file: 64 hexadecimal digits, readable by its owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::crypto::hex;
use crate::crypto::sodium::{self, KEY_BYTES};
use crate::error::StorageError;
use crate::keyring::{refuse_exposed, sync_folder};

/// Makes the file with a random key. It appears whole or not at all. There must be none.
pub(crate) fn create(path: &Path) -> Result<(), StorageError> {
    let mut key: [u8; KEY_BYTES] = sodium::random_array();
    let mut text = hex::encode(&key).into_bytes();
    sodium::wipe(&mut key);
    text.push(b'\n');
    let staged = path.with_extension("new");
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

/// Reads the key. The holder wipes it.
pub(crate) fn read(path: &Path) -> Result<[u8; KEY_BYTES], StorageError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StorageError::RootKeyMissing { path: path.to_owned() });
        }
        Err(error) => return Err(StorageError::io("open root key", path)(error)),
    };
    let metadata = file.metadata().map_err(StorageError::io("open root key", path))?;
    refuse_exposed(path, metadata.permissions().mode())?;
    let mut text = Vec::with_capacity(2 * KEY_BYTES + 2);
    // One byte more than a good file has is enough to tell a bad one.
    let taken = file.take(2 * KEY_BYTES as u64 + 2).read_to_end(&mut text);
    taken.map_err(StorageError::io("read root key", path))?;
    let key = hex::decode::<KEY_BYTES>(text.trim_ascii_end());
    sodium::wipe(&mut text);
    key.ok_or_else(|| StorageError::RootKeyMalformed { path: path.to_owned() })
}
