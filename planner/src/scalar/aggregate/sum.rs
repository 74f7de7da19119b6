//! count, sum and avg.

use super::{Accumulable, AggregateDefinition, Contribution, Rows, plain};
use crate::scalar::EvalContext;
use crate::scalar::func::arguments::{interval, numeric};
use repr::{Datum, Interval, Numeric, ScalarType, ValueError};

type Answer = Result<Datum, ValueError>;

fn overflow(type_name: &str) -> ValueError {
    ValueError::new("22003", format!("{type_name} out of range"))
}

fn count_row(args: &[Datum]) -> Result<Contribution, ValueError> {
    let counted = !args.iter().any(Datum::is_null);
    Ok(Contribution { count: i64::from(counted), sum: 0 })
}

fn finish_count(total: Contribution, _: &ScalarType) -> Answer {
    Ok(Datum::Int8(total.count))
}

fn count(_: &EvalContext, rows: Rows<'_, '_>, _: &ScalarType) -> Answer {
    let mut count = 0i64;
    for (_, times) in rows {
        count =
            i64::try_from(times).ok().and_then(|times| count.checked_add(times)).ok_or_else(|| overflow("bigint"))?;
    }
    Ok(Datum::Int8(count))
}

const COUNT: Accumulable = Accumulable { contribution: count_row, finish: finish_count };

fn integer_row(args: &[Datum]) -> Result<Contribution, ValueError> {
    Ok(match args[0].as_i64() {
        Some(value) => Contribution { count: 1, sum: i128::from(value) },
        None => Contribution::default(),
    })
}

/// The exact total of integers: i128 holds 2^63 rows of the largest bigint.
fn total(rows: Rows<'_, '_>) -> Result<Contribution, ValueError> {
    let mut total = Contribution::default();
    for (args, times) in rows {
        if let Some(value) = args[0].as_i64() {
            let times = i64::try_from(times).map_err(|_| overflow("bigint"))?;
            total.count = total.count.checked_add(times).ok_or_else(|| overflow("bigint"))?;
            total.sum = i128::from(value)
                .checked_mul(i128::from(times))
                .and_then(|more| total.sum.checked_add(more))
                .ok_or_else(|| overflow("bigint"))?;
        }
    }
    Ok(total)
}

fn finish_sum_bigint(total: Contribution, _: &ScalarType) -> Answer {
    if total.count == 0 {
        return Ok(Datum::Null);
    }
    i64::try_from(total.sum).map(Datum::Int8).map_err(|_| overflow("bigint"))
}

fn finish_sum_numeric(total: Contribution, _: &ScalarType) -> Answer {
    Ok(if total.count == 0 { Datum::Null } else { Datum::Numeric(Numeric::from(total.sum)) })
}

fn finish_average(total: Contribution, _: &ScalarType) -> Answer {
    if total.count == 0 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Numeric(Numeric::from(total.sum).div(&Numeric::from(total.count))?))
}

const SUM_BIGINT: Accumulable = Accumulable { contribution: integer_row, finish: finish_sum_bigint };
const SUM_NUMERIC: Accumulable = Accumulable { contribution: integer_row, finish: finish_sum_numeric };
const AVERAGE: Accumulable = Accumulable { contribution: integer_row, finish: finish_average };

/// A numeric total and how many rows it is of.
fn numeric_total(rows: Rows<'_, '_>) -> Result<(Numeric, i64), ValueError> {
    let (mut sum, mut count) = (Numeric::zero(), 0i64);
    for (args, times) in rows {
        let value = numeric(&args[0])?;
        let times = i64::try_from(times).map_err(|_| overflow("bigint"))?;
        sum = if times == 1 { sum.add(value)? } else { sum.add(&value.mul(&Numeric::from(times))?)? };
        count += times;
    }
    Ok((sum, count))
}

/// As PostgreSQL: finite values that lead to an infinite total are refused, whatever comes after.
fn float_total(rows: Rows<'_, '_>) -> Result<(f64, u64), ValueError> {
    let (mut sum, mut count) = (0.0f64, 0);
    for (args, times) in rows {
        let value = args[0].as_f64().unwrap_or(f64::NAN);
        for _ in 0..times {
            let before = sum;
            sum += value;
            if sum.is_infinite() && !before.is_infinite() && !value.is_infinite() {
                return Err(float_overflow());
            }
        }
        count += times;
    }
    Ok((sum, count))
}

/// Finite values led to an infinite one.
pub(super) fn float_overflow() -> ValueError {
    ValueError::new("22003", "value out of range: overflow")
}

fn interval_total(rows: Rows<'_, '_>) -> Result<(Option<Interval>, i64), ValueError> {
    let out_of_range = || ValueError::new("22008", "interval out of range");
    let (mut sum, mut count): (Option<Interval>, i64) = (None, 0);
    for (args, times) in rows {
        let value = interval(&args[0])?;
        for _ in 0..times {
            sum = Some(match sum {
                None => value,
                Some(sum) => Interval {
                    months: sum.months.checked_add(value.months).ok_or_else(out_of_range)?,
                    days: sum.days.checked_add(value.days).ok_or_else(out_of_range)?,
                    micros: sum.micros.checked_add(value.micros).ok_or_else(out_of_range)?,
                },
            });
            count += 1;
        }
    }
    Ok((sum, count))
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    plain("count() int8", count).sees_nulls().accumulable(COUNT),
    plain("count(any) int8", count).accumulable(COUNT),
    plain("sum(int2) int8", |_, rows, result| finish_sum_bigint(total(rows)?, result)).accumulable(SUM_BIGINT),
    plain("sum(int4) int8", |_, rows, result| finish_sum_bigint(total(rows)?, result)).accumulable(SUM_BIGINT),
    plain("sum(int8) numeric", |_, rows, result| finish_sum_numeric(total(rows)?, result)).accumulable(SUM_NUMERIC),
    plain("sum(numeric) numeric", |_, rows, _| {
        let (sum, count) = numeric_total(rows)?;
        Ok(if count == 0 { Datum::Null } else { Datum::Numeric(sum) })
    }),
    plain("sum(float4) float4", |_, rows, _| {
        let (mut sum, mut count) = (0f32, 0u64);
        for (args, times) in rows {
            let value = args[0].as_f64().unwrap_or(f64::NAN) as f32;
            for _ in 0..times {
                let before = sum;
                sum += value;
                if sum.is_infinite() && !before.is_infinite() && !value.is_infinite() {
                    return Err(float_overflow());
                }
            }
            count += times;
        }
        Ok(if count == 0 { Datum::Null } else { Datum::Float4(sum) })
    })
    .ordered(),
    plain("sum(float8) float8", |_, rows, _| {
        let (sum, count) = float_total(rows)?;
        Ok(if count == 0 { Datum::Null } else { Datum::Float8(sum) })
    })
    .ordered(),
    plain("sum(interval) interval", |_, rows, _| Ok(interval_total(rows)?.0.map_or(Datum::Null, Datum::Interval))),
    plain("avg(int2) numeric", |_, rows, result| finish_average(total(rows)?, result)).accumulable(AVERAGE),
    plain("avg(int4) numeric", |_, rows, result| finish_average(total(rows)?, result)).accumulable(AVERAGE),
    plain("avg(int8) numeric", |_, rows, result| finish_average(total(rows)?, result)).accumulable(AVERAGE),
    plain("avg(numeric) numeric", |_, rows, _| {
        let (sum, count) = numeric_total(rows)?;
        Ok(if count == 0 { Datum::Null } else { Datum::Numeric(sum.div(&Numeric::from(count))?) })
    }),
    plain("avg(float4) float8", |_, rows, _| {
        let (sum, count) = float_total(rows)?;
        Ok(if count == 0 { Datum::Null } else { Datum::Float8(sum / count as f64) })
    })
    .ordered(),
    plain("avg(float8) float8", |_, rows, _| {
        let (sum, count) = float_total(rows)?;
        Ok(if count == 0 { Datum::Null } else { Datum::Float8(sum / count as f64) })
    })
    .ordered(),
    plain("avg(interval) interval", |_, rows, _| match interval_total(rows)? {
        (Some(sum), count) => sum.div(count as f64).map(Datum::Interval),
        (None, _) => Ok(Datum::Null),
    }),
];
