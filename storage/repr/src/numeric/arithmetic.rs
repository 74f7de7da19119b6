//! Sums, products and quotients of `numeric`, with the scales that PostgreSQL gives results.

use super::{Numeric, digit_count, divide_rounding, power_of_ten, round_scaled};
use crate::{ValueError, poll};
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

/// PostgreSQL's NUMERIC_MIN_SIG_DIGITS: significant digits that a quotient has at least.
pub(super) const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// PostgreSQL's NUMERIC_MAX_DISPLAY_SCALE: scale that a computed result has at most.
pub(super) const DISPLAY_SCALE_MAX: i64 = 1000;

/// Bits of which the divisor is found at once.
const SMALL_BITS_MAX: u64 = 1 << 13;

/// Of long numbers step by step, as there are as many steps as digits: each looks whether the statement is to end.
fn common_divisor(mut a: BigInt, mut b: BigInt) -> Result<BigInt, ValueError> {
    while a.bits().max(b.bits()) > SMALL_BITS_MAX && !b.is_zero() {
        poll::steps(64)?;
        let rest = a % &b;
        a = std::mem::replace(&mut b, rest);
    }
    Ok(num_integer::Integer::gcd(&a, &b))
}

fn division_by_zero() -> ValueError {
    ValueError::new("22012", "division by zero")
}

impl Numeric {
    /// `+`
    pub fn add(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        match (self, other) {
            (Numeric::Finite { unscaled: a, scale: sa }, Numeric::Finite { unscaled: b, scale: sb }) => {
                if sa == sb {
                    return Numeric::new(a + b, *sa);
                }
                let scale = (*sa).max(*sb);
                let align = |unscaled: &BigInt, from: u16| unscaled * power_of_ten(usize::from(scale - from));
                Numeric::new(align(a, *sa) + align(b, *sb), scale)
            }
            (Numeric::NaN, _) | (_, Numeric::NaN) => Ok(Numeric::NaN),
            (Numeric::Infinity, Numeric::NegativeInfinity) | (Numeric::NegativeInfinity, Numeric::Infinity) => {
                Ok(Numeric::NaN)
            }
            (Numeric::Infinity, _) | (_, Numeric::Infinity) => Ok(Numeric::Infinity),
            (Numeric::NegativeInfinity, _) | (_, Numeric::NegativeInfinity) => Ok(Numeric::NegativeInfinity),
        }
    }

    /// `-`
    pub fn sub(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        self.add(&other.negate())
    }

    /// `*`
    pub fn mul(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        let (Numeric::Finite { unscaled: a, scale: sa }, Numeric::Finite { unscaled: b, scale: sb }) = (self, other)
        else {
            if self.is_nan() || other.is_nan() || self.is_zero() || other.is_zero() {
                return Ok(Numeric::NaN);
            }
            return Ok(signed_infinity(self.is_negative() != other.is_negative()));
        };
        // Both scales are at most 16383, so the sum fits; `new` rounds what is beyond the limit.
        Numeric::new(a * b, sa + sb)
    }

    /// A whole number at a scale that no value may have, through another: as `/` if it may.
    ///
    /// # Errors
    /// 22012, and 22003 if it is too long.
    pub fn ratio((unscaled, scale): (&BigInt, u16), divisor: &BigInt) -> Result<Numeric, ValueError> {
        if divisor.is_zero() {
            return Err(division_by_zero());
        }
        let digits = division_scale((unscaled, scale), (divisor, 0));
        Numeric::new(quotient((unscaled, i64::from(scale)), (divisor, 0), digits), digits as u16)
    }

    /// `/`, with at least sixteen significant digits.
    pub fn div(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        let (Numeric::Finite { unscaled: a, scale: sa }, Numeric::Finite { unscaled: b, scale: sb }) = (self, other)
        else {
            if self.is_nan() || other.is_nan() || (!self.is_finite() && !other.is_finite()) {
                return Ok(Numeric::NaN);
            }
            if self.is_finite() {
                return Ok(Numeric::zero());
            }
            if other.is_zero() {
                return Err(division_by_zero());
            }
            return Ok(signed_infinity(self.is_negative() != other.is_negative()));
        };
        if b.is_zero() {
            return Err(division_by_zero());
        }
        let scale = division_scale((a, *sa), (b, *sb));
        Numeric::new(quotient((a, i64::from(*sa)), (b, i64::from(*sb)), scale), scale as u16)
    }

    /// `div(a, b)`: the integer quotient, truncated.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        let (Numeric::Finite { .. }, Numeric::Finite { .. }) = (self, other) else {
            return self.div(other);
        };
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let (a, b, _) = self.aligned(other);
        Numeric::new(a / b, 0)
    }

    /// `%`: truncates towards zero, so the result has the dividend's sign.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NaN);
        }
        if !self.is_finite() {
            return if other.is_zero() { Err(division_by_zero()) } else { Ok(Numeric::NaN) };
        }
        if !other.is_finite() {
            return Ok(self.clone());
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let (a, b, scale) = self.aligned(other);
        Numeric::new(a % b, scale)
    }

    /// Greatest common divisor; NaN for special values.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(Numeric::NaN);
        }
        let (a, b, scale) = self.aligned(other);
        Numeric::new(common_divisor(a, b)?, scale)
    }

    /// Least common multiple; NaN for special values.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric, ValueError> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(Numeric::NaN);
        }
        let (a, b, scale) = self.aligned(other);
        if a.is_zero() || b.is_zero() {
            return Numeric::new(BigInt::ZERO, scale);
        }
        let shared = common_divisor(a.clone(), b.clone())?;
        Numeric::new(BigInt::from((a / shared * b).into_parts().1), scale)
    }

    /// `n!`
    pub fn factorial(n: i64) -> Result<Numeric, ValueError> {
        if n < 0 {
            return Err(ValueError::new("22003", "factorial of a negative number is undefined"));
        }
        // The first factorial beyond the format; without this the product would take hours.
        if n > 32_177 {
            return Err(super::overflow());
        }
        let mut product = BigInt::from(1);
        for factor in 2..=n {
            poll::steps(16)?;
            product *= factor;
        }
        Numeric::new(product, 0)
    }

    /// Both unscaled integers at the greater scale; of finite numbers only.
    fn aligned(&self, other: &Numeric) -> (BigInt, BigInt, u16) {
        let (sa, sb) = (self.scale().unwrap_or(0), other.scale().unwrap_or(0));
        let scale = sa.max(sb);
        let align = |number: &Numeric, from: u16| match number {
            Numeric::Finite { unscaled, .. } => unscaled * power_of_ten(usize::from(scale - from)),
            Numeric::NaN | Numeric::Infinity | Numeric::NegativeInfinity => BigInt::ZERO,
        };
        (align(self, sa), align(other, sb), scale)
    }
}

fn signed_infinity(negative: bool) -> Numeric {
    if negative { Numeric::NegativeInfinity } else { Numeric::Infinity }
}

/// Weight (in base 10000) and value of the first base-10000 digit, as PostgreSQL stores it; zeros for zero.
pub(super) fn leading_digit(unscaled: &BigInt, scale: u16) -> (i64, i64) {
    let digits = digit_count(unscaled) as i64;
    if digits == 0 {
        return (0, 0);
    }
    let exponent = digits - 1 - i64::from(scale);
    let weight = exponent.div_euclid(4);
    let wanted = exponent.rem_euclid(4) + 1;
    let leading = if digits > wanted {
        unscaled.magnitude() / power_of_ten((digits - wanted) as usize).magnitude()
    } else {
        unscaled.magnitude() * power_of_ten((wanted - digits) as usize).magnitude()
    };
    (weight, leading.to_i64().unwrap_or(0))
}

/// PostgreSQL's select_div_scale.
fn division_scale(a: (&BigInt, u16), b: (&BigInt, u16)) -> i64 {
    let (weight_a, first_a) = leading_digit(a.0, a.1);
    let (weight_b, first_b) = leading_digit(b.0, b.1);
    let mut weight = weight_a - weight_b;
    if first_a <= first_b {
        weight -= 1;
    }
    (SIGNIFICANT_DIGITS_MIN - weight * 4).max(i64::from(a.1)).max(i64::from(b.1)).clamp(0, DISPLAY_SCALE_MAX)
}

/// `a / b` at `scale`, rounded half away from zero; `b` is not zero.
pub(super) fn quotient(a: (&BigInt, i64), b: (&BigInt, i64), scale: i64) -> BigInt {
    let shift = scale + b.1 - a.1;
    if shift >= 0 {
        divide_rounding(&(a.0 * power_of_ten(shift as usize)), b.0)
    } else {
        divide_rounding(a.0, &(b.0 * power_of_ten(shift.unsigned_abs() as usize)))
    }
}

/// `a * b` at `scale`, rounded.
pub(super) fn product(a: (&BigInt, i64), b: (&BigInt, i64), scale: i64) -> BigInt {
    round_scaled(&(a.0 * b.0), a.1 + b.1, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_of_long_numbers_are_those_of_short_ones() {
        let number = |digits: usize, first: u32, factor: u32| {
            let unscaled = (power_of_ten(digits) + first) * factor;
            Numeric::new(unscaled, 0).expect("is in range")
        };
        for (digits, first, factor) in [(0, 5, 36), (30, 7, 36), (4000, 9, 36), (6000, 1, 54)] {
            let (a, b) = (number(digits, first, factor), number(digits / 2, first + 2, 90));
            let (Numeric::Finite { unscaled: x, .. }, Numeric::Finite { unscaled: y, .. }) = (&a, &b) else { panic!() };
            let (gcd, lcm) = (num_integer::Integer::gcd(x, y), num_integer::Integer::lcm(x, y));
            assert_eq!(a.gcd(&b).expect("ends"), Numeric::new(gcd, 0).expect("is in range"));
            assert_eq!(a.lcm(&b).expect("ends"), Numeric::new(lcm, 0).expect("is in range"));
        }
    }
}
