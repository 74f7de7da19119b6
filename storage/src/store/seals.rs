//! Seals of a store: under a person's key, or under the database's.

use repr::MicroDbId;

use super::Store;
use crate::config::Cipher;
use crate::crypto::seal::{self, Header, SealPlace};
use crate::crypto::sodium::{self, KEY_BYTES};
use crate::error::{Sealed, StorageError};
use crate::keyring::once::KeyAtHand;

impl Store {
    /// Appends a seal under a person's key.
    pub(crate) fn seal_personal(
        &self,
        owner: MicroDbId,
        place: SealPlace<'_>,
        header: Header,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let keyring = &self.inner.keyring;
        keyring.with_key(owner, |key| seal::seal(key, keyring.database(), place, header, plain, out))
    }

    /// Opens a seal under a person's key.
    pub(crate) fn open_personal(
        &self,
        owner: MicroDbId,
        place: SealPlace<'_>,
        sealed: &[u8],
    ) -> Result<(Header, Vec<u8>), StorageError> {
        let keyring = &self.inner.keyring;
        match keyring.with_key(owner, |key| seal::open(key, keyring.database(), place, sealed))? {
            Some(opened) => Ok(opened),
            None => self.open_by_former(owner, place, sealed),
        }
    }

    /// Opens seals under a person's key, one behind the other; `ends` is told where each ends. Those before one that cannot be opened
    /// are opened.
    pub(crate) fn open_personal_all(
        &self,
        owner: MicroDbId,
        seals: &[(SealPlace<'_>, &[u8])],
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), StorageError> {
        let keyring = &self.inner.keyring;
        let mut left = seals;
        while !left.is_empty() {
            let opened = keyring.with_key(owner, |key| {
                let mut open = |(place, sealed): &(SealPlace<'_>, &[u8])| {
                    let opened = seal::open_into(key, keyring.database(), *place, sealed, out).is_some();
                    if opened {
                        ends.push(out.len());
                    }
                    opened
                };
                left.iter().take_while(|seal| open(seal)).count()
            })?;
            left = &left[opened..];
            if let Some(((place, sealed), rest)) = left.split_first() {
                let (_, plain) = self.open_by_former(owner, *place, sealed)?;
                out.extend_from_slice(&plain);
                ends.push(out.len());
                left = rest;
            }
        }
        Ok(())
    }

    /// Of a person whose key is being replaced: what is not sealed anew yet.
    fn open_by_former(
        &self,
        owner: MicroDbId,
        place: SealPlace<'_>,
        sealed: &[u8],
    ) -> Result<(Header, Vec<u8>), StorageError> {
        let keyring = &self.inner.keyring;
        let opened = keyring.with_former_key(owner, |key| seal::open(key, keyring.database(), place, sealed))?;
        opened.flatten().ok_or(StorageError::SealBroken { sealed: sealed_at(place) })
    }

    /// Opens a seal under a person's key for one who reads a whole relation and will not come again.
    pub(crate) fn open_personal_once(
        &self,
        owner: MicroDbId,
        place: SealPlace<'_>,
        sealed: &[u8],
        keys: &mut KeyAtHand,
    ) -> Result<(Header, Vec<u8>), StorageError> {
        let keyring = &self.inner.keyring;
        match keyring.with_key_once(owner, keys, |key| seal::open(key, keyring.database(), place, sealed))? {
            Some(opened) => Ok(opened),
            None => self.open_by_former(owner, place, sealed),
        }
    }

    /// Appends a seal under the database's key.
    pub(crate) fn seal_impersonal(&self, place: SealPlace<'_>, header: Header, plain: &[u8], out: &mut Vec<u8>) {
        let keyring = &self.inner.keyring;
        match header.cipher {
            Cipher::Aegis256 => {
                seal::seal(keyring.database_key(), keyring.database(), place, header, plain, out);
            }
            Cipher::Aes256Gcm => {
                let mut key = self.gcm_key(place);
                seal::seal(&key, keyring.database(), place, header, plain, out);
                sodium::wipe(&mut key);
            }
        }
    }

    /// Opens a seal under the database's key.
    pub(crate) fn open_impersonal(
        &self,
        place: SealPlace<'_>,
        sealed: &[u8],
    ) -> Result<(Header, Vec<u8>), StorageError> {
        let keyring = &self.inner.keyring;
        let broken = StorageError::SealBroken { sealed: sealed_at(place) };
        let opened = match Header::parse(sealed) {
            Some((Header { cipher: Cipher::Aegis256, .. }, _)) => {
                seal::open(keyring.database_key(), keyring.database(), place, sealed)
            }
            Some((Header { cipher: Cipher::Aes256Gcm, .. }, _)) => {
                let mut key = self.gcm_key(place);
                let opened = seal::open(&key, keyring.database(), place, sealed);
                sodium::wipe(&mut key);
                opened
            }
            None => None,
        };
        opened.ok_or(broken)
    }

    // Random 96-bit nonces allow 2^32 messages a key, which one key for the whole database could reach.
    fn gcm_key(&self, place: SealPlace<'_>) -> [u8; KEY_BYTES] {
        let scope: [u8; 5] = match place {
            SealPlace::Personal(relation, ..) | SealPlace::Impersonal(relation, _) => scope(b'r', relation.0),
            SealPlace::Meta(_) => scope(b'm', 0),
            SealPlace::AuditPayload(..) => scope(b'a', 0),
            SealPlace::Receipt(_) => scope(b'e', 0),
        };
        sodium::keyed_hash(self.inner.keyring.database_key(), &scope)
    }
}

fn scope(kind: u8, relation: u32) -> [u8; 5] {
    let [a, b, c, d] = relation.to_be_bytes();
    [kind, a, b, c, d]
}

pub(super) fn sealed_at(place: SealPlace<'_>) -> Sealed {
    match place {
        SealPlace::Personal(relation, ..) | SealPlace::Impersonal(relation, _) => Sealed::Row(relation),
        SealPlace::Meta(_) => Sealed::Meta,
        SealPlace::AuditPayload(..) => Sealed::AuditPayload,
        SealPlace::Receipt(_) => Sealed::Receipt,
    }
}
