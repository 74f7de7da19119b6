//! Files that a backup copies: held by second names in a folder of their own, so that RocksDB deletes its names when it likes.
//!
//! ```text
//! rocks/000012.sst ─┐
//!                    ├─ one file, whose bytes leave the disk when both names are gone
//! pinned/000012.sst ─┘
//! ```
//! An erasure's bytes have not left while they are pinned, so a pass waits for pins from before; not for long: then it takes the
//! names away, and the backup begins anew. No file stays open while a target is waited for.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use rocksdb::DB;
use rocksdb::checkpoint::Checkpoint;

use crate::error::StorageError;
use crate::rocks;

/// The pins of a store.
pub(crate) struct Pins {
    folder: PathBuf,
    state: Mutex<PinState>,
    /// Held while the store is not what it was nor what it will be.
    whole: Mutex<()>,
}

#[derive(Default)]
struct PinState {
    /// How many there were: the present one's number, if there is one.
    last: u64,
    is_held: bool,
}

/// A pin. Dropped, it is gone.
pub(super) struct Pin<'a> {
    pins: &'a Pins,
    number: u64,
}

impl Pins {
    /// Of a data folder.
    pub(crate) fn new(folder: PathBuf) -> Pins {
        Pins { folder, state: Mutex::default(), whole: Mutex::default() }
    }

    /// Removes what a killed server has left.
    pub(crate) fn clear(&self) -> Result<(), StorageError> {
        // RocksDB makes a checkpoint under the second name.
        for folder in [&self.folder, &self.folder.with_extension("tmp")] {
            remove(folder).map_err(StorageError::io("remove", folder))?;
        }
        Ok(())
    }

    /// Until this is dropped nothing is pinned, nor is anything being pinned.
    pub(crate) fn whole(&self) -> MutexGuard<'_, ()> {
        self.whole.lock()
    }

    /// Pins all that the store is made of now. None where that was taken away at once.
    pub(super) fn pin(&self, db: &DB) -> Result<Option<Pin<'_>>, StorageError> {
        let number = {
            let mut state = self.state.lock();
            assert!(!state.is_held, "one backup at a time");
            state.last += 1;
            state.is_held = true;
            state.last
        };
        let pin = Pin { pins: self, number };
        self.clear()?;
        let _whole = self.whole.lock();
        // Write buffers go to files first: what the log has then is little.
        let checkpoint = Checkpoint::new(db).and_then(|checkpoint| checkpoint.create_checkpoint(&self.folder));
        match checkpoint {
            Ok(()) if !pin.is_gone() => Ok(Some(pin)),
            // It came into its place behind whoever took it away.
            Ok(()) => self.clear().map(|()| None),
            Err(_) if pin.is_gone() => Ok(None),
            Err(error) => Err(rocks::failed("pin files for a backup")(error)),
        }
    }

    /// The number that the next pin will have.
    pub(crate) fn next(&self) -> u64 {
        self.state.lock().last + 1
    }

    /// Whether a pin from before the one of this number is held.
    pub(crate) fn holds_before(&self, number: u64) -> bool {
        let state = self.state.lock();
        state.is_held && state.last < number
    }

    /// Takes the present pin away from who holds it.
    pub(crate) fn take_away(&self) -> Result<(), StorageError> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_held) { self.clear() } else { Ok(()) }
    }
}

/// Removes a folder, if it is there. A checkpoint that comes into its place meanwhile, whole, goes with it.
fn remove(folder: &Path) -> io::Result<()> {
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            // Something in it was removed by others.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

impl Pin<'_> {
    /// Where the files are.
    pub(super) fn folder(&self) -> &Path {
        &self.pins.folder
    }

    /// Whether it was taken away.
    pub(super) fn is_gone(&self) -> bool {
        let state = self.pins.state.lock();
        !state.is_held || state.last != self.number
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next backup or start.
        if !self.is_gone() {
            let _left = self.pins.take_away();
        }
    }
}
