//! Backup and restore: copies of a database elsewhere, from which it comes back without those who were forgotten since.
//!
//! ```text
//! target (data)                                              target (keys), apart
//!   files/NAME-HASH          RocksDB's files, as they are      keys/TIME-ID     the keyring, wrapped under the root key
//!   backups/TIME-ID          manifests, signed
//!   log/ID/FIRST-LAST        what was written after backup ID
//!   ledger/LAST-FIRST        erasures by key id
//! ```
//! A file is named by its number and its content, so that backups share what they have in common: an incremental one brings what is
//! not there yet. A manifest names all files of its backup, and appears when they are there. All is signed by the database's own
//! key, and can be verified with the public key alone. Nothing is opened or sealed on the way: rows travel as they stand.
//!
//! An erasure destroys a key; a backup from before still has the rows, and no key that opens them once older key backups are
//! gone. What else an erasure changes, the ledger tells: a restore carries it out again, for each key that was destroyed since.

mod bringing;
mod direct_file;
mod fault;
mod forget_again;
mod held;
pub(crate) mod keys;
pub(crate) mod ledger;
mod log;
mod manifest;
mod pin;
mod restore;
mod s3;
mod ship;
mod signed;
mod survey;
mod take;
mod target;
mod tee;
mod verify;

pub use fault::BackupFault;
pub use forget_again::Forgotten;
pub use held::HeldByBackups;
pub use ledger::BlankedRow;
pub use manifest::BackedState;
pub use restore::{RestoreRequest, Staged, Until, restore};
pub use ship::{Shipped, Shipper};
pub use take::{BackupReport, BackupRequest, Form};
pub use target::{Folder, Target, TargetError, open_target};
pub use verify::{Reached, VerifiedBackup, VerifiedBackups, verify_backups};

pub(crate) use take::Backups;
pub(crate) use tee::WrittenAt;
