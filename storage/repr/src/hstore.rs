//! hstore: texts by texts, each key once, a value there or NULL.
//!
//! ```text
//! pairs(4) ‖ for each: length(4) ‖ key ‖ length(4), -1 for NULL ‖ value        in the order of their lengths, then of their bytes
//! ```
//! A value is held as it is packed and sent.

use crate::ValueError;
use std::borrow::Cow;
use std::sync::Arc;

/// A value of hstore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hstore(Arc<[u8]>);

/// A key and its value.
pub type HstorePair<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// What a length stands for that is none.
const NULL_LENGTH: i32 = -1;

impl Hstore {
    /// Of pairs in any order; of one key the first counts.
    pub fn of_pairs(mut pairs: Vec<HstorePair<'_>>) -> Hstore {
        pairs.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        pairs.dedup_by(|later, kept| later.0 == kept.0);
        let mut packed = Vec::new();
        packed.extend_from_slice(&length(pairs.len()).to_be_bytes());
        for (key, value) in &pairs {
            put(&mut packed, key);
            match value {
                Some(value) => put(&mut packed, value),
                None => packed.extend_from_slice(&NULL_LENGTH.to_be_bytes()),
            }
        }
        Hstore(packed.into())
    }

    /// Of packed bytes; none where they are none that `of_pairs` makes.
    pub fn of_packed(packed: &[u8]) -> Option<Hstore> {
        let mut before: Option<&str> = None;
        let mut pairs = Pairs::of(packed)?;
        while pairs.left > 0 {
            let (key, _) = pairs.read()?;
            if before.is_some_and(|before| (before.len(), before) >= (key.len(), key)) {
                return None;
            }
            before = Some(key);
        }
        pairs.bytes.is_empty().then(|| Hstore(packed.into()))
    }

    /// As it is packed and sent.
    pub fn packed(&self) -> &[u8] {
        &self.0
    }

    /// Keys and values, in their order.
    pub fn pairs(&self) -> Pairs<'_> {
        Pairs::of_trusted(&self.0)
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.pairs().left
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A key's value, NULL too; none where it has no such key.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        self.pairs().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// Bytes in PostgreSQL's order: all texts one behind the other, then how many there are, then where each ends.
    pub(crate) fn key_parts(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut texts, mut places) = (Vec::new(), Vec::new());
        places.extend_from_slice(&length(self.len()).to_be_bytes());
        for (key, value) in self.pairs() {
            for text in [Some(key), value] {
                texts.extend_from_slice(text.unwrap_or_default().as_bytes());
                places.extend_from_slice(&length(texts.len()).to_be_bytes());
                places.push(u8::from(text.is_none()));
            }
        }
        (texts, places)
    }
}

/// Keys and values of packed bytes.
pub struct Pairs<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Pairs<'a> {
    fn of(packed: &'a [u8]) -> Option<Pairs<'a>> {
        let mut pairs = Pairs { bytes: packed, left: 0 };
        pairs.left = usize::try_from(pairs.number()?).ok()?;
        Some(pairs)
    }

    /// Of bytes that `Hstore` packed.
    pub(crate) fn of_trusted(packed: &'a [u8]) -> Pairs<'a> {
        Pairs::of(packed).expect("packed by Hstore")
    }

    fn number(&mut self) -> Option<i32> {
        let (number, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(i32::from_be_bytes(*number))
    }

    fn text(&mut self) -> Option<Option<&'a str>> {
        let length = self.number()?;
        if length == NULL_LENGTH {
            return Some(None);
        }
        let (text, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok().map(Some)
    }

    fn read(&mut self) -> Option<(&'a str, Option<&'a str>)> {
        self.left = self.left.checked_sub(1)?;
        let key = self.text()??;
        Some((key, self.text()?))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, Option<&'a str>);

    fn next(&mut self) -> Option<Self::Item> {
        (self.left > 0).then(|| self.read().expect("packed by Hstore"))
    }
}

// A datum is at most as long as a message, which is below 2 GB.
fn length(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn put(packed: &mut Vec<u8>, text: &str) {
    packed.extend_from_slice(&length(text.len()).to_be_bytes());
    packed.extend_from_slice(text.as_bytes());
}

/// 22004: a key is a text.
pub fn null_key() -> ValueError {
    ValueError::new("22004", "null value not allowed for hstore key")
}

/// `"key"=>"value", "key"=>NULL`
pub(crate) fn format(pairs: Pairs<'_>, out: &mut String) {
    for (place, (key, value)) in pairs.enumerate() {
        out.push_str(if place == 0 { "" } else { ", " });
        quote(key, out);
        out.push_str("=>");
        match value {
            Some(value) => quote(value, out),
            None => out.push_str("NULL"),
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
}

/// Reads a text.
///
/// # Errors
/// 42601, with PostgreSQL's messages.
pub(crate) fn parse(text: &str) -> Result<Hstore, ValueError> {
    let mut reader = PairReader { text, at: 0 };
    let mut pairs = Vec::new();
    while let Some((key, _)) = reader.word(true)? {
        reader.expect_arrow()?;
        let (value, quoted) = reader.word(false)?.ok_or_else(unexpected_end)?;
        let is_null = !quoted && value.eq_ignore_ascii_case("null");
        pairs.push((Cow::Owned(key), (!is_null).then_some(Cow::Owned(value))));
        reader.skip_blanks();
        match reader.peek() {
            None => break,
            Some(',') => reader.at += 1,
            Some(other) => return Err(reader.unexpected(other)),
        }
    }
    Ok(Hstore::of_pairs(pairs))
}

/// A text that is read letter by letter.
struct PairReader<'a> {
    text: &'a str,
    at: usize,
}

impl PairReader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// The next word, and whether it stands in quotes; a key ends where `=` stands, a value where a comma does.
    fn word(&mut self, is_key: bool) -> Result<Option<(String, bool)>, ValueError> {
        self.skip_blanks();
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('"') => {
                self.at += 1;
                loop {
                    match self.next().ok_or_else(unexpected_end)? {
                        '"' => return Ok(Some((word, true))),
                        '\\' => word.push(self.next().ok_or_else(unexpected_end)?),
                        letter => word.push(letter),
                    }
                }
            }
            Some('=') if is_key => return Err(self.unexpected('=')),
            // Whatever it is.
            Some(',') => word.extend(self.next()),
            Some('=') => word.extend(self.next()),
            Some(_) => {}
        }
        let end = if is_key { '=' } else { ',' };
        while let Some(letter) = self.peek().filter(|letter| *letter != end && !is_blank(*letter)) {
            self.at += letter.len_utf8();
            word.push(if letter == '\\' { self.next().ok_or_else(unexpected_end)? } else { letter });
        }
        Ok(Some((word, false)))
    }

    fn expect_arrow(&mut self) -> Result<(), ValueError> {
        self.skip_blanks();
        for wanted in ['=', '>'] {
            match self.peek() {
                Some(letter) if letter == wanted => self.at += 1,
                Some(other) => return Err(self.unexpected(other)),
                None => return Err(unexpected_end()),
            }
        }
        Ok(())
    }

    fn unexpected(&self, letter: char) -> ValueError {
        ValueError::new("42601", format!("Syntax error near \"{letter}\" at position {}", self.at))
    }
}

fn unexpected_end() -> ValueError {
    ValueError::new("42601", "Unexpected end of string")
}

// As C's isspace.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

#[cfg(test)]
mod tests {
    use super::{Hstore, format, parse};
    use std::borrow::Cow;

    fn shown(value: &Hstore) -> String {
        let mut out = String::new();
        format(value.pairs(), &mut out);
        out
    }

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, wanted) in [
            ("", ""),
            ("aa=>1, b=>2, b=>3,a=>, ", r#""a"=>",", "b"=>"2", "aa"=>"1""#),
            (r"a=>\null", r#""a"=>NULL"#),
            (r#"a=>"NULL""#, r#""a"=>"NULL""#),
            (r#""q\"\\" => "x\y""#, r#""q\"\\"=>"xy""#),
            ("a=>=b", r#""a"=>"=b""#),
            (",a=>1,", r#"",a"=>"1""#),
        ] {
            assert_eq!(shown(&parse(text).unwrap()), wanted, "{text}");
        }
        for text in ["a", "a=>", "=>1", "a=>1 b", "a=>1,,", "a = > 1", "é=é", "\"a\"=>\"b", "a=>b\\"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn packed_bytes_of_any_origin_do_no_harm() {
        let value = parse("b=>NULL, aa=>x, é=>\"\"").unwrap();
        let packed = value.packed();
        assert_eq!(Hstore::of_packed(packed).as_ref(), Some(&value));
        for end in 0..packed.len() {
            assert!(Hstore::of_packed(&packed[..end]).is_none());
        }
        for place in 0..packed.len() {
            for bit in 0..8 {
                let mut changed = packed.to_vec();
                changed[place] ^= 1 << bit;
                if let Some(read) = Hstore::of_packed(&changed) {
                    assert_eq!(read.packed(), changed);
                    _ = shown(&read);
                }
            }
        }
    }

    #[test]
    fn a_key_stands_once() {
        let pair = |key, value| (Cow::Borrowed(key), Some(Cow::Borrowed(value)));
        let value = Hstore::of_pairs(vec![pair("b", "1"), pair("a", "1"), pair("b", "2")]);
        assert_eq!((value.len(), value.get("b"), value.get("c")), (2, Some(Some("1")), None));
    }
}
