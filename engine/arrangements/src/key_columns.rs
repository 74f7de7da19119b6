//! What the keys of an arrangement tell of its rows, so that its values need not say it again.
//!
//! ```text
//! key     codes of some of the row's columns
//! value   the row's other columns            if the codes tell the datums (see `repr::key::decode`), or
//!         no tag, the whole row              of any other
//! ```
//! Rows of one key keep their order: of all that are without the key's columns these are the same bytes.

use crate::arrangement::FlatBytes;
use repr::key::decode::{Decodable, take_null};
use repr::row::{NO_TAG, RowIter, write_datum};
use repr::{Datum, Row};
use std::cell::RefCell;

/// The columns of one arrangement that its keys tell.
pub struct KeyColumns {
    /// Where they stand in the row, in the key's order.
    columns: Vec<usize>,
    /// Their types, of each that of its first value: it never changes, so that what comes and goes is written alike.
    types: RefCell<Vec<Option<Decodable>>>,
    /// They are the row's first columns, in its order.
    lead: bool,
}

impl KeyColumns {
    /// Of an arrangement whose keys are the codes of these columns.
    pub fn new(columns: Vec<usize>) -> KeyColumns {
        let types = RefCell::new(vec![None; columns.len()]);
        let lead = columns.iter().copied().eq(0..columns.len());
        KeyColumns { columns, types, lead }
    }

    /// The value that stands for a row.
    pub fn value(&self, datums: &[Datum], row: Row) -> Row {
        if self.columns.is_empty() {
            return row;
        }
        if !self.tells(self.columns.iter().map(|column| &datums[*column])) {
            return whole(row.bytes());
        }
        if self.lead {
            let mut others = RowIter::over(row.bytes());
            for _ in &self.columns {
                others.pass();
            }
            return Row::copy_from(others.rest());
        }
        let is_told = |(place, _): &(usize, &Datum)| self.columns.contains(place);
        Row::pack(datums.iter().enumerate().filter(|item| !is_told(item)).map(|(_, datum)| datum))
    }

    /// The value that stands for a row of the key's columns only.
    pub fn value_of_key<'d>(&self, key: impl Iterator<Item = &'d Datum>, row: &[u8]) -> Row {
        if self.columns.is_empty() || self.tells(key) { Row::default() } else { whole(row) }
    }

    /// The row that a value stands for.
    pub fn row(&self, key: &[u8], value: &[u8]) -> Row {
        if self.columns.is_empty() {
            return Row::copy_from(value);
        }
        if let [NO_TAG, row @ ..] = value {
            return Row::copy_from(row);
        }
        let mut codes = key;
        let take = |decodable: &Option<Decodable>| match decodable {
            _ if take_null(&mut codes) => Datum::Null,
            Some(decodable) => decodable.take(&mut codes).expect("values are short only if their keys tell the rest"),
            None => unreachable!("a column without a type has had no value but NULL"),
        };
        let types = self.types.borrow();
        let told = types.iter().map(take);
        if self.lead {
            let mut bytes = Vec::with_capacity(key.len() + value.len() + 4);
            told.for_each(|datum| write_datum(&mut bytes, &datum));
            bytes.extend_from_slice(value);
            return Row::from_bytes(bytes.into_boxed_slice());
        }
        let told: Vec<Datum> = told.collect();
        let mut others = RowIter::over(value);
        let mut datums = Vec::with_capacity(told.len() + 8);
        loop {
            match self.columns.iter().position(|column| *column == datums.len()) {
                Some(place) => datums.push(told[place].clone()),
                None => match others.next() {
                    Some(datum) => datums.push(datum),
                    None => return Row::pack(&datums),
                },
            }
        }
    }

    /// Whether the codes of these datums, a key's, tell them.
    fn tells<'d>(&self, key: impl Iterator<Item = &'d Datum>) -> bool {
        let mut types = self.types.borrow_mut();
        key.zip(types.iter_mut()).all(|(datum, known)| match Decodable::of(datum) {
            None => datum.is_null(),
            Some(decodable) => *known.get_or_insert(decodable) == decodable,
        })
    }
}

fn whole(row: &[u8]) -> Row {
    let mut bytes = Vec::with_capacity(row.len() + 1);
    bytes.push(NO_TAG);
    bytes.extend_from_slice(row);
    Row::from_bytes(bytes.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered_row::group_key;

    fn check(told: &KeyColumns, row: &[Datum], is_short: bool) {
        let packed = Row::pack(row);
        let value = told.value(row, packed.clone());
        assert_eq!(value.bytes().len() < packed.bytes().len(), is_short, "{row:?}");
        assert_eq!(told.row(&group_key(&told.columns, row), value.bytes()).unpack(), row);
    }

    #[test]
    fn a_value_and_its_key_are_the_row() {
        let numeric = |text: &str| Datum::Numeric(text.parse().expect("a number"));
        for columns in [vec![], vec![0], vec![0, 1], vec![2, 0], vec![1, 2, 0], vec![0, 0], vec![2]] {
            let told = KeyColumns::new(columns.clone());
            let is_short = !columns.is_empty();
            let row = [Datum::Null, Datum::text("b"), Datum::Null];
            check(&told, &row, is_short);
            let row = [Datum::Int4(7), Datum::text("b"), Datum::Timestamp(-9)];
            check(&told, &row, is_short);
            let row = [Datum::Int4(-70_000), Datum::Null, Datum::Null];
            check(&told, &row, is_short);
            // Of another type than the first one's, and of one that is written in many ways.
            let row = [Datum::Int8(7), Datum::text("b"), Datum::Timestamp(8)];
            check(&told, &row, is_short && !columns.contains(&0));
            let row = [numeric("1.0"), Datum::text("b"), numeric("1.00")];
            check(&told, &row, false);
        }
    }

    #[test]
    fn a_row_of_the_key_alone_needs_no_value() {
        let told = KeyColumns::new(vec![0, 1]);
        let row = [Datum::Int4(7), Datum::text("b")];
        let value = told.value_of_key(row.iter(), Row::pack(&row).bytes());
        assert!(value.is_empty());
        assert_eq!(told.row(&group_key(&[0, 1], &row), value.bytes()).unpack(), row);
    }
}
