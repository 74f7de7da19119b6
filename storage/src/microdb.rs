//! Micro-databases: how their ids stand on disk, and the set of owners without which no personal row is stored.
//!
//! A µDB id is a keyring slot number behind a keyed permutation of 48 bits (`keyring::permutation`):
//! it looks random, tells nobody in which order people signed up, and leads to its key
//! without a lookup. In memory it has repr's sixteen bytes, the last ten zero; on disk only the first six, because a row
//! carries it three times. Ids are never reused.

use repr::MicroDbId;

/// Bytes of a µDB id on disk.
pub(crate) const MICRODB_BYTES: usize = 6;

/// Parts of a relation, by the first bits of µDB ids.
pub const SEGMENTS: usize = 1 << SEGMENT_BITS;
pub(crate) const SEGMENT_BITS: u32 = 12;

/// The segment of a person's rows.
pub fn segment_of(microdb: MicroDbId) -> usize {
    let [first, second, ..] = stored(microdb);
    usize::from(u16::from_be_bytes([first, second]) >> (16 - SEGMENT_BITS))
}

/// The form that stands on disk. Order is kept.
pub(crate) fn stored(microdb: MicroDbId) -> [u8; MICRODB_BYTES] {
    let (id, rest) = microdb.0.split_at(MICRODB_BYTES);
    assert!(rest.iter().all(|byte| *byte == 0), "a µDB id comes from `Store::allocate_microdb`");
    id.try_into().expect("split there")
}

/// The form that the rest of the system holds.
pub(crate) fn loaded(bytes: [u8; MICRODB_BYTES]) -> MicroDbId {
    let mut id = [0; 16];
    id[..MICRODB_BYTES].copy_from_slice(&bytes);
    MicroDbId(id)
}

/// The owners of a personal row: at least one, in the order of their ids, none twice.
///
/// A row that nobody owns cannot be stored, because there is no empty `OwnerSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSet {
    canonical: MicroDbId,
    others: Vec<MicroDbId>,
}

impl OwnerSet {
    /// One owner.
    pub fn single(owner: MicroDbId) -> OwnerSet {
        OwnerSet { canonical: owner, others: Vec::new() }
    }

    /// The owners among these ids; nothing when there are none.
    pub fn new(owners: impl IntoIterator<Item = MicroDbId>) -> Option<OwnerSet> {
        let mut others: Vec<MicroDbId> = owners.into_iter().collect();
        others.sort_unstable();
        others.dedup();
        if others.is_empty() {
            return None;
        }
        Some(OwnerSet { canonical: others.remove(0), others })
    }

    /// The owner with the smallest id: its copy is the one that scans read.
    pub fn canonical(&self) -> MicroDbId {
        self.canonical
    }

    /// All owners, smallest id first.
    pub fn iter(&self) -> impl Iterator<Item = MicroDbId> + '_ {
        std::iter::once(self.canonical).chain(self.others.iter().copied())
    }

    /// How many owners; never 0.
    #[allow(clippy::len_without_is_empty)] // It is never empty.
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Whether this person is an owner.
    pub fn contains(&self, owner: MicroDbId) -> bool {
        self.canonical == owner || self.others.binary_search(&owner).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnerSet, loaded, stored};

    #[test]
    fn owners_are_sorted_single_and_never_none() {
        let [a, b, c] = [1, 2, 3].map(|n| loaded([n, 0, 0, 0, 0, 9]));
        let owners = OwnerSet::new([c, a, b, a]).expect("three owners");
        assert_eq!(owners.iter().collect::<Vec<_>>(), [a, b, c]);
        assert_eq!((owners.canonical(), owners.len()), (a, 3));
        assert!(owners.contains(c) && !OwnerSet::single(a).contains(c));
        assert_eq!(OwnerSet::new([]), None);
    }

    #[test]
    fn ids_keep_their_order_on_disk() {
        for (low, high) in [([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0]), ([1; 6], [2; 6])] {
            assert!(loaded(low) < loaded(high));
            assert!(stored(loaded(low)) < stored(loaded(high)));
        }
    }
}
