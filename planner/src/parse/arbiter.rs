//! `ON CONFLICT (keys) WHERE predicate DO …`, which sqlparser reads without its WHERE, and with names of columns only.
//!
//! The tokens of the WHERE are taken out before the parser sees them. Whoever looks for the arbiters reads it again, from the
//! text behind the keys. A key that is more than a name becomes one quoted name, whose value is the expression's text.

use super::grammar::is_word;
use super::is_blank;
use crate::parse::dialect;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens without such clauses.
pub(super) fn taken_out(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(conflict) = (from..tokens.len()).find(|&place| is_word(&tokens[place], "CONFLICT")) {
        from = conflict + 1;
        let on = (0..conflict).rev().find(|&place| !is_blank(&tokens[place]));
        let open = (from..tokens.len()).find(|&place| !is_blank(&tokens[place]));
        if !on.is_some_and(|on| is_word(&tokens[on], "ON")) {
            continue;
        }
        let Some(open) = open.filter(|&open| tokens[open].token == Token::LParen) else { continue };
        let Some(close) = closing(&tokens, open) else { continue };
        if let Some((start, end)) = clause(&tokens, close + 1) {
            tokens.drain(start..end);
        }
        let named: Vec<TokenWithSpan> =
            keys(&tokens[open + 1..close]).flat_map(|key| [as_name(key), comma(key)]).flatten().collect();
        tokens.splice(open + 1..close, named);
    }
    tokens
}

/// The keys, each with the comma behind it.
fn keys(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &[TokenWithSpan]> {
    let mut depth = 0_usize;
    tokens.split_inclusive(move |token| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.token == Token::Comma
    })
}

fn comma(key: &[TokenWithSpan]) -> Option<TokenWithSpan> {
    key.last().filter(|last| last.token == Token::Comma).cloned()
}

/// A key as one token, if it has any.
fn as_name(key: &[TokenWithSpan]) -> Option<TokenWithSpan> {
    let key = key.strip_suffix(comma(key).as_slice()).unwrap_or(key);
    let first = key.iter().position(|token| !is_blank(token))?;
    let last = key.iter().rposition(|token| !is_blank(token))?;
    if first == last && matches!(key[first].token, Token::Word(_)) {
        return Some(key[first].clone());
    }
    let value: String = key[first..=last].iter().map(|token| token.token.to_string()).collect();
    let span = sqlparser::tokenizer::Span { start: key[first].span.start, end: key[last].span.end };
    Some(TokenWithSpan { token: Token::make_word(&value, Some('"')), span })
}

/// What stands between the parenthesis that ends the columns, with which this text begins but for blanks, and DO.
pub(crate) fn predicate(behind_columns: &str) -> Option<String> {
    let tokens = dialect::tokenize(behind_columns).ok()?;
    let close = tokens.iter().position(|token| !is_blank(token))?;
    if tokens[close].token != Token::RParen {
        return None;
    }
    let (start, end) = clause(&tokens, close + 1)?;
    let first = tokens[start + 1..end].iter().find(|token| !is_blank(token))?;
    let last = tokens[start + 1..end].iter().rfind(|token| !is_blank(token))?;
    let span = sqlparser::tokenizer::Span { start: first.span.start, end: last.span.end };
    Some(super::written(behind_columns, &span).to_owned())
}

/// From WHERE, if that comes first, to the DO that ends it.
fn clause(tokens: &[TokenWithSpan], from: usize) -> Option<(usize, usize)> {
    let start = (from..tokens.len()).find(|&place| !is_blank(&tokens[place]))?;
    if !is_word(&tokens[start], "WHERE") {
        return None;
    }
    let mut depth = 0_usize;
    let end = (start..tokens.len()).find(|&place| {
        match tokens[place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_word(&tokens[place], "DO")
    })?;
    Some((start, end))
}

fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|&place| {
        match tokens[place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}
