//! Values of packed rows that are read without a datum made of them: what filters and sums over whole tables mostly look at.
//!
//! Anything else is told to be *other*: then it is for the general way, over datums, to say.

use repr::{Datum, Value};
use std::cmp::Ordering;

/// A value as it stands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain<'a> {
    /// SQL NULL.
    Null,
    /// An integer of any width.
    Integer(i64),
    /// A finite numeric, `unscaled` × 10^-`scale`.
    Decimal {
        /// All digits.
        unscaled: i128,
        /// How many of them stand behind the point.
        scale: u16,
    },
    /// What is ordered as its number is among values of its kind.
    Counted(Counted, i64),
    /// text
    Text(&'a [u8]),
    /// Any other, which is not NULL.
    Other,
}

/// Kinds of values that are numbers of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Bool,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Money,
}

/// Scales are brought to each other's within so many digits.
const DIGITS_MAX: u16 = 18;

impl<'a> Plain<'a> {
    /// Of a value.
    #[inline(always)]
    pub(crate) fn of(value: Value<'a>) -> Plain<'a> {
        match value {
            Value::Null => Plain::Null,
            Value::Int2(value) => Plain::Integer(i64::from(value)),
            Value::Int4(value) => Plain::Integer(i64::from(value)),
            Value::Int8(value) => Plain::Integer(value),
            Value::Decimal { unscaled, scale } => Plain::Decimal { unscaled: i128::from(unscaled), scale },
            Value::Bool(value) => Plain::Counted(Counted::Bool, i64::from(value)),
            Value::Date(value) => Plain::Counted(Counted::Date, i64::from(value)),
            Value::Time(value) => Plain::Counted(Counted::Time, value),
            Value::Timestamp(value) => Plain::Counted(Counted::Timestamp, value),
            Value::Timestamptz(value) => Plain::Counted(Counted::Timestamptz, value),
            Value::Money(value) => Plain::Counted(Counted::Money, value),
            Value::Text(text) => Plain::Text(text),
            _ => Plain::Other,
        }
    }

    /// Of a datum.
    pub(crate) fn of_datum(datum: &'a Datum) -> Plain<'a> {
        match datum {
            Datum::Numeric(value) => match value.decimal() {
                Some((unscaled, scale)) => Plain::Decimal { unscaled: i128::from(unscaled), scale },
                None => Plain::Other,
            },
            datum => Plain::of(datum.value()),
        }
    }

    /// How two values that are not NULL stand in SQL's order, if they are of one kind.
    #[inline]
    pub(crate) fn order(self, other: Plain<'_>) -> Option<Ordering> {
        match (self, other) {
            (Plain::Integer(one), Plain::Integer(other)) => Some(one.cmp(&other)),
            (Plain::Counted(kind, one), Plain::Counted(others, other)) if kind == others => Some(one.cmp(&other)),
            (Plain::Text(one), Plain::Text(other)) => Some(one.cmp(other)),
            (Plain::Decimal { .. }, Plain::Decimal { .. }) => {
                let (one, other, _) = self.aligned(other)?;
                Some(one.cmp(&other))
            }
            _ => None,
        }
    }

    /// The unscaled integers of two decimals at the greater scale, if they fit.
    #[inline]
    fn aligned(self, other: Plain<'_>) -> Option<(i128, i128, u16)> {
        let (Plain::Decimal { unscaled: one, scale }, Plain::Decimal { unscaled: other, scale: others }) =
            (self, other)
        else {
            return None;
        };
        if scale == others {
            return Some((one, other, scale));
        }
        let raised = |unscaled: i128, by: u16| {
            if by <= DIGITS_MAX { unscaled.checked_mul(10_i128.pow(u32::from(by))) } else { None }
        };
        if scale < others {
            Some((raised(one, others - scale)?, other, others))
        } else {
            Some((one, raised(other, scale - others)?, scale))
        }
    }

    /// SQL's `+`, `-` or `*` of numerics.
    #[inline]
    pub(crate) fn computed(self, operator: Arithmetic, other: Plain<'_>) -> Plain<'static> {
        match (self, other) {
            // Whatever it is, it is evaluated, too, and may fail.
            (Plain::Null, Plain::Null | Plain::Decimal { .. }) | (Plain::Decimal { .. }, Plain::Null) => Plain::Null,
            (Plain::Decimal { .. }, Plain::Decimal { .. }) => self.finite(operator, other).unwrap_or(Plain::Other),
            _ => Plain::Other,
        }
    }

    #[inline]
    fn finite(self, operator: Arithmetic, other: Plain<'_>) -> Option<Plain<'static>> {
        if operator == Arithmetic::Multiply {
            let (Plain::Decimal { unscaled: one, scale }, Plain::Decimal { unscaled: other, scale: others }) =
                (self, other)
            else {
                return None;
            };
            // Scales of values are far below their limit, but their sum may not be.
            let scale = scale.checked_add(others).filter(|scale| *scale <= i16::MAX.cast_unsigned() / 4)?;
            let unscaled = match (i64::try_from(one), i64::try_from(other)) {
                (Ok(one), Ok(other)) => i128::from(one) * i128::from(other),
                _ => one.checked_mul(other)?,
            };
            return Some(Plain::Decimal { unscaled, scale });
        }
        let (one, other, scale) = self.aligned(other)?;
        let unscaled = if operator == Arithmetic::Add { one.checked_add(other)? } else { one.checked_sub(other)? };
        Some(Plain::Decimal { unscaled, scale })
    }
}

/// What is computed of numerics here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
}

#[cfg(test)]
mod tests {
    use super::*;
    use repr::{Numeric, Row, row::Columns};

    fn decimal(text: &str) -> Datum {
        Datum::Numeric(text.parse().expect("a number"))
    }

    #[test]
    fn plain_values_are_ordered_and_computed_as_datums_are() {
        let numbers = [
            "0",
            "0.00",
            "1",
            "-1",
            "1.5",
            "-0.07",
            "9223372036854775807",
            "-9223372036854775808.000",
            "NaN",
            "99999999999999999999",
            "0.0000000000000000000000001",
            "12345678901234567.89",
            "Infinity",
        ];
        let datums: Vec<Datum> = numbers.iter().map(|text| decimal(text)).collect();
        let all = datums
            .iter()
            .cloned()
            .chain([
                Datum::Int2(-3),
                Datum::Int8(7),
                Datum::Date(-3),
                Datum::Timestamp(7),
                Datum::text("a"),
                Datum::text("é"),
                Datum::Bool(true),
                Datum::Bool(false),
                Datum::Null,
                Datum::Float8(0.5),
            ])
            .collect::<Vec<_>>();
        for one in &all {
            for other in &all {
                let packed = Row::pack([one, other]);
                let mut columns = Columns::over(packed.bytes());
                let plain = Plain::of(columns.value(0).expect("is there"));
                let others = Plain::of(columns.value(1).expect("is there"));
                if let Some(order) = plain.order(others) {
                    assert_eq!(order, one.sql_cmp(other));
                }
                let (Datum::Numeric(a), Datum::Numeric(b)) = (one, other) else { continue };
                assert_eq!(Plain::of_datum(one), plain);
                for (operator, expected) in
                    [(Arithmetic::Add, a.add(b)), (Arithmetic::Subtract, a.sub(b)), (Arithmetic::Multiply, a.mul(b))]
                {
                    if let Plain::Decimal { unscaled, scale } = plain.computed(operator, others) {
                        assert_eq!(Numeric::new(unscaled.into(), scale), expected);
                    }
                }
            }
        }
    }
}
