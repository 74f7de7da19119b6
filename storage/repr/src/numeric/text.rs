//! Text of `numeric`.

use super::{Numeric, SCALE_MAX, WEIGHT_DIGITS_MAX, overflow, power_of_ten};
use crate::ValueError;
use num_bigint::{BigInt, Sign};
use num_traits::Zero;
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unscaled, scale) = match self {
            Numeric::Finite { unscaled, scale } => (unscaled, scale),
            Numeric::NaN => return f.write_str("NaN"),
            Numeric::Infinity => return f.write_str("Infinity"),
            Numeric::NegativeInfinity => return f.write_str("-Infinity"),
        };
        // Nearly all: without the memory that digits of any number take.
        if let Ok(small) = i64::try_from(unscaled) {
            return write_decimal(f, small, *scale);
        }
        if *scale == 0 {
            return write!(f, "{unscaled}");
        }
        let sign = if unscaled.sign() == Sign::Minus { "-" } else { "" };
        write_digits(f, sign, &unscaled.magnitude().to_string(), usize::from(*scale))
    }
}

/// A finite numeric of few digits: `unscaled` × 10^-`scale`.
pub(crate) fn write_decimal(out: &mut impl fmt::Write, unscaled: i64, scale: u16) -> fmt::Result {
    if scale == 0 {
        return write!(out, "{unscaled}");
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = unscaled.unsigned_abs();
    while rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let digits = std::str::from_utf8(&digits[at..]).expect("digits are ASCII");
    write_digits(out, if unscaled < 0 { "-" } else { "" }, digits, usize::from(scale))
}

fn write_digits(out: &mut impl fmt::Write, sign: &str, digits: &str, scale: usize) -> fmt::Result {
    out.write_str(sign)?;
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.write_str(whole)?;
        out.write_str(".")?;
        out.write_str(fraction)
    } else {
        write!(out, "0.{digits:0>scale$}")
    }
}

fn syntax(text: &str) -> ValueError {
    ValueError::new("22P02", format!("invalid input syntax for type numeric: \"{text}\""))
}

impl FromStr for Numeric {
    type Err = ValueError;

    /// PostgreSQL 15's input: blanks around, sign, digits with a point, exponent; NaN, Infinity, inf.
    fn from_str(text: &str) -> Result<Numeric, ValueError> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
        let (negative, unsigned) = match trimmed.as_bytes().first() {
            Some(b'-') => (true, &trimmed[1..]),
            Some(b'+') => (false, &trimmed[1..]),
            _ => (false, trimmed),
        };
        if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return special(trimmed, unsigned, negative).ok_or_else(|| syntax(text));
        }
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(place) => (&unsigned[..place], parse_exponent(&unsigned[place + 1..]).ok_or_else(|| syntax(text))?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
            return Err(syntax(text));
        }
        // The exponent is bounded first: nothing is computed for 1e999999999.
        if exponent.abs() >= i64::from(i32::MAX) / 2 {
            return Err(overflow());
        }
        // More digits than a number can have, whatever the exponent makes of them, take long to read.
        let digits = whole.trim_start_matches('0').len() + fraction.len();
        if digits > 2 * (WEIGHT_DIGITS_MAX + SCALE_MAX) {
            return Err(overflow());
        }
        let unscaled = parse_digits(whole, fraction);
        let unscaled = if negative { -unscaled } else { unscaled };
        finish(unscaled, fraction.len() as i64 - exponent)
    }
}

fn special(trimmed: &str, unsigned: &str, negative: bool) -> Option<Numeric> {
    if trimmed.eq_ignore_ascii_case("nan") {
        return Some(Numeric::NaN);
    }
    if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
        return Some(if negative { Numeric::NegativeInfinity } else { Numeric::Infinity });
    }
    None
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More digits than any number allows: saturated, and refused as an overflow.
    let value = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if text.starts_with('-') { -value } else { value })
}

fn parse_digits(whole: &str, fraction: &str) -> BigInt {
    if whole.len() + fraction.len() <= 19 {
        let value = whole.bytes().chain(fraction.bytes()).fold(0u64, |value, byte| value * 10 + u64::from(byte - b'0'));
        return BigInt::from(value);
    }
    let mut digits = String::with_capacity(whole.len() + fraction.len());
    digits.push_str(whole);
    digits.push_str(fraction);
    BigInt::parse_bytes(digits.as_bytes(), 10).expect("only digits, and at least one")
}

fn finish(unscaled: BigInt, scale: i64) -> Result<Numeric, ValueError> {
    if scale > SCALE_MAX as i64 {
        return Err(overflow());
    }
    if scale >= 0 {
        return Numeric::new(unscaled, scale as u16);
    }
    if unscaled.is_zero() {
        return Ok(Numeric::zero());
    }
    if scale.unsigned_abs() as usize > WEIGHT_DIGITS_MAX {
        return Err(overflow());
    }
    Numeric::new(unscaled * power_of_ten(scale.unsigned_abs() as usize), 0)
}
