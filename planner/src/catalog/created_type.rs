//! Types that somebody created: enumerations and domains.

use super::{Domain, Enumeration, NamespaceId};
use repr::{ColumnType, Id, ScalarType};
use serde::{Deserialize, Serialize};

/// CREATE TYPE, CREATE DOMAIN.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreatedType {
    /// OID of its `pg_type` row; that of an enumeration's array is the next.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The schema that it is in.
    #[serde(default = "NamespaceId::public")]
    pub namespace: NamespaceId,
    /// What it is.
    #[serde(flatten)]
    pub kind: TypeKind,
}

/// What a created type is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TypeKind {
    /// CREATE TYPE … AS ENUM
    Enum(Enumeration),
    /// CREATE DOMAIN
    Domain(Domain),
}

impl CreatedType {
    /// What it is as an enumeration, if it is one.
    pub fn enumeration(&self) -> Option<&Enumeration> {
        match &self.kind {
            TypeKind::Enum(found) => Some(found),
            TypeKind::Domain(_) => None,
        }
    }

    /// What it is as a domain, if it is one.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.kind {
            TypeKind::Domain(found) => Some(found),
            TypeKind::Enum(_) => None,
        }
    }

    /// The type of a column that is of it: a domain's values are of the type that it is over.
    pub fn column_type(&self) -> ColumnType {
        match &self.kind {
            TypeKind::Enum(_) => ColumnType::nullable(ScalarType::Enum(self.id)),
            TypeKind::Domain(found) => ColumnType { domain: self.id, ..found.base.clone() },
        }
    }

    /// What messages call its kind.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            TypeKind::Enum(_) => "type",
            TypeKind::Domain(_) => "domain",
        }
    }
}
