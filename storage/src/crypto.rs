//! Cryptography: safe wrappers at the libsodium boundary, seals, and where seals belong.
//!
//! Used by `keyring`, `batch`, `snapshot` and `audit`. Nothing here touches RocksDB or decides who may read.

pub(crate) mod hex;
pub(crate) mod seal;
#[allow(unsafe_code)] // The one boundary to C: every function below it checks lengths before it calls.
pub(crate) mod sodium;

/// BLAKE2b of public content.
pub fn content_hash(bytes: &[u8]) -> [u8; 32] {
    sodium::hash(bytes)
}

/// Fills with random bytes from the system's generator.
pub fn random_bytes(bytes: &mut [u8]) {
    sodium::random(bytes);
}
