//! Strings of bits: their parts, what is in both, either or one of two, and shifts.

use super::arguments::{bits, int4, integer};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::{Bits, Datum, ValueError};

fn made(value: Bits) -> Answer {
    Ok(Datum::Bits(value))
}

fn count(value: usize) -> Answer {
    Ok(Datum::Int4(i32::try_from(value).unwrap_or(i32::MAX)))
}

/// `substring`; without a length up to the end.
fn part(value: &Bits, start: i64, length: Option<i64>) -> Result<Bits, ValueError> {
    if length.is_some_and(|length| length < 0) {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    let bound = |place: i64| usize::try_from(place.saturating_sub(1)).unwrap_or(0);
    // Where the end is beyond every integer, there is none.
    let end = length.and_then(|length| i32::try_from(start + length).ok()).map_or(i64::MAX, i64::from);
    Ok(value.slice(bound(start), bound(end)))
}

fn overlay(args: &[Datum]) -> Answer {
    let (value, replacement, start) = (bits(&args[0])?, bits(&args[1])?, integer(&args[2])?);
    let count = args.get(3).map_or(Ok(replacement.len() as i64), integer)?;
    if start <= 0 {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    let end = i32::try_from(start + count).map_err(|_| ValueError::new("22003", "integer out of range"))?;
    let behind = part(value, i64::from(end), None)?;
    made(part(value, 1, Some(start - 1))?.joined(replacement)?.joined(&behind)?)
}

/// The place of a bit that is there.
fn place(value: &Bits, index: i32) -> Result<usize, ValueError> {
    usize::try_from(index).ok().filter(|place| *place < value.len()).ok_or_else(|| {
        let message = format!("bit index {index} out of valid range (0..{})", value.len() as i64 - 1);
        ValueError::new("2202E", message)
    })
}

fn set_bit(value: &Bits, index: i32, bit: i32) -> Answer {
    let place = place(value, index)?;
    match bit {
        0 | 1 => made(value.with_bit(place, bit == 1)),
        _ => Err(ValueError::new("22023", "new bit must be 0 or 1")),
    }
}

/// From 1; 0 if it is not there, or there is nothing to look in.
fn position(value: &Bits, wanted: &Bits) -> Answer {
    if value.is_empty() {
        return Ok(Datum::Int4(0));
    }
    count(value.find(wanted)?.map_or(0, |place| place + 1))
}

/// `&`
pub(crate) fn and(one: &Bits, other: &Bits) -> Result<Bits, ValueError> {
    one.combined(other, "AND", |one, other| one & other)
}

/// `|`
pub(crate) fn or(one: &Bits, other: &Bits) -> Result<Bits, ValueError> {
    one.combined(other, "OR", |one, other| one | other)
}

/// `#`
pub(crate) fn xor(one: &Bits, other: &Bits) -> Result<Bits, ValueError> {
    one.combined(other, "XOR", |one, other| one ^ other)
}

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("&(bit, bit) bit", |_, a, _| made(and(bits(&a[0])?, bits(&a[1])?)?)),
    strict("|(bit, bit) bit", |_, a, _| made(or(bits(&a[0])?, bits(&a[1])?)?)),
    strict("#(bit, bit) bit", |_, a, _| made(xor(bits(&a[0])?, bits(&a[1])?)?)),
    strict("~(bit) bit", |_, a, _| made(bits(&a[0])?.inverted())),
    strict("<<(bit, int4) bit", |_, a, _| made(bits(&a[0])?.shifted(integer(&a[1])?))),
    strict(">>(bit, int4) bit", |_, a, _| made(bits(&a[0])?.shifted(-integer(&a[1])?))),
    strict("||(varbit, varbit) varbit", |_, a, _| made(bits(&a[0])?.joined(bits(&a[1])?)?)),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("length(bit) int4", |_, a, _| count(bits(&a[0])?.len())),
    strict("bit_length(bit) int4", |_, a, _| count(bits(&a[0])?.len())),
    strict("octet_length(bit) int4", |_, a, _| count(bits(&a[0])?.bytes().len())),
    strict("bit_count(bit) int8", |_, a, _| {
        Ok(Datum::Int8(bits(&a[0])?.bytes().iter().map(|byte| i64::from(byte.count_ones())).sum()))
    }),
    strict("substring(bit, int4) bit", |_, a, _| made(part(bits(&a[0])?, integer(&a[1])?, None)?)),
    strict("substring(bit, int4, int4) bit", |_, a, _| {
        made(part(bits(&a[0])?, integer(&a[1])?, Some(integer(&a[2])?))?)
    }),
    strict("overlay(bit, bit, int4, int4?) bit", |_, a, _| overlay(a)),
    strict("position(bit, bit) int4", |_, a, _| position(bits(&a[0])?, bits(&a[1])?)),
    strict("get_bit(bit, int4) int4", |_, a, _| {
        let value = bits(&a[0])?;
        Ok(Datum::Int4(i32::from(value.bit(place(value, int4(&a[1])?)?))))
    }),
    strict("set_bit(bit, int4, int4) bit", |_, a, _| set_bit(bits(&a[0])?, int4(&a[1])?, int4(&a[2])?)),
];
