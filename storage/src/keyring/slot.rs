//! A slot of the keyring: one wrapped data key, or what is left of it.
//!
//! ```text
//! live       salt(8) ‖ wrapped key(32) ‖ tag(16) ‖ key check(4) ‖ checksum(4)
//! destroyed  random(60)                                          ‖ checksum'(4)
//! ```
//! XChaCha20-Poly1305 with the nonce slot(8) ‖ salt(8) ‖ zero(8), bound to database and slot. The two checksums differ in
//! their domain, so that destroyed and damaged are told apart: the first is an answer, the second an alarm.

use crate::crypto::sodium::{self, KEY_BYTES, WRAP_NONCE_BYTES, WRAP_TAG_BYTES};

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: usize = 64;

const SALT_BYTES: usize = 8;
const WRAPPED_END: usize = SALT_BYTES + KEY_BYTES + WRAP_TAG_BYTES;
const CHECK_END: usize = WRAPPED_END + 4;

/// What a copy of a slot says.
pub(crate) enum Content {
    /// A data key. The holder wipes it.
    Live([u8; KEY_BYTES]),
    /// The key was destroyed.
    Destroyed,
    /// Neither: torn or damaged.
    Damaged,
}

/// The slot of a key.
pub(crate) fn live(
    wrapping: &[u8; KEY_BYTES],
    database: &[u8; 16],
    slot: u64,
    key: &[u8; KEY_BYTES],
) -> [u8; SLOT_BYTES] {
    wrapped(wrapping, database, slot, (key, key_check(key)))
}

/// The slot of a key under another wrapping key; `copy` is one that this key was read from, and so has its check.
pub(crate) fn rewrapped(
    wrapping: &[u8; KEY_BYTES],
    database: &[u8; 16],
    slot: u64,
    (key, copy): (&[u8; KEY_BYTES], &[u8; SLOT_BYTES]),
) -> [u8; SLOT_BYTES] {
    let check = copy[WRAPPED_END..CHECK_END].try_into().expect("a check is of four bytes");
    wrapped(wrapping, database, slot, (key, check))
}

fn wrapped(
    wrapping: &[u8; KEY_BYTES],
    database: &[u8; 16],
    slot: u64,
    (key, check): (&[u8; KEY_BYTES], [u8; 4]),
) -> [u8; SLOT_BYTES] {
    let salt = sodium::nonce::<SALT_BYTES>();
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    bytes.extend_from_slice(&salt);
    sodium::wrap(wrapping, &nonce(slot, &salt), &place(database, slot), key, &mut bytes);
    bytes.extend_from_slice(&check);
    bytes.extend_from_slice(&checksum(b"live", &bytes));
    bytes.try_into().expect("the parts add up to a slot")
}

/// A slot whose key is gone: fresh random bytes, so that nothing of the old ones is written again.
pub(crate) fn destroyed() -> [u8; SLOT_BYTES] {
    let mut bytes: [u8; SLOT_BYTES] = sodium::random_array();
    let sum = checksum(b"gone", &bytes[..CHECK_END]);
    bytes[CHECK_END..].copy_from_slice(&sum);
    bytes
}

/// Reads a copy.
pub(crate) fn parse(wrapping: &[u8; KEY_BYTES], database: &[u8; 16], slot: u64, bytes: &[u8; SLOT_BYTES]) -> Content {
    if bytes[CHECK_END..] != checksum(b"live", &bytes[..CHECK_END]) {
        let is_gone = bytes[CHECK_END..] == checksum(b"gone", &bytes[..CHECK_END]);
        return if is_gone { Content::Destroyed } else { Content::Damaged };
    }
    let salt: &[u8; SALT_BYTES] = bytes.first_chunk().expect("a slot is longer");
    let wrapped = &bytes[SALT_BYTES..WRAPPED_END];
    let Some(mut opened) = sodium::unwrap(wrapping, &nonce(slot, salt), &place(database, slot), wrapped) else {
        return Content::Damaged;
    };
    let mut key = [0; KEY_BYTES];
    key.copy_from_slice(&opened);
    sodium::wipe(&mut opened);
    if bytes[WRAPPED_END..CHECK_END] == key_check(&key) { Content::Live(key) } else { Content::Damaged }
}

fn nonce(slot: u64, salt: &[u8; SALT_BYTES]) -> [u8; WRAP_NONCE_BYTES] {
    let mut nonce = [0; WRAP_NONCE_BYTES];
    nonce[..8].copy_from_slice(&slot.to_be_bytes());
    nonce[8..16].copy_from_slice(salt);
    nonce
}

fn place(database: &[u8; 16], slot: u64) -> [u8; 24] {
    let mut place = [0; 24];
    place[..16].copy_from_slice(database);
    place[16..].copy_from_slice(&slot.to_be_bytes());
    place
}

// The ciphers do not commit to their key: this says that the unwrapped key is the one that was wrapped.
fn key_check(key: &[u8; KEY_BYTES]) -> [u8; 4] {
    let digest: [u8; 16] = sodium::keyed_hash(key, b"dogwood key check 1");
    [digest[0], digest[1], digest[2], digest[3]]
}

fn checksum(domain: &[u8; 4], bytes: &[u8]) -> [u8; 4] {
    let mut input = [0; 4 + SLOT_BYTES];
    input[..4].copy_from_slice(domain);
    input[4..4 + bytes.len()].copy_from_slice(bytes);
    let digest: [u8; 16] = sodium::hash(&input[..4 + bytes.len()]);
    [digest[0], digest[1], digest[2], digest[3]]
}
