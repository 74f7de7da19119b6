//! Integers in digits: what is shown most, so without a formatter.

/// Hands on the digits, with a sign if it is negative: ASCII.
#[inline]
pub fn with_digits<R>(value: i64, take: impl FnOnce(&[u8]) -> R) -> R {
    // The longest is -9223372036854775808.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    take(&digits[at..])
}

/// Appends the digits.
pub fn push(out: &mut String, value: i64) {
    with_digits(value, |digits| out.push_str(std::str::from_utf8(digits).expect("digits and a sign")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_shown_with_all_their_digits() {
        for value in [0, 7, -7, 10, 1_000_000, i64::MAX, i64::MIN] {
            let mut shown = String::from("x");
            push(&mut shown, value);
            assert_eq!(shown, format!("x{value}"));
            assert_eq!(with_digits(value, <[u8]>::to_vec), value.to_string().as_bytes());
        }
    }
}
