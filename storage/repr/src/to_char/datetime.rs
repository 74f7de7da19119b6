//! `to_char` of timestamps and intervals.

use super::ordinal;
use crate::datetime::arithmetic::iso_week;
use crate::datetime::{
    Civil, DAY_MICROS, EPOCH_JULIAN_DAY, SECOND_MICROS, Zone, days_from_civil, is_infinite, split_time, weekday,
};
use crate::{Interval, ValueError};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Template patterns, longer before shorter where one begins another. Each also matches in lower case.
const PATTERNS: [&str; 58] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MI", "MM",
    "MONTH", "MON", "MS", "Month", "Mon", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ",
    "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y",
];

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DatetimePiece {
    /// Text to copy, and whether it stood in quotes.
    Literal(char, bool),
    /// A pattern, spelled as in the template.
    Pattern {
        /// The pattern in its template's case.
        spelling: String,
        /// FM before it.
        is_filled: bool,
        /// TH or th after it.
        ordinal: Option<bool>,
    },
}

/// A template's pieces. A thread keeps those of the last one: the next row mostly has the same.
pub(super) fn pieces(template: &str) -> Rc<[DatetimePiece]> {
    thread_local! {
        static LAST: RefCell<Option<(Box<str>, Rc<[DatetimePiece]>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, pieces)) if **known == *template => pieces.clone(),
        _ => {
            let pieces: Rc<[DatetimePiece]> = taken_apart(template).into();
            *last = Some((template.into(), pieces.clone()));
            pieces
        }
    })
}

fn lower_case(pattern: &str) -> impl Iterator<Item = u8> {
    pattern.bytes().map(|byte| byte.to_ascii_lowercase())
}

fn taken_apart(template: &str) -> Vec<DatetimePiece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let mut is_filled = false;
        let mut after = rest;
        // FM and TM stand before a pattern.
        while after.starts_with("FM") || after.starts_with("fm") || after.starts_with("TM") || after.starts_with("tm") {
            is_filled |= after.starts_with("FM") || after.starts_with("fm");
            after = &after[2..];
        }
        let found = PATTERNS.iter().find(|pattern| {
            after.starts_with(**pattern)
                || (pattern.as_bytes()[1..].iter().all(|b| !b.is_ascii_lowercase())
                    && after.get(..pattern.len()).is_some_and(|text| text.bytes().eq(lower_case(pattern))))
        });
        if let Some(pattern) = found {
            let spelling = after[..pattern.len()].to_owned();
            after = &after[pattern.len()..];
            let ordinal = if after.starts_with("TH") { Some(true) } else { after.starts_with("th").then_some(false) };
            if ordinal.is_some() {
                after = &after[2..];
            }
            pieces.push(DatetimePiece::Pattern { spelling, is_filled, ordinal });
            rest = after;
            continue;
        }
        if after.len() < rest.len() {
            rest = after;
            continue;
        }
        if first == '"' {
            let mut characters = rest[1..].char_indices();
            let mut end = rest.len();
            while let Some((place, character)) = characters.next() {
                match character {
                    '"' => {
                        end = place + 2;
                        break;
                    }
                    '\\' => pieces.extend(characters.next().map(|(_, escaped)| DatetimePiece::Literal(escaped, true))),
                    other => pieces.push(DatetimePiece::Literal(other, true)),
                }
            }
            rest = &rest[end..];
            continue;
        }
        if first == '\\' && rest[1..].starts_with('"') {
            pieces.push(DatetimePiece::Literal('"', false));
            rest = &rest[2..];
            continue;
        }
        pieces.push(DatetimePiece::Literal(first, false));
        rest = &rest[first.len_utf8()..];
    }
    pieces
}

/// What is to be written, whichever type it came from.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    clock: Clock,
    /// Days from 2000-01-01; none of intervals.
    days: Option<i64>,
    /// Seconds east of UTC and the zone's abbreviation.
    zone: Option<(i32, String)>,
}

/// A time of day, or a length of time.
struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    /// Microseconds.
    fraction: i64,
}

/// `to_char(timestamp, template)`; none is NULL, which infinities and empty templates give.
pub fn timestamp_to_char(micros: i64, template: &str) -> Result<Option<String>, ValueError> {
    moment_to_char(micros, None, template)
}

/// `to_char(timestamptz, template)` in the session's zone; none is NULL.
pub fn timestamptz_to_char(micros: i64, zone: &Zone, template: &str) -> Result<Option<String>, ValueError> {
    if is_infinite(micros) {
        return Ok(None);
    }
    let offset = zone.offset_at(micros);
    let local = micros + i64::from(offset) * SECOND_MICROS;
    moment_to_char(local, Some((offset, zone.abbreviation_at(micros))), template)
}

fn moment_to_char(local: i64, zone: Option<(i32, String)>, template: &str) -> Result<Option<String>, ValueError> {
    if is_infinite(local) {
        return Ok(None);
    }
    let civil = Civil::from_timestamp(local);
    let (hour, minute, second, fraction) = civil.clock();
    let (month, day) = (i64::from(civil.month), i64::from(civil.day));
    let days = Some(local.div_euclid(DAY_MICROS));
    let clock = Clock { hour, minute, second, fraction };
    write(&Moment { year: civil.year, month, day, clock, days, zone }, template)
}

/// `to_char(interval, template)`; none is NULL.
pub fn interval_to_char(interval: &Interval, template: &str) -> Result<Option<String>, ValueError> {
    let (hour, minute, second, fraction) = split_time(interval.micros);
    let (year, month) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let day = i64::from(interval.days);
    let clock = Clock { hour, minute, second, fraction };
    write(&Moment { year, month, day, clock, days: None, zone: None }, template)
}

fn write(moment: &Moment, template: &str) -> Result<Option<String>, ValueError> {
    if template.is_empty() {
        return Ok(None);
    }
    let mut out = String::new();
    for piece in &*pieces(template) {
        match piece {
            DatetimePiece::Literal(character, _) => out.push(*character),
            DatetimePiece::Pattern { spelling, is_filled, ordinal: ending } => {
                let text = moment.pattern(spelling, *is_filled)?;
                out.push_str(&text);
                if let (Some(is_upper), true) = (ending, text.ends_with(|c: char| c.is_ascii_digit())) {
                    let ending = ordinal(&text);
                    out.push_str(&if *is_upper { ending.to_uppercase() } else { ending.to_owned() });
                }
            }
        }
    }
    Ok(Some(out))
}

fn padded(value: i64, width: usize, is_filled: bool) -> String {
    let width = if is_filled { 0 } else { width + usize::from(value < 0) };
    format!("{value:0width$}")
}

/// The same where a minus takes the place of a digit.
fn padded_with_sign(value: i64, width: usize, is_filled: bool) -> String {
    padded(value, width - usize::from(value < 0), is_filled)
}

fn in_case(name: &str, spelling: &str) -> String {
    if spelling.bytes().all(|byte| !byte.is_ascii_lowercase()) {
        name.to_uppercase()
    } else if spelling.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.to_lowercase()
    } else {
        name.to_owned()
    }
}

/// How one pattern is written.
#[derive(Clone, Copy)]
struct WrittenPattern<'s> {
    spelling: &'s str,
    is_filled: bool,
}

impl WrittenPattern<'_> {
    fn number(self, value: i64, width: usize) -> Result<String, ValueError> {
        Ok(padded(value, width, self.is_filled))
    }

    fn with_sign(self, value: i64, width: usize) -> Result<String, ValueError> {
        Ok(padded_with_sign(value, width, self.is_filled))
    }

    fn name(self, text: &str) -> String {
        let text = in_case(text, self.spelling);
        if self.is_filled { text } else { format!("{text:<9}") }
    }
}

impl Moment {
    /// The calendar day, which spans of time do not have.
    fn calendar(&self) -> Result<i64, ValueError> {
        self.days.ok_or_else(|| ValueError {
            hint: Some("Intervals are not tied to specific calendar dates.".to_owned()),
            ..ValueError::new("22007", "invalid format specification for an interval value")
        })
    }

    fn shown_year(&self, year: i64) -> i64 {
        if self.days.is_some() && year <= 0 { 1 - year } else { year }
    }

    fn pattern(&self, spelling: &str, is_filled: bool) -> Result<String, ValueError> {
        let field = WrittenPattern { spelling, is_filled };
        match spelling.to_ascii_uppercase().as_str() {
            "A.M." | "P.M." => Ok(in_case(if self.clock.hour % 24 >= 12 { "P.M." } else { "A.M." }, field.spelling)),
            "AM" | "PM" => Ok(in_case(if self.clock.hour % 24 >= 12 { "PM" } else { "AM" }, field.spelling)),
            "HH" | "HH12" => field.number(if self.clock.hour % 12 == 0 { 12 } else { self.clock.hour % 12 }, 2),
            "HH24" => field.number(self.clock.hour, 2),
            "MI" => field.number(self.clock.minute, 2),
            "SS" => field.number(self.clock.second, 2),
            "MS" => field.with_sign(self.clock.fraction / 1000, 3),
            "US" => field.with_sign(self.clock.fraction, 6),
            "FF1" => field.number(self.clock.fraction / 100_000, 1),
            "FF2" => field.with_sign(self.clock.fraction / 10_000, 2),
            "FF3" => field.with_sign(self.clock.fraction / 1000, 3),
            "FF4" => field.with_sign(self.clock.fraction / 100, 4),
            "FF5" => field.with_sign(self.clock.fraction / 10, 5),
            "FF6" => field.with_sign(self.clock.fraction, 6),
            "SSSS" | "SSSSS" => Ok((self.clock.hour * 3600 + self.clock.minute * 60 + self.clock.second).to_string()),
            "TZ" => {
                self.calendar()?;
                Ok(self.zone.as_ref().map_or(String::new(), |(_, name)| in_case(name, field.spelling)))
            }
            "TZH" => {
                let offset = self.zone.as_ref().map_or(0, |(offset, _)| *offset);
                Ok(format!("{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3600))
            }
            "TZM" => Ok(format!("{:02}", self.zone.as_ref().map_or(0, |(offset, _)| offset.abs() / 60 % 60))),
            "OF" => {
                let offset = self.zone.as_ref().map_or(0, |(offset, _)| *offset);
                let sign = if offset < 0 { '-' } else { '+' };
                let minutes = offset.abs() / 60 % 60;
                let tail = if minutes == 0 { String::new() } else { format!(":{minutes:02}") };
                Ok(format!("{sign}{}{tail}", padded(i64::from(offset.abs() / 3600), 2, field.is_filled)))
            }
            other => self.day_pattern(other, field),
        }
    }

    /// Of months, weeks and days.
    fn day_pattern(&self, pattern: &str, field: WrittenPattern<'_>) -> Result<String, ValueError> {
        match pattern {
            "RM" if self.days.is_none() && self.month == 0 && self.year == 0 => Ok(String::new()),
            "MONTH" => self.calendar().map(|_| field.name(MONTHS[(self.month - 1) as usize])),
            "MON" => self.calendar().map(|_| in_case(&MONTHS[(self.month - 1) as usize][..3], field.spelling)),
            "MM" => field.number(self.month, 2),
            "RM" => {
                // Of an interval, whole years end with December, and what is negative counts back to it.
                let place = match self.month {
                    0 if self.year < 0 => 0,
                    month if month < 0 => month + 12,
                    month => (month - 1).rem_euclid(12),
                };
                let text = in_case(ROMAN_MONTHS[place as usize], field.spelling);
                Ok(if field.is_filled { text } else { format!("{text:<4}") })
            }
            "DAY" => self.calendar().map(|days| field.name(DAYS[weekday(days) as usize])),
            "DY" => self.calendar().map(|days| in_case(&DAYS[weekday(days) as usize][..3], field.spelling)),
            "DDD" => match self.days {
                Some(days) => field.number(days - days_from_civil(self.year, 1, 1) + 1, 3),
                None => field.with_sign(self.year * 360 + self.month * 30 + self.day, 3),
            },
            "DD" => field.with_sign(self.day, 2),
            "D" => self.calendar().map(|days| (weekday(days) + 1).to_string()),
            "ID" => self.calendar().map(|days| ((weekday(days) + 6) % 7 + 1).to_string()),
            "IDDD" => {
                let days = self.calendar()?;
                let (iso_year, _) = iso_week(days);
                field.number(days - crate::datetime::arithmetic::iso_week_start(iso_year, 1) + 1, 3)
            }
            "WW" => {
                let days = self.calendar()?;
                field.number((days - days_from_civil(self.year, 1, 1)) / 7 + 1, 2)
            }
            "IW" => self.calendar().and_then(|days| field.number(iso_week(days).1, 2)),
            "W" => Ok(((self.day - 1) / 7 + 1).to_string()),
            "Q" => Ok(if self.month == 0 { String::new() } else { ((self.month - 1) / 3 + 1).to_string() }),
            other => self.year_pattern(other, field),
        }
    }

    /// Of years and eras.
    fn year_pattern(&self, pattern: &str, field: WrittenPattern<'_>) -> Result<String, ValueError> {
        let year = self.shown_year(self.year);
        match pattern {
            "A.D." | "B.C." => {
                self.calendar()?;
                Ok(in_case(if self.year <= 0 { "B.C." } else { "A.D." }, field.spelling))
            }
            "AD" | "BC" => {
                self.calendar()?;
                Ok(in_case(if self.year <= 0 { "BC" } else { "AD" }, field.spelling))
            }
            "CC" => {
                let century = match (self.days, self.year) {
                    (None, year) => year / 100,
                    (Some(_), year) if year > 0 => (year - 1) / 100 + 1,
                    (Some(_), year) => year / 100 - 1,
                };
                field.number(century, 2)
            }
            "J" => self.calendar().map(|days| (days + EPOCH_JULIAN_DAY).to_string()),
            "Y,YYY" => Ok(format!("{},{:03}", year / 1000, year % 1000)),
            "YYYY" => field.number(year, 4),
            "YYY" => field.number(year % 1000, 3),
            "YY" => field.number(year % 100, 2),
            "Y" => field.number(year % 10, 1),
            iso @ ("IYYY" | "IYY" | "IY" | "I") => {
                let iso_year = self.shown_year(iso_week(self.calendar()?).0);
                field.number(iso_year % 10i64.pow(if iso.len() == 4 { 9 } else { iso.len() as u32 }), iso.len())
            }
            // FX only changes reading.
            _ => Ok(String::new()),
        }
    }
}
