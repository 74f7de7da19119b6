//! SQL types: the scalar type, its modifier, its PostgreSQL OID and name.

use crate::id::Id;
use std::sync::Arc;

/// A SQL type without its modifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `oid`
    Oid,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`
    Numeric,
    /// `text`
    Text,
    /// `character varying`
    Varchar,
    /// `character` (blank-padded)
    Bpchar,
    /// `name`
    Name,
    /// `"char"`
    Char,
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `time without time zone`
    Time,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `interval`
    Interval,
    /// `uuid`
    Uuid,
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
    /// `regclass`
    Regclass,
    /// `regtype`
    Regtype,
    /// `regproc`
    Regproc,
    /// `regnamespace`
    Regnamespace,
    /// `int2vector`
    Int2Vector,
    /// `oidvector`
    OidVector,
    /// `xid`
    Xid,
    /// `void`, the result of functions called for their effect
    Void,
    /// a string literal or NULL whose type is not decided yet
    Unknown,
    /// An enumeration, by the OID of its `pg_type` row.
    Enum(Id),
    /// An anonymous composite: the field names and types.
    Record(Arc<[(String, ScalarType)]>),
    /// An array of a non-array type.
    Array(Box<ScalarType>),
}

/// A column's or expression's type: scalar type, PostgreSQL type modifier and nullability.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// The type itself.
    pub scalar: ScalarType,
    /// `atttypmod` in PostgreSQL's encoding (varchar(n) is n + 4, numeric(p,s) is (p<<16|s)+4); -1 is none.
    pub modifier: i32,
    /// Whether NULL may occur.
    pub nullable: bool,
}

impl ColumnType {
    /// A nullable type without modifier.
    pub fn nullable(scalar: ScalarType) -> Self {
        ColumnType { scalar, modifier: -1, nullable: true }
    }
}
