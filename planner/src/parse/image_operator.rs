//! Operators that begin with a star, `*=`, `*<>`, `*<`, `*<=`, `*>`, `*>=`, which sqlparser takes for two.
//!
//! As in PostgreSQL wherever they stand side by side: a star that stands for columns has a blank behind it there.

use super::grammar::Lines;
use repr::poll;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

const SIGNS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// The tokens with each star and the sign behind it as one.
pub(super) fn joined(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Vec<TokenWithSpan> {
    let begins = |pair: &[TokenWithSpan]| {
        poll::step_or_unwind();
        symbol(&pair[0], &pair[1], lines).is_some()
    };
    if !tokens.windows(2).any(begins) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        poll::step_or_unwind();
        let joined = written.last().and_then(|star| symbol(star, &token, lines));
        match (joined, written.last_mut()) {
            (Some(symbol), Some(star)) => {
                star.token = Token::CustomBinaryOperator(symbol);
                star.span = Span::new(star.span.start, token.span.end);
            }
            _ => written.push(token),
        }
    }
    written
}

/// The operator that two tokens are.
fn symbol(star: &TokenWithSpan, sign: &TokenWithSpan, lines: &Lines<'_>) -> Option<String> {
    if star.token != Token::Mul || star.span.end != sign.span.start {
        return None;
    }
    let written = lines.slice(sign.span.start, sign.span.end);
    SIGNS.contains(&written).then(|| format!("*{written}"))
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn a_star_and_a_sign_are_one_operator() {
        for (written, read) in [
            ("SELECT a*=b, a *<> b, a *>= b", "SELECT a *= b, a *<> b, a *>= b"),
            ("SELECT a * 2 < b, count(*)=1, t.* FROM t", "SELECT a * 2 < b, count(*) = 1, t.* FROM t"),
            ("SELECT a OPERATOR(pg_catalog.*<) b", "SELECT a OPERATOR(pg_catalog.*<) b"),
        ] {
            assert_eq!(parse_query(written).expect(written).to_string(), read);
        }
        // Another operator in PostgreSQL, too.
        assert!(parse_query("SELECT t.*=1 FROM t").is_err());
    }
}
