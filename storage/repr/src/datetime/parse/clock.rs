//! The small parts of dates' and times' input: fractions, clock times and numeric offsets.

use super::DatetimeFailure;
use crate::datetime::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};

pub(super) fn fraction_micros(fraction: &str) -> Result<i64, DatetimeFailure> {
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DatetimeFailure::Syntax);
    }
    if digits.is_empty() {
        return Ok(0);
    }
    let value: f64 = format!("0.{digits}").parse().map_err(|_| DatetimeFailure::Syntax)?;
    Ok((value * 1_000_000.0).round_ties_even() as i64)
}

pub(super) fn clock_micros(hour: i64, minute: i64, second: i64, fraction: i64) -> Result<i64, DatetimeFailure> {
    let is_valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let micros =
        hour.min(1000) * HOUR_MICROS + minute.min(1000) * MINUTE_MICROS + second.min(1000) * SECOND_MICROS + fraction;
    if !is_valid || micros > DAY_MICROS {
        return Err(DatetimeFailure::Field);
    }
    Ok(micros)
}

/// `hh`, `hhmm`, `hh:mm` or `hh:mm:ss` of a numeric zone.
pub(super) fn offset_seconds(text: &str) -> Result<i32, DatetimeFailure> {
    let number = |text: &str| text.parse::<i32>().map_err(|_| DatetimeFailure::Syntax);
    let (hour, minute, second) = if text.contains(':') {
        let mut pieces = text.split(':');
        let mut next = || pieces.next().map_or(Ok(0), number);
        let clock = (next()?, next()?, next()?);
        if pieces.next().is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        clock
    } else {
        match text.len() {
            1 | 2 => (number(text)?, 0, 0),
            // Six digits are no hours, minutes and seconds.
            3.. => (number(&text[..text.len() - 2])?, number(&text[text.len() - 2..])?, 0),
            _ => return Err(DatetimeFailure::Syntax),
        }
    };
    if hour > 15 || minute > 59 || second > 59 {
        return Err(DatetimeFailure::Displacement);
    }
    Ok(hour * 3600 + minute * 60 + second)
}

/// A numeric offset is farther from UTC than any zone.
pub(crate) struct OffsetTooFar;

/// Seconds east of UTC of a text that is an offset with its sign.
pub(crate) fn signed_offset(text: &str) -> Option<Result<i32, OffsetTooFar>> {
    let digits = text.strip_prefix(['+', '-'])?;
    match offset_seconds(digits) {
        Ok(seconds) => Some(Ok(if text.starts_with('-') { -seconds } else { seconds })),
        Err(DatetimeFailure::Displacement) => Some(Err(OffsetTooFar)),
        Err(_) => None,
    }
}
