//! Which types have no equality, or no order: what groups, sorts or tells apart is refused of them.

use crate::error::PlanError;
use repr::ScalarType;

fn refused(what: &str, scalar: &ScalarType) -> PlanError {
    PlanError::new("42883", format!("could not identify {what} for type {}", scalar.name()))
}

/// 42883 for a type whose values are not compared.
pub(super) fn require_equality(scalar: &ScalarType) -> Result<(), PlanError> {
    if scalar.is_without_equality() { Err(refused("an equality operator", scalar)) } else { Ok(()) }
}

/// The same for one whose values have no order.
pub(super) fn require_ordering(scalar: &ScalarType) -> Result<(), PlanError> {
    if scalar.is_ordered() {
        return Ok(());
    }
    Err(refused("an ordering operator", scalar).hint("Use an explicit ordering operator or modify the query."))
}

/// The same, where the greatest or least of values is asked for.
pub(super) fn require_comparison(scalar: &ScalarType) -> Result<(), PlanError> {
    if scalar.is_ordered() { Ok(()) } else { Err(refused("a comparison function", scalar)) }
}
