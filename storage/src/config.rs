//! What a store is opened with. Plain values: read by `store` once, never changed while it is open.

use std::path::{Path, PathBuf};

use crate::keyring::root::RootKey;

/// The authenticated cipher for new seals. Every seal carries its algorithm, so a store reads both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// AEGIS-256 with random 256-bit nonces: fastest, 64 bytes a row, no limit on messages a key.
    #[default]
    Aegis256,
    /// AES-256-GCM with random 96-bit nonces: 28 bytes a row, for those whose auditors ask for a NIST cipher.
    ///
    /// Random nonces are safe up to 2^32 messages a key (NIST SP 800-38D). A key here is one
    /// person's, or one impersonal relation's (derived from the database key), never the whole database's.
    Aes256Gcm,
}

/// Where the root key comes from. It wraps the key-encryption key and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootKeySource {
    /// `<data>/root.key`: 64 hexadecimal digits, mode 0600, made at first start.
    DataFolder,
    /// A file elsewhere, in the same form; made at first start when absent.
    File(PathBuf),
    /// A variable of the environment, in the same form.
    Environment(String),
    /// A passphrase in a file of mode 0600: the key is derived from it.
    PassphraseFile(PathBuf),
    /// A passphrase in a variable of the environment.
    PassphraseEnvironment(String),
}

/// What a folder is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reading and writing. A folder that is new becomes a database.
    #[default]
    Serve,
    /// Reading what `Serve` would find, refusing what it would refuse. No file is written.
    Check,
    /// Reading whatever can be read, also of a folder that is less than what was acknowledged. No file is written.
    Salvage,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data folder. Created when absent.
    pub path: PathBuf,
    /// Bytes of the one block cache, which also holds index and filter blocks. Rows opened last take up to a quarter of it
    /// beside.
    pub block_cache_bytes: usize,
    /// The cipher of new seals.
    pub cipher: Cipher,
    /// The root key.
    pub root_key: RootKeySource,
    /// What for.
    pub mode: Mode,
    /// What is kept free on the disk, if not the usual 64 MiB (an eighth of a disk that is smaller than 512): 0 for nothing.
    pub keep_free_bytes: Option<u64>,
}

impl StoreOptions {
    /// Options with the defaults for a data folder: 256 MiB of cache, AEGIS-256, `<data>/root.key`.
    pub fn new(path: impl Into<PathBuf>) -> StoreOptions {
        StoreOptions {
            path: path.into(),
            block_cache_bytes: 256 << 20,
            cipher: Cipher::default(),
            root_key: RootKeySource::DataFolder,
            mode: Mode::default(),
            keep_free_bytes: None,
        }
    }

    /// What gives the root key.
    pub(crate) fn root_key(&self) -> Box<dyn RootKey> {
        self.root_key.root_key(&self.path)
    }

    /// A file of the data folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.path).join(name)
    }
}
