//! What every reader starts from: one pointer to one consistent state of the whole database.

use crate::overlay::Owners;
use crate::shape::Schema;
use crate::usage::Usage;
use crate::view_states::Views;
use parking_lot::Mutex;
use planner::catalog::Catalog;
use repr::{CommitTime, IndexId, MicroDbId, RelationId, Row, RowKey};
use std::sync::Arc;
use storage::{IndexProbe, OwnerProbe, Snapshot, StorageError, ValueHash};

/// The database as of one commit. Immutable; replaced as a whole by the pipeline.
#[derive(Clone)]
pub struct Published {
    /// The last commit in it.
    pub time: CommitTime,
    /// The clock's moment at that commit, never before an earlier commit's: microseconds since 2000-01-01 UTC.
    pub clock: i64,
    /// The catalog, compiled.
    pub schema: Arc<Schema>,
    /// The leaves.
    pub snapshot: Snapshot,
    /// The same for statements: what they read stays in memory for the next.
    pub kept: Snapshot,
    /// Cursors over them.
    pub probes: Arc<Probes>,
    /// The maintained views.
    pub views: Views,
    /// How often what is in it was read and written, at all times.
    pub usage: Arc<Usage>,
}

impl Published {
    /// The state after a commit, whose views are not there yet.
    #[must_use]
    pub fn followed_by(&self, time: CommitTime, clock: i64, schema: Arc<Schema>, snapshot: Snapshot) -> Published {
        Published {
            time,
            clock,
            schema,
            kept: snapshot.keeping(),
            snapshot,
            probes: Arc::default(),
            views: Views::default(),
            usage: self.usage.clone(),
        }
    }

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
        Ok(self.index_rows_up_to(index, value, usize::MAX)?.unwrap_or_default())
    }

    /// The same for whoever asks for values that were asked for before: from memory, or through a snapshot that may keep them there.
    pub(crate) fn index_rows_again(
        &self,
        through: &Snapshot,
        index: IndexId,
        value: &ValueHash,
    ) -> Result<Vec<(RowKey, Option<MicroDbId>)>, StorageError> {
        Ok(self.index_rows_again_up_to(through, index, value, usize::MAX)?.unwrap_or_default())
    }

    /// As `index_rows_again`, unless they are more than `at_most`.
    pub(crate) fn index_rows_again_up_to(
        &self,
        through: &Snapshot,
        index: IndexId,
        value: &ValueHash,
        at_most: usize,
    ) -> Result<Option<Vec<(RowKey, Option<MicroDbId>)>>, StorageError> {
        if let Some(rows) = through.held_index_rows(index, value) {
            return Ok((rows.len() <= at_most).then_some(rows));
        }
        let rows = self.index_rows_up_to(index, value, at_most)?;
        if let Some(rows) = &rows {
            through.keep_index_rows(index, value, rows);
        }
        Ok(rows)
    }

    /// As `index_rows`, unless they are more than `at_most`.
    pub(crate) fn index_rows_up_to(
        &self,
        index: IndexId,
        value: &ValueHash,
        at_most: usize,
    ) -> Result<Option<Vec<(RowKey, Option<MicroDbId>)>>, StorageError> {
        let ask = |probe: &mut IndexProbe| probe.rows_up_to(index, value, at_most);
        with(&self.probes.index, || self.snapshot.index_probe(), ask)
    }

    /// A row's owners and their derivations, smallest µDB id first; none when the row is absent.
    pub fn owners(&self, relation: RelationId, row_key: &RowKey) -> Result<Owners, StorageError> {
        with(&self.probes.owners, || self.snapshot.owner_probe(), |probe| probe.owners(relation, row_key))
    }

    /// A personal row, but of a table of data subjects.
    pub fn personal(
        &self,
        through: &Snapshot,
        relation: RelationId,
        row_key: &RowKey,
    ) -> Result<Option<Row>, StorageError> {
        Ok(self.personal_located(through, relation, row_key)?.map(|(row, _)| row))
    }

    /// The same, with the owner whose copy was read.
    pub(crate) fn personal_located(
        &self,
        through: &Snapshot,
        relation: RelationId,
        row_key: &RowKey,
    ) -> Result<Option<(Row, MicroDbId)>, StorageError> {
        through.get_owned(relation, row_key, || {
            with(&self.probes.owners, || self.snapshot.owner_probe(), |probe| probe.canonical(relation, row_key))
        })
    }

    /// Whether a personal row is there, but of a table of data subjects.
    pub(crate) fn holds_personal(&self, relation: RelationId, row_key: &RowKey) -> Result<bool, StorageError> {
        with(&self.probes.owners, || self.snapshot.owner_probe(), |probe| probe.exists(relation, row_key))
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

/// Asks the first probe that is free, or a new one.
fn with<P, T>(probes: &[Mutex<Option<P>>], make: impl Fn() -> P, ask: impl FnOnce(&mut P) -> T) -> T {
    match probes.iter().find_map(Mutex::try_lock) {
        Some(mut probe) => ask(probe.get_or_insert_with(make)),
        None => ask(&mut make()),
    }
}
