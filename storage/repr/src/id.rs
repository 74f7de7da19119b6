//! Identifiers. Each is a newtype, so that a table is never taken for an index.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An object id as PostgreSQL numbers them: built-in below 16384, ours from there, never reused.
pub type Id = u32;

/// The first id given to an object that a user creates.
pub const FIRST_USER_ID: Id = 16_384;

/// From here on ids are of objects that one session has for itself.
pub const FIRST_TEMPORARY_ID: Id = 1 << 31;

/// Whether an object is a session's own.
pub fn is_temporary(id: Id) -> bool {
    id >= FIRST_TEMPORARY_ID
}

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
///
/// Ordered as its bytes are. Copied for little: all but long keys stand in it.
#[derive(Clone, PartialEq, Eq)]
pub struct RowKey(Bytes);

/// Bytes of a key that stand in it.
const HERE_BYTES: usize = 22;

#[derive(Clone, PartialEq, Eq)]
enum Bytes {
    /// How many, and these, with zeros behind them.
    Here(u8, [u8; HERE_BYTES]),
    /// More than would have room.
    Apart(Box<[u8]>),
}

impl RowKey {
    /// Of the bytes as they stand in storage keys.
    pub fn new(bytes: &[u8]) -> RowKey {
        let mut here = [0; HERE_BYTES];
        match here.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                RowKey(Bytes::Here(bytes.len() as u8, here))
            }
            None => RowKey(Bytes::Apart(bytes.into())),
        }
    }

    /// The bytes as they stand in storage keys.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Here(length, bytes) => &bytes[..usize::from(*length)],
            Bytes::Apart(bytes) => bytes,
        }
    }
}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // No other key begins with a keyed hash, and it matters little where an ordered one does.
        state.write(self.bytes());
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &RowKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &RowKey) -> Ordering {
        match (&self.0, &other.0) {
            (Bytes::Here(length, bytes), Bytes::Here(other_length, other_bytes)) => {
                let (first, rest) = bytes.split_first_chunk::<16>().expect("there are more");
                let (other_first, other_rest) = other_bytes.split_first_chunk::<16>().expect("there are more");
                // Zeros behind the shorter of two: where all bytes are equal the lengths decide.
                u128::from_be_bytes(*first)
                    .cmp(&u128::from_be_bytes(*other_first))
                    .then_with(|| (rest, length).cmp(&(other_rest, other_length)))
            }
            (Bytes::Here(..) | Bytes::Apart(_), _) => self.bytes().cmp(other.bytes()),
        }
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::{HERE_BYTES, RowKey};

    #[test]
    fn row_keys_are_their_bytes_and_ordered_as_they_are() {
        let mut all = vec![Vec::new()];
        for length in [1, 2, 8, 15, 16, 17, HERE_BYTES, HERE_BYTES + 1, 40] {
            for last in [0, 1, 0xff] {
                for rest in [0, 7, 0xff] {
                    let mut bytes = vec![rest; length];
                    bytes[length - 1] = last;
                    all.push(bytes);
                }
            }
        }
        for one in &all {
            let key = RowKey::new(one);
            assert_eq!(key.bytes(), one);
            for other in &all {
                let other_key = RowKey::new(other);
                assert_eq!(key.cmp(&other_key), one.cmp(other), "{one:?} {other:?}");
                assert_eq!(key == other_key, one == other);
            }
        }
        assert_eq!(size_of::<RowKey>(), 24);
    }
}
