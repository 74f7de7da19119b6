//! A record of the log: what an operation was, without anything of what it touched.
//!
//! ```text
//! form(1) ‖ operation(1) ‖ flags(1) ‖ time ‖ commit ‖ actor ‖ role ‖ [purpose] ‖ statement(8) ‖ rows
//! ‖ tables, each ‖ people (number of all) ‖ listed ‖ pseudonym(16) each
//! ‖ [commitment(32)] ‖ [µDB(6) ‖ payload id(8) ‖ length ‖ seal]                      numbers are varints
//! ```
//! Names of roles and purposes are ids here: a login can be a person's e-mail address.

use repr::{CommitTime, Id, MicroDbId, RelationId};

use crate::audit::receipt::Receipt;
use crate::audit::{PendingAudit, Pseudonym};
use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::sodium;
use crate::error::{StorageError, StoredEntry};
use crate::keyspace::varint;
use crate::microdb::{self, MICRODB_BYTES};
use crate::store::Store;

/// People listed in one record. Of more, only the number and a commitment to all are kept.
pub(crate) const SUBJECTS_LISTED_MAX: usize = 1000;

const FORM: u8 = 1;
const HAS_PURPOSE: u8 = 1;
const HAS_COMMITMENT: u8 = 2;
const HAS_PAYLOAD: u8 = 4;
const PAYLOAD_ID_BYTES: usize = 8;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $tag:literal,)*) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum AuditOperation {
            $($(#[$doc])* $name = $tag,)*
        }
        impl AuditOperation {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(AuditOperation::$name => stringify!($name),)*
                }
            }
            fn from_tag(tag: u8) -> Option<AuditOperation> {
                match tag {
                    $($tag => Some(AuditOperation::$name),)*
                    _ => None,
                }
            }
        }
    };
}

operations! {
    /// A session began.
    Connect = 1,
    /// Personal data was read.
    Select = 2,
    /// Rows were inserted.
    Insert = 3,
    /// Rows were changed.
    Update = 4,
    /// Rows were deleted.
    Delete = 5,
    /// A subject's access request.
    Get = 6,
    /// A subject's erasure request.
    Forget = 7,
    /// The schema, an annotation or a policy changed.
    Define = 8,
    /// A role or a permission changed.
    Grant = 9,
    /// A subscription to a view began.
    Subscribe = 10,
    /// A backup, a restore, a rotation.
    Maintain = 11,
    /// Something was refused.
    Refuse = 12,
}

/// What the engine says of an operation.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// Microseconds since 2000-01-01 UTC, by the caller's clock.
    pub time_us: i64,
    /// The commit group, or the one whose snapshot was read.
    pub commit: CommitTime,
    /// Who: the login's id.
    pub actor: Id,
    /// In which role: its id.
    pub role: Id,
    /// For which declared purpose: its id.
    pub purpose: Option<Id>,
    /// What.
    pub operation: AuditOperation,
    /// A hash of the statement without its literals.
    pub statement: [u8; 8],
    /// On which tables.
    pub tables: Vec<RelationId>,
    /// On whose data.
    pub subjects: Vec<MicroDbId>,
    /// How many rows.
    pub rows: u64,
    /// Details that only the person's key opens; they die with it.
    pub payload: Option<AuditPayload>,
}

/// Details of a record, sealed under a person's key.
#[derive(Clone)]
pub struct AuditPayload {
    /// Whose key.
    pub owner: MicroDbId,
    /// What to seal.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for AuditPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditPayload(..)")
    }
}

/// A record as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its number, from 1 without gaps.
    pub sequence: u64,
    /// As in `AuditEntry`.
    pub time_us: i64,
    /// As in `AuditEntry`.
    pub commit: CommitTime,
    /// As in `AuditEntry`.
    pub actor: Id,
    /// As in `AuditEntry`.
    pub role: Id,
    /// As in `AuditEntry`.
    pub purpose: Option<Id>,
    /// As in `AuditEntry`.
    pub operation: AuditOperation,
    /// As in `AuditEntry`.
    pub statement: [u8; 8],
    /// As in `AuditEntry`.
    pub tables: Vec<RelationId>,
    /// How many people.
    pub subjects_total: u64,
    /// Who of them; all, unless there were more than `SUBJECTS_LISTED_MAX`.
    pub subjects: Vec<Pseudonym>,
    /// As in `AuditEntry`.
    pub rows: u64,
    /// A hash of what the record vouches for: a receipt's text, or the pseudonyms that are not listed.
    pub commitment: Option<[u8; 32]>,
    /// The sealed details.
    pub payload: Option<SealedPayload>,
}

/// Sealed details of a record; `Snapshot::audit_payload` opens them while the person's key exists.
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

impl Batch {
    /// Adds a record, which gets its place in the log when the batch is written.
    ///
    /// Fails when a payload is to be sealed under a key that is gone.
    pub fn append_audit(&mut self, store: &Store, entry: &AuditEntry) -> Result<(), StorageError> {
        self.append_record(store, entry, None)
    }

    /// Adds an erasure's receipt, and the record that vouches for it. The batch is then the erasure's intent: once it is
    /// durable, `destroy_keys` follows, now or at the next start.
    pub fn append_receipt(&mut self, store: &Store, receipt: &Receipt, entry: &AuditEntry) -> Result<(), StorageError> {
        self.append_record(store, entry, Some(sodium::hash(receipt.text().as_bytes())))?;
        self.audit.push(receipt.pending(store));
        Ok(())
    }

    fn append_record(
        &mut self,
        store: &Store,
        entry: &AuditEntry,
        commitment: Option<[u8; 32]>,
    ) -> Result<(), StorageError> {
        let mut subjects: Vec<Pseudonym> = entry.subjects.iter().map(|subject| store.pseudonym(*subject)).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let total = subjects.len() as u64;
        let mut commitment = commitment;
        if subjects.len() > SUBJECTS_LISTED_MAX {
            commitment.get_or_insert_with(|| sodium::hash(&subjects.concat()));
            subjects.clear();
        }
        let payload = entry.payload.as_ref().map(|payload| payload.seal(store)).transpose()?;
        let body = encode(entry, total, &subjects, commitment, payload.as_ref());
        self.audit.push(PendingAudit::Record { body });
        Ok(())
    }
}

impl Store {
    /// How a person appears in the log and on receipts.
    pub fn pseudonym(&self, microdb: MicroDbId) -> Pseudonym {
        self.keyed_hash(b's', &[&microdb.0])
    }
}

impl AuditPayload {
    fn seal(&self, store: &Store) -> Result<SealedPayload, StorageError> {
        let id = sodium::nonce::<PAYLOAD_ID_BYTES>();
        let kind = SealKind::Personal { canonical: true };
        let header = Header { kind, cipher: store.cipher(), schema_version: 0 };
        let mut sealed = Vec::new();
        let place = SealPlace::AuditPayload(self.owner, &id);
        store.seal_personal(self.owner, place, header, &self.bytes, &mut sealed)?;
        Ok(SealedPayload { owner: self.owner, id, sealed })
    }
}

fn encode(
    entry: &AuditEntry,
    total: u64,
    subjects: &[Pseudonym],
    commitment: Option<[u8; 32]>,
    payload: Option<&SealedPayload>,
) -> Vec<u8> {
    let mut flags = 0;
    flags |= if entry.purpose.is_some() { HAS_PURPOSE } else { 0 };
    flags |= if commitment.is_some() { HAS_COMMITMENT } else { 0 };
    flags |= if payload.is_some() { HAS_PAYLOAD } else { 0 };
    let mut body = vec![FORM, entry.operation as u8, flags];
    // Sign in the lowest bit, so that times before 2000 stay short too.
    varint::write((entry.time_us << 1 ^ entry.time_us >> 63) as u64, &mut body);
    varint::write(entry.commit.0, &mut body);
    varint::write(u64::from(entry.actor), &mut body);
    varint::write(u64::from(entry.role), &mut body);
    if let Some(purpose) = entry.purpose {
        varint::write(u64::from(purpose), &mut body);
    }
    body.extend_from_slice(&entry.statement);
    varint::write(entry.rows, &mut body);
    varint::write(entry.tables.len() as u64, &mut body);
    for table in &entry.tables {
        varint::write(u64::from(table.0), &mut body);
    }
    varint::write(total, &mut body);
    varint::write(subjects.len() as u64, &mut body);
    subjects.iter().for_each(|subject| body.extend_from_slice(subject));
    if let Some(commitment) = commitment {
        body.extend_from_slice(&commitment);
    }
    if let Some(payload) = payload {
        body.extend_from_slice(&microdb::stored(payload.owner));
        body.extend_from_slice(&payload.id);
        varint::write(payload.sealed.len() as u64, &mut body);
        body.extend_from_slice(&payload.sealed);
    }
    body
}

impl AuditRecord {
    /// Reads a body.
    pub(crate) fn decode(sequence: u64, body: &[u8]) -> Result<AuditRecord, StorageError> {
        parse(sequence, body).ok_or(StorageError::Malformed { entry: StoredEntry::Audit })
    }
}

/// A position in a body.
struct BodyReader<'a>(&'a [u8]);

impl<'a> BodyReader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = varint::read(self.0)?;
        self.0 = rest;
        Some(number)
    }

    fn id(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// As many as are announced; the announcement alone allocates nothing.
    fn list<T>(&mut self, length: u64, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..length).map(|_| item(self)).collect()
    }
}

fn parse(sequence: u64, body: &[u8]) -> Option<AuditRecord> {
    let mut reader = BodyReader(body);
    if reader.byte()? != FORM {
        return None;
    }
    let operation = AuditOperation::from_tag(reader.byte()?)?;
    let flags = reader.byte()?;
    if flags & !(HAS_PURPOSE | HAS_COMMITMENT | HAS_PAYLOAD) != 0 {
        return None;
    }
    let time = reader.number()?;
    let time_us = (time >> 1) as i64 ^ -((time & 1) as i64);
    let commit = CommitTime(reader.number()?);
    let (actor, role) = (reader.id()?, reader.id()?);
    let purpose = if flags & HAS_PURPOSE != 0 { Some(reader.id()?) } else { None };
    let statement = reader.array()?;
    let rows = reader.number()?;
    let tables = reader.number()?;
    let tables = reader.list(tables, |reader| reader.id().map(RelationId))?;
    let subjects_total = reader.number()?;
    let listed = reader.number()?;
    let subjects = reader.list(listed, BodyReader::array)?;
    let commitment = if flags & HAS_COMMITMENT != 0 { Some(reader.array()?) } else { None };
    let payload = if flags & HAS_PAYLOAD != 0 {
        let owner = microdb::loaded(reader.array::<MICRODB_BYTES>()?);
        let id = reader.array()?;
        let length = reader.number()?;
        Some(SealedPayload { owner, id, sealed: reader.bytes(length)?.to_vec() })
    } else {
        None
    };
    reader.0.is_empty().then_some(AuditRecord {
        sequence,
        time_us,
        commit,
        actor,
        role,
        purpose,
        operation,
        statement,
        tables,
        subjects_total,
        subjects,
        rows,
        commitment,
        payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            time_us: -5,
            commit: CommitTime(9),
            actor: 16_400,
            role: 1,
            purpose: Some(70_000),
            operation: AuditOperation::Insert,
            statement: [7; 8],
            tables: vec![RelationId(16_384)],
            subjects: Vec::new(),
            rows: 3,
            payload: None,
        }
    }

    #[test]
    fn bodies_are_read_back_and_short() {
        let sealed = SealedPayload { owner: microdb::loaded([1; 6]), id: [2; 8], sealed: vec![3; 40] };
        let people = [[4; 16], [5; 16]];
        let body = encode(&entry(), 2, &people, Some([6; 32]), Some(&sealed));
        let record = parse(12, &body).expect("reads what was written");
        assert_eq!((record.sequence, record.time_us, record.subjects_total), (12, -5, 2));
        assert_eq!((record.purpose, record.commitment), (Some(70_000), Some([6; 32])));
        assert_eq!((record.subjects, record.payload), (people.to_vec(), Some(sealed)));
        for length in 0..body.len() {
            assert_eq!(parse(12, &body[..length]), None, "a record cut at {length}");
        }
        assert_eq!(parse(12, &[body.as_slice(), &[0]].concat()), None);
        assert!(encode(&entry(), 1, &people[..1], None, None).len() < 60);
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_panic() {
        sodium::initialize();
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = (state >> 58) as usize;
            let mut bytes: Vec<u8> = sodium::hash::<64>(&state.to_be_bytes())[..length].to_vec();
            if length > 3 {
                let start = [FORM, 1 + bytes[0] % 12, bytes[1] % 8];
                bytes[..3].copy_from_slice(&start);
            }
            let _ = parse(1, &bytes);
        }
    }
}
