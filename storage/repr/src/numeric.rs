//! `numeric`: arbitrary precision decimals with PostgreSQL's scales, NaN and infinities.
//!
//! The value, its comparison and its conversions; arithmetic is in `numeric::arithmetic`, roots, powers and
//! logarithms in `numeric::transcendental`, text in `numeric::text`. Nothing here ever panics on
//! a value: what leaves the format's limits is 22003.

mod arithmetic;
mod text;
mod transcendental;
pub(crate) use text::write_decimal;

use crate::ValueError;
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
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

/// Most digits before the decimal point.
pub(crate) const WEIGHT_DIGITS_MAX: usize = 131_072;
/// Most digits after the decimal point.
pub const SCALE_MAX: usize = 16_383;

pub(crate) fn overflow() -> ValueError {
    ValueError::new("22003", "value overflows numeric format")
}

fn out_of_range(type_name: &str) -> ValueError {
    ValueError::new("22003", format!("{type_name} out of range"))
}

impl Numeric {
    /// Zero with no decimals.
    pub fn zero() -> Numeric {
        Numeric::Finite { unscaled: BigInt::ZERO, scale: 0 }
    }

    /// A finite number, checked against the format's limits.
    pub fn new(unscaled: BigInt, scale: u16) -> Result<Numeric, ValueError> {
        // A digit takes more than three bits: most numbers need no exact count.
        let bits = unscaled.bits();
        if usize::from(scale) > SCALE_MAX {
            return Numeric::new(round_scaled(&unscaled, i64::from(scale), SCALE_MAX as i64), SCALE_MAX as u16);
        }
        if bits > 3 * WEIGHT_DIGITS_MAX as u64 && digit_count(&unscaled) > WEIGHT_DIGITS_MAX + usize::from(scale) {
            return Err(overflow());
        }
        Ok(Numeric::Finite { unscaled, scale })
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

    /// Whether this is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }

    /// Whether this is neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Finite { .. })
    }

    /// Whether this is zero, of any scale.
    pub fn is_zero(&self) -> bool {
        matches!(self, Numeric::Finite { unscaled, .. } if unscaled.is_zero())
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        match self {
            Numeric::Finite { unscaled, .. } => unscaled.is_negative(),
            Numeric::NegativeInfinity => true,
            Numeric::Infinity | Numeric::NaN => false,
        }
    }

    /// Digits after the point: `scale(numeric)`; none for special values.
    pub fn scale(&self) -> Option<u16> {
        match self {
            Numeric::Finite { scale, .. } => Some(*scale),
            Numeric::NaN | Numeric::Infinity | Numeric::NegativeInfinity => None,
        }
    }

    /// The unscaled integer and the scale of a finite number of few digits.
    pub fn decimal(&self) -> Option<(i64, u16)> {
        match self {
            Numeric::Finite { unscaled, scale } => unscaled.to_i64().map(|unscaled| (unscaled, *scale)),
            Numeric::NaN | Numeric::Infinity | Numeric::NegativeInfinity => None,
        }
    }

    /// Digits after the point that the value needs: `min_scale(numeric)`.
    pub fn min_scale(&self) -> Option<u16> {
        self.trim_scale().scale()
    }

    /// The same value without trailing zeros after the point: `trim_scale(numeric)`.
    pub fn trim_scale(&self) -> Numeric {
        let Numeric::Finite { unscaled, scale } = self else { return self.clone() };
        let (mut unscaled, mut scale) = (unscaled.clone(), *scale);
        if unscaled.is_zero() {
            return Numeric::zero();
        }
        let ten = BigInt::from(10);
        while scale > 0 {
            let (quotient, rest) = num_integer::Integer::div_rem(&unscaled, &ten);
            if !rest.is_zero() {
                break;
            }
            unscaled = quotient;
            scale -= 1;
        }
        Numeric::Finite { unscaled, scale }
    }

    /// `abs`
    pub fn abs(&self) -> Numeric {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// Unary minus.
    pub fn negate(&self) -> Numeric {
        match self {
            Numeric::Finite { unscaled, scale } => Numeric::Finite { unscaled: -unscaled, scale: *scale },
            Numeric::NaN => Numeric::NaN,
            Numeric::Infinity => Numeric::NegativeInfinity,
            Numeric::NegativeInfinity => Numeric::Infinity,
        }
    }

    /// -1, 0 or 1; NaN of NaN.
    pub fn sign(&self) -> Numeric {
        if self.is_nan() {
            return Numeric::NaN;
        }
        Numeric::from(if self.is_negative() { -1 } else { i32::from(!self.is_zero()) })
    }

    /// The least integer not below.
    pub fn ceil(&self) -> Numeric {
        self.negate().floor().negate()
    }

    /// The greatest integer not above.
    pub fn floor(&self) -> Numeric {
        let Numeric::Finite { unscaled, scale } = self else { return self.clone() };
        let unscaled = num_integer::Integer::div_floor(unscaled, &power_of_ten(usize::from(*scale)));
        Numeric::Finite { unscaled, scale: 0 }
    }

    /// Rounds half away from zero to `digits` after the point (before it, if negative).
    pub fn round(&self, digits: i32) -> Result<Numeric, ValueError> {
        self.rescale(digits, round_scaled)
    }

    /// Cuts off what is beyond `digits` after the point (before it, if negative).
    pub fn trunc(&self, digits: i32) -> Result<Numeric, ValueError> {
        self.rescale(digits, truncate_scaled)
    }

    fn rescale(&self, digits: i32, step: fn(&BigInt, i64, i64) -> BigInt) -> Result<Numeric, ValueError> {
        let Numeric::Finite { unscaled, scale } = self else { return Ok(self.clone()) };
        // PostgreSQL clamps to what its functions support; one digit beyond the widest number there is nothing to round up to.
        let digits = i64::from(digits.clamp(-(WEIGHT_DIGITS_MAX as i32) - 1, SCALE_MAX as i32));
        let kept = step(unscaled, i64::from(*scale), digits);
        if digits >= 0 {
            Numeric::new(kept, digits as u16)
        } else {
            Numeric::new(kept * power_of_ten(digits.unsigned_abs() as usize), 0)
        }
    }

    /// Applies the modifier of numeric(`precision`, `scale`): rounds, then refuses what does not fit.
    pub fn apply_modifier(&self, modifier: i32) -> Result<Numeric, ValueError> {
        let Some((precision, scale)) = crate::types::decode_numeric_modifier(modifier) else {
            return Ok(self.clone());
        };
        let error =
            |detail: String| ValueError { detail: Some(detail), ..ValueError::new("22003", "numeric field overflow") };
        let Numeric::Finite { .. } = self else {
            if self.is_nan() {
                return Ok(Numeric::NaN);
            }
            return Err(error(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        };
        let rounded = self.round(scale)?;
        let Numeric::Finite { unscaled, scale: kept } = &rounded else { return Ok(rounded) };
        let digits = digit_count(unscaled) as i64 - i64::from(*kept);
        if !unscaled.is_zero() && digits > i64::from(precision - scale) {
            let most = precision - scale;
            let bound = if most == 0 { "1".to_owned() } else { format!("10^{most}") };
            return Err(error(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
            )));
        }
        Ok(rounded)
    }

    fn rounded_integer(&self, type_name: &str) -> Result<BigInt, ValueError> {
        match self {
            Numeric::Finite { unscaled, scale: 0 } => Ok(unscaled.clone()),
            Numeric::Finite { unscaled, scale } => Ok(round_scaled(unscaled, i64::from(*scale), 0)),
            Numeric::NaN => Err(ValueError::new("0A000", format!("cannot convert NaN to {type_name}"))),
            Numeric::Infinity | Numeric::NegativeInfinity => {
                Err(ValueError::new("0A000", format!("cannot convert infinity to {type_name}")))
            }
        }
    }

    /// Rounded to smallint, half away from zero.
    pub fn to_i16(&self) -> Result<i16, ValueError> {
        self.rounded_integer("smallint")?.to_i16().ok_or_else(|| out_of_range("smallint"))
    }

    /// Rounded to integer, half away from zero.
    pub fn to_i32(&self) -> Result<i32, ValueError> {
        self.rounded_integer("integer")?.to_i32().ok_or_else(|| out_of_range("integer"))
    }

    /// Rounded to bigint, half away from zero.
    pub fn to_i64(&self) -> Result<i64, ValueError> {
        self.rounded_integer("bigint")?.to_i64().ok_or_else(|| out_of_range("bigint"))
    }

    /// Rounded to 128 bits, half away from zero.
    pub fn to_i128(&self) -> Result<i128, ValueError> {
        self.rounded_integer("bigint")?.to_i128().ok_or_else(|| out_of_range("bigint"))
    }

    /// The nearest double precision; 22003 where there is none.
    pub fn to_f64(&self) -> Result<f64, ValueError> {
        let value = self.to_f64_lossy();
        if value.is_infinite() && self.is_finite() {
            let shown = format!("\"{self}\" is out of range for type double precision");
            return Err(ValueError::new("22003", shown));
        }
        Ok(value)
    }

    /// The nearest double precision, infinite where it is too large.
    pub fn to_f64_lossy(&self) -> f64 {
        match self {
            Numeric::Finite { unscaled, scale } => {
                // Up to 2^53 and 10^22, both are exact and one division rounds correctly.
                if let (Some(small), true) = (unscaled.to_i64(), *scale <= 22)
                    && small.unsigned_abs() <= 1 << 53
                {
                    return small as f64 / 10f64.powi(i32::from(*scale));
                }
                self.to_string().parse().unwrap_or(f64::NAN)
            }
            Numeric::NaN => f64::NAN,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NegativeInfinity => f64::NEG_INFINITY,
        }
    }

    /// The nearest real; 22003 where there is none.
    pub fn to_f32(&self) -> Result<f32, ValueError> {
        let value = match self {
            Numeric::Finite { .. } => self.to_string().parse().unwrap_or(f32::NAN),
            Numeric::NaN | Numeric::Infinity | Numeric::NegativeInfinity => self.to_f64_lossy() as f32,
        };
        if value.is_infinite() && self.is_finite() {
            return Err(ValueError::new("22003", format!("\"{self}\" is out of range for type real")));
        }
        Ok(value)
    }

    /// A double precision with fifteen significant digits, as PostgreSQL casts it.
    pub fn from_f64(value: f64) -> Result<Numeric, ValueError> {
        Numeric::from_float(value, 15)
    }

    /// A real with six significant digits, as PostgreSQL casts it.
    pub fn from_f32(value: f32) -> Result<Numeric, ValueError> {
        Numeric::from_float(f64::from(value), 6)
    }

    fn from_float(value: f64, digits: usize) -> Result<Numeric, ValueError> {
        if value.is_nan() {
            return Ok(Numeric::NaN);
        }
        if value.is_infinite() {
            return Ok(if value > 0.0 { Numeric::Infinity } else { Numeric::NegativeInfinity });
        }
        // Like C's %.15g: trailing zeros of the significant digits are not shown.
        let parsed: Numeric = format!("{value:.*e}", digits - 1).parse()?;
        Ok(parsed.trim_scale())
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Numeric {
            fn from(value: $integer) -> Numeric {
                Numeric::Finite { unscaled: BigInt::from(value), scale: 0 }
            }
        }
    )*};
}
from_integer!(i16, i32, i64, i128, u32, u64, BigInt);

/// 10^`exponent`.
pub(crate) fn power_of_ten(exponent: usize) -> BigInt {
    if exponent < 20 {
        return BigInt::from(10u64.pow(exponent as u32));
    }
    num_traits::Pow::pow(BigInt::from(10), exponent)
}

/// Decimal digits of the magnitude; 0 for zero.
pub(crate) fn digit_count(value: &BigInt) -> usize {
    if value.is_zero() {
        return 0;
    }
    if let Some(small) = value.magnitude().to_u64() {
        return small.ilog10() as usize + 1;
    }
    // log10(2) from below and above bracket the count within one for every size that the format allows.
    let guess = ((value.bits() - 1) as f64 * std::f64::consts::LOG10_2) as usize + 1;
    guess + usize::from(value.magnitude() >= power_of_ten(guess).magnitude())
}

/// Moves an unscaled integer from one scale to another, rounding half away from zero.
pub(crate) fn round_scaled(unscaled: &BigInt, from: i64, to: i64) -> BigInt {
    if to >= from {
        return unscaled * power_of_ten((to - from) as usize);
    }
    let drop = (from - to) as usize;
    if drop > digit_count(unscaled) {
        return BigInt::ZERO;
    }
    divide_rounding(unscaled, &power_of_ten(drop))
}

/// Moves an unscaled integer from one scale to another, truncating.
pub(crate) fn truncate_scaled(unscaled: &BigInt, from: i64, to: i64) -> BigInt {
    if to >= from {
        return unscaled * power_of_ten((to - from) as usize);
    }
    let drop = (from - to) as usize;
    if drop > digit_count(unscaled) {
        return BigInt::ZERO;
    }
    unscaled / power_of_ten(drop)
}

/// `a / b` rounded half away from zero; `b` is not zero.
pub(crate) fn divide_rounding(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, rest) = num_integer::Integer::div_rem(a, b);
    if (rest.magnitude() * 2u32) < *b.magnitude() {
        return quotient;
    }
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    if negative { quotient - 1 } else { quotient + 1 }
}
