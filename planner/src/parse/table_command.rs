//! `TABLE name` where a query can stand: read as the `SELECT * FROM name` that it is short for.
//!
//! Done on tokens, before the parser sees them: sqlparser takes three tokens for the name and forgets its quotes. The
//! tokens put in stand where TABLE stood, so that positions and kept texts stay as they are. Anything else that is
//! called TABLE (`CREATE TABLE`, a column's label) is left alone.

use super::dialect::AFTER_QUERY;
use super::grammar::{Lines, is_reserved, syntax_error};
use super::is_blank;
use crate::error::PlanError;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What may follow the name: nothing, the end of a parenthesis, what goes on with a query, or one of these.
const AFTER_NAME: [Keyword; 3] = [Keyword::ON, Keyword::RETURNING, Keyword::WITH];

/// The tokens with all such commands written out.
///
/// # Errors
/// 42601 where something follows the name that cannot.
pub(super) fn written_out(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>, PlanError> {
    if !tokens.iter().any(|token| keyword(token) == Some(Keyword::TABLE)) {
        return Ok(tokens);
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let all: Vec<&TokenWithSpan> = visible.iter().map(|&at| &tokens[at]).collect();
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    let (mut done, mut dropped) = (0, None);
    for (place, &at) in visible.iter().enumerate() {
        if keyword(&tokens[at]) != Some(Keyword::TABLE) {
            continue;
        }
        let (before, after) = (&all[..place], &all[place + 1..]);
        let Some(length) = named(after).filter(|_| begins_query(before)) else { continue };
        let mut rest = &after[length..];
        if let [star, others @ ..] = rest
            && star.token == Token::Mul
        {
            // `name *`: with the descendants that no table has.
            dropped = Some(visible[place + 1 + length]);
            rest = others;
        }
        if let Some(next) = rest.first().filter(|next| !may_follow(next)) {
            return Err(syntax_error(lines, next));
        }
        written.extend_from_slice(&tokens[done..at]);
        let span = tokens[at].span;
        let short_for = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
        written.extend(short_for.map(|token| TokenWithSpan { token, span }));
        done = at + 1;
        if let Some(star) = dropped.take() {
            written.extend_from_slice(&tokens[done..star]);
            done = star + 1;
        }
    }
    written.extend_from_slice(&tokens[done..]);
    Ok(written)
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_name(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_some() || !is_reserved(&word.value))
}

/// How many tokens are the relation: `[ONLY] [schema.]name`; none if it is something else.
fn named(after: &[&TokenWithSpan]) -> Option<usize> {
    let only = usize::from(after.first().is_some_and(|token| keyword(token) == Some(Keyword::ONLY)));
    let mut end = only;
    loop {
        after.get(end).filter(|token| is_name(token))?;
        end += 1;
        match after.get(end) {
            Some(token) if token.token == Token::Period => end += 1,
            _ => break,
        }
    }
    Some(end)
}

fn may_follow(token: &TokenWithSpan) -> bool {
    token.token == Token::RParen
        || keyword(token).is_some_and(|keyword| AFTER_QUERY.contains(&keyword) || AFTER_NAME.contains(&keyword))
}

/// Whether a query can begin after these tokens. With a name behind it TABLE is no label there.
fn begins_query(before: &[&TokenWithSpan]) -> bool {
    let Some((last, others)) = before.split_last() else { return true };
    if matches!(last.token, Token::LParen | Token::RParen) {
        return true;
    }
    let previous = others.last().and_then(|token| keyword(token));
    const SETS: [Keyword; 3] = [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT];
    match keyword(last) {
        Some(Keyword::AS | Keyword::EXPLAIN) => true,
        Some(keyword) if SETS.contains(&keyword) => true,
        Some(Keyword::ALL | Keyword::DISTINCT) => previous.is_some_and(|previous| SETS.contains(&previous)),
        Some(Keyword::FOR) => matches!(previous, Some(Keyword::CURSOR | Keyword::HOLD)),
        Some(Keyword::ANALYZE | Keyword::VERBOSE) => {
            before.first().is_some_and(|first| keyword(first) == Some(Keyword::EXPLAIN))
        }
        _ => is_insert_target(before),
    }
}

/// Whether the last of these are `INSERT INTO [schema.]name [AS alias]`.
fn is_insert_target(before: &[&TokenWithSpan]) -> bool {
    let mut target = before;
    if let [others @ .., between, _] = target
        && keyword(between) == Some(Keyword::AS)
    {
        target = others;
    }
    while let [others @ .., period, _] = target
        && period.token == Token::Period
    {
        target = others;
        if target.is_empty() {
            return false;
        }
    }
    // A schema's name is a name of its own, which the loop has left.
    matches!(target, [.., insert, into, _]
        if keyword(insert) == Some(Keyword::INSERT) && keyword(into) == Some(Keyword::INTO))
}

#[cfg(test)]
mod tests {
    use crate::parse::{parse, parse_query};

    #[test]
    fn a_table_is_a_query_wherever_one_stands() {
        for (short, long) in [
            ("TABLE t", "SELECT * FROM t"),
            ("table only a.\"T\" order by 1 limit 2", "SELECT * FROM a.\"T\" ORDER BY 1 LIMIT 2"),
            ("TABLE t * UNION ALL TABLE u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
            ("(TABLE t) EXCEPT TABLE u", "(SELECT * FROM t) EXCEPT SELECT * FROM u"),
            ("WITH x AS (TABLE t) TABLE x", "WITH x AS (SELECT * FROM t) SELECT * FROM x"),
            ("SELECT (TABLE t), ARRAY(TABLE u)", "SELECT (SELECT * FROM t), ARRAY(SELECT * FROM u)"),
            ("SELECT 1 AS table FROM t", "SELECT 1 AS table FROM t"),
        ] {
            assert_eq!(parse_query(short).unwrap().to_string(), parse_query(long).unwrap().to_string(), "{short}");
        }
        for statement in [
            "COPY (TABLE t) TO STDOUT",
            "COPY (SUBSCRIBE (TABLE t)) TO STDOUT",
            "INSERT INTO s.u TABLE t ON CONFLICT DO NOTHING RETURNING *",
            "INSERT INTO u AS v TABLE t",
            "INSERT INTO u (a, b) TABLE t",
            "CREATE VIEW v AS TABLE t",
            "CREATE TABLE v AS TABLE t WITH NO DATA",
            "PREPARE p AS TABLE t",
            "DECLARE c CURSOR FOR TABLE t",
            "EXPLAIN ANALYZE VERBOSE TABLE t",
            "EXPLAIN (ANALYZE) TABLE t",
            "DROP TABLE t",
            "LOCK TABLE t",
            "COMMENT ON TABLE t IS 'x'",
        ] {
            parse(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        for (statement, near) in [
            ("TABLE t u", "\"u\""),
            ("TABLE t WHERE a = 1", "\"WHERE\""),
            ("SELECT * FROM u UNION TABLE t, u", "\",\""),
            ("TABLE", "\"TABLE\""),
        ] {
            let error = parse(statement).unwrap_err();
            assert_eq!(error.code, "42601", "{statement}");
            assert!(error.message.ends_with(near), "{statement}: {}", error.message);
        }
    }
}
