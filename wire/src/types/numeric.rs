//! `numeric` in binary: groups of four decimal digits with a weight, as PostgreSQL's numeric_send writes it.
//!
//! ```text
//! i16 groups │ i16 weight │ u16 sign │ u16 scale │ i16 group …        value = Σ group[i] × 10000^(weight − i)
//! ```

use bytes::BufMut;
use engine::SqlError;
use num_bigint::{BigInt, BigUint, Sign};
use repr::Numeric;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;
/// What PostgreSQL happens to send as the scale of infinities.
const INFINITY_SCALE: u16 = 0x20;
const SCALE_MAX: u16 = 0x3FFF;
const GROUP: u32 = 10_000;

/// Appends the value.
pub fn encode(value: &Numeric, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Numeric::NaN => special(NAN, 0, out),
        Numeric::Infinity => special(INFINITY, INFINITY_SCALE, out),
        Numeric::NegativeInfinity => special(NEGATIVE_INFINITY, INFINITY_SCALE, out),
        Numeric::Finite { unscaled, scale } => {
            let sign = if unscaled.sign() == Sign::Minus { NEGATIVE } else { 0 };
            match u128::try_from(unscaled.magnitude()) {
                Ok(small) if small < u128::MAX / 1000 => encode_small(sign, small, *scale, out)?,
                _ => {
                    let groups = groups_of_large(unscaled.magnitude() * BigUint::from(10u32).pow(padding(*scale)));
                    finite(sign, &groups, *scale, out)?;
                }
            }
        }
    }
    Ok(())
}

/// Appends `unscaled` × 10^-`scale`.
pub(crate) fn encode_decimal(unscaled: i64, scale: u16, out: &mut Vec<u8>) -> Result<(), SqlError> {
    encode_small(if unscaled < 0 { NEGATIVE } else { 0 }, u128::from(unscaled.unsigned_abs()), scale, out)
}

/// A magnitude that can be multiplied by a thousand.
fn encode_small(sign: u16, magnitude: u128, scale: u16, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let mut rest = magnitude * 10u128.pow(padding(scale));
    // 39 digits at most.
    let (mut groups, mut count) = ([0; 10], 0);
    while rest > 0 {
        groups[count] = (rest % u128::from(GROUP)) as i16;
        rest /= u128::from(GROUP);
        count += 1;
    }
    finite(sign, &groups[..count], scale, out)
}

/// Digits that fill the last group up, so that the point stands between two groups.
fn padding(scale: u16) -> u32 {
    (4 - u32::from(scale) % 4) % 4
}

/// `groups` has the least significant first.
fn finite(sign: u16, groups: &[i16], scale: u16, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let fraction_groups = (i64::from(scale) + i64::from(padding(scale))) / 4;
    let weight = groups.len() as i64 - fraction_groups - 1;
    let trailing = groups.iter().take_while(|&&group| group == 0).count();
    let groups = &groups[trailing..];
    let overflow = || SqlError::new("22003", "value overflows numeric format");
    out.put_u16(u16::try_from(groups.len()).map_err(|_| overflow())?);
    out.put_i16(if groups.is_empty() { 0 } else { i16::try_from(weight).map_err(|_| overflow())? });
    out.put_u16(sign);
    out.put_u16(scale);
    for group in groups.iter().rev() {
        out.put_i16(*group);
    }
    Ok(())
}

fn special(sign: u16, scale: u16, out: &mut Vec<u8>) {
    out.put_i16(0);
    out.put_i16(0);
    out.put_u16(sign);
    out.put_u16(scale);
}

fn groups_of_large(value: BigUint) -> Vec<i16> {
    // Radix 100 is the largest power of ten that the library takes; two of its digits are one group.
    value
        .to_radix_le(100)
        .chunks(2)
        .map(|pair| i16::from(pair[0]) + 100 * pair.get(1).map_or(0, |&high| i16::from(high)))
        .collect()
}

/// Reads the value; the slice is exactly it.
pub fn decode(bytes: &[u8]) -> Result<Numeric, SqlError> {
    let words: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let [count, weight, sign, scale, groups @ ..] = words.as_slice() else { return Err(invalid("numeric")) };
    if !bytes.len().is_multiple_of(2) || groups.len() != usize::from(*count) {
        return Err(invalid("numeric"));
    }
    match *sign {
        0 | NEGATIVE => {}
        NAN => return Ok(Numeric::NaN),
        INFINITY => return Ok(Numeric::Infinity),
        NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
        _ => return Err(SqlError::new("22P03", "invalid sign in external \"numeric\" value")),
    }
    if *scale > SCALE_MAX {
        return Err(SqlError::new("22P03", "invalid scale in external \"numeric\" value"));
    }
    let mut digits = Vec::with_capacity(groups.len() * 2);
    for group in groups {
        if u32::from(*group) >= GROUP {
            return Err(SqlError::new("22P03", "invalid digit in external \"numeric\" value"));
        }
        digits.push((group / 100) as u8);
        digits.push((group % 100) as u8);
    }
    let magnitude = BigUint::from_radix_be(&digits, 100).unwrap_or_default();
    // The groups end this many decimals after the point (before it, if negative).
    let weight = i64::from(i16::from_be_bytes(weight.to_be_bytes()));
    let decimals = 4 * (groups.len() as i64 - 1 - weight);
    let shift = i64::from(*scale) - decimals;
    let ten = BigUint::from(10u32);
    let power = u32::try_from(shift.unsigned_abs()).map_err(|_| invalid("numeric"))?;
    // Digits beyond the scale are cut off, as numeric_recv does.
    let magnitude = if magnitude == BigUint::ZERO {
        magnitude
    } else if shift >= 0 {
        magnitude * ten.pow(power)
    } else {
        magnitude / ten.pow(power)
    };
    let sign = if *sign == NEGATIVE { Sign::Minus } else { Sign::Plus };
    Ok(Numeric::Finite { unscaled: BigInt::from_biguint(sign, magnitude), scale: *scale })
}

fn invalid(name: &str) -> SqlError {
    SqlError::new("22P03", format!("incorrect binary data format for type {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finite(unscaled: &str, scale: u16) -> Numeric {
        Numeric::Finite { unscaled: unscaled.parse().expect("digits"), scale }
    }

    fn bytes(value: &Numeric) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, &mut out).expect("fits");
        out
    }

    #[test]
    fn values_are_written_as_postgres_writes_them() {
        // As `SELECT encode(numeric_send(…), 'hex')` gave them.
        for line in include_str!("../../tests/golden/numeric_binary.tsv").lines() {
            let (text, expected) = line.split_once('\t').expect("a value and its bytes");
            let value: Numeric = text.parse().expect("a numeric");
            let hex: String = bytes(&value).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{text}");
            assert_eq!(decode(&bytes(&value)).expect("valid"), value);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut values = vec![Numeric::NaN, Numeric::Infinity, Numeric::NegativeInfinity];
        for digits in ["0", "1", "-1", "9999", "10000", "123456789", "-100000000000000000000", "7"] {
            for scale in 0..10 {
                values.push(finite(digits, scale));
            }
        }
        values.push(finite(&"9".repeat(500), 120));
        values.push(finite(&format!("1{}", "0".repeat(300)), 3));
        values.push(finite(&"123456789".repeat(5), 16383));
        for value in values {
            assert_eq!(decode(&bytes(&value)).expect("valid"), value);
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for words in [
            &[][..],
            &[0, 0, 0],
            &[1, 0, 0, 0],
            &[0, 0, 0, 0, 1],
            &[1, 0, 0, 0, 10_000],
            &[0, 0, 1, 0],
            &[0, 0, 0, 0x4000],
        ] {
            let bytes: Vec<u8> = words.iter().flat_map(|word: &u16| word.to_be_bytes()).collect();
            assert_eq!(decode(&bytes).expect_err("refused").code, "22P03");
        }
    }
}
