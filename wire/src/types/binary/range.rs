//! Ranges and multiranges in binary: flags, then each bound that there is with its length before it.

use super::{decode, encode_with_length, fixed, mismatch};
use crate::decode::Body;
use crate::types::text::TextContext;
use bytes::BufMut;
use engine::SqlError;
use repr::range::{Bound, Multirange, of_ranges};
use repr::{Datum, Range, ScalarType};
use std::sync::Arc;

const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const LOWER_INFINITE: u8 = 0x08;
const UPPER_INFINITE: u8 = 0x10;

fn element_of(range: &ScalarType) -> Result<ScalarType, SqlError> {
    range.range_element().ok_or_else(|| mismatch(range))
}

/// Appends a range of this type.
pub(super) fn encode_range(
    range: &Range,
    scalar: &ScalarType,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let element = element_of(scalar)?;
    let Some((from, to)) = range.bounds() else {
        out.put_u8(EMPTY);
        return Ok(());
    };
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.put_u8(
        flag(from.inclusive, LOWER_INCLUSIVE)
            | flag(to.inclusive, UPPER_INCLUSIVE)
            | flag(from.value.is_none(), LOWER_INFINITE)
            | flag(to.value.is_none(), UPPER_INFINITE),
    );
    for value in [&from.value, &to.value].into_iter().flatten() {
        encode_with_length(value.value(), &element, context, out)?;
    }
    Ok(())
}

/// Appends a multirange of this type.
pub(super) fn encode_multirange(
    ranges: &Multirange,
    scalar: &ScalarType,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let of = scalar.multirange_range().ok_or_else(|| mismatch(scalar))?;
    out.put_i32(ranges.len() as i32);
    for range in ranges {
        let start = out.len();
        out.put_i32(0);
        encode_range(range, &of, context, out)?;
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Reads a range or a multirange of this type.
pub(super) fn decode_ranges(
    body: &mut Body<'_>,
    scalar: &ScalarType,
    context: &TextContext,
) -> Result<Datum, SqlError> {
    if scalar.range_element().is_some() {
        return Ok(Datum::Range(Arc::new(decode_range(body, scalar, context)?)));
    }
    Ok(Datum::Multirange(Arc::from(decode_multirange(body, scalar, context)?)))
}

fn decode_range(body: &mut Body<'_>, scalar: &ScalarType, context: &TextContext) -> Result<Range, SqlError> {
    let element = element_of(scalar)?;
    let [flags] = fixed(body)?;
    if flags & EMPTY != 0 {
        return Ok(Range::EMPTY);
    }
    let mut bound = |infinite: u8, inclusive: u8| -> Result<Bound, SqlError> {
        if flags & infinite != 0 {
            return Ok(Bound::new(Datum::Null, false));
        }
        let bytes = body.value()?.ok_or_else(|| SqlError::new("22P03", "a bound of a range is missing"))?;
        Ok(Bound::new(decode(bytes, &element, context)?, flags & inclusive != 0))
    };
    let (from, to) = (bound(LOWER_INFINITE, LOWER_INCLUSIVE)?, bound(UPPER_INFINITE, UPPER_INCLUSIVE)?);
    Ok(Range::of(scalar, from, to)?)
}

fn decode_multirange(body: &mut Body<'_>, scalar: &ScalarType, context: &TextContext) -> Result<Vec<Range>, SqlError> {
    let of = scalar.multirange_range().ok_or_else(|| mismatch(scalar))?;
    let count = body.int4()?;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let bytes = body.value()?.ok_or_else(|| SqlError::new("22P03", "a range of a multirange is missing"))?;
        let mut own = Body::new(bytes);
        ranges.push(decode_range(&mut own, &of, context)?);
        own.end().map_err(|_| SqlError::new("22P03", "incorrect binary data format"))?;
    }
    Ok(of_ranges(ranges))
}
