//! Input of intervals: `1 year 2 mons`, `1-2`, `3 04:05:06`, `P1Y2M`, `… ago`.

use super::{Interval, IntervalStyle};
use crate::ValueError;
use crate::datetime::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    /// So many microseconds.
    Micros(i64),
    Days,
    Weeks,
    Months,
    /// So many years.
    Years(i64),
}

/// How many letters of a unit's name count.
const UNIT_LETTERS_MAX: usize = 10;

fn unit(word: &str) -> Option<Unit> {
    Some(match word.get(..UNIT_LETTERS_MAX).unwrap_or(word) {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Micros(1),
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Micros(1000),
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Micros(SECOND_MICROS),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Micros(MINUTE_MICROS),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Micros(HOUR_MICROS),
        "d" | "day" | "days" => Unit::Days,
        "w" | "week" | "weeks" => Unit::Weeks,
        "mon" | "mons" | "month" | "months" => Unit::Months,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Years(1),
        "dec" | "decs" | "decade" | "decades" => Unit::Years(10),
        "c" | "cent" | "century" | "centuries" => Unit::Years(100),
        "mil" | "mils" | "millennium" | "millennia" => Unit::Years(1000),
        _ => return None,
    })
}

enum IntervalFailure {
    Syntax,
    Field,
    Range,
}

/// Sums before they are known to fit.
#[derive(Default)]
struct Sums {
    years: i128,
    months: i128,
    days: i128,
    micros: i128,
    /// Units met so far: each may come once.
    seen: Vec<Unit>,
}

impl Sums {
    fn note(&mut self, unit: Unit) -> Result<(), IntervalFailure> {
        if self.seen.contains(&unit) {
            return Err(IntervalFailure::Syntax);
        }
        self.seen.push(unit);
        Ok(())
    }

    /// Adds `whole` and `fraction` (of the same sign) of a unit; a fraction spills into the next smaller parts.
    fn add(&mut self, whole: i64, fraction: f64, unit: Unit) {
        match unit {
            Unit::Micros(scale) => {
                self.micros += i128::from(whole) * i128::from(scale);
                self.micros += rounded(fraction * scale as f64);
            }
            Unit::Days => {
                self.days += i128::from(whole);
                self.add_day_fraction(fraction);
            }
            Unit::Weeks => {
                self.days += i128::from(whole) * 7;
                self.add_days(fraction * 7.0);
            }
            Unit::Months => {
                self.months += i128::from(whole);
                self.add_days(fraction * 30.0);
            }
            Unit::Years(scale) => {
                self.years += i128::from(whole) * i128::from(scale);
                self.months += (fraction * scale as f64 * 12.0).round_ties_even() as i128;
            }
        }
    }

    fn add_days(&mut self, days: f64) {
        self.days += days.trunc() as i128;
        self.add_day_fraction(days - days.trunc());
    }

    fn add_day_fraction(&mut self, fraction: f64) {
        self.micros += rounded(fraction * DAY_MICROS as f64);
    }

    fn finish(self, is_ago: bool) -> Result<Interval, IntervalFailure> {
        let sign = if is_ago { -1 } else { 1 };
        let field = |sum: i128| i32::try_from(sum * sign).map_err(|_| IntervalFailure::Field);
        let (years, months, days) = (field(self.years)?, field(self.months)?, field(self.days)?);
        let micros = i64::try_from(self.micros * sign).map_err(|_| IntervalFailure::Field)?;
        let months = years.checked_mul(12).and_then(|of_years| of_years.checked_add(months));
        Ok(Interval { months: months.ok_or(IntervalFailure::Range)?, days, micros })
    }
}

/// To the nearest; what stands in the middle goes towards zero.
fn rounded(value: f64) -> i128 {
    let whole = value.trunc();
    let rest = value - whole;
    whole as i128 + i128::from(rest > 0.5) - i128::from(rest < -0.5)
}

impl Interval {
    /// `interval` input, with the type's modifier (-1 for none): `'1' year` reads the number as years. In SQL's style a minus
    /// before the first of several parts is before them all, unless another part has a sign too.
    pub fn parse(text: &str, modifier: i32, style: IntervalStyle) -> Result<Interval, ValueError> {
        let trimmed = text.trim();
        let parsed = if trimmed.starts_with(['P', 'p']) {
            parse_iso(&trimmed[1..])
        } else {
            parse_words(trimmed, modifier, style)
        };
        match parsed {
            Ok(interval) => Ok(interval.apply_modifier(modifier)),
            Err(IntervalFailure::Syntax) => {
                Err(ValueError::new("22007", format!("invalid input syntax for type interval: \"{text}\"")))
            }
            Err(IntervalFailure::Range) => Err(super::out_of_range()),
            Err(IntervalFailure::Field) => {
                Err(ValueError::new("22015", format!("interval field value out of range: \"{text}\"")))
            }
        }
    }
}

impl std::str::FromStr for Interval {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Interval, ValueError> {
        Interval::parse(text, -1, IntervalStyle::Postgres)
    }
}

/// A number's whole part and fraction, both with its sign.
fn split_number(text: &str) -> Result<(i64, f64), IntervalFailure> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return Err(IntervalFailure::Syntax);
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| IntervalFailure::Field)? };
    let fraction: f64 = format!("0.{fraction}0").parse().map_err(|_| IntervalFailure::Syntax)?;
    Ok(if negative { (-whole, -fraction) } else { (whole, fraction) })
}

/// The same of ISO 8601's forms, which PostgreSQL reads as doubles.
fn split_double(text: &str) -> Result<(i64, f64), IntervalFailure> {
    split_number(text.strip_prefix('-').unwrap_or(text)).map(|_| ()).or_else(|failure| match failure {
        IntervalFailure::Field => Ok(()),
        IntervalFailure::Syntax | IntervalFailure::Range => Err(failure),
    })?;
    let value: f64 = text.parse().map_err(|_| IntervalFailure::Syntax)?;
    if value.abs() > 1e15 {
        return Err(IntervalFailure::Field);
    }
    Ok((value.trunc() as i64, value - value.trunc()))
}

/// What seconds with a fraction say all of.
const PARTS_OF_SECONDS: [i64; 3] = [SECOND_MICROS, 1000, 1];

/// What a number without a unit means under a modifier's range.
fn default_unit(modifier: i32) -> Unit {
    let (range, _) = crate::types::decode_interval_modifier(modifier);
    let has = |bit: i32| range.is_none_or(|range| range & (1 << bit) != 0);
    if has(12) {
        Unit::Micros(SECOND_MICROS)
    } else if has(11) {
        Unit::Micros(MINUTE_MICROS)
    } else if has(10) {
        Unit::Micros(HOUR_MICROS)
    } else if has(3) {
        Unit::Days
    } else if has(1) {
        Unit::Months
    } else {
        Unit::Years(1)
    }
}

fn tokens(text: &str) -> Result<Vec<String>, IntervalFailure> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '@' || c == ',');
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let length = if first.is_ascii_alphabetic() {
            rest.bytes().take_while(u8::is_ascii_alphanumeric).count()
        } else {
            // A sign may stand apart from its number; a minus inside is years-months.
            let unsigned = rest.strip_prefix(['+', '-']).map_or(rest, str::trim_start);
            let sign = rest.len() - unsigned.len();
            let body = unsigned.bytes().take_while(|b| b.is_ascii_digit() || b".:-".contains(b)).count();
            if body == 0 {
                return Err(IntervalFailure::Syntax);
            }
            sign + body
        };
        tokens.push(rest[..length].split_ascii_whitespace().collect());
        rest = &rest[length..];
    }
}

fn parse_words(text: &str, modifier: i32, style: IntervalStyle) -> Result<Interval, IntervalFailure> {
    let tokens = tokens(text)?;
    let is_signed = |token: &String| token.starts_with(['+', '-']);
    // In SQL's style a minus in front that is the only sign is each part's.
    let one_minus = style == IntervalStyle::SqlStandard
        && tokens.first().is_some_and(|first| first.starts_with('-'))
        && !tokens[1..].iter().any(is_signed);
    let mut sums = Sums::default();
    let mut is_ago = false;
    let mut place = 0;
    if tokens.is_empty() {
        return Err(IntervalFailure::Syntax);
    }
    while place < tokens.len() {
        let token = tokens[place].clone();
        let next = tokens.get(place + 1).map(String::as_str);
        place += 1;
        if token.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // Units are read with their numbers: a word here is "ago", at the end.
            if !token.eq_ignore_ascii_case("ago") || next.is_some() || place == 1 {
                return Err(IntervalFailure::Syntax);
            }
            is_ago = true;
        } else if token.contains(':') {
            for unit in [HOUR_MICROS, MINUTE_MICROS].into_iter().chain(PARTS_OF_SECONDS) {
                sums.note(Unit::Micros(unit))?;
            }
            let micros = clock(&token, modifier)?;
            sums.micros += i128::from(if one_minus { -micros.abs() } else { micros });
        } else if let Some(minus) = token[1..].find('-') {
            let months = years_months(&token, minus + 1)?;
            sums.note(Unit::Months)?;
            sums.months += if one_minus { -months.abs() } else { months };
        } else {
            let (mut whole, mut fraction) = split_number(&token)?;
            if one_minus {
                (whole, fraction) = (-whole.abs(), -fraction.abs());
            }
            let unit_at = |place: usize| tokens.get(place).and_then(|word| unit(&word.to_ascii_lowercase()));
            let unit = match next {
                None => default_unit(modifier),
                Some(word) if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    place += 1;
                    unit_at(place - 1).ok_or(IntervalFailure::Syntax)?
                }
                // Days before a time: `3 04:05:06`, `3 4 hours`.
                Some(time) if time.contains(':') => Unit::Days,
                Some(_) if unit_at(place + 1) == Some(Unit::Micros(HOUR_MICROS)) => Unit::Days,
                Some(_) if place + 1 == tokens.len() && default_unit(modifier) == Unit::Micros(HOUR_MICROS) => {
                    Unit::Days
                }
                Some(_) => return Err(IntervalFailure::Syntax),
            };
            if unit == Unit::Micros(SECOND_MICROS) && fraction != 0.0 {
                PARTS_OF_SECONDS.into_iter().try_for_each(|part| sums.note(Unit::Micros(part)))?;
            } else {
                sums.note(unit)?;
            }
            sums.add(whole, fraction, unit);
        }
    }
    sums.finish(is_ago)
}

/// The months of `1-2`.
fn years_months(token: &str, minus: usize) -> Result<i128, IntervalFailure> {
    let negative = token.starts_with('-');
    let years = token[..minus].trim_start_matches(['+', '-']);
    let number = |text: &str| -> Result<i64, IntervalFailure> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(IntervalFailure::Syntax);
        }
        text.parse().map_err(|_| IntervalFailure::Field)
    };
    let (years, months) = (number(years)?, number(&token[minus + 1..])?);
    if months >= 12 {
        return Err(IntervalFailure::Field);
    }
    let total = i128::from(years) * 12 + i128::from(months);
    Ok(if negative { -total } else { total })
}

/// `[-]hh:mm[:ss[.f]]`, or `mm:ss.f`.
fn clock(token: &str, modifier: i32) -> Result<i64, IntervalFailure> {
    let negative = token.starts_with('-');
    let pieces: Vec<&str> = token.trim_start_matches(['+', '-']).split(':').collect();
    let number = |text: &str| -> Result<i64, IntervalFailure> {
        if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| IntervalFailure::Syntax) }
    };
    let (hour, minute, second) = match pieces.as_slice() {
        [hour, minute, second] => (number(hour)?, number(minute)?, *second),
        [minute, second] if second.contains('.') || default_range_is_minute_to_second(modifier) => {
            (0, number(minute)?, *second)
        }
        [hour, minute] => (number(hour)?, number(minute)?, "0"),
        _ => return Err(IntervalFailure::Syntax),
    };
    let (second, fraction) = split_number(if second.is_empty() { "0" } else { second })?;
    if minute > 59 || second > 60 {
        return Err(IntervalFailure::Field);
    }
    let micros = hour.checked_mul(HOUR_MICROS).ok_or(IntervalFailure::Field)?;
    let micros = micros
        .checked_add(minute * MINUTE_MICROS + second * SECOND_MICROS + (fraction * 1e6).round_ties_even() as i64)
        .ok_or(IntervalFailure::Field)?;
    Ok(if negative { -micros } else { micros })
}

fn default_range_is_minute_to_second(modifier: i32) -> bool {
    crate::types::decode_interval_modifier(modifier).0 == Some(1 << 11 | 1 << 12)
}

/// ISO 8601 after the `P`, with designators: `1Y2M3DT4H5M6.7S`.
fn parse_iso(text: &str) -> Result<Interval, IntervalFailure> {
    let mut sums = Sums::default();
    let mut rest = text;
    let mut is_time = false;
    if text.is_empty() {
        return Err(IntervalFailure::Syntax);
    }
    while let Some(first) = rest.chars().next() {
        if first == 'T' {
            is_time = true;
            rest = &rest[1..];
            continue;
        }
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"+-.".contains(byte)).count();
        let designator = rest[length..].chars().next();
        if designator.is_none() || rest[..length].trim_start_matches('-').contains('-') {
            return parse_iso_alternative(text);
        }
        let (whole, fraction) = split_double(&rest[..length])?;
        let unit = match (is_time, designator) {
            (false, Some('Y')) => Unit::Years(1),
            (false, Some('M')) => Unit::Months,
            (false, Some('W')) => Unit::Weeks,
            (false, Some('D')) => Unit::Days,
            (true, Some('H')) => Unit::Micros(HOUR_MICROS),
            (true, Some('M')) => Unit::Micros(MINUTE_MICROS),
            (true, Some('S')) => Unit::Micros(SECOND_MICROS),
            (true, Some(':')) => return parse_iso_alternative(text),
            (false, Some('T')) => return parse_iso_alternative(text),
            _ => return Err(IntervalFailure::Syntax),
        };
        sums.add(whole, fraction, unit);
        rest = &rest[length + 1..];
    }
    sums.finish(false)
}

/// Digits of ISO 8601's basic form: `yyyymmdd` and `hhmmss`.
const BASIC_DATE_DIGITS: usize = 8;
const BASIC_TIME_DIGITS: usize = 6;

/// ISO 8601's other form: `0001-02-03T04:05:06`, or `00010203T040506`.
fn parse_iso_alternative(text: &str) -> Result<Interval, IntervalFailure> {
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let mut sums = Sums::default();
    if integer_digits(date) == BASIC_DATE_DIGITS && !date[1..].contains('-') {
        let (whole, fraction) = split_double(date)?;
        sums.add(whole / 10_000, 0.0, Unit::Years(1));
        sums.add(whole / 100 % 100, 0.0, Unit::Months);
        sums.add(whole % 100, fraction, Unit::Days);
    } else if !date.is_empty() {
        add_pieces(date, '-', [Unit::Years(1), Unit::Months, Unit::Days], &mut sums)?;
    }
    let [hours, minutes, seconds] = [HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS].map(Unit::Micros);
    if integer_digits(time) == BASIC_TIME_DIGITS && !time.contains(':') {
        let (whole, fraction) = split_double(time)?;
        sums.add(whole / 10_000, 0.0, hours);
        sums.add(whole / 100 % 100, 0.0, minutes);
        sums.add(whole % 100, 0.0, seconds);
        // PostgreSQL takes the fraction for one of a microsecond.
        sums.add(0, fraction, Unit::Micros(1));
    } else if !time.is_empty() {
        add_pieces(time, ':', [hours, minutes, seconds], &mut sums)?;
    }
    sums.finish(false)
}

/// How many digits stand in front of a point, behind a sign.
fn integer_digits(text: &str) -> usize {
    text.strip_prefix('-').unwrap_or(text).bytes().take_while(u8::is_ascii_digit).count()
}

fn add_pieces(text: &str, separator: char, units: [Unit; 3], sums: &mut Sums) -> Result<(), IntervalFailure> {
    let pieces: Vec<&str> = text.split(separator).collect();
    if pieces.len() > units.len() {
        return Err(IntervalFailure::Syntax);
    }
    for (piece, unit) in pieces.iter().zip(units) {
        let (whole, fraction) = split_double(piece)?;
        sums.add(whole, fraction, unit);
    }
    Ok(())
}
