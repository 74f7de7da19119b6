//! What a column says of its row to those who govern data: for what it may be used, until when, where it came from.

use super::Table;
use repr::{ColumnIndex, Datum, ScalarType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A property of personal data that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Property {
    /// For which purposes the row may be used; for none, where NULL.
    Purposes,
    /// For which purposes it may not be used, whatever else is said.
    Objections,
    /// From when on the row is there no more.
    Expires,
    /// Where the data came from.
    Origin,
    /// With whom it is shared.
    SharedWith,
    /// Which automated decisions it enters into.
    Decisions,
    /// Where it may be kept.
    Region,
    /// Which category of data it is.
    Category,
    /// On which legal basis it is kept.
    Basis,
    /// To whom it was disclosed.
    Recipient,
    /// Whether it may be stored, and nothing more.
    Restricted,
    /// To which purpose its owner consents by it.
    Consents,
    /// When that was taken back; NULL while it stands.
    Withdrawn,
}

impl Property {
    /// All of them.
    pub const ALL: [Property; 13] = [
        Property::Purposes,
        Property::Objections,
        Property::Expires,
        Property::Origin,
        Property::SharedWith,
        Property::Decisions,
        Property::Region,
        Property::Category,
        Property::Basis,
        Property::Recipient,
        Property::Restricted,
        Property::Consents,
        Property::Withdrawn,
    ];

    /// As it is written in a label.
    pub fn word(self) -> &'static str {
        match self {
            Property::Purposes => "PURPOSES",
            Property::Objections => "OBJECTIONS",
            Property::Expires => "EXPIRES",
            Property::Origin => "ORIGIN",
            Property::SharedWith => "SHARED_WITH",
            Property::Decisions => "DECISIONS",
            Property::Region => "REGION",
            Property::Category => "CATEGORY",
            Property::Basis => "BASIS",
            Property::Recipient => "RECIPIENT",
            Property::Restricted => "RESTRICTED",
            Property::Consents => "CONSENTS",
            Property::Withdrawn => "WITHDRAWN",
        }
    }

    /// As relations and exports name it.
    pub fn name(self) -> String {
        self.word().to_lowercase()
    }

    /// Whether a column may hold several of it: an array, or a text with commas.
    pub fn is_list(self) -> bool {
        match self {
            Property::Purposes
            | Property::Objections
            | Property::SharedWith
            | Property::Decisions
            | Property::Recipient => true,
            Property::Expires
            | Property::Origin
            | Property::Region
            | Property::Category
            | Property::Basis
            | Property::Restricted
            | Property::Consents
            | Property::Withdrawn => false,
        }
    }

    /// What a value of it says: the elements of an array, or of a text with commas.
    pub fn words(self, value: &Datum) -> BTreeSet<Box<str>> {
        let word = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(Box::from);
        match value {
            Datum::Text(text) if self.is_list() => text.split(',').filter_map(word).collect(),
            Datum::Text(text) => word(text).into_iter().collect(),
            Datum::Array(array) => array
                .elements
                .iter()
                .filter_map(|element| match element {
                    // What an array says is compared as it is.
                    Datum::Text(text) => Some(Box::from(&**text)),
                    _ => None,
                })
                .collect(),
            _ => BTreeSet::new(),
        }
    }

    /// What a column that holds it is of.
    pub(crate) fn types(self) -> &'static str {
        if matches!(self, Property::Expires | Property::Withdrawn) {
            "timestamp with time zone, timestamp or date"
        } else if self == Property::Restricted {
            "boolean"
        } else if self.is_list() {
            "text[] or text"
        } else {
            "text"
        }
    }

    /// Whether a column of that type can hold it.
    pub(crate) fn is_held_by(self, scalar: &ScalarType) -> bool {
        let is_text = |scalar: &ScalarType| matches!(scalar, ScalarType::Text | ScalarType::Varchar);
        match self {
            Property::Expires | Property::Withdrawn => {
                return matches!(scalar, ScalarType::Timestamptz | ScalarType::Timestamp | ScalarType::Date);
            }
            Property::Restricted => return *scalar == ScalarType::Bool,
            _ => {}
        }
        is_text(scalar) || self.is_list() && matches!(scalar, ScalarType::Array(element) if is_text(element))
    }
}

impl Table {
    /// The column that holds a property of its rows.
    pub fn property(&self, property: Property) -> Option<ColumnIndex> {
        self.live_columns().find(|(_, column)| column.property == Some(property)).map(|(index, _)| index)
    }
}
