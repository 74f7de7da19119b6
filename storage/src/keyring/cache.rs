//! Raw data keys of the people in use, in locked memory, wiped when they make room or are destroyed.
//!
//! Raw keys and not key schedules: at a million people the schedules cost more cache misses than they save.
//! A miss reads its slot under the shard's write lock, so that a key which was destroyed meanwhile is either
//! not found any more or evicted afterwards; it never stays.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::crypto::sodium::{self, KEY_BYTES, SecretMemory};
use crate::error::StorageError;
use crate::microdb::MICRODB_BYTES;

const SHARDS: usize = 16;
// 16 × 8192 keys are 4 MiB, half of the usual RLIMIT_MEMLOCK.
const KEYS_IN_SHARD_MAX: usize = 8192;
/// Keys in all shards at most.
pub(crate) const KEYS_MAX: u64 = (SHARDS * KEYS_IN_SHARD_MAX) as u64;
/// A key, its entry, and its place in the map.
pub(crate) const ENTRY_BYTES: u64 = (KEY_BYTES + size_of::<CachedKey>() + size_of::<(u64, usize)>() + 1) as u64;

type Id = [u8; MICRODB_BYTES];

/// The cache of one keyring.
#[derive(Default)]
pub(crate) struct Cache {
    shards: [RwLock<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    places: HashMap<u64, usize, BuildHasherDefault<IdHasher>>,
    entries: Vec<CachedKey>,
    free: Vec<usize>,
    memory: Option<SecretMemory>,
    hand: usize,
}

struct CachedKey {
    id: u64,
    used: AtomicBool,
}

impl Cache {
    /// Calls `with` on the key of an id, loading it first where it is absent.
    pub(crate) fn with<T>(
        &self,
        id: Id,
        load: impl FnOnce(&mut [u8; KEY_BYTES]) -> Result<(), StorageError>,
        with: impl FnOnce(&[u8; KEY_BYTES]) -> T,
    ) -> Result<T, StorageError> {
        let (shard, id) = self.shard(id);
        {
            let shard = shard.read();
            if let Some(&place) = shard.places.get(&id) {
                let entry = &shard.entries[place];
                // Only set when clear: hot keys would otherwise bounce one line between cores.
                if !entry.used.load(Ordering::Relaxed) {
                    entry.used.store(true, Ordering::Relaxed);
                }
                return Ok(with(shard.key(place)));
            }
        }
        let mut shard = shard.write();
        let place = match shard.places.get(&id) {
            Some(&place) => place,
            None => shard.insert(id, load)?,
        };
        Ok(with(shard.key(place)))
    }

    /// Copies the key of an id, if it is in memory; it counts as used no more than before.
    pub(crate) fn copy(&self, id: Id, to: &mut [u8; KEY_BYTES]) -> bool {
        let (shard, id) = self.shard(id);
        let shard = shard.read();
        let Some(&place) = shard.places.get(&id) else { return false };
        to.copy_from_slice(shard.key(place));
        true
    }

    /// Wipes the key of an id.
    pub(crate) fn evict(&self, id: Id) {
        let (shard, id) = self.shard(id);
        let mut shard = shard.write();
        if let Some(place) = shard.places.remove(&id) {
            sodium::wipe(shard.key_mut(place));
            shard.free.push(place);
        }
    }

    /// Keys in memory.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().places.len()).sum()
    }

    fn shard(&self, id: Id) -> (&RwLock<Shard>, u64) {
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&id);
        let id = u64::from_be_bytes(bytes);
        (&self.shards[id as usize % SHARDS], id)
    }
}

impl Shard {
    fn insert(
        &mut self,
        id: u64,
        load: impl FnOnce(&mut [u8; KEY_BYTES]) -> Result<(), StorageError>,
    ) -> Result<usize, StorageError> {
        if self.memory.is_none() {
            self.memory = Some(SecretMemory::new(KEYS_IN_SHARD_MAX * KEY_BYTES));
        }
        let place = self.room();
        if let Err(error) = load(self.key_mut(place)) {
            sodium::wipe(self.key_mut(place));
            self.free.push(place);
            return Err(error);
        }
        self.entries[place] = CachedKey { id, used: AtomicBool::new(true) };
        self.places.insert(id, place);
        Ok(place)
    }

    /// A place without a key: a free one, a new one, or that of a key not used lately.
    fn room(&mut self) -> usize {
        if let Some(place) = self.free.pop() {
            return place;
        }
        if self.entries.len() < KEYS_IN_SHARD_MAX {
            self.entries.push(CachedKey { id: 0, used: AtomicBool::new(false) });
            return self.entries.len() - 1;
        }
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % KEYS_IN_SHARD_MAX;
            if !self.entries[place].used.swap(false, Ordering::Relaxed) {
                let id = self.entries[place].id;
                self.places.remove(&id);
                sodium::wipe(self.key_mut(place));
                return place;
            }
        }
    }

    fn key(&self, place: usize) -> &[u8; KEY_BYTES] {
        let memory = self.memory.as_ref().expect("allocated before the first place is given");
        memory.bytes()[place * KEY_BYTES..].first_chunk().expect("places are below the shard's size")
    }

    fn key_mut(&mut self, place: usize) -> &mut [u8; KEY_BYTES] {
        let memory = self.memory.as_mut().expect("allocated before the first place is given");
        memory.bytes_mut()[place * KEY_BYTES..].first_chunk_mut().expect("places are below the shard's size")
    }
}

/// Ids are permuted already: folding their bits is hash enough.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> Id {
        number.to_be_bytes()[2..].try_into().expect("six bytes")
    }

    #[test]
    fn keys_make_room_and_come_back_right() {
        sodium::initialize();
        let cache = Cache::default();
        let people = (SHARDS * KEYS_IN_SHARD_MAX + 5000) as u64;
        for round in 0..2 {
            for person in 0..people {
                let load = |key: &mut [u8; KEY_BYTES]| {
                    key[..8].copy_from_slice(&person.to_be_bytes());
                    Ok(())
                };
                let seen = cache.with(id(person), load, |key| u64::from_be_bytes(*key.first_chunk().expect("32")));
                assert_eq!(seen.expect("loads"), person, "round {round}");
            }
        }
        assert_eq!(cache.len(), SHARDS * KEYS_IN_SHARD_MAX);
    }

    #[test]
    fn an_evicted_key_is_loaded_again() {
        sodium::initialize();
        let cache = Cache::default();
        cache
            .with(
                id(1),
                |key| {
                    key[0] = 7;
                    Ok(())
                },
                |_| (),
            )
            .expect("loads");
        cache.evict(id(1));
        let gone = cache.with(id(1), |_| Err(StorageError::KeyDestroyed), |_| ());
        assert!(matches!(gone, Err(StorageError::KeyDestroyed)));
        let fresh = cache.with(id(2), |_| Ok(()), |key| *key).expect("loads");
        assert_eq!(fresh, [0; 32], "a place that is given again holds nothing of the last key");
    }
}
