//! Text and wire bytes of `numeric`.

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

const WIRE_NEGATIVE: u16 = 0x4000;
const WIRE_NAN: u16 = 0xC000;
const WIRE_INFINITY: u16 = 0xD000;
const WIRE_NEGATIVE_INFINITY: u16 = 0xF000;
/// What PostgreSQL happens to send as the scale of infinities.
const WIRE_INFINITY_SCALE: u16 = 0x20;

impl Numeric {
    /// Appends PostgreSQL's wire form: count, weight, sign, scale, then digits in base 10000.
    pub fn to_binary(&self, out: &mut Vec<u8>) {
        let mut header = |count: u16, weight: i16, sign: u16, scale: u16| {
            out.extend_from_slice(&count.to_be_bytes());
            out.extend_from_slice(&weight.to_be_bytes());
            out.extend_from_slice(&sign.to_be_bytes());
            out.extend_from_slice(&scale.to_be_bytes());
        };
        let (unscaled, scale) = match self {
            Numeric::Finite { unscaled, scale } => (unscaled, *scale),
            Numeric::NaN => return header(0, 0, WIRE_NAN, 0),
            Numeric::Infinity => return header(0, 0, WIRE_INFINITY, WIRE_INFINITY_SCALE),
            Numeric::NegativeInfinity => return header(0, 0, WIRE_NEGATIVE_INFINITY, WIRE_INFINITY_SCALE),
        };
        // Padded so that the decimal point falls between two digits of base 10000.
        let padding = (4 - usize::from(scale) % 4) % 4;
        let padded = unscaled.magnitude() * power_of_ten(padding).magnitude();
        let fraction_digits = (usize::from(scale) + padding) / 4;
        let mut digits = to_base_10000(&padded);
        let weight = digits.len() as i64 - 1 - fraction_digits as i64;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let sign = if unscaled.sign() == Sign::Minus { WIRE_NEGATIVE } else { 0 };
        header(digits.len() as u16, if digits.is_empty() { 0 } else { weight as i16 }, sign, scale);
        for digit in digits {
            out.extend_from_slice(&digit.to_be_bytes());
        }
    }

    /// Reads PostgreSQL's wire form; 22P03 for what is malformed.
    pub fn from_binary(bytes: &[u8]) -> Result<Numeric, ValueError> {
        let malformed = |what: &str| ValueError::new("22P03", format!("invalid {what} in external \"numeric\" value"));
        let words: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        let [count, weight, sign, scale, digits @ ..] = words.as_slice() else {
            return Err(malformed("length"));
        };
        if digits.len() != usize::from(*count) || bytes.len() % 2 == 1 {
            return Err(malformed("length"));
        }
        let negative = match *sign {
            0 => false,
            WIRE_NEGATIVE => true,
            WIRE_NAN => return Ok(Numeric::NaN),
            WIRE_INFINITY => return Ok(Numeric::Infinity),
            WIRE_NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
            _ => return Err(malformed("sign")),
        };
        if usize::from(*scale) > SCALE_MAX {
            return Err(malformed("scale"));
        }
        let mut radix = Vec::with_capacity(digits.len() * 4);
        for digit in digits {
            if *digit >= 10_000 {
                return Err(malformed("digit"));
            }
            radix.extend([digit / 1000, digit / 100 % 10, digit / 10 % 10, digit % 10].map(|d| d as u8));
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        let unscaled = if radix.is_empty() {
            BigInt::ZERO
        } else {
            BigInt::from_radix_be(sign, &radix, 10).expect("every digit is below ten")
        };
        // The last digit stands for 10000^(weight - count + 1); what is beyond the scale is cut off.
        let stored = (i64::from(*count) - 1 - i64::from(*weight as i16)) * 4;
        Numeric::new(super::truncate_scaled(&unscaled, stored, i64::from(*scale)), *scale)
    }
}

fn to_base_10000(value: &num_bigint::BigUint) -> Vec<u16> {
    let text = value.to_string();
    if text == "0" {
        return Vec::new();
    }
    let head = text.len() % 4;
    let parse = |part: &str| part.bytes().fold(0u16, |sum, byte| sum * 10 + u16::from(byte - b'0'));
    let mut digits = Vec::with_capacity(text.len() / 4 + 1);
    if head > 0 {
        digits.push(parse(&text[..head]));
    }
    digits.extend(
        text.as_bytes()[head..]
            .chunks(4)
            .map(|chunk| chunk.iter().fold(0u16, |sum, byte| sum * 10 + u16::from(byte - b'0'))),
    );
    digits
}
