//! Erasures carried out again on a restored state that is older than they are, by the keys that they destroyed.
//!
//! ```text
//! ledger ─▶ doomed µDBs ─▶ owners of every row ─┬─ nobody else's: rows, owners, entries of indexes go
//!                                               └─ others', too: the copy goes, the canonical mark moves on
//!        └▶ receipts join the log under their own numbers; keys that are still there are destroyed
//! ```
//! No row of theirs is opened: its key may be gone. So what others' rows say of them is not seen here; the engine sees it, by the
//! references that lead nowhere now.

use std::collections::{BTreeMap, BTreeSet};

use repr::{MicroDbId, RelationId, RowKey};

use crate::audit::{PendingAudit, Pseudonym, verify_receipt};
use crate::backup::ledger::{BlankedRow, LedgerEntry};
use crate::batch::Batch;
use crate::crypto::hex;
use crate::crypto::seal::Header;
use crate::error::{StorageError, StoredEntry};
use crate::keyspace;
use crate::microdb::{self, MICRODB_BYTES, OwnerSet};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;
use crate::store::Store;

/// What was carried out again.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// The µDBs whose keys are gone, whether or not the state had them.
    pub microdbs: Vec<MicroDbId>,
    /// Of these, how many the state had.
    pub found: u64,
    /// Rows that stay, and lost an owner.
    pub disowned: BTreeSet<(RelationId, RowKey)>,
    /// Rows that the erasures left without some columns.
    pub blanked: Vec<BlankedRow>,
    /// What erasures in part took of people who stayed: of whom, as the log names them.
    pub parts: Vec<(Pseudonym, BlankedRow)>,
}

/// What becomes of a row.
enum Fate {
    Goes,
    /// Its canonical copy is another's now.
    MovesTo(MicroDbId),
}

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Erasure };

impl Store {
    /// Carries out erasures again, in the order of their numbers, which follow on those of the state.
    pub(super) fn forget_again(&self, entries: &[&LedgerEntry]) -> Result<Forgotten, StorageError> {
        let mut forgotten = Forgotten::default();
        if entries.is_empty() {
            return Ok(forgotten);
        }
        let snapshot = self.snapshot();
        let mut batch = Batch::default();
        let mut doomed = BTreeSet::new();
        for entry in entries {
            let (id, sealed) = entry.receipt.split_first_chunk::<16>().ok_or(MALFORMED)?;
            let receipt = crate::audit::parse_receipt(self, 0, &entry.receipt)?;
            let summary = verify_receipt(&self.public_key(), receipt.text.as_bytes()).map_err(|_| MALFORMED)?;
            doomed.extend(receipt.microdb);
            if let Some(microdb) = receipt.microdb
                && let Some((relation, key)) = snapshot.subject_of(microdb)?
            {
                batch.delete_subject(relation, &key, microdb);
                batch.put_meta(self, &self.forgotten_key(relation, &key), hex::encode(id).as_bytes());
                forgotten.found += 1;
            }
            batch.audit.push(PendingAudit::Receipt { time_us: summary.time_us, id: *id, sealed: sealed.to_vec() });
            // What is restored may be backed up, and restored again.
            let blanked = entry.blanked(self)?;
            batch.put_blanked(self, id, &blanked);
            match receipt.microdb {
                Some(_) => forgotten.blanked.extend(blanked),
                None => forgotten.parts.extend(blanked.into_iter().map(|row| (summary.subject, row))),
            }
        }
        if forgotten.found > 0 {
            let fates = self.disown(&snapshot, &doomed, &mut batch, &mut forgotten.disowned)?;
            move_entries(&snapshot, &fates, &mut batch)?;
        }
        self.write(batch)?;
        self.flush()?;
        let keyring = self.keyring();
        let there: Vec<MicroDbId> = doomed.iter().copied().filter(|microdb| keyring.has_slot(*microdb)).collect();
        self.destroy_keys(&there)?;
        keyring.set_receipts_done(self.log_receipts())?;
        forgotten.microdbs = doomed.into_iter().collect();
        Ok(forgotten)
    }

    /// Takes the doomed out of the owners of every row. What becomes of the rows whose canonical copy was theirs.
    fn disown(
        &self,
        snapshot: &Snapshot,
        doomed: &BTreeSet<MicroDbId>,
        batch: &mut Batch,
        disowned: &mut BTreeSet<(RelationId, RowKey)>,
    ) -> Result<BTreeMap<RowKey, Fate>, StorageError> {
        let mut fates = BTreeMap::new();
        let mut cursor = Cursor::all_once(snapshot, Family::Owners, &[]);
        let mut row: Option<(RelationId, RowKey)> = None;
        let mut owners: Vec<MicroDbId> = Vec::new();
        loop {
            let entry = cursor.next("read owners", |key, _| {
                let relation = RelationId(u32::from_be_bytes(*key.first_chunk()?));
                let (row, owner) = keyspace::parse_owner(key)?;
                Some(((relation, row), owner))
            })?;
            let entry = entry.map(|entry| entry.ok_or(MALFORMED)).transpose()?;
            let next = entry.as_ref().map(|(row, _)| row);
            if row.as_ref() != next {
                if let Some(row) = row.take()
                    && owners.iter().any(|owner| doomed.contains(owner))
                {
                    let fate = self.disown_row(snapshot, &row, &owners, doomed, batch)?;
                    if owners.iter().any(|owner| !doomed.contains(owner)) {
                        disowned.insert(row.clone());
                    }
                    fates.extend(fate.map(|fate| (row.1, fate)));
                }
                owners.clear();
                row = next.cloned();
            }
            match entry {
                Some((_, owner)) => owners.push(owner),
                None => return Ok(fates),
            }
        }
    }

    fn disown_row(
        &self,
        snapshot: &Snapshot,
        (relation, key): &(RelationId, RowKey),
        owners: &[MicroDbId],
        doomed: &BTreeSet<MicroDbId>,
        batch: &mut Batch,
    ) -> Result<Option<Fate>, StorageError> {
        for owner in owners.iter().filter(|owner| doomed.contains(owner)) {
            batch.delete_copy(*relation, key, *owner);
            batch.delete_owner(*relation, key, *owner);
        }
        let left = owners.iter().copied().filter(|owner| !doomed.contains(owner));
        let Some(left) = OwnerSet::new(left) else { return Ok(Some(Fate::Goes)) };
        let canonical = left.canonical();
        if owners.first() == Some(&canonical) {
            return Ok(None);
        }
        let missing = || StorageError::CopyMissing { relation: *relation };
        let at = keyspace::personal_row(*relation, canonical, key);
        let sealed = snapshot.get(Family::Rows, &at, "read a row")?.ok_or_else(missing)?;
        let malformed = StorageError::Malformed { entry: StoredEntry::Row(*relation) };
        let (header, _) = Header::parse(&sealed).ok_or(malformed)?;
        let row = snapshot.get_copy(*relation, key, canonical)?.ok_or_else(missing)?;
        batch.put_personal_copies(self, *relation, key, &row, &left, &[canonical], header.schema_version)?;
        Ok(Some(Fate::MovesTo(canonical)))
    }
}

/// Index entries follow their rows. Row keys are keyed hashes of table and key: no two rows share one.
fn move_entries(snapshot: &Snapshot, fates: &BTreeMap<RowKey, Fate>, batch: &mut Batch) -> Result<(), StorageError> {
    let mut cursor = Cursor::all_once(snapshot, Family::Index, &[]);
    // Only entries of personal rows have a locator.
    while let Some(entry) = cursor.next("read an index", |key, value| {
        let fate = key.last_chunk::<{ keyspace::HASH_BYTES }>().and_then(|row| fates.get(&RowKey::new(row)));
        fate.filter(|_| value.len() == MICRODB_BYTES).map(|fate| (key.to_vec(), fate))
    })? {
        match entry {
            Some((key, Fate::Goes)) => batch.delete(Family::Index, &key),
            Some((key, Fate::MovesTo(owner))) => batch.put(Family::Index, &key, &microdb::stored(*owner)),
            None => {}
        }
    }
    Ok(())
}
