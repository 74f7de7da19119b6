//! Time zones: fixed offsets, abbreviations and names of the tz database.

use super::{DAY_MICROS, SECOND_MICROS, civil_from_days, days_from_civil, is_leap_year, weekday};
use crate::ValueError;
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{OffsetName, Tz};
use std::fmt;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Seconds east of UTC, with the name to show.
    Fixed(i32, String),
    /// A zone of the tz database.
    Named(Tz),
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::utc()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Fixed(_, name) => f.write_str(name),
            Zone::Named(zone) => f.write_str(zone.name()),
        }
    }
}

/// Abbreviations of PostgreSQL's default set that are in daily use, with seconds east of UTC.
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("zulu", 0),
    ("ut", 0),
    ("uct", 0),
    ("wet", 0),
    ("west", 3600),
    ("bst", 3600),
    ("cet", 3600),
    ("met", 3600),
    ("cest", 7200),
    ("mest", 7200),
    ("mesz", 7200),
    ("eet", 7200),
    ("eest", 10800),
    ("sast", 7200),
    ("msk", 10800),
    ("msd", 14400),
    ("ist", 7200),
    ("pkt", 18000),
    ("jst", 32400),
    ("kst", 32400),
    ("hkt", 28800),
    ("awst", 28800),
    ("acst", 34200),
    ("acdt", 37800),
    ("aest", 36000),
    ("aedt", 39600),
    ("nzst", 43200),
    ("nzt", 43200),
    ("nzdt", 46800),
    ("nst", -12600),
    ("ndt", -9000),
    ("ast", -14400),
    ("adt", -10800),
    ("est", -18000),
    ("edt", -14400),
    ("cst", -21600),
    ("cdt", -18000),
    ("mst", -25200),
    ("mdt", -21600),
    ("pst", -28800),
    ("pdt", -25200),
    ("akst", -32400),
    ("akdt", -28800),
    ("hst", -36000),
    ("brt", -10800),
    ("art", -10800),
];

pub(crate) fn abbreviation(name: &str) -> Option<i32> {
    ABBREVIATIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, offset)| *offset)
}

impl Zone {
    /// UTC.
    pub fn utc() -> Zone {
        Zone::Named(Tz::UTC)
    }

    /// A fixed offset in seconds east of UTC, named as PostgreSQL shows it: `<+02>-02`.
    pub fn fixed(offset: i32) -> Zone {
        let mut east = String::new();
        super::write_offset(&mut east, offset);
        let mut west = String::new();
        super::write_offset(&mut west, -offset);
        Zone::Fixed(offset, format!("<{east}>{}", west.trim_start_matches('+')))
    }

    /// A zone by name, abbreviation or POSIX offset (whose sign is positive west), in any case.
    pub fn parse(name: &str) -> Result<Zone, ValueError> {
        Zone::find(name).ok_or_else(|| ValueError::new("22023", format!("time zone \"{name}\" not recognized")))
    }

    pub(crate) fn find(name: &str) -> Option<Zone> {
        if let Some(offset) = abbreviation(name) {
            return Some(if offset == 0 { Zone::utc() } else { Zone::Fixed(offset, name.to_ascii_uppercase()) });
        }
        Zone::find_full(name).or_else(|| posix_offset(name).map(|offset| Zone::Fixed(offset, name.to_owned())))
    }

    /// A zone of the tz database, in any case.
    pub(crate) fn find_full(name: &str) -> Option<Zone> {
        let exact = name.parse::<Tz>().ok();
        exact
            .or_else(|| chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied())
            .map(Zone::Named)
    }

    /// Seconds east of UTC at a moment.
    pub fn offset_at(&self, micros: i64) -> i32 {
        match self {
            Zone::Fixed(offset, _) => *offset,
            Zone::Named(Tz::UTC) => 0,
            Zone::Named(zone) => {
                self.chrono_moment(zone, micros).map_or(0, |moment| moment.offset().fix().local_minus_utc())
            }
        }
    }

    /// The abbreviation in force at a moment: `CEST`.
    pub fn abbreviation_at(&self, micros: i64) -> String {
        match self {
            Zone::Fixed(_, name) => name.clone(),
            Zone::Named(zone) => self
                .chrono_moment(zone, micros)
                .and_then(|moment| moment.offset().abbreviation().map(str::to_owned))
                .unwrap_or_default(),
        }
    }

    fn chrono_moment(&self, zone: &Tz, micros: i64) -> Option<DateTime<Tz>> {
        let mut seconds = micros.div_euclid(SECOND_MICROS);
        let day = micros.div_euclid(DAY_MICROS);
        let (year, month, date) = civil_from_days(day);
        if year >= 2060 {
            // The tables end; the rules repeat with the calendar, so a year of the same shape stands in.
            let same = |other: &i64| {
                is_leap_year(*other) == is_leap_year(year)
                    && weekday(days_from_civil(*other, 1, 1)) == weekday(days_from_civil(year, 1, 1))
            };
            let other = (2032..2060).find(same)?;
            seconds += (days_from_civil(other, month, date) - day) * 86_400;
        }
        let earliest = days_from_civil(-4800, 1, 1) * 86_400;
        DateTime::from_timestamp(seconds.max(earliest) + 946_684_800, 0)
            .map(|moment| zone.from_utc_datetime(&moment.naive_utc()))
    }

    /// The offset that a local time has here. In a gap the offset before it counts, in a repeated hour the later one.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        if let Zone::Fixed(offset, _) = self {
            return *offset;
        }
        let before = self.offset_at(local.saturating_sub(DAY_MICROS));
        let after = self.offset_at(local.saturating_add(DAY_MICROS));
        if before == after {
            return before;
        }
        let holds = |offset: i32| self.offset_at(local - i64::from(offset) * SECOND_MICROS) == offset;
        if holds(after) || !holds(before) { if holds(after) { after } else { before } } else { before }
    }

    /// The moment of a local time: `timestamp AT TIME ZONE`.
    pub fn to_utc(&self, local: i64) -> Result<i64, ValueError> {
        if super::is_infinite(local) {
            return Ok(local);
        }
        let offset = i64::from(self.offset_of_local(local)) * SECOND_MICROS;
        local.checked_sub(offset).ok_or_else(super::timestamp_out_of_range).and_then(super::check_timestamp)
    }

    /// The local time of a moment: `timestamptz AT TIME ZONE`.
    pub fn to_local(&self, micros: i64) -> Result<i64, ValueError> {
        if super::is_infinite(micros) {
            return Ok(micros);
        }
        let offset = i64::from(self.offset_at(micros)) * SECOND_MICROS;
        micros.checked_add(offset).ok_or_else(super::timestamp_out_of_range).and_then(super::check_timestamp)
    }
}

/// `[letters]±hh[:mm[:ss]]` of POSIX, in seconds east.
fn posix_offset(name: &str) -> Option<i32> {
    let rest = match name.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => name.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    let (sign, digits) = match rest.as_bytes().first()? {
        b'-' => (1, &rest[1..]),
        b'+' => (-1, &rest[1..]),
        b'0'..=b'9' if rest.len() < name.len() => (-1, rest),
        _ => return None,
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        if part.is_empty() || part.len() > 2 || unit == 0 {
            return None;
        }
        seconds += part.parse::<i32>().ok()? * unit;
        unit /= 60;
    }
    (seconds <= 167 * 3600).then_some(sign * seconds)
}
