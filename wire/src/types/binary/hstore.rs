//! hstore in binary: how many pairs, then keys and values, each with its length before it.

use super::parameter_text;
use crate::decode::Body;
use crate::types::text::{TextContext, in_encoding};
use bytes::BufMut;
use engine::SqlError;
use repr::Hstore;
use repr::hstore::null_key;

/// Appends the pairs.
pub(super) fn encode(value: &Hstore, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    if context.encoding.is_same() {
        out.put_slice(value.packed());
        return Ok(());
    }
    out.put_i32(value.len() as i32);
    for (key, value) in value.pairs() {
        for text in [Some(key), value] {
            let Some(text) = text else {
                out.put_i32(-1);
                continue;
            };
            let text = in_encoding(text.as_bytes(), context)?;
            out.put_i32(text.len() as i32);
            out.put_slice(&text);
        }
    }
    Ok(())
}

/// Reads the pairs, in any order; of one key the first counts.
pub(super) fn decode(body: &mut Body<'_>, context: &TextContext) -> Result<Hstore, SqlError> {
    let mut pairs = Vec::new();
    for _ in 0..body.int4()?.max(0) {
        let key = body.value()?.ok_or_else(null_key)?;
        let value = body.value()?.map(|value| parameter_text(value, context)).transpose()?;
        pairs.push((parameter_text(key, context)?, value));
    }
    Ok(Hstore::of_pairs(pairs))
}
