//! What is signed: bytes with their kind before them and the database's signature behind them.
//!
//! ```text
//! kind(8) ‖ content ‖ signature(64) over "dogwood backup 1\0" ‖ BLAKE2b-256 of kind and content
//! ```
//! Whoever verifies brings the public key; none that comes along counts.

use crate::backup::fault::BackupFault;
use crate::crypto::sodium::{self, SigningKey};

/// Bytes before the content.
pub(super) const KIND_BYTES: usize = 8;
const SIGNATURE_BYTES: usize = 64;

/// What an object is.
pub(super) type Kind = &'static [u8; KIND_BYTES];

fn message(signed: &[u8]) -> Vec<u8> {
    [b"dogwood backup 1\0".as_slice(), &sodium::hash::<32>(signed)].concat()
}

/// A content with its kind and signature.
pub(super) fn sign(kind: Kind, content: &[u8], key: &SigningKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(KIND_BYTES + content.len() + SIGNATURE_BYTES);
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(content);
    let signature = key.sign(&message(&bytes));
    bytes.extend_from_slice(&signature);
    bytes
}

/// The content of an object that may not be believed yet.
pub(super) fn content<'a>(kind: Kind, bytes: &'a [u8], object: &str) -> Result<&'a [u8], BackupFault> {
    let unsigned = bytes.len().checked_sub(SIGNATURE_BYTES).and_then(|end| bytes.get(..end));
    unsigned.and_then(|unsigned| unsigned.strip_prefix(kind)).ok_or_else(|| BackupFault::malformed(object))
}

/// The content of an object that was signed with a public key's secret.
pub(super) fn verified<'a>(
    kind: Kind,
    bytes: &'a [u8],
    public: &[u8; 32],
    object: &str,
) -> Result<&'a [u8], BackupFault> {
    let content = content(kind, bytes, object)?;
    let Some((signed, signature)) = bytes.split_last_chunk::<SIGNATURE_BYTES>() else {
        return Err(BackupFault::malformed(object));
    };
    match sodium::verify(public, &message(signed), signature) {
        true => Ok(content),
        false => Err(BackupFault::Signature { object: object.to_owned() }),
    }
}

/// Numbers and parts, one after the other.
#[derive(Default)]
pub(super) struct SignedContent(pub(super) Vec<u8>);

impl SignedContent {
    pub(super) fn number(&mut self, number: u64) -> &mut SignedContent {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(super) fn fixed(&mut self, bytes: &[u8]) -> &mut SignedContent {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn part(&mut self, bytes: &[u8]) -> &mut SignedContent {
        self.number(bytes.len() as u64).fixed(bytes)
    }
}

/// The same, read.
pub(super) struct Reading<'a>(pub(super) &'a [u8]);

impl<'a> Reading<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        self.fixed().map(u64::from_be_bytes)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn part(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}
