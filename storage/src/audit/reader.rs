//! Reading the log: by range, by person, and the receipts.

use std::ops::{Bound, RangeInclusive};

use repr::MicroDbId;

use crate::audit::log;
use crate::audit::record::AuditRecord;
use crate::crypto::seal::SealPlace;
use crate::error::{StorageError, StoredEntry};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};
use crate::store::Store;

/// A receipt in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// Its number, from 1 without gaps.
    pub number: u64,
    /// Its public id.
    pub id: [u8; 16],
    /// The signed text.
    pub text: String,
    /// Whose key it says is destroyed.
    pub microdb: MicroDbId,
}

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

impl Snapshot {
    /// The records of these numbers, in order or from the last to the first.
    pub fn audit(
        &self,
        numbers: RangeInclusive<u64>,
        reverse: bool,
    ) -> impl Iterator<Item = Result<AuditRecord, StorageError>> + Send + use<> {
        self.numbered(log::RECORDS, numbers, reverse)
            .entries("read the audit log", |key, body| AuditRecord::decode(log::number_of(key).ok_or(MALFORMED)?, body))
    }

    fn numbered(&self, prefix: &[u8], numbers: RangeInclusive<u64>, reverse: bool) -> Cursor {
        let (first, last) = (numbers.start().to_be_bytes(), numbers.end().to_be_bytes());
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
        Cursor::range(self, Family::Audit, prefix, lower, upper, Direction::of(reverse))
    }

    /// The sealed details of a record; `KeyDestroyed` when the person was forgotten.
    pub fn audit_payload(&self, record: &AuditRecord) -> Result<Option<Vec<u8>>, StorageError> {
        let Some(payload) = &record.payload else { return Ok(None) };
        let place = SealPlace::AuditPayload(payload.owner, &payload.id);
        let (_, bytes) = self.store().open_personal(payload.owner, place, &payload.sealed)?;
        Ok(Some(bytes))
    }

    /// The receipts of these numbers, in order or from the last to the first.
    pub fn receipts(
        &self,
        numbers: RangeInclusive<u64>,
        reverse: bool,
    ) -> impl Iterator<Item = Result<StoredReceipt, StorageError>> + Send + use<> {
        let store = self.store().clone();
        self.numbered(log::RECEIPTS, numbers, reverse)
            .entries("read receipts", move |key, value| parse(&store, log::number_of(key).ok_or(MALFORMED)?, value))
    }

    /// A receipt by its public id.
    pub fn receipt(&self, id: &[u8; 16]) -> Result<Option<StoredReceipt>, StorageError> {
        let Some(number) = self.get(Family::Audit, &log::receipt_id_key(id), "read a receipt")? else {
            return Ok(None);
        };
        let number = log::number_of(&number).ok_or(MALFORMED)?;
        let stored = self.get(Family::Audit, &log::receipt_key(number), "read a receipt")?;
        stored.map(|value| parse(self.store(), number, &value)).transpose()
    }
}

pub(crate) fn parse(store: &Store, number: u64, value: &[u8]) -> Result<StoredReceipt, StorageError> {
    let (id, sealed) = value.split_first_chunk::<16>().ok_or(MALFORMED)?;
    let (_, mut plain) = store.open_impersonal(SealPlace::Receipt(id), sealed)?;
    if plain.len() < MICRODB_BYTES {
        return Err(MALFORMED);
    }
    let text = String::from_utf8(plain.split_off(MICRODB_BYTES)).map_err(|_| MALFORMED)?;
    let microdb: [u8; MICRODB_BYTES] = plain.try_into().map_err(|_| MALFORMED)?;
    Ok(StoredReceipt { number, id: *id, text, microdb: microdb::loaded(microdb) })
}
