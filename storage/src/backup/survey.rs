//! What stands at a target, looked at before anything is done there: whose it is, its backups, its newest ledger and keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::backup::fault::BackupFault;
use crate::backup::keys::{KEYS, KeyBackup};
use crate::backup::ledger::{LEDGER, Ledger};
use crate::backup::log::LOG;
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
    pub(super) fn of(target: &dyn Target, database: Option<&[u8; 16]>, public: &[u8; 32]) -> Result<Survey, BackupFault> {
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

    /// Removes the backups that are older than a moment, but never the last, and what none of the others names.
    pub(super) fn prune(&mut self, target: &dyn Target, before_us: Option<i64>) -> Result<(), BackupFault> {
        if let Some(before_us) = before_us {
            let last = self.newest().map(|manifest| manifest.id);
            let is_kept = |manifest: &Manifest| manifest.state.time_us >= before_us || Some(manifest.id) == last;
            for manifest in self.manifests.iter().filter(|manifest| !is_kept(manifest)) {
                target.remove(&manifest.object())?;
            }
            self.manifests.retain(is_kept);
        }
        let named: BTreeSet<&str> =
            self.manifests.iter().flat_map(|manifest| &manifest.files).map(|file| file.object.as_str()).collect();
        for object in self.files.keys().filter(|object| !named.contains(object.as_str())) {
            target.remove(object)?;
        }
        self.files.retain(|object, _| named.contains(object.as_str()));
        let chains: BTreeSet<String> =
            self.manifests.iter().map(|manifest| format!("{LOG}{}/", manifest.name())).collect();
        for (object, _) in target.list(LOG)? {
            if !chains.iter().any(|chain| object.starts_with(chain)) {
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
