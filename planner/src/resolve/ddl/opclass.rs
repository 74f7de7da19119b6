//! Operator classes and collations of an index's columns: which there are, and which are worth showing.

use crate::catalog::{IndexColumn, Table};
use crate::error::PlanError;
use crate::parse::definition::IndexElement;
use crate::resolve::ddl::DefinitionChange;
use crate::system::opclass;
use repr::{ColumnIndex, ScalarType};

impl DefinitionChange<'_> {
    /// What is declared of a key column, checked against its type.
    pub(super) fn index_column(
        &self,
        table: &Table,
        column: ColumnIndex,
        element: &IndexElement,
        hash: bool,
    ) -> Result<IndexColumn, PlanError> {
        let scalar = &table.columns[column].column_type.scalar;
        if hash && (element.descending || element.nulls_first.is_some()) {
            let what = if element.descending { "ASC/DESC" } else { "NULLS FIRST/LAST" };
            return Err(PlanError::new("0A000", format!("access method \"hash\" does not support {what} options")));
        }
        let mut declared = IndexColumn {
            descending: element.descending,
            nulls_first: element.nulls_first.unwrap_or(element.descending),
            ..IndexColumn::default()
        };
        if let Some(collation) = &element.collation {
            let position = Some(collation.position);
            if !matches!(scalar, ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Name) {
                let name = crate::scalar::registry::type_name(scalar);
                return Err(
                    PlanError::new("42804", format!("collations are not supported by type {name}")).at(position)
                );
            }
            match collation.name.as_str() {
                "default" => {}
                "C" | "POSIX" | "ucs_basic" => declared.collation = Some(collation.name.clone()),
                other => {
                    return Err(PlanError::unsupported(format!("collation \"{other}\""))
                        .hint("text is compared by code points, as COLLATE \"C\" does")
                        .at(position));
                }
            }
        }
        if let Some(class) = &element.class {
            let method = if hash { "hash" } else { "btree" };
            let position = Some(class.position);
            let Some(found) = opclass::find(method, &class.name) else {
                return Err(PlanError::new(
                    "42704",
                    format!("operator class \"{}\" does not exist for access method \"{method}\"", class.name),
                )
                .at(position));
            };
            if !found.takes(scalar) {
                let name = crate::scalar::registry::type_name(scalar);
                return Err(PlanError::new(
                    "42804",
                    format!("operator class \"{}\" does not accept data type {name}", class.name),
                )
                .at(position));
            }
            let usual = opclass::default(method, scalar).is_some_and(|usual| usual.name == found.name);
            declared.class = (!usual).then(|| found.name.to_owned());
        }
        Ok(declared)
    }
}
