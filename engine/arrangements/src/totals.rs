//! What groups add up to, as differences, and as the few bytes that a batch holds of each.

use crate::arrangement::RowDiff;
use crate::meter::{HeapBytes, trim_vec};
use crate::offsets::Offsets;
use differential_dataflow::difference::{Abelian, IsZero, Monoid, Semigroup};
use differential_dataflow::trace::implementations::containers::BatchContainer;

/// What updates of a group add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Totals {
    /// Of phantom rows.
    pub phantoms: i64,
    /// Of rows.
    pub rows: i64,
    /// (count, sum) of each aggregate; empty stands for zeros.
    pub sums: Vec<(i64, i128)>,
    /// Updates whose sums left the 128 bits; never taken back, so the group then stays an error.
    pub overflows: i64,
}

impl IsZero for Totals {
    fn is_zero(&self) -> bool {
        self.phantoms == 0
            && self.rows == 0
            && self.overflows == 0
            && self.sums.iter().all(|(count, sum)| *count == 0 && *sum == 0)
    }
}

impl Semigroup for Totals {
    fn plus_equals(&mut self, other: &Self) {
        self.phantoms += other.phantoms;
        self.rows += other.rows;
        self.overflows += other.overflows;
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), (0, 0));
        }
        for ((count, sum), (other_count, other_sum)) in self.sums.iter_mut().zip(&other.sums) {
            *count += other_count;
            match sum.checked_add(*other_sum) {
                Some(total) => *sum = total,
                None => self.overflows += 1,
            }
        }
    }
}

impl Monoid for Totals {
    fn zero() -> Self {
        Totals::default()
    }
}

impl Abelian for Totals {
    fn negate(&mut self) {
        self.phantoms = -self.phantoms;
        self.rows = -self.rows;
        for (count, sum) in &mut self.sums {
            *count = -*count;
            match sum.checked_neg() {
                Some(negated) => *sum = negated,
                None => self.overflows += 1,
            }
        }
    }
}

impl Totals {
    /// Totals that are all zero.
    pub fn zeros(calls: usize) -> Self {
        Totals { sums: vec![(0, 0); calls], ..Totals::default() }
    }

    /// Adds what one row contributes to an aggregate, `diff` times.
    pub fn add(&mut self, position: usize, count: i64, sum: i128, diff: isize) {
        let (total_count, total_sum) = &mut self.sums[position];
        *total_count += count * diff as i64;
        match sum.checked_mul(diff as i128).and_then(|product| total_sum.checked_add(product)) {
            Some(total) => *total_sum = total,
            None => self.overflows += 1,
        }
    }
}

/// Totals one after another: a number takes a byte for each seven of its bits.
///
/// ```text
/// rows doubled       (count  sum)*                          if there are neither phantoms nor overflows
/// rows doubled + 1   phantoms  overflows  (count  sum)*     of any other
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
        let (rows, mut phantoms, mut overflows) = ((first >> 1) as i64, 0, 0);
        if first & 1 == 1 {
            (phantoms, overflows) = (read(&mut bytes) as i64, read(&mut bytes) as i64);
        }
        let mut sums = Vec::new();
        while !bytes.is_empty() {
            sums.push((read(&mut bytes) as i64, read(&mut bytes)));
        }
        Totals { phantoms, rows, sums, overflows }
    }
    fn push_ref(&mut self, item: EncodedTotals<'_>) {
        self.bytes.extend_from_slice(item.0);
        self.ends.push(self.bytes.len());
    }
    fn push_own(&mut self, item: &Totals) {
        let more = item.phantoms != 0 || item.overflows != 0;
        write(&mut self.bytes, i128::from(item.rows) * 2 + i128::from(more));
        if more {
            write(&mut self.bytes, i128::from(item.phantoms));
            write(&mut self.bytes, i128::from(item.overflows));
        }
        for (count, sum) in &item.sums {
            write(&mut self.bytes, i128::from(*count));
            write(&mut self.bytes, *sum);
        }
        self.ends.push(self.bytes.len());
    }
    fn clear(&mut self) {
        self.ends.clear();
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
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn read(bytes: &mut &[u8]) -> i128 {
    let (mut zigzag, mut shift) = (0u128, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        zigzag |= u128::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
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
            let sums = numbers[..position].iter().map(|sum| (-small.max(-9), *sum)).collect();
            let phantoms = if position % 2 == 0 { small } else { 0 };
            let totals = Totals { phantoms, rows: small.wrapping_add(1), sums, overflows: i64::from(position == 3) };
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
