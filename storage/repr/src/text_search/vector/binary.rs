//! Documents as PostgreSQL sends them.
//!
//! ```text
//! u32 how many lexemes; each: its text, 00, u16 how many positions, u16 each
//! ```

use super::super::{LEXEME_BYTES_END, POSITIONS_MAX, VECTOR_BYTES_MAX, ended, malformed, take, take_text};
use super::{Position, TsVector};
use crate::{ValueError, poll};

impl TsVector {
    /// Appends what is sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u32).to_be_bytes());
        for (lexeme, positions) in self.iter() {
            out.extend_from_slice(lexeme.as_bytes());
            out.push(0);
            out.extend_from_slice(&(positions.len() as u16).to_be_bytes());
            for position in positions {
                out.extend_from_slice(&position.bits().to_be_bytes());
            }
        }
    }

    /// Reads what was sent.
    ///
    /// # Errors
    /// XX000, 08P01, 22021 or 22P03 for what is no document.
    pub fn decode(mut bytes: &[u8]) -> Result<TsVector, ValueError> {
        let count = i32::from_be_bytes(take(&mut bytes)?);
        if !(0..=0x0FFF_FFFF).contains(&count) {
            return Err(malformed("invalid size of tsvector"));
        }
        let (mut lexemes, mut total) = (Vec::new(), 0);
        for _ in 0..count {
            let lexeme = take_text(&mut bytes)?;
            poll::bytes(lexeme.len())?;
            let positions = u16::from_be_bytes(take(&mut bytes)?);
            if lexeme.len() > LEXEME_BYTES_END {
                return Err(malformed("invalid tsvector: lexeme too long"));
            }
            if total > VECTOR_BYTES_MAX {
                return Err(malformed("invalid tsvector: maximum total lexeme length exceeded"));
            }
            if usize::from(positions) > POSITIONS_MAX {
                return Err(malformed("unexpected number of tsvector positions"));
            }
            total += lexeme.len();
            let mut read: Vec<Position> = Vec::new();
            for _ in 0..positions {
                let position = Position::of_bits(u16::from_be_bytes(take(&mut bytes)?));
                if read.last().is_some_and(|before| position.place() <= before.place()) {
                    return Err(malformed("position information is misordered"));
                }
                read.push(position);
            }
            lexemes.push((lexeme.to_owned(), read));
        }
        ended(bytes)?;
        TsVector::of_lexemes(lexemes)
    }
}
