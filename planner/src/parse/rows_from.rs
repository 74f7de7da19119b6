//! `ROWS FROM (f(a), g(b) AS (x int))`, which sqlparser does not read.
//!
//! Done on tokens, with names that nobody can write.
//! ```text
//! ROWS FROM (f(a), g(b) AS (x int))   ─▶   "\0ROWS FROM"(f(a), "\0AS"(g(b), '(x int)'))
//! ```
//! `functions` is the other half.

use super::grammar::{Lines, is_word, syntax_error};
use super::{closing, is_blank, next_visible, parse_query};
use crate::error::PlanError;
use repr::poll;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart, SetExpr, TableAlias,
    TableFactor, Value,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

const ROWS_FROM: &str = "\0ROWS FROM";
const DEFINED: &str = "\0AS";

/// A function of ROWS FROM, and the list of columns behind it.
pub(crate) struct RowsFunction<'e> {
    /// The call.
    pub(crate) call: &'e Function,
    /// Its columns, as an alias has them.
    pub(crate) columns: Option<TableAlias>,
}

/// The functions, if a call is of the form above.
pub(crate) fn functions<'e>(
    name: &ObjectName,
    arguments: &[&'e FunctionArg],
) -> Option<Result<Vec<RowsFunction<'e>>, PlanError>> {
    is_named(name, ROWS_FROM).then(|| arguments.iter().map(|argument| function(argument)).collect())
}

fn is_named(name: &ObjectName, wanted: &str) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(only)] if only.value == wanted)
}

fn function(argument: &FunctionArg) -> Result<RowsFunction<'_>, PlanError> {
    let misplaced = || PlanError::new("42601", "syntax error in ROWS FROM");
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) = argument else { return Err(misplaced()) };
    if !is_named(&call.name, DEFINED) {
        return Ok(RowsFunction { call, columns: None });
    }
    let FunctionArguments::List(list) = &call.args else { return Err(misplaced()) };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(text))),
        ] => {
            let Value::SingleQuotedString(text) = &text.value else { return Err(misplaced()) };
            let query = parse_query(&format!("SELECT FROM f() AS t{text}"))?;
            let SetExpr::Select(select) = *query.body else { return Err(misplaced()) };
            match select.from.into_iter().next().map(|from| from.relation) {
                Some(TableFactor::Table { alias: Some(alias), .. }) => Ok(RowsFunction { call, columns: Some(alias) }),
                _ => Err(misplaced()),
            }
        }
        _ => Err(misplaced()),
    }
}

/// The tokens with all such items in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>, PlanError> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        if let Some((from, open, close)) = item(&tokens, at) {
            if next_visible(&tokens, open) == Some(close) {
                return Err(syntax_error(lines, &tokens[close]));
            }
            define(&mut tokens, open, close);
            let named = TokenWithSpan { token: Token::make_word(ROWS_FROM, Some('"')), span: tokens[at].span };
            tokens.splice(at..=from, [named]);
        }
        at += 1;
    }
    Ok(tokens)
}

/// Where FROM stands and the parentheses are of ROWS FROM ( … ) that begins there.
fn item(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize, usize)> {
    if !is_word(&tokens[at], "ROWS") {
        return None;
    }
    let before = tokens[..at].iter().rfind(|token| !is_blank(token))?;
    let from = next_visible(tokens, at).filter(|&place| is_word(&tokens[place], "FROM"))?;
    let open = next_visible(tokens, from)?;
    let close = closing(tokens, open)?;
    let begins_item = |word| is_word(before, word);
    let is_item = ["FROM", "JOIN", "LATERAL", "USING"].into_iter().any(begins_item)
        || matches!(before.token, Token::Comma | Token::LParen) && holds_calls(tokens, open, close);
    is_item.then_some((from, open, close))
}

/// Whether the parentheses hold calls, or nothing. Behind a comma, ROWS may also be a column, and FROM begin what it is of.
fn holds_calls(tokens: &[TokenWithSpan], open: usize, close: usize) -> bool {
    let mut place = open;
    loop {
        let Some(name) = next_visible(tokens, place).filter(|&name| name < close) else { return place == open };
        let is_query = is_word(&tokens[name], "SELECT") || is_word(&tokens[name], "VALUES");
        let Some(behind) = next_visible(tokens, name) else { return false };
        if is_query || !matches!(tokens[name].token, Token::Word(_)) {
            return false;
        }
        match tokens[behind].token {
            Token::Period => place = behind,
            Token::LParen => return closing(tokens, behind).is_some_and(|end| ends_call(tokens, end)),
            _ => return false,
        }
    }
}

/// Whether what follows a call's parenthesis is what follows it in ROWS FROM.
fn ends_call(tokens: &[TokenWithSpan], end: usize) -> bool {
    next_visible(tokens, end).is_some_and(|behind| match tokens[behind].token {
        Token::Comma | Token::RParen => true,
        _ => {
            is_word(&tokens[behind], "AS")
                && next_visible(tokens, behind).is_some_and(|list| tokens[list].token == Token::LParen)
        }
    })
}

/// Puts the lists of columns behind calls into calls; from the last on, for what stands before to stay where it is.
fn define(tokens: &mut Vec<TokenWithSpan>, open: usize, close: usize) {
    let mut calls = Vec::new();
    let (mut begin, mut depth, mut defined) = (open + 1, 0_usize, None);
    for (place, token) in tokens.iter().enumerate().take(close + 1).skip(open + 1) {
        poll::step_or_unwind();
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if place < close => depth -= 1,
            Token::Comma | Token::RParen if depth == 0 => {
                calls.extend(defined.take().map(|word| (begin, word, place)));
                begin = place + 1;
            }
            _ if depth == 0 && is_word(token, "AS") => defined = Some(place),
            _ => {}
        }
    }
    for (begin, word, end) in calls.into_iter().rev() {
        let text: String = tokens[word + 1..end].iter().map(|token| token.token.to_string()).collect();
        let like = |token: Token, place: usize| TokenWithSpan { token, span: tokens[place].span };
        let behind = vec![
            like(Token::Comma, word),
            like(Token::SingleQuotedString(text.trim().to_owned()), word),
            like(Token::RParen, word),
        ];
        let before = vec![like(Token::make_word(DEFINED, Some('"')), begin), like(Token::LParen, begin)];
        tokens.splice(word..end, behind);
        tokens.splice(begin..begin, before);
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn rows_from_is_a_call() {
        for (written, read) in [
            (
                "SELECT 1 FROM ROWS FROM (f(a, (1)), g(b) AS (x int, y numeric(3, 1))) WITH ORDINALITY AS t (p, q)",
                "SELECT 1 FROM \"\0ROWS FROM\"(f(a, (1)), \"\0AS\"(g(b), '(x int, y numeric(3, 1))')) WITH ORDINALITY AS t (p, q)",
            ),
            ("SELECT 1, rows FROM (a JOIN b ON f(a))", "SELECT 1, rows FROM (a JOIN b ON f(a))"),
            ("SELECT 1, rows FROM (VALUES (1)) AS t (rows)", "SELECT 1, rows FROM (VALUES (1)) AS t (rows)"),
            ("SELECT 1 FROM a, ROWS FROM (s.f(1))", "SELECT 1 FROM a, \"\0ROWS FROM\"(s.f(1))"),
            ("SELECT 1 FROM a, LATERAL ROWS FROM (f(ROWS)) t", "SELECT 1 FROM a, LATERAL \"\0ROWS FROM\"(f(ROWS)) t"),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        for written in ["SELECT 1 FROM ROWS FROM", "SELECT 1 FROM ROWS FROM ()", "SELECT 1 FROM ROWS FROM (f()"] {
            assert!(parse_query(written).is_err(), "{written}");
        }
    }
}
