//! What erasures owe: the relations and indexes in whose files erased bytes may stand.
//!
//! Never which rows or values: a list of what was erased would be one more thing to erase.
//!
//! ```text
//! stored    form(1) ‖ all(1) ‖ last erasure's number(8) ‖ { family(1) ‖ relation or index(4) }…
//! ```

use std::collections::BTreeSet;

use crate::audit::PendingAudit;
use crate::batch::{Batch, Operation};
use crate::index_build::is_intent;
use crate::keyspace;
use crate::rocks::{FAMILIES, Family};

const FORM: u8 = 1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owed {
    /// Erasures of a time when nothing was noted may be anywhere.
    everything: bool,
    /// Families, and in them the numbers with which keys begin.
    places: BTreeSet<(u8, u32)>,
}

/// A range of keys; without an end it is all that follows.
pub(crate) type KeyRange = (Vec<u8>, Option<Vec<u8>>);

impl Owed {
    /// Whatever there is.
    pub(crate) fn everything() -> Owed {
        Owed { everything: true, places: BTreeSet::new() }
    }

    /// What a batch erases; none if it is no erasure.
    pub(crate) fn of(batch: &Batch) -> Option<Owed> {
        let has_receipt = batch.audit.iter().any(|pending| matches!(pending, PendingAudit::Receipt { .. }));
        if !has_receipt && batch.erases.is_none() {
            return None;
        }
        let mut owed = Owed { everything: false, places: Owed::places_of(batch) };
        owed.places.extend(&batch.owes);
        batch.side_files.iter().for_each(|side| owed.places.extend(&side.places));
        (has_receipt || !owed.is_nothing()).then_some(owed)
    }

    /// Where a batch deletes and overwrites.
    pub(crate) fn places_of(batch: &Batch) -> BTreeSet<(u8, u32)> {
        let mut places = BTreeSet::new();
        for operation in batch.operations() {
            let (family, key) = match operation {
                // What a row was before stands under a key that may live: another owner's, or the database's.
                Operation::Put(Family::Rows, key, _) => (Family::Rows, key),
                // These are known by their keys.
                Operation::Put(
                    Family::Index | Family::Owners | Family::Subjects | Family::Meta | Family::Audit,
                    ..,
                ) => continue,
                // It says that an index was being made, and nothing of anybody.
                Operation::Delete(Family::Meta, key) if is_intent(key) => continue,
                Operation::Delete(family, key) | Operation::DeleteRange(family, key, _) => (family, key),
            };
            places.insert((family as u8, number(family, key)));
        }
        places
    }

    /// These too.
    pub(crate) fn add(&mut self, other: &Owed) {
        self.everything |= other.everything;
        self.places.extend(&other.places);
    }

    /// Whether nothing is owed.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.everything && self.places.is_empty()
    }

    /// The ranges of a family to be rewritten, those that touch as one.
    pub(crate) fn ranges(&self, family: Family) -> Vec<KeyRange> {
        let mut ranges: Vec<KeyRange> = Vec::new();
        match family {
            // Log and receipts hold nothing that an erasure takes away.
            Family::Audit => {}
            // Small, and the catalog's former versions are there.
            Family::Meta | Family::Subjects => ranges.push((Vec::new(), None)),
            Family::Rows | Family::Index | Family::Owners if self.everything => ranges.push((Vec::new(), None)),
            Family::Rows | Family::Index | Family::Owners => {
                for (_, number) in self.places.range((family as u8, 0)..=(family as u8, u32::MAX)) {
                    let from = number.to_be_bytes().to_vec();
                    let to = keyspace::successor(&from);
                    match ranges.last_mut() {
                        Some((_, end)) if end.as_ref() == Some(&from) => *end = to,
                        Some(_) | None => ranges.push((from, to)),
                    }
                }
            }
        }
        ranges
    }

    /// As it is stored, with the number of the last erasure.
    pub(crate) fn encode(&self, last: u64) -> Vec<u8> {
        let mut bytes = vec![FORM, u8::from(self.everything)];
        bytes.extend_from_slice(&last.to_be_bytes());
        for (family, number) in &self.places {
            bytes.push(*family);
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Reads it back; nothing where it has another form.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Owed, u64)> {
        let rest = bytes.strip_prefix(&[FORM])?;
        let (everything, rest) = rest.split_first()?;
        let (last, rest) = rest.split_first_chunk::<8>()?;
        let (places, []) = rest.as_chunks::<5>() else { return None };
        let place = |place: &[u8; 5]| {
            let [family, a, b, c, d] = *place;
            (usize::from(family) < FAMILIES.len()).then(|| (family, u32::from_be_bytes([a, b, c, d])))
        };
        let places = places.iter().map(place).collect::<Option<_>>()?;
        Some((Owed { everything: *everything != 0, places }, u64::from_be_bytes(*last)))
    }
}

/// With what a key begins, where a family's keys begin with numbers.
fn number(family: Family, key: &[u8]) -> u32 {
    match family {
        Family::Rows | Family::Index | Family::Owners => {
            key.first_chunk().map_or(0, |number| u32::from_be_bytes(*number))
        }
        Family::Subjects | Family::Meta | Family::Audit => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Owed;
    use crate::batch::Batch;
    use crate::rocks::Family;

    fn key(number: u32) -> Vec<u8> {
        [&number.to_be_bytes()[..], b"row"].concat()
    }

    #[test]
    fn an_erasing_batch_owes_what_it_deletes_and_rows_that_it_overwrites() {
        let mut batch = Batch::default();
        batch.delete(Family::Rows, &key(7));
        batch.delete(Family::Index, &key(9));
        batch.put(Family::Index, &key(11), b"");
        batch.put(Family::Rows, &key(8), b"what is left");
        assert_eq!(Owed::of(&batch), None, "an ordinary write owes nothing");
        batch.mark_erasing(5);
        let owed = Owed::of(&batch).expect("an erasure");
        let (from, to) = (7_u32.to_be_bytes().to_vec(), 9_u32.to_be_bytes().to_vec());
        assert_eq!(owed.ranges(Family::Rows), [(from, Some(to))], "neighbours are one range");
        let (from, to) = (9_u32.to_be_bytes().to_vec(), 10_u32.to_be_bytes().to_vec());
        assert_eq!(owed.ranges(Family::Index), [(from, Some(to))]);
        assert_eq!(owed.ranges(Family::Owners), []);
        assert_eq!(owed.ranges(Family::Audit), []);
        assert_eq!(Owed::decode(&owed.encode(3)), Some((owed.clone(), 3)));
        for length in 0..owed.encode(3).len() {
            let read = Owed::decode(&owed.encode(3)[..length]);
            assert!(read.is_none_or(|(read, last)| last == 3 && read != owed), "cut at {length}");
        }
    }

    #[test]
    fn everything_is_every_family_whole() {
        let mut nothing = Batch::default();
        nothing.mark_erasing(5);
        assert_eq!(Owed::of(&nothing), None, "a definition that erases nothing");
        let mut owed = Owed::default();
        owed.add(&Owed::everything());
        assert!(!owed.is_nothing());
        for family in [Family::Rows, Family::Index, Family::Owners, Family::Subjects, Family::Meta] {
            assert_eq!(owed.ranges(family), [(Vec::new(), None)]);
        }
        assert_eq!(Owed::decode(&owed.encode(9)), Some((owed, 9)));
        assert_eq!(Owed::decode(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Owed::decode(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 1]), None, "no such family");
    }
}
