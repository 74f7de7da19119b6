//! A map with composite keys as a list of pairs.

use super::{EdgeRef, EdgeSource};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

pub fn serialize<S: Serializer>(map: &BTreeMap<EdgeRef, EdgeSource>, serializer: S) -> Result<S::Ok, S::Error> {
    map.iter().collect::<Vec<_>>().serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<EdgeRef, EdgeSource>, D::Error> {
    Ok(Vec::<(EdgeRef, EdgeSource)>::deserialize(deserializer)?.into_iter().collect())
}
