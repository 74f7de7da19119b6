//! `time with time zone`: a time of day, and how far west of UTC it is meant.
//!
//! Equal are those that mean the same moment of a day at the same offset, so each value has one writing.

use crate::Interval;
use crate::datetime::{self, DAY_MICROS, SECOND_MICROS, Zone};
use std::cmp::Ordering;

/// A value of `time with time zone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds since midnight there, 0 to 24 hours.
    pub micros: i64,
    /// Seconds west of UTC, as PostgreSQL keeps it.
    pub west: i32,
}

impl TimeTz {
    /// A time of day so many seconds east of UTC.
    pub fn new(micros: i64, east: i32) -> TimeTz {
        TimeTz { micros, west: -east }
    }

    /// What a clock shows in a zone at a moment that is not infinite.
    pub fn of_moment(moment: i64, zone: &Zone) -> TimeTz {
        let east = zone.offset_at(moment);
        TimeTz::new((moment + i64::from(east) * SECOND_MICROS).rem_euclid(DAY_MICROS), east)
    }

    /// What a clock shows that far east of UTC at this time.
    #[must_use]
    pub fn at(self, east: i32) -> TimeTz {
        TimeTz::new((self.utc_micros() + i64::from(east) * SECOND_MICROS).rem_euclid(DAY_MICROS), east)
    }

    /// What a clock shows in a zone at this time, on the day of a moment.
    #[must_use]
    pub fn at_zone(self, zone: &Zone, now: i64) -> TimeTz {
        self.at(zone.offset_at(now))
    }

    /// Microseconds since midnight in UTC, of the day at hand, the one before or the one behind.
    pub fn utc_micros(self) -> i64 {
        self.micros.saturating_add(i64::from(self.west) * SECOND_MICROS)
    }

    /// Later by the hours of an interval, of which days and months do not count; past midnight it begins anew.
    #[must_use]
    pub fn plus(self, interval: Interval) -> TimeTz {
        let micros = i128::from(self.micros) + i128::from(interval.micros);
        TimeTz { micros: micros.rem_euclid(i128::from(DAY_MICROS)) as i64, ..self }
    }

    /// Earlier by the hours of an interval.
    #[must_use]
    pub fn minus(self, interval: Interval) -> TimeTz {
        let micros = i128::from(self.micros) - i128::from(interval.micros);
        TimeTz { micros: micros.rem_euclid(i128::from(DAY_MICROS)) as i64, ..self }
    }

    /// With so many digits of a second (-1 for all).
    #[must_use]
    pub fn rounded(self, modifier: i32) -> TimeTz {
        TimeTz { micros: datetime::round_to_precision(self.micros, modifier), ..self }
    }

    /// Appends `hh:mm:ss[.ffffff]±hh[:mm[:ss]]`.
    pub(crate) fn write(self, out: &mut String) {
        datetime::write_time(out, self.micros);
        datetime::write_offset(out, -self.west);
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> Ordering {
        (self.utc_micros(), self.west).cmp(&(other.utc_micros(), other.west))
    }
}
