//! Long numbers in accumulators: limbs of 64 bits, a slot each, which are summed without carrying and carried when read.

use super::accumulators::{Contribution, Total};
use num_bigint::{BigInt, BigUint, Sign};

/// Adds a long number, its lowest limb to the first slot.
pub(super) fn add_integer(number: &BigInt, first: u32, contribution: &mut Contribution<'_>) {
    let negative = number.sign() == Sign::Minus;
    for (limb, slot) in number.magnitude().iter_u64_digits().zip(first..) {
        contribution.add(slot, signed(limb, negative));
    }
}

/// Adds a number, its lowest limb to the first slot.
pub(super) fn add_whole(number: i128, first: u32, contribution: &mut Contribution<'_>) {
    let negative = number < 0;
    let magnitude = number.unsigned_abs();
    contribution.add(first, signed(magnitude as u64, negative));
    contribution.add(first + 1, signed((magnitude >> 64) as u64, negative));
}

/// Adds `magnitude` × 2^`position`, of units whose lowest limb is the first slot.
pub(super) fn add_shifted(
    magnitude: u128,
    negative: bool,
    position: u32,
    first: u32,
    contribution: &mut Contribution<'_>,
) {
    let (slot, shift) = (first + position / 64, position % 64);
    let low = magnitude << shift;
    let lost = if shift == 0 { 0 } else { (magnitude >> (128 - shift)) as u64 };
    for (limb, slot) in [low as u64, (low >> 64) as u64, lost].into_iter().zip(slot..) {
        contribution.add(slot, signed(limb, negative));
    }
}

fn signed(limb: u64, negative: bool) -> i128 {
    if negative { -i128::from(limb) } else { i128::from(limb) }
}

/// What the limbs of the slots from `first` up to `end` come to, and how many limbs of zeros have been left away below.
pub(super) fn integer(total: Total<'_>, first: u32, end: u32) -> (BigInt, u32) {
    let mut limbs = total.between(first, end).peekable();
    let Some((lowest, number)) = limbs.next() else { return (BigInt::ZERO, 0) };
    if limbs.peek().is_none() {
        return (BigInt::from(number), lowest);
    }
    let mut digits = vec![number as u64 as u32, (number as u64 >> 32) as u32];
    let mut carry = number >> 64;
    let mut next = lowest + 1;
    for (limb, number) in limbs {
        while next < limb {
            push(&mut digits, &mut carry, 0);
            next += 1;
        }
        push(&mut digits, &mut carry, number);
        next += 1;
    }
    let above = BigInt::from(carry) << (u64::from(next - lowest) * 64);
    (BigInt::from(BigUint::new(digits)) + above, lowest)
}

fn push(digits: &mut Vec<u32>, carry: &mut i128, number: i128) {
    let sum = carry.wrapping_add(number);
    digits.extend([sum as u64 as u32, (sum as u64 >> 32) as u32]);
    *carry = sum >> 64;
}

#[cfg(test)]
mod tests {
    use super::super::accumulators::Accumulators;
    use super::*;

    #[test]
    fn limbs_come_to_the_sum() {
        let numbers: Vec<BigInt> =
            ["0", "-1", "18446744073709551615", "-18446744073709551616", "340282366920938463463374607431768211456"]
                .into_iter()
                .chain([
                    "-999999999999999999999999999999999999999999999999999999999999999999",
                    "123456789012345678901234567890",
                ])
                .map(|text| text.parse().expect("a number"))
                .collect();
        let mut accumulators = Accumulators::default();
        let mut sum = BigInt::ZERO;
        for number in numbers.iter().chain(&numbers[2..]).chain(&numbers[4..]) {
            add_integer(number, 5, &mut accumulators.contribution(1, 3));
            sum += number * 3;
            let (found, lowest) = integer(accumulators.total(1), 5, 99);
            assert_eq!(found << (lowest * 64), sum);
        }
        for (magnitude, position) in [(u128::MAX, 63), (1, 0), (7, 64), (u128::MAX, 64), (1 << 127, 130), (5, 63)] {
            let mut accumulators = Accumulators::default();
            add_shifted(magnitude, true, position, 2, &mut accumulators.contribution(0, 1));
            let (found, lowest) = integer(accumulators.total(0), 2, 99);
            assert_eq!(found << (lowest * 64), -(BigInt::from(magnitude) << position));
        }
    }
}
