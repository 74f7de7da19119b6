//! bool_and, bool_or, every; bit_and, bit_or, bit_xor.

use super::{Accumulable, AggregateDefinition, Contribution, Rows, plain};
use crate::scalar::EvalContext;
use crate::scalar::func::arguments::integer;
use repr::{Datum, ScalarType, ValueError};

type Answer = Result<Datum, ValueError>;

/// `count` counts the rows, `sum` those that are true.
fn row(args: &[Datum]) -> Result<Contribution, ValueError> {
    Ok(match args[0].as_bool() {
        Some(value) => Contribution { count: 1, sum: i128::from(value) },
        None => Contribution::default(),
    })
}

fn finish_and(total: Contribution, _: &ScalarType) -> Answer {
    Ok(if total.count == 0 { Datum::Null } else { Datum::Bool(total.sum == i128::from(total.count)) })
}

fn finish_or(total: Contribution, _: &ScalarType) -> Answer {
    Ok(if total.count == 0 { Datum::Null } else { Datum::Bool(total.sum > 0) })
}

fn total(rows: Rows<'_, '_>) -> Result<Contribution, ValueError> {
    let mut total = Contribution::default();
    for (args, _) in rows {
        let one = row(args)?;
        total.count += one.count;
        total.sum += one.sum;
    }
    Ok(total)
}

fn and(_: &EvalContext, rows: Rows<'_, '_>, result: &ScalarType) -> Answer {
    finish_and(total(rows)?, result)
}

fn or(_: &EvalContext, rows: Rows<'_, '_>, result: &ScalarType) -> Answer {
    finish_or(total(rows)?, result)
}

const AND: Accumulable = Accumulable { contribution: row, finish: finish_and };
const OR: Accumulable = Accumulable { contribution: row, finish: finish_or };

fn bits(rows: Rows<'_, '_>, result: &ScalarType, combine: fn(i64, i64) -> i64, by_parity: bool) -> Answer {
    let mut total: Option<i64> = None;
    for (args, times) in rows {
        let value = integer(&args[0])?;
        total = Some(match total {
            _ if by_parity && times % 2 == 0 => total.unwrap_or(0),
            None => value,
            Some(total) => combine(total, value),
        });
    }
    // Bit operations stay within the width they came in.
    Ok(match (total, result) {
        (None, _) => Datum::Null,
        (Some(value), ScalarType::Int2) => Datum::Int2(value as i16),
        (Some(value), ScalarType::Int4) => Datum::Int4(value as i32),
        (Some(value), _) => Datum::Int8(value),
    })
}

fn bit_and(_: &EvalContext, rows: Rows<'_, '_>, result: &ScalarType) -> Answer {
    bits(rows, result, |a, b| a & b, false)
}

fn bit_or(_: &EvalContext, rows: Rows<'_, '_>, result: &ScalarType) -> Answer {
    bits(rows, result, |a, b| a | b, false)
}

fn bit_xor(_: &EvalContext, rows: Rows<'_, '_>, result: &ScalarType) -> Answer {
    bits(rows, result, |a, b| a ^ b, true)
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    plain("bool_and(bool) bool", and).accumulable(AND),
    plain("every(bool) bool", and).accumulable(AND),
    plain("bool_or(bool) bool", or).accumulable(OR),
    plain("bit_and(int2) int2", bit_and),
    plain("bit_and(int4) int4", bit_and),
    plain("bit_and(int8) int8", bit_and),
    plain("bit_or(int2) int2", bit_or),
    plain("bit_or(int4) int4", bit_or),
    plain("bit_or(int8) int8", bit_or),
    plain("bit_xor(int2) int2", bit_xor),
    plain("bit_xor(int4) int4", bit_xor),
    plain("bit_xor(int8) int8", bit_xor),
];
