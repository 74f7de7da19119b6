//! A document as lexemes with their positions: `tsvector`.
//!
//! ```text
//! text       all lexemes one behind the other, ascending by their bytes, none twice
//! ends       for each lexeme, where it ends in `text`, and where its positions end
//! positions  ascending by place
//! ```

mod binary;
mod edit;
mod text;

use super::{LEXEME_BYTES_END, PLACE_MAX, POSITIONS_MAX, VECTOR_BYTES_MAX};
use crate::{ValueError, poll};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Where a lexeme stands in its document, and how much it weighs there: two bits above fourteen, as PostgreSQL has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position(u16);

impl Position {
    /// A place from one on, the last one for all behind it; a weight from 0 (D) to 3 (A).
    pub fn new(place: u16, weight: u8) -> Position {
        Position(place.min(PLACE_MAX) | u16::from(weight & 3) << 14)
    }

    /// As it is packed.
    pub fn of_bits(bits: u16) -> Position {
        Position(bits)
    }

    /// See `of_bits`.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From one on.
    pub fn place(self) -> u16 {
        self.0 & PLACE_MAX
    }

    /// From 0 (D) to 3 (A).
    pub fn weight(self) -> u8 {
        (self.0 >> 14) as u8
    }

    /// By place, then by weight.
    pub(crate) fn rank(self) -> u16 {
        self.place() << 2 | u16::from(self.weight())
    }
}

/// A document. Cloning shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TsVector(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    text: Box<str>,
    ends: Box<[Ends]>,
    positions: Box<[Position]>,
    /// What PostgreSQL keeps of it, but for what all have.
    stored: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    text: u32,
    positions: u32,
}

/// A lexeme with its positions.
pub type Lexeme<'a> = (&'a str, &'a [Position]);

impl TsVector {
    /// Of lexemes in any order, some of them more than once; their positions are joined.
    ///
    /// # Errors
    /// 54000 if it is too large.
    pub fn of_lexemes(mut lexemes: Vec<(String, Vec<Position>)>) -> Result<TsVector, ValueError> {
        poll::sort_by(&mut lexemes, |(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()))?;
        lexemes.dedup_by(|(text, positions), (kept_text, kept)| {
            let is_same = text == kept_text;
            if is_same {
                kept.append(positions);
            }
            is_same
        });
        let mut built = Builder::default();
        for (text, positions) in &mut lexemes {
            poll::step()?;
            unique(positions);
            built.push(text, positions);
        }
        built.finish()
    }

    /// How many lexemes there are.
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// How much it holds.
    pub fn bytes(&self) -> usize {
        self.0.text.len() + size_of_val(&*self.0.ends) + size_of_val(&*self.0.positions)
    }

    /// One lexeme.
    pub fn lexeme(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.0.ends[index - 1].text };
        &self.0.text[start as usize..self.0.ends[index].text as usize]
    }

    /// Where one lexeme stands; nothing if that is not known.
    pub fn positions(&self, index: usize) -> &[Position] {
        let start = if index == 0 { 0 } else { self.0.ends[index - 1].positions };
        &self.0.positions[start as usize..self.0.ends[index].positions as usize]
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Lexeme<'_>> {
        (0..self.len()).map(|index| (self.lexeme(index), self.positions(index)))
    }

    /// Which are that lexeme: one, or none; or those that begin so.
    pub fn found(&self, lexeme: &str, is_prefix: bool) -> Range<usize> {
        let first = self.first_from(lexeme);
        let mut end = first;
        while end < self.len()
            && if is_prefix { self.lexeme(end).starts_with(lexeme) } else { end == first && self.lexeme(end) == lexeme }
        {
            end += 1;
        }
        first..end
    }

    fn first_from(&self, lexeme: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.lexeme(middle).as_bytes() < lexeme.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// What PostgreSQL keeps of it, but for what all have: what it is ordered by first.
    pub(crate) fn stored_bytes(&self) -> u32 {
        self.0.stored
    }

    /// SQL's order: by size, by how many lexemes there are, then lexeme by lexeme. More positions come first.
    pub fn sql_cmp(&self, other: &TsVector) -> Ordering {
        let by_size = self.stored_bytes().cmp(&other.stored_bytes()).then(self.len().cmp(&other.len()));
        by_size.then_with(|| {
            let orders = self.iter().zip(other.iter()).map(|((text, positions), (other_text, other_positions))| {
                positions
                    .is_empty()
                    .cmp(&other_positions.is_empty())
                    .then_with(|| text.as_bytes().cmp(other_text.as_bytes()))
                    .then_with(|| other_positions.len().cmp(&positions.len()))
                    .then_with(|| ranks(other_positions).cmp(ranks(positions)))
            });
            orders.fold(Ordering::Equal, Ordering::then)
        })
    }

    /// Reads what `encode` wrote.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<TsVector> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let count = u32::from_be_bytes(*count) as usize;
        // Each lexeme takes three bytes at least: nothing is reserved on the word of a number.
        let mut built = Builder { ends: Vec::with_capacity(count.min(rest.len() / 3)), ..Builder::default() };
        let mut before: Option<&[u8]> = None;
        for _ in 0..count {
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (lexeme, behind) = (&rest[..end], &rest[end + 1..]);
            let (positions, behind) = behind.split_first_chunk()?;
            let (positions, behind) = behind.split_at_checked(2 * usize::from(u16::from_be_bytes(*positions)))?;
            let is_ascending = before.is_none_or(|before| before < lexeme);
            if !is_ascending || lexeme.len() > LEXEME_BYTES_END || positions.len() > 2 * POSITIONS_MAX {
                return None;
            }
            built.push_packed(std::str::from_utf8(lexeme).ok()?, positions);
            (before, rest) = (Some(lexeme), behind);
        }
        if rest.is_empty() { built.finish().ok() } else { None }
    }
}

/// What positions are ordered by.
fn ranks(positions: &[Position]) -> impl Iterator<Item = u16> {
    positions.iter().map(|position| position.rank())
}

/// Ascending, none twice; of two at one place the one of more weight.
fn unique(positions: &mut Vec<Position>) {
    positions.sort_by_key(|position| position.place());
    positions.dedup_by(|position, kept| {
        let is_same = position.place() == kept.place();
        if is_same && position.weight() > kept.weight() {
            *kept = *position;
        }
        is_same
    });
    positions.truncate(POSITIONS_MAX);
}

fn stored_with(before: usize, (text, positions): Lexeme<'_>) -> usize {
    let bytes = before + text.len();
    if positions.is_empty() { bytes } else { bytes.next_multiple_of(2) + 2 + 2 * positions.len() }
}

/// A document that is made lexeme by lexeme.
#[derive(Debug, Default)]
pub struct Builder {
    text: String,
    ends: Vec<Ends>,
    positions: Vec<Position>,
    stored: usize,
    /// The length of a lexeme that is too long.
    long: Option<usize>,
}

impl Builder {
    /// The next lexeme: greater than those before, its positions ascending, not more than `POSITIONS_MAX`.
    pub fn push(&mut self, text: &str, positions: &[Position]) {
        debug_assert!(positions.len() <= POSITIONS_MAX, "a lexeme has no more positions than may be");
        if text.len() > LEXEME_BYTES_END {
            self.long = Some(text.len());
        }
        self.stored = stored_with(self.stored, (text, positions));
        // What is too large is found at the end.
        if self.stored <= VECTOR_BYTES_MAX {
            self.text.push_str(text);
            self.positions.extend_from_slice(positions);
            self.ends.push(Ends { text: self.text.len() as u32, positions: self.positions.len() as u32 });
        }
    }

    /// The same, of positions as they are packed.
    fn push_packed(&mut self, text: &str, positions: &[u8]) {
        let before = self.positions.len();
        self.positions.extend(positions.chunks_exact(2).map(|bits| Position(u16::from_be_bytes([bits[0], bits[1]]))));
        self.stored = stored_with(self.stored, (text, &self.positions[before..]));
        self.text.push_str(text);
        self.ends.push(Ends { text: self.text.len() as u32, positions: self.positions.len() as u32 });
    }

    /// # Errors
    /// 54000 if it is too large.
    pub fn finish(self) -> Result<TsVector, ValueError> {
        if let Some(bytes) = self.long {
            return Err(word_too_long(bytes));
        }
        if self.stored > VECTOR_BYTES_MAX {
            return Err(too_long(self.stored));
        }
        Ok(TsVector(Arc::new(Parts {
            stored: (self.stored + 4 * self.ends.len()) as u32,
            text: self.text.into(),
            ends: self.ends.into(),
            positions: self.positions.into(),
        })))
    }
}

fn word_too_long(bytes: usize) -> ValueError {
    let most = LEXEME_BYTES_END - 1;
    ValueError::new("54000", format!("word is too long ({bytes} bytes, max {most} bytes)"))
}

fn too_long(bytes: usize) -> ValueError {
    let message = format!("string is too long for tsvector ({bytes} bytes, max {VECTOR_BYTES_MAX} bytes)");
    ValueError::new("54000", message)
}
