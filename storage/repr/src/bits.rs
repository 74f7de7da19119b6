//! Strings of bits: `bit(n)` and `bit varying(n)`.
//!
//! Packed into bytes from the highest bit on; what is left over of the last byte is zero, so that equal strings have equal bytes.

use crate::types::ScalarType;
use crate::{ValueError, poll};
use std::cmp::Ordering;
use std::sync::Arc;

/// The longest that can be written: PostgreSQL has those of twice as many, and cannot write them.
pub const BITS_MAX: usize = poll::VALUE_BYTES_MAX;

/// A string of bits, of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    length: usize,
    bytes: Arc<[u8]>,
}

impl Bits {
    /// The first `length` bits of bytes; those that are missing are zero.
    pub fn new(length: usize, mut bytes: Vec<u8>) -> Bits {
        bytes.resize(length.div_ceil(8), 0);
        if let Some(last) = bytes.last_mut() {
            *last &= u8::MAX << (bytes_end(length));
        }
        Bits { length, bytes: Arc::from(bytes) }
    }

    /// As `parts` gave them; none for what it cannot have given.
    pub fn of_parts(unused: u8, bytes: &[u8]) -> Option<Bits> {
        let length = (bytes.len() * 8).checked_sub(usize::from(unused))?;
        let is_packed = unused < 8 && bytes.last().is_none_or(|last| last & !(u8::MAX << unused) == 0);
        is_packed.then(|| Bits { length, bytes: Arc::from(bytes) })
    }

    /// How many bits of the last byte are none of them, and the bytes.
    pub fn parts(&self) -> (u8, &[u8]) {
        (bytes_end(self.length), &self.bytes)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// They, packed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One of them, which is there.
    pub fn bit(&self, place: usize) -> bool {
        self.bytes[place / 8] >> (7 - place % 8) & 1 == 1
    }

    /// `bit_in`: `101`, `b101` or `x1F`.
    ///
    /// # Errors
    /// 22P02 for what is no digit, 54000 for too many.
    pub fn parse(text: &str) -> Result<Bits, ValueError> {
        let (digits, width) = match text.as_bytes().first() {
            Some(b'b' | b'B') => (&text[1..], 1),
            Some(b'x' | b'X') => (&text[1..], 4),
            _ => (text, 1),
        };
        let length = bounded(digits.len().saturating_mul(width))?;
        poll::room(length.div_ceil(8))?;
        let mut bytes = vec![0; length.div_ceil(8)];
        for (place, digit) in digits.chars().enumerate() {
            let value = digit.to_digit(1 << width).ok_or_else(|| {
                let kind = if width == 1 { "binary" } else { "hexadecimal" };
                ValueError::new("22P02", format!("\"{digit}\" is not a valid {kind} digit"))
            })?;
            let first = place * width;
            bytes[first / 8] |= (value as u8) << (8 - width - first % 8);
        }
        Ok(Bits { length, bytes: Arc::from(bytes) })
    }

    /// Appends its digits.
    pub fn write(&self, out: &mut String) {
        out.reserve(self.length);
        for place in 0..self.length {
            out.push(if self.bit(place) { '1' } else { '0' });
        }
    }

    /// As a column of that type and modifier takes it: nothing is cut or filled.
    ///
    /// # Errors
    /// 22026 for another length, 22001 for a greater one.
    pub fn assign_length(self, scalar: &ScalarType, modifier: i32) -> Result<Bits, ValueError> {
        let Some(length) = usize::try_from(modifier).ok().filter(|length| *length > 0) else { return Ok(self) };
        if *scalar == ScalarType::VarBit {
            if self.length > length {
                let message = format!("bit string too long for type bit varying({length})");
                return Err(ValueError::new("22001", message));
            }
        } else if self.length != length {
            let message = format!("bit string length {} does not match type bit({length})", self.length);
            return Err(ValueError::new("22026", message));
        }
        Ok(self)
    }

    /// As a cast that is written makes it: it is cut, and for `bit(n)` filled with zeros, at its end.
    ///
    /// # Errors
    /// Where there is no room for it.
    pub fn cast_length(self, scalar: &ScalarType, modifier: i32) -> Result<Bits, ValueError> {
        let Some(length) = usize::try_from(modifier).ok().filter(|length| *length > 0) else { return Ok(self) };
        if self.length == length || *scalar == ScalarType::VarBit && self.length < length {
            return Ok(self);
        }
        poll::room(length.div_ceil(8))?;
        Ok(Bits::new(length, self.bytes[..self.bytes.len().min(length.div_ceil(8))].to_vec()))
    }

    /// The last bits of a number, which goes on with its sign to the left.
    ///
    /// # Errors
    /// Where there is no room for it.
    pub fn of_integer(value: i64, length: usize) -> Result<Bits, ValueError> {
        poll::room(length.div_ceil(8))?;
        let fill = if value < 0 { u8::MAX } else { 0 };
        let mut bytes = vec![fill; length.div_ceil(8)];
        let own = Bits { length: 64, bytes: Arc::from(value.to_be_bytes()) };
        for back in 1..=length.min(64) {
            let (place, mask) = ((length - back) / 8, 0x80 >> ((length - back) % 8));
            bytes[place] = bytes[place] & !mask | if own.bit(64 - back) { mask } else { 0 };
        }
        Ok(Bits::new(length, bytes))
    }

    /// The number that the bits are, of at most so many; none for more.
    pub fn to_integer(&self, bits_max: usize) -> Option<u64> {
        (self.length <= bits_max)
            .then(|| (0..self.length).fold(0, |value, place| value << 1 | u64::from(self.bit(place))))
    }

    /// Byte by byte with another of the same length; `verb` names it for the error.
    ///
    /// # Errors
    /// 22026 for another length.
    pub fn combined(&self, other: &Bits, verb: &str, combine: fn(u8, u8) -> u8) -> Result<Bits, ValueError> {
        if self.length != other.length {
            return Err(ValueError::new("22026", format!("cannot {verb} bit strings of different sizes")));
        }
        let bytes = self.bytes.iter().zip(other.bytes.iter()).map(|(one, other)| combine(*one, *other));
        Ok(Bits::new(self.length, bytes.collect()))
    }

    /// `~`
    #[must_use]
    pub fn inverted(&self) -> Bits {
        Bits::new(self.length, self.bytes.iter().map(|byte| !byte).collect())
    }

    /// `<<`, or `>>` if `by` is below zero: as long as it was, zeros where none were.
    #[must_use]
    pub fn shifted(&self, by: i64) -> Bits {
        let distance = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(self.length);
        let kept = self.length - distance;
        let mut shifted = vec![0; self.bytes.len()];
        let (from, to) = if by > 0 { (distance, 0) } else { (0, distance) };
        self.copy(from, kept, &mut shifted, to);
        Bits::new(self.length, shifted)
    }

    /// These, then others.
    ///
    /// # Errors
    /// 54000 for too many.
    pub fn joined(&self, other: &Bits) -> Result<Bits, ValueError> {
        let length = bounded(self.length + other.length)?;
        poll::room(length.div_ceil(8))?;
        let mut bytes = self.bytes.to_vec();
        bytes.resize(length.div_ceil(8), 0);
        other.copy(0, other.length, &mut bytes, self.length);
        Ok(Bits { length, bytes: Arc::from(bytes) })
    }

    /// Those from one place up to before another, as far as they are there.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Bits {
        let to = to.min(self.length);
        let count = to.saturating_sub(from);
        let mut bytes = vec![0; count.div_ceil(8)];
        self.copy(from, count, &mut bytes, 0);
        Bits { length: count, bytes: Arc::from(bytes) }
    }

    /// With one of them, which is there, as said.
    #[must_use]
    pub fn with_bit(&self, place: usize, is_set: bool) -> Bits {
        let mut bytes = self.bytes.to_vec();
        let mask = 0x80 >> (place % 8);
        bytes[place / 8] = bytes[place / 8] & !mask | if is_set { mask } else { 0 };
        Bits { length: self.length, bytes: Arc::from(bytes) }
    }

    /// Where others stand in it first.
    ///
    /// # Errors
    /// Why the statement ends.
    pub fn find(&self, wanted: &Bits) -> Result<Option<usize>, ValueError> {
        let Some(last) = self.length.checked_sub(wanted.length) else { return Ok(None) };
        for from in 0..=last {
            poll::bytes(wanted.bytes.len())?;
            let is_there = wanted.bytes.iter().enumerate().all(|(place, byte)| {
                let count = (wanted.length - place * 8).min(8);
                self.byte_at(from + place * 8) >> (8 - count) == byte >> (8 - count)
            });
            if is_there {
                return Ok(Some(from));
            }
        }
        Ok(None)
    }

    /// Eight bits from any place; zeros behind the end.
    fn byte_at(&self, place: usize) -> u8 {
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        ((byte(place / 8) << 8 | byte(place / 8 + 1)) >> (8 - place % 8)) as u8
    }

    /// Adds some of them to bytes that are zero there.
    fn copy(&self, from: usize, count: usize, into: &mut [u8], to: usize) {
        for done in (0..count).step_by(8) {
            let own = self.byte_at(from + done) & u8::MAX << (8 - (count - done).min(8));
            let (place, within) = ((to + done) / 8, (to + done) % 8);
            into[place] |= own >> within;
            let rest = own.checked_shl(8 - within as u32).unwrap_or(0);
            if rest != 0 {
                into[place + 1] |= rest;
            }
        }
    }

    /// PostgreSQL's order: by the bytes, then by the length.
    pub fn sql_cmp(&self, other: &Bits) -> Ordering {
        self.bytes.cmp(&other.bytes).then(self.length.cmp(&other.length))
    }
}

/// How many bits of the last byte none of so many stands in.
fn bytes_end(length: usize) -> u8 {
    (length.wrapping_neg() % 8) as u8
}

fn bounded(length: usize) -> Result<usize, ValueError> {
    if length > BITS_MAX {
        let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
        return Err(ValueError::new("54000", message));
    }
    Ok(length)
}
