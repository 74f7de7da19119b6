//! `ON CONFLICT (columns) WHERE predicate DO …`, which sqlparser reads without its WHERE.
//!
//! The tokens of the WHERE are taken out before the parser sees them. Whoever looks for the arbiters reads it again, from the
//! text behind the columns.

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
    }
    tokens
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

fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}
