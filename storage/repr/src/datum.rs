//! One SQL value.

use crate::citext::folded_cmp;
use crate::float_order::float_cmp;
use crate::{
    Array, Bits, Geometry, Hstore, Interval, JsonPath, Jsonb, MacAddress, Network, Numeric, Range, TimeTz, TsQuery,
    TsVector,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// A value of some `ScalarType`. The type is known from the plan; the datum carries what is needed
/// to order, hash and print it without one, except reg* names, which need the catalog.
///
/// `PartialEq` is identity of representation (1.0 differs from 1.00). SQL equality and order are
/// `Datum::sql_cmp` and, as bytes, `key::encode`.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
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
    Numeric(Numeric),
    /// text, varchar, name, "char", json, pg_snapshot, aclitem, unknown
    Text(Arc<str>),
    /// character(n): padded; trailing blanks do not count in comparisons
    Bpchar(Arc<str>),
    /// citext: case does not count in comparisons
    Citext(Arc<str>),
    /// xml: as it was written
    Xml(Arc<str>),
    /// hstore
    Hstore(Hstore),
    /// bytea
    Bytea(Arc<[u8]>),
    /// Days since 2000-01-01; `i32::MAX` and `i32::MIN` are infinity and -infinity.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// time with time zone
    TimeTz(TimeTz),
    /// Microseconds since 2000-01-01 00:00:00; `i64::MAX`/`MIN` are the infinities.
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
    Uuid([u8; 16]),
    /// tsvector
    TsVector(TsVector),
    /// tsquery
    TsQuery(TsQuery),
    /// jsonb
    Jsonb(Jsonb),
    /// jsonpath
    JsonPath(JsonPath),
    /// An enum's label and its place in the enum's order.
    Enum {
        /// Sort position within the type.
        position: u32,
        /// The label.
        label: Arc<str>,
    },
    /// array, int2vector, oidvector
    Array(Arc<Array>),
    /// A composite value.
    Record(Arc<[Datum]>),
    /// A range
    Range(Arc<Range>),
    /// A multirange: see `range::of_ranges`
    Multirange(Arc<[Range]>),
}

impl Datum {
    /// About how much it holds beside itself, without looking into what is nested: nothing for what stands in place.
    #[inline]
    pub fn bytes(&self) -> usize {
        match self {
            Datum::Text(text) | Datum::Bpchar(text) | Datum::Citext(text) | Datum::Xml(text) => text.len(),
            Datum::Hstore(value) => value.packed().len(),
            Datum::Bytea(bytes) => bytes.len(),
            Datum::Bits(bits) => bits.bytes().len(),
            Datum::Numeric(Numeric::Finite { unscaled, .. }) => unscaled.bits() as usize / 8,
            Datum::Array(array) => array.elements.len() * size_of::<Datum>(),
            Datum::Jsonb(Jsonb::String(text)) => text.len(),
            Datum::Jsonb(Jsonb::Array(elements)) => elements.len() * size_of::<Jsonb>(),
            Datum::Jsonb(Jsonb::Object(pairs)) => pairs.len() * size_of::<(Arc<str>, Jsonb)>(),
            Datum::Record(fields) => fields.len() * size_of::<Datum>(),
            Datum::Range(_) => size_of::<Range>(),
            Datum::Multirange(ranges) => ranges.len() * size_of::<Range>(),
            Datum::TsVector(vector) => vector.bytes(),
            Datum::TsQuery(query) => query.bytes(),
            Datum::JsonPath(path) => path.bytes(),
            Datum::Geometry(shape) => shape.bytes(),
            Datum::Null
            | Datum::Bool(_)
            | Datum::Int2(_)
            | Datum::Int4(_)
            | Datum::Int8(_)
            | Datum::Oid(_)
            | Datum::Float4(_)
            | Datum::Float8(_)
            | Datum::Numeric(_)
            | Datum::Date(_)
            | Datum::Time(_)
            | Datum::TimeTz(_)
            | Datum::Timestamp(_)
            | Datum::Timestamptz(_)
            | Datum::Interval(_)
            | Datum::Network(_)
            | Datum::MacAddress(_)
            | Datum::Money(_)
            | Datum::Unsigned(_)
            | Datum::Uuid(_)
            | Datum::Jsonb(_)
            | Datum::Enum { .. } => 0,
        }
    }

    /// Whether a value can be written in several ways that are equal in SQL.
    pub fn has_several_writings(&self) -> bool {
        match self {
            Datum::Numeric(_)
            | Datum::Float4(_)
            | Datum::Float8(_)
            | Datum::Bpchar(_)
            | Datum::Citext(_)
            | Datum::Interval(_)
            | Datum::TsQuery(_)
            | Datum::Jsonb(_)
            | Datum::Array(_)
            | Datum::Record(_) => true,
            Datum::Range(range) => range.has_several_writings(),
            Datum::Multirange(ranges) => ranges.iter().any(Range::has_several_writings),
            Datum::Null
            | Datum::Bool(_)
            | Datum::Int2(_)
            | Datum::Int4(_)
            | Datum::Int8(_)
            | Datum::Oid(_)
            | Datum::Text(_)
            | Datum::Bytea(_)
            | Datum::Date(_)
            | Datum::Time(_)
            | Datum::TimeTz(_)
            | Datum::Timestamp(_)
            | Datum::Timestamptz(_)
            | Datum::Network(_)
            | Datum::MacAddress(_)
            | Datum::Bits(_)
            | Datum::Money(_)
            | Datum::Unsigned(_)
            | Datum::Geometry(_)
            | Datum::Xml(_)
            | Datum::Hstore(_)
            | Datum::Uuid(_)
            | Datum::TsVector(_)
            | Datum::JsonPath(_)
            | Datum::Enum { .. } => false,
        }
    }

    /// Whether values stand within it.
    #[inline]
    pub fn is_nested(&self) -> bool {
        matches!(self, Datum::Array(_) | Datum::Jsonb(_) | Datum::Record(_) | Datum::Range(_) | Datum::Multirange(_))
    }

    /// A text datum.
    pub fn text(text: impl AsRef<str>) -> Datum {
        Datum::Text(Arc::from(text.as_ref()))
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The integer, of any width.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Datum::Int2(value) => Some(i64::from(*value)),
            Datum::Int4(value) => Some(i64::from(*value)),
            Datum::Int8(value) => Some(*value),
            Datum::Oid(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// The float, of either width.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Datum::Float4(value) => Some(f64::from(*value)),
            Datum::Float8(value) => Some(*value),
            _ => None,
        }
    }

    /// The string of a text, varchar, name, json, character(n) or citext value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Datum::Text(text) | Datum::Bpchar(text) | Datum::Citext(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Datum::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// SQL order, NULLs last and equal to each other: always the order of `key::encode`'s bytes.
    ///
    /// Integers compare with integers of any width, floats with floats, strings with strings. What SQL
    /// does not compare has some fixed order.
    pub fn sql_cmp(&self, other: &Datum) -> Ordering {
        if let (Some(a), Some(b)) = (self.as_i64(), other.as_i64()) {
            return a.cmp(&b);
        }
        if let (Some(a), Some(b)) = (self.as_f64(), other.as_f64()) {
            return float_cmp(a, b);
        }
        match (self, other) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Greater,
            (_, Datum::Null) => Ordering::Less,
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Numeric(a), Datum::Numeric(b)) => a.sql_cmp(b),
            (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Datum::Text(a), Datum::Bpchar(b)) => a.as_bytes().cmp(b.trim_end_matches(' ').as_bytes()),
            (Datum::Bpchar(a), Datum::Text(b)) => a.trim_end_matches(' ').as_bytes().cmp(b.as_bytes()),
            (Datum::Bpchar(a), Datum::Bpchar(b)) => {
                a.trim_end_matches(' ').as_bytes().cmp(b.trim_end_matches(' ').as_bytes())
            }
            (Datum::Citext(a), Datum::Citext(b)) => folded_cmp(a, b),
            (Datum::Bytea(a), Datum::Bytea(b)) => a.cmp(b),
            (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
            (Datum::Time(a), Datum::Time(b))
            | (Datum::Timestamp(a), Datum::Timestamp(b))
            | (Datum::Timestamptz(a), Datum::Timestamptz(b)) => a.cmp(b),
            (Datum::TimeTz(a), Datum::TimeTz(b)) => a.cmp(b),
            (Datum::Interval(a), Datum::Interval(b)) => a.sql_cmp(b),
            (Datum::Network(a), Datum::Network(b)) => a.sql_cmp(b),
            (Datum::MacAddress(a), Datum::MacAddress(b)) => a.cmp(b),
            (Datum::Bits(a), Datum::Bits(b)) => a.sql_cmp(b),
            (Datum::Money(a), Datum::Money(b)) => a.cmp(b),
            (Datum::Unsigned(a), Datum::Unsigned(b)) => a.cmp(b),
            (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
            (Datum::TsVector(a), Datum::TsVector(b)) => a.sql_cmp(b),
            (Datum::TsQuery(a), Datum::TsQuery(b)) => a.sql_cmp(b),
            (Datum::Jsonb(a), Datum::Jsonb(b)) => a.sql_cmp(b),
            (Datum::Enum { position: a, .. }, Datum::Enum { position: b, .. }) => a.cmp(b),
            (Datum::Array(a), Datum::Array(b)) => slice_cmp(&a.elements, &b.elements)
                .then_with(|| a.dimensions.len().cmp(&b.dimensions.len()))
                .then_with(|| a.dimensions.iter().map(|d| d.0).cmp(b.dimensions.iter().map(|d| d.0)))
                .then_with(|| a.dimensions.iter().map(|d| d.1).cmp(b.dimensions.iter().map(|d| d.1))),
            (Datum::Record(a), Datum::Record(b)) => slice_cmp(a, b),
            (Datum::Range(a), Datum::Range(b)) => a.sql_cmp(b),
            (Datum::Multirange(a), Datum::Multirange(b)) => {
                let mut orders = a.iter().zip(b.iter()).map(|(x, y)| x.sql_cmp(y));
                orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            // Types that SQL does not compare: any total order does, and this one agrees with keys.
            (a, b) => {
                crate::key::encode_all(std::slice::from_ref(a)).cmp(&crate::key::encode_all(std::slice::from_ref(b)))
            }
        }
    }

    /// SQL's `=` on two values, with NULL equal to NULL (that is, `IS NOT DISTINCT FROM`).
    pub fn sql_eq(&self, other: &Datum) -> bool {
        self.sql_cmp(other).is_eq()
    }
}

fn slice_cmp(a: &[Datum], b: &[Datum]) -> Ordering {
    let mut orders = a.iter().zip(b).map(|(x, y)| x.sql_cmp(y));
    orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}
