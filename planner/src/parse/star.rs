//! `(row).*`, wherever a list of values stands: a field of a name that no column has.
//!
//! Done on tokens, before the parser sees them: sqlparser reads it at most as a select list's item, and then without what goes
//! before the star. The field stands where all of it does:
//! ```text
//! (f(x)).*, (r).a.*   ─▶   (f(x))."\0*", (r).a."\0*"
//! ```
//! `without_star` is the other half.

use super::grammar::is_reserved;
use super::is_blank;
use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::borrow::Cow;

/// No name has such a character.
const STAR: &str = "\0*";

/// What is before the star of `(row).*`, and the place of it all; none if it is another expression.
pub(crate) fn without_star(expr: &Expr) -> Option<(Cow<'_, Expr>, Span)> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (AccessExpr::Dot(Expr::Identifier(star)), before) = access_chain.split_last()? else { return None };
    if !is_star(star) {
        return None;
    }
    let row = match before {
        [] => Cow::Borrowed(&**root),
        before => Cow::Owned(Expr::CompoundFieldAccess { root: root.clone(), access_chain: before.to_vec() }),
    };
    Some((row, star.span))
}

/// Whether a field's name is that star.
pub(crate) fn is_star(name: &Ident) -> bool {
    name.value == STAR
}

/// The tokens with all such stars in the form above.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let star_at = |at: usize| tokens[at].token == Token::Mul && at > 0;
    if !(0..tokens.len()).any(|at| star_at(at) && tokens[at - 1].token == Token::Period) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens.into_iter().filter(|token| !is_blank(token)) {
        let opening = match token.token {
            Token::Mul => opening(&written),
            _ => None,
        };
        let Some(open) = opening else {
            written.push(token);
            continue;
        };
        let start = written[open].span.start;
        let span = Span { start, ..token.span };
        written.push(TokenWithSpan { token: Token::make_word(STAR, Some('"')), span });
    }
    written
}

/// Where the parenthesis opens of the row before `.`, if these tokens end in one.
fn opening(tokens: &[TokenWithSpan]) -> Option<usize> {
    let [before @ .., period] = tokens else { return None };
    if period.token != Token::Period {
        return None;
    }
    // Fields of the row.
    let mut end = before.len();
    while end >= 2 && matches!(before[end - 1].token, Token::Word(_)) && before[end - 2].token == Token::Period {
        end -= 2;
    }
    let mut depth = 0_usize;
    for at in (0..end).rev() {
        match before[at].token {
            Token::RParen => depth += 1,
            _ if depth == 0 => return None,
            Token::LParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return stands_alone(&before[..at]).then_some(at);
        }
    }
    None
}

/// Whether a parenthesis behind these tokens is not a function's.
fn stands_alone(before: &[TokenWithSpan]) -> bool {
    match before.last().map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_none()
                && (is_reserved(&word.value) || matches!(word.keyword, Keyword::VALUES | Keyword::RETURNING))
        }
        Some(Token::RParen | Token::RBracket) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn stars_are_fields() {
        for (written, read) in [
            ("SELECT (c).* FROM c", "SELECT (c).\"\0*\" FROM c"),
            ("SELECT (f(c)).*, (c.r).*", "SELECT (f(c)).\"\0*\", (c.r).\"\0*\""),
            ("SELECT ((SELECT c)).a.*, 2 * (3)", "SELECT ((SELECT c)).a.\"\0*\", 2 * (3)"),
            ("SELECT ROW((c).*, (c.r).*)", "SELECT ROW((c).\"\0*\", (c.r).\"\0*\")"),
            ("VALUES ((ROW(1, 2)).*)", "VALUES ((ROW(1, 2)).\"\0*\")"),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        for written in ["SELECT f(c).*", "SELECT (.*)", "SELECT ((.*))", "SELECT .*", "SELECT ).*"] {
            parse_query(written).unwrap_err();
        }
    }
}
