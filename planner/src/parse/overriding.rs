//! `INSERT … OVERRIDING SYSTEM|USER VALUE`, which sqlparser does not read.
//!
//! Its tokens are taken out before the parser sees them, and what they say is put into the tree as a setting of the
//! INSERT, which PostgreSQL's SQL has not. A statement inserts once: what stands in a CTE is refused anyway.

use super::grammar::is_word;
use super::is_blank;
use sqlparser::ast::{Expr, Ident, Insert, SetExpr, Setting, Statement};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Whose values the identity columns of an INSERT get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// Given ones for BY DEFAULT columns; ALWAYS columns may be given none.
    Nothing,
    /// SYSTEM VALUE (and COPY): given ones, ALWAYS or not.
    System,
    /// USER VALUE: the sequences', whatever was given.
    User,
}

const KEY: &str = "overriding";

/// The tokens without the clause, and what it says.
pub(super) fn taken_out(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Overriding) {
    let Some(at) = tokens.iter().position(|token| is_word(token, "OVERRIDING")) else {
        return (tokens, Overriding::Nothing);
    };
    let mut found = Overriding::Nothing;
    let visible: Vec<usize> = (at..tokens.len()).filter(|&place| !is_blank(&tokens[place])).take(3).collect();
    if let [_, whose, value] = visible[..]
        && is_word(&tokens[value], "VALUE")
        && follows_target(&tokens[..at])
    {
        if is_word(&tokens[whose], "SYSTEM") {
            found = Overriding::System;
        } else if is_word(&tokens[whose], "USER") {
            found = Overriding::User;
        }
        if found != Overriding::Nothing {
            tokens.drain(at..=value);
        }
    }
    (tokens, found)
}

/// Whether these tokens end with `INSERT INTO table [AS alias] [(columns)]`.
fn follows_target(before: &[TokenWithSpan]) -> bool {
    let visible: Vec<&TokenWithSpan> = before.iter().filter(|token| !is_blank(token)).collect();
    let into = (1..visible.len()).rev().find(|&place| is_word(visible[place], "INTO"));
    let Some(into) = into.filter(|&into| is_word(visible[into - 1], "INSERT")) else { return false };
    let (mut depth, mut subscripts) = (0_usize, 0_usize);
    let mut nested_or_name = |token: &TokenWithSpan| match token.token {
        Token::LBracket => {
            subscripts += 1;
            depth == 1
        }
        Token::RBracket => {
            subscripts = subscripts.wrapping_sub(1);
            depth == 1
        }
        _ if subscripts > 0 => true,
        Token::LParen => {
            depth += 1;
            depth == 1
        }
        Token::RParen => {
            depth = depth.wrapping_sub(1);
            depth == 0
        }
        Token::Comma => depth == 1,
        Token::Word(_) | Token::Period => true,
        _ => false,
    };
    let target = &visible[into + 1..];
    target.iter().take_while(|token| nested_or_name(token)).count() == target.len() && !target.is_empty()
}

/// Puts the clause into the statement's INSERT.
pub(super) fn put_back(statement: &mut Statement, overriding: Overriding) {
    match statement {
        Statement::Insert(insert) if overriding != Overriding::Nothing => {
            let value = Expr::Identifier(Ident::new(if overriding == Overriding::System { "system" } else { "user" }));
            insert.settings = Some(vec![Setting { key: Ident::new(KEY), value }]);
        }
        Statement::Query(query) => {
            if let SetExpr::Insert(inner) = &mut *query.body {
                put_back(inner, overriding);
            }
        }
        _ => {}
    }
}

/// What an INSERT overrides.
pub(crate) fn of(insert: &Insert) -> Overriding {
    match insert.settings.as_deref() {
        Some([Setting { key, value: Expr::Identifier(whose) }]) if key.value == KEY => match whose.value.as_str() {
            "system" => Overriding::System,
            _ => Overriding::User,
        },
        _ => Overriding::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::{Overriding, of};
    use crate::parse::{Statement, parse};

    #[test]
    fn the_clause_is_read_where_it_may_stand() {
        for (text, expected) in [
            ("INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1)", Overriding::System),
            ("insert into s.t as x (a, \"B\") overriding user value select 1", Overriding::User),
            ("INSERT INTO t (a) VALUES (1)", Overriding::Nothing),
        ] {
            let statements = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let Statement::Sql(sql) = &statements[0].statement else { panic!("{text}") };
            let sqlparser::ast::Statement::Insert(insert) = &**sql else { panic!("{text}") };
            assert_eq!(of(insert), expected, "{text}");
        }
        for text in [
            "SELECT 1 overriding system value",
            "INSERT INTO t VALUES (1) OVERRIDING SYSTEM VALUE",
            "INSERT INTO t OVERRIDING VALUE VALUES (1)",
            "UPDATE t OVERRIDING SYSTEM VALUE SET a = 1",
        ] {
            assert_eq!(parse(text).unwrap_err().code, "42601", "{text}");
        }
    }
}
