//! The day, the time of day and the offset that the fields of a template mean together.

use super::{Convention, Read, field_out_of_range};
use crate::ValueError;
use crate::datetime::arithmetic::iso_week_start;
use crate::datetime::{
    DAY_MICROS, EPOCH_JULIAN_DAY, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS, civil_from_days, days_from_civil,
    days_in_month, is_leap_year,
};

const OFFSET_HOURS_MAX: i64 = 15;

impl Read {
    /// The day, counted as dates are.
    pub(super) fn days(&self, text: &str) -> Result<i64, ValueError> {
        let is_iso = self.convention == Some(Convention::IsoWeek);
        let written = self.written_year();
        let mut year = written.unwrap_or(0);
        let (mut month, mut day, mut is_whole) = (1, 1, false);
        if self.julian != 0 {
            (year, month, day, is_whole) = whole(self.julian - EPOCH_JULIAN_DAY);
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 && is_iso {
            let from_monday = match self.weekday {
                0 => 0,
                2.. => self.weekday - 2,
                _ => 6,
            };
            (year, month, day, is_whole) = whole(iso_week_start(year, self.week) + from_monday);
        } else if self.week != 0 {
            day_of_year = (self.week - 1) * 7 + 1;
        }
        let day_of_month = if self.week_of_month == 0 { self.day } else { (self.week_of_month - 1) * 7 + 1 };
        let (mut has_day, mut has_month) = (day_of_month != 0, self.month != 0);
        day = if has_day { day_of_month } else { day };
        month = if has_month { self.month } else { month };
        if day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && !self.is_before_christ {
                let message = "cannot calculate day of year without year information";
                return Err(ValueError::new("22007", message));
            }
            if is_iso {
                (year, month, day, is_whole) = whole(iso_week_start(year, 1) - 1 + day_of_year);
            } else {
                let (found, before) = month_of(year, day_of_year);
                month = if month <= 1 { found } else { month };
                day = if day <= 1 { day_of_year - before } else { day };
                (has_day, has_month) = (true, true);
            }
        }
        let checks_month = is_whole || has_month;
        let checks_day = is_whole || has_day;
        let checks_all = is_whole || (has_month && has_day && written.is_some());
        if (checks_month && !(1..=12).contains(&month))
            || (checks_day && !(1..=31).contains(&day))
            || (checks_all && day > i64::from(days_in_month(year, month as u32)))
        {
            return Err(field_out_of_range(text));
        }
        // Without a year, a day behind its month's end is one of the next.
        Ok(days_from_civil(year, month as u32, 1) + day - 1)
    }

    /// The year that is said by a year or a century, 0 being 1 BC.
    fn written_year(&self) -> Option<i64> {
        let century = if self.is_before_christ { -self.century } else { self.century };
        let before = i64::from(century < 0);
        if self.year != 0 && century != 0 && self.year_digits <= 2 {
            // A century's last year has its number: 2000 is in the 20th.
            return Some(match self.year % 100 {
                0 => century * 100 + before,
                year if century > 0 => (century - 1) * 100 + year,
                year => (century + 1) * 100 - year + 1,
            });
        }
        match (self.year, century) {
            (0, 0) => None,
            (0, 1..) => Some((century - 1) * 100 + 1),
            (0, _) => Some(century * 100 + 1),
            (year, _) => {
                let year = if self.is_before_christ { -year } else { year };
                Some(if year < 0 { year + 1 } else { year })
            }
        }
    }

    /// The hour, minute and second, and the fraction of one.
    pub(super) fn clock(&self) -> Result<Clock, ValueError> {
        let given = |field: i64, otherwise: i64| if field == 0 { otherwise } else { field };
        let seconds = self.seconds_of_day;
        let mut hour = given(self.hour, seconds / 3600);
        let (minute, second) = (given(self.minute, seconds / 60 % 60), given(self.second, seconds % 60));
        if self.has_half_day {
            if !(1..=12).contains(&hour) {
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.".to_owned();
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(ValueError { hint: Some(hint), ..ValueError::new("22007", message) });
            }
            hour = hour % 12 + if self.is_afternoon { 12 } else { 0 };
        }
        Ok(Clock { hour, minute, second, fraction: self.milliseconds * 1000 + self.microseconds })
    }

    /// Seconds east of UTC, if an offset is written.
    pub(super) fn offset(&self, text: &str) -> Result<Option<i32>, ValueError> {
        if self.zone_sign == 0 {
            return Ok(None);
        }
        if !(0..=OFFSET_HOURS_MAX).contains(&self.zone_hours) || !(0..60).contains(&self.zone_minutes) {
            return Err(ValueError::new("22009", format!("time zone displacement out of range: \"{text}\"")));
        }
        Ok(Some(self.zone_sign * (self.zone_hours * 3600 + self.zone_minutes * 60) as i32))
    }
}

/// A time of day that may be none: its parts are as they were read.
pub(super) struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    /// Microseconds.
    fraction: i64,
}

impl Clock {
    /// The time of day.
    pub(super) fn micros(&self, text: &str) -> Result<i64, ValueError> {
        let fits = (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..SECOND_MICROS).contains(&self.fraction);
        if !fits {
            return Err(field_out_of_range(text));
        }
        let micros =
            self.hour * HOUR_MICROS + self.minute * MINUTE_MICROS + self.second * SECOND_MICROS + self.fraction;
        debug_assert!(micros < DAY_MICROS, "the parts of a time of day are less than a day");
        Ok(micros)
    }
}

/// A day's year, month and day, all of them known.
fn whole(days: i64) -> (i64, i64, i64, bool) {
    let (year, month, day) = civil_from_days(days);
    (year, i64::from(month), i64::from(day), true)
}

/// The month of a day of the year, and how many days are in front of it; a thirteenth behind the year's end.
fn month_of(year: i64, day_of_year: i64) -> (i64, i64) {
    let mut before = 0;
    for month in 1..=12 {
        let length = i64::from(days_in_month(year, month));
        if day_of_year <= before + length {
            return (i64::from(month), before);
        }
        before += length;
    }
    (13, 365 + i64::from(is_leap_year(year)))
}
