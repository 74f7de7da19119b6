//! Keyed hashes computed last: a key that is asked for again need not be hashed by BLAKE2b again, which takes ten times as long.
//!
//! A value is told apart by a tag of 128 bits, SipHash under a key that this process drew for itself and that is nowhere else. So
//! no value stands here; two different ones meet with the chance of guessing such a tag.

use parking_lot::Mutex;

use crate::crypto::sodium;
use crate::keyspace::HASH_BYTES;

const SHARDS: usize = 1_024;
// 2^16 of 32 bytes are 2 MiB.
const SLOTS: usize = 64;

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
        let place = place / SHARDS % SLOTS;
        match shard.lock().get(place) {
            Some((known, digest)) if *known == tag => return *digest,
            Some(_) | None => {}
        }
        let digest = compute();
        let mut slots = shard.lock();
        if slots.is_empty() {
            // No tag is zero but by the same chance.
            *slots = vec![(Tag::default(), Digest::default()); SLOTS].into();
        }
        slots[place] = (tag, digest);
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
        assert!((50_000..50_900).contains(&computed), "{computed}: some of the last are still known");
    }
}
