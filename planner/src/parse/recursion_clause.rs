//! SEARCH and CYCLE behind a recursive query: refused by name, as the parser knows neither word.

use super::grammar::{Lines, is_word};
use super::is_blank;
use crate::error::PlanError;
use repr::poll;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Refuses `) SEARCH … FIRST BY …` and `) CYCLE … SET …`.
pub(super) fn refuse(tokens: &[TokenWithSpan], lines: &Lines<'_>) -> Result<(), PlanError> {
    let mut closed = false;
    for (at, token) in tokens.iter().enumerate() {
        poll::step_or_unwind();
        if is_blank(token) {
            continue;
        }
        if closed && (is_word(token, "SEARCH") || is_word(token, "CYCLE")) {
            let position = Some(lines.characters_before(token.span.start) as u32 + 1);
            let mut rest = tokens[at + 1..].iter().filter(|token| !is_blank(token));
            if is_word(token, "SEARCH") {
                let is_clause = rest.next().is_some_and(|next| is_word(next, "DEPTH") || is_word(next, "BREADTH"))
                    && rest.next().is_some_and(|next| is_word(next, "FIRST"));
                if is_clause {
                    return Err(PlanError::unsupported("SEARCH in WITH RECURSIVE")
                        .hint("Collect the path in a column of an array, and order by it.")
                        .at(position));
                }
            } else if names_then_set(rest) {
                return Err(PlanError::unsupported("CYCLE in WITH RECURSIVE")
                    .hint("Collect the path in a column of an array, and go on where the next key is not in it.")
                    .at(position));
            }
        }
        closed = token.token == Token::RParen;
    }
    Ok(())
}

/// `name, … SET`
fn names_then_set<'t>(mut tokens: impl Iterator<Item = &'t TokenWithSpan>) -> bool {
    loop {
        if !tokens.next().is_some_and(|name| matches!(name.token, Token::Word(_))) {
            return false;
        }
        match tokens.next() {
            Some(token) if token.token == Token::Comma => {}
            Some(token) => return is_word(token, "SET"),
            None => return false,
        }
    }
}
