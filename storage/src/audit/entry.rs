//! An entry of the log, before it has a place in it: what an operation was, without anything of what it touched.

use std::net::IpAddr;
use std::sync::Arc;

use repr::{CommitTime, Id, MicroDbId, RelationId};

use crate::audit::logged::{LoggedEntry, SealedPayload};
use crate::audit::receipt::Receipt;
use crate::audit::{PendingAudit, Pseudonym};
use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::store::Store;

/// People listed in one entry. Of more, only the number and a commitment to all are kept.
pub const SUBJECTS_LISTED_MAX: usize = 1000;
pub(crate) const PAYLOAD_ID_BYTES: usize = 8;

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
            pub(crate) fn from_tag(tag: u8) -> Option<AuditOperation> {
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
    /// A person's data was handed out in a document.
    Export = 13,
    /// Rows of several kinds were written at once.
    Merge = 14,
    /// Rows were copied into a table.
    Copy = 15,
    /// A login was refused.
    Reject = 16,
    /// What a subscription was given.
    Deliver = 17,
    /// A table was emptied.
    Truncate = 18,
}

/// Who did something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuditActor {
    /// The login's role. Names are ids here: a login can be a person's e-mail address.
    pub login: Id,
    /// The role that it acted as.
    pub role: Id,
    /// For which declared purpose: its id.
    pub purpose: Option<Id>,
    /// From where, if not by a socket of the machine's own.
    pub address: Option<IpAddr>,
}

/// How what is said of people is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditScope {
    /// Those who are listed may not be all whose data it was: whoever has rows in the tables may be among them.
    pub may_be_more: bool,
    /// It was taken back with its transaction.
    pub undone: bool,
}

/// What the engine says of an operation.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// Microseconds since 2000-01-01 UTC, by the caller's clock: when it ended.
    pub time_us: i64,
    /// The commit that it made, or the one whose state it read.
    pub commit: CommitTime,
    /// Who.
    pub actor: Arc<AuditActor>,
    /// What.
    pub operation: AuditOperation,
    /// A hash of the statement without its literals.
    pub statement: [u8; 8],
    /// On which tables and views.
    pub tables: Vec<RelationId>,
    /// By which key a view was read: a keyed hash.
    pub key: Option<[u8; 8]>,
    /// On whose data.
    pub subjects: Vec<MicroDbId>,
    /// How that is to be read.
    pub scope: AuditScope,
    /// How many rows.
    pub rows: u64,
    /// Details that only the person's key opens; they die with it.
    pub payload: Option<AuditPayload>,
}

/// Details of an entry, sealed under a person's key.
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

impl Batch {
    /// Adds an entry, which gets its place in the log when the batch is written.
    ///
    /// Fails when a payload is to be sealed under a key that is gone.
    pub fn append_audit(&mut self, store: &Store, entry: &AuditEntry) -> Result<(), StorageError> {
        let entry = logged(store, entry, None)?;
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        Ok(())
    }

    /// Adds an erasure's receipt, and the entry that vouches for it. The batch is then the erasure's intent: once it is
    /// durable, `destroy_keys` follows, now or at the next start.
    pub fn append_receipt(&mut self, store: &Store, receipt: &Receipt, entry: &AuditEntry) -> Result<(), StorageError> {
        let entry = logged(store, entry, Some(sodium::hash(receipt.text().as_bytes())))?;
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        self.audit.push(receipt.pending(store));
        Ok(())
    }
}

fn logged(store: &Store, entry: &AuditEntry, commitment: Option<[u8; 32]>) -> Result<LoggedEntry, StorageError> {
    let mut subjects: Vec<Pseudonym> = entry.subjects.iter().map(|subject| store.pseudonym(*subject)).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let subjects_total = subjects.len() as u64;
    let (mut commitment, mut scope) = (commitment, entry.scope);
    if subjects.len() > SUBJECTS_LISTED_MAX {
        commitment.get_or_insert_with(|| sodium::hash(&subjects.concat()));
        subjects.clear();
        scope.may_be_more = true;
    }
    Ok(LoggedEntry {
        number: 0,
        time_us: entry.time_us,
        commit: entry.commit,
        actor: entry.actor.clone(),
        operation: entry.operation,
        statement: entry.statement,
        tables: entry.tables.clone(),
        key: entry.key,
        subjects_total,
        subjects,
        scope,
        rows: entry.rows,
        commitment,
        payload: entry.payload.as_ref().map(|payload| payload.seal(store)).transpose()?,
    })
}

impl Store {
    /// How a person appears in the log and on receipts.
    pub fn pseudonym(&self, microdb: MicroDbId) -> Pseudonym {
        self.keyed_hash(b's', &[&microdb.0])
    }

    /// How a key of a view appears in the log.
    pub fn audit_key(&self, view: RelationId, key: &[u8]) -> [u8; 8] {
        let hash: [u8; 16] = self.keyed_hash(b'v', &[&view.0.to_be_bytes(), key]);
        let mut half = [0; 8];
        half.copy_from_slice(&hash[..8]);
        half
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
