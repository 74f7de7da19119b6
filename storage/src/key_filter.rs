//! Which keys are surely not among many: a Bloom filter that grows with them, for rows on the disk that are looked for in vain.
//!
//! ```text
//! hash ─▶ which block (upper half) ─▶ one bit in each of its eight words (lower half)      a block is half a line of the cache
//! segments: FIRST keys, then each twice as many as the one before
//! ```
//! About two bytes a key, of which it holds nothing else. Takes one for another once in a hundred times, at most.

use std::hash::{BuildHasher, Hash};

use repr::hash::EvenState;

/// Keys of the first segment.
const FIRST_KEYS: usize = 1 << 14;
/// Of more than so many it knows nothing any more: 32 MB.
const KEYS_MAX: usize = 1 << 24;
const KEYS_OF_BLOCK: usize = 16;
const WORDS: usize = 8;
/// Odd numbers by which the lower half of a hash tells a bit of each word (Apache Parquet's).
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

type Block = [u32; WORDS];

/// See the module.
#[derive(Default)]
pub(crate) struct KeyFilter {
    hasher: EvenState,
    segments: Vec<Vec<Block>>,
    /// How many more fit into the last one.
    room: usize,
    is_full: bool,
}

impl KeyFilter {
    /// A key's hash, of this filter.
    pub(crate) fn hash(&self, key: impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }

    /// One more, if it is.
    pub(crate) fn add(&mut self, hash: u64) {
        if self.may_have(hash) {
            return;
        }
        if self.room == 0 && !self.is_full {
            self.grow();
        }
        if let Some(segment) = self.segments.last_mut() {
            self.room -= 1;
            let block = block_of(segment.len(), hash);
            let bits = bits(hash);
            segment[block].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
        }
    }

    /// Whether it may be there.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let bits = bits(hash);
        let is_in = |segment: &Vec<Block>| {
            let block = &segment[block_of(segment.len(), hash)];
            block.iter().zip(bits).all(|(word, bit)| word & bit != 0)
        };
        self.is_full || self.segments.iter().any(is_in)
    }

    fn grow(&mut self) {
        let keys = FIRST_KEYS << self.segments.len();
        if 2 * keys > KEYS_MAX {
            self.is_full = true;
            self.segments = Vec::new();
            return;
        }
        self.segments.push(vec![[0; WORDS]; keys / KEYS_OF_BLOCK]);
        self.room = keys;
    }
}

fn block_of(blocks: usize, hash: u64) -> usize {
    // Of a product of two halves the upper half is below each.
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

fn bits(hash: u64) -> Block {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_may_be_there_and_hardly_anything_else() {
        let mut filter = KeyFilter::default();
        assert!(!filter.may_have(filter.hash("nothing yet")));
        let count = 20 * FIRST_KEYS as u64;
        let hash = |filter: &KeyFilter, number: u64| filter.hash(number);
        for number in 0..count {
            filter.add(hash(&filter, number));
        }
        assert!((0..count).all(|number| filter.may_have(hash(&filter, number))));
        let wrong = (count..2 * count).filter(|number| filter.may_have(hash(&filter, *number))).count();
        assert!(wrong * 100 < count as usize, "{wrong} of {count}");
        assert!(filter.segments.len() > 3);
    }

    #[test]
    fn of_too_many_it_knows_nothing_and_holds_nothing() {
        let mut filter = KeyFilter::default();
        // Some are taken for others, and not added.
        let mut number = 0_u64;
        while !filter.is_full && number < 2 * KEYS_MAX as u64 {
            filter.add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            number += 1;
        }
        assert!(filter.may_have(1) && filter.is_full && filter.segments.is_empty());
        filter.add(5);
        assert!(filter.may_have(5));
    }
}
