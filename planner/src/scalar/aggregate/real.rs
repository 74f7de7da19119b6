//! Accumulators of floats: exact sums, and exact sums of products, rounded once when they are read.
//!
//! ```text
//! a variable    rows that are NaN, Infinity, -Infinity, -0, then the limbs of the sum of the others, in units of 2^-1074
//! a product     the limbs of the sum over rows whose factors are finite, in units of 2^-2148
//! ```
//! A sum of doubles is a whole number of those units: 33 limbs hold any, and what stands near each other touches two or three.
//! So neither the order of rows nor what came and went meanwhile is seen in a sum.

use super::accumulators::{Contribution, Total};
use super::binary::Binary;
use super::limbs::{add_shifted, integer};
use repr::ValueError;

/// A variable's or product's first slot.
#[derive(Clone, Copy)]
pub(super) struct Variable(u32);

/// Of calls over one variable, and the second of those over pairs.
pub(super) const X: Variable = Variable(64);
/// The first variable of pairs.
pub(super) const Y: Variable = Variable(128);

/// The sum of two variables' products.
#[derive(Clone, Copy)]
pub(super) struct Product(u32);

pub(super) const XX: Product = Product(256);
pub(super) const YY: Product = Product(384);
pub(super) const XY: Product = Product(512);

const NAN: u32 = 0;
const INFINITY: u32 = 1;
const NEGATIVE_INFINITY: u32 = 2;
const NEGATIVE_ZERO: u32 = 3;
const LIMBS: u32 = 4;
const VARIABLE: u32 = 64;
const PRODUCT: u32 = 128;

/// Finite values led to an infinite one.
pub(super) fn overflow() -> ValueError {
    ValueError::new("22003", "value out of range: overflow")
}

/// A finite double: whether it is negative, and its mantissa × 2^(position - 1074).
struct FloatParts {
    negative: bool,
    mantissa: u64,
    position: u32,
}

impl FloatParts {
    fn of(value: f64) -> FloatParts {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) as u32 & 0x7ff, bits & ((1 << 52) - 1));
        // The least exponent is that of numbers without a leading one, too.
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        FloatParts { negative: value.is_sign_negative(), mantissa, position: exponent.saturating_sub(1) }
    }
}

impl Variable {
    /// Adds a value.
    pub(super) fn add(self, value: f64, contribution: &mut Contribution<'_>) {
        let Variable(first) = self;
        if value.is_nan() {
            contribution.add(first + NAN, 1);
        } else if value.is_infinite() {
            contribution.add(first + if value > 0.0 { INFINITY } else { NEGATIVE_INFINITY }, 1);
        } else if value == 0.0 {
            contribution.add(first + NEGATIVE_ZERO, i128::from(value.is_sign_negative()));
        } else {
            let FloatParts { negative, mantissa, position } = FloatParts::of(value);
            add_shifted(u128::from(mantissa), negative, position, first + LIMBS, contribution);
        }
    }

    /// The sum, if a value is not finite.
    pub(super) fn special(self, total: Total<'_>) -> Option<f64> {
        let [nans, infinities, negatives] = [NAN, INFINITY, NEGATIVE_INFINITY].map(|slot| total.at(self.0 + slot));
        match (nans, infinities, negatives) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            (_, _, _) => Some(f64::NAN),
        }
    }

    /// The sum of the finite values.
    pub(super) fn sum(self, total: Total<'_>) -> Binary {
        let (number, limbs) = integer(total, self.0 + LIMBS, self.0 + VARIABLE);
        Binary { number, exponent: i64::from(limbs) * 64 - 1074 }
    }

    /// The sum of all values, rounded once.
    ///
    /// # Errors
    /// 22003 if it is too large.
    pub(super) fn rounded(self, total: Total<'_>) -> Result<f64, ValueError> {
        match self.special(total) {
            Some(special) => Ok(special),
            None => finite(self.sum(total).to_f64()),
        }
    }

    /// Whether there are only negative zeros, whose sum is one.
    pub(super) fn is_negative_zero(self, total: Total<'_>) -> bool {
        total.count() > 0 && total.at(self.0 + NEGATIVE_ZERO) == i128::from(total.count())
    }
}

impl Product {
    /// Adds a product; nothing if a factor is not finite.
    pub(super) fn add(self, left: f64, right: f64, contribution: &mut Contribution<'_>) {
        if left.is_finite() && right.is_finite() {
            let (left, right) = (FloatParts::of(left), FloatParts::of(right));
            let magnitude = u128::from(left.mantissa) * u128::from(right.mantissa);
            let negative = left.negative != right.negative;
            add_shifted(magnitude, negative, left.position + right.position, self.0, contribution);
        }
    }

    /// The sum of the products.
    pub(super) fn sum(self, total: Total<'_>) -> Binary {
        let (number, limbs) = integer(total, self.0, self.0 + PRODUCT);
        Binary { number, exponent: i64::from(limbs) * 64 - 2148 }
    }
}

/// A value that came of finite ones.
///
/// # Errors
/// 22003 if it is infinite.
pub(super) fn finite(value: f64) -> Result<f64, ValueError> {
    if value.is_infinite() { Err(overflow()) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::super::accumulators::Accumulators;
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut accumulators = Accumulators::default();
        for value in values {
            X.add(*value, &mut accumulators.contribution(0, 1));
        }
        let sum = X.rounded(accumulators.total(0)).unwrap_or(f64::INFINITY);
        let mut backwards = Accumulators::default();
        for value in values.iter().rev() {
            X.add(*value, &mut backwards.contribution(0, 2));
        }
        for value in values {
            X.add(*value, &mut backwards.contribution(0, -1));
        }
        assert_eq!(backwards, accumulators);
        sum
    }

    #[test]
    fn sums_are_exact_and_rounded_once() {
        assert_eq!(sum(&[0.1, 0.2]), 0.300_000_000_000_000_04);
        assert_eq!(sum(&[1e308, 1e308, -1e308]), 1e308);
        assert_eq!(sum(&[1e308, 1e308]), f64::INFINITY);
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum(&[f64::MAX, f64::MIN_POSITIVE, -f64::MAX]), f64::MIN_POSITIVE);
        assert_eq!(sum(&[5e-324, 5e-324, 5e-324]), 1.5e-323);
        // Halves go to the even neighbour, and what is more to the next.
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half]), 1.0);
        assert_eq!(sum(&[1.0 + f64::EPSILON, half]), 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum(&[1.0, half, 5e-324]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[-1.0, -half, -5e-324]), -1.0 - f64::EPSILON);
        // Two summands: what the processor's own addition gives.
        let values = [0.1, 1e-310, -3.7e-5, 1e22, 0.1 + 0.2, -7e-300, 4.9e-324, 123_456.789, -1e-308];
        for left in values {
            for right in values {
                assert_eq!(sum(&[left, right]), left + right, "{left} + {right}");
            }
        }
    }

    #[test]
    fn quotients_are_rounded_once() {
        for (left, divisor) in [(1.0, 3), (-2.0, 3), (1e300, 7), (5e-324, 2), (1.5e-323, 2), (0.1, 10), (6.0, 3)] {
            let mut accumulators = Accumulators::default();
            X.add(left, &mut accumulators.contribution(0, 1));
            let quotient = X.sum(accumulators.total(0)).divided_to_f64(divisor);
            assert_eq!(quotient, left / divisor as f64, "{left} / {divisor}");
        }
    }
}
