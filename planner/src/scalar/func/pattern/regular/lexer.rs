//! The words of a regular expression, in the three languages that PostgreSQL reads: advanced, extended and basic.

use super::set::{CharSet, all_but, collating, named, range, single};
use super::syntax::{Bounds, Place, Prefers};
use super::{Invalid, Language, Options};
use regex_syntax::hir::ClassUnicode;
use std::rc::Rc;

/// The greatest number in a bound.
const REPETITIONS_MAX: u32 = 255;

/// A word of an expression.
pub(super) enum Token {
    End,
    Bar,
    Open { captures: bool },
    Close,
    Look { behind: bool, negative: bool },
    Quantifier(Bounds, Option<Prefers>),
    Set(Rc<CharSet>),
    Place(Place),
    Reference(usize),
}

/// What stood before, where that decides what a character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeforeCharacter {
    Start,
    Open,
    Anchor,
    Other,
}

/// Reads an expression word by word.
pub(super) struct Lexer<'a> {
    source: &'a [char],
    at: usize,
    before: BeforeCharacter,
    options: Options,
    word: Option<Rc<CharSet>>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a [char], options: Options) -> Lexer<'a> {
        Lexer { source, at: 0, before: BeforeCharacter::Start, options, word: None }
    }

    /// The next word. `groups` are open or closed so far: they decide what `\12` means.
    pub(super) fn next(&mut self, groups: usize) -> Result<Token, Invalid> {
        self.skip()?;
        let Some(character) = self.take() else { return Ok(Token::End) };
        let token = match self.options.language {
            Language::Literal => self.plain(character),
            Language::Basic => self.basic(character)?,
            Language::Extended | Language::Advanced => self.extended(character, groups)?,
        };
        self.before = match &token {
            Token::Open { .. } | Token::Look { .. } => BeforeCharacter::Open,
            Token::Place(Place::TextStart | Place::LineStart) if self.options.language == Language::Basic => {
                BeforeCharacter::Anchor
            }
            Token::End
            | Token::Bar
            | Token::Close
            | Token::Quantifier(..)
            | Token::Set(_)
            | Token::Place(_)
            | Token::Reference(_) => BeforeCharacter::Other,
        };
        Ok(token)
    }

    /// Letters, digits and `_`, as `\w` and the edges of words mean them.
    pub(super) fn word_characters() -> Rc<CharSet> {
        Rc::new(CharSet::new(named("word", false).expect("the class exists")))
    }

    /// `)`, as itself.
    pub(super) fn closing() -> Rc<CharSet> {
        Rc::new(CharSet::new(single(')', false)))
    }

    fn peek(&self) -> Option<char> {
        self.source.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += 1;
        Some(character)
    }

    fn eat(&mut self, text: &str) -> bool {
        let length = text.chars().count();
        let found = text.chars().eq(self.source[self.at..].iter().take(length).copied());
        self.at += if found { length } else { 0 };
        found
    }

    fn advanced(&self) -> bool {
        self.options.language == Language::Advanced
    }

    /// Past blanks and comments, where they mean nothing.
    fn skip(&mut self) -> Result<(), Invalid> {
        if self.options.language == Language::Literal {
            return Ok(());
        }
        loop {
            let from = self.at;
            if self.options.expanded {
                while self.peek().is_some_and(char::is_whitespace) {
                    self.at += 1;
                }
                if self.peek() == Some('#') {
                    while self.peek().is_some_and(|character| character != '\n') {
                        self.at += 1;
                    }
                }
            }
            if self.advanced() && self.eat("(?#") {
                while self.peek().is_some_and(|character| character != ')') {
                    self.at += 1;
                }
                self.at += usize::from(self.at < self.source.len());
            }
            if self.at == from {
                return Ok(());
            }
        }
    }

    fn plain(&self, character: char) -> Token {
        self.set(single(character, self.options.insensitive))
    }

    fn set(&self, class: ClassUnicode) -> Token {
        Token::Set(Rc::new(CharSet::new(class)))
    }

    fn word_set(&mut self, negated: bool) -> ClassUnicode {
        let word = self.word.get_or_insert_with(Lexer::word_characters).class().clone();
        if negated { all_but(word) } else { word }
    }

    /// `.`
    fn any(&self) -> Token {
        let none = if self.options.newline_stops { single('\n', false) } else { ClassUnicode::empty() };
        self.set(all_but(none))
    }

    fn line_start(&self) -> Token {
        Token::Place(if self.options.line_anchors { Place::LineStart } else { Place::TextStart })
    }

    fn line_end(&self) -> Token {
        Token::Place(if self.options.line_anchors { Place::LineEnd } else { Place::TextEnd })
    }

    /// `*?` and its like prefer fewer, in advanced expressions.
    fn preference(&mut self) -> Option<Prefers> {
        Some(if self.advanced() && self.eat("?") { Prefers::Shorter } else { Prefers::Longer })
    }

    fn quantifier(&mut self, min: u32, max: Option<u32>) -> Token {
        let prefers = self.preference();
        Token::Quantifier(Bounds { min, max }, prefers)
    }

    fn extended(&mut self, character: char, groups: usize) -> Result<Token, Invalid> {
        Ok(match character {
            '|' => Token::Bar,
            '*' => self.quantifier(0, None),
            '+' => self.quantifier(1, None),
            '?' => self.quantifier(0, Some(1)),
            '{' => {
                if self.options.expanded {
                    self.skip()?;
                }
                if !self.peek().is_some_and(|next| next.is_ascii_digit()) {
                    return Ok(self.plain('{'));
                }
                self.bound("}")?
            }
            '(' if self.advanced() && self.eat("?") => match self.take() {
                Some(':') => Token::Open { captures: false },
                Some('=') => Token::Look { behind: false, negative: false },
                Some('!') => Token::Look { behind: false, negative: true },
                Some('<') => match self.take() {
                    Some('=') => Token::Look { behind: true, negative: false },
                    Some('!') => Token::Look { behind: true, negative: true },
                    _ => return Err(Invalid::Operand),
                },
                _ => return Err(Invalid::Operand),
            },
            '(' => Token::Open { captures: true },
            ')' => Token::Close,
            '[' => self.bracketed()?,
            '.' => self.any(),
            '^' => self.line_start(),
            '$' => self.line_end(),
            '\\' => self.escape(groups)?,
            other => self.plain(other),
        })
    }

    fn basic(&mut self, character: char) -> Result<Token, Invalid> {
        Ok(match character {
            '*' if self.before == BeforeCharacter::Other => {
                Token::Quantifier(Bounds { min: 0, max: None }, Some(Prefers::Longer))
            }
            '[' => self.bracketed()?,
            '.' => self.any(),
            '^' if matches!(self.before, BeforeCharacter::Start | BeforeCharacter::Open) => self.line_start(),
            '$' => {
                self.skip()?;
                let rest = &self.source[self.at..];
                if rest.is_empty() || rest.starts_with(&['\\', ')']) { self.line_end() } else { self.plain('$') }
            }
            '\\' => match self.take().ok_or(Invalid::Escape)? {
                '{' => self.bound("\\}")?,
                '(' => Token::Open { captures: true },
                ')' => Token::Close,
                '<' => Token::Place(Place::WordStart),
                '>' => Token::Place(Place::WordEnd),
                digit @ '1'..='9' => Token::Reference(digit as usize - '0' as usize),
                other => self.plain(other),
            },
            other => self.plain(other),
        })
    }

    /// `m}`, `m,}` or `m,n}`, after the brace that opens.
    fn bound(&mut self, close: &str) -> Result<Token, Invalid> {
        let min = self.number()?;
        let mut exact = true;
        let mut max = Some(min);
        if self.eat(",") {
            exact = false;
            max = if self.peek().is_some_and(|next| next.is_ascii_digit()) { Some(self.number()?) } else { None };
        }
        if self.peek().is_none() {
            return Err(Invalid::Braces);
        }
        if !self.eat(close) || max.is_some_and(|max| max < min) {
            return Err(Invalid::Repetition);
        }
        let prefers = self.preference();
        // {m} leaves the preference to what it repeats.
        Ok(Token::Quantifier(Bounds { min, max }, if exact { None } else { prefers }))
    }

    fn number(&mut self) -> Result<u32, Invalid> {
        let mut number = 0;
        let from = self.at;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            self.at += 1;
            number = number * 10 + digit;
            if number > REPETITIONS_MAX {
                return Err(Invalid::Repetition);
            }
        }
        match (self.at > from, self.peek()) {
            (true, _) => Ok(number),
            (false, None) => Err(Invalid::Braces),
            (false, Some(_)) => Err(Invalid::Repetition),
        }
    }

    /// What follows a backslash outside brackets.
    fn escape(&mut self, groups: usize) -> Result<Token, Invalid> {
        let character = self.take().ok_or(Invalid::Escape)?;
        if !character.is_ascii_alphanumeric() || !self.advanced() {
            return Ok(self.plain(character));
        }
        Ok(match character {
            'A' => Token::Place(Place::TextStart),
            'Z' => Token::Place(Place::TextEnd),
            'm' => Token::Place(Place::WordStart),
            'M' => Token::Place(Place::WordEnd),
            'y' => Token::Place(Place::WordEdge),
            'Y' => Token::Place(Place::NoWordEdge),
            '1'..='9' => {
                let from = self.at;
                self.at -= 1;
                let mut number = 0_usize;
                while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
                    self.at += 1;
                    number = number * 10 + digit as usize;
                    if number > REPETITIONS_MAX as usize {
                        return Err(Invalid::Escape);
                    }
                }
                // One digit is a group, more are one if there are so many groups, else an octal code.
                if self.at == from || number <= groups {
                    return Ok(Token::Reference(number));
                }
                self.at = from - 1;
                let character = self.octal()?;
                self.plain(character)
            }
            _ => match self.class_escape(character) {
                Some(class) => self.set(class),
                None => {
                    let character = self.character_escape(character)?;
                    self.plain(character)
                }
            },
        })
    }

    /// `\d` and its like, in brackets too.
    fn class_escape(&mut self, character: char) -> Option<ClassUnicode> {
        let class = |name| named(name, false).expect("the class exists");
        Some(match character {
            'd' => class("digit"),
            'D' => all_but(class("digit")),
            's' => class("space"),
            'S' => all_but(class("space")),
            'w' => self.word_set(false),
            'W' => self.word_set(true),
            _ => return None,
        })
    }

    /// Escapes that are one character.
    fn character_escape(&mut self, character: char) -> Result<char, Invalid> {
        Ok(match character {
            'a' => '\x07',
            'b' => '\x08',
            'B' => '\\',
            'c' => {
                let control = self.take().ok_or(Invalid::Escape)?;
                char::from_u32(u32::from(control) & 0x1f).ok_or(Invalid::Escape)?
            }
            'e' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.hexadecimal(4, 4)?,
            'U' => self.hexadecimal(8, 8)?,
            'v' => '\x0b',
            'x' => self.hexadecimal(1, 255)?,
            '0' => {
                self.at -= 1;
                self.octal()?
            }
            other if !other.is_ascii_alphanumeric() => other,
            _ => return Err(Invalid::Escape),
        })
    }

    fn hexadecimal(&mut self, min: usize, max: usize) -> Result<char, Invalid> {
        let (mut code, mut digits) = (0_u32, 0);
        while digits < max
            && let Some(digit) = self.peek().and_then(|next| next.to_digit(16))
        {
            self.at += 1;
            digits += 1;
            code = code.checked_mul(16).and_then(|code| code.checked_add(digit)).ok_or(Invalid::Escape)?;
        }
        char::from_u32(code).filter(|_| digits >= min).ok_or(Invalid::Escape)
    }

    /// Up to three octal digits, no greater than 0xff.
    fn octal(&mut self) -> Result<char, Invalid> {
        let (mut code, mut digits) = (0_u32, 0);
        while digits < 3
            && let Some(digit) = self.peek().and_then(|next| next.to_digit(8)).filter(|digit| code * 8 + digit <= 0xff)
        {
            self.at += 1;
            digits += 1;
            code = code * 8 + digit;
        }
        char::from_u32(code).filter(|_| digits > 0).ok_or(Invalid::Escape)
    }

    /// After `[`.
    fn bracketed(&mut self) -> Result<Token, Invalid> {
        if self.eat("[:<:]]") {
            return Ok(Token::Place(Place::WordStart));
        }
        if self.eat("[:>:]]") {
            return Ok(Token::Place(Place::WordEnd));
        }
        let negated = self.eat("^");
        let mut class = ClassUnicode::empty();
        let from = self.at;
        loop {
            let first = self.at == from;
            match self.peek().ok_or(Invalid::Brackets)? {
                ']' if !first => break,
                _ => self.member(first, &mut class)?,
            }
        }
        self.at += 1;
        if negated {
            if self.options.newline_stops {
                class.union(&single('\n', false));
            }
            class = all_but(class);
        }
        Ok(self.set(class))
    }

    /// A member of a bracket expression: a character, a range or a class.
    fn member(&mut self, first: bool, class: &mut ClassUnicode) -> Result<(), Invalid> {
        let insensitive = self.options.insensitive;
        let begin = match self.end_point(first)? {
            EndPoint::Character(character) => character,
            EndPoint::Class(members) => {
                class.union(&members);
                return Ok(());
            }
            EndPoint::Dash => return Err(Invalid::Range),
        };
        let mut end = begin;
        if self.peek() == Some('-') && self.source.get(self.at + 1) != Some(&']') {
            self.at += 1;
            end = match self.end_point(false)? {
                EndPoint::Character(character) => character,
                EndPoint::Dash => '-',
                EndPoint::Class(_) => return Err(Invalid::Range),
            };
        }
        if begin > end {
            return Err(Invalid::Range);
        }
        class.union(&range(begin, end, insensitive));
        Ok(())
    }

    fn end_point(&mut self, first: bool) -> Result<EndPoint, Invalid> {
        let character = self.take().ok_or(Invalid::Brackets)?;
        match character {
            '-' if !first && self.peek() != Some(']') => Ok(EndPoint::Dash),
            '[' => match self.peek().ok_or(Invalid::Brackets)? {
                kind @ ('.' | '=' | ':') => {
                    self.at += 1;
                    let rest = &self.source[self.at..];
                    let length = rest.windows(2).position(|pair| pair == [kind, ']']).ok_or(Invalid::Brackets)?;
                    let name = &rest[..length];
                    self.at += length + 2;
                    let insensitive = self.options.insensitive;
                    Ok(match kind {
                        ':' => EndPoint::Class(named(&name.iter().collect::<String>(), insensitive)?),
                        '=' => EndPoint::Class(single(collating(name)?, insensitive)),
                        _ => EndPoint::Character(collating(name)?),
                    })
                }
                _ => Ok(EndPoint::Character('[')),
            },
            '\\' if self.advanced() => {
                let escaped = self.take().ok_or(Invalid::Escape)?;
                if let Some(class) = self.class_escape(escaped) {
                    return Ok(EndPoint::Class(class));
                }
                if matches!(escaped, '1'..='9') {
                    self.at -= 1;
                    return Ok(EndPoint::Character(self.octal()?));
                }
                Ok(EndPoint::Character(self.character_escape(escaped)?))
            }
            other => Ok(EndPoint::Character(other)),
        }
    }
}

/// What may stand at the end of a range, and what may not.
enum EndPoint {
    Character(char),
    Class(ClassUnicode),
    Dash,
}
