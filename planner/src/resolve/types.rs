//! Type names: from the parser's data types to ours.

use super::domain::of_elements;
use super::scope::fold;
use crate::catalog::Scope;
use crate::error::PlanError;
use repr::types::{Modifier, encode_interval_modifier};
use repr::{ColumnType, ScalarType};
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, ObjectNamePart, TimezoneInfo,
};

/// The type that a written type means, nullable, with its modifier in PostgreSQL's encoding.
/// 42704 for an unknown name, 0A000 for a type of PostgreSQL's that we do not have, 22023 for a bad modifier.
pub fn data_type<'a>(written: &DataType, scope: impl Into<Scope<'a>>) -> Result<ColumnType, PlanError> {
    let scope = scope.into();
    let plain = |scalar| Ok(ColumnType::nullable(scalar));
    match written {
        DataType::Double(ExactNumberInfo::None) => plain(ScalarType::Float8),
        DataType::Float(ExactNumberInfo::Precision(precision)) => match precision {
            1..=24 => plain(ScalarType::Float4),
            25..=53 => plain(ScalarType::Float8),
            0 => Err(PlanError::new("22023", "precision for type float must be at least 1 bit")),
            _ => Err(PlanError::new("22023", "precision for type float must be less than 54 bits")),
        },
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info),
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            character(ScalarType::Varchar, length.as_ref(), "varchar")
        }
        DataType::Char(length) | DataType::Character(length) => match length {
            None => Ok(ColumnType { modifier: 5, ..ColumnType::nullable(ScalarType::Bpchar) }),
            some => character(ScalarType::Bpchar, some.as_ref(), "char"),
        },
        DataType::Bit(count) => bit_count(ScalarType::Bit, Some(count.unwrap_or(1)), "bit"),
        DataType::BitVarying(count) | DataType::VarBit(count) => bit_count(ScalarType::VarBit, *count, "varbit"),
        DataType::Time(precision, zone) => match zone {
            TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => Ok(fractional(ScalarType::Time, *precision)),
            TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => Ok(fractional(ScalarType::TimeTz, *precision)),
        },
        DataType::Timestamp(precision, zone) => match zone {
            TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => Ok(fractional(ScalarType::Timestamp, *precision)),
            TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => Ok(fractional(ScalarType::Timestamptz, *precision)),
        },
        DataType::Interval { fields, precision } => {
            let fields = fields.as_ref().map_or_else(String::new, |fields| fields.to_string().to_lowercase());
            // More than an int4 is more than the most, which is told.
            let precision = precision.map(|precision| i32::try_from(precision).unwrap_or(i32::MAX));
            let modifier = encode_interval_modifier(&fields, precision)?;
            Ok(ColumnType { modifier, ..ColumnType::nullable(ScalarType::Interval) })
        }
        DataType::Array(element) => {
            let element = match element {
                ArrayElemTypeDef::SquareBracket(inner, _)
                | ArrayElemTypeDef::AngleBracket(inner)
                | ArrayElemTypeDef::Parenthesis(inner)
                | ArrayElemTypeDef::Qualified(inner, _) => data_type(inner, scope)?,
                ArrayElemTypeDef::None => return Err(PlanError::new("42601", "array type without element type")),
            };
            if element.domain != 0 {
                return array_of_domain(element, scope);
            }
            // Dimensions are not part of a type: int[][] is int[].
            Ok(match element.scalar {
                ScalarType::Array(_) => element,
                scalar => ColumnType { scalar: ScalarType::Array(Box::new(scalar)), ..element },
            })
        }
        DataType::Custom(name, modifiers) => named(name, modifiers, scope),
        // What has no modifier is its name, whether the parser has a word for it or not.
        other => {
            let name = other.to_string().to_lowercase();
            match scope.type_named(None, &name) {
                Some(hiding) if scope.hides_built_in(&name) => Ok(hiding.column_type()),
                _ => by_name(&name, scope).map_or_else(|| Err(unknown_type(&name)), plain),
            }
        }
    }
}

/// An array of a domain's values: the OID of its type is the one after the domain's.
fn array_of_domain(element: ColumnType, scope: Scope<'_>) -> Result<ColumnType, PlanError> {
    if !element.scalar.is_array() {
        return Ok(ColumnType { scalar: element.scalar.array(), domain: element.domain + 1, ..element });
    }
    match of_elements(scope.catalog, element.domain) {
        Some(_) => Ok(element),
        None => Err(PlanError::unsupported("an array of a domain over an array")
            .hint("Use a domain over the type of the elements, and an array of that.")),
    }
}

/// 0A000 for PostgreSQL's types that we do not have, else 42704, with what would make it if an extension does.
fn unknown_type(name: &str) -> PlanError {
    const POSTGRESQL: [&str; 3] = ["cid", "gtsvector", "pg_node_tree"];
    let base = name.split('(').next().unwrap_or(name).trim_start_matches("pg_catalog.").trim();
    if POSTGRESQL.contains(&base) {
        return PlanError::unsupported(format!("type {base}")).hint("Use text.");
    }
    let error = PlanError::new("42704", format!("type \"{name}\" does not exist"));
    match ScalarType::of_extension(base.rsplit('.').next().unwrap_or(base)) {
        Some((_, extension)) => error.hint(format!("CREATE EXTENSION {extension} makes it.")),
        None => error,
    }
}

fn named(name: &ObjectName, modifiers: &[String], scope: Scope<'_>) -> Result<ColumnType, PlanError> {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => fold(ident),
            ObjectNamePart::Function(function) => fold(&function.name),
        })
        .collect();
    let unknown = || unknown_type(&parts.join("."));
    let last = parts.last().ok_or_else(unknown)?;
    // SQL's own words for types, such as `integer`, are words only where they stand alone and without quotes.
    let quoted = name.0.last().and_then(ObjectNamePart::as_ident).is_some_and(|ident| ident.quote_style.is_some());
    let builtin = |name| if quoted || parts.len() > 1 { in_catalog(name) } else { builtin(name) };
    let is_hidden = |name| (quoted || !ScalarType::is_word(name)) && scope.hides_built_in(name);
    let (database, schema) = match &parts[..parts.len() - 1] {
        [] => (None, None),
        [schema] => (None, Some(schema.as_str())),
        [database, schema] => (Some(database.as_str()), Some(schema.as_str())),
        _ => return Err(unknown()),
    };
    if let Some(schema) = schema {
        scope.path.require_own(database, schema, last)?;
        if !scope.path.is_of_kept_texts() {
            scope.require_namespace(schema)?;
        }
    }
    if schema == Some("pg_catalog") {
        return with_modifiers(builtin(last).ok_or_else(unknown)?, last, modifiers);
    }
    if schema.is_none()
        && let Some(scalar) = builtin(last).filter(|_| !is_hidden(last))
    {
        // Unquoted `char` never comes here; quoted "char" is the one-byte type.
        return with_modifiers(scalar, last, modifiers);
    }
    if let Some(found) = scope.type_named((database, schema), last).filter(|found| found.domain().is_some()) {
        if !modifiers.is_empty() {
            return Err(PlanError::new("42601", format!("type modifier is not allowed for type \"{last}\"")));
        }
        return Ok(found.column_type());
    }
    let of_domain = || {
        let element = scope.element_named((database, schema), last)?;
        element.domain().map(|_| array_of_domain(element.column_type(), scope))
    };
    let Some(found) = scope.created_type((database, schema), last) else {
        return of_domain().unwrap_or_else(|| Err(unknown()));
    };
    with_modifiers(found, last, modifiers)
}

fn with_modifiers(scalar: ScalarType, name: &str, modifiers: &[String]) -> Result<ColumnType, PlanError> {
    let numbers: Vec<i64> = modifiers
        .iter()
        .map(|text| text.parse().map_err(|_| PlanError::new("22023", format!("invalid type modifier \"{text}\""))))
        .collect::<Result<_, _>>()?;
    match (scalar.modifier(), numbers.as_slice()) {
        // `pg_catalog.bpchar` without a length is unlimited, unlike `char`.
        (_, []) => Ok(ColumnType::nullable(scalar)),
        (Modifier::Length, [length]) => length_modifier(scalar, u64::try_from(*length).unwrap_or(0), name),
        (Modifier::Count, [count]) => bit_count(scalar, Some(u64::try_from(*count).unwrap_or(0)), name),
        (Modifier::Digits, [precision]) => numeric(&ExactNumberInfo::Precision(u64::try_from(*precision).unwrap_or(0))),
        (Modifier::Digits, [precision, scale]) => {
            numeric(&ExactNumberInfo::PrecisionAndScale(u64::try_from(*precision).unwrap_or(0), *scale))
        }
        (Modifier::Fraction, [precision]) => Ok(fractional(scalar, u64::try_from(*precision).ok())),
        _ => Err(PlanError::new("42601", format!("type modifier is not allowed for type \"{name}\""))),
    }
}

fn character(scalar: ScalarType, length: Option<&CharacterLength>, name: &str) -> Result<ColumnType, PlanError> {
    match length {
        None => Ok(ColumnType::nullable(scalar)),
        Some(CharacterLength::IntegerLength { length, .. }) => length_modifier(scalar, *length, name),
        Some(CharacterLength::Max) => Err(PlanError::new("42601", "syntax error at or near \"MAX\"")),
    }
}

fn length_modifier(scalar: ScalarType, length: u64, name: &str) -> Result<ColumnType, PlanError> {
    const LENGTH_MAX: u64 = 10_485_760;
    match i32::try_from(length) {
        Ok(0) => Err(PlanError::new("22023", format!("length for type {name} must be at least 1"))),
        Ok(modifier) if length <= LENGTH_MAX => {
            Ok(ColumnType { modifier: modifier + 4, ..ColumnType::nullable(scalar) })
        }
        Ok(_) | Err(_) => Err(PlanError::new("22023", format!("length for type {name} cannot exceed {LENGTH_MAX}"))),
    }
}

fn bit_count(scalar: ScalarType, count: Option<u64>, name: &str) -> Result<ColumnType, PlanError> {
    const COUNT_MAX: u64 = 83_886_080;
    match count.map(|count| (count, i32::try_from(count))) {
        None => Ok(ColumnType::nullable(scalar)),
        Some((0, _)) => Err(PlanError::new("22023", format!("length for type {name} must be at least 1"))),
        Some((count, Ok(modifier))) if count <= COUNT_MAX => {
            Ok(ColumnType { modifier, ..ColumnType::nullable(scalar) })
        }
        Some(_) => Err(PlanError::new("22023", format!("length for type {name} cannot exceed {COUNT_MAX}"))),
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<ColumnType, PlanError> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(ColumnType::nullable(ScalarType::Numeric)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=1000).contains(&precision) {
        return Err(PlanError::new("22023", format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(PlanError::new("22023", format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    let modifier = ((precision as i32) << 16 | (scale as i32 & 0x7ff)) + 4;
    Ok(ColumnType { modifier, ..ColumnType::nullable(ScalarType::Numeric) })
}

/// `timestamp(p)`: the modifier is p, and more than six digits are six.
fn fractional(scalar: ScalarType, precision: Option<u64>) -> ColumnType {
    let modifier = precision.map_or(-1, |digits| digits.min(6) as i32);
    ColumnType { modifier, ..ColumnType::nullable(scalar) }
}

/// A type by its lower-case name, as in `regtype` input; built-in ones first.
pub(crate) fn by_name<'a>(name: &str, scope: impl Into<Scope<'a>>) -> Option<ScalarType> {
    let scope = scope.into();
    if let Some(element) = name.strip_suffix("[]") {
        return by_name(element.trim_end(), scope).map(|scalar| match scalar {
            ScalarType::Array(_) => scalar,
            scalar => ScalarType::Array(Box::new(scalar)),
        });
    }
    let is_hidden = !ScalarType::is_word(name) && scope.hides_built_in(name);
    builtin(name).filter(|_| !is_hidden).or_else(|| scope.created_type(None, name))
}

/// A built-in type by name, internal (`int4`, `_text`) or SQL (`integer`).
pub(crate) fn builtin(name: &str) -> Option<ScalarType> {
    in_catalog(name).or_else(|| ScalarType::from_type_name(name))
}

/// A built-in type by its name in `pg_type`: `integer` is a word of SQL's, and no type's name.
pub(crate) fn in_catalog(name: &str) -> Option<ScalarType> {
    match name {
        "record" => Some(ScalarType::Record(Vec::new().into())),
        "_record" => Some(ScalarType::Array(Box::new(ScalarType::Record(Vec::new().into())))),
        name => ScalarType::from_catalog_name(name),
    }
}
