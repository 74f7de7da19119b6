//! `U&"…"`, and UESCAPE behind it or behind `U&'…'`: the tokenizer reads `U & "…"`, and a string by the backslash alone.
//!
//! Done on tokens: what the escapes say stands there instead.
//! ```text
//! U&"d\0061ta"   ─▶   "data"          U&'d!0061ta' UESCAPE '!'   ─▶   'data'
//! ```

use super::grammar::{Lines, is_word};
use super::next_visible;
use crate::error::PlanError;
use repr::poll;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The tokens with all such names and strings as what they stand for.
///
/// # Errors
/// 42601 for an escape that is none.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>, PlanError> {
    let may_be = |token: &TokenWithSpan| is_word(token, "U") || is_word(token, "UESCAPE");
    if !tokens.iter().any(may_be) {
        return Ok(tokens);
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        let name = name_at(&tokens, at);
        let string = matches!(tokens[at].token, Token::UnicodeStringLiteral(_));
        let last = if name.is_some() { at + 2 } else { at };
        let escape = if name.is_some() || string { escape_behind(&tokens, last) } else { None };
        let place = || Some(lines.characters_before(tokens[at].span.start) as u32 + 1);
        let (character, end) = match escape {
            Some((escape, end)) => (character_of(escape).map_err(|error| error.at(place()))?, end),
            None if name.is_some() => ('\\', last),
            None => {
                written.push(tokens[at].clone());
                at += 1;
                continue;
            }
        };
        let token = match name {
            Some(name) => {
                let value = decoded(name, character).map_err(|error| error.at(place()))?;
                Token::make_word(&value, Some('"'))
            }
            None => {
                let text = lines.slice(tokens[at].span.start, tokens[at].span.end);
                let inner = text.get(3..text.len().saturating_sub(1)).unwrap_or_default().replace("''", "'");
                Token::SingleQuotedString(decoded(&inner, character).map_err(|error| error.at(place()))?)
            }
        };
        written.push(TokenWithSpan { token, span: Span::new(tokens[at].span.start, tokens[end].span.end) });
        at = end + 1;
    }
    Ok(written)
}

/// What stands in the quotes of a name that begins there.
fn name_at(tokens: &[TokenWithSpan], at: usize) -> Option<&str> {
    let [u, ampersand, name, ..] = tokens.get(at..)? else { return None };
    let is_one = u.span.end == ampersand.span.start && ampersand.span.end == name.span.start;
    match &name.token {
        Token::Word(word) if word.quote_style == Some('"') => {
            (is_one && is_word(u, "U") && ampersand.token == Token::Ampersand).then_some(&word.value)
        }
        _ => None,
    }
}

/// UESCAPE's text, and the token that it is.
fn escape_behind(tokens: &[TokenWithSpan], at: usize) -> Option<(&str, usize)> {
    let next = |at| next_visible(tokens, at);
    let text = next(next(at).filter(|&place| is_word(&tokens[place], "UESCAPE"))?)?;
    match &tokens[text].token {
        Token::SingleQuotedString(escape) => Some((escape, text)),
        _ => None,
    }
}

fn character_of(escape: &str) -> Result<char, PlanError> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None)
            if !only.is_ascii_hexdigit() && !matches!(only, '+' | '\'' | '"') && !only.is_ascii_whitespace() =>
        {
            Ok(only)
        }
        _ => Err(PlanError::new("42601", "invalid Unicode escape character")),
    }
}

/// A text whose escapes are read.
fn decoded(text: &str, escape: char) -> Result<String, PlanError> {
    let wrong =
        || PlanError::new("42601", "invalid Unicode escape").hint("Unicode escapes must be \\XXXX or \\+XXXXXX.");
    let pair = || PlanError::new("42601", "invalid Unicode surrogate pair");
    let mut decoded = String::with_capacity(text.len());
    let mut high: Option<u32> = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let point = if character != escape {
            u32::from(character)
        } else if rest.next_if_eq(&escape).is_some() {
            u32::from(escape)
        } else {
            let digits = if rest.next_if_eq(&'+').is_some() { 6 } else { 4 };
            let mut point = 0;
            for _ in 0..digits {
                point = point * 16 + rest.next().and_then(|digit| digit.to_digit(16)).ok_or_else(wrong)?;
            }
            point
        };
        match (high.take(), point) {
            (Some(high), 0xdc00..=0xdfff) => {
                let both = 0x1_0000 + ((high & 0x3ff) << 10) + (point & 0x3ff);
                decoded.push(char::from_u32(both).ok_or_else(pair)?);
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(pair()),
            (None, 0xd800..=0xdbff) => high = Some(point),
            (None, 0) => return Err(PlanError::new("42601", "invalid Unicode escape value")),
            (None, point) => {
                let invalid = || PlanError::new("42601", "invalid Unicode escape value");
                decoded.push(char::from_u32(point).ok_or_else(invalid)?);
            }
        }
    }
    if high.is_some() { Err(pair()) } else { Ok(decoded) }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn escapes_are_read() {
        for (written, read) in [
            ("SELECT U&\"d\\0061t\\+000061\" FROM t", "SELECT \"data\" FROM t"),
            ("SELECT 1 AS U&\"d!0061!!\" UESCAPE '!'", "SELECT 1 AS \"da!\""),
            ("SELECT U&'d!0061t' UESCAPE '!', u & \"x\"", "SELECT 'dat', u & \"x\""),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        for (written, message) in [
            ("SELECT U&\"\\06\"", "invalid Unicode escape"),
            ("SELECT U&\"\\d800\"", "invalid Unicode surrogate pair"),
            ("SELECT U&\"a\" UESCAPE '+'", "invalid Unicode escape character"),
        ] {
            assert_eq!(parse_query(written).unwrap_err().message, message, "{written}");
        }
    }
}
