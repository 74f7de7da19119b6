//! The DateStyle setting: how dates and timestamps are written, and in which order the fields of an ambiguous date are read.
//!
//! ```text
//!            date         timestamp with time zone
//! ISO        2024-02-29   2024-02-29 12:00:00+01
//! SQL        02/29/2024   02/29/2024 12:00:00 CET
//! Postgres   02-29-2024   Thu Feb 29 12:00:00 2024 CET
//! German     29.02.2024   29.02.2024 12:00:00 CET
//! ```
//! SQL and Postgres put the day before the month when the order is DMY.

use super::parse::DateOrder;
use super::{
    Civil, SECOND_MICROS, WRITING, Zone, civil_from_days, infinity_text, is_infinite, is_infinite_date, push_two,
    weekday, write_offset, write_time,
};
use std::fmt::{self, Write};

/// How dates and timestamps are written: DateStyle's first part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateOutput {
    /// ISO 8601.
    #[default]
    Iso,
    /// With slashes.
    Sql,
    /// As `date` prints it.
    Postgres,
    /// With dots, the day first.
    German,
}

/// DateStyle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DateStyle {
    /// How dates are written.
    pub output: DateOutput,
    /// How they are read, and whether the day is written before the month.
    pub order: DateOrder,
}

/// Why a text is no DateStyle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DateStyleError {
    /// It contains this word.
    Word(String),
    /// It asks for two styles, or for two orders.
    Conflict,
}

impl fmt::Display for DateStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = match self.output {
            DateOutput::Iso => "ISO",
            DateOutput::Sql => "SQL",
            DateOutput::Postgres => "Postgres",
            DateOutput::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        write!(f, "{output}, {order}")
    }
}

impl DateStyle {
    /// This style changed by the words of a list, such as `SQL, DMY`; what they do not mention stays. DEFAULT is `reset`.
    pub fn changed(self, words: &[String], reset: DateStyle) -> Result<DateStyle, DateStyleError> {
        let (mut style, mut output, mut order, mut conflicts) = (self, None, None, false);
        let begins =
            |word: &str, with: &str| word.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
        for word in words {
            let (mut says_output, mut says_order) = (None, None);
            if word.eq_ignore_ascii_case("iso") {
                says_output = Some(DateOutput::Iso);
            } else if word.eq_ignore_ascii_case("sql") {
                says_output = Some(DateOutput::Sql);
            } else if begins(word, "postgres") {
                says_output = Some(DateOutput::Postgres);
            } else if word.eq_ignore_ascii_case("german") {
                says_output = Some(DateOutput::German);
                // It brings its order, unless another is said.
                if order.is_none() {
                    style.order = DateOrder::Dmy;
                }
            } else if word.eq_ignore_ascii_case("ymd") {
                says_order = Some(DateOrder::Ymd);
            } else if word.eq_ignore_ascii_case("dmy") || begins(word, "euro") {
                says_order = Some(DateOrder::Dmy);
            } else if word.eq_ignore_ascii_case("mdy") || word.eq_ignore_ascii_case("us") || begins(word, "noneuro") {
                says_order = Some(DateOrder::Mdy);
            } else if word.eq_ignore_ascii_case("default") {
                style.output = output.unwrap_or(reset.output);
                style.order = order.unwrap_or(reset.order);
            } else {
                return Err(DateStyleError::Word(word.clone()));
            }
            conflicts |= says_output.is_some_and(|said| *output.get_or_insert(said) != said);
            conflicts |= says_order.is_some_and(|said| *order.get_or_insert(said) != said);
            style.output = says_output.unwrap_or(style.output);
            style.order = says_order.unwrap_or(style.order);
        }
        if conflicts { Err(DateStyleError::Conflict) } else { Ok(style) }
    }

    /// What `Display` gave; none for anything else.
    pub fn of_canonical(text: &str) -> Option<DateStyle> {
        let (output, order) = text.split_once(", ")?;
        let output = match output {
            "ISO" => DateOutput::Iso,
            "SQL" => DateOutput::Sql,
            "Postgres" => DateOutput::Postgres,
            "German" => DateOutput::German,
            _ => return None,
        };
        let order = match order {
            "MDY" => DateOrder::Mdy,
            "DMY" => DateOrder::Dmy,
            "YMD" => DateOrder::Ymd,
            _ => return None,
        };
        Some(DateStyle { output, order })
    }

    /// Appends a date.
    pub(crate) fn write_date(self, out: &mut String, days: i32) {
        if is_infinite_date(days) {
            return out.push_str(infinity_text(days > 0));
        }
        let (year, month, day) = civil_from_days(i64::from(days));
        self.write_ymd(out, (year, month, day));
        write_era(out, year);
    }

    /// Appends a timestamp.
    pub(crate) fn write_timestamp(self, out: &mut String, micros: i64) {
        if is_infinite(micros) {
            return out.push_str(infinity_text(micros > 0));
        }
        let civil = Civil::from_timestamp(micros);
        self.write_local(out, &civil, micros);
        write_era(out, civil.year);
    }

    /// Appends a timestamp with time zone: ISO has its offset, the others the zone's abbreviation.
    pub(crate) fn write_timestamptz(self, out: &mut String, micros: i64, zone: &Zone) {
        if is_infinite(micros) {
            return out.push_str(infinity_text(micros > 0));
        }
        let offset = zone.offset_at(micros);
        let local = micros.saturating_add(i64::from(offset) * SECOND_MICROS);
        let civil = Civil::from_timestamp(local);
        self.write_local(out, &civil, local);
        match self.output {
            DateOutput::Iso => write_offset(out, offset),
            DateOutput::Sql | DateOutput::Postgres | DateOutput::German => {
                let abbreviation = zone.abbreviation_at(micros);
                out.push(' ');
                out.extend(abbreviation.chars().take(ABBREVIATION_LENGTH_MAX));
            }
        }
        write_era(out, civil.year);
    }

    fn write_local(self, out: &mut String, civil: &Civil, local: i64) {
        let date = (civil.year, civil.month, civil.day);
        if self.output != DateOutput::Postgres {
            self.write_ymd(out, date);
            out.push(' ');
            return write_time(out, civil.micros);
        }
        let weekday = DAYS[weekday(local.div_euclid(super::DAY_MICROS)) as usize];
        let month = MONTHS[civil.month as usize - 1];
        let day = civil.day;
        match self.order {
            DateOrder::Dmy => write!(out, "{weekday} {day:02} {month} ").expect(WRITING),
            DateOrder::Mdy | DateOrder::Ymd => write!(out, "{weekday} {month} {day:02} ").expect(WRITING),
        }
        write_time(out, civil.micros);
        write!(out, " {:04}", shown_year(civil.year)).expect(WRITING);
    }

    fn write_ymd(self, out: &mut String, (year, month, day): (i64, u32, u32)) {
        let year = shown_year(year);
        if self.output == DateOutput::Iso && (0..10_000).contains(&year) {
            push_two(out, year / 100);
            push_two(out, year % 100);
            out.push('-');
            push_two(out, i64::from(month));
            out.push('-');
            return push_two(out, i64::from(day));
        }
        let day_first = self.order == DateOrder::Dmy;
        match self.output {
            DateOutput::Iso => write!(out, "{year:04}-{month:02}-{day:02}"),
            DateOutput::Sql if day_first => write!(out, "{day:02}/{month:02}/{year:04}"),
            DateOutput::Sql => write!(out, "{month:02}/{day:02}/{year:04}"),
            DateOutput::German => write!(out, "{day:02}.{month:02}.{year:04}"),
            DateOutput::Postgres if day_first => write!(out, "{day:02}-{month:02}-{year:04}"),
            DateOutput::Postgres => write!(out, "{month:02}-{day:02}-{year:04}"),
        }
        .expect(WRITING);
    }
}

/// What PostgreSQL shows of a zone's abbreviation.
const ABBREVIATION_LENGTH_MAX: usize = 10;
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Years before Christ count from 1.
fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

fn write_era(out: &mut String, year: i64) {
    if year <= 0 {
        out.push_str(" BC");
    }
}

#[cfg(test)]
mod tests {
    use super::{DateOutput, DateStyle, DateStyleError};
    use crate::datetime::parse::DateOrder;
    use crate::datetime::{Zone, days_from_civil};

    fn words(text: &str) -> Vec<String> {
        text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn words_change_what_they_mention() {
        let mut style = DateStyle::default();
        let reset = DateStyle { output: DateOutput::Sql, order: DateOrder::Ymd };
        for (text, expected) in [
            ("Postgresql,european", "Postgres, DMY"),
            ("iso", "ISO, DMY"),
            ("NONEUROPEAN", "ISO, MDY"),
            ("german", "German, DMY"),
            ("us,german", "German, MDY"),
            ("german,ymd", "German, YMD"),
            ("default", "SQL, YMD"),
            ("iso,default", "ISO, YMD"),
            ("dmy,dmy", "ISO, DMY"),
            ("", "ISO, DMY"),
        ] {
            style = style.changed(&words(text), reset).expect(text);
            assert_eq!(style.to_string(), expected, "{text}");
            assert_eq!(DateStyle::of_canonical(expected), Some(style));
        }
        assert_eq!(style.changed(&words("iso,x"), reset), Err(DateStyleError::Word("x".into())));
        assert_eq!(style.changed(&words("iso,sql"), reset), Err(DateStyleError::Conflict));
        assert_eq!(style.changed(&words("mdy,ymd"), reset), Err(DateStyleError::Conflict));
        assert_eq!(DateStyle::of_canonical("iso, mdy"), None);
    }

    #[test]
    fn every_style_is_written() {
        let zone = Zone::parse("Europe/Rome").expect("a zone");
        let days = days_from_civil(2024, 2, 29) as i32;
        let micros = i64::from(days) * super::super::DAY_MICROS + 500_000;
        for (style, date, timestamp, timestamptz) in [
            ("ISO, DMY", "2024-02-29", "2024-02-29 00:00:00.5", "2024-02-29 01:00:00.5+01"),
            ("SQL, MDY", "02/29/2024", "02/29/2024 00:00:00.5", "02/29/2024 01:00:00.5 CET"),
            ("SQL, DMY", "29/02/2024", "29/02/2024 00:00:00.5", "29/02/2024 01:00:00.5 CET"),
            ("Postgres, YMD", "02-29-2024", "Thu Feb 29 00:00:00.5 2024", "Thu Feb 29 01:00:00.5 2024 CET"),
            ("Postgres, DMY", "29-02-2024", "Thu 29 Feb 00:00:00.5 2024", "Thu 29 Feb 01:00:00.5 2024 CET"),
            ("German, MDY", "29.02.2024", "29.02.2024 00:00:00.5", "29.02.2024 01:00:00.5 CET"),
        ] {
            let style = DateStyle::of_canonical(style).expect(style);
            let mut shown = [String::new(), String::new(), String::new()];
            style.write_date(&mut shown[0], days);
            style.write_timestamp(&mut shown[1], micros);
            style.write_timestamptz(&mut shown[2], micros, &zone);
            assert_eq!(shown, [date, timestamp, timestamptz], "{style}");
        }
        let mut shown = String::new();
        DateStyle { output: DateOutput::Postgres, order: DateOrder::Mdy }
            .write_timestamp(&mut shown, days_from_civil(-43, 3, 15) * super::super::DAY_MICROS);
        assert_eq!(shown, "Fri Mar 15 00:00:00 0044 BC");
    }
}
