//! bool_and, bool_or, every; bit_and, bit_or, bit_xor: by how many rows are true, or have a bit.

use super::accumulators::{Contribution, Total};
use super::{AggregateDefinition, summed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::{boolean, integer};
use repr::{Datum, ScalarType, ValueError};

type Added = Result<(), ValueError>;

/// Rows that are true, or have the lowest bit; then those that have the next.
const TRUE: u32 = 1;

fn bool_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let value = boolean(&args[0])?;
    contribution.count();
    contribution.add(TRUE, i128::from(value));
    Ok(())
}

fn and(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(if total.count() == 0 { Datum::Null } else { Datum::Bool(total.at(TRUE) == i128::from(total.count())) })
}

fn or(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(if total.count() == 0 { Datum::Null } else { Datum::Bool(total.at(TRUE) > 0) })
}

fn bits_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let mut left = integer(&args[0])? as u64;
    contribution.count();
    while left != 0 {
        contribution.add(TRUE + left.trailing_zeros(), 1);
        left &= left - 1;
    }
    Ok(())
}

/// The bits whose rows are as wanted of all rows.
fn bits(total: Total<'_>, result: &ScalarType, is_set: fn(i128, i128) -> bool) -> Answer {
    let count = i128::from(total.count());
    if count == 0 {
        return Ok(Datum::Null);
    }
    let set = total.between(TRUE, TRUE + 64).filter(|(_, rows)| is_set(*rows, count));
    let value = set.fold(0u64, |value, (bit, _)| value | 1 << bit);
    // Narrow integers were widened with their sign.
    Ok(match result {
        ScalarType::Int2 => Datum::Int2(value as i16),
        ScalarType::Int4 => Datum::Int4(value as i32),
        _ => Datum::Int8(value as i64),
    })
}

fn bit_and(total: Total<'_>, result: &ScalarType) -> Answer {
    bits(total, result, |rows, count| rows == count)
}

fn bit_or(total: Total<'_>, result: &ScalarType) -> Answer {
    bits(total, result, |rows, _| rows > 0)
}

fn bit_xor(total: Total<'_>, result: &ScalarType) -> Answer {
    bits(total, result, |rows, _| rows & 1 == 1)
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    summed("bool_and(bool) bool", bool_row, and),
    summed("every(bool) bool", bool_row, and),
    summed("bool_or(bool) bool", bool_row, or),
    summed("bit_and(int2) int2", bits_row, bit_and),
    summed("bit_and(int4) int4", bits_row, bit_and),
    summed("bit_and(int8) int8", bits_row, bit_and),
    summed("bit_or(int2) int2", bits_row, bit_or),
    summed("bit_or(int4) int4", bits_row, bit_or),
    summed("bit_or(int8) int8", bits_row, bit_or),
    summed("bit_xor(int2) int2", bits_row, bit_xor),
    summed("bit_xor(int4) int4", bits_row, bit_xor),
    summed("bit_xor(int8) int8", bits_row, bit_xor),
];
