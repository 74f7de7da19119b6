//! Casts to `anyarray` and `anyelement`, which leave a value what it is.

use super::Typed;
use crate::error::PlanError;
use repr::ScalarType;
use sqlparser::ast::DataType;

/// The polymorphic type that is written, if it is one.
pub(super) fn written(data_type: &DataType) -> Option<&'static str> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    let name = name.to_string();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    ["anyarray", "anyelement"].into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Whether that is a type which stands for any, or for several.
pub(super) fn is_name(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "any",
        "anyarray",
        "anycompatible",
        "anycompatiblearray",
        "anycompatiblemultirange",
        "anycompatiblenonarray",
        "anycompatiblerange",
        "anyelement",
        "anyenum",
        "anymultirange",
        "anynonarray",
        "anyrange",
    ];
    NAMES.contains(&name.trim_start_matches("pg_catalog.").trim_matches('"'))
}

/// The value, if that type may be its.
pub(super) fn cast(typed: Typed, to: &'static str) -> Result<Typed, PlanError> {
    match typed.scalar() {
        ScalarType::Unknown => Err(PlanError::new("0A000", format!("cannot accept a value of type {to}"))),
        scalar if to == "anyarray" && !matches!(scalar, ScalarType::Array(_)) => {
            let from = scalar.format_type(-1);
            Err(PlanError::new("42846", format!("cannot cast type {from} to {to}")))
        }
        _ => Ok(typed),
    }
}
