//! The log's chain: how records get their places, and what stands where in the `audit` family.
//!
//! ```text
//! 1 ‖ sequence(8)                 → record body
//! 2                               → head: sequence(8) ‖ receipts(8) ‖ hash(32) ‖ signature(64)
//! 3 ‖ sequence(8)                 → checkpoint, as the head, at every 256th record
//! 4 ‖ pseudonym(16) ‖ sequence(8) → nothing: the records of a person, in folders of before; nothing reads them
//! 5 ‖ receipt number(8)           → receipt id(16) ‖ seal
//! 6 ‖ receipt id(16)              → receipt number(8)
//! ```
//! Only `Store::write` links, under the log's lock, so no two records ever share a sequence number.

use rocksdb::DB;

use crate::audit::PendingAudit;
use crate::batch::Batch;
use crate::crypto::sodium::{self, SigningKey};
use crate::error::{StorageError, StoredEntry};
use crate::rocks::{self, Family};

/// Records between two checkpoints.
pub(crate) const CHECKPOINT_RECORDS: u64 = 256;
/// Bytes of a head or checkpoint.
pub(crate) const HEAD_BYTES: usize = 8 + 8 + 32 + 64;

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// The log's name: the hash before the first record.
    pub(crate) name: [u8; 32],
    /// Records so far; the number of the last one.
    pub(crate) sequence: u64,
    /// Receipts so far; the number of the last one.
    pub(crate) receipts: u64,
    /// The hash of the last record.
    pub(crate) hash: [u8; 32],
}

impl Log {
    /// The log before its first record.
    pub(crate) fn empty(database: &[u8; 16], signing: &SigningKey) -> Log {
        let name = log_name(database, &signing.public());
        Log { name, sequence: 0, receipts: 0, hash: name }
    }

    /// Reads the head and checks its signature.
    pub(crate) fn open(db: &DB, database: &[u8; 16], signing: &SigningKey) -> Result<Log, StorageError> {
        let empty = Log::empty(database, signing);
        let name = empty.name;
        let found = db.get_cf(Family::Audit.handle(db), HEAD).map_err(rocks::failed("read the audit log's head"))?;
        let Some(bytes) = found else {
            return Ok(empty);
        };
        let head: &[u8; HEAD_BYTES] =
            bytes.as_slice().try_into().map_err(|_| StorageError::Malformed { entry: StoredEntry::Audit })?;
        Log::verified(name, head, &signing.public()).ok_or(StorageError::AuditHeadBroken)
    }

    /// A head or checkpoint whose signature holds.
    pub(crate) fn verified(name: [u8; 32], head: &[u8; HEAD_BYTES], public: &[u8; 32]) -> Option<Log> {
        let (sequence, rest) = head.split_first_chunk()?;
        let (receipts, rest) = rest.split_first_chunk()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let signature = rest.first_chunk()?;
        let log =
            Log { name, sequence: u64::from_be_bytes(*sequence), receipts: u64::from_be_bytes(*receipts), hash: *hash };
        sodium::verify(public, &log.message(), signature).then_some(log)
    }

    /// Gives places to a group's records and receipts, adds their entries to a batch, and says where the chain then ends.
    pub(crate) fn link(&self, pending: &[PendingAudit], signing: &SigningKey, batch: &mut Batch) -> Log {
        let mut log = self.clone();
        for pending in pending {
            match pending {
                PendingAudit::Record { body } => {
                    log.sequence += 1;
                    log.hash = record_hash(&log.hash, log.sequence, body);
                    batch.put(Family::Audit, &record_key(log.sequence), body);
                    if log.sequence.is_multiple_of(CHECKPOINT_RECORDS) {
                        batch.put(Family::Audit, &checkpoint_key(log.sequence), &log.signed(signing));
                    }
                }
                PendingAudit::Receipt { id, sealed, .. } => {
                    log.receipts += 1;
                    batch.put(Family::Audit, &receipt_key(log.receipts), &[id.as_slice(), sealed].concat());
                    batch.put(Family::Audit, &receipt_id_key(id), &log.receipts.to_be_bytes());
                }
            }
        }
        batch.put(Family::Audit, HEAD, &log.signed(signing));
        log
    }

    fn signed(&self, signing: &SigningKey) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&self.sequence.to_be_bytes());
        head[8..16].copy_from_slice(&self.receipts.to_be_bytes());
        head[16..48].copy_from_slice(&self.hash);
        head[48..].copy_from_slice(&signing.sign(&self.message()));
        head
    }

    fn message(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(100);
        message.extend_from_slice(b"dogwood log head 1\0");
        message.extend_from_slice(&self.name);
        message.extend_from_slice(&self.sequence.to_be_bytes());
        message.extend_from_slice(&self.receipts.to_be_bytes());
        message.extend_from_slice(&self.hash);
        message
    }
}

/// The hash before the first record.
pub(crate) fn log_name(database: &[u8; 16], public: &[u8; 32]) -> [u8; 32] {
    sodium::hash(&[b"dogwood log 1\0".as_slice(), database, public].concat())
}

/// The hash of a record behind the one before it.
pub(crate) fn record_hash(previous: &[u8; 32], sequence: u64, body: &[u8]) -> [u8; 32] {
    sodium::hash(&[b"dogwood record 1\0".as_slice(), previous, &sequence.to_be_bytes(), body].concat())
}

/// The key of the head.
pub(crate) const HEAD: &[u8] = &[2];
/// The start of all records.
pub(crate) const RECORDS: &[u8] = &[1];
/// The start of all receipts.
pub(crate) const RECEIPTS: &[u8] = &[5];

pub(crate) fn record_key(sequence: u64) -> [u8; 9] {
    numbered(1, sequence)
}

pub(crate) fn checkpoint_key(sequence: u64) -> [u8; 9] {
    numbered(3, sequence)
}

pub(crate) fn receipt_key(number: u64) -> [u8; 9] {
    numbered(5, number)
}

pub(crate) fn receipt_id_key(id: &[u8; 16]) -> [u8; 17] {
    let mut key = [6; 17];
    key[1..].copy_from_slice(id);
    key
}

fn numbered(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The number at the end of a key.
pub(crate) fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|number| u64::from_be_bytes(*number))
}
