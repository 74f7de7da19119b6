//! What many rows of plain arguments add up to before anything is added to accumulators: how many there are, and one number.
//!
//! The same as if each had been added by itself. Knows no expression: whoever has the arguments adds them up.

use super::accumulators::Contribution;
use super::exact::{decimal_rows, integer_rows};

/// What a row adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainSum {
    /// Itself.
    Rows,
    /// Itself, if its argument is not NULL.
    Values,
    /// An integer, if it is not NULL.
    Integers,
    /// A finite numeric, if it is not NULL.
    Decimals,
}

/// What rows add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainTotal {
    rows: i64,
    sum: i128,
    scale: u16,
}

impl PlainTotal {
    /// One row more that adds no number.
    #[inline]
    pub fn count(&mut self) {
        self.rows += 1;
    }

    /// One row more with a number of a scale, `unscaled` × 10^-`scale`; false, and nothing is added, if what is there has another or
    /// the sum does not fit: then it is to be given to the accumulators first.
    #[inline]
    pub fn add(&mut self, unscaled: i128, scale: u16) -> bool {
        if self.scale != scale && self.rows > 0 {
            return false;
        }
        let Some(sum) = self.sum.checked_add(unscaled) else { return false };
        *self = PlainTotal { rows: self.rows + 1, sum, scale };
        true
    }

    /// Adds all of it, of which nothing is left.
    pub fn give(&mut self, plain: PlainSum, contribution: &mut Contribution<'_>) {
        let PlainTotal { rows, sum, scale } = std::mem::take(self);
        if rows == 0 {
            return;
        }
        match plain {
            PlainSum::Rows | PlainSum::Values | PlainSum::Integers => integer_rows(rows, sum, contribution),
            PlainSum::Decimals => decimal_rows(rows, (sum, scale), contribution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::accumulators::Accumulators;
    use super::super::{AggregateKind, Summed, definitions};
    use super::*;
    use num_bigint::BigInt;
    use repr::{Datum, Numeric, ScalarType};

    fn sum_of(plain: PlainSum) -> Summed {
        let found = definitions().into_iter().find_map(|(signature, aggregate)| match aggregate.kind {
            AggregateKind::Summed(summed) if summed.plain == Some(plain) && signature.starts_with("sum") => {
                Some(summed)
            }
            _ => None,
        });
        found.expect("there is such a sum")
    }

    #[test]
    fn added_up_before_is_what_each_adds() {
        let numbers: [(i128, u16); 9] = [
            (5, 0),
            (-7, 2),
            (i128::from(i64::MAX), 2),
            (i128::from(i64::MIN) * i128::from(i64::MAX), 2),
            (i128::MAX, 2),
            (i128::MAX, 2),
            (i128::MIN, 2),
            (1, 4),
            (0, 9),
        ];
        let summed = sum_of(PlainSum::Decimals);
        let (mut each, mut before, mut total) =
            (Accumulators::default(), Accumulators::default(), PlainTotal::default());
        for (unscaled, scale) in numbers {
            let value = Datum::Numeric(Numeric::new(BigInt::from(unscaled), scale).expect("it fits"));
            (summed.add)(&[value], &mut each.contribution(3, 1)).expect("a row is added");
            if !total.add(unscaled, scale) {
                total.give(PlainSum::Decimals, &mut before.contribution(3, 1));
                assert!(total.add(unscaled, scale), "nothing is there any more");
            }
            let mut so_far = before.clone();
            let mut rest = total;
            rest.give(PlainSum::Decimals, &mut so_far.contribution(3, 1));
            let value = |of: &Accumulators| (summed.value)(of.total(3), &ScalarType::Numeric).expect("it has a value");
            assert_eq!(value(&so_far), value(&each), "after {unscaled} of scale {scale}");
        }
        total.give(PlainSum::Decimals, &mut before.contribution(3, 1));
        assert_eq!(total, PlainTotal::default());
    }

    #[test]
    fn integers_are_added_up_beyond_their_width() {
        let (mut accumulators, mut total) = (Accumulators::default(), PlainTotal::default());
        let mut expected = 0;
        for number in [i64::MAX, i64::MAX, i64::MAX, 5, i64::MAX] {
            expected += i128::from(number);
            assert!(total.add(i128::from(number), 0));
        }
        total.give(PlainSum::Integers, &mut accumulators.contribution(0, 1));
        assert!(total.add(i128::from(i64::MIN), 0));
        total.give(PlainSum::Integers, &mut accumulators.contribution(0, 1));
        let definitions = definitions();
        let (_, sum) = definitions.iter().find(|(signature, _)| *signature == "sum(int8) numeric").expect("is there");
        let AggregateKind::Summed(sum) = sum.kind else { panic!("a sum") };
        let value = (sum.value)(accumulators.total(0), &ScalarType::Numeric).expect("it has a value");
        assert_eq!(value, Datum::Numeric(Numeric::from(expected + i128::from(i64::MIN))));
        assert_eq!(accumulators.total(0).count(), 6);
    }
}
