//! Arithmetic on amounts of money, in cents. What PostgreSQL 15 lets overflow is an error, as in those that came later.

use super::arguments::{float, money, string};
use super::arithmetic::division_by_zero;
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::money::money_words;
use repr::{Datum, ValueError};

fn checked(value: Option<i64>) -> Answer {
    value.map(Datum::Money).ok_or_else(|| ValueError::new("22003", "money out of range"))
}

/// To the nearest cent, half to even.
fn rounded(value: f64) -> Answer {
    let value = value.round_ties_even();
    // The bounds are exact in doubles.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    checked(fits.then_some(value as i64))
}

fn times(amount: &Datum, factor: &Datum) -> Answer {
    match factor.as_i64() {
        Some(factor) => checked(money(amount)?.checked_mul(factor)),
        None => rounded(money(amount)? as f64 * float(factor)?),
    }
}

/// Of whole numbers the rest is dropped.
fn divided(amount: &Datum, divisor: &Datum) -> Answer {
    let amount = money(amount)?;
    match divisor.as_i64() {
        Some(0) => Err(division_by_zero()),
        Some(divisor) => checked(amount.checked_div(divisor)),
        None => match float(divisor)? {
            0.0 => Err(division_by_zero()),
            divisor => rounded(amount as f64 / divisor),
        },
    }
}

/// How often the second is in the first.
fn ratio(args: &[Datum]) -> Answer {
    let (amount, divisor) = (money(&args[0])?, money(&args[1])?);
    if divisor == 0 {
        return Err(division_by_zero());
    }
    Ok(Datum::Float8(amount as f64 / divisor as f64))
}

/// The operators with numbers of one type.
macro_rules! with_number {
    ($number:literal) => {
        [
            strict(concat!("*(money, ", $number, ") money"), |_, a, _| times(&a[0], &a[1])),
            strict(concat!("*(", $number, ", money) money"), |_, a, _| times(&a[1], &a[0])),
            strict(concat!("/(money, ", $number, ") money"), |_, a, _| divided(&a[0], &a[1])),
        ]
    };
}

pub(super) static SCALINGS: [[FunctionDefinition; 3]; 5] =
    [with_number!("int2"), with_number!("int4"), with_number!("int8"), with_number!("float4"), with_number!("float8")];

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("+(money, money) money", |_, a, _| checked(money(&a[0])?.checked_add(money(&a[1])?))),
    strict("-(money, money) money", |_, a, _| checked(money(&a[0])?.checked_sub(money(&a[1])?))),
    strict("/(money, money) float8", |_, a, _| ratio(a)),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] =
    &[strict("cash_words(money) text", |_, a, _| string(money_words(money(&a[0])?)))];
