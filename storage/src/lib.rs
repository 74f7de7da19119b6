//! Storage: sealed rows of data subjects in RocksDB, their keys in a keyring beside it, the audit log.
//!
//! It stands at the end of a write's trip and at the start of a read's. It knows subjects,
//! relations, row keys and commit times; it must never know SQL or expressions, and no plaintext of a
//! row, no personal key and no data key ever reaches a file.
//!
//! ```text
//!  Batch (sealed on any thread) ──▶ Store::write ──▶ Store::flush        Snapshot ──▶ rows, owners, index
//!     │                                │ links the audit log                │ opens seals
//!     └────── keyring: µDB id ─▶ slot ─▶ data key (wrapped root ▶ KEK ▶ key) ◀──┘
//! ```

mod arrivals;
pub mod audit;
mod background_merge;
pub mod backup;
pub mod batch;
pub mod check;
pub mod config;
mod crypto;
mod erasure;
pub mod error;
mod free_space;
mod hash_memory;
mod index;
mod index_build;
mod ingest;
mod key_filter;
mod keyring;
mod keyspace;
mod location_cache;
mod log_reader;
mod log_room;
mod loss_report;
pub mod microdb;
mod no_room;
mod owners;
pub mod people_read;
mod read_cache;
mod rocks;
mod run;
mod scratch;
mod sealing;
mod segments;
mod side_files;
pub mod snapshot;
mod spill;
pub mod store;
mod subjects;
#[cfg(test)]
#[path = "../tests/support/temporary_folder.rs"]
mod temporary_folder;
mod witness;
mod write_form;

pub use arrivals::{ArrivedPart, RowEnd, RowEnds};
pub use batch::Batch;
pub use config::{Cipher, Mode, RootKeySource, StoreOptions};
pub use crypto::hex::encode as hexadecimal;
pub use crypto::{content_hash, random_bytes};
pub use erasure::{ErasurePace, ErasureRecord, Moments, Owing, PassStep, ViewsMerged, Waits};
pub use error::StorageError;
pub use index::IndexProbe;
pub use index_build::LocatedRow;
pub use keyring::rotation::Rotation;
pub use keyspace::ValueHash;
pub use loss_report::{Loss, LostRows};
pub use microdb::{OwnerSet, SEGMENTS, segment_of};
pub use owners::OwnerProbe;
pub use segments::ToldPart;
pub use segments::arrived::ArrivedCopies;
pub use snapshot::{BulkScan, MicroDbProbe, OpenedRows, SampledRows, Snapshot};
pub use spill::{SpillBatch, SpilledRow, SpilledRows};
pub use store::{COMMIT_TIME, Reclaim, Repair, RowsToReseal, Store, StoreStatistics};
