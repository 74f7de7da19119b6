//! Hexadecimal digits, lower case only, so that a text has one form and no flipped letter passes.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The bytes as lower-case digits.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

/// Exactly `N` bytes from `2 * N` lower-case digits, or nothing.
pub(crate) fn decode<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn one_text_for_each_value() {
        let bytes = [0x00, 0x9a, 0xff];
        assert_eq!(encode(&bytes), "009aff");
        assert_eq!(decode::<3>(b"009aff"), Some(bytes));
        assert_eq!(decode::<3>(b"009aFF"), None);
        assert_eq!(decode::<3>(b"009af"), None);
        assert_eq!(decode::<3>(b"009afg"), None);
    }
}
