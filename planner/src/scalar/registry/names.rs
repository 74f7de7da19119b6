//! Names of types as PostgreSQL's messages show them.

use repr::ScalarType;

/// `format_type` without a modifier. An enum's name stands in the catalog: here it is `anyenum`.
pub fn type_name(scalar: &ScalarType) -> String {
    let name = match scalar {
        ScalarType::Bool => "boolean",
        ScalarType::Int2 => "smallint",
        ScalarType::Int4 => "integer",
        ScalarType::Int8 => "bigint",
        ScalarType::Oid => "oid",
        ScalarType::Float4 => "real",
        ScalarType::Float8 => "double precision",
        ScalarType::Numeric => "numeric",
        ScalarType::Text => "text",
        ScalarType::Varchar => "character varying",
        ScalarType::Bpchar => "character",
        ScalarType::Name => "name",
        ScalarType::Char => "\"char\"",
        ScalarType::Bytea => "bytea",
        ScalarType::Date => "date",
        ScalarType::Time => "time without time zone",
        ScalarType::Timestamp => "timestamp without time zone",
        ScalarType::Timestamptz => "timestamp with time zone",
        ScalarType::Interval => "interval",
        ScalarType::Uuid => "uuid",
        ScalarType::Json => "json",
        ScalarType::Jsonb => "jsonb",
        ScalarType::Regclass => "regclass",
        ScalarType::Regtype => "regtype",
        ScalarType::Regproc => "regproc",
        ScalarType::Regnamespace => "regnamespace",
        ScalarType::Int2Vector => "int2vector",
        ScalarType::OidVector => "oidvector",
        ScalarType::Xid => "xid",
        ScalarType::Void => "void",
        ScalarType::Unknown => "unknown",
        ScalarType::Enum(_) => "anyenum",
        ScalarType::Record(_) => "record",
        ScalarType::Array(element) => return format!("{}[]", type_name(element)),
    };
    name.to_owned()
}
