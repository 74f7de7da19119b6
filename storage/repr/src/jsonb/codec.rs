//! JSON text: a strict reader (shared by `json` validation and `jsonb` input) and PostgreSQL's two layouts.
//!
//! The reader refuses what PostgreSQL refuses, with its SQLSTATEs, and never recurses deeper than `MAX_DEPTH`.

use super::{Jsonb, MAX_DEPTH};
use crate::{ValueError, poll};
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

/// Checks that text is JSON, as `json` input does; the text itself is the value.
pub(crate) fn validate_json(text: &str) -> Result<(), ValueError> {
    JsonReader { text, place: 0, type_name: "json", keeps: false }.document().map(|_| ())
}

impl FromStr for Jsonb {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Jsonb, ValueError> {
        JsonReader { text, place: 0, type_name: "jsonb", keeps: true }.document()
    }
}

struct JsonReader<'a> {
    text: &'a str,
    place: usize,
    type_name: &'static str,
    /// Whether values are wanted, or only their validity.
    keeps: bool,
}

impl JsonReader<'_> {
    fn document(&mut self) -> Result<Jsonb, ValueError> {
        let value = self.value(0)?;
        self.blanks();
        if self.place < self.text.len() {
            return Err(self.expected("end of input"));
        }
        Ok(value)
    }

    fn syntax(&self, detail: String) -> ValueError {
        let message = "invalid input syntax for type json".to_owned();
        ValueError { detail: Some(detail), ..ValueError::new("22P02", message) }
    }

    fn ended(&self) -> ValueError {
        self.syntax("The input string ended unexpectedly.".to_owned())
    }

    /// The token at hand, for messages.
    fn token(&self) -> &str {
        let rest = &self.text[self.place..];
        let is_numeric = rest.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_word =
            |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() || (is_numeric && "+-.".contains(c));
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        &rest[..length.max(first)]
    }

    fn expected(&self, what: &str) -> ValueError {
        if self.place >= self.text.len() {
            return self.ended();
        }
        if !self.is_known_token() {
            return self.syntax(format!("Token \"{}\" is invalid.", self.token()));
        }
        let token = if self.peek() == Some(b'"') { self.string_token() } else { self.token() };
        self.syntax(format!("Expected {what}, but found \"{token}\"."))
    }

    fn string_token(&self) -> &str {
        let mut probe = JsonReader { text: self.text, place: self.place, type_name: self.type_name, keeps: false };
        match probe.string() {
            Ok(_) => &self.text[self.place..probe.place],
            Err(_) => &self.text[self.place..],
        }
    }

    fn is_known_token(&self) -> bool {
        let token = self.token();
        matches!(token, "true" | "false" | "null")
            || token.starts_with(['{', '}', '[', ']', ',', ':', '"'])
            || is_number(token)
    }

    fn blanks(&mut self) {
        let rest = self.text.as_bytes()[self.place..].iter();
        self.place += rest.take_while(|byte| b" \t\n\r".contains(byte)).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.place).copied()
    }

    fn value(&mut self, depth: usize) -> Result<Jsonb, ValueError> {
        if depth > MAX_DEPTH {
            return Err(ValueError {
                hint: Some(format!("JSON values may nest {MAX_DEPTH} levels deep.")),
                ..ValueError::new("54001", "stack depth limit exceeded")
            });
        }
        poll::step()?;
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Jsonb::String(Arc::from(self.string()?))),
            Some(b'}' | b']' | b',' | b':') => Err(self.expected("JSON value")),
            Some(_) => self.scalar(),
            None => Err(self.ended()),
        }
    }

    fn scalar(&mut self) -> Result<Jsonb, ValueError> {
        let token = self.token();
        let value = match token {
            "true" => Jsonb::Bool(true),
            "false" => Jsonb::Bool(false),
            "null" => Jsonb::Null,
            number if is_number(number) => {
                if self.keeps {
                    Jsonb::Number(number.parse()?)
                } else {
                    Jsonb::Null
                }
            }
            unknown => return Err(self.syntax(format!("Token \"{unknown}\" is invalid."))),
        };
        self.place += token.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Jsonb, ValueError> {
        self.place += 1;
        let mut elements = Vec::new();
        self.blanks();
        if self.peek() == Some(b']') {
            self.place += 1;
            return Ok(Jsonb::array(elements));
        }
        loop {
            let value = self.value(depth + 1)?;
            if self.keeps {
                elements.push(value);
            }
            self.blanks();
            match self.peek() {
                Some(b',') => self.place += 1,
                Some(b']') => break,
                _ => return Err(self.expected("\",\" or \"]\"")),
            }
        }
        self.place += 1;
        Ok(Jsonb::array(elements))
    }

    fn object(&mut self, depth: usize) -> Result<Jsonb, ValueError> {
        self.place += 1;
        let mut pairs = Vec::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.place += 1;
            return Ok(Jsonb::object(pairs));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                let what = if pairs.is_empty() { "string or \"}\"" } else { "string" };
                return Err(self.expected(what));
            }
            let key = self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.expected("\":\""));
            }
            self.place += 1;
            let value = self.value(depth + 1)?;
            // Kept without values too: the next message depends on being the first pair.
            pairs.push((Arc::from(if self.keeps { key } else { String::new() }), value));
            self.blanks();
            match self.peek() {
                Some(b',') => self.place += 1,
                Some(b'}') => break,
                _ => return Err(self.expected("\",\" or \"}\"")),
            }
        }
        self.place += 1;
        Ok(Jsonb::object(pairs))
    }

    fn string(&mut self) -> Result<String, ValueError> {
        self.place += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.place..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            if self.keeps {
                out.push_str(&rest[..plain]);
            }
            self.place += plain;
            match self.peek() {
                Some(b'"') => {
                    self.place += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let escaped = self.escape()?;
                    out.push(escaped);
                }
                Some(byte) => {
                    return Err(self.syntax(format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                None => {
                    let token = rest_of_string(self.text);
                    return Err(self.syntax(format!("Token \"{token}\" is invalid.")));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, ValueError> {
        let rest = &self.text[self.place + 1..];
        let Some(kind) = rest.chars().next() else {
            return Err(self.syntax(format!("Token \"{}\" is invalid.", rest_of_string(self.text))));
        };
        self.place += 1 + kind.len_utf8();
        Ok(match kind {
            '"' | '\\' | '/' => kind,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            other => return Err(self.syntax(format!("Escape sequence \"\\{other}\" is invalid."))),
        })
    }

    fn four_digits(&mut self) -> Result<u32, ValueError> {
        let digits =
            self.text.get(self.place..self.place + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
        let value =
            value.ok_or_else(|| self.syntax("\"\\u\" must be followed by four hexadecimal digits.".to_owned()))?;
        self.place += 4;
        Ok(value)
    }

    fn unicode(&mut self) -> Result<char, ValueError> {
        let first = self.four_digits()?;
        if first == 0 && self.keeps {
            let detail = Some("\\u0000 cannot be converted to text.".to_owned());
            return Err(ValueError { detail, ..ValueError::new("22P05", "unsupported Unicode escape sequence") });
        }
        if !self.keeps && (0xD800..=0xDFFF).contains(&first) {
            // `json` keeps its text, so a lone surrogate does no harm there.
            return Ok('\u{FFFD}');
        }
        let low_must_follow = "Unicode low surrogate must follow a high surrogate.";
        let code = match first {
            0xD800..=0xDBFF => {
                if !self.text[self.place..].starts_with("\\u") {
                    return Err(self.syntax(low_must_follow.to_owned()));
                }
                self.place += 2;
                let second = self.four_digits()?;
                if (0xD800..=0xDBFF).contains(&second) {
                    let detail = "Unicode high surrogate must not follow a high surrogate.";
                    return Err(self.syntax(detail.to_owned()));
                }
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(self.syntax(low_must_follow.to_owned()));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.syntax(low_must_follow.to_owned()))
    }
}

/// An unterminated string, for messages.
fn rest_of_string(text: &str) -> &str {
    text.rfind('"').map_or(text, |place| &text[place..])
}

/// JSON's grammar of numbers.
fn is_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut place = usize::from(bytes.first() == Some(&b'-'));
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(place);
    if whole == 0 || (whole > 1 && bytes[place] == b'0') {
        return false;
    }
    place += whole;
    if bytes.get(place) == Some(&b'.') {
        let fraction = digits(place + 1);
        if fraction == 0 {
            return false;
        }
        place += 1 + fraction;
    }
    if matches!(bytes.get(place), Some(b'e' | b'E')) {
        place += 1 + usize::from(matches!(bytes.get(place + 1), Some(b'+' | b'-')));
        let exponent = digits(place.min(bytes.len()));
        if exponent == 0 {
            return false;
        }
        place += exponent;
    }
    place == bytes.len()
}

const WRITING: &str = "writing to a String does not fail";

/// Appends a JSON string literal, escaped as PostgreSQL escapes it.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..place]);
        match rest.as_bytes()[place] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => write!(out, "\\u{control:04x}").expect(WRITING),
        }
        rest = &rest[place + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

impl fmt::Display for Jsonb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write_text(&mut out);
        f.write_str(&out)
    }
}

impl Jsonb {
    /// Appends PostgreSQL's text: `{"a": 1, "b": [2, 3]}`.
    pub fn write_text(&self, out: &mut String) {
        match self {
            Jsonb::Null => out.push_str("null"),
            Jsonb::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Jsonb::Number(number) => write!(out, "{number}").expect(WRITING),
            Jsonb::String(text) => write_string(out, text),
            Jsonb::Array(elements) => {
                out.push('[');
                for (place, element) in elements.iter().enumerate() {
                    poll::step_or_unwind();
                    out.push_str(if place > 0 { ", " } else { "" });
                    element.write_text(out);
                }
                out.push(']');
            }
            Jsonb::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    poll::step_or_unwind();
                    out.push_str(if place > 0 { ", " } else { "" });
                    write_string(out, key);
                    out.push_str(": ");
                    value.write_text(out);
                }
                out.push('}');
            }
        }
    }

    /// `jsonb_pretty`
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(&mut out, 0);
        out
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth * 4));
        };
        match self {
            Jsonb::Array(elements) => {
                out.push('[');
                for (place, element) in elements.iter().enumerate() {
                    poll::step_or_unwind();
                    out.push_str(if place > 0 { "," } else { "" });
                    line(out, depth + 1);
                    element.write_pretty(out, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
            Jsonb::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    poll::step_or_unwind();
                    out.push_str(if place > 0 { "," } else { "" });
                    line(out, depth + 1);
                    write_string(out, key);
                    out.push_str(": ");
                    value.write_pretty(out, depth + 1);
                }
                line(out, depth);
                out.push('}');
            }
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => self.write_text(out),
        }
    }
}
