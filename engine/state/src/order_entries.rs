//! The entries of ordered indexes: a row's value, then what the row is found by.
//!
//! ```text
//! value  row key (16)                              of a table without a primary key, whose row keys are hashes
//! value  row key      its length, as of a key      of any other without one
//! value  primary key  its length (1)               of one whose primary key is shorter than 255 bytes
//! value  primary key  its length (4)  255          of any other
//! ```
//! The row key is a keyed hash of the primary key, so that entries of equal values stand in the order of their keys.

use crate::shape::TableShape;
use planner::catalog::Index;
use planner::ownership::KeyForm;
use repr::{Row, RowKey};
use storage::Store;

const ROW_KEY_BYTES: usize = 16;
/// Stands behind the length of a primary key that does not fit into one byte.
const LONG: u8 = u8::MAX;

/// A row's entries: one by its value, or in an inverted index one by each thing that its values are made of.
pub fn entries(
    shape: &TableShape,
    (index, columns): (&Index, usize),
    row: &Row,
    row_key: &RowKey,
) -> impl Iterator<Item = Vec<u8>> {
    let (one, several) = match index.is_inverted() {
        true => (None, shape.inverted_values(index, row)),
        false => (Some(shape.order_value(index, columns, row)), Vec::new()),
    };
    one.into_iter().chain(several).map(|value| entry(shape, value, row_key))
}

/// Of a value with the primary key behind it, if the table has one, which begins there.
fn entry(shape: &TableShape, (mut entry, primary_key): (Vec<u8>, Option<usize>), row_key: &RowKey) -> Vec<u8> {
    let length = match primary_key {
        Some(start) => entry.len() - start,
        None => {
            entry.extend_from_slice(row_key.bytes());
            if shape.key_form == KeyForm::Hashed {
                return entry;
            }
            row_key.bytes().len()
        }
    };
    match u8::try_from(length) {
        Ok(length) if length < LONG => entry.push(length),
        _ => {
            let length = u32::try_from(length).expect("a key is bounded far below 4 GiB by the protocol");
            entry.extend_from_slice(&length.to_be_bytes());
            entry.push(LONG);
        }
    }
    entry
}

/// What an entry of a table stands by, and the row key; none if it is too short to be one.
pub fn parts<'e>(entry: &'e [u8], shape: &TableShape, store: &Store) -> Option<(&'e [u8], RowKey)> {
    let has_primary_key = shape.table().primary_key.is_some();
    if !has_primary_key && shape.key_form == KeyForm::Hashed {
        let (value, row_key) = entry.split_last_chunk::<ROW_KEY_BYTES>()?;
        return Some((value, RowKey::new(row_key)));
    }
    let (length, rest) = entry.split_last()?;
    let (value, length) = match *length {
        LONG => {
            let (value, length) = rest.split_last_chunk::<4>()?;
            (value, u32::from_be_bytes(*length) as usize)
        }
        length => (rest, usize::from(length)),
    };
    let key = value.get(value.len().checked_sub(length)?..)?;
    Some((value, if has_primary_key { shape.key_of_value(store, key) } else { RowKey::new(key) }))
}
