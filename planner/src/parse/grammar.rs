//! A cursor over one statement's tokens: words, names, literals, expressions, and PostgreSQL's syntax errors.
//!
//! Wraps sqlparser's `Parser`, which reads expressions, types and queries; words are compared by
//! spelling, so that none becomes reserved. Never looks at the catalog.

use super::overriding::Overriding;
use super::statement::{Identifier, ObjectName, SqlText, TypeName};
use crate::error::PlanError;
use repr::poll;
use sqlparser::ast;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

/// PostgreSQL's NAMEDATALEN - 1.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// From sqlparser's lines and columns to characters and bytes of a text.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Characters before each line.
    starts: Vec<usize>,
    /// The byte offset of every `CHECKPOINT`-th character, so that long lines are not walked again and again.
    checkpoints: Vec<usize>,
    characters: usize,
}

const CHECKPOINT: usize = 128;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mut starts, mut checkpoints, mut characters) = (vec![0], Vec::new(), 0);
        for (offset, character) in text.char_indices() {
            if characters % CHECKPOINT == 0 {
                poll::step_or_unwind();
                checkpoints.push(offset);
            }
            characters += 1;
            if character == '\n' {
                starts.push(characters);
            }
        }
        Lines { text, starts, checkpoints, characters }
    }

    /// Characters before a location; all of them if it lies beyond the text.
    pub(super) fn characters_before(&self, location: Location) -> usize {
        let line = (location.line.max(1) as usize - 1).min(self.starts.len() - 1);
        (self.starts[line] + (location.column.max(1) as usize - 1)).min(self.characters)
    }

    /// The byte offset of a location; the text's end if it lies beyond.
    pub(super) fn byte_offset(&self, location: Location) -> usize {
        let character = self.characters_before(location);
        let Some(&start) = self.checkpoints.get(character / CHECKPOINT) else { return self.text.len() };
        let mut rest = self.text[start..].char_indices();
        rest.nth(character % CHECKPOINT).map_or(self.text.len(), |(offset, _)| start + offset)
    }

    /// The text between two locations.
    pub(super) fn slice(&self, from: Location, to: Location) -> &'a str {
        let (from, to) = (self.byte_offset(from), self.byte_offset(to));
        if from <= to { &self.text[from..to] } else { "" }
    }
}

/// Whether a token is this word, unquoted.
pub(super) fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

/// The reader of one statement.
pub(super) struct Grammar<'a, 'p> {
    pub(super) parser: &'p mut Parser<'a>,
    pub(super) lines: &'p Lines<'p>,
    /// What an INSERT says of identity columns; its tokens are not there.
    pub(super) overriding: Overriding,
}

impl Grammar<'_, '_> {
    /// Whether the n-th token ahead is this unquoted word.
    pub(super) fn word_is(&self, n: usize, word: &str) -> bool {
        matches!(&self.parser.peek_nth_token_ref(n).token,
            Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
    }

    /// Whether these words are next.
    pub(super) fn words_are(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.word_is(n, word))
    }

    /// Takes these words if they are next.
    pub(super) fn eat(&mut self, words: &[&str]) -> bool {
        let found = self.words_are(words);
        if found {
            words.iter().for_each(|_| self.parser.advance_token());
        }
        found
    }

    /// Takes one of several words, and says which.
    pub(super) fn eat_one_of<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        let found = words.iter().find(|word| self.word_is(0, word))?;
        self.parser.advance_token();
        Some(found)
    }

    /// Takes these words, or fails at the first that is missing.
    pub(super) fn expect(&mut self, words: &[&str]) -> Result<(), PlanError> {
        for word in words {
            if !self.eat(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    pub(super) fn next_is(&self, token: &Token) -> bool {
        self.parser.peek_token_ref().token == *token
    }

    pub(super) fn eat_token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    pub(super) fn expect_token(&mut self, token: &Token) -> Result<(), PlanError> {
        if self.eat_token(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Whether the statement ends here.
    pub(super) fn at_end(&self) -> bool {
        self.next_is(&Token::EOF)
    }

    /// 1-based character position of the next token.
    pub(super) fn position(&self) -> u32 {
        self.position_of(&self.parser.peek_token_ref().span)
    }

    pub(super) fn position_of(&self, span: &Span) -> u32 {
        if span.start.line == 0 {
            return self.lines.characters as u32 + 1;
        }
        self.lines.characters_before(span.start) as u32 + 1
    }

    /// A syntax error at the next token.
    pub(super) fn unexpected(&self) -> PlanError {
        let token = self.parser.peek_token_ref();
        syntax_error(self.lines, self.token_at(token.span.start).unwrap_or(token))
    }

    /// sqlparser's error in PostgreSQL's words.
    pub(super) fn error(&self, error: &ParserError) -> PlanError {
        match error {
            ParserError::RecursionLimitExceeded => too_deep(),
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => match location_in(message) {
                Some(location) => match self.token_at(location) {
                    Some(token) => syntax_error(self.lines, token),
                    None => self.unexpected(),
                },
                None if message.contains("found: EOF") => syntax_error(self.lines, &end_of_input()),
                None => self.unexpected(),
            },
        }
    }

    /// The token at a place.
    fn token_at(&self, location: Location) -> Option<&TokenWithSpan> {
        let mut index = 0;
        loop {
            let token = self.parser.token_at(index);
            if token.token == Token::EOF {
                return None;
            }
            if token.span.start == location {
                return Some(token);
            }
            index += 1;
        }
    }

    /// Runs one of sqlparser's own methods.
    pub(super) fn run<T>(&mut self, read: impl FnOnce(&mut Parser) -> Result<T, ParserError>) -> Result<T, PlanError> {
        read(self.parser).map_err(|error| self.error(&error))
    }

    /// Runs one of sqlparser's own methods, and gives the text it read as well.
    pub(super) fn run_with_text<T>(
        &mut self,
        read: impl FnOnce(&mut Parser) -> Result<T, ParserError>,
    ) -> Result<(T, String), PlanError> {
        let start = self.parser.peek_token_ref().span.start;
        let value = self.run(read)?;
        let end = self.parser.get_current_token().span.end;
        Ok((value, self.lines.slice(start, end).to_string()))
    }

    /// An identifier: a quoted word, or an unquoted one that PostgreSQL does not reserve.
    pub(super) fn identifier(&mut self) -> Result<Identifier, PlanError> {
        let position = self.position();
        let name = match &self.parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_some() => {
                if word.value.is_empty() {
                    return Err(PlanError::new("42601", "zero-length delimited identifier").at(Some(position)));
                }
                truncate(&word.value)
            }
            Token::Word(word) if !is_reserved(&word.value) => truncate(&word.value.to_lowercase()),
            _ => return Err(self.unexpected()),
        };
        self.parser.advance_token();
        Ok(Identifier { name, position })
    }

    /// An identifier or any word at all, reserved or not: labels, options, settings' values.
    pub(super) fn any_word(&mut self) -> Result<String, PlanError> {
        let name = match &self.parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
            Token::Word(word) => word.value.to_lowercase(),
            _ => return Err(self.unexpected()),
        };
        self.parser.advance_token();
        Ok(name)
    }

    /// `[[database.]schema.]name`
    pub(super) fn object_name(&mut self) -> Result<ObjectName, PlanError> {
        let first = self.identifier()?;
        let mut parts = vec![first];
        while self.eat_token(&Token::Period) {
            let position = self.position();
            let name = self.any_word()?;
            parts.push(Identifier { name: truncate(&name), position });
        }
        if parts.len() > 3 {
            return Err(PlanError::new(
                "42601",
                format!("improper qualified name (too many dotted names): {}", dotted(&parts)),
            )
            .at(Some(parts[0].position)));
        }
        let position = parts[0].position;
        let name = parts.pop().map(|part| part.name).unwrap_or_default();
        let schema = parts.pop().map(|part| part.name);
        Ok(ObjectName { database: parts.pop().map(|part| part.name), schema, name, position })
    }

    /// `table.column`, at least two parts.
    pub(super) fn column_name(&mut self) -> Result<(ObjectName, Identifier), PlanError> {
        let mut parts = vec![self.identifier()?];
        while self.eat_token(&Token::Period) {
            let position = self.position();
            parts.push(Identifier { name: truncate(&self.any_word()?), position });
        }
        let position = parts[0].position;
        let (Some(column), Some(table)) = (parts.pop(), parts.pop()) else {
            return Err(PlanError::new("42601", "column name must be qualified").at(Some(position)));
        };
        let schema = parts.pop().map(|part| part.name);
        let database = parts.pop().map(|part| part.name);
        Ok((ObjectName { database, schema, name: table.name, position }, column))
    }

    /// Items separated by commas.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, PlanError>,
    ) -> Result<Vec<T>, PlanError> {
        let mut items = vec![item(self)?];
        while self.eat_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, …)`
    pub(super) fn parenthesized<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T, PlanError>,
    ) -> Result<Vec<T>, PlanError> {
        self.expect_token(&Token::LParen)?;
        let items = self.list(item)?;
        self.expect_token(&Token::RParen)?;
        Ok(items)
    }

    /// `(column, …)`
    pub(super) fn columns(&mut self) -> Result<Vec<Identifier>, PlanError> {
        self.parenthesized(Self::identifier)
    }

    /// `(column, …)` or nothing.
    pub(super) fn optional_columns(&mut self) -> Result<Vec<Identifier>, PlanError> {
        if self.next_is(&Token::LParen) { self.columns() } else { Ok(Vec::new()) }
    }

    /// An expression, kept as text.
    pub(super) fn expression(&mut self) -> Result<SqlText, PlanError> {
        let position = self.position();
        let (_, text) = self.run_with_text(|parser| parser.parse_expr())?;
        Ok(SqlText { text, position })
    }

    /// `(expression)`, without its parentheses.
    pub(super) fn parenthesized_expression(&mut self) -> Result<SqlText, PlanError> {
        self.expect_token(&Token::LParen)?;
        let expression = self.expression()?;
        self.expect_token(&Token::RParen)?;
        Ok(expression)
    }

    /// PostgreSQL's b_expr, as after DEFAULT, where `NOT NULL` must not be taken for an operator.
    pub(super) fn restricted_expression(&mut self) -> Result<SqlText, PlanError> {
        let position = self.position();
        let above_like = self.parser.dialect_precedence_above_like();
        let (_, text) = self.run_with_text(|parser| parser.parse_subexpr(above_like))?;
        Ok(SqlText { text, position })
    }

    /// A type.
    pub(super) fn type_name(&mut self) -> Result<TypeName, PlanError> {
        let position = self.position();
        let data_type = self.run(|parser| parser.parse_data_type())?;
        Ok(TypeName { data_type, position })
    }

    /// A string literal.
    pub(super) fn string(&mut self) -> Result<String, PlanError> {
        let text = match &self.parser.peek_token_ref().token {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
                text.clone()
            }
            Token::DollarQuotedString(text) => text.value.clone(),
            _ => return Err(self.unexpected()),
        };
        self.parser.advance_token();
        Ok(text)
    }

    /// An integer literal, perhaps signed.
    pub(super) fn integer(&mut self) -> Result<i64, PlanError> {
        let position = self.position();
        let negative = self.eat_token(&Token::Minus);
        if !negative {
            self.eat_token(&Token::Plus);
        }
        let Token::Number(digits, _) = &self.parser.peek_token_ref().token else {
            return Err(self.unexpected());
        };
        let text = if negative { format!("-{digits}") } else { digits.clone() };
        let value = text.parse::<i64>().map_err(|_| {
            if text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) {
                PlanError::new("22003", format!("value \"{text}\" is out of range for type bigint")).at(Some(position))
            } else {
                self.unexpected()
            }
        })?;
        self.parser.advance_token();
        Ok(value)
    }

    /// Passes over `(…)` with whatever stands in it.
    pub(super) fn skip_parenthesized(&mut self) -> Result<(), PlanError> {
        self.expect_token(&Token::LParen)?;
        let mut depth = 1;
        while depth > 0 {
            match self.parser.peek_token_ref().token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::EOF => return Err(self.unexpected()),
                _ => {}
            }
            self.parser.advance_token();
        }
        Ok(())
    }

    /// A query and its text.
    pub(super) fn query(&mut self) -> Result<(Box<ast::Query>, String), PlanError> {
        self.run_with_text(|parser| parser.parse_query())
    }
}

/// Where DEFAULT's expression grammar begins, and where that of a subject's key ends.
pub(super) trait RestrictedPrecedence {
    fn dialect_precedence_above_like(&self) -> u8;
    fn dialect_precedence_of_in(&self) -> u8;
}

impl RestrictedPrecedence for Parser<'_> {
    fn dialect_precedence_above_like(&self) -> u8 {
        use sqlparser::dialect::{Dialect, Precedence};
        super::dialect::DogwoodDialect.prec_value(Precedence::Like)
    }

    fn dialect_precedence_of_in(&self) -> u8 {
        use sqlparser::dialect::{Dialect, Precedence};
        super::dialect::DogwoodDialect.prec_value(Precedence::Between)
    }
}

fn dotted(parts: &[Identifier]) -> String {
    parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".")
}

/// Cuts a name to 63 bytes at a character's boundary, as PostgreSQL does.
pub(super) fn truncate(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_string()
}

/// 54001.
pub(super) fn too_deep() -> PlanError {
    PlanError::new("54001", "stack depth limit exceeded")
        .hint("the statement nests too deeply; split it, or use arrays and IN lists in place of long chains")
}

/// A token at the end of the text.
pub(super) fn end_of_input() -> TokenWithSpan {
    TokenWithSpan { token: Token::EOF, span: Span::empty() }
}

/// `syntax error at or near "token"`.
pub(super) fn syntax_error(lines: &Lines<'_>, token: &TokenWithSpan) -> PlanError {
    if token.token == Token::EOF {
        let end = lines.characters as u32 + 1;
        return PlanError::new("42601", "syntax error at end of input").at(Some(end));
    }
    let text = lines.slice(token.span.start, token.span.end);
    let position = lines.characters_before(token.span.start) as u32 + 1;
    PlanError::new("42601", format!("syntax error at or near \"{text}\"")).at(Some(position))
}

/// The location that sqlparser writes into its messages.
pub(super) fn location_in(message: &str) -> Option<Location> {
    let rest = &message[message.rfind(" at Line: ")? + " at Line: ".len()..];
    let (line, column) = rest.split_once(", Column: ")?;
    let digits = column.bytes().take_while(u8::is_ascii_digit).count();
    Some(Location { line: line.parse().ok()?, column: column[..digits].parse().ok()? })
}

/// PostgreSQL's reserved words, in order.
const RESERVED: [&str; 76] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "with",
];

/// Whether a word is one of these: no table or column has such a name unquoted.
pub(super) fn is_reserved(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    RESERVED.binary_search(&word.as_str()).is_ok()
}
