//! pg_catalog and information_schema as relations: which there are, and their columns.
//!
//! Read by `resolve` like any table; the engine asks for their rows, which are computed from the catalog.
//! Never stored, never written.

use repr::{ColumnType, RelationId, ScalarType};

/// A catalog relation.
#[derive(Debug)]
pub struct SystemRelation {
    /// Its OID, PostgreSQL's own where it has a fixed one.
    pub id: RelationId,
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<SystemColumn>,
}

/// A column of a catalog relation.
#[derive(Debug)]
pub struct SystemColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub scalar: ScalarType,
}

impl SystemRelation {
    /// The columns' types.
    pub fn column_types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|column| ColumnType::nullable(column.scalar.clone())).collect()
    }
}

/// The catalog relation of that schema and name.
pub fn find(_schema: &str, _name: &str) -> Option<&'static SystemRelation> {
    None
}
