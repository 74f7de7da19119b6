//! Opening a folder: what it leads to is read first, and compared with what was acknowledged, before anything is written.
//!
//! ```text
//! files: lock, format, witness ─▶ keyring, root and public key ─▶ the store read only ─▶ judged ─▶ the store ─▶ roll forward
//!                                                                    nothing is written before here ▲
//! ```
//! Each opening writes a random id into the store and into the witness, so that a store of another time or place does not
//! pass for this one though it leads further.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rocksdb::Cache;

use super::{COMMIT_TIME, Inner, OPENING, Store, files};
use crate::audit::log::Log;
use crate::background_merge::BackgroundMerge;
use crate::backup::Backups;
use crate::batch::Batch;
use crate::config::{Cipher, Mode, StoreOptions};
use crate::crypto::sodium;
use crate::erasure::Erasures;
use crate::error::{Sealed, StorageError};
use crate::free_space::FreeSpace;
use crate::hash_memory::HashMemory;
use crate::keyring::Keyring;
use crate::keyring::root::{self, RootKey};
use crate::location_cache::LocationCache;
use crate::log_reader;
use crate::log_room::LogRoom;
use crate::loss_report::{Loss, LostRows};
use crate::no_room::NoRoom;
use crate::read_cache::ReadCache;
use crate::rocks::{self, Access};
use crate::segments::Segments;
use crate::side_files::SideFolder;
use crate::store::renewal::Renewals;
use crate::subjects::Subjects;
use crate::witness::{self, Acknowledged, Testimony, Witness};
use crate::write_form::WriteForm;
use files::FolderState;

impl Store {
    /// Opens a data folder, or creates an empty database in it if it is new and to be served.
    ///
    /// Refuses by name, and before it writes anything: a folder in use, not ours, or of an unknown format; a wrong, missing or
    /// exposed root key; a damaged, short or foreign keyring or public key; a missing file; a store that leads to less than
    /// was acknowledged, or is another's. A served one destroys the key of every receipt whose key still exists.
    pub fn open(options: &StoreOptions) -> Result<Store, StorageError> {
        sodium::initialize();
        sodium::forbid_core_dumps();
        if options.cipher == Cipher::Aes256Gcm && !sodium::gcm_available() {
            return Err(StorageError::CipherUnavailable);
        }
        let (lock, state) = files::prepare(options)?;
        let lock = lock.map(Arc::new);
        let found = match (state, options.mode) {
            (FolderState::New, _) => return Store::create(options, lock),
            (FolderState::Unwitnessed | FolderState::Witnessed { .. }, Mode::Salvage) => {
                let store = Store::assemble(options, lock, state, Access::Salvage)?;
                for outcome in [store.judge(state).map(|_| ()), store.check_finished()] {
                    outcome.err().into_iter().for_each(|error| store.notice(error.to_string()));
                }
                return Ok(store);
            }
            (FolderState::Unwitnessed | FolderState::Witnessed { .. }, Mode::Check | Mode::Serve) => {
                rocks::check_files(&files::rocks(options))?;
                let soon =
                    (options.mode == Mode::Serve).then(|| Store::judge_soon(options, lock.as_ref(), state)).flatten();
                match soon {
                    Some(found) => found,
                    None => {
                        let reading = Store::assemble(options, lock.clone(), state, Access::Read)?;
                        let found = reading.judge(state)?;
                        if options.mode == Mode::Check {
                            reading.check_finished()?;
                            return Ok(reading);
                        }
                        found
                    }
                }
            }
        };
        let started = std::time::Instant::now();
        let store = Store::assemble(options, lock, state, Access::Write)?;
        store.inner.backups.pins.clear()?;
        store.finish_ingest()?;
        store.announce(state, found.opening)?;
        store.roll_forward()?;
        store.read_owed()?;
        store.tell_opened(state, started.elapsed());
        Ok(store)
    }

    /// Opens what a restore has put together. Nothing vouches for it yet.
    pub(crate) fn restoring(options: &StoreOptions) -> Result<Store, StorageError> {
        let store = Store::assemble(options, None, FolderState::Unwitnessed, Access::Write)?;
        store.read_owed()?;
        Ok(store)
    }

    /// Vouches for what was restored: all that there is.
    pub(crate) fn witness_restored(&self) -> Result<(), StorageError> {
        self.flush()?;
        let opening = self.snapshot().meta(OPENING)?.and_then(|opening| opening.try_into().ok()).unwrap_or_default();
        let testimony = Testimony {
            live: true,
            database: self.database_id(),
            opening,
            opening_before: opening,
            acknowledged: self.position(),
        };
        witness::create(&files::witness(&self.inner.options), &testimony)
    }

    /// What a store that is whole says of itself, by as little of it as tells. None where something speaks against it, or may: what
    /// that is, all of it tells.
    fn judge_soon(options: &StoreOptions, lock: Option<&Arc<File>>, state: FolderState) -> Option<Judged> {
        match state {
            FolderState::New | FolderState::Unwitnessed => None,
            FolderState::Witnessed { .. } => {
                let reading = Store::assemble(options, lock.cloned(), state, Access::Judge).ok()?;
                let found = reading.judge(state).ok()?;
                // The other families' files are there and whole, as far as a start sees.
                rocks::open(&files::rocks(options), &reading.inner.cache, Access::Files).ok()?;
                Some(found)
            }
        }
    }

    /// Says what was found, and whether the server that wrote it had stopped in order.
    fn tell_opened(&self, state: FolderState, took: std::time::Duration) {
        let acknowledged = acknowledged_time(state);
        let Acknowledged { time, receipts, slots, .. } = self.position();
        let took_ms = took.as_secs_f64() * 1e3;
        tracing::info!(
            target: "dogwood::storage",
            commit = time,
            // Written when the last server stopped without a word, and not told to anybody: they stand.
            beyond_acknowledged = time.saturating_sub(acknowledged),
            receipts,
            data_keys_made = slots,
            took_ms,
            "the folder is open"
        );
    }

    /// Makes an empty database, or what a crash has left of making one.
    fn create(options: &StoreOptions, lock: Option<Arc<File>>) -> Result<Store, StorageError> {
        let store = Store::assemble(options, lock, FolderState::New, Access::Create)?;
        let keyring = &store.inner.keyring;
        if keyring.made() > 0 || keyring.receipts_done() > 0 {
            let what = "it says that the database is new, and there are people in it";
            return Err(StorageError::FileDamaged { path: files::witness(options), what });
        }
        crate::keyring::sync_folder(&files::rocks(options))?;
        store.announce(FolderState::New, None)?;
        tracing::info!(target: "dogwood::storage", "the folder is new: an empty database is made in it");
        Ok(store)
    }

    /// Opens what the folder holds; nothing is compared yet.
    pub(super) fn assemble(
        options: &StoreOptions,
        lock: Option<Arc<File>>,
        state: FolderState,
        access: Access,
    ) -> Result<Store, StorageError> {
        let writable = matches!(access, Access::Create | Access::Write);
        let (keyring, published) = open_keyring(options, &state, access)?;
        let cache = Cache::new_lru_cache(options.block_cache_bytes);
        let folder = files::rocks(options);
        let db = rocks::open(&folder, &cache, access)?;
        let form = WriteForm::of(&db);
        let log = Log::empty(keyring.database(), keyring.signing());
        // While a database is being made its witness says nothing.
        let witness = match state {
            FolderState::New | FolderState::Witnessed { .. } if writable => {
                Some(Witness::open(&files::witness(options))?)
            }
            _ => None,
        };
        let inner = Inner {
            db,
            form,
            room: LogRoom::new(&folder, rocks::WAL_BYTES_MAX),
            cache,
            keyring,
            rekeying: Mutex::default(),
            renewals: Renewals::default(),
            cipher: options.cipher,
            options: options.clone(),
            log: Mutex::new(log),
            hints: LocationCache::default(),
            subjects: Subjects::default(),
            segments: Segments::default(),
            reads: ReadCache::new(options.block_cache_bytes / 4),
            hashes: HashMemory::new(),
            pseudonyms: HashMemory::new(),
            settling: Mutex::new(BackgroundMerge::new()),
            erasures: Erasures::default(),
            backups: Backups::new(options.file("pinned")),
            side_folder: SideFolder::new(options.file("ingest")),
            writable,
            witness: Mutex::new(witness),
            space: FreeSpace::new(&folder, options.keep_free_bytes),
            append_failed: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            no_room: NoRoom::default(),
            unreadable: AtomicU64::new(0),
            notices: Mutex::default(),
            time: AtomicU64::new(0),
            receipts: AtomicU64::new(0),
            _lock: lock,
        };
        let store = Store { inner: Arc::new(inner) };
        store.read_position()?;
        store.notice_damaged_copies(&state);
        if !published && !matches!(state, FolderState::New) {
            store.notice_unpublished();
        }
        Ok(store)
    }

    /// Says which files have one good copy left.
    fn notice_damaged_copies(&self, state: &FolderState) {
        if self.inner.keyring.has_damaged_header() {
            let path = files::keyring(&self.inner.options);
            self.notice(format!("a copy of the header of \"{}\" is damaged, the other is used", path.display()));
        }
        if let FolderState::Witnessed { damaged: true, .. } = state {
            let path = files::witness(&self.inner.options);
            self.notice(format!("a copy of \"{}\" is damaged, the other is used", path.display()));
        }
    }

    /// Says that the public key was missing beside the data: who verifies receipts looks for it there.
    fn notice_unpublished(&self) {
        let path = files::public_key(&self.inner.options);
        let told = match self.inner.writable {
            true => "was missing, and is written anew from the keyring",
            false => "is missing, \"dogwood check --repair\" writes it anew from the keyring",
        };
        self.notice(format!("\"{}\" {told}", path.display()));
    }

    /// Reads where the store stands; refuses one whose seals are not this database's.
    fn read_position(&self) -> Result<(), StorageError> {
        let inner = &self.inner;
        let foreign = |error| match error {
            StorageError::SealBroken { sealed: Sealed::Meta } => {
                let what = "what it holds is not sealed by this database";
                StorageError::Foreign { path: files::rocks(&inner.options), what }
            }
            error => error,
        };
        let time = self.snapshot().meta(COMMIT_TIME).map_err(foreign)?;
        inner.time.store(time.and_then(|time| time.try_into().ok()).map_or(0, u64::from_be_bytes), Ordering::Relaxed);
        let log = match Log::open(&inner.db, inner.keyring.database(), inner.keyring.signing()) {
            Err(_) if inner.options.mode == Mode::Salvage => return Ok(()),
            opened => opened?,
        };
        inner.receipts.store(log.receipts, Ordering::Relaxed);
        *inner.log.lock() = log;
        self.read_renewals()
    }

    /// Whether what is stored leads as far as was acknowledged, and is of this folder's own history.
    pub(super) fn judge(&self, state: FolderState) -> Result<Judged, StorageError> {
        let inner = &self.inner;
        let opening = self.snapshot().meta(OPENING)?.and_then(|opening| opening.try_into().ok());
        let found = self.position();
        let mut acknowledged = match state {
            FolderState::New | FolderState::Unwitnessed => Acknowledged::default(),
            FolderState::Witnessed { testimony, .. } => testimony.acknowledged,
        };
        // The keyring has destroyed keys by so many receipts.
        acknowledged.receipts = acknowledged.receipts.max(inner.keyring.receipts_done());
        let less = found.sequence < acknowledged.sequence
            || found.time < acknowledged.time
            || found.receipts < acknowledged.receipts;
        if less {
            return Err(StorageError::CommitsLost(Box::new(self.loss(found, acknowledged)?)));
        }
        match state {
            FolderState::New => {}
            FolderState::Witnessed { testimony, .. } => {
                if opening != Some(testimony.opening) && opening != Some(testimony.opening_before) {
                    let what = "it was written at another time or place than the witness";
                    return Err(StorageError::Foreign { path: files::rocks(&inner.options), what });
                }
            }
            FolderState::Unwitnessed => self.check_plausible(found)?,
        }
        Ok(Judged { opening })
    }

    /// What speaks against a folder of which no witness tells: keys of people and no commit or a record of the log that
    /// does not hold in front of some that do, or a person without a slot.
    fn check_plausible(&self, found: Acknowledged) -> Result<(), StorageError> {
        let inner = &self.inner;
        let path = files::rocks(&inner.options);
        if found.time == 0 && inner.keyring.made() > 0 {
            let what = "the keyring has keys of people, and no commit is found";
            return Err(StorageError::FileDamaged { path, what });
        }
        if log_reader::examine(&path, &inner.form, found.sequence)?.goes_on {
            return Err(StorageError::CommitsLost(Box::new(self.loss(found, found)?)));
        }
        for subject in self.snapshot().scan_microdbs() {
            let (microdb, ..) = subject?;
            if !inner.keyring.has_slot(microdb) {
                let what = "it is shorter than it was, keys of data subjects are missing";
                return Err(StorageError::KeyringDamaged { path: files::keyring(&inner.options), what });
            }
        }
        Ok(())
    }

    fn loss(&self, found: Acknowledged, acknowledged: Acknowledged) -> Result<Loss, StorageError> {
        let path = files::rocks(&self.inner.options);
        let log = log_reader::examine(&path, &self.inner.form, found.sequence)?;
        let rows = log.rows.into_iter();
        Ok(Loss {
            path,
            acknowledged_time: acknowledged.time,
            found_time: found.time,
            acknowledged_write: acknowledged.sequence,
            found_write: found.sequence,
            acknowledged_receipts: acknowledged.receipts,
            found_receipts: found.receipts,
            damaged_log: log.damage,
            behind_commits: log.commits,
            behind_receipts: log.receipts,
            behind_rows: rows
                .map(|(relation, (put, deleted))| LostRows { relation, name: None, put, deleted })
                .collect(),
        })
    }

    /// Where the store stands.
    pub(super) fn position(&self) -> Acknowledged {
        let inner = &self.inner;
        // The last of what was written by whoever noted the others before.
        let (time, receipts) = (inner.time.load(Ordering::Acquire), inner.receipts.load(Ordering::Acquire));
        Acknowledged { sequence: inner.db.latest_sequence_number(), time, receipts, slots: inner.keyring.made() }
    }

    /// Gives this opening an id, in the witness first: whichever of them a crash leaves is one of the two it names.
    fn announce(&self, state: FolderState, stored: Option<[u8; 16]>) -> Result<(), StorageError> {
        let inner = &self.inner;
        let (opening, database) = (sodium::random_array(), *inner.keyring.database());
        let mut testimony = Testimony {
            live: true,
            database,
            opening,
            opening_before: stored.unwrap_or_default(),
            acknowledged: Acknowledged::default(),
        };
        if let FolderState::Witnessed { testimony: before, .. } = state {
            testimony.acknowledged = before.acknowledged;
            self.with_witness(|witness| witness.say(testimony))?;
        }
        let mut batch = Batch::default();
        batch.put_meta(self, OPENING, &opening);
        self.write(batch)?;
        self.flush()?;
        testimony.acknowledged = self.position();
        match state {
            FolderState::New => self.with_witness(|witness| witness.say(testimony))?,
            FolderState::Unwitnessed => {
                let path = files::witness(&inner.options);
                witness::create(&path, &testimony)?;
                *inner.witness.lock() = Some(Witness::open(&path)?);
                files::write_format(&inner.options)?;
            }
            FolderState::Witnessed { former: true, .. } => files::write_format(&inner.options)?,
            FolderState::Witnessed { former: false, .. } => {}
        }
        Ok(())
    }

    fn with_witness(&self, say: impl FnOnce(&Witness) -> Result<(), StorageError>) -> Result<(), StorageError> {
        self.inner.witness.lock().as_ref().map_or(Ok(()), say)
    }

    /// Destroys the keys of receipts that were written while a crash, or a restored keyring, kept their keys.
    fn roll_forward(&self) -> Result<(), StorageError> {
        let keyring = &self.inner.keyring;
        let mut done = keyring.receipts_done();
        let before = done;
        let mut doomed = Vec::new();
        for receipt in self.snapshot().receipts(done + 1..=u64::MAX, false) {
            let receipt = receipt?;
            if let Some(microdb) = receipt.microdb
                && keyring.is_live(microdb)?
            {
                doomed.push(microdb);
            }
            done = receipt.number;
        }
        if !doomed.is_empty() {
            // The receipts themselves must not be lost after the keys are.
            self.flush()?;
            keyring.destroy(&doomed)?;
            let keys = doomed.len();
            tracing::info!(
                target: "dogwood::erasures",
                keys,
                "data keys of receipts from before the last stop are destroyed only now"
            );
        }
        if done == before { Ok(()) } else { keyring.set_receipts_done(done) }
    }
}

/// The last commit that somebody was told of, as far as the witness knows.
fn acknowledged_time(state: FolderState) -> u64 {
    match state {
        FolderState::New | FolderState::Unwitnessed => 0,
        FolderState::Witnessed { testimony, .. } => testimony.acknowledged.time,
    }
}

/// What a store that is whole says of itself.
pub(super) struct Judged {
    /// The opening that wrote it.
    pub(super) opening: Option<[u8; 16]>,
}

/// The keyring of a folder, if it is the one that its witness knows, and whether its public key stood beside it. Where the
/// folder may be written, it does so afterwards.
fn open_keyring(options: &StoreOptions, state: &FolderState, access: Access) -> Result<(Keyring, bool), StorageError> {
    let writable = matches!(access, Access::Create | Access::Write);
    let testimony = match state {
        FolderState::Witnessed { testimony, .. } => Some(testimony),
        FolderState::New | FolderState::Unwitnessed => None,
    };
    let keyring_path = files::keyring(options);
    let database = testimony.map(|testimony| &testimony.database);
    let keyring = open_by_root(options, &*options.root_key(), writable, database)?;
    if testimony.is_some_and(|testimony| keyring.made() < testimony.acknowledged.slots) && access != Access::Salvage {
        let what = "it is shorter than it was, keys of data subjects are missing";
        return Err(StorageError::KeyringDamaged { path: keyring_path, what });
    }
    let public = keyring.signing().public();
    let published = match files::check_public_key(options, &public) {
        Err(StorageError::FileDamaged { .. }) if access == Access::Salvage => true,
        checked => checked?,
    };
    if writable && !published {
        files::publish_key(options, &public)?;
    }
    Ok((keyring, published))
}

/// By the root key, or by that which was to replace it when that was cut short. Which of the two it is is settled then.
fn open_by_root(
    options: &StoreOptions,
    root: &dyn RootKey,
    writable: bool,
    database: Option<&[u8; 16]>,
) -> Result<Keyring, StorageError> {
    let path = files::keyring(options);
    let opened = Keyring::open(&path, root, writable, database);
    let Some((fresh, fresh_path)) = root::fresh_of(root)? else { return opened };
    match opened {
        Ok(keyring) => {
            if writable {
                root::discard(&fresh_path)?;
            }
            Ok(keyring)
        }
        Err(StorageError::WrongRootKey { path: wrong }) => {
            let keyring = Keyring::open(&path, &*fresh, writable, database)?;
            if writable {
                root::replace(&wrong)?;
            }
            Ok(keyring)
        }
        Err(error) => Err(error),
    }
}
