//! `interval`: months, days and microseconds, kept apart as in PostgreSQL.
//!
//! The value, its comparison and arithmetic; text forms are in `interval::parse` and `interval::format`.

mod format;
mod parse;

pub use format::IntervalStyle;

use crate::ValueError;
pub use crate::datetime::DAY_MICROS;
use crate::datetime::{HOUR_MICROS, MINUTE_MICROS, round_to_precision};
use std::cmp::Ordering;

/// A span of time whose parts do not convert into each other until it is applied or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

fn out_of_range() -> ValueError {
    ValueError::new("22008", "interval out of range")
}

impl Interval {
    /// What PostgreSQL compares intervals by: microseconds, with months of 30 days of 24 hours.
    pub fn comparison_value(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY_MICROS) + i128::from(self.micros)
    }

    /// SQL order.
    pub fn sql_cmp(&self, other: &Interval) -> Ordering {
        self.comparison_value().cmp(&other.comparison_value())
    }

    /// `+`
    pub fn add(&self, other: &Interval) -> Result<Interval, ValueError> {
        Ok(Interval {
            months: self.months.checked_add(other.months).ok_or_else(out_of_range)?,
            days: self.days.checked_add(other.days).ok_or_else(out_of_range)?,
            micros: self.micros.checked_add(other.micros).ok_or_else(out_of_range)?,
        })
    }

    /// `-`
    pub fn sub(&self, other: &Interval) -> Result<Interval, ValueError> {
        Ok(Interval {
            months: self.months.checked_sub(other.months).ok_or_else(out_of_range)?,
            days: self.days.checked_sub(other.days).ok_or_else(out_of_range)?,
            micros: self.micros.checked_sub(other.micros).ok_or_else(out_of_range)?,
        })
    }

    /// Unary minus.
    pub fn negate(&self) -> Result<Interval, ValueError> {
        Interval::default().sub(self)
    }

    /// `* double precision`: fractions of months become days of 30, fractions of days microseconds.
    pub fn mul(&self, factor: f64) -> Result<Interval, ValueError> {
        self.scale(|part| part * factor)
    }

    /// `/ double precision`
    pub fn div(&self, divisor: f64) -> Result<Interval, ValueError> {
        if divisor == 0.0 {
            return Err(ValueError::new("22012", "division by zero"));
        }
        self.scale(|part| part / divisor)
    }

    fn scale(&self, apply: impl Fn(f64) -> f64) -> Result<Interval, ValueError> {
        let whole = |value: f64| {
            let fits = value > f64::from(i32::MIN) - 1.0 && value < f64::from(i32::MAX) + 1.0;
            if fits { Ok(value as i32) } else { Err(out_of_range()) }
        };
        // Rounded to microseconds, against what binary fractions leave over.
        let tidy = |value: f64| (value * 1_000_000.0).round_ties_even() / 1_000_000.0;
        let months_exact = apply(f64::from(self.months));
        let days_exact = apply(f64::from(self.days));
        let months = whole(months_exact)?;
        let mut days = whole(days_exact)?;
        let month_remainder_days = tidy((months_exact - f64::from(months)) * 30.0);
        let mut second_remainder =
            tidy((days_exact - f64::from(days) + month_remainder_days - month_remainder_days.trunc()) * 86_400.0);
        if second_remainder.abs() >= 86_400.0 {
            let carried = (second_remainder / 86_400.0).trunc();
            days = days.checked_add(carried as i32).ok_or_else(out_of_range)?;
            second_remainder -= carried * 86_400.0;
        }
        let days = days.checked_add(whole(month_remainder_days)?).ok_or_else(out_of_range)?;
        let micros = (apply(self.micros as f64) + second_remainder * 1_000_000.0).round_ties_even();
        if !micros.is_finite() || micros < i64::MIN as f64 || micros >= i64::MAX as f64 {
            return Err(out_of_range());
        }
        Ok(Interval { months, days, micros: micros as i64 })
    }

    /// Turns 24-hour spans into days.
    pub fn justify_hours(&self) -> Result<Interval, ValueError> {
        let whole = i32::try_from(self.micros / DAY_MICROS).map_err(|_| out_of_range())?;
        let mut days = self.days.checked_add(whole).ok_or_else(out_of_range)?;
        let mut micros = self.micros % DAY_MICROS;
        if days > 0 && micros < 0 {
            micros += DAY_MICROS;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= DAY_MICROS;
            days += 1;
        }
        Ok(Interval { months: self.months, days, micros })
    }

    /// Turns 30-day spans into months.
    pub fn justify_days(&self) -> Result<Interval, ValueError> {
        let mut months = self.months.checked_add(self.days / 30).ok_or_else(out_of_range)?;
        let mut days = self.days % 30;
        if months > 0 && days < 0 {
            days += 30;
            months -= 1;
        } else if months < 0 && days > 0 {
            days -= 30;
            months += 1;
        }
        Ok(Interval { months, days, micros: self.micros })
    }

    /// Both, with all signs alike.
    pub fn justify_interval(&self) -> Result<Interval, ValueError> {
        let mut micros = self.micros % DAY_MICROS;
        let days = i64::from(self.days) + self.micros / DAY_MICROS;
        let months = i64::from(self.months) + days / 30;
        let mut months = i32::try_from(months).map_err(|_| out_of_range())?;
        let mut days = (days % 30) as i32;
        if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
            days += 30;
            months -= 1;
        } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
            days -= 30;
            months += 1;
        }
        if days > 0 && micros < 0 {
            micros += DAY_MICROS;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= DAY_MICROS;
            days += 1;
        }
        Ok(Interval { months, days, micros })
    }

    /// Applies the modifier of `interval day to second(2)` and the like.
    pub fn apply_modifier(&self, modifier: i32) -> Interval {
        let (range, precision) = crate::types::decode_interval_modifier(modifier);
        let mut kept = *self;
        if let Some(range) = range {
            let has = |bit: i32| range & (1 << bit) != 0;
            if has(12) {
                // Seconds are the smallest field: all is kept.
            } else if has(11) {
                kept.micros -= kept.micros % MINUTE_MICROS;
            } else if has(10) {
                kept.micros -= kept.micros % HOUR_MICROS;
            } else {
                kept.micros = 0;
                if !has(3) {
                    kept.days = 0;
                    if !has(1) {
                        kept.months -= kept.months % 12;
                    }
                }
            }
        }
        if let Some(precision) = precision {
            kept.micros = round_to_precision(kept.micros, precision);
        }
        kept
    }
}
