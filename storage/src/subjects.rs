//! Data subjects found last: whose µDB a subject's row has. A person's row is asked for with every row that refers to it.
//!
//! ```text
//! slot of four:  ── changed ──────── read_at ───────▶ sequence numbers      good for every snapshot from `changed` on
//! ```
//! A slot knows when the last write to any of its keys was done, and takes nothing that was read before that. So what it
//! holds was so at each snapshot since, and it needs no upkeep but that each write says which records it changes. A slot holds
//! four records, so that few of a hundred thousand people who are asked for in turn displace each other.

use parking_lot::Mutex;
use repr::MicroDbId;

use crate::batch::{Batch, Operation};
use crate::keyspace::{FILTER_PREFIX_BYTES, SUBJECTS_BY_ROW};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;

const SHARDS: usize = 2_048;
const SLOTS: usize = 32;
const WAYS: usize = 4;

/// The key of a subject's record, found by its row.
type RecordKey = [u8; 1 + FILTER_PREFIX_BYTES];

/// See the module.
pub(crate) struct Subjects {
    // Made when first used.
    shards: Box<[Mutex<Box<[SubjectSlot]>>]>,
}

#[derive(Clone, Default)]
struct SubjectSlot {
    /// Those found last first.
    found: [Option<(RecordKey, [u8; MICRODB_BYTES])>; WAYS],
    /// The sequence number after the last write here.
    changed: u64,
    /// Writes under way.
    writing: u32,
}

/// A write that may change records, until dropped.
pub(crate) struct Writing<'a, L: Fn() -> u64> {
    subjects: &'a Subjects,
    slots: Vec<usize>,
    latest: L,
}

impl Default for Subjects {
    fn default() -> Self {
        Subjects { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Subjects {
    /// The µDB, if it is known for a snapshot with this sequence number.
    pub(crate) fn find(&self, key: &RecordKey, at: u64) -> Option<MicroDbId> {
        self.with(slot_of(key), |slot| {
            let mut found = slot.found.iter().flatten();
            let (_, microdb) = found.find(|(found, _)| found == key)?;
            (slot.writing == 0 && slot.changed <= at).then(|| microdb::loaded(*microdb))
        })
    }

    /// Notes what a snapshot with this sequence number has.
    pub(crate) fn put(&self, key: &RecordKey, at: u64, microdb: MicroDbId) {
        self.with(slot_of(key), |slot| {
            if slot.writing == 0 && slot.changed <= at {
                let same = slot.found.iter().position(|found| found.is_some_and(|(found, _)| found == *key));
                slot.found[..=same.unwrap_or(WAYS - 1)].rotate_right(1);
                slot.found[0] = Some((*key, microdb::stored(microdb)));
            }
        });
    }

    /// Says that a batch is being written. `latest` gives the sequence number after it.
    pub(crate) fn writing<L: Fn() -> u64>(&self, batch: &Batch, latest: L) -> Writing<'_, L> {
        Writing { subjects: self, slots: self.begin_writing(batch), latest }
    }

    /// The same, until `end_writing`: the slots.
    pub(crate) fn begin_writing(&self, batch: &Batch) -> Vec<usize> {
        let mut slots = Vec::new();
        for operation in batch.operations() {
            match operation {
                Operation::Put(Family::Subjects, key, _) | Operation::Delete(Family::Subjects, key)
                    if key.starts_with(&SUBJECTS_BY_ROW) =>
                {
                    match key.try_into() {
                        Ok(key) => slots.push(slot_of(key)),
                        Err(_) => slots.extend(0..SHARDS * SLOTS),
                    }
                }
                Operation::DeleteRange(Family::Subjects, ..) => slots.extend(0..SHARDS * SLOTS),
                Operation::Put(..) | Operation::Delete(..) | Operation::DeleteRange(..) => {}
            }
        }
        for slot in &slots {
            self.with(*slot, |slot| {
                slot.writing += 1;
                slot.found = Default::default();
            });
        }
        slots
    }

    /// What was begun is over, done or not, with this sequence number.
    pub(crate) fn end_writing(&self, slots: &[usize], latest: u64) {
        for slot in slots {
            self.with(*slot, |slot| {
                slot.writing -= 1;
                slot.changed = slot.changed.max(latest);
            });
        }
    }

    /// What is held, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let slots: usize = self.shards.iter().map(|shard| shard.lock().len()).sum();
        (slots * size_of::<SubjectSlot>() + size_of_val(&*self.shards)) as u64
    }

    fn with<T>(&self, slot: usize, body: impl FnOnce(&mut SubjectSlot) -> T) -> T {
        let mut shard = self.shards[slot / SLOTS].lock();
        if shard.is_empty() {
            *shard = vec![SubjectSlot::default(); SLOTS].into();
        }
        body(&mut shard[slot % SLOTS])
    }
}

impl<L: Fn() -> u64> Drop for Writing<'_, L> {
    fn drop(&mut self) {
        if !self.slots.is_empty() {
            self.subjects.end_writing(&self.slots, (self.latest)());
        }
    }
}

/// Row keys of data subjects are keyed hashes: any bytes of one are hash enough.
fn slot_of(key: &RecordKey) -> usize {
    let [.., a, b, c, d] = *key;
    u32::from_be_bytes([a, b, c, d]) as usize % (SHARDS * SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repr::{RelationId, RowKey};
    use std::cell::Cell;

    fn key(of: u8) -> RecordKey {
        crate::keyspace::subject_by_row(RelationId(7), &RowKey::new(&[of; 16]))
    }

    #[test]
    fn what_is_found_holds_from_the_last_write_on() {
        let (subjects, one, other) =
            (Subjects::default(), crate::microdb::loaded([1; 6]), crate::microdb::loaded([2; 6]));
        let now = Cell::new(10);
        assert_eq!(subjects.find(&key(1), 10), None);
        subjects.put(&key(1), 10, one);
        assert_eq!(subjects.find(&key(1), 10), Some(one));
        assert_eq!(subjects.find(&key(1), 4), Some(one));
        assert_eq!(subjects.find(&key(2), 10), None);
        let mut batch = Batch::default();
        batch.delete_subject(RelationId(7), &RowKey::new(&[1; 16]), one);
        {
            let _writing = subjects.writing(&batch, || now.get());
            assert_eq!(subjects.find(&key(1), 10), None);
            // An older snapshot may still read it, and must not leave it here.
            subjects.put(&key(1), 10, one);
            now.set(12);
        }
        subjects.put(&key(1), 11, one);
        assert_eq!(subjects.find(&key(1), 12), None);
        subjects.put(&key(1), 12, other);
        assert_eq!(subjects.find(&key(1), 11), None);
        assert_eq!(subjects.find(&key(1), 13), Some(other));
    }
}
