//! Numbers of 64 bits without a sign, written in three ways: `xid8`, `pg_lsn`, `tid`. And `pg_snapshot`, which is made of them and
//! kept as its text.

use crate::text::c_number::is_space;
use crate::{ScalarType, ValueError};
use std::fmt::Write;

const WRITING: &str = "writing to a String does not fail";
const OFFSET_BITS: u32 = 16;
const HALF_BITS: u32 = 32;
/// The most digits of half a position in the log.
const HALF_DIGITS: usize = 8;

fn syntax(type_name: &str, text: &str) -> ValueError {
    ValueError::new("22P02", format!("invalid input syntax for type {type_name}: \"{text}\""))
}

/// `strtoull` with any base: blanks and a sign may stand before it, the rest is not looked at, and what is too large is the largest.
pub fn parse_xid8(text: &str) -> u64 {
    let text = text.trim_start_matches(is_space);
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let behind = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (base, digits) = match behind.filter(|rest| rest.starts_with(|first: char| first.is_ascii_hexdigit())) {
        Some(rest) => (16, rest),
        None if text.starts_with('0') => (8, text),
        None => (10, text),
    };
    let mut value: u64 = 0;
    for digit in digits.chars().map_while(|digit| digit.to_digit(base)) {
        let next = value.checked_mul(u64::from(base)).and_then(|value| value.checked_add(u64::from(digit)));
        let Some(next) = next else { return u64::MAX };
        value = next;
    }
    if negative { value.wrapping_neg() } else { value }
}

/// Two halves in hexadecimal digits.
///
/// # Errors
/// 22P02 for what is none.
pub fn parse_lsn(text: &str) -> Result<u64, ValueError> {
    let half = |digits: &str| {
        let fits = (1..=HALF_DIGITS).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if fits { u64::from_str_radix(digits, 16).ok() } else { None }
    };
    let halves = text.split_once('/').and_then(|(high, low)| half(high).zip(half(low)));
    halves.map(|(high, low)| high << HALF_BITS | low).ok_or_else(|| syntax("pg_lsn", text))
}

/// A place within a table: `(block,offset)`.
///
/// # Errors
/// 22P02 for what is none.
pub fn parse_tid(text: &str) -> Result<u64, ValueError> {
    let place = || {
        let (_, behind) = text.split_once('(')?;
        let (block, behind) = behind.split_once(',')?;
        let (offset, _) = behind.split_once(')')?;
        let block: i64 = block.trim_start_matches(is_space).parse().ok()?;
        // Negative ones wrap, as strtoul lets them.
        let block = u32::try_from(block).or_else(|_| i32::try_from(block).map(i32::cast_unsigned)).ok()?;
        let offset: u16 = offset.trim_start_matches(is_space).parse().ok()?;
        Some(tid(block, offset))
    };
    place().ok_or_else(|| syntax("tid", text))
}

/// A place within a table as one number, in the order of places.
pub fn tid(block: u32, offset: u16) -> u64 {
    u64::from(block) << OFFSET_BITS | u64::from(offset)
}

/// The block and the offset of a place.
pub fn place_of_tid(value: u64) -> (u32, u16) {
    ((value >> OFFSET_BITS) as u32, value as u16)
}

/// Appends a number's text as a value of this type.
pub(crate) fn write(out: &mut String, value: u64, scalar: &ScalarType) {
    match scalar {
        ScalarType::PgLsn => write!(out, "{:X}/{:X}", value >> HALF_BITS, value & u64::from(u32::MAX)).expect(WRITING),
        ScalarType::Tid => {
            let (block, offset) = place_of_tid(value);
            write!(out, "({block},{offset})").expect(WRITING);
        }
        _ => write!(out, "{value}").expect(WRITING),
    }
}

/// `pg_snapshot`: which transactions had ended when it was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct TransactionSnapshot {
    /// All before it had ended.
    pub first_open: u64,
    /// It and all behind it had not begun.
    pub end: u64,
    /// Those between that had not ended, in order.
    pub open: Vec<u64>,
}

impl TransactionSnapshot {
    /// `first:end:open,…`; one may be named twice.
    ///
    /// # Errors
    /// 22P02 for what is none.
    pub fn parse(text: &str) -> Result<TransactionSnapshot, ValueError> {
        let read = || {
            let mut parts = text.splitn(3, ':');
            let number = |part: &str| {
                let digits = part.trim_start_matches(is_space);
                let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
                // What is too large is the largest.
                plain.then(|| digits.parse().unwrap_or(u64::MAX))
            };
            let (first_open, end) = (number(parts.next()?)?, number(parts.next()?)?);
            let listed = parts.next()?;
            let listed = listed.strip_suffix(',').unwrap_or(listed);
            let open: Option<Vec<u64>> = match listed {
                "" => Some(Vec::new()),
                listed => listed.split(',').map(number).collect(),
            };
            TransactionSnapshot::of(first_open, end, open?)
        };
        read().ok_or_else(|| syntax("pg_snapshot", text))
    }

    /// None if that is no snapshot: those that were open are in order, and between its bounds.
    pub fn of(first_open: u64, end: u64, mut open: Vec<u64>) -> Option<TransactionSnapshot> {
        let is_within = open.iter().all(|number| (first_open..end).contains(number));
        if first_open == 0 || end == 0 || first_open > end || !is_within || !open.is_sorted() {
            return None;
        }
        open.dedup();
        Some(TransactionSnapshot { first_open, end, open })
    }

    /// Its text.
    pub fn text(&self) -> String {
        let open: Vec<String> = self.open.iter().map(u64::to_string).collect();
        format!("{}:{}:{}", self.first_open, self.end, open.join(","))
    }

    /// Whether what that transaction did can be seen.
    pub fn shows(&self, transaction: u64) -> bool {
        transaction < self.first_open || transaction < self.end && self.open.binary_search(&transaction).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_base() {
        for (text, number) in [
            ("12", 12),
            (" 0x1F", 31),
            ("010", 8),
            ("-1", u64::MAX),
            ("x", 0),
            ("7x", 7),
            ("99999999999999999999", u64::MAX),
        ] {
            assert_eq!(parse_xid8(text), number, "{text}");
        }
    }

    #[test]
    fn what_is_read_is_written() {
        for (scalar, text) in [(ScalarType::PgLsn, "16/B374D848"), (ScalarType::Tid, "(4294967295,65535)")] {
            let value = if scalar == ScalarType::Tid { parse_tid(text) } else { parse_lsn(text) };
            let mut out = String::new();
            write(&mut out, value.expect("well formed"), &scalar);
            assert_eq!(out, text);
        }
        for wrong in ["", "1", "/", "123456789/0", "G/0", "0/0 ", "-1/0"] {
            assert!(parse_lsn(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "(1)", "(1,2", "(1,65536)", "(4294967296,1)", "(x,1)"] {
            assert!(parse_tid(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn snapshots_know_what_they_show() {
        let snapshot = TransactionSnapshot::parse("12:20:13,15,15,18").expect("well formed");
        assert_eq!(snapshot.text(), "12:20:13,15,18");
        let seen: Vec<u64> = (10..22).filter(|number| snapshot.shows(*number)).collect();
        assert_eq!(seen, [10, 11, 12, 14, 16, 17, 19]);
        for wrong in ["", "31:12:", "0:1:", "12:13:0", "12:16:14,13", "1:2", "1:2:x"] {
            assert!(TransactionSnapshot::parse(wrong).is_err(), "{wrong}");
        }
    }
}
