//! The type of a created range: what it is over. Its multirange is known by the same.

use super::ScalarType;
use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A range that somebody created. It says what it is over, so that whoever reads or writes a value needs no catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RangeType {
    /// OID of its `pg_type` row; its array's is the next, and its multirange's the one after, whose array's follows.
    pub id: Id,
    subtype: Arc<ScalarType>,
}

impl RangeType {
    /// How many OIDs a range takes: its own, its multirange's, and those of the arrays of both.
    pub const OIDS: Id = 4;

    /// One over a type.
    pub fn new(id: Id, subtype: ScalarType) -> Self {
        RangeType { id, subtype: Arc::new(subtype) }
    }

    /// OID of the multirange's `pg_type` row.
    pub fn multirange_id(&self) -> Id {
        self.id + 2
    }

    /// What the bounds are.
    pub fn subtype(&self) -> &ScalarType {
        &self.subtype
    }
}
