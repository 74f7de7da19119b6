//! Identifiers. Each is a newtype, so that a table is never taken for an index.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An object id as PostgreSQL numbers them: built-in below 16384, ours from there, never reused.
pub type Id = u32;

/// The first id given to an object that a user creates.
pub const FIRST_USER_ID: Id = 16_384;

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(pub Id);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

object_id!(
    /// A table, view or catalog relation (`pg_class.oid`).
    RelationId
);
object_id!(
    /// An index (`pg_class.oid` of the index).
    IndexId
);
object_id!(
    /// A sequence (`pg_class.oid` of the sequence).
    SequenceId
);

/// Position of a column in its table's physical column list, from 0; dropped columns keep theirs.
pub type ColumnIndex = usize;

/// The number of a commit group: the one logical clock. 0 is the empty database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitTime(pub u64);

/// A micro-database: the rows of one data subject. Sixteen random bytes, known only to the keyring.
///
/// Its `Debug` is redacted: it stands for a person.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MicroDbId(pub [u8; 16]);

impl fmt::Debug for MicroDbId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MicroDbId(..)")
    }
}

/// What names a logical row within its table.
///
/// For a personal table (and for any table with a foreign-key path to a data subject): a 16-byte
/// keyed hash of the canonical primary key. For an impersonal one: the order-preserving primary key
/// itself. A table without primary key has an 8-byte hidden row id in either place (hashed in the first).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKey(pub Box<[u8]>);

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowKey(..)")
    }
}

impl RowKey {
    /// The bytes as they stand in storage keys.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
