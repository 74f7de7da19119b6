//! Input of dates, times and timestamps in all the forms that PostgreSQL reads.
//!
//! Text becomes tokens, tokens fill the parts, and the parts are checked as a whole. No clock: `now` and its kin
//! are read only if the caller says when now is.

mod clock;
mod lettered;

use super::zone::{Zone, abbreviation};
use super::{
    Civil, DATE_INFINITY, DATE_NEGATIVE_INFINITY, DAY_MICROS, EPOCH_JULIAN_DAY, HOUR_MICROS, SECOND_MICROS,
    TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, UNIX_EPOCH_DAY, civil_from_days, days_in_month,
};
use crate::{TimeTz, ValueError};
pub(super) use clock::{OffsetTooFar, signed_offset};
use clock::{clock_micros, fraction_micros, offset_seconds};

/// How an all-numeric date is read: DateStyle's second part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// month, day, year
    #[default]
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
}

/// What reading a date or time depends on.
#[derive(Clone, Debug, Default)]
pub struct DateContext {
    /// The session's zone.
    pub zone: Zone,
    /// The session's field order.
    pub order: DateOrder,
    /// The transaction's start in microseconds from 2000-01-01 UTC, if 'now' and 'today' may be read.
    pub now: Option<i64>,
}

enum DatetimeFailure {
    Syntax,
    Field,
    MonthOrDay,
    Range,
    Displacement,
    Zone(String),
}

fn error(failure: DatetimeFailure, text: &str, type_name: &str) -> ValueError {
    match failure {
        DatetimeFailure::Syntax => {
            ValueError::new("22007", format!("invalid input syntax for type {type_name}: \"{text}\""))
        }
        DatetimeFailure::Field => ValueError::new("22008", format!("date/time field value out of range: \"{text}\"")),
        DatetimeFailure::MonthOrDay => ValueError {
            hint: Some("Perhaps you need a different \"datestyle\" setting.".to_owned()),
            ..ValueError::new("22008", format!("date/time field value out of range: \"{text}\""))
        },
        DatetimeFailure::Range => {
            let noun = if type_name == "date" { "date" } else { "timestamp" };
            ValueError::new("22008", format!("{noun} out of range: \"{text}\""))
        }
        DatetimeFailure::Displacement => {
            ValueError::new("22009", format!("time zone displacement out of range: \"{text}\""))
        }
        DatetimeFailure::Zone(name) => ValueError::new("22023", format!("time zone \"{name}\" not recognized")),
    }
}

/// `date` input.
pub fn parse_date(text: &str, context: &DateContext) -> Result<i32, ValueError> {
    let fail = |failure| error(failure, text, "date");
    let parts = MomentParts::read(text, context).map_err(fail)?;
    let days = match parts.special {
        Some(Special::Infinity) => return Ok(DATE_INFINITY),
        Some(Special::NegativeInfinity) => return Ok(DATE_NEGATIVE_INFINITY),
        Some(Special::Epoch) => return Ok(UNIX_EPOCH_DAY as i32),
        Some(Special::Moment(moment)) => context.zone.to_local(moment)?.div_euclid(DAY_MICROS),
        None => parts.days(context).map_err(fail)?.ok_or_else(|| fail(DatetimeFailure::Syntax))?,
    };
    super::check_date(days).map_err(|_| fail(DatetimeFailure::Range))
}

/// `time` input; a date and a zone beside it are ignored.
pub fn parse_time(text: &str, context: &DateContext) -> Result<i64, ValueError> {
    let type_name = "time";
    let fail = |failure| error(failure, text, type_name);
    let parts = MomentParts::read_time_first(text, context).map_err(fail)?;
    if let Some(Special::Moment(moment)) = parts.special {
        return Ok(context.zone.to_local(moment)?.rem_euclid(DAY_MICROS));
    }
    let has_day = parts.days(context).map_err(fail)?.is_some();
    if let (Some(ZoneText::Zone(zone)), false) = (&parts.zone, has_day)
        && !zone.is_fixed()
        && !matches!(zone, Zone::Abbreviation(_))
    {
        return Err(fail(DatetimeFailure::Syntax));
    }
    parts.time.filter(|_| parts.special.is_none()).ok_or_else(|| fail(DatetimeFailure::Syntax))
}

/// `time with time zone` input; without a zone, the text is in the session's, as it is on the day that is said, or today.
pub fn parse_time_tz(text: &str, context: &DateContext) -> Result<TimeTz, ValueError> {
    let fail = |failure| error(failure, text, "time with time zone");
    let syntax = || fail(DatetimeFailure::Syntax);
    let parts = MomentParts::read_time_first(text, context).map_err(fail)?;
    if let Some(Special::Moment(moment)) = parts.special {
        return Ok(TimeTz::of_moment(moment, &context.zone));
    }
    let day = parts.days(context).map_err(fail)?;
    let micros = parts.time.filter(|_| parts.special.is_none()).ok_or_else(syntax)?;
    let today = || Some(context.zone.to_local(context.now?).ok()?.div_euclid(DAY_MICROS));
    let (zone, day) = match &parts.zone {
        Some(ZoneText::Offset(seconds)) => return Ok(TimeTz::new(micros, *seconds)),
        Some(ZoneText::Zone(zone @ Zone::Abbreviation(_))) => (zone, day.or_else(today)),
        Some(ZoneText::Zone(zone)) => (zone, day),
        None => (&context.zone, day.or_else(today)),
    };
    if zone.is_fixed() {
        return Ok(TimeTz::new(micros, zone.offset_at(0)));
    }
    let local = local_time(day.ok_or_else(syntax)?, micros).map_err(fail)?;
    Ok(TimeTz::new(micros, zone.offset_of_local(local)))
}

/// `timestamp` input; a zone is read and ignored.
pub fn parse_timestamp(text: &str, context: &DateContext) -> Result<i64, ValueError> {
    let fail = |failure| error(failure, text, "timestamp");
    let parts = MomentParts::read(text, context).map_err(fail)?;
    match parts.special {
        Some(Special::Moment(moment)) => context.zone.to_local(moment),
        Some(special) => Ok(special.timestamp()),
        None => parts.local(context).map_err(fail)?.ok_or_else(|| fail(DatetimeFailure::Syntax)),
    }
}

/// `timestamptz` input; without a zone, the text is in the session's.
pub fn parse_timestamptz(text: &str, context: &DateContext) -> Result<i64, ValueError> {
    let fail = |failure| error(failure, text, "timestamp with time zone");
    let parts = MomentParts::read(text, context).map_err(fail)?;
    if let Some(special) = parts.special {
        return Ok(special.timestamp());
    }
    // Its local time may be out of range where the moment is not.
    let (days, micros) = parts.day_and_time(context).map_err(fail)?.ok_or_else(|| fail(DatetimeFailure::Syntax))?;
    let local = local_time(days, micros).map_err(fail)?;
    let offset = match &parts.zone {
        Some(ZoneText::Offset(seconds)) => *seconds,
        Some(ZoneText::Zone(zone)) => zone.offset_of_local(local),
        None => context.zone.offset_of_local(local),
    };
    let moment = local.checked_sub(i64::from(offset) * SECOND_MICROS).ok_or_else(|| fail(DatetimeFailure::Range))?;
    super::check_timestamp(moment).map_err(|_| fail(DatetimeFailure::Range))
}

/// A local time that may be out of range by a day, as one is whose zone is far from UTC.
fn local_time(days: i64, micros: i64) -> Result<i64, DatetimeFailure> {
    let is_near = (super::DATE_MIN - 1..=super::TIMESTAMP_END / DAY_MICROS).contains(&days);
    if is_near { Ok(days * DAY_MICROS + micros) } else { Err(DatetimeFailure::Range) }
}

#[derive(Clone, Copy, PartialEq)]
enum Special {
    Infinity,
    NegativeInfinity,
    Epoch,
    Moment(i64),
}

impl Special {
    fn timestamp(self) -> i64 {
        match self {
            Special::Infinity => TIMESTAMP_INFINITY,
            Special::NegativeInfinity => TIMESTAMP_NEGATIVE_INFINITY,
            Special::Epoch => UNIX_EPOCH_DAY * DAY_MICROS,
            Special::Moment(moment) => moment,
        }
    }
}

enum ZoneText {
    Offset(i32),
    Zone(Zone),
}

/// What the text says, before it is put together.
#[derive(Default)]
struct MomentParts {
    /// Numbers of the date, in the order written, with their count of digits.
    numbers: Vec<(i64, usize)>,
    /// The month by name, and how many numbers stood before it.
    month: Option<(u32, usize)>,
    julian_day: Option<i64>,
    /// A date written without separators: year, month, day, and whether the year had two digits.
    compact: Option<(i64, u32, u32, bool)>,
    /// Day of the year, with `compact`'s year.
    day_of_year: Option<(i64, i64)>,
    time: Option<i64>,
    zone: Option<ZoneText>,
    is_before_christ: bool,
    has_era: bool,
    has_weekday: bool,
    meridian: Option<bool>,
    special: Option<Special>,
    /// A day that 'today', 'tomorrow' or 'yesterday' names.
    relative_day: Option<i64>,
    /// Year, month, day, hour, minute and second, each behind its letter: `Y2001M12D27H04M05S06`.
    lettered: [Option<i64>; 6],
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The number of a month by its name or abbreviation.
pub(crate) fn month_by_name(word: &str) -> Option<u32> {
    let lower = word.to_ascii_lowercase();
    if lower == "sept" {
        return Some(9);
    }
    let found = MONTHS.iter().position(|month| *month == lower || (lower.len() == 3 && month.starts_with(&lower)));
    found.map(|place| place as u32 + 1)
}

fn is_weekday(word: &str) -> bool {
    ["tues", "thur", "thurs", "wedn"].contains(&word)
        || WEEKDAYS.iter().any(|day| *day == word || (word.len() == 3 && day.starts_with(word)))
}

impl MomentParts {
    fn read(text: &str, context: &DateContext) -> Result<MomentParts, DatetimeFailure> {
        MomentParts::read_tokens(text, context, false)
    }

    fn read_time_first(text: &str, context: &DateContext) -> Result<MomentParts, DatetimeFailure> {
        MomentParts::read_tokens(text, context, true)
    }

    fn read_tokens(text: &str, context: &DateContext, time_first: bool) -> Result<MomentParts, DatetimeFailure> {
        let mut parts = MomentParts::default();
        let mut rest = text;
        let mut count = 0;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
            let Some(first) = rest.bytes().next() else { break };
            count += 1;
            let length = match first {
                b'0'..=b'9' => parts.number(rest, time_first)?,
                b'+' | b'-' => parts.signed(rest)?,
                b'a'..=b'z' | b'A'..=b'Z' => parts.word(rest, context)?,
                _ => return Err(DatetimeFailure::Syntax),
            };
            rest = &rest[length..];
        }
        if count == 0 || (parts.special.is_some() && (count > 1 || parts.has_date())) {
            return Err(DatetimeFailure::Syntax);
        }
        let date = &parts.lettered[..3];
        if date.iter().any(Option::is_some) && !date.iter().all(Option::is_some) {
            return Err(DatetimeFailure::Syntax);
        }
        parts.apply_meridian()?;
        Ok(parts)
    }

    fn has_date(&self) -> bool {
        !self.numbers.is_empty()
            || self.month.is_some()
            || self.compact.is_some()
            || self.julian_day.is_some()
            || self.day_of_year.is_some()
            || self.relative_day.is_some()
    }

    fn date_is_complete(&self) -> bool {
        self.numbers.len() + usize::from(self.month.is_some()) >= 3
            || self.compact.is_some()
            || self.julian_day.is_some()
            || self.day_of_year.is_some()
            || self.relative_day.is_some()
    }

    /// A token that begins with a digit: a time, a date with separators, or a plain number.
    fn number(&mut self, rest: &str, time_first: bool) -> Result<usize, DatetimeFailure> {
        let bytes = rest.as_bytes();
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match bytes.get(digits) {
            Some(b':') => {
                let length = bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b':' || **b == b'.').count();
                self.clock(&rest[..length])?;
                Ok(length)
            }
            Some(b'-' | b'/' | b'.') if !(self.date_is_complete() || time_first && digits == 6) => {
                // PostgreSQL takes this for a zone, and fails.
                if self.time.is_some() && !time_first {
                    return Err(DatetimeFailure::Syntax);
                }
                self.separated_date(rest, digits)
            }
            Some(b'.') => {
                let fraction = bytes[digits + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                self.compact_time(&rest[..digits], &rest[digits..digits + 1 + fraction])?;
                Ok(digits + 1 + fraction)
            }
            _ => {
                self.plain_number(&rest[..digits], time_first)?;
                Ok(digits)
            }
        }
    }

    fn separated_date(&mut self, rest: &str, first: usize) -> Result<usize, DatetimeFailure> {
        // As in PostgreSQL, behind a time, a weekday or an era no such date is read.
        if self.time.is_some() || self.has_weekday || self.has_era || self.meridian.is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        let bytes = rest.as_bytes();
        let separator = bytes[first];
        let mut start = 0;
        let mut end = first;
        loop {
            let part = &rest[start..end];
            match part.parse::<i64>() {
                Ok(number) if part.len() < 10 => self.numbers.push((number, part.len())),
                Ok(_) => return Err(DatetimeFailure::Field),
                Err(_) => self.named_month(part)?,
            }
            if bytes.get(end) != Some(&separator) {
                break;
            }
            let is_second_number = start > 0 && bytes[start].is_ascii_digit();
            start = end + 1;
            let is_digit = bytes.get(start).is_some_and(u8::is_ascii_digit);
            if is_second_number && !is_digit {
                return Err(DatetimeFailure::Syntax);
            }
            let same = |byte: &&u8| if is_digit { byte.is_ascii_digit() } else { byte.is_ascii_alphabetic() };
            end = start + bytes[start..].iter().take_while(same).count();
            if end == start {
                return Err(DatetimeFailure::Syntax);
            }
        }
        let total = self.numbers.len() + usize::from(self.month.is_some());
        // yyyy.ddd and yyyy-ddd are a year and a day of it.
        if total == 2 && self.month.is_none() && self.numbers[0].1 >= 4 && self.numbers[1].1 == 3 {
            self.day_of_year = Some((self.numbers[0].0, self.numbers[1].0));
            self.numbers.clear();
            return Ok(end);
        }
        if total > 3 {
            return Err(DatetimeFailure::Syntax);
        }
        Ok(end)
    }

    fn named_month(&mut self, word: &str) -> Result<(), DatetimeFailure> {
        let month = month_by_name(word).ok_or(DatetimeFailure::Syntax)?;
        if self.month.is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        self.month = Some((month, self.numbers.len()));
        Ok(())
    }

    fn plain_number(&mut self, digits: &str, time_first: bool) -> Result<(), DatetimeFailure> {
        let value = || digits.parse::<i64>().map_err(|_| DatetimeFailure::Field);
        if self.date_is_complete() || (time_first && !self.has_date() && matches!(digits.len(), 4 | 6)) {
            return self.compact_time(digits, "");
        }
        if !self.has_date() && digits.len() >= 6 {
            let (year, month_day) = digits.split_at(digits.len() - 4);
            let part = |text: &str| text.parse::<u32>().map_err(|_| DatetimeFailure::Field);
            let year_value = year.parse::<i64>().map_err(|_| DatetimeFailure::Field)?;
            self.compact = Some((year_value, part(&month_day[..2])?, part(&month_day[2..])?, year.len() == 2));
            return Ok(());
        }
        if self.numbers.len() == 1 && self.month.is_none() && digits.len() == 3 && self.numbers[0].1 >= 4 {
            self.day_of_year = Some((self.numbers[0].0, value()?));
            self.numbers.clear();
            return Ok(());
        }
        self.numbers.push((value()?, digits.len()));
        Ok(())
    }

    fn set_time(&mut self, micros: i64) -> Result<(), DatetimeFailure> {
        if self.time.is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        self.time = Some(micros);
        Ok(())
    }

    /// `hhmm` or `hhmmss`, with a fraction.
    fn compact_time(&mut self, digits: &str, fraction: &str) -> Result<(), DatetimeFailure> {
        let part = |range: std::ops::Range<usize>| digits[range].parse::<i64>().map_err(|_| DatetimeFailure::Syntax);
        let (hour, minute, second) = match digits.len() {
            4 => (part(0..2)?, part(2..4)?, 0),
            6 => (part(0..2)?, part(2..4)?, part(4..6)?),
            _ => return Err(DatetimeFailure::Syntax),
        };
        let micros = clock_micros(hour, minute, second, fraction_micros(fraction)?)?;
        self.set_time(micros)
    }

    /// `hh:mm[:ss[.ffffff]]`
    fn clock(&mut self, token: &str) -> Result<(), DatetimeFailure> {
        let mut pieces = token.split(':');
        let number = |text: Option<&str>| -> Result<i64, DatetimeFailure> {
            text.filter(|text| !text.is_empty())
                .ok_or(DatetimeFailure::Syntax)?
                .parse()
                .map_err(|_| DatetimeFailure::Field)
        };
        let hour = number(pieces.next())?;
        let minute_text = pieces.next();
        let second_text = pieces.next();
        if pieces.next().is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        let (minute, second, fraction) = match second_text {
            Some(second) => {
                let (whole, fraction) = second.split_at(second.find('.').unwrap_or(second.len()));
                (
                    number(minute_text)?,
                    if whole.is_empty() { 0 } else { number(Some(whole))? },
                    fraction_micros(fraction)?,
                )
            }
            // mm:ss.f is minutes and seconds.
            None => match minute_text.and_then(|text| text.split_once('.')) {
                Some((second, fraction)) => {
                    let micros =
                        clock_micros(0, hour, number(Some(second))?, fraction_micros(&format!(".{fraction}"))?)?;
                    return self.set_time(micros);
                }
                None => (number(minute_text)?, 0, 0),
            },
        };
        self.set_time(clock_micros(hour, minute, second, fraction)?)
    }

    /// A numeric zone, or -infinity.
    fn signed(&mut self, rest: &str) -> Result<usize, DatetimeFailure> {
        let word = rest[1..].bytes().take_while(u8::is_ascii_alphabetic).count();
        if word > 0 {
            let is_infinity =
                rest[1..=word].eq_ignore_ascii_case("infinity") || rest[1..=word].eq_ignore_ascii_case("inf");
            if !is_infinity {
                return Err(DatetimeFailure::Syntax);
            }
            self.special = Some(if rest.starts_with('-') { Special::NegativeInfinity } else { Special::Infinity });
            return Ok(word + 1);
        }
        let length = rest[1..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
        if self.time.is_none() && !self.date_is_complete() {
            return Err(DatetimeFailure::Syntax);
        }
        let seconds = offset_seconds(&rest[1..=length])?;
        let seconds = if rest.starts_with('-') { -seconds } else { seconds };
        self.set_zone(ZoneText::Offset(seconds))?;
        Ok(length + 1)
    }

    fn word(&mut self, rest: &str, context: &DateContext) -> Result<usize, DatetimeFailure> {
        let bytes = rest.as_bytes();
        let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = rest[..letters].to_ascii_lowercase();
        let next = bytes.get(letters);
        if let (Some(_), Some(b'-' | b'/' | b'.')) = (month_by_name(&word), next)
            && bytes.get(letters + 1).is_some_and(u8::is_ascii_digit)
        {
            return self.separated_date(rest, letters);
        }
        if word == "j" && next.is_some_and(u8::is_ascii_digit) {
            let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.julian_day = Some(rest[1..=digits].parse().map_err(|_| DatetimeFailure::Field)?);
            return Ok(1 + digits);
        }
        if next.is_some_and(u8::is_ascii_digit)
            && let Some(place) = self.place_of_letter(&word)
        {
            return Ok(letters + self.lettered_part(place, &rest[letters..])?);
        }
        // The T of ISO 8601.
        if word == "t" && next.is_some_and(u8::is_ascii_digit) {
            if self.has_date() && !self.date_is_complete() {
                return Err(DatetimeFailure::Syntax);
            }
            let token = &rest[1..];
            let digits = token.bytes().take_while(u8::is_ascii_digit).count();
            if token.as_bytes().get(digits) == Some(&b':') {
                return Ok(1 + self.number(token, true)?);
            }
            let fraction = token[digits..].bytes().take_while(|b| *b == b'.' || b.is_ascii_digit()).count();
            self.compact_time(&token[..digits], &token[digits..digits + fraction])?;
            return Ok(1 + digits + fraction);
        }
        if self.keyword(&word, context)? {
            // "mon." and the like
            return Ok(letters + usize::from(next == Some(&b'.')));
        }
        // A name with more than letters in it is never an abbreviation: `America/New_York`, `EST5EDT`, `GMT+3`.
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"/_-+:.".contains(byte);
        let length = bytes.iter().take_while(is_name).count();
        if length == letters {
            return self.zone_word(&rest[..letters]).map(|()| letters);
        }
        let zone = Zone::named(&rest[..length]).ok_or_else(|| match self.date_is_complete() {
            true => DatetimeFailure::Zone(rest[..length].to_ascii_lowercase()),
            false => DatetimeFailure::Syntax,
        })?;
        self.set_zone(ZoneText::Zone(zone))?;
        Ok(length)
    }

    fn zone_word(&mut self, name: &str) -> Result<(), DatetimeFailure> {
        let zone = abbreviation(name).or_else(|| Zone::find_full(name)).ok_or(DatetimeFailure::Syntax)?;
        self.set_zone(ZoneText::Zone(zone))
    }

    fn set_zone(&mut self, zone: ZoneText) -> Result<(), DatetimeFailure> {
        if self.zone.is_some() {
            return Err(DatetimeFailure::Syntax);
        }
        self.zone = Some(zone);
        Ok(())
    }

    fn keyword(&mut self, word: &str, context: &DateContext) -> Result<bool, DatetimeFailure> {
        if let Some(month) = month_by_name(word) {
            if self.month.is_some() {
                return Err(DatetimeFailure::Syntax);
            }
            self.month = Some((month, self.numbers.len()));
            return Ok(true);
        }
        self.has_weekday |= is_weekday(word);
        if is_weekday(word) || matches!(word, "at" | "on") {
            return Ok(true);
        }
        match word {
            "infinity" | "inf" => self.special = Some(Special::Infinity),
            "epoch" => self.special = Some(Special::Epoch),
            "now" => self.special = Some(Special::Moment(context.now.ok_or(DatetimeFailure::Syntax)?)),
            "today" | "tomorrow" | "yesterday" => {
                let now = context.now.ok_or(DatetimeFailure::Syntax)?;
                let local = context.zone.to_local(now).map_err(|_| DatetimeFailure::Range)?;
                let shift = match word {
                    "tomorrow" => 1,
                    "yesterday" => -1,
                    _ => 0,
                };
                self.relative_day = Some(local.div_euclid(DAY_MICROS) + shift);
            }
            "allballs" => {
                self.set_time(0)?;
                self.zone = Some(ZoneText::Offset(0));
            }
            "am" | "pm" => self.meridian = Some(word == "pm"),
            "ad" | "bc" => {
                if self.has_era {
                    return Err(DatetimeFailure::Syntax);
                }
                self.has_era = true;
                self.is_before_christ = word == "bc";
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn apply_meridian(&mut self) -> Result<(), DatetimeFailure> {
        let Some(is_afternoon) = self.meridian else { return Ok(()) };
        // "8 PM": the last number is the hour.
        if self.time.is_none() {
            return Err(DatetimeFailure::Syntax);
        }
        let micros = self.time.unwrap_or(0);
        if micros >= 13 * HOUR_MICROS {
            return Err(DatetimeFailure::Field);
        }
        let morning = micros % (12 * HOUR_MICROS);
        self.time = Some(if is_afternoon { morning + 12 * HOUR_MICROS } else { morning });
        Ok(())
    }

    /// Days from 2000-01-01; none if there is no date.
    fn days(&self, context: &DateContext) -> Result<Option<i64>, DatetimeFailure> {
        if let Some(day) = self.relative_day {
            return Ok(Some(day));
        }
        if let Some(day) = self.julian_day {
            return Ok(Some(day - EPOCH_JULIAN_DAY));
        }
        if let Some((year, day)) = self.day_of_year {
            if !(1..=366).contains(&day) {
                return Err(DatetimeFailure::Field);
            }
            return Ok(Some(super::days_from_civil(year, 1, 1) + day - 1));
        }
        let (year, month, day, digits) = match (self.compact, self.month, self.numbers.as_slice()) {
            (Some((year, month, day, is_short)), None, []) => {
                (year, i64::from(month), i64::from(day), if is_short { 2 } else { 4 })
            }
            (None, None, []) => return Ok(None),
            (None, Some((month, before)), [a, b]) => {
                let begins_with_year = a.1 >= 3 || context.order == DateOrder::Ymd;
                // A month behind two numbers finds the second taken for a month, which then was the day.
                if before == 2 && !(begins_with_year && (1..=31).contains(&b.0)) {
                    return Err(DatetimeFailure::Syntax);
                }
                // Three digits or more are a year's all the same.
                let is_year_first = begins_with_year && (a.1 >= 3 || b.1 < 3 || before == 2);
                let (year, day) = if is_year_first { (a, b) } else { (b, a) };
                (year.0, i64::from(month), day.0, year.1)
            }
            (None, None, [a, b, c]) => {
                if a.1 >= 3 || context.order == DateOrder::Ymd {
                    (a.0, b.0, c.0, a.1)
                } else if context.order == DateOrder::Dmy {
                    (c.0, b.0, a.0, c.1)
                } else {
                    (c.0, a.0, b.0, c.1)
                }
            }
            _ => return Err(DatetimeFailure::Syntax),
        };
        self.checked_days(year, month, day, digits).map(Some)
    }

    fn checked_days(&self, year: i64, month: i64, day: i64, digits: usize) -> Result<i64, DatetimeFailure> {
        let year = if self.is_before_christ {
            if year <= 0 {
                return Err(DatetimeFailure::Field);
            }
            1 - year
        } else if digits <= 2 {
            year + if year < 70 { 2000 } else { 1900 }
        } else if year == 0 {
            return Err(DatetimeFailure::Field);
        } else {
            year
        };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(DatetimeFailure::MonthOrDay);
        }
        if day > i64::from(days_in_month(year, month as u32)) {
            return Err(DatetimeFailure::Field);
        }
        if year > 6_000_000 {
            return Err(DatetimeFailure::Range);
        }
        Ok(super::days_from_civil(year, month as u32, day as u32))
    }

    fn day_and_time(&self, context: &DateContext) -> Result<Option<(i64, i64)>, DatetimeFailure> {
        Ok(self.days(context)?.map(|days| (days, self.time.unwrap_or(0))))
    }

    fn local(&self, context: &DateContext) -> Result<Option<i64>, DatetimeFailure> {
        let Some(days) = self.days(context)? else { return Ok(None) };
        let (year, month, day) = civil_from_days(days);
        let civil = Civil { year, month, day, micros: self.time.unwrap_or(0) };
        civil.to_timestamp().map(Some).map_err(|_| DatetimeFailure::Range)
    }
}
