//! Kept expressions as SQL for a session whose search path has no `public`: names of enums and sequences get their schema.
//!
//! Works on tokens, so that the rest of the text stays as it was written.

use crate::parse::tokens_with_text;
use crate::scalar::env::names::CatalogNames;
use crate::scalar::func::parse_identifier;
use sqlparser::tokenizer::{Token, Word};

/// The expression with schemas where the session needs them.
pub(super) fn spelled(expression: &str, names: &CatalogNames) -> String {
    if names.public_is_searched() {
        return expression.to_owned();
    }
    let tokens = tokens_with_text(expression);
    let significant: Vec<usize> =
        (0..tokens.len()).filter(|&place| !matches!(tokens[place].0, Token::Whitespace(_) | Token::EOF)).collect();
    let mut texts: Vec<String> = tokens.iter().map(|(_, text)| (*text).to_owned()).collect();
    let token = |at: usize| significant.get(at).map(|&place| &tokens[place].0);
    // For each open parenthesis whether it is CAST's.
    let mut casts = Vec::new();
    for at in 0..significant.len() {
        let before = at.checked_sub(1).and_then(token);
        match &tokens[significant[at]].0 {
            Token::LParen => casts.push(before.is_some_and(|before| is_word(before, "cast"))),
            Token::RParen => {
                casts.pop();
            }
            Token::Word(word) => {
                let casted = before == Some(&Token::DoubleColon)
                    || (before.is_some_and(|before| is_word(before, "as")) && casts.last() == Some(&true));
                if casted && names.has_enum(&folded(word)) {
                    texts[significant[at]].insert_str(0, "public.");
                }
            }
            Token::SingleQuotedString(name) => {
                let advanced = before == Some(&Token::LParen)
                    && at
                        .checked_sub(2)
                        .and_then(token)
                        .is_some_and(|word| ["nextval", "currval", "setval"].iter().any(|name| is_word(word, name)));
                let cast = token(at + 1) == Some(&Token::DoubleColon)
                    && token(at + 2).is_some_and(|word| is_word(word, "regclass"));
                if (advanced || cast)
                    && parse_identifier(name, true).is_ok_and(|parts| parts.len() == 1)
                    && names.has_public_class(name)
                {
                    texts[significant[at]].insert_str(1, "public.");
                }
            }
            _ => {}
        }
    }
    texts.concat()
}

fn folded(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}
