//! What every reader starts from: one pointer to one consistent state of the whole database.

use crate::overlay::Owners;
use crate::shape::Schema;
use crate::view::published::Views;
use parking_lot::Mutex;
use planner::catalog::Catalog;
use repr::{CommitTime, IndexId, MicroDbId, RelationId, RowKey};
use std::sync::Arc;
use storage::{IndexProbe, OwnerProbe, Snapshot, StorageError, ValueHash};

/// The database as of one commit. Immutable; replaced as a whole by the pipeline.
#[derive(Clone)]
pub struct Published {
    /// The last commit in it.
    pub time: CommitTime,
    /// The catalog, compiled.
    pub schema: Arc<Schema>,
    /// The leaves.
    pub snapshot: Snapshot,
    /// Cursors over them.
    pub probes: Arc<Probes>,
    /// The maintained views.
    pub views: Views,
}

impl Published {
    /// The catalog at this time.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.schema.catalog()
    }

    /// The rows with a hashed value of an index, each with its locator.
    pub fn index_rows(
        &self,
        index: IndexId,
        value: &ValueHash,
    ) -> Result<Vec<(RowKey, Option<MicroDbId>)>, StorageError> {
        for probe in &self.probes.index {
            if let Some(mut probe) = probe.try_lock() {
                return probe.get_or_insert_with(|| self.snapshot.index_probe()).rows(index, value);
            }
        }
        self.snapshot.index_hashed(index, value)
    }

    /// A row's owners and their derivations, smallest µDB id first; none when the row is absent.
    pub fn owners(&self, relation: RelationId, row_key: &RowKey) -> Result<Owners, StorageError> {
        for probe in &self.probes.owners {
            if let Some(mut probe) = probe.try_lock() {
                return probe.get_or_insert_with(|| self.snapshot.owner_probe()).owners(relation, row_key);
            }
        }
        self.snapshot.owners(relation, row_key)
    }
}

/// Cursors that whoever reads this state may use, one at a time: they cost more to make than to move. Who finds all in
/// use makes one of their own.
#[derive(Default)]
pub struct Probes {
    index: [Mutex<Option<IndexProbe>>; PROBES],
    owners: [Mutex<Option<OwnerProbe>>; PROBES],
}

const PROBES: usize = 4;
