//! count, sum and avg.

use super::accumulators::{Contribution, Total};
use super::exact::{Sums, integer_row, integer_sum, numeric_row};
use super::plain_sum::PlainSum;
use super::real::{X, overflow};
use super::{AggregateDefinition, summed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::{float, interval, money};
use repr::{Datum, Interval, Numeric, ScalarType, ValueError};

type Added = Result<(), ValueError>;

fn count_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    if !args.iter().any(Datum::is_null) {
        contribution.count();
    }
    Ok(())
}

fn count(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(Datum::Int8(total.count()))
}

fn sum_bigint(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    let sum = i64::try_from(integer_sum(total));
    sum.map(Datum::Int8).map_err(|_| ValueError::new("22003", "bigint out of range"))
}

fn sum_integers(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(if total.count() == 0 { Datum::Null } else { Datum::Numeric(Numeric::from(integer_sum(total))) })
}

fn average_integers(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Numeric(Numeric::from(integer_sum(total)).div(&Numeric::from(total.count()))?))
}

fn sum_numeric(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(Sums::of(total).sum()?.map_or(Datum::Null, Datum::Numeric))
}

fn average_numeric(total: Total<'_>, _: &ScalarType) -> Answer {
    let sums = Sums::of(total);
    let count = Numeric::from(sums.count);
    match sums.sum()? {
        Some(sum) => Ok(Datum::Numeric(sum.div(&count)?)),
        None => Ok(Datum::Null),
    }
}

fn float_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let value = float(&args[0])?;
    contribution.count();
    X.add(value, contribution);
    Ok(())
}

fn sum_double(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Float8(if X.is_negative_zero(total) { -0.0 } else { X.rounded(total)? }))
}

fn sum_real(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    let sum = match X.special(total) {
        Some(special) => special as f32,
        None if X.is_negative_zero(total) => -0.0,
        None => X.sum(total).to_f32(),
    };
    if sum.is_infinite() && X.special(total).is_none() { Err(overflow()) } else { Ok(Datum::Float4(sum)) }
}

const CENTS: u32 = 1;

fn money_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    contribution.count();
    contribution.add(CENTS, i128::from(money(&args[0])?));
    Ok(())
}

fn sum_money(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    let sum = i64::try_from(total.at(CENTS));
    sum.map(Datum::Money).map_err(|_| ValueError::new("22003", "money out of range"))
}

/// The average is that of the sum as it is given.
fn average_floats(total: Total<'_>, _: &ScalarType) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Float8(X.rounded(total)? / total.count() as f64))
}

const MONTHS: u32 = 1;
const DAYS: u32 = 2;
const MICROS: u32 = 3;

/// Parts do not carry into each other.
fn interval_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let Interval { months, days, micros } = interval(&args[0])?;
    contribution.count();
    contribution.add(MONTHS, i128::from(months));
    contribution.add(DAYS, i128::from(days));
    contribution.add(MICROS, i128::from(micros));
    Ok(())
}

fn interval_total(total: Total<'_>) -> Result<Option<Interval>, ValueError> {
    if total.count() == 0 {
        return Ok(None);
    }
    let out_of_range = |_| ValueError::new("22008", "interval out of range");
    Ok(Some(Interval {
        months: i32::try_from(total.at(MONTHS)).map_err(out_of_range)?,
        days: i32::try_from(total.at(DAYS)).map_err(out_of_range)?,
        micros: i64::try_from(total.at(MICROS)).map_err(out_of_range)?,
    }))
}

fn sum_interval(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(interval_total(total)?.map_or(Datum::Null, Datum::Interval))
}

fn average_interval(total: Total<'_>, _: &ScalarType) -> Answer {
    match interval_total(total)? {
        Some(sum) => sum.div(total.count() as f64).map(Datum::Interval),
        None => Ok(Datum::Null),
    }
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    summed("count() int8", count_row, count).of_plain(PlainSum::Rows).sees_nulls(),
    summed("count(any) int8", count_row, count).of_plain(PlainSum::Values),
    summed("sum(int2) int8", integer_row, sum_bigint).of_plain(PlainSum::Integers),
    summed("sum(int4) int8", integer_row, sum_bigint).of_plain(PlainSum::Integers),
    summed("sum(int8) numeric", integer_row, sum_integers).of_plain(PlainSum::Integers),
    summed("sum(numeric) numeric", numeric_row, sum_numeric).of_plain(PlainSum::Decimals),
    summed("sum(float4) float4", float_row, sum_real),
    summed("sum(float8) float8", float_row, sum_double),
    summed("sum(interval) interval", interval_row, sum_interval),
    summed("sum(money) money", money_row, sum_money),
    summed("avg(int2) numeric", integer_row, average_integers).of_plain(PlainSum::Integers),
    summed("avg(int4) numeric", integer_row, average_integers).of_plain(PlainSum::Integers),
    summed("avg(int8) numeric", integer_row, average_integers).of_plain(PlainSum::Integers),
    summed("avg(numeric) numeric", numeric_row, average_numeric).of_plain(PlainSum::Decimals),
    summed("avg(float4) float8", float_row, average_floats),
    summed("avg(float8) float8", float_row, average_floats),
    summed("avg(interval) interval", interval_row, average_interval),
];
