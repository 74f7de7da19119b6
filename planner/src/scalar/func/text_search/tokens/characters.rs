//! Classes of characters, as the C library has them in the locale C.UTF-8.

use regex_syntax::hir::ClassUnicode;
use std::sync::LazyLock;

/// Characters of a class of Unicode's.
fn class(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
}

fn contains(class: &ClassUnicode, character: char) -> bool {
    let found = class.ranges().binary_search_by(|range| {
        if range.end() < character {
            std::cmp::Ordering::Less
        } else if range.start() > character {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    found.is_ok()
}

/// Digits of other scripts are letters.
pub(super) fn is_letter(character: char) -> bool {
    static DIGITS: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"\p{Nd}"));
    if character.is_ascii() {
        return character.is_ascii_alphabetic();
    }
    character.is_alphabetic() || contains(&DIGITS, character)
}

pub(super) fn is_alnum(character: char) -> bool {
    character.is_ascii_digit() || is_letter(character)
}

/// Marks that stand over or behind a letter: no letters, but words go on with them.
pub(super) fn is_special(character: char) -> bool {
    static MARKS: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"\p{M}"));
    !character.is_ascii() && contains(&MARKS, character)
}

/// RFC 3986, without what it says must be escaped.
pub(super) fn is_url_character(character: char) -> bool {
    character.is_ascii_graphic() && !matches!(character, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

/// In lower case, character by character.
pub(in super::super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .map(|character| {
            let mut lower = character.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(only), None) => only,
                // The one that has a dot of its own.
                (Some(first), Some(_)) => first,
                (None, _) => character,
            }
        })
        .collect()
}
