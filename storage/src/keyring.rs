//! The keyring: one small file beside RocksDB with a wrapped data key for every data subject.
//!
//! A key written into an LSM tree survives its deletion in files that nobody may rewrite at will; a slot
//! of this file is overwritten in place. Root key ▶ key-encryption key (header) ▶ data key (slot). A data key is random,
//! never derived: one that can be derived again cannot be destroyed.
//!
//! ```text
//!  0      4 KiB   header, copy A        (keyring/header)
//!  4 KiB  4 KiB   header, copy B
//!  8 KiB  4 KiB   slots 0..64, copy A   (keyring/slot, 64 bytes each)
//! 12 KiB  4 KiB   slots 0..64, copy B
//! 16 KiB  …       slots 64..128, and so on; the file's length says how many slots were made
//! ```
//! Slots are made in bulk, flushed, and only then given out; unused ones are abandoned at the next start. A
//! slot is never used twice. Raw keys stay in locked memory (keyring/cache) and nowhere else.

pub(crate) mod cache;
pub(crate) mod header;
pub(crate) mod once;
mod permutation;
pub(crate) mod renewed;
pub(crate) mod root;
pub(crate) mod rotation;
mod slot;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use repr::MicroDbId;

use crate::crypto::sodium::{self, KEY_BYTES, SecretMemory, SigningKey};
use crate::error::StorageError;
use crate::keyring::cache::Cache;
use crate::keyring::header::{HEADER_BYTES, Header, Opened, PAGE_BYTES};
use crate::keyring::once::KeyAtHand;
use crate::keyring::permutation::Permutation;
use crate::keyring::renewed::{KeyPlaces, Renewed};
use crate::keyring::root::RootKey;
use crate::keyring::slot::{Content, SLOT_BYTES};
use crate::microdb::{self, MICRODB_BYTES};

const SLOTS_IN_PAGE: u64 = PAGE_BYTES / SLOT_BYTES as u64;
const SLOTS_MADE_AT_FIRST: u64 = 256;
const SLOTS_MADE_AT_MOST: u64 = 4096;

/// The open keyring. Shared by all threads.
pub(crate) struct Keyring {
    path: PathBuf,
    database: [u8; 16],
    secrets: SecretMemory,
    signing: SigningKey,
    permutation: Permutation,
    // Locked after the pool and after a shard of the cache, never before them.
    wrapping: RwLock<Wrapping>,
    pool: Mutex<Pool>,
    // Beside the pool, so that reading a key never waits while slots are being made.
    made: AtomicU64,
    damaged_header: bool,
    /// A key was read from its second copy.
    damage: AtomicBool,
    cache: Cache,
    renewed: Renewed,
    /// The key that something was opened with last that is not sealed anew yet.
    former: Mutex<KeyAtHand>,
}

/// What a rotation replaces: the file, its header, and the key-encryption key.
struct Wrapping {
    file: File,
    header: Header,
    key: SecretMemory,
    /// Whether the file's name is durable.
    is_named: AtomicBool,
}

/// Slots that are on disk with a key and belong to nobody yet.
struct Pool {
    next: u64,
    end: u64,
    made_next: u64,
}

/// How many slots there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    /// In the file.
    pub(crate) made: u64,
    /// In the file and not given out.
    pub(crate) free: u64,
    /// With their key in memory.
    pub(crate) cached: u64,
}

impl Keyring {
    /// Makes the keyring of a new database. The file appears whole or not at all.
    pub(crate) fn create(path: &Path, root: &dyn RootKey) -> Result<(), StorageError> {
        let derivation = root.derivation();
        let mut key = root.read(derivation.as_ref())?;
        let header = Header::create(&key, derivation);
        sodium::wipe(&mut key);
        let staged = rotation::staged(path);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&staged)
            .map_err(StorageError::io("create keyring", &staged))?;
        let page = header.page();
        let written = file.write_all_at(&page, 0).and_then(|()| file.write_all_at(&page, PAGE_BYTES));
        written.and_then(|()| file.sync_all()).map_err(StorageError::io("write keyring", &staged))?;
        std::fs::rename(&staged, path).map_err(StorageError::io("put keyring in place as", path))?;
        sync_folder(path)
    }

    /// Opens the keyring: reads its header, not its slots. `database` is whose it must be, where that is known.
    pub(crate) fn open(
        path: &Path,
        root: &dyn RootKey,
        writable: bool,
        database: Option<&[u8; 16]>,
    ) -> Result<Keyring, StorageError> {
        let file =
            OpenOptions::new().read(true).write(writable).open(path).map_err(StorageError::io("open keyring", path))?;
        let metadata = file.metadata().map_err(StorageError::io("open keyring", path))?;
        refuse_exposed(path, metadata.permissions().mode())?;
        let (header, damaged) = read_header(&file, path)?;
        if database.is_some_and(|database| *database != header.database) {
            let what = "it belongs to another database";
            return Err(StorageError::Foreign { path: path.to_owned(), what });
        }
        let mut root_key = root.read(header.derivation.as_ref())?;
        let opened = header.open(&root_key);
        sodium::wipe(&mut root_key);
        let Opened { key, secrets, signing, permutation } =
            opened.ok_or_else(|| StorageError::WrongRootKey { path: root.place() })?;
        // Whatever a crash left half made behind the last whole group was never given out.
        let made = metadata.len().saturating_sub(HEADER_BYTES).div_ceil(2 * PAGE_BYTES) * SLOTS_IN_PAGE;
        Ok(Keyring {
            path: path.to_owned(),
            database: header.database,
            secrets,
            signing,
            permutation: Permutation::new(permutation),
            wrapping: RwLock::new(Wrapping { file, header, key, is_named: AtomicBool::new(true) }),
            pool: Mutex::new(Pool { next: made, end: made, made_next: SLOTS_MADE_AT_FIRST }),
            made: AtomicU64::new(made),
            damaged_header: damaged,
            damage: AtomicBool::new(false),
            cache: Cache::default(),
            renewed: Renewed::default(),
            former: Mutex::default(),
        })
    }

    /// Whether one of the header's copies does not hold.
    pub(crate) fn has_damaged_header(&self) -> bool {
        self.damaged_header
    }

    /// The database's random id, part of every seal.
    pub(crate) fn database(&self) -> &[u8; 16] {
        &self.database
    }

    /// The key of everything that is nobody's.
    pub(crate) fn database_key(&self) -> &[u8; KEY_BYTES] {
        header::database_key(&self.secrets)
    }

    /// The key of keyed hashes.
    pub(crate) fn hash_key(&self) -> &[u8; KEY_BYTES] {
        header::hash_key(&self.secrets)
    }

    /// The key pair of receipts and log heads.
    pub(crate) fn signing(&self) -> &SigningKey {
        &self.signing
    }

    /// The number of receipts whose keys are known to be gone from this very file.
    pub(crate) fn receipts_done(&self) -> u64 {
        self.wrapping.read().header.receipts_done
    }

    /// Notes that the keys of the first `receipts` receipts are gone.
    pub(crate) fn set_receipts_done(&self, receipts: u64) -> Result<(), StorageError> {
        let mut wrapping = self.wrapping.write();
        wrapping.settle_name(&self.path)?;
        wrapping.header.receipts_done = receipts;
        wrapping.header.revision += 1;
        let page = wrapping.header.page();
        // One copy after the other: a crash tears at most one of them.
        for copy in [0, PAGE_BYTES] {
            let written = wrapping.file.write_all_at(&page, copy).and_then(|()| wrapping.file.sync_data());
            written.map_err(StorageError::io("write header of keyring", &self.path))?;
        }
        Ok(())
    }

    /// Gives out a slot whose key is already durable.
    pub(crate) fn allocate(&self) -> Result<MicroDbId, StorageError> {
        let mut pool = self.pool.lock();
        if pool.next == pool.end {
            let count = pool.made_next;
            self.make(pool.end, count)?;
            pool.end += count;
            self.made.store(pool.end, Ordering::Release);
            pool.made_next = (count * 2).min(SLOTS_MADE_AT_MOST);
        }
        let slot = pool.next;
        pool.next += 1;
        Ok(microdb::loaded(self.permutation.id(slot)))
    }

    /// Makes `count` slots from `first` on, a whole number of page groups, under one flush.
    fn make(&self, first: u64, count: u64) -> Result<(), StorageError> {
        let wrapping = self.wrapping.read();
        wrapping.settle_name(&self.path)?;
        let mut bytes = Vec::with_capacity((count / SLOTS_IN_PAGE * 2 * PAGE_BYTES) as usize);
        let mut key = [0; KEY_BYTES];
        let mut page = Vec::with_capacity(PAGE_BYTES as usize);
        for group in (first..first + count).step_by(SLOTS_IN_PAGE as usize) {
            page.clear();
            for slot in group..group + SLOTS_IN_PAGE {
                sodium::random(&mut key);
                page.extend_from_slice(&slot::live(wrapping.key(), &self.database, slot, &key));
            }
            bytes.extend_from_slice(&page);
            bytes.extend_from_slice(&page);
        }
        sodium::wipe(&mut key);
        let written = wrapping.file.write_all_at(&bytes, offset(first, 0)).and_then(|()| wrapping.file.sync_data());
        written.map_err(StorageError::io("add keys to keyring", &self.path))
    }

    /// Calls `with` on a data subject's key, which never leaves locked memory otherwise.
    pub(crate) fn with_key<T>(
        &self,
        microdb: MicroDbId,
        with: impl FnOnce(&[u8; KEY_BYTES]) -> T,
    ) -> Result<T, StorageError> {
        self.cache.with(microdb::stored(microdb), |key| self.load(microdb, key), with)
    }

    /// The same for one who needs very many keys, each once: those in memory stay.
    pub(crate) fn with_key_once<T>(
        &self,
        microdb: MicroDbId,
        at_hand: &mut KeyAtHand,
        with: impl FnOnce(&[u8; KEY_BYTES]) -> T,
    ) -> Result<T, StorageError> {
        let id = microdb::stored(microdb);
        at_hand.with(id, |key| if self.cache.copy(id, key) { Ok(()) } else { self.load(microdb, key) }, with)
    }

    /// Calls `with` on the key that a person's rows were sealed under before the present one, while it is there.
    pub(crate) fn with_former_key<T>(
        &self,
        microdb: MicroDbId,
        with: impl FnOnce(&[u8; KEY_BYTES]) -> T,
    ) -> Result<Option<T>, StorageError> {
        let Some(former) = self.renewed.former(microdb::stored(microdb)) else { return Ok(None) };
        // In the cache the place is the present one's.
        let load = |key: &mut [u8; KEY_BYTES]| self.load_slot(self.permutation.slot(former), key);
        match self.former.lock().with(former, load, with) {
            Ok(done) => Ok(Some(done)),
            Err(StorageError::KeyDestroyed) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// From now on a person's key stands elsewhere. The keys themselves stay as they are.
    pub(crate) fn place_key(&self, of: MicroDbId, places: KeyPlaces) {
        let of = microdb::stored(of);
        self.renewed.set(of, places);
        // After it: who reads the key in between is evicted, too.
        self.cache.evict(of);
    }

    /// A person's key stands in the own slot again; that of one who is gone, nowhere.
    pub(crate) fn forget_places(&self, of: MicroDbId) {
        self.renewed.remove(microdb::stored(of));
        self.cache.evict(microdb::stored(of));
    }

    /// Destroys the key that a person had before the present one.
    pub(crate) fn destroy_former(&self, of: MicroDbId) -> Result<(), StorageError> {
        let Some(former) = self.renewed.former(microdb::stored(of)) else { return Ok(()) };
        self.destroy_at(&[former])
    }

    /// Reads a key from the file.
    fn load(&self, microdb: MicroDbId, key: &mut [u8; KEY_BYTES]) -> Result<(), StorageError> {
        self.load_slot(self.slot(microdb), key)
    }

    fn load_slot(&self, slot: u64, key: &mut [u8; KEY_BYTES]) -> Result<(), StorageError> {
        if slot >= self.made() {
            return Err(StorageError::UnknownMicroDb);
        }
        let wrapping = self.wrapping.read();
        for copy in [0, 1] {
            match self.read(&wrapping, slot, copy)? {
                Content::Live(mut found) => {
                    key.copy_from_slice(&found);
                    sodium::wipe(&mut found);
                    if copy == 1 {
                        self.damage.store(true, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                // Never back: a destruction that a crash cut in half still holds.
                Content::Destroyed => return Err(StorageError::KeyDestroyed),
                Content::Damaged => {}
            }
        }
        Err(StorageError::KeyDamaged { path: self.path.clone(), offset: offset(slot, 0) })
    }

    fn read(&self, wrapping: &Wrapping, slot: u64, copy: u64) -> Result<Content, StorageError> {
        let mut bytes = [0; SLOT_BYTES];
        match wrapping.file.read_exact_at(&mut bytes, offset(slot, copy)) {
            Ok(()) => Ok(slot::parse(wrapping.key(), &self.database, slot, &bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Content::Damaged),
            Err(error) => Err(StorageError::io("read keyring", &self.path)(error)),
        }
    }

    /// The key-encryption key's number.
    pub(crate) fn epoch(&self) -> u32 {
        self.wrapping.read().header.epoch
    }

    /// The header and one good copy of every slot, page by page, as they are; with the number of slots and the epoch.
    pub(crate) fn export(&self) -> Result<(u64, u32, Vec<u8>), StorageError> {
        let wrapping = self.wrapping.read();
        let slots = self.made();
        let mut pages = wrapping.header.page();
        pages.reserve((slots / SLOTS_IN_PAGE * PAGE_BYTES) as usize);
        for slot in 0..slots {
            let mut bytes = [0; SLOT_BYTES];
            for copy in [0, 1] {
                let read = wrapping.file.read_exact_at(&mut bytes, offset(slot, copy));
                read.map_err(StorageError::io("read keyring", &self.path))?;
                match slot::parse(wrapping.key(), &self.database, slot, &bytes) {
                    Content::Live(mut key) => sodium::wipe(&mut key),
                    Content::Destroyed => {}
                    Content::Damaged => continue,
                }
                break;
            }
            pages.extend_from_slice(&bytes);
        }
        Ok((slots, wrapping.header.epoch, pages))
    }

    /// How many slots were made.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Whether a slot was made for this id.
    pub(crate) fn has_slot(&self, microdb: MicroDbId) -> bool {
        self.permutation.slot(microdb::stored(microdb)) < self.made()
    }

    /// Where this id's key stands.
    fn slot(&self, microdb: MicroDbId) -> u64 {
        self.permutation.slot(self.renewed.current(microdb::stored(microdb)))
    }

    /// Whether any copy of any key of this id is still there.
    pub(crate) fn is_live(&self, microdb: MicroDbId) -> Result<bool, StorageError> {
        for place in self.renewed.all(microdb::stored(microdb)) {
            if self.is_live_at(place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether any copy of the key in this id's own slot is still there.
    pub(crate) fn is_live_at(&self, place: [u8; MICRODB_BYTES]) -> Result<bool, StorageError> {
        let slot = self.permutation.slot(place);
        if slot >= self.made() {
            return Ok(false);
        }
        let wrapping = self.wrapping.read();
        for copy in [0, 1] {
            if matches!(self.read(&wrapping, slot, copy)?, Content::Live(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether exactly one copy of this id's key does not hold.
    pub(crate) fn has_damaged_copy(&self, microdb: MicroDbId) -> Result<bool, StorageError> {
        let slot = self.slot(microdb);
        let wrapping = self.wrapping.read();
        let mut damaged = 0;
        for copy in [0, 1] {
            damaged += u32::from(matches!(self.read(&wrapping, slot, copy)?, Content::Damaged));
        }
        Ok(slot < self.made() && damaged == 1)
    }

    /// Whether a key was read from its second copy, as the first does not hold; asked once.
    pub(crate) fn take_damage(&self) -> bool {
        self.damage.swap(false, Ordering::Relaxed)
    }

    /// Writes both copies of the header anew.
    pub(crate) fn rewrite_header(&self) -> Result<(), StorageError> {
        self.set_receipts_done(self.receipts_done())
    }

    /// Writes each copy of a slot anew that does not hold where the other does. How many.
    pub(crate) fn repair(&self) -> Result<u64, StorageError> {
        let wrapping = self.wrapping.read();
        let mut repaired = 0;
        for slot in 0..self.made() {
            for (copy, other) in [(0, 1), (1, 0)] {
                if !matches!(self.read(&wrapping, slot, copy)?, Content::Damaged) {
                    continue;
                }
                let bytes = match self.read(&wrapping, slot, other)? {
                    Content::Live(mut key) => {
                        let bytes = slot::live(wrapping.key(), &self.database, slot, &key);
                        sodium::wipe(&mut key);
                        bytes
                    }
                    Content::Destroyed => slot::destroyed(),
                    Content::Damaged => continue,
                };
                let written = wrapping.file.write_all_at(&bytes, offset(slot, copy));
                written.map_err(StorageError::io("repair a key in keyring", &self.path))?;
                repaired += 1;
            }
        }
        wrapping.file.sync_data().map_err(StorageError::io("flush keyring", &self.path))?;
        Ok(repaired)
    }

    /// Destroys keys: both copies of each slot overwritten, the cache wiped, one flush for all.
    pub(crate) fn destroy(&self, microdbs: &[MicroDbId]) -> Result<(), StorageError> {
        let all = microdbs.iter().flat_map(|microdb| self.renewed.all(microdb::stored(*microdb)));
        self.destroy_at(&all.collect::<Vec<_>>())
    }

    fn destroy_at(&self, places: &[[u8; MICRODB_BYTES]]) -> Result<(), StorageError> {
        let slots: Vec<u64> = places.iter().map(|place| self.permutation.slot(*place)).collect();
        if slots.iter().any(|slot| *slot >= self.made()) {
            return Err(StorageError::UnknownMicroDb);
        }
        self.overwrite(&slots)?;
        // After the overwriting, so that a reader who loads in between is evicted too.
        for place in places {
            self.cache.evict(*place);
            self.former.lock().forget(*place);
        }
        let wrapping = self.wrapping.read();
        wrapping.file.sync_data().map_err(StorageError::io("flush keyring", &self.path))
    }

    fn overwrite(&self, slots: &[u64]) -> Result<(), StorageError> {
        let wrapping = self.wrapping.read();
        wrapping.settle_name(&self.path)?;
        let mut slots = slots.to_vec();
        slots.sort_unstable();
        // Of many people at once whole pages go.
        for run in slots.chunk_by(|one, next| one + 1 == *next && one / SLOTS_IN_PAGE == next / SLOTS_IN_PAGE) {
            for copy in [0, 1] {
                let bytes: Vec<u8> = run.iter().flat_map(|_| slot::destroyed()).collect();
                let written = wrapping.file.write_all_at(&bytes, offset(run[0], copy));
                written.map_err(StorageError::io("overwrite a key in keyring", &self.path))?;
            }
        }
        Ok(())
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> Slots {
        let pool = self.pool.lock();
        Slots { made: pool.end, free: pool.end - pool.next, cached: self.cache.len() as u64 }
    }
}

impl Wrapping {
    fn key(&self) -> &[u8; KEY_BYTES] {
        self.key.bytes().first_chunk().expect("allocated with this size")
    }

    /// Makes the file's name durable where that has failed: what is written to a file that a power failure takes away is lost.
    fn settle_name(&self, path: &Path) -> Result<(), StorageError> {
        if !self.is_named.load(Ordering::Acquire) {
            sync_folder(path)?;
            self.is_named.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Where a copy of a slot starts.
fn offset(slot: u64, copy: u64) -> u64 {
    let group = slot / SLOTS_IN_PAGE;
    HEADER_BYTES + (group * 2 + copy) * PAGE_BYTES + slot % SLOTS_IN_PAGE * SLOT_BYTES as u64
}

/// The newest copy of the header, and whether the other does not hold.
fn read_header(file: &File, path: &Path) -> Result<(Header, bool), StorageError> {
    let (mut best, mut damaged): (Option<Header>, _) = (None, false);
    for copy in [0, PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES as usize];
        match file.read_exact_at(&mut page, copy) {
            Ok(()) => {}
            // The page stays as nothing, which carries no checksum.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => page = [0; PAGE_BYTES as usize],
            Err(error) => return Err(StorageError::io("read keyring", path)(error)),
        }
        match Header::parse(&page) {
            Some(header) if best.as_ref().is_none_or(|best| best.revision < header.revision) => best = Some(header),
            Some(_) => {}
            None => damaged = true,
        }
    }
    let what = "both copies of its header fail their checksum";
    Ok((best.ok_or_else(|| StorageError::KeyringDamaged { path: path.to_owned(), what })?, damaged))
}

/// Refuses a key file that others may read.
pub(crate) fn refuse_exposed(path: &Path, mode: u32) -> Result<(), StorageError> {
    let mode = mode & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(StorageError::KeyFileExposed { path: path.to_owned(), mode }) }
}

/// Makes a rename or a new file in the path's folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StorageError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(StorageError::io("flush folder", folder))
}

#[cfg(test)]
mod tests;
