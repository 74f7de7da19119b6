//! + - * / % and bit operators over integers, floats and numeric.
//!
//! Mixed types meet by implicit casts; only float4 with float8 has operators of its own, as in PostgreSQL.

use super::arguments::{float, numeric};
use super::{FunctionDefinition, strict};
use repr::{Datum, ValueError};

fn out_of_range(name: &str) -> ValueError {
    ValueError::new("22003", format!("{name} out of range"))
}

pub(super) fn division_by_zero() -> ValueError {
    ValueError::new("22012", "division by zero")
}

/// A double, unless arithmetic on finite values left its range.
pub(super) fn checked_float(value: f64, inputs: &[f64]) -> Result<Datum, ValueError> {
    if value.is_infinite() && !inputs.iter().any(|input| input.is_infinite()) {
        return Err(ValueError::new("22003", "value out of range: overflow"));
    }
    Ok(Datum::Float8(value))
}

fn checked_product(value: f64, a: f64, b: f64) -> Result<Datum, ValueError> {
    if value == 0.0 && a != 0.0 && b != 0.0 {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    checked_float(value, &[a, b])
}

fn checked_float4(value: f32, a: f32, b: f32, zero_is_underflow: bool) -> Result<Datum, ValueError> {
    if value.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(ValueError::new("22003", "value out of range: overflow"));
    }
    if zero_is_underflow && value == 0.0 {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    Ok(Datum::Float4(value))
}

fn float4(arg: &Datum) -> Result<f32, ValueError> {
    match arg {
        Datum::Float4(value) => Ok(*value),
        _ => Err(ValueError::new("XX000", "a function got an argument that is not a real")),
    }
}

/// Integer operators of one width.
macro_rules! integer_operators {
    ($name:ident, $datum:ident, $native:ty, $sql:literal, $type:literal, $bits:literal) => {
        mod $name {
            use super::{division_by_zero, out_of_range};
            use crate::scalar::func::{FunctionDefinition, strict};
            use crate::scalar::{Answer, EvalContext};
            use repr::{Datum, ScalarType, ValueError};

            fn get(arg: &Datum) -> Result<$native, ValueError> {
                match arg {
                    Datum::$datum(value) => Ok(*value),
                    _ => Err(ValueError::new("XX000", concat!("a function got an argument that is not ", $type))),
                }
            }
            fn checked(value: Option<$native>) -> Answer {
                value.map(Datum::$datum).ok_or_else(|| out_of_range($sql))
            }
            fn add(_: &EvalContext, a: &[Datum], _: &ScalarType) -> Answer {
                checked(get(&a[0])?.checked_add(get(&a[1])?))
            }
            fn subtract(_: &EvalContext, a: &[Datum], _: &ScalarType) -> Answer {
                checked(get(&a[0])?.checked_sub(get(&a[1])?))
            }
            fn multiply(_: &EvalContext, a: &[Datum], _: &ScalarType) -> Answer {
                checked(get(&a[0])?.checked_mul(get(&a[1])?))
            }
            fn divide(_: &EvalContext, a: &[Datum], _: &ScalarType) -> Answer {
                let divisor = get(&a[1])?;
                if divisor == 0 {
                    return Err(division_by_zero());
                }
                checked(get(&a[0])?.checked_div(divisor))
            }
            fn remainder(_: &EvalContext, a: &[Datum], _: &ScalarType) -> Answer {
                let divisor = get(&a[1])?;
                if divisor == 0 {
                    return Err(division_by_zero());
                }
                // The least number modulo -1 is 0, not an overflow.
                Ok(Datum::$datum(get(&a[0])?.checked_rem(divisor).unwrap_or(0)))
            }
            fn shift(a: &[Datum]) -> Result<($native, u32), ValueError> {
                let Datum::Int4(by) = a[1] else {
                    return Err(ValueError::new("XX000", "a shift is by an integer"));
                };
                // As C on the usual machines: the low bits of the count.
                Ok((get(&a[0])?, by as u32 & $bits))
            }

            pub(super) const OPERATORS: &[FunctionDefinition] = &[
                strict(concat!("+(", $type, ", ", $type, ") ", $type), add),
                strict(concat!("-(", $type, ", ", $type, ") ", $type), subtract),
                strict(concat!("*(", $type, ", ", $type, ") ", $type), multiply),
                strict(concat!("/(", $type, ", ", $type, ") ", $type), divide),
                strict(concat!("%(", $type, ", ", $type, ") ", $type), remainder),
                strict(concat!("+(", $type, ") ", $type), |_, a, _| Ok(a[0].clone())),
                strict(concat!("-(", $type, ") ", $type), |_, a, _| checked(get(&a[0])?.checked_neg())),
                strict(concat!("@(", $type, ") ", $type), |_, a, _| checked(get(&a[0])?.checked_abs())),
                strict(concat!("&(", $type, ", ", $type, ") ", $type), |_, a, _| {
                    Ok(Datum::$datum(get(&a[0])? & get(&a[1])?))
                }),
                strict(concat!("|(", $type, ", ", $type, ") ", $type), |_, a, _| {
                    Ok(Datum::$datum(get(&a[0])? | get(&a[1])?))
                }),
                strict(concat!("#(", $type, ", ", $type, ") ", $type), |_, a, _| {
                    Ok(Datum::$datum(get(&a[0])? ^ get(&a[1])?))
                }),
                strict(concat!("~(", $type, ") ", $type), |_, a, _| Ok(Datum::$datum(!get(&a[0])?))),
                strict(concat!("<<(", $type, ", int4) ", $type), |_, a, _| {
                    let (value, by) = shift(a)?;
                    Ok(Datum::$datum(value.checked_shl(by).unwrap_or(0)))
                }),
                strict(concat!(">>(", $type, ", int4) ", $type), |_, a, _| {
                    let (value, by) = shift(a)?;
                    Ok(Datum::$datum(value.checked_shr(by).unwrap_or(if value < 0 { -1 } else { 0 })))
                }),
            ];
            pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
                strict(concat!("abs(", $type, ") ", $type), |_, a, _| checked(get(&a[0])?.checked_abs())),
                strict(concat!("mod(", $type, ", ", $type, ") ", $type), remainder),
            ];
        }
    };
}

integer_operators!(int2, Int2, i16, "smallint", "int2", 31);
integer_operators!(int4, Int4, i32, "integer", "int4", 31);
integer_operators!(int8, Int8, i64, "bigint", "int8", 63);

fn divide_float(a: f64, b: f64) -> Result<Datum, ValueError> {
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    let value = a / b;
    if value == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    checked_float(value, &[a, b])
}

/// The four operators for a pair of float types whose result is a double.
macro_rules! double_operators {
    ($left:literal, $right:literal) => {
        [
            strict(concat!("+(", $left, ", ", $right, ") float8"), |_, a, _| {
                let (x, y) = (float(&a[0])?, float(&a[1])?);
                checked_float(x + y, &[x, y])
            }),
            strict(concat!("-(", $left, ", ", $right, ") float8"), |_, a, _| {
                let (x, y) = (float(&a[0])?, float(&a[1])?);
                checked_float(x - y, &[x, y])
            }),
            strict(concat!("*(", $left, ", ", $right, ") float8"), |_, a, _| {
                let (x, y) = (float(&a[0])?, float(&a[1])?);
                checked_product(x * y, x, y)
            }),
            strict(concat!("/(", $left, ", ", $right, ") float8"), |_, a, _| {
                divide_float(float(&a[0])?, float(&a[1])?)
            }),
        ]
    };
}

const DOUBLE: [FunctionDefinition; 4] = double_operators!("float8", "float8");
const REAL_DOUBLE: [FunctionDefinition; 4] = double_operators!("float4", "float8");
const DOUBLE_REAL: [FunctionDefinition; 4] = double_operators!("float8", "float4");

const REAL: [FunctionDefinition; 7] = [
    strict("+(float4, float4) float4", |_, a, _| {
        let (x, y) = (float4(&a[0])?, float4(&a[1])?);
        checked_float4(x + y, x, y, false)
    }),
    strict("-(float4, float4) float4", |_, a, _| {
        let (x, y) = (float4(&a[0])?, float4(&a[1])?);
        checked_float4(x - y, x, y, false)
    }),
    strict("*(float4, float4) float4", |_, a, _| {
        let (x, y) = (float4(&a[0])?, float4(&a[1])?);
        checked_float4(x * y, x, y, x != 0.0 && y != 0.0)
    }),
    strict("/(float4, float4) float4", |_, a, _| {
        let (x, y) = (float4(&a[0])?, float4(&a[1])?);
        if y == 0.0 && !x.is_nan() {
            return Err(division_by_zero());
        }
        checked_float4(x / y, x, y, x != 0.0 && !y.is_infinite())
    }),
    strict("+(float4) float4", |_, a, _| Ok(a[0].clone())),
    strict("-(float4) float4", |_, a, _| Ok(Datum::Float4(-float4(&a[0])?))),
    strict("@(float4) float4", |_, a, _| Ok(Datum::Float4(float4(&a[0])?.abs()))),
];

const UNARY_DOUBLE: [FunctionDefinition; 3] = [
    strict("+(float8) float8", |_, a, _| Ok(a[0].clone())),
    strict("-(float8) float8", |_, a, _| Ok(Datum::Float8(-float(&a[0])?))),
    strict("@(float8) float8", |_, a, _| Ok(Datum::Float8(float(&a[0])?.abs()))),
];

const NUMERIC: [FunctionDefinition; 8] = [
    strict("+(numeric, numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.add(numeric(&a[1])?)?))),
    strict("-(numeric, numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.sub(numeric(&a[1])?)?))),
    strict("*(numeric, numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.mul(numeric(&a[1])?)?))),
    strict("/(numeric, numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.div(numeric(&a[1])?)?))),
    strict("%(numeric, numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.rem(numeric(&a[1])?)?))),
    strict("+(numeric) numeric", |_, a, _| Ok(a[0].clone())),
    strict("-(numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.negate()))),
    strict("@(numeric) numeric", |_, a, _| Ok(Datum::Numeric(numeric(&a[0])?.abs()))),
];

/// Operators, one slice for each type.
pub(crate) const OPERATORS: &[&[FunctionDefinition]] = &[
    int2::OPERATORS,
    int4::OPERATORS,
    int8::OPERATORS,
    &DOUBLE,
    &REAL_DOUBLE,
    &DOUBLE_REAL,
    &REAL,
    &UNARY_DOUBLE,
    &NUMERIC,
];

/// `abs` and `mod` of integers; those of other types are with `math`.
pub(crate) const FUNCTIONS: &[&[FunctionDefinition]] = &[int2::FUNCTIONS, int4::FUNCTIONS, int8::FUNCTIONS];
