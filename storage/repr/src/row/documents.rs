//! JSON within a row: its parts have the tags of datums.

use super::{ARRAY, FALSE, NULL, NUMERIC, NUMERIC_NEGATIVE_INFINITY, PackedReader, RECORD, TEXT, TRUE};
use super::{write_bytes, write_numeric, write_varint};
use crate::jsonb::MAX_DEPTH;
use crate::{Datum, Jsonb};
use std::sync::Arc;

pub(super) fn write_jsonb(out: &mut Vec<u8>, value: &Jsonb) {
    match value {
        Jsonb::Null => out.push(NULL),
        Jsonb::Bool(false) => out.push(FALSE),
        Jsonb::Bool(true) => out.push(TRUE),
        Jsonb::Number(number) => write_numeric(out, number),
        Jsonb::String(text) => write_bytes(out, TEXT, text.as_bytes()),
        Jsonb::Array(elements) => {
            out.push(ARRAY);
            write_varint(out, elements.len() as u64);
            for element in elements.iter() {
                write_jsonb(out, element);
            }
        }
        Jsonb::Object(pairs) => {
            out.push(RECORD);
            write_varint(out, pairs.len() as u64);
            for (key, value) in pairs.iter() {
                write_varint(out, key.len() as u64);
                out.extend_from_slice(key.as_bytes());
                write_jsonb(out, value);
            }
        }
    }
}

impl PackedReader<'_> {
    pub(super) fn jsonb(&mut self, depth: usize) -> Option<Jsonb> {
        // Functions may wrap what was read once more; the reader has room for that.
        if depth > 2 * MAX_DEPTH {
            return None;
        }
        let tag = self.byte()?;
        Some(match tag {
            NULL => Jsonb::Null,
            FALSE => Jsonb::Bool(false),
            TRUE => Jsonb::Bool(true),
            NUMERIC..=NUMERIC_NEGATIVE_INFINITY => match self.numeric(tag)?.into_datum()? {
                Datum::Numeric(number) => Jsonb::Number(number),
                _ => return None,
            },
            TEXT => Jsonb::String(self.text()?),
            ARRAY => {
                let count = usize::try_from(self.varint()?).ok()?;
                let mut elements = Vec::with_capacity(count.min(self.bytes.len()));
                for _ in 0..count {
                    elements.push(self.jsonb(depth + 1)?);
                }
                Jsonb::Array(Arc::from(elements))
            }
            RECORD => {
                let count = usize::try_from(self.varint()?).ok()?;
                let mut pairs = Vec::with_capacity(count.min(self.bytes.len()));
                for _ in 0..count {
                    let key = self.text()?;
                    pairs.push((key, self.jsonb(depth + 1)?));
                }
                Jsonb::Object(Arc::from(pairs))
            }
            _ => return None,
        })
    }
}
