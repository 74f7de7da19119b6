//! LIKE matching, and the translation of ESCAPE clauses and SIMILAR TO patterns.

use super::super::arguments::{string, text};
use repr::{Datum, ValueError};

/// Whether `source` matches a pattern of `%`, `_` and backslash escapes.
pub(crate) fn like(source: &str, pattern: &str) -> Result<bool, ValueError> {
    matches(source.as_bytes(), pattern.as_bytes(), width)
}

/// The same of bytes, each of which is a character.
pub(crate) fn like_bytes(source: &[u8], pattern: &[u8]) -> Result<bool, ValueError> {
    matches(source, pattern, |_| 1)
}

/// The same without regard to case.
pub(crate) fn ilike(source: &str, pattern: &str) -> Result<bool, ValueError> {
    like(&source.to_lowercase(), &pattern.to_lowercase())
}

/// Bytes of the UTF-8 character that begins with `lead`.
fn width(lead: u8) -> usize {
    match lead {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0.. => 4,
    }
}

/// Two pointers; on a mismatch the last `%` takes one character more. Time is source × pattern at worst.
fn matches(source: &[u8], pattern: &[u8], width: fn(u8) -> usize) -> Result<bool, ValueError> {
    let (mut at, mut place) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(place) {
            Some(b'%') => {
                retry = Some((at, place + 1));
                place += 1;
                continue;
            }
            Some(b'_') => match source.get(at) {
                Some(lead) => Some((width(*lead), 1)),
                None => return Ok(false),
            },
            Some(b'\\') => match pattern.get(place + 1) {
                Some(literal) => (source.get(at) == Some(literal)).then_some((1, 2)),
                // PostgreSQL only looks at the rest of the pattern while there is text left.
                None if at == source.len() => None,
                None => return Err(ValueError::new("22025", "LIKE pattern must not end with escape character")),
            },
            Some(literal) => (source.get(at) == Some(literal)).then_some((1, 1)),
            None if at == source.len() => return Ok(true),
            None => None,
        };
        match (step, retry) {
            (Some((taken, read)), _) => {
                at += taken;
                place += read;
            }
            (None, Some((from, after))) if from < source.len() => {
                let from = from + width(source[from]);
                retry = Some((from, after));
                (at, place) = (from, after);
            }
            (None, _) => return Ok(false),
        }
    }
}

/// A pattern with another escape character (or none) as one with backslashes.
pub(crate) fn with_escape(pattern: &str, escape: &str) -> Result<String, ValueError> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut result = String::with_capacity(pattern.len());
    let mut after_escape = false;
    for character in pattern.chars() {
        if Some(character) == escape && !after_escape {
            result.push('\\');
            after_escape = true;
        } else if character == '\\' && !after_escape {
            result.push_str("\\\\");
        } else {
            result.push(character);
            after_escape = false;
        }
    }
    Ok(result)
}

fn escape_character(escape: &str) -> Result<Option<char>, ValueError> {
    let mut characters = escape.chars();
    let first = characters.next();
    if characters.next().is_some() {
        return Err(ValueError {
            hint: Some("Escape string must be empty or one character.".to_owned()),
            ..ValueError::new("22025", "invalid escape string")
        });
    }
    Ok(first)
}

/// A SIMILAR TO pattern as a regular expression; a second argument is the escape character.
pub(super) fn similar_to_regular(args: &[Datum]) -> Result<Datum, ValueError> {
    if args.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let escape = match args.get(1) {
        Some(escape) => escape_character(text(escape)?)?,
        None => Some('\\'),
    };
    let mut result = String::from("^(?:");
    let (mut after_escape, mut in_brackets, mut quotes) = (false, false, 0);
    for character in text(&args[0])?.chars() {
        if after_escape {
            after_escape = false;
            if character == '"' && !in_brackets {
                // The parts of substring(… similar … escape …) are separated by escape-quote.
                quotes += 1;
                match quotes {
                    1 => {
                        result.insert_str(4, "(?:");
                        result.push_str("){1,1}?(");
                    }
                    2 => result.push_str("){1,1}(?:"),
                    _ => {
                        return Err(ValueError::new(
                            "2200C",
                            "SQL regular expression may not contain more than two escape-double-quote separators",
                        ));
                    }
                }
            } else {
                result.push('\\');
                result.push(character);
            }
            continue;
        }
        if Some(character) == escape {
            after_escape = true;
        } else if in_brackets {
            if character == '\\' {
                result.push('\\');
            }
            result.push(character);
            in_brackets = character != ']';
        } else {
            match character {
                '[' => {
                    result.push('[');
                    in_brackets = true;
                }
                '%' => result.push_str(".*"),
                '_' => result.push('.'),
                '(' => result.push_str("(?:"),
                '\\' | '.' | '^' | '$' => result.extend(['\\', character]),
                other => result.push(other),
            }
        }
    }
    if quotes > 0 {
        result.push(')');
    }
    result.push_str(")$");
    string(result)
}
