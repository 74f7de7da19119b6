//! Text: concatenation, case, trimming, substrings, padding, searching, splitting, quoting.
//!
//! Positions count characters from 1. No result may exceed a gigabyte: 54000, as in PostgreSQL.

mod format;
mod normal_form;
mod quote;
mod unistr;

use super::arguments::{boolean, int4, integer, string, text, text_array, truth, vector};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use repr::{Datum, ValueError, poll};

pub(super) use normal_form::NORMAL_FORMS;
pub use quote::quote_identifier;
pub(crate) use quote::{builtin_name, parse_identifier};

/// PostgreSQL's largest allocation.
pub(super) const BYTES_MAX: usize = 0x3fff_ffff;

/// A long text is made in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

pub(super) fn too_long() -> ValueError {
    ValueError::new("54000", "requested length too large")
}

/// Characters from `start` (1-based, may be before the text), `length` of them.
fn substring(source: &str, start: i64, length: Option<i64>) -> Result<&str, ValueError> {
    if length.is_some_and(|length| length < 0) {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    let end = length.map(|length| start.saturating_add(length));
    let skip = usize::try_from(start - 1).unwrap_or(0);
    let take = match end {
        Some(end) => usize::try_from(end - 1).unwrap_or(0).saturating_sub(skip),
        None => usize::MAX,
    };
    Ok(characters(source, skip, take))
}

/// `take` characters after `skip`.
fn characters(source: &str, skip: usize, take: usize) -> &str {
    let from = source.char_indices().nth(skip).map_or(source.len(), |(at, _)| at);
    let rest = &source[from..];
    let to = rest.char_indices().nth(take).map_or(rest.len(), |(at, _)| at);
    &rest[..to]
}

/// `left` (`n` negative: all but the last |n|).
fn left(source: &str, n: i64) -> &str {
    let take = if n >= 0 { n } else { source.chars().count() as i64 + n };
    characters(source, 0, usize::try_from(take).unwrap_or(0))
}

fn right(source: &str, n: i64) -> &str {
    let count = source.chars().count() as i64;
    let skip = if n >= 0 { count - n } else { -n };
    characters(source, usize::try_from(skip).unwrap_or(0), usize::MAX)
}

fn pad(source: &str, length: i32, fill: &str, at_left: bool) -> Answer {
    let length = usize::try_from(length).unwrap_or(0);
    if length > BYTES_MAX / 4 {
        return Err(too_long());
    }
    let count = source.chars().count();
    if count >= length || fill.is_empty() {
        return string(characters(source, 0, length));
    }
    // As often as it fits, and what is left of it.
    let (missing, fill_count) = (length - count, fill.chars().count());
    let rest = characters(fill, 0, missing % fill_count);
    poll::room(2 * (source.len() + fill.len() * (missing / fill_count) + rest.len()))?;
    let mut padded = String::with_capacity(source.len() + fill.len() * (missing / fill_count) + rest.len());
    if !at_left {
        padded.push_str(source);
    }
    push_repeated(&mut padded, fill, missing / fill_count)?;
    padded.push_str(rest);
    if at_left {
        padded.push_str(source);
    }
    string(padded)
}

/// Appends a text so many times, some thousand bytes between two steps.
fn push_repeated(result: &mut String, source: &str, times: usize) -> Result<(), ValueError> {
    if source.is_empty() || times == 0 {
        return Ok(());
    }
    let some = (PIECE_BYTES / source.len()).clamp(1, times);
    let piece = source.repeat(some);
    for _ in 0..times / some {
        poll::bytes(piece.len())?;
        result.push_str(&piece);
    }
    result.push_str(&piece[..source.len() * (times % some)]);
    Ok(())
}

fn repeat(source: &str, times: i32) -> Answer {
    let times = usize::try_from(times).unwrap_or(0);
    if source.len().saturating_mul(times) > BYTES_MAX {
        return Err(too_long());
    }
    // The text, and the value that it becomes.
    poll::room(source.len() * times)?;
    poll::room((2 * source.len() * times).min(poll::VALUE_BYTES_MAX))?;
    let mut repeated = String::with_capacity(source.len() * times);
    push_repeated(&mut repeated, source, times)?;
    string(repeated)
}

/// 1-based, 0 if absent.
pub(super) fn position(haystack: &str, needle: &str) -> Answer {
    let place = haystack.find(needle).map_or(0, |at| haystack[..at].chars().count() + 1);
    Ok(Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX)))
}

fn trim<'a>(source: &'a str, set: &str, start: bool, end: bool) -> &'a str {
    let in_set = |character: char| set.contains(character);
    let source = if start { source.trim_start_matches(in_set) } else { source };
    if end { source.trim_end_matches(in_set) } else { source }
}

fn trim_args(args: &[Datum], start: bool, end: bool) -> Answer {
    let set = args.get(1).map_or(Ok(" "), text)?;
    string(trim(text(&args[0])?, set, start, end))
}

fn initcap(source: &str) -> Answer {
    let mut inside_word = false;
    let mut result = String::with_capacity(source.len());
    for character in source.chars() {
        poll::step()?;
        if inside_word {
            result.extend(character.to_lowercase());
        } else {
            result.extend(character.to_uppercase());
        }
        inside_word = character.is_alphanumeric();
    }
    string(result)
}

fn overlay(args: &[Datum]) -> Answer {
    let (source, replacement, start) = (text(&args[0])?, text(&args[1])?, int4(&args[2])?);
    let count = match args.get(3) {
        Some(count) => i64::from(int4(count)?),
        None => replacement.chars().count() as i64,
    };
    if start <= 0 {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    let before = substring(source, 1, Some(i64::from(start) - 1))?;
    let after = substring(source, i64::from(start) + count, None)?;
    string(format!("{before}{replacement}{after}"))
}

pub(super) fn translate(source: &str, from: &str, to: &str) -> Answer {
    poll::room_for::<char>(to.len())?;
    let to: Vec<char> = to.chars().collect();
    let mut result = String::with_capacity(source.len());
    for character in source.chars() {
        poll::bytes(from.len())?;
        match from.chars().position(|candidate| candidate == character) {
            Some(place) => result.extend(to.get(place)),
            None => result.push(character),
        }
    }
    string(result)
}

fn replace(source: &str, from: &str, to: &str) -> Answer {
    if from.is_empty() {
        return string(source);
    }
    let mut result = String::new();
    for (number, part) in source.split(from).enumerate() {
        if number > 0 {
            result.push_str(to);
        }
        result.push_str(part);
        poll::bytes(part.len() + to.len())?;
        if result.len() > BYTES_MAX {
            return Err(too_long());
        }
    }
    poll::room(result.len())?;
    string(result)
}

fn split_part(source: &str, delimiter: &str, field: i32) -> Answer {
    if field == 0 {
        return Err(ValueError::new("22023", "field position must not be zero"));
    }
    if delimiter.is_empty() {
        return string(if field == 1 || field == -1 { source } else { "" });
    }
    let wanted = field.unsigned_abs() as usize - 1;
    let found = if field > 0 {
        source.split(delimiter).nth(wanted)
    } else {
        let mut parts: Vec<&str> = Vec::new();
        for part in source.split(delimiter) {
            poll::step()?;
            parts.push(part);
        }
        parts.len().checked_sub(wanted + 1).map(|place| parts[place])
    };
    string(found.unwrap_or(""))
}

/// The pieces of `string_to_array` and `string_to_table`; pieces equal to `null` are NULL.
pub(crate) fn split(args: &[Datum]) -> Result<Option<Vec<Datum>>, ValueError> {
    if args[0].is_null() {
        return Ok(None);
    }
    let source = text(&args[0])?;
    let null = match args.get(2) {
        Some(null) if !null.is_null() => Some(text(null)?),
        Some(_) | None => None,
    };
    let piece = |piece: &str| if Some(piece) == null { Datum::Null } else { Datum::text(piece) };
    if source.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut pieces = Vec::new();
    if args[1].is_null() {
        for character in source.chars() {
            poll::step()?;
            pieces.push(piece(character.encode_utf8(&mut [0; 4])));
        }
    } else {
        match text(&args[1])? {
            "" => pieces.push(piece(source)),
            delimiter => {
                for part in source.split(delimiter) {
                    poll::bytes(part.len())?;
                    pieces.push(piece(part));
                }
            }
        }
    }
    Ok(Some(pieces))
}

fn string_to_array(args: &[Datum]) -> Answer {
    split(args)?.map_or(Ok(Datum::Null), vector)
}

fn concat_ws(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let pieces: Vec<&str> = args[1..].iter().filter(|arg| !arg.is_null()).map(text).collect::<Result<_, _>>()?;
    joined(&pieces, text(&args[0])?)
}

fn joined(pieces: &[&str], between: &str) -> Answer {
    let bytes = pieces.iter().map(|piece| piece.len() + between.len()).sum::<usize>();
    if bytes > BYTES_MAX {
        return Err(too_long());
    }
    poll::room(bytes)?;
    string(pieces.join(between))
}

fn concat(args: &[Datum]) -> Answer {
    let mut result = String::new();
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        result.push_str(text(arg)?);
    }
    string(result)
}

fn chr(code: i32) -> Answer {
    if code == 0 {
        return Err(ValueError::new("54000", "null character not permitted"));
    }
    if code < 0 {
        return Err(ValueError::new("54000", "character number must be positive"));
    }
    match char::from_u32(code as u32) {
        Some(character) => string(character.to_string()),
        None if code > 0x0010_ffff => {
            Err(ValueError::new("54000", format!("requested character too large for encoding: {code}")))
        }
        None => Err(ValueError::new("54000", format!("requested character not valid for encoding: {code}"))),
    }
}

fn count(value: usize) -> Answer {
    i32::try_from(value).map(Datum::Int4).map_err(|_| too_long())
}

fn array_to_string(args: &[Datum]) -> Answer {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Datum::Null);
    }
    let null = match args.get(2) {
        Some(null) if !null.is_null() => Some(text(null)?),
        Some(_) | None => None,
    };
    let pieces = text_array(&args[0])?;
    let pieces: Vec<&str> = pieces.into_iter().filter_map(|piece| piece.or(null)).collect();
    joined(&pieces, text(&args[1])?)
}

/// The comparison functions that `LIKE` patterns with wildcards only at the end need.
fn starts_with(args: &[Datum]) -> Answer {
    truth(text(&args[0])?.starts_with(text(&args[1])?))
}

pub(super) fn lowered(source: &str) -> String {
    if source.is_ascii() { source.to_ascii_lowercase() } else { source.to_lowercase() }
}

pub(super) fn uppered(source: &str) -> String {
    if source.is_ascii() { source.to_ascii_uppercase() } else { source.to_uppercase() }
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("length(text) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("length(bpchar) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("char_length(text) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("char_length(bpchar) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("character_length(text) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("character_length(bpchar) int4", |_, a, _| count(text(&a[0])?.chars().count())),
    strict("octet_length(text) int4", |_, a, _| count(text(&a[0])?.len())),
    strict("octet_length(bpchar) int4", |_, a, _| count(a[0].as_str().map_or(0, str::len))),
    strict("bit_length(text) int4", |_, a, _| count(text(&a[0])?.len() * 8)),
    strict("lower(text) text", |_, a, _| string(lowered(text(&a[0])?))),
    strict("upper(text) text", |_, a, _| string(uppered(text(&a[0])?))),
    strict("initcap(text) text", |_, a, _| initcap(text(&a[0])?)),
    strict("btrim(text, text?) text", |_, a, _| trim_args(a, true, true)),
    strict("ltrim(text, text?) text", |_, a, _| trim_args(a, true, false)),
    strict("rtrim(text, text?) text", |_, a, _| trim_args(a, false, true)),
    strict("trim(text, text?) text", |_, a, _| trim_args(a, true, true)),
    strict("substr(text, int4) text", |_, a, _| string(substring(text(&a[0])?, integer(&a[1])?, None)?)),
    strict("substr(text, int4, int4) text", |_, a, _| {
        string(substring(text(&a[0])?, integer(&a[1])?, Some(integer(&a[2])?))?)
    }),
    strict("substring(text, int4) text", |_, a, _| string(substring(text(&a[0])?, integer(&a[1])?, None)?)),
    strict("substring(text, int4, int4) text", |_, a, _| {
        string(substring(text(&a[0])?, integer(&a[1])?, Some(integer(&a[2])?))?)
    }),
    strict("position(text, text) int4", |_, a, _| position(text(&a[0])?, text(&a[1])?)),
    strict("strpos(text, text) int4", |_, a, _| position(text(&a[0])?, text(&a[1])?)),
    strict("unistr(text) text", |_, a, _| unistr::unistr(text(&a[0])?)),
    strict("overlay(text, text, int4, int4?) text", |_, a, _| overlay(a)),
    strict("replace(text, text, text) text", |_, a, _| {
        let (source, from) = (text(&a[0])?, text(&a[1])?);
        replace(source, from, text(&a[2])?)
    }),
    strict("translate(text, text, text) text", |_, a, _| translate(text(&a[0])?, text(&a[1])?, text(&a[2])?)),
    strict("repeat(text, int4) text", |_, a, _| repeat(text(&a[0])?, int4(&a[1])?)),
    strict("reverse(text) text", |_, a, _| string(text(&a[0])?.chars().rev().collect::<String>())),
    strict("left(text, int4) text", |_, a, _| string(left(text(&a[0])?, integer(&a[1])?))),
    strict("right(text, int4) text", |_, a, _| string(right(text(&a[0])?, integer(&a[1])?))),
    strict("lpad(text, int4) text", |_, a, _| pad(text(&a[0])?, int4(&a[1])?, " ", true)),
    strict("lpad(text, int4, text) text", |_, a, _| pad(text(&a[0])?, int4(&a[1])?, text(&a[2])?, true)),
    strict("rpad(text, int4) text", |_, a, _| pad(text(&a[0])?, int4(&a[1])?, " ", false)),
    strict("rpad(text, int4, text) text", |_, a, _| pad(text(&a[0])?, int4(&a[1])?, text(&a[2])?, false)),
    strict("split_part(text, text, int4) text", |_, a, _| split_part(text(&a[0])?, text(&a[1])?, int4(&a[2])?)),
    lenient("concat(variadic anytext) text", |_, a, _| concat(a)),
    lenient("concat_ws(text, variadic anytext) text", |_, a, _| concat_ws(a)),
    lenient("format(text) text", |_, a, _| format::format(a)),
    lenient("format(text, variadic anytext) text", |_, a, _| format::format(a)),
    strict("quote_ident(text) text", |_, a, _| string(quote_identifier(text(&a[0])?))),
    strict("quote_literal(anytext) text", |_, a, _| string(quote::quote_literal(text(&a[0])?))),
    lenient("quote_nullable(anytext) text", |_, a, _| {
        if a[0].is_null() { string("NULL") } else { string(quote::quote_literal(text(&a[0])?)) }
    }),
    strict("parse_ident(text, bool?) text[]", |_, a, _| {
        let strict = a.get(1).map_or(Ok(true), boolean)?;
        vector(parse_identifier(text(&a[0])?, strict)?.into_iter().map(Datum::text).collect())
    }),
    strict("ascii(text) int4", |_, a, _| Ok(Datum::Int4(text(&a[0])?.chars().next().map_or(0, |first| first as i32)))),
    strict("chr(int4) text", |_, a, _| chr(int4(&a[0])?)),
    strict("to_hex(int4) text", |_, a, _| string(format!("{:x}", int4(&a[0])?))),
    strict("to_hex(int8) text", |_, a, _| string(format!("{:x}", integer(&a[0])?))),
    strict("starts_with(text, text) bool", |_, a, _| starts_with(a)),
    lenient("string_to_array(text, text, text?) text[]", |_, a, _| string_to_array(a)),
    lenient("array_to_string(anyarraytext, text, text?) text", |_, a, _| array_to_string(a)),
    strict("text(bool) text", |_, a, _| string(if boolean(&a[0])? { "true" } else { "false" })),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("||(text, text) text", |_, a, _| string([text(&a[0])?, text(&a[1])?].concat())),
    strict("||(text, anynonarraytext) text", |_, a, _| string([text(&a[0])?, text(&a[1])?].concat())),
    strict("||(anynonarraytext, text) text", |_, a, _| string([text(&a[0])?, text(&a[1])?].concat())),
    strict("^@(text, text) bool", |_, a, _| starts_with(a)),
];
