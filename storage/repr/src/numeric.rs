//! `numeric`: arbitrary precision decimals with PostgreSQL's scales, NaN and infinities.
use num_bigint::BigInt;
use std::cmp::Ordering;

/// A decimal number: an unscaled integer and the count of digits after the point, or a special value.
#[derive(Clone, Debug, PartialEq)]
pub enum Numeric {
    /// `unscaled` × 10^-`scale`, printed with exactly `scale` decimals.
    Finite {
        /// All digits, signed.
        unscaled: BigInt,
        /// Digits after the decimal point.
        scale: u16,
    },
    /// Not a number; equal to itself and greater than all else, as in PostgreSQL.
    NaN,
    /// Infinity
    Infinity,
    /// -Infinity
    NegativeInfinity,
}

impl Numeric {
    /// Zero with no decimals.
    pub fn zero() -> Numeric {
        Numeric::Finite { unscaled: BigInt::ZERO, scale: 0 }
    }

    fn rank(&self) -> u8 {
        match self {
            Numeric::NegativeInfinity => 0,
            Numeric::Finite { .. } => 1,
            Numeric::Infinity => 2,
            Numeric::NaN => 3,
        }
    }

    /// SQL order: by value, scales aside; NaN equals itself and is greatest.
    pub fn sql_cmp(&self, other: &Numeric) -> Ordering {
        let (Numeric::Finite { unscaled: a, scale: sa }, Numeric::Finite { unscaled: b, scale: sb }) = (self, other)
        else {
            return self.rank().cmp(&other.rank());
        };
        if sa == sb || a.sign() != b.sign() {
            return a.cmp(b);
        }
        if sa < sb {
            (a * power_of_ten(usize::from(sb - sa))).cmp(b)
        } else {
            a.cmp(&(b * power_of_ten(usize::from(sa - sb))))
        }
    }
}

/// 10^`exponent`.
pub(crate) fn power_of_ten(exponent: usize) -> BigInt {
    match u32::try_from(exponent) {
        Ok(small) if small < 20 => BigInt::from(10u64.pow(small)),
        Ok(exponent) => num_traits::Pow::pow(BigInt::from(10), exponent),
        Err(_) => unreachable!("exponents are bounded by numeric's format"),
    }
}
