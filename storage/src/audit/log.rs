//! The log's chain: how records get their places, and what stands where in the `audit` family.
//!
//! ```text
//! 1 ‖ sequence(8)                 → record: of one entry (see `logged`) in folders of before, else of a group's (see `group`)
//! 2                               → head: sequence(8) ‖ receipts(8) ‖ hash(32) ‖ code(64)
//! 3 ‖ sequence(8)                 → checkpoint, at every 256th record: as the head, with a signature in the code's place
//! 4 ‖ pseudonym(16) ‖ sequence(8) → nothing: the records of a person, in folders of before; nothing reads them
//! 5 ‖ receipt number(8)           → receipt id(16) ‖ seal
//! 6 ‖ receipt id(16)              → receipt number(8)
//! 7, 8                            → see `postings`
//! 9                               → how many records have lost their entries: see `retention`
//! ```
//! A signature takes longer than the rest of a small commit. So the head that stands here has a code that only who has the
//! database's keys can make, as only they could sign it; it is signed when it is handed out. Folders of before have signed ones.
//!
//! Only `Store::write` links, under the log's lock, so no two records ever share a sequence number.

use rocksdb::{DB, ReadOptions};

use crate::audit::PendingAudit;
use crate::audit::group::{self, Beginning, Emptied, FORM_OF_EMPTIED, Links};
use crate::audit::logged::{self, FORM_OF_ONE, LoggedEntry};
use crate::audit::mentioned::Mentioned;
use crate::crypto::sodium::{self, SigningKey};
use crate::error::{AuditFault, StorageError, StoredEntry};
use crate::rocks::{self, Family};

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

/// Records between two checkpoints.
pub(crate) const CHECKPOINT_RECORDS: u64 = 256;
/// Bytes of a head or checkpoint.
pub(crate) const HEAD_BYTES: usize = 8 + 8 + 32 + 64;
/// Bytes of what its signature or code is of.
const MESSAGE_BYTES: usize = 19 + 32 + 8 + 8 + 32;

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
    /// Entries so far; the number of the last one.
    pub(crate) entries: u64,
    /// No entry of a later record is before that.
    pub(crate) latest_us: i64,
    /// At place k, from 1: the last record whose number is a multiple of 2^k, and its hash; none of those of one entry.
    peaks: Vec<Option<(u64, [u8; 32])>>,
}

/// Where a chain ends, as it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// As in `Log`.
    pub(crate) name: [u8; 32],
    /// As in `Log`.
    pub(crate) sequence: u64,
    /// As in `Log`.
    pub(crate) receipts: u64,
    /// As in `Log`.
    pub(crate) hash: [u8; 32],
}

impl Log {
    /// The log before its first record.
    pub(crate) fn empty(database: &[u8; 16], signing: &SigningKey) -> Log {
        let name = log_name(database, &signing.public());
        Log { name, sequence: 0, receipts: 0, hash: name, entries: 0, latest_us: i64::MIN, peaks: Vec::new() }
    }

    /// Reads the head, checks its signature, and reads what goes on from the last records.
    pub(crate) fn open(db: &DB, database: &[u8; 16], signing: &SigningKey) -> Result<Log, StorageError> {
        let mut log = Log::empty(database, signing);
        let family = Family::Audit.handle(db);
        let found = db.get_cf(family, HEAD).map_err(rocks::failed("read the audit log's head"))?;
        let last = last_record(db)?;
        let Some(bytes) = found else {
            return if last == 0 { Ok(log) } else { Err(StorageError::Audit(AuditFault::Head)) };
        };
        let head: &[u8; HEAD_BYTES] = bytes.as_slice().try_into().map_err(|_| MALFORMED)?;
        let head = Head::stored(log.name, head, signing).ok_or(StorageError::Audit(AuditFault::Head))?;
        (log.sequence, log.receipts, log.hash) = (head.sequence, head.receipts, head.hash);
        let record = |sequence: u64| {
            let record = db.get_cf(family, record_key(sequence)).map_err(rocks::failed("read the audit log"))?;
            Ok::<_, StorageError>(record.unwrap_or_default())
        };
        let broken = StorageError::Audit(AuditFault::End { record: log.sequence });
        if last != log.sequence {
            return Err(broken);
        }
        if log.sequence > 0 {
            let stored = record(log.sequence)?;
            // One of a version before has no hash that one can make without all before it.
            let hash = Links::with_hash(&stored).map(|(links, body)| links.hash(log.sequence, &body));
            if hash.is_some_and(|hash| hash != log.hash) {
                return Err(broken);
            }
            let last = entries(log.sequence, &stored)?;
            log.entries = last.last().map_or(0, |entry| entry.number);
            log.latest_us = last.iter().map(|entry| entry.time_us).max().unwrap_or(i64::MIN);
        }
        for place in 1..u64::BITS {
            let sequence = log.sequence >> place << place;
            if sequence == 0 {
                break;
            }
            // Who is not a group's has no hash that one can make without all before it.
            let peak = Links::with_hash(&record(sequence)?).map(|(links, body)| links.hash(sequence, &body));
            log.peaks.resize(place as usize + 1, None);
            log.peaks[place as usize] = peak.map(|hash| (sequence, hash));
        }
        Ok(log)
    }

    /// Gives places to a group's entries and receipts, puts what is to be written, and says where the chain then ends.
    pub(crate) fn link(
        &self,
        pending: &[PendingAudit],
        signing: &SigningKey,
        put: &mut impl FnMut(&[u8], &[u8]),
    ) -> Log {
        let mut log = self.clone();
        let mut entries: Vec<&LoggedEntry> = pending.iter().flat_map(PendingAudit::entries).collect();
        // A transaction's statements came before those that were read beside its commit.
        entries.sort_by_key(|entry| entry.time_us);
        for some in entries.chunks(group::ENTRIES_MAX) {
            log.append(some, put);
            if log.sequence.is_multiple_of(CHECKPOINT_RECORDS) {
                put(&checkpoint_key(log.sequence), &log.head().signed(signing));
            }
        }
        for pending in pending {
            if let PendingAudit::Receipt { id, sealed, .. } = pending {
                log.receipts += 1;
                put(&receipt_key(log.receipts), &[id.as_slice(), sealed].concat());
                put(&receipt_id_key(id), &log.receipts.to_be_bytes());
            }
        }
        put(HEAD, &log.head().coded(signing));
        log
    }

    /// One more record.
    fn append(&mut self, entries: &[&LoggedEntry], put: &mut impl FnMut(&[u8], &[u8])) {
        let sequence = self.sequence + 1;
        let pointer = |place: u32| match self.peaks.get(place as usize) {
            Some(Some((peak, hash))) if sequence - *peak == 1 << place => Some(*hash),
            Some(_) | None => None,
        };
        let pointers = (1..=sequence.trailing_zeros()).map_while(pointer).collect();
        let links = Links { previous: self.hash, pointers };
        let mut record = links.begin_record(group::body_bytes(entries));
        let body_at = record.len();
        group::encode(self.entries + 1, self.latest_us, entries, &mut record);
        self.hash = links.hash(sequence, &group::body_hash(&record[body_at..]));
        self.sequence = sequence;
        self.entries += entries.len() as u64;
        self.latest_us = entries.iter().map(|entry| entry.time_us).fold(self.latest_us, i64::max);
        for place in 1..=sequence.trailing_zeros() as usize {
            self.peaks.resize(self.peaks.len().max(place + 1), None);
            self.peaks[place] = Some((sequence, self.hash));
        }
        put(&record_key(sequence), &record);
    }

    fn head(&self) -> Head {
        Head { name: self.name, sequence: self.sequence, receipts: self.receipts, hash: self.hash }
    }
}

impl Head {
    /// A published head or checkpoint whose signature holds.
    pub(crate) fn verified(name: [u8; 32], head: &[u8; HEAD_BYTES], public: &[u8; 32]) -> Option<Head> {
        let (head, signature) = Head::parts(name, head)?;
        sodium::verify(public, &head.message(), signature).then_some(head)
    }

    /// The head as it stands in the log, if its code or signature holds.
    pub(crate) fn stored(name: [u8; 32], head: &[u8; HEAD_BYTES], signing: &SigningKey) -> Option<Head> {
        let (head, code) = Head::parts(name, head)?;
        let message = head.message();
        (signing.code(&message) == *code || sodium::verify(&signing.public(), &message, code)).then_some(head)
    }

    fn parts(name: [u8; 32], head: &[u8; HEAD_BYTES]) -> Option<(Head, &[u8; 64])> {
        let (sequence, rest) = head.split_first_chunk()?;
        let (receipts, rest) = rest.split_first_chunk()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let (sequence, receipts) = (u64::from_be_bytes(*sequence), u64::from_be_bytes(*receipts));
        Some((Head { name, sequence, receipts, hash: *hash }, rest.first_chunk()?))
    }

    pub(crate) fn signed(&self, signing: &SigningKey) -> [u8; HEAD_BYTES] {
        self.with(&signing.sign(&self.message()))
    }

    /// As only who could sign it can make it.
    fn coded(&self, signing: &SigningKey) -> [u8; HEAD_BYTES] {
        self.with(&signing.code(&self.message()))
    }

    fn with(&self, proof: &[u8; 64]) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&self.sequence.to_be_bytes());
        head[8..16].copy_from_slice(&self.receipts.to_be_bytes());
        head[16..48].copy_from_slice(&self.hash);
        head[48..].copy_from_slice(proof);
        head
    }

    fn message(&self) -> [u8; MESSAGE_BYTES] {
        let mut message = [0; MESSAGE_BYTES];
        message[..19].copy_from_slice(b"dogwood log head 1\0");
        message[19..51].copy_from_slice(&self.name);
        message[51..59].copy_from_slice(&self.sequence.to_be_bytes());
        message[59..67].copy_from_slice(&self.receipts.to_be_bytes());
        message[67..].copy_from_slice(&self.hash);
        message
    }
}

/// The number of the last record that is stored, whatever the head says.
fn last_record(db: &DB) -> Result<u64, StorageError> {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    let mut iterator = db.raw_iterator_cf_opt(Family::Audit.handle(db), options);
    iterator.seek_for_prev(record_key(u64::MAX));
    iterator.status().map_err(rocks::failed("read the audit log"))?;
    Ok(iterator.key().filter(|key| key.starts_with(RECORDS)).and_then(number_of).unwrap_or(0))
}

/// The entries of the record of a number.
pub(crate) fn entries(sequence: u64, record: &[u8]) -> Result<Vec<LoggedEntry>, StorageError> {
    let entries = match record.first() {
        // Each record had one.
        Some(&FORM_OF_ONE) => logged::decode_one(sequence, record).map(|entry| vec![entry]),
        Some(&FORM_OF_EMPTIED) => Emptied::of(record).map(|_emptied| Vec::new()),
        Some(_) | None => Links::of(record).and_then(|(_, body)| group::decode(body)),
    };
    entries.ok_or(MALFORMED)
}

/// Those of them whose number and time are wanted, and that mention any of these; of none all.
pub(crate) fn wanted_entries(
    sequence: u64,
    record: &[u8],
    in_range: &dyn Fn(u64, i64) -> bool,
    mentioned: &[Mentioned],
) -> Result<Vec<LoggedEntry>, StorageError> {
    if let Some((_, body)) = Links::of(record) {
        return group::decode_wanted(body, in_range, mentioned).ok_or(MALFORMED);
    }
    let mut entries = entries(sequence, record)?;
    entries.retain(|entry| {
        in_range(entry.number, entry.time_us) && (mentioned.is_empty() || mentioned.iter().any(|one| one.is_in(entry)))
    });
    Ok(entries)
}

/// Where the entries of the record of a number begin, and when.
pub(crate) fn beginning(sequence: u64, record: &[u8]) -> Result<Beginning, StorageError> {
    let beginning = match record.first() {
        Some(&FORM_OF_ONE) => {
            logged::decode_one(sequence, record).map(|entry| Beginning { first: sequence, time_us: entry.time_us })
        }
        Some(&FORM_OF_EMPTIED) => Emptied::of(record).map(|emptied| emptied.beginning),
        Some(_) | None => Links::of(record).and_then(|(_, body)| group::beginning(body)),
    };
    beginning.ok_or(MALFORMED)
}

/// The hash of a record behind the one before it; none if it says itself that another is before it.
pub(crate) fn hash_after(previous: &[u8; 32], sequence: u64, record: &[u8]) -> Option<[u8; 32]> {
    if record.first() == Some(&FORM_OF_ONE) {
        return Some(record_hash(previous, sequence, record));
    }
    let (links, body) = Links::with_hash(record)?;
    (links.previous == *previous).then(|| links.hash(sequence, &body))
}

/// The hash before the first record.
pub(crate) fn log_name(database: &[u8; 16], public: &[u8; 32]) -> [u8; 32] {
    sodium::hash(&[b"dogwood log 1\0".as_slice(), database, public].concat())
}

/// The hash of a record of one entry behind the one before it.
fn record_hash(previous: &[u8; 32], sequence: u64, body: &[u8]) -> [u8; 32] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_head_holds_by_its_code_or_a_signature_of_its_own_key() {
        sodium::initialize();
        let (own, other) = (SigningKey::from_seed(&[1; 32]), SigningKey::from_seed(&[2; 32]));
        let head = Head { name: [3; 32], sequence: 300, receipts: 2, hash: [4; 32] };
        for stored in [head.coded(&own), head.signed(&own)] {
            assert_eq!(Head::stored(head.name, &stored, &own), Some(head.clone()));
            assert_eq!(Head::stored(head.name, &stored, &other), None, "of another database");
            assert_eq!(Head::stored([5; 32], &stored, &own), None, "of another log");
            for byte in 0..HEAD_BYTES {
                let mut changed = stored;
                changed[byte] ^= 1;
                assert_eq!(Head::stored(head.name, &changed, &own), None, "byte {byte}");
            }
        }
        let public = own.public();
        assert_eq!(Head::verified(head.name, &head.signed(&own), &public), Some(head.clone()));
        assert_eq!(Head::verified(head.name, &head.coded(&own), &public), None, "a code is for nobody outside");
    }
}
