//! The ledger of erasures: what a restore of an older backup has to carry out again, by key id.
//!
//! ```text
//! "DOGLEDG1" ‖ database(16) ‖ first(8) ‖ last(8) ‖ { receipt ‖ blanked }… ‖ signature(64)
//!   receipt = length(8) ‖ as it stands in the log: id(16) ‖ seal with µDB id and text
//!   blanked = length(8) ‖ seal, or nothing
//! in the store: meta  erasure/blanked/ receipt's id(16) → { relation(4) ‖ row key length(8) ‖ row key ‖ columns ‖ column(4)… }…
//! ```
//! A person is known by the key that was destroyed, never by a name or number: another may have that by now. Rows that go with a key
//! need no list. Rows of others that lost columns by a rule and not by a reference have one, as nothing else tells. All of it is
//! sealed under the database's key, and is kept while a backup from before the erasure is. After an erasure in part no key is gone: it
//! has a list of all rows that it changed, and what went whole has no columns there.

use repr::{RelationId, RowKey};

use crate::audit::log;
use crate::backup::fault::BackupFault;
use crate::backup::signed::{self, Kind, Reading, SignedContent};
use crate::batch::Batch;
use crate::crypto::seal::SealPlace;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::store::Store;

/// Where ledgers stand.
pub(super) const LEDGER: &str = "ledger/";
const KIND: Kind = b"DOGLEDG1";
const BLANKED: &[u8] = b"erasure/blanked/";

/// A row that an erasure left without some columns; of an erasure in part also one that went, of which none are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlankedRow {
    /// Its table.
    pub relation: RelationId,
    /// Its key.
    pub key: RowKey,
    /// Positions of the columns that changed.
    pub columns: Vec<u32>,
}

/// An erasure.
pub(super) struct LedgerEntry {
    /// As in the log.
    pub(super) receipt: Vec<u8>,
    /// Sealed, or nothing.
    blanked: Vec<u8>,
}

/// See the module.
pub(super) struct Ledger {
    pub(super) database: [u8; 16],
    /// The number of its first erasure.
    pub(super) first: u64,
    pub(super) entries: Vec<LedgerEntry>,
}

fn blanked_key(receipt: &[u8; 16]) -> Vec<u8> {
    [BLANKED, receipt].concat()
}

fn encode(rows: &[BlankedRow]) -> Vec<u8> {
    let mut bytes = SignedContent::default();
    for row in rows {
        bytes.fixed(&row.relation.0.to_be_bytes()).part(row.key.bytes()).number(row.columns.len() as u64);
        row.columns.iter().for_each(|column| {
            bytes.fixed(&column.to_be_bytes());
        });
    }
    bytes.0
}

fn decode(bytes: &[u8]) -> Option<Vec<BlankedRow>> {
    let (mut reading, mut rows) = (Reading(bytes), Vec::new());
    while !reading.0.is_empty() {
        let relation = RelationId(u32::from_be_bytes(reading.fixed()?));
        let key = RowKey::new(reading.part()?);
        let count = reading.number()?;
        let column = |_| reading.fixed().map(u32::from_be_bytes);
        rows.push(BlankedRow { relation, key, columns: (0..count).map(column).collect::<Option<_>>()? });
    }
    Some(rows)
}

impl Batch {
    /// Notes rows that an erasure leaves without some columns, with its receipt.
    pub fn put_blanked(&mut self, store: &Store, receipt: &[u8; 16], rows: &[BlankedRow]) {
        if !rows.is_empty() {
            self.put_meta(store, &blanked_key(receipt), &encode(rows));
        }
    }
}

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Erasure };

impl Store {
    /// Drops what was noted for erasures that every backup has.
    pub(super) fn forget_blanked(&self, through: u64) -> Result<(), StorageError> {
        let snapshot = self.snapshot();
        let mut batch = Batch::default();
        let mut noted = Vec::new();
        let mut cursor = crate::snapshot::cursor::Cursor::all(&snapshot, Family::Meta, BLANKED);
        while let Some(key) = cursor.next("read what erasures left", |key, _| key.to_vec())? {
            noted.push(key);
        }
        for key in noted {
            let id: &[u8; 16] = key.last_chunk().ok_or(MALFORMED)?;
            let number = snapshot.get(Family::Audit, &log::receipt_id_key(id), "read a receipt")?;
            if number.and_then(|number| log::number_of(&number)).is_some_and(|number| number <= through) {
                batch.delete(Family::Meta, &key);
            }
        }
        if batch.is_empty() { Ok(()) } else { self.write(batch) }
    }

    /// The ledger of the erasures from `first` on, signed; and its name at a target.
    pub(super) fn ledger(&self, first: u64) -> Result<(String, Vec<u8>), StorageError> {
        let snapshot = self.snapshot();
        let last = self.log_receipts();
        let mut content = SignedContent::default();
        content.fixed(&self.database_id()).number(first).number(last);
        for number in first..=last {
            let receipt = snapshot.get(Family::Audit, &log::receipt_key(number), "read a receipt")?.ok_or(MALFORMED)?;
            let id: &[u8; 16] = receipt.first_chunk().ok_or(MALFORMED)?;
            let blanked = snapshot.get(Family::Meta, &blanked_key(id), "read what an erasure left")?;
            content.part(&receipt).part(blanked.as_deref().unwrap_or_default());
        }
        let object = format!("{LEDGER}{last:020}-{first:020}");
        Ok((object, signed::sign(KIND, &content.0, self.keyring().signing())))
    }
}

impl Ledger {
    /// Reads one whose signature holds.
    pub(super) fn verified(bytes: &[u8], public: &[u8; 32], object: &str) -> Result<Ledger, BackupFault> {
        let mut reading = Reading(signed::verified(KIND, bytes, public, object)?);
        let mut read = || {
            let (database, first, last) = (reading.fixed()?, reading.number()?, reading.number()?);
            let mut entries = Vec::new();
            for _ in first..=last {
                let receipt = reading.part()?.to_vec();
                entries.push(LedgerEntry { receipt, blanked: reading.part()?.to_vec() });
            }
            reading.0.is_empty().then_some(Ledger { database, first, entries })
        };
        read().ok_or_else(|| BackupFault::malformed(object))
    }

    /// The number of its last erasure; 0 where there was none.
    pub(super) fn last(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    /// The erasure of a number.
    pub(super) fn entry(&self, number: u64) -> Option<&LedgerEntry> {
        self.entries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

impl LedgerEntry {
    /// Rows that it left without some columns.
    pub(super) fn blanked(&self, store: &Store) -> Result<Vec<BlankedRow>, StorageError> {
        if self.blanked.is_empty() {
            return Ok(Vec::new());
        }
        let id: &[u8; 16] = self.receipt.first_chunk().ok_or(MALFORMED)?;
        let (_, plain) = store.open_impersonal(SealPlace::Meta(&blanked_key(id)), &self.blanked)?;
        decode(&plain).ok_or(MALFORMED)
    }
}

/// For tests that sign by themselves.
#[cfg(test)]
pub(super) fn signed_empty(database: &[u8; 16], key: &crate::crypto::sodium::SigningKey) -> Vec<u8> {
    let mut content = SignedContent::default();
    content.fixed(database).number(1).number(0);
    signed::sign(KIND, &content.0, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::sodium::SigningKey;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let row = |number: u32| BlankedRow {
            relation: RelationId(number),
            key: RowKey::new(&[7; 16]),
            columns: vec![0, number],
        };
        let rows = vec![row(1), row(900)];
        assert_eq!(decode(&encode(&rows)), Some(rows.clone()));
        let bytes = encode(&rows);
        for length in 1..bytes.len() {
            assert_ne!(decode(&bytes[..length]), Some(rows.clone()), "cut at {length}");
        }
    }

    #[test]
    fn a_ledger_of_nothing_ends_before_it_begins() {
        let key = SigningKey::from_seed(&[7; 32]);
        let bytes = signed_empty(&[1; 16], &key);
        let ledger = Ledger::verified(&bytes, &key.public(), "x").expect("it is signed");
        assert_eq!((ledger.last(), ledger.entries.len()), (0, 0));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Ledger::verified(&changed, &key.public(), "x").is_err(), "byte {at}");
        }
    }
}
