//! FETCH FIRST of an expression, and what PostgreSQL refuses about LIMIT, OFFSET and FETCH.
//!
//! Done on tokens, before the parser sees them: sqlparser takes one literal behind FETCH FIRST. What it does not read stands
//! where it reads any expression; WITH TIES keeps a FETCH of its own:
//! ```text
//! FETCH FIRST (1 + 1) ROWS ONLY        ─▶   LIMIT (1 + 1)
//! FETCH NEXT (1 + 1) ROWS WITH TIES    ─▶   LIMIT (1 + 1) FETCH NEXT ROWS WITH TIES
//! ```
//! Nobody can write the latter: two counts of one query are an error here.

use super::grammar::{Lines, syntax_error};
use super::is_blank;
use crate::error::PlanError;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// What of a query's limits has been seen, in each parenthesis that is open.
#[derive(Clone, Copy, Default)]
struct SeenLimits {
    count: bool,
    offset: bool,
}

/// The tokens with all such clauses in the form above.
///
/// # Errors
/// 42601 for a second LIMIT or OFFSET, for `LIMIT 1, 2`, and for an operator before ROWS.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>, PlanError> {
    let limits =
        |token: &TokenWithSpan| matches!(keyword(token), Some(Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH));
    if !tokens.iter().any(limits) {
        return Ok(tokens);
    }
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    let mut written = Vec::with_capacity(tokens.len() + 4);
    let mut open = vec![SeenLimits::default()];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let level = open.len() - 1;
        let seen = &mut open[level];
        let rest = &tokens[at + 1..];
        let is_clause = at > 0 && !is_name_at(&tokens, at);
        match (&token.token, keyword(token)) {
            (Token::LParen, _) => open.push(SeenLimits::default()),
            (Token::RParen, _) if level > 0 => open.truncate(level),
            (_, Some(Keyword::SELECT | Keyword::VALUES | Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT)) => {
                *seen = SeenLimits::default();
            }
            (_, Some(Keyword::LIMIT)) if is_clause => {
                once(&mut seen.count, lines, token)?;
                if clause(rest).iter().any(|(_, token)| token.token == Token::Comma) {
                    let position = lines.characters_before(token.span.start) as u32 + 1;
                    return Err(PlanError::new("42601", "LIMIT #,# syntax is not supported")
                        .hint("Use separate LIMIT and OFFSET clauses.")
                        .at(Some(position)));
                }
            }
            (_, Some(Keyword::OFFSET)) if is_clause => {
                once(&mut seen.offset, lines, token)?;
                if let Some((place, rows)) = clause(rest).into_iter().find(|(_, token)| is_rows(token))
                    && !is_operand(&rest[..place])
                {
                    return Err(syntax_error(lines, rows));
                }
            }
            (_, Some(Keyword::FETCH))
                if is_clause && matches!(rest.first().and_then(keyword), Some(Keyword::FIRST | Keyword::NEXT)) =>
            {
                once(&mut seen.count, lines, token)?;
                if let Some(length) = fetched(&tokens[at..], &mut written) {
                    at += length;
                    continue;
                }
            }
            _ => {}
        }
        written.push(token.clone());
        at += 1;
    }
    Ok(written)
}

/// Notes a clause; 42601 if it is there already.
fn once(seen: &mut bool, lines: &Lines<'_>, token: &TokenWithSpan) -> Result<(), PlanError> {
    if std::mem::replace(seen, true) { Err(syntax_error(lines, token)) } else { Ok(()) }
}

/// Writes a FETCH of more than a literal, and says how many tokens it has.
fn fetched(tokens: &[TokenWithSpan], written: &mut Vec<TokenWithSpan>) -> Option<usize> {
    let [fetch, first, rest @ ..] = tokens else { return None };
    let (place, rows) = clause(rest).into_iter().find(|(_, token)| is_rows(token))?;
    let value = &rest[..place];
    let is_literal = matches!(
        value,
        [TokenWithSpan { token: Token::Number(..) | Token::Placeholder(_) | Token::SingleQuotedString(_), .. }]
    ) || matches!(value, [only] if keyword(only) == Some(Keyword::NULL));
    if value.is_empty() || is_literal || !is_operand(value) {
        return None;
    }
    let ties = match &rest[place + 1..] {
        [only, ..] if keyword(only) == Some(Keyword::ONLY) => None,
        [with, ties, ..] if keyword(with) == Some(Keyword::WITH) && keyword(ties) == Some(Keyword::TIES) => {
            Some([fetch, first, rows, with, ties])
        }
        _ => return None,
    };
    written.push(TokenWithSpan { token: Token::make_keyword("LIMIT"), span: fetch.span });
    written.extend_from_slice(value);
    let length = place + if ties.is_some() { 5 } else { 4 };
    match ties {
        Some(ties) => written.extend(ties.into_iter().cloned()),
        // A query's text is cut out by where its last word ends.
        None => {
            let end = tokens[length - 1].span.end;
            if let Some(last) = written.last_mut() {
                last.span = Span { end, ..last.span };
            }
        }
    }
    Some(length)
}

/// The tokens of a clause that are in no parentheses of it, with their places: up to the next clause.
fn clause(tokens: &[TokenWithSpan]) -> Vec<(usize, &TokenWithSpan)> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (&token.token, keyword(token)) {
            (Token::LParen | Token::LBracket, _) | (_, Some(Keyword::CASE)) => depth += 1,
            (Token::RParen | Token::RBracket, _) if depth == 0 => break,
            (Token::RParen | Token::RBracket, _) | (_, Some(Keyword::END)) => depth = depth.saturating_sub(1),
            (_, Some(word)) if depth == 0 && ENDS.contains(&word) => break,
            _ if depth == 0 => found.push((at, token)),
            _ => {}
        }
    }
    found
}

/// What may follow a query's limits.
const ENDS: [Keyword; 10] = [
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::RETURNING,
    Keyword::ON,
    Keyword::WITH,
];

/// Whether it is one operand, or a number with its sign.
fn is_operand(value: &[TokenWithSpan]) -> bool {
    let unsigned = match value {
        [sign, number] if matches!(sign.token, Token::Plus | Token::Minus) => {
            return matches!(number.token, Token::Number(..));
        }
        other => other,
    };
    clause(unsigned).iter().enumerate().all(|(place, (_, token))| match (&token.token, place % 2) {
        (Token::Word(_), 0) => keyword(token) != Some(Keyword::ALL),
        (Token::Number(..) | Token::Placeholder(_) | Token::SingleQuotedString(_), 0) | (Token::Period, 1) => true,
        _ => false,
    })
}

fn is_rows(token: &TokenWithSpan) -> bool {
    matches!(keyword(token), Some(Keyword::ROW | Keyword::ROWS))
}

/// Whether a word is a name for where it stands: a label behind AS, a field behind a dot.
fn is_name_at(tokens: &[TokenWithSpan], at: usize) -> bool {
    tokens[at - 1].token == Token::Period || keyword(&tokens[at - 1]) == Some(Keyword::AS)
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn what_fetch_counts_stands_behind_limit() {
        for (written, read) in [
            ("SELECT a FROM t FETCH FIRST (1 + 1) ROWS ONLY", "SELECT a FROM t LIMIT (1 + 1)"),
            ("SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t FETCH FIRST ROWS ONLY"),
            ("SELECT a FROM t OFFSET 1 ROW FETCH NEXT -2 ROWS ONLY", "SELECT a FROM t LIMIT -2 OFFSET 1 ROW"),
            (
                "SELECT a FROM t ORDER BY a FETCH FIRST (SELECT 1 FROM u LIMIT 1) ROWS WITH TIES",
                "SELECT a FROM t ORDER BY a LIMIT (SELECT 1 FROM u LIMIT 1) FETCH FIRST ROWS WITH TIES",
            ),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
    }

    #[test]
    fn a_query_has_one_of_each() {
        for (written, message) in [
            ("SELECT a FROM t LIMIT 1 LIMIT 2", "syntax error at or near \"LIMIT\""),
            ("SELECT a FROM t LIMIT 1 FETCH FIRST 2 ROWS ONLY", "syntax error at or near \"FETCH\""),
            ("SELECT a FROM t FETCH FIRST (2) ROWS ONLY LIMIT 1", "syntax error at or near \"LIMIT\""),
            ("SELECT a FROM t OFFSET 1 OFFSET 2", "syntax error at or near \"OFFSET\""),
            ("SELECT a FROM t LIMIT 1, 2", "LIMIT #,# syntax is not supported"),
            ("SELECT a FROM t OFFSET 1 + 1 ROWS", "syntax error at or near \"ROWS\""),
            ("SELECT a FROM t FETCH FIRST 1 + 1 ROWS ONLY", "syntax error at or near \"+\""),
        ] {
            assert_eq!(parse_query(written).unwrap_err().message, message, "{written}");
        }
        for written in
            ["SELECT a AS limit, b AS offset FROM t LIMIT 1", "SELECT (SELECT 1 LIMIT 1) FROM t LIMIT 2 OFFSET 1"]
        {
            parse_query(written).unwrap_or_else(|error| panic!("{written}: {error}"));
        }
    }
}
