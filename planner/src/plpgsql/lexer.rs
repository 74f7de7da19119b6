//! A body's words: what is a word, a string, a symbol, and where it stands. Comments are nothing.

use crate::error::PlanError;
use repr::poll;

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A word without quotes, in lower case.
    Word(String),
    /// A word in quotes.
    Quoted(String),
    /// A string, as it reads.
    Text(String),
    /// A number, or `$n`.
    Number,
    /// Anything else.
    Symbol(&'static str),
    /// A character that is none of the language's own.
    Other(char),
}

/// A token, and the bytes that it stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BodyToken {
    pub(super) kind: WordKind,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The longest first.
const SYMBOLS: [&str; 27] = [
    ":=", "::", "..", "<<", ">>", "=>", "<=", ">=", "<>", "!=", "||", ";", ",", "(", ")", "[", "]", ".", "=", "%", "#",
    "<", ">", "+", "-", "*", ":",
];

/// The tokens of a text.
///
/// # Errors
/// 42601 for a string, a name or a comment without an end.
pub(super) fn tokens(text: &str) -> Result<Vec<BodyToken>, PlanError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        poll::step()?;
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += comment(rest)?;
        } else {
            let (kind, length) = token(rest, first)?;
            found.push(BodyToken { kind, from: at, to: at + length });
            at += length;
        }
    }
    Ok(found)
}

fn unterminated(what: &str) -> PlanError {
    PlanError::new("42601", format!("unterminated {what}"))
}

/// How long a comment is, others within it among it.
fn comment(text: &str) -> Result<usize, PlanError> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => at += 1,
        }
    }
    Err(unterminated("/* comment"))
}

fn token(rest: &str, first: char) -> Result<(WordKind, usize), PlanError> {
    if first == '\'' {
        return string(rest, 0, false);
    }
    if matches!(first, 'e' | 'E') && rest[1..].starts_with('\'') {
        return string(rest, 1, true);
    }
    if first == '"' {
        return quoted(rest);
    }
    if first == '$' {
        return dollar(rest);
    }
    if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
        return Ok((WordKind::Number, number(rest)));
    }
    if is_first(first) {
        let length = rest.find(|next: char| !is_first(next) && !next.is_ascii_digit() && next != '$');
        let length = length.unwrap_or(rest.len());
        return Ok((WordKind::Word(rest[..length].to_lowercase()), length));
    }
    Ok(match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (WordKind::Symbol(symbol), symbol.len()),
        None => (WordKind::Other(first), first.len_utf8()),
    })
}

fn is_first(found: char) -> bool {
    found.is_alphabetic() || found == '_' || !found.is_ascii() && !found.is_whitespace()
}

/// `1..10` are two numbers.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if text[length..].starts_with('.') && !text[length..].starts_with("..") {
        length += 1;
        length += digits(&text[length..]);
    }
    let exponent = &text[length..];
    if exponent.starts_with(['e', 'E']) {
        let sign = usize::from(exponent[1..].starts_with(['+', '-']));
        let count = digits(&exponent[1 + sign..]);
        length += if count > 0 { 1 + sign + count } else { 0 };
    }
    length
}

/// `'…'` behind so many characters; with backslashes.
fn string(text: &str, before: usize, escapes: bool) -> Result<(WordKind, usize), PlanError> {
    let mut read = String::new();
    let mut rest = text[before + 1..].char_indices();
    while let Some((at, next)) = rest.next() {
        match next {
            '\'' if text[before + 1 + at + 1..].starts_with('\'') => {
                rest.next();
                read.push('\'');
            }
            '\'' => return Ok((WordKind::Text(read), before + 1 + at + 1)),
            '\\' if escapes => match rest.next() {
                Some((_, 'n')) => read.push('\n'),
                Some((_, 't')) => read.push('\t'),
                Some((_, 'r')) => read.push('\r'),
                Some((_, other)) => read.push(other),
                None => break,
            },
            other => read.push(other),
        }
    }
    Err(unterminated("quoted string"))
}

fn quoted(text: &str) -> Result<(WordKind, usize), PlanError> {
    let mut read = String::new();
    let mut rest = text[1..].char_indices();
    while let Some((at, next)) = rest.next() {
        match next {
            '"' if text[1 + at + 1..].starts_with('"') => {
                rest.next();
                read.push('"');
            }
            '"' => return Ok((WordKind::Quoted(read), 1 + at + 1)),
            other => read.push(other),
        }
    }
    Err(unterminated("quoted identifier"))
}

/// `$1`, `$tag$…$tag$`
fn dollar(text: &str) -> Result<(WordKind, usize), PlanError> {
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return Ok((WordKind::Number, 1 + digits));
    }
    let name = text[1..].find(|next: char| !(is_first(next) || next.is_ascii_digit())).unwrap_or(text.len() - 1);
    if !text[1 + name..].starts_with('$') {
        return Ok((WordKind::Other('$'), 1));
    }
    let tag = &text[..name + 2];
    let inside = &text[tag.len()..];
    match inside.find(tag) {
        Some(end) => Ok((WordKind::Text(inside[..end].to_owned()), tag.len() + end + tag.len())),
        None => Err(unterminated("dollar-quoted string")),
    }
}

#[cfg(test)]
mod tests {
    use super::{WordKind, tokens};

    #[test]
    fn words_strings_and_symbols_are_told_apart() {
        let kinds =
            |text: &str| tokens(text).expect("it is read").into_iter().map(|token| token.kind).collect::<Vec<_>>();
        let word = |text: &str| WordKind::Word(text.to_owned());
        assert_eq!(
            kinds("FOR i IN 1..10 -- x"),
            [word("for"), word("i"), word("in"), WordKind::Number, WordKind::Symbol(".."), WordKind::Number]
        );
        assert_eq!(
            kinds("a := 'it''s' /* /* */ ; */;"),
            [word("a"), WordKind::Symbol(":="), WordKind::Text("it's".to_owned()), WordKind::Symbol(";")]
        );
        assert_eq!(
            kinds("$q$a;$q$ $1 \"A b\""),
            [WordKind::Text("a;".to_owned()), WordKind::Number, WordKind::Quoted("A b".to_owned())]
        );
        assert!(["'a", "\"a", "$$a", "/* a", "e'\\"].iter().all(|text| tokens(text).is_err()));
    }
}
