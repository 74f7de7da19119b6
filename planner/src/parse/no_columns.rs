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
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

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
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 1);
    // Whether SELECT was read last and begins a query; behind a query's AS it is a label.
    let (mut begins, mut is_label, mut in_query) = (false, false, false);
    for token in tokens.into_iter().chain(std::iter::once(TokenWithSpan::new_eof())) {
        if begins && ends_list(&token.token) {
            let word = Word { value: NOTHING.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
            // It stands where SELECT does, so that texts are cut behind that.
            let span = written.iter().rfind(|token| !is_blank(token)).map_or(token.span, |select| select.span);
            written.push(TokenWithSpan { token: Token::Word(word), span });
        }
        if !is_blank(&token) {
            let goes_on = begins && is_keyword(&token.token, &[Keyword::ALL]);
            begins = goes_on || is_keyword(&token.token, &[Keyword::SELECT]) && !is_label;
            in_query |= begins;
            is_label = token.token == Token::Period || in_query && is_keyword(&token.token, &[Keyword::AS]);
        }
        if token.token != Token::EOF {
            written.push(token);
        }
    }
    written
}

fn is_keyword(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

fn ends_list(token: &Token) -> bool {
    matches!(token, Token::EOF | Token::RParen | Token::SemiColon) || is_keyword(token, &AFTER_LIST)
}
