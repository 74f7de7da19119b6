//! Keyed hashes computed last: a key that is asked for again need not be hashed by BLAKE2b again, which takes ten times as long.
//!
//! A value is told apart by a tag of 128 bits, SipHash under a key that this process drew for itself and that is nowhere else. So
//! no value stands here; two different ones meet with the chance of guessing such a tag.

use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::crypto::sodium;
use crate::keyspace::HASH_BYTES;

// 2^15 sets of two of the processor's lines are 4 MiB.
const SHARDS: usize = 1_024;
const SETS: usize = 32;
const WAYS: usize = 3;

type Tag = [u8; 16];
type Digest = [u8; HASH_BYTES];

/// The values last asked for whose tags fall together, the last first. No tag is zero but by the same chance.
#[derive(Default)]
#[repr(align(128))]
struct DigestSet(Mutex<[(Tag, Digest); WAYS]>);

/// See the module.
pub(crate) struct HashMemory {
    key: [u8; 16],
    // Made when first used; from then on nobody writes here, and what two threads ask for seldom lies in the same line.
    shards: Box<[OnceLock<Box<[DigestSet]>>]>,
}

impl HashMemory {
    /// Nothing computed yet.
    pub(crate) fn new() -> HashMemory {
        HashMemory { key: sodium::random_array(), shards: (0..SHARDS).map(|_| OnceLock::new()).collect() }
    }

    /// What it holds.
    pub(crate) fn bytes(&self) -> u64 {
        let made = self.shards.iter().filter(|shard| shard.get().is_some()).count();
        (made * SETS * size_of::<DigestSet>() + size_of_val(&*self.shards)) as u64
    }

    /// The keyed hash of some bytes: as computed before, or computed now.
    pub(crate) fn of(&self, bytes: &[u8], compute: impl FnOnce() -> Digest) -> Digest {
        let tag = sodium::short_hash_wide(&self.key, bytes);
        let [a, b, c, d, ..] = tag;
        let place = u32::from_le_bytes([a, b, c, d]) as usize;
        let shard = self.shards[place % SHARDS].get_or_init(|| (0..SETS).map(|_| DigestSet::default()).collect());
        let set = &shard[place / SHARDS % SETS].0;
        if let Some((_, digest)) = set.lock().iter().find(|(known, _)| *known == tag) {
            return *digest;
        }
        let digest = compute();
        let mut slots = set.lock();
        // The oldest goes.
        slots.rotate_right(1);
        slots[0] = (tag, digest);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_keeps_its_own() {
        sodium::initialize();
        let memory = HashMemory::new();
        let digest = |of: u32| sodium::keyed_hash::<HASH_BYTES>(&[7; 32], &of.to_le_bytes());
        let mut computed = 0;
        for of in (0..50_000_u32).chain(49_000..50_000) {
            let found = memory.of(&of.to_le_bytes(), || {
                computed += 1;
                digest(of)
            });
            assert_eq!(found, digest(of));
        }
        assert!((50_000..50_050).contains(&computed), "{computed}: the last are still known");
    }
}
