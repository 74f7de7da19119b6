//! Operator classes and collations of an index's columns: which there are, and which are worth showing.

use crate::catalog::{IndexColumn, IndexMethod, Table};
use crate::error::PlanError;
use crate::parse::definition::IndexElement;
use crate::resolve::ddl::DefinitionChange;
use crate::resolve::ddl::column::column_collation;
use crate::system::opclass;
use repr::{ColumnIndex, ScalarType};

impl DefinitionChange<'_> {
    /// What is declared of a key column, checked against its type.
    pub(super) fn index_column(
        &self,
        table: &Table,
        column: ColumnIndex,
        element: &IndexElement,
        method: IndexMethod,
    ) -> Result<IndexColumn, PlanError> {
        let scalar = &table.columns[column].column_type.scalar;
        let mut declared = IndexColumn {
            descending: element.descending,
            nulls_first: element.nulls_first.unwrap_or(element.descending),
            ..IndexColumn::default()
        };
        // That of an expression is in its key.
        if let Some(collation) = element.collation.as_ref().filter(|_| !table.columns[column].hidden) {
            let found = column_collation(collation, scalar)?;
            declared.collation = (!found.is_default()).then(|| collation.name.clone());
        }
        let name = method.name();
        let usual = opclass::default(name, scalar);
        let Some(class) = &element.class else {
            if method == IndexMethod::Gin && usual.is_none() {
                return Err(no_class(name, scalar));
            }
            return Ok(declared);
        };
        let position = Some(class.position);
        let Some(found) = opclass::find(name, &class.name) else {
            let message = format!("operator class \"{}\" does not exist for access method \"{name}\"", class.name);
            return Err(PlanError::new("42704", message).at(position));
        };
        if !found.takes(scalar) {
            let scalar = crate::scalar::registry::type_name(scalar);
            let message = format!("operator class \"{}\" does not accept data type {scalar}", class.name);
            return Err(PlanError::new("42804", message).at(position));
        }
        declared.class = usual.is_none_or(|usual| usual.name != found.name).then(|| found.name.to_owned());
        Ok(declared)
    }
}

/// A type whose values cannot stand in an index of that method.
pub(super) fn no_class(method: &str, scalar: &ScalarType) -> PlanError {
    let message = format!("data type {} has no default operator class for access method \"{method}\"", scalar.name());
    PlanError::new("42704", message)
        .hint("You must specify an operator class for the index or define a default operator class for the data type.")
}
