//! Variance, standard deviation, correlation and regression.
//!
//! Of exact sums of values and of their products; over floats these are centered and rounded, and go on as in PostgreSQL.

use super::accumulators::{Contribution, Total};
use super::exact::{Sums, row_with_square};
use super::real::{Product, Variable, X, XX, XY, Y, YY, finite};
use super::{AggregateDefinition, summed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::float;
use num_bigint::{BigInt, Sign};
use repr::{Datum, Numeric, ScalarType, ValueError};

type Added = Result<(), ValueError>;

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

fn exact(total: Total<'_>, spread: Spread) -> Answer {
    let Sums { count, special, sum, squares, scale } = Sums::of(total);
    if count == 0 || (spread.sample && count == 1) {
        return Ok(Datum::Null);
    }
    if special.is_some() {
        return Ok(Datum::Numeric(Numeric::NaN));
    }
    let numerator = squares * count - &sum * &sum;
    if numerator.sign() != Sign::Plus {
        return Ok(Datum::Numeric(Numeric::zero()));
    }
    let divisor = BigInt::from(count) * if spread.sample { count - 1 } else { count };
    let variance = Numeric::ratio((&numerator, 2 * scale), &divisor)?;
    // The root has the digits of what it is the root of.
    Ok(Datum::Numeric(if spread.root { variance.sqrt_to(variance.scale().unwrap_or(0))? } else { variance }))
}

fn float_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let value = float(&args[0])?;
    contribution.count();
    X.add(value, contribution);
    XX.add(value, value, contribution);
    Ok(())
}

fn double(total: Total<'_>, spread: Spread) -> Answer {
    let count = total.count();
    if count == 0 || (spread.sample && count == 1) {
        return Ok(Datum::Null);
    }
    X.rounded(total)?;
    let variance = centered(total, XX, (X, X))? / if spread.sample { count - 1 } else { count } as f64;
    Ok(Datum::Float8(if spread.root { variance.sqrt() } else { variance }))
}

/// The sum of the products of two variables' distances from their averages, rounded once; NaN where a value is not finite.
fn centered(total: Total<'_>, product: Product, (left, right): (Variable, Variable)) -> Result<f64, ValueError> {
    if left.special(total).is_some() || right.special(total).is_some() {
        return Ok(f64::NAN);
    }
    let products = product.sum(total).times_whole(total.count());
    finite(products.minus(&left.sum(total).times(&right.sum(total))).divided_to_f64(total.count()))
}

/// Sums over pairs (y, x), those of products centered.
struct Pairs {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

fn pairs_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Added {
    let (y, x) = (float(&args[0])?, float(&args[1])?);
    contribution.count();
    X.add(x, contribution);
    Y.add(y, contribution);
    XX.add(x, x, contribution);
    YY.add(y, y, contribution);
    XY.add(x, y, contribution);
    Ok(())
}

/// A value of the sums, or NULL where it is not defined.
fn over_pairs(total: Total<'_>, value: fn(&Pairs) -> Option<f64>) -> Answer {
    if total.count() == 0 {
        return Ok(Datum::Null);
    }
    let pairs = Pairs {
        n: total.count() as f64,
        sx: X.rounded(total)?,
        sxx: centered(total, XX, (X, X))?,
        sy: Y.rounded(total)?,
        syy: centered(total, YY, (Y, Y))?,
        sxy: centered(total, XY, (X, Y))?,
    };
    Ok(value(&pairs).map_or(Datum::Null, Datum::Float8))
}

fn some(defined: bool, value: f64) -> Option<f64> {
    defined.then_some(value)
}

fn count(total: Total<'_>, _: &ScalarType) -> Answer {
    Ok(Datum::Int8(total.count()))
}

macro_rules! spreads {
    ($name:literal, $spread:expr) => {
        [
            summed(concat!($name, "(int2) numeric"), row_with_square, |total, _| exact(total, $spread)),
            summed(concat!($name, "(int4) numeric"), row_with_square, |total, _| exact(total, $spread)),
            summed(concat!($name, "(int8) numeric"), row_with_square, |total, _| exact(total, $spread)),
            summed(concat!($name, "(numeric) numeric"), row_with_square, |total, _| exact(total, $spread)),
            summed(concat!($name, "(float4) float8"), float_row, |total, _| double(total, $spread)),
            summed(concat!($name, "(float8) float8"), float_row, |total, _| double(total, $spread)),
        ]
    };
}

macro_rules! regression {
    ($name:literal, $value:expr) => {
        summed(concat!($name, "(float8, float8) float8"), pairs_row, |total, _| over_pairs(total, $value))
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
    regression!("corr", |p| some(p.sxx != 0.0 && p.syy != 0.0, p.sxy / (p.sxx * p.syy).sqrt())),
    regression!("covar_pop", |p| Some(p.sxy / p.n)),
    regression!("covar_samp", |p| some(p.n >= 2.0, p.sxy / (p.n - 1.0))),
    regression!("regr_avgx", |p| Some(p.sx / p.n)),
    regression!("regr_avgy", |p| Some(p.sy / p.n)),
    summed("regr_count(float8, float8) int8", pairs_row, count),
    regression!("regr_sxx", |p| Some(p.sxx)),
    regression!("regr_syy", |p| Some(p.syy)),
    regression!("regr_sxy", |p| Some(p.sxy)),
    regression!("regr_slope", |p| some(p.sxx != 0.0, p.sxy / p.sxx)),
    regression!("regr_intercept", |p| some(p.sxx != 0.0, (p.sy - p.sx * p.sxy / p.sxx) / p.n)),
    regression!("regr_r2", |p| {
        let r2 = if p.syy == 0.0 { 1.0 } else { (p.sxy * p.sxy) / (p.sxx * p.syy) };
        some(p.sxx != 0.0, r2)
    }),
];
