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
