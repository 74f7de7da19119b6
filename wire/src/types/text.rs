//! Values as text, through `repr::text`, under the session's time zone and float settings.
//!
//! What is printed most (integers, booleans, text) is written straight into the connection's buffer.

pub use repr::text::TextContext;

use super::binary::parameter_text;
use bytes::{BufMut, BytesMut};
use engine::SqlError;
use repr::{ColumnType, Datum, ScalarType};

/// Appends a value that is not NULL, without its length.
pub fn encode(datum: &Datum, scalar: &ScalarType, context: &TextContext, out: &mut BytesMut) -> Result<(), SqlError> {
    match datum {
        Datum::Bool(value) => out.put_u8(if *value { b't' } else { b'f' }),
        Datum::Int2(value) => integer(i64::from(*value), out),
        Datum::Int4(value) => integer(i64::from(*value), out),
        Datum::Int8(value) => integer(*value, out),
        Datum::Text(value) | Datum::Bpchar(value) => out.put_slice(value.as_bytes()),
        Datum::Null
        | Datum::Oid(_)
        | Datum::Float4(_)
        | Datum::Float8(_)
        | Datum::Numeric(_)
        | Datum::Bytea(_)
        | Datum::Date(_)
        | Datum::Time(_)
        | Datum::Timestamp(_)
        | Datum::Timestamptz(_)
        | Datum::Interval(_)
        | Datum::Uuid(_)
        | Datum::Jsonb(_)
        | Datum::Enum { .. }
        | Datum::Array(_)
        | Datum::Record(_) => out.put_slice(repr::text::format(datum, scalar, context).as_bytes()),
    }
    Ok(())
}

fn integer(value: i64, out: &mut BytesMut) {
    // The longest is -9223372036854775808.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.put_slice(&digits[at..]);
}

/// Appends a value with its length before it; NULL is -1.
pub fn encode_with_length(
    datum: &Datum,
    scalar: &ScalarType,
    context: &TextContext,
    out: &mut BytesMut,
) -> Result<(), SqlError> {
    if matches!(datum, Datum::Null) {
        out.put_i32(-1);
        return Ok(());
    }
    let start = out.len();
    out.put_i32(0);
    encode(datum, scalar, context, out)?;
    let length = i32::try_from(out.len() - start - 4).map_err(|_| SqlError::new("54000", "value is too large"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Reads a value that a client sent as text.
pub fn decode(bytes: &[u8], scalar: &ScalarType, context: &TextContext) -> Result<Datum, SqlError> {
    let text = parameter_text(bytes)?;
    match scalar {
        ScalarType::Text | ScalarType::Varchar | ScalarType::Unknown => Ok(Datum::Text(text.into())),
        _ => Ok(repr::text::parse(scalar, -1, text, context)?),
    }
}

/// Reads a value for a column, whose length, precision or scale it must fit.
pub fn decode_column(bytes: &[u8], column: &ColumnType, context: &TextContext) -> Result<Datum, SqlError> {
    if column.modifier < 0 {
        return decode(bytes, &column.scalar, context);
    }
    Ok(repr::text::parse(&column.scalar, column.modifier, parameter_text(bytes)?, context)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_print_as_in_sql() {
        for value in [0, 7, -7, 10, 1_000_000, i64::MAX, i64::MIN] {
            let mut out = BytesMut::new();
            integer(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }
}
