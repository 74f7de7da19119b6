//! Taking a backup, while others write.
//!
//! ```text
//! look at the targets ─▶ pin ─▶ copy files, each whole ─▶ ledger ─▶ keys ─▶ are they all there? ─▶ manifest ─▶ what is too old goes
//!                         ▲            │ an erasure needs the pinned bytes gone
//!                         └────────────┘ what is copied already is not copied again
//! ```
//! The ledger stands before the keys and the manifest, so that it knows of every erasure that they know of. Where anything fails,
//! what was brought goes again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use crate::audit::log::Log;
use crate::backup::bringing::{Bringing, Brought};
use crate::backup::fault::BackupFault;
use crate::backup::keys::{self, KEYS, KeyState};
use crate::backup::ledger::LEDGER;
use crate::backup::manifest::{BackedFile, BackedState, FILES, Manifest};
use crate::backup::pin::{Pin, Pins};
use crate::backup::survey::{self, Survey};
use crate::backup::target::Target;
use crate::backup::tee::Tee;
use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::sodium;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::{self, Access, Family};
use crate::snapshot::cursor::Cursor;
use crate::store::{COMMIT_TIME, Store};

/// Whoever is answered goes before whoever reads, hashes and writes files: so patient is a thread of a backup.
const NICENESS: i32 = 10;
/// How often a backup begins anew before it leaves off.
const ATTEMPTS_MAX: u32 = 8;
/// Files of the data folder beside RocksDB's that a restore brings back: sealed, as they hold secrets.
pub(super) const SEALED_FILES: [&str; 4] = ["logins", "controller.secret", "server.crt", "server.key"];
/// Where backups of this database are, so that erasures keep what a restore of the oldest needs: the target's hash leads to the
/// number of erasures that all backups there have.
pub(super) const TARGETS: &[u8] = b"backup/target/";
/// See `Manifest`.
const LINEAGE: &[u8] = b"backup/lineage";

/// Whether files are brought that the target has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All are.
    Full,
    /// None is: there must be a backup before.
    Incremental,
}

/// How to take a backup.
pub struct BackupRequest<'a> {
    /// Where the data go.
    pub data: &'a dyn Target,
    /// Where the keys go.
    pub keys: &'a dyn Target,
    /// Which files are brought.
    pub form: Form,
    /// Older backups than so many microseconds are removed; none where all are kept.
    pub keep_us: Option<i64>,
    /// Older key backups than so many microseconds are removed.
    pub keep_keys_us: i64,
    /// The wall clock, in microseconds since 2000-01-01 UTC.
    pub now_us: fn() -> i64,
    /// Whether to leave off.
    pub stops: &'a (dyn Fn() -> bool + Sync),
}

/// What was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Its id, as hexadecimal digits.
    pub id: String,
    /// The state that it holds.
    pub state: BackedState,
    /// Files, and their bytes.
    pub files: u64,
    /// See `files`.
    pub bytes: u64,
    /// Those that were brought.
    pub new_files: u64,
    /// See `new_files`.
    pub new_bytes: u64,
    /// How often it began.
    pub attempts: u32,
}

/// What a store knows of its backups.
pub(crate) struct Backups {
    pub(crate) pins: Pins,
    pub(crate) tee: Tee,
    /// The log that is being shipped.
    pub(super) log: Mutex<Option<[u8; 8]>>,
    /// Held while one is taken: hashes of RocksDB's files, which never change.
    under_way: Mutex<BTreeMap<String, [u8; 32]>>,
}

impl Backups {
    pub(crate) fn new(folder: PathBuf) -> Backups {
        Backups { pins: Pins::new(folder), tee: Tee::default(), log: Mutex::default(), under_way: Mutex::default() }
    }
}

/// How far an attempt came.
enum Attempt {
    Whole(Manifest),
    /// An erasure took the files away.
    TakenAway,
}

impl Store {
    /// Takes a backup. Others write and erase meanwhile; where it fails nothing of it stays.
    pub fn back_up(&self, request: &BackupRequest<'_>) -> Result<BackupReport, StorageError> {
        std::thread::scope(|scope| {
            let take = || {
                // Threads that it starts are as patient.
                let _as_before = rustix::process::nice(NICENESS);
                self.take_backup(request)
            };
            let thread = std::thread::Builder::new().name("backup".into()).spawn_scoped(scope, take);
            let thread = thread.map_err(StorageError::io("start a thread for", Path::new(request.data.name())))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn take_backup(&self, request: &BackupRequest<'_>) -> Result<BackupReport, StorageError> {
        self.check_writable()?;
        let Some(mut known) = self.backups().under_way.try_lock() else { return Err(BackupFault::Busy.into()) };
        let (database, public) = (self.database_id(), self.public_key());
        let mut survey = Survey::of(request.data, Some(&database), &public)?;
        if let Some((object, keys)) = survey::newest_keys(request.keys)? {
            if keys.state.database != database {
                return Err(BackupFault::OtherDatabase { target: request.keys.name().to_owned(), object }.into());
            }
            keys.verify(&public, &object)?;
        }
        if request.form == Form::Incremental && survey.manifests.is_empty() {
            return Err(BackupFault::NoBase { target: request.data.name().to_owned() }.into());
        }
        self.note_target(request.data, survey.first_erasure().unwrap_or(1) - 1, (request.now_us)())?;
        let lineage = self.lineage()?;
        // Within one lineage a number is given once, and data files never change.
        let before = survey.newest().filter(|before| before.lineage == lineage);
        for file in before.iter().flat_map(|before| &before.files) {
            if let Some(name) = file.name.strip_prefix("rocks/").filter(|name| rocks::file_number(name).is_some()) {
                known.entry(name.to_owned()).or_insert(file.hash);
            }
        }
        let mut brought = Brought::default();
        let taken = self.attempts(request, &survey, &mut known, &mut brought);
        let (manifest, attempts) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // Nothing names them. Where the target is gone the next backup sees to it.
                brought.added.iter().for_each(|object| drop(request.data.remove(object)));
                return Err(error);
            }
        };
        let report = BackupReport {
            id: manifest.name(),
            state: manifest.state,
            files: manifest.files.len() as u64,
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            new_files: brought.files,
            new_bytes: brought.bytes,
            attempts,
        };
        survey.files.extend(manifest.files.iter().map(|file| (file.object.clone(), file.bytes)));
        survey.files.extend(brought.added.into_iter().map(|object| (object, 0)));
        survey.manifests.push(manifest);
        let before_us = request.keep_us.map(|keep_us| (request.now_us)() - keep_us);
        let log = *self.backups().log.lock();
        survey.prune(request.data, before_us, log)?;
        self.note_target(request.data, survey.first_erasure().unwrap_or(1) - 1, (request.now_us)())?;
        self.forget_blanked(self.targets()?.into_iter().min().unwrap_or(0))?;
        Ok(report)
    }

    fn attempts(
        &self,
        request: &BackupRequest<'_>,
        survey: &Survey,
        known: &mut MutexGuard<'_, BTreeMap<String, [u8; 32]>>,
        brought: &mut Brought,
    ) -> Result<(Manifest, u32), StorageError> {
        for attempt in 1..=ATTEMPTS_MAX {
            match self.attempt(request, survey, known, brought)? {
                Attempt::Whole(manifest) => return Ok((manifest, attempt)),
                Attempt::TakenAway => {
                    tracing::info!(
                        target: "dogwood::storage",
                        attempt,
                        "the backup begins anew: an erasure needed the files that it copied"
                    );
                }
            }
        }
        Err(BackupFault::ErasuresInTheWay { attempts: ATTEMPTS_MAX }.into())
    }

    fn attempt(
        &self,
        request: &BackupRequest<'_>,
        survey: &Survey,
        known: &mut BTreeMap<String, [u8; 32]>,
        brought: &mut Brought,
    ) -> Result<Attempt, StorageError> {
        // It began before what is pinned now was written to its end.
        let log = *self.backups().log.lock();
        let Some(pin) = self.backups().pins.pin(self.db())? else { return Ok(Attempt::TakenAway) };
        let copied = self.copy(request, survey, &pin, known, brought);
        let (files, state) = match copied {
            // Whatever failed then failed by that.
            Err(StorageError::Io { .. } | StorageError::Rocks { .. }) | Ok(None) if pin.is_gone() => {
                return Ok(Attempt::TakenAway);
            }
            Err(error) => return Err(error),
            Ok(Some(copied)) => copied,
            Ok(None) => return Err(BackupFault::Stopped.into()),
        };
        drop(pin);
        let manifest = Manifest {
            database: self.database_id(),
            id: sodium::random_array(),
            base: match request.form {
                Form::Full => None,
                Form::Incremental => survey.newest().map(|base| base.id),
            },
            lineage: self.lineage()?,
            log,
            state,
            files,
        };
        let first = survey.first_erasure().unwrap_or(u64::MAX).min(state.receipts + 1);
        self.ship_ledger(request.data, first)?;
        self.ship_keys(request.keys, (request.now_us)(), request.keep_keys_us)?;
        let there: BTreeMap<String, u64> = request.data.list(FILES).map_err(BackupFault::from)?.into_iter().collect();
        for file in &manifest.files {
            if there.get(&file.object) != Some(&file.bytes) {
                let backup = manifest.name();
                return Err(BackupFault::FileMissing { backup, object: file.object.clone(), base: None }.into());
            }
        }
        let signed = manifest.signed(self.keyring().signing());
        request.data.put(&manifest.object(), &signed).map_err(BackupFault::from)?;
        Ok(Attempt::Whole(manifest))
    }

    /// Copies what is pinned. None where it was taken away, or is to leave off.
    fn copy(
        &self,
        request: &BackupRequest<'_>,
        survey: &Survey,
        pin: &Pin<'_>,
        known: &mut BTreeMap<String, [u8; 32]>,
        brought: &mut Brought,
    ) -> Result<Option<(Vec<BackedFile>, BackedState)>, StorageError> {
        let names = names_in(pin.folder())?;
        let state = self.state_of(pin.folder(), (request.now_us)())?;
        let goes_on = || !(request.stops)() && !pin.is_gone();
        let files = Bringing { target: request.data, survey, form: request.form, goes_on: &goes_on }.all(
            (pin.folder(), names),
            known,
            brought,
            |bringing| {
                for name in SEALED_FILES {
                    if let Some(content) = self.sealed_file(name)? {
                        bringing.bring(name, content)?;
                    }
                }
                Ok(())
            },
        )?;
        Ok(files.map(|files| (files, state)))
    }

    /// A file of the data folder under the database's key, if it is there.
    fn sealed_file(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let path = self.data_file(name);
        let mut content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StorageError::io("read", &path)(error)),
        };
        let header = Header { kind: SealKind::Impersonal, cipher: self.cipher(), schema_version: 0 };
        let mut sealed = Vec::new();
        self.seal_impersonal(SealPlace::Meta(&place_of(name)), header, &content, &mut sealed);
        sodium::wipe(&mut content);
        Ok(Some(sealed))
    }

    /// Where a copy of the store stands.
    fn state_of(&self, folder: &Path, time_us: i64) -> Result<BackedState, StorageError> {
        let db = rocks::open(folder, self.cache(), Access::Judge)?;
        let commit = match db.get_cf(Family::Meta.handle(&db), COMMIT_TIME).map_err(rocks::failed("read a copy"))? {
            Some(sealed) => self.open_impersonal(SealPlace::Meta(COMMIT_TIME), &sealed)?.1.try_into().ok(),
            None => None,
        };
        let log = Log::open(&db, &self.database_id(), self.keyring().signing())?;
        Ok(BackedState {
            time_us,
            sequence: db.latest_sequence_number(),
            commit: commit.map_or(0, u64::from_be_bytes),
            records: log.sequence,
            head: log.hash,
            receipts: log.receipts,
            slots: self.keyring().made(),
        })
    }

    /// Puts the ledger, in the place of those before.
    pub(super) fn ship_ledger(&self, target: &dyn Target, first: u64) -> Result<(), StorageError> {
        let (object, bytes) = self.ledger(first)?;
        target.put(&object, &bytes).map_err(BackupFault::from)?;
        for (older, _) in target.list(LEDGER).map_err(BackupFault::from)? {
            if older < object {
                target.remove(&older).map_err(BackupFault::from)?;
            }
        }
        Ok(())
    }

    /// Puts a key backup, and removes those that are too old. Its name.
    pub(super) fn ship_keys(&self, target: &dyn Target, time_us: i64, keep_us: i64) -> Result<String, StorageError> {
        // Those keys may be gone by the time that the pages are read, and never come back.
        let receipts = self.log_receipts();
        let (slots, epoch, pages) = self.keyring().export()?;
        let state = KeyState { database: self.database_id(), time_us, receipts, slots, epoch: u64::from(epoch) };
        let object = keys::object(&state, &sodium::random_array());
        target.put(&object, &keys::sign(&state, &pages, self.keyring().signing())).map_err(BackupFault::from)?;
        for (older, _) in target.list(KEYS).map_err(BackupFault::from)? {
            let is_old = keys::time_of(&older).is_none_or(|taken_us| taken_us < time_us - keep_us);
            if older < object && is_old {
                target.remove(&older).map_err(BackupFault::from)?;
            }
        }
        self.note_keys(target, keep_us)?;
        Ok(object)
    }

    /// From now on erasures keep what a restore from this target needs, whose backups all have so many erasures.
    fn note_target(&self, target: &dyn Target, erasures: u64, now_us: i64) -> Result<(), StorageError> {
        let hash = sodium::hash::<16>(target.name().as_bytes());
        let key = [TARGETS, &hash].concat();
        if self.snapshot().meta(&key)?.as_deref() != Some(&erasures.to_be_bytes()) {
            let mut batch = Batch::default();
            batch.put_meta(self, &key, &erasures.to_be_bytes());
            batch.put_erased(self, &hash, erasures, now_us);
            self.check_room(&batch)?;
            self.write(batch)?;
            self.flush()?;
        }
        Ok(())
    }

    /// The folder's lineage, which begins with its first backup.
    fn lineage(&self) -> Result<[u8; 16], StorageError> {
        if let Some(lineage) = self.snapshot().meta(LINEAGE)?.and_then(|lineage| lineage.try_into().ok()) {
            return Ok(lineage);
        }
        self.begin_lineage()
    }

    /// From now on the folder's files are not those that it had.
    pub(super) fn begin_lineage(&self) -> Result<[u8; 16], StorageError> {
        let lineage: [u8; 16] = sodium::random_array();
        let mut batch = Batch::default();
        batch.put_meta(self, LINEAGE, &lineage);
        self.write(batch)?;
        self.flush()?;
        Ok(lineage)
    }

    /// Of each target, how many erasures all backups there have.
    fn targets(&self) -> Result<Vec<u64>, StorageError> {
        let snapshot = self.snapshot();
        let of = snapshot.clone();
        let cursor = Cursor::all(&snapshot, Family::Meta, TARGETS);
        let erasures = cursor.entries("read where backups are", move |key, sealed| {
            let erasures = of.open_meta(key, sealed)?.try_into();
            erasures.map(u64::from_be_bytes).map_err(|_| StorageError::Malformed { entry: StoredEntry::Erasure })
        });
        erasures.collect()
    }

    /// Whether there may be backups of this database.
    pub fn is_backed_up(&self) -> Result<bool, StorageError> {
        Ok(!self.targets()?.is_empty())
    }
}

/// Where the seal of a data folder's file belongs.
pub(super) fn place_of(name: &str) -> Vec<u8> {
    [b"backup/file/".as_slice(), name.as_bytes()].concat()
}

/// RocksDB's files of a folder, in order. Its own log of events is none, and neither is its lock.
fn names_in(folder: &Path) -> Result<Vec<String>, StorageError> {
    let failed = StorageError::io("list", folder);
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(failed)?;
    let is_data = |name: &String| {
        let starts = ["CURRENT", "MANIFEST-", "OPTIONS-"].iter().any(|start| name.starts_with(start));
        starts || rocks::file_number(name).is_some() || rocks::log_number(name).is_some()
    };
    let mut names: Vec<String> = entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(is_data);
    names.sort();
    Ok(names)
}
