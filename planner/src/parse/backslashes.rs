//! `standard_conforming_strings = off`: backslashes in strings without E escape. A text as it would be written with it on.
//!
//! ```text
//! SELECT 'a\tb\'c'     ─▶     SELECT 'a⇥b''c'
//! ```
//! As many characters as before, blanks behind a string for those that are gone, so that errors point to where they did. What is kept
//! of a statement is kept in this form, and means the same whatever the setting is when it is read.

use crate::error::PlanError;
use repr::poll;

/// The settings beside it.
#[derive(Clone, Copy, Debug)]
pub struct BackslashRules {
    /// `escape_string_warning`
    pub warn: bool,
    /// Whether `\'` may stand for a quote.
    pub quotes: bool,
}

/// What is said of a string with an escape in it: message and hint.
pub type EscapeWarning = (&'static str, &'static str);

/// The text with the setting on, and what is said of it.
///
/// # Errors
/// 22P06 for `\'` where it may not stand, 22025 and 22021 for escapes that are none, 0A000 for `U&''`.
pub fn conforming(sql: &str, rules: BackslashRules) -> Result<(String, Vec<EscapeWarning>), PlanError> {
    let mut scan = Scan { sql, at: 0, out: String::with_capacity(sql.len()), warnings: Vec::new(), rules };
    while scan.at < sql.len() {
        poll::step_or_unwind();
        scan.token()?;
    }
    Ok((scan.out, scan.warnings))
}

/// Whether a text may be another with the setting off.
pub fn may_escape(sql: &str) -> bool {
    sql.as_bytes().windows(3).any(|three| matches!(three, [b'u' | b'U', b'&', b'\''])) || sql.contains('\\')
}

struct Scan<'a> {
    sql: &'a str,
    at: usize,
    out: String,
    warnings: Vec<EscapeWarning>,
    rules: BackslashRules,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.sql[self.at..]
    }

    /// Copies so many bytes.
    fn copy(&mut self, bytes: usize) {
        self.out.push_str(&self.sql[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn token(&mut self) -> Result<(), PlanError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        match bytes {
            [b'\'', ..] => self.string()?,
            [b'"', ..] => self.copy(quoted(rest, 0, false)),
            [b'-', b'-', ..] => self.copy(rest.find('\n').unwrap_or(rest.len())),
            [b'/', b'*', ..] => self.copy(comment(bytes)),
            [b'$', ..] => self.copy(dollar(rest)),
            [b'u' | b'U', b'&', b'\'', ..] => {
                let position = self.position();
                let message = "unsafe use of string constant with Unicode escapes";
                let detail =
                    "String constants with Unicode escapes cannot be used when standard_conforming_strings is off.";
                return Err(PlanError::new("0A000", message).detail(detail).at(Some(position)));
            }
            [b'u' | b'U', b'&', b'"', ..] => self.copy(quoted(rest, 2, false)),
            [b'e' | b'E', b'\'', ..] => self.copy(quoted(rest, 1, true)),
            [b'b' | b'B' | b'x' | b'X', b'\'', ..] => self.copy(quoted(rest, 1, false)),
            [b'n' | b'N', b'\'', ..] => self.copy(1),
            _ => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
                let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let first = rest.chars().next().map_or(1, char::len_utf8);
                self.copy(word.max(first));
            }
        }
        Ok(())
    }

    fn position(&self) -> u32 {
        self.sql[..self.at].chars().count() as u32 + 1
    }

    /// A string that begins here, as one without escapes.
    fn string(&mut self) -> Result<(), PlanError> {
        let position = self.position();
        let end = quoted(self.rest(), 0, true);
        let written = &self.rest()[..end];
        if end == self.rest().len() && !is_ended(written) {
            let message = format!("unterminated quoted string at or near \"{written}\"");
            return Err(PlanError::new("42601", message).at(Some(position)));
        }
        if !written.contains('\\') {
            self.copy(end);
            return Ok(());
        }
        self.warn(written, position)?;
        let value = unescaped(&written[1..end - 1]).map_err(|error| error.at(Some(position)))?;
        let conforming = format!("'{}'", value.replace('\'', "''"));
        let gone = written.chars().count().saturating_sub(conforming.chars().count());
        self.out.push_str(&conforming);
        self.out.extend(std::iter::repeat_n(' ', gone));
        self.at += end;
        Ok(())
    }

    /// Says of a string's first escape that it is one.
    fn warn(&mut self, written: &str, position: u32) -> Result<(), PlanError> {
        if !self.rules.quotes && escapes(written).any(|escaped| escaped == '\'') {
            return Err(PlanError::new("22P06", "unsafe use of \\' in a string literal")
                .hint("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
                .at(Some(position)));
        }
        if !self.rules.warn {
            return Ok(());
        }
        self.warnings.extend(escapes(written).next().map(|first| match first {
            '\'' => (
                "nonstandard use of \\' in a string literal",
                "Use '' to write quotes in strings, or use the escape string syntax (E'...').",
            ),
            '\\' => (
                "nonstandard use of \\\\ in a string literal",
                "Use the escape string syntax for backslashes, e.g., E'\\\\'.",
            ),
            _ => (
                "nonstandard use of escape in a string literal",
                "Use the escape string syntax for escapes, e.g., E'\\r\\n'.",
            ),
        }));
        Ok(())
    }
}

/// Whether the quote at the end of a string is no part of it.
fn is_ended(written: &str) -> bool {
    let inside = written.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let mut characters = inside.unwrap_or_default().chars();
    while let Some(c) = characters.next() {
        // A backslash, and a quote that stands for one, have another character behind them.
        if matches!(c, '\\' | '\'') && characters.next().is_none() {
            return false;
        }
    }
    inside.is_some()
}

/// The characters behind a string's backslashes.
fn escapes(written: &str) -> impl Iterator<Item = char> + '_ {
    let mut characters = written.chars();
    std::iter::from_fn(move || {
        characters.find(|&c| c == '\\')?;
        characters.next()
    })
}

/// How long what is quoted from `open` on is, up to the text's end if nothing ends it.
fn quoted(text: &str, open: usize, escaped: bool) -> usize {
    let bytes = text.as_bytes();
    let quote = bytes[open];
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escaped => at += 1,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 1,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// A string in dollars, or a dollar.
fn dollar(rest: &str) -> usize {
    let tag = rest[1..].find(|c: char| !(c.is_alphanumeric() || c == '_' || !c.is_ascii())).map(|end| end + 1);
    let Some(end) = tag.filter(|&end| rest.as_bytes()[end] == b'$' && !rest.as_bytes()[1].is_ascii_digit()) else {
        return 1;
    };
    let tag = &rest[..=end];
    rest[end + 1..].find(tag).map_or(rest.len(), |found| end + 1 + found + tag.len())
}

/// What a string's text stands for.
fn unescaped(text: &str) -> Result<String, PlanError> {
    let mut value: Vec<u8> = Vec::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let mut buffer = [0; 4];
        if c == '\'' {
            characters.next();
        }
        if c != '\\' {
            value.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        match characters.next() {
            Some('b') => value.push(8),
            Some('f') => value.push(12),
            Some('n') => value.push(b'\n'),
            Some('r') => value.push(b'\r'),
            Some('t') => value.push(b'\t'),
            Some('v') => value.push(11),
            Some(first @ '0'..='7') => value.push(digits(&mut characters, Some(first), 8, 2).unwrap_or(0) as u8),
            Some('x') => match digits(&mut characters, None, 16, 2) {
                Some(byte) => value.push(byte as u8),
                None => value.push(b'x'),
            },
            Some(kind @ ('u' | 'U')) => {
                let c = unicode(&mut characters, kind)?;
                value.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
            Some(other) => value.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes()),
            None => {}
        }
    }
    let invalid = |bytes: &[u8]| {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        PlanError::new("22021", format!("invalid byte sequence for encoding \"UTF8\": {}", bytes.join(" ")))
    };
    if value.contains(&0) {
        return Err(invalid(&[0]));
    }
    String::from_utf8(value).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(&error.as_bytes()[at..=at])
    })
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// A number of at most `more` digits, behind the first if that is there; none if there is no digit.
fn digits(characters: &mut Characters<'_>, first: Option<char>, base: u32, more: usize) -> Option<u32> {
    let mut number = first.and_then(|first| first.to_digit(base));
    for _ in 0..more {
        let Some(digit) = characters.peek().and_then(|next| next.to_digit(base)) else { break };
        characters.next();
        number = Some(number.unwrap_or(0) * base + digit);
    }
    number
}

fn unicode(characters: &mut Characters<'_>, kind: char) -> Result<char, PlanError> {
    let code = |characters: &mut Characters<'_>, kind: char| {
        let count = if kind == 'u' { 4 } else { 8 };
        let written: String = std::iter::from_fn(|| characters.next_if(char::is_ascii_hexdigit)).take(count).collect();
        u32::from_str_radix(&written, 16).ok().filter(|_| written.len() == count).ok_or_else(|| {
            PlanError::new("22025", "invalid Unicode escape").hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
        })
    };
    let pair = || PlanError::new("42601", "invalid Unicode surrogate pair");
    let mut found = code(characters, kind)?;
    if (0xd800..0xdc00).contains(&found) {
        if characters.next() != Some('\\') {
            return Err(pair());
        }
        let kind = characters.next().filter(|kind| matches!(kind, 'u' | 'U')).ok_or_else(pair)?;
        let second = code(characters, kind)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(pair());
        }
        found = 0x10000 + ((found - 0xd800) << 10) + (second - 0xdc00);
    } else if (0xdc00..0xe000).contains(&found) {
        return Err(pair());
    }
    char::from_u32(found).filter(|c| *c != '\0').ok_or_else(|| PlanError::new("42601", "invalid Unicode escape value"))
}

/// A text of ours, in which backslashes stand for themselves, as it is written with the setting off.
pub(crate) fn with_backslashes_doubled(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 8);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (length, is_plain) = match rest.as_bytes() {
            [b'\'', ..] => (quoted(rest, 0, false), true),
            [b'"', ..] => (quoted(rest, 0, false), false),
            [b'e' | b'E', b'\'', ..] => (quoted(rest, 1, true), false),
            _ => {
                let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (word.max(rest.chars().next().map_or(1, char::len_utf8)), false)
            }
        };
        match is_plain {
            true => written.push_str(&rest[..length].replace('\\', "\\\\")),
            false => written.push_str(&rest[..length]),
        }
        at += length;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: BackslashRules = BackslashRules { warn: true, quotes: true };

    #[test]
    fn texts_keep_their_length() {
        for (written, read) in [
            (r"SELECT 'a\tb'", "SELECT 'a\tb' "),
            (r"SELECT 'a\'b', 'c'", "SELECT 'a''b', 'c'"),
            (r"SELECT 'a\\', E'\\', '\101\x42\u0043'", "SELECT 'a\\' , E'\\\\', 'ABC'           "),
            (
                r#"SELECT "a\", $$\t$$, $x$ '\t' $x$, X'1f', b'\' -- '\"#,
                r#"SELECT "a\", $$\t$$, $x$ '\t' $x$, X'1f', b'\' -- '\"#,
            ),
            (r"SELECT n'\n' /* '\t /* */ */ , $1 || 'é\t'", "SELECT n'\n'  /* '\\t /* */ */ , $1 || 'é\t' "),
            (r"SELECT 'it''s'", r"SELECT 'it''s'"),
            (r"SELECT '\ud83d\ude00'", "SELECT '😀'           "),
        ] {
            let (found, _) = conforming(written, ALL).unwrap();
            assert_eq!(found, read, "{written}");
            assert_eq!(found.chars().count(), written.chars().count(), "{written}");
        }
        for (written, code) in [
            (r"SELECT '\0'", "22021"),
            (r"SELECT '\xff'", "22021"),
            (r"SELECT '\u12'", "22025"),
            (r"SELECT '\ud83d'", "42601"),
            (r"SELECT U&'\0061'", "0A000"),
            (r"SELECT 'a\'", "42601"),
            (r"SELECT 'a''", "42601"),
            (r"SELECT '", "42601"),
        ] {
            assert_eq!(conforming(written, ALL).unwrap_err().code, code, "{written}");
        }
        let strict = BackslashRules { warn: false, quotes: false };
        assert_eq!(conforming(r"SELECT '\''", strict).unwrap_err().code, "22P06");
        assert_eq!(conforming(r"SELECT '\t', '\\', '\''", ALL).unwrap().1.len(), 3);
        assert_eq!(with_backslashes_doubled(r#"'a\' || E'\\' || "b\""#), r#"'a\\' || E'\\' || "b\""#);
    }
}
