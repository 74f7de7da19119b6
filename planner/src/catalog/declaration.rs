//! What CREATE INDEX says beyond columns and uniqueness: it is shown, and dumps carry it on.

use repr::ColumnIndex;
use serde::{Deserialize, Serialize};

/// How an index was declared, beyond its key columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDeclaration {
    /// USING. Old folders say whether it is hash.
    #[serde(rename = "hash")]
    pub method: IndexMethod,
    /// By key column; those beyond are as by default.
    pub columns: Vec<IndexColumn>,
    /// INCLUDE
    pub include: Vec<ColumnIndex>,
    /// NULLS NOT DISTINCT: two rows that are NULL in the same columns are alike, too.
    #[serde(default)]
    pub nulls_not_distinct: bool,
    /// WHERE: rows for which it is not true do not stand in the index.
    #[serde(default)]
    pub predicate: Option<IndexPredicate>,
}

/// USING: how an index finds rows, as it was declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenMethod", from = "WrittenMethod")]
pub enum IndexMethod {
    /// By order.
    #[default]
    Btree,
    /// By equality; it is kept as the one by order is.
    Hash,
    /// By what values are made of: in memory only, see `scalar::inverted`.
    Gin,
    /// By ranges of what is stored together; it is kept as the one by order is.
    Brin,
}

impl IndexMethod {
    /// All of them.
    pub const ALL: [IndexMethod; 4] = [IndexMethod::Btree, IndexMethod::Hash, IndexMethod::Gin, IndexMethod::Brin];

    /// `pg_am.amname`.
    pub fn name(self) -> &'static str {
        match self {
            IndexMethod::Btree => "btree",
            IndexMethod::Hash => "hash",
            IndexMethod::Gin => "gin",
            IndexMethod::Brin => "brin",
        }
    }

    /// Its OIDs in `pg_am`, and of its handler.
    pub(crate) fn oids(self) -> (u32, u32) {
        match self {
            IndexMethod::Btree => (403, 330),
            IndexMethod::Hash => (405, 331),
            IndexMethod::Gin => (2742, 333),
            IndexMethod::Brin => (3580, 335),
        }
    }

    /// The method of that name.
    pub(crate) fn named(name: &str) -> Option<IndexMethod> {
        IndexMethod::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// A method in the catalog: whether it is hash, or by its name.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenMethod {
    IsHash(bool),
    Named(String),
}

impl From<IndexMethod> for WrittenMethod {
    fn from(method: IndexMethod) -> Self {
        match method {
            IndexMethod::Btree => WrittenMethod::IsHash(false),
            IndexMethod::Hash => WrittenMethod::IsHash(true),
            IndexMethod::Gin | IndexMethod::Brin => WrittenMethod::Named(method.name().to_owned()),
        }
    }
}

impl From<WrittenMethod> for IndexMethod {
    fn from(written: WrittenMethod) -> Self {
        match written {
            WrittenMethod::IsHash(true) => IndexMethod::Hash,
            WrittenMethod::IsHash(false) => IndexMethod::Btree,
            WrittenMethod::Named(name) => IndexMethod::named(&name).unwrap_or_default(),
        }
    }
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
