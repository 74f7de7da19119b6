//! `format('%s %I %L', …)`. Arguments come as text.

use super::super::arguments::{string, text};
use super::quote::{quote_identifier, quote_literal};
use repr::{Datum, ValueError, poll};

fn bad(message: impl Into<String>) -> ValueError {
    ValueError::new("22023", message)
}

/// The text of a format with its arguments filled in.
pub(super) fn format(args: &[Datum]) -> Result<Datum, ValueError> {
    let Some((pattern, values)) = args.split_first() else { return Ok(Datum::Null) };
    if pattern.is_null() {
        return Ok(Datum::Null);
    }
    let mut result = String::new();
    let mut rest = text(pattern)?;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            result.push('%');
            rest = after;
            continue;
        }
        rest = specifier(rest, values, &mut next, &mut result)?;
    }
    result.push_str(rest);
    string(result)
}

/// Reads `[n$][-][width](s|I|L)`, appends the argument, returns what follows.
fn specifier<'a>(
    source: &'a str,
    values: &[Datum],
    next: &mut usize,
    result: &mut String,
) -> Result<&'a str, ValueError> {
    let unterminated = || ValueError {
        hint: Some("For a single \"%\" use \"%%\".".to_owned()),
        ..bad("unterminated format() type specifier")
    };
    let mut rest = source;
    let mut place = None;
    let (number, after) = leading_number(rest)?;
    if let (Some(number), Some(after)) = (number, after.strip_prefix('$')) {
        place = Some(checked_place(number)?);
        rest = after;
    }
    let (left, width, rest) = alignment(rest, values, next)?;
    let kind = rest.chars().next().ok_or_else(unterminated)?;
    if !matches!(kind, 's' | 'I' | 'L') {
        return Err(ValueError {
            hint: Some("For a single \"%\" use \"%%\".".to_owned()),
            ..bad(format!("unrecognized format() type specifier \"{kind}\""))
        });
    }
    let place = place.unwrap_or(*next + 1);
    *next = place;
    let value = values.get(place - 1).ok_or_else(|| bad("too few arguments for format()"))?;
    let shown = shown(kind, value)?;
    let fill = width.saturating_sub(shown.chars().count());
    if fill > super::BYTES_MAX {
        return Err(super::too_long());
    }
    poll::room(2 * (fill + shown.len()))?;
    if result.len() + fill + shown.len() > super::BYTES_MAX {
        return Err(super::too_long());
    }
    let (before, after) = if left { (0, fill) } else { (fill, 0) };
    super::push_repeated(result, " ", before)?;
    result.push_str(&shown);
    super::push_repeated(result, " ", after)?;
    Ok(&rest[1..])
}

fn checked_place(number: usize) -> Result<usize, ValueError> {
    match number {
        0 => Err(bad("format specifies argument 0, but arguments are numbered from 1")),
        number => Ok(number),
    }
}

/// Reads `[-][width]`, whose argument is then the one in front of the value's: whether to the left, how wide, and what follows.
fn alignment<'a>(source: &'a str, values: &[Datum], next: &mut usize) -> Result<(bool, usize, &'a str), ValueError> {
    let mut rest = source;
    let mut left = false;
    while let Some(after) = rest.strip_prefix('-') {
        left = true;
        rest = after;
    }
    let mut width = 0;
    if let Some(star) = rest.strip_prefix('*') {
        let (number, after) = leading_number(star)?;
        match number {
            Some(number) => {
                let ended = || bad("width argument position must be ended by \"$\"");
                rest = after.strip_prefix('$').ok_or_else(ended)?;
                *next = checked_place(number)?;
            }
            None => {
                rest = star;
                *next += 1;
            }
        }
        let value = values.get(*next - 1).ok_or_else(|| bad("too few arguments for format()"))?;
        if !value.is_null() {
            let signed: i64 = text(value)?.parse().map_err(|_| bad("width argument is not an integer"))?;
            left |= signed < 0;
            width = signed.unsigned_abs() as usize;
        }
    } else if let (Some(number), after) = leading_number(rest)? {
        width = number;
        rest = after;
    }
    Ok((left, width, rest))
}

/// An argument as a specifier shows it.
fn shown(kind: char, value: &Datum) -> Result<String, ValueError> {
    Ok(match (kind, value.is_null()) {
        ('I', true) => return Err(ValueError::new("22004", "null values cannot be formatted as an SQL identifier")),
        ('L', true) => "NULL".to_owned(),
        (_, true) => String::new(),
        ('I', false) => quote_identifier(text(value)?),
        ('L', false) => quote_literal(text(value)?),
        (_, false) => text(value)?.to_owned(),
    })
}

fn leading_number(source: &str) -> Result<(Option<usize>, &str), ValueError> {
    let digits = source.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Ok((None, source));
    }
    let number: i32 = source[..digits].parse().map_err(|_| ValueError::new("22003", "number is out of range"))?;
    Ok((usize::try_from(number).ok(), &source[digits..]))
}
