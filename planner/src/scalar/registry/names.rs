//! Names of types as PostgreSQL's messages show them.

use repr::ScalarType;

/// `format_type` without a modifier. An enum's name stands in the catalog: here it is `anyenum`.
pub fn type_name(scalar: &ScalarType) -> String {
    match scalar {
        ScalarType::Enum(_) => "anyenum".to_owned(),
        ScalarType::Array(element) => format!("{}[]", type_name(element)),
        other => other.name(),
    }
}
