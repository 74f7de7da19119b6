//! Accumulators of integers and numeric: sums, and sums of squares, by scale.
//!
//! ```text
//! scale << 16                  rows of that scale        a total has the greatest scale of the rows that are there
//! scale << 16 | 1 …            their sum's limbs         an integer is of scale 0, and its sum one limb
//! scale << 16 | 0x4000 …       the limbs of their squares' sum, which has twice the scale
//! 0x4000_0000 …                rows that are NaN, Infinity, -Infinity
//! ```

use super::accumulators::{COUNT, Contribution, Total};
use super::limbs::{add_integer, add_shifted, add_whole, integer};
use crate::scalar::func::arguments::numeric;
use num_bigint::BigInt;
use repr::{Datum, Numeric, ValueError};

const SUM: u32 = 1;
const SQUARES: u32 = 0x4000;
const SCALE: u32 = 1 << 16;
const NAN: u32 = 0x4000 * SCALE;
const INFINITY: u32 = NAN + 1;
const NEGATIVE_INFINITY: u32 = NAN + 2;

/// The sum of integers, whose slot this is: one limb is enough for all the rows there may be.
pub(super) fn integer_sum(total: Total<'_>) -> i128 {
    total.at(SUM)
}

/// Adds an integer.
pub(super) fn integer_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Result<(), ValueError> {
    if let Some(value) = args[0].as_i64() {
        contribution.count();
        contribution.add(SUM, i128::from(value));
    }
    Ok(())
}

/// Adds a numeric.
pub(super) fn numeric_row(args: &[Datum], contribution: &mut Contribution<'_>) -> Result<(), ValueError> {
    add(numeric(&args[0])?, false, contribution);
    Ok(())
}

/// Adds so many integers that come to this.
pub(super) fn integer_rows(rows: i64, sum: i128, contribution: &mut Contribution<'_>) {
    contribution.add(COUNT, i128::from(rows));
    // One limb is enough for all the rows there may be.
    contribution.add(SUM, sum);
}

/// Adds so many finite numerics of one scale that come to this.
pub(super) fn decimal_rows(rows: i64, (sum, scale): (i128, u16), contribution: &mut Contribution<'_>) {
    let slot = u32::from(scale) * SCALE;
    contribution.add(slot, i128::from(rows));
    add_whole(sum, slot + SUM, contribution);
}

/// Adds an integer or a numeric, and its square.
pub(super) fn row_with_square(args: &[Datum], contribution: &mut Contribution<'_>) -> Result<(), ValueError> {
    match args[0].as_i64() {
        Some(value) => {
            integer_row(args, contribution)?;
            let magnitude = u128::from(value.unsigned_abs());
            add_shifted(magnitude * magnitude, false, 0, SQUARES, contribution);
        }
        None => add(numeric(&args[0])?, true, contribution),
    }
    Ok(())
}

fn add(value: &Numeric, squares: bool, contribution: &mut Contribution<'_>) {
    match value {
        Numeric::Finite { unscaled, scale } => {
            let scale = u32::from(*scale) * SCALE;
            contribution.add(scale, 1);
            add_integer(unscaled, scale + SUM, contribution);
            if squares {
                add_integer(&(unscaled * unscaled), scale + SQUARES, contribution);
            }
        }
        Numeric::NaN => contribution.add(NAN, 1),
        Numeric::Infinity => contribution.add(INFINITY, 1),
        Numeric::NegativeInfinity => contribution.add(NEGATIVE_INFINITY, 1),
    }
}

/// What rows come to.
pub(super) struct Sums {
    /// The rows, those that are not finite too.
    pub(super) count: i64,
    /// Their sum, if one of them is not finite.
    pub(super) special: Option<Numeric>,
    /// The sum of the others, unscaled.
    pub(super) sum: BigInt,
    /// The sum of their squares, unscaled, at twice the scale.
    pub(super) squares: BigInt,
    /// The greatest scale of the others.
    pub(super) scale: u16,
}

impl Sums {
    /// Reads them.
    pub(super) fn of(total: Total<'_>) -> Sums {
        let [nans, infinities, negatives] = [NAN, INFINITY, NEGATIVE_INFINITY].map(|slot| total.at(slot));
        let special = match (nans, infinities, negatives) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(Numeric::Infinity),
            (0, 0, _) => Some(Numeric::NegativeInfinity),
            (_, _, _) => Some(Numeric::NaN),
        };
        let count = (nans + infinities + negatives) as i64;
        let mut sums = Sums { count, special, sum: BigInt::ZERO, squares: BigInt::ZERO, scale: 0 };
        let mut from = 0;
        while let Some((slot, _)) = total.between(from, NAN).next() {
            let first = (from + slot) / SCALE * SCALE;
            sums.add_scale(total, first);
            from = first + SCALE;
        }
        sums
    }

    /// Adds the rows of a scale that is greater than those before.
    fn add_scale(&mut self, total: Total<'_>, first: u32) {
        let scale = (first / SCALE) as u16;
        let more = u32::from(scale - self.scale);
        if more > 0 {
            self.sum *= BigInt::from(10).pow(more);
            self.squares *= BigInt::from(10).pow(2 * more);
        }
        self.scale = scale;
        self.count += total.at(first) as i64;
        let read = |first, end| {
            let (number, limbs) = integer(total, first, end);
            number << (u64::from(limbs) * 64)
        };
        self.sum += read(first + SUM, first + SQUARES);
        self.squares += read(first + SQUARES, first + SCALE);
    }

    /// Their sum; `None` of no rows.
    ///
    /// # Errors
    /// 22003 if it is too long.
    pub(super) fn sum(self) -> Result<Option<Numeric>, ValueError> {
        if self.count == 0 {
            return Ok(None);
        }
        match self.special {
            Some(special) => Ok(Some(special)),
            None => Numeric::new(self.sum, self.scale).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::accumulators::Accumulators;
    use super::*;

    fn sum(values: &Accumulators) -> String {
        let sum = Sums::of(values.total(0)).sum().expect("it fits");
        sum.map_or_else(|| "null".to_owned(), |sum| sum.to_string())
    }

    #[test]
    fn a_sum_has_the_scale_of_the_rows_that_are_there() {
        let mut values = Accumulators::default();
        let mut change = |text: &str, times| {
            let value = Datum::Numeric(text.parse().expect("a number"));
            row_with_square(&[value], &mut values.contribution(0, times)).expect("a row contributes");
            sum(&values)
        };
        let long = "99999999999999999999999999999999999999999999999999";
        for (text, times, expected) in [
            ("1.5", 1, "1.5"),
            ("-1.25", 2, "-1.00"),
            ("NaN", 1, "NaN"),
            ("Infinity", 1, "NaN"),
            ("NaN", -1, "Infinity"),
            ("-Infinity", 1, "NaN"),
            ("Infinity", -1, "-Infinity"),
            ("-Infinity", -1, "-1.00"),
            ("-1.25", -2, "1.5"),
            (long, 3, "299999999999999999999999999999999999999999999999998.5"),
            (long, -3, "1.5"),
            ("1.5", -1, "null"),
        ] {
            assert_eq!(change(text, times), expected, "{times} times {text}");
        }
        assert!(values.is_zero());
    }
}
