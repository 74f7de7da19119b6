//! The audit log: who did what to whose data, in a chain that shows every changed, removed or swapped record.
//!
//! An append-only log after CapsuleDB's DataCapsule. Its first hash is made of the database id and the public key and is
//! the log's name; each record's hash covers the one before; the head is signed once a group commit, together with the data. Records
//! hold pseudonyms, counts and sealed payloads, never personal data, so that erasure and retention never break the chain.
//!
//! ```text
//! record 1 ─▶ 2 ─▶ … ─▶ 256 (signed checkpoint) ─▶ … ─▶ head (signed with every group)
//! ```

pub mod capsule;
pub(crate) mod log;
mod reader;
pub mod receipt;
pub mod record;
pub mod verify;

pub use reader::StoredReceipt;
pub(crate) use reader::parse as parse_receipt;
pub use receipt::{Receipt, ReceiptRequest, ReceiptTable};
pub use record::{AuditEntry, AuditOperation, AuditPayload, AuditRecord};
pub use verify::{CapsuleSummary, ReceiptSummary, VerifyError, verify_capsule, verify_receipt};

/// A person in the log: a keyed hash of the µDB id, the same in all records of one database.
pub type Pseudonym = [u8; 16];

/// A record or receipt in a batch, before it has a place in the log.
pub(crate) enum PendingAudit {
    /// A record.
    Record {
        /// Encoded.
        body: Vec<u8>,
    },
    /// A receipt: its id and its seal.
    Receipt {
        /// When it was issued, in microseconds since 2000-01-01 UTC.
        time_us: i64,
        /// Public.
        id: [u8; 16],
        /// The sealed µDB id and text.
        sealed: Vec<u8>,
    },
}

impl PendingAudit {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            PendingAudit::Record { body } => body.len(),
            PendingAudit::Receipt { sealed, .. } => sealed.len() + 40,
        }
    }
}
