//! Sets of characters: what one character of a text may be, where an expression says `x`, `.`, `[…]` or `\w`.

use super::Invalid;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A set of characters, asked for each character of a text.
pub(super) struct CharSet {
    /// Membership of the first 128 characters, a bit each.
    ascii: u128,
    class: ClassUnicode,
}

impl CharSet {
    pub(super) fn new(class: ClassUnicode) -> CharSet {
        let mut ascii = 0;
        for range in class.ranges() {
            for code in range.start() as u32..=(range.end() as u32).min(127) {
                ascii |= 1 << code;
            }
        }
        CharSet { ascii, class }
    }

    pub(super) fn contains(&self, character: char) -> bool {
        let code = u32::from(character);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let ranges = self.class.ranges();
        let at = ranges.partition_point(|range| range.end() < character);
        ranges.get(at).is_some_and(|range| range.start() <= character)
    }

    pub(super) fn class(&self) -> &ClassUnicode {
        &self.class
    }
}

/// One character, or with its other cases.
pub(super) fn single(character: char, insensitive: bool) -> ClassUnicode {
    range(character, character, insensitive)
}

/// The characters from one to another; with their other cases, if asked for.
pub(super) fn range(first: char, last: char, insensitive: bool) -> ClassUnicode {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(first, last)]);
    if insensitive {
        class.case_fold_simple();
    }
    class
}

/// Every character but these.
pub(super) fn all_but(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

/// A class by its name in `[[:name:]]`. Cases are one where they do not matter.
pub(super) fn named(name: &str, insensitive: bool) -> Result<ClassUnicode, Invalid> {
    Ok(written(match name {
        "alpha" => r"\p{Alphabetic}",
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "digit" => r"\d",
        "lower" | "upper" if insensitive => r"\p{Alphabetic}",
        "lower" => r"\p{Lowercase}",
        "upper" => r"\p{Uppercase}",
        "space" => r"\s",
        "blank" => r"[\t\p{Zs}]",
        "cntrl" => r"\p{Cc}",
        "punct" => r"[\p{P}\p{S}]",
        "graph" => r"[^\s\p{Cc}\p{Cn}\p{Cs}]",
        "print" => r"[[^\s\p{Cc}\p{Cn}\p{Cs}]\p{Zs}]",
        "xdigit" => "[0-9A-Fa-f]",
        "word" => r"\w",
        _ => return Err(Invalid::CharacterClass),
    }))
}

/// A class as the `regex` crate writes it.
fn written(pattern: &str) -> ClassUnicode {
    let parsed = regex_syntax::parse(pattern).expect("the classes above are written correctly");
    match parsed.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        other => unreachable!("{pattern} is a class of characters, not {other:?}"),
    }
}

/// The character of `[.name.]`, by POSIX's names if it is not itself.
pub(super) fn collating(name: &[char]) -> Result<char, Invalid> {
    if let [character] = name {
        return Ok(*character);
    }
    let name: String = name.iter().collect();
    let at = NAMES.iter().find(|(known, _)| *known == name);
    at.map(|(_, character)| *character).ok_or(Invalid::CollatingElement)
}

/// POSIX's names of characters.
const NAMES: [(&str, char); 95] = [
    ("NUL", '\0'),
    ("SOH", '\x01'),
    ("STX", '\x02'),
    ("ETX", '\x03'),
    ("EOT", '\x04'),
    ("ENQ", '\x05'),
    ("ACK", '\x06'),
    ("BEL", '\x07'),
    ("alert", '\x07'),
    ("BS", '\x08'),
    ("backspace", '\x08'),
    ("HT", '\t'),
    ("tab", '\t'),
    ("LF", '\n'),
    ("newline", '\n'),
    ("VT", '\x0b'),
    ("vertical-tab", '\x0b'),
    ("FF", '\x0c'),
    ("form-feed", '\x0c'),
    ("CR", '\r'),
    ("carriage-return", '\r'),
    ("SO", '\x0e'),
    ("SI", '\x0f'),
    ("DLE", '\x10'),
    ("DC1", '\x11'),
    ("DC2", '\x12'),
    ("DC3", '\x13'),
    ("DC4", '\x14'),
    ("NAK", '\x15'),
    ("SYN", '\x16'),
    ("ETB", '\x17'),
    ("CAN", '\x18'),
    ("EM", '\x19'),
    ("SUB", '\x1a'),
    ("ESC", '\x1b'),
    ("IS4", '\x1c'),
    ("FS", '\x1c'),
    ("IS3", '\x1d'),
    ("GS", '\x1d'),
    ("IS2", '\x1e'),
    ("RS", '\x1e'),
    ("IS1", '\x1f'),
    ("US", '\x1f'),
    ("space", ' '),
    ("exclamation-mark", '!'),
    ("quotation-mark", '"'),
    ("number-sign", '#'),
    ("dollar-sign", '$'),
    ("percent-sign", '%'),
    ("ampersand", '&'),
    ("apostrophe", '\''),
    ("left-parenthesis", '('),
    ("right-parenthesis", ')'),
    ("asterisk", '*'),
    ("plus-sign", '+'),
    ("comma", ','),
    ("hyphen", '-'),
    ("hyphen-minus", '-'),
    ("period", '.'),
    ("full-stop", '.'),
    ("slash", '/'),
    ("solidus", '/'),
    ("zero", '0'),
    ("one", '1'),
    ("two", '2'),
    ("three", '3'),
    ("four", '4'),
    ("five", '5'),
    ("six", '6'),
    ("seven", '7'),
    ("eight", '8'),
    ("nine", '9'),
    ("colon", ':'),
    ("semicolon", ';'),
    ("less-than-sign", '<'),
    ("equals-sign", '='),
    ("greater-than-sign", '>'),
    ("question-mark", '?'),
    ("commercial-at", '@'),
    ("left-square-bracket", '['),
    ("backslash", '\\'),
    ("reverse-solidus", '\\'),
    ("right-square-bracket", ']'),
    ("circumflex", '^'),
    ("circumflex-accent", '^'),
    ("underscore", '_'),
    ("low-line", '_'),
    ("grave-accent", '`'),
    ("left-brace", '{'),
    ("left-curly-bracket", '{'),
    ("vertical-line", '|'),
    ("right-brace", '}'),
    ("right-curly-bracket", '}'),
    ("tilde", '~'),
    ("DEL", '\x7f'),
];
