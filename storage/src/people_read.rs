//! Whose rows are read through a snapshot, as far as they are few: for the audit log.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use repr::{MicroDbId, RelationId, RowKey};

use crate::audit::SUBJECTS_LISTED_MAX;

/// See the module. Told of every copy that is opened or found in memory; never holds a row.
#[derive(Default)]
pub struct PeopleRead {
    /// Relations whose rows may have several owners.
    joint: Arc<HashSet<RelationId>>,
    /// There are too many to be listed.
    many: AtomicBool,
    seen: Mutex<Seen>,
}

/// What was read.
#[derive(Default)]
pub struct Seen {
    /// Whose copies, some of them more than once.
    pub people: Vec<MicroDbId>,
    /// Rows that may have more owners.
    pub joint: Vec<(RelationId, RowKey)>,
    /// People were too many to be listed.
    pub many: bool,
}

impl PeopleRead {
    /// Nobody yet. Of rows of the `joint` relations it is noted which they are.
    pub fn new(joint: Arc<HashSet<RelationId>>) -> PeopleRead {
        PeopleRead { joint, ..PeopleRead::default() }
    }

    /// For another statement, that has read nobody's yet either.
    pub fn renew(&mut self, joint: Arc<HashSet<RelationId>>) {
        self.joint = joint;
        self.many = AtomicBool::new(false);
        let seen = self.seen.get_mut();
        seen.people.clear();
        seen.joint.clear();
    }

    /// Whether rows may have several owners anywhere.
    pub fn has_joint(&self) -> bool {
        !self.joint.is_empty()
    }

    /// What was read until now; from here on it is noted anew.
    pub fn take(&self) -> Seen {
        let seen = std::mem::take(&mut *self.seen.lock());
        Seen { many: self.many.swap(false, Ordering::Relaxed), ..seen }
    }

    /// Whether anything was read.
    pub fn is_empty(&self) -> bool {
        !self.many.load(Ordering::Relaxed) && self.seen.lock().people.is_empty()
    }

    pub(crate) fn note(&self, relation: RelationId, owner: MicroDbId, key: &RowKey) {
        self.note_by(relation, owner, || key.clone());
    }

    /// The same, where a key is made only if it is noted.
    pub(crate) fn note_by(&self, relation: RelationId, owner: MicroDbId, key: impl FnOnce() -> RowKey) {
        if self.many.load(Ordering::Relaxed) {
            return;
        }
        let mut seen = self.seen.lock();
        if seen.people.last() != Some(&owner) {
            if seen.people.len() >= 2 * SUBJECTS_LISTED_MAX {
                seen.people.sort_unstable();
                seen.people.dedup();
            }
            if seen.people.len() > SUBJECTS_LISTED_MAX {
                return self.give_up(&mut seen);
            }
            seen.people.push(owner);
        }
        if self.joint.contains(&relation) {
            if seen.joint.len() >= SUBJECTS_LISTED_MAX {
                return self.give_up(&mut seen);
            }
            seen.joint.push((relation, key()));
        }
    }

    fn give_up(&self, seen: &mut Seen) {
        self.many.store(true, Ordering::Relaxed);
        *seen = Seen::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(number: u64) -> MicroDbId {
        let mut id = [0; 6];
        id.copy_from_slice(&number.to_be_bytes()[2..]);
        crate::microdb::loaded(id)
    }

    #[test]
    fn few_are_listed_and_many_are_not() {
        let (own, joint) = (RelationId(1), RelationId(2));
        let read = PeopleRead::new(Arc::new([joint].into()));
        let key = RowKey::new(&[7; 16]);
        assert!(read.is_empty());
        for round in 0..3 {
            (0..100).for_each(|number| read.note(own, person(number), &key));
            assert!(!read.is_empty(), "round {round}");
        }
        read.note(joint, person(5), &key);
        let Seen { mut people, joint: rows, many } = read.take();
        people.sort_unstable();
        people.dedup();
        assert_eq!((people.len(), rows.len(), many), (100, 1, false));
        assert!(read.is_empty());
        (0..5_000).for_each(|number| read.note(own, person(number % 2_500), &key));
        let seen = read.take();
        assert!(seen.many && seen.people.is_empty());
        (0..1_500).for_each(|_| read.note(joint, person(1), &key));
        assert!(read.take().many, "so many rows may have many owners");
    }
}
