//! Reading the log: by range, by person, and the receipts.

use std::ops::{Bound, RangeInclusive};

use repr::MicroDbId;

use crate::audit::Pseudonym;
use crate::audit::group::Beginning;
use crate::audit::log::{self, HEAD_BYTES, Head};
use crate::audit::logged::LoggedEntry;
use crate::audit::mentioned::Mentioned;
use crate::audit::receipt;
use crate::crypto::hex::encode as hexadecimal;
use crate::crypto::seal::SealPlace;
use crate::error::{AuditFault, StorageError, StoredEntry};
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
    /// Whose key it says is destroyed; none's after an erasure in part.
    pub microdb: Option<MicroDbId>,
}

impl StoredReceipt {
    /// Whether it is this person's.
    pub fn is_of(&self, person: Pseudonym) -> bool {
        // Names in the text are escaped, and cannot say it.
        self.text.contains(&format!("\"subject\":\"{}\"", hexadecimal(&person)))
    }
}

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

/// Which entries are wanted, and in which order.
#[derive(Clone, Debug)]
pub struct EntryRange {
    /// Of these numbers.
    pub numbers: RangeInclusive<u64>,
    /// Of these times, in microseconds since 2000-01-01 UTC.
    pub times: RangeInclusive<i64>,
    /// From the last to the first.
    pub reverse: bool,
}

impl EntryRange {
    /// All.
    pub const ALL: EntryRange = EntryRange { numbers: 0..=u64::MAX, times: i64::MIN..=i64::MAX, reverse: false };

    pub(crate) fn has(&self, number: u64, time_us: i64) -> bool {
        self.numbers.contains(&number) && self.times.contains(&time_us)
    }
}

/// Entries, read as they are asked for.
pub type LoggedEntries = Box<dyn Iterator<Item = Result<LoggedEntry, StorageError>> + Send>;

impl Snapshot {
    /// The entries of a range.
    pub fn audit(&self, range: &EntryRange) -> Result<LoggedEntries, StorageError> {
        Ok(self.entries_of(&self.records_of(range)?, range.clone(), Vec::new()))
    }

    /// The records that may hold entries of a range.
    pub(crate) fn records_of(&self, range: &EntryRange) -> Result<RangeInclusive<u64>, StorageError> {
        let last = self.last_record()?;
        let starts_after = |wanted: &dyn Fn(Beginning) -> bool| self.records_before(last, wanted);
        // Records go on in numbers and times: the first that may hold what is wanted is before the first that is past it.
        let by_number = match range.numbers.start() {
            0 | 1 => 0,
            first => starts_after(&|beginning| beginning.first <= *first)?,
        };
        let by_time = match *range.times.start() {
            i64::MIN => 0,
            first => starts_after(&|beginning| beginning.time_us < first)?,
        };
        let to_number = match *range.numbers.end() {
            u64::MAX => last,
            end => starts_after(&|beginning| beginning.first <= end)?,
        };
        let to_time = match *range.times.end() {
            i64::MAX => last,
            end => starts_after(&|beginning| beginning.time_us <= end)?,
        };
        Ok(by_number.max(by_time).max(1)..=to_number.min(to_time))
    }

    /// The entries of some records that are in a range, and mention any of these; of none all.
    pub(crate) fn entries_of(
        &self,
        records: &RangeInclusive<u64>,
        range: EntryRange,
        mentioned: Vec<Mentioned>,
    ) -> LoggedEntries {
        let (first, last) = (*records.start(), *records.end());
        let mut left = if first > last { 0 } else { last - first + 1 };
        let reverse = range.reverse;
        let cursor = self.numbered(log::RECORDS, records.clone(), reverse);
        let mut records = cursor.entries("read the audit log", move |key, record| {
            let sequence = log::number_of(key).ok_or(MALFORMED)?;
            let is_wanted = |number, time_us| range.has(number, time_us);
            Ok((sequence, log::wanted_entries(sequence, record, &is_wanted, &mentioned)?))
        });
        // No gap is passed over in silence, nor at the end.
        let next = move || {
            let expected = if reverse {
                first.wrapping_add(left).wrapping_sub(1)
            } else {
                last.wrapping_sub(left).wrapping_add(1)
            };
            let missing = StorageError::Audit(AuditFault::Missing { record: expected });
            match records.next() {
                Some(Ok((sequence, mut entries))) if sequence == expected => {
                    left -= 1;
                    if reverse {
                        entries.reverse();
                    }
                    Some(Either::Entries(entries.into_iter()))
                }
                Some(Err(error)) => Some(Either::Failed(Some(error))),
                Some(Ok(_)) => Some(Either::Failed(Some(missing))),
                None if left > 0 => {
                    left = 0;
                    Some(Either::Failed(Some(missing)))
                }
                None => None,
            }
        };
        Box::new(std::iter::from_fn(next).flatten())
    }

    /// A record that has to be there.
    pub(crate) fn audit_record(&self, record: u64) -> Result<rocksdb::DBPinnableSlice<'_>, StorageError> {
        let stored = self.get(Family::Audit, &log::record_key(record), "read the audit log")?;
        stored.ok_or(StorageError::Audit(AuditFault::Missing { record }))
    }

    /// Where the log ends, signed; none while it is empty.
    pub(crate) fn signed_head(&self) -> Result<Option<[u8; HEAD_BYTES]>, StorageError> {
        let Some(head) = self.get(Family::Audit, log::HEAD, "read the audit log's head")? else { return Ok(None) };
        let head: &[u8; HEAD_BYTES] = head.as_ref().try_into().map_err(|_| MALFORMED)?;
        let (store, signing) = (self.store(), self.store().keyring().signing());
        let name = log::log_name(&store.database_id(), &signing.public());
        let head = Head::stored(name, head, signing).ok_or(StorageError::Audit(AuditFault::Head))?;
        Ok(Some(head.signed(signing)))
    }

    /// How many records there are.
    pub(crate) fn last_record(&self) -> Result<u64, StorageError> {
        let head = self.get(Family::Audit, log::HEAD, "read the audit log's head")?;
        Ok(head.and_then(|head| head.first_chunk().map(|sequence| u64::from_be_bytes(*sequence))).unwrap_or(0))
    }

    /// The number of the last record, of so many, of which something is true that is true of none behind the first of which it is not.
    pub(crate) fn records_before(&self, last: u64, is_before: &dyn Fn(Beginning) -> bool) -> Result<u64, StorageError> {
        let (mut before, mut behind) = (0, last + 1);
        while before + 1 < behind {
            let middle = before + (behind - before) / 2;
            let record = self.audit_record(middle)?;
            match is_before(log::beginning(middle, &record)?) {
                true => before = middle,
                false => behind = middle,
            }
        }
        Ok(before)
    }

    fn numbered(&self, prefix: &[u8], numbers: RangeInclusive<u64>, reverse: bool) -> Cursor {
        let (first, last) = (numbers.start().to_be_bytes(), numbers.end().to_be_bytes());
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
        Cursor::range(self, Family::Audit, prefix, lower, upper, Direction::of(reverse))
    }

    /// The sealed details of an entry; `KeyDestroyed` when the person was forgotten.
    pub fn audit_payload(&self, entry: &LoggedEntry) -> Result<Option<Vec<u8>>, StorageError> {
        let Some(payload) = &entry.payload else { return Ok(None) };
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

/// What a record gives.
enum Either {
    Entries(std::vec::IntoIter<LoggedEntry>),
    Failed(Option<StorageError>),
}

impl Iterator for Either {
    type Item = Result<LoggedEntry, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Either::Entries(entries) => entries.next().map(Ok),
            Either::Failed(error) => error.take().map(Err),
        }
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
    let microdb = receipt::destroys_key(&text).then(|| microdb::loaded(microdb));
    Ok(StoredReceipt { number, id: *id, text, microdb })
}
