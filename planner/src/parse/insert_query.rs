//! `INSERT INTO t (VALUES …)`, and `(WITH …)` and `(TABLE …)`: sqlparser takes the parenthesis for a list of columns. It is taken off.

use super::grammar::is_word;
use super::is_blank;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens without parentheses around the whole query of an INSERT.
pub(super) fn opened(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(insert) = (from..tokens.len()).find(|&place| is_word(&tokens[place], "INSERT")) {
        from = insert + 1;
        let Some(open) = behind_target(&tokens, from) else { continue };
        while let Some(close) = whole_query(&tokens, open) {
            tokens.remove(close);
            tokens.remove(open);
        }
    }
    tokens
}

/// The first token behind `[INTO] table [AS alias]`.
fn behind_target(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut visible = (from..tokens.len()).filter(|&place| !is_blank(&tokens[place]));
    visible.next().filter(|&into| is_word(&tokens[into], "INTO"))?;
    visible.find(|&place| !matches!(tokens[place].token, Token::Word(_) | Token::Period))
}

/// Where the parenthesis at `open` is closed, if it is one around a query that ends with it.
fn whole_query(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let visible = |from: usize| (from..tokens.len()).filter(|&place| !is_blank(&tokens[place]));
    let is_open = |place: usize| tokens[place].token == Token::LParen;
    if tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
        return None;
    }
    let mut within = visible(open + 1).skip_while(|&place| is_open(place));
    let begins = within.next()?;
    // A column may be called `values`.
    let is_values = is_word(&tokens[begins], "VALUES") && within.next().is_some_and(is_open);
    if !is_values && !is_word(&tokens[begins], "WITH") && !is_word(&tokens[begins], "TABLE") {
        return None;
    }
    let mut depth = 0_usize;
    let close = visible(open).find(|&place| {
        match tokens[place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let ends = visible(close + 1).next().is_none_or(|next| {
        matches!(tokens[next].token, Token::RParen | Token::SemiColon | Token::EOF)
            || is_word(&tokens[next], "ON")
            || is_word(&tokens[next], "RETURNING")
    });
    ends.then_some(close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::dialect;

    #[test]
    fn only_what_is_around_a_whole_query_is_taken_off() {
        for (sql, wanted) in [
            ("INSERT INTO s.t (VALUES (1), (2))", "INSERT INTO s.t VALUES (1), (2)"),
            ("INSERT INTO t AS x ((VALUES (1))) RETURNING a", "INSERT INTO t AS x VALUES (1) RETURNING a"),
            ("WITH x AS (INSERT INTO t (TABLE u)) SELECT 1", "WITH x AS (INSERT INTO t TABLE u) SELECT 1"),
            ("INSERT INTO t (VALUES (1)) UNION SELECT 2", "INSERT INTO t (VALUES (1)) UNION SELECT 2"),
            ("INSERT INTO t (values) VALUES (1)", "INSERT INTO t (values) VALUES (1)"),
            ("INSERT INTO t (a) (VALUES (1))", "INSERT INTO t (a) (VALUES (1))"),
        ] {
            let tokens = opened(dialect::tokenize(sql).expect("tokens"));
            assert_eq!(tokens.iter().map(|token| token.to_string()).collect::<String>(), wanted);
        }
    }
}
