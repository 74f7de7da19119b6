//! A row in the order of an ORDER BY, as an arrangement holds it.
//!
//! A value is the codes of the ORDER BY columns, then the row, then
//! how long the row is. Codes are prefix-free, so bytes sort like the ORDER BY, ties by the row's bytes. What the key
//! of a group tells stands in neither.
//!
//! ```text
//! codes  row  length (1)          of a row that is shorter than 255 bytes
//! codes  row  length (4)  255     of any other
//! ```

use crate::arrangement::Bytes;
use planner::scalar::Order;
use repr::{Datum, Row, key};

/// Stands behind the length of a row that does not fit into one byte.
const LONG: u8 = u8::MAX;

/// A row behind the codes that order it.
pub struct OrderedRow;

impl OrderedRow {
    /// Makes the bytes.
    pub fn make(order: &[Order], datums: &[Datum], row: &Row) -> Row {
        let mut bytes = Vec::with_capacity(order.len() * 10 + row.bytes().len() + 4);
        encode_order(&mut bytes, order, datums);
        Self::behind(bytes, row)
    }

    /// Puts a row behind its codes.
    pub fn behind(mut bytes: Vec<u8>, row: &Row) -> Row {
        bytes.extend_from_slice(row.bytes());
        match u8::try_from(row.bytes().len()) {
            Ok(length) if length < LONG => bytes.push(length),
            _ => {
                let length =
                    u32::try_from(row.bytes().len()).expect("a row is bounded far below 4 GiB by the protocol");
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.push(LONG);
            }
        }
        Row::from_bytes(bytes.into_boxed_slice())
    }

    /// The codes and the row's bytes.
    pub fn parts(bytes: Bytes<'_>) -> (&[u8], &[u8]) {
        const MADE: &str = "made by OrderedRow::make";
        let (length, rest) = bytes.0.split_last().expect(MADE);
        if *length < LONG {
            return rest.split_at(rest.len() - usize::from(*length));
        }
        let (rest, length) = rest.split_last_chunk::<4>().expect(MADE);
        rest.split_at(rest.len() - u32::from_be_bytes(*length) as usize)
    }

    /// The row's bytes.
    pub fn row(bytes: &[u8]) -> &[u8] {
        Self::parts(Bytes(bytes)).1
    }
}

/// Appends the codes of the ORDER BY columns. Of those that order ties each writing of equal values has a place of
/// its own: rows that are shown as 1.0 and 1.00 shall not change places.
pub fn encode_order(bytes: &mut Vec<u8>, order: &[Order], datums: &[Datum]) {
    for item in order {
        let datum = &datums[item.column];
        key::encode_ordered(bytes, datum, item.descending, item.nulls_first);
        if item.tie && datum.has_several_writings() {
            bytes.extend_from_slice(Row::pack([datum]).bytes());
        }
    }
}

/// The key of a row's group.
pub fn group_key(columns: &[usize], datums: &[Datum]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(columns.len() * 12);
    for column in columns {
        key::encode(&mut bytes, &datums[*column]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_put_behind_its_codes() {
        let order = [Order { descending: true, ..Order::ascending(0) }];
        for length in [0, 1, 100, 248, 249, 250, 251, 252, 253, 254, 255, 256, 300, 70_000] {
            let datums = [Datum::Int4(7), Datum::Text("x".repeat(length).into())];
            let row = Row::pack(&datums);
            let made = OrderedRow::make(&order, &datums, &row);
            let mut codes = Vec::new();
            encode_order(&mut codes, &order, &datums);
            assert_eq!(OrderedRow::parts(Bytes(made.bytes())), (codes.as_slice(), row.bytes()), "{length}");
        }
    }
}
