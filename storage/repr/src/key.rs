//! Order-preserving, canonical key bytes: what indexes, row keys, GROUP BY and ORDER BY compare.
//!
//! ```text
//! NULL        FF (last) or 00 (first); no other datum starts with either, inverted or not
//! integers    80+n and n big-endian bytes, n minimal; 7F-n and n bytes for negatives
//!             (also dates, times, timestamps, enums by position, intervals by comparison value)
//! text, bytea tag, bytes with 00 as 00 FF, 00 00 (of citext those of its folded form)
//! timetz      its microseconds in UTC, then the seconds that its zone is west, as integers
//! floats      tag, 8 bytes in total order (-0 as 0, one NaN, greatest)
//! numeric     tag, class, decimal exponent, two digits a byte (1..=100), 00; inverted if negative
//! tsvector    tag, its size, how many lexemes; each with its positions inverted; tsquery likewise
//! nested      tag, elements, 00, then what breaks ties
//! hstore      tag, all its texts, tag, how many, where each ends, whether it is NULL
//! bit         tag, its bytes as bytea's, how many bits of the last one it has
//! macaddr     tag, its length, its bytes
//! range       tag, 01 if it is empty, else 02 and both bounds: whether there is one, the value, on which side of it
//! ```
//!
//! Two datums of one type (integers, floats, strings each count as one) have equal bytes exactly if
//! SQL calls them equal, and bytes in SQL's order. Codes are prefix-free, so they concatenate.
//! Never an encoding to store values in: of most types it does not decode (of some, see `decode`).

pub mod decode;

use crate::citext::folded;
use crate::text_search::query::{checksum, key_code};
use crate::text_search::{Position, QueryItem, TsQuery, TsVector};
use crate::{Array, Bits, Datum, Geometry, Hstore, Jsonb, MacAddress, Network, Numeric, Range};
use num_bigint::Sign;

const NULLS_FIRST: u8 = 0x00;
const NULLS_LAST: u8 = 0xFF;
const END: u8 = 0x00;
/// What ends a text or bytes: without it their code is how all begin that begin as they do.
pub const END_BYTES: usize = 2;
const FALSE: u8 = 0x10;
const TRUE: u8 = 0x11;
const FLOAT: u8 = 0x12;
const NUMERIC: u8 = 0x13;
const TEXT: u8 = 0x14;
const BYTEA: u8 = 0x15;
const UUID: u8 = 0x16;
const JSONB: u8 = 0x17;
const ARRAY: u8 = 0x18;
const RECORD: u8 = 0x19;
const NETWORK: u8 = 0x1A;
const TSVECTOR: u8 = 0x1B;
const TSQUERY: u8 = 0x1C;
const JSONPATH: u8 = 0x1D;
const RANGE: u8 = 0x1E;
const MULTIRANGE: u8 = 0x1F;
const BITS: u8 = 0x20;
const MAC_ADDRESS: u8 = 0x21;
const GEOMETRY: u8 = 0x28;
const XML: u8 = 0x29;
const HSTORE: u8 = 0x2A;

/// Appends the ascending code of a datum, NULLs last.
pub fn encode(out: &mut Vec<u8>, datum: &Datum) {
    match datum {
        Datum::Null => out.push(NULLS_LAST),
        Datum::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Datum::Int2(value) => encode_int(out, i128::from(*value)),
        Datum::Int4(value) => encode_int(out, i128::from(*value)),
        Datum::Int8(value) => encode_int(out, i128::from(*value)),
        Datum::Oid(value) => encode_int(out, i128::from(*value)),
        Datum::Float4(value) => encode_float(out, f64::from(*value)),
        Datum::Float8(value) => encode_float(out, *value),
        Datum::Numeric(value) => {
            out.push(NUMERIC);
            encode_numeric(out, value);
        }
        Datum::Text(text) => encode_tagged(out, TEXT, text.as_bytes()),
        Datum::Bpchar(text) => encode_tagged(out, TEXT, text.trim_end_matches(' ').as_bytes()),
        Datum::Citext(text) => encode_tagged(out, TEXT, folded(text).as_bytes()),
        Datum::Hstore(value) => encode_hstore(out, value),
        Datum::Bytea(bytes) => encode_bytea(out, bytes),
        Datum::Date(value) => encode_int(out, i128::from(*value)),
        Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) | Datum::Money(value) => {
            encode_int(out, i128::from(*value));
        }
        Datum::Unsigned(value) => encode_int(out, i128::from(*value)),
        Datum::TimeTz(value) => {
            [value.utc_micros(), value.west.into()].map(i128::from).iter().for_each(|part| encode_int(out, *part));
        }
        Datum::Interval(value) => encode_int(out, value.comparison_value()),
        Datum::Network(value) => encode_network(out, value),
        Datum::MacAddress(value) => encode_mac_address(out, *value),
        Datum::Bits(bits) => encode_bits(out, bits),
        Datum::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(bytes);
        }
        Datum::TsVector(vector) => encode_ts_vector(out, vector),
        Datum::TsQuery(query) => encode_ts_query(out, query),
        Datum::Jsonb(value) => {
            out.push(JSONB);
            encode_jsonb(out, value);
        }
        // SQL does not order these: any order does.
        Datum::Xml(text) => encode_tagged(out, XML, text.as_bytes()),
        Datum::Geometry(shape) => encode_geometry(out, shape),
        Datum::JsonPath(path) => encode_tagged(out, JSONPATH, path.packed().as_bytes()),
        Datum::Enum { position, .. } => encode_int(out, i128::from(*position)),
        Datum::Array(array) => encode_array(out, array),
        Datum::Record(fields) => {
            out.push(RECORD);
            for field in fields.iter() {
                encode(out, field);
            }
            out.push(END);
        }
        Datum::Range(range) => {
            out.push(RANGE);
            encode_range(out, range);
        }
        Datum::Multirange(ranges) => {
            out.push(MULTIRANGE);
            for range in ranges.iter() {
                encode_range(out, range);
            }
            out.push(END);
        }
    }
}

fn encode_geometry(out: &mut Vec<u8>, shape: &Geometry) {
    let mut packed = Vec::new();
    shape.pack(&mut packed);
    encode_tagged(out, GEOMETRY, &packed);
}

fn encode_hstore(out: &mut Vec<u8>, value: &Hstore) {
    let (texts, places) = value.key_parts();
    encode_tagged(out, HSTORE, &texts);
    encode_tagged(out, HSTORE, &places);
}

fn encode_array(out: &mut Vec<u8>, array: &Array) {
    out.push(ARRAY);
    for element in &array.elements {
        encode(out, element);
    }
    out.push(END);
    encode_int(out, array.dimensions.len() as i128);
    for (length, _) in &array.dimensions {
        encode_int(out, *length as i128);
    }
    for (_, lower) in &array.dimensions {
        encode_int(out, i128::from(*lower));
    }
}

fn encode_range(out: &mut Vec<u8>, range: &Range) {
    let Some((from, to)) = range.bounds() else { return out.push(1) };
    out.push(2);
    match &from.value {
        None => out.push(1),
        Some(value) => {
            out.push(2);
            encode(out, value);
            out.push(u8::from(!from.inclusive));
        }
    }
    match &to.value {
        None => out.push(2),
        Some(value) => {
            out.push(1);
            encode(out, value);
            out.push(u8::from(to.inclusive));
        }
    }
}

/// Appends the ascending code of bytes, as that of a `bytea`.
pub fn encode_bytea(out: &mut Vec<u8>, bytes: &[u8]) {
    encode_tagged(out, BYTEA, bytes);
}

/// Appends the code of a datum for one ORDER BY item.
pub fn encode_ordered(out: &mut Vec<u8>, datum: &Datum, descending: bool, nulls_first: bool) {
    if matches!(datum, Datum::Null) {
        out.push(if nulls_first { NULLS_FIRST } else { NULLS_LAST });
        return;
    }
    let start = out.len();
    encode(out, datum);
    if descending {
        invert(&mut out[start..]);
    }
}

/// The ascending codes of several datums, one after another.
pub fn encode_all(datums: &[Datum]) -> Vec<u8> {
    let mut out = Vec::with_capacity(datums.len() * 12);
    for datum in datums {
        encode(&mut out, datum);
    }
    out
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

fn encode_int(out: &mut Vec<u8>, value: i128) {
    let magnitude = if value < 0 { !value } else { value };
    let length = (128 - magnitude.leading_zeros()).div_ceil(8) as usize;
    out.push(if value < 0 { 0x7F - length as u8 } else { 0x80 + length as u8 });
    out.extend_from_slice(&value.to_be_bytes()[16 - length..]);
}

fn encode_float(out: &mut Vec<u8>, value: f64) {
    let value = if value.is_nan() {
        f64::NAN
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    // The one NaN that is positive and quiet has the greatest bits of all floats kept here.
    let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(FLOAT);
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn encode_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 2);
    for part in bytes.split_inclusive(|byte| *byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn encode_network(out: &mut Vec<u8>, value: &Network) {
    out.push(NETWORK);
    value.append_order(out);
}

fn encode_mac_address(out: &mut Vec<u8>, value: MacAddress) {
    out.extend_from_slice(&[MAC_ADDRESS, value.bytes().len() as u8]);
    out.extend_from_slice(value.bytes());
}

fn encode_bits(out: &mut Vec<u8>, bits: &Bits) {
    let (unused, bytes) = bits.parts();
    encode_tagged(out, BITS, bytes);
    out.push(8 - unused);
}

#[inline]
fn encode_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    encode_bytes(out, bytes);
}

/// Its size first, then its lexemes; those with positions come before those without, more positions before fewer, later ones
/// before earlier ones.
fn encode_ts_vector(out: &mut Vec<u8>, vector: &TsVector) {
    out.push(TSVECTOR);
    encode_int(out, i128::from(vector.stored_bytes()));
    encode_int(out, vector.len() as i128);
    for (lexeme, positions) in vector.iter() {
        out.push(u8::from(positions.is_empty()));
        encode_bytes(out, lexeme.as_bytes());
        out.extend_from_slice(&(!(positions.len() as u16)).to_be_bytes());
        for position in positions {
            out.extend_from_slice(&(!Position::rank(*position)).to_be_bytes());
        }
    }
}

/// How many items there are and the bytes of its lexemes, then the items: operators before operands, greater ones before
/// smaller ones, lexemes by their checksums. A phrase's distance counts last.
fn encode_ts_query(out: &mut Vec<u8>, query: &TsQuery) {
    out.push(TSQUERY);
    encode_int(out, query.items().len() as i128);
    encode_int(out, query.lexeme_bytes() as i128);
    // Of each phrase that is open: how many operands are still to come, and its distance.
    let mut open: Vec<(u8, u16)> = Vec::new();
    for item in query.items() {
        match item {
            QueryItem::Operator { operator, .. } => {
                out.push(key_code(*operator));
                open.push(operator.shape());
                continue;
            }
            QueryItem::Operand(operand) => {
                out.push(u8::MAX);
                encode_int(out, -i128::from(checksum(&operand.lexeme)));
                encode_bytes(out, operand.lexeme.as_bytes());
            }
        }
        while let Some((operands, distance)) = open.last_mut() {
            *operands -= 1;
            if *operands > 0 {
                break;
            }
            out.extend_from_slice(&(!*distance).to_be_bytes());
            open.pop();
        }
    }
}

/// What a query is ordered by.
pub(crate) fn query_code(query: &TsQuery) -> Vec<u8> {
    let mut out = Vec::new();
    encode_ts_query(&mut out, query);
    out
}

const NUMERIC_NEGATIVE_INFINITY: u8 = 1;
const NUMERIC_NEGATIVE: u8 = 2;
const NUMERIC_ZERO: u8 = 3;
const NUMERIC_POSITIVE: u8 = 4;
const NUMERIC_INFINITY: u8 = 5;
const NUMERIC_NAN: u8 = 6;

fn encode_numeric(out: &mut Vec<u8>, value: &Numeric) {
    let (unscaled, scale) = match value {
        Numeric::NegativeInfinity => return out.push(NUMERIC_NEGATIVE_INFINITY),
        Numeric::Infinity => return out.push(NUMERIC_INFINITY),
        Numeric::NaN => return out.push(NUMERIC_NAN),
        Numeric::Finite { unscaled, scale } => (unscaled, *scale),
    };
    if unscaled.sign() == Sign::NoSign {
        return out.push(NUMERIC_ZERO);
    }
    let mut buffer = [0u8; 20];
    let large;
    // Almost all numbers fit a machine word; those need no allocation.
    let digits: &[u8] = match u64::try_from(unscaled.magnitude()) {
        Ok(mut small) => {
            let mut start = buffer.len();
            while small > 0 {
                start -= 1;
                buffer[start] = (small % 10) as u8;
                small /= 10;
            }
            &buffer[start..]
        }
        Err(_) => {
            large = unscaled.magnitude().to_radix_be(10);
            &large
        }
    };
    let negative = unscaled.sign() == Sign::Minus;
    out.push(if negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE });
    let start = out.len();
    // The value is 0.d1d2d3... times ten to the exponent.
    encode_int(out, digits.len() as i128 - i128::from(scale));
    let significant = digits.len() - digits.iter().rev().take_while(|digit| **digit == 0).count();
    for pair in digits[..significant].chunks(2) {
        out.push(1 + pair[0] * 10 + pair.get(1).copied().unwrap_or(0));
    }
    out.push(END);
    if negative {
        invert(&mut out[start..]);
    }
}

const JSONB_EMPTY_ARRAY: u8 = 1;
const JSONB_NULL: u8 = 2;
const JSONB_STRING: u8 = 3;
const JSONB_NUMBER: u8 = 4;
const JSONB_FALSE: u8 = 5;
const JSONB_TRUE: u8 = 6;
const JSONB_ARRAY: u8 = 7;
const JSONB_OBJECT: u8 = 8;

fn encode_jsonb(out: &mut Vec<u8>, value: &Jsonb) {
    // PostgreSQL counts a scalar at the top as an array of one, so the empty array comes before it.
    match value {
        Jsonb::Array(elements) if elements.is_empty() => out.push(JSONB_EMPTY_ARRAY),
        Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) | Jsonb::Array(_) | Jsonb::Object(_) => {
            encode_jsonb_value(out, value);
        }
    }
}

fn encode_jsonb_value(out: &mut Vec<u8>, value: &Jsonb) {
    match value {
        Jsonb::Null => out.push(JSONB_NULL),
        Jsonb::Bool(value) => out.push(if *value { JSONB_TRUE } else { JSONB_FALSE }),
        Jsonb::Number(number) => {
            out.push(JSONB_NUMBER);
            encode_numeric(out, number);
        }
        Jsonb::String(text) => {
            out.push(JSONB_STRING);
            encode_bytes(out, text.as_bytes());
        }
        Jsonb::Array(elements) => {
            out.push(JSONB_ARRAY);
            encode_int(out, elements.len() as i128);
            for element in elements.iter() {
                encode_jsonb_value(out, element);
            }
        }
        Jsonb::Object(pairs) => {
            out.push(JSONB_OBJECT);
            encode_int(out, pairs.len() as i128);
            for (key, value) in pairs.iter() {
                encode_bytes(out, key.as_bytes());
                encode_jsonb_value(out, value);
            }
        }
    }
}
