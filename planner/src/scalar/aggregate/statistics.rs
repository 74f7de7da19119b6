//! Variance, standard deviation, correlation and regression.
//!
//! Exact over integers and numeric; over doubles by Youngs and Cramer's recurrence, as PostgreSQL does.

use super::sum::float_overflow;
use super::{AggregateDefinition, Rows, plain};
use crate::scalar::func::arguments::{float, numeric};
use repr::{Datum, Numeric, ValueError};

type Answer = Result<Datum, ValueError>;

/// Which spread is asked for.
#[derive(Clone, Copy)]
struct Spread {
    sample: bool,
    root: bool,
}

const VAR_POP: Spread = Spread { sample: false, root: false };
const VAR_SAMP: Spread = Spread { sample: true, root: false };
const STDDEV_POP: Spread = Spread { sample: false, root: true };
const STDDEV_SAMP: Spread = Spread { sample: true, root: true };

fn exact(rows: Rows<'_, '_>, spread: Spread) -> Answer {
    let (mut count, mut sum, mut squares) = (0i64, Numeric::zero(), Numeric::zero());
    for (args, times) in rows {
        let value = match args[0].as_i64() {
            Some(value) => Numeric::from(value),
            None => numeric(&args[0])?.clone(),
        };
        let times = i64::try_from(times).map_err(|_| ValueError::new("22003", "bigint out of range"))?;
        let weight = Numeric::from(times);
        sum = sum.add(&value.mul(&weight)?)?;
        squares = squares.add(&value.mul(&value)?.mul(&weight)?)?;
        count += times;
    }
    if count == 0 || (spread.sample && count == 1) {
        return Ok(Datum::Null);
    }
    if !squares.is_finite() {
        return Ok(Datum::Numeric(Numeric::NaN));
    }
    let rows = Numeric::from(count);
    let numerator = rows.mul(&squares)?.sub(&sum.mul(&sum)?)?;
    if numerator.is_zero() || numerator.is_negative() {
        return Ok(Datum::Numeric(Numeric::zero()));
    }
    let divisor = rows.mul(&Numeric::from(if spread.sample { count - 1 } else { count }))?;
    let variance = numerator.div(&divisor)?;
    Ok(Datum::Numeric(if spread.root { variance.sqrt()? } else { variance }))
}

fn double(rows: Rows<'_, '_>, spread: Spread) -> Answer {
    let (mut count, mut sum, mut squares) = (0.0f64, 0.0f64, 0.0f64);
    for (args, times) in rows {
        let value = float(&args[0])?;
        for _ in 0..times {
            let before = sum;
            count += 1.0;
            sum += value;
            if count > 1.0 {
                let deviation = value * count - sum;
                squares += deviation * deviation / (count * (count - 1.0));
                if sum.is_infinite() || squares.is_infinite() {
                    if !before.is_infinite() && !value.is_infinite() {
                        return Err(float_overflow());
                    }
                    squares = f64::NAN;
                }
            } else if !value.is_finite() {
                squares = f64::NAN;
            }
        }
    }
    if count == 0.0 || (spread.sample && count == 1.0) {
        return Ok(Datum::Null);
    }
    let variance = squares / if spread.sample { count - 1.0 } else { count };
    Ok(Datum::Float8(if spread.root { variance.sqrt() } else { variance }))
}

/// Sums over pairs (y, x).
#[derive(Clone, Copy, Default)]
struct Pairs {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

impl Pairs {
    /// The sums with one more pair; those of products that infinite values have spoilt are NaN.
    fn with(self, y: f64, x: f64) -> Result<Pairs, ValueError> {
        let mut p = Pairs { n: self.n + 1.0, sx: self.sx + x, sy: self.sy + y, ..self };
        if p.n == 1.0 {
            (p.sxx, p.syy) = (spoilt(x), spoilt(y));
            p.sxy = p.sxx + p.syy;
            return Ok(p);
        }
        let (dx, dy) = (x * p.n - p.sx, y * p.n - p.sy);
        let scale = 1.0 / (p.n * self.n);
        p.sxx += dx * dx * scale;
        p.syy += dy * dy * scale;
        p.sxy += dx * dy * scale;
        let were_finite = |before: f64, value: f64| !before.is_infinite() && !value.is_infinite();
        let (finite_x, finite_y) = (were_finite(self.sx, x), were_finite(self.sy, y));
        if finite_x && (p.sx.is_infinite() || p.sxx.is_infinite())
            || finite_y && (p.sy.is_infinite() || p.syy.is_infinite())
            || finite_x && finite_y && p.sxy.is_infinite()
        {
            return Err(float_overflow());
        }
        for product in [&mut p.sxx, &mut p.syy, &mut p.sxy] {
            if product.is_infinite() {
                *product = f64::NAN;
            }
        }
        Ok(p)
    }
}

/// What the products of a first value begin with.
fn spoilt(first: f64) -> f64 {
    if first.is_finite() { 0.0 } else { f64::NAN }
}

fn pairs(rows: Rows<'_, '_>) -> Result<Pairs, ValueError> {
    let mut pairs = Pairs::default();
    for (args, times) in rows {
        let (y, x) = (float(&args[0])?, float(&args[1])?);
        for _ in 0..times {
            pairs = pairs.with(y, x)?;
        }
    }
    Ok(pairs)
}

/// A value of the sums, or NULL where it is not defined.
fn over_pairs(rows: Rows<'_, '_>, value: fn(&Pairs) -> Option<f64>) -> Answer {
    let pairs = pairs(rows)?;
    Ok(value(&pairs).map_or(Datum::Null, Datum::Float8))
}

fn some(defined: bool, value: f64) -> Option<f64> {
    defined.then_some(value)
}

macro_rules! spreads {
    ($name:literal, $spread:expr) => {
        [
            plain(concat!($name, "(int2) numeric"), |_, rows, _| exact(rows, $spread)),
            plain(concat!($name, "(int4) numeric"), |_, rows, _| exact(rows, $spread)),
            plain(concat!($name, "(int8) numeric"), |_, rows, _| exact(rows, $spread)),
            plain(concat!($name, "(numeric) numeric"), |_, rows, _| exact(rows, $spread)),
            plain(concat!($name, "(float4) float8"), |_, rows, _| double(rows, $spread)).ordered(),
            plain(concat!($name, "(float8) float8"), |_, rows, _| double(rows, $spread)).ordered(),
        ]
    };
}

pub(super) static SPREADS: [[AggregateDefinition; 6]; 6] = [
    spreads!("var_pop", VAR_POP),
    spreads!("var_samp", VAR_SAMP),
    spreads!("variance", VAR_SAMP),
    spreads!("stddev_pop", STDDEV_POP),
    spreads!("stddev_samp", STDDEV_SAMP),
    spreads!("stddev", STDDEV_SAMP),
];

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    plain("corr(float8, float8) float8", |_, rows, _| {
        over_pairs(rows, |p| some(p.n >= 1.0 && p.sxx != 0.0 && p.syy != 0.0, p.sxy / (p.sxx * p.syy).sqrt()))
    })
    .ordered(),
    plain("covar_pop(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.sxy / p.n)))
        .ordered(),
    plain("covar_samp(float8, float8) float8", |_, rows, _| {
        over_pairs(rows, |p| some(p.n >= 2.0, p.sxy / (p.n - 1.0)))
    })
    .ordered(),
    plain("regr_avgx(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.sx / p.n)))
        .ordered(),
    plain("regr_avgy(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.sy / p.n)))
        .ordered(),
    plain("regr_count(float8, float8) int8", |_, rows, _| {
        let count: u64 = rows.map(|(_, times)| times).sum();
        i64::try_from(count).map(Datum::Int8).map_err(|_| ValueError::new("22003", "bigint out of range"))
    }),
    plain("regr_sxx(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.sxx))).ordered(),
    plain("regr_syy(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.syy))).ordered(),
    plain("regr_sxy(float8, float8) float8", |_, rows, _| over_pairs(rows, |p| some(p.n >= 1.0, p.sxy))).ordered(),
    plain("regr_slope(float8, float8) float8", |_, rows, _| {
        over_pairs(rows, |p| some(p.n >= 1.0 && p.sxx != 0.0, p.sxy / p.sxx))
    })
    .ordered(),
    plain("regr_intercept(float8, float8) float8", |_, rows, _| {
        over_pairs(rows, |p| some(p.n >= 1.0 && p.sxx != 0.0, (p.sy - p.sx * p.sxy / p.sxx) / p.n))
    })
    .ordered(),
    plain("regr_r2(float8, float8) float8", |_, rows, _| {
        over_pairs(rows, |p| {
            if p.syy == 0.0 {
                return some(p.n >= 1.0 && p.sxx != 0.0, 1.0);
            }
            some(p.n >= 1.0 && p.sxx != 0.0, (p.sxy * p.sxy) / (p.sxx * p.syy))
        })
    })
    .ordered(),
];
