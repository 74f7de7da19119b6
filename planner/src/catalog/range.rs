//! Ranges that somebody created: what they are over.

use repr::types::RangeType;
use repr::{Collation, Id};
use serde::{Deserialize, Serialize};

/// CREATE TYPE … AS RANGE
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RangeDefinition {
    /// What its values are.
    pub of: RangeType,
    /// `pg_range.rngcollation`: how what it is over is ordered, always by code points.
    pub collation: Collation,
    /// `pg_range.rngsubopc`
    pub operator_class: Id,
    /// `pg_range.rngsubdiff`, 0 for none. Nothing is computed with it: PostgreSQL asks it for its GiST indexes.
    pub difference: Id,
}

/// The name of a multirange for which none is written.
pub(crate) fn multirange_name(range: &str) -> String {
    const BYTES_MAX: usize = 63;
    let clipped = |text: &str, bytes_max: usize| text[..text.floor_char_boundary(bytes_max)].to_owned();
    match range.split_once("range") {
        Some((before, behind)) => clipped(&format!("{before}multirange{behind}"), BYTES_MAX),
        None => format!("{}_multirange", clipped(range, BYTES_MAX - "_multirange".len())),
    }
}
