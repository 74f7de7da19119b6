//! Calls that sqlparser takes for something else.
//!
//! Done on tokens:
//! ```text
//! COLLATION FOR (x)            ─▶   pg_catalog.pg_collation_for(x)
//! pg_catalog.current_user()    ─▶   pg_catalog."current_user"()
//! normalize(x, NFC)            ─▶   normalize(x, 'NFC')
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
        } else if is_word(&tokens[at], "NORMALIZE")
            && let Some(form) = normal_form(&tokens, at)
        {
            tokens[form].token = Token::SingleQuotedString(tokens[form].token.to_string());
        }
        at += 1;
    }
    tokens
}

/// Where a call of `normalize` names the form as a word.
fn normal_form(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let open = next_visible(tokens, at).filter(|&place| tokens[place].token == Token::LParen)?;
    let (mut depth, mut last) = (0_usize, [open; 2]);
    let mut place = open;
    loop {
        match tokens[place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        last = [last[1], place];
        place = next_visible(tokens, place)?;
    }
    let is_form = ["NFC", "NFD", "NFKC", "NFKD"].iter().any(|form| is_word(&tokens[last[1]], form));
    (is_form && tokens[last[0]].token == Token::Comma).then_some(last[1])
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn they_are_calls() {
        for (written, read) in [
            ("SELECT COLLATION FOR ('a')", "SELECT pg_catalog.pg_collation_for('a')"),
            ("SELECT normalize(f(a, NFC), nfkd), normalize(b)", "SELECT normalize(f(a, NFC), 'nfkd'), normalize(b)"),
            ("SELECT pg_catalog.current_user(), current_user", "SELECT pg_catalog.\"current_user\"(), current_user"),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        assert_eq!(parse_query("SELECT current_user()").unwrap_err().code, "42601");
    }
}
