//! Rows of pg_description that are no object's: whoever keeps the database has put them there.

use super::DatabaseId;
use repr::Id;
use serde::{Deserialize, Serialize};

/// The key of a row of pg_description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DescriptionKey {
    /// `objoid`
    pub object: Id,
    /// `classoid`
    pub class: Id,
    /// `objsubid`
    pub part: i32,
}

/// A row of pg_description that is no object's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LooseComment {
    /// Where it is listed.
    pub database: DatabaseId,
    /// What it says it is about.
    pub key: DescriptionKey,
    /// What it says.
    pub text: String,
}
