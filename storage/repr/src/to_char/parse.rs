//! `to_date` and `to_timestamp`: reading text by a template, step by step as PostgreSQL does.

mod date;
mod moment;

pub use moment::{Misfit, Moment};

use super::datetime::{DAYS, DatetimePiece, MONTHS, ROMAN_MONTHS, pieces};
use crate::ValueError;
use crate::datetime::{Civil, SECOND_MICROS, Zone, check_date, civil_from_days, round_to_precision};
use crate::text::c_number::is_space;

/// `to_date(text, template)`
pub fn to_date(text: &str, template: &str) -> Result<i32, ValueError> {
    let read = Read::new(text, template)?;
    let clock = read.clock()?;
    let days = read.days(text)?;
    clock.micros(text)?;
    read.offset(text)?;
    check_date(days).map_err(|_| ValueError::new("22008", format!("date out of range: \"{text}\"")))
}

/// `to_timestamp(text, template)`, in the session's zone unless the text names an offset.
pub fn to_timestamp(text: &str, template: &str, zone: &Zone) -> Result<i64, ValueError> {
    let read = Read::new(text, template)?;
    let clock = read.clock()?;
    let (year, month, day) = civil_from_days(read.days(text)?);
    let (micros, offset) = (clock.micros(text)?, read.offset(text)?);
    let local = Civil { year, month, day, micros }.to_timestamp()?;
    let moment = match offset {
        Some(offset) => crate::datetime::check_timestamp(local - i64::from(offset) * SECOND_MICROS)?,
        None => zone.to_utc(local)?,
    };
    crate::datetime::check_timestamp(round_to_precision(moment, read.fraction_digits.unwrap_or(-1)))
}

/// Which calendar's fields a template has: it has those of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Convention {
    Gregorian,
    IsoWeek,
}

/// The fields met; 0 for those that were not, as in PostgreSQL.
#[derive(Default)]
struct Read {
    convention: Option<Convention>,
    year: i64,
    /// How many digits of the year its pattern has.
    year_digits: usize,
    month: i64,
    day: i64,
    day_of_year: i64,
    julian: i64,
    week: i64,
    week_of_month: i64,
    /// From 1, a Sunday.
    weekday: i64,
    century: i64,
    is_before_christ: bool,
    hour: i64,
    minute: i64,
    second: i64,
    milliseconds: i64,
    microseconds: i64,
    /// To how many digits of a second the result is rounded.
    fraction_digits: Option<i32>,
    seconds_of_day: i64,
    has_half_day: bool,
    is_afternoon: bool,
    zone_sign: i32,
    zone_hours: i64,
    zone_minutes: i64,
}

/// A pattern of the template, and how its number is read.
struct Pattern<'p> {
    spelling: &'p str,
    /// A number that no other number follows may be longer than its pattern, or shorter.
    is_free: bool,
    /// TH stands behind it.
    has_ordinal: bool,
}

impl<'p> Pattern<'p> {
    /// The one at a place of a template.
    fn at(pieces: &'p [DatetimePiece], place: usize) -> Pattern<'p> {
        let DatetimePiece::Pattern { spelling, is_filled, ordinal, .. } = &pieces[place] else {
            unreachable!("a pattern stands there")
        };
        let is_free = *is_filled || ordinal.is_some() || !pieces.get(place + 1).is_some_and(is_number);
        Pattern { spelling, is_free, has_ordinal: ordinal.is_some() }
    }
}

fn field_out_of_range(text: &str) -> ValueError {
    ValueError::new("22008", format!("date/time field value out of range: \"{text}\""))
}

impl Read {
    fn new(text: &str, template: &str) -> Result<Read, ValueError> {
        let mut read = Read::default();
        let mut rest = text;
        let pieces = pieces(template);
        let mut is_exact = false;
        // What was passed over beyond what the template has.
        let mut extra = 0_i64;
        for (place, piece) in pieces.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            let is_fixing =
                matches!(piece, DatetimePiece::Pattern { spelling, .. } if spelling.eq_ignore_ascii_case("FX"));
            let is_pattern = matches!(piece, DatetimePiece::Pattern { .. });
            if !is_exact && !is_fixing && (is_pattern || place == 0) {
                extra += pass_spaces(&mut rest);
            }
            match piece {
                DatetimePiece::Literal(character, is_quoted) => {
                    let is_separator = !is_quoted && (is_space(*character) || is_separator(*character));
                    rest = pass_literal(rest, is_separator, is_exact, &mut extra);
                }
                DatetimePiece::Pattern { .. } if is_fixing => is_exact = true,
                DatetimePiece::Pattern { .. } => {
                    let passed_minus = extra > 0 && text[..text.len() - rest.len()].ends_with('-');
                    rest = read.pattern(&Pattern::at(&pieces, place), rest, passed_minus)?;
                    extra = if is_exact { 0 } else { pass_spaces(&mut rest) };
                }
            }
        }
        Ok(read)
    }

    fn pattern<'a>(&mut self, pattern: &Pattern<'_>, rest: &'a str, passed_minus: bool) -> Result<&'a str, ValueError> {
        let name = pattern.spelling.to_ascii_uppercase();
        self.follow(convention(&name))?;
        let (slot, width): (&mut i64, usize) = match name.as_str() {
            "MM" => (&mut self.month, 2),
            "DD" => (&mut self.day, 2),
            "DDD" | "IDDD" => (&mut self.day_of_year, 3),
            "D" => (&mut self.weekday, 1),
            "J" => (&mut self.julian, 1),
            "IW" | "WW" => (&mut self.week, 2),
            "W" => (&mut self.week_of_month, 1),
            "CC" => (&mut self.century, 2),
            "HH24" | "HH" | "HH12" => {
                self.has_half_day |= name != "HH24";
                (&mut self.hour, 2)
            }
            "MI" => (&mut self.minute, 2),
            "SS" => (&mut self.second, 2),
            "SSSS" | "SSSSS" => (&mut self.seconds_of_day, name.len()),
            "Q" => return Ok(number(pattern, rest, 1)?.2),
            "ID" => {
                let (day, _, after) = number(pattern, rest, 1)?;
                set(&mut self.weekday, day, pattern)?;
                self.weekday = if day >= 7 { 1 } else { day + 1 };
                return Ok(after);
            }
            "TZH" | "TZM" => return self.zone(&name, pattern, rest, passed_minus),
            "TZ" | "OF" => {
                let message = format!("formatting field \"{}\" is only supported in to_char", pattern.spelling);
                return Err(ValueError::new("0A000", message));
            }
            _ if name.contains('Y') && name != "DAY" && name != "DY" || name == "I" => {
                return self.year(&name, pattern, rest);
            }
            _ if matches!(name.as_str(), "MS" | "US") || name.starts_with("FF") => {
                return self.fraction(&name, pattern, rest);
            }
            _ => return self.word(&name, pattern, rest),
        };
        let (value, _, after) = number(pattern, rest, width)?;
        set(slot, value, pattern)?;
        Ok(after)
    }

    /// Holds to one calendar.
    fn follow(&mut self, convention: Option<Convention>) -> Result<(), ValueError> {
        let Some(wanted) = convention else { return Ok(()) };
        if *self.convention.get_or_insert(wanted) == wanted {
            return Ok(());
        }
        let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
        Err(ValueError {
            hint: Some(hint.to_owned()),
            ..ValueError::new("22007", "invalid combination of date conventions")
        })
    }

    fn year<'a>(&mut self, name: &str, pattern: &Pattern<'_>, rest: &'a str) -> Result<&'a str, ValueError> {
        if name == "Y,YYY" {
            let bad = || ValueError::new("22007", "invalid input string for \"Y,YYY\"");
            let (thousands, years) = rest.split_once(',').ok_or_else(bad)?;
            let millennia: i32 = thousands.trim_start_matches(is_space).parse().map_err(|_| bad())?;
            // Three characters at most, of which one may be a sign.
            let years = years.trim_start_matches(is_space);
            let sign = usize::from(years.starts_with(['+', '-']));
            let digits = years[sign..].bytes().take(3 - sign).take_while(u8::is_ascii_digit).count();
            let (alone, after) = years.split_at(sign + digits);
            let alone: i64 = alone.parse().map_err(|_| bad())?;
            set(&mut self.year, alone + i64::from(millennia) * 1000, pattern)?;
            self.year_digits = 4;
            return Ok(after_ordinal(pattern, after));
        }
        let digits = name.len();
        let (value, length, after) = number(pattern, rest, digits)?;
        set(&mut self.year, value, pattern)?;
        if digits < 4 && length < 4 {
            self.year = nearest_to_2020(value);
        }
        self.year_digits = digits;
        Ok(after)
    }

    fn fraction<'a>(&mut self, name: &str, pattern: &Pattern<'_>, rest: &'a str) -> Result<&'a str, ValueError> {
        let (slot, width) = match name {
            "MS" => (&mut self.milliseconds, 3),
            "US" => (&mut self.microseconds, 6),
            _ => {
                let digits = name.as_bytes()[2] - b'0';
                self.fraction_digits = Some(i32::from(digits));
                (&mut self.microseconds, usize::from(digits))
            }
        };
        let (value, length, after) = number(pattern, rest, width)?;
        set(slot, value, pattern)?;
        let digits = if name == "MS" { 3 } else { 6_usize };
        *slot = value * 10_i64.pow(digits.saturating_sub(length) as u32);
        Ok(after)
    }

    /// Hours or minutes of an offset. A sign may have been passed over as a separator.
    fn zone<'a>(
        &mut self,
        name: &str,
        pattern: &Pattern<'_>,
        rest: &'a str,
        passed_minus: bool,
    ) -> Result<&'a str, ValueError> {
        // No letters of TH are passed over behind them.
        let pattern = &Pattern { has_ordinal: false, ..*pattern };
        if name == "TZM" {
            self.zone_sign = if self.zone_sign == 0 { 1 } else { self.zone_sign };
            let (minutes, _, after) = number(pattern, rest, 2)?;
            set(&mut self.zone_minutes, minutes, pattern)?;
            return Ok(after);
        }
        let unsigned = rest.strip_prefix(['+', '-', ' ']);
        let is_negative = if unsigned.is_some() { rest.starts_with('-') } else { passed_minus };
        self.zone_sign = if is_negative { -1 } else { 1 };
        let (hours, _, after) = number(pattern, unsigned.unwrap_or(rest), 2)?;
        set(&mut self.zone_hours, hours, pattern)?;
        Ok(after)
    }

    fn word<'a>(&mut self, name: &str, pattern: &Pattern<'_>, rest: &'a str) -> Result<&'a str, ValueError> {
        let short = |names: &[&'static str]| names.iter().map(|name| &name[..3]).collect::<Vec<&str>>();
        let names: Vec<&str> = match name {
            "AM" | "PM" => vec!["am", "pm"],
            "A.M." | "P.M." => vec!["a.m.", "p.m."],
            "AD" | "BC" => vec!["ad", "bc"],
            "A.D." | "B.C." => vec!["a.d.", "b.c."],
            "MONTH" => MONTHS.to_vec(),
            "MON" => short(&MONTHS),
            "RM" => ROMAN_MONTHS.to_vec(),
            "DAY" => DAYS.to_vec(),
            _ => short(&DAYS),
        };
        let (found, after) = longest_name(&names, rest).ok_or_else(|| invalid_word(rest, pattern))?;
        match name {
            "AM" | "PM" | "A.M." | "P.M." => {
                self.is_afternoon = second_of_two(self.is_afternoon, found, pattern)?;
                self.has_half_day = true;
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                self.is_before_christ = second_of_two(self.is_before_christ, found, pattern)?;
            }
            "MONTH" | "MON" | "RM" => set(&mut self.month, found as i64 + 1, pattern)?,
            // Held against the day that was met as PostgreSQL does: by one less.
            _ => {
                set(&mut self.weekday, found as i64, pattern)?;
                self.weekday = found as i64 + 1;
            }
        }
        Ok(after)
    }
}

/// Blanks at the front are passed over; how many they were.
fn pass_spaces(rest: &mut &str) -> i64 {
    let after = rest.trim_start_matches(is_space);
    let passed = rest.len() - after.len();
    *rest = after;
    passed as i64
}

/// ASCII that is neither letter nor digit.
fn is_separator(character: char) -> bool {
    character.is_ascii_punctuation()
}

/// What follows a character of the template that is no pattern. A separator stands for one or none; anything else for any character,
/// but not where blanks were passed over in its place.
fn pass_literal<'a>(rest: &'a str, is_separating: bool, is_exact: bool, extra: &mut i64) -> &'a str {
    let mut characters = rest.chars();
    let first = characters.next().unwrap_or(' ');
    let passed = characters.as_str();
    match (is_exact, is_separating) {
        (true, _) => passed,
        (false, true) if is_space(first) || is_separator(first) => passed,
        (false, true) => {
            *extra -= 1;
            rest
        }
        (false, false) if *extra > 0 => {
            *extra -= 1;
            rest
        }
        (false, false) => passed,
    }
}

/// Whether a piece of a template begins with a digit in the text.
fn is_number(piece: &DatetimePiece) -> bool {
    match piece {
        DatetimePiece::Literal(character, _) => character.is_ascii_digit(),
        DatetimePiece::Pattern { spelling, .. } => {
            let name = spelling.to_ascii_uppercase();
            !(name.contains('.')
                || matches!(
                    name.as_str(),
                    "AD" | "AM" | "BC" | "PM" | "DAY" | "DY" | "FX" | "MONTH" | "MON" | "OF" | "RM" | "TZH" | "TZ"
                ))
        }
    }
}

fn convention(name: &str) -> Option<Convention> {
    match name {
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Some(Convention::IsoWeek),
        "DDD" | "DD" | "D" | "MM" | "MONTH" | "MON" | "RM" | "WW" | "W" | "Y,YYY" | "YYYY" | "YYY" | "YY" | "Y" => {
            Some(Convention::Gregorian)
        }
        _ => None,
    }
}

/// Years of fewer digits than four are those nearest to 2020.
fn nearest_to_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        1000.. => year,
    }
}

/// A field has one value; 0 gives way to others.
fn set(slot: &mut i64, value: i64, pattern: &Pattern<'_>) -> Result<(), ValueError> {
    if *slot != 0 && *slot != value {
        return Err(conflict(pattern));
    }
    *slot = value;
    Ok(())
}

/// Whether a word is the second of two, which is not taken back: the first gives way to it.
fn second_of_two(was: bool, found: usize, pattern: &Pattern<'_>) -> Result<bool, ValueError> {
    if was && found == 0 { Err(conflict(pattern)) } else { Ok(found == 1) }
}

fn conflict(pattern: &Pattern<'_>) -> ValueError {
    let message = format!("conflicting values for \"{}\" field in formatting string", pattern.spelling);
    let detail = "This value contradicts a previous setting for the same field type.".to_owned();
    ValueError { detail: Some(detail), ..ValueError::new("22007", message) }
}

fn invalid_word(rest: &str, pattern: &Pattern<'_>) -> ValueError {
    let shown = rest.split(is_space).next().unwrap_or_default();
    ValueError {
        detail: Some("The given value did not match any of the allowed values for this field.".to_owned()),
        ..ValueError::new("22007", format!("invalid value \"{shown}\" for \"{}\"", pattern.spelling))
    }
}

fn longest_name<'a>(names: &[&str], rest: &'a str) -> Option<(usize, &'a str)> {
    let matches = |name: &str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let found = names.iter().enumerate().filter(|(_, name)| matches(name)).max_by_key(|(_, name)| name.len())?;
    Some((found.0, &rest[found.1.len()..]))
}

/// A number of that many characters (any, if free), its length with the blanks in front of it, and what follows.
fn number<'a>(pattern: &Pattern<'_>, text: &'a str, width: usize) -> Result<(i64, usize, &'a str), ValueError> {
    let rest = text.trim_start_matches(is_space);
    // Widths are bytes'.
    let shown = &rest[..rest.floor_char_boundary(width)];
    let name = pattern.spelling;
    let invalid = |detail: String| ValueError {
        detail: Some(detail),
        ..ValueError::new("22007", format!("invalid value \"{shown}\" for \"{name}\""))
    };
    let fixed = |error: ValueError| ValueError {
        hint: Some("If your source string is not fixed-width, try using the \"FM\" modifier.".to_owned()),
        ..error
    };
    let source = if pattern.is_free { rest } else { shown };
    if !pattern.is_free && rest.len() < width {
        let message = format!("source string too short for \"{name}\" formatting field");
        let detail = format!("Field requires {width} characters, but only {} remain.", rest.len());
        return Err(fixed(ValueError { detail: Some(detail), ..ValueError::new("22007", message) }));
    }
    let sign = usize::from(source.starts_with(['+', '-']));
    let digits = source[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let blanks = text.len() - rest.len();
    if digits == 0 && blanks > 0 && !pattern.is_free {
        // Blanks alone, which FX leaves to its fields, are a 0.
        return Ok((0, blanks, after_ordinal(pattern, rest)));
    }
    if digits == 0 {
        return Err(invalid("Value must be an integer.".to_owned()));
    }
    let length = sign + digits;
    if !pattern.is_free && length < width {
        let detail = format!("Field requires {width} characters, but only {length} could be parsed.");
        return Err(fixed(invalid(detail)));
    }
    let value: i32 = source[..length].parse().map_err(|_| ValueError {
        detail: Some(format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX)),
        ..ValueError::new("22008", format!("value for \"{name}\" in source string is out of range"))
    })?;
    Ok((i64::from(value), blanks + length, after_ordinal(pattern, &rest[length..])))
}

/// What is behind the two letters of TH.
fn after_ordinal<'a>(pattern: &Pattern<'_>, rest: &'a str) -> &'a str {
    let mut characters = rest.chars();
    if pattern.has_ordinal {
        characters.next();
        characters.next();
    }
    characters.as_str()
}
