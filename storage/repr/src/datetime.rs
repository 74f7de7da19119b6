//! Dates, times and timestamps: the calendar, ranges and ISO output.
//!
//! Input is in `datetime::parse`, the other styles of output in `datetime::style`, fields and truncation in `datetime::fields`, arithmetic in
//! `datetime::arithmetic`, zones in `datetime::zone`. Days and microseconds count from 2000-01-01.
//! No clock here: whoever needs "now" passes it.

pub mod arithmetic;
pub mod fields;
pub mod parse;
pub mod style;
pub mod zone;

pub use style::DateStyle;
pub use zone::Zone;

use crate::ValueError;
use std::fmt::Write;

/// Microseconds in a second.
pub(crate) const SECOND_MICROS: i64 = 1_000_000;
/// Microseconds in a minute.
pub(crate) const MINUTE_MICROS: i64 = 60 * SECOND_MICROS;
/// Microseconds in an hour.
pub(crate) const HOUR_MICROS: i64 = 60 * MINUTE_MICROS;
/// Microseconds in a day of 24 hours.
pub const DAY_MICROS: i64 = 24 * HOUR_MICROS;
/// 2000-01-01 as a Julian day number.
pub(crate) const EPOCH_JULIAN_DAY: i64 = 2_451_545;
/// 1970-01-01 in days from 2000-01-01.
pub(crate) const UNIX_EPOCH_DAY: i64 = -10_957;

/// `infinity` as a date.
pub(crate) const DATE_INFINITY: i32 = i32::MAX;
/// `-infinity` as a date.
pub(crate) const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
/// `infinity` as a timestamp.
pub(crate) const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// `-infinity` as a timestamp.
pub(crate) const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;

/// The first date, 4714-11-24 BC.
pub const DATE_MIN: i64 = -EPOCH_JULIAN_DAY;
/// The day after the last date, 5874897-12-31.
pub const DATE_END: i64 = 2_147_483_494 - EPOCH_JULIAN_DAY;
/// The first timestamp, 4714-11-24 00:00:00 BC.
pub const TIMESTAMP_MIN: i64 = DATE_MIN * DAY_MICROS;
/// The moment after the last timestamp, 294277-01-01 00:00:00.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// A moment taken apart; the year counts 1 BC as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical year: 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// Microseconds since midnight.
    pub micros: i64,
}

impl Civil {
    /// Takes a finite timestamp apart.
    pub(crate) fn from_timestamp(micros: i64) -> Civil {
        let days = micros.div_euclid(DAY_MICROS);
        let (year, month, day) = civil_from_days(days);
        Civil { year, month, day, micros: micros.rem_euclid(DAY_MICROS) }
    }

    /// The timestamp; 22008 if it is out of range.
    pub fn to_timestamp(&self) -> Result<i64, ValueError> {
        let days = days_from_civil(self.year, self.month, self.day);
        let micros = i128::from(days) * i128::from(DAY_MICROS) + i128::from(self.micros);
        i64::try_from(micros).map_err(|_| timestamp_out_of_range()).and_then(check_timestamp)
    }

    /// Hour, minute, second, microsecond.
    pub fn clock(&self) -> (i64, i64, i64, i64) {
        split_time(self.micros)
    }
}

/// Hour, minute, second and microsecond of microseconds since midnight.
pub(crate) fn split_time(micros: i64) -> (i64, i64, i64, i64) {
    (micros / HOUR_MICROS, micros / MINUTE_MICROS % 60, micros / SECOND_MICROS % 60, micros % SECOND_MICROS)
}

/// Days from 2000-01-01 of a date in the proleptic Gregorian calendar.
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day is the last; eras are 400 years.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 730_425
}

/// Year, month and day of days from 2000-01-01.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 730_425;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Whether the year has a 29th of February.
pub(crate) fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
pub(crate) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day of the week, 0 for Sunday.
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 6).rem_euclid(7)
}

pub(crate) fn timestamp_out_of_range() -> ValueError {
    ValueError::new("22008", "timestamp out of range")
}

pub(crate) fn date_out_of_range() -> ValueError {
    ValueError::new("22008", "date out of range")
}

/// Refuses what is neither infinite nor in PostgreSQL's range.
pub fn check_timestamp(micros: i64) -> Result<i64, ValueError> {
    let infinite = micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEGATIVE_INFINITY;
    if infinite || (TIMESTAMP_MIN..TIMESTAMP_END).contains(&micros) {
        Ok(micros)
    } else {
        Err(timestamp_out_of_range())
    }
}

/// Refuses what is not a date of PostgreSQL's.
pub(crate) fn check_date(days: i64) -> Result<i32, ValueError> {
    if (DATE_MIN..DATE_END).contains(&days) { Ok(days as i32) } else { Err(date_out_of_range()) }
}

/// Whether a timestamp is one of the infinities.
pub fn is_infinite(micros: i64) -> bool {
    micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEGATIVE_INFINITY
}

/// Whether a date is one of the infinities.
pub fn is_infinite_date(days: i32) -> bool {
    days == DATE_INFINITY || days == DATE_NEGATIVE_INFINITY
}

fn infinity_text(positive: bool) -> &'static str {
    if positive { "infinity" } else { "-infinity" }
}

const WRITING: &str = "writing to a String does not fail";

/// `hh:mm:ss[.ffffff]` without trailing zeros.
pub(crate) fn write_time(out: &mut String, micros: i64) {
    let (hour, minute, second, fraction) = split_time(micros);
    push_two(out, hour);
    out.push(':');
    push_two(out, minute);
    out.push(':');
    push_two(out, second);
    write_fraction(out, fraction);
}

/// Appends a number with at least two digits, as `{:02}` does, many times as fast: results have many times in them.
fn push_two(out: &mut String, number: i64) {
    match u8::try_from(number) {
        Ok(number @ 0..100) => {
            out.push(char::from(b'0' + number / 10));
            out.push(char::from(b'0' + number % 10));
        }
        _ => write!(out, "{number:02}").expect(WRITING),
    }
}

/// `.ffffff` without trailing zeros; nothing for zero.
pub(crate) fn write_fraction(out: &mut String, fraction: i64) {
    if fraction != 0 {
        let (mut digits, mut rest) = ([b'0'; 6], fraction.unsigned_abs());
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let shown = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        out.push('.');
        digits[..shown].iter().for_each(|digit| out.push(char::from(*digit)));
    }
}

/// `+hh[:mm[:ss]]` of seconds east of UTC.
pub(crate) fn write_offset(out: &mut String, offset: i32) {
    let seconds = offset.unsigned_abs();
    out.push(if offset < 0 { '-' } else { '+' });
    push_two(out, i64::from(seconds / 3600));
    if !seconds.is_multiple_of(3600) {
        write!(out, ":{:02}", seconds / 60 % 60).expect(WRITING);
        if !seconds.is_multiple_of(60) {
            write!(out, ":{:02}", seconds % 60).expect(WRITING);
        }
    }
}

/// ISO date: `2024-02-29`, `0044-03-15 BC`, `infinity`.
pub fn format_date(days: i32) -> String {
    let mut out = String::with_capacity(10);
    DateStyle::default().write_date(&mut out, days);
    out
}

/// ISO timestamp: `2024-02-29 12:00:00.5`.
pub fn format_timestamp(micros: i64) -> String {
    let mut out = String::with_capacity(26);
    DateStyle::default().write_timestamp(&mut out, micros);
    out
}

/// ISO timestamp with the zone's offset: `2024-02-29 12:00:00+05:30`.
pub fn format_timestamptz(micros: i64, zone: &Zone) -> String {
    let mut out = String::with_capacity(32);
    DateStyle::default().write_timestamptz(&mut out, micros, zone);
    out
}

/// Rounds microseconds to the digits of a type modifier (-1 for none), half away from zero.
pub fn round_to_precision(micros: i64, modifier: i32) -> i64 {
    if !(0..6).contains(&modifier) || is_infinite(micros) {
        return micros;
    }
    let unit = 10i64.pow(6 - modifier as u32);
    let rounded = |value: i64| value.saturating_add(unit / 2) / unit * unit;
    if micros >= 0 { rounded(micros) } else { -rounded(micros.saturating_neg()) }
}
