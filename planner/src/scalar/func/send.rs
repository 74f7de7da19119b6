//! The bytes by which a value is sent: `int4send(1)`, `textsend('a')`. As `wire` sends them, of types whose values say all of it.

use crate::scalar::EvalContext;
use repr::{Datum, ScalarType, ValueError};

/// Whether values of a type are sent by what they are alone.
pub(crate) fn is_sent(scalar: &ScalarType) -> bool {
    scalar.is_oid()
        || matches!(
            scalar,
            ScalarType::Bit
                | ScalarType::VarBit
                | ScalarType::MacAddr
                | ScalarType::MacAddr8
                | ScalarType::Money
                | ScalarType::Xid8
                | ScalarType::PgLsn
                | ScalarType::Bool
                | ScalarType::Int2
                | ScalarType::Int4
                | ScalarType::Int8
                | ScalarType::Float4
                | ScalarType::Float8
                | ScalarType::Text
                | ScalarType::Varchar
                | ScalarType::Bpchar
                | ScalarType::Name
                | ScalarType::Json
                | ScalarType::Bytea
                | ScalarType::Date
                | ScalarType::Time
                | ScalarType::Timestamp
                | ScalarType::Timestamptz
                | ScalarType::Interval
                | ScalarType::Uuid
        )
}

/// The bytes of a value.
pub(crate) fn send(_: &EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    let bytes: Vec<u8> = match &args[0] {
        Datum::Bool(value) => vec![u8::from(*value)],
        Datum::Int2(value) => value.to_be_bytes().to_vec(),
        Datum::Int4(value) | Datum::Date(value) => value.to_be_bytes().to_vec(),
        Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
            value.to_be_bytes().to_vec()
        }
        Datum::Oid(value) => value.to_be_bytes().to_vec(),
        Datum::Float4(value) => value.to_be_bytes().to_vec(),
        Datum::Float8(value) => value.to_be_bytes().to_vec(),
        Datum::Text(text) | Datum::Bpchar(text) => text.as_bytes().to_vec(),
        Datum::Bytea(bytes) => bytes.to_vec(),
        Datum::Uuid(bytes) => bytes.to_vec(),
        Datum::Unsigned(value) => value.to_be_bytes().to_vec(),
        Datum::Money(value) => value.to_be_bytes().to_vec(),
        Datum::MacAddress(value) => value.bytes().to_vec(),
        Datum::Bits(value) => [&(value.len() as u32).to_be_bytes(), value.bytes()].concat(),
        Datum::Interval(length) => {
            let mut bytes = length.micros.to_be_bytes().to_vec();
            bytes.extend_from_slice(&length.days.to_be_bytes());
            bytes.extend_from_slice(&length.months.to_be_bytes());
            bytes
        }
        _ => return Err(ValueError::new("0A000", "the bytes of such a value are not given here")),
    };
    Ok(Datum::Bytea(bytes.into()))
}
