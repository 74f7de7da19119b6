//! Binary fractions of any length: sums and products of doubles are such, exactly, and are rounded once.

use num_bigint::{BigInt, Sign};

/// `number` × 2^`exponent`
#[derive(Clone)]
pub(super) struct Binary {
    pub(super) number: BigInt,
    pub(super) exponent: i64,
}

/// A floating-point format: the bits of its numbers, and the exponent of its least one.
#[derive(Clone, Copy)]
struct Format {
    bits: u64,
    least: i64,
}

const DOUBLE: Format = Format { bits: 53, least: -1074 };
const SINGLE: Format = Format { bits: 24, least: -149 };

impl Binary {
    /// `self` × `other`
    pub(super) fn times(&self, other: &Binary) -> Binary {
        Binary { number: &self.number * &other.number, exponent: self.exponent + other.exponent }
    }

    /// `self` × a whole number.
    pub(super) fn times_whole(&self, factor: i64) -> Binary {
        Binary { number: &self.number * factor, exponent: self.exponent }
    }

    /// `self` - `other`
    pub(super) fn minus(&self, other: &Binary) -> Binary {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |one: &Binary| &one.number << (one.exponent - exponent).unsigned_abs();
        Binary { number: aligned(self) - aligned(other), exponent }
    }

    /// The nearest double, ties to even; infinite where it is too large.
    pub(super) fn to_f64(&self) -> f64 {
        self.rounded(DOUBLE)
    }

    /// The nearest real, ties to even; infinite where it is too large.
    pub(super) fn to_f32(&self) -> f32 {
        self.rounded(SINGLE) as f32
    }

    /// The double nearest to `self` / `divisor`, which is greater than zero.
    pub(super) fn divided_to_f64(&self, divisor: i64) -> f64 {
        // A quotient with more bits than a double has, and one below them for whatever is left over.
        let more = 64 + 2 * DOUBLE.bits;
        let dividend = self.number.magnitude() << more;
        let divisor = divisor.unsigned_abs();
        let (quotient, rest) = (&dividend / divisor, &dividend % divisor);
        let sticky = u8::from(rest.bits() > 0);
        let quotient = BigInt::from_biguint(self.number.sign(), (quotient << 1u8) | num_bigint::BigUint::from(sticky));
        Binary { number: quotient, exponent: self.exponent - more as i64 - 1 }.to_f64()
    }

    fn rounded(&self, format: Format) -> f64 {
        let magnitude = self.number.magnitude();
        let bits = magnitude.bits();
        if bits == 0 {
            return 0.0;
        }
        let above = bits.saturating_sub(format.bits);
        let dropped = above.max(u64::try_from(format.least - self.exponent).unwrap_or(0));
        let mut kept = (magnitude >> dropped).iter_u64_digits().next().unwrap_or(0);
        if dropped > 0 && magnitude.bit(dropped - 1) {
            let more = magnitude.trailing_zeros().is_some_and(|zeros| zeros < dropped - 1);
            kept += u64::from(more || kept & 1 == 1);
        }
        let value = kept as f64 * power_of_two(self.exponent + dropped as i64);
        if self.number.sign() == Sign::Minus { -value } else { value }
    }
}

/// 2^`exponent`, which is not below the least double.
fn power_of_two(exponent: i64) -> f64 {
    match exponent {
        ..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}
