//! Prefix forms that sqlparser does not read: `TRIM(BOTH FROM x)`, `SUBSTRING(x SIMILAR y ESCAPE z)`, and queries in parentheses where an expression stands,
//! which it knows only if they begin with SELECT or WITH.
//!
//! `(VALUES (1))`, `((SELECT 1) UNION SELECT 2)`: what opens here is a query if its first word is one's, and if what
//! follows each inner parenthesis goes on with a query. Looks ahead, takes nothing it does not read.

use super::POSTGRES;
use repr::poll;
use sqlparser::ast::{Expr, TrimWhereField};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// What goes on with a query that stands in parentheses.
pub(in crate::parse) const AFTER_QUERY: [Keyword; 8] = [
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
];

/// The tokens from the next one on, without blanks.
fn ahead<'p>(parser: &'p Parser<'_>) -> impl Iterator<Item = &'p Token> + Clone {
    (parser.index()..)
        .map(|place| &parser.token_at(place).token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .take_while(|token| **token != Token::EOF)
}

/// The unquoted keyword that a token is.
pub(super) fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether a query continues with this token.
pub(super) fn continues(token: &Token) -> bool {
    keyword(token).is_some_and(|keyword| AFTER_QUERY.contains(&keyword))
}

/// Whether the parenthesis that is `skipped` tokens ahead holds a query.
pub(super) fn opens_query(parser: &Parser<'_>, skipped: usize) -> bool {
    let mut opened = 0_usize;
    let mut tokens = ahead(parser).skip(skipped);
    // Down to the first word.
    let first = loop {
        match tokens.next() {
            Some(Token::LParen) => opened += 1,
            Some(other) => break keyword(other),
            None => return false,
        }
    };
    if opened == 0 || !matches!(first, Some(Keyword::SELECT | Keyword::VALUES | Keyword::WITH)) {
        return false;
    }
    // Up again: behind each parenthesis but the outermost a query goes on, or the next one closes.
    let mut depth = opened;
    let mut closed = opened;
    while let Some(token) = tokens.next() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                if depth >= closed {
                    continue;
                }
                closed = depth;
                if depth == 0 {
                    return true;
                }
                let mut rest = tokens.clone();
                match rest.next() {
                    Some(Token::RParen) => {}
                    Some(next) if continues(next) => {}
                    _ => return false,
                }
            }
            _ => {}
        }
    }
    false
}

/// A scalar subquery that sqlparser would not take for one.
pub(super) fn scalar(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    if parser.peek_token_ref().token != Token::LParen {
        return None;
    }
    match &parser.peek_nth_token_ref(1).token {
        Token::LParen => {}
        token if keyword(token) == Some(Keyword::VALUES) => {}
        _ => return None,
    }
    opens_query(parser, 0).then(|| in_parentheses(parser))
}

/// `TRIM(BOTH FROM text)` and `TRIM(BOTH FROM text, characters)`, as PostgreSQL has it: sqlparser wants what is trimmed in front.
pub(super) fn trim(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    if keyword(&parser.peek_token_ref().token) != Some(Keyword::TRIM) {
        return None;
    }
    let word = |place: usize| keyword(&parser.peek_nth_token_ref(place).token);
    let side = match word(2) {
        Some(Keyword::BOTH) => Some(TrimWhereField::Both),
        Some(Keyword::LEADING) => Some(TrimWhereField::Leading),
        Some(Keyword::TRAILING) => Some(TrimWhereField::Trailing),
        _ => None,
    };
    let words = 2 + usize::from(side.is_some());
    if parser.peek_nth_token_ref(1).token != Token::LParen || word(words) != Some(Keyword::FROM) {
        return None;
    }
    (0..=words).for_each(|_| parser.advance_token());
    Some(trimmed(parser, side))
}

fn trimmed(parser: &mut Parser<'_>, trim_where: Option<TrimWhereField>) -> Result<Expr, ParserError> {
    let expr = Box::new(parser.parse_expr()?);
    let trim_what = parser.consume_token(&Token::Comma).then(|| parser.parse_expr().map(Box::new)).transpose()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim { trim_where, trim_what, expr, trim_characters: None })
}

/// `SUBSTRING(text SIMILAR pattern ESCAPE character)`: what stands between the pattern's separators.
pub(super) fn substring(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    is_similar_substring(parser).then(|| similar(parser))
}

fn is_similar_substring(parser: &Parser<'_>) -> bool {
    let mut tokens = ahead(parser);
    if tokens.next().and_then(keyword) != Some(Keyword::SUBSTRING) || tokens.next() != Some(&Token::LParen) {
        return false;
    }
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        poll::step_or_unwind();
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::Comma if depth == 0 => return false,
            other if depth == 0 => match keyword(other) {
                Some(Keyword::FROM | Keyword::FOR) => return false,
                Some(Keyword::SIMILAR) => return tokens.next().and_then(keyword) != Some(Keyword::TO),
                _ => {}
            },
            _ => {}
        }
    }
    false
}

fn similar(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    // The word and the parenthesis.
    (0..2).for_each(|_| parser.advance_token());
    let expr = Box::new(parser.parse_subexpr(POSTGRES.prec_value(Precedence::Like))?);
    parser.expect_keyword_is(Keyword::SIMILAR)?;
    let pattern = Box::new(parser.parse_subexpr(POSTGRES.prec_value(Precedence::Like))?);
    parser.expect_keyword_is(Keyword::ESCAPE)?;
    let escape = Box::new(parser.parse_expr()?);
    parser.expect_token(&Token::RParen)?;
    let (substring_from, substring_for) = (Some(pattern), Some(escape));
    Ok(Expr::Substring { expr, substring_from, substring_for, special: false, shorthand: false })
}

/// `(query)` as an expression.
pub(super) fn in_parentheses(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}
