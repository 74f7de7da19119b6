//! Values of full text search: documents as lexemes (`tsvector`), and what is asked of them (`tsquery`).
//!
//! How both are written, ordered and matched stands here; how a text becomes lexemes is the planner's, which knows dictionaries.

pub mod query;
pub mod vector;
mod word;

pub use query::{Operand, Operator, QueryItem, TsQuery};
pub use vector::{Position, TsVector};

use crate::ValueError;

/// No lexeme may have as many bytes.
pub const LEXEME_BYTES_END: usize = 2047;
/// All lexemes of a document, with their positions.
const VECTOR_BYTES_MAX: usize = (1 << 20) - 1;
/// How many positions of one lexeme are kept.
pub const POSITIONS_MAX: usize = 256;
/// The last place there is: what stands further on stands there.
pub const PLACE_MAX: u16 = (1 << 14) - 1;

/// What separates words where PostgreSQL's C library decides: no space that keeps words together, no control character but five.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() && !matches!(character, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// The bit of a weight, in a set of weights, that one letter names.
pub fn weight_of(letter: char) -> Option<u8> {
    match letter {
        'A' | 'a' => Some(3),
        'B' | 'b' => Some(2),
        'C' | 'c' => Some(1),
        'D' | 'd' => Some(0),
        _ => None,
    }
}

fn syntax(message: String) -> ValueError {
    ValueError::new("42601", message)
}

fn malformed(message: &'static str) -> ValueError {
    ValueError::new("XX000", message)
}

/// Appends a lexeme as both types write it.
fn write_lexeme(out: &mut String, lexeme: &str) {
    crate::text::nested::write_quoted(out, lexeme, '\'');
}

/// Takes a text that ends with a zero byte from the front of a binary form.
fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, ValueError> {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .ok_or_else(|| ValueError::new("08P01", "invalid string in message"))?;
    let text = std::str::from_utf8(&bytes[..end])
        .map_err(|_| ValueError::new("22021", "invalid byte sequence for encoding \"UTF8\""))?;
    *bytes = &bytes[end + 1..];
    Ok(text)
}

/// Takes so many bytes from the front of a binary form.
fn take<const COUNT: usize>(bytes: &mut &[u8]) -> Result<[u8; COUNT], ValueError> {
    let (taken, rest) =
        bytes.split_first_chunk().ok_or_else(|| ValueError::new("08P01", "insufficient data left in message"))?;
    *bytes = rest;
    Ok(*taken)
}

/// Nothing may follow.
fn ended(bytes: &[u8]) -> Result<(), ValueError> {
    if bytes.is_empty() { Ok(()) } else { Err(ValueError::new("22P03", "incorrect binary data format")) }
}
