//! Another data key for a person who stays: what is sealed under the old one is sealed anew, and the old one destroyed.
//!
//! ```text
//! begin ─▶ RESEALING   a fresh slot seals, both open; durable before anything is sealed under it
//!            │  rows, some at a time, each as it is in the order of writes
//!            ▼
//!          RESEALED    all of it durable; who reads from before still needs the old key
//!            │  nobody does
//!            ▼
//!          the old key destroyed ─▶ RENEWED, and what the files hold under it is owed a pass, as at an erasure
//!
//! meta     keys/renewed/ µDB(6)   → state(1) ‖ current slot's id(6) ‖ former slot's id(6)
//! ```
//! Wherever it is cut off, both keys are there or nothing is sealed under the old one. An erasure in between destroys both. Index
//! entries and owners are under no person's key, and stay.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use repr::{MicroDbId, RelationId, RowKey};

use crate::backup::BackupFault;
use crate::batch::Batch;
use crate::check::numbers_in;
use crate::crypto::seal::{self, Header, SealKind, SealPlace};
use crate::crypto::sodium::{KEY_BYTES, wipe};
use crate::error::{StorageError, StoredEntry};
use crate::keyring::renewed::KeyPlaces;
use crate::keyspace::{self, ROW_PREFIX_BYTES};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;
use crate::store::Store;
use crate::store::seals::sealed_at;

const RENEWED: &[u8] = b"keys/renewed/";
/// Rows that are sealed anew at once.
const ROWS_AT_ONCE: usize = 64;

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Subject };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RenewalState {
    Resealing = 1,
    Resealed = 2,
    Renewed = 3,
}

/// A person's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Renewal {
    state: RenewalState,
    places: KeyPlaces,
}

impl Renewal {
    fn encode(self) -> Vec<u8> {
        let former = self.places.former.unwrap_or_default();
        [&[self.state as u8][..], &self.places.current, &former].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Renewal> {
        let (state, rest) = bytes.split_first()?;
        let (current, former) = rest.split_first_chunk::<MICRODB_BYTES>()?;
        let former: [u8; MICRODB_BYTES] = former.try_into().ok()?;
        let (state, former) = match state {
            1 => (RenewalState::Resealing, Some(former)),
            2 => (RenewalState::Resealed, Some(former)),
            3 => (RenewalState::Renewed, None),
            _ => return None,
        };
        Some(Renewal { state, places: KeyPlaces { current: *current, former } })
    }
}

/// What a store knows of keys that are being replaced.
#[derive(Default)]
pub(super) struct Renewals {
    /// Those that are not over, and of those that are sealed anew behind which write.
    under_way: Mutex<BTreeMap<MicroDbId, (Renewal, u64)>>,
    /// How many began, and how many are over.
    begun: AtomicU64,
    ended: AtomicU64,
    driver: Mutex<()>,
}

/// Rows of a person that may be sealed under the former key.
pub struct RowsToReseal(Vec<(RelationId, RowKey)>);

fn entry_key(of: MicroDbId) -> Vec<u8> {
    [RENEWED, &microdb::stored(of)].concat()
}

impl Store {
    /// Replaces a person's data key: from now on all is sealed under another. Goes on with what is under way already.
    pub fn begin_key_renewal(&self, of: MicroDbId) -> Result<(), StorageError> {
        self.check_writable()?;
        let keyring = self.keyring();
        let mut under_way = self.inner.renewals.under_way.lock();
        if under_way.contains_key(&of) {
            return Ok(());
        }
        let former = match self.renewal_of(&self.snapshot(), of)? {
            Some(renewal) => renewal.places.current,
            None => microdb::stored(of),
        };
        if !keyring.is_live_at(former)? {
            return Err(StorageError::KeyDestroyed);
        }
        let current = microdb::stored(keyring.allocate()?);
        let places = KeyPlaces { current, former: Some(former) };
        let renewal = Renewal { state: RenewalState::Resealing, places };
        self.put_renewal(of, renewal)?;
        keyring.place_key(of, places);
        under_way.insert(of, (renewal, u64::MAX));
        self.inner.renewals.begun.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// How many replacements of keys have begun: what was sealed before the last of them may be under a former key.
    pub fn key_renewals_begun(&self) -> u64 {
        self.inner.renewals.begun.load(Ordering::SeqCst)
    }

    /// How many are over: a key backup from before holds a key that is gone.
    pub(crate) fn key_renewals_ended(&self) -> u64 {
        self.inner.renewals.ended.load(Ordering::SeqCst)
    }

    /// Whose keys are being replaced.
    pub fn key_renewals(&self) -> Vec<MicroDbId> {
        self.inner.renewals.under_way.lock().keys().copied().collect()
    }

    /// For whoever goes on with replacements: one at a time.
    pub fn drive_key_renewals(&self) -> Option<MutexGuard<'_, ()>> {
        self.inner.renewals.driver.try_lock()
    }

    /// Finds the rows that stand under a person's former key, some at a time. To be called when all that was sealed before the
    /// replacement began is written or will not be.
    pub fn visit_rows_to_reseal<E: From<StorageError>>(
        &self,
        of: MicroDbId,
        mut visit: impl FnMut(RowsToReseal) -> Result<(), E>,
    ) -> Result<(), E> {
        let snapshot = self.snapshot();
        for number in numbers_in(&snapshot, Family::Rows)? {
            let relation = RelationId(number);
            let mut rows = Vec::new();
            let prefix = keyspace::relation_of_microdb(relation, of);
            let mut cursor = Cursor::all_once(&snapshot, Family::Rows, &prefix);
            while let Some(found) = cursor.next("look for rows of a person", |at, sealed| {
                if !is_personal(sealed) {
                    return Ok(None);
                }
                let place = SealPlace::Personal(relation, of, &at[ROW_PREFIX_BYTES..]);
                let found = self.open_former(of, place, sealed)?.map(|(_, mut plain)| wipe(&mut plain));
                Ok::<_, StorageError>(found.and_then(|()| keyspace::parse_personal_row(at)))
            })? {
                rows.extend(found?.map(|(_, key)| (relation, key)));
                if rows.len() == ROWS_AT_ONCE {
                    visit(RowsToReseal(std::mem::take(&mut rows)))?;
                }
            }
            if !rows.is_empty() {
                visit(RowsToReseal(rows))?;
            }
        }
        Ok(())
    }

    /// Seals rows anew as they are now. In the order of writes alone: nobody writes meanwhile. How many.
    pub fn reseal(&self, of: MicroDbId, rows: &RowsToReseal) -> Result<u64, StorageError> {
        let snapshot = self.snapshot();
        let mut batch = Batch::default();
        for (relation, key) in &rows.0 {
            let at = keyspace::personal_row(*relation, of, key);
            let Some(sealed) = snapshot.get(Family::Rows, &at, "read a row")? else { continue };
            let place = SealPlace::Personal(*relation, of, key.bytes());
            let Some((header, mut plain)) = self.open_former(of, place, &sealed)? else { continue };
            batch.put_with(Family::Rows, &at, |out| self.seal_personal(of, place, header, &plain, out))?;
            wipe(&mut plain);
        }
        let resealed = batch.len() as u64;
        if resealed > 0 {
            self.check_room(&batch)?;
            self.write(batch)?;
        }
        Ok(resealed)
    }

    /// Whether nothing of this person is sealed under a former key, as far as is known.
    pub fn is_resealed(&self, of: MicroDbId) -> bool {
        let under_way = self.inner.renewals.under_way.lock();
        under_way.get(&of).is_none_or(|(renewal, _)| renewal.state != RenewalState::Resealing)
    }

    /// Nothing is sealed under the former key any more; what was sealed anew is made durable.
    pub fn end_resealing(&self, of: MicroDbId) -> Result<(), StorageError> {
        let mut under_way = self.inner.renewals.under_way.lock();
        let Some((renewal, sequence)) = under_way.get_mut(&of) else { return Ok(()) };
        if renewal.state == RenewalState::Resealing {
            let resealed = Renewal { state: RenewalState::Resealed, ..*renewal };
            self.put_renewal(of, resealed)?;
            (*renewal, *sequence) = (resealed, self.inner.db.latest_sequence_number());
        }
        Ok(())
    }

    /// Destroys the former key, if nobody reads from before all was sealed anew; whether it is over.
    pub fn finish_key_renewal(&self, of: MicroDbId, now_us: i64) -> Result<bool, StorageError> {
        let mut under_way = self.inner.renewals.under_way.lock();
        let Some((renewal, sequence)) = under_way.get(&of).copied() else { return Ok(true) };
        let keyring = self.keyring();
        if !keyring.is_live_at(renewal.places.current)? {
            // Forgotten in between.
            keyring.destroy(&[of])?;
            self.forget_renewal(of)?;
            keyring.forget_places(of);
            under_way.remove(&of);
            return Ok(true);
        }
        if renewal.state != RenewalState::Resealed || self.is_held_before(sequence) {
            return Ok(false);
        }
        keyring.destroy_former(of)?;
        let places = KeyPlaces { former: None, ..renewal.places };
        let renewed = Renewal { state: RenewalState::Renewed, places };
        let mut batch = Batch::default();
        batch.put_meta(self, &entry_key(of), &renewed.encode());
        batch.mark_erasing(now_us);
        batch.owes.extend(self.relations_with(of)?);
        self.write(batch)?;
        self.flush()?;
        keyring.place_key(of, places);
        under_way.remove(&of);
        self.inner.renewals.ended.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }

    /// Takes over where keys stand, as the folder says; of those who are gone nothing stays, if it may be written.
    pub(super) fn read_renewals(&self) -> Result<(), StorageError> {
        let snapshot = self.snapshot();
        let of = snapshot.clone();
        let cursor = Cursor::all(&snapshot, Family::Meta, RENEWED);
        let entries = cursor.entries("read where keys stand", move |key, sealed| {
            let person = key.last_chunk().map(|id| microdb::loaded(*id)).ok_or(MALFORMED)?;
            Ok((person, Renewal::decode(&of.open_meta(key, sealed)?).ok_or(MALFORMED)?))
        });
        let mut under_way = self.inner.renewals.under_way.lock();
        for entry in entries {
            let (person, renewal) = entry?;
            self.keyring().place_key(person, renewal.places);
            if renewal.state != RenewalState::Renewed {
                // Nobody reads yet.
                under_way.insert(person, (renewal, 0));
            }
        }
        Ok(())
    }

    /// Refuses a restored state of which keys that it needs were replaced later.
    pub(crate) fn check_keys_of_restored(&self) -> Result<(), StorageError> {
        let (snapshot, keyring) = (self.snapshot(), self.keyring());
        let mut people = 0_u64;
        for subject in snapshot.scan_microdbs() {
            let (of, ..) = subject?;
            let renewal = self.renewal_of(&snapshot, of)?;
            let needs = match renewal {
                None => vec![microdb::stored(of)],
                Some(Renewal { state: RenewalState::Resealing, places }) => {
                    std::iter::once(places.current).chain(places.former).collect()
                }
                Some(Renewal { places, .. }) => vec![places.current],
            };
            for place in needs {
                if !keyring.is_live_at(place)? {
                    people += 1;
                    break;
                }
            }
        }
        if people > 0 { Err(BackupFault::KeysReplaced { people }.into()) } else { Ok(()) }
    }

    fn renewal_of(&self, snapshot: &Snapshot, of: MicroDbId) -> Result<Option<Renewal>, StorageError> {
        let entry = snapshot.meta(&entry_key(of))?;
        entry.map(|entry| Renewal::decode(&entry).ok_or(MALFORMED)).transpose()
    }

    /// What the files say is durable before anybody acts by it.
    fn put_renewal(&self, of: MicroDbId, renewal: Renewal) -> Result<(), StorageError> {
        let mut batch = Batch::default();
        batch.put_meta(self, &entry_key(of), &renewal.encode());
        self.check_room(&batch)?;
        self.write(batch)?;
        self.flush()
    }

    fn forget_renewal(&self, of: MicroDbId) -> Result<(), StorageError> {
        let mut batch = Batch::default();
        batch.delete(Family::Meta, &entry_key(of));
        self.write(batch)?;
        self.flush()
    }

    /// Opens what is sealed under the former key; none where it is under the present one.
    fn open_former(
        &self,
        of: MicroDbId,
        place: SealPlace<'_>,
        sealed: &[u8],
    ) -> Result<Option<(Header, Vec<u8>)>, StorageError> {
        let keyring = self.keyring();
        let opens = |key: &[u8; KEY_BYTES]| seal::open(key, keyring.database(), place, sealed);
        if let Some((_, mut plain)) = keyring.with_key(of, opens)? {
            wipe(&mut plain);
            return Ok(None);
        }
        // Neither: nothing is destroyed while that is so.
        let broken = || StorageError::SealBroken { sealed: sealed_at(place) };
        keyring.with_former_key(of, opens)?.flatten().ok_or_else(broken).map(Some)
    }

    /// The relations in whose files something of a person may stand.
    fn relations_with(&self, of: MicroDbId) -> Result<Vec<(u8, u32)>, StorageError> {
        let snapshot = self.snapshot();
        let mut places = Vec::new();
        for number in numbers_in(&snapshot, Family::Rows)? {
            let prefix = keyspace::relation_of_microdb(RelationId(number), of);
            let mut cursor = Cursor::all_once(&snapshot, Family::Rows, &prefix);
            if cursor.next("look for rows of a person", |_, _| ())?.is_some() {
                places.push((Family::Rows as u8, number));
            }
        }
        Ok(places)
    }
}

fn is_personal(sealed: &[u8]) -> bool {
    Header::parse(sealed).is_some_and(|(header, _)| matches!(header.kind, SealKind::Personal { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let places = KeyPlaces { current: [2; MICRODB_BYTES], former: Some([1; MICRODB_BYTES]) };
        for state in [RenewalState::Resealing, RenewalState::Resealed, RenewalState::Renewed] {
            let former = places.former.filter(|_| state != RenewalState::Renewed);
            let renewal = Renewal { state, places: KeyPlaces { former, ..places } };
            assert_eq!(Renewal::decode(&renewal.encode()), Some(renewal));
            assert_eq!(Renewal::decode(&renewal.encode()[1..]), None);
        }
        assert_eq!(Renewal::decode(&[9; 13]), None);
    }
}
