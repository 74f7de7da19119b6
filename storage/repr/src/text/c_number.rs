//! Numbers at the beginning of a text as C's `strtod` and `strtol(…, 0)` read them, which is how settings are read.

/// What a text begins with, and the rest of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leading<'a, T> {
    /// The number.
    pub value: T,
    /// What stands behind it.
    pub rest: &'a str,
}

/// A whole number, in decimal, in octal behind `0` or in hexadecimal behind `0x`. None if the text begins with none, or with one
/// that does not fit.
pub fn leading_integer(text: &str) -> Option<Leading<'_, i64>> {
    let (is_negative, unsigned) = sign(text.trim_start_matches(is_space));
    let hexadecimal = hexadecimal(unsigned).filter(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (digits, radix) = match hexadecimal {
        Some(digits) => (digits, 16),
        None => (unsigned, if unsigned.starts_with('0') { 8 } else { 10 }),
    };
    let rest = digits.trim_start_matches(|c: char| c.is_digit(radix));
    let magnitude = i128::from_str_radix(&digits[..digits.len() - rest.len()], radix).ok()?;
    let value = i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()?;
    Some(Leading { value, rest })
}

/// A number with or without a fraction and an exponent, in decimal or hexadecimal, infinite if it does not fit; infinity; or NaN.
/// None if the text begins with none.
pub fn leading_float(text: &str) -> Option<Leading<'_, f64>> {
    let (is_negative, unsigned) = sign(text.trim_start_matches(is_space));
    let signed = |value: f64| if is_negative { -value } else { value };
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if unsigned.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)) {
            return Some(Leading { value: signed(value), rest: &unsigned[word.len()..] });
        }
    }
    if let Some(Leading { value, rest }) = hexadecimal(unsigned).and_then(hexadecimal_float) {
        return Some(Leading { value: signed(value), rest });
    }
    let (_, fraction) = mantissa(unsigned, 10)?;
    let rest = behind_exponent(fraction, 'e').unwrap_or(fraction);
    let value: f64 = unsigned[..unsigned.len() - rest.len()].parse().ok()?;
    Some(Leading { value: signed(value), rest })
}

/// C's `isspace`.
pub fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn hexadecimal(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// Digits with at most one point among them, and what stands behind them.
fn mantissa(text: &str, radix: u32) -> Option<(&str, &str)> {
    let whole = text.trim_start_matches(|c: char| c.is_digit(radix));
    let rest =
        whole.strip_prefix('.').map_or(whole, |fraction| fraction.trim_start_matches(|c: char| c.is_digit(radix)));
    let taken = &text[..text.len() - rest.len()];
    taken.contains(|c: char| c.is_digit(radix)).then_some((taken, rest))
}

/// What stands behind an exponent, if the text begins with one.
fn behind_exponent(text: &str, letter: char) -> Option<&str> {
    let (_, digits) = sign(text.strip_prefix([letter, letter.to_ascii_uppercase()])?);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < digits.len()).then_some(rest)
}

fn hexadecimal_float(text: &str) -> Option<Leading<'_, f64>> {
    let (digits, behind) = mantissa(text, 16)?;
    let fraction = digits.find('.').map_or(0, |point| digits.len() - point - 1);
    let mut value = digits.chars().filter_map(|c| c.to_digit(16)).fold(0.0, |sum, digit| sum * 16.0 + f64::from(digit));
    let rest = behind_exponent(behind, 'p').unwrap_or(behind);
    let exponent: i32 = match behind[..behind.len() - rest.len()].get(1..) {
        Some(exponent) => exponent.parse().ok()?,
        None => 0,
    };
    value *= 2.0_f64.powi(exponent.saturating_sub(4 * i32::try_from(fraction).ok()?));
    Some(Leading { value, rest })
}

#[cfg(test)]
mod tests {
    use super::{leading_float, leading_integer};

    #[test]
    fn integers_are_read_as_strtol_does() {
        for (text, value, rest) in [
            ("12kB", 12, "kB"),
            (" -7 ", -7, " "),
            ("+0x1Fz", 31, "z"),
            ("010", 8, ""),
            ("08", 0, "8"),
            ("0x", 0, "x"),
            ("0xg", 0, "xg"),
            ("1.5", 1, ".5"),
        ] {
            let read = leading_integer(text).expect(text);
            assert_eq!((read.value, read.rest), (value, rest), "{text}");
        }
        for text in ["", "x", "-", " ", "99999999999999999999"] {
            assert!(leading_integer(text).is_none(), "{text}");
        }
    }

    #[test]
    fn floats_are_read_as_strtod_does() {
        for (text, value, rest) in [
            ("1.5MB", 1.5, "MB"),
            ("1e3", 1000.0, ""),
            ("1e", 1.0, "e"),
            ("1e+", 1.0, "e+"),
            (" -.5x", -0.5, "x"),
            ("5.", 5.0, ""),
            ("0x10", 16.0, ""),
            ("0x1.8p1z", 3.0, "z"),
            ("0xz", 0.0, "xz"),
            ("-Infinity1", f64::NEG_INFINITY, "1"),
            ("inf", f64::INFINITY, ""),
            ("1e400", f64::INFINITY, ""),
        ] {
            let read = leading_float(text).expect(text);
            assert_eq!((read.value, read.rest), (value, rest), "{text}");
        }
        assert!(leading_float("nan").expect("a number to C").value.is_nan());
        for text in ["", ".", "e3", "-", "x"] {
            assert!(leading_float(text).is_none(), "{text}");
        }
    }
}
