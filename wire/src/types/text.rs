//! Values as text, through `repr::text`, under the session's time zone and float settings.
//!
//! What is printed most (integers, booleans, text) is written straight into the connection's buffer, its length first.

pub use repr::text::TextContext;

use super::binary::parameter_text;
use bytes::{BufMut, BytesMut};
use engine::SqlError;
use repr::{ColumnType, Datum, ScalarType};

/// What most documents take.
const JSON_BYTES: usize = 256;

/// Appends a value that is not NULL, without its length.
pub fn encode(datum: &Datum, scalar: &ScalarType, context: &TextContext, out: &mut BytesMut) -> Result<(), SqlError> {
    written(datum, scalar, context, |text| {
        out.put_slice(text);
        Ok(())
    })
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
    written(datum, scalar, context, |text| {
        let length = i32::try_from(text.len()).map_err(|_| SqlError::new("54000", "value is too large"))?;
        out.reserve(text.len() + 4);
        out.put_i32(length);
        out.put_slice(text);
        Ok(())
    })
}

/// A value that is not NULL, as text.
fn written(
    datum: &Datum,
    scalar: &ScalarType,
    context: &TextContext,
    take: impl FnOnce(&[u8]) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    match datum {
        Datum::Bool(value) => take(if *value { b"t" } else { b"f" }),
        Datum::Int2(value) => integer(i64::from(*value), take),
        Datum::Int4(value) => integer(i64::from(*value), take),
        Datum::Int8(value) => integer(*value, take),
        Datum::Text(value) | Datum::Bpchar(value) => take(value.as_bytes()),
        Datum::Jsonb(value) => {
            let mut text = String::with_capacity(JSON_BYTES);
            value.write_text(&mut text);
            take(text.as_bytes())
        }
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
        | Datum::Enum { .. }
        | Datum::Array(_)
        | Datum::Record(_) => take(repr::text::format(datum, scalar, context).as_bytes()),
    }
}

fn integer<R>(value: i64, take: impl FnOnce(&[u8]) -> R) -> R {
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
    take(&digits[at..])
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
            assert_eq!(integer(value, <[u8]>::to_vec), value.to_string().as_bytes());
        }
    }
}
