//! `UPDATE … WHERE CURRENT OF cursor`, and DELETE's, which sqlparser does not read.
//!
//! Done on tokens, before the parser sees them:
//! ```text
//! WHERE CURRENT OF c   ─▶   WHERE "current of"(c)
//! ```
//! `read` is the other half.

use super::grammar::is_word;
use super::is_blank;
use repr::poll;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

const CALL: &str = "current of";

/// The cursor, if that is what a condition says.
pub(crate) fn read(condition: &Expr) -> Option<&Ident> {
    let Expr::Function(function) = condition else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let name = function.name.0.last().and_then(|part| part.as_ident())?;
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(cursor)))] if name.value == CALL => Some(cursor),
        _ => None,
    }
}

/// The tokens with all such conditions in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(found) = (from..tokens.len()).find(|&at| is_word(&tokens[at], "CURRENT")) {
        from = found + 1;
        let before = tokens[..found].iter().rfind(|token| !is_blank(token));
        let mut behind = (from..tokens.len()).filter(|&at| !is_blank(&tokens[at]));
        let (Some(of), Some(cursor)) = (behind.next(), behind.next()) else { continue };
        let is_condition = before.is_some_and(|token| is_word(token, "WHERE")) && is_word(&tokens[of], "OF");
        if !is_condition || !matches!(tokens[cursor].token, Token::Word(_)) || !writes(&tokens[..found]) {
            continue;
        }
        let (start, end) = (tokens[found].span, tokens[cursor].span);
        let call = [
            TokenWithSpan {
                token: Token::make_word(CALL, Some('"')),
                span: Span { end: tokens[of].span.end, ..start },
            },
            TokenWithSpan { token: Token::LParen, span: end },
            tokens[cursor].clone(),
            TokenWithSpan { token: Token::RParen, span: end },
        ];
        tokens.splice(found..=cursor, call);
    }
    tokens
}

/// Whether the statement that these tokens are the beginning of changes rows: no other is about a cursor's.
fn writes(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in tokens.iter().rev() {
        poll::step_or_unwind();
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            _ if is_word(token, "UPDATE") || is_word(token, "DELETE") => return true,
            _ if is_word(token, "SELECT") => return false,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    #[test]
    fn it_is_read_where_it_may_stand() {
        for text in [
            "UPDATE t SET a = (SELECT 1), b = 2 WHERE CURRENT OF c RETURNING a",
            "DELETE FROM t USING u WHERE current of \"C\"",
            "WITH gone AS (DELETE FROM t WHERE CURRENT OF c RETURNING *) SELECT * FROM gone",
        ] {
            parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        for text in [
            "SELECT * FROM t WHERE CURRENT OF c",
            "UPDATE t SET a = 1 WHERE CURRENT OF",
            "UPDATE t SET a = 1 WHERE a = 1 AND CURRENT OF c",
            "UPDATE t SET a = (SELECT 1 FROM t WHERE CURRENT OF c)",
        ] {
            assert_eq!(parse(text).unwrap_err().code, "42601", "{text}");
        }
    }
}
