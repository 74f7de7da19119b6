//! `numeric`: arbitrary precision decimals with PostgreSQL's scales, NaN and infinities.
use num_bigint::BigInt;

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
