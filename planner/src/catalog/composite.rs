//! Composite types: what a value of one is made of.

use super::row_type::relation_of;
use repr::types::{RangeType, RecordType};
use repr::{ColumnType, Id, ScalarType};
use serde::{Deserialize, Serialize};

/// CREATE TYPE … AS (…).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Composite {
    /// The attributes in order.
    pub attributes: Vec<Attribute>,
}

/// One attribute.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type, nullable.
    pub column_type: ColumnType,
}

impl Composite {
    /// The type of its values, under its OID.
    pub fn record(&self, id: Id) -> RecordType {
        RecordType::named(id, self.attributes.iter().map(|found| (found.name.as_str(), &found.column_type)))
    }

    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

/// OID of the `pg_class` row of a composite type, by that of its `pg_type` row; of a row type the table's.
pub fn class_of(id: Id) -> Id {
    match relation_of(id) {
        Some(relation) => relation.0,
        // Its array's is between them.
        None => id + 2,
    }
}

/// A type with what a composite is made of now, wherever that stands in it.
pub fn replaced(scalar: &ScalarType, record: &RecordType) -> ScalarType {
    match scalar {
        ScalarType::Record(own) if own.id == record.id => ScalarType::Record(record.clone()),
        ScalarType::Record(own) => ScalarType::Record(own.with_fields(|field| replaced(field, record))),
        ScalarType::Array(element) => ScalarType::Array(Box::new(replaced(element, record))),
        ScalarType::Range(range) => ScalarType::Range(over_replaced(range, record)),
        ScalarType::Multirange(range) => ScalarType::Multirange(over_replaced(range, record)),
        other => other.clone(),
    }
}

/// The same of what a range is over.
pub fn over_replaced(range: &RangeType, record: &RecordType) -> RangeType {
    RangeType::new(range.id, replaced(range.subtype(), record))
}

/// Whether values of a type hold ones of a created type.
pub fn is_made_of(scalar: &ScalarType, id: Id) -> bool {
    scalar.any_part(|part| part.created() == Some(id))
}
