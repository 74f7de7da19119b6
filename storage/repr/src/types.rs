//! SQL types: the scalar type, its modifier, its PostgreSQL OID and name.

use crate::ValueError;
use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A SQL type without its modifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// What PostgreSQL knows of one built-in type.
struct BuiltIn {
    scalar: ScalarType,
    oid: Id,
    array_oid: Id,
    /// `pg_type.typname`
    type_name: &'static str,
    /// The SQL spelling, where it is another.
    sql_name: &'static str,
    /// `pg_type.typlen`
    length: i16,
    /// `pg_type.typcategory`
    category: char,
}

const fn built_in(
    scalar: ScalarType,
    oids: (Id, Id),
    names: (&'static str, &'static str),
    length: i16,
    category: char,
) -> BuiltIn {
    BuiltIn { scalar, oid: oids.0, array_oid: oids.1, type_name: names.0, sql_name: names.1, length, category }
}

/// All types that have a fixed OID, in the order of `ScalarType`.
static BUILT_INS: [BuiltIn; 32] = [
    built_in(ScalarType::Bool, (16, 1000), ("bool", "boolean"), 1, 'B'),
    built_in(ScalarType::Int2, (21, 1005), ("int2", "smallint"), 2, 'N'),
    built_in(ScalarType::Int4, (23, 1007), ("int4", "integer"), 4, 'N'),
    built_in(ScalarType::Int8, (20, 1016), ("int8", "bigint"), 8, 'N'),
    built_in(ScalarType::Oid, (26, 1028), ("oid", "oid"), 4, 'N'),
    built_in(ScalarType::Float4, (700, 1021), ("float4", "real"), 4, 'N'),
    built_in(ScalarType::Float8, (701, 1022), ("float8", "double precision"), 8, 'N'),
    built_in(ScalarType::Numeric, (1700, 1231), ("numeric", "numeric"), -1, 'N'),
    built_in(ScalarType::Text, (25, 1009), ("text", "text"), -1, 'S'),
    built_in(ScalarType::Varchar, (1043, 1015), ("varchar", "character varying"), -1, 'S'),
    built_in(ScalarType::Bpchar, (1042, 1014), ("bpchar", "character"), -1, 'S'),
    built_in(ScalarType::Name, (19, 1003), ("name", "name"), 64, 'S'),
    built_in(ScalarType::Char, (18, 1002), ("char", "\"char\""), 1, 'Z'),
    built_in(ScalarType::Bytea, (17, 1001), ("bytea", "bytea"), -1, 'U'),
    built_in(ScalarType::Date, (1082, 1182), ("date", "date"), 4, 'D'),
    built_in(ScalarType::Time, (1083, 1183), ("time", "time without time zone"), 8, 'D'),
    built_in(ScalarType::Timestamp, (1114, 1115), ("timestamp", "timestamp without time zone"), 8, 'D'),
    built_in(ScalarType::Timestamptz, (1184, 1185), ("timestamptz", "timestamp with time zone"), 8, 'D'),
    built_in(ScalarType::Interval, (1186, 1187), ("interval", "interval"), 16, 'T'),
    built_in(ScalarType::Uuid, (2950, 2951), ("uuid", "uuid"), 16, 'U'),
    built_in(ScalarType::Json, (114, 199), ("json", "json"), -1, 'U'),
    built_in(ScalarType::Jsonb, (3802, 3807), ("jsonb", "jsonb"), -1, 'U'),
    built_in(ScalarType::Regclass, (2205, 2210), ("regclass", "regclass"), 4, 'N'),
    built_in(ScalarType::Regtype, (2206, 2211), ("regtype", "regtype"), 4, 'N'),
    built_in(ScalarType::Regproc, (24, 1008), ("regproc", "regproc"), 4, 'N'),
    built_in(ScalarType::Regnamespace, (4089, 4090), ("regnamespace", "regnamespace"), 4, 'N'),
    built_in(ScalarType::Int2Vector, (22, 1006), ("int2vector", "int2vector"), -1, 'A'),
    built_in(ScalarType::OidVector, (30, 1013), ("oidvector", "oidvector"), -1, 'A'),
    built_in(ScalarType::Xid, (28, 1011), ("xid", "xid"), 4, 'U'),
    built_in(ScalarType::Void, (2278, 0), ("void", "void"), 4, 'P'),
    built_in(ScalarType::Unknown, (705, 0), ("unknown", "unknown"), -2, 'X'),
    // The catch-all row of anonymous composites; it equals no record type with fields.
    built_in(ScalarType::Bool, (2249, 2287), ("record", "record"), -1, 'P'),
];

impl ScalarType {
    /// Whether this is so for the type, or for one that it is made of.
    pub fn any_part(&self, is: impl Fn(&ScalarType) -> bool + Copy) -> bool {
        let of_parts = match self {
            ScalarType::Array(element) => element.any_part(is),
            ScalarType::Record(fields) => fields.iter().any(|(_, field)| field.any_part(is)),
            // The others are made of nothing else.
            _ => false,
        };
        of_parts || is(self)
    }

    /// Whether values are written as names, which stand in the catalog.
    pub fn names_things(&self) -> bool {
        self.any_part(|part| match part {
            // Labels come from the catalog.
            ScalarType::Enum(_)
            | ScalarType::Regclass
            | ScalarType::Regtype
            | ScalarType::Regproc
            | ScalarType::Regnamespace => true,
            ScalarType::Array(_)
            | ScalarType::Record(_)
            | ScalarType::Bool
            | ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Int8
            | ScalarType::Oid
            | ScalarType::Float4
            | ScalarType::Float8
            | ScalarType::Numeric
            | ScalarType::Text
            | ScalarType::Varchar
            | ScalarType::Bpchar
            | ScalarType::Name
            | ScalarType::Char
            | ScalarType::Bytea
            | ScalarType::Date
            | ScalarType::Time
            | ScalarType::Timestamp
            | ScalarType::Timestamptz
            | ScalarType::Interval
            | ScalarType::Uuid
            | ScalarType::Json
            | ScalarType::Jsonb
            | ScalarType::Int2Vector
            | ScalarType::OidVector
            | ScalarType::Xid
            | ScalarType::Void
            | ScalarType::Unknown => false,
        })
    }

    fn built_in(&self) -> Option<&'static BuiltIn> {
        let place = match self {
            ScalarType::Bool => 0,
            ScalarType::Int2 => 1,
            ScalarType::Int4 => 2,
            ScalarType::Int8 => 3,
            ScalarType::Oid => 4,
            ScalarType::Float4 => 5,
            ScalarType::Float8 => 6,
            ScalarType::Numeric => 7,
            ScalarType::Text => 8,
            ScalarType::Varchar => 9,
            ScalarType::Bpchar => 10,
            ScalarType::Name => 11,
            ScalarType::Char => 12,
            ScalarType::Bytea => 13,
            ScalarType::Date => 14,
            ScalarType::Time => 15,
            ScalarType::Timestamp => 16,
            ScalarType::Timestamptz => 17,
            ScalarType::Interval => 18,
            ScalarType::Uuid => 19,
            ScalarType::Json => 20,
            ScalarType::Jsonb => 21,
            ScalarType::Regclass => 22,
            ScalarType::Regtype => 23,
            ScalarType::Regproc => 24,
            ScalarType::Regnamespace => 25,
            ScalarType::Int2Vector => 26,
            ScalarType::OidVector => 27,
            ScalarType::Xid => 28,
            ScalarType::Void => 29,
            ScalarType::Unknown => 30,
            ScalarType::Record(_) => 31,
            ScalarType::Enum(_) | ScalarType::Array(_) => return None,
        };
        Some(&BUILT_INS[place])
    }

    /// `pg_type.oid`. An enum's array type has the OID after the enum's own.
    pub fn oid(&self) -> Id {
        match self {
            ScalarType::Enum(id) => *id,
            ScalarType::Array(element) => element.array_oid(),
            other => other.built_in().map_or(0, |known| known.oid),
        }
    }

    /// The OID of the array type over this one; 0 where there is none.
    pub fn array_oid(&self) -> Id {
        match self {
            ScalarType::Enum(id) => id + 1,
            ScalarType::Array(_) => self.oid(),
            other => other.built_in().map_or(0, |known| known.array_oid),
        }
    }

    /// The built-in type (or array over one) with this OID. Enums are the catalog's, records have no one type.
    pub fn from_oid(oid: Id) -> Option<ScalarType> {
        let known = BUILT_INS[..31].iter().find(|known| known.oid == oid || (known.array_oid == oid && oid != 0))?;
        let scalar = known.scalar.clone();
        Some(if known.oid == oid { scalar } else { ScalarType::Array(Box::new(scalar)) })
    }

    /// The type of this name: `pg_type.typname`, SQL's spelling or a usual alias, in lower case, without
    /// modifier; `x[]` and `_x` are arrays. Enums are the catalog's.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        if let Some(element) = name.strip_suffix("[]") {
            // Arrays of arrays are arrays: PostgreSQL does not keep the number of dimensions.
            return ScalarType::from_name(element.trim_end()).map(|element| element.array());
        }
        let canonical = match name {
            "int" => "int4",
            "float" => "float8",
            "decimal" | "dec" => "numeric",
            "char" | "character" => "bpchar",
            "\"char\"" => "char",
            "char varying" => "varchar",
            "serial" | "serial4" => "int4",
            "bigserial" | "serial8" => "int8",
            "smallserial" | "serial2" => "int2",
            other => other,
        };
        let known = BUILT_INS[..31].iter().find(|known| known.type_name == canonical || known.sql_name == canonical);
        match known {
            Some(known) => Some(known.scalar.clone()),
            None => name.strip_prefix('_').and_then(ScalarType::from_name).map(|element| element.array()),
        }
    }

    /// All types with a fixed OID, arrays and `record` left out.
    pub fn all_built_in() -> impl Iterator<Item = ScalarType> {
        BUILT_INS[..31].iter().map(|known| known.scalar.clone())
    }

    /// The array type over this one; an array's is itself.
    pub fn array(&self) -> ScalarType {
        match self {
            ScalarType::Array(_) => self.clone(),
            other => ScalarType::Array(Box::new(other.clone())),
        }
    }

    /// What an array (or int2vector, oidvector) holds.
    pub fn element(&self) -> Option<ScalarType> {
        match self {
            ScalarType::Array(element) => Some((**element).clone()),
            ScalarType::Int2Vector => Some(ScalarType::Int2),
            ScalarType::OidVector => Some(ScalarType::Oid),
            _ => None,
        }
    }

    /// `pg_type.typname`; an enum's is in the catalog, and its OID stands here instead.
    pub fn type_name(&self) -> String {
        match self {
            ScalarType::Enum(id) => id.to_string(),
            ScalarType::Array(element) => format!("_{}", element.type_name()),
            other => other.built_in().map_or_else(String::new, |known| known.type_name.to_owned()),
        }
    }

    /// SQL's name without modifier, as in messages: `integer`, `text[]`. An enum's is in the catalog.
    pub fn name(&self) -> String {
        self.format_type(-1)
    }

    /// SQL's name with the modifier, as `format_type` and `\\d` spell it. An enum's is in the catalog.
    pub fn format_type(&self, modifier: i32) -> String {
        match self {
            ScalarType::Enum(id) => id.to_string(),
            ScalarType::Array(element) => format!("{}[]", element.format_type(modifier)),
            ScalarType::Varchar if modifier >= 4 => format!("character varying({})", modifier - 4),
            ScalarType::Bpchar if modifier >= 4 => format!("character({})", modifier - 4),
            ScalarType::Numeric => match decode_numeric_modifier(modifier) {
                Some((precision, scale)) => format!("numeric({precision},{scale})"),
                None => "numeric".to_owned(),
            },
            ScalarType::Time if modifier >= 0 => format!("time({modifier}) without time zone"),
            ScalarType::Timestamp if modifier >= 0 => format!("timestamp({modifier}) without time zone"),
            ScalarType::Timestamptz if modifier >= 0 => format!("timestamp({modifier}) with time zone"),
            ScalarType::Interval if modifier >= 0 => format_interval_type(modifier),
            other => other.built_in().map_or_else(String::new, |known| known.sql_name.to_owned()),
        }
    }

    /// `pg_type.typlen`: bytes, or -1 for varying.
    pub fn length(&self) -> i16 {
        match self {
            ScalarType::Enum(_) => 4,
            other => other.built_in().map_or(-1, |known| known.length),
        }
    }

    /// `pg_type.typcategory`.
    pub fn category(&self) -> char {
        match self {
            ScalarType::Enum(_) => 'E',
            ScalarType::Array(_) => 'A',
            other => other.built_in().map_or('U', |known| known.category),
        }
    }

    /// `pg_type.typispreferred`.
    pub fn is_preferred(&self) -> bool {
        matches!(
            self,
            ScalarType::Bool
                | ScalarType::Oid
                | ScalarType::Float8
                | ScalarType::Text
                | ScalarType::Timestamptz
                | ScalarType::Interval
        )
    }

    /// smallint, integer, bigint
    pub fn is_integer(&self) -> bool {
        matches!(self, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8)
    }

    /// real, double precision
    pub fn is_float(&self) -> bool {
        matches!(self, ScalarType::Float4 | ScalarType::Float8)
    }

    /// Integers, floats and numeric (not oid).
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || *self == ScalarType::Numeric
    }

    /// text, varchar, character and name
    pub fn is_string(&self) -> bool {
        matches!(self, ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Name)
    }

    /// date, time, timestamps (not interval)
    pub fn is_datetime(&self) -> bool {
        self.category() == 'D'
    }

    /// oid, xid and the reg* types: what `Datum::Oid` holds.
    pub fn is_oid(&self) -> bool {
        matches!(
            self,
            ScalarType::Oid
                | ScalarType::Xid
                | ScalarType::Regclass
                | ScalarType::Regtype
                | ScalarType::Regproc
                | ScalarType::Regnamespace
        )
    }

    /// Whether this is an array type (not a vector).
    pub fn is_array(&self) -> bool {
        matches!(self, ScalarType::Array(_))
    }
}

const INTERVAL_FULL_RANGE: i32 = 0x7FFF;
const INTERVAL_FULL_PRECISION: i32 = 0xFFFF;

/// The bit masks of `interval`'s fields in a modifier, with their spelling.
const INTERVAL_RANGES: [(i32, &str); 13] = [
    (1 << 2, " year"),
    (1 << 1, " month"),
    (1 << 3, " day"),
    (1 << 10, " hour"),
    (1 << 11, " minute"),
    (1 << 12, " second"),
    (1 << 2 | 1 << 1, " year to month"),
    (1 << 3 | 1 << 10, " day to hour"),
    (1 << 3 | 1 << 10 | 1 << 11, " day to minute"),
    (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12, " day to second"),
    (1 << 10 | 1 << 11, " hour to minute"),
    (1 << 10 | 1 << 11 | 1 << 12, " hour to second"),
    (1 << 11 | 1 << 12, " minute to second"),
];

fn format_interval_type(modifier: i32) -> String {
    let range = modifier >> 16 & INTERVAL_FULL_RANGE;
    let precision = modifier & 0xFFFF;
    let fields = INTERVAL_RANGES.iter().find(|(mask, _)| *mask == range).map_or("", |(_, fields)| fields);
    if precision == INTERVAL_FULL_PRECISION {
        format!("interval{fields}")
    } else {
        format!("interval{fields}({precision})")
    }
}

/// The modifier of `interval`, from the fields' spelling (`"day to second"`; empty for all) and the precision.
pub fn encode_interval_modifier(fields: &str, precision: Option<i32>) -> Result<i32, ValueError> {
    let range = if fields.is_empty() {
        INTERVAL_FULL_RANGE
    } else {
        let found = INTERVAL_RANGES.iter().find(|(_, spelling)| spelling[1..].eq_ignore_ascii_case(fields));
        found.ok_or_else(|| ValueError::new("22023", "invalid INTERVAL type modifier"))?.0
    };
    match precision {
        None if fields.is_empty() => Ok(-1),
        None => Ok(range << 16 | INTERVAL_FULL_PRECISION),
        Some(precision) => Ok(range << 16 | encode_time_modifier(precision, "INTERVAL", "")?),
    }
}

/// The fields' mask and the precision of `interval`'s modifier, where given.
pub fn decode_interval_modifier(modifier: i32) -> (Option<i32>, Option<i32>) {
    if modifier < 0 {
        return (None, None);
    }
    let range = modifier >> 16 & INTERVAL_FULL_RANGE;
    let precision = modifier & 0xFFFF;
    ((range != INTERVAL_FULL_RANGE).then_some(range), (precision != INTERVAL_FULL_PRECISION).then_some(precision))
}

/// The modifier of varchar(`length`) or char(`length`); `name` is "varchar" or "char", for the message.
pub fn encode_length_modifier(length: i64, name: &str) -> Result<i32, ValueError> {
    if length < 1 {
        return Err(ValueError::new("22023", format!("length for type {name} must be at least 1")));
    }
    if length > 10_485_760 {
        return Err(ValueError::new("22023", format!("length for type {name} cannot exceed 10485760")));
    }
    Ok(length as i32 + 4)
}

/// The length of varchar or char, where given.
pub fn decode_length_modifier(modifier: i32) -> Option<usize> {
    (modifier >= 4).then(|| (modifier - 4) as usize)
}

/// The modifier of numeric(`precision`, `scale`).
pub fn encode_numeric_modifier(precision: i64, scale: i64) -> Result<i32, ValueError> {
    if !(1..=1000).contains(&precision) {
        return Err(ValueError::new("22023", format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(ValueError::new("22023", format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok((precision as i32) << 16 | (scale as i32 & 0x7FF)).map(|packed| packed + 4)
}

/// Precision and scale of numeric, where given; the scale may be negative.
pub fn decode_numeric_modifier(modifier: i32) -> Option<(i32, i32)> {
    if modifier < 4 {
        return None;
    }
    let packed = modifier - 4;
    Some((packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024))
}

/// The modifier of time and timestamp types. More than six digits count as six (PostgreSQL warns).
pub fn encode_time_modifier(precision: i32, name: &str, suffix: &str) -> Result<i32, ValueError> {
    if precision < 0 {
        return Err(ValueError::new("22023", format!("{name}({precision}){suffix} precision must not be negative")));
    }
    Ok(precision.min(6))
}

#[cfg(test)]
mod tests {
    use super::{ScalarType, encode_interval_modifier, encode_length_modifier, encode_numeric_modifier};

    #[test]
    fn every_type_is_found_by_oid_and_name() {
        for scalar in ScalarType::all_built_in() {
            assert_eq!(ScalarType::from_oid(scalar.oid()), Some(scalar.clone()));
            if scalar != ScalarType::Char {
                assert_eq!(ScalarType::from_name(&scalar.type_name()), Some(scalar.clone()));
            }
            if scalar.array_oid() != 0 {
                assert_eq!(ScalarType::from_oid(scalar.array_oid()), Some(scalar.array()));
                assert_eq!(scalar.array().element(), Some(scalar));
            }
        }
        assert_eq!(ScalarType::from_oid(2249), None);
    }

    #[test]
    fn names_are_spelled_as_postgresql_spells_them() {
        let numeric = encode_numeric_modifier(10, 2).expect("in range");
        let negative = encode_numeric_modifier(5, -3).expect("in range");
        let varchar = encode_length_modifier(20, "varchar").expect("in range");
        let cases = [
            (ScalarType::Int4, -1, "integer"),
            (ScalarType::Int4.array(), -1, "integer[]"),
            (ScalarType::Varchar, varchar, "character varying(20)"),
            (ScalarType::Varchar.array(), varchar, "character varying(20)[]"),
            (ScalarType::Bpchar, 7, "character(3)"),
            (ScalarType::Bpchar, -1, "character"),
            (ScalarType::Numeric, numeric, "numeric(10,2)"),
            (ScalarType::Numeric, negative, "numeric(5,-3)"),
            (ScalarType::Timestamptz, 3, "timestamp(3) with time zone"),
            (ScalarType::Time, 0, "time(0) without time zone"),
            (
                ScalarType::Interval,
                encode_interval_modifier("day to second", Some(2)).expect("known"),
                "interval day to second(2)",
            ),
            (ScalarType::Interval, encode_interval_modifier("", Some(3)).expect("known"), "interval(3)"),
            (ScalarType::Char, -1, "\"char\""),
        ];
        for (scalar, modifier, expected) in cases {
            assert_eq!(scalar.format_type(modifier), expected);
        }
        assert_eq!(numeric, 655_366);
    }
}
