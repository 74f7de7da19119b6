//! A body under reading: its tokens, and the text between them.

use super::lexer::{self, BodyToken, WordKind};
use super::{Body, Conflict, Expression, Target};
use crate::error::PlanError;
use repr::poll;

/// How deep statements may stand within each other.
const NESTING_MAX: usize = 200;

/// See the module.
pub(super) struct BodyReader<'t> {
    text: &'t str,
    tokens: Vec<BodyToken>,
    at: usize,
    /// How many texts of SQL there are.
    expressions: usize,
    depth: usize,
}

impl<'t> BodyReader<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, PlanError> {
        Ok(BodyReader { text, tokens: lexer::tokens(text)?, at: 0, expressions: 0, depth: 0 })
    }

    pub(super) fn body(mut self) -> Result<Body, PlanError> {
        let mut conflict = Conflict::default();
        while self.symbol("#") {
            let (option, value) = (self.word_text()?, self.word_text()?);
            match (&*option, &*value) {
                ("variable_conflict", "error") => conflict = Conflict::Error,
                ("variable_conflict", "use_variable") => conflict = Conflict::Variable,
                ("variable_conflict", "use_column") => conflict = Conflict::Column,
                ("print_strict_params", "on" | "off") | ("option", "dump") => {}
                _ => return Err(PlanError::new("42601", format!("unrecognized option \"{option}\""))),
            }
        }
        let label = self.label()?;
        let block = self.block(label)?;
        self.symbol(";");
        if self.at < self.tokens.len() { Err(self.unexpected()) } else { Ok(Body { block, conflict }) }
    }

    /// Reads something one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, PlanError>) -> Result<T, PlanError> {
        if self.depth >= NESTING_MAX {
            return Err(
                PlanError::new("54001", "stack depth limit exceeded").hint("The statements of a body nest too deeply.")
            );
        }
        poll::step()?;
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    pub(super) fn kind(&self, ahead: usize) -> Option<&WordKind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    /// Whether that word stands there.
    pub(super) fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.kind(ahead), Some(WordKind::Word(found)) if found == word)
    }

    pub(super) fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.kind(ahead), Some(WordKind::Symbol(found)) if *found == symbol)
    }

    /// Takes these words, if they are next.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let are_there = words.iter().enumerate().all(|(ahead, word)| self.is_word(ahead, word));
        if are_there {
            self.at += words.len();
        }
        are_there
    }

    /// Takes a symbol, if it is next.
    pub(super) fn symbol(&mut self, symbol: &str) -> bool {
        let is_there = self.is_symbol(0, symbol);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect_words(&mut self, words: &[&str]) -> Result<(), PlanError> {
        if self.words(words) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), PlanError> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes so many tokens.
    pub(super) fn take(&mut self, count: usize) {
        self.at += count;
    }

    /// A name.
    pub(super) fn name(&mut self) -> Result<String, PlanError> {
        let name = match self.kind(0) {
            Some(WordKind::Word(name) | WordKind::Quoted(name)) => name.clone(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(crate::parse::truncated(&name))
    }

    pub(super) fn word_text(&mut self) -> Result<String, PlanError> {
        match self.kind(0) {
            Some(WordKind::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `a.b.c`
    pub(super) fn dotted(&mut self) -> Result<Vec<String>, PlanError> {
        let mut parts = vec![self.name()?];
        while self.is_symbol(0, ".") {
            self.at += 1;
            parts.push(self.name()?);
        }
        Ok(parts)
    }

    /// A string, if one is next.
    pub(super) fn string(&mut self) -> Option<String> {
        let Some(WordKind::Text(text)) = self.kind(0) else { return None };
        let text = text.clone();
        self.at += 1;
        Some(text)
    }

    /// The line of the next token, from 1.
    pub(super) fn line(&self) -> u32 {
        let end = self.tokens.get(self.at).map_or(self.text.len(), |token| token.from);
        let lines = self.text[..end].bytes().filter(|byte| *byte == b'\n').count();
        // PostgreSQL leaves the line out on which the body is opened.
        u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// `<<label>>`
    pub(super) fn label(&mut self) -> Result<Option<String>, PlanError> {
        if !self.symbol("<<") {
            return Ok(None);
        }
        let label = self.name()?;
        self.expect(">>")?;
        Ok(Some(label))
    }

    /// Where the first token stands that ends a text: none of those that stand in parentheses. CASE has its own THEN and ELSE.
    pub(super) fn end_of(&self, ends: impl Fn(&Self, usize) -> bool) -> Result<usize, PlanError> {
        let (mut depth, mut cases, mut place) = (0_usize, 0_usize, 0);
        loop {
            let kind = self.kind(place).ok_or_else(|| self.unexpected_at(self.at + place))?;
            if depth == 0 && (cases == 0 || self.is_symbol(place, ";")) && ends(self, place) {
                return Ok(place);
            }
            match kind {
                WordKind::Symbol("(" | "[") => depth += 1,
                WordKind::Symbol(")" | "]") => {
                    let around = depth.checked_sub(1);
                    depth = around.ok_or_else(|| PlanError::new("42601", "mismatched parentheses"))?;
                }
                WordKind::Symbol(";") => {
                    return Err(match depth {
                        0 => self.unexpected_at(self.at + place),
                        _ => PlanError::new("42601", "mismatched parentheses"),
                    });
                }
                WordKind::Word(word) if word == "case" => cases += 1,
                WordKind::Word(word) if word == "end" && cases > 0 => cases -= 1,
                _ => {}
            }
            place += 1;
        }
    }

    /// The text up to a token so far ahead, which is left.
    pub(super) fn text_to(&mut self, ahead: usize) -> Result<&'t str, PlanError> {
        if ahead == 0 {
            return Err(self.missing());
        }
        let text = &self.text[self.tokens[self.at].from..self.tokens[self.at + ahead - 1].to];
        self.at += ahead;
        Ok(text)
    }

    /// The text between places, from the token that is next.
    pub(super) fn text_between(&self, from: usize, to: usize) -> &'t str {
        if from >= to {
            return "";
        }
        &self.text[self.tokens[self.at + from].from..self.tokens[self.at + to - 1].to]
    }

    /// Numbers a text of SQL.
    pub(super) fn numbered(&mut self, text: String) -> Expression {
        self.expressions += 1;
        Expression { text, number: self.expressions - 1 }
    }

    /// An expression up to what ends it, as a query of one row.
    pub(super) fn expression(&mut self, ends: impl Fn(&Self, usize) -> bool) -> Result<Expression, PlanError> {
        let end = self.end_of(ends)?;
        let text = self.text_to(end)?;
        let text = format!("SELECT {text}");
        crate::parse::check_query(&text)?;
        Ok(self.numbered(text))
    }

    /// The same up to a semicolon, which is taken.
    pub(super) fn to_semicolon(&mut self) -> Result<Expression, PlanError> {
        let expression = self.expression(|reader, place| reader.is_symbol(place, ";"))?;
        self.expect(";")?;
        Ok(expression)
    }

    /// `name.field[subscript]`
    pub(super) fn target(&mut self) -> Result<Target, PlanError> {
        let path = match self.kind(0) {
            Some(WordKind::Number) => {
                let text = self.text_to(1)?;
                if !text.starts_with('$') {
                    return Err(self.unexpected_at(self.at - 1));
                }
                vec![text.to_owned()]
            }
            _ => self.dotted()?,
        };
        let mut subscripts = Vec::new();
        while self.symbol("[") {
            subscripts.push(self.expression(|reader, place| reader.is_symbol(place, "]"))?);
            self.expect("]")?;
        }
        Ok(Target { path, subscripts })
    }

    /// What ends too soon, or is left out.
    fn missing(&self) -> PlanError {
        let error = self.unexpected();
        match self.tokens.get(self.at) {
            Some(_) => PlanError::new("42601", "missing expression"),
            None => error,
        }
    }

    pub(super) fn unexpected(&self) -> PlanError {
        self.unexpected_at(self.at)
    }

    pub(super) fn unexpected_at(&self, at: usize) -> PlanError {
        match self.tokens.get(at) {
            Some(token) => {
                let text = &self.text[token.from..token.to];
                PlanError::new("42601", format!("syntax error at or near \"{text}\""))
            }
            None => PlanError::new("42601", "syntax error at end of input"),
        }
    }
}
