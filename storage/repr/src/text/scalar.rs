//! Text of single values: booleans, integers, strings of bounded length, bytea, uuid, enums, reg* names.

use super::{ByteaOutput, TextContext};
use crate::types::decode_length_modifier;
use crate::{Datum, Id, ScalarType, ValueError};
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

fn syntax(type_name: &str, text: &str) -> ValueError {
    ValueError::new("22P02", format!("invalid input syntax for type {type_name}: \"{text}\""))
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
}

/// boolean: unique prefixes of true, false, yes, no, on, off; 1 and 0.
pub(crate) fn parse_bool(text: &str) -> Result<bool, ValueError> {
    let word = trim(text).to_ascii_lowercase();
    let is = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if is("true", 1) || is("yes", 1) || is("on", 2) || word == "1" {
        Ok(true)
    } else if is("false", 1) || is("no", 1) || is("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(syntax("boolean", text))
    }
}

/// Any integer type; `type_name` is SQL's name, for the messages.
pub(crate) fn parse_int<I: FromStr>(text: &str, type_name: &str) -> Result<I, ValueError> {
    let trimmed = trim(text);
    // A sign and digits that do not parse are too large.
    trimmed.parse().map_err(|_| {
        let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            ValueError::new("22003", format!("value \"{text}\" is out of range for type {type_name}"))
        } else {
            syntax(type_name, text)
        }
    })
}

pub(super) fn parse_oid(text: &str, type_name: &str) -> Result<u32, ValueError> {
    let wide: i64 = parse_int(text, type_name)?;
    // Negative numbers wrap, as strtoul lets them.
    u32::try_from(wide)
        .or_else(|_| i32::try_from(wide).map(|signed| signed as u32))
        .map_err(|_| ValueError::new("22003", format!("value \"{text}\" is out of range for type {type_name}")))
}

pub(super) fn parse_object(kind: &ScalarType, text: &str, context: &TextContext) -> Result<u32, ValueError> {
    if text == "-" {
        return Ok(0);
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_oid(text, &kind.name());
    }
    let found = context.catalog.as_ref().map_or(Ok(None), |catalog| catalog.object_oid(kind, text))?;
    let found = found.or_else(|| {
        let built_in = ScalarType::from_name(&text.to_ascii_lowercase());
        built_in.filter(|_| *kind == ScalarType::Regtype).map(|scalar| scalar.oid())
    });
    found.ok_or_else(|| match kind {
        ScalarType::Regclass => ValueError::new("42P01", format!("relation \"{text}\" does not exist")),
        ScalarType::Regproc | ScalarType::Regprocedure => {
            ValueError::new("42883", format!("function \"{text}\" does not exist"))
        }
        ScalarType::Regoper | ScalarType::Regoperator => {
            ValueError::new("42883", format!("operator does not exist: {text}"))
        }
        ScalarType::Regrole => ValueError::new("42704", format!("role \"{text}\" does not exist")),
        ScalarType::Regcollation => {
            ValueError::new("42704", format!("collation \"{text}\" for encoding \"UTF8\" does not exist"))
        }
        ScalarType::Regconfig => {
            ValueError::new("42704", format!("text search configuration \"{text}\" does not exist"))
        }
        ScalarType::Regdictionary => {
            ValueError::new("42704", format!("text search dictionary \"{text}\" does not exist"))
        }
        ScalarType::Regnamespace => ValueError::new("3F000", format!("schema \"{text}\" does not exist")),
        _ => ValueError::new("42704", format!("type \"{text}\" does not exist")),
    })
}

pub(super) fn write_object(out: &mut String, oid: Id, kind: &ScalarType, context: &TextContext) {
    let is_name = kind.is_reg();
    if is_name && oid == 0 {
        return out.push('-');
    }
    let name = context.catalog.as_ref().filter(|_| is_name).and_then(|catalog| catalog.object_name(kind, oid));
    let built_in = || ScalarType::from_oid(oid).filter(|_| *kind == ScalarType::Regtype).map(|scalar| scalar.name());
    match name.or_else(built_in) {
        Some(name) => out.push_str(&name),
        None => write!(out, "{oid}").expect("writing to a String does not fail"),
    }
}

pub(super) fn parse_enum(id: Id, text: &str, context: &TextContext) -> Result<Datum, ValueError> {
    let Some(catalog) = &context.catalog else {
        return Err(ValueError::new("0A000", "enum values cannot be read without a catalog"));
    };
    let position = catalog.enum_position(id, text).ok_or_else(|| {
        let name = catalog.enum_name(id).unwrap_or_else(|| id.to_string());
        ValueError::new("22P02", format!("invalid input value for enum {name}: \"{text}\""))
    })?;
    Ok(Datum::Enum { position, label: Arc::from(text) })
}

/// An entry of an access list: its roles are the catalog's.
pub(super) fn parse_grant(text: &str, context: &TextContext) -> Result<String, ValueError> {
    match &context.catalog {
        Some(catalog) => catalog.grant(without_zero_bytes(text)?),
        None => Err(ValueError::new("0A000", "access lists cannot be read without a catalog")),
    }
}

pub(super) fn without_zero_bytes(text: &str) -> Result<&str, ValueError> {
    if text.contains('\0') {
        return Err(ValueError::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00"));
    }
    Ok(text)
}

/// At most 63 bytes, cut between characters.
pub(super) fn truncate_name(text: &str) -> &str {
    let end = (0..=text.len().min(63)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// Splits after `length` characters; none if there are no more.
fn split_at_length(text: &str, length: usize) -> Option<(&str, &str)> {
    if text.len() <= length {
        return None;
    }
    text.char_indices().nth(length).map(|(place, _)| text.split_at(place))
}

fn of_length(scalar: &ScalarType, length: Option<usize>, text: &str) -> Datum {
    if *scalar != ScalarType::Bpchar {
        return Datum::Text(Arc::from(text));
    }
    let missing = length.map_or(0, |length| length.saturating_sub(text.chars().count()));
    if missing == 0 {
        return Datum::Bpchar(Arc::from(text));
    }
    let mut padded = String::with_capacity(text.len() + missing);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', missing));
    Datum::Bpchar(Arc::from(padded))
}

/// varchar(n) or char(n) by assignment: refuses what is longer, but for blanks.
pub fn assign_length(scalar: &ScalarType, modifier: i32, text: &str) -> Result<Datum, ValueError> {
    let length = decode_length_modifier(modifier);
    let Some((kept, rest)) = length.and_then(|length| split_at_length(text, length)) else {
        return Ok(of_length(scalar, length, text));
    };
    if rest.bytes().any(|byte| byte != b' ') {
        return Err(ValueError::new("22001", format!("value too long for type {}", scalar.format_type(modifier))));
    }
    Ok(of_length(scalar, length, kept))
}

/// varchar(n) or char(n) by explicit cast: cuts what is longer.
pub fn cast_length(scalar: &ScalarType, modifier: i32, text: &str) -> Datum {
    let length = decode_length_modifier(modifier);
    let kept = length.and_then(|length| split_at_length(text, length)).map_or(text, |(kept, _)| kept);
    of_length(scalar, length, kept)
}

/// bytea in hex or escape form.
pub(crate) fn parse_bytea(text: &str) -> Result<Vec<u8>, ValueError> {
    if let Some(digits) = text.strip_prefix("\\x") {
        return parse_hex(digits);
    }
    let invalid = || ValueError::new("22P02", "invalid input syntax for type bytea");
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        match tail {
            [b'\\', after @ ..] => {
                out.push(b'\\');
                rest = after;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => return Err(invalid()),
        }
    }
    Ok(out)
}

fn parse_hex(digits: &str) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::with_capacity(digits.len() / 2);
    let mut characters = digits.chars();
    let value = |character: char| {
        let digit = character.to_digit(16).map(|digit| digit as u8);
        digit.ok_or_else(|| ValueError::new("22023", format!("invalid hexadecimal digit: \"{character}\"")))
    };
    while let Some(high) = characters.next() {
        if matches!(high, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = value(high)?;
        let low = characters
            .next()
            .ok_or_else(|| ValueError::new("22023", "invalid hexadecimal data: odd number of digits"))?;
        out.push(high << 4 | value(low)?);
    }
    Ok(out)
}

pub(super) fn write_bytea(out: &mut String, bytes: &[u8], style: ByteaOutput) {
    const WRITING: &str = "writing to a String does not fail";
    match style {
        ByteaOutput::Hex => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.reserve(2 + bytes.len() * 2);
            out.push_str("\\x");
            for byte in bytes {
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
        ByteaOutput::Escape => {
            for byte in bytes {
                match byte {
                    b'\\' => out.push_str("\\\\"),
                    0x20..=0x7E => out.push(char::from(*byte)),
                    _ => write!(out, "\\{byte:03o}").expect(WRITING),
                }
            }
        }
    }
}

/// uuid: 32 hexadecimal digits, hyphens after any group of four, braces around.
pub(crate) fn parse_uuid(text: &str) -> Result<[u8; 16], ValueError> {
    let invalid = || syntax("uuid", text);
    let mut rest = text.as_bytes();
    let is_braced = rest.first() == Some(&b'{');
    if is_braced {
        rest = &rest[1..];
    }
    let mut uuid = [0u8; 16];
    for (place, byte) in uuid.iter_mut().enumerate() {
        let digit = |at: usize| rest.get(at).and_then(|digit| char::from(*digit).to_digit(16)).ok_or_else(invalid);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
        rest = &rest[2..];
        if place % 2 == 1 && place < 15 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
    }
    let is_ended = if is_braced { rest == b"}" } else { rest.is_empty() };
    if is_ended { Ok(uuid) } else { Err(invalid()) }
}

/// uuid as PostgreSQL prints it.
pub(crate) fn format_uuid(bytes: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        write!(out, "{byte:02x}").expect("writing to a String does not fail");
    }
    out
}

/// The byte of a "char": a text's first, or that of three octal digits behind a backslash; 0 of an empty text.
pub fn byte_of_char(text: &[u8]) -> u8 {
    match text {
        [b'\\', digits @ ..] if digits.len() == 3 && digits.iter().all(|digit| matches!(digit, b'0'..=b'7')) => {
            // More than a byte has is cut off.
            digits.iter().fold(0_u8, |byte, digit| byte.wrapping_mul(8).wrapping_add(digit - b'0'))
        }
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

/// A "char" as it is written: bytes that are no character by themselves as octal digits.
pub fn char_of_byte(byte: u8) -> Arc<str> {
    match byte {
        0 => "".into(),
        1..=127 => char::from(byte).to_string().into(),
        128.. => format!("\\{byte:03o}").into(),
    }
}
