//! How text is ordered: a collation, by the OID that pg_collation gives it. What each of them does stands in `planner::scalar`.
//!
//! Texts that are equal are the same text under every collation: a collation orders, and makes nothing one.

use crate::id::Id;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Collation(pub Id);

impl Collation {
    /// The database's own: by code points.
    pub const DEFAULT: Collation = Collation(100);
    /// By code points.
    pub const C: Collation = Collation(950);
    /// The same.
    pub const POSIX: Collation = Collation(951);
    /// Of parts that differ in theirs: nothing can be compared.
    pub const INDETERMINATE: Collation = Collation(0);

    /// Whether it is what a column of text has where nothing is written.
    pub fn is_default(&self) -> bool {
        *self == Collation::DEFAULT
    }
}

impl Default for Collation {
    fn default() -> Self {
        Collation::DEFAULT
    }
}
