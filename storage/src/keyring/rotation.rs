//! Rotation: the living keys under a fresh key-encryption key, in a new file; the old one with its file destroyed.
//!
//! Overwriting in place is no guarantee on flash and on file systems that copy on write: old blocks of slots may survive. After a
//! rotation they open with nothing that exists, provided the old header's blocks, the only thing left to lose, are gone too.
//!
//! ```text
//! keyring.new ◀─ written whole, flushed
//! keyring.old ◀─ a second name of the old file
//! keyring     ◀─ keyring.new: from here on the new one counts
//! keyring.old ─▶ overwritten, flushed, removed
//! ```
//! Wherever a crash comes, `keyring` is one of the two, whole. `clear` then destroys the other before anything is written: it
//! holds the key of everybody who was alive.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;

use crate::crypto::sodium::{self, Argon2id, KEY_BYTES, SecretMemory};
use crate::error::StorageError;
use crate::keyring::header::{HEADER_BYTES, Header, PAGE_BYTES};
use crate::keyring::root::RootKey;
use crate::keyring::slot::{self, Content, SLOT_BYTES};
use crate::keyring::{Keyring, SLOTS_IN_PAGE, Wrapping, offset, sync_folder};

/// Groups of slots that are read and written at once.
const GROUPS_AT_ONCE: u64 = 64;
const GROUP_BYTES: usize = 2 * PAGE_BYTES as usize;
/// Parts of the new file that are flushed while others are written.
const PARTS_TO_FLUSH: usize = 32;
const NOISE_BYTES: usize = 1 << 20;

/// How much of the old file is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Its header, with the key-encryption key: the rest opens with nothing.
    Rotate,
    /// All of it.
    Shred,
}

/// Where a new keyring is written.
pub(super) fn staged(path: &Path) -> PathBuf {
    path.with_extension("new")
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("old")
}

/// Destroys what a rotation that was cut short has left beside a keyring. How many files.
pub(crate) fn clear(path: &Path) -> Result<u64, StorageError> {
    let inode = |path: &Path| match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::io("look at", path)(error)),
    };
    // Where the keyring is lost nothing is destroyed that could be one.
    let Some(present) = inode(path)? else { return Ok(0) };
    let mut left = Vec::new();
    // The old one first: while it is the keyring itself the new one is not in place.
    for beside in [old(path), staged(path)] {
        if let Some(found) = inode(&beside)? {
            left.push((beside, found));
        }
    }
    if left.is_empty() {
        return Ok(0);
    }
    // A name that is not durable may be another's after a power failure: of the one that is destroyed here.
    sync_folder(path)?;
    for (beside, found) in &left {
        // Else it is only one more name.
        if *found != present {
            let opened = OpenOptions::new().write(true).open(beside);
            overwrite(&opened.map_err(StorageError::io("open", beside))?, Rotation::Shred, beside)?;
        }
        std::fs::remove_file(beside).map_err(StorageError::io("remove", beside))?;
    }
    sync_folder(path)?;
    Ok(left.len() as u64)
}

/// Overwrites a keyring that is to be removed, if it is there.
pub(crate) fn shred(path: &Path) -> Result<(), StorageError> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => overwrite(&file, Rotation::Shred, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StorageError::io("open", path)(error)),
    }
}

fn overwrite(file: &File, rotation: Rotation, path: &Path) -> Result<(), StorageError> {
    let failed = || StorageError::io("overwrite", path);
    let length = match rotation {
        Rotation::Rotate => HEADER_BYTES,
        Rotation::Shred => file.metadata().map_err(failed())?.len(),
    };
    let mut noise = vec![0; NOISE_BYTES];
    for at in (0..length).step_by(NOISE_BYTES) {
        let part = &mut noise[..(length - at).min(NOISE_BYTES as u64) as usize];
        sodium::random(part);
        file.write_all_at(part, at).map_err(failed())?;
    }
    file.sync_data().map_err(failed())
}

fn read_up_to_end(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], at + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(())
}

/// Flushes a file by parts while they are written, so that little is left to flush at the end. What a flush that failed was for may be
/// lost, whatever the next one says.
fn flush_meanwhile(file: &File, written: &Receiver<()>) -> io::Result<()> {
    let mut parts = 0;
    while written.recv().is_ok() {
        parts += 1 + written.try_iter().count();
        if parts >= PARTS_TO_FLUSH {
            file.sync_data()?;
            parts = 0;
        }
    }
    Ok(())
}

impl Keyring {
    /// Rewrites the living keys under a fresh key-encryption key, which is wrapped under the root key `to`, and destroys the old
    /// one. No key is read or made meanwhile. `from` is the present root key.
    pub(crate) fn rotate(&self, from: &dyn RootKey, to: &dyn RootKey, rotation: Rotation) -> Result<(), StorageError> {
        // Before anybody waits: deriving takes long.
        let present = self.wrapping.read().header.derivation;
        let mut old_root = from.read(present.as_ref())?;
        let derivation = to.derivation();
        let new_root = to.read(derivation.as_ref());
        let rotated = new_root.and_then(|mut new_root| {
            let rotated = self.rotate_under(&old_root, (&new_root, derivation), rotation);
            sodium::wipe(&mut new_root);
            rotated.map_err(|error| error.unwrap_or_else(|| StorageError::WrongRootKey { path: from.place() }))
        });
        sodium::wipe(&mut old_root);
        rotated
    }

    /// Whether a root key opens it.
    pub(crate) fn is_under(&self, root: &dyn RootKey) -> Result<bool, StorageError> {
        let wrapping = self.wrapping.read();
        let mut key = root.read(wrapping.header.derivation.as_ref())?;
        let opens = wrapping.header.opens_with(&key);
        sodium::wipe(&mut key);
        Ok(opens)
    }

    /// No error is that of a root key that does not open this keyring.
    fn rotate_under(
        &self,
        from: &[u8; KEY_BYTES],
        to: (&[u8; KEY_BYTES], Option<Argon2id>),
        rotation: Rotation,
    ) -> Result<(), Option<StorageError>> {
        let pool = self.pool.lock();
        let mut wrapping = self.wrapping.write();
        let (header, key) = wrapping.header.rotated(from, to).ok_or(None)?;
        self.replace(&mut wrapping, header, key, pool.end, rotation).map_err(Some)
    }

    fn replace(
        &self,
        wrapping: &mut Wrapping,
        header: Header,
        key: SecretMemory,
        slots: u64,
        rotation: Rotation,
    ) -> Result<(), StorageError> {
        clear(&self.path)?;
        let staged = staged(&self.path);
        let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&staged);
        let file = made.map_err(StorageError::io("create keyring", &staged))?;
        let renewed = Wrapping { file, header, key, is_named: AtomicBool::new(false) };
        if let Err(error) = self.write_rotated(wrapping, &renewed, slots, &staged) {
            // What was written so far must not outlive the attempt; if it cannot go now, the next start sees to it.
            let _left = clear(&self.path);
            return Err(error);
        }
        let old = old(&self.path);
        if let Err(error) = self.put_in_place(&staged, &old) {
            let _left = clear(&self.path);
            return Err(error);
        }
        // The new one counts, whatever fails now: keys that are made or destroyed are so in it, once its name is durable.
        let before = std::mem::replace(wrapping, renewed);
        wrapping.settle_name(&self.path)?;
        overwrite(&before.file, rotation, &old)?;
        std::fs::remove_file(&old).map_err(StorageError::io("remove", &old))?;
        sync_folder(&self.path)
    }

    fn put_in_place(&self, staged: &Path, old: &Path) -> Result<(), StorageError> {
        std::fs::hard_link(&self.path, old).map_err(StorageError::io("name the old keyring", old))?;
        std::fs::rename(staged, &self.path).map_err(StorageError::io("put keyring in place as", &self.path))
    }

    fn write_rotated(&self, from: &Wrapping, to: &Wrapping, slots: u64, path: &Path) -> Result<(), StorageError> {
        let failed = || StorageError::io("write keyring", path);
        let page = to.header.page();
        for copy in [0, PAGE_BYTES] {
            to.file.write_all_at(&page, copy).map_err(failed())?;
        }
        let parts = (0..slots).step_by((GROUPS_AT_ONCE * SLOTS_IN_PAGE) as usize);
        let (next, threads) = (Mutex::new(parts), std::thread::available_parallelism().map_or(1, usize::from));
        let (written, to_flush) = channel();
        let work = &|written: Sender<()>| {
            loop {
                let Some(first) = next.lock().next() else { return Ok(()) };
                self.rewrap_part(from, to, first, slots, path)?;
                let _failed_flush_is_told_below = written.send(());
            }
        };
        let (worked, flushed): (Vec<_>, _) = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads).map(|_| written.clone()).map(|written| scope.spawn(move || work(written))).collect();
            drop(written);
            let flushed = flush_meanwhile(&to.file, &to_flush);
            let joined = threads.into_iter().map(|thread| thread.join().expect("rewrapping keys does not panic"));
            (joined.collect(), flushed)
        });
        worked.into_iter().collect::<Result<(), StorageError>>()?;
        flushed.map_err(failed())?;
        to.file.sync_all().map_err(failed())
    }

    /// Some groups from the slot `first` on.
    fn rewrap_part(
        &self,
        from: &Wrapping,
        to: &Wrapping,
        first: u64,
        slots: u64,
        path: &Path,
    ) -> Result<(), StorageError> {
        let groups = ((slots - first) / SLOTS_IN_PAGE).min(GROUPS_AT_ONCE) as usize;
        let mut bytes = vec![0; groups * GROUP_BYTES];
        // What a crash has cut off behind the last slots stays as nothing.
        read_up_to_end(&from.file, &mut bytes, offset(first, 0))
            .map_err(StorageError::io("read keyring", &self.path))?;
        for (group, slot) in bytes.chunks_mut(GROUP_BYTES).zip((first..).step_by(SLOTS_IN_PAGE as usize)) {
            self.rewrap_group(from, to, slot, group)?;
        }
        to.file.write_all_at(&bytes, offset(first, 0)).map_err(StorageError::io("write keyring", path))
    }

    /// A group of slots from `first` on: both copies of each, in place.
    fn rewrap_group(&self, from: &Wrapping, to: &Wrapping, first: u64, group: &mut [u8]) -> Result<(), StorageError> {
        let (one, other) = group.split_at_mut(PAGE_BYTES as usize);
        let (one, []) = one.as_chunks_mut::<SLOT_BYTES>() else { unreachable!("a page is full of slots") };
        let (other, []) = other.as_chunks_mut::<SLOT_BYTES>() else { unreachable!("a page is full of slots") };
        for ((one, other), slot) in one.iter_mut().zip(other).zip(first..) {
            let parse = |copy: &[u8; SLOT_BYTES]| slot::parse(from.key(), &self.database, slot, copy);
            let (content, copy) = match parse(one) {
                Content::Damaged => (parse(other), &*other),
                content => (content, &*one),
            };
            let renewed = match content {
                Content::Live(mut key) => {
                    let bytes = slot::rewrapped(to.key(), &self.database, slot, (&key, copy));
                    sodium::wipe(&mut key);
                    bytes
                }
                Content::Destroyed => slot::destroyed(),
                // It was never made whole, and so never given out.
                Content::Damaged if [&*one, &*other] == [&[0; SLOT_BYTES]; 2] => slot::destroyed(),
                Content::Damaged => {
                    return Err(StorageError::KeyDamaged { path: self.path.clone(), offset: offset(slot, 0) });
                }
            };
            (*one, *other) = (renewed, renewed);
        }
        Ok(())
    }
}
