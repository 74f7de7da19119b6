//! `to_char`, `to_date`, `to_timestamp` and `to_number`: formatting by templates.
//!
//! Dates and spans are written in `to_char::datetime` and read in `to_char::parse`; numbers are in
//! `to_char::number`. Names of months and days are English: the locale is C.

mod datetime;
mod number;
mod parse;

pub use datetime::{interval_to_char, timestamp_to_char, timestamptz_to_char};
pub use number::{bigint_to_char, float_to_char, integer_to_char, numeric_to_char, to_number};
pub use parse::{Misfit, Moment, to_date, to_timestamp};

use std::cell::RefCell;
use std::thread::LocalKey;

/// The template met last on a thread, and what it was taken apart into.
type LastTemplate<T> = RefCell<Option<(Box<str>, T)>>;

/// A template, taken apart, unless it is the last one: the next row mostly has the same.
fn taken_apart_once<T: Clone, E>(
    last: &'static LocalKey<LastTemplate<T>>,
    template: &str,
    take_apart: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, E> {
    last.with_borrow_mut(|last| match last {
        Some((known, parts)) if **known == *template => Ok(parts.clone()),
        _ => {
            let parts = take_apart(template)?;
            *last = Some((template.into(), parts.clone()));
            Ok(parts)
        }
    })
}

/// Takes text up to the quote that ends it, where a backslash stands before what is taken as it is; what follows.
fn quoted(text: &str, mut take: impl FnMut(char)) -> &str {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => take(characters.next().unwrap_or('\\')),
            other => take(other),
        }
    }
    characters.as_str()
}

/// The ordinal's ending of a number: st, nd, rd, th.
fn ordinal(number: &str) -> &'static str {
    let digits = number.as_bytes();
    let last = digits.last().copied().unwrap_or(b'0');
    let is_teen = digits.len() >= 2 && digits[digits.len() - 2] == b'1';
    match last {
        _ if is_teen => "th",
        b'1' => "st",
        b'2' => "nd",
        b'3' => "rd",
        _ => "th",
    }
}
