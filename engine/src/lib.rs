//! The engine: sessions, transactions, the commit pipeline, ownership, dataflows, subject requests.
//!
//! It never sees a socket (that is `wire`) and never SQL text beyond handing it to the planner. Everything is
//! synchronous: a connection's thread evaluates its own statements; one commit thread orders all writes.

mod analyzer;
pub mod backup;
pub mod capsule;
pub mod check;
mod engine;
mod erasure_passes;
mod expiry;
mod graph;
mod housekeeping;
mod key_renewal;
mod key_rotation;
pub mod lint;
pub mod masking;
mod password;
pub mod protocol;
mod publishing;
mod reader_release;
mod referring;
mod response;
pub mod session;
mod shipping;
mod system;
mod templates;

pub use engine::Engine;
pub use key_rotation::rotate;
pub use password::PasswordVerifier;
pub use referring::Others;
pub use state::{SqlError, answer, config};
pub use storage::audit::{
    CapsuleSummary, MERGED_MAGIC, MergedError, MergedSummary, PROOF_MAGIC, ProofSummary, PublishedHead, ReceiptSummary,
    VerifyError, merge_capsules, read_heads_of, verify_capsule, verify_merged, verify_proof, verify_receipt,
};
pub use storage::backup::{BackupReport, Reached, Until, VerifiedBackups};
pub use storage::{Mode, RootKeySource, Rotation, hexadecimal};
