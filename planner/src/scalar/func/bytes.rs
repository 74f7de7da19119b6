//! bytea: digests, encodings, slices; also MD5 of text, as PostgreSQL has it.

use super::arguments::{bytea, int4, integer, string, text};
use super::text::{BYTES_MAX, too_long};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use md5::{Digest, Md5};
use repr::{Datum, Encoding, ValueError, poll};
use sha2::{Sha224, Sha256, Sha384, Sha512};

fn bytes(value: &[u8]) -> Answer {
    Ok(Datum::Bytea(value.into()))
}

fn hex(value: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut shown = String::with_capacity(value.len() * 2);
    for byte in value {
        shown.push(DIGITS[usize::from(byte >> 4)] as char);
        shown.push(DIGITS[usize::from(byte & 15)] as char);
    }
    shown
}

/// A piece at a time: a large value takes a while.
fn digest<D: Digest>(value: &[u8]) -> Result<Vec<u8>, ValueError> {
    let mut digest = D::new();
    for piece in value.chunks(64 << 10) {
        poll::bytes(piece.len())?;
        digest.update(piece);
    }
    Ok(digest.finalize().to_vec())
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Lines of 76, as PostgreSQL breaks them.
fn to_base64(value: &[u8]) -> String {
    let mut shown = String::with_capacity(value.len().div_ceil(3) * 4);
    let mut line = 0;
    for chunk in value.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        if line == 76 {
            shown.push('\n');
            line = 0;
        }
        for place in 0..4 {
            let digit = BASE64[(group >> (18 - 6 * place) & 63) as usize] as char;
            shown.push(if place <= chunk.len() { digit } else { '=' });
        }
        line += 4;
    }
    shown
}

fn from_base64(source: &str) -> Result<Vec<u8>, ValueError> {
    let (mut value, mut group, mut count, mut end) = (Vec::new(), 0u32, 0, 0);
    for character in source.chars().filter(|character| !matches!(character, ' ' | '\t' | '\n' | '\r')) {
        let digit = if character == '=' {
            if end == 0 {
                end = match count {
                    2 => 1,
                    3 => 2,
                    _ => return Err(ValueError::new("22023", "unexpected \"=\" while decoding base64 sequence")),
                };
            }
            0
        } else {
            let place = BASE64.iter().position(|known| char::from(*known) == character);
            place.ok_or_else(|| {
                ValueError::new("22023", format!("invalid symbol \"{character}\" found while decoding base64 sequence"))
            })? as u32
        };
        group = group << 6 | digit;
        count += 1;
        if count == 4 {
            let decoded = group.to_be_bytes();
            value.extend(&decoded[1..if end == 0 { 4 } else { 1 + end }]);
            (group, count) = (0, 0);
        }
    }
    if count != 0 {
        return Err(ValueError {
            hint: Some("Input data is missing padding, is truncated, or is otherwise corrupted.".to_owned()),
            ..ValueError::new("22023", "invalid base64 end sequence")
        });
    }
    Ok(value)
}

fn from_hex(source: &str) -> Result<Vec<u8>, ValueError> {
    let mut value = Vec::with_capacity(source.len() / 2);
    let mut high = None;
    for character in source.chars().filter(|character| !matches!(character, ' ' | '\t' | '\n' | '\r')) {
        let digit = character
            .to_digit(16)
            .ok_or_else(|| ValueError::new("22023", format!("invalid hexadecimal digit: \"{character}\"")))?
            as u8;
        match high.take() {
            Some(first) => value.push(first << 4 | digit),
            None => high = Some(digit),
        }
    }
    if high.is_some() {
        return Err(ValueError::new("22023", "invalid hexadecimal data: odd number of digits"));
    }
    Ok(value)
}

fn to_escape(value: &[u8]) -> String {
    let mut shown = String::with_capacity(value.len());
    for byte in value {
        match byte {
            b'\\' => shown.push_str("\\\\"),
            0 | 0x80.. => shown.push_str(&format!("\\{byte:03o}")),
            plain => shown.push(char::from(*plain)),
        }
    }
    shown
}

fn from_escape(source: &str) -> Result<Vec<u8>, ValueError> {
    let invalid = || ValueError::new("22P02", "invalid input syntax for type bytea");
    let source = source.as_bytes();
    let (mut value, mut at) = (Vec::with_capacity(source.len()), 0);
    while at < source.len() {
        if source[at] != b'\\' {
            value.push(source[at]);
            at += 1;
        } else if source.get(at + 1) == Some(&b'\\') {
            value.push(b'\\');
            at += 2;
        } else {
            let octal = source.get(at + 1..at + 4).ok_or_else(invalid)?;
            if !octal.iter().all(|digit| (b'0'..=b'7').contains(digit)) || octal[0] > b'3' {
                return Err(invalid());
            }
            value.push(octal.iter().fold(0, |byte, digit| byte << 3 | (digit - b'0')));
            at += 4;
        }
    }
    Ok(value)
}

fn unknown_encoding(name: &str) -> ValueError {
    ValueError::new("22023", format!("unrecognized encoding: \"{name}\""))
}

fn encode(value: &[u8], format: &str) -> Answer {
    if value.len() > BYTES_MAX / 4 {
        return Err(too_long());
    }
    // Four characters a byte at most, as a text and as the value that it becomes.
    poll::room((8 * value.len()).min(poll::VALUE_BYTES_MAX))?;
    string(match format.to_ascii_lowercase().as_str() {
        "hex" => hex(value),
        "base64" => to_base64(value),
        "escape" => to_escape(value),
        _ => return Err(unknown_encoding(format)),
    })
}

fn decode(source: &str, format: &str) -> Answer {
    bytes(&match format.to_ascii_lowercase().as_str() {
        "hex" => from_hex(source)?,
        "base64" => from_base64(source)?,
        "escape" => from_escape(source)?,
        _ => return Err(unknown_encoding(format)),
    })
}

fn slice(value: &[u8], start: i64, length: Option<i64>) -> Result<&[u8], ValueError> {
    if length.is_some_and(|length| length < 0) {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let bound = |place: i64| usize::try_from(place.saturating_sub(1)).unwrap_or(0).min(value.len());
    let (from, to) = (bound(start), bound(end));
    Ok(if from < to { &value[from..to] } else { &[] })
}

/// Without those bytes at its ends.
fn trimmed<'v>(value: &'v [u8], set: &[u8], start: bool, end: bool) -> &'v [u8] {
    let is_kept = |byte: &u8| !set.contains(byte);
    let from = if start { value.iter().position(is_kept).unwrap_or(value.len()) } else { 0 };
    let to = if end { value.iter().rposition(is_kept).map_or(0, |last| last + 1) } else { value.len() };
    value.get(from..to).unwrap_or_default()
}

fn overlay(args: &[Datum]) -> Answer {
    let (value, replacement, start) = (bytea(&args[0])?, bytea(&args[1])?, integer(&args[2])?);
    let count = args.get(3).map_or(Ok(replacement.len() as i64), integer)?;
    if start <= 0 {
        return Err(ValueError::new("22011", "negative substring length not allowed"));
    }
    bytes(&[slice(value, 1, Some(start - 1))?, replacement, slice(value, start + count, None)?].concat())
}

/// The byte that a bit is in, and its place there.
fn bit_at(value: &[u8], index: i64) -> Result<(usize, u32), ValueError> {
    let place = byte_at(index, value.len() as i64 * 8 - 1)?;
    Ok((place / 8, (place % 8) as u32))
}

fn set_bit(value: &[u8], index: i64, bit: i32) -> Answer {
    let (byte, place) = bit_at(value, index)?;
    let mut value = value.to_vec();
    match bit {
        0 => value[byte] &= !(1 << place),
        1 => value[byte] |= 1 << place,
        _ => return Err(ValueError::new("22023", "new bit must be 0 or 1")),
    }
    bytes(&value)
}

fn byte_at(index: i64, last: i64) -> Result<usize, ValueError> {
    if index < 0 || index > last {
        return Err(ValueError::new("2202E", format!("index {index} out of valid range, 0..{last}")));
    }
    Ok(index as usize)
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("md5(text) text", |_, a, _| string(hex(&digest::<Md5>(text(&a[0])?.as_bytes())?))),
    strict("md5(bytea) text", |_, a, _| string(hex(&digest::<Md5>(bytea(&a[0])?)?))),
    strict("sha224(bytea) bytea", |_, a, _| bytes(&digest::<Sha224>(bytea(&a[0])?)?)),
    strict("sha256(bytea) bytea", |_, a, _| bytes(&digest::<Sha256>(bytea(&a[0])?)?)),
    strict("sha384(bytea) bytea", |_, a, _| bytes(&digest::<Sha384>(bytea(&a[0])?)?)),
    strict("sha512(bytea) bytea", |_, a, _| bytes(&digest::<Sha512>(bytea(&a[0])?)?)),
    strict("encode(bytea, text) text", |_, a, _| encode(bytea(&a[0])?, text(&a[1])?)),
    strict("decode(text, text) bytea", |_, a, _| decode(text(&a[0])?, text(&a[1])?)),
    strict("length(bytea) int4", |_, a, _| Ok(Datum::Int4(i32::try_from(bytea(&a[0])?.len()).unwrap_or(i32::MAX)))),
    strict("octet_length(bytea) int4", |_, a, _| {
        Ok(Datum::Int4(i32::try_from(bytea(&a[0])?.len()).unwrap_or(i32::MAX)))
    }),
    strict("bit_length(bytea) int4", |_, a, _| {
        Ok(Datum::Int4(i32::try_from(bytea(&a[0])?.len() * 8).unwrap_or(i32::MAX)))
    }),
    strict("bit_count(bytea) int8", |_, a, _| {
        Ok(Datum::Int8(bytea(&a[0])?.iter().map(|byte| i64::from(byte.count_ones())).sum()))
    }),
    strict("substring(bytea, int4) bytea", |_, a, _| bytes(slice(bytea(&a[0])?, integer(&a[1])?, None)?)),
    strict("substring(bytea, int4, int4) bytea", |_, a, _| {
        bytes(slice(bytea(&a[0])?, integer(&a[1])?, Some(integer(&a[2])?))?)
    }),
    strict("substr(bytea, int4) bytea", |_, a, _| bytes(slice(bytea(&a[0])?, integer(&a[1])?, None)?)),
    strict("substr(bytea, int4, int4) bytea", |_, a, _| {
        bytes(slice(bytea(&a[0])?, integer(&a[1])?, Some(integer(&a[2])?))?)
    }),
    strict("btrim(bytea, bytea) bytea", |_, a, _| bytes(trimmed(bytea(&a[0])?, bytea(&a[1])?, true, true))),
    strict("ltrim(bytea, bytea) bytea", |_, a, _| bytes(trimmed(bytea(&a[0])?, bytea(&a[1])?, true, false))),
    strict("rtrim(bytea, bytea) bytea", |_, a, _| bytes(trimmed(bytea(&a[0])?, bytea(&a[1])?, false, true))),
    strict("overlay(bytea, bytea, int4, int4?) bytea", |_, a, _| overlay(a)),
    strict("get_bit(bytea, int8) int4", |_, a, _| {
        let value = bytea(&a[0])?;
        let (byte, place) = bit_at(value, integer(&a[1])?)?;
        Ok(Datum::Int4(i32::from(value[byte] >> place & 1)))
    }),
    strict("set_bit(bytea, int8, int4) bytea", |_, a, _| set_bit(bytea(&a[0])?, integer(&a[1])?, int4(&a[2])?)),
    strict("position(bytea, bytea) int4", |_, a, _| {
        let (haystack, needle) = (bytea(&a[0])?, bytea(&a[1])?);
        let place = if needle.is_empty() { 1 } else { found_at(haystack, needle)? };
        Ok(Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX)))
    }),
    strict("get_byte(bytea, int4) int4", |_, a, _| {
        let value = bytea(&a[0])?;
        let place = byte_at(integer(&a[1])?, value.len() as i64 - 1)?;
        Ok(Datum::Int4(i32::from(value[place])))
    }),
    strict("set_byte(bytea, int4, int4) bytea", |_, a, _| {
        let mut value = bytea(&a[0])?.to_vec();
        let place = byte_at(integer(&a[1])?, value.len() as i64 - 1)?;
        value[place] = int4(&a[2])? as u8;
        bytes(&value)
    }),
    strict("convert_from(bytea, name) text", |_, a, _| {
        string(encoding(text(&a[1])?, "source")?.decode(bytea(&a[0])?)?.into_owned())
    }),
    strict("convert_to(text, name) bytea", |_, a, _| {
        bytes(&encoding(text(&a[1])?, "destination")?.encode(text(&a[0])?)?)
    }),
    strict("convert(bytea, name, name) bytea", |_, a, _| {
        let (from, to) = (encoding(text(&a[1])?, "source")?, encoding(text(&a[2])?, "destination")?);
        bytes(&to.encode(&from.decode(bytea(&a[0])?)?)?)
    }),
    strict("length(bytea, name) int4", |_, a, _| {
        let length = encoding(text(&a[1])?, "source")?.decode(bytea(&a[0])?)?.chars().count();
        Ok(Datum::Int4(i32::try_from(length).unwrap_or(i32::MAX)))
    }),
];

/// From 1; 0 if it is not there. The needle has a byte at least.
fn found_at(haystack: &[u8], needle: &[u8]) -> Result<usize, ValueError> {
    for (at, window) in haystack.windows(needle.len()).enumerate() {
        if window[0] == needle[0] {
            poll::bytes(needle.len())?;
            if window == needle {
                return Ok(at + 1);
            }
        }
    }
    Ok(0)
}

/// An encoding by its name; `of` says which argument it is.
fn encoding(name: &str, of: &str) -> Result<Encoding, ValueError> {
    let found = Encoding::named(name);
    found.ok_or_else(|| ValueError::new("22023", format!("invalid {of} encoding name \"{name}\"")))
}

pub(crate) const OPERATORS: &[FunctionDefinition] =
    &[strict("||(bytea, bytea) bytea", |_, a, _| bytes(&[bytea(&a[0])?, bytea(&a[1])?].concat()))];
