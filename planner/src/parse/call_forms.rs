//! Calls that sqlparser takes for something else.
//!
//! Done on tokens:
//! ```text
//! COLLATION FOR (x)            ─▶   pg_catalog.pg_collation_for(x)
//! pg_catalog.current_user()    ─▶   pg_catalog."current_user"()
//! ```

use super::grammar::is_word;
use super::is_blank;
use repr::poll;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Words that are values by themselves, and functions of pg_catalog as well.
const VALUES: [&str; 3] = ["current_user", "session_user", "current_schema"];

/// The tokens with all such calls in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        let next = |at: usize| (at + 1..tokens.len()).find(|&place| !is_blank(&tokens[place]));
        if is_word(&tokens[at], "COLLATION")
            && let Some(word) = next(at).filter(|&place| is_word(&tokens[place], "FOR"))
            && next(word).is_some_and(|place| tokens[place].token == Token::LParen)
        {
            let (span, end) = (tokens[at].span, tokens[word].span);
            let like = |token: Token, span| TokenWithSpan { token, span };
            let name = ["pg_catalog", "pg_collation_for"].map(|name| plain(name, None));
            let [schema, function] = name;
            tokens.splice(at..=word, [like(schema, span), like(Token::Period, span), like(function, end)]);
        } else if at > 0
            && tokens[at - 1].token == Token::Period
            && let Some(name) = VALUES.iter().find(|name| is_word(&tokens[at], name))
            && next(at).is_some_and(|place| tokens[place].token == Token::LParen)
        {
            tokens[at].token = plain(name, Some('"'));
        }
        at += 1;
    }
    tokens
}

fn plain(name: &str, quote_style: Option<char>) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style, keyword: Keyword::NoKeyword })
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
