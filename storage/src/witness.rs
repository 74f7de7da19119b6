//! The witness: a small file beside RocksDB that says whose folder this is, and up to where its writes were acknowledged.
//!
//! RocksDB replays its log up to the first record that does not hold. By itself it cannot tell a tail that a power failure
//! tore, of which nobody was told, from commits that are lost. The witness can: what is stored must lead at least as far.
//!
//! ```text
//!  0      one copy
//!  4 KiB  the other
//! copy = magic(8) ‖ version(4) ‖ live(4) ‖ revision(8) ‖ database(16) ‖ opening(16) ‖ opening before(16)
//!      ‖ sequence(8) ‖ time(8) ‖ receipts(8) ‖ slots(8) ‖ checksum(16)                        integers big-endian
//! ```
//! Written after each flush of the log, one copy after the other in turn, where blocks are allocated already: no full disk
//! can refuse it and a crash tears at most the newer copy. A write reaches the system at once, so that a killed process loses
//! nothing of it; it reaches the disk within `PACE`, on a thread of its own, so that no commit waits for a second disk write.
//! What a power failure can take from it are the last moments, and it then vouches for less than what is there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::crypto::sodium;
use crate::error::StorageError;
use crate::keyring::sync_folder;

/// Between two flushes of the file.
const PACE: Duration = Duration::from_millis(50);

const MAGIC: &[u8; 8] = b"dogwitns";
const VERSION: u32 = 1;
const PAGE_BYTES: u64 = 4096;
const CONTENT_BYTES: usize = 8 + 4 + 4 + 8 + 3 * 16 + 4 * 8;
const CHECKSUM_BYTES: usize = 16;
const COPY_BYTES: usize = CONTENT_BYTES + CHECKSUM_BYTES;

/// What the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Testimony {
    /// False while the database is being made: nothing was ever acknowledged.
    pub(crate) live: bool,
    /// The database's id.
    pub(crate) database: [u8; 16],
    /// A random id of the last opening; the store holds it, too.
    pub(crate) opening: [u8; 16],
    /// That of the opening before: a crash may have kept the last one from the store.
    pub(crate) opening_before: [u8; 16],
    /// What was acknowledged.
    pub(crate) acknowledged: Acknowledged,
}

/// Up to where writes were made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// RocksDB's sequence number: grows with everything written.
    pub(crate) sequence: u64,
    /// The commit's time.
    pub(crate) time: u64,
    /// Receipts of erasures.
    pub(crate) receipts: u64,
    /// Slots in the keyring.
    pub(crate) slots: u64,
}

/// What a folder's file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WitnessFile {
    /// There is none.
    Missing,
    /// Neither copy holds.
    Damaged,
    /// What it says, and whether a copy that was written is damaged.
    Said(Testimony, bool),
}

/// The open file.
pub(crate) struct Witness {
    path: PathBuf,
    file: Arc<File>,
    said: Mutex<Said>,
    beside: Arc<Beside>,
    thread: Option<JoinHandle<()>>,
}

struct Said {
    testimony: Testimony,
    revision: u64,
}

/// What the flushing thread and those who write share.
#[derive(Default)]
struct Beside {
    state: Mutex<WitnessState>,
    changed: Condvar,
}

#[derive(Default)]
struct WitnessState {
    dirty: bool,
    idle: bool,
    ends: bool,
    failed: Option<io::Error>,
}

/// Reads a folder's file.
pub(crate) fn read(path: &Path) -> Result<WitnessFile, StorageError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WitnessFile::Missing),
        Err(error) => return Err(StorageError::io("open witness", path)(error)),
    };
    Ok(match copies(&file, path)? {
        (Some((_, testimony)), damaged) => WitnessFile::Said(testimony, damaged),
        (None, _) => WitnessFile::Damaged,
    })
}

/// The newest copy that holds, and whether another was written and does not.
fn copies(file: &File, path: &Path) -> Result<(Option<(u64, Testimony)>, bool), StorageError> {
    let (mut best, mut damaged): (Option<(u64, Testimony)>, _) = (None, false);
    for at in [0, PAGE_BYTES] {
        let mut bytes = [0; COPY_BYTES];
        match file.read_exact_at(&mut bytes, at) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                damaged = true;
                continue;
            }
            Err(error) => return Err(StorageError::io("read witness", path)(error)),
        }
        match parse(&bytes, path)? {
            Some(copy) if best.is_none_or(|(revision, _)| revision < copy.0) => best = Some(copy),
            Some(_) => {}
            None => damaged = true,
        }
    }
    Ok((best, damaged))
}

/// A copy that carries its checksum. Refuses one of a version that is not known.
fn parse(bytes: &[u8; COPY_BYTES], path: &Path) -> Result<Option<(u64, Testimony)>, StorageError> {
    let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else { return Ok(None) };
    if sodium::hash::<CHECKSUM_BYTES>(content) != *checksum || !content.starts_with(MAGIC) {
        return Ok(None);
    }
    let mut rest = &content[MAGIC.len()..];
    let version = u32::from_be_bytes(taken(&mut rest));
    if version != VERSION {
        return Err(StorageError::UnknownFormat { path: path.to_owned(), found: Some(version), known: VERSION });
    }
    let live = u32::from_be_bytes(taken(&mut rest)) != 0;
    let revision = u64::from_be_bytes(taken(&mut rest));
    let (database, opening, opening_before) = (taken(&mut rest), taken(&mut rest), taken(&mut rest));
    let mut number = || u64::from_be_bytes(taken(&mut rest));
    let acknowledged = Acknowledged { sequence: number(), time: number(), receipts: number(), slots: number() };
    Ok(Some((revision, Testimony { live, database, opening, opening_before, acknowledged })))
}

fn taken<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, left) = rest.split_first_chunk().expect("a copy has a fixed size");
    *rest = left;
    *first
}

fn copy(testimony: &Testimony, revision: u64) -> [u8; COPY_BYTES] {
    let mut bytes = Vec::with_capacity(COPY_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&u32::from(testimony.live).to_be_bytes());
    bytes.extend_from_slice(&revision.to_be_bytes());
    bytes.extend_from_slice(&testimony.database);
    bytes.extend_from_slice(&testimony.opening);
    bytes.extend_from_slice(&testimony.opening_before);
    let Acknowledged { sequence, time, receipts, slots } = testimony.acknowledged;
    [sequence, time, receipts, slots].iter().for_each(|number| bytes.extend_from_slice(&number.to_be_bytes()));
    let checksum: [u8; CHECKSUM_BYTES] = sodium::hash(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes.try_into().expect("the parts add up to a copy")
}

/// Makes the file: both copies say the same. It appears whole or not at all.
pub(crate) fn create(path: &Path, testimony: &Testimony) -> Result<(), StorageError> {
    let staged = path.with_extension("new");
    let write = || {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        let mut page = [0; PAGE_BYTES as usize];
        for (revision, at) in [(1, 0), (2, PAGE_BYTES)] {
            page[..COPY_BYTES].copy_from_slice(&copy(testimony, revision));
            file.write_all_at(&page, at)?;
        }
        file.sync_all()?;
        std::fs::rename(&staged, path)
    };
    write().map_err(StorageError::io("write witness", path))?;
    sync_folder(path)
}

impl Witness {
    /// Opens the file, of which a copy must hold.
    pub(crate) fn open(path: &Path) -> Result<Witness, StorageError> {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = Arc::new(opened.map_err(StorageError::io("open witness", path))?);
        let what = "neither copy holds";
        let damaged = || StorageError::FileDamaged { path: path.to_owned(), what };
        let (revision, testimony) = copies(&file, path)?.0.ok_or_else(damaged)?;
        let beside = Arc::<Beside>::default();
        let (flushed, shared) = (file.clone(), beside.clone());
        let thread = std::thread::Builder::new().name("witness".into()).spawn(move || shared.run(&flushed));
        let thread = Some(thread.map_err(StorageError::io("start a thread for", path))?);
        Ok(Witness { path: path.to_owned(), file, said: Mutex::new(Said { testimony, revision }), beside, thread })
    }

    /// Says something else, for good when this returns.
    pub(crate) fn say(&self, testimony: Testimony) -> Result<(), StorageError> {
        let mut said = self.said.lock();
        said.testimony = testimony;
        // Both, so that the other copy, damaged maybe, holds too.
        for _ in 0..2 {
            self.write(&mut said)?;
            self.file.sync_data().map_err(StorageError::io("flush witness", &self.path))?;
        }
        Ok(())
    }

    /// Vouches for what was just made durable. Fails when the file could not be flushed before.
    pub(crate) fn vouch(&self, durable: Acknowledged) -> Result<(), StorageError> {
        let mut said = self.said.lock();
        let before = said.testimony.acknowledged;
        let after = Acknowledged {
            sequence: before.sequence.max(durable.sequence),
            time: before.time.max(durable.time),
            receipts: before.receipts.max(durable.receipts),
            slots: before.slots.max(durable.slots),
        };
        if !said.testimony.live || after == before {
            return Ok(());
        }
        said.testimony.acknowledged = after;
        self.write(&mut said)?;
        drop(said);
        let mut state = self.beside.state.lock();
        state.dirty = true;
        if std::mem::take(&mut state.idle) {
            self.beside.changed.notify_one();
        }
        match state.failed.take() {
            Some(error) => Err(StorageError::io("flush witness", &self.path)(error)),
            None => Ok(()),
        }
    }

    fn write(&self, said: &mut Said) -> Result<(), StorageError> {
        said.revision += 1;
        let at = if said.revision.is_multiple_of(2) { PAGE_BYTES } else { 0 };
        let written = self.file.write_all_at(&copy(&said.testimony, said.revision), at);
        written.map_err(StorageError::io("write witness", &self.path))
    }
}

impl Beside {
    /// Flushes what was written, at its pace, until it is to end.
    fn run(&self, file: &File) {
        let mut state = self.state.lock();
        loop {
            while !state.dirty && !state.ends {
                state.idle = true;
                self.changed.wait(&mut state);
            }
            if !state.dirty {
                return;
            }
            (state.dirty, state.idle) = (false, false);
            drop(state);
            let flushed = file.sync_data();
            let next = Instant::now() + PACE;
            state = self.state.lock();
            if let Err(error) = flushed {
                state.failed = Some(error);
            }
            while !state.ends && !self.changed.wait_until(&mut state, next).timed_out() {}
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.beside.state.lock().ends = true;
        self.beside.changed.notify_one();
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}
