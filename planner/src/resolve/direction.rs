//! The direction of an ORDER BY's item.

use crate::error::PlanError;
use sqlparser::ast::{OrderByOptions, OrderBySort};

/// ORDER BY's (descending, nulls first).
pub(super) fn direction(options: &OrderByOptions) -> Result<(bool, bool), PlanError> {
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(operator)) => match operator.0.last().map(ToString::to_string).as_deref() {
            Some("<") => false,
            Some(">") => true,
            _ => return Err(PlanError::new("42809", format!("operator {operator} is not a valid ordering operator"))),
        },
    };
    Ok((descending, options.nulls_first.unwrap_or(descending)))
}
