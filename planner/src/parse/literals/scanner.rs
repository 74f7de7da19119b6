//! The bytes of literals, alone and cast: `7`, `'x'`, `'x'::date`, `date 'x'`, `CAST('x' AS date)`.
//!
//! What is skipped is what is read: one way through the bytes for both. Knows nothing of brackets around them but rows.

use repr::{Datum, Numeric, poll};

/// Names that make a type of the string behind them.
const BEFORE_STRINGS: &[&str] =
    &["date", "timestamp", "timestamptz", "time", "uuid", "numeric", "text", "json", "jsonb", "bytea"];
/// Words that go on with a type's name.
const IN_TYPES: &[&str] = &["precision", "varying", "with", "without", "time", "zone"];

/// A type that literals are cast to, as it is written, and whether some have a sign: that is of what is cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenCast<'a> {
    pub(crate) to: &'a str,
    pub(crate) signed: bool,
}

/// A literal that may be cast.
pub(super) struct Element<'a> {
    pub(super) value: Datum,
    pub(super) cast: Option<WrittenCast<'a>>,
}

/// What rows have in common.
#[derive(Default)]
pub(super) struct Shape<'a> {
    /// What the first row's literals are cast to.
    casts: Vec<Option<&'a str>>,
    /// How many there are.
    pub(super) rows: usize,
    /// The others' are not.
    pub(super) is_first_only: bool,
}

impl<'a> Shape<'a> {
    pub(super) fn literals(&self) -> usize {
        self.rows * self.casts.len()
    }

    /// Whether a literal that is cast to that may stand at that place of the next row.
    fn takes(&mut self, place: usize, cast: Option<&'a str>) -> bool {
        if self.rows == 0 {
            self.casts.push(cast);
            return true;
        }
        let Some(first) = self.casts.get(place) else { return false };
        let decides = self.rows == 1 && first.is_some() && self.casts[..place].iter().all(Option::is_none);
        if decides {
            self.is_first_only = cast.is_none();
        }
        cast == first.filter(|_| !self.is_first_only)
    }
}

pub(super) struct LiteralScanner<'a> {
    pub(super) bytes: &'a [u8],
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> LiteralScanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        LiteralScanner { bytes: text.as_bytes(), text, at: 0 }
    }

    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Takes a byte behind blanks, if it is next.
    pub(super) fn next_is(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    pub(super) fn word(&mut self) -> &'a str {
        let start = self.at;
        while is_word(self.peek()) || self.peek() == b'$' && self.at > start {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    pub(super) fn to_line_end(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// Behind a comment, which may have others in it.
    pub(super) fn skip_comment(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            poll::step_or_unwind();
            match (self.peek(), *self.bytes.get(self.at + 1)?) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Behind what is quoted; doubled quotes are two of them in turn.
    pub(super) fn skip_quoted(&mut self, quote: u8) -> Option<()> {
        let rest = self.bytes.get(self.at + 1..)?;
        self.at += 2 + rest.iter().position(|byte| *byte == quote)?;
        Some(())
    }

    /// Behind a string with escapes.
    pub(super) fn skip_escaped(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            poll::step_or_unwind();
            match *self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// Behind `$1` or `$tag$…$tag$`.
    pub(super) fn skip_dollar(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 1;
        while is_word(self.peek()) {
            self.at += 1;
        }
        if self.peek() != b'$' || self.bytes[start + 1].is_ascii_digit() {
            return Some(());
        }
        self.at += 1;
        let tag = &self.text[start..self.at];
        self.at += self.text[self.at..].find(tag)? + tag.len();
        Some(())
    }

    /// Behind one more row, if it is of the others' shape.
    pub(super) fn skip_row(&mut self, shape: &mut Shape<'a>) -> Option<()> {
        if !self.next_is(b'(') {
            return None;
        }
        let mut place = 0_usize;
        loop {
            poll::step_or_unwind();
            self.blanks();
            let ((), cast) = self.cast_behind(Self::skip_literal)?;
            shape.takes(place, cast).then_some(())?;
            place += 1;
            if !self.next_is(b',') {
                break;
            }
        }
        if !self.next_is(b')') || place != shape.casts.len() {
            return None;
        }
        shape.rows += 1;
        Some(())
    }

    /// Behind a literal that may be cast: the type as it is written.
    pub(super) fn skip_element(&mut self) -> Option<Option<&'a str>> {
        self.cast_behind(Self::skip_literal).map(|((), cast)| cast)
    }

    /// A literal that may be cast.
    pub(super) fn element(&mut self) -> Option<Element<'a>> {
        let signed = self.peek() == b'-';
        let (value, cast) = self.cast_behind(Self::literal)?;
        Some(Element { value, cast: cast.map(|to| WrittenCast { to, signed }) })
    }

    /// What `literal` takes, and the type that it is cast to.
    fn cast_behind<T>(&mut self, literal: fn(&mut Self) -> Option<T>) -> Option<(T, Option<&'a str>)> {
        let start = self.at;
        let Some(value) = literal(self) else {
            self.at = start;
            return self.cast_around(literal).map(|(value, to)| (value, Some(to)));
        };
        let end = self.at;
        self.blanks();
        if !self.bytes[self.at..].starts_with(b"::") {
            self.at = end;
            return Some((value, None));
        }
        self.at += 2;
        self.blanks();
        Some((value, Some(self.type_name()?)))
    }

    /// `date 'x'`, `CAST('x' AS date)`.
    fn cast_around<T>(&mut self, literal: fn(&mut Self) -> Option<T>) -> Option<(T, &'a str)> {
        let to = self.type_name()?;
        if !to.eq_ignore_ascii_case("cast") {
            self.blanks();
            let is_typed = BEFORE_STRINGS.iter().any(|name| to.eq_ignore_ascii_case(name)) && self.peek() == b'\'';
            return if is_typed { literal(self).map(|value| (value, to)) } else { None };
        }
        if !self.next_is(b'(') {
            return None;
        }
        self.blanks();
        // The sign is the literal's own here; behind it, it would be taken of what is cast.
        let value = if self.peek() == b'-' { None } else { literal(self) }?;
        self.blanks();
        if !self.word().eq_ignore_ascii_case("as") {
            return None;
        }
        self.blanks();
        let to = self.type_name()?;
        self.next_is(b')').then_some((value, to))
    }

    /// A type's name as it stands: `pg_catalog.int4`, `varchar(20)[]`, `timestamp with time zone`.
    fn type_name(&mut self) -> Option<&'a str> {
        let start = self.at;
        loop {
            if !self.peek().is_ascii_alphabetic() && self.peek() != b'_' {
                return None;
            }
            self.word();
            if self.peek() != b'.' {
                break;
            }
            self.at += 1;
        }
        let mut end = self.at;
        loop {
            self.blanks();
            let goes_on = match self.peek() {
                b'(' => self.skip_modifier().is_some(),
                b'[' => self.skip_dimension().is_some(),
                byte if byte.is_ascii_alphabetic() => {
                    let word = self.word();
                    IN_TYPES.iter().any(|other| word.eq_ignore_ascii_case(other))
                }
                _ => false,
            };
            if !goes_on {
                self.at = end;
                return Some(&self.text[start..end]);
            }
            end = self.at;
        }
    }

    /// Behind `(10, 2)`.
    fn skip_modifier(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.blanks();
            self.digits()?;
            if !self.next_is(b',') {
                return self.next_is(b')').then_some(());
            }
        }
    }

    /// Behind `[]` or `[3]`.
    fn skip_dimension(&mut self) -> Option<()> {
        self.at += 1;
        self.blanks();
        if self.peek().is_ascii_digit() {
            self.digits()?;
        }
        self.next_is(b']').then_some(())
    }

    /// Behind a plain literal.
    fn skip_literal(&mut self) -> Option<()> {
        match self.peek() {
            b'\'' => {
                let content = self.string()?.0;
                (!content.contains('\0')).then_some(())
            }
            b'0'..=b'9' | b'-' => self.number().map(|_| ()),
            byte if byte.is_ascii_alphabetic() => constant(self.word()).map(|_| ()),
            _ => None,
        }
    }

    fn literal(&mut self) -> Option<Datum> {
        match self.peek() {
            b'\'' => {
                let (content, doubled) = self.string()?;
                Some(Datum::Text(if doubled { content.replace("''", "'").into() } else { content.into() }))
            }
            b'0'..=b'9' | b'-' => number(self.number()?),
            byte if byte.is_ascii_alphabetic() => constant(self.word()),
            _ => None,
        }
    }

    /// What is between quotes, and whether some are doubled.
    fn string(&mut self) -> Option<(&'a str, bool)> {
        let start = self.at + 1;
        let mut doubled = false;
        let mut end = start;
        loop {
            end += self.bytes.get(end..)?.iter().position(|byte| *byte == b'\'')?;
            if self.bytes.get(end + 1) != Some(&b'\'') {
                break;
            }
            doubled = true;
            end += 2;
        }
        self.at = end + 1;
        Some((&self.text[start..end], doubled))
    }

    fn number(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at += usize::from(self.peek() == b'-');
        self.digits()?;
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if is_word(self.peek()) || self.peek() == b'.' {
            return None;
        }
        Some(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// A word that is a value.
fn constant(word: &str) -> Option<Datum> {
    match word {
        word if word.eq_ignore_ascii_case("null") => Some(Datum::Null),
        word if word.eq_ignore_ascii_case("true") => Some(Datum::Bool(true)),
        word if word.eq_ignore_ascii_case("false") => Some(Datum::Bool(false)),
        _ => None,
    }
}

/// As the resolver reads it: an integer if it fits, then a bigint, else a numeric.
fn number(digits: &str) -> Option<Datum> {
    if let Ok(value) = digits.parse() {
        return Some(Datum::Int4(value));
    }
    if let Ok(value) = digits.parse() {
        return Some(Datum::Int8(value));
    }
    digits.parse::<Numeric>().ok().map(Datum::Numeric)
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
