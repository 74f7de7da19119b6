//! Dates and times of which each part stands behind its letter: `Y2001M12D27H04M05S06`.

use super::clock::{clock_micros, fraction_micros};
use super::{DatetimeFailure, MomentParts};

impl MomentParts {
    /// Which of the lettered parts a word is before. A month behind a month and an hour is a minute.
    pub(super) fn place_of_letter(&self, word: &str) -> Option<usize> {
        Some(match word {
            "y" => 0,
            "m" if self.lettered[1].is_some() && self.lettered[3].is_some() => 4,
            "m" => 1,
            "d" => 2,
            "h" => 3,
            "mm" => 4,
            "s" => 5,
            _ => return None,
        })
    }

    pub(super) fn lettered_part(&mut self, place: usize, rest: &str) -> Result<usize, DatetimeFailure> {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let value = rest[..digits].parse().map_err(|_| DatetimeFailure::Field)?;
        let is_first_of_time = self.lettered[3..].iter().all(Option::is_none);
        if self.lettered[place].replace(value).is_some() || place >= 3 && is_first_of_time && self.time.is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        let mut length = digits;
        if place >= 3 {
            let [hour, minute, second] = [3, 4, 5].map(|place| self.lettered[place].unwrap_or(0));
            if place == 5 && rest[digits..].starts_with('.') {
                length += 1 + rest[digits + 1..].bytes().take_while(u8::is_ascii_digit).count();
            }
            self.time = Some(clock_micros(hour, minute, second, fraction_micros(&rest[digits..length])?)?);
        }
        if let ([Some(year), Some(month), Some(day), ..], true) = (self.lettered, place < 3) {
            if self.has_date() {
                return Err(DatetimeFailure::Syntax);
            }
            let part = |value: i64| u32::try_from(value).map_err(|_| DatetimeFailure::Field);
            self.compact = Some((year, part(month)?, part(day)?, false));
        }
        Ok(length)
    }
}
