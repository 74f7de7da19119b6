//! The keyring's header: the key-encryption key under the root key, the database's own secrets under that.
//!
//! ```text
//! magic(8) ‖ version(4) ‖ epoch(4) ‖ revision(8) ‖ database id(16) ‖ receipts done(8)
//! ‖ nonce(24) ‖ wrapped key-encryption key(48) ‖ nonce(24) ‖ wrapped secrets(128) ‖ derivation
//! ‖ zeros ‖ checksum(32), a 4 KiB page
//!
//! derivation = 1 ‖ salt(16) ‖ passes(8) ‖ bytes of memory(8) where the root key is a passphrase's, else zeros
//! secrets = database key(32) ‖ hash key(32) ‖ signing seed(32) ‖ permutation key(16)
//! ```
//! Two copies; the valid one with the higher revision counts.

use crate::crypto::sodium::{self, Argon2id, KEY_BYTES, SecretMemory, SigningKey, WRAP_NONCE_BYTES, WRAP_TAG_BYTES};

/// Bytes of a page: what a disk is expected to write or not to write.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Bytes before the slots.
pub(crate) const HEADER_BYTES: u64 = 2 * PAGE_BYTES;

const MAGIC: &[u8; 8] = b"DOGWKEYS";
const VERSION: u32 = 1;
const SECRETS_BYTES: usize = 3 * KEY_BYTES + 16;
const KEPT_SECRETS_BYTES: usize = 2 * KEY_BYTES;
const CHECKSUM_BYTES: usize = 32;
const DERIVED: u8 = 1;

/// A parsed header, its secrets still wrapped.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) epoch: u32,
    pub(crate) revision: u64,
    pub(crate) database: [u8; 16],
    pub(crate) receipts_done: u64,
    key: Wrapped<{ KEY_BYTES + WRAP_TAG_BYTES }>,
    secrets: Wrapped<{ SECRETS_BYTES + WRAP_TAG_BYTES }>,
    /// How the root key is derived, if it is.
    pub(crate) derivation: Option<Argon2id>,
}

/// Something under a key.
#[derive(Clone)]
struct Wrapped<const N: usize> {
    nonce: [u8; WRAP_NONCE_BYTES],
    bytes: [u8; N],
}

/// A header's secrets, unwrapped.
pub(crate) struct Opened {
    /// The key-encryption key.
    pub(crate) key: SecretMemory,
    /// Database key and hash key.
    pub(crate) secrets: SecretMemory,
    /// The pair of receipts and log heads.
    pub(crate) signing: SigningKey,
    /// The key of µDB ids.
    pub(crate) permutation: [u8; 16],
}

impl Header {
    /// A header for a new database, with fresh secrets.
    pub(crate) fn create(root: &[u8; KEY_BYTES], derivation: Option<Argon2id>) -> Header {
        let mut secrets: [u8; SECRETS_BYTES] = sodium::random_array();
        let (mut header, _) = Header::wrap(root, &secrets, sodium::random_array(), 1, 1, 0);
        sodium::wipe(&mut secrets);
        header.derivation = derivation;
        header
    }

    /// The same secrets under a fresh key-encryption key, and that under `to`; nothing when the root key is another than `root`.
    pub(crate) fn rotated(
        &self,
        root: &[u8; KEY_BYTES],
        (to, derivation): (&[u8; KEY_BYTES], Option<Argon2id>),
    ) -> Option<(Header, SecretMemory)> {
        let mut key = self.unwrap_key(root)?;
        let mut secrets = self.unwrap_secrets(&key)?;
        let fixed: &[u8; SECRETS_BYTES] = secrets.first_chunk().expect("wrapped with this size");
        let (mut header, locked) =
            Header::wrap(to, fixed, self.database, self.epoch + 1, self.revision + 1, self.receipts_done);
        header.derivation = derivation;
        sodium::wipe(&mut key);
        sodium::wipe(&mut secrets);
        Some((header, locked))
    }

    fn wrap(
        root: &[u8; KEY_BYTES],
        secrets: &[u8; SECRETS_BYTES],
        database: [u8; 16],
        epoch: u32,
        revision: u64,
        receipts_done: u64,
    ) -> (Header, SecretMemory) {
        let mut key: [u8; KEY_BYTES] = sodium::random_array();
        let (key_nonce, secrets_nonce) = (sodium::random_array(), sodium::random_array());
        let mut wrapped_key = Vec::new();
        sodium::wrap(root, &key_nonce, &place(b"key", &database, epoch), &key, &mut wrapped_key);
        let mut wrapped_secrets = Vec::new();
        sodium::wrap(&key, &secrets_nonce, &place(b"own", &database, epoch), secrets, &mut wrapped_secrets);
        let mut locked = SecretMemory::new(KEY_BYTES);
        locked.bytes_mut().copy_from_slice(&key);
        sodium::wipe(&mut key);
        let header = Header {
            epoch,
            revision,
            database,
            receipts_done,
            key: Wrapped { nonce: key_nonce, bytes: wrapped_key.try_into().expect("key and tag") },
            secrets: Wrapped { nonce: secrets_nonce, bytes: wrapped_secrets.try_into().expect("secrets and tag") },
            derivation: None,
        };
        (header, locked)
    }

    /// Unwraps everything; nothing when the root key is another.
    pub(crate) fn open(&self, root: &[u8; KEY_BYTES]) -> Option<Opened> {
        let mut key = self.unwrap_key(root)?;
        let mut bytes = self.unwrap_secrets(&key)?;
        let mut locked = SecretMemory::new(KEY_BYTES);
        locked.bytes_mut().copy_from_slice(&key);
        let mut secrets = SecretMemory::new(KEPT_SECRETS_BYTES);
        secrets.bytes_mut().copy_from_slice(&bytes[..KEPT_SECRETS_BYTES]);
        let seed: &[u8; 32] = bytes[KEPT_SECRETS_BYTES..].first_chunk().expect("wrapped with this size");
        let signing = SigningKey::from_seed(seed);
        let permutation = *bytes.last_chunk().expect("wrapped with this size");
        sodium::wipe(&mut key);
        sodium::wipe(&mut bytes);
        Some(Opened { key: locked, secrets, signing, permutation })
    }

    /// Whether this root key wraps its key.
    pub(crate) fn opens_with(&self, root: &[u8; KEY_BYTES]) -> bool {
        let key = self.unwrap_key(root);
        let opens = key.is_some();
        key.into_iter().for_each(|mut key| sodium::wipe(&mut key));
        opens
    }

    fn unwrap_key(&self, root: &[u8; KEY_BYTES]) -> Option<[u8; KEY_BYTES]> {
        let place = place(b"key", &self.database, self.epoch);
        let mut bytes = sodium::unwrap(root, &self.key.nonce, &place, &self.key.bytes)?;
        let key = *bytes.first_chunk().expect("wrapped with this size");
        sodium::wipe(&mut bytes);
        Some(key)
    }

    fn unwrap_secrets(&self, key: &[u8; KEY_BYTES]) -> Option<Vec<u8>> {
        let place = place(b"own", &self.database, self.epoch);
        sodium::unwrap(key, &self.secrets.nonce, &place, &self.secrets.bytes)
    }

    /// The page to write.
    pub(crate) fn page(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE_BYTES as usize);
        page.extend_from_slice(MAGIC);
        page.extend_from_slice(&VERSION.to_be_bytes());
        page.extend_from_slice(&self.epoch.to_be_bytes());
        page.extend_from_slice(&self.revision.to_be_bytes());
        page.extend_from_slice(&self.database);
        page.extend_from_slice(&self.receipts_done.to_be_bytes());
        page.extend_from_slice(&self.key.nonce);
        page.extend_from_slice(&self.key.bytes);
        page.extend_from_slice(&self.secrets.nonce);
        page.extend_from_slice(&self.secrets.bytes);
        if let Some(Argon2id { salt, passes, memory_bytes }) = self.derivation {
            page.push(DERIVED);
            page.extend_from_slice(&salt);
            page.extend_from_slice(&passes.to_be_bytes());
            page.extend_from_slice(&memory_bytes.to_be_bytes());
        }
        page.resize(PAGE_BYTES as usize - CHECKSUM_BYTES, 0);
        let checksum: [u8; CHECKSUM_BYTES] = sodium::hash(&page);
        page.extend_from_slice(&checksum);
        page
    }

    /// Reads a page that carries its checksum.
    pub(crate) fn parse(page: &[u8; PAGE_BYTES as usize]) -> Option<Header> {
        let (content, checksum) = page.split_last_chunk::<CHECKSUM_BYTES>()?;
        if sodium::hash::<CHECKSUM_BYTES>(content) != *checksum {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk()?;
        if u32::from_be_bytes(*version) != VERSION {
            return None;
        }
        let (epoch, rest) = rest.split_first_chunk()?;
        let (revision, rest) = rest.split_first_chunk()?;
        let (database, rest) = rest.split_first_chunk()?;
        let (receipts_done, rest) = rest.split_first_chunk()?;
        let (key_nonce, rest) = rest.split_first_chunk()?;
        let (wrapped_key, rest) = rest.split_first_chunk()?;
        let (secrets_nonce, rest) = rest.split_first_chunk()?;
        let (wrapped_secrets, rest) = rest.split_first_chunk()?;
        let derivation = match rest.split_first()? {
            (&DERIVED, rest) => {
                let (salt, rest) = rest.split_first_chunk()?;
                let (passes, rest) = rest.split_first_chunk()?;
                let (memory_bytes, _) = rest.split_first_chunk()?;
                let (passes, memory_bytes) = (u64::from_be_bytes(*passes), u64::from_be_bytes(*memory_bytes));
                Some(Argon2id { salt: *salt, passes, memory_bytes })
            }
            _ => None,
        };
        Some(Header {
            epoch: u32::from_be_bytes(*epoch),
            revision: u64::from_be_bytes(*revision),
            database: *database,
            receipts_done: u64::from_be_bytes(*receipts_done),
            key: Wrapped { nonce: *key_nonce, bytes: *wrapped_key },
            secrets: Wrapped { nonce: *secrets_nonce, bytes: *wrapped_secrets },
            derivation,
        })
    }
}

/// The database key among the unwrapped secrets.
pub(crate) fn database_key(secrets: &SecretMemory) -> &[u8; KEY_BYTES] {
    secrets.bytes().first_chunk().expect("allocated with this size")
}

/// The hash key among the unwrapped secrets.
pub(crate) fn hash_key(secrets: &SecretMemory) -> &[u8; KEY_BYTES] {
    secrets.bytes()[KEY_BYTES..].first_chunk().expect("allocated with this size")
}

fn place(what: &[u8; 3], database: &[u8; 16], epoch: u32) -> [u8; 23] {
    let mut place = [0; 23];
    place[..3].copy_from_slice(what);
    place[3..19].copy_from_slice(database);
    place[19..].copy_from_slice(&epoch.to_be_bytes());
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page as somebody wrote it who can make the checksum, too: it is read as something, or as nothing.
    #[test]
    fn a_changed_page_is_refused_or_opens_nothing() {
        sodium::initialize();
        let root = [5; KEY_BYTES];
        let derivation = Argon2id { salt: [1; 16], passes: 3, memory_bytes: 1 << 20 };
        for header in [Header::create(&root, None), Header::create(&root, Some(derivation))] {
            let page = header.page();
            let whole: [u8; PAGE_BYTES as usize] = page.clone().try_into().expect("a page");
            assert!(Header::parse(&whole).and_then(|header| header.open(&root)).is_some());
            let content = PAGE_BYTES as usize - CHECKSUM_BYTES;
            let mut state = 7_u64;
            for _ in 0..20_000 {
                let mut changed = whole;
                for _ in 0..3 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Most of a page is empty.
                    let place = (state >> 33) as usize % 400;
                    changed[place] ^= (state >> 20) as u8 | 1;
                }
                assert!(Header::parse(&changed).is_none(), "its checksum is another");
                let checksum: [u8; CHECKSUM_BYTES] = sodium::hash(&changed[..content]);
                changed[content..].copy_from_slice(&checksum);
                let Some(read) = Header::parse(&changed) else { continue };
                let same = |one: &Header| {
                    (one.epoch, one.database, one.key.bytes, one.secrets.bytes, one.key.nonce, one.secrets.nonce)
                };
                assert!(
                    same(&read) == same(&header) || read.open(&root).is_none(),
                    "what is wrapped is bound to where it stands"
                );
            }
        }
    }
}
