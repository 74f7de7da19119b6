//! Roots, powers, exponentials and logarithms of `numeric`, in fixed point with guard digits.
//!
//! The result's scale follows PostgreSQL's rules. Never more than a few thousand digits are computed, whatever
//! the arguments: estimates in double precision refuse overflows first.

use super::arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT_DIGITS_MIN, leading_digit, product, quotient};
use super::{Numeric, digit_count, overflow, power_of_ten, round_scaled};
use crate::{ValueError, poll};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// PostgreSQL's NUMERIC_MAX_RESULT_SCALE.
const RESULT_SCALE_MAX: f64 = 2000.0;
const LOG10_E: f64 = std::f64::consts::LOG10_E;

fn display_scale(wanted: i64, inputs: &[u16]) -> i64 {
    inputs.iter().fold(wanted, |scale, input| scale.max(i64::from(*input))).clamp(0, DISPLAY_SCALE_MAX)
}

fn log_domain(value: &Numeric) -> Result<(), ValueError> {
    if value.is_zero() {
        return Err(ValueError::new("2201E", "cannot take logarithm of zero"));
    }
    if value.is_negative() {
        return Err(ValueError::new("2201E", "cannot take logarithm of a negative number"));
    }
    Ok(())
}

impl Numeric {
    /// `sqrt`
    pub fn sqrt(&self) -> Result<Numeric, ValueError> {
        if self.is_negative() {
            return Err(ValueError::new("2201F", "cannot take square root of a negative number"));
        }
        let Numeric::Finite { unscaled, scale } = self else { return Ok(self.clone()) };
        let (weight, _) = leading_digit(unscaled, *scale);
        self.sqrt_to(display_scale(SIGNIFICANT_DIGITS_MIN - ((weight + 1) * 4 / 2 - 1), &[*scale]) as u16)
    }

    /// The square root with so many digits after the point, of what is not negative.
    pub fn sqrt_to(&self, result_scale: u16) -> Result<Numeric, ValueError> {
        let Numeric::Finite { unscaled, scale } = self else { return Ok(self.clone()) };
        let result_scale = i64::from(result_scale);
        // One digit more, and a sticky one: the root of an integer never ends in exactly half.
        let exponent = 2 * (result_scale + 1) - i64::from(*scale);
        let radicand = round_scaled(unscaled, 0, exponent.max(0));
        let root = if exponent >= 0 {
            radicand.sqrt()
        } else {
            (unscaled / power_of_ten(exponent.unsigned_abs() as usize)).sqrt()
        };
        Numeric::new(round_scaled(&root, result_scale + 1, result_scale), result_scale as u16)
    }

    /// `exp`
    pub fn exp(&self) -> Result<Numeric, ValueError> {
        let Numeric::Finite { unscaled, scale } = self else {
            return Ok(if *self == Numeric::NegativeInfinity { Numeric::zero() } else { self.clone() });
        };
        let estimate = self.to_f64_lossy();
        let weight = (estimate * LOG10_E).clamp(-RESULT_SCALE_MAX, RESULT_SCALE_MAX) as i64;
        let result_scale = display_scale(SIGNIFICANT_DIGITS_MIN - weight, &[*scale]);
        exp_at((unscaled, i64::from(*scale)), estimate, result_scale)
    }

    /// Natural logarithm.
    pub fn ln(&self) -> Result<Numeric, ValueError> {
        log_domain(self)?;
        let Numeric::Finite { unscaled, scale } = self else { return Ok(self.clone()) };
        let result_scale = display_scale(SIGNIFICANT_DIGITS_MIN - ln_weight(unscaled, *scale), &[*scale]);
        let value = ln_fixed(unscaled, i64::from(*scale), result_scale + 3);
        Numeric::new(round_scaled(&value, result_scale + 3, result_scale), result_scale as u16)
    }

    /// Logarithm to base 10.
    pub fn log10(&self) -> Result<Numeric, ValueError> {
        Numeric::log(&Numeric::from(10), self)
    }

    /// Logarithm of `value` to `base`.
    pub fn log(base: &Numeric, value: &Numeric) -> Result<Numeric, ValueError> {
        if base.is_nan() || value.is_nan() {
            return Ok(Numeric::NaN);
        }
        let special = !base.is_finite() || !value.is_finite();
        if special && value.is_negative() {
            log_domain(value)?;
        }
        log_domain(base)?;
        log_domain(value)?;
        let (Numeric::Finite { unscaled: b, scale: sb }, Numeric::Finite { unscaled: v, scale: sv }) = (base, value)
        else {
            return Ok(match (base.is_finite(), value.is_finite()) {
                (false, false) => Numeric::NaN,
                (false, true) => Numeric::zero(),
                (true, _) => Numeric::Infinity,
            });
        };
        let (base_weight, value_weight) = (ln_weight(b, *sb), ln_weight(v, *sv));
        let result_scale = display_scale(SIGNIFICANT_DIGITS_MIN - (value_weight - base_weight), &[*sb, *sv]);
        let working = result_scale + value_weight.abs() + 2 * base_weight.abs() + 12;
        let ln_base = ln_fixed(b, i64::from(*sb), working);
        let ln_value = ln_fixed(v, i64::from(*sv), working);
        if ln_base.is_zero() {
            return Err(ValueError::new("22012", "division by zero"));
        }
        Numeric::new(quotient((&ln_value, working), (&ln_base, working), result_scale), result_scale as u16)
    }

    /// `power(self, exponent)`, `^`.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric, ValueError> {
        let (Numeric::Finite { unscaled: b, scale: sb }, Numeric::Finite { unscaled: e, scale: se }) = (self, exponent)
        else {
            return power_special(self, exponent);
        };
        if b.is_zero() && e.is_negative() {
            return Err(ValueError::new("2201F", "zero raised to a negative power is undefined"));
        }
        let trimmed = exponent.trim_scale();
        let is_integer = trimmed.scale() == Some(0);
        if b.is_negative() && !is_integer {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(ValueError::new("2201F", message));
        }
        if let (true, Ok(small)) = (is_integer, trimmed.to_i32()) {
            return power_integer((b, *sb), small);
        }
        if b.is_zero() {
            return Numeric::new(BigInt::ZERO, SIGNIFICANT_DIGITS_MIN as u16);
        }
        let negative = b.is_negative() && num_integer::Integer::is_odd(&trimmed.rounded_integer("bigint")?);
        let result = power_fractional((&b.abs(), *sb), (e, *se))?;
        Ok(if negative { result.negate() } else { result })
    }
}

fn power_special(base: &Numeric, exponent: &Numeric) -> Result<Numeric, ValueError> {
    let one = Numeric::from(1);
    if base.is_nan() {
        return Ok(if exponent.is_zero() { one } else { Numeric::NaN });
    }
    let base_is_one = base.sql_cmp(&one).is_eq();
    if exponent.is_nan() {
        return Ok(if base_is_one { one } else { Numeric::NaN });
    }
    if base.is_zero() && exponent.is_negative() {
        return Err(ValueError::new("2201F", "zero raised to a negative power is undefined"));
    }
    if base_is_one || exponent.is_zero() {
        return Ok(one);
    }
    if base.is_zero() {
        return Ok(Numeric::zero());
    }
    if !exponent.is_finite() {
        let magnitude = base.abs().sql_cmp(&one);
        if magnitude.is_eq() {
            return Ok(one);
        }
        let grows = magnitude.is_gt() != exponent.is_negative();
        return Ok(if grows { Numeric::Infinity } else { Numeric::zero() });
    }
    if *base == Numeric::Infinity {
        return Ok(if exponent.is_negative() { Numeric::zero() } else { Numeric::Infinity });
    }
    let trimmed = exponent.trim_scale();
    if trimmed.scale() != Some(0) {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(ValueError::new("2201F", message));
    }
    if exponent.is_negative() {
        return Ok(Numeric::zero());
    }
    let odd = num_integer::Integer::is_odd(&trimmed.rounded_integer("bigint")?);
    Ok(if odd { Numeric::NegativeInfinity } else { Numeric::Infinity })
}

/// log10 of the magnitude, to double precision; the value is not zero.
fn log10_estimate(unscaled: &BigInt, scale: i64) -> f64 {
    let digits = digit_count(unscaled);
    let kept = digits.min(17);
    let leading = unscaled.magnitude() / power_of_ten(digits - kept).magnitude();
    leading.to_f64().unwrap_or(1.0).log10() + (digits - kept) as f64 - scale as f64
}

fn power_integer(base: (&BigInt, u16), exponent: i32) -> Result<Numeric, ValueError> {
    let (unscaled, scale) = (base.0, i64::from(base.1));
    let result_scale = display_scale(SIGNIFICANT_DIGITS_MIN, &[base.1]);
    let finish = |value: BigInt| Numeric::new(value, result_scale as u16);
    let one = BigInt::one();
    match exponent {
        0 => return finish(power_of_ten(result_scale as usize)),
        1 => return finish(round_scaled(unscaled, scale, result_scale)),
        -1 => return finish(quotient((&one, 0), (unscaled, scale), result_scale)),
        2 => return finish(product((unscaled, scale), (unscaled, scale), result_scale)),
        _ => {}
    }
    if unscaled.is_zero() {
        return finish(BigInt::ZERO);
    }
    let weight = f64::from(exponent) * log10_estimate(unscaled, scale);
    if weight > (super::WEIGHT_DIGITS_MAX + 4) as f64 {
        return Err(overflow());
    }
    if weight + 1.0 < -(result_scale as f64) || weight + 1.0 < -(DISPLAY_SCALE_MAX as f64) {
        return finish(BigInt::ZERO);
    }
    let significant = 1 + result_scale + weight as i64 + f64::from(exponent).abs().ln() as i64 + 8;
    let significant = significant.max(1) as usize + 4;
    // Powers by squaring, each product kept to the significant digits that the result needs.
    let shorten = |value: BigInt, scale: i64| {
        let digits = digit_count(&value);
        if digits <= significant {
            return (value, scale);
        }
        let to = scale - (digits - significant) as i64;
        (round_scaled(&value, scale, to), to)
    };
    let mut bits = exponent.unsigned_abs();
    let (mut square, mut square_scale) = (unscaled.clone(), scale);
    let (mut result, mut at) = (one.clone(), 0i64);
    loop {
        poll::steps(64)?;
        if bits & 1 == 1 {
            (result, at) = shorten(&result * &square, at + square_scale);
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
        (square, square_scale) = shorten(&square * &square, square_scale * 2);
    }
    if exponent < 0 {
        finish(quotient((&one, 0), (&result, at), result_scale))
    } else {
        finish(round_scaled(&result, at, result_scale))
    }
}

fn power_fractional(base: (&BigInt, u16), exponent: (&BigInt, u16)) -> Result<Numeric, ValueError> {
    let weight_of_ln = ln_weight(base.0, base.1);
    let rough_scale = (8 - weight_of_ln).max(0);
    let rough = ln_fixed(base.0, i64::from(base.1), rough_scale);
    // Rounded as PostgreSQL rounds it, for the result's scale hangs on it.
    let rough = product((&rough, rough_scale), (exponent.0, i64::from(exponent.1)), rough_scale);
    let estimate = Numeric::Finite { unscaled: rough, scale: rough_scale.min(16_383) as u16 }.to_f64_lossy();
    if estimate.abs() > RESULT_SCALE_MAX * 3.01 {
        if estimate > 0.0 {
            return Err(overflow());
        }
        return Numeric::new(BigInt::ZERO, DISPLAY_SCALE_MAX as u16);
    }
    let weight = (estimate * LOG10_E) as i64;
    let result_scale = display_scale(SIGNIFICANT_DIGITS_MIN - weight, &[base.1, exponent.1]);
    let exponent_digits = digit_count(exponent.0) as i64;
    let working = (result_scale + weight - weight_of_ln + 12).max(0) + exponent_digits.min(40);
    let ln_base = ln_fixed(base.0, i64::from(base.1), working);
    let argument = &ln_base * exponent.0;
    exp_at((&argument, working + i64::from(exponent.1)), estimate, result_scale)
}

/// e to the argument, at `result_scale`.
fn exp_at(argument: (&BigInt, i64), estimate: f64, result_scale: i64) -> Result<Numeric, ValueError> {
    if estimate.abs() >= RESULT_SCALE_MAX * 3.0 {
        if estimate > 0.0 {
            return Err(overflow());
        }
        return Numeric::new(BigInt::ZERO, result_scale as u16);
    }
    // Halved until small, then squared back: each squaring loses a bit, the guard digits cover all.
    let weight = (estimate * LOG10_E).ceil().max(0.0) as i64;
    let halvings = if estimate.abs() < 0.01 { 0 } else { (estimate.abs() / 0.01).log2().ceil() as usize };
    let working = result_scale + weight + halvings as i64 / 3 + 12;
    let one = power_of_ten(working as usize);
    let reduced = round_scaled(argument.0, argument.1, working + 4) >> halvings;
    let reduced = round_scaled(&reduced, working + 4, working);
    let mut sum = &one + &reduced;
    let mut term = reduced.clone();
    for n in 2i64.. {
        term = &term * &reduced / &one / n;
        if term.is_zero() || term == BigInt::from(-1) {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &one;
    }
    Numeric::new(round_scaled(&sum, working, result_scale), result_scale as u16)
}

/// PostgreSQL's estimate_ln_dweight: the decimal weight of the logarithm of a positive number.
fn ln_weight(unscaled: &BigInt, scale: u16) -> i64 {
    let value = Numeric::Finite { unscaled: unscaled.clone(), scale };
    let rough = value.to_f64_lossy();
    let near_one = rough > 0.89 && rough < 1.11 && {
        let bound = |tenths: i32| Numeric::Finite { unscaled: BigInt::from(tenths), scale: 1 };
        value.sql_cmp(&bound(9)).is_ge() && value.sql_cmp(&bound(11)).is_le()
    };
    if near_one {
        let difference = unscaled - power_of_ten(usize::from(scale));
        let digits = digit_count(&difference) as i64;
        return if digits == 0 { 0 } else { digits - 1 - i64::from(scale) };
    }
    let ln = log10_estimate(unscaled, i64::from(scale)) * std::f64::consts::LN_10;
    ln.abs().log10() as i64
}

/// ln of a positive number at `working` decimals, the last few of them not exact.
fn ln_fixed(unscaled: &BigInt, scale: i64, working: i64) -> BigInt {
    // value = mantissa × 10^tens with the mantissa in [0.316, 3.16].
    let tens = log10_estimate(unscaled, scale).round() as i64;
    let guarded = working + 10;
    let one = power_of_ten(guarded as usize);
    let mantissa = round_scaled(unscaled, scale + tens, guarded);
    let mut result = ln_near_one(mantissa, &one);
    if tens != 0 {
        let ten_root = num_integer::Roots::sqrt(&(&one * &one * BigInt::from(10)));
        result += ln_near_one(ten_root, &one) * 2 * tens;
    }
    round_scaled(&result, guarded, working)
}

/// ln of a fixed-point number not far from one: roots until near, then the series of artanh.
fn ln_near_one(mut value: BigInt, one: &BigInt) -> BigInt {
    let mut doublings = 0usize;
    let near = one / 64;
    while (&value - one).abs() > near && doublings < 8 {
        value = num_integer::Roots::sqrt(&(&value * one));
        doublings += 1;
    }
    // ln v = 2 artanh((v - 1) / (v + 1))
    let ratio = (&value - one) * one / (&value + one);
    let square = &ratio * &ratio / one;
    let mut sum = ratio.clone();
    let mut power = ratio;
    for n in (3i64..).step_by(2) {
        power = &power * &square / one;
        let term = &power / n;
        if term.is_zero() {
            break;
        }
        sum += term;
    }
    sum << (doublings + 1)
}
