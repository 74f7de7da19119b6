//! An entry as it stands in the log, and the form of the entries of before: one record each.
//!
//! ```text
//! 1 ‖ operation(1) ‖ flags(1) ‖ time ‖ commit ‖ login ‖ role ‖ [purpose] ‖ statement(8) ‖ rows
//! ‖ tables, each ‖ people (number of all) ‖ listed ‖ pseudonym(16) each
//! ‖ [commitment(32)] ‖ [µDB(6) ‖ payload id(8) ‖ length ‖ seal]                      numbers are varints
//! ```
//! Read still, never written.

use std::sync::Arc;

use repr::{CommitTime, MicroDbId, RelationId};

use crate::audit::Pseudonym;
use crate::audit::operation::{AuditActor, AuditOperation, AuditScope};
use crate::keyspace::varint;
use crate::microdb::{self, MICRODB_BYTES};

pub(crate) const PAYLOAD_ID_BYTES: usize = 8;
pub(crate) const FORM_OF_ONE: u8 = 1;
const HAS_PURPOSE: u8 = 1;
const HAS_COMMITMENT: u8 = 2;
const HAS_PAYLOAD: u8 = 4;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEntry {
    /// Its number, from 1 without gaps.
    pub number: u64,
    /// As in `AuditEntry`; never before an earlier record's.
    pub time_us: i64,
    /// As in `AuditEntry`.
    pub commit: CommitTime,
    /// As in `AuditEntry`.
    pub actor: Arc<AuditActor>,
    /// As in `AuditEntry`.
    pub operation: AuditOperation,
    /// As in `AuditEntry`.
    pub statement: [u8; 8],
    /// As in `AuditEntry`.
    pub tables: Arc<[RelationId]>,
    /// As in `AuditEntry`.
    pub key: Option<[u8; 8]>,
    /// How many people.
    pub subjects_total: u64,
    /// Who of them; all, unless there were more than `SUBJECTS_LISTED_MAX`.
    pub subjects: Vec<Pseudonym>,
    /// As in `AuditEntry`.
    pub scope: AuditScope,
    /// As in `AuditEntry`.
    pub rows: u64,
    /// A hash of what the entry vouches for: a receipt's text, or the pseudonyms that are not listed.
    pub commitment: Option<[u8; 32]>,
    /// Where another database's log ended.
    pub reference: Option<Box<LogReference>>,
    /// The sealed details.
    pub payload: Option<Box<SealedPayload>>,
}

/// Sealed details of an entry; `Snapshot::audit_payload` opens them while the person's key exists.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedPayload {
    pub(crate) owner: MicroDbId,
    pub(crate) id: [u8; PAYLOAD_ID_BYTES],
    pub(crate) sealed: Vec<u8>,
}

impl std::fmt::Debug for SealedPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedPayload(..)")
    }
}

impl SealedPayload {
    pub(crate) fn encode(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&microdb::stored(self.owner));
        body.extend_from_slice(&self.id);
        varint::write(self.sealed.len() as u64, body);
        body.extend_from_slice(&self.sealed);
    }

    pub(crate) fn decode(reader: &mut BodyReader<'_>) -> Option<SealedPayload> {
        let owner = microdb::loaded(reader.array::<MICRODB_BYTES>()?);
        let id = reader.array()?;
        let length = reader.number()?;
        Some(SealedPayload { owner, id, sealed: reader.bytes(length)?.to_vec() })
    }
}

/// Where another database's log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogReference {
    /// The other log's name: the hash of its database's id and public key.
    pub log: [u8; 32],
    /// Its last record then: the number, and the hash.
    pub sequence: u64,
    /// See `sequence`.
    pub hash: [u8; 32],
}

impl LogReference {
    pub(crate) fn encode(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.log);
        varint::write(self.sequence, body);
        body.extend_from_slice(&self.hash);
    }

    pub(crate) fn decode(reader: &mut BodyReader<'_>) -> Option<LogReference> {
        Some(LogReference { log: reader.array()?, sequence: reader.number()?, hash: reader.array()? })
    }
}

/// A position in a body.
pub(crate) struct BodyReader<'a>(pub(crate) &'a [u8]);

impl<'a> BodyReader<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = varint::read(self.0)?;
        self.0 = rest;
        Some(number)
    }

    /// Sign in the lowest bit.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn id(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A place in a list of so many.
    pub(crate) fn place(&mut self, length: usize) -> Option<usize> {
        let place = usize::try_from(self.number()?).ok()?;
        (place < length).then_some(place)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// As many as are announced; the announcement alone allocates nothing.
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        (0..length).map(|_| item(self)).collect()
    }
}

/// With the sign in the lowest bit, so that what is near zero is short on both sides.
pub(crate) fn write_signed(number: i64, body: &mut Vec<u8>) {
    varint::write((number << 1 ^ number >> 63) as u64, body);
}

/// Reads a record of one entry.
pub(crate) fn decode_one(number: u64, body: &[u8]) -> Option<LoggedEntry> {
    let mut reader = BodyReader(body);
    if reader.byte()? != FORM_OF_ONE {
        return None;
    }
    let operation = AuditOperation::from_tag(reader.byte()?)?;
    let flags = reader.byte()?;
    if flags & !(HAS_PURPOSE | HAS_COMMITMENT | HAS_PAYLOAD) != 0 {
        return None;
    }
    let time_us = reader.signed()?;
    let commit = CommitTime(reader.number()?);
    let (login, role) = (reader.id()?, reader.id()?);
    let purpose = if flags & HAS_PURPOSE != 0 { Some(reader.id()?) } else { None };
    let statement = reader.array()?;
    let rows = reader.number()?;
    let tables = reader.list(|reader| reader.id().map(RelationId))?.into();
    let subjects_total = reader.number()?;
    let subjects = reader.list(BodyReader::array)?;
    let commitment = if flags & HAS_COMMITMENT != 0 { Some(reader.array()?) } else { None };
    let payload = if flags & HAS_PAYLOAD != 0 { Some(Box::new(SealedPayload::decode(&mut reader)?)) } else { None };
    let scope = AuditScope { may_be_more: subjects_total > subjects.len() as u64, undone: false };
    reader.0.is_empty().then(|| LoggedEntry {
        number,
        time_us,
        commit,
        actor: Arc::new(AuditActor { login, role, purpose, address: None }),
        operation,
        statement,
        tables,
        key: None,
        subjects_total,
        subjects,
        scope,
        rows,
        commitment,
        reference: None,
        payload,
    })
}
