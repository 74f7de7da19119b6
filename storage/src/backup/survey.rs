//! What stands at a target, looked at before anything is done there: whose it is, its backups, its newest ledger and keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::backup::fault::BackupFault;
use crate::backup::keys::{KEYS, KeyBackup};
use crate::backup::ledger::{LEDGER, Ledger};
use crate::backup::log::{self, LOG};
use crate::backup::manifest::{BACKUPS, FILES, Manifest};
use crate::backup::target::Target;

/// The backups of a database at a target.
pub(super) struct Survey {
    /// The oldest first.
    pub(super) manifests: Vec<Manifest>,
    /// Files that are there, and their sizes.
    pub(super) files: BTreeMap<String, u64>,
}

impl Survey {
    /// Reads all manifests; refuses another database's, or what another key has signed.
    pub(super) fn of(
        target: &dyn Target,
        database: Option<&[u8; 16]>,
        public: &[u8; 32],
    ) -> Result<Survey, BackupFault> {
        let mut manifests = Vec::new();
        for (object, _) in target.list(BACKUPS)? {
            let Some(bytes) = target.get(&object)? else { continue };
            if let (Some(database), Some(manifest)) = (database, Manifest::parse(&bytes))
                && manifest.database != *database
            {
                return Err(BackupFault::OtherDatabase { target: target.name().to_owned(), object });
            }
            manifests.push(Manifest::verified(&bytes, public, &object)?);
        }
        let files = target.list(FILES)?.into_iter().collect();
        Ok(Survey { manifests, files })
    }

    /// The last one that was taken.
    pub(super) fn newest(&self) -> Option<&Manifest> {
        self.manifests.last()
    }

    /// The first erasure that a ledger has to have.
    pub(super) fn first_erasure(&self) -> Option<u64> {
        self.manifests.iter().map(|manifest| manifest.state.receipts + 1).min()
    }

    /// Removes the backups that are older than a moment, and what none of the others names; never the last, nor one from which alone
    /// the log leads to that moment. `log` is being shipped.
    pub(super) fn prune(
        &mut self,
        target: &dyn Target,
        before_us: Option<i64>,
        log: Option<[u8; 8]>,
    ) -> Result<(), BackupFault> {
        if let Some(before_us) = before_us {
            let mut kept: BTreeSet<[u8; 8]> = self.newest().iter().map(|manifest| manifest.id).collect();
            // The last of each log that is too old: what comes later follows on it.
            let mut last_before = BTreeMap::new();
            for manifest in &self.manifests {
                match manifest.log {
                    _ if manifest.state.time_us >= before_us => {
                        kept.insert(manifest.id);
                    }
                    Some(log) => {
                        last_before.insert(log, manifest.id);
                    }
                    None => {}
                }
            }
            for (log, id) in last_before {
                if log::last_time(target, &log)?.is_some_and(|end_us| end_us >= before_us) {
                    kept.insert(id);
                }
            }
            for manifest in self.manifests.iter().filter(|manifest| !kept.contains(&manifest.id)) {
                target.remove(&manifest.object())?;
            }
            self.manifests.retain(|manifest| kept.contains(&manifest.id));
        }
        let named: BTreeSet<&str> =
            self.manifests.iter().flat_map(|manifest| &manifest.files).map(|file| file.object.as_str()).collect();
        for object in self.files.keys().filter(|object| !named.contains(object.as_str())) {
            target.remove(object)?;
        }
        self.files.retain(|object, _| named.contains(object.as_str()));
        self.prune_logs(target, log)
    }

    /// Removes pieces of the log that follow on no backup.
    fn prune_logs(&self, target: &dyn Target, log: Option<[u8; 8]>) -> Result<(), BackupFault> {
        let mut from: BTreeMap<String, u64> = BTreeMap::new();
        for manifest in &self.manifests {
            if let Some(log) = manifest.log {
                let first = from.entry(log::folder(&log)).or_insert(u64::MAX);
                *first = (*first).min(manifest.state.sequence);
            }
        }
        // One that no backup stands in yet is about to have its first.
        if let Some(log) = log {
            from.entry(log::folder(&log)).or_insert(0);
        }
        for (object, _) in target.list(LOG)? {
            let of = from.iter().find(|(folder, _)| object.starts_with(folder.as_str()));
            if of.is_none_or(|(_, from)| log::last_write(&object).is_some_and(|last| last <= *from)) {
                target.remove(&object)?;
            }
        }
        Ok(())
    }
}

/// The newest ledger; none where there is none.
pub(super) fn newest_ledger(target: &dyn Target, public: &[u8; 32]) -> Result<Option<Ledger>, BackupFault> {
    let Some((object, _)) = target.list(LEDGER)?.pop() else { return Ok(None) };
    target.get(&object)?.map(|bytes| Ledger::verified(&bytes, public, &object)).transpose()
}

/// The newest key backup as it stands, with its name; none where there is none.
pub(super) fn newest_keys(target: &dyn Target) -> Result<Option<(String, KeyBackup)>, BackupFault> {
    let Some((object, _)) = target.list(KEYS)?.pop() else { return Ok(None) };
    let Some(bytes) = target.get(&object)? else { return Ok(None) };
    let keys = KeyBackup::parse(bytes, &object)?;
    Ok(Some((object, keys)))
}
