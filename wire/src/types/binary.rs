//! PostgreSQL's binary formats of every type that can stand in a result or a parameter.
//!
//! Encoding trusts the planner's types (a mismatch is our bug and answered XX000, not a panic); decoding trusts
//! nothing: every length is checked, every text must be UTF-8 without NUL, every date in range.

mod hstore;
mod range;

use super::numeric;
use crate::decode::Body;
use crate::types::text::{self, TextContext};
use bytes::BufMut;
use engine::SqlError;
use range::{decode_ranges, encode_multirange, encode_range};
use repr::bits::BITS_MAX;
use repr::datetime::{check_timestamp, round_to_precision};
use repr::geometry::GeometricType;
use repr::row::Plain;
use repr::text::{byte_of_char, char_of_byte};
use repr::types::RecordType;
use repr::unsigned::{TransactionSnapshot, place_of_tid, tid};
use repr::{
    Array, Bits, ColumnType, Datum, Geometry, Interval, JsonPath, MacAddress, Network, Range, ScalarType, TimeTz,
    TsQuery, TsVector, Value,
};
use std::borrow::Cow;
use std::sync::Arc;

const JSONB_VERSION: u8 = 1;
const JSONPATH_VERSION: u8 = 1;
const DIMENSIONS_MAX: i32 = 6;
const DATE_MIN: i32 = -2_451_545;
const DATE_END: i32 = 2_145_031_949;
const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;
const DAY_MICROS: i64 = 86_400_000_000;
// No zone is as far from UTC.
const ZONE_SECONDS_END: u32 = 16 * 3600;
// AF_INET, and the next number.
const NETWORK_V4: u8 = 2;
const NETWORK_V6: u8 = 3;

/// Appends a value that is not NULL, without its length.
#[inline]
pub fn encode(value: Value<'_>, scalar: &ScalarType, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Value::Null => return Err(mismatch(scalar)),
        Value::Bool(value) => out.put_u8(u8::from(value)),
        Value::Int2(value) => out.put_i16(value),
        Value::Int4(value) => out.put_i32(value),
        Value::Int8(value) => out.put_i64(value),
        Value::Oid(value) => out.put_u32(value),
        Value::Float4(value) => out.put_f32(value),
        Value::Float8(value) => out.put_f64(value),
        Value::Numeric(value) => numeric::encode(&value, out)?,
        Value::Decimal { unscaled, scale } => numeric::encode_decimal(unscaled, scale, out)?,
        // "char" is one byte, and the empty one is NUL.
        Value::Text(value) if matches!(scalar, ScalarType::Char) => out.put_u8(byte_of_char(value)),
        // A document that was written as text at once.
        Value::Text(value) if matches!(scalar, ScalarType::Jsonb) => {
            out.put_u8(JSONB_VERSION);
            out.put_slice(&text::in_encoding(value, context)?);
        }
        Value::Text(_) if *scalar == ScalarType::AclItem => return Err(text_alone("output")),
        Value::Text(value) if is_transaction_snapshot(scalar) => encode_transaction_snapshot(value, out)?,
        Value::Text(value) | Value::Bpchar(value) | Value::Citext(value) | Value::Enum { label: value, .. } => {
            out.put_slice(&text::in_encoding(value, context)?);
        }
        Value::Hstore(value) => hstore::encode(&value, context, out)?,
        Value::Bytea(value) => out.put_slice(value),
        Value::Date(value) => out.put_i32(value),
        Value::Time(value) | Value::Timestamp(value) | Value::Timestamptz(value) | Value::Money(value) => {
            out.put_i64(value);
        }
        Value::Unsigned(value) => encode_unsigned(value, *scalar == ScalarType::Tid, out),
        Value::TimeTz(value) => encode_time_tz(value, out),
        Value::Interval(value) => encode_interval(&value, out),
        Value::Network(value) => encode_network(value, *scalar == ScalarType::Cidr, out),
        Value::MacAddress(value) => out.put_slice(value.bytes()),
        Value::Bits(value) => encode_bits(&value, out)?,
        Value::Geometry(shape) => shape.encode(out),
        value @ Value::Xml(_) => text::encode(value, scalar, context, out)?,
        Value::Uuid(value) => out.put_slice(value),
        Value::TsVector(vector) => vector.encode(out),
        Value::TsQuery(query) => query.encode(out),
        value @ Value::Jsonb(_) => {
            out.put_u8(JSONB_VERSION);
            text::encode(value, scalar, context, out)?;
        }
        Value::JsonPath(path) => encode_json_path(&path, context, out)?,
        Value::Array(array) => {
            let element = scalar.element().ok_or_else(|| mismatch(scalar))?;
            encode_array(&array, &element, context, out)?;
        }
        Value::Range(range) => encode_range(&range, scalar, context, out)?,
        Value::Multirange(ranges) => encode_multirange(&ranges, scalar, context, out)?,
        Value::Record(fields) => {
            let ScalarType::Record(types) = scalar else { return Err(mismatch(scalar)) };
            out.put_i32(fields.len() as i32);
            for (at, field) in fields.iter().enumerate() {
                // Rows of one column may be made otherwise: each says what its fields are.
                let declared = types.get(at).map(|(_, declared)| declared);
                let own = natural(field, declared);
                let field_type = own.as_ref().or(declared).unwrap_or(&ScalarType::Unknown);
                out.put_u32(match types.domain(at) {
                    0 => field_type.oid(),
                    domain => domain,
                });
                encode_with_length(field.value(), field_type, context, out)?;
            }
        }
    }
    Ok(())
}

fn encode_interval(value: &Interval, out: &mut Vec<u8>) {
    out.put_i64(value.micros);
    out.put_i32(value.days);
    out.put_i32(value.months);
}

fn encode_time_tz(value: TimeTz, out: &mut Vec<u8>) {
    out.put_i64(value.micros);
    out.put_i32(value.west);
}

fn encode_unsigned(value: u64, is_tid: bool, out: &mut Vec<u8>) {
    if !is_tid {
        return out.put_u64(value);
    }
    let (block, offset) = place_of_tid(value);
    out.put_u32(block);
    out.put_u16(offset);
}

/// An entry of an access list has no binary form in PostgreSQL either.
fn text_alone(direction: &str) -> SqlError {
    SqlError::new("42883", format!("no binary {direction} function available for type aclitem"))
}

fn is_transaction_snapshot(scalar: &ScalarType) -> bool {
    matches!(scalar, ScalarType::PgSnapshot | ScalarType::TxidSnapshot)
}

/// How many were open, its bounds, and they.
fn encode_transaction_snapshot(text: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
    let text = std::str::from_utf8(text).map_err(|_| mismatch(&ScalarType::PgSnapshot))?;
    let snapshot = TransactionSnapshot::parse(text)?;
    out.put_i32(i32::try_from(snapshot.open.len()).map_err(|_| too_large())?);
    [snapshot.first_open, snapshot.end].iter().chain(&snapshot.open).for_each(|number| out.put_u64(*number));
    Ok(())
}

fn encode_bits(value: &Bits, out: &mut Vec<u8>) -> Result<(), SqlError> {
    out.put_i32(i32::try_from(value.len()).map_err(|_| too_large())?);
    out.put_slice(value.bytes());
    Ok(())
}

fn encode_json_path(path: &JsonPath, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let mut text = String::new();
    path.write_text(&mut text);
    out.put_u8(JSONPATH_VERSION);
    out.put_slice(&text::in_encoding(text.as_bytes(), context)?);
    Ok(())
}

fn encode_network(value: Network, is_cidr: bool, out: &mut Vec<u8>) {
    let family = if value.is_v4() { NETWORK_V4 } else { NETWORK_V6 };
    out.put_slice(&[family, value.length(), u8::from(is_cidr), value.length_max() / 8]);
    value.append_to(out);
}

/// The type of a field that is not of the type which its column's first row has there; none if it is.
fn natural(datum: &Datum, declared: Option<&ScalarType>) -> Option<ScalarType> {
    let own = match datum {
        Datum::Null | Datum::Enum { .. } => return None,
        Datum::Bool(_) => ScalarType::Bool,
        Datum::Int2(_) => ScalarType::Int2,
        Datum::Int4(_) => ScalarType::Int4,
        Datum::Int8(_) => ScalarType::Int8,
        Datum::Oid(_) if declared.is_some_and(ScalarType::is_oid) => return None,
        Datum::Oid(_) => ScalarType::Oid,
        Datum::Float4(_) => ScalarType::Float4,
        Datum::Float8(_) => ScalarType::Float8,
        Datum::Numeric(_) => ScalarType::Numeric,
        Datum::Text(_) if declared.is_some_and(holds_text) => return None,
        Datum::Text(_) => ScalarType::Text,
        Datum::Bpchar(_) => ScalarType::Bpchar,
        Datum::Citext(_) => ScalarType::Citext,
        Datum::Hstore(_) => ScalarType::Hstore,
        Datum::Bytea(_) => ScalarType::Bytea,
        Datum::Date(_) => ScalarType::Date,
        Datum::Time(_) => ScalarType::Time,
        Datum::TimeTz(_) => ScalarType::TimeTz,
        Datum::Timestamp(_) => ScalarType::Timestamp,
        Datum::Timestamptz(_) => ScalarType::Timestamptz,
        Datum::Interval(_) => ScalarType::Interval,
        Datum::Network(_) if declared == Some(&ScalarType::Cidr) => return None,
        Datum::Network(_) => ScalarType::Inet,
        Datum::MacAddress(MacAddress::Six(_)) => ScalarType::MacAddr,
        Datum::MacAddress(MacAddress::Eight(_)) => ScalarType::MacAddr8,
        Datum::Bits(_) if declared == Some(&ScalarType::VarBit) => return None,
        Datum::Bits(_) => ScalarType::Bit,
        Datum::Money(_) => ScalarType::Money,
        Datum::Unsigned(_) if matches!(declared, Some(ScalarType::PgLsn | ScalarType::Tid)) => return None,
        Datum::Unsigned(_) => ScalarType::Xid8,
        Datum::Geometry(shape) => shape.kind().scalar(),
        Datum::Xml(_) => ScalarType::Xml,
        Datum::Uuid(_) => ScalarType::Uuid,
        Datum::TsVector(_) => ScalarType::TsVector,
        Datum::TsQuery(_) => ScalarType::TsQuery,
        Datum::Jsonb(_) => ScalarType::Jsonb,
        Datum::JsonPath(_) => ScalarType::JsonPath,
        Datum::Array(_) if declared.is_some_and(|declared| declared.element().is_some()) => return None,
        Datum::Array(array) => {
            let first = array.elements.iter().find_map(|element| natural(element, None));
            first.unwrap_or(ScalarType::Text).array()
        }
        Datum::Range(_) if declared.is_some_and(|declared| declared.range_element().is_some()) => return None,
        Datum::Range(range) => range_type(range),
        Datum::Multirange(_) if declared.is_some_and(|declared| declared.multirange_range().is_some()) => return None,
        Datum::Multirange(ranges) => {
            let first = ranges.first().map_or(ScalarType::Int4Range, range_type);
            first.multirange().unwrap_or(ScalarType::Int4Multirange)
        }
        Datum::Record(_) if matches!(declared, Some(ScalarType::Record(_))) => return None,
        Datum::Record(_) => ScalarType::Record(Vec::new().into()),
    };
    (declared != Some(&own)).then_some(own)
}

/// The type of a range by its bounds; without any it could be of each.
fn range_type(range: &Range) -> ScalarType {
    let bounds = range.bounds().into_iter().flat_map(|(from, to)| [&from.value, &to.value]).flatten();
    let element = bounds.into_iter().find_map(|value| natural(value, None));
    element.and_then(|element| element.built_in_range()).unwrap_or(ScalarType::Int4Range)
}

fn holds_text(scalar: &ScalarType) -> bool {
    scalar.is_string()
        || matches!(
            scalar,
            ScalarType::Char
                | ScalarType::Json
                | ScalarType::Unknown
                | ScalarType::Jsonb
                | ScalarType::Void
                | ScalarType::AclItem
                | ScalarType::PgSnapshot
                | ScalarType::TxidSnapshot
        )
}

/// Whether values of a type are written as what they are packed as.
#[inline(always)]
pub(crate) fn is_plain(scalar: &ScalarType) -> bool {
    !matches!(
        scalar,
        ScalarType::Char | ScalarType::Jsonb | ScalarType::AclItem | ScalarType::PgSnapshot | ScalarType::TxidSnapshot
    )
}

/// As `encode_with_length`, for values of a type that `is_plain`.
#[inline(always)]
pub(crate) fn encode_plain(value: Plain<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Plain::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        Plain::Int2(value) => {
            let [first, second] = value.to_be_bytes();
            out.extend_from_slice(&[0, 0, 0, 2, first, second]);
        }
        // The length, four, and the number in one.
        Plain::Int4(value) => out.extend_from_slice(&(4 << 32 | u64::from(value.cast_unsigned())).to_be_bytes()),
        Plain::Int8(value) => out.extend_from_slice(&(8 << 64 | u128::from(value.cast_unsigned())).to_be_bytes()[4..]),
        Plain::Text(text) => return append_counted(&text::in_encoding(text, context)?, out),
    }
    Ok(())
}

/// Appends bytes with their length before them.
#[inline(always)]
pub(crate) fn append_counted(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
    let length = i32::try_from(bytes.len()).map_err(|_| too_large())?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

#[cold]
fn too_large() -> SqlError {
    SqlError::new("54000", "value is too large")
}

/// Appends a value with its length before it; NULL is -1.
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
    let start = out.len();
    out.put_i32(0);
    encode(value, scalar, context, out)?;
    let length = i32::try_from(out.len() - start - 4).map_err(|_| too_large())?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn encode_array(array: &Array, element: &ScalarType, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
    out.put_i32(array.dimensions.len() as i32);
    out.put_i32(i32::from(array.elements.iter().any(|datum| matches!(datum, Datum::Null))));
    out.put_u32(element.oid());
    for (length, lower) in &array.dimensions {
        out.put_i32(*length as i32);
        out.put_i32(*lower);
    }
    for datum in &array.elements {
        encode_with_length(datum.value(), element, context, out)?;
    }
    Ok(())
}

/// Reads a parameter; the slice is exactly it.
pub fn decode(bytes: &[u8], scalar: &ScalarType, context: &TextContext) -> Result<Datum, SqlError> {
    let mut body = Body::new(bytes);
    let datum = match scalar {
        ScalarType::Bool => Datum::Bool(body.byte()? != 0),
        ScalarType::Int2 => Datum::Int2(i16::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Int4 => Datum::Int4(i32::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Int8 => Datum::Int8(i64::from_be_bytes(fixed(&mut body)?)),
        oid if oid.is_oid() => Datum::Oid(u32::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Float4 => Datum::Float4(f32::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Float8 => Datum::Float8(f64::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Numeric => return Ok(Datum::Numeric(numeric::decode(bytes)?)),
        ScalarType::Char => Datum::Text(char_of_byte(body.byte()?)),
        ScalarType::Text
        | ScalarType::Varchar
        | ScalarType::Name
        | ScalarType::Cstring
        | ScalarType::Refcursor
        | ScalarType::Unknown => {
            return Ok(Datum::Text((*parameter_text(bytes, context)?).into()));
        }
        ScalarType::Bpchar => return Ok(Datum::Bpchar((*parameter_text(bytes, context)?).into())),
        ScalarType::Citext => return Ok(Datum::Citext((*parameter_text(bytes, context)?).into())),
        // Checked and given its place by the same door as text.
        ScalarType::Json | ScalarType::Xml | ScalarType::Enum(_) => return text::decode(bytes, scalar, context),
        ScalarType::Jsonb => {
            return text::decode(versioned(bytes, JSONB_VERSION, "jsonb version number")?, scalar, context);
        }
        ScalarType::JsonPath => {
            return text::decode(versioned(bytes, JSONPATH_VERSION, "jsonpath version number:")?, scalar, context);
        }
        ScalarType::Hstore => Datum::Hstore(hstore::decode(&mut body, context)?),
        ScalarType::Bytea => return Ok(Datum::Bytea(bytes.into())),
        ScalarType::TsVector => return Ok(Datum::TsVector(TsVector::decode(bytes)?)),
        ScalarType::TsQuery => return Ok(Datum::TsQuery(TsQuery::decode(bytes)?)),
        ScalarType::Date => Datum::Date(date(&mut body)?),
        ScalarType::Time => match i64::from_be_bytes(fixed(&mut body)?) {
            time @ 0..=DAY_MICROS => Datum::Time(time),
            _ => return Err(SqlError::new("22008", "time out of range")),
        },
        ScalarType::TimeTz => Datum::TimeTz(time_tz(&mut body)?),
        ScalarType::Timestamp => Datum::Timestamp(timestamp(&mut body)?),
        ScalarType::Timestamptz => Datum::Timestamptz(timestamp(&mut body)?),
        ScalarType::Interval => Datum::Interval(interval(&mut body)?),
        ScalarType::Inet | ScalarType::Cidr => Datum::Network(network(&mut body, scalar)?),
        ScalarType::MacAddr => Datum::MacAddress(MacAddress::Six(each(&mut body)?)),
        ScalarType::MacAddr8 => Datum::MacAddress(mac_address_8(&mut body, bytes.len())?),
        ScalarType::Bit | ScalarType::VarBit => Datum::Bits(bits(&mut body)?),
        ScalarType::Money => Datum::Money(i64::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Xid8 | ScalarType::PgLsn => Datum::Unsigned(u64::from_be_bytes(fixed(&mut body)?)),
        ScalarType::Tid => {
            let block = u32::from_be_bytes(fixed(&mut body)?);
            Datum::Unsigned(tid(block, u16::from_be_bytes(fixed(&mut body)?)))
        }
        ScalarType::AclItem => return Err(text_alone("input")),
        snapshot if is_transaction_snapshot(snapshot) => transaction_snapshot(&mut body)?,
        ScalarType::Uuid => Datum::Uuid(fixed(&mut body)?),
        ScalarType::Int2Vector => Datum::Array(decode_array(&mut body, &ScalarType::Int2, None, context)?),
        ScalarType::OidVector => Datum::Array(decode_array(&mut body, &ScalarType::Oid, None, context)?),
        ScalarType::Array(element) => Datum::Array(decode_array(&mut body, element, None, context)?),
        ScalarType::Record(record) => decode_record(&mut body, record, context)?,
        // Its one value, whatever is sent.
        ScalarType::Void => return Ok(Datum::Text("".into())),
        other => match GeometricType::of(other) {
            Some(kind) => return Ok(Datum::Geometry(Arc::new(Geometry::decode(kind, bytes)?))),
            None => decode_ranges(&mut body, other, context)?,
        },
    };
    body.end().map_err(|_| SqlError::new("22P03", "incorrect binary data format"))?;
    Ok(datum)
}

fn date(body: &mut Body<'_>) -> Result<i32, SqlError> {
    match body.int4()? {
        date @ (i32::MIN | i32::MAX | DATE_MIN..DATE_END) => Ok(date),
        _ => Err(SqlError::new("22008", "date out of range")),
    }
}

/// Reads a time of day, and how far west of UTC it is.
fn time_tz(body: &mut Body<'_>) -> Result<TimeTz, SqlError> {
    let micros = i64::from_be_bytes(fixed(body)?);
    let west = body.int4()?;
    if !(0..=DAY_MICROS).contains(&micros) {
        return Err(SqlError::new("22008", "time out of range"));
    }
    if west.unsigned_abs() >= ZONE_SECONDS_END {
        return Err(SqlError::new("22009", "time zone displacement out of range"));
    }
    Ok(TimeTz { micros, west })
}

/// The text behind the number of its form's version.
fn versioned<'b>(bytes: &'b [u8], known: u8, name: &str) -> Result<&'b [u8], SqlError> {
    let version = Body::new(bytes).byte()?;
    if version != known {
        return Err(SqlError::new("XX000", format!("unsupported {name} {version}")));
    }
    Ok(&bytes[1..])
}

/// Reads an interval: its microseconds, days and months.
fn interval(body: &mut Body<'_>) -> Result<Interval, SqlError> {
    let micros = i64::from_be_bytes(fixed(body)?);
    let days = body.int4()?;
    let months = body.int4()?;
    Ok(Interval { months, days, micros })
}

/// Reads an address of eight bytes, or makes one of six.
fn mac_address_8(body: &mut Body<'_>, length: usize) -> Result<MacAddress, SqlError> {
    if length == 6 {
        return Ok(MacAddress::Six(each(body)?).to_eight());
    }
    each(body).map(MacAddress::Eight)
}

/// Reads which transactions had ended.
fn transaction_snapshot(body: &mut Body<'_>) -> Result<Datum, SqlError> {
    let invalid = || SqlError::new("22P03", "invalid external pg_snapshot data");
    let count = u32::try_from(body.int4()?).map_err(|_| invalid())?;
    let (first_open, end) = (u64::from_be_bytes(fixed(body)?), u64::from_be_bytes(fixed(body)?));
    // As many as there are bytes for: the count is the client's.
    let open = (0..count).map(|_| fixed(body).map(u64::from_be_bytes)).collect::<Result<Vec<_>, _>>()?;
    let snapshot = TransactionSnapshot::of(first_open, end, open).ok_or_else(invalid)?;
    Ok(Datum::Text(snapshot.text().into()))
}

/// Reads a string of bits: how many they are, and they.
fn bits(body: &mut Body<'_>) -> Result<Bits, SqlError> {
    let length = usize::try_from(body.int4()?).ok().filter(|length| *length <= BITS_MAX);
    let length = length.ok_or_else(|| SqlError::new("22P03", "invalid length in external bit string"))?;
    Ok(Bits::new(length, body.bytes(length.div_ceil(8))?.to_vec()))
}

/// Reads an address of a network: its family, its length, what it is, and its bytes.
fn network(body: &mut Body<'_>, scalar: &ScalarType) -> Result<Network, SqlError> {
    let kind = if *scalar == ScalarType::Cidr { "cidr" } else { "inet" };
    let invalid = |what| SqlError::new("22P03", format!("invalid {what} in external \"{kind}\" value"));
    let [family, length, _is_cidr, count] = fixed(body)?;
    let network = match (family, count) {
        (NETWORK_V4, 4) => Network::of_bytes(&fixed::<4>(body)?, length),
        (NETWORK_V6, 16) => Network::of_bytes(&fixed::<16>(body)?, length),
        (NETWORK_V4 | NETWORK_V6, _) => return Err(invalid("length")),
        _ => return Err(invalid("address family")),
    };
    let network = network.ok_or_else(|| invalid("bits"))?;
    if *scalar == ScalarType::Cidr && network.network() != network {
        return Err(
            SqlError::new("22P03", "invalid external \"cidr\" value").detail("Value has bits set to right of mask.")
        );
    }
    Ok(network)
}

/// Reads a value for a column, whose length, precision or scale it must fit.
pub(crate) fn decode_column(bytes: &[u8], column: &ColumnType, context: &TextContext) -> Result<Datum, SqlError> {
    match column.scalar {
        // Their binary form is their text.
        ScalarType::Varchar | ScalarType::Bpchar => text::decode_column(bytes, column, context),
        _ => fitted(decode(bytes, &column.scalar, context)?, column),
    }
}

/// A value as a column of this type takes it.
fn fitted(datum: Datum, column: &ColumnType) -> Result<Datum, SqlError> {
    let modifier = column.modifier;
    if modifier < 0 {
        return Ok(datum);
    }
    Ok(match datum {
        Datum::Numeric(value) => Datum::Numeric(value.apply_modifier(modifier)?),
        Datum::Time(value) => Datum::Time(round_to_precision(value, modifier)),
        Datum::TimeTz(value) => Datum::TimeTz(value.rounded(modifier)),
        Datum::Timestamp(value) => Datum::Timestamp(check_timestamp(round_to_precision(value, modifier))?),
        Datum::Timestamptz(value) => Datum::Timestamptz(check_timestamp(round_to_precision(value, modifier))?),
        Datum::Interval(value) => Datum::Interval(value.apply_modifier(modifier)),
        Datum::Bits(value) => Datum::Bits(value.assign_length(&column.scalar, modifier)?),
        Datum::Text(text) | Datum::Bpchar(text) => repr::text::assign_length(&column.scalar, modifier, &text)?,
        Datum::Array(array) => {
            let scalar = column.scalar.element().ok_or_else(|| mismatch(&column.scalar))?;
            let element = ColumnType { scalar, ..column.clone() };
            let elements = array.elements.iter().map(|datum| fitted(datum.clone(), &element));
            Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements.collect::<Result<_, _>>()?)))
        }
        other => other,
    })
}

fn fixed<const LENGTH: usize>(body: &mut Body<'_>) -> Result<[u8; LENGTH], SqlError> {
    Ok(body.bytes(LENGTH)?.try_into().expect("as many bytes were asked for"))
}

/// As `fixed`, byte by byte: the error is another.
fn each<const LENGTH: usize>(body: &mut Body<'_>) -> Result<[u8; LENGTH], SqlError> {
    let mut bytes = [0; LENGTH];
    for byte in &mut bytes {
        *byte = body.byte()?;
    }
    Ok(bytes)
}

fn timestamp(body: &mut Body<'_>) -> Result<i64, SqlError> {
    match i64::from_be_bytes(fixed(body)?) {
        value @ (i64::MIN | i64::MAX | TIMESTAMP_MIN..TIMESTAMP_END) => Ok(value),
        _ => Err(SqlError::new("22008", "timestamp out of range")),
    }
}

/// Text in a parameter, in the client's encoding and without NUL.
pub(crate) fn parameter_text<'b>(bytes: &'b [u8], context: &TextContext) -> Result<Cow<'b, str>, SqlError> {
    if bytes.contains(&0) {
        let name = if context.encoding.is_same() { "UTF8" } else { context.encoding.name() };
        return Err(SqlError::new("22021", format!("invalid byte sequence for encoding \"{name}\": 0x00")));
    }
    Ok(context.encoding.decode(bytes)?)
}

/// Reads a composite of a type that says its fields.
fn decode_record(body: &mut Body<'_>, record: &RecordType, context: &TextContext) -> Result<Datum, SqlError> {
    if record.is_anonymous() {
        return Err(SqlError::unsupported("input of anonymous composite types"));
    }
    let count = body.int4()?;
    if usize::try_from(count) != Ok(record.len()) {
        let message = format!("wrong number of columns: {count}, expected {}", record.len());
        return Err(SqlError::new("42804", message));
    }
    let mut fields = Vec::with_capacity(record.len());
    for (place, (_, scalar)) in record.iter().enumerate() {
        let oid = u32::from_be_bytes(fixed(body)?);
        let expected = record.field_oid(place);
        if oid != expected {
            let message = format!(
                "binary data has type {oid} ({}) instead of expected {} ({}) in record column {}",
                shown_type(oid),
                expected,
                scalar.format_type(-1),
                place + 1
            );
            return Err(SqlError::new("42804", message));
        }
        let field = match body.value()? {
            None => Datum::Null,
            // Elements of a domain name it, whose OID stands before its array's.
            Some(bytes) if expected != scalar.oid() && scalar.is_array() => {
                let (mut body, element) = (Body::new(bytes), scalar.element().unwrap_or(ScalarType::Text));
                let array = decode_array(&mut body, &element, Some(expected - 1), context)?;
                body.end().map_err(|_| SqlError::new("22P03", "incorrect binary data format"))?;
                Datum::Array(array)
            }
            Some(bytes) => decode(bytes, scalar, context)?,
        };
        fields.push(match record.modifier(place) {
            -1 => field,
            // Only the text form's reader applies one; NULL has none.
            _ if field.is_null() => field,
            modifier => repr::text::parse(scalar, modifier, &repr::text::format(&field, scalar, context), context)?,
        });
    }
    Ok(Datum::Record(fields.into()))
}

fn shown_type(oid: u32) -> String {
    ScalarType::from_oid(oid).map_or_else(|| "???".to_string(), |given| given.format_type(-1))
}

fn decode_array(
    body: &mut Body<'_>,
    element: &ScalarType,
    domain: Option<u32>,
    context: &TextContext,
) -> Result<Arc<Array>, SqlError> {
    let malformed = |message: &str| SqlError::new("22P03", message);
    let dimension_count = body.int4()?;
    if !(0..=DIMENSIONS_MAX).contains(&dimension_count) {
        return Err(SqlError::new(
            "54000",
            format!("number of array dimensions ({dimension_count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"),
        ));
    }
    if !(0..=1).contains(&body.int4()?) {
        return Err(malformed("invalid array flags"));
    }
    let oid = u32::from_be_bytes(fixed(body)?);
    if oid != element.oid() && domain != Some(oid) {
        return Err(SqlError::new(
            "42804",
            format!(
                "binary data has array element type {oid} ({}) instead of expected {} ({})",
                shown_type(oid),
                element.oid(),
                element.format_type(-1)
            ),
        ));
    }
    let mut dimensions = Vec::new();
    let mut count: usize = usize::from(dimension_count != 0);
    for _ in 0..dimension_count {
        let length = usize::try_from(body.int4()?).map_err(|_| malformed("invalid array dimension"))?;
        let lower = body.int4()?;
        let upper = i64::from(lower) + length as i64 - 1;
        if upper > i64::from(i32::MAX) {
            return Err(SqlError::new("22003", "array lower bound is too large"));
        }
        count = count.saturating_mul(length);
        dimensions.push((length, lower));
    }
    if count == 0 {
        return Ok(Arc::new(Array::new(Vec::new(), Vec::new())));
    }
    let mut elements = Vec::new();
    for _ in 0..count {
        elements.push(match body.value()? {
            None => Datum::Null,
            Some(bytes) => decode(bytes, element, context)?,
        });
    }
    Ok(Arc::new(Array::new(dimensions, elements)))
}

fn mismatch(scalar: &ScalarType) -> SqlError {
    SqlError::new("XX000", format!("a value does not fit its column's type {}", scalar.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn round_trip(scalar: &ScalarType, text: &str) -> String {
        let context = TextContext::default();
        let datum = repr::text::parse(scalar, -1, text, &context).expect("text is valid");
        let mut out = Vec::new();
        encode(datum.value(), scalar, &context, &mut out).expect("encodes");
        assert_eq!(decode(&out, scalar, &context).expect("decodes"), datum, "{text}");
        for end in 0..out.len() {
            // A cut value may be a shorter text, but never a panic.
            drop(decode(&out[..end], scalar, &context));
        }
        hex(&out)
    }

    /// The right side is what PostgreSQL 15's send functions give.
    #[test]
    fn values_are_written_as_postgres_writes_them() {
        let array = |element: ScalarType| ScalarType::Array(Box::new(element));
        for (scalar, text, expected) in [
            (ScalarType::Bool, "t", "01"),
            (ScalarType::Int2, "-2", "fffe"),
            (ScalarType::Int4, "258", "00000102"),
            (ScalarType::Int8, "-1", "ffffffffffffffff"),
            (ScalarType::Oid, "4294967295", "ffffffff"),
            (ScalarType::Float4, "1.5", "3fc00000"),
            (ScalarType::Float8, "-0.25", "bfd0000000000000"),
            (ScalarType::Numeric, "1234.50", "000200000000000204d21388"),
            (ScalarType::Text, "é", "c3a9"),
            (ScalarType::Varchar, "ab", "6162"),
            (ScalarType::Name, "ab", "6162"),
            (ScalarType::Char, "a", "61"),
            (ScalarType::Char, "\\377", "ff"),
            (ScalarType::Bytea, "\\x00ff", "00ff"),
            (ScalarType::Date, "2000-01-02", "00000001"),
            (ScalarType::Date, "infinity", "7fffffff"),
            (ScalarType::Time, "00:00:01", "00000000000f4240"),
            (ScalarType::TimeTz, "00:00:01+02", "00000000000f4240ffffe3e0"),
            (ScalarType::Citext, "aB", "6142"),
            (ScalarType::Hstore, "b=>\"\", a=>NULL", "000000020000000161ffffffff000000016200000000"),
            (ScalarType::Timestamp, "2000-01-01 00:00:01", "00000000000f4240"),
            (ScalarType::Timestamptz, "1999-12-31 23:59:59+00", "fffffffffff0bdc0"),
            (ScalarType::Interval, "1 month 2 days 00:00:01", "00000000000f42400000000200000001"),
            (ScalarType::Uuid, "00112233-4455-6677-8899-aabbccddeeff", "00112233445566778899aabbccddeeff"),
            (ScalarType::MacAddr, "08:00:2b:01:02:03", "08002b010203"),
            (ScalarType::MacAddr8, "08:00:2b:01:02:03", "08002bfffe010203"),
            (ScalarType::Bit, "101", "00000003a0"),
            (ScalarType::VarBit, "", "00000000"),
            (ScalarType::VarBit, "111111111", "00000009ff80"),
            (ScalarType::Money, "-$1.01", "ffffffffffffff9b"),
            (ScalarType::Xid8, "18446744073709551615", "ffffffffffffffff"),
            (ScalarType::PgLsn, "16/B374D848", "00000016b374d848"),
            (ScalarType::Tid, "(258,3)", "000001020003"),
            (ScalarType::PgSnapshot, "1:4:2", "00000001000000000000000100000000000000040000000000000002"),
            (ScalarType::Point, "(1,2)", "3ff00000000000004000000000000000"),
            (ScalarType::Lseg, "[(1,2),(3,4)]", "3ff0000000000000400000000000000040080000000000004010000000000000"),
            (ScalarType::Line, "{1,2,3}", "3ff000000000000040000000000000004008000000000000"),
            (ScalarType::Box, "(3,4),(1,2)", "400800000000000040100000000000003ff00000000000004000000000000000"),
            (ScalarType::Path, "[(1,2)]", "00000000013ff00000000000004000000000000000"),
            (ScalarType::Path, "((1,2))", "01000000013ff00000000000004000000000000000"),
            (ScalarType::Polygon, "((1,2))", "000000013ff00000000000004000000000000000"),
            (ScalarType::Circle, "<(1,2),3>", "3ff000000000000040000000000000004008000000000000"),
            (ScalarType::Xml, "<a/>", "3c612f3e"),
            (
                array(ScalarType::Box),
                "{(1,1),(0,0)}",
                "00000001000000000000025b0000000100000001000000203ff00000000000003ff000000000000000000000000000000000000000000000",
            ),
            (ScalarType::Json, "[1]", "5b315d"),
            (ScalarType::Jsonb, "[1, 2]", "015b312c20325d"),
            (array(ScalarType::Int4), "{}", "000000000000000000000017"),
            (array(ScalarType::Int4), "{1,NULL}", "00000001000000010000001700000002000000010000000400000001ffffffff"),
            (
                array(ScalarType::Text),
                "[0:0][2:3]={{a,b}}",
                "000000020000000000000019000000010000000000000002000000020000000161000000\
                 0162",
            ),
            (ScalarType::Int2Vector, "1 2", "0000000100000000000000150000000200000000000000020001000000020002"),
            (ScalarType::OidVector, "7", "00000001000000000000001a00000001000000000000000400000007"),
        ] {
            assert_eq!(round_trip(&scalar, text), expected, "{text}");
        }
    }

    #[test]
    fn records_carry_their_fields_types() {
        let scalar =
            ScalarType::Record(vec![("a".to_string(), ScalarType::Int4), ("b".to_string(), ScalarType::Text)].into());
        let datum = Datum::Record(vec![Datum::Int4(1), Datum::Null].into());
        let mut out = Vec::new();
        encode(datum.value(), &scalar, &TextContext::default(), &mut out).expect("encodes");
        assert_eq!(hex(&out), "0000000200000017000000040000000100000019ffffffff");
    }

    #[test]
    fn a_document_that_is_text_already_is_a_document() {
        let mut out = Vec::new();
        let datum = Datum::Text("[1, 2]".into());
        encode(datum.value(), &ScalarType::Jsonb, &TextContext::default(), &mut out).expect("encodes");
        assert_eq!(hex(&out), "015b312c20325d");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let context = TextContext::default();
        let array = ScalarType::Array(Box::new(ScalarType::Int4));
        for (scalar, bytes, code) in [
            (ScalarType::Int4, &[0, 0, 0][..], "08P01"),
            (ScalarType::Int4, &[0, 0, 0, 0, 0], "22P03"),
            (ScalarType::Text, b"a\0b", "22021"),
            (ScalarType::Text, b"\xff", "22021"),
            (ScalarType::Uuid, &[0; 15], "08P01"),
            (ScalarType::Date, &[0x7f, 0xff, 0xff, 0xfe], "22008"),
            (ScalarType::Time, &[0xff; 8], "22008"),
            (ScalarType::TimeTz, &[0xff; 12], "22008"),
            (ScalarType::TimeTz, &[0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0], "22009"),
            (ScalarType::Timestamp, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe], "22008"),
            (ScalarType::Bit, &[0xff, 0xff, 0xff, 0xff], "22P03"),
            (ScalarType::VarBit, &[0x3f, 0xff, 0xff, 0xf8, 0], "08P01"),
            (ScalarType::Bit, &[0, 0, 0, 3, 0xa0, 0], "22P03"),
            (ScalarType::MacAddr, &[0; 8], "22P03"),
            (ScalarType::MacAddr8, &[0; 7], "08P01"),
            (ScalarType::Money, &[0; 7], "08P01"),
            (ScalarType::Json, b"{", "22P02"),
            (ScalarType::Xml, b"<a", "2200N"),
            (ScalarType::Point, &[0; 15], "08P01"),
            (ScalarType::Point, &[0; 17], "22P03"),
            (ScalarType::Line, &[0; 24], "22P03"),
            (ScalarType::Circle, &[0xbf; 24], "22P03"),
            (ScalarType::Polygon, &[0, 0, 0, 0], "22P03"),
            // A count that only promises points.
            (ScalarType::Polygon, &[7, 0xff, 0xff, 0], "08P01"),
            (ScalarType::Path, &[1, 0xff, 0xff, 0xff, 0xff], "22P03"),
            (ScalarType::Jsonb, b"\x02{}", "XX000"),
            (ScalarType::Jsonb, b"", "08P01"),
            // Seven dimensions; a wrong element type; a length that only promises elements.
            (array.clone(), &[0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 23], "54000"),
            (array.clone(), &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25], "42804"),
            (array.clone(), &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 2], "22003"),
            (array, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xf0, 0, 0, 0, 1], "08P01"),
        ] {
            assert_eq!(decode(bytes, &scalar, &context).expect_err("refused").code, code, "{scalar:?} {bytes:?}");
        }
    }
}
