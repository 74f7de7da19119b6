//! One SQL value where it stands: in a datum, or in a packed row.
//!
//! What writes values out (text here, the wire's formats above) is written once, over this, so that a row can be
//! sent as it is packed, without a datum made of it first. Never outlives what it was read from.

use crate::{
    Array, Bits, Datum, Geometry, Hstore, Interval, JsonPath, Jsonb, MacAddress, Network, Numeric, Range, TimeTz,
    TsQuery, TsVector,
};
use std::ops::Deref;
use std::sync::Arc;

/// What is lent by a datum, or was made of packed bytes.
pub enum Held<'a, T> {
    /// Lent.
    Lent(&'a T),
    /// Made.
    Made(Box<T>),
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match self {
            Held::Lent(value) => value,
            Held::Made(value) => value,
        }
    }
}

impl<T: Clone> Held<'_, T> {
    fn into_own(self) -> T {
        match self {
            Held::Lent(value) => value.clone(),
            Held::Made(value) => *value,
        }
    }
}

/// A value of some `ScalarType`: see `Datum`, which owns what this looks at.
pub enum Value<'a> {
    /// SQL NULL of any type.
    Null,
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// oid, xid and the reg* types
    Oid(u32),
    /// real
    Float4(f32),
    /// double precision
    Float8(f64),
    /// numeric
    Numeric(Held<'a, Numeric>),
    /// A finite numeric of few digits: `unscaled` × 10^-`scale`.
    Decimal {
        /// All digits.
        unscaled: i64,
        /// How many of them stand behind the point.
        scale: u16,
    },
    /// text and its kind, in UTF-8 (as it was packed: it is not looked at again)
    Text(&'a [u8]),
    /// character(n), the same
    Bpchar(&'a [u8]),
    /// citext, the same
    Citext(&'a [u8]),
    /// xml, the same
    Xml(&'a [u8]),
    /// hstore
    Hstore(Hstore),
    /// bytea
    Bytea(&'a [u8]),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// time with time zone
    TimeTz(TimeTz),
    /// Microseconds since 2000-01-01 00:00:00.
    Timestamp(i64),
    /// The same, in UTC.
    Timestamptz(i64),
    /// interval
    Interval(Interval),
    /// inet, cidr
    Network(Network),
    /// macaddr, macaddr8
    MacAddress(MacAddress),
    /// bit, bit varying
    Bits(Bits),
    /// money, in cents
    Money(i64),
    /// xid8, pg_lsn, tid
    Unsigned(u64),
    /// point, lseg, line, box, path, polygon, circle
    Geometry(Arc<Geometry>),
    /// uuid
    Uuid(&'a [u8; 16]),
    /// tsvector
    TsVector(TsVector),
    /// tsquery
    TsQuery(TsQuery),
    /// jsonb
    Jsonb(Held<'a, Jsonb>),
    /// jsonpath
    JsonPath(JsonPath),
    /// An enum's label, in UTF-8.
    Enum {
        /// Sort position within the type.
        position: u32,
        /// The label.
        label: &'a [u8],
    },
    /// array, int2vector, oidvector
    Array(Arc<Array>),
    /// A composite value.
    Record(Arc<[Datum]>),
    /// A range
    Range(Arc<Range>),
    /// A multirange
    Multirange(Arc<[Range]>),
}

impl Value<'_> {
    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A datum of its own. None if a text is not UTF-8, which no packed datum is.
    #[inline(always)]
    pub fn into_datum(self) -> Option<Datum> {
        Some(match self {
            Value::Null => Datum::Null,
            Value::Bool(value) => Datum::Bool(value),
            Value::Int2(value) => Datum::Int2(value),
            Value::Int4(value) => Datum::Int4(value),
            Value::Int8(value) => Datum::Int8(value),
            Value::Oid(value) => Datum::Oid(value),
            Value::Float4(value) => Datum::Float4(value),
            Value::Float8(value) => Datum::Float8(value),
            Value::Numeric(value) => Datum::Numeric(value.into_own()),
            Value::Decimal { unscaled, scale } => Datum::Numeric(Numeric::Finite { unscaled: unscaled.into(), scale }),
            Value::Text(text) => Datum::Text(shared(text)?),
            Value::Bpchar(text) => Datum::Bpchar(shared(text)?),
            Value::Citext(text) => Datum::Citext(shared(text)?),
            Value::Xml(text) => Datum::Xml(shared(text)?),
            Value::Hstore(value) => Datum::Hstore(value),
            Value::Bytea(bytes) => Datum::Bytea(Arc::from(bytes)),
            Value::Date(value) => Datum::Date(value),
            Value::Time(value) => Datum::Time(value),
            Value::TimeTz(value) => Datum::TimeTz(value),
            Value::Timestamp(value) => Datum::Timestamp(value),
            Value::Timestamptz(value) => Datum::Timestamptz(value),
            Value::Interval(value) => Datum::Interval(value),
            Value::Network(value) => Datum::Network(value),
            Value::MacAddress(value) => Datum::MacAddress(value),
            Value::Bits(bits) => Datum::Bits(bits),
            Value::Money(value) => Datum::Money(value),
            Value::Unsigned(value) => Datum::Unsigned(value),
            Value::Geometry(shape) => Datum::Geometry(shape),
            Value::Uuid(bytes) => Datum::Uuid(*bytes),
            Value::TsVector(vector) => Datum::TsVector(vector),
            Value::TsQuery(query) => Datum::TsQuery(query),
            Value::Jsonb(value) => Datum::Jsonb(value.into_own()),
            Value::JsonPath(path) => Datum::JsonPath(path),
            Value::Enum { position, label } => Datum::Enum { position, label: shared(label)? },
            Value::Array(array) => Datum::Array(array),
            Value::Record(fields) => Datum::Record(fields),
            Value::Range(range) => Datum::Range(range),
            Value::Multirange(ranges) => Datum::Multirange(ranges),
        })
    }
}

#[inline(always)]
fn shared(text: &[u8]) -> Option<Arc<str>> {
    std::str::from_utf8(text).ok().map(Arc::from)
}

impl Datum {
    /// The same, looked at where it stands.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        match self {
            Datum::Null => Value::Null,
            Datum::Bool(value) => Value::Bool(*value),
            Datum::Int2(value) => Value::Int2(*value),
            Datum::Int4(value) => Value::Int4(*value),
            Datum::Int8(value) => Value::Int8(*value),
            Datum::Oid(value) => Value::Oid(*value),
            Datum::Float4(value) => Value::Float4(*value),
            Datum::Float8(value) => Value::Float8(*value),
            Datum::Numeric(value) => Value::Numeric(Held::Lent(value)),
            Datum::Text(text) => Value::Text(text.as_bytes()),
            Datum::Bpchar(text) => Value::Bpchar(text.as_bytes()),
            Datum::Citext(text) => Value::Citext(text.as_bytes()),
            Datum::Xml(text) => Value::Xml(text.as_bytes()),
            Datum::Hstore(value) => Value::Hstore(value.clone()),
            Datum::Bytea(bytes) => Value::Bytea(bytes),
            Datum::Date(value) => Value::Date(*value),
            Datum::Time(value) => Value::Time(*value),
            Datum::TimeTz(value) => Value::TimeTz(*value),
            Datum::Timestamp(value) => Value::Timestamp(*value),
            Datum::Timestamptz(value) => Value::Timestamptz(*value),
            Datum::Interval(value) => Value::Interval(*value),
            Datum::Network(value) => Value::Network(*value),
            Datum::MacAddress(value) => Value::MacAddress(*value),
            Datum::Bits(bits) => Value::Bits(bits.clone()),
            Datum::Money(value) => Value::Money(*value),
            Datum::Unsigned(value) => Value::Unsigned(*value),
            Datum::Geometry(shape) => Value::Geometry(shape.clone()),
            Datum::Uuid(bytes) => Value::Uuid(bytes),
            Datum::TsVector(vector) => Value::TsVector(vector.clone()),
            Datum::TsQuery(query) => Value::TsQuery(query.clone()),
            Datum::Jsonb(value) => Value::Jsonb(Held::Lent(value)),
            Datum::JsonPath(path) => Value::JsonPath(path.clone()),
            Datum::Enum { position, label } => Value::Enum { position: *position, label: label.as_bytes() },
            Datum::Array(array) => Value::Array(array.clone()),
            Datum::Record(fields) => Value::Record(fields.clone()),
            Datum::Range(range) => Value::Range(range.clone()),
            Datum::Multirange(ranges) => Value::Multirange(ranges.clone()),
        }
    }
}
