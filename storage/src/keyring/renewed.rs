//! People whose data key is another than that of their own slot: it was replaced.
//!
//! ```text
//! µDB ─▶ current slot      seals, and opens
//!     └▶ former slot       opens what is not sealed anew yet, until it is destroyed
//! ```
//! The ids stay; a slot is still never used twice, so the newest keyring opens all that is sealed under keys that live.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use crate::microdb::MICRODB_BYTES;

type Id = [u8; MICRODB_BYTES];

/// Whose slots a person's keys stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPlaces {
    /// What is sealed from now on.
    pub(crate) current: Id,
    /// What was sealed before, while there may be some.
    pub(crate) former: Option<Id>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Renewed {
    // Asked for only where a key is read from the file, or does not open something.
    people: RwLock<BTreeMap<Id, KeyPlaces>>,
}

impl Renewed {
    pub(super) fn set(&self, of: Id, places: KeyPlaces) {
        self.people.write().insert(of, places);
    }

    pub(super) fn remove(&self, of: Id) {
        self.people.write().remove(&of);
    }

    /// Where this person's key stands.
    pub(super) fn current(&self, of: Id) -> Id {
        self.people.read().get(&of).map_or(of, |places| places.current)
    }

    pub(super) fn former(&self, of: Id) -> Option<Id> {
        self.people.read().get(&of).and_then(|places| places.former)
    }

    /// Wherever a key of this person may stand.
    pub(super) fn all(&self, of: Id) -> impl Iterator<Item = Id> + use<> {
        let places = self.people.read().get(&of).copied();
        let renewed = places.into_iter().flat_map(|places| std::iter::once(places.current).chain(places.former));
        std::iter::once(of).chain(renewed.filter(move |place| *place != of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_without_another_key_has_that_of_the_own_slot() {
        let (renewed, ann, new) = (Renewed::default(), [1; MICRODB_BYTES], [2; MICRODB_BYTES]);
        assert_eq!((renewed.current(ann), renewed.former(ann)), (ann, None));
        assert_eq!(renewed.all(ann).collect::<Vec<_>>(), [ann]);
        renewed.set(ann, KeyPlaces { current: new, former: Some(ann) });
        assert_eq!((renewed.current(ann), renewed.former(ann)), (new, Some(ann)));
        assert_eq!(renewed.all(ann).collect::<Vec<_>>(), [ann, new]);
        renewed.remove(ann);
        assert_eq!(renewed.current(ann), ann);
    }
}
