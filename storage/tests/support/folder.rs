//! What the tests of the store share: a folder that goes away, and rows whose bytes can be looked for.
#![allow(dead_code, unused_imports)] // Each test file uses its part.

#[path = "temporary_folder.rs"]
mod temporary_folder;

pub use temporary_folder::{TemporaryFolder as Folder, copy_folder};

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use repr::{CommitTime, MicroDbId, RelationId, Row, RowKey};
use storage::audit::{AuditActor, AuditEntry, AuditOperation, AuditScope};
use storage::{Batch, OwnerSet, Store, StoreOptions};

/// A table of people.
pub const PEOPLE: RelationId = RelationId(16_384);

/// What the log is told of an operation on people's rows.
pub fn entry(operation: AuditOperation, subjects: &[MicroDbId]) -> AuditEntry {
    AuditEntry {
        time_us: 1_000_000,
        commit: CommitTime(3),
        actor: Arc::new(AuditActor { login: 10, role: 11, purpose: None, address: None }),
        operation,
        statement: [1; 8],
        tables: [PEOPLE].into(),
        key: None,
        subjects: subjects.to_vec(),
        scope: AuditScope::default(),
        rows: 1,
        payload: None,
    }
}

impl Folder {
    pub fn options(&self) -> StoreOptions {
        StoreOptions { block_cache_bytes: 8 << 20, ..StoreOptions::new(&self.0) }
    }

    pub fn open(&self) -> Store {
        Store::open(&self.options()).expect("opens")
    }

    /// Every file below the folder.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.0, &mut files);
        files
    }

    /// The files that hold these bytes.
    pub fn find(&self, bytes: &[u8]) -> Vec<PathBuf> {
        let holds = |path: &PathBuf| {
            fs::read(path).is_ok_and(|content| content.windows(bytes.len()).any(|window| window == bytes))
        };
        self.files().into_iter().filter(holds).collect()
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("reads folder") {
        let path = entry.expect("reads folder").path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

/// A row with these bytes. Storage never looks inside.
pub fn row(bytes: &[u8]) -> Row {
    Row::from_bytes(bytes.into())
}

/// Puts a personal row with its ownership entries.
pub fn put(batch: &mut Batch, store: &Store, relation: RelationId, key: &RowKey, bytes: &[u8], owners: &[MicroDbId]) {
    let owners = OwnerSet::new(owners.iter().copied()).expect("an owner");
    batch.put_personal(store, relation, key, &row(bytes), &owners, 1).expect("seals");
    owners.iter().for_each(|owner| batch.put_owner(relation, key, owner, 1));
}
