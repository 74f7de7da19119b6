//! Words as the text forms of both types have them: bare or quoted, with escapes, and with positions in a document.

use super::{PLACE_MAX, Position, is_space, syntax, weight_of};
use crate::ValueError;

/// What words stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// A document: words have positions.
    Vector,
    /// A query: operators end words, and positions are none of theirs.
    Query,
    /// What people type: there are no quotes and escapes in words.
    Web,
}

/// A word, without its quotes.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) positions: Vec<Position>,
}

/// Reads one word after the other.
pub(super) struct WordReader<'a> {
    pub(super) source: &'a str,
    /// Where it stands, in bytes.
    pub(super) at: usize,
    within: Within,
}

/// Whether it ends words of queries.
pub(super) fn is_operator(character: char) -> bool {
    matches!(character, '!' | '&' | '|' | '(' | ')' | '<')
}

impl<'a> WordReader<'a> {
    pub(super) fn new(source: &'a str, within: Within) -> Self {
        WordReader { source, at: 0, within }
    }

    pub(super) fn is_web(&self) -> bool {
        self.within == Within::Web
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    pub(super) fn advance(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// The next word; none if only spaces are left.
    pub(super) fn next(&mut self) -> Result<Option<Word>, ValueError> {
        while self.peek().is_some_and(is_space) {
            self.advance();
        }
        let Some(first) = self.peek() else { return Ok(None) };
        let mut text = String::new();
        if first == '\'' && self.within != Within::Web {
            self.advance();
            self.quoted(&mut text)?;
            let positions = match self.within {
                Within::Vector if self.peek() == Some(':') => self.positions()?,
                Within::Vector | Within::Query | Within::Web => Vec::new(),
            };
            return Ok(Some(Word { text, positions }));
        }
        if self.within != Within::Vector && is_operator(first) {
            return Err(self.error());
        }
        if first == '\\' && self.within != Within::Web {
            self.escaped(&mut text)?;
        } else {
            // Whatever it is: a colon, too.
            text.push(first);
            self.advance();
        }
        let positions = self.bare(&mut text)?;
        Ok(Some(Word { text, positions }))
    }

    /// The rest of a word without quotes, and its positions.
    fn bare(&mut self, text: &mut String) -> Result<Vec<Position>, ValueError> {
        while let Some(character) = self.peek() {
            match (character, self.within) {
                ('\\', Within::Vector | Within::Query) => self.escaped(text)?,
                (':', Within::Vector) => return self.positions(),
                (':', _) | ('"', Within::Web) => break,
                (character, Within::Query | Within::Web) if is_operator(character) => break,
                (character, _) if is_space(character) => break,
                (character, _) => {
                    text.push(character);
                    self.advance();
                }
            }
        }
        Ok(Vec::new())
    }

    /// Behind the first quote.
    fn quoted(&mut self, text: &mut String) -> Result<(), ValueError> {
        loop {
            match self.peek() {
                None => return Err(self.error()),
                Some('\'') => {
                    self.advance();
                    match self.peek() {
                        Some('\'') => {
                            text.push('\'');
                            self.advance();
                        }
                        _ if text.is_empty() => return Err(self.error()),
                        _ => return Ok(()),
                    }
                }
                Some('\\') => self.escaped(text)?,
                Some(character) => {
                    text.push(character);
                    self.advance();
                }
            }
        }
    }

    /// A backslash, and what is behind it.
    fn escaped(&mut self, text: &mut String) -> Result<(), ValueError> {
        self.advance();
        let Some(character) = self.peek() else {
            return Err(syntax(format!("there is no escaped character: \"{}\"", self.source)));
        };
        text.push(character);
        self.advance();
        Ok(())
    }

    /// A colon, and positions with commas between them.
    fn positions(&mut self) -> Result<Vec<Position>, ValueError> {
        let mut positions: Vec<Position> = Vec::new();
        loop {
            self.advance();
            let place = self.place()?;
            let mut weight = 0;
            let is_last = loop {
                match self.peek() {
                    Some(',') => break false,
                    None => break true,
                    Some(character) if is_space(character) => break true,
                    Some(character) if character.is_ascii_digit() => {}
                    Some(character) => {
                        let named = if character == '*' { Some(3) } else { weight_of(character) };
                        weight = named.filter(|_| weight == 0).ok_or_else(|| self.error())?;
                    }
                }
                self.advance();
            };
            positions.push(Position::new(place, weight));
            if is_last {
                return Ok(positions);
            }
        }
    }

    /// A number, as C's `atoi` reads it.
    fn place(&mut self) -> Result<u16, ValueError> {
        let rest = &self.source[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        if digits == 0 {
            return Err(self.error());
        }
        let number = rest[..digits].parse::<i64>().unwrap_or(i64::MAX) as i32;
        self.at += digits;
        let place = if number > i32::from(PLACE_MAX) { PLACE_MAX } else { number as u16 & PLACE_MAX };
        if place == 0 {
            return Err(syntax(format!("wrong position info in tsvector: \"{}\"", self.source)));
        }
        Ok(place)
    }

    /// That it is no text of the type.
    pub(super) fn error(&self) -> ValueError {
        let kind = if self.within == Within::Vector { "tsvector" } else { "tsquery" };
        syntax(format!("syntax error in {kind}: \"{}\"", self.source))
    }
}
