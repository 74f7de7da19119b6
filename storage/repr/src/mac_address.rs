//! Addresses of network interfaces: `macaddr`, of six bytes, and `macaddr8`, of eight.

use crate::ValueError;
use std::fmt::Write;

/// What stands in the middle of an address of eight bytes that was one of six.
const MIDDLE: [u8; 2] = [0xFF, 0xFE];

/// An address of either length. Those of one length are ordered by their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MacAddress {
    /// macaddr
    Six([u8; 6]),
    /// macaddr8
    Eight([u8; 8]),
}

/// How six bytes may be written: hexadecimal numbers of at most so many digits, and what stands behind each.
const FORMS: [(usize, [u8; 5]); 7] = [
    (usize::MAX, *b":::::"),
    (usize::MAX, *b"-----"),
    (2, *b"\0\0:\0\0"),
    (2, *b"\0\0-\0\0"),
    (2, *b"\0.\0.\0"),
    (2, *b"\0-\0-\0"),
    (2, *b"\0\0\0\0\0"),
];

impl MacAddress {
    /// `macaddr_in`
    ///
    /// # Errors
    /// 22P02 for what is no address, 22003 for a number above 255.
    pub fn parse(text: &str) -> Result<MacAddress, ValueError> {
        let parts = FORMS.iter().find_map(|(digits, separators)| read_parts(text.as_bytes(), *digits, separators));
        let parts = parts.ok_or_else(|| syntax("macaddr", text))?;
        let mut bytes = [0; 6];
        for (byte, part) in bytes.iter_mut().zip(parts) {
            *byte = u8::try_from(part).map_err(|_| {
                ValueError::new("22003", format!("invalid octet value in \"macaddr\" value: \"{text}\""))
            })?;
        }
        Ok(MacAddress::Six(bytes))
    }

    /// `macaddr8_in`: six bytes or eight, in pairs of digits, with one kind of separator or none.
    ///
    /// # Errors
    /// 22P02 for what is no address.
    pub fn parse_eight(text: &str) -> Result<MacAddress, ValueError> {
        read_pairs(text.as_bytes()).ok_or_else(|| syntax("macaddr8", text))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            MacAddress::Six(bytes) => bytes,
            MacAddress::Eight(bytes) => bytes,
        }
    }

    /// Appends it as PostgreSQL writes it.
    pub fn write(&self, out: &mut String) {
        for (place, byte) in self.bytes().iter().enumerate() {
            let separator = if place == 0 { "" } else { ":" };
            write!(out, "{separator}{byte:02x}").expect("writing to a String does not fail");
        }
    }

    /// Byte by byte.
    #[must_use]
    pub fn map(self, mut change: impl FnMut(usize, u8) -> u8) -> MacAddress {
        match self {
            MacAddress::Six(bytes) => MacAddress::Six(std::array::from_fn(|place| change(place, bytes[place]))),
            MacAddress::Eight(bytes) => MacAddress::Eight(std::array::from_fn(|place| change(place, bytes[place]))),
        }
    }

    /// With eight bytes.
    #[must_use]
    pub fn to_eight(self) -> MacAddress {
        match self {
            MacAddress::Six(bytes) => MacAddress::Eight(std::array::from_fn(|place| match place {
                0..3 => bytes[place],
                3 | 4 => MIDDLE[place - 3],
                _ => bytes[place - 2],
            })),
            eight @ MacAddress::Eight(_) => eight,
        }
    }

    /// With six bytes.
    ///
    /// # Errors
    /// 22003 for one that was never such.
    pub fn to_six(self) -> Result<MacAddress, ValueError> {
        match self {
            six @ MacAddress::Six(_) => Ok(six),
            MacAddress::Eight(bytes) if bytes[3..5] == MIDDLE => {
                let byte = |place: usize| bytes[if place < 3 { place } else { place + 2 }];
                Ok(MacAddress::Six(std::array::from_fn(byte)))
            }
            MacAddress::Eight(_) => Err(ValueError {
                hint: Some(
                    "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
                     xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr."
                        .to_owned(),
                ),
                ..ValueError::new("22003", "macaddr8 data out of range to convert to macaddr")
            }),
        }
    }
}

fn syntax(type_name: &str, text: &str) -> ValueError {
    ValueError::new("22P02", format!("invalid input syntax for type {type_name}: \"{text}\""))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn after_spaces(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| is_space(**byte)).count()..]
}

/// Six numbers in one of the forms and nothing else, as `sscanf` reads them.
fn read_parts(text: &[u8], digits: usize, separators: &[u8; 5]) -> Option<[u32; 6]> {
    let mut rest = text;
    let mut parts = [0; 6];
    for (place, part) in parts.iter_mut().enumerate() {
        (*part, rest) = read_hexadecimal(after_spaces(rest), digits)?;
        match separators.get(place) {
            None | Some(0) => {}
            Some(separator) => rest = rest.strip_prefix(&[*separator])?,
        }
    }
    after_spaces(rest).is_empty().then_some(parts)
}

/// `%x`: a sign and `0x` may stand before the digits, and count among the characters that may be read.
fn read_hexadecimal(text: &[u8], most: usize) -> Option<(u32, &[u8])> {
    let field = &text[..text.len().min(most)];
    let (negative, unsigned) = match field {
        [sign @ (b'+' | b'-'), rest @ ..] => (*sign == b'-', rest),
        rest => (false, rest),
    };
    let digits_of = |field: &[u8]| field.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digits = match unsigned {
        [b'0', b'x' | b'X', rest @ ..] if most == usize::MAX || digits_of(rest) > 0 => rest,
        plain => plain,
    };
    let count = digits_of(digits);
    if count == 0 {
        return None;
    }
    let digit = |byte: &u8| u64::from(char::from(*byte).to_digit(16).unwrap_or(0));
    let magnitude =
        digits[..count].iter().fold(0u64, |value, byte| value.saturating_mul(16).saturating_add(digit(byte)));
    let value = if negative { magnitude.wrapping_neg() } else { magnitude };
    let read = field.len() - digits.len() + count;
    Some((value as u32, &text[read..]))
}

fn read_pairs(text: &[u8]) -> Option<MacAddress> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut rest = after_spaces(text);
    let mut separator = None;
    let mut bytes = Vec::with_capacity(8);
    // As in PostgreSQL a single character that is left over is not looked at.
    while let [high, low, behind @ ..] = rest {
        if bytes.len() == 8 {
            return None;
        }
        bytes.push(digit(*high)? << 4 | digit(*low)?);
        rest = behind;
        if let [found @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *separator.get_or_insert(*found) != *found {
                return None;
            }
            rest = behind;
        }
        if matches!(bytes.len(), 6 | 8) && rest.first().is_some_and(|byte| is_space(*byte)) {
            rest = after_spaces(rest);
            if !rest.is_empty() {
                return None;
            }
        }
    }
    if let Ok(six) = bytes.as_slice().try_into() {
        return Some(MacAddress::Six(six).to_eight());
    }
    bytes.try_into().ok().map(MacAddress::Eight)
}
