//! A key backup: the keyring as it is, its keys wrapped under the key-encryption key, and that under the root key.
//!
//! ```text
//! "DOGKEYS1" ‖ database(16) ‖ time(8) ‖ receipts(8) ‖ slots(8) ‖ epoch(8) ‖ header(4 KiB) ‖ page of slots(4 KiB)… ‖ signature(64)
//! ```
//! One copy of each slot. A key that was destroyed is not in the next key backup; the ones before hold it, and so have a short life.
//! The newest opens every backup, as slots are never used twice; but for people whose key was replaced after it.

use crate::backup::fault::BackupFault;
use crate::backup::signed::{self, Kind, Reading, SignedContent};
use crate::crypto::hex;
use crate::crypto::sodium::SigningKey;
use crate::keyring::header::PAGE_BYTES;

/// Where key backups stand.
pub(super) const KEYS: &str = "keys/";
const KIND: Kind = b"DOGKEYS1";

/// What a key backup says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyState {
    pub(crate) database: [u8; 16],
    /// When it was taken, in microseconds since 2000-01-01 UTC.
    pub(crate) time_us: i64,
    /// So many erasures there were.
    pub(crate) receipts: u64,
    pub(crate) slots: u64,
    /// Of the key-encryption key.
    pub(crate) epoch: u64,
}

/// See the module. Its signature is not looked at yet: whose key it must be, it says itself once the root key opens it.
pub(super) struct KeyBackup {
    pub(super) state: KeyState,
    bytes: Vec<u8>,
}

/// Its name at the target: they sort by time.
pub(super) fn object(state: &KeyState, id: &[u8; 8]) -> String {
    format!("{KEYS}{:020}-{}", state.time_us.max(0), hex::encode(id))
}

/// When one was taken, by its name.
pub(super) fn time_of(object: &str) -> Option<i64> {
    object.strip_prefix(KEYS)?.split('-').next()?.parse().ok()
}

/// A signed key backup of a keyring's pages.
pub(super) fn sign(state: &KeyState, pages: &[u8], key: &SigningKey) -> Vec<u8> {
    let mut content = SignedContent::default();
    content.fixed(&state.database).number(state.time_us as u64).number(state.receipts);
    content.number(state.slots).number(state.epoch).fixed(pages);
    signed::sign(KIND, &content.0, key)
}

impl KeyBackup {
    /// Reads one.
    pub(super) fn parse(bytes: Vec<u8>, object: &str) -> Result<KeyBackup, BackupFault> {
        let mut reading = Reading(signed::content(KIND, &bytes, object)?);
        let mut read = || {
            let database = reading.fixed()?;
            let mut number = || reading.number();
            let (time, receipts, slots, epoch) = (number()?, number()?, number()?, number()?);
            let is_whole = !reading.0.is_empty() && (reading.0.len() as u64).is_multiple_of(PAGE_BYTES);
            is_whole.then_some(KeyState { database, time_us: time as i64, receipts, slots, epoch })
        };
        let state = read().ok_or_else(|| BackupFault::malformed(object))?;
        Ok(KeyBackup { state, bytes })
    }

    /// Whether it was signed with a public key's secret.
    pub(super) fn verify(&self, public: &[u8; 32], object: &str) -> Result<(), BackupFault> {
        signed::verified(KIND, &self.bytes, public, object).map(|_| ())
    }

    /// A keyring's file of it: every page twice.
    pub(super) fn keyring(&self) -> Vec<u8> {
        const STATE_BYTES: usize = signed::KIND_BYTES + 16 + 4 * 8;
        let pages = &self.bytes[STATE_BYTES..self.bytes.len() - 64];
        pages.chunks(PAGE_BYTES as usize).flat_map(|page| [page, page]).flatten().copied().collect()
    }
}
