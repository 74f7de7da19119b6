//! Mathematics: rounding, roots, powers, logarithms, trigonometry, number theory, random numbers.

use super::arguments::{float, int4, integer, numeric, string};
use super::arithmetic::checked_float;
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use repr::text::TextContext;
use repr::{Datum, Numeric, ScalarType, ValueError};

fn exact(value: Numeric) -> Answer {
    Ok(Datum::Numeric(value))
}

/// A function of one double that is defined everywhere it is finite.
fn real(arg: &Datum, function: fn(f64) -> f64) -> Answer {
    let value = float(arg)?;
    checked_float(function(value), &[value])
}

/// A trigonometric function: NaN stays NaN, infinity is out of range.
fn periodic(arg: &Datum, function: fn(f64) -> f64) -> Answer {
    let value = float(arg)?;
    if value.is_infinite() {
        return Err(out_of_domain());
    }
    checked_float(function(value), &[value])
}

/// An inverse function defined between two bounds.
pub(super) fn bounded(arg: &Datum, low: f64, high: f64, function: fn(f64) -> f64) -> Answer {
    let value = float(arg)?;
    if value < low || value > high {
        return Err(out_of_domain());
    }
    Ok(Datum::Float8(function(value)))
}

pub(super) fn out_of_domain() -> ValueError {
    ValueError::new("22003", "input is out of range")
}

fn power(base: f64, exponent: f64) -> Answer {
    if base == 0.0 && exponent < 0.0 {
        return Err(ValueError::new("2201F", "zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.floor() != exponent {
        return Err(ValueError::new(
            "2201F",
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let value = base.powf(exponent);
    if value == 0.0 && base != 0.0 && base.is_finite() && exponent.is_finite() {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    checked_float(value, &[base, exponent])
}

fn square_root(value: f64) -> Answer {
    if value < 0.0 {
        return Err(ValueError::new("2201F", "cannot take square root of a negative number"));
    }
    Ok(Datum::Float8(value.sqrt()))
}

fn logarithm(value: f64, function: fn(f64) -> f64) -> Answer {
    if value == 0.0 {
        return Err(ValueError::new("2201E", "cannot take logarithm of zero"));
    }
    if value < 0.0 {
        return Err(ValueError::new("2201E", "cannot take logarithm of a negative number"));
    }
    Ok(Datum::Float8(function(value)))
}

fn exponential(value: f64) -> Answer {
    let result = value.exp();
    if result == 0.0 && value.is_finite() {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    checked_float(result, &[value])
}

fn gcd(mut a: i64, mut b: i64, sql: &str, least: i64) -> Result<i64, ValueError> {
    // -least does not fit.
    if (a == least && (b == 0 || b == least)) || (b == least && a == 0) {
        return Err(ValueError::new("22003", format!("{sql} out of range")));
    }
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    Ok(a.abs())
}

fn lcm(a: i64, b: i64, sql: &str, least: i64) -> Result<i64, ValueError> {
    if a == 0 || b == 0 {
        return Ok(0);
    }
    let value = (a / gcd(a, b, sql, least)?).checked_mul(b).and_then(i64::checked_abs);
    value
        .filter(|value| *value <= least.unsigned_abs() as i64 || least == i64::MIN)
        .ok_or_else(|| ValueError::new("22003", format!("{sql} out of range")))
}

fn narrowed(value: i64) -> Answer {
    i32::try_from(value).map(Datum::Int4).map_err(|_| ValueError::new("22003", "integer out of range"))
}

fn width_bucket(operand: f64, low: f64, high: f64, count: i32) -> Answer {
    if count <= 0 {
        return Err(ValueError::new("2201G", "count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(ValueError::new("2201G", "operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(ValueError::new("2201G", "lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(ValueError::new("2201G", "lower bound cannot equal upper bound"));
    }
    let below = if low < high { operand < low } else { operand > low };
    let above = if low < high { operand >= high } else { operand <= high };
    if below {
        return Ok(Datum::Int4(0));
    }
    if above {
        return count.checked_add(1).map(Datum::Int4).ok_or_else(|| ValueError::new("22003", "integer out of range"));
    }
    let share = (operand - low) / (high - low);
    Ok(Datum::Int4((f64::from(count) * share) as i32 + 1))
}

fn width_bucket_numeric(operand: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Answer {
    let finite = [operand, low, high].iter().all(|value| value.is_finite());
    let rising = low.sql_cmp(high).is_lt();
    let inside = if rising {
        operand.sql_cmp(low).is_ge() && operand.sql_cmp(high).is_lt()
    } else {
        operand.sql_cmp(low).is_le() && operand.sql_cmp(high).is_gt()
    };
    if !finite || !inside || count <= 0 {
        // Only the side counts, and the checks are the same.
        let (low_side, high_side) = if rising { (0.0, 1.0) } else { (1.0, 0.0) };
        let bounds = if low.sql_cmp(high).is_eq() { (0.0, 0.0) } else { (low_side, high_side) };
        let special =
            |value: &Numeric, otherwise: f64| if value.is_finite() { otherwise } else { value.to_f64_lossy() };
        let place = if operand.sql_cmp(low).is_lt() { -1.0 } else { 2.0 };
        return width_bucket(special(operand, place), special(low, bounds.0), special(high, bounds.1), count);
    }
    let share = operand.sub(low)?.mul(&Numeric::from(count))?.div_trunc(&high.sub(low)?)?;
    Ok(Datum::Int4(share.to_i32()?.saturating_add(1)))
}

/// The count of FETCH FIRST … WITH TIES; a parameter that is NULL bounds nothing.
fn rows_with_ties(count: &Datum) -> Answer {
    match count {
        Datum::Null => Ok(Datum::Int8(i64::MAX)),
        Datum::Int8(count) if *count < 0 => Err(ValueError::new("2201W", "LIMIT must not be negative")),
        count => Ok(count.clone()),
    }
}

/// The limit that a bound on a rank is: no row has one that is at most NULL.
fn rows_up_to(rank: &Datum) -> Answer {
    Ok(Datum::Int8(rank.as_i64().unwrap_or(0).max(0)))
}

/// The value of an OFFSET that is a condition; NULL skips nothing.
fn rows_skipped(count: &Datum) -> Answer {
    match count {
        Datum::Null => Ok(Datum::Int8(0)),
        Datum::Int8(count) if *count < 0 => Err(ValueError::new("2201X", "OFFSET must not be negative")),
        count => Ok(count.clone()),
    }
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("rows_skipped(int8) int8", |_, a, _| rows_skipped(&a[0])),
    lenient("rows_up_to(int2) int8", |_, a, _| rows_up_to(&a[0])),
    lenient("rows_up_to(int4) int8", |_, a, _| rows_up_to(&a[0])),
    lenient("rows_up_to(int8) int8", |_, a, _| rows_up_to(&a[0])),
    lenient("rows_with_ties(int8) int8", |_, a, _| rows_with_ties(&a[0])),
    strict("abs(float4) float4", |_, a, _| match a[0] {
        Datum::Float4(value) => Ok(Datum::Float4(value.abs())),
        _ => float(&a[0]).map(|value| Datum::Float8(value.abs())),
    }),
    strict("abs(float8) float8", |_, a, _| real(&a[0], f64::abs)),
    strict("numeric_inc(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.add(&Numeric::from(1_i64))?)),
    strict("abs(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.abs())),
    strict("sign(float8) float8", |_, a, _| {
        real(&a[0], |v| {
            if v > 0.0 {
                1.0
            } else if v < 0.0 {
                -1.0
            } else {
                v * 0.0
            }
        })
    }),
    strict("sign(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.sign())),
    strict("ceil(float8) float8", |_, a, _| real(&a[0], f64::ceil)),
    strict("ceil(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.ceil())),
    strict("ceiling(float8) float8", |_, a, _| real(&a[0], f64::ceil)),
    strict("ceiling(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.ceil())),
    strict("floor(float8) float8", |_, a, _| real(&a[0], f64::floor)),
    strict("floor(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.floor())),
    strict("round(float8) float8", |_, a, _| real(&a[0], f64::round_ties_even)),
    strict("round(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.round(0)?)),
    strict("round(numeric, int4) numeric", |_, a, _| exact(numeric(&a[0])?.round(int4(&a[1])?)?)),
    strict("trunc(float8) float8", |_, a, _| real(&a[0], f64::trunc)),
    strict("trunc(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.trunc(0)?)),
    strict("trunc(numeric, int4) numeric", |_, a, _| exact(numeric(&a[0])?.trunc(int4(&a[1])?)?)),
    strict("mod(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.rem(numeric(&a[1])?)?)),
    strict("div(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.div_trunc(numeric(&a[1])?)?)),
    strict("power(float8, float8) float8", |_, a, _| power(float(&a[0])?, float(&a[1])?)),
    strict("power(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.power(numeric(&a[1])?)?)),
    strict("pow(float8, float8) float8", |_, a, _| power(float(&a[0])?, float(&a[1])?)),
    strict("pow(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.power(numeric(&a[1])?)?)),
    strict("sqrt(float8) float8", |_, a, _| square_root(float(&a[0])?)),
    strict("sqrt(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.sqrt()?)),
    strict("cbrt(float8) float8", |_, a, _| real(&a[0], f64::cbrt)),
    strict("exp(float8) float8", |_, a, _| exponential(float(&a[0])?)),
    strict("exp(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.exp()?)),
    strict("ln(float8) float8", |_, a, _| logarithm(float(&a[0])?, f64::ln)),
    strict("ln(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.ln()?)),
    strict("log(float8) float8", |_, a, _| logarithm(float(&a[0])?, f64::log10)),
    strict("log(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.log10()?)),
    strict("log10(float8) float8", |_, a, _| logarithm(float(&a[0])?, f64::log10)),
    strict("log10(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.log10()?)),
    strict("log(numeric, numeric) numeric", |_, a, _| exact(Numeric::log(numeric(&a[0])?, numeric(&a[1])?)?)),
    strict("scale(numeric) int4", |_, a, _| {
        Ok(numeric(&a[0])?.scale().map_or(Datum::Null, |scale| Datum::Int4(i32::from(scale))))
    }),
    strict("min_scale(numeric) int4", |_, a, _| {
        Ok(numeric(&a[0])?.min_scale().map_or(Datum::Null, |scale| Datum::Int4(i32::from(scale))))
    }),
    strict("trim_scale(numeric) numeric", |_, a, _| exact(numeric(&a[0])?.trim_scale())),
    strict("factorial(int8) numeric", |_, a, _| exact(Numeric::factorial(integer(&a[0])?)?)),
    strict("gcd(int4, int4) int4", |_, a, _| {
        narrowed(gcd(integer(&a[0])?, integer(&a[1])?, "integer", i64::from(i32::MIN))?)
    }),
    strict("gcd(int8, int8) int8", |_, a, _| {
        gcd(integer(&a[0])?, integer(&a[1])?, "bigint", i64::MIN).map(Datum::Int8)
    }),
    strict("gcd(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.gcd(numeric(&a[1])?)?)),
    strict("lcm(int4, int4) int4", |_, a, _| {
        narrowed(lcm(integer(&a[0])?, integer(&a[1])?, "integer", i64::from(i32::MIN))?)
    }),
    strict("lcm(int8, int8) int8", |_, a, _| {
        lcm(integer(&a[0])?, integer(&a[1])?, "bigint", i64::MIN).map(Datum::Int8)
    }),
    strict("lcm(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.lcm(numeric(&a[1])?)?)),
    strict("pi() float8", |_, _, _| Ok(Datum::Float8(std::f64::consts::PI))),
    strict("degrees(float8) float8", |_, a, _| real(&a[0], f64::to_degrees)),
    strict("radians(float8) float8", |_, a, _| real(&a[0], |v| v * (std::f64::consts::PI / 180.0))),
    strict("sin(float8) float8", |_, a, _| periodic(&a[0], f64::sin)),
    strict("cos(float8) float8", |_, a, _| periodic(&a[0], f64::cos)),
    strict("tan(float8) float8", |_, a, _| periodic(&a[0], f64::tan)),
    strict("cot(float8) float8", |_, a, _| periodic(&a[0], |v| 1.0 / v.tan())),
    strict("asin(float8) float8", |_, a, _| bounded(&a[0], -1.0, 1.0, f64::asin)),
    strict("acos(float8) float8", |_, a, _| bounded(&a[0], -1.0, 1.0, f64::acos)),
    strict("atan(float8) float8", |_, a, _| real(&a[0], f64::atan)),
    strict("atan2(float8, float8) float8", |_, a, _| Ok(Datum::Float8(float(&a[0])?.atan2(float(&a[1])?)))),
    strict("sinh(float8) float8", |_, a, _| Ok(Datum::Float8(float(&a[0])?.sinh()))),
    strict("cosh(float8) float8", |_, a, _| Ok(Datum::Float8(float(&a[0])?.cosh()))),
    strict("tanh(float8) float8", |_, a, _| real(&a[0], f64::tanh)),
    strict("asinh(float8) float8", |_, a, _| real(&a[0], f64::asinh)),
    strict("acosh(float8) float8", |_, a, _| bounded(&a[0], 1.0, f64::INFINITY, f64::acosh)),
    strict("atanh(float8) float8", |_, a, _| bounded(&a[0], -1.0, 1.0, f64::atanh)),
    strict("width_bucket(float8, float8, float8, int4) int4", |_, a, _| {
        width_bucket(float(&a[0])?, float(&a[1])?, float(&a[2])?, int4(&a[3])?)
    }),
    strict("width_bucket(numeric, numeric, numeric, int4) int4", |_, a, _| {
        width_bucket_numeric(numeric(&a[0])?, numeric(&a[1])?, numeric(&a[2])?, int4(&a[3])?)
    }),
    strict("width_bucket(anycompatible, anycompatiblearray) int4", |_, a, _| {
        let bounds = super::arguments::array(&a[1])?;
        if bounds.dimensions.len() > 1 {
            return Err(ValueError::new("2202E", "thresholds must be one-dimensional array"));
        }
        if bounds.elements.iter().any(Datum::is_null) {
            return Err(ValueError::new("22004", "thresholds array must not contain NULLs"));
        }
        let place = bounds.elements.partition_point(|bound| bound.sql_cmp(&a[0]).is_le());
        Ok(Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX)))
    }),
    strict("random() float8", |ctx, _, _| Ok(Datum::Float8(ctx.environment.random_fraction()))).volatile(),
    strict("setseed(float8) void", |ctx, a, _| {
        let seed = float(&a[0])?;
        if !(-1.0..=1.0).contains(&seed) {
            let shown = repr::text::format(&a[0], &ScalarType::Float8, &TextContext::default());
            let message = format!("setseed parameter {shown} is out of allowed range [-1,1]");
            return Err(ValueError::new("22023", message));
        }
        ctx.environment.set_seed(seed)?;
        string("")
    })
    .volatile(),
    strict("gen_random_uuid() uuid", |ctx, _, _| {
        let mut bytes = [0; 16];
        ctx.environment.random_bytes(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Ok(Datum::Uuid(bytes))
    })
    .volatile(),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("^(float8, float8) float8", |_, a, _| power(float(&a[0])?, float(&a[1])?)),
    strict("^(numeric, numeric) numeric", |_, a, _| exact(numeric(&a[0])?.power(numeric(&a[1])?)?)),
    strict("|/(float8) float8", |_, a, _| square_root(float(&a[0])?)),
    strict("||/(float8) float8", |_, a, _| real(&a[0], f64::cbrt)),
];
