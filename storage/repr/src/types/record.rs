//! The type of a composite value: its fields, and which type it is, if it has a name.

use super::ScalarType;
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
}

impl RecordType {
    /// One with a name: of each attribute its name, type and modifier.
    pub fn named(id: Id, attributes: impl IntoIterator<Item = (String, ScalarType, i32)>) -> Self {
        let mut modifiers = Vec::new();
        let fields = attributes.into_iter().map(|(name, scalar, modifier)| {
            modifiers.push(modifier);
            (name, scalar)
        });
        let fields = fields.collect();
        if modifiers.iter().all(|modifier| *modifier == -1) {
            modifiers.clear();
        }
        RecordType { id, fields, modifiers: modifiers.into() }
    }

    /// Whether it is `record`, and no created type.
    pub fn is_anonymous(&self) -> bool {
        self.id == 0
    }

    /// A field's modifier, -1 for none.
    pub fn modifier(&self, place: usize) -> i32 {
        self.modifiers.get(place).copied().unwrap_or(-1)
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
        RecordType { id: 0, fields, modifiers: Arc::from([]) }
    }
}

impl From<Vec<(String, ScalarType)>> for RecordType {
    fn from(fields: Vec<(String, ScalarType)>) -> Self {
        RecordType::from(Arc::from(fields))
    }
}
