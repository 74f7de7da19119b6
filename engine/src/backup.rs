//! Backup and restore as commands: `dogwood backup`, `verify-backup`, `restore`, and what a server ships by itself.
//!
//! ```text
//! backup   a running server, or a stopped one's folder ─▶ storage::backup
//! restore  storage::backup ─▶ folder beside ─▶ an engine over it: what others' rows say of the forgotten ─▶ check ─▶ in its place
//! ```
//! How files are copied, and which, is storage's. Here a restored folder becomes one that `check` finds nothing in.

use crate::check;
use crate::engine::Engine;
use crate::session::ConnectOptions;
use state::SqlError;
use state::clock::now_micros;
use state::config::{Allocated, Config};
use std::path::{Path, PathBuf};
use storage::backup::{
    self, BackupFault, BackupReport, BackupRequest, Form, RestoreRequest, Shipper, Target, Until, VerifiedBackups,
    open_target,
};
use storage::{Mode, RootKeySource, Store};
use transactions::database::open_stopped;

const DAY_US: i64 = 24 * 3600 * 1_000_000;

/// Reads a variable of the environment of whoever asks.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where a backup goes, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupOrder {
    /// The data's target.
    pub data: String,
    /// The keys' target.
    pub keys: String,
    /// Only what is not there yet.
    pub incremental: bool,
    /// Older backups go; none where all are kept.
    pub keep_days: Option<u32>,
    /// Older key backups go.
    pub keep_keys_days: u32,
}

/// What to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOrder {
    /// The data's target.
    pub data: String,
    /// The keys' target.
    pub keys: String,
    /// A ledger that is kept elsewhere.
    pub ledger: Option<PathBuf>,
    /// Up to where.
    pub until: Until,
    /// The folder to be.
    pub folder: PathBuf,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Whether what the folder holds may go.
    pub overwrites: bool,
    /// Whether `dogwood check` is left to whoever restores.
    pub unchecked: bool,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The backup.
    pub backup: String,
    /// The state.
    pub state: backup::BackedState,
    /// Erasures that were carried out again, and how many of these people the state had.
    pub erasures: u64,
    /// See `erasures`.
    pub forgotten: u64,
    /// Others' rows that were changed or went with that.
    pub settled: u64,
}

/// The two targets of a backup.
fn targets(
    order: &BackupOrder,
    make: bool,
    variables: Variables<'_>,
) -> Result<(Box<dyn Target>, Box<dyn Target>), SqlError> {
    let open = |given: &str| open_target(given, make, variables, now_micros).map_err(storage::StorageError::from);
    let (data, keys) = (open(&order.data)?, open(&order.keys)?);
    let holds = |one: &str, other: &str| {
        other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || one.ends_with('/'))
    };
    if holds(data.name(), keys.name()) || holds(keys.name(), data.name()) {
        let (data, keys) = (data.name().to_owned(), keys.name().to_owned());
        return Err(storage::StorageError::from(BackupFault::KeysBesideData { data, keys }).into());
    }
    Ok((data, keys))
}

/// Folders that a backup makes: where it fails, and nothing came into them, they go again.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    fn of(order: &BackupOrder) -> NewFolders {
        let folders = [&order.data, &order.keys].into_iter().filter(|given| !given.contains("://")).map(PathBuf::from);
        NewFolders(folders.filter(|folder| !folder.exists()).collect())
    }

    fn remove(self) {
        self.0.iter().for_each(|folder| remove_empty(folder));
    }
}

/// A folder without files goes, with the folders in it.
fn remove_empty(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).for_each(|path| remove_empty(&path));
    // One that holds something stays.
    let _holds = std::fs::remove_dir(folder);
}

fn take(
    store: &Store,
    order: &BackupOrder,
    variables: Variables<'_>,
    stops: &(dyn Fn() -> bool + Sync),
) -> Result<BackupReport, SqlError> {
    let new = NewFolders::of(order);
    let taken = take_to(store, order, variables, stops);
    if taken.is_err() {
        new.remove();
    }
    taken
}

fn take_to(
    store: &Store,
    order: &BackupOrder,
    variables: Variables<'_>,
    stops: &(dyn Fn() -> bool + Sync),
) -> Result<BackupReport, SqlError> {
    let (data, keys) = targets(order, true, variables)?;
    Ok(store.back_up(&BackupRequest {
        data: &*data,
        keys: &*keys,
        form: if order.incremental { Form::Incremental } else { Form::Full },
        keep_us: order.keep_days.map(|days| i64::from(days) * DAY_US),
        keep_keys_us: i64::from(order.keep_keys_days) * DAY_US,
        now_us: now_micros,
        stops,
    })?)
}

impl Engine {
    /// Takes a backup while sessions go on.
    pub fn back_up(
        &self,
        order: &BackupOrder,
        variables: Variables<'_>,
        stops: &(dyn Fn() -> bool + Sync),
    ) -> Result<BackupReport, SqlError> {
        take(self.store(), order, variables, stops)
    }
}

/// Takes a backup of a stopped server's folder.
pub fn back_up_stopped(
    data: &Path,
    root_key: RootKeySource,
    order: &BackupOrder,
    variables: Variables<'_>,
) -> Result<BackupReport, SqlError> {
    let store = open_stopped(data, &root_key, Mode::Serve)?;
    let taken = take(&store, order, variables, &|| false)?;
    store.settle()?;
    Ok(taken)
}

/// What ships a server's log to these targets.
pub(crate) fn shipper(order: &BackupOrder, variables: Variables<'_>) -> Result<Shipper, SqlError> {
    let (data, keys) = targets(order, true, variables)?;
    let keep_us = order.keep_days.map(|days| i64::from(days) * DAY_US);
    Ok(Shipper::new(data, keys, keep_us, i64::from(order.keep_keys_days) * DAY_US, now_micros))
}

/// Reads every block of what stands at a target, with the public key alone.
pub fn verify_backups(
    data: &str,
    public_key: &[u8; 32],
    variables: Variables<'_>,
) -> Result<VerifiedBackups, SqlError> {
    let verified = open_target(data, false, variables, now_micros)
        .and_then(|target| backup::verify_backups(&*target, public_key))
        .map_err(storage::StorageError::from)?;
    Ok(verified)
}

/// Restores a folder: from a backup and its log, without those who were forgotten since. It is in its place when all is done.
pub fn restore(
    order: &RestoreOrder,
    variables: Variables<'_>,
    allocator: Option<fn() -> Allocated>,
) -> Result<RestoreReport, SqlError> {
    let open = |given: &str| open_target(given, false, variables, now_micros).map_err(storage::StorageError::from);
    let (data, keys) = (open(&order.data)?, open(&order.keys)?);
    let ledger = match &order.ledger {
        Some(path) => {
            let failed = |error| SqlError::new("58P01", format!("could not read \"{}\": {error}", path.display()));
            Some((path.display().to_string(), std::fs::read(path).map_err(failed)?))
        }
        None => None,
    };
    let staged = backup::restore(&RestoreRequest {
        data: &*data,
        keys: &*keys,
        ledger,
        until: order.until,
        folder: order.folder.clone(),
        root_key: order.root_key.clone(),
        overwrites: order.overwrites,
    })?;
    let mut config = Config::new(staged.path().to_path_buf());
    config.root_key = staged.root_key().clone();
    config.allocator = allocator;
    let settled = {
        let engine = Engine::open(config)?;
        let settled = settle(&engine, &staged.forgotten);
        engine.shutdown()?;
        settled?
    };
    // It reads every row, and derives the owners of each.
    let findings = if order.unchecked { Vec::new() } else { check::run(staged.path(), staged.root_key())? };
    if let Some(finding) = findings.first() {
        let error = SqlError::new("XX001", format!("what was restored is not whole: {finding}"));
        return Err(error.hint("restore another backup; verify-backup says which are whole"));
    }
    let report = RestoreReport {
        backup: staged.backup.clone(),
        state: staged.state,
        erasures: staged.forgotten.microdbs.len() as u64,
        forgotten: staged.forgotten.found,
        settled,
    };
    staged.finish()?;
    Ok(report)
}

fn settle(engine: &Engine, forgotten: &backup::Forgotten) -> Result<u64, SqlError> {
    let options =
        ConnectOptions { user: "controller".into(), any_database: true, secure: true, ..ConnectOptions::default() };
    engine.connect(options)?.settle_restored(forgotten)
}
