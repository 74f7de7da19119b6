//! A keyed permutation of 48-bit numbers: slot numbers outside look random, and lead back without a table.
//!
//! Ten rounds of a balanced Feistel network over 24-bit halves with SipHash-2-4. It hides in which order people signed up
//! from someone who has the disk and not the keyring's secrets; no row's secrecy rests on it.

use crate::crypto::sodium;
use crate::microdb::MICRODB_BYTES;

const ROUNDS: u8 = 10;
const HALF_BITS: u32 = 24;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;

/// The permutation of one database.
pub(crate) struct Permutation {
    key: [u8; 16],
}

impl Permutation {
    pub(crate) fn new(key: [u8; 16]) -> Permutation {
        Permutation { key }
    }

    /// The id of a slot below 2^48.
    pub(crate) fn id(&self, slot: u64) -> [u8; MICRODB_BYTES] {
        assert!(slot >> (2 * HALF_BITS) == 0, "a keyring has fewer than 2^48 slots");
        let (mut left, mut right) = (slot >> HALF_BITS, slot & HALF_MASK);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        let bytes = (left << HALF_BITS | right).to_be_bytes();
        bytes[2..].try_into().expect("eight bytes less two")
    }

    /// The slot of an id.
    pub(crate) fn slot(&self, id: [u8; MICRODB_BYTES]) -> u64 {
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&id);
        let number = u64::from_be_bytes(bytes);
        let (mut left, mut right) = (number >> HALF_BITS, number & HALF_MASK);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        left << HALF_BITS | right
    }

    fn round(&self, round: u8, half: u64) -> u64 {
        let [.., a, b, c] = half.to_be_bytes();
        sodium::short_hash(&self.key, &[round, a, b, c]) & HALF_MASK
    }
}

impl Drop for Permutation {
    fn drop(&mut self) {
        sodium::wipe(&mut self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn ids_lead_back_to_their_slots_and_differ() {
        let permutation = Permutation::new([5; 16]);
        let slots = (0..5000).chain([(1 << 24) - 1, 1 << 24, (1 << 48) - 1]);
        let mut ids: Vec<[u8; 6]> = slots
            .inspect(|slot| assert_eq!(permutation.slot(permutation.id(*slot)), *slot))
            .map(|slot| permutation.id(slot))
            .collect();
        let in_order = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((2000..3000).contains(&in_order), "the order of slots shows in ids");
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5003);
    }
}
