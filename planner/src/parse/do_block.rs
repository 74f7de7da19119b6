//! Reads `DO` in the two forms by which applications define what may be there already, and where it only says something:
//!
//! ```text
//! BEGIN definition; EXCEPTION WHEN duplicate_object THEN NULL; END
//! BEGIN IF NOT EXISTS (query) THEN definition; END IF; END
//! BEGIN RAISE NOTICE 'format %', value; END
//! ```
//!
//! There is no procedural language behind it: whatever else stands in a body is refused by name.

use super::grammar::{Grammar, Lines, is_word};
use super::statement::{Guard, Guarded, Statement};
use super::{is_blank, literals, parse, raise};
use crate::error::PlanError;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The conditions that a handler may name, and their SQLSTATEs.
const CONDITIONS: [(&str, &str); 6] = [
    ("duplicate_schema", "42P06"),
    ("duplicate_object", "42710"),
    ("duplicate_table", "42P07"),
    ("duplicate_column", "42701"),
    ("undefined_object", "42704"),
    ("undefined_table", "42P01"),
];

impl Grammar<'_, '_> {
    /// Behind DO.
    pub(super) fn anonymous_block(&mut self) -> Result<Statement, PlanError> {
        let mut language = self.block_language()?;
        let body = self.string()?;
        if language.is_none() {
            language = self.block_language()?;
        }
        let read = match language.as_deref() {
            None | Some("plpgsql") => statement(&body)?,
            Some(_) => None,
        };
        let other = "DO with anything but RAISE, or one definition that is guarded against being there";
        Ok(read.unwrap_or_else(|| self.unsupported(other)))
    }

    fn block_language(&mut self) -> Result<Option<String>, PlanError> {
        if self.eat(&["LANGUAGE"]) { Ok(Some(self.identifier()?.name)) } else { Ok(None) }
    }
}

/// The tokens of a body, without blanks.
pub(super) struct Body<'a> {
    lines: &'a Lines<'a>,
    tokens: Vec<TokenWithSpan>,
    next: usize,
}

fn statement(body: &str) -> Result<Option<Statement>, PlanError> {
    let lines = Lines::new(body);
    let Ok(tokens) = literals::tokenize(body) else { return Ok(None) };
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    let body = |tokens| Body { lines: &lines, tokens, next: 0 };
    match raise::raised(body(tokens.clone()))? {
        Some(raised) => Ok(Some(raised)),
        None => Ok(body(tokens).read()?.map(|guarded| Statement::Guarded(Box::new(guarded)))),
    }
}

impl Body<'_> {
    fn read(&mut self) -> Result<Option<Guarded>, PlanError> {
        if !self.eat(&["BEGIN"]) {
            return Ok(None);
        }
        let read = if self.eat(&["IF", "NOT", "EXISTS"]) { self.unless_exists() } else { self.with_handler() };
        let Some((definition, guard)) = read else { return Ok(None) };
        let ends = self.eat(&["END"]) && (self.eat_token(&Token::SemiColon) || self.at_end()) && self.at_end();
        if !ends {
            return Ok(None);
        }
        // What may stand there holds no other statement, so that none is read within itself.
        if !["CREATE", "ALTER"]
            .iter()
            .any(|word| definition.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word)))
        {
            return Ok(None);
        }
        let within = |error: PlanError| PlanError { position: None, ..error };
        let Ok([definition]) = <[_; 1]>::try_from(parse(&definition).map_err(within)?) else { return Ok(None) };
        let is_definition = matches!(
            definition.statement,
            Statement::CreateEnum { .. }
                | Statement::CreateComposite(_)
                | Statement::CreateRange(_)
                | Statement::AddEnumValue(_)
                | Statement::RenameEnumValue { .. }
                | Statement::AlterTable(_)
                | Statement::CreateTable(_)
                | Statement::CreateIndex(_)
        );
        let guard = match guard {
            Unread::Conditions(codes) => Guard::Conditions(codes),
            Unread::Query(query) => {
                let query = format!("SELECT EXISTS ({query})");
                let Ok([query]) = <[_; 1]>::try_from(parse(&query).map_err(within)?) else { return Ok(None) };
                Guard::UnlessExists(query)
            }
        };
        Ok(is_definition.then_some(Guarded { definition, guard }))
    }

    /// `(query) THEN definition; END IF;`
    fn unless_exists(&mut self) -> Option<(String, Unread)> {
        if !self.eat_token(&Token::LParen) {
            return None;
        }
        let query = self.up_to(&Token::RParen)?;
        if !self.eat(&["THEN"]) {
            return None;
        }
        let definition = self.up_to(&Token::SemiColon)?;
        let ends = self.eat(&["END", "IF"]) && self.eat_token(&Token::SemiColon);
        ends.then_some((definition, Unread::Query(query)))
    }

    /// `definition; EXCEPTION WHEN condition [OR condition …] THEN NULL;`
    fn with_handler(&mut self) -> Option<(String, Unread)> {
        let definition = self.up_to(&Token::SemiColon)?;
        if !self.eat(&["EXCEPTION", "WHEN"]) {
            return None;
        }
        let mut codes = Vec::new();
        loop {
            codes.push(CONDITIONS.iter().find(|(name, _)| self.eat(&[name]))?.1);
            if !self.eat(&["OR"]) {
                break;
            }
        }
        let ends = self.eat(&["THEN", "NULL"]) && self.eat_token(&Token::SemiColon);
        ends.then_some((definition, Unread::Conditions(codes)))
    }

    /// The text up to a token that stands in no parentheses; the token is taken.
    fn up_to(&mut self, end: &Token) -> Option<String> {
        let (start, mut depth) = (self.next, 0_u32);
        let place = (start..self.tokens.len()).find(|&place| {
            let token = &self.tokens[place].token;
            let found = depth == 0 && token == end;
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            found
        })?;
        self.next = place + 1;
        let (first, last) = (self.tokens.get(start)?, self.tokens.get(place.checked_sub(1)?)?);
        Some(self.lines.slice(first.span.start, last.span.end).to_owned())
    }

    /// The line on which the next token stands, from 1.
    pub(super) fn line(&self) -> u64 {
        self.tokens.get(self.next).map_or(1, |token| token.span.start.line)
    }

    /// A string.
    pub(super) fn string(&mut self) -> Option<String> {
        let text = match &self.tokens.get(self.next)?.token {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
            Token::DollarQuotedString(text) => text.value.clone(),
            _ => return None,
        };
        self.next += 1;
        Some(text)
    }

    /// The text up to a comma, a semicolon or USING that stands in no parentheses, which is left.
    pub(super) fn expression(&mut self) -> Option<String> {
        let (start, mut depth) = (self.next, 0_u32);
        let place = (start..self.tokens.len()).find(|&place| {
            let token = &self.tokens[place];
            let ends = matches!(token.token, Token::Comma | Token::SemiColon) || is_word(token, "USING");
            match &token.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && ends
        })?;
        self.next = place;
        let (first, last) = (self.tokens.get(start)?, self.tokens.get(place.checked_sub(1)?)?);
        (place > start).then(|| self.lines.slice(first.span.start, last.span.end).to_owned())
    }

    pub(super) fn eat(&mut self, words: &[&str]) -> bool {
        let mut ahead = self.tokens[self.next.min(self.tokens.len())..].iter();
        let found = words.iter().all(|word| ahead.next().is_some_and(|token| is_word(token, word)));
        if found {
            self.next += words.len();
        }
        found
    }

    pub(super) fn eat_token(&mut self, token: &Token) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|next| next.token == *token);
        self.next += usize::from(found);
        found
    }

    pub(super) fn at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }
}

/// What a definition is guarded by, as text.
enum Unread {
    Conditions(Vec<&'static str>),
    Query(String),
}
