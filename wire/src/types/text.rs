//! Values as text, through `repr::text`, under the session's time zone and float settings.
//!
//! What is printed most (integers, booleans, text) is written straight into the connection's buffer, its length first.

pub use repr::text::TextContext;

use super::binary::{append_counted, parameter_text};
use bytes::BufMut;
use engine::SqlError;
use repr::row::Plain;
use repr::text::integer::with_digits;
use repr::{ColumnType, Datum, ScalarType, Value};
use std::borrow::Cow;
use std::cell::RefCell;

/// What is kept for the next value, of a thread.
const KEEP_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// Where values are written that are printed as strings.
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Appends a value that is not NULL, without its length.
pub fn encode(value: Value<'_>, scalar: &ScalarType, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    written(value, scalar, context, |text| {
        out.put_slice(text);
        Ok(())
    })
}

/// Appends a value with its length before it; NULL is -1.
#[inline]
pub(crate) fn encode_with_length(
    value: Value<'_>,
    scalar: &ScalarType,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    if value.is_null() {
        out.put_i32(-1);
        return Ok(());
    }
    written(value, scalar, context, |text| append_counted(text, out))
}

/// The same for what is packed as it is printed, but for its digits.
#[inline]
pub(crate) fn encode_plain(value: Plain<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Plain::Null => {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            Ok(())
        }
        Plain::Int2(value) => with_digits(i64::from(value), |digits| append_counted(digits, out)),
        Plain::Int4(value) => with_digits(i64::from(value), |digits| append_counted(digits, out)),
        Plain::Int8(value) => with_digits(value, |digits| append_counted(digits, out)),
        Plain::Text(text) => append_counted(&in_encoding(text, context)?, out),
    }
}

/// A value that is not NULL, as text.
#[inline]
fn written(
    value: Value<'_>,
    scalar: &ScalarType,
    context: &TextContext,
    take: impl FnOnce(&[u8]) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    match value {
        Value::Bool(value) => take(if value { b"t" } else { b"f" }),
        Value::Int2(value) => with_digits(i64::from(value), take),
        Value::Int4(value) => with_digits(i64::from(value), take),
        Value::Int8(value) => with_digits(value, take),
        Value::Text(text) | Value::Bpchar(text) | Value::Citext(text) | Value::Enum { label: text, .. } => {
            take(&in_encoding(text, context)?)
        }
        // Of all other types the text is made.
        value => PRINTED.with_borrow_mut(|printed| {
            printed.clear();
            repr::text::write_value(printed, value, scalar, context);
            let taken = in_encoding(printed.as_bytes(), context).and_then(|text| take(&text));
            printed.shrink_to(KEEP_BYTES_MAX);
            taken
        }),
    }
}

/// Text as the client reads it. 22P05 for a character that its encoding has not.
#[inline]
pub(super) fn in_encoding<'t>(text: &'t [u8], context: &TextContext) -> Result<Cow<'t, [u8]>, SqlError> {
    if context.encoding.is_same() {
        return Ok(Cow::Borrowed(text));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(context.encoding.encode(text)?),
        Err(_) => Err(SqlError::new("XX000", "text is not in UTF-8")),
    }
}

/// Reads a value that a client sent as text.
pub fn decode(bytes: &[u8], scalar: &ScalarType, context: &TextContext) -> Result<Datum, SqlError> {
    let text = parameter_text(bytes, context)?;
    match scalar {
        ScalarType::Text | ScalarType::Varchar | ScalarType::Unknown => Ok(Datum::Text((*text).into())),
        _ => Ok(repr::text::parse(scalar, -1, &text, context)?),
    }
}

/// Reads a value for a column, whose length, precision or scale it must fit.
pub(crate) fn decode_column(bytes: &[u8], column: &ColumnType, context: &TextContext) -> Result<Datum, SqlError> {
    if column.modifier < 0 {
        return decode(bytes, &column.scalar, context);
    }
    Ok(repr::text::parse(&column.scalar, column.modifier, &parameter_text(bytes, context)?, context)?)
}
