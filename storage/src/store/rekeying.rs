//! Other keys in the place of those that wrap: the key-encryption key, and the root key, while the store serves.
//!
//! ```text
//! root.key.new ◀─ a new root key        keyring ◀─ wrapped under it        root.key ◀─ root.key.new, the old one overwritten
//! ```
//! One at a time. Wherever it is cut off, one of the two root keys opens the keyring, and whatever comes next settles which: the next
//! of these, or the next start.

use crate::config::RootKeySource;
use crate::error::StorageError;
use crate::keyring::root::{self, RootKey};
use crate::keyring::rotation::Rotation;
use crate::store::{Inner, Store};

impl Store {
    /// Rewrites the living data keys under a fresh key-encryption key and destroys the old one.
    ///
    /// About 1 s for a million people, during which no person's key is loaded or made.
    pub fn rotate_keyring(&self, rotation: Rotation) -> Result<(), StorageError> {
        self.check_writable()?;
        let _one_at_a_time = self.inner.rekeying.lock();
        let root = self.inner.options.root_key();
        self.settle_root(&*root)?;
        self.inner.keyring.rotate(&*root, &*root, rotation)
    }

    /// The same, and from now on the root key is another: that of `to`, or a new one in the file of the present. The folder is to be
    /// opened with it the next time.
    pub fn replace_root_key(&self, to: Option<&RootKeySource>, rotation: Rotation) -> Result<(), StorageError> {
        self.check_writable()?;
        let Inner { keyring, options, rekeying, .. } = &*self.inner;
        let _one_at_a_time = rekeying.lock();
        let from = options.root_key();
        if let Some(to) = to {
            let to = to.root_key(&options.path);
            to.make()?;
            return keyring.rotate(&*from, &*to, rotation);
        }
        let Some(path) = from.file() else {
            let what = "it is in no file, so the new one has to be named";
            return Err(StorageError::RootKeyUnusable { path: from.place(), what });
        };
        self.settle_root(&*from)?;
        root::create(&root::fresh(path))?;
        if let Some((fresh, _)) = root::fresh_of(&*from)? {
            keyring.rotate(&*from, &*fresh, rotation)?;
        }
        root::replace(path)
    }

    /// Of a new root key that an attempt has left which failed: the keyring is under it, or it goes.
    fn settle_root(&self, root: &dyn RootKey) -> Result<(), StorageError> {
        let Some((fresh, place)) = root::fresh_of(root)? else { return Ok(()) };
        let keyring = &self.inner.keyring;
        match root.file() {
            _ if keyring.is_under(root)? => root::discard(&place),
            Some(path) if keyring.is_under(&*fresh)? => root::replace(path),
            Some(_) | None => Err(StorageError::WrongRootKey { path: root.place() }),
        }
    }
}
