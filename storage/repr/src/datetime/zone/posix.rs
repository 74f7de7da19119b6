//! Time zones written out: `EST5`, `<+07>-07`, `EST5EDT`, `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX 1003.1, section 8.3, and RFC 9636).
//!
//! ```text
//! name ±hh[:mm[:ss]]   name [±hh[:mm[:ss]]]   , rule [/time] , rule [/time]
//! standard time        daylight-saving time     it begins      it ends
//!
//! rule   Jn      day of the year from 1, the 29th of February never counted
//!        n       day of the year from 0
//!        Mm.w.d  the w-th weekday d (0 Sunday) of month m; 5 is the last
//! ```
//! Offsets are positive west of Greenwich, as POSIX has them; what is kept is positive east.

use crate::datetime::{SECOND_MICROS, civil_from_days, days_from_civil, days_in_month, is_leap_year, weekday};

/// The longest that PostgreSQL takes for the name of a zone.
const NAME_BYTES_MAX: usize = 255;
const HOUR_SECONDS: i32 = 3600;
const DAY_SECONDS: i64 = 86_400;
const HOURS_MAX: i32 = 24 * 7 - 1;
/// When a zone does not say when its daylight-saving time begins and ends: the rule of the United States, as in PostgreSQL.
const DEFAULT_RULES: &str = ",M3.2.0,M11.1.0";
/// When a rule does not say at what time of the day.
const DEFAULT_TIME_SECONDS: i32 = 2 * HOUR_SECONDS;

/// A zone written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PosixZone {
    /// As PostgreSQL shows it: in upper case.
    name: String,
    standard: Time,
    daylight: Option<Daylight>,
}

/// What clocks show in a part of the year.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Time {
    abbreviation: String,
    /// Seconds east of UTC.
    offset: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Daylight {
    time: Time,
    begin: YearlyRule,
    end: YearlyRule,
}

/// A moment of every year, by the clock that ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct YearlyRule {
    day: Day,
    /// Seconds after that day's midnight.
    time: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// From 1, without the 29th of February.
    Common(i32),
    /// From 0.
    Counted(i32),
    Weekday {
        month: u32,
        week: u32,
        weekday: i64,
    },
}

impl PosixZone {
    /// Reads one; none if it is no such zone.
    pub fn parse(text: &str) -> Option<PosixZone> {
        if text.len() > NAME_BYTES_MAX || text.starts_with(':') {
            return None;
        }
        let name = text.to_ascii_uppercase();
        let (abbreviation, rest) = zone_name(&name)?;
        let (west, rest) = signed_time(rest)?;
        let standard = Time { abbreviation: abbreviation.to_owned(), offset: -west };
        let daylight = if rest.is_empty() { None } else { Some(Daylight::parse(rest, standard.offset)?) };
        Some(PosixZone { name, standard, daylight })
    }

    /// As PostgreSQL shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has no daylight-saving time.
    pub fn is_fixed(&self) -> bool {
        self.daylight.is_none()
    }

    /// Seconds east of UTC at a moment in microseconds from 2000-01-01 UTC.
    pub(crate) fn offset_at(&self, micros: i64) -> i32 {
        self.time_at(micros).offset
    }

    /// The abbreviation in force at that moment.
    pub(crate) fn abbreviation_at(&self, micros: i64) -> &str {
        &self.time_at(micros).abbreviation
    }

    fn time_at(&self, micros: i64) -> &Time {
        let Some(daylight) = &self.daylight else { return &self.standard };
        let moment = micros.div_euclid(SECOND_MICROS);
        let (year, ..) = civil_from_days(moment.div_euclid(DAY_SECONDS));
        // The last change before the moment: a year's changes may fall into its neighbours by their offsets.
        let changes = (year - 1..=year + 1).flat_map(|year| daylight.changes(year, self.standard.offset));
        let last = changes.filter(|(at, _)| *at <= moment).max_by_key(|(at, _)| *at);
        match last {
            Some((_, true)) => &daylight.time,
            Some((_, false)) => &self.standard,
            // There is no change in any year: one of the two never ends.
            None => &daylight.time,
        }
    }
}

impl Daylight {
    fn parse(text: &str, standard: i32) -> Option<Daylight> {
        let (abbreviation, rest) = zone_name(text)?;
        if abbreviation.is_empty() {
            return None;
        }
        let (offset, rest) = match rest.chars().next() {
            None | Some(',' | ';') => (standard + HOUR_SECONDS, rest),
            Some(_) => signed_time(rest).map(|(west, rest)| (-west, rest))?,
        };
        let rules = if rest.is_empty() { DEFAULT_RULES } else { rest };
        let (begin, rest) = YearlyRule::parse(rules.strip_prefix([',', ';'])?)?;
        let (end, rest) = YearlyRule::parse(rest.strip_prefix(',')?)?;
        let time = Time { abbreviation: abbreviation.to_owned(), offset };
        rest.is_empty().then_some(Daylight { time, begin, end })
    }

    /// A year's changes: when, in seconds from 2000-01-01 UTC, and whether to daylight-saving time.
    fn changes(&self, year: i64, standard: i32) -> Vec<(i64, bool)> {
        let begin = self.begin.seconds(year) - i64::from(standard);
        let end = self.end.seconds(year) - i64::from(self.time.offset);
        let year_seconds = if is_leap_year(year) { 366 } else { 365 } * DAY_SECONDS;
        // As long as the year, or no time at all: then it never ends, or never begins.
        let lasts = end - begin < year_seconds + i64::from(self.time.offset - standard);
        if end < begin || (begin < end && lasts) { vec![(begin, true), (end, false)] } else { Vec::new() }
    }
}

impl YearlyRule {
    fn parse(text: &str) -> Option<(YearlyRule, &str)> {
        let (day, rest) = if let Some(rest) = text.strip_prefix('J') {
            let (day, rest) = number(rest, 1, 365)?;
            (Day::Common(day), rest)
        } else if let Some(rest) = text.strip_prefix('M') {
            let (month, rest) = number(rest, 1, 12)?;
            let (week, rest) = number(rest.strip_prefix('.')?, 1, 5)?;
            let (weekday, rest) = number(rest.strip_prefix('.')?, 0, 6)?;
            let day =
                Day::Weekday { month: month.unsigned_abs(), week: week.unsigned_abs(), weekday: i64::from(weekday) };
            (day, rest)
        } else {
            let (day, rest) = number(text, 0, 365)?;
            (Day::Counted(day), rest)
        };
        let (time, rest) = match rest.strip_prefix('/') {
            Some(rest) => signed_time(rest)?,
            None => (DEFAULT_TIME_SECONDS, rest),
        };
        Some((YearlyRule { day, time }, rest))
    }

    /// In a year, in seconds from 2000-01-01 by the clock that ends there.
    fn seconds(self, year: i64) -> i64 {
        let first = days_from_civil(year, 1, 1);
        let day = match self.day {
            Day::Common(day) => first + i64::from(day) - 1 + i64::from(is_leap_year(year) && day >= 60),
            Day::Counted(day) => first + i64::from(day),
            Day::Weekday { month, week, weekday: wanted } => {
                let first = days_from_civil(year, month, 1);
                let mut day = (wanted - weekday(first)).rem_euclid(7);
                for _ in 1..week {
                    if day + 7 >= i64::from(days_in_month(year, month)) {
                        break;
                    }
                    day += 7;
                }
                first + day
            }
        };
        day * DAY_SECONDS + i64::from(self.time)
    }
}

/// An abbreviation, which angle brackets may enclose, and what stands behind it.
fn zone_name(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>'),
        None => {
            let end = text.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+')).unwrap_or(text.len());
            Some(text.split_at(end))
        }
    }
}

/// `[±]hh[:mm[:ss]]` in seconds.
fn signed_time(text: &str) -> Option<(i32, &str)> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mut seconds, mut rest) = number(unsigned, 0, HOURS_MAX).map(|(hours, rest)| (hours * HOUR_SECONDS, rest))?;
    for (unit, most) in [(60, 59), (1, 60)] {
        let Some(part) = rest.strip_prefix(':') else { break };
        let (value, behind) = number(part, 0, most)?;
        seconds += value * unit;
        rest = behind;
    }
    Some((sign * seconds, rest))
}

fn number(text: &str, low: i32, high: i32) -> Option<(i32, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let value: i32 = text[..text.len() - rest.len()].parse().ok()?;
    (low..=high).contains(&value).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::PosixZone;
    use crate::datetime::{SECOND_MICROS, days_from_civil};

    fn offset(zone: &str, (year, month, day): (i64, u32, u32), hour: i64) -> (i32, String) {
        let zone = PosixZone::parse(zone).expect(zone);
        let micros = (days_from_civil(year, month, day) * 86_400 + hour * 3600) * SECOND_MICROS;
        (zone.offset_at(micros) / 60, zone.abbreviation_at(micros).to_string())
    }

    #[test]
    fn rules_are_followed() {
        let of = |minutes: i32, name: &str| (minutes, name.to_string());
        for (zone, date, hour, expected) in [
            ("foo3", (2024, 7, 1), 0, of(-180, "FOO")),
            ("<+07>-07", (2024, 7, 1), 0, of(420, "+07")),
            ("+07:30", (2024, 7, 1), 0, of(-450, "")),
            ("EST5EDT", (2024, 3, 10), 6, of(-300, "EST")),
            ("EST5EDT", (2024, 3, 10), 7, of(-240, "EDT")),
            ("EST5EDT", (2024, 11, 3), 5, of(-240, "EDT")),
            ("EST5EDT", (2024, 11, 3), 6, of(-300, "EST")),
            ("EST5EDT", (1500, 7, 1), 0, of(-240, "EDT")),
            ("CET-1CEST,M3.5.0,M10.5.0/3", (2024, 3, 31), 1, of(120, "CEST")),
            ("CET-1CEST,M3.5.0,M10.5.0/3", (2024, 10, 27), 1, of(60, "CET")),
            // South of the equator the year begins in daylight-saving time.
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", (2024, 1, 1), 0, of(660, "AEDT")),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", (2024, 7, 1), 0, of(600, "AEST")),
            ("A3B,J60/0,J61/0", (2024, 3, 1), 3, of(-120, "B")),
            ("A3B,59/0,60/0", (2024, 2, 29), 3, of(-120, "B")),
            ("X0Y,0/0,J365/25", (2024, 7, 1), 0, of(60, "Y")),
            ("WGT3WGST,M3.5.0/-2,M10.5.0/-1", (2024, 3, 31), 0, of(-180, "WGT")),
            ("WGT3WGST,M3.5.0/-2,M10.5.0/-1", (2024, 3, 31), 1, of(-120, "WGST")),
        ] {
            assert_eq!(offset(zone, date, hour), expected, "{zone} {date:?} {hour}");
        }
    }

    #[test]
    fn what_is_no_zone_is_refused() {
        let long = format!("{}1", "A".repeat(300));
        for zone in [
            "",
            "a",
            "<a",
            "<a>",
            "A168",
            "A1:60",
            "A1B,",
            "A1B,J0,J1",
            "A1B,M13.1.0,M1.1.0",
            ":A1",
            "A1B,1,2,3",
            &long,
        ] {
            assert_eq!(PosixZone::parse(zone), None, "{zone}");
        }
    }
}
