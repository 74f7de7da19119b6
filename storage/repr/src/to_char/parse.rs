//! `to_date` and `to_timestamp`: reading text by a template.

use super::datetime::{DAYS, DatetimePiece, MONTHS, ROMAN_MONTHS, pieces};
use crate::ValueError;
use crate::datetime::arithmetic::iso_week_start;
use crate::datetime::{
    Civil, DAY_MICROS, EPOCH_JULIAN_DAY, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS, Zone, check_date, civil_from_days,
    days_from_civil, days_in_month,
};

/// `to_date(text, template)`
pub fn to_date(text: &str, template: &str) -> Result<i32, ValueError> {
    let read = Read::new(text, template)?;
    check_date(read.days(text)?).map_err(|_| ValueError::new("22008", format!("date out of range: \"{text}\"")))
}

/// `to_timestamp(text, template)`, in the session's zone unless the text names an offset.
pub fn to_timestamp(text: &str, template: &str, zone: &Zone) -> Result<i64, ValueError> {
    let read = Read::new(text, template)?;
    let (year, month, day) = civil_from_days(read.days(text)?);
    let local = Civil { year, month, day, micros: read.micros(text)? }.to_timestamp()?;
    match read.offset {
        Some(offset) => crate::datetime::check_timestamp(local - i64::from(offset) * SECOND_MICROS),
        None => zone.to_utc(local),
    }
}

#[derive(Default)]
struct Read {
    year: Option<i64>,
    /// The year as written: years BC are not completed to four digits.
    written_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week_of_year: Option<i64>,
    week_of_month: Option<i64>,
    century: Option<i64>,
    hour: i64,
    has_half_day: bool,
    minute: i64,
    second: i64,
    fraction: i64,
    seconds_of_day: Option<i64>,
    is_afternoon: Option<bool>,
    is_before_christ: bool,
    offset: Option<i32>,
}

fn field_out_of_range(text: &str) -> ValueError {
    ValueError::new("22008", format!("date/time field value out of range: \"{text}\""))
}

impl Read {
    fn new(text: &str, template: &str) -> Result<Read, ValueError> {
        let mut read = Read::default();
        let mut rest = text.trim_start();
        let pieces = pieces(template);
        for (place, piece) in pieces.iter().enumerate() {
            match piece {
                DatetimePiece::Literal(character, is_quoted) => {
                    let is_separator = !is_quoted && !character.is_alphanumeric();
                    if is_separator {
                        // Any run of blanks and one separator match a separator of the template.
                        let trimmed = rest.trim_start();
                        let next = trimmed.chars().next().filter(|c| !c.is_alphanumeric() && !matches!(c, '+' | '-'));
                        rest = match next {
                            Some(separator) => &trimmed[separator.len_utf8()..],
                            None if trimmed.len() < rest.len() => trimmed,
                            None if rest.starts_with('-') && *character == '-' => &rest[1..],
                            None => rest,
                        };
                    } else {
                        let first = rest.chars().next().map_or(0, char::len_utf8);
                        rest = &rest[first..];
                    }
                }
                DatetimePiece::Pattern { spelling, is_filled, .. } => {
                    rest = rest.trim_start();
                    if rest.is_empty() {
                        break;
                    }
                    // A number that no other number follows may be longer than its pattern.
                    let followed = matches!(pieces.get(place + 1), Some(DatetimePiece::Pattern { .. }));
                    rest = read.pattern(&spelling.to_ascii_uppercase(), rest, *is_filled || !followed)?;
                }
            }
        }
        Ok(read)
    }

    fn pattern<'a>(&mut self, pattern: &str, rest: &'a str, is_free: bool) -> Result<&'a str, ValueError> {
        let (slot, width): (&mut Option<i64>, usize) = match pattern {
            "YYYY" | "YYY" | "YY" | "Y" => return self.short_year(pattern, rest, is_free),
            "Y,YYY" => {
                let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b',').count();
                self.year = rest[..length].replace(',', "").parse().ok();
                return Ok(&rest[length..]);
            }
            "IYYY" | "IYY" | "IY" | "I" => (&mut self.iso_year, 4),
            "MM" => (&mut self.month, 2),
            "DD" => (&mut self.day, 2),
            "DDD" => (&mut self.day_of_year, 3),
            "J" => (&mut self.julian, 7),
            "IW" => (&mut self.iso_week, 2),
            "ID" => (&mut self.iso_day, 1),
            "WW" => (&mut self.week_of_year, 2),
            "W" => (&mut self.week_of_month, 1),
            "CC" => (&mut self.century, 2),
            "SSSS" | "SSSSS" => (&mut self.seconds_of_day, 5),
            _ => return self.other(pattern, rest, is_free),
        };
        let (value, _, after) = number(pattern, rest, width, is_free)?;
        *slot = Some(value);
        Ok(after)
    }

    fn short_year<'a>(&mut self, pattern: &str, rest: &'a str, is_free: bool) -> Result<&'a str, ValueError> {
        let (value, length, after) = number(pattern, rest, pattern.len(), is_free)?;
        self.written_year = Some(value);
        // Years of fewer digits than four are those nearest to 2020.
        self.year = Some(match length {
            1 | 2 if pattern != "YYYY" || length < 4 => match value {
                _ if length > 2 => value,
                0..=69 => value + 2000,
                70..=99 => value + 1900,
                _ => value,
            },
            3 if value < 520 => value + 2000,
            3 => value + 1000,
            _ => value,
        });
        Ok(after)
    }

    fn other<'a>(&mut self, pattern: &str, rest: &'a str, is_free: bool) -> Result<&'a str, ValueError> {
        let take = |width: usize| number(pattern, rest, width, is_free);
        match pattern {
            "HH24" => (self.hour, _, _) = take(2)?,
            "HH" | "HH12" => {
                (self.hour, _, _) = take(2)?;
                self.has_half_day = true;
                if !(1..=12).contains(&self.hour) {
                    let hint = "Use the 24-hour clock, or give an hour between 1 and 12.".to_owned();
                    let message = format!("hour \"{}\" is invalid for the 12-hour clock", self.hour);
                    return Err(ValueError { hint: Some(hint), ..ValueError::new("22007", message) });
                }
            }
            "MI" => (self.minute, _, _) = take(2)?,
            "SS" => (self.second, _, _) = take(2)?,
            "MS" | "FF3" => return self.fraction(rest, 3),
            "US" | "FF6" => return self.fraction(rest, 6),
            "FF1" | "FF2" | "FF4" | "FF5" => return self.fraction(rest, usize::from(pattern.as_bytes()[2] - b'0')),
            "AM" | "PM" | "A.M." | "P.M." => {
                let (word, after) = either(&["a.m.", "p.m.", "am", "pm"], pattern, rest)?;
                self.is_afternoon = Some(word.starts_with('p'));
                return Ok(after);
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let (word, after) = either(&["a.d.", "b.c.", "ad", "bc"], pattern, rest)?;
                self.is_before_christ = word.starts_with('b');
                return Ok(after);
            }
            "MONTH" | "MON" | "RM" => {
                let names: Vec<&str> = match pattern {
                    "MONTH" => MONTHS.to_vec(),
                    "MON" => MONTHS.iter().map(|name| &name[..3]).collect(),
                    _ => ROMAN_MONTHS.to_vec(),
                };
                let (month, after) = longest_name(&names, rest).ok_or_else(|| invalid_value(rest, pattern))?;
                self.month = Some(month as i64 + 1);
                return Ok(after);
            }
            "DAY" | "DY" => {
                let names: Vec<&str> =
                    DAYS.iter().map(|name| if pattern == "DY" { &name[..3] } else { *name }).collect();
                let (_, after) = longest_name(&names, rest).ok_or_else(|| invalid_value(rest, pattern))?;
                return Ok(after);
            }
            "D" | "Q" | "IDDD" => return take(3).map(|(_, _, after)| after),
            "TZH" => {
                let sign = if rest.starts_with('-') { -1 } else { 1 };
                let (hours, _, after) = number(pattern, rest.trim_start_matches(['+', '-']), 2, false)?;
                self.offset = Some(sign * hours as i32 * 3600);
                return Ok(after);
            }
            "TZM" => {
                let (minutes, _, after) = take(2)?;
                if minutes > 59 {
                    return Err(ValueError::new("22008", "value for \"TZM\" in source string is out of range"));
                }
                let offset = self.offset.unwrap_or(0);
                self.offset = Some(offset + if offset < 0 { -60 } else { 60 } * minutes as i32);
                return Ok(after);
            }
            "TZ" | "OF" => {
                let message = format!("formatting field \"{pattern}\" is only supported in to_char");
                return Err(ValueError::new("0A000", message));
            }
            // FX asks for exact blanks; what it would refuse is read as well.
            _ => return Ok(rest),
        }
        take(2).map(|(_, _, after)| after)
    }

    fn fraction<'a>(&mut self, rest: &'a str, digits: usize) -> Result<&'a str, ValueError> {
        let length = rest.bytes().take_while(u8::is_ascii_digit).take(digits).count();
        let value: i64 =
            rest[..length].parse().map_err(|_| invalid_value(rest, if digits == 3 { "MS" } else { "US" }))?;
        self.fraction = value * 10i64.pow(6 - length as u32);
        Ok(&rest[length..])
    }

    fn days(&self, text: &str) -> Result<i64, ValueError> {
        if let Some(julian) = self.julian {
            return Ok(julian - EPOCH_JULIAN_DAY);
        }
        if let (Some(year), Some(week)) = (self.iso_year, self.iso_week) {
            return Ok(iso_week_start(year, week) + self.iso_day.unwrap_or(1) - 1);
        }
        let mut year = self.year.or(self.iso_year).unwrap_or(0);
        if let (Some(century), None) = (self.century, self.year) {
            year = (century - 1) * 100 + 1;
        }
        // Without a year, PostgreSQL means 1 BC.
        let year = match self.written_year.filter(|_| self.is_before_christ) {
            Some(written) => 1 - written,
            None if self.is_before_christ && year > 0 => 1 - year,
            None => year,
        };
        if let Some(day) = self.day_of_year {
            return Ok(days_from_civil(year, 1, 1) + day - 1);
        }
        if let Some(week) = self.week_of_year {
            return Ok(days_from_civil(year, 1, 1) + (week - 1) * 7);
        }
        let month = self.month.unwrap_or(1);
        let day = self.day.or(self.week_of_month.map(|week| (week - 1) * 7 + 1)).unwrap_or(1);
        if !(1..=12).contains(&month)
            || day < 1
            || day > i64::from(days_in_month(year, month as u32))
            || year > 6_000_000
        {
            return Err(field_out_of_range(text));
        }
        Ok(days_from_civil(year, month as u32, day as u32))
    }

    fn micros(&self, text: &str) -> Result<i64, ValueError> {
        if let Some(seconds) = self.seconds_of_day {
            return Ok(seconds * SECOND_MICROS + self.fraction);
        }
        let hour = match self.is_afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ if self.has_half_day && self.hour == 12 && self.is_afternoon.is_none() => 0,
            _ => self.hour,
        };
        if hour > 24 || self.minute > 59 || self.second > 59 {
            return Err(field_out_of_range(text));
        }
        let micros = hour * HOUR_MICROS + self.minute * MINUTE_MICROS + self.second * SECOND_MICROS + self.fraction;
        if micros > DAY_MICROS { Err(field_out_of_range(text)) } else { Ok(micros) }
    }
}

fn invalid_value(rest: &str, pattern: &str) -> ValueError {
    let shown: String = rest.chars().take(pattern.len()).collect();
    ValueError {
        detail: Some("The given value did not match any of the allowed values for this field.".to_owned()),
        ..ValueError::new("22007", format!("invalid value \"{shown}\" for \"{pattern}\""))
    }
}

fn longest_name<'a>(names: &[&str], rest: &'a str) -> Option<(usize, &'a str)> {
    let matches = |name: &str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let found = names.iter().enumerate().filter(|(_, name)| matches(name)).max_by_key(|(_, name)| name.len())?;
    Some((found.0, &rest[found.1.len()..]))
}

/// A number of at most `width` digits (any count, if free), its length, and what follows.
fn number<'a>(pattern: &str, rest: &'a str, width: usize, is_free: bool) -> Result<(i64, usize, &'a str), ValueError> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length = if is_free { digits } else { digits.min(width) };
    let value = rest[..length].parse().map_err(|_| {
        let shown: String = rest.chars().take(width).collect();
        ValueError {
            detail: Some("Value must be an integer.".to_owned()),
            ..ValueError::new("22007", format!("invalid value \"{shown}\" for \"{pattern}\""))
        }
    })?;
    if value > i64::from(i32::MAX) {
        return Err(ValueError::new("22008", format!("value for \"{pattern}\" in source string is out of range")));
    }
    Ok((value, length, &rest[length..]))
}

/// One of some words, however it is written, and what follows.
fn either<'a>(words: &[&'static str], pattern: &str, rest: &'a str) -> Result<(&'static str, &'a str), ValueError> {
    let lower = rest.to_ascii_lowercase();
    let word = *words.iter().find(|word| lower.starts_with(**word)).ok_or_else(|| invalid_value(rest, pattern))?;
    Ok((word, &rest[word.len()..]))
}
