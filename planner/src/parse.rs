//! Text → our statements: PostgreSQL's SQL, with annotations and subject requests, over sqlparser without a fork.
//!
//! First on a statement's trip. Words are peeked at; what is Dogwood's (DDL, GDPR, CTX, SUBSCRIBE, labels,
//! session commands) is read here, queries and DML by sqlparser. Never sees the catalog, never panics,
//! and reserves no word that PostgreSQL leaves free.

pub mod annotation;
pub(crate) mod arbiter;
pub mod backslashes;
mod call_forms;
pub mod copy;
mod created_routine;
mod created_type;
pub(crate) mod current_of;
mod database;
pub mod definition;
pub mod dialect;
mod domain;
mod explain_options;
pub(crate) mod frame_exclusion;
mod frame_offset;
mod governance;
mod grammar;
mod grant;
pub(crate) mod grouping_sets;
mod index;
mod insert_query;
pub(crate) mod join_alias;
mod limits;
mod literal_ends;
pub mod literals;
mod long_names;
mod maintenance;
pub(crate) mod no_columns;
mod object;
mod operator;
pub(crate) mod operator_symbol;
pub(crate) mod overriding;
pub(crate) mod part;
mod policy;
mod purpose;
mod recursion_clause;
pub mod request;
pub(crate) mod retention;
pub mod rights;
mod role;
mod routine;
mod row_limit;
pub(crate) mod row_lock;
pub(crate) mod rows_from;
mod select_into;
mod sequence;
mod session;
mod splice;
pub(crate) mod star;
pub mod statement;
mod subject;
mod subscribe;
mod table;
mod table_change;
mod table_command;
pub(crate) mod table_sample;
pub mod template;
mod trigger;
pub mod type_definition;
mod unicode_names;
pub mod utility;
mod view;
mod whole_row;

pub use long_names::cut_names;
pub use sqlparser::ast::Expr;

pub(crate) use splice::{Edit, name_items, splice, written};
pub use statement::{ParsedStatement, Statement};

use crate::error::PlanError;
use dialect::DogwoodDialect;
use grammar::{Grammar, Lines};
use repr::poll;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

/// The longest query string that is read.
pub(crate) const QUERY_BYTES_MAX: usize = 16 << 20;

/// Parses a query string: the statements between its semicolons, none of them empty.
///
/// # Errors
/// 42601 with the position in `sql`; 54000 for a text beyond `QUERY_BYTES_MAX`; 54001 for one that
/// nests too deeply.
pub fn parse(sql: &str) -> Result<Vec<ParsedStatement>, PlanError> {
    if sql.len() > QUERY_BYTES_MAX {
        return Err(PlanError::new("54000", "query string is too long")
            .detail(format!("{} bytes, of at most {QUERY_BYTES_MAX}", sql.len())));
    }
    let lines = Lines::new(sql);
    let tokens = literals::tokenize(sql).map_err(|error| tokenizer_error(sql, &lines, &error))?;
    let mut statements = Vec::new();
    for tokens in split(tokens) {
        let mut significant = tokens.iter().filter(|token| !is_blank(token));
        let Some(first) = significant.next().map(|token| token.span) else { continue };
        let last = significant.next_back().map_or(first, |token| token.span);
        let text = lines.slice(first.start, last.end);
        let offset = lines.characters_before(first.start) as u32;
        let (tokens, lines) = (relocate(tokens, first, last), Lines::new(text));
        let read = literal_ends::refuse_junk(&tokens, &lines)
            .and_then(|()| read_tokens(&lines, tokens, |grammar| grammar.statement()));
        let statement = read.map_err(|mut error| {
            error.position = error.position.map(|position| position + offset);
            error
        })?;
        statements.push(ParsedStatement { statement, text: text.to_string(), offset, variables: None });
    }
    Ok(statements)
}

/// Parses exactly one expression, e.g. a stored DEFAULT or CHECK.
///
/// # Errors
/// As for `parse`.
pub(crate) fn parse_expression(text: &str) -> Result<sqlparser::ast::Expr, PlanError> {
    with_grammar(text, |grammar| grammar.run(|parser| parser.parse_expr()))
}

/// Parses exactly one type.
///
/// # Errors
/// As for `parse`.
pub(crate) fn parse_type(text: &str) -> Result<sqlparser::ast::DataType, PlanError> {
    with_grammar(text, |grammar| grammar.run(|parser| parser.parse_data_type()))
        .map_err(|error| PlanError { position: None, ..error })
}

/// Parses exactly one query, e.g. a view's; spans are relative to `text`.
///
/// # Errors
/// As for `parse`.
pub(crate) fn parse_query(text: &str) -> Result<Box<sqlparser::ast::Query>, PlanError> {
    with_grammar(text, |grammar| grammar.query().map(|(query, _)| query))
}

/// A name, cut as PostgreSQL cuts it.
pub(crate) fn truncated(name: &str) -> String {
    grammar::truncate(name)
}

/// Checks that a text within a body is one query; what is wrong is said without a place.
///
/// # Errors
/// As for `parse`.
pub(crate) fn check_query(text: &str) -> Result<(), PlanError> {
    check_statement(text)
}

/// The same of any one statement.
///
/// # Errors
/// As for `parse`.
pub(crate) fn check_statement(text: &str) -> Result<(), PlanError> {
    let read = parse(text).map_err(|error| PlanError { position: None, ..error })?;
    match read.as_slice() {
        [_] => Ok(()),
        _ => Err(PlanError::new("42601", "syntax error at end of input")),
    }
}

/// Whether PostgreSQL reserves a word, so that it names nothing unless it is quoted.
pub fn is_reserved(word: &str) -> bool {
    grammar::is_reserved(word)
}

/// The tokens of an expression that was parsed before, each with its own text; blanks included.
pub(crate) fn tokens_with_text(text: &str) -> Vec<(Token, &str)> {
    let lines = Lines::new(text);
    let tokens = operator_symbol::joined(dialect::tokenize(text).unwrap_or_default(), &lines);
    tokens.into_iter().map(|token| (token.token, lines.slice(token.span.start, token.span.end))).collect()
}

/// Reads all of `text` with one rule of the grammar.
fn with_grammar<T>(
    text: &str,
    read: impl FnOnce(&mut Grammar<'_, '_>) -> Result<T, PlanError>,
) -> Result<T, PlanError> {
    let lines = Lines::new(text);
    let tokens = literals::tokenize(text).map_err(|error| tokenizer_error(text, &lines, &error))?;
    read_tokens(&lines, tokens, read)
}

/// The same, of a text that is tokens already.
fn read_tokens<T>(
    lines: &Lines,
    tokens: Vec<TokenWithSpan>,
    read: impl FnOnce(&mut Grammar<'_, '_>) -> Result<T, PlanError>,
) -> Result<T, PlanError> {
    limits::check(&tokens)?;
    let tokens = literal_ends::joined(unicode_names::rewritten(tokens, lines)?);
    let tokens = operator_symbol::joined(tokens, lines);
    recursion_clause::refuse(&tokens, lines)?;
    let tokens = no_columns::written_out(table_command::written_out(tokens, lines)?);
    let tokens = row_lock::rewritten(row_limit::rewritten(tokens, lines)?, lines)?;
    let (tokens, overriding) = overriding::taken_out(arbiter::taken_out(tokens));
    let tokens = insert_query::opened(tokens);
    let tokens = current_of::rewritten(part::rewritten(tokens));
    let tokens =
        whole_row::in_parentheses(star::rewritten(frame_exclusion::rewritten(frame_offset::rewritten(tokens))));
    let tokens =
        join_alias::rewritten(table_sample::rewritten(call_forms::rewritten(grouping_sets::rewritten(tokens))));
    let tokens = rows_from::rewritten(tokens, lines)?;
    let mut parser = Parser::new(&DogwoodDialect)
        .with_recursion_limit(limits::NESTING_MAX)
        .with_tokens_with_locations(without_only(tokens));
    let mut grammar = Grammar { parser: &mut parser, lines, overriding };
    let value = read(&mut grammar)?;
    if grammar.at_end() { Ok(value) } else { Err(grammar.unexpected()) }
}

impl Grammar<'_, '_> {
    /// One statement, by its first words.
    fn statement(&mut self) -> Result<Statement, PlanError> {
        // Each rule answers None without taking a token when the statement is not its own.
        if let Some(statement) = self.subject_statement()? {
            return Ok(statement);
        }
        if let Some(statement) = self.session_statement()? {
            return Ok(statement);
        }
        if let Some(statement) = self.maintenance_statement()? {
            return Ok(statement);
        }
        if let Some(statement) = self.definition_statement()? {
            return Ok(statement);
        }
        const QUERIES: [&str; 7] = ["SELECT", "VALUES", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"];
        let is_query = self.next_is(&Token::LParen) || QUERIES.iter().any(|word| self.word_is(0, word));
        if !is_query {
            return Err(self.unexpected());
        }
        let (mut statement, text) = self.run_with_text(|parser| parser.parse_statement())?;
        overriding::put_back(&mut statement, self.overriding);
        select_into::table_made(statement, text, |span| self.position_of(span))
    }
}

/// What is between semicolons.
fn split(mut tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let mut parts = Vec::new();
    while let Some(semicolon) = tokens.iter().rposition(|token| token.token == Token::SemiColon) {
        parts.push(tokens.split_off(semicolon + 1));
        tokens.pop();
    }
    parts.push(tokens);
    parts.reverse();
    parts
}

/// The statement's tokens with spans that begin at its first token.
fn relocate(mut tokens: Vec<TokenWithSpan>, first: Span, last: Span) -> Vec<TokenWithSpan> {
    let origin = first.start;
    let shift = |location: &mut sqlparser::tokenizer::Location| {
        if location.line == origin.line {
            location.column = location.column.saturating_sub(origin.column - 1);
        }
        location.line -= origin.line - 1;
    };
    tokens.retain_mut(|token| {
        poll::step_or_unwind();
        let within = token.span.start >= first.start && token.span.end <= last.end;
        if within {
            shift(&mut token.span.start);
            shift(&mut token.span.end);
        }
        within
    });
    tokens
}

/// Without the ONLY of `FROM ONLY table`, which sqlparser takes for a table: no table has descendants, so it says nothing.
fn without_only(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut before_table = false;
    tokens.retain(|token| {
        poll::step_or_unwind();
        if is_blank(token) {
            return true;
        }
        let keyword = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        };
        let drops = before_table && keyword == Keyword::ONLY;
        before_table =
            token.token == Token::Comma || matches!(keyword, Keyword::FROM | Keyword::JOIN | Keyword::UPDATE);
        !drops
    });
    tokens
}

/// Where the parenthesis that opens there is closed.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if tokens[open].token != Token::LParen {
        return None;
    }
    let mut depth = 0_usize;
    (open..tokens.len()).find(|&place| {
        poll::step_or_unwind();
        match tokens[place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The place of the first token behind a place that is no blank.
fn next_visible(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|&place| !is_blank(&tokens[place]))
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(
        token.token,
        Token::EOF
            | Token::Whitespace(
                Whitespace::Space
                    | Whitespace::Newline
                    | Whitespace::Tab
                    | Whitespace::SingleLineComment { .. }
                    | Whitespace::MultiLineComment(_)
            )
    )
}

/// What the tokenizer does not like, in PostgreSQL's words.
fn tokenizer_error(sql: &str, lines: &Lines<'_>, error: &sqlparser::tokenizer::TokenizerError) -> PlanError {
    let position = lines.characters_before(error.location);
    let rest = sql.get(lines.byte_offset(error.location)..).unwrap_or_default();
    let message = error.message.to_ascii_lowercase();
    let what = if message.contains("comment") {
        "unterminated /* comment"
    } else if message.contains("close") || message.contains("edelim") && message.contains("quote") {
        "unterminated quoted identifier"
    } else if message.contains("dollar") {
        "unterminated dollar-quoted string"
    } else if message.contains("unterminated") {
        "unterminated quoted string"
    } else {
        "syntax error"
    };
    if rest.is_empty() {
        return PlanError::new("42601", format!("{what} at end of input")).at(Some(position as u32 + 1));
    }
    let near: String = rest.chars().take(64).collect();
    PlanError::new("42601", format!("{what} at or near \"{near}\"")).at(Some(position as u32 + 1))
}
