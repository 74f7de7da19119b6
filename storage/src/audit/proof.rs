//! A proof that one record stands in the log: from a signed head back to it, by pointers to records 2^k before.
//!
//! ```text
//! "DOGWPRF1" ‖ database(16) ‖ head(112) ‖ number(8) ‖ steps ‖ { hash of the body(32) ‖ links }… ‖ length ‖ record
//! links = hash of the record before(32) ‖ pointers ‖ hash(32) each                          counts are varints
//!
//! head ─▶ 1000 ─▶ 992 ─▶ 960 ─▶ 896 ─▶ 768 ─▶ 512 ─▶ 256 ─▶ … ─▶ the record
//! ```
//! Of n records it holds the links of some 2 log n, and the one record whole: nothing of what others did.

use crate::audit::group::Links;
use crate::audit::log::{self, HEAD_BYTES, Head, log_name};
use crate::audit::logged::{BodyReader, LoggedEntry};
use crate::audit::published::PublishedHead;
use crate::audit::verify::VerifyError;
use crate::crypto::sodium;
use crate::error::{StorageError, StoredEntry};
use crate::keyspace::varint;
use crate::snapshot::Snapshot;

/// What a proof begins with.
pub const PROOF_MAGIC: &[u8; 8] = b"DOGWPRF1";
const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };
/// Of 2^64 records a proof has no more.
const STEPS_MAX: u64 = 256;

/// What a genuine proof proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofSummary {
    /// The database in whose log it is.
    pub database: [u8; 16],
    /// The record's number.
    pub record: u64,
    /// The head from which it is proved: its number and hash.
    pub head: (u64, [u8; 32]),
    /// Links between the two.
    pub steps: usize,
    /// What the record says; nothing once its entries were dropped.
    pub entries: Vec<LoggedEntry>,
}

/// The next record on the way down from one to another, and its hash: as far as a pointer leads that does not lead too far.
fn next(from: u64, links: &Links, to: u64) -> (u64, [u8; 32]) {
    let reaches = |place: u32| 1_u64.checked_shl(place).is_some_and(|far| far <= from - to);
    let pointers = (1..).zip(&links.pointers).filter(|(place, _)| reaches(*place));
    match pointers.last() {
        Some((place, hash)) => (from - (1 << place), *hash),
        None => (from - 1, links.previous),
    }
}

impl Snapshot {
    /// The number of the record in which an entry stands; none if there is no such entry.
    pub fn record_of_entry(&self, entry: u64) -> Result<Option<u64>, StorageError> {
        let last = self.last_record()?;
        let record = self.records_before(last, &|beginning| beginning.first <= entry)?;
        let entries = |record: u64| {
            let stored = self.audit_record(record)?;
            log::entries(record, &stored)
        };
        let found = entry > 0 && record > 0 && entries(record)?.iter().any(|stored| stored.number == entry);
        Ok(found.then_some(record))
    }

    /// Proves a record from a published head, or from the present one. None if the head does not reach it, or there is none.
    pub fn prove(&self, record: u64, from: Option<&PublishedHead>) -> Result<Option<Vec<u8>>, StorageError> {
        let signed: [u8; HEAD_BYTES] = match from {
            Some(head) => head.signed,
            None => match self.signed_head()? {
                Some(head) => head,
                None => return Ok(None),
            },
        };
        let mut at = u64::from_be_bytes(*signed.first_chunk().expect("a head is longer"));
        if record == 0 || record > at {
            return Ok(None);
        }
        let (mut steps, mut count) = (Vec::new(), 0_u64);
        while at != record {
            let bytes = self.audit_record(at)?;
            // Records of a version before have no pointers.
            let (links, body) = Links::with_hash(&bytes).ok_or(MALFORMED)?;
            steps.extend_from_slice(&body);
            links.write(&mut steps);
            count += 1;
            at = next(at, &links, record).0;
        }
        let bytes = self.audit_record(record)?;
        let mut proof = Vec::with_capacity(200 + steps.len() + bytes.len());
        proof.extend_from_slice(PROOF_MAGIC);
        proof.extend_from_slice(&self.store().database_id());
        proof.extend_from_slice(&signed);
        proof.extend_from_slice(&record.to_be_bytes());
        varint::write(count, &mut proof);
        proof.extend_from_slice(&steps);
        varint::write(bytes.len() as u64, &mut proof);
        proof.extend_from_slice(&bytes);
        Ok(Some(proof))
    }
}

/// Checks a proof against the public key; and that it leads from one of these heads, where any are given.
pub fn verify_proof(
    public_key: &[u8; 32],
    proof: &[u8],
    published: impl IntoIterator<Item = (u64, [u8; 32])>,
) -> Result<ProofSummary, VerifyError> {
    sodium::initialize();
    let mut reader = BodyReader(proof.strip_prefix(PROOF_MAGIC).ok_or(VerifyError::Malformed)?);
    let beginning = |reader: &mut BodyReader<'_>| Some((reader.array::<16>()?, reader.array::<HEAD_BYTES>()?));
    let (database, signed) = beginning(&mut reader).ok_or(VerifyError::Malformed)?;
    let head = Head::verified(log_name(&database, public_key), &signed, public_key).ok_or(VerifyError::Signature)?;
    let mut published = published.into_iter().peekable();
    if published.peek().is_some() && !published.any(|published| published == (head.sequence, head.hash)) {
        return Err(VerifyError::HeadNotPublished);
    }
    let counts = |reader: &mut BodyReader<'_>| {
        let record = u64::from_be_bytes(reader.array()?);
        Some((record, reader.number().filter(|steps| *steps <= STEPS_MAX)?))
    };
    let (record, steps) = counts(&mut reader).ok_or(VerifyError::Malformed)?;
    if record == 0 || record > head.sequence {
        return Err(VerifyError::Malformed);
    }
    let (mut at, mut hash) = (head.sequence, head.hash);
    for _ in 0..steps {
        let step = |reader: &mut BodyReader<'_>| Some((reader.array::<32>()?, Links::read(reader)?));
        let (body, links) = step(&mut reader).ok_or(VerifyError::Malformed)?;
        if at <= record || links.hash(at, &body) != hash {
            return Err(VerifyError::Proof { at });
        }
        (at, hash) = next(at, &links, record);
    }
    let length = reader.number().ok_or(VerifyError::Malformed)?;
    let bytes = reader.bytes(length).ok_or(VerifyError::Malformed)?;
    if at != record || !reader.0.is_empty() {
        return Err(VerifyError::Malformed);
    }
    let (links, body) = Links::with_hash(bytes).ok_or(VerifyError::Malformed)?;
    if links.hash(record, &body) != hash {
        return Err(VerifyError::Proof { at: record });
    }
    let entries = log::entries(record, bytes).map_err(|_malformed| VerifyError::Malformed)?;
    let steps = usize::try_from(steps).expect("few");
    Ok(ProofSummary { database, record, head: (head.sequence, head.hash), steps, entries })
}
