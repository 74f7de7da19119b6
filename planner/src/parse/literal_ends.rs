//! Where literals end: a number not within a word, and a string not at the end of its line.
//!
//! Done on tokens:
//! ```text
//! 123abc                        ─▶   42601
//! 'first' -- one
//!   'second'                    ─▶   'firstsecond'
//! ```

use super::grammar::Lines;
use crate::error::PlanError;
use repr::poll;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

/// 42601 for a number that a word follows at once. What was kept before this was asked is still read.
pub(super) fn refuse_junk(tokens: &[TokenWithSpan], lines: &Lines<'_>) -> Result<(), PlanError> {
    let is_word = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none());
    for pair in tokens.windows(2) {
        poll::step_or_unwind();
        let [number, word] = pair else { continue };
        if matches!(number.token, Token::Number(..)) && is_word(&word.token) && number.span.end == word.span.start {
            let junk = lines.slice(number.span.start, word.span.end);
            let message = format!("trailing junk after numeric literal at or near \"{junk}\"");
            let position = lines.characters_before(number.span.start) as u32 + 1;
            return Err(PlanError::new("42601", message).at(Some(position)));
        }
    }
    Ok(())
}

/// The tokens with the strings that are one as one.
pub(super) fn joined(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let strings = tokens.iter().filter(|token| is_string(&token.token));
    if strings.count() < 2 {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        poll::step_or_unwind();
        let joined = match (&token.token, line_before(&written)) {
            (Token::SingleQuotedString(text), Some(place)) => match &written[place].token {
                Token::SingleQuotedString(before) => {
                    Some((place, Token::SingleQuotedString(format!("{before}{text}"))))
                }
                // What begins with E goes on with escapes.
                Token::EscapedStringLiteral(before) if !text.contains('\\') => {
                    Some((place, Token::EscapedStringLiteral(format!("{before}{text}"))))
                }
                Token::SingleQuotedByteStringLiteral(before) => {
                    Some((place, Token::SingleQuotedByteStringLiteral(format!("{before}{text}"))))
                }
                Token::HexStringLiteral(before) => Some((place, Token::HexStringLiteral(format!("{before}{text}")))),
                _ => None,
            },
            _ => None,
        };
        if let Some((place, token_of_both)) = joined {
            let span = Span::new(written[place].span.start, token.span.end);
            written.truncate(place);
            written.push(TokenWithSpan { token: token_of_both, span });
        } else {
            written.push(token);
        }
    }
    written
}

/// Whether it is a string that may go on.
fn is_string(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
    )
}

/// The string that goes on on another line, if one does.
fn line_before(written: &[TokenWithSpan]) -> Option<usize> {
    let mut is_another_line = false;
    for (place, token) in written.iter().enumerate().rev() {
        match &token.token {
            Token::Whitespace(Whitespace::Space | Whitespace::Tab) => {}
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => is_another_line = true,
            token if is_string(token) => return is_another_line.then_some(place),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::parse::{parse, parse_query};

    #[test]
    fn literals_end_where_they_do_in_postgresql() {
        for written in ["SELECT 123abc", "SELECT 0.a", "SELECT 0.0a", "SELECT .0a", "SELECT 0.0e1a", "SELECT 0.0e"] {
            let error = parse(written).unwrap_err();
            assert_eq!(error.code, "42601", "{written}");
            assert!(error.message.starts_with("trailing junk after numeric literal"), "{written}: {}", error.message);
        }
        assert_eq!(parse_query("SELECT 1a").unwrap().to_string(), "SELECT 1 AS a");
        let read = parse_query("SELECT 'first' -- one\n  'second' -- two\n  'third'").unwrap().to_string();
        assert_eq!(read, "SELECT 'firstsecondthird'");
        assert_eq!(parse_query("SELECT B'10'\n'1', X'A'\n'B'").unwrap().to_string(), "SELECT B'101', X'AB'");
        assert_eq!(parse_query("SELECT E'a\\t'\n'b'").unwrap().to_string(), "SELECT E'a\\tb'");
        assert_eq!(parse_query("SELECT 'a' \n\n 'b', 'c' AS d").unwrap().to_string(), "SELECT 'ab', 'c' AS d");
    }
}
