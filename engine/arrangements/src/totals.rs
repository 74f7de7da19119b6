//! What groups add up to, as differences, and as the few bytes that a batch holds of each.

use crate::arrangement::RowDiff;
use crate::meter::{HeapBytes, trim_vec};
use crate::offsets::Offsets;
use differential_dataflow::difference::{Abelian, IsZero, Monoid, Semigroup};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use planner::scalar::aggregate::accumulators::Accumulators;

/// What updates of a group add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Totals {
    /// Of phantom rows.
    pub phantoms: i64,
    /// Of rows.
    pub rows: i64,
    /// Of aggregates.
    pub accumulators: Accumulators,
}

impl IsZero for Totals {
    fn is_zero(&self) -> bool {
        self.phantoms == 0 && self.rows == 0 && self.accumulators.is_zero()
    }
}

impl Semigroup for Totals {
    fn plus_equals(&mut self, other: &Self) {
        self.phantoms += other.phantoms;
        self.rows += other.rows;
        self.accumulators.add(&other.accumulators, 1);
    }
}

impl Monoid for Totals {
    fn zero() -> Self {
        Totals::default()
    }
}

impl Abelian for Totals {
    fn negate(&mut self) {
        let mut negated = Totals { phantoms: -self.phantoms, rows: -self.rows, ..Totals::default() };
        negated.accumulators.add(&self.accumulators, -1);
        *self = negated;
    }
}

impl Totals {
    /// None, with room for so many calls' numbers: most have a count and a sum.
    pub fn with_room(calls: usize) -> Self {
        Totals { accumulators: Accumulators::with_room(2 * calls), ..Totals::default() }
    }

    /// What holds a group that has no rows.
    pub fn phantom() -> Self {
        Totals { phantoms: 1, ..Totals::default() }
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        size_of::<Totals>() + self.accumulators.heap_bytes()
    }
}

/// Totals one after another: a number takes a byte for each seven of its bits.
///
/// ```text
/// rows doubled       number*               if there are no phantoms
/// rows doubled + 1   phantoms  number*     of any other
///
/// number    slots left out × 2,             the number      in the call of the one before; the first call is 0
///           calls gone on × 2 + 1,  slot,   the number      in another call
/// ```
pub struct TotalsColumn {
    /// Where each ends.
    ends: Offsets,
    bytes: Vec<u8>,
}

/// Totals in a batch. One writing for each value, so that equal ones are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EncodedTotals<'a>(&'a [u8]);

impl RowDiff for Totals {
    type Column = TotalsColumn;
}

impl HeapBytes for TotalsColumn {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.heap_bytes()
    }
    fn trim(&mut self) {
        trim_vec(&mut self.bytes);
        self.ends.trim();
    }
}

impl BatchContainer for TotalsColumn {
    type Owned = Totals;
    type ReadItem<'a> = EncodedTotals<'a>;

    fn into_owned(EncodedTotals(mut bytes): EncodedTotals<'_>) -> Totals {
        let first = read(&mut bytes);
        let phantoms = if first & 1 == 1 { read(&mut bytes) as i64 } else { 0 };
        let accumulators = Accumulators::with_room(bytes.len().div_ceil(4));
        let (mut call, mut next) = (0u32, 0u32);
        let numbers = std::iter::from_fn(|| {
            if bytes.is_empty() {
                return None;
            }
            let step = read(&mut bytes);
            if step & 1 == 1 {
                call += (step >> 1) as u32;
                next = read(&mut bytes) as u32;
            } else {
                next += (step >> 1) as u32;
            }
            let slot = next;
            next += 1;
            Some((call, slot, read(&mut bytes)))
        });
        let mut totals = Totals { phantoms, rows: (first >> 1) as i64, accumulators };
        totals.accumulators.extend(numbers);
        totals
    }
    fn push_ref(&mut self, item: EncodedTotals<'_>) {
        self.bytes.extend_from_slice(item.0);
        self.ends.push(self.bytes.len());
    }
    fn push_own(&mut self, item: &Totals) {
        write(&mut self.bytes, i128::from(item.rows) * 2 + i128::from(item.phantoms != 0));
        if item.phantoms != 0 {
            write(&mut self.bytes, i128::from(item.phantoms));
        }
        let (mut at, mut next) = (0, 0);
        for (call, slot, number) in item.accumulators.iter() {
            if call == at {
                write(&mut self.bytes, i128::from(slot - next) * 2);
            } else {
                write(&mut self.bytes, i128::from(call - at) * 2 + 1);
                write(&mut self.bytes, i128::from(slot));
            }
            write(&mut self.bytes, number);
            (at, next) = (call, slot + 1);
        }
        self.ends.push(self.bytes.len());
    }
    fn clear(&mut self) {
        self.ends.clear();
        // What is kept for the next rows is room, not the last ones.
        self.bytes.fill(0);
        self.bytes.clear();
    }
    fn with_capacity(size: usize) -> Self {
        TotalsColumn { ends: Offsets::with_capacity(size), bytes: Vec::new() }
    }
    fn merge_capacity(left: &Self, right: &Self) -> Self {
        TotalsColumn {
            ends: Offsets::merge_capacity(&left.ends, &right.ends),
            bytes: Vec::with_capacity(left.bytes.len() + right.bytes.len()),
        }
    }
    fn reborrow<'b, 'a: 'b>(item: EncodedTotals<'a>) -> EncodedTotals<'b> {
        item
    }
    fn index(&self, index: usize) -> EncodedTotals<'_> {
        EncodedTotals(&self.bytes[self.ends.range(index)])
    }
    fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Seven bits a byte, the lowest first, of the number doubled; of negative ones, the complement's.
fn write(bytes: &mut Vec<u8>, number: i128) {
    let mut rest = ((number << 1) ^ (number >> 127)).cast_unsigned();
    while rest > u128::from(u64::MAX) {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    // Most numbers are short: half the width is twice as fast.
    let mut rest = rest as u64;
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn read(bytes: &mut &[u8]) -> i128 {
    let (mut zigzag, mut shift) = (0u128, 0);
    let mut low = 0u64;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        if shift < 63 {
            low |= u64::from(byte & 0x7f) << shift;
        } else {
            zigzag |= u128::from(byte & 0x7f) << shift;
        }
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    zigzag |= u128::from(low);
    (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        let numbers =
            [0, 1, -1, 63, -64, 64, 127, 128, i128::from(i64::MAX), i128::from(i64::MIN), i128::MAX, i128::MIN];
        let mut column = TotalsColumn::with_capacity(0);
        let mut all = Vec::new();
        for (position, number) in numbers.into_iter().enumerate() {
            let small = i64::try_from(number).unwrap_or(7);
            let slots = [(0, 0), (0, 1), (0, 70_000), (2, 3), (2, 4), (3, 0), (90, 1 << 30), (91, 0)];
            let sums = numbers[..position].iter().filter(|number| **number != 0).zip(slots);
            let phantoms = if position % 2 == 0 { small } else { 0 };
            let mut totals = Totals { phantoms, rows: small.wrapping_add(1), ..Totals::default() };
            totals.accumulators.extend(sums.map(|(sum, (call, slot))| (call, slot, *sum)));
            column.push_own(&totals);
            all.push(totals);
        }
        assert_eq!(column.len(), all.len());
        for (position, totals) in all.iter().enumerate() {
            assert_eq!(TotalsColumn::into_owned(column.index(position)), *totals);
        }
        let (mut few, copied) = (TotalsColumn::with_capacity(0), column.index(5));
        few.push_ref(copied);
        assert!(few.index(0) == copied && few.index(0) != column.index(6));
    }
}
