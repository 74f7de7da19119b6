//! `GROUP BY DISTINCT …`, `GROUP BY ALL …`, and GROUPING SETS within GROUPING SETS, which sqlparser does not read.
//!
//! Done on tokens, with names that nobody can write:
//! ```text
//! GROUP BY DISTINCT a, b                             ─▶   GROUP BY "\0DISTINCT", a, b
//! GROUP BY ALL a                                     ─▶   GROUP BY a
//! GROUPING SETS (GROUPING SETS ((a), ()), CUBE (b))  ─▶   GROUPING SETS ("\0SETS"((a), "\0()"), CUBE (b))
//! ```
//! ROLLUP and CUBE are read as calls there. `distinct` and `nested` are the other half.

use super::grammar::is_word;
use super::{is_blank, next_visible};
use crate::error::PlanError;
use repr::poll;
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

const DISTINCT: &str = "\0DISTINCT";
const SETS: &str = "\0SETS";
const NOTHING: &str = "\0()";

/// An element of GROUPING SETS that stands for several sets, or for the empty one.
pub(crate) enum Nested<'e> {
    Rollup(Vec<&'e Expr>),
    Cube(Vec<&'e Expr>),
    Sets(Vec<&'e Expr>),
    Nothing,
}

/// Whether the clause says DISTINCT, and its items.
pub(crate) fn distinct(items: &[Expr]) -> (bool, &[Expr]) {
    match items {
        [Expr::Identifier(first), rest @ ..] if first.value == DISTINCT => (true, rest),
        items => (false, items),
    }
}

/// What an element of GROUPING SETS is, if it is no key and no list of keys.
pub(crate) fn nested(element: &Expr) -> Result<Option<Nested<'_>>, PlanError> {
    match element {
        Expr::Identifier(ident) if ident.value == NOTHING => Ok(Some(Nested::Nothing)),
        Expr::Function(function) => {
            let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return Ok(None) };
            let is = |word: &str| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word);
            Ok(if name.value == SETS {
                Some(Nested::Sets(items(function)?))
            } else if is("ROLLUP") {
                Some(Nested::Rollup(items(function)?))
            } else if is("CUBE") {
                Some(Nested::Cube(items(function)?))
            } else {
                None
            })
        }
        _ => Ok(None),
    }
}

/// The arguments of what was read as a call; 42601 for what is only a call's.
fn items(function: &Function) -> Result<Vec<&Expr>, PlanError> {
    let misplaced = || PlanError::new("42601", "syntax error in GROUPING SETS");
    let is_plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty();
    let FunctionArguments::List(list) = &function.args else { return Err(misplaced()) };
    if !is_plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() || list.args.is_empty() {
        return Err(misplaced());
    }
    let item = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref item)) => Ok(item),
        _ => Err(misplaced()),
    };
    list.args.iter().map(item).collect()
}

/// The tokens with all such clauses in the form above.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "GROUP")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    // For each parenthesis that is open, what it holds.
    let mut open = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        let token = &tokens[at];
        if follows(&written, &["GROUP", "BY"]) && (is_word(token, "DISTINCT") || is_word(token, "ALL")) {
            if is_word(token, "DISTINCT") {
                written.push(named(DISTINCT, token));
                written.push(TokenWithSpan { token: Token::Comma, span: token.span });
            } else if next(&tokens, at).is_none_or(|next| !begins_item(&next.token)) {
                written.push(token.clone());
            }
            at += 1;
            continue;
        }
        let element = matches!(open.last(), Some(Holds::Sets | Holds::Nested)) && begins_element(&written);
        if element
            && let Some((close, Token::RParen)) = after(&tokens, at).filter(|_| token.token == Token::LParen)
            && matches!(open.last(), Some(Holds::Nested))
        {
            written.push(named(NOTHING, token));
            at = close + 1;
            continue;
        }
        if element && is_word(token, "GROUPING") && next(&tokens, at).is_some_and(|next| is_word(next, "SETS")) {
            written.push(named(SETS, token));
            at = after(&tokens, at).map_or(at, |(sets, _)| sets) + 1;
            continue;
        }
        match token.token {
            Token::LParen => open.push(held(&written)),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        written.push(token.clone());
        at += 1;
    }
    written
}

/// What a parenthesis holds.
enum Holds {
    /// Of GROUPING SETS, as sqlparser reads them.
    Sets,
    /// Of GROUPING SETS within such.
    Nested,
    Other,
}

/// What the parenthesis behind these tokens holds.
fn held(before: &[TokenWithSpan]) -> Holds {
    if follows(before, &["GROUPING", "SETS"]) {
        Holds::Sets
    } else if matches!(last(before), Some(Token::Word(word)) if word.value == SETS) {
        Holds::Nested
    } else {
        Holds::Other
    }
}

fn named(name: &str, token: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_word(name, Some('"')), span: token.span }
}

fn last(tokens: &[TokenWithSpan]) -> Option<&Token> {
    tokens.iter().rev().find(|token| !is_blank(token)).map(|token| &token.token)
}

fn begins_element(before: &[TokenWithSpan]) -> bool {
    matches!(last(before), Some(Token::LParen | Token::Comma))
}

fn begins_item(token: &Token) -> bool {
    match token {
        Token::Comma | Token::RParen | Token::SemiColon | Token::EOF => false,
        Token::Word(word) => !matches!(
            word.keyword,
            Keyword::HAVING | Keyword::ORDER | Keyword::LIMIT | Keyword::OFFSET | Keyword::WINDOW | Keyword::UNION
        ),
        _ => true,
    }
}

/// Whether the last tokens are these words.
fn follows(tokens: &[TokenWithSpan], words: &[&str]) -> bool {
    let mut before = tokens.iter().rev().filter(|token| !is_blank(token));
    words.iter().rev().all(|word| before.next().is_some_and(|token| is_word(token, word)))
}

/// The token behind one, and its place.
fn after(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, Token)> {
    let place = next_visible(tokens, at)?;
    Some((place, tokens[place].token.clone()))
}

fn next(tokens: &[TokenWithSpan], at: usize) -> Option<&TokenWithSpan> {
    next_visible(tokens, at).map(|place| &tokens[place])
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn nested_sets_are_calls() {
        for (written, read) in [
            ("SELECT 1 FROM t GROUP BY DISTINCT a, b", "SELECT 1 FROM t GROUP BY \"\0DISTINCT\", a, b"),
            ("SELECT 1 FROM t GROUP BY ALL ROLLUP (a)", "SELECT 1 FROM t GROUP BY ROLLUP (a)"),
            (
                "SELECT 1 FROM t GROUP BY GROUPING SETS ((), GROUPING SETS ((a), ()), CUBE (b, (c, d)))",
                "SELECT 1 FROM t GROUP BY GROUPING SETS ((), (\"\0SETS\"((a), \"\0()\")), (CUBE(b, (c, d))))",
            ),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        assert_eq!(parse_query("SELECT 1 FROM t GROUP BY DISTINCT").unwrap_err().code, "42601");
    }
}
