//! The data key of the person whose rows are passed over, in locked memory: for whoever reads a whole relation, a person's rows
//! after another's. A thousand people later nothing of it is left, and keys that others use are in memory still.

use crate::crypto::sodium::{KEY_BYTES, SecretMemory, wipe};
use crate::error::StorageError;
use crate::microdb::MICRODB_BYTES;

/// See the module. For a scan that does not pause: a key that is destroyed meanwhile stays at hand until the next person's.
#[derive(Default)]
pub(crate) struct KeyAtHand {
    of: Option<[u8; MICRODB_BYTES]>,
    memory: Option<SecretMemory>,
}

impl KeyAtHand {
    /// Calls `with` on the key of an id, loading it first where it is another's that is at hand.
    pub(crate) fn with<T>(
        &mut self,
        id: [u8; MICRODB_BYTES],
        load: impl FnOnce(&mut [u8; KEY_BYTES]) -> Result<(), StorageError>,
        with: impl FnOnce(&[u8; KEY_BYTES]) -> T,
    ) -> Result<T, StorageError> {
        let memory = self.memory.get_or_insert_with(|| SecretMemory::new(KEY_BYTES));
        if self.of != Some(id) {
            self.of = None;
            let key = memory.bytes_mut().first_chunk_mut().expect("it holds a key");
            if let Err(error) = load(&mut *key) {
                wipe(key);
                return Err(error);
            }
            self.of = Some(id);
        }
        Ok(with(memory.bytes().first_chunk().expect("it holds a key")))
    }

    /// Wipes the key of an id, if that is at hand.
    pub(crate) fn forget(&mut self, id: [u8; MICRODB_BYTES]) {
        if self.of.take_if(|of| *of == id).is_some() {
            self.memory.iter_mut().for_each(|memory| wipe(memory.bytes_mut()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::sodium;

    #[test]
    fn a_key_is_loaded_once_and_no_other_is_taken_for_it() {
        sodium::initialize();
        let (mut at_hand, mut loads) = (KeyAtHand::default(), 0);
        for (person, times) in [(1, 1), (1, 1), (2, 2), (1, 3)] {
            let load = |key: &mut [u8; KEY_BYTES]| {
                loads += 1;
                key[0] = person;
                Ok(())
            };
            let seen = at_hand.with([person; MICRODB_BYTES], load, |key| key[0]);
            assert_eq!((seen.expect("loads"), loads), (person, times));
        }
        let gone = at_hand.with([3; MICRODB_BYTES], |_| Err(StorageError::KeyDestroyed), |_| ());
        assert!(matches!(gone, Err(StorageError::KeyDestroyed)));
        let again = at_hand.with([3; MICRODB_BYTES], |_| Ok(()), |key| *key);
        assert_eq!(again.expect("loads"), [0; KEY_BYTES], "nothing is left of the one before");
    }
}
