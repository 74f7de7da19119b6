//! The values that most rows are made of, read with less ado than the others: of them nothing is made that has to be let go of.

use super::{Columns, INT2, INT4, INT8, NULL, SHORT_TEXT, TEXT, TRUSTED};
use crate::Value;

/// NULL, integers and text where they stand packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain<'a> {
    /// SQL NULL of any type.
    Null,
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// text and its kind, in UTF-8
    Text(&'a [u8]),
}

impl<'a> From<Plain<'a>> for Value<'a> {
    fn from(plain: Plain<'a>) -> Self {
        match plain {
            Plain::Null => Value::Null,
            Plain::Int2(value) => Value::Int2(value),
            Plain::Int4(value) => Value::Int4(value),
            Plain::Int8(value) => Value::Int8(value),
            Plain::Text(text) => Value::Text(text),
        }
    }
}

impl<'a> Columns<'a> {
    /// One column as it is packed; none if the row ends before it.
    #[inline(always)]
    pub fn packed(&mut self, column: usize) -> Option<&'a [u8]> {
        if column != self.at {
            self.seek(column);
        }
        let from = self.reader.bytes;
        if from.is_empty() {
            return None;
        }
        self.at += 1;
        self.reader.skip().expect(TRUSTED);
        Some(&from[..from.len() - self.reader.bytes.len()])
    }

    /// One column, if it is plain; if it is not, or the row ends before it, it is still to be read by `value`.
    #[inline(always)]
    pub fn plain(&mut self, column: usize) -> Option<Plain<'a>> {
        if column != self.at {
            self.seek(column);
        }
        let (tag, rest) = self.reader.bytes.split_first()?;
        let (plain, rest) = match *tag {
            tag @ SHORT_TEXT..=0xFF => {
                let (text, rest) = rest.split_at(usize::from(tag & !SHORT_TEXT));
                (Plain::Text(text), rest)
            }
            tag @ INT4..=0x2C => {
                let (value, rest) = int(rest, tag - INT4);
                (Plain::Int4(value as i32), rest)
            }
            tag @ INT8..=0x38 => {
                let (value, rest) = int(rest, tag - INT8);
                (Plain::Int8(value), rest)
            }
            NULL => (Plain::Null, rest),
            tag @ INT2..=0x22 => {
                let (value, rest) = int(rest, tag - INT2);
                (Plain::Int2(value as i16), rest)
            }
            TEXT => {
                self.reader.bytes = rest;
                (Plain::Text(self.reader.counted().expect(TRUSTED)), self.reader.bytes)
            }
            _ => return None,
        };
        self.reader.bytes = rest;
        self.at += 1;
        Some(plain)
    }
}

/// An integer of so many bytes, and what follows it.
#[inline(always)]
fn int(bytes: &[u8], length: u8) -> (i64, &[u8]) {
    let (own, rest) = bytes.split_at(usize::from(length));
    let value = match bytes.first_chunk::<8>() {
        // What belongs to the next ones is shifted out: in two steps, as nothing may be shifted by all its bits.
        Some(ahead) => {
            let half = 32 - 4 * u32::from(length);
            i64::from_le_bytes(*ahead) << half << half >> half >> half
        }
        None => super::little_endian(own),
    };
    (value, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datum, Row};

    #[test]
    fn what_is_plain_is_read_as_it_is_anyway_and_the_rest_is_left() {
        let edges = (0..64)
            .flat_map(|bit| [1_i64 << bit, (1_i64 << bit).wrapping_sub(1), -(1_i64 << (bit % 63))])
            .chain([0, i64::MIN]);
        let mut datums: Vec<(Datum, bool)> = vec![(Datum::Null, true), (Datum::Bool(true), false)];
        for value in edges {
            datums.push((Datum::Int8(value), true));
            datums.push((Datum::Int4(value as i32), true));
            datums.push((Datum::Int2(value as i16), true));
            datums.push((Datum::Oid(value as u32), false));
        }
        for length in [0, 1, 31, 126, 127, 128, 300, 20_000] {
            datums.push((Datum::text("é".repeat(length)), true));
            datums.push((Datum::Bpchar("e".repeat(length).into()), false));
        }
        // Alone, at the end and at the beginning of others.
        for (datum, is_plain) in &datums {
            let others =
                [Datum::Float8(0.5), datum.clone(), Datum::Int4(7), datum.clone(), Datum::text("behind them all")];
            for row in [std::slice::from_ref(datum), &others[..2], &others] {
                let packed = Row::pack(row);
                let (mut columns, mut as_values) = (Columns::over(packed.bytes()), Columns::over(packed.bytes()));
                for place in (0..row.len()).chain([0]).chain((0..row.len()).rev()) {
                    let plain = columns.plain(place);
                    let value = as_values.value(place).expect("is there").into_datum();
                    assert_eq!(value.as_ref(), Some(&row[place]));
                    assert_eq!(plain.is_some(), if row[place] == *datum { *is_plain } else { place > 0 });
                    let found = plain.map(Value::from).or_else(|| columns.value(place)).expect("is there");
                    assert_eq!(found.into_datum(), value);
                }
                assert!(columns.plain(row.len()).is_none() && columns.value(row.len()).is_none());
            }
        }
    }
}
