//! Indexes that are being filled beside commits, by the transactions that define them.
//!
//! ```text
//! begin ─▶ intent ─▶ rows as of a commit, entries written ─▶ COMMIT: rows whose owners have changed since ─▶ the definition
//!            └──────────────────────────── ends otherwise ─▶ the entries go
//! ```
//! The transaction has locked the table, so its rows stay as they are. Their owners may change with other tables' rows, and with
//! them whose copy an entry names: the commit stage notes these rows here. While any build is under way whose transaction has
//! ended, nobody defines anything: a number may come again.

use crate::commit::Outcome;
use crate::database::Database;
use crate::ownership::Derivation;
use parking_lot::Mutex;
use repr::{CommitTime, IndexId, RelationId, RowKey, poll};
use state::SqlError;
use state::clock::now_micros;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{Patience, TransactionId};
use state::overlay::{Overlay, UndoPosition};
use state::published::Published;
use state::reader::Reader;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use storage::{Batch, Store};

/// Entries that are written at once: others wait for no more.
pub(crate) const ENTRIES_AT_ONCE: usize = 4_096;
/// Of more rows whose owners change meanwhile the index is not made.
const MOVED_ROWS_MAX: usize = 1 << 20;
/// Whoever waits for a build to be taken away looks again after so long.
const POLL: Duration = Duration::from_millis(1);

/// See the module.
#[derive(Default)]
pub struct Builds {
    under_way: Mutex<BTreeMap<IndexId, Build>>,
    /// How many, to be asked for without the lock.
    count: AtomicUsize,
}

struct Build {
    transaction: TransactionId,
    relation: RelationId,
    /// Rows whose owners changed, and when.
    moved: Vec<(CommitTime, RowKey)>,
    /// They were too many to be kept.
    lost: bool,
    /// Its entries could not be taken away yet.
    left: bool,
}

impl Builds {
    /// Notes for builds which rows a commit has placed.
    pub(crate) fn note(&self, derivation: &Derivation, time: CommitTime) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        for build in self.under_way.lock().values_mut() {
            let Some(rows) = derivation.tables.get(&build.relation) else { continue };
            build.lost |= build.moved.len() + rows.len() > MOVED_ROWS_MAX;
            if !build.lost {
                build.moved.extend(rows.keys().map(|row_key| (time, row_key.clone())));
            }
        }
    }

    fn take_moved(&self, index: IndexId, until: CommitTime) -> Result<Vec<RowKey>, SqlError> {
        let mut under_way = self.under_way.lock();
        let Some(build) = under_way.get_mut(&index) else { return Ok(Vec::new()) };
        if build.lost {
            return Err(SqlError::new("40001", "the owners of too many rows changed while their index was made")
                .hint("retry the transaction"));
        }
        let (now, later) = std::mem::take(&mut build.moved).into_iter().partition(|(time, _)| *time <= until);
        build.moved = later;
        let now: Vec<(CommitTime, RowKey)> = now;
        Ok(now.into_iter().map(|(_, row_key)| row_key).collect())
    }

    fn remove(&self, index: IndexId) {
        let mut under_way = self.under_way.lock();
        under_way.remove(&index);
        self.count.store(under_way.len(), Ordering::Release);
    }
}

/// An index that a transaction fills. Dropped before it is published, its entries are taken away.
pub struct IndexBuild {
    database: Arc<Database>,
    relation: RelationId,
    index: IndexId,
    /// Where the overlay stood before it.
    pub(crate) mark: UndoPosition,
    stands: Stands,
}

/// What becomes of an index when the transaction ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// It goes.
    No,
    /// Only the next start can tell.
    Perhaps,
    /// It is published.
    Yes,
}

impl IndexBuild {
    /// Begins one under a number that nobody has. From here on it is noted which rows change owners.
    pub(crate) fn begin(
        database: &Arc<Database>,
        transaction: TransactionId,
        (relation, index): (RelationId, IndexId),
        mark: UndoPosition,
    ) -> Result<IndexBuild, SqlError> {
        let builds = &database.sessions.builds;
        {
            let mut under_way = builds.under_way.lock();
            let build = Build { transaction, relation, moved: Vec::new(), lost: false, left: false };
            under_way.insert(index, build);
            builds.count.store(under_way.len(), Ordering::Release);
        }
        let build = IndexBuild { database: database.clone(), relation, index, mark, stands: Stands::No };
        database.store.begin_index(index)?;
        Ok(build)
    }

    /// Writes anew the entries of rows whose owners have changed up to this state, since it was last asked.
    pub(crate) fn follow(&self, overlay: &Overlay, base: &Arc<Published>) -> Result<(), SqlError> {
        let store = &self.database.store;
        let moved = self.database.sessions.builds.take_moved(self.index, base.time)?;
        // It may be gone again with its table.
        let shape = overlay.schema().shape(self.relation).filter(|shape| shape.table().index(self.index).is_some());
        let Some(shape) = shape else { return Ok(()) };
        let below = LayeredSnapshot::new(store.clone(), base.clone());
        for some in moved.chunks(ENTRIES_AT_ONCE) {
            let mut entries = Batch::default();
            for row_key in some {
                poll::step()?;
                if let Some(row) = below.get(shape.table(), row_key)?
                    && let Some(value) = shape.index_value_of(shape.index(self.index), &row)
                {
                    let locator = below.owners_of(self.relation, row_key)?.first().map(|(owner, _)| *owner);
                    let value = store.hash_index_once(self.index, &value);
                    entries.put_index_hashed(self.index, &value, row_key, locator);
                }
            }
            store.fill_index(entries)?;
        }
        Ok(())
    }

    /// The pipeline has the definition.
    pub(crate) fn hand_over(&mut self) {
        self.stands = Stands::Perhaps;
    }

    /// And says what became of it.
    pub(crate) fn hear(&mut self, outcome: &Outcome) {
        self.stands = match outcome {
            Outcome::Committed(_) => Stands::Yes,
            Outcome::Refused(_) | Outcome::Again => Stands::No,
        };
    }
}

impl Drop for IndexBuild {
    fn drop(&mut self) {
        let builds = &self.database.sessions.builds;
        match self.stands {
            Stands::Yes => builds.remove(self.index),
            Stands::Perhaps => {}
            Stands::No => match self.database.store.remove_index(self.index, now_micros()) {
                Ok(()) => builds.remove(self.index),
                Err(error) => {
                    tracing::error!(target: "dogwood::storage", "entries of an index that came to nothing are left: {error}");
                    builds.under_way.lock().entry(self.index).and_modify(|build| build.left = true);
                }
            },
        }
    }
}

/// Waits until no other transaction's build is under way, for whoever has locked the catalog: theirs have ended.
pub(crate) fn await_others(
    database: &Database,
    transaction: TransactionId,
    patience: &Patience,
) -> Result<(), SqlError> {
    let builds = &database.sessions.builds;
    while builds.count.load(Ordering::Acquire) > 0 {
        let others: Vec<(IndexId, bool)> = {
            let under_way = builds.under_way.lock();
            let others = under_way.iter().filter(|(_, build)| build.transaction != transaction);
            others.map(|(index, build)| (*index, build.left)).collect()
        };
        if others.is_empty() {
            return Ok(());
        }
        for (index, _) in others.into_iter().filter(|(_, left)| *left) {
            database.store.remove_index(index, now_micros())?;
            builds.remove(index);
        }
        patience.check()?;
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// At a start: takes away what a server that was killed had not filled.
pub(crate) fn remove_unfinished(store: &Store) -> Result<(), SqlError> {
    if store.is_read_only() {
        return Ok(());
    }
    for index in store.unfinished_indexes()? {
        store.remove_index(index, now_micros())?;
        tracing::info!(target: "dogwood::storage", "an index that was being made when the server ended is taken away");
    }
    Ok(())
}
