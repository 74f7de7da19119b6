//! Cryptography: safe wrappers at the libsodium boundary, seals, and where seals belong.
//!
//! Used by `keyring`, `batch`, `snapshot` and `audit`. Nothing here touches RocksDB or decides who may read.

pub(crate) mod hex;
pub(crate) mod seal;
#[allow(unsafe_code)] // The one boundary to C: every function below it checks lengths before it calls.
pub(crate) mod sodium;
