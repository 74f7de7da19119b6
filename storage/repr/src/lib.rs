//! The vocabulary that every room shares: ids, datums, rows, types, order-preserving keys, text forms.
//!
//! Pure data and pure functions: no I/O, no clock, no threads, no SQL. What there is to know of a SQL type stands in
//! `types/table.rs`, which says what a new one touches.

pub mod array;
pub mod bits;
pub mod citext;
pub mod collation;
pub mod datetime;
pub mod datum;
pub mod encoding;
pub mod error;
mod float_order;
pub mod geometry;
pub mod hash;
pub mod hstore;
pub mod id;
pub mod interval;
pub mod jsonb;
pub mod jsonpath;
pub mod key;
pub mod mac_address;
pub mod money;
pub mod network;
pub mod numeric;
pub mod poll;
pub mod random;
pub mod range;
pub mod row;
pub mod text;
pub mod text_search;
pub mod time_tz;
pub mod to_char;
pub mod types;
pub mod unsigned;
pub mod value;
pub mod xml;

pub use array::Array;
pub use bits::Bits;
pub use collation::Collation;
pub use datum::Datum;
pub use encoding::Encoding;
pub use error::ValueError;
pub use geometry::Geometry;
pub use hstore::Hstore;
pub use id::{ColumnIndex, CommitTime, Id, IndexId, MicroDbId, RelationId, RowKey, SequenceId};
pub use interval::Interval;
pub use jsonb::Jsonb;
pub use jsonpath::JsonPath;
pub use mac_address::MacAddress;
pub use network::Network;
pub use numeric::Numeric;
pub use range::Range;
pub use row::Row;
pub use text_search::{TsQuery, TsVector};
pub use time_tz::TimeTz;
pub use types::{ColumnType, ScalarType};
pub use value::Value;
