//! Domains: another type's values, as far as they pass.

use super::Check;
use repr::ColumnType;
use serde::{Deserialize, Serialize};

/// CREATE DOMAIN.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Domain {
    /// What it is over. Of a domain over a domain the type is that below both, and its `domain` is the other one.
    pub base: ColumnType,
    /// NOT NULL
    #[serde(default)]
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    #[serde(default)]
    pub default: Option<String>,
    /// CHECK constraints over VALUE.
    #[serde(default)]
    pub checks: Vec<Check>,
}
