//! Operators as PostgreSQL's scanner reads them: all signs that stand side by side, less those at the end that begin an operand.
//! sqlparser takes many of them for two (`*=`, `===`, `@#@`).
//!
//! As in PostgreSQL wherever they stand side by side: a star that stands for columns has a blank behind it there.

use super::grammar::Lines;
use repr::poll;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// Whether a text is made of the signs that operators are made of.
pub(crate) fn is_symbol(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| "+-*/<>=~!@#%^&|`?".contains(character))
}

/// The operator that a run of signs begins with. One of several signs ends in `+` or `-` only if it has a sign that SQL has none
/// of: `a>-1` has two operators, `a@-1` one.
pub(crate) fn first_symbol(run: &str) -> &str {
    if run.contains(|character| "~!@#%^&|`?".contains(character)) {
        return run;
    }
    let cut = run.trim_end_matches(['+', '-']);
    if cut.is_empty() { &run[..1] } else { cut }
}

/// Whether a token may be a sign, or several: what is told without its text.
fn may_be_symbol(token: &Token) -> bool {
    !matches!(
        token,
        Token::EOF
            | Token::Word(_)
            | Token::Number(..)
            | Token::Whitespace(_)
            | Token::Comma
            | Token::LParen
            | Token::RParen
            | Token::Period
            | Token::Colon
            | Token::DoubleColon
            | Token::SemiColon
            | Token::LBracket
            | Token::RBracket
            | Token::Placeholder(_)
            | Token::SingleQuotedString(_)
    )
}

/// The tokens with each operator as one.
pub(super) fn joined(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Vec<TokenWithSpan> {
    let begins = |pair: &[TokenWithSpan]| {
        poll::step_or_unwind();
        adjacent(&pair[0], &pair[1]) || is_misread(&pair[0], lines)
    };
    if !tokens.windows(2).any(begins) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(first) = rest.next() {
        poll::step_or_unwind();
        let mut run = vec![first];
        while let (Some(last), Some(next)) = (run.last(), rest.peek())
            && adjacent(last, next)
        {
            run.extend(rest.next());
        }
        let is_lone = run.len() == 1 && !is_misread(&run[0], lines);
        if is_lone || !join(&run, lines, &mut written) {
            written.append(&mut run);
        }
    }
    written
}

/// Whether a token is not what is written: `==` is no `=`, and what begins with `<|` is taken for `<<|`.
fn is_misread(token: &TokenWithSpan, lines: &Lines<'_>) -> bool {
    let written = || lines.slice(token.span.start, token.span.end);
    match &token.token {
        Token::DoubleEq => true,
        Token::ShiftLeftVerticalBar => written() != "<<|",
        Token::CustomBinaryOperator(symbol) => symbol != written(),
        _ => false,
    }
}

fn adjacent(one: &TokenWithSpan, next: &TokenWithSpan) -> bool {
    one.span.end == next.span.start && may_be_symbol(&one.token) && may_be_symbol(&next.token)
}

/// Writes a run of tokens as its operators; not if it is made of something else.
fn join(run: &[TokenWithSpan], lines: &Lines<'_>, written: &mut Vec<TokenWithSpan>) -> bool {
    let texts: Vec<&str> = run.iter().map(|token| lines.slice(token.span.start, token.span.end)).collect();
    if !texts.iter().all(|text| is_symbol(text)) {
        return false;
    }
    let mut at = 0;
    while at < run.len() {
        let whole = texts[at..].concat();
        let symbol = first_symbol(&whole);
        let mut end = at;
        let mut length = 0;
        while length < symbol.len() {
            length += texts[end].len();
            end += 1;
        }
        // One that ends within a token is none of sqlparser's making.
        if end == at + 1 && !is_misread(&run[at], lines) || length != symbol.len() {
            written.push(run[at].clone());
            at += 1;
            continue;
        }
        let span = Span::new(run[at].span.start, run[end - 1].span.end);
        written.push(TokenWithSpan { token: Token::CustomBinaryOperator(symbol.to_owned()), span });
        at = end;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::first_symbol;
    use crate::parse::parse_query;

    #[test]
    fn signs_side_by_side_are_one_operator() {
        for (written, read) in [
            ("SELECT a*=b, a *<> b, a *>= b", "SELECT a *= b, a *<> b, a *>= b"),
            ("SELECT a * 2 < b, count(*)=1, t.* FROM t", "SELECT a * 2 < b, count(*) = 1, t.* FROM t"),
            ("SELECT a OPERATOR(pg_catalog.*<) b", "SELECT a OPERATOR(pg_catalog.*<) b"),
            ("SELECT a===b, a == b, a@#@b, a<->b", "SELECT a === b, a == b, a @#@ b, a <-> b"),
            ("SELECT a>-1, a=-1, a*-1, a+-1, a - -1", "SELECT a > -1, a = -1, a * -1, a + -1, a - -1"),
            ("SELECT a <| b, a <|<<< b, a <<| b", "SELECT a <| b, a <|<<< b, a <<| b"),
            ("SELECT a OPERATOR(s.|=|) b, !b", "SELECT a OPERATOR(s.|=|) b, OPERATOR(!) b"),
        ] {
            assert_eq!(parse_query(written).expect(written).to_string(), read);
        }
        // Another operator in PostgreSQL, too.
        assert!(parse_query("SELECT t.*=1 FROM t").is_err());
    }

    #[test]
    fn a_run_ends_before_the_sign_of_an_operand() {
        for (run, first) in
            [("=-", "="), ("@-", "@-"), ("+-", "+"), ("*+-", "*"), ("-", "-"), ("--", "-"), ("<=", "<=")]
        {
            assert_eq!(first_symbol(run), first);
        }
    }
}
