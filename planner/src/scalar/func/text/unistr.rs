//! `unistr`: code points behind backslashes become characters.

use crate::scalar::Answer;
use crate::scalar::func::arguments::string;
use repr::{ValueError, poll};

fn pair() -> ValueError {
    ValueError::new("42601", "invalid Unicode surrogate pair")
}

/// The number of an escape behind its backslash, and how long it is.
fn escape(rest: &str) -> Result<(u32, usize), ValueError> {
    let (start, digits) = match rest.as_bytes().first() {
        Some(b'u') => (1, 4),
        Some(b'U') => (1, 8),
        Some(b'+') => (1, 6),
        _ => (0, 4),
    };
    let number = rest.get(start..start + digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.map(|number| (number, start + digits)).ok_or_else(|| ValueError {
        hint: Some("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.".to_owned()),
        ..ValueError::new("42601", "invalid Unicode escape")
    })
}

/// The text with its escapes read.
pub(super) fn unistr(source: &str) -> Answer {
    let (mut found, mut rest, mut first_half) = (String::with_capacity(source.len()), source, None);
    while let Some(character) = rest.chars().next() {
        poll::step()?;
        let escaped = rest.strip_prefix('\\').filter(|behind| !behind.starts_with('\\'));
        let half = first_half.take();
        let Some(behind) = escaped else {
            if half.is_some() {
                return Err(pair());
            }
            found.push(character);
            rest = rest.strip_prefix("\\\\").unwrap_or(&rest[character.len_utf8()..]);
            continue;
        };
        let (number, length) = escape(behind)?;
        rest = &behind[length..];
        match (half, number) {
            (None, 0xD800..=0xDBFF) => first_half = Some(number),
            (Some(high), 0xDC00..=0xDFFF) => {
                found.extend(char::from_u32(0x1_0000 + ((high & 0x3FF) << 10 | number & 0x3FF)));
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(pair()),
            (None, 0 | 0x11_0000..) => {
                return Err(ValueError::new("22023", format!("invalid Unicode code point: {number:04X}")));
            }
            (None, number) => found.extend(char::from_u32(number)),
        }
    }
    if first_half.is_some() { Err(pair()) } else { string(found) }
}
