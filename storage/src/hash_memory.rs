//! Keyed hashes computed last: a key that is asked for again need not be hashed by BLAKE2b again, which takes ten times as long.
//!
//! A value is told apart by a tag of 128 bits, SipHash under a key that this process drew for itself and that is nowhere else. So
//! no value stands here; two different ones meet with the chance of guessing such a tag.

use parking_lot::Mutex;

use crate::crypto::sodium;
use crate::keyspace::HASH_BYTES;

const SHARDS: usize = 1_024;
// 2^17 of 32 bytes are 4 MiB, in sets of four.
const SETS: usize = 32;
const WAYS: usize = 4;

type Tag = [u8; 16];
type Digest = [u8; HASH_BYTES];

/// See the module.
pub(crate) struct HashMemory {
    key: [u8; 16],
    // Made when first used.
    shards: Box<[Mutex<Box<[(Tag, Digest)]>>]>,
}

impl HashMemory {
    /// Nothing computed yet.
    pub(crate) fn new() -> HashMemory {
        HashMemory { key: sodium::random_array(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// What it holds.
    pub(crate) fn bytes(&self) -> u64 {
        let slots: usize = self.shards.iter().map(|shard| shard.lock().len()).sum();
        (slots * size_of::<(Tag, Digest)>() + self.shards.len() * size_of::<Mutex<Box<[(Tag, Digest)]>>>()) as u64
    }

    /// The keyed hash of some bytes: as computed before, or computed now.
    pub(crate) fn of(&self, bytes: &[u8], compute: impl FnOnce() -> Digest) -> Digest {
        let tag = sodium::short_hash_wide(&self.key, bytes);
        let [a, b, c, d, ..] = tag;
        let place = u32::from_le_bytes([a, b, c, d]) as usize;
        let shard = &self.shards[place % SHARDS];
        let first = place / SHARDS % SETS * WAYS;
        let set = first..first + WAYS;
        let known = |slots: &[(Tag, Digest)]| {
            slots.get(set.clone())?.iter().find(|(known, _)| *known == tag).map(|(_, digest)| *digest)
        };
        if let Some(digest) = known(&shard.lock()) {
            return digest;
        }
        let digest = compute();
        let mut slots = shard.lock();
        if slots.is_empty() {
            // No tag is zero but by the same chance.
            *slots = vec![(Tag::default(), Digest::default()); SETS * WAYS].into();
        }
        // The last of the set goes.
        slots[set.clone()].rotate_right(1);
        slots[first] = (tag, digest);
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
