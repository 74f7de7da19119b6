//! What a transaction has learned of what is committed while it wrote, so that deriving its owners need not look again.
//!
//! ```text
//! statements: whose copy a changed row was read from ─┐
//!             which parent a row refers to            ├─▶ OwnershipHints, since the earliest of their snapshots ─▶ derivation
//! ```
//! Nothing here is a promise: a derivation that uses it notes the same marks as if it had looked, and is based on `since`, so
//! that whatever was changed after that is found before the commit. Never holds a row.

use parking_lot::Mutex;
use repr::hash::HashMap;
use repr::{CommitTime, Id, MicroDbId, RelationId, RowKey};

/// More are looked up again.
const OWNERS_MAX: usize = 1 << 16;

/// The one owner of each of some rows, of tables whose rows have no more.
#[derive(Default)]
pub struct ObservedOwners {
    // One thread reads for a statement.
    seen: Mutex<Vec<SeenRow>>,
}

#[derive(Clone)]
struct SeenRow {
    relation: RelationId,
    row_key: RowKey,
    owner: MicroDbId,
    at: CommitTime,
}

impl SeenRow {
    fn place(&self) -> (RelationId, &RowKey) {
        (self.relation, &self.row_key)
    }
}

impl ObservedOwners {
    /// Notes whose copy was read in the snapshot of a commit.
    pub fn note(&self, relation: RelationId, row_key: &RowKey, owner: MicroDbId, at: CommitTime) {
        self.note_all(relation, std::iter::once((row_key, owner)), at);
    }

    /// The same of many rows of a table.
    pub fn note_all<'r>(
        &self,
        relation: RelationId,
        rows: impl Iterator<Item = (&'r RowKey, MicroDbId)>,
        at: CommitTime,
    ) {
        let mut seen = self.seen.lock();
        let room = OWNERS_MAX.saturating_sub(seen.len());
        seen.extend(rows.take(room).map(|(row_key, owner)| SeenRow { relation, row_key: row_key.clone(), owner, at }));
    }

    /// What is noted so far.
    pub fn hints(&self) -> OwnershipHints {
        OwnershipHints::new(self.seen.lock().clone(), KeptParents::default())
    }
}

/// Parents that a transaction has found and keeps from going by its lock, so that the next child of one need not look again.
#[derive(Default)]
pub struct KeptParents {
    by_constraint: HashMap<Id, HashMap<Vec<u8>, Parent>>,
    count: usize,
    since: Option<CommitTime>,
}

/// A row that others refer to.
pub struct Parent {
    /// Its key.
    pub row_key: RowKey,
    /// Of a data subject, if rows are owned along the foreign key.
    pub microdb: Option<MicroDbId>,
}

// Beyond this, parents are looked up for each child.
const KEPT_PARENTS_MAX: usize = 1 << 17;

impl KeptParents {
    /// The row, if it was found before, with its µDB if that was asked for.
    pub fn find(&self, constraint: Id, value: &[u8]) -> Option<(&RowKey, Option<MicroDbId>)> {
        let parent = self.by_constraint.get(&constraint)?.get(value)?;
        Some((&parent.row_key, parent.microdb))
    }
    /// The commit as of which all were there; none if there are none.
    pub fn since(&self) -> Option<CommitTime> {
        self.since
    }
    /// Keeps one that was found in the state of a commit, and locked.
    pub fn keep(&mut self, constraint: Id, value: Vec<u8>, parent: Parent, at: CommitTime) {
        if self.count < KEPT_PARENTS_MAX {
            self.count += 1;
            self.since = Some(self.since.map_or(at, |since| since.min(at)));
            self.by_constraint.entry(constraint).or_default().insert(value, parent);
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct OwnershipHints {
    /// By table and row; of one row in the order in which they were seen.
    owners: Vec<SeenRow>,
    parents: KeptParents,
}

impl OwnershipHints {
    /// Takes over what a transaction has learned; nothing is left there.
    pub fn take(seen: &ObservedOwners, parents: &mut KeptParents) -> OwnershipHints {
        OwnershipHints::new(std::mem::take(&mut *seen.seen.lock()), std::mem::take(parents))
    }

    fn new(mut owners: Vec<SeenRow>, parents: KeptParents) -> OwnershipHints {
        owners.sort_by(|one, other| one.place().cmp(&other.place()));
        OwnershipHints { owners, parents }
    }

    /// The commit as of which all of it was so; none if nothing is known.
    pub fn since(&self) -> Option<CommitTime> {
        self.owners.iter().map(|seen| seen.at).chain(self.parents.since()).min()
    }

    /// A row's one owner.
    pub fn owner(&self, relation: RelationId, row_key: &RowKey) -> Option<MicroDbId> {
        // What was seen last is the nearest to what is.
        let up_to = self.owners.partition_point(|seen| seen.place() <= (relation, row_key));
        let last = self.owners[..up_to].last()?;
        (last.place() == (relation, row_key)).then_some(last.owner)
    }

    /// The row that a foreign key's canonical value refers to, and its µDB if it is a data subject.
    pub fn parent(&self, constraint: Id, value: &[u8]) -> Option<(&RowKey, Option<MicroDbId>)> {
        self.parents.find(constraint, value)
    }
}
