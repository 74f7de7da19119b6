//! Where a row's copy was found last: a guess that spares the look-up of its owner.
//!
//! A guess is only ever asked for a copy at its full key, in a snapshot: a wrong or old one finds nothing there, and the owner is
//! looked up after all. So it needs no upkeep when owners change or people are forgotten. It holds no row and no key.

use std::sync::atomic::{AtomicU64, Ordering};

use repr::{MicroDbId, RelationId, RowKey};

use crate::keyspace;
use crate::microdb;

// 2^16 sets of four guesses, each a line of the processor's cache, are 4 MiB.
const SETS: usize = 1 << 16;
const WAYS: usize = 4;

/// Guesses for the rows read last: of those that fall into one set, for the last four that were looked up.
pub(crate) struct LocationCache {
    sets: Box<[HintSet]>,
}

#[derive(Default)]
#[repr(align(64))]
struct HintSet([HintSlot; WAYS]);

/// `mark ^ owner` and `owner`: two threads that write at once leave a pair that no mark fits.
#[derive(Default)]
struct HintSlot {
    mixed: AtomicU64,
    owner: AtomicU64,
}

impl HintSlot {
    fn load(&self) -> (u64, u64) {
        (self.mixed.load(Ordering::Relaxed), self.owner.load(Ordering::Relaxed))
    }

    fn store(&self, (mixed, owner): (u64, u64)) {
        self.mixed.store(mixed, Ordering::Relaxed);
        self.owner.store(owner, Ordering::Relaxed);
    }

    /// Whom it names for this mark, if it is of that.
    fn owner_for(&self, mark: u64) -> Option<u64> {
        let (mixed, owner) = self.load();
        (owner != 0 && mixed ^ owner == mark).then_some(owner)
    }
}

impl Default for LocationCache {
    fn default() -> LocationCache {
        LocationCache { sets: (0..SETS).map(|_| HintSet::default()).collect() }
    }
}

impl LocationCache {
    /// The owner whose copy was read last.
    pub(crate) fn get(&self, relation: RelationId, key: &RowKey) -> Option<MicroDbId> {
        let mark = mark(relation, key);
        let [_, _, id @ ..] = self.set_of(mark).iter().find_map(|slot| slot.owner_for(mark))?.to_be_bytes();
        Some(microdb::loaded(id))
    }

    /// Notes whose copy was read.
    pub(crate) fn set(&self, relation: RelationId, key: &RowKey, owner: MicroDbId) {
        let mark = mark(relation, key);
        let slots = self.set_of(mark);
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&microdb::stored(owner));
        let owner = u64::from_be_bytes(bytes);
        // A new one is the first, and the last one goes.
        let place = slots.iter().position(|slot| slot.owner_for(mark).is_some()).unwrap_or_else(|| {
            (1..WAYS).rev().for_each(|place| slots[place].store(slots[place - 1].load()));
            0
        });
        slots[place].store((mark ^ owner, owner));
    }

    fn set_of(&self, mark: u64) -> &[HintSlot; WAYS] {
        &self.sets[mark as usize % SETS].0
    }
}

/// Row keys of personal tables are keyed hashes: any eight bytes of one are hash enough.
fn mark(relation: RelationId, key: &RowKey) -> u64 {
    let hash = keyspace::personal_key(key).first_chunk().expect("sixteen bytes begin with eight");
    u64::from_be_bytes(*hash) ^ u64::from(relation.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_of_its_relation_and_row() {
        let hints = LocationCache::default();
        let (one, other) = (RowKey::new(&[7; 16]), RowKey::new(&[8; 16]));
        let owner = microdb::loaded([1, 2, 3, 4, 5, 6]);
        hints.set(RelationId(3), &one, owner);
        assert_eq!(hints.get(RelationId(3), &one), Some(owner));
        assert_eq!(hints.get(RelationId(4), &one), None);
        assert_eq!(hints.get(RelationId(3), &other), None);
        let moved = microdb::loaded([6, 5, 4, 3, 2, 1]);
        hints.set(RelationId(3), &one, moved);
        assert_eq!(hints.get(RelationId(3), &one), Some(moved));
    }

    #[test]
    fn the_last_of_a_set_are_known() {
        let hints = LocationCache::default();
        let owner = microdb::loaded([1, 2, 3, 4, 5, 6]);
        // What tells them apart is not what a set is found by.
        let keys: Vec<RowKey> =
            (0..6_u8).map(|first| RowKey::new(&[first; 4].into_iter().chain([7; 12]).collect::<Vec<_>>())).collect();
        keys.iter().for_each(|key| hints.set(RelationId(3), key, owner));
        let known: Vec<bool> = keys.iter().map(|key| hints.get(RelationId(3), key).is_some()).collect();
        assert_eq!(known, [false, false, true, true, true, true]);
        // One that is there displaces none.
        hints.set(RelationId(3), &keys[2], owner);
        assert!(keys[2..].iter().all(|key| hints.get(RelationId(3), key) == Some(owner)));
    }
}
