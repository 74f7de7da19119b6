//! Foreign keys: what refers to what, and what becomes of it.

use crate::catalog::{ConstraintName, EdgeKind};
use repr::{ColumnIndex, IndexId, RelationId};
use serde::{Deserialize, Serialize};

/// A foreign key, and if annotated a DOG edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its name, OID and deferral.
    pub constraint: ConstraintName,
    /// Referencing columns of this table.
    pub columns: Vec<ColumnIndex>,
    /// The referenced table.
    pub target: RelationId,
    /// The referenced columns: a primary key or unique.
    pub target_columns: Vec<ColumnIndex>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// The ownership or access annotation.
    pub annotation: Option<EdgeKind>,
    /// Written `REFERENCES ONLY`: EXPLAIN COMPLIANCE makes no suggestion.
    pub only: bool,
    /// The automatic equality index on `columns`.
    pub index: IndexId,
    /// MATCH FULL: all of its columns are NULL, or none.
    #[serde(default)]
    pub match_full: bool,
    /// In which order its columns were written, by their places; none if they stand so.
    #[serde(default)]
    pub written: Vec<usize>,
}

impl ForeignKey {
    /// Its columns, and those that they refer to, as they were written.
    pub fn as_written(&self) -> [Vec<ColumnIndex>; 2] {
        [&self.columns, &self.target_columns].map(|columns| match self.written.as_slice() {
            [] => columns.clone(),
            places => places.iter().map(|place| columns[*place]).collect(),
        })
    }
}

/// What happens to referencing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// Refused at the end of the statement, or of the transaction if deferred.
    NoAction,
    /// Refused at once.
    Restrict,
    /// The same is done to the referencing rows.
    Cascade,
    /// Referencing columns become NULL.
    SetNull,
    /// Referencing columns become their defaults.
    SetDefault,
}
