//! Time zones: fixed offsets, names of the tz database, and zones written out.
//!
//! Abbreviations are in `zone::abbreviation`, zones written out (`EST5EDT,M3.2.0,M11.1.0`) in `zone::posix`. Offsets are in seconds
//! east of UTC, whatever sign a text has.

mod abbreviation;
pub mod listed;
mod posix;
mod united_states;

pub use abbreviation::Meanings;
pub(crate) use abbreviation::abbreviation;

use super::parse::{OffsetTooFar, signed_offset};
use super::{DAY_MICROS, SECOND_MICROS, civil_from_days, days_from_civil, is_leap_year, weekday};
use crate::text::c_number::{is_space, leading_float};
use crate::{Interval, ValueError};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{OffsetName, Tz};
use posix::PosixZone;
use std::fmt;
use std::sync::Arc;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone of the tz database.
    Named(Tz),
    /// A zone written out.
    Posix(Arc<PosixZone>),
    /// An abbreviation that has meant several offsets in its time.
    Abbreviation(&'static Meanings),
}

/// Why a text is not a value of the setting TimeZone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneError {
    /// It names no zone.
    Unknown,
    /// An offset of a week or more.
    OffsetOutOfRange,
    /// It is off UTC by seconds.
    Seconds,
    /// An interval with months.
    Months,
    /// An interval with days.
    Days,
    /// The interval is none.
    Interval(ValueError),
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::utc()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Fixed(offset) => {
                let (mut east, mut west) = (String::new(), String::new());
                super::write_offset(&mut east, *offset);
                super::write_offset(&mut west, -offset);
                // Greenwich has a plus there and a minus here.
                let west = if *offset == 0 { "-00" } else { west.as_str() };
                write!(f, "<{east}>{west}")
            }
            Zone::Named(zone) => f.write_str(zone.name()),
            Zone::Posix(zone) => f.write_str(zone.name()),
            Zone::Abbreviation(meanings) => f.write_str(meanings.name()),
        }
    }
}

/// The longest offset: an hour less than a week.
const OFFSET_HOURS_MAX: i32 = 24 * 7 - 1;
const HOUR_SECONDS: i32 = 3600;

impl Zone {
    /// UTC.
    pub fn utc() -> Zone {
        Zone::Named(Tz::UTC)
    }

    /// A zone by abbreviation or name, in any case: what AT TIME ZONE takes.
    pub fn parse(name: &str) -> Result<Zone, ValueError> {
        Zone::find(name).ok_or_else(|| ValueError::new("22023", format!("time zone \"{name}\" not recognized")))
    }

    /// The zone that make_timestamptz is told: an offset east of UTC, or what `parse` takes.
    pub fn given(text: &str) -> Result<Zone, ValueError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
            let hint = Some("Numeric time zones must have \"-\" or \"+\" as first character.".to_owned());
            return Err(ValueError { hint, ..ValueError::new("22023", message) });
        }
        match signed_offset(text) {
            Some(Ok(offset)) => Ok(Zone::Fixed(offset)),
            Some(Err(OffsetTooFar)) => {
                Err(ValueError::new("22023", format!("numeric time zone \"{text}\" out of range")))
            }
            None => Zone::parse(text),
        }
    }

    pub(crate) fn find(name: &str) -> Option<Zone> {
        abbreviation(name).or_else(|| Zone::named(name))
    }

    /// A zone of the tz database, in any case, or one that is written out, whose offsets are positive west.
    pub fn named(name: &str) -> Option<Zone> {
        Zone::find_full(name).or_else(|| PosixZone::parse(name).map(|zone| Zone::Posix(Arc::new(zone))))
    }

    /// A value of the setting TimeZone: hours east of UTC, `interval '…'` east of UTC, or a name; no abbreviations.
    pub fn setting(value: &str) -> Result<Zone, ZoneError> {
        if value.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("interval")) {
            let quoted = value[8..].trim_start_matches(is_space);
            let text = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).ok_or(ZoneError::Unknown)?;
            let interval: Interval = text.parse().map_err(ZoneError::Interval)?;
            if interval.months != 0 {
                return Err(ZoneError::Months);
            }
            if interval.days != 0 {
                return Err(ZoneError::Days);
            }
            return Zone::east((interval.micros / SECOND_MICROS) as f64);
        }
        match leading_float(value) {
            Some(hours) if hours.rest.is_empty() => Zone::east(hours.value * f64::from(HOUR_SECONDS)),
            _ => {
                let zone = Zone::named(value).ok_or(ZoneError::Unknown)?;
                // As PostgreSQL finds out whether a zone counts leap seconds: by the seconds of a full minute.
                if zone.offset_at(0) % 60 == 0 { Ok(zone) } else { Err(ZoneError::Seconds) }
            }
        }
    }

    /// So many seconds east of UTC.
    fn east(seconds: f64) -> Result<Zone, ZoneError> {
        let whole = seconds.trunc();
        let within = whole.abs() < f64::from((OFFSET_HOURS_MAX + 1) * HOUR_SECONDS);
        if within { Ok(Zone::Fixed(whole as i32)) } else { Err(ZoneError::OffsetOutOfRange) }
    }

    /// A zone of the tz database, in any case.
    pub(crate) fn find_full(name: &str) -> Option<Zone> {
        let name = name.strip_prefix(':').unwrap_or(name);
        let exact = name.parse::<Tz>().ok();
        exact
            .or_else(|| chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied())
            .map(Zone::Named)
    }

    /// Whether it has had one offset at all times.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Zone::Fixed(_) => true,
            Zone::Posix(zone) => zone.is_fixed(),
            Zone::Abbreviation(_) => false,
            Zone::Named(zone) => {
                let name = zone.name();
                name.starts_with("Etc/")
                    || name.starts_with("GMT")
                    || matches!(name, "UTC" | "UCT" | "Universal" | "Zulu" | "Greenwich" | "EST" | "MST" | "HST")
            }
        }
    }

    /// Seconds east of UTC at a moment.
    pub(crate) fn offset_at(&self, micros: i64) -> i32 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Posix(zone) => zone.offset_at(micros),
            Zone::Named(Tz::UTC) => 0,
            Zone::Abbreviation(meanings) => meanings.offset_at(micros),
            Zone::Named(zone) => match united_states::at(*zone, micros) {
                Some((offset, _)) => offset,
                None => self.chrono_moment(zone, micros).map_or(0, |moment| moment.offset().fix().local_minus_utc()),
            },
        }
    }

    /// The abbreviation in force at a moment: `CEST`.
    pub(crate) fn abbreviation_at(&self, micros: i64) -> String {
        match self {
            Zone::Fixed(offset) => {
                let mut shown = String::new();
                super::write_offset(&mut shown, *offset);
                shown
            }
            Zone::Posix(zone) => zone.abbreviation_at(micros).to_owned(),
            Zone::Abbreviation(meanings) => meanings.name().to_owned(),
            Zone::Named(zone) => match united_states::at(*zone, micros) {
                Some((_, abbreviation)) => abbreviation,
                None => self
                    .chrono_moment(zone, micros)
                    .and_then(|moment| moment.offset().abbreviation().map(str::to_owned))
                    .unwrap_or_else(|| numeric_abbreviation(self.offset_at(micros))),
            },
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
        match self {
            Zone::Fixed(offset) => return *offset,
            Zone::Posix(zone) if zone.is_fixed() => return zone.offset_at(local),
            Zone::Abbreviation(meanings) => return meanings.offset_of_local(local),
            Zone::Posix(_) | Zone::Named(_) => {}
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

/// The abbreviation of a time that has none in letters: its offset, as `-03` and `+0530`.
fn numeric_abbreviation(offset: i32) -> String {
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
    match minutes % 60 {
        0 => format!("{sign}{:02}", minutes / 60),
        rest => format!("{sign}{:02}{rest:02}", minutes / 60),
    }
}
