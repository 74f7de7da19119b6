//! Where a row's copy was found last: a guess that spares the look-up of its owner.
//!
//! A guess is only ever asked for a copy at its full key, in a snapshot: a wrong or old one finds nothing there, and the owner is
//! looked up after all. So it needs no upkeep when owners change or people are forgotten. It holds no row and no key.

use std::sync::atomic::{AtomicU64, Ordering};

use repr::{MicroDbId, RelationId, RowKey};

use crate::keyspace;
use crate::microdb;

// 2^17 guesses of 16 bytes are 2 MiB.
const SLOTS: usize = 1 << 17;

/// Guesses for the rows read last.
pub(crate) struct LocationCache {
    slots: Box<[HintSlot]>,
}

/// `mark ^ owner` and `owner`: two threads that write at once leave a pair that no mark fits.
#[derive(Default)]
struct HintSlot {
    mixed: AtomicU64,
    owner: AtomicU64,
}

impl Default for LocationCache {
    fn default() -> LocationCache {
        LocationCache { slots: (0..SLOTS).map(|_| HintSlot::default()).collect() }
    }
}

impl LocationCache {
    /// The owner whose copy was read last.
    pub(crate) fn get(&self, relation: RelationId, key: &RowKey) -> Option<MicroDbId> {
        let mark = mark(relation, key);
        let slot = &self.slots[mark as usize % SLOTS];
        let (mixed, owner) = (slot.mixed.load(Ordering::Relaxed), slot.owner.load(Ordering::Relaxed));
        (owner != 0 && mixed ^ owner == mark).then(|| {
            let [_, _, id @ ..] = owner.to_be_bytes();
            microdb::loaded(id)
        })
    }

    /// Notes whose copy was read.
    pub(crate) fn set(&self, relation: RelationId, key: &RowKey, owner: MicroDbId) {
        let mark = mark(relation, key);
        let slot = &self.slots[mark as usize % SLOTS];
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&microdb::stored(owner));
        let owner = u64::from_be_bytes(bytes);
        slot.mixed.store(mark ^ owner, Ordering::Relaxed);
        slot.owner.store(owner, Ordering::Relaxed);
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
    }
}
