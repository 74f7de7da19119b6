//! `to_char` of timestamps and intervals.

use super::{LastTemplate, ordinal, quoted, taken_apart_once};
use crate::datetime::arithmetic::{iso_week, iso_week_start};
use crate::datetime::{
    Civil, DAY_MICROS, EPOCH_JULIAN_DAY, SECOND_MICROS, Zone, days_from_civil, is_infinite, split_time, weekday,
};
use crate::{Interval, ValueError};
use std::cell::RefCell;
use std::convert::Infallible;
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

const PREFIXES: [&str; 4] = ["FM", "fm", "TM", "tm"];

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
        /// TM before it: names in the locale's words, which are the same, but without blanks behind them.
        is_translated: bool,
        /// TH or th after it.
        ordinal: Option<bool>,
    },
}

/// A template's pieces.
pub(super) fn pieces(template: &str) -> Rc<[DatetimePiece]> {
    thread_local! {
        static LAST: LastTemplate<Rc<[DatetimePiece]>> = const { RefCell::new(None) };
    }
    let Ok(pieces) = taken_apart_once(&LAST, template, |template| Ok::<_, Infallible>(taken_apart(template).into()));
    pieces
}

fn lower_case(pattern: &str) -> impl Iterator<Item = u8> {
    pattern.bytes().map(|byte| byte.to_ascii_lowercase())
}

fn taken_apart(template: &str) -> Vec<DatetimePiece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        // One prefix at most; in front of what is no pattern it says nothing.
        let prefix = PREFIXES.into_iter().find(|prefix| rest.starts_with(prefix)).unwrap_or_default();
        rest = &rest[prefix.len()..];
        let Some(first) = rest.chars().next() else { break };
        if let Some((pattern, after)) = pattern_at(rest, prefix) {
            pieces.push(pattern);
            rest = after;
        } else if first == '"' {
            rest = quoted(&rest[1..], |character| pieces.push(DatetimePiece::Literal(character, true)));
        } else {
            let escaped = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
            let literal = escaped.map_or(first, |_| '"');
            pieces.push(DatetimePiece::Literal(literal, false));
            rest = &escaped.unwrap_or(rest)[literal.len_utf8()..];
        }
    }
    pieces
}

/// The pattern at the front, with its suffix, and what is behind it.
fn pattern_at<'t>(text: &'t str, prefix: &str) -> Option<(DatetimePiece, &'t str)> {
    let pattern = PATTERNS.iter().find(|pattern| {
        text.starts_with(**pattern)
            || (pattern.as_bytes()[1..].iter().all(|b| !b.is_ascii_lowercase())
                && text.get(..pattern.len()).is_some_and(|text| text.bytes().eq(lower_case(pattern))))
    })?;
    let (spelling, mut after) = text.split_at(pattern.len());
    let ordinal = if after.starts_with("TH") { Some(true) } else { after.starts_with("th").then_some(false) };
    // SP, a spelled number, is read and not done.
    if ordinal.is_some() || after.starts_with("SP") {
        after = &after[2..];
    }
    let is_filled = prefix.eq_ignore_ascii_case("FM");
    let is_translated = prefix.eq_ignore_ascii_case("TM");
    Some((DatetimePiece::Pattern { spelling: spelling.to_owned(), is_filled, is_translated, ordinal }, after))
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
            DatetimePiece::Pattern { spelling, is_filled, is_translated, ordinal: ending } => {
                let field =
                    WrittenPattern { spelling, is_filled: *is_filled, is_padded: !*is_filled && !*is_translated };
                let text = moment.pattern(field)?;
                out.push_str(&text);
                let is_offset = matches!(spelling.to_ascii_uppercase().as_str(), "OF" | "TZH" | "TZM");
                let has_ending = !is_offset && text.ends_with(|c: char| c.is_ascii_digit());
                if let (Some(is_upper), true) = (ending, has_ending) {
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
    padded(value, width.saturating_sub(usize::from(value < 0)), is_filled)
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
    /// A name is followed by blanks up to the length of the longest.
    is_padded: bool,
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
        if self.is_padded { format!("{text:<9}") } else { text }
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

    /// An interval's length in days of years and months of 30 days.
    fn span_days(&self) -> i64 {
        self.year * 360 + self.month * 30 + self.day
    }

    /// The ISO year, week and day of the year. Of an interval, those of the date that its fields would be.
    fn iso(&self) -> (i64, i64, i64) {
        let Some(days) = self.days else { return self.iso_of_span() };
        let (year, week) = iso_week(days);
        (year, week, days - iso_week_start(year, 1) + 1)
    }

    fn iso_of_span(&self) -> (i64, i64, i64) {
        let day = julian_day(self.year, self.month, self.day);
        let start = |year: i64| {
            let fourth = julian_day(year, 1, 4);
            fourth - fourth.rem_euclid(7)
        };
        let week_from = |start: i64| (day - start) / 7 + 1;
        let year = if day < start(self.year) { self.year - 1 } else { self.year };
        let (year, week) = match week_from(start(year)) {
            52.. if day >= start(year + 1) => (year + 1, week_from(start(year + 1))),
            week => (year, week),
        };
        (year, week, day - start(year) + 1)
    }

    fn shown_year(&self, year: i64) -> i64 {
        if self.days.is_some() && year <= 0 { 1 - year } else { year }
    }

    /// That many digits of a second's fraction, with FM as well.
    fn fraction(&self, unit: i64, digits: usize) -> String {
        padded_with_sign(self.clock.fraction / unit, digits, false)
    }

    fn pattern(&self, field: WrittenPattern<'_>) -> Result<String, ValueError> {
        match field.spelling.to_ascii_uppercase().as_str() {
            "A.M." | "P.M." => Ok(in_case(if self.clock.hour % 24 >= 12 { "P.M." } else { "A.M." }, field.spelling)),
            "AM" | "PM" => Ok(in_case(if self.clock.hour % 24 >= 12 { "PM" } else { "AM" }, field.spelling)),
            "HH" | "HH12" => match self.clock.hour % 12 {
                // Of a negative span, 12 has the width of a negative number.
                0 => field.number(12, 2 + usize::from(self.clock.hour < 0)),
                hour => field.number(hour, 2),
            },
            "HH24" => field.number(self.clock.hour, 2),
            "MI" => field.number(self.clock.minute, 2),
            "SS" => field.number(self.clock.second, 2),
            "FF1" => Ok(self.fraction(100_000, 1)),
            "FF2" => Ok(self.fraction(10_000, 2)),
            "FF3" | "MS" => Ok(self.fraction(1000, 3)),
            "FF4" => Ok(self.fraction(100, 4)),
            "FF5" => Ok(self.fraction(10, 5)),
            "FF6" | "US" => Ok(self.fraction(1, 6)),
            "SSSS" | "SSSSS" => Ok((self.clock.hour * 3600 + self.clock.minute * 60 + self.clock.second).to_string()),
            "TZ" => {
                self.calendar()?;
                Ok(self.zone.as_ref().map_or(String::new(), |(_, name)| in_case(name, field.spelling)))
            }
            "TZH" => {
                self.calendar()?;
                let offset = self.zone.as_ref().map_or(0, |(offset, _)| *offset);
                Ok(format!("{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3600))
            }
            "TZM" => {
                self.calendar()?;
                Ok(format!("{:02}", self.zone.as_ref().map_or(0, |(offset, _)| offset.abs() / 60 % 60)))
            }
            "OF" => {
                self.calendar()?;
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
                None => field.with_sign(self.span_days(), 3),
            },
            "DD" => field.with_sign(self.day, 2),
            "D" => self.calendar().map(|days| (weekday(days) + 1).to_string()),
            "ID" => self.calendar().map(|days| ((weekday(days) + 6) % 7 + 1).to_string()),
            "IDDD" => field.with_sign(self.iso().2, 3),
            "WW" => {
                let before = self.days.map_or(self.span_days() - 1, |days| days - days_from_civil(self.year, 1, 1));
                field.with_sign(before / 7 + 1, 2)
            }
            "IW" => field.with_sign(self.iso().1, 2),
            "W" => Ok(((self.day - 1) / 7 + 1).to_string()),
            "Q" => Ok(if self.month == 0 { String::new() } else { ((self.month - 1) / 3 + 1).to_string() }),
            other => self.year_pattern(other, field),
        }
    }

    /// A year's last digits, which have one more place where the year is negative; a single one does not.
    fn year_digits(&self, value: i64, width: usize, field: WrittenPattern<'_>) -> String {
        let width = if field.is_filled { 0 } else { width + usize::from(width > 1 && self.shown_year(self.year) < 0) };
        format!("{value:0width$}")
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
            "J" => {
                let of_span = || julian_day(self.year, self.month, self.day);
                Ok(self.days.map_or_else(of_span, |days| days + EPOCH_JULIAN_DAY).to_string())
            }
            "Y,YYY" => Ok(format!("{},{:03}", year / 1000, year % 1000)),
            "YYYY" => Ok(self.year_digits(year, 4, field)),
            "YYY" => Ok(self.year_digits(year % 1000, 3, field)),
            "YY" => Ok(self.year_digits(year % 100, 2, field)),
            "Y" => Ok(self.year_digits(year % 10, 1, field)),
            iso @ ("IYYY" | "IYY" | "IY" | "I") => {
                let iso_year = self.shown_year(self.iso().0);
                let shown = if iso == "IYYY" { iso_year } else { iso_year % 10i64.pow(iso.len() as u32) };
                Ok(self.year_digits(shown, iso.len(), field))
            }
            // FX only changes reading.
            _ => Ok(String::new()),
        }
    }
}

/// The Julian day of a year, a month and a day, also where there is no such month or day: years begin in March, and months
/// have 30.6 days.
fn julian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    year * 365 + year / 4 - year / 100 + year / 400 + 7834 * month / 256 + day - 32167
}
