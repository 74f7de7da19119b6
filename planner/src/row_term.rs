//! What is asked of a row that is made, besides its constraints: by policies, and by what governs personal data.

use crate::catalog::{Property, Table};
use crate::error::PlanError;

/// What a row must meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTerm {
    /// A policy; its name, if it is a restrictive one.
    Policy(Option<String>),
    /// That it may be used for the purpose of who makes it.
    Purpose,
    /// That it may be kept here.
    Region,
    /// That it is there for a moment, at least.
    Expiry,
}

impl RowTerm {
    /// What is said of a row that does not.
    pub fn broken(&self, table: &Table) -> PlanError {
        let name = &table.name;
        let column =
            |property| table.property(property).map(|index| table.columns[index].name.clone()).unwrap_or_default();
        match self {
            RowTerm::Policy(Some(policy)) => {
                let message = format!("new row violates row-level security policy \"{policy}\" for table \"{name}\"");
                PlanError::new("42501", message)
            }
            RowTerm::Policy(None) => {
                PlanError::new("42501", format!("new row violates row-level security policy for table \"{name}\""))
            }
            RowTerm::Purpose => {
                let message = format!("new row of table \"{name}\" is not for the purpose that is declared");
                PlanError::new("42501", message).hint("SET dogwood.purpose, and have the row allow it.")
            }
            RowTerm::Region => {
                let message = format!(
                    "column \"{}\" of table \"{name}\" names a region that is not allowed",
                    column(Property::Region)
                );
                PlanError::new("23514", message).hint("SHOW dogwood.regions says which are.")
            }
            RowTerm::Expiry => {
                let message =
                    format!("new row of table \"{name}\" has expired, by column \"{}\"", column(Property::Expires));
                PlanError::new("23514", message)
                    .hint("Nobody would see it. COPY takes such rows, for the sake of dumps.")
            }
        }
    }
}
