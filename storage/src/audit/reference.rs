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
use crate::audit::logged::LogReference;
use crate::audit::published::PublishedHead;
use crate::batch::Batch;
use crate::error::StorageError;
use crate::store::Store;

impl LogReference {
    /// To a head that the other has signed with its key.
    pub fn to(head: &PublishedHead, public_key: &[u8; 32]) -> LogReference {
        LogReference { log: log_name(&head.database, public_key), sequence: head.sequence, hash: head.hash }
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
        let mut entry = logged(store, entry.clone(), None)?;
        entry.reference = Some(Box::new(reference));
        self.audit.push(PendingAudit::Entry(Box::new(entry)));
        Ok(())
    }
}
