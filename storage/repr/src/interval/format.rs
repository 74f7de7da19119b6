//! Output of intervals in PostgreSQL's styles.

use super::Interval;
use crate::datetime::{split_time, write_fraction};
use std::fmt::{self, Write};

/// The `IntervalStyle` setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
}

const WRITING: &str = "writing to a String does not fail";

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format(IntervalStyle::Postgres))
    }
}

impl Interval {
    /// The text in a style.
    pub fn format(&self, style: IntervalStyle) -> String {
        let mut out = String::with_capacity(24);
        match style {
            IntervalStyle::Postgres => self.write_postgres(&mut out),
            IntervalStyle::Iso8601 => self.write_iso(&mut out),
            IntervalStyle::SqlStandard => self.write_sql(&mut out),
            IntervalStyle::PostgresVerbose => self.write_verbose(&mut out),
        }
        out
    }

    fn clock(&self) -> (i64, i64, i64, i64) {
        // The magnitude of i64::MIN does not fit, its parts do.
        let (hour, minute, second, fraction) = split_time(self.micros);
        (hour.abs(), minute.abs(), second.abs(), fraction.abs())
    }

    fn write_postgres(&self, out: &mut String) {
        let mut was_negative = false;
        let units = [
            (i64::from(self.months / 12), "year"),
            (i64::from(self.months % 12), "mon"),
            (i64::from(self.days), "day"),
        ];
        for (value, unit) in units {
            if value != 0 {
                if !out.is_empty() {
                    out.push(' ');
                }
                let sign = if was_negative && value > 0 { "+" } else { "" };
                let plural = if value == 1 { "" } else { "s" };
                write!(out, "{sign}{value} {unit}{plural}").expect(WRITING);
                was_negative = value < 0;
            }
        }
        if self.micros != 0 || out.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            if self.micros < 0 {
                out.push('-');
            } else if was_negative {
                out.push('+');
            }
            let (hour, minute, second, fraction) = self.clock();
            write!(out, "{hour:02}:{minute:02}:{second:02}").expect(WRITING);
            write_fraction(out, fraction);
        }
    }

    fn write_iso(&self, out: &mut String) {
        if *self == Interval::default() {
            return out.push_str("PT0S");
        }
        out.push('P');
        let date = [(self.months / 12, 'Y'), (self.months % 12, 'M'), (self.days, 'D')];
        for (value, unit) in date {
            if value != 0 {
                write!(out, "{value}{unit}").expect(WRITING);
            }
        }
        if self.micros == 0 {
            return;
        }
        out.push('T');
        let (hour, minute, second, fraction) = split_time(self.micros);
        for (value, unit) in [(hour, 'H'), (minute, 'M')] {
            if value != 0 {
                write!(out, "{value}{unit}").expect(WRITING);
            }
        }
        if second != 0 || fraction != 0 {
            if second < 0 || fraction < 0 {
                out.push('-');
            }
            write!(out, "{}", second.abs()).expect(WRITING);
            write_fraction(out, fraction);
            out.push('S');
        }
    }

    fn write_sql(&self, out: &mut String) {
        let has_negative = self.months < 0 || self.days < 0 || self.micros < 0;
        let has_positive = self.months > 0 || self.days > 0 || self.micros > 0;
        let has_months = self.months != 0;
        let has_rest = self.days != 0 || self.micros != 0;
        let (years, months) = ((self.months / 12).abs(), (self.months % 12).abs());
        let (hour, minute, second, fraction) = self.clock();
        if !has_negative && !has_positive {
            return out.push('0');
        }
        if (has_negative && has_positive) || (has_months && has_rest) {
            // Mixed: every part carries its sign.
            let sign = |negative: bool| if negative { '-' } else { '+' };
            write!(out, "{}{years}-{months}", sign(self.months < 0)).expect(WRITING);
            write!(out, " {}{}", sign(self.days < 0), self.days.unsigned_abs()).expect(WRITING);
            write!(out, " {}{hour}:{minute:02}:{second:02}", sign(self.micros < 0)).expect(WRITING);
            return write_fraction(out, fraction);
        }
        if has_negative {
            out.push('-');
        }
        if has_months {
            write!(out, "{years}-{months}").expect(WRITING);
            return;
        }
        if self.days != 0 {
            write!(out, "{} ", self.days.unsigned_abs()).expect(WRITING);
        }
        write!(out, "{hour}:{minute:02}:{second:02}").expect(WRITING);
        write_fraction(out, fraction);
    }

    fn write_verbose(&self, out: &mut String) {
        out.push('@');
        let (hour, minute, second, fraction) = split_time(self.micros);
        let parts = [
            (i64::from(self.months / 12), "year"),
            (i64::from(self.months % 12), "mon"),
            (i64::from(self.days), "day"),
            (hour, "hour"),
            (minute, "min"),
        ];
        let seconds_negative = second < 0 || fraction < 0;
        let first = parts.iter().map(|(value, _)| *value).find(|value| *value != 0);
        // The first field decides the sign of all: the text then ends in "ago".
        let ago = first.map_or(seconds_negative, |value| value < 0);
        for (value, unit) in parts {
            if value != 0 {
                let shown = if ago { -value } else { value };
                let plural = if shown == 1 { "" } else { "s" };
                write!(out, " {shown} {unit}{plural}").expect(WRITING);
            }
        }
        if second != 0 || fraction != 0 {
            out.push(' ');
            if seconds_negative != ago {
                out.push('-');
            }
            write!(out, "{}", second.abs()).expect(WRITING);
            write_fraction(out, fraction);
            out.push_str(if second.abs() == 1 && fraction == 0 { " sec" } else { " secs" });
        }
        if out.len() == 1 {
            out.push_str(" 0");
        }
        if ago {
            out.push_str(" ago");
        }
    }
}
