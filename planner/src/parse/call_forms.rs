//! Calls that sqlparser takes for something else.
//!
//! Done on tokens:
//! ```text
//! COLLATION FOR (x)            ─▶   pg_catalog.pg_collation_for(x)
//! pg_catalog.current_user()    ─▶   pg_catalog."current_user"()
//! ```

use super::grammar::is_word;
use super::next_visible;
use repr::poll;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words that are values by themselves, and functions of pg_catalog as well.
const VALUES: [&str; 3] = ["current_user", "session_user", "current_schema"];

/// The tokens with all such calls in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        let next = |at| next_visible(&tokens, at);
        if is_word(&tokens[at], "COLLATION")
            && let Some(word) = next(at).filter(|&place| is_word(&tokens[place], "FOR"))
            && next(word).is_some_and(|place| tokens[place].token == Token::LParen)
        {
            let (span, end) = (tokens[at].span, tokens[word].span);
            let like = |token: Token, span| TokenWithSpan { token, span };
            let [schema, function] = ["pg_catalog", "pg_collation_for"].map(|name| Token::make_word(name, None));
            tokens.splice(at..=word, [like(schema, span), like(Token::Period, span), like(function, end)]);
        } else if at > 0
            && tokens[at - 1].token == Token::Period
            && let Some(name) = VALUES.iter().find(|name| is_word(&tokens[at], name))
            && next(at).is_some_and(|place| tokens[place].token == Token::LParen)
        {
            tokens[at].token = Token::make_word(name, Some('"'));
        }
        at += 1;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn they_are_calls() {
        for (written, read) in [
            ("SELECT COLLATION FOR ('a')", "SELECT pg_catalog.pg_collation_for('a')"),
            ("SELECT pg_catalog.current_user(), current_user", "SELECT pg_catalog.\"current_user\"(), current_user"),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        assert_eq!(parse_query("SELECT current_user()").unwrap_err().code, "42601");
    }
}
