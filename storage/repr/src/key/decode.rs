//! Codes that tell their datums: those of types whose equal values are written in one way only.
//!
//! The type must be known: integers of all widths, dates and times have the same codes.

use super::{FALSE, NULLS_LAST, TEXT, TRUE, UUID};
use crate::Datum;

/// A type whose ascending codes can be read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decodable {
    /// boolean
    Bool,
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// oid
    Oid,
    /// text
    Text,
    /// date
    Date,
    /// time
    Time,
    /// timestamp
    Timestamp,
    /// timestamp with time zone
    Timestamptz,
    /// uuid
    Uuid,
}

impl Decodable {
    /// A datum's type; none for NULL, which is of any type, and for those whose codes do not tell them.
    pub fn of(datum: &Datum) -> Option<Decodable> {
        match datum {
            Datum::Bool(_) => Some(Decodable::Bool),
            Datum::Int2(_) => Some(Decodable::Int2),
            Datum::Int4(_) => Some(Decodable::Int4),
            Datum::Int8(_) => Some(Decodable::Int8),
            Datum::Oid(_) => Some(Decodable::Oid),
            Datum::Text(_) => Some(Decodable::Text),
            Datum::Date(_) => Some(Decodable::Date),
            Datum::Time(_) => Some(Decodable::Time),
            Datum::Timestamp(_) => Some(Decodable::Timestamp),
            Datum::Timestamptz(_) => Some(Decodable::Timestamptz),
            Datum::Uuid(_) => Some(Decodable::Uuid),
            // 1.0 and 1.00, 0 and -0, 'a' and 'a ', a day and 24 hours are equal; an enum's code has no label. Of another type
            // it must be shown first that its code tells it.
            _ => None,
        }
    }

    /// Takes a datum of this type from the front of ascending codes; none if another one's code stands there.
    pub fn take(self, codes: &mut &[u8]) -> Option<Datum> {
        Some(match self {
            Decodable::Bool => match take(codes, 1)? {
                [FALSE] => Datum::Bool(false),
                [TRUE] => Datum::Bool(true),
                _ => return None,
            },
            Decodable::Int2 => Datum::Int2(take_int(codes)?.try_into().ok()?),
            Decodable::Int4 => Datum::Int4(take_int(codes)?.try_into().ok()?),
            Decodable::Int8 => Datum::Int8(take_int(codes)?),
            Decodable::Oid => Datum::Oid(take_int(codes)?.try_into().ok()?),
            Decodable::Text => Datum::Text(take_text(codes)?.into()),
            Decodable::Date => Datum::Date(take_int(codes)?.try_into().ok()?),
            Decodable::Time => Datum::Time(take_int(codes)?),
            Decodable::Timestamp => Datum::Timestamp(take_int(codes)?),
            Decodable::Timestamptz => Datum::Timestamptz(take_int(codes)?),
            Decodable::Uuid => match take(codes, 17)?.split_first()? {
                (&UUID, bytes) => Datum::Uuid(bytes.try_into().ok()?),
                _ => return None,
            },
        })
    }
}

/// Takes a NULL from the front of ascending codes, if one stands there.
pub fn take_null(codes: &mut &[u8]) -> bool {
    let rest = codes.strip_prefix(&[NULLS_LAST]);
    *codes = rest.unwrap_or(codes);
    rest.is_some()
}

fn take<'c>(codes: &mut &'c [u8], length: usize) -> Option<&'c [u8]> {
    let (taken, rest) = codes.split_at_checked(length)?;
    *codes = rest;
    Some(taken)
}

fn take_int(codes: &mut &[u8]) -> Option<i64> {
    let sign = take(codes, 1)?[0];
    let (fill, length) = if sign >= 0x80 { (0, sign - 0x80) } else { (0xFF, 0x7F - sign) };
    let bytes = take(codes, usize::from(length))?;
    let mut full = [fill; 8];
    full[8_usize.checked_sub(bytes.len())?..].copy_from_slice(bytes);
    Some(i64::from_be_bytes(full))
}

fn take_text(codes: &mut &[u8]) -> Option<String> {
    let mut rest = codes.strip_prefix(&[TEXT])?;
    let mut bytes = Vec::new();
    loop {
        let zero = rest.iter().position(|byte| *byte == 0)?;
        bytes.extend_from_slice(&rest[..zero]);
        let escape = *rest.get(zero + 1)?;
        rest = &rest[zero + 2..];
        match escape {
            0 => break,
            _ => bytes.push(0),
        }
    }
    *codes = rest;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::super::encode_all;
    use super::*;

    #[test]
    fn codes_tell_what_was_encoded() {
        let mut datums = vec![Datum::Bool(false), Datum::Bool(true), Datum::Uuid([7; 16])];
        datums.extend(["", "a", "tag", "a\0b", "\0", "ä\0\0"].map(Datum::text));
        for number in [0, 1, -1, 127, 128, -128, -129, 255, 256, 65_535, 65_536, i64::MAX, i64::MIN, 1 << 40] {
            datums.extend([Datum::Int8(number), Datum::Time(number), Datum::Timestamp(number)]);
            datums.push(Datum::Timestamptz(number));
            let small = number as i32;
            datums.extend([Datum::Int4(small), Datum::Date(small), Datum::Oid(number as u32)]);
            datums.push(Datum::Int2(number as i16));
        }
        let codes = encode_all(&datums);
        let mut rest = codes.as_slice();
        for datum in &datums {
            assert!(!take_null(&mut rest));
            assert_eq!(Decodable::of(datum).and_then(|decodable| decodable.take(&mut rest)).as_ref(), Some(datum));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn other_codes_are_refused() {
        let null = encode_all(&[Datum::Null, Datum::Int4(7)]);
        let mut rest = null.as_slice();
        assert!(take_null(&mut rest) && !take_null(&mut rest));
        assert_eq!(Decodable::Text.take(&mut rest), None);
        assert_eq!(Decodable::Int4.take(&mut rest), Some(Datum::Int4(7)));
        assert_eq!(Decodable::Int4.take(&mut rest), None);
        assert_eq!(Decodable::Int2.take(&mut encode_all(&[Datum::Int4(70_000)]).as_slice()), None);
        assert_eq!(Decodable::Uuid.take(&mut [UUID, 1, 2].as_slice()), None);
    }
}
