//! What a transaction has learned of what is committed while it wrote, so that deriving its owners need not look again.
//!
//! ```text
//! statements: whose copy a changed row was read from ─┐
//!             which parent a row refers to            ├─▶ Known, since the earliest of their snapshots ─▶ derivation
//! ```
//! Nothing here is a promise: a derivation that uses it notes the same marks as if it had looked, and is based on `since`, so
//! that whatever was changed after that is found before the commit. Never holds a row.

use crate::write::foreign_key::KeptParents;
use parking_lot::Mutex;
use repr::{CommitTime, Id, MicroDbId, RelationId, RowKey};

/// More are looked up again.
const OWNERS_MAX: usize = 64;

/// The one owner of each of some rows, of tables whose rows have no more.
#[derive(Default)]
pub struct OwnersSeen {
    // One thread reads for a statement.
    seen: Mutex<Vec<Seen>>,
}

struct Seen {
    relation: RelationId,
    row_key: RowKey,
    owner: MicroDbId,
    at: CommitTime,
}

impl OwnersSeen {
    /// Notes whose copy was read in the snapshot of a commit.
    pub fn note(&self, relation: RelationId, row_key: &RowKey, owner: MicroDbId, at: CommitTime) {
        let mut seen = self.seen.lock();
        if seen.len() < OWNERS_MAX {
            seen.push(Seen { relation, row_key: row_key.clone(), owner, at });
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Known {
    owners: Vec<Seen>,
    parents: KeptParents,
}

impl Known {
    /// Takes over what a transaction has learned; nothing is left there.
    pub fn take(seen: &OwnersSeen, parents: &mut KeptParents) -> Known {
        Known { owners: std::mem::take(&mut *seen.seen.lock()), parents: std::mem::take(parents) }
    }

    /// The commit as of which all of it was so; none if nothing is known.
    pub fn since(&self) -> Option<CommitTime> {
        self.owners.iter().map(|seen| seen.at).chain(self.parents.since()).min()
    }

    /// A row's one owner.
    pub fn owner(&self, relation: RelationId, row_key: &RowKey) -> Option<MicroDbId> {
        // What was seen last is the nearest to what is.
        let mut seen = self.owners.iter().rev();
        seen.find(|seen| seen.relation == relation && seen.row_key == *row_key).map(|seen| seen.owner)
    }

    /// The row that a foreign key's canonical value refers to, and its µDB if it is a data subject.
    pub fn parent(&self, constraint: Id, value: &[u8]) -> Option<(&RowKey, Option<MicroDbId>)> {
        self.parents.find(constraint, value)
    }
}
