//! The audit log: who did what to whose data, in a chain that shows every changed, removed or swapped record.
//!
//! An append-only log after CapsuleDB's DataCapsule. Its first hash is made of the database id and the public key and is
//! the log's name; each record's hash covers the one before, and those 2, 4, 8 … before where its number is a multiple of them.
//! The head is signed once a group commit, together with the data. Records hold pseudonyms, counts and sealed payloads,
//! never personal data, so that erasure and retention never break the chain.
//!
//! ```text
//! entries of a group ─▶ one record
//! record 1 ─▶ 2 ─▶ … ─▶ 256 (signed checkpoint) ─▶ … ─▶ head (signed with every group)
//! ```

use std::sync::Arc;

pub mod capsule;
pub mod entry;
pub(crate) mod group;
pub mod head_target;
pub(crate) mod log;
pub mod logged;
mod mentioned;
pub mod merged;
pub mod operation;
mod postings;
pub mod proof;
pub mod published;
mod reader;
pub mod receipt;
mod reference;
mod retention;
pub mod verify;
mod whole;

pub use entry::{AuditEntry, AuditPayload, SUBJECTS_LISTED_MAX};
pub use logged::{LogReference, LoggedEntry};
pub use mentioned::Mentioned;
pub use merged::{MERGED_MAGIC, MergedError, MergedSummary, merge_capsules, verify_merged};
pub use operation::{AuditActor, AuditOperation, AuditScope};
pub use proof::{PROOF_MAGIC, ProofSummary, verify_proof};
pub use published::{HeadLine, PublishedHead, read_heads, read_heads_of};
pub(crate) use reader::parse as parse_receipt;
pub use reader::{EntryRange, LoggedEntries, StoredReceipt};
pub use receipt::{Receipt, ReceiptRequest, ReceiptTable};
pub use verify::{CapsuleSummary, ReceiptSummary, VerifyError, verify_capsule, verify_receipt};

/// A person in the log: a keyed hash of the µDB id, the same in all records of one database.
pub type Pseudonym = [u8; 16];

/// An entry or receipt in a batch, before it has a place in the log.
pub(crate) enum PendingAudit {
    /// An entry.
    Entry(Box<LoggedEntry>),
    /// Entries of statements that have only read.
    Entries(Arc<Vec<LoggedEntry>>),
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
    /// The entries.
    pub(crate) fn entries(&self) -> &[LoggedEntry] {
        match self {
            PendingAudit::Entry(entry) => std::slice::from_ref(entry),
            PendingAudit::Entries(entries) => entries,
            PendingAudit::Receipt { .. } => &[],
        }
    }

    /// About, and not less: an entry may share nothing with others.
    pub(crate) fn bytes(&self) -> usize {
        let entry = |entry: &LoggedEntry| {
            let payload = entry.payload.as_ref().map_or(0, |payload| payload.sealed.len() + 32);
            180 + 5 * entry.tables.len() + 18 * entry.subjects.len() + payload
        };
        match self {
            PendingAudit::Entry(_) | PendingAudit::Entries(_) => self.entries().iter().map(entry).sum(),
            PendingAudit::Receipt { sealed, .. } => sealed.len() + 40,
        }
    }
}
