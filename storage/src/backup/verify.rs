//! Verifying backups with the public key alone: every block of every file, every piece of the log, the ledger.

use std::collections::BTreeMap;

use crate::backup::bringing::has_hash;
use crate::backup::fault::BackupFault;
use crate::backup::log::{self, Enough};
use crate::backup::manifest::{BackedState, Manifest};
use crate::backup::survey::{self, Survey};
use crate::backup::target::Target;
use crate::crypto::{hex, sodium};

/// A backup that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBackup {
    /// Its id.
    pub id: String,
    /// The backup that it added to.
    pub base: Option<String>,
    /// The state that it holds.
    pub state: BackedState,
    /// Files, and their bytes.
    pub files: u64,
    /// See `files`.
    pub bytes: u64,
    /// The last write of the log behind it.
    pub log_end: u64,
    /// What is restored from all of it.
    pub reaches: Reached,
}

/// How far a backup and the log behind it go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// When that was written, in microseconds since 2000-01-01 UTC.
    pub time_us: i64,
    /// The last commit.
    pub commit: u64,
    /// The audit log's last record.
    pub records: u64,
}

/// What stands at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBackups {
    /// The database.
    pub database: String,
    /// The oldest first.
    pub backups: Vec<VerifiedBackup>,
    /// The number of the ledger's last erasure.
    pub erasures: u64,
}

/// Reads everything at a target. Whatever is missing, changed, or not signed by this key is an error with its name.
pub fn verify_backups(target: &dyn Target, public: &[u8; 32]) -> Result<VerifiedBackups, BackupFault> {
    sodium::initialize();
    let survey = Survey::of(target, None, public)?;
    let Some(newest) = survey.newest() else {
        return Err(BackupFault::NoBackup { target: target.name().to_owned() });
    };
    let database = newest.database;
    let mut read = BTreeMap::new();
    let mut backups = Vec::new();
    for manifest in &survey.manifests {
        for file in &manifest.files {
            // Files that backups have in common are read once.
            if read.get(&file.object) != Some(&file.hash) {
                fetch(target, &survey, manifest, &file.object, file.hash)?;
                read.insert(&file.object, file.hash);
            }
        }
        let BackedState { time_us, commit, records, .. } = manifest.state;
        let mut reaches = Reached { time_us, commit, records };
        let end = log::follow::<BackupFault>(target, manifest, public, |teed| {
            let (commit, records) = (reaches.commit.max(teed.at.commit), reaches.records.max(teed.at.records));
            reaches = Reached { time_us: reaches.time_us.max(teed.time_us), commit, records };
            Ok(Enough::No)
        })?;
        backups.push(VerifiedBackup {
            id: manifest.name(),
            base: manifest.base.map(|base| hex::encode(&base)),
            state: manifest.state,
            files: manifest.files.len() as u64,
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            log_end: end,
            reaches,
        });
    }
    let ledger = survey::newest_ledger(target, public)?;
    let ledger = ledger.ok_or_else(|| BackupFault::NoLedger { target: target.name().to_owned() })?;
    if let Some(manifest) = survey.manifests.iter().find(|manifest| manifest.state.receipts > ledger.last()) {
        let (last, known) = (ledger.last(), manifest.state.receipts);
        return Err(BackupFault::LedgerShort { last, known, by: format!("backup {}", manifest.name()) });
    }
    Ok(VerifiedBackups { database: hex::encode(&database), backups, erasures: ledger.last() })
}

/// A file of a backup as its manifest names it.
pub(super) fn fetch(
    target: &dyn Target,
    survey: &Survey,
    manifest: &Manifest,
    object: &str,
    hash: [u8; 32],
) -> Result<Vec<u8>, BackupFault> {
    let backup = manifest.name();
    let Some(content) = target.get(object)? else {
        // Whoever had it first brought it.
        let of = |other: &&Manifest| other.files.iter().any(|file| file.object == object);
        let first = survey.manifests.iter().find(of).filter(|first| first.id != manifest.id);
        let base = first.map(Manifest::name).or_else(|| manifest.base.map(|base| hex::encode(&base)));
        return Err(BackupFault::FileMissing { backup, object: object.to_owned(), base });
    };
    match has_hash(&content, &hash) {
        true => Ok(content),
        false => Err(BackupFault::FileDamaged { backup, object: object.to_owned() }),
    }
}
