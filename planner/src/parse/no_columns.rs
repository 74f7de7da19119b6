//! `SELECT` with nothing behind it: read as a list of one item that is no column.
//!
//! Done on tokens, before the parser sees them: sqlparser knows an empty list before FROM alone.
//! ```text
//! SELECT WHERE x   ─▶   SELECT "\0" WHERE x
//! ```
//! `is_nothing` is the other half.

use super::is_blank;
use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// No name has such a character.
const NOTHING: &str = "\0";

/// What may follow an empty list, beside FROM.
const AFTER_LIST: [Keyword; 12] = [
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
];

/// Whether it is the item that is no column.
pub(crate) fn is_nothing(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name) if name.value == NOTHING)
}

/// The tokens with all such lists in the form above.
pub(super) fn written_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let empty = empty_lists(&tokens);
    if empty.is_empty() {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + empty.len());
    let mut empty = empty.into_iter().peekable();
    for (at, token) in tokens.into_iter().enumerate() {
        // It stands where SELECT does, so that texts are cut behind that.
        let span = token.span;
        written.push(token);
        if empty.next_if_eq(&at).is_some() {
            written.push(TokenWithSpan { token: Token::make_word(NOTHING, Some('"')), span });
        }
    }
    written
}

/// Where they follow: SELECT, or the ALL behind it.
fn empty_lists(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut empty = Vec::new();
    // Where SELECT was read last, if it begins a query; behind a query's AS it is a label.
    let (mut begun, mut is_label, mut in_query) = (None, false, false);
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !is_blank(token)) {
        if ends_list(&token.token) {
            empty.extend(begun);
        }
        let goes_on = begun.is_some() && is_keyword(&token.token, &[Keyword::ALL]);
        let begins = goes_on || is_keyword(&token.token, &[Keyword::SELECT]) && !is_label;
        begun = begins.then_some(at);
        in_query |= begins;
        is_label = token.token == Token::Period || in_query && is_keyword(&token.token, &[Keyword::AS]);
    }
    empty.extend(begun);
    empty
}

fn is_keyword(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

fn ends_list(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::SemiColon) || is_keyword(token, &AFTER_LIST)
}
