//! What CREATE INDEX says beyond columns and uniqueness: it is shown, and dumps carry it on.

use repr::ColumnIndex;
use serde::{Deserialize, Serialize};

/// How an index was declared, beyond its key columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDeclaration {
    /// USING hash
    pub hash: bool,
    /// By key column; those beyond are as by default.
    pub columns: Vec<IndexColumn>,
    /// INCLUDE
    pub include: Vec<ColumnIndex>,
    /// WHERE: rows for which it is not true do not stand in the index.
    #[serde(default)]
    pub predicate: Option<IndexPredicate>,
}

/// Which rows stand in a partial index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPredicate {
    /// The condition as SQL text over the table's columns.
    pub expression: String,
    /// The columns that it names.
    pub columns: Vec<ColumnIndex>,
}

/// What stands behind a key column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// DESC
    pub descending: bool,
    /// NULLS FIRST, written or by DESC.
    pub nulls_first: bool,
    /// An operator class that is not the type's default.
    pub class: Option<String>,
    /// A collation that is not the column's.
    pub collation: Option<String>,
}

impl IndexDeclaration {
    /// What was said of the key column at that place.
    pub fn column(&self, place: usize) -> IndexColumn {
        self.columns.get(place).cloned().unwrap_or_default()
    }

    /// Key columns and included ones.
    pub(crate) fn all_columns(&self, keys: &[ColumnIndex]) -> Vec<ColumnIndex> {
        keys.iter().chain(&self.include).copied().collect()
    }
}
