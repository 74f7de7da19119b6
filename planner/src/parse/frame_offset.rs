//! A frame's offset that begins with a string, which sqlparser takes for an interval, and of a cast reads no more than that.
//!
//! Done on tokens: it stands in parentheses then.
//! ```text
//! RANGE '1 day'::interval PRECEDING   ─▶   RANGE ('1 day'::interval) PRECEDING
//! RANGE 'inf' PRECEDING               ─▶   RANGE ('inf') PRECEDING
//! ```

use super::grammar::is_word;
use super::is_blank;
use repr::poll;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens with such offsets in parentheses.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        if ["PRECEDING", "FOLLOWING"].iter().any(|word| is_word(&tokens[at], word))
            && let Some(start) = cast_string(&tokens[..at])
        {
            let around = |token: Token, place: &TokenWithSpan| TokenWithSpan { token, span: place.span };
            let (open, close) = (around(Token::LParen, &tokens[start]), around(Token::RParen, &tokens[at]));
            tokens.insert(at, close);
            tokens.insert(start, open);
            at += 2;
        }
        at += 1;
    }
    tokens
}

/// Where a string begins, maybe with a cast behind it, if that is all there is behind what opens a frame's bound.
fn cast_string(before: &[TokenWithSpan]) -> Option<usize> {
    const OPENS: [&str; 5] = ["BETWEEN", "AND", "RANGE", "ROWS", "GROUPS"];
    // A type's name with its modifiers is short.
    const TOKENS_MAX: usize = 24;
    let mut start = None;
    for (place, token) in before.iter().enumerate().rev().filter(|(_, token)| !is_blank(token)).take(TOKENS_MAX) {
        if OPENS.iter().any(|word| is_word(token, word)) {
            break;
        }
        start = Some(place);
    }
    let start = start?;
    let next = before[start + 1..].iter().find(|token| !is_blank(token));
    let is_string = matches!(before[start].token, Token::SingleQuotedString(_));
    (is_string && next.is_none_or(|next| next.token == Token::DoubleColon)).then_some(start)
}
