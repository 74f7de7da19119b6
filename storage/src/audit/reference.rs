//! A reference: where another database's log ended, as an entry of this one says it. From then on each vouches for the other.
//!
//! ```text
//! own log      … ─▶ 40 ─▶ 41 { name, 17, hash } ─▶ 42 ─▶ …
//!                          │
//! another's    … ─▶ 16 ─▶ 17 ─▶ 18 ─▶ …
//! ```
//! What the reference leads to was written before it, whatever the two clocks say. Another cannot take back what is referred to.

use crate::audit::PendingAudit;
use crate::audit::entry::{AuditEntry, logged};
use crate::audit::log::log_name;
use crate::audit::logged::BodyReader;
use crate::audit::published::PublishedHead;
use crate::batch::Batch;
use crate::error::StorageError;
use crate::keyspace::varint;
use crate::store::Store;

/// See the module.
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
    /// To a head that the other has signed with its key.
    pub fn to(head: &PublishedHead, public_key: &[u8; 32]) -> LogReference {
        LogReference { log: log_name(&head.database, public_key), sequence: head.sequence, hash: head.hash }
    }

    pub(crate) fn encode(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.log);
        varint::write(self.sequence, body);
        body.extend_from_slice(&self.hash);
    }

    pub(crate) fn decode(reader: &mut BodyReader<'_>) -> Option<LogReference> {
        Some(LogReference { log: reader.array()?, sequence: reader.number()?, hash: reader.array()? })
    }
}

impl Batch {
    /// Adds an entry that refers to another log.
    pub fn append_reference(
        &mut self,
        store: &Store,
        reference: LogReference,
        entry: &AuditEntry,
    ) -> Result<(), StorageError> {
        let mut entry = logged(store, entry, None)?;
        entry.reference = Some(reference);
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        Ok(())
    }
}
