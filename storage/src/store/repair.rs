//! Repairs of a stopped server's folder that lose nothing and guess nothing: what stands twice is written anew from the copy
//! that holds, and what can be derived is derived.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::Store;
use super::files::{self, FolderState};
use crate::config::{Mode, StoreOptions};
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::keyring::{Keyring, sync_folder};
use crate::rocks::{self, Access};
use crate::witness::{self, Testimony};

/// What was repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A copy of the keyring's header.
    KeyringHeader,
    /// One copy each of so many data keys.
    Keys(u64),
    /// The published key, from the keyring.
    PublicKey,
    /// The name of the storage engine's only manifest.
    Current,
    /// A copy of the witness.
    WitnessCopy,
    /// The witness, from a store that shows no damage: nothing else can vouch for its last commits now.
    Witness,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::KeyringHeader => f.write_str("a copy of the keyring's header was written anew from the other"),
            Repair::Keys(keys) => write!(f, "one copy each of {keys} data keys was written anew from the other"),
            Repair::PublicKey => f.write_str("\"public.key\" was written anew from the keyring"),
            Repair::Current => f.write_str("\"CURRENT\" was written anew with the name of the only manifest"),
            Repair::WitnessCopy => f.write_str("a copy of \"witness\" was written anew from the other"),
            Repair::Witness => f.write_str(
                "\"witness\" was written anew from a store that shows no damage: whether its last commits are \
                 all that were acknowledged can no longer be told",
            ),
        }
    }
}

impl Store {
    /// Repairs what can be, and says what. What cannot be is refused as `open` does, after the rest.
    pub fn repair(options: &StoreOptions) -> Result<Vec<Repair>, StorageError> {
        sodium::initialize();
        sodium::forbid_core_dumps();
        let options = StoreOptions { mode: Mode::Salvage, ..options.clone() };
        let (lock, state) = files::prepare(&options)?;
        let mut repairs = Vec::new();
        repair_keys(&options, state, &mut repairs)?;
        let current = repair_current(&options)?;
        let options = StoreOptions { mode: Mode::Check, ..options };
        let judged = Store::assemble(&options, lock.map(Arc::new), state, Access::Read)
            .and_then(|reading| Ok((reading.judge(state)?.opening, reading.position())));
        let (opening, position) = match judged {
            Ok(judged) => judged,
            Err(error) => {
                // It was not the manifest of what was acknowledged.
                if let Some(current) = &current {
                    std::fs::remove_file(current).map_err(StorageError::io("remove", current))?;
                }
                return Err(error);
            }
        };
        repairs.extend(current.map(|_| Repair::Current));
        let path = files::witness(&options);
        match state {
            FolderState::New | FolderState::Witnessed { damaged: false, .. } => {}
            FolderState::Witnessed { damaged: true, testimony, .. } => {
                witness::create(&path, &testimony)?;
                repairs.push(Repair::WitnessCopy);
            }
            // One of before there were witnesses gets its own at its next start.
            FolderState::Unwitnessed if opening.is_none() => {}
            FolderState::Unwitnessed => {
                let testimony = Testimony {
                    live: true,
                    database: database(&options)?,
                    opening: opening.unwrap_or_default(),
                    opening_before: opening.unwrap_or_default(),
                    acknowledged: position,
                };
                witness::create(&path, &testimony)?;
                repairs.push(Repair::Witness);
            }
        }
        Ok(repairs)
    }
}

fn open_keyring(options: &StoreOptions, state: FolderState) -> Result<Keyring, StorageError> {
    let database = match &state {
        FolderState::Witnessed { testimony, .. } => Some(&testimony.database),
        FolderState::New | FolderState::Unwitnessed => None,
    };
    Keyring::open(&files::keyring(options), &*options.root_key(), true, database)
}

fn database(options: &StoreOptions) -> Result<[u8; 16], StorageError> {
    Ok(*open_keyring(options, FolderState::Unwitnessed)?.database())
}

fn repair_keys(options: &StoreOptions, state: FolderState, repairs: &mut Vec<Repair>) -> Result<(), StorageError> {
    let keyring = open_keyring(options, state)?;
    if keyring.has_damaged_header() {
        keyring.rewrite_header()?;
        repairs.push(Repair::KeyringHeader);
    }
    let keys = keyring.repair()?;
    if keys > 0 {
        repairs.push(Repair::Keys(keys));
    }
    let public = keyring.signing().public();
    match files::check_public_key(options, &public) {
        Ok(true) => {}
        Ok(false) | Err(StorageError::FileDamaged { .. }) => {
            files::publish_key(options, &public)?;
            repairs.push(Repair::PublicKey);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Writes CURRENT where it is missing or damaged and there is one manifest only. Its path, if it was written.
fn repair_current(options: &StoreOptions) -> Result<Option<PathBuf>, StorageError> {
    let folder = files::rocks(options);
    let current = folder.join("CURRENT");
    let wrong = match rocks::check_files(&folder) {
        Ok(()) => return Ok(None),
        Err(error) => error,
    };
    match &wrong {
        StorageError::FileMissing { path } | StorageError::FileDamaged { path, .. } if *path == current => {}
        _ => return Err(wrong),
    }
    let mut manifests = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(StorageError::io("list", &folder))? {
        let name = entry.map_err(StorageError::io("list", &folder))?.file_name();
        manifests.extend(name.into_string().ok().filter(|name| name.starts_with("MANIFEST-")));
    }
    let [manifest] = manifests.as_slice() else { return Err(wrong) };
    files::write_whole(&current, &format!("{manifest}\n"))?;
    sync_folder(&current)?;
    Ok(Some(current))
}
