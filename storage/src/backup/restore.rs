//! Restoring: a folder beside the one that is wanted, from a backup and the log behind it, without those who were forgotten since.
//!
//! ```text
//! keys ─▶ whose ─▶ backup and log up to the moment ─▶ ledger: complete? ─▶ folder.restoring ─▶ files ─▶ log ─▶ erasures again
//!                                                                                └─ put in place at the very end ◀── engine
//! ```
//! Everything is looked at before anything is written, and what is written goes again where the rest fails.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rocksdb::{Cache, WriteBatch};

use crate::backup::fault::BackupFault;
use crate::backup::forget_again::Forgotten;
use crate::backup::ledger::{Ledger, LedgerEntry};
use crate::backup::log::{self, Enough};
use crate::backup::manifest::{BackedState, Manifest};
use crate::backup::survey::{self, Survey};
use crate::backup::take::{SEALED_FILES, place_of};
use crate::backup::target::Target;
use crate::backup::tee::Teed;
use crate::backup::verify::fetch;
use crate::config::{RootKeySource, StoreOptions};
use crate::crypto::seal::SealPlace;
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::keyring::{Keyring, rotation, sync_folder};
use crate::rocks::{self, Access};
use crate::store::{Store, files};

/// What of a folder that holds nothing else may be there, and stays.
const ROOT_KEY: &str = "root.key";
const LOST: &str = "lost+found";

/// Up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All that there is.
    End,
    /// The wall clock, in microseconds since 2000-01-01 UTC.
    Time(i64),
    /// A commit.
    Commit(u64),
    /// A record of the audit log.
    Record(u64),
}

/// What to restore, and where.
pub struct RestoreRequest<'a> {
    /// Where the data are.
    pub data: &'a dyn Target,
    /// Where the keys are.
    pub keys: &'a dyn Target,
    /// A ledger that is kept elsewhere, and its name; else the one beside the data.
    pub ledger: Option<(String, Vec<u8>)>,
    /// Up to where.
    pub until: Until,
    /// The folder to be.
    pub folder: PathBuf,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Whether what the folder holds may go.
    pub overwrites: bool,
}

/// A folder that is restored but for what the engine has to do, and not in its place. Dropped, it is gone.
pub struct Staged {
    path: PathBuf,
    folder: PathBuf,
    root_key: RootKeySource,
    /// The backup.
    pub backup: String,
    /// The state that was restored, before erasures.
    pub state: BackedState,
    /// The erasures that were carried out again.
    pub forgotten: Forgotten,
    is_finished: bool,
    /// Nobody opens what is about to go.
    _lock: Option<File>,
}

/// A backup and how far the log behind it is wanted.
struct Plan<'a> {
    manifest: &'a Manifest,
    until: Until,
}

impl Until {
    /// Whether this state is behind it.
    fn is_before(self, time_us: i64, commit: u64, records: u64) -> bool {
        match self {
            Until::End => false,
            Until::Time(until_us) => time_us > until_us,
            Until::Commit(until) => commit > until,
            Until::Record(until) => records > until,
        }
    }

    fn is_before_batch(self, teed: &Teed) -> bool {
        self.is_before(teed.time_us, teed.at.commit, teed.at.records)
    }

    fn is_before_backup(self, state: &BackedState) -> bool {
        self.is_before(state.time_us, state.commit, state.records)
    }

    /// Whether a state leads up to it. Where nothing was written until a moment the last state before is its state.
    fn is_reached(self, commit: u64, records: u64) -> bool {
        match self {
            Until::End | Until::Time(_) => true,
            Until::Commit(until) => commit >= until,
            Until::Record(until) => records >= until,
        }
    }
}

/// Restores to a folder beside the one that is wanted.
pub fn restore(request: &RestoreRequest<'_>) -> Result<Staged, StorageError> {
    sodium::initialize();
    sodium::forbid_core_dumps();
    let folder = std::path::absolute(&request.folder).map_err(StorageError::io("find", &request.folder))?;
    let lock = refuse_filled(&folder, request.overwrites)?;
    let root_key = match &request.root_key {
        RootKeySource::DataFolder => RootKeySource::File(folder.join(ROOT_KEY)),
        source => source.clone(),
    };
    let newest = survey::newest_keys(request.keys)?;
    let (keys_name, keys) = newest.ok_or_else(|| BackupFault::NoKeys { target: request.keys.name().to_owned() })?;
    let path = beside(&folder, "restoring");
    clear(&path)?;
    fs::DirBuilder::new().mode(0o700).create(&path).map_err(StorageError::io("make", &path))?;
    let mut staged = Staged {
        path: path.clone(),
        folder,
        root_key: root_key.clone(),
        backup: String::new(),
        state: BackedState::default(),
        forgotten: Forgotten::default(),
        is_finished: false,
        _lock: lock,
    };
    let options = StoreOptions { root_key, ..StoreOptions::new(&path) };
    // Of the keys the root key tells whose they are, and of all else they do.
    write_secret(&files::keyring(&options), &keys.keyring())?;
    let (database, public) = {
        let keyring = Keyring::open(&files::keyring(&options), &*options.root_key(), false, None)?;
        (*keyring.database(), keyring.signing().public())
    };
    keys.verify(&public, &keys_name)?;
    let survey = Survey::of(request.data, Some(&database), &public)?;
    let plan = plan(request, &survey, &public)?;
    if keys.state.slots < plan.manifest.state.slots {
        return Err(BackupFault::KeysOlder { object: keys_name }.into());
    }
    let ledger = ledger(request, &database, &public)?;
    check_complete(&ledger, &survey, (&keys_name, keys.state.receipts))?;
    staged.backup = plan.manifest.name();
    fetch_files(request.data, &survey, plan.manifest, &path)?;
    staged.state = follow_log(request.data, &plan, &public, &options)?;
    staged.forgotten = settle(&options, plan.manifest, request.data, &survey, &ledger)?;
    Ok(staged)
}

/// Refuses a folder that holds something, and one that is open.
fn refuse_filled(folder: &Path, overwrites: bool) -> Result<Option<File>, StorageError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<std::io::Result<Vec<_>>>().map_err(StorageError::io("list", folder))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StorageError::io("list", folder)(error)),
    };
    let lock = files::lock_if_there(folder)?;
    let holds = entries.iter().any(|entry| entry.file_name() != ROOT_KEY && entry.file_name() != LOST);
    if holds && !overwrites {
        return Err(BackupFault::FolderFilled { path: folder.to_owned() }.into());
    }
    Ok(lock)
}

/// A folder beside another, of which a name tells what it is for.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    folder.with_file_name(name)
}

/// The backup that leads furthest on the way to the moment; of those that lead equally far the last, as least is to be carried out
/// again behind it.
fn plan<'a>(request: &RestoreRequest<'_>, survey: &'a Survey, public: &[u8; 32]) -> Result<Plan<'a>, BackupFault> {
    let until = request.until;
    let mut best: Option<(i64, &Manifest)> = None;
    let mut reached: Option<BackedState> = None;
    for manifest in survey.manifests.iter().rev().filter(|manifest| !until.is_before_backup(&manifest.state)) {
        let leads_to = match until {
            Until::End => log_end(request.data, manifest)?,
            Until::Time(until_us) => log_end(request.data, manifest)?.min(until_us),
            Until::Commit(_) | Until::Record(_) => {
                let (state, is_there) = end_of(request.data, manifest, public, until)?;
                if is_there {
                    return Ok(Plan { manifest, until });
                }
                reached = reached.or(Some(state));
                continue;
            }
        };
        if best.is_none_or(|(before, _)| before < leads_to) {
            best = Some((leads_to, manifest));
        }
    }
    match (best, reached) {
        (Some((_, manifest)), _) => Ok(Plan { manifest, until }),
        (None, Some(state)) => {
            let reached = match until {
                Until::Record(_) => format!("record {}", state.records),
                Until::End | Until::Time(_) | Until::Commit(_) => format!("commit {}", state.commit),
            };
            Err(BackupFault::BeyondLog { reached })
        }
        (None, None) => Err(BackupFault::NoBackup { target: request.data.name().to_owned() }),
    }
}

/// When the last of a backup and the log behind it was written.
fn log_end(target: &dyn Target, manifest: &Manifest) -> Result<i64, BackupFault> {
    let end = match manifest.log {
        Some(log) => log::last_time(target, &log)?,
        None => None,
    };
    Ok(end.unwrap_or(i64::MIN).max(manifest.state.time_us))
}

/// Where a backup and its log lead, no further than wanted, and whether that is as far.
fn end_of(
    target: &dyn Target,
    manifest: &Manifest,
    public: &[u8; 32],
    until: Until,
) -> Result<(BackedState, bool), BackupFault> {
    let mut state = manifest.state;
    let mut goes_on = false;
    log::follow::<BackupFault>(target, manifest, public, |teed| {
        goes_on = until.is_before_batch(teed);
        if goes_on {
            return Ok(Enough::Yes);
        }
        (state.commit, state.records) = (state.commit.max(teed.at.commit), state.records.max(teed.at.records));
        Ok(Enough::No)
    })?;
    Ok((state, goes_on || until.is_reached(state.commit, state.records)))
}

/// The ledger, wherever it is kept.
fn ledger(request: &RestoreRequest<'_>, database: &[u8; 16], public: &[u8; 32]) -> Result<Ledger, BackupFault> {
    let target = request.data.name().to_owned();
    let ledger = match &request.ledger {
        Some((object, bytes)) => Ledger::verified(bytes, public, object)?,
        None => survey::newest_ledger(request.data, public)?
            .ok_or_else(|| BackupFault::NoLedger { target: target.clone() })?,
    };
    match ledger.database == *database {
        true => Ok(ledger),
        false => Err(BackupFault::OtherDatabase { target, object: "ledger".to_owned() }),
    }
}

/// A ledger knows of every erasure that anything else here knows of.
fn check_complete(ledger: &Ledger, survey: &Survey, keys: (&str, u64)) -> Result<(), BackupFault> {
    let of_backups = survey.manifests.iter();
    let of_backups = of_backups.map(|manifest| (format!("backup {}", manifest.name()), manifest.state.receipts));
    let of_keys = std::iter::once((format!("key backup \"{}\"", keys.0), keys.1));
    match of_backups.chain(of_keys).max_by_key(|(_, known)| *known) {
        Some((by, known)) if known > ledger.last() => Err(BackupFault::LedgerShort { last: ledger.last(), known, by }),
        Some(_) | None => Ok(()),
    }
}

fn fetch_files(target: &dyn Target, survey: &Survey, manifest: &Manifest, path: &Path) -> Result<(), StorageError> {
    let folder = path.join("rocks");
    fs::DirBuilder::new().mode(0o700).create(&folder).map_err(StorageError::io("make", &folder))?;
    for file in manifest.files.iter().filter(|file| file.name.starts_with("rocks/")) {
        let content = fetch(target, survey, manifest, &file.object, file.hash)?;
        write_secret(&path.join(&file.name), &content)?;
    }
    sync_folder(&folder.join("CURRENT"))
}

/// Carries out again what was written behind the backup. The state that comes of it.
fn follow_log(
    target: &dyn Target,
    plan: &Plan<'_>,
    public: &[u8; 32],
    options: &StoreOptions,
) -> Result<BackedState, StorageError> {
    let manifest = plan.manifest;
    let mut state = manifest.state;
    let folder = files::rocks(options);
    rocks::check_files(&folder)?;
    let db = rocks::open(&folder, &Cache::new_lru_cache(options.block_cache_bytes), Access::Write)?;
    let log = manifest.log.map_or_else(String::new, |log| crate::crypto::hex::encode(&log));
    let gap = |after| BackupFault::LogGap { log: log.clone(), after };
    if db.latest_sequence_number() != state.sequence {
        return Err(gap(db.latest_sequence_number()).into());
    }
    log::follow::<StorageError>(target, manifest, public, |teed| {
        if plan.until.is_before_batch(teed) {
            return Ok(Enough::Yes);
        }
        db.write(WriteBatch::from_data(&teed.batch)).map_err(rocks::failed("carry out the log again"))?;
        if db.latest_sequence_number() != teed.at.last {
            return Err(gap(state.sequence).into());
        }
        (state.commit, state.records) = (state.commit.max(teed.at.commit), state.records.max(teed.at.records));
        (state.sequence, state.time_us) = (teed.at.last, teed.time_us);
        Ok(Enough::No)
    })?;
    db.flush_wal(true).map_err(rocks::failed("flush the write-ahead log"))?;
    Ok(state)
}

/// What is sealed is opened, the forgotten are forgotten again, and the folder gets its witness.
fn settle(
    options: &StoreOptions,
    manifest: &Manifest,
    target: &dyn Target,
    survey: &Survey,
    ledger: &Ledger,
) -> Result<Forgotten, StorageError> {
    files::write_format(options)?;
    let store = Store::restoring(options)?;
    for file in manifest.files.iter().filter(|file| SEALED_FILES.contains(&file.name.as_str())) {
        let sealed = fetch(target, survey, manifest, &file.object, file.hash)?;
        let (_, mut content) = store.open_impersonal(SealPlace::Meta(&place_of(&file.name)), &sealed)?;
        write_secret(&options.file(&file.name), &content)?;
        sodium::wipe(&mut content);
    }
    store.begin_lineage()?;
    let wanted = store.log_receipts() + 1;
    if ledger.last() >= wanted && ledger.first > wanted {
        return Err(BackupFault::LedgerLate { first: ledger.first, wanted }.into());
    }
    let entries: Vec<&LedgerEntry> = (wanted..=ledger.last()).filter_map(|number| ledger.entry(number)).collect();
    let forgotten = store.forget_again(&entries)?;
    store.check_keys_of_restored()?;
    store.witness_restored()?;
    Ok(forgotten)
}

fn write_secret(path: &Path, content: &[u8]) -> Result<(), StorageError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(StorageError::io("write", path))
}

/// Removes a folder with a keyring, whose keys are overwritten first.
fn clear(path: &Path) -> Result<(), StorageError> {
    rotation::shred(&path.join("keyring"))?;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StorageError::io("remove", path)(error)),
        Err(_) | Ok(()) => Ok(()),
    }
}

impl Staged {
    /// Where it is for now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What opens it for now.
    pub fn root_key(&self) -> &RootKeySource {
        &self.root_key
    }

    /// Puts it in its place. What was there goes, but for its root key.
    pub fn finish(mut self) -> Result<(), StorageError> {
        let kept = self.folder.join(ROOT_KEY);
        if kept.try_exists().map_err(StorageError::io("look for", &kept))? {
            let copied = fs::read(&kept).map_err(StorageError::io("read", &kept));
            let mut copied = copied?;
            let written = write_secret(&self.path.join(ROOT_KEY), &copied);
            sodium::wipe(&mut copied);
            written?;
        }
        sync_folder(&self.path.join(ROOT_KEY))?;
        let replaced = beside(&self.folder, "replaced");
        clear(&replaced)?;
        if self.folder.try_exists().map_err(StorageError::io("look for", &self.folder))? {
            fs::rename(&self.folder, &replaced).map_err(StorageError::io("rename", &self.folder))?;
        }
        fs::rename(&self.path, &self.folder).map_err(StorageError::io("put in place", &self.folder))?;
        self.is_finished = true;
        sync_folder(&self.folder)?;
        clear(&replaced)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_finished {
            // The next restore to the same place tries again.
            let _left = clear(&self.path);
        }
    }
}
