//! Taking json text apart without losing its spelling: parts are slices of it.
//!
//! The text was validated when it became json, so a surprise here is a bug and answers XX000.

use repr::{Jsonb, ValueError, poll};

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            JsonKind::Null => "null",
            JsonKind::Boolean => "boolean",
            JsonKind::Number => "number",
            JsonKind::String => "string",
            JsonKind::Array => "array",
            JsonKind::Object => "object",
        }
    }
}

/// What the value is, by its first character.
pub(crate) fn kind(source: &str) -> JsonKind {
    match source.trim_start().as_bytes().first() {
        Some(b'{') => JsonKind::Object,
        Some(b'[') => JsonKind::Array,
        Some(b'"') => JsonKind::String,
        Some(b't' | b'f') => JsonKind::Boolean,
        Some(b'n') | None => JsonKind::Null,
        Some(_) => JsonKind::Number,
    }
}

fn broken() -> ValueError {
    ValueError::new("XX000", "a json value is not valid JSON")
}

/// Refuses escapes that stand for no character. A document of json may have them, and is looked into as if each were read.
pub(crate) fn check_escapes(source: &str) -> Result<(), ValueError> {
    let refused = |detail: &str| {
        Err(ValueError {
            detail: Some(detail.to_owned()),
            ..ValueError::new("22P02", "invalid input syntax for type json")
        })
    };
    let low_follows = || refused("Unicode low surrogate must follow a high surrogate.");
    let mut rest = source;
    // Half a pair, whose other half has to follow at once.
    let mut is_half = false;
    while let Some(place) = rest.find('\\') {
        poll::bytes(place)?;
        let escape = &rest[place..];
        let code = escape.strip_prefix("\\u").and_then(|digits| u32::from_str_radix(digits.get(..4)?, 16).ok());
        match (code, is_half && place == 0) {
            (Some(0xD800..=0xDBFF), true) => {
                return refused("Unicode high surrogate must not follow a high surrogate.");
            }
            (Some(0xDC00..=0xDFFF), true) => is_half = false,
            (Some(0xDC00..=0xDFFF), false) => return low_follows(),
            _ if is_half => return low_follows(),
            (Some(0xD800..=0xDBFF), false) => is_half = true,
            (Some(0), false) => {
                return Err(ValueError {
                    detail: Some("\\u0000 cannot be converted to text.".to_owned()),
                    ..ValueError::new("22P05", "unsupported Unicode escape sequence")
                });
            }
            (Some(_) | None, _) => {}
        }
        rest = escape.get(if code.is_some() { 6 } else { 2 }..).unwrap_or_default();
    }
    if is_half { low_follows() } else { Ok(()) }
}

/// The string that a JSON string literal means.
pub(crate) fn unquoted(source: &str) -> Result<String, ValueError> {
    match source.trim().parse::<Jsonb>()? {
        Jsonb::String(text) => Ok(text.as_ref().to_owned()),
        _ => Err(broken()),
    }
}

/// An array's elements.
pub(crate) fn elements(source: &str) -> Result<Vec<&str>, ValueError> {
    let mut scanner = JsonScanner { source, at: 0 };
    scanner.expect(b'[')?;
    let mut elements = Vec::new();
    if scanner.peek() == Some(b']') {
        return Ok(elements);
    }
    loop {
        elements.push(scanner.value()?);
        match scanner.peek() {
            Some(b',') => scanner.at += 1,
            Some(b']') => return Ok(elements),
            _ => return Err(broken()),
        }
    }
}

/// An object's names and values, in the order written.
pub(crate) fn entries(source: &str) -> Result<Vec<(String, &str)>, ValueError> {
    let mut scanner = JsonScanner { source, at: 0 };
    scanner.expect(b'{')?;
    let mut entries = Vec::new();
    if scanner.peek() == Some(b'}') {
        return Ok(entries);
    }
    loop {
        let name = unquoted(scanner.value()?)?;
        scanner.expect(b':')?;
        entries.push((name, scanner.value()?));
        match scanner.peek() {
            Some(b',') => scanner.at += 1,
            Some(b'}') => return Ok(entries),
            _ => return Err(broken()),
        }
    }
}

struct JsonScanner<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> JsonScanner<'a> {
    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.source.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, wanted: u8) -> Result<(), ValueError> {
        if self.peek() != Some(wanted) {
            return Err(broken());
        }
        self.at += 1;
        Ok(())
    }

    /// The next value's text; passes over nested ones without recursion.
    fn value(&mut self) -> Result<&'a str, ValueError> {
        self.peek();
        let start = self.at;
        let bytes = self.source.as_bytes();
        let mut depth = 0usize;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    while let Some(byte) = bytes.get(self.at) {
                        match byte {
                            b'\\' => self.at += 1,
                            b'"' => break,
                            _ => {}
                        }
                        self.at += 1;
                    }
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' | b':' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let found = self.source.get(start..self.at).map(str::trim).unwrap_or_default();
        poll::bytes(found.len())?;
        if found.is_empty() { Err(broken()) } else { Ok(found) }
    }
}
