//! Numbers that seldom leave a straight line: where the strings of a batch end, where the rows of its keys begin.
//!
//! ```text
//! blocks       64 numbers each: the first one, a slope, and where the residuals are
//! residuals    by how much each number of a block leaves its line: 0, ½, 1, 2, 4 or 8 bytes, as the widest needs
//! tail         the last ones, fewer than 64, as they are; all of them, if there are few
//! ```
//! Ends of strings of one length, and places of keys that have one row each, take a quarter of a byte; ends of rows
//! whose lengths differ by some twenty bytes one and a quarter. Each is found by itself, without those before it.

use crate::meter::{HeapBytes, trim_vec};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use std::ops::Range;

const BLOCK: usize = 64;
/// Slopes are in 64ths.
const SLOPE_BITS: u32 = 6;
/// Residuals of a block take a multiple of so many bytes.
const UNIT_BYTES: usize = BLOCK / 2;

/// As many stand as they are where no more are expected: batches as small are merged again soon, and quicker so.
const PLAIN_MAX: usize = 1 << 11;

/// See the module.
#[derive(Default)]
pub struct Offsets {
    blocks: Vec<Block>,
    residuals: Vec<u8>,
    tail: Vec<usize>,
    /// What fills a block becomes one.
    packs: bool,
}

/// A full block.
#[derive(Clone, Copy)]
struct Block {
    base: u64,
    /// Where its residuals begin, in units.
    at: u32,
    slope: u16,
    width: Width,
}

/// What a residual takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Nothing,
    HalfByte,
    One,
    Two,
    Four,
    Eight,
}

impl Width {
    fn of(residuals: &[i64; BLOCK]) -> Width {
        // Of a number and its complement the one that is not negative tells how many bits both take.
        let bits = residuals.iter().fold(0, |bits, residual| bits | (residual ^ (residual >> 63)).cast_unsigned());
        match u64::BITS - bits.leading_zeros() {
            0 if residuals.iter().all(|residual| *residual == 0) => Width::Nothing,
            0..=3 => Width::HalfByte,
            4..=7 => Width::One,
            8..=15 => Width::Two,
            16..=31 => Width::Four,
            _ => Width::Eight,
        }
    }
}

impl Block {
    #[inline]
    fn line(&self, place: usize) -> usize {
        (self.base as usize).wrapping_add((place * usize::from(self.slope)) >> SLOPE_BITS)
    }

    #[inline]
    fn number(&self, place: usize, residuals: &[u8]) -> usize {
        let line = self.line(place);
        let start = self.at as usize * UNIT_BYTES;
        let residual = match self.width {
            Width::Nothing => return line,
            Width::HalfByte => {
                let both = residuals[start + place / 2];
                // The even places stand in the low half.
                let high = if place.is_multiple_of(2) { both << 4 } else { both };
                isize::from(high.cast_signed() >> 4)
            }
            Width::One => isize::from(residuals[start + place].cast_signed()),
            Width::Two => i16::from_le_bytes(bytes(residuals, start + place * 2)) as isize,
            Width::Four => i32::from_le_bytes(bytes(residuals, start + place * 4)) as isize,
            Width::Eight => i64::from_le_bytes(bytes(residuals, start + place * 8)) as isize,
        };
        line.wrapping_add_signed(residual)
    }

    /// A number and the next one, of the same block.
    #[inline]
    fn between(&self, place: usize, residuals: &[u8]) -> Range<usize> {
        if self.width == Width::One {
            let [first, next]: [u8; 2] = bytes(residuals, self.at as usize * UNIT_BYTES + place);
            let number =
                |place, residual: u8| self.line(place).wrapping_add_signed(isize::from(residual.cast_signed()));
            return number(place, first)..number(place + 1, next);
        }
        self.number(place, residuals)..self.number(place + 1, residuals)
    }
}

#[inline]
fn bytes<const LENGTH: usize>(residuals: &[u8], start: usize) -> [u8; LENGTH] {
    *residuals[start..].first_chunk().expect("a block's residuals are all there")
}

impl Offsets {
    /// Appends one.
    pub fn push(&mut self, number: usize) {
        self.tail.push(number);
        if self.tail.len() >= if self.packs { BLOCK } else { PLAIN_MAX } {
            self.pack();
        }
    }

    /// One of them. Panics if there are fewer.
    #[inline]
    pub fn index(&self, index: usize) -> usize {
        match self.blocks.get(index / BLOCK) {
            Some(block) => block.number(index % BLOCK, &self.residuals),
            None => self.tail[index - self.blocks.len() * BLOCK],
        }
    }

    /// Where the string of this number is, if these are the ends of strings, one behind the other. Panics if there are fewer.
    #[inline]
    pub fn range(&self, index: usize) -> Range<usize> {
        let place = index % BLOCK;
        let start = match self.blocks.get(index / BLOCK) {
            Some(block) if place > 0 => return block.between(place - 1, &self.residuals),
            None if place > 0 => {
                let end = index - self.blocks.len() * BLOCK;
                return self.tail[end - 1]..self.tail[end];
            }
            _ if index == 0 => 0,
            _ => self.index(index - 1),
        };
        start..self.index(index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.tail.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tail becomes blocks: it is a multiple of one.
    fn pack(&mut self) {
        self.packs = true;
        let mut tail = std::mem::take(&mut self.tail);
        tail.chunks_exact(BLOCK).for_each(|numbers| self.close(numbers));
        tail.clear();
        tail.shrink_to(BLOCK);
        self.tail = tail;
    }

    /// One more block.
    fn close(&mut self, numbers: &[usize]) {
        let (base, last) = (numbers[0], numbers[BLOCK - 1]);
        let slope = (last.saturating_sub(base) as u128) << SLOPE_BITS;
        let slope = u16::try_from(slope / (BLOCK as u128 - 1)).unwrap_or(u16::MAX);
        let mut block = Block { base: base as u64, at: 0, slope, width: Width::Nothing };
        let mut residuals = [0; BLOCK];
        for (place, (residual, number)) in residuals.iter_mut().zip(numbers).enumerate() {
            *residual = number.wrapping_sub(block.line(place)) as i64;
        }
        block.width = Width::of(&residuals);
        block.at = u32::try_from(self.residuals.len() / UNIT_BYTES).expect("a batch has fewer than 10 billion rows");
        match block.width {
            Width::Nothing => {}
            Width::HalfByte => {
                self.residuals.extend(residuals.chunks(2).map(|two| (two[0] & 0x0F) as u8 | (two[1] << 4) as u8));
            }
            Width::One => self.residuals.extend(residuals.map(|residual| residual as u8)),
            Width::Two => self.residuals.extend(residuals.iter().flat_map(|residual| (*residual as i16).to_le_bytes())),
            Width::Four => {
                self.residuals.extend(residuals.iter().flat_map(|residual| (*residual as i32).to_le_bytes()));
            }
            Width::Eight => self.residuals.extend(residuals.iter().flat_map(|residual| residual.to_le_bytes())),
        }
        self.blocks.push(block);
    }
}

impl BatchContainer for Offsets {
    type Owned = usize;
    type ReadItem<'a> = usize;

    fn into_owned(item: usize) -> usize {
        item
    }
    fn push_ref(&mut self, item: usize) {
        self.push(item);
    }
    fn push_own(&mut self, item: &usize) {
        self.push(*item);
    }
    fn clear(&mut self) {
        self.blocks.clear();
        self.residuals.clear();
        self.tail.clear();
    }
    fn with_capacity(size: usize) -> Self {
        let packs = size > PLAIN_MAX;
        let (blocks, tail) = if packs { (size / BLOCK, BLOCK) } else { (0, size) };
        Offsets { blocks: Vec::with_capacity(blocks), residuals: Vec::new(), tail: Vec::with_capacity(tail), packs }
    }
    fn merge_capacity(left: &Self, right: &Self) -> Self {
        Self::with_capacity(left.len() + right.len())
    }
    fn reborrow<'b, 'a: 'b>(item: usize) -> usize {
        item
    }
    fn index(&self, index: usize) -> usize {
        self.index(index)
    }
    fn len(&self) -> usize {
        self.len()
    }
}

impl HeapBytes for Offsets {
    fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
            + self.residuals.capacity()
            + self.tail.capacity() * size_of::<usize>()
    }
    fn trim(&mut self) {
        trim_vec(&mut self.blocks);
        trim_vec(&mut self.residuals);
        trim_vec(&mut self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(numbers: &[usize], blocks: Width) -> usize {
        let mut offsets = Offsets::with_capacity(PLAIN_MAX + 1);
        numbers.iter().for_each(|number| offsets.push(*number));
        assert_eq!(offsets.len(), numbers.len());
        for (place, number) in numbers.iter().enumerate() {
            assert_eq!(offsets.index(place), *number, "{place}");
            let start = place.checked_sub(1).map_or(0, |before| numbers[before]);
            assert_eq!(offsets.range(place), start..*number, "{place}");
        }
        assert_eq!(offsets.blocks.iter().map(|block| block.width).max(), Some(blocks));
        offsets.trim();
        offsets.heap_bytes()
    }

    /// Ends of strings whose lengths are from a range.
    fn ends(shortest: usize, longest: usize) -> Vec<usize> {
        let mut random = 7u64;
        let mut end = 0;
        let next = |_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            end += shortest + usize::try_from(random >> 8).expect("56 bits") % (longest - shortest + 1);
            end
        };
        (0..1_000).map(next).collect()
    }

    #[test]
    fn what_is_read_is_what_was_pushed() {
        check(&ends(5, 5), Width::Nothing);
        check(&ends(4, 5), Width::HalfByte);
        check(&ends(10, 20), Width::One);
        check(&ends(0, 1_000), Width::Two);
        check(&ends(0, 200_000), Width::Four);
        check(&ends(0, 1 << 40), Width::Eight);
        check(&[0; 200], Width::Nothing);
        check(&[usize::MAX; 64], Width::Nothing);
        let one_update: Vec<usize> = std::iter::once(0).chain([1; 300]).collect();
        check(&one_update, Width::HalfByte);
        // What falls is no offset, but is kept as well.
        check(&(0..640).rev().collect::<Vec<usize>>(), Width::One);
        let mut far = vec![0; 64];
        far[63] = usize::MAX >> 1;
        check(&far, Width::Eight);
    }

    #[test]
    fn few_stand_as_they_are_until_there_are_many() {
        let (mut offsets, numbers) = (Offsets::with_capacity(0), ends(10, 20).repeat(3));
        for (place, number) in numbers.iter().enumerate() {
            offsets.push(*number);
            assert_eq!(offsets.blocks.is_empty(), place + 1 < PLAIN_MAX);
        }
        assert!(
            numbers.len() > PLAIN_MAX && numbers.iter().copied().eq((0..offsets.len()).map(|at| offsets.index(at)))
        );
    }

    #[test]
    fn even_lengths_take_a_quarter_of_a_byte() {
        assert!(check(&ends(5, 5), Width::Nothing) < 1_000 / 4 + 64 * 8);
        assert!(check(&ends(10, 20), Width::One) < 1_000 * 5 / 4 + 64 * 8);
    }
}
