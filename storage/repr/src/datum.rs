//! One SQL value.

use crate::{Array, Interval, Jsonb, Numeric};
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
    /// text, varchar, name, "char", json, unknown
    Text(Arc<str>),
    /// character(n): padded; trailing blanks do not count in comparisons
    Bpchar(Arc<str>),
    /// bytea
    Bytea(Arc<[u8]>),
    /// Days since 2000-01-01; `i32::MAX` and `i32::MIN` are infinity and -infinity.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 2000-01-01 00:00:00; `i64::MAX`/`MIN` are the infinities.
    Timestamp(i64),
    /// The same, in UTC.
    Timestamptz(i64),
    /// interval
    Interval(Interval),
    /// uuid
    Uuid([u8; 16]),
    /// jsonb
    Jsonb(Jsonb),
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
}
