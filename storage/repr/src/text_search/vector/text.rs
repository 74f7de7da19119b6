//! Documents as text: `'fat':2,4 'rat':12A`.

use super::super::word::{Within, WordReader};
use super::super::{LEXEME_BYTES_END, VECTOR_BYTES_MAX, write_lexeme};
use super::{TsVector, too_long, word_too_long};
use crate::{ValueError, poll};
use std::fmt::Write;

impl TsVector {
    /// Reads a document.
    ///
    /// # Errors
    /// 42601 for what is none, 54000 for a word or a document that is too long.
    pub fn parse(source: &str) -> Result<TsVector, ValueError> {
        let mut reader = WordReader::new(source, Within::Vector);
        let (mut lexemes, mut bytes) = (Vec::new(), 0);
        while let Some(word) = reader.next()? {
            poll::bytes(word.text.len())?;
            if word.text.len() >= LEXEME_BYTES_END {
                return Err(word_too_long(word.text.len()));
            }
            if bytes > VECTOR_BYTES_MAX {
                return Err(too_long(bytes));
            }
            bytes += word.text.len();
            lexemes.push((word.text, word.positions));
        }
        TsVector::of_lexemes(lexemes)
    }

    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        for (index, (lexeme, positions)) in self.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            write_lexeme(out, lexeme);
            for (index, position) in positions.iter().enumerate() {
                out.push(if index == 0 { ':' } else { ',' });
                write!(out, "{}", position.place()).expect("writing to a String does not fail");
                out.push_str(["", "C", "B", "A"][usize::from(position.weight())]);
            }
        }
    }
}
