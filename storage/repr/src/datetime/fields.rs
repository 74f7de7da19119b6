//! Fields of dates, times, timestamps and intervals: `extract`, `date_part` and `date_trunc`.
//!
//! Values are exact numerics with PostgreSQL's scales; `date_part` is their nearest double.

use super::arithmetic::{iso_week, iso_week_start};
use super::{
    Civil, DAY_MICROS, EPOCH_JULIAN_DAY, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS, UNIX_EPOCH_DAY, Zone,
    check_timestamp, days_from_civil, is_infinite, is_infinite_date, weekday,
};
use crate::{Interval, Numeric, ScalarType, TimeTz, ValueError};
use num_bigint::BigInt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

fn field(name: &str) -> Option<Field> {
    let lower = name.trim().to_ascii_lowercase();
    // Ten letters count.
    Some(match lower.get(..10).unwrap_or(&lower) {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Field::Microseconds,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Field::Milliseconds,
        "s" | "sec" | "secs" | "second" | "seconds" => Field::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Field::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Field::Hour,
        "d" | "day" | "days" => Field::Day,
        "w" | "week" | "weeks" => Field::Week,
        "mon" | "mons" | "month" | "months" => Field::Month,
        "qtr" | "quarter" => Field::Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Field::Year,
        "dec" | "decs" | "decade" | "decades" => Field::Decade,
        "c" | "cent" | "century" | "centuries" => Field::Century,
        "mil" | "mils" | "millennium" | "millennia" => Field::Millennium,
        "isoyear" => Field::IsoYear,
        "dow" => Field::DayOfWeek,
        "isodow" => Field::IsoDayOfWeek,
        "doy" => Field::DayOfYear,
        "j" | "jd" | "julian" => Field::Julian,
        "epoch" => Field::Epoch,
        "timezone" => Field::Timezone,
        "timezone_h" => Field::TimezoneHour,
        "timezone_m" => Field::TimezoneMinute,
        _ => return None,
    })
}

fn known(name: &str, scalar: &ScalarType) -> Result<Field, ValueError> {
    field(name).ok_or_else(|| {
        let lower = name.to_lowercase();
        ValueError::new("22023", format!("unit \"{lower}\" not recognized for type {}", scalar.name()))
    })
}

/// A field that is also a unit, to which values can be cut.
fn known_unit(name: &str, scalar: &ScalarType) -> Result<Field, ValueError> {
    let which = known(name, scalar)?;
    let is_position = matches!(
        which,
        Field::IsoYear | Field::DayOfWeek | Field::IsoDayOfWeek | Field::DayOfYear | Field::Julian | Field::Epoch
    );
    if is_position {
        let lower = name.to_lowercase();
        return Err(ValueError::new("22023", format!("unit \"{lower}\" not recognized for type {}", scalar.name())));
    }
    Ok(which)
}

fn unsupported(name: &str, scalar: &ScalarType) -> ValueError {
    let lower = name.to_lowercase();
    ValueError::new("0A000", format!("unit \"{lower}\" not supported for type {}", scalar.name()))
}

fn scaled(unscaled: impl Into<BigInt>, scale: u16) -> Numeric {
    Numeric::Finite { unscaled: unscaled.into(), scale }
}

fn clock_field(which: Field, micros: i64) -> Option<Numeric> {
    Some(match which {
        Field::Microseconds => scaled(micros % MINUTE_MICROS, 0),
        Field::Milliseconds => scaled(micros % MINUTE_MICROS, 3),
        Field::Second => scaled(micros % MINUTE_MICROS, 6),
        Field::Minute => scaled(micros / MINUTE_MICROS % 60, 0),
        Field::Hour => scaled(micros / HOUR_MICROS, 0),
        _ => return None,
    })
}

/// How years are grouped; the year counts 1 BC as 0.
fn year_group(year: i64, size: i64) -> i64 {
    if year > 0 { (year + size - 1) / size } else { -((size - 1 - (year - 1)) / size) }
}

fn decade(year: i64) -> i64 {
    if year >= 0 { year / 10 } else { -((8 - (year - 1)) / 10) }
}

fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

fn date_field(which: Field, days: i64) -> Option<i64> {
    let (year, month, day) = super::civil_from_days(days);
    Some(match which {
        Field::Day => i64::from(day),
        Field::Week => iso_week(days).1,
        Field::Month => i64::from(month),
        Field::Quarter => i64::from(month - 1) / 3 + 1,
        Field::Year => shown_year(year),
        Field::Decade => decade(year),
        Field::Century => year_group(year, 100),
        Field::Millennium => year_group(year, 1000),
        Field::IsoYear => shown_year(iso_week(days).0),
        Field::DayOfWeek => weekday(days),
        Field::IsoDayOfWeek => (weekday(days) + 6) % 7 + 1,
        Field::DayOfYear => days - days_from_civil(year, 1, 1) + 1,
        _ => return None,
    })
}

/// What a field of an infinity is: growing fields are infinite, those that come round are NULL.
fn infinite_field(which: Field, positive: bool) -> Option<Numeric> {
    let grows = matches!(
        which,
        Field::Year
            | Field::Decade
            | Field::Century
            | Field::Millennium
            | Field::Julian
            | Field::IsoYear
            | Field::Epoch
    );
    grows.then_some(if positive { Numeric::Infinity } else { Numeric::NegativeInfinity })
}

/// `extract(field from date)`; none is NULL.
pub fn extract_date(name: &str, days: i32) -> Result<Option<Numeric>, ValueError> {
    let scalar = ScalarType::Date;
    let which = known(name, &scalar)?;
    let days_long = i64::from(days);
    let value = match which {
        Field::Julian => Some(days_long + EPOCH_JULIAN_DAY),
        Field::Epoch => Some((days_long - UNIX_EPOCH_DAY) * 86_400),
        other => date_field(other, if is_infinite_date(days) { 0 } else { days_long }),
    };
    let value = value.ok_or_else(|| unsupported(name, &scalar))?;
    if is_infinite_date(days) {
        return Ok(infinite_field(which, days > 0));
    }
    Ok(Some(scaled(value, 0)))
}

/// `extract(field from time)`
pub fn extract_time(name: &str, micros: i64) -> Result<Option<Numeric>, ValueError> {
    let scalar = ScalarType::Time;
    let which = known(name, &scalar)?;
    let value = if which == Field::Epoch { Some(scaled(micros, 6)) } else { clock_field(which, micros) };
    value.map(Some).ok_or_else(|| unsupported(name, &scalar))
}

/// `extract(field from time with time zone)`
pub fn extract_time_tz(name: &str, time: TimeTz) -> Result<Option<Numeric>, ValueError> {
    let scalar = ScalarType::TimeTz;
    let east = -i64::from(time.west);
    let value = match known(name, &scalar)? {
        Field::Timezone => Some(scaled(east, 0)),
        Field::TimezoneHour => Some(scaled(east / 3600, 0)),
        Field::TimezoneMinute => Some(scaled(east / 60 % 60, 0)),
        Field::Epoch => Some(scaled(time.utc_micros(), 6)),
        other => clock_field(other, time.micros),
    };
    value.map(Some).ok_or_else(|| unsupported(name, &scalar))
}

/// `extract(field from timestamp)`; none is NULL.
pub fn extract_timestamp(name: &str, micros: i64) -> Result<Option<Numeric>, ValueError> {
    extract_local(name, micros, &ScalarType::Timestamp)
}

fn extract_local(name: &str, micros: i64, scalar: &ScalarType) -> Result<Option<Numeric>, ValueError> {
    let which = known(name, scalar)?;
    if is_infinite(micros) {
        return Ok(infinite_field(which, micros > 0));
    }
    let (days, time) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    let value = match which {
        Field::Epoch => Some(scaled(i128::from(micros) - i128::from(UNIX_EPOCH_DAY) * i128::from(DAY_MICROS), 6)),
        Field::Julian => {
            Some(Numeric::from(days + EPOCH_JULIAN_DAY).add(&Numeric::from(time).div(&Numeric::from(DAY_MICROS))?)?)
        }
        other => clock_field(other, time).or_else(|| date_field(other, days).map(|value| scaled(value, 0))),
    };
    value.map(Some).ok_or_else(|| unsupported(name, scalar))
}

/// `extract(field from timestamptz)`, in the session's zone; none is NULL.
pub fn extract_timestamptz(name: &str, micros: i64, zone: &Zone) -> Result<Option<Numeric>, ValueError> {
    let scalar = ScalarType::Timestamptz;
    let which = known(name, &scalar)?;
    let offset = i64::from(if is_infinite(micros) { 0 } else { zone.offset_at(micros) });
    let zone_field = match which {
        Field::Timezone => Some(offset),
        Field::TimezoneHour => Some(offset / 3600),
        Field::TimezoneMinute => Some(offset / 60 % 60),
        _ => None,
    };
    match zone_field {
        Some(_) if is_infinite(micros) => Ok(None),
        Some(value) => Ok(Some(scaled(value, 0))),
        None if which == Field::Epoch => extract_local(name, micros, &scalar),
        None => extract_local(name, zone.to_local(micros)?, &scalar),
    }
}

/// `extract(field from interval)`
pub fn extract_interval(name: &str, interval: &Interval) -> Result<Option<Numeric>, ValueError> {
    let scalar = ScalarType::Interval;
    let which = known(name, &scalar)?;
    let (years, months) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let value = match which {
        Field::Day => i64::from(interval.days),
        Field::Month => months,
        Field::Quarter => months / 3 + 1,
        Field::Year => years,
        Field::Decade => years / 10,
        Field::Century => years / 100,
        Field::Millennium => years / 1000,
        Field::Epoch => {
            // A year is 365.25 days of 24 hours, a month 30.
            let quarters_of_days = i128::from(years) * 1461 + i128::from(months) * 120 + i128::from(interval.days) * 4;
            return Ok(Some(scaled(quarters_of_days * i128::from(DAY_MICROS / 4) + i128::from(interval.micros), 6)));
        }
        other => return clock_field(other, interval.micros).map(Some).ok_or_else(|| unsupported(name, &scalar)),
    };
    Ok(Some(scaled(value, 0)))
}

/// `date_trunc(field, timestamp)`
pub fn trunc_timestamp(name: &str, micros: i64) -> Result<i64, ValueError> {
    let scalar = ScalarType::Timestamp;
    if is_infinite(micros) {
        return Ok(micros);
    }
    let which = known_unit(name, &scalar)?;
    trunc_local(which, micros)?.ok_or_else(|| unsupported(name, &scalar))
}

/// `date_trunc(field, timestamptz)`, in a zone.
pub fn trunc_timestamptz(name: &str, micros: i64, zone: &Zone) -> Result<i64, ValueError> {
    let scalar = ScalarType::Timestamptz;
    if is_infinite(micros) {
        return Ok(micros);
    }
    let which = known_unit(name, &scalar)?;
    let local = zone.to_local(micros)?;
    let truncated = trunc_local(which, local)?.ok_or_else(|| unsupported(name, &scalar))?;
    let keeps_offset =
        matches!(which, Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour);
    // Within a day the offset stays, so that a repeated hour truncates to itself.
    if keeps_offset { check_timestamp(truncated - (local - micros)) } else { zone.to_utc(truncated) }
}

fn trunc_local(which: Field, micros: i64) -> Result<Option<i64>, ValueError> {
    let floor = |unit: i64| Ok(Some(micros - micros.rem_euclid(unit)));
    let civil = Civil::from_timestamp(micros);
    let days = micros.div_euclid(DAY_MICROS);
    let first = match which {
        Field::Microseconds => return Ok(Some(micros)),
        Field::Milliseconds => return floor(1000),
        Field::Second => return floor(SECOND_MICROS),
        Field::Minute => return floor(MINUTE_MICROS),
        Field::Hour => return floor(HOUR_MICROS),
        Field::Day => days,
        Field::Week => {
            let (year, week) = iso_week(days);
            iso_week_start(year, week)
        }
        Field::Month => days_from_civil(civil.year, civil.month, 1),
        Field::Quarter => days_from_civil(civil.year, (civil.month - 1) / 3 * 3 + 1, 1),
        Field::Year => days_from_civil(civil.year, 1, 1),
        Field::Decade => days_from_civil(decade(civil.year) * 10, 1, 1),
        Field::Century => days_from_civil(group_start(civil.year, 100), 1, 1),
        Field::Millennium => days_from_civil(group_start(civil.year, 1000), 1, 1),
        _ => return Ok(None),
    };
    first.checked_mul(DAY_MICROS).ok_or_else(super::timestamp_out_of_range).and_then(check_timestamp).map(Some)
}

fn group_start(year: i64, size: i64) -> i64 {
    if year > 0 { year_group(year, size) * size - (size - 1) } else { year_group(year, size) * size + 1 }
}

/// `date_trunc(field, interval)`
pub fn trunc_interval(name: &str, interval: &Interval) -> Result<Interval, ValueError> {
    let scalar = ScalarType::Interval;
    let months = |unit: i32| Interval { months: interval.months - interval.months % unit, ..Interval::default() };
    let clock = |unit: i64| Interval { micros: interval.micros - interval.micros % unit, ..*interval };
    Ok(match known_unit(name, &scalar)? {
        Field::Millennium => months(12_000),
        Field::Century => months(1200),
        Field::Decade => months(120),
        Field::Year => months(12),
        Field::Quarter => months(3),
        Field::Month => months(1),
        Field::Day => Interval { micros: 0, ..*interval },
        Field::Hour => clock(HOUR_MICROS),
        Field::Minute => clock(MINUTE_MICROS),
        Field::Second => clock(SECOND_MICROS),
        Field::Milliseconds => clock(1000),
        Field::Microseconds => *interval,
        Field::Week => {
            let detail = Some("Months usually have fractional weeks.".to_owned());
            return Err(ValueError { detail, ..unsupported(name, &scalar) });
        }
        _ => return Err(unsupported(name, &scalar)),
    })
}
