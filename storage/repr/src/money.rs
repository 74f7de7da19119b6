//! Amounts of money: `money`, a number of cents. `lc_monetary` is `C` or one that writes amounts alike.

use crate::ValueError;
use std::fmt::Write;

/// The digits behind the point.
const DIGITS: usize = 2;
/// The digits between two separators.
const GROUP: usize = 3;

/// `cash_in`: blanks, signs, parentheses and the currency's symbol may stand around the number, and separators in it.
///
/// # Errors
/// 22P02 for what is no amount, 22003 for one that is too large.
pub fn parse_money(text: &str) -> Result<i64, ValueError> {
    let out_of_range = || ValueError::new("22003", format!("value \"{text}\" is out of range for type money"));
    let blank = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut rest = text.as_bytes();
    let mut negative = false;
    let skip = |rest: &mut &[u8]| {
        let skip_blanks = |rest: &mut &[u8]| *rest = &rest[rest.iter().take_while(|byte| blank(**byte)).count()..];
        skip_blanks(rest);
        *rest = rest.strip_prefix(b"$").unwrap_or(rest);
        skip_blanks(rest);
    };
    skip(&mut rest);
    if let [sign @ (b'-' | b'(' | b'+'), behind @ ..] = rest {
        negative = *sign != b'+';
        rest = behind;
    }
    skip(&mut rest);
    // Below zero, where there is room for one more.
    let (mut value, mut decimals, mut behind_point) = (0i64, 0, false);
    let times_ten = |value: i64, digit: u8| value.checked_mul(10)?.checked_sub(i64::from(digit));
    loop {
        match rest.first() {
            Some(digit @ b'0'..=b'9') if !behind_point || decimals < DIGITS => {
                value = times_ten(value, digit - b'0').ok_or_else(out_of_range)?;
                decimals += usize::from(behind_point);
            }
            Some(b'.') if !behind_point => behind_point = true,
            Some(b',') => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    if matches!(rest.first(), Some(b'5'..=b'9')) {
        value = value.checked_sub(1).ok_or_else(out_of_range)?;
    }
    for _ in decimals..DIGITS {
        value = times_ten(value, 0).ok_or_else(out_of_range)?;
    }
    rest = &rest[rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..];
    for byte in rest {
        match byte {
            b'-' => negative = true,
            b')' | b'+' | b'$' => {}
            byte if blank(*byte) => {}
            _ => return Err(ValueError::new("22P02", format!("invalid input syntax for type money: \"{text}\""))),
        }
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or_else(out_of_range) }
}

/// `cash_out`: `-$1,234.56`
pub fn write_money(out: &mut String, value: i64) {
    let digits = format!("{:0least$}", value.unsigned_abs(), least = DIGITS + 1);
    let (whole, cents) = digits.split_at(digits.len() - DIGITS);
    out.push_str(if value < 0 { "-$" } else { "$" });
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % GROUP == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    write!(out, ".{cents}").expect("writing to a String does not fail");
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// From thousands of dollars on, in cents.
const LARGE: [(u64, &str); 5] = [
    (100_000_000_000_000_000, " quadrillion "),
    (100_000_000_000_000, " trillion "),
    (100_000_000_000, " billion "),
    (100_000_000, " million "),
    (100_000, " thousand "),
];

/// A number below a thousand in words.
fn words(value: u64) -> String {
    let (hundreds, below) = ((value / 100) as usize, (value % 100) as usize);
    let (tens, ones) = (below / 10, below % 10);
    let shown = match below {
        0..20 => SMALL[below].to_owned(),
        _ if ones == 0 => TENS[tens].to_owned(),
        _ => format!("{} {}", TENS[tens], SMALL[ones]),
    };
    match (hundreds, below) {
        (0, _) => shown,
        (_, 0) => format!("{} hundred", SMALL[hundreds]),
        (_, ..20) => format!("{} hundred and {shown}", SMALL[hundreds]),
        _ => format!("{} hundred {shown}", SMALL[hundreds]),
    }
}

/// `cash_words`: `One hundred twenty three dollars and forty five cents`
pub fn money_words(value: i64) -> String {
    let amount = value.unsigned_abs();
    let mut shown = String::new();
    for (unit, name) in LARGE {
        let count = amount / unit % 1000;
        if count > 0 {
            shown.push_str(&words(count));
            shown.push_str(name);
        }
    }
    let dollars = amount / 100 % 1000;
    if dollars > 0 {
        shown.push_str(&words(dollars));
    }
    let (sign, number) = (if value < 0 { "minus " } else { "" }, if shown.is_empty() { "zero" } else { &shown });
    let (unit, cents) = (if amount / 100 == 1 { "dollar" } else { "dollars" }, amount % 100);
    let cent = if cents == 1 { "cent" } else { "cents" };
    let mut shown = format!("{sign}{number} {unit} and {} {cent}", words(cents));
    // All of it is ASCII.
    shown[..1].make_ascii_uppercase();
    shown
}
