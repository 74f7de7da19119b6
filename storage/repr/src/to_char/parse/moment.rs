//! `.datetime()` of a path: a text by a template, whose fields say what it is. Held to the template strictly.

use super::{DatetimePiece, Pattern, Read, is_space, pieces};
use crate::ValueError;
use crate::datetime::arithmetic::date_to_timestamp;
use crate::datetime::{
    Civil, SECOND_MICROS, Zone, check_date, check_timestamp, civil_from_days, format_date, format_timestamp,
    round_to_precision, write_time,
};
use std::cmp::Ordering;
use std::fmt::Write;

/// A date or a time, of one of five types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// The same, and seconds east of UTC.
    Timetz(i64, i32),
    /// Microseconds since 2000-01-01 00:00:00.
    Timestamp(i64),
    /// The same in UTC, and seconds east of it as they were written.
    Timestamptz(i64, i32),
}

/// Why a text is none by a template.
pub enum Misfit {
    /// The template is none.
    Template(ValueError),
    /// The text does not fit to it.
    Text(ValueError),
}

fn format_error(message: impl Into<String>) -> ValueError {
    ValueError::new("22007", message)
}

fn out_of_range(message: impl Into<String>) -> ValueError {
    ValueError::new("22008", message)
}

/// What the templates' pieces are about.
struct Fields {
    is_dated: bool,
    is_timed: bool,
    is_zoned: bool,
}

impl Moment {
    /// Reads a text by a template.
    ///
    /// # Errors
    /// 22007, 22008 and 0A000 as PostgreSQL has them.
    pub fn parse(text: &str, template: &str) -> Result<Moment, Misfit> {
        let pieces = pieces(template);
        check_separators(&pieces).map_err(Misfit::Template)?;
        moment(text, &pieces).map_err(Misfit::Text)
    }

    /// SQL's name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::Timetz(..) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::Timestamptz(..) => "timestamp with time zone",
        }
    }

    /// As JSON has it: ISO 8601.
    pub fn to_text(&self) -> String {
        match self {
            Moment::Date(days) => format_date(*days),
            Moment::Time(micros) => time_text(*micros),
            Moment::Timetz(micros, offset) => time_text(*micros) + &offset_text(*offset),
            Moment::Timestamp(micros) => format_timestamp(*micros).replacen(' ', "T", 1),
            Moment::Timestamptz(micros, offset) => {
                let local = micros + i64::from(*offset) * SECOND_MICROS;
                let mut shown = format_timestamp(local).replacen(' ', "T", 1);
                let era = shown.find(" BC").unwrap_or(shown.len());
                shown.insert_str(era, &offset_text(*offset));
                shown
            }
        }
    }

    /// The order of two; none if their types have none. What asks for a zone is refused without one, and an offset of the
    /// session's today is asked for once that is needed.
    ///
    /// # Errors
    /// 0A000 for that.
    pub fn compare(
        &self,
        other: &Moment,
        zone: Option<&dyn Fn() -> (Zone, i64)>,
    ) -> Result<Option<Ordering>, ValueError> {
        use Moment::{Date, Time, Timestamp, Timestamptz, Timetz};
        let zoned = |from: &str, to: &str| {
            zone.map(|zone| zone()).ok_or_else(|| ValueError {
                hint: Some("Use *_tz() function for time zone support.".to_owned()),
                ..ValueError::new("0A000", format!("cannot convert value from {from} to {to} without time zone usage"))
            })
        };
        Ok(Some(match (self, other) {
            (Date(a), Date(b)) => a.cmp(b),
            (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) | (Timestamptz(a, _), Timestamptz(b, _)) => a.cmp(b),
            (Timetz(a, a_offset), Timetz(b, b_offset)) => timetz_order((*a, *a_offset), (*b, *b_offset)),
            (Date(days), Timestamp(micros)) => date_order(*days, *micros),
            (Date(days), Timestamptz(micros, _)) => {
                let (zone, _) = zoned("date", "timestamptz")?;
                date_to_timestamp(*days).map_or(Ordering::Greater, |local| local_order(local, *micros, &zone))
            }
            (Timestamp(local), Timestamptz(micros, _)) => {
                local_order(*local, *micros, &zoned("timestamp", "timestamptz")?.0)
            }
            (Time(a), Timetz(b, offset)) => {
                let (zone, now) = zoned("time", "timetz")?;
                timetz_order((*a, offset_today(*a, &zone, now)), (*b, *offset))
            }
            (Timestamp(_), Date(_)) | (Timestamptz(..), Date(_) | Timestamp(_)) | (Timetz(..), Time(_)) => {
                return Ok(other.compare(self, zone)?.map(Ordering::reverse));
            }
            (Date(_) | Timestamp(_) | Timestamptz(..), Time(_) | Timetz(..))
            | (Time(_) | Timetz(..), Date(_) | Timestamp(_) | Timestamptz(..)) => return Ok(None),
        }))
    }
}

/// A date is its midnight; one that no timestamp reaches is later than all.
fn date_order(days: i32, micros: i64) -> Ordering {
    date_to_timestamp(days).map_or(Ordering::Greater, |midnight| midnight.cmp(&micros))
}

fn local_order(local: i64, micros: i64, zone: &Zone) -> Ordering {
    match zone.to_utc(local) {
        Ok(moment) => moment.cmp(&micros),
        // Beyond the first or the last moment.
        Err(_) => local.cmp(&0),
    }
}

/// By moment, then the one that is farther east first.
fn timetz_order(a: (i64, i32), b: (i64, i32)) -> Ordering {
    let moment = |(micros, offset): (i64, i32)| micros - i64::from(offset) * SECOND_MICROS;
    moment(a).cmp(&moment(b)).then_with(|| b.1.cmp(&a.1))
}

/// The offset that a time of day has in a zone on the day of `now`.
fn offset_today(micros: i64, zone: &Zone, now: i64) -> i32 {
    let local_now = zone.to_local(now).unwrap_or(now);
    let midnight = local_now - local_now.rem_euclid(crate::datetime::DAY_MICROS);
    zone.offset_of_local(midnight + micros)
}

fn time_text(micros: i64) -> String {
    let mut out = String::new();
    write_time(&mut out, micros);
    out
}

/// `+hh:mm`
fn offset_text(offset: i32) -> String {
    let mut out = String::new();
    let minutes = offset.unsigned_abs() / 60;
    let sign = if offset < 0 { '-' } else { '+' };
    write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60).expect("writing to a String does not fail");
    out
}

/// Between patterns stand few characters, or any in quotes.
fn check_separators(pieces: &[DatetimePiece]) -> Result<(), ValueError> {
    for piece in pieces {
        if let DatetimePiece::Literal(character, false) = piece
            && !"-./,':; ".contains(*character)
        {
            return Err(format_error(format!("invalid datetime format separator: \"{character}\"")));
        }
    }
    Ok(())
}

/// What the patterns are about.
fn fields(pieces: &[DatetimePiece]) -> Result<Fields, ValueError> {
    let mut fields = Fields { is_dated: false, is_timed: false, is_zoned: false };
    for piece in pieces {
        let DatetimePiece::Pattern { spelling, .. } = piece else { continue };
        let name = spelling.to_ascii_uppercase();
        match name.as_str() {
            "FX" => {}
            "TZ" | "OF" => {
                let message = format!("formatting field \"{spelling}\" is only supported in to_char");
                return Err(ValueError::new("0A000", message));
            }
            "TZH" | "TZM" => fields.is_zoned = true,
            "AM" | "PM" | "A.M." | "P.M." | "HH" | "HH12" | "HH24" | "MI" | "SS" | "MS" | "US" | "SSSS" | "SSSSS"
            | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => fields.is_timed = true,
            _ => fields.is_dated = true,
        }
    }
    Ok(fields)
}

/// The fields of a text that has all of a template, and nothing else.
fn read(text: &str, pieces: &[DatetimePiece]) -> Result<Read, ValueError> {
    let mut read = Read::default();
    let mut rest = text;
    for (place, piece) in pieces.iter().enumerate() {
        let Some(first) = rest.chars().next() else {
            return Err(format_error("input string is too short for datetime format"));
        };
        match piece {
            DatetimePiece::Literal(character, _) if first == *character => rest = &rest[first.len_utf8()..],
            DatetimePiece::Literal(character, is_quoted) => {
                let kind = if *is_quoted { "character" } else { "separator" };
                return Err(format_error(format!("unmatched format {kind} \"{character}\"")));
            }
            DatetimePiece::Pattern { spelling, .. } if spelling.eq_ignore_ascii_case("FX") => {}
            DatetimePiece::Pattern { .. } => rest = read.pattern(&Pattern::at(pieces, place), rest, false)?,
        }
    }
    if !rest.trim_start_matches(is_space).is_empty() {
        return Err(format_error("trailing characters remain in input string after datetime format"));
    }
    Ok(read)
}

fn moment(text: &str, pieces: &[DatetimePiece]) -> Result<Moment, ValueError> {
    let read = read(text, pieces)?;
    let fields = fields(pieces)?;
    let clock = read.clock()?;
    let (days, micros, offset) = (read.days(text)?, clock.micros(text)?, read.offset(text)?);
    let rounded = |micros: i64| round_to_precision(micros, read.fraction_digits.unwrap_or(-1));
    let missing = |kind: &str| format_error(format!("missing time zone in input string for type {kind}"));
    match (fields.is_dated, fields.is_timed, fields.is_zoned) {
        (true, true, is_zoned) => {
            let kind = if is_zoned { "timestamptz" } else { "timestamp" };
            let too_far = |_| out_of_range(format!("{kind} out of range"));
            let (year, month, day) = civil_from_days(days);
            let local = Civil { year, month, day, micros }.to_timestamp().map_err(too_far)?;
            if !is_zoned {
                return Ok(Moment::Timestamp(rounded(local)));
            }
            let offset = offset.ok_or_else(|| missing(kind))?;
            let moment = check_timestamp(local - i64::from(offset) * SECOND_MICROS).map_err(too_far)?;
            Ok(Moment::Timestamptz(rounded(moment), offset))
        }
        (true, false, true) => Err(format_error("datetime format is zoned but not timed")),
        (true, false, false) => {
            let date = check_date(days).map_err(|_| out_of_range(format!("date out of range: \"{text}\"")))?;
            Ok(Moment::Date(date))
        }
        (false, true, true) => Ok(Moment::Timetz(rounded(micros), offset.ok_or_else(|| missing("timetz"))?)),
        (false, true, false) => Ok(Moment::Time(rounded(micros))),
        (false, false, _) => Err(format_error("datetime format is not dated and not timed")),
    }
}
