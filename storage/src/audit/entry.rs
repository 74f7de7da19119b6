//! An entry of the log, before it has a place in it: what an operation was, without anything of what it touched.

use std::sync::Arc;

use repr::{CommitTime, MicroDbId, RelationId};

use crate::audit::logged::{LoggedEntry, PAYLOAD_ID_BYTES, SealedPayload};
use crate::audit::operation::{AuditActor, AuditOperation, AuditScope};
use crate::audit::receipt::Receipt;
use crate::audit::{PendingAudit, Pseudonym};
use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::store::Store;

/// People listed in one entry. Of more, only the number and a commitment to all are kept.
pub const SUBJECTS_LISTED_MAX: usize = 1000;

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
    pub tables: Arc<[RelationId]>,
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
        let entry = logged(store, entry.clone(), None)?;
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        Ok(())
    }

    /// Adds entries that are as the log has them already.
    pub fn append_logged(&mut self, entries: &Arc<Vec<LoggedEntry>>) {
        if !entries.is_empty() {
            self.audit.push(PendingAudit::Entries(entries.clone()));
        }
    }

    /// Adds an erasure's receipt, and the entry that vouches for it. The batch is then the erasure's intent: once it is
    /// durable, `destroy_keys` follows, now or at the next start.
    pub fn append_receipt(&mut self, store: &Store, receipt: &Receipt, entry: &AuditEntry) -> Result<(), StorageError> {
        let entry = logged(store, entry.clone(), Some(sodium::hash(receipt.text().as_bytes())))?;
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        self.audit.push(receipt.pending(store));
        Ok(())
    }

    /// Entries of the commit that they are in, which had no time yet, are of this one.
    pub fn date_audit(&mut self, commit: CommitTime) {
        for pending in &mut self.audit {
            if let PendingAudit::Entry(entry) = pending {
                entry.commit = entry.commit.min(commit);
            }
        }
    }
}

pub(crate) fn logged(
    store: &Store,
    entry: AuditEntry,
    commitment: Option<[u8; 32]>,
) -> Result<LoggedEntry, StorageError> {
    // In the place of the ids.
    let mut subjects: Vec<Pseudonym> = entry.subjects.into_iter().map(|subject| store.pseudonym(subject)).collect();
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
        actor: entry.actor,
        operation: entry.operation,
        statement: entry.statement,
        tables: entry.tables,
        key: entry.key,
        subjects_total,
        subjects,
        scope,
        rows: entry.rows,
        commitment,
        reference: None,
        payload: entry.payload.map(|payload| payload.seal(store).map(Box::new)).transpose()?,
    })
}

impl Store {
    /// An entry as the log has it, but for its number. Whoever ran the statement makes it, so that the commit stage need not.
    ///
    /// Fails as `append_audit`.
    pub fn logged_entry(&self, entry: AuditEntry) -> Result<LoggedEntry, StorageError> {
        logged(self, entry, None)
    }

    /// How a person appears in the log and on receipts.
    pub fn pseudonym(&self, microdb: MicroDbId) -> Pseudonym {
        let mut bytes = [b's'; 17];
        bytes[1..].copy_from_slice(&microdb.0);
        self.remembered_pseudonym(&bytes)
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
