//! `EST5EDT` and its kin before 1967: standard time from the beginning, and daylight time in the two wars.
//!
//! The tz database has made them other names of cities since 2024, which kept times of their own until 1967. PostgreSQL, and most
//! systems, still have them as they were.

use crate::datetime::{HOUR_MICROS, SECOND_MICROS, days_from_civil};
use chrono_tz::Tz;

/// Seconds that a clock is ahead in daylight time.
const AHEAD: i32 = 3600;

/// When clocks were set, at two in the morning: the day on which they were put ahead, and the one on which they were put back.
const DAYLIGHT: [((i64, u32, u32), (i64, u32, u32)); 3] =
    [((1918, 3, 31), (1918, 10, 27)), ((1919, 3, 30), (1919, 10, 26)), ((1942, 2, 9), (1945, 9, 30))];

/// The last change of clocks before this moment is one of those above.
const END: (i64, u32, u32) = (1967, 1, 1);

/// When war time was named peace time, in UTC.
const PEACE: ((i64, u32, u32), i64) = ((1945, 8, 14), 23 * HOUR_MICROS);

fn midnight((year, month, day): (i64, u32, u32)) -> i64 {
    days_from_civil(year, month, day) * crate::datetime::DAY_MICROS
}

/// Seconds east of UTC, and the abbreviation; none for other zones, and from 1967 on.
pub(super) fn at(zone: Tz, moment: i64) -> Option<(i32, String)> {
    let (hours, letter) = match zone {
        Tz::EST5EDT => (-5, 'E'),
        Tz::CST6CDT => (-6, 'C'),
        Tz::MST7MDT => (-7, 'M'),
        Tz::PST8PDT => (-8, 'P'),
        // There are hundreds of others.
        _ => return None,
    };
    if moment >= midnight(END) {
        return None;
    }
    let standard = hours * 3600;
    let local = moment.saturating_add(i64::from(standard) * SECOND_MICROS);
    // Two in the morning of daylight time is one of standard time.
    let holds = |(from, to): &((i64, u32, u32), (i64, u32, u32))| {
        (midnight(*from) + 2 * HOUR_MICROS..midnight(*to) + HOUR_MICROS).contains(&local)
    };
    Some(match DAYLIGHT.iter().position(holds) {
        None => (standard, format!("{letter}ST")),
        Some(2) if moment >= midnight(PEACE.0) + PEACE.1 => (standard + AHEAD, format!("{letter}PT")),
        Some(2) => (standard + AHEAD, format!("{letter}WT")),
        Some(_) => (standard + AHEAD, format!("{letter}DT")),
    })
}
