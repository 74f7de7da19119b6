//! Every key of every column family, in one place: what is written where, and how it is read back.
//!
//! ```text
//! rows      relation(4) ‖ µDB(6) ‖ row key(16)        personal     → seal
//!           relation(4) ‖ row key                     impersonal   → seal
//! index     index(4) ‖ keyed hash(16) ‖ row key       hashed       → µDB(6) as locator, or nothing
//!           index(4) ‖ value ‖ row key                ordered      → length of value (varint)
//! owners    relation(4) ‖ row key(16) ‖ µDB(6)                     → derivations (varint; nothing for 1)
//! subjects  1 ‖ relation(4) ‖ row key(16)                          → µDB(6)
//!           2 ‖ µDB(6)                                             → relation(4) ‖ row key(16)
//! meta      the engine's key                                       → seal
//! audit     see audit/log
//! ```
//! Integers are big-endian, so that byte order is their order. Row keys of personal tables are keyed
//! hashes; no other part of a key comes from a person's data. Within a family no two things share a key:
//! fixed widths come first and at most one part, the last, has a free length.

use repr::{IndexId, MicroDbId, RelationId, RowKey};

use crate::microdb::{self, MICRODB_BYTES};

/// Bytes of a personal row key and of a hashed index value.
pub(crate) const HASH_BYTES: usize = 16;

/// A hashed value: `Store::hash_index`.
pub type ValueHash = [u8; HASH_BYTES];
/// Bytes before a row key in `rows` of personal relations.
pub(crate) const ROW_PREFIX_BYTES: usize = 4 + MICRODB_BYTES;
/// Bytes of the prefix that filters of `index` and `owners` know.
pub(crate) const FILTER_PREFIX_BYTES: usize = 4 + HASH_BYTES;

const SUBJECT_BY_ROW: u8 = 1;
const SUBJECT_BY_MICRODB: u8 = 2;

/// Integers in as few bytes as they need: seven bits a byte, low bits first, high bit means more.
pub(crate) mod varint {
    /// Appends.
    pub(crate) fn write(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// Reads one in its shortest form, and what follows.
    pub(crate) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let mut value: u64 = 0;
        for (position, &byte) in bytes.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if position == 9 && byte > 1 {
                return None;
            }
            value |= bits << (7 * position);
            if byte & 0x80 == 0 {
                // A longer form of the same number would be a second key for one thing.
                return (byte != 0 || position == 0).then(|| (value, &bytes[position + 1..]));
            }
        }
        None
    }
}

/// The key of a personal row's copy.
pub(crate) fn personal_row(
    relation: RelationId,
    microdb: MicroDbId,
    key: &RowKey,
) -> [u8; ROW_PREFIX_BYTES + HASH_BYTES] {
    let mut bytes = [0; ROW_PREFIX_BYTES + HASH_BYTES];
    bytes[..4].copy_from_slice(&relation.0.to_be_bytes());
    bytes[4..ROW_PREFIX_BYTES].copy_from_slice(&microdb::stored(microdb));
    bytes[ROW_PREFIX_BYTES..].copy_from_slice(personal_key(key));
    bytes
}

/// The parts of a personal row's key.
pub(crate) fn parse_personal_row(bytes: &[u8]) -> Option<(MicroDbId, RowKey)> {
    if !is_personal_row(bytes) {
        return None;
    }
    let (prefix, key) = bytes.split_at_checked(ROW_PREFIX_BYTES)?;
    Some((microdb::loaded(prefix[4..].try_into().ok()?), RowKey::new(key)))
}

/// Whether these are as long as the key of a personal row is.
pub(crate) fn is_personal_row(bytes: &[u8]) -> bool {
    bytes.len() == ROW_PREFIX_BYTES + HASH_BYTES
}

/// The bytes of a personal row key.
pub(crate) fn personal_key(key: &RowKey) -> &[u8; HASH_BYTES] {
    key.bytes().try_into().expect("a personal row key is a 16-byte keyed hash, made by `Store::hash_key`")
}

/// The start of a relation in `rows` and `owners`.
pub(crate) fn relation(relation: RelationId) -> [u8; 4] {
    relation.0.to_be_bytes()
}

/// The relation of a row's or an owner's key.
pub(crate) fn relation_of(key: &[u8]) -> Option<RelationId> {
    Some(RelationId(u32::from_be_bytes(*key.first_chunk()?)))
}

/// The start of a data subject's rows of one relation.
pub(crate) fn relation_of_microdb(relation: RelationId, microdb: MicroDbId) -> [u8; ROW_PREFIX_BYTES] {
    let mut bytes = [0; ROW_PREFIX_BYTES];
    bytes[..4].copy_from_slice(&relation.0.to_be_bytes());
    bytes[4..].copy_from_slice(&microdb::stored(microdb));
    bytes
}

/// The key of an impersonal row.
pub(crate) fn impersonal_row(relation: RelationId, key: &[u8]) -> Vec<u8> {
    joined(&relation.0.to_be_bytes(), key, &[])
}

/// The key of a hashed index entry.
pub(crate) fn index_hashed(index: IndexId, value: &[u8; HASH_BYTES], key: &RowKey) -> Vec<u8> {
    joined(&index_hashed_prefix(index, value), key.bytes(), &[])
}

/// The start of a hashed value's entries.
pub(crate) fn index_hashed_prefix(index: IndexId, value: &[u8; HASH_BYTES]) -> [u8; FILTER_PREFIX_BYTES] {
    let mut bytes = [0; FILTER_PREFIX_BYTES];
    bytes[..4].copy_from_slice(&index.0.to_be_bytes());
    bytes[4..].copy_from_slice(value);
    bytes
}

/// The key of an ordered index entry.
pub(crate) fn index_ordered(index: IndexId, value: &[u8], key: &RowKey) -> Vec<u8> {
    joined(&index.0.to_be_bytes(), value, key.bytes())
}

/// The start of an index.
pub(crate) fn index(index: IndexId) -> [u8; 4] {
    index.0.to_be_bytes()
}

/// The key of an ownership entry.
pub(crate) fn owner(
    relation: RelationId,
    key: &RowKey,
    microdb: MicroDbId,
) -> [u8; FILTER_PREFIX_BYTES + MICRODB_BYTES] {
    let mut bytes = [0; FILTER_PREFIX_BYTES + MICRODB_BYTES];
    bytes[..FILTER_PREFIX_BYTES].copy_from_slice(&owners_of(relation, key));
    bytes[FILTER_PREFIX_BYTES..].copy_from_slice(&microdb::stored(microdb));
    bytes
}

/// The start of a row's ownership entries, which follow in the order of µDB ids.
pub(crate) fn owners_of(relation: RelationId, key: &RowKey) -> [u8; FILTER_PREFIX_BYTES] {
    let mut bytes = [0; FILTER_PREFIX_BYTES];
    bytes[..4].copy_from_slice(&relation.0.to_be_bytes());
    bytes[4..].copy_from_slice(personal_key(key));
    bytes
}

/// The parts of an ownership entry's key.
pub(crate) fn parse_owner(bytes: &[u8]) -> Option<(RowKey, MicroDbId)> {
    let (prefix, microdb) = bytes.split_at_checked(FILTER_PREFIX_BYTES)?;
    Some((RowKey::new(&prefix[4..]), microdb::loaded(microdb.try_into().ok()?)))
}

/// The key of a data subject's record, found by its row.
pub(crate) fn subject_by_row(relation: RelationId, key: &RowKey) -> [u8; 1 + FILTER_PREFIX_BYTES] {
    let mut bytes = [SUBJECT_BY_ROW; 1 + FILTER_PREFIX_BYTES];
    bytes[1..].copy_from_slice(&owners_of(relation, key));
    bytes
}

/// The start of a relation's records of data subjects, found by row.
pub(crate) fn subjects_of(relation: RelationId) -> Vec<u8> {
    joined(&SUBJECTS_BY_ROW, &relation.0.to_be_bytes(), &[])
}

/// The key of a data subject's record, found by its µDB.
pub(crate) fn subject_by_microdb(microdb: MicroDbId) -> [u8; 1 + MICRODB_BYTES] {
    let mut bytes = [SUBJECT_BY_MICRODB; 1 + MICRODB_BYTES];
    bytes[1..].copy_from_slice(&microdb::stored(microdb));
    bytes
}

/// The start of all records found by row.
pub(crate) const SUBJECTS_BY_ROW: [u8; 1] = [SUBJECT_BY_ROW];
/// The start of all records found by µDB.
pub(crate) const SUBJECTS_BY_MICRODB: [u8; 1] = [SUBJECT_BY_MICRODB];

/// The relation and row key of `relation ‖ row key`, as they stand in subjects' records.
pub(crate) fn parse_relation_row(bytes: &[u8]) -> Option<(RelationId, RowKey)> {
    let (relation, key) = bytes.split_first_chunk::<4>()?;
    (key.len() == HASH_BYTES).then(|| (RelationId(u32::from_be_bytes(*relation)), RowKey::new(key)))
}

/// The smallest key above every key with this prefix; nothing when the prefix is all 0xff.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = prefix.to_vec();
    while let Some(last) = bytes.pop() {
        if last < 0xff {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

fn joined(first: &[u8], second: &[u8], third: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(first.len() + second.len() + third.len());
    bytes.extend_from_slice(first);
    bytes.extend_from_slice(second);
    bytes.extend_from_slice(third);
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::crypto::sodium;

    /// Small pseudo-random numbers, so that collisions of parts are frequent.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        fn bytes<const N: usize>(&mut self) -> [u8; N] {
            let mut bytes = [0; N];
            for _ in 0..2 {
                bytes[self.below(N as u64) as usize] = [0, 1, 0xff][self.below(3) as usize];
            }
            bytes
        }
    }

    #[test]
    fn different_things_never_share_a_key() {
        sodium::initialize();
        let mut numbers = Numbers(1);
        let mut rows = BTreeMap::new();
        let mut index = BTreeMap::new();
        let mut owners = BTreeMap::new();
        let mut subjects = BTreeMap::new();
        for _ in 0..50_000 {
            let id = [1, 2, 0x0100, 0x0001_0000][numbers.below(4) as usize];
            let microdb = microdb::loaded(numbers.bytes());
            let key = RowKey::new(&numbers.bytes::<16>());
            let value = numbers.bytes::<16>();
            let relation = RelationId(id);
            let row = (id, microdb, key.clone());
            let stored = personal_row(relation, microdb, &key);
            assert_eq!(parse_personal_row(&stored), Some((microdb, key.clone())));
            assert!(stored.starts_with(&relation_of_microdb(relation, microdb)));
            assert!(rows.insert(stored.to_vec(), row.clone()).is_none_or(|other| other == row));
            let stored = owner(relation, &key, microdb);
            assert_eq!(parse_owner(&stored), Some((key.clone(), microdb)));
            assert!(stored.starts_with(&owners_of(relation, &key)));
            assert!(owners.insert(stored.to_vec(), row.clone()).is_none_or(|other| other == row));
            let entry = (id, value, key.clone());
            let stored = index_hashed(IndexId(id), &value, &key);
            assert!(index.insert(stored, entry.clone()).is_none_or(|other| other == entry));
            for (stored, thing) in [
                (subject_by_row(relation, &key).to_vec(), (1, id, key.bytes().to_vec())),
                (subject_by_microdb(microdb).to_vec(), (2, 0, microdb.0.to_vec())),
            ] {
                assert!(subjects.insert(stored, thing.clone()).is_none_or(|other| other == thing));
            }
        }
    }

    #[test]
    fn numbers_have_one_form_each() {
        for number in [0, 1, 127, 128, 300, 1 << 31, u64::from(u32::MAX), 1 << 56, u64::MAX] {
            let mut bytes = Vec::new();
            varint::write(number, &mut bytes);
            bytes.push(7);
            assert_eq!(varint::read(&bytes), Some((number, [7].as_slice())));
        }
        for bad in [[0x80].as_slice(), &[0x80, 0x00], &[0xff; 10], &[0xff; 11], &[]] {
            assert_eq!(varint::read(bad), None);
        }
    }

    #[test]
    fn a_successor_is_above_everything_with_the_prefix() {
        assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(successor(&[1, 0xff, 0xff]), Some(vec![2]));
        assert_eq!(successor(&[0xff, 0xff]), None);
        assert_eq!(successor(&[]), None);
    }
}
