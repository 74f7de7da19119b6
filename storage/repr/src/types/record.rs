//! The type of a composite value: its fields, and which type it is, if it has a name.

use super::{ColumnType, ScalarType};
use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

/// What a composite is made of, field by field.
///
/// One with a name holds what the catalog says of its attributes, so that whoever reads or writes a value needs no catalog. It is
/// the same type everywhere: changing the attributes changes every column's type that is made of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordType {
    /// OID of its `pg_type` row, its array's is the next; 0 is an anonymous one, `record`.
    pub id: Id,
    fields: Arc<[(String, ScalarType)]>,
    /// The fields' modifiers; empty if none has one.
    modifiers: Arc<[i32]>,
    /// The fields' domains, 0 for none; empty if none has one.
    #[serde(default)]
    domains: Arc<[Id]>,
}

impl RecordType {
    /// One with a name, of attributes with theirs.
    pub fn named<'a>(id: Id, attributes: impl IntoIterator<Item = (&'a str, &'a ColumnType)>) -> Self {
        let (mut modifiers, mut domains) = (Vec::new(), Vec::new());
        let fields = attributes.into_iter().map(|(name, own)| {
            modifiers.push(own.modifier);
            domains.push(own.domain);
            (name.to_owned(), own.scalar.clone())
        });
        let fields = fields.collect();
        if modifiers.iter().all(|modifier| *modifier == -1) {
            modifiers.clear();
        }
        if domains.iter().all(|domain| *domain == 0) {
            domains.clear();
        }
        RecordType { id, fields, modifiers: modifiers.into(), domains: domains.into() }
    }

    /// Whether it is `record`, and no created type.
    pub fn is_anonymous(&self) -> bool {
        self.id == 0
    }

    /// A field's modifier, -1 for none.
    pub fn modifier(&self, place: usize) -> i32 {
        self.modifiers.get(place).copied().unwrap_or(-1)
    }

    /// A field's domain, 0 for none.
    pub fn domain(&self, place: usize) -> Id {
        self.domains.get(place).copied().unwrap_or(0)
    }

    /// The OID of a field's type: its domain's, if it has one.
    pub fn field_oid(&self, place: usize) -> Id {
        match self.domain(place) {
            0 => self.fields.get(place).map_or(0, |(_, scalar)| scalar.oid()),
            domain => domain,
        }
    }

    /// A field's type as that of a column, which may be NULL.
    pub fn column_type(&self, place: usize) -> ColumnType {
        let scalar = self.fields.get(place).map_or(ScalarType::Unknown, |(_, scalar)| scalar.clone());
        ColumnType { modifier: self.modifier(place), domain: self.domain(place), ..ColumnType::nullable(scalar) }
    }

    /// Whether one of its own fields is of a domain.
    pub fn has_domains(&self) -> bool {
        !self.domains.is_empty()
    }

    /// The same with fields of other types, each by its place.
    pub fn with_fields(&self, other: impl Fn(&ScalarType) -> ScalarType) -> Self {
        let fields = self.fields.iter().map(|(name, scalar)| (name.clone(), other(scalar))).collect();
        RecordType { fields, ..self.clone() }
    }
}

impl Deref for RecordType {
    type Target = [(String, ScalarType)];

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl From<Arc<[(String, ScalarType)]>> for RecordType {
    fn from(fields: Arc<[(String, ScalarType)]>) -> Self {
        RecordType { id: 0, fields, modifiers: Arc::from([]), domains: Arc::from([]) }
    }
}

impl From<Vec<(String, ScalarType)>> for RecordType {
    fn from(fields: Vec<(String, ScalarType)>) -> Self {
        RecordType::from(Arc::from(fields))
    }
}
