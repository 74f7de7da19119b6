//! Seals: a plaintext, the key of its owner, and the place where alone it opens.
//!
//! ```text
//! header(1) ‖ schema version (varint) ‖ nonce ‖ ciphertext ‖ tag
//!   bit 7  canonical copy of a personal row (scans and counts read only these)
//!   bit 6  personal row
//!   low 4  algorithm: 1 AEGIS-256, 2 AES-256-GCM
//! ```
//! Header and version are authenticated with the place, so neither a mark nor a version can be changed
//! and no ciphertext can be moved to another database, relation, person or row key.

use repr::{MicroDbId, RelationId};

use crate::config::Cipher;
use crate::crypto::sodium::{self, AEGIS_NONCE_BYTES, AEGIS_TAG_BYTES, GCM_NONCE_BYTES, GCM_TAG_BYTES, KEY_BYTES};
use crate::keyspace::varint;

const ALGORITHM_AEGIS: u8 = 1;
const ALGORITHM_GCM: u8 = 2;
const ALGORITHM_MASK: u8 = 0x0f;
const CANONICAL: u8 = 0x80;
const PERSONAL: u8 = 0x40;

/// Whose row a seal holds, and which copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealKind {
    /// Sealed under the database's own key.
    Impersonal,
    /// Sealed under a data subject's key; one copy for each owner, one of them canonical.
    Personal {
        /// Whether scans read this copy.
        canonical: bool,
    },
}

/// What precedes a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Whose, and which copy.
    pub(crate) kind: SealKind,
    /// The cipher.
    pub(crate) cipher: Cipher,
    /// The version of the relation's columns that the row was written under.
    pub(crate) schema_version: u32,
}

impl Header {
    fn byte(self) -> u8 {
        let algorithm = match self.cipher {
            Cipher::Aegis256 => ALGORITHM_AEGIS,
            Cipher::Aes256Gcm => ALGORITHM_GCM,
        };
        algorithm
            | match self.kind {
                SealKind::Impersonal => 0,
                SealKind::Personal { canonical: false } => PERSONAL,
                SealKind::Personal { canonical: true } => PERSONAL | CANONICAL,
            }
    }

    /// Reads a header; also what follows it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let (&first, rest) = bytes.split_first()?;
        let cipher = match first & ALGORITHM_MASK {
            ALGORITHM_AEGIS => Cipher::Aegis256,
            ALGORITHM_GCM => Cipher::Aes256Gcm,
            _ => return None,
        };
        let kind = match first & !ALGORITHM_MASK {
            0 => SealKind::Impersonal,
            PERSONAL => SealKind::Personal { canonical: false },
            mark if mark == PERSONAL | CANONICAL => SealKind::Personal { canonical: true },
            _ => return None,
        };
        let (version, rest) = varint::read(rest)?;
        let schema_version = u32::try_from(version).ok()?;
        Some((Header { kind, cipher, schema_version }, rest))
    }
}

/// Where a seal belongs. Two different places never give the same bytes.
#[derive(Clone, Copy)]
pub(crate) enum SealPlace<'a> {
    /// A copy of a personal row.
    Personal(RelationId, MicroDbId, &'a [u8]),
    /// An impersonal row.
    Impersonal(RelationId, &'a [u8]),
    /// A metadata value.
    Meta(&'a [u8]),
    /// The payload of the audit record with this sequence nonce.
    AuditPayload(MicroDbId, &'a [u8]),
    /// The sealed part of the receipt with this id.
    Receipt(&'a [u8]),
}

/// Bytes of a place before its key.
const FIXED_DATA_BYTES: usize = 50;
/// Keys of so many bytes, such as keyed hashes, need no allocation.
const SHORT_KEY_BYTES: usize = 46;

impl SealPlace<'_> {
    /// `kind ‖ database ‖ header ‖ version ‖ relation ‖ µDB ‖ key length ‖ key`, all but the last of fixed width.
    fn with_associated_data<T>(self, database: &[u8; 16], header: Header, with: impl FnOnce(&[u8]) -> T) -> T {
        let (kind, relation, microdb, key) = match self {
            SealPlace::Personal(relation, microdb, key) => (1, relation.0, microdb.0, key),
            SealPlace::Impersonal(relation, key) => (2, relation.0, [0; 16], key),
            SealPlace::Meta(key) => (3, 0, [0; 16], key),
            SealPlace::AuditPayload(microdb, key) => (4, 0, microdb.0, key),
            SealPlace::Receipt(key) => (5, 0, [0; 16], key),
        };
        let mut data = [0; FIXED_DATA_BYTES + SHORT_KEY_BYTES];
        data[0] = kind;
        data[1..17].copy_from_slice(database);
        data[17] = header.byte();
        data[18..22].copy_from_slice(&header.schema_version.to_be_bytes());
        data[22..26].copy_from_slice(&relation.to_be_bytes());
        data[26..42].copy_from_slice(&microdb);
        data[42..FIXED_DATA_BYTES].copy_from_slice(&(key.len() as u64).to_be_bytes());
        match data.get_mut(FIXED_DATA_BYTES..FIXED_DATA_BYTES + key.len()) {
            Some(place) => {
                place.copy_from_slice(key);
                with(&data[..FIXED_DATA_BYTES + key.len()])
            }
            None => with(&[&data[..FIXED_DATA_BYTES], key].concat()),
        }
    }
}

/// Appends the seal of `plain` for one place.
pub(crate) fn seal(
    key: &[u8; KEY_BYTES],
    database: &[u8; 16],
    place: SealPlace<'_>,
    header: Header,
    plain: &[u8],
    out: &mut Vec<u8>,
) {
    seal_with(key, database, place, header, (plain, None), out);
}

/// The same under a key that seals nothing but what is numbered, each number once: a nonce need not be random there, and costs nothing.
pub(crate) fn seal_numbered(
    key: &[u8; KEY_BYTES],
    database: &[u8; 16],
    place: SealPlace<'_>,
    header: Header,
    (plain, number): (&[u8], u64),
    out: &mut Vec<u8>,
) {
    seal_with(key, database, place, header, (plain, Some(number)), out);
}

/// What is used once under a key: a number's own, or a random one.
fn nonce<const N: usize>(number: Option<u64>) -> [u8; N] {
    let Some(number) = number else { return sodium::nonce() };
    let mut nonce = [0; N];
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    nonce
}

fn seal_with(
    key: &[u8; KEY_BYTES],
    database: &[u8; 16],
    place: SealPlace<'_>,
    header: Header,
    (plain, number): (&[u8], Option<u64>),
    out: &mut Vec<u8>,
) {
    out.push(header.byte());
    varint::write(u64::from(header.schema_version), out);
    place.with_associated_data(database, header, |data| match header.cipher {
        Cipher::Aegis256 => {
            let nonce = nonce::<AEGIS_NONCE_BYTES>(number);
            out.extend_from_slice(&nonce);
            sodium::aegis_seal(key, &nonce, data, plain, out);
        }
        Cipher::Aes256Gcm => {
            let nonce = nonce::<GCM_NONCE_BYTES>(number);
            out.extend_from_slice(&nonce);
            sodium::gcm_seal(key, &nonce, data, plain, out);
        }
    });
}

/// The plaintext of a seal found at a place, with its header; nothing when it does not belong there.
pub(crate) fn open(
    key: &[u8; KEY_BYTES],
    database: &[u8; 16],
    place: SealPlace<'_>,
    sealed: &[u8],
) -> Option<(Header, Vec<u8>)> {
    let (header, rest) = Header::parse(sealed)?;
    let around = match header.cipher {
        Cipher::Aegis256 => AEGIS_NONCE_BYTES + AEGIS_TAG_BYTES,
        Cipher::Aes256Gcm => GCM_NONCE_BYTES + GCM_TAG_BYTES,
    };
    // Exactly, as it is kept so.
    let mut plain = Vec::with_capacity(rest.len().saturating_sub(around));
    open_into(key, database, place, sealed, &mut plain)?;
    Some((header, plain))
}

/// The same, appended to others; nothing is, when it does not belong there.
pub(crate) fn open_into(
    key: &[u8; KEY_BYTES],
    database: &[u8; 16],
    place: SealPlace<'_>,
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> Option<Header> {
    let (header, rest) = Header::parse(sealed)?;
    let opened = place.with_associated_data(database, header, |data| {
        Some(match header.cipher {
            Cipher::Aegis256 => {
                let (nonce, ciphertext) = rest.split_first_chunk::<AEGIS_NONCE_BYTES>()?;
                sodium::aegis_open(key, nonce, data, ciphertext, out)
            }
            Cipher::Aes256Gcm => {
                let (nonce, ciphertext) = rest.split_first_chunk::<GCM_NONCE_BYTES>()?;
                sodium::gcm_open(key, nonce, data, ciphertext, out)
            }
        })
    });
    opened?.then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [3; 32];
    const DATABASE: [u8; 16] = [4; 16];

    fn header(cipher: Cipher) -> Header {
        Header { kind: SealKind::Personal { canonical: true }, cipher, schema_version: 300 }
    }

    #[test]
    fn a_seal_opens_only_at_its_place() {
        sodium::initialize();
        let (one, two) = (MicroDbId([1; 16]), MicroDbId([2; 16]));
        let places = [
            SealPlace::Personal(RelationId(7), one, b"key"),
            SealPlace::Personal(RelationId(8), one, b"key"),
            SealPlace::Personal(RelationId(7), two, b"key"),
            SealPlace::Personal(RelationId(7), one, b"kex"),
            SealPlace::Impersonal(RelationId(7), b"key"),
            SealPlace::Meta(b"key"),
            SealPlace::AuditPayload(one, b"key"),
            SealPlace::Receipt(b"key"),
        ];
        for cipher in [Cipher::Aegis256, Cipher::Aes256Gcm] {
            for (i, place) in places.into_iter().enumerate() {
                let mut sealed = Vec::new();
                seal(&KEY, &DATABASE, place, header(cipher), b"a row", &mut sealed);
                for (j, other) in places.into_iter().enumerate() {
                    let opened = open(&KEY, &DATABASE, other, &sealed);
                    assert_eq!(opened.is_some(), i == j, "place {i} at {j}");
                }
                assert!(open(&[9; 32], &DATABASE, place, &sealed).is_none());
                assert!(open(&KEY, &[9; 16], place, &sealed).is_none());
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        sodium::initialize();
        let place = SealPlace::Personal(RelationId(7), MicroDbId([1; 16]), b"0123456789abcdef");
        for cipher in [Cipher::Aegis256, Cipher::Aes256Gcm] {
            let mut sealed = Vec::new();
            seal(&KEY, &DATABASE, place, header(cipher), b"a row", &mut sealed);
            for position in 0..sealed.len() {
                for bit in 0..8 {
                    let mut damaged = sealed.clone();
                    damaged[position] ^= 1 << bit;
                    assert!(open(&KEY, &DATABASE, place, &damaged).is_none(), "byte {position} bit {bit}");
                }
            }
            for length in 0..sealed.len() {
                assert!(open(&KEY, &DATABASE, place, &sealed[..length]).is_none());
            }
        }
    }
}
