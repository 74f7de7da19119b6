//! Sums and differences of dates, timestamps and intervals, and values made of fields.
//!
//! Months are added first (the day clamped to the month's end), then days, then microseconds; with a zone, the
//! first two in local time. Infinities stay what they are.

use super::{
    Civil, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS, Zone, check_date, check_timestamp, civil_from_days,
    date_out_of_range, days_from_civil, days_in_month, is_infinite, is_infinite_date, timestamp_out_of_range,
};
use crate::{Interval, ValueError};

/// Adds whole months and days to a local timestamp.
fn add_months_and_days(micros: i64, interval: &Interval) -> Result<i64, ValueError> {
    let mut civil = Civil::from_timestamp(micros);
    if interval.months != 0 {
        let months = civil.year * 12 + i64::from(civil.month) - 1 + i64::from(interval.months);
        civil.year = months.div_euclid(12);
        civil.month = months.rem_euclid(12) as u32 + 1;
        civil.day = civil.day.min(days_in_month(civil.year, civil.month));
    }
    let shifted = i128::from(days_from_civil(civil.year, civil.month, civil.day)) + i128::from(interval.days);
    let sum = shifted * i128::from(DAY_MICROS) + i128::from(civil.micros);
    i64::try_from(sum).map_err(|_| timestamp_out_of_range()).and_then(check_timestamp)
}

fn add_micros(micros: i64, more: i64) -> Result<i64, ValueError> {
    micros.checked_add(more).ok_or_else(timestamp_out_of_range).and_then(check_timestamp)
}

/// `timestamp + interval`
pub fn timestamp_add(micros: i64, interval: &Interval) -> Result<i64, ValueError> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    add_micros(add_months_and_days(micros, interval)?, interval.micros)
}

/// `timestamptz + interval`, months and days in the zone's local time.
pub fn timestamptz_add(micros: i64, interval: &Interval, zone: &Zone) -> Result<i64, ValueError> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let mut moment = micros;
    // One after the other, as PostgreSQL does: each step settles in local time.
    if interval.months != 0 {
        let months = Interval { months: interval.months, ..Interval::default() };
        moment = zone.to_utc(add_months_and_days(zone.to_local(moment)?, &months)?)?;
    }
    if interval.days != 0 {
        let days = Interval { days: interval.days, ..Interval::default() };
        moment = zone.to_utc(add_months_and_days(zone.to_local(moment)?, &days)?)?;
    }
    add_micros(moment, interval.micros)
}

/// `timestamp - timestamp` (and `timestamptz`): whole days and the rest.
pub fn timestamp_sub(a: i64, b: i64) -> Result<Interval, ValueError> {
    if is_infinite(a) || is_infinite(b) {
        return Err(ValueError::new("22008", "cannot subtract infinite timestamps"));
    }
    let micros = a.checked_sub(b).ok_or_else(|| ValueError::new("22008", "interval out of range"))?;
    Interval { months: 0, days: 0, micros }.justify_hours()
}

/// `date + integer`
pub fn date_add(days: i32, more: i64) -> Result<i32, ValueError> {
    if is_infinite_date(days) {
        return Ok(days);
    }
    i64::from(days).checked_add(more).ok_or_else(date_out_of_range).and_then(check_date)
}

/// `date - date`
pub fn date_sub(a: i32, b: i32) -> Result<i32, ValueError> {
    if is_infinite_date(a) || is_infinite_date(b) {
        return Err(ValueError::new("22008", "cannot subtract infinite dates"));
    }
    Ok(a - b)
}

/// Midnight of a date: the cast to timestamp.
pub fn date_to_timestamp(days: i32) -> Result<i64, ValueError> {
    match days {
        super::DATE_INFINITY => Ok(super::TIMESTAMP_INFINITY),
        super::DATE_NEGATIVE_INFINITY => Ok(super::TIMESTAMP_NEGATIVE_INFINITY),
        finite => i64::from(finite)
            .checked_mul(DAY_MICROS)
            .and_then(|micros| check_timestamp(micros).ok())
            .ok_or_else(|| ValueError::new("22008", "date out of range for timestamp")),
    }
}

/// The date of a timestamp: the cast.
pub fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        super::TIMESTAMP_INFINITY => super::DATE_INFINITY,
        super::TIMESTAMP_NEGATIVE_INFINITY => super::DATE_NEGATIVE_INFINITY,
        finite => finite.div_euclid(DAY_MICROS) as i32,
    }
}

/// `time + interval`: around the clock.
pub fn time_add(micros: i64, interval: &Interval) -> i64 {
    (micros + interval.micros % DAY_MICROS).rem_euclid(DAY_MICROS)
}

/// `time - interval`
pub fn time_sub(micros: i64, interval: &Interval) -> i64 {
    (micros - interval.micros % DAY_MICROS).rem_euclid(DAY_MICROS)
}

/// `time - time`
pub fn time_difference(a: i64, b: i64) -> Interval {
    Interval { months: 0, days: 0, micros: a - b }
}

/// `age(a, b)` of local timestamps: years, months and days as a person counts them.
pub fn age(a: i64, b: i64) -> Result<Interval, ValueError> {
    if is_infinite(a) || is_infinite(b) {
        return Err(ValueError::new("22008", "cannot subtract infinite timestamps"));
    }
    if a < b {
        return age(b, a)?.negate();
    }
    let (later, earlier) = (Civil::from_timestamp(a), Civil::from_timestamp(b));
    let mut months = (later.year - earlier.year) * 12 + i64::from(later.month) - i64::from(earlier.month);
    let mut days = i64::from(later.day) - i64::from(earlier.day);
    let mut micros = later.micros - earlier.micros;
    if micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    }
    if days < 0 {
        // Borrowed from the earlier date's month.
        days += i64::from(days_in_month(earlier.year, earlier.month));
        months -= 1;
    }
    let small = |value: i64| i32::try_from(value).map_err(|_| ValueError::new("22008", "interval out of range"));
    Ok(Interval { months: small(months)?, days: small(days)?, micros })
}

/// `make_date`; a negative year is BC.
pub fn make_date(year: i32, month: i32, day: i32) -> Result<i32, ValueError> {
    let invalid = || {
        let shown = format!("{year}-{month:02}-{day:02}");
        ValueError::new("22008", format!("date field value out of range: {shown}"))
    };
    let astronomical = if year < 0 { i64::from(year) + 1 } else { i64::from(year) };
    if year == 0 || !(1..=12).contains(&month) || day < 1 || day > days_in_month(astronomical, month as u32) as i32 {
        return Err(invalid());
    }
    let days = days_from_civil(astronomical, month as u32, day as u32);
    check_date(days).map_err(|_| ValueError::new("22008", format!("date out of range: {year}-{month:02}-{day:02}")))
}

/// `make_time`
pub fn make_time(hour: i32, minute: i32, second: f64) -> Result<i64, ValueError> {
    let invalid = || {
        let shown = format!("{hour}:{minute:02}:{second:02}");
        ValueError::new("22008", format!("time field value out of range: {shown}"))
    };
    let is_valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !is_valid {
        return Err(invalid());
    }
    let micros = i64::from(hour) * HOUR_MICROS
        + i64::from(minute) * MINUTE_MICROS
        + (second * SECOND_MICROS as f64).round_ties_even() as i64;
    if micros > DAY_MICROS { Err(invalid()) } else { Ok(micros) }
}

/// `make_timestamp`
pub fn make_timestamp(date: (i32, i32, i32), clock: (i32, i32, f64)) -> Result<i64, ValueError> {
    let days = make_date(date.0, date.1, date.2)?;
    let time = make_time(clock.0, clock.1, clock.2)?;
    date_to_timestamp(days).and_then(|midnight| add_micros(midnight, time))
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`
pub fn make_interval(date: (i32, i32, i32, i32), clock: (i32, i32, f64)) -> Result<Interval, ValueError> {
    let invalid = || ValueError::new("22008", "interval out of range");
    let small = |value: i64| i32::try_from(value).map_err(|_| invalid());
    let (years, months, weeks, days) = date;
    let (hours, minutes, seconds) = clock;
    let exact = (seconds * SECOND_MICROS as f64).round_ties_even();
    if !exact.is_finite() || exact.abs() > 9e18 {
        return Err(invalid());
    }
    let rest = i64::from(hours) * HOUR_MICROS + i64::from(minutes) * MINUTE_MICROS;
    Ok(Interval {
        months: small(i64::from(years) * 12 + i64::from(months))?,
        days: small(i64::from(weeks) * 7 + i64::from(days))?,
        micros: rest.checked_add(exact as i64).ok_or_else(invalid)?,
    })
}

/// `date_bin(stride, source, origin)`
pub fn date_bin(stride: &Interval, source: i64, origin: i64) -> Result<i64, ValueError> {
    if is_infinite(source) {
        return Ok(source);
    }
    if is_infinite(origin) {
        return Err(ValueError::new("22008", "origin out of range"));
    }
    if stride.months != 0 {
        return Err(ValueError::new("0A000", "timestamps cannot be binned into intervals containing months or years"));
    }
    let width = i64::from(stride.days).checked_mul(DAY_MICROS).and_then(|days| days.checked_add(stride.micros));
    let width = width.ok_or_else(|| ValueError::new("22008", "interval out of range"))?;
    if width <= 0 {
        return Err(ValueError::new("22008", "stride must be greater than zero"));
    }
    let distance = source.checked_sub(origin).ok_or_else(|| ValueError::new("22008", "interval out of range"))?;
    let start = i128::from(origin) + i128::from(distance.div_euclid(width)) * i128::from(width);
    i64::try_from(start).map_err(|_| timestamp_out_of_range()).and_then(check_timestamp)
}

/// `to_timestamp(double precision)`: seconds since 1970.
pub fn timestamp_from_unix(seconds: f64) -> Result<i64, ValueError> {
    if seconds.is_nan() {
        return Err(ValueError::new("22008", "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { super::TIMESTAMP_INFINITY } else { super::TIMESTAMP_NEGATIVE_INFINITY });
    }
    let shifted = ((seconds + (super::UNIX_EPOCH_DAY * 86_400) as f64) * 1e6).round_ties_even();
    let invalid = || ValueError::new("22008", format!("timestamp out of range: \"{seconds}\""));
    if shifted.abs() > 9.3e18 {
        return Err(invalid());
    }
    check_timestamp(shifted as i64).map_err(|_| invalid())
}

/// ISO 8601 year and week of a date.
pub(crate) fn iso_week(days: i64) -> (i64, i64) {
    // The week belongs to the year of its Thursday.
    let thursday = days - (super::weekday(days) + 6) % 7 + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// The Monday of an ISO week.
pub(crate) fn iso_week_start(year: i64, week: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (super::weekday(fourth) + 6) % 7 + (week - 1) * 7
}
