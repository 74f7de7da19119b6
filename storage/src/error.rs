//! Errors of the environment: what was tried, where, why, and whether trying again can help.
//!
//! They carry paths, relation ids and error kinds; never a row's value, a row key, a µDB id or a
//! data key, because errors reach logs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use repr::{IndexId, RelationId};

use crate::backup::BackupFault;
use crate::loss_report::Loss;

/// Which kind of stored thing failed its authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// A row of a relation.
    Row(RelationId),
    /// A catalog or other metadata value.
    Meta,
    /// The payload of an audit record.
    AuditPayload,
    /// The sealed part of a receipt.
    Receipt,
}

/// Which stored entry has a form that this version does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredEntry {
    /// A row's key or header.
    Row(RelationId),
    /// An index entry.
    Index(IndexId),
    /// An ownership entry.
    Owner(RelationId),
    /// A data subject's record.
    Subject,
    /// An audit record or log head.
    Audit,
    /// What is noted of an erasure.
    Erasure,
}

/// How RocksDB classified its failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RocksFailure {
    /// Checksums or structure are wrong: a file is damaged.
    Corruption,
    /// No room on the disk.
    NoSpace,
    /// The filesystem refused.
    Io,
    /// Busy, timed out, or try again.
    Transient,
    /// Anything else.
    Other,
}

/// What of the audit log in the folder is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditFault {
    /// Its head is missing, or fails its code and signature.
    Head,
    /// It does not end with the record that its head names.
    End {
        /// Its number.
        record: u64,
    },
    /// A record is not where it must be.
    Missing {
        /// Its number.
        record: u64,
    },
}

impl fmt::Display for AuditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditFault::Head => f.write_str("the audit log's head fails its signature"),
            AuditFault::End { record } => {
                write!(f, "the audit log does not end with record {record} as its head says: it was changed")
            }
            AuditFault::Missing { record } => {
                write!(f, "record {record} of the audit log is missing: \"dogwood check\" tells what is left")
            }
        }
    }
}

/// Why storage could not do what was asked.
#[derive(Debug)]
pub enum StorageError {
    /// A file operation failed.
    Io {
        /// What was being done.
        tried: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// RocksDB failed.
    Rocks {
        /// What was being done.
        tried: &'static str,
        /// The class of failure.
        failure: RocksFailure,
        /// The damaged or missing file, where RocksDB names one.
        file: Option<PathBuf>,
    },
    /// Another server has the folder open.
    AlreadyOpen {
        /// The lock file.
        path: PathBuf,
    },
    /// The folder holds files but no database of ours.
    NotADatabase {
        /// The folder.
        path: PathBuf,
    },
    /// There is no database in the folder, and none is to be made.
    NoDatabase {
        /// The folder.
        path: PathBuf,
    },
    /// A file without which the database is not whole is absent.
    FileMissing {
        /// The file.
        path: PathBuf,
    },
    /// A file does not hold what it must.
    FileDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A file or folder belongs to another database, or to another time of this one.
    Foreign {
        /// The file.
        path: PathBuf,
        /// What says so.
        what: &'static str,
    },
    /// The folder leads to less than was acknowledged.
    CommitsLost(Box<Loss>),
    /// A server was killed while it wrote a commit that stands: half of it is still in files of its own.
    Unfinished {
        /// Where these are.
        path: PathBuf,
    },
    /// The folder is open for reading only.
    ReadOnly,
    /// The disk has less room than is kept free.
    DiskFull {
        /// Bytes free.
        free: u64,
        /// Bytes that are kept.
        kept: u64,
    },
    /// The folder was written by a version that this one does not know.
    UnknownFormat {
        /// The format file.
        path: PathBuf,
        /// The version found, if it is a number.
        found: Option<u32>,
        /// The version this program writes.
        known: u32,
    },
    /// The root key file of an existing database is absent.
    RootKeyMissing {
        /// The file.
        path: PathBuf,
    },
    /// The root key file is not 64 hexadecimal digits.
    RootKeyMalformed {
        /// The file.
        path: PathBuf,
    },
    /// What is to give the root key does not.
    RootKeyUnusable {
        /// The file, or the variable.
        path: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// A key file may be read by others than its owner.
    KeyFileExposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The root key does not open this keyring.
    WrongRootKey {
        /// The root key's file.
        path: PathBuf,
    },
    /// Both copies of the keyring's header are damaged, or the file is absent or cut short.
    KeyringDamaged {
        /// The keyring file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Both copies of a data key's slot are damaged.
    KeyDamaged {
        /// The keyring file.
        path: PathBuf,
        /// The byte at which the slot starts.
        offset: u64,
    },
    /// The data key was destroyed: the person was forgotten.
    KeyDestroyed,
    /// No slot was ever given to this µDB id.
    UnknownMicroDb,
    /// The machine lacks the instructions for the cipher.
    CipherUnavailable,
    /// A ciphertext fails its authentication: wrong place, wrong key or changed bytes.
    SealBroken {
        /// What kind of thing.
        sealed: Sealed,
    },
    /// A stored entry does not have the form that this version writes.
    Malformed {
        /// Which.
        entry: StoredEntry,
    },
    /// An owner of a row is recorded, but the row's copy is not there.
    CopyMissing {
        /// The relation.
        relation: RelationId,
    },
    /// The audit log is not as it was written.
    Audit(AuditFault),
    /// A backup is not taken, not whole, or not restored.
    Backup(Box<BackupFault>),
}

impl From<BackupFault> for StorageError {
    fn from(fault: BackupFault) -> StorageError {
        StorageError::Backup(Box::new(fault))
    }
}

impl StorageError {
    pub(crate) fn io<'a>(tried: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StorageError + 'a {
        move |source| StorageError::Io { tried, path: path.to_owned(), source }
    }
}

impl fmt::Display for RocksFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RocksFailure::Corruption => "data is damaged",
            RocksFailure::NoSpace => "no space left on device",
            RocksFailure::Io => "input/output error",
            RocksFailure::Transient => "storage is busy",
            RocksFailure::Other => "storage engine error",
        })
    }
}

impl fmt::Display for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sealed::Row(relation) => write!(f, "a row of relation {relation} fails its authentication"),
            Sealed::Meta => f.write_str("a metadata value fails its authentication"),
            Sealed::AuditPayload => f.write_str("the payload of an audit record fails its authentication"),
            Sealed::Receipt => f.write_str("a stored receipt fails its authentication"),
        }
    }
}

impl fmt::Display for StoredEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredEntry::Row(relation) => write!(f, "a stored row of relation {relation} is malformed"),
            StoredEntry::Index(index) => write!(f, "a stored entry of index {index} is malformed"),
            StoredEntry::Owner(relation) => write!(f, "an ownership entry of relation {relation} is malformed"),
            StoredEntry::Subject => f.write_str("a data subject's record is malformed"),
            StoredEntry::Audit => f.write_str("an audit log entry is malformed"),
            StoredEntry::Erasure => f.write_str("what is noted of an erasure is malformed"),
        }
    }
}

/// A path in quotes, between words.
fn at(f: &mut fmt::Formatter<'_>, before: &str, path: &Path, after: &str) -> fmt::Result {
    write!(f, "{before} \"{}\"{after}", path.display())
}

fn unknown_format(f: &mut fmt::Formatter<'_>, path: &Path, found: Option<u32>, known: u32) -> fmt::Result {
    let path = path.display();
    match found {
        Some(found) => write!(f, "file \"{path}\" says data format {found}, this server knows only format {known}"),
        None => write!(f, "file \"{path}\" names no data format, this server knows only format {known}"),
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageError::Io { tried, path, source } => write!(f, "could not {tried} \"{}\": {source}", path.display()),
            StorageError::Rocks { tried, failure, file } => {
                write!(f, "could not {tried}: {failure}")?;
                match file {
                    Some(file) => write!(f, " in file \"{}\"", file.display()),
                    None => Ok(()),
                }
            }
            StorageError::AlreadyOpen { path } => {
                write!(f, "another server has the data folder open (lock file \"{}\")", path.display())
            }
            StorageError::NotADatabase { path } => {
                write!(f, "folder \"{}\" is not empty and holds no Dogwood database", path.display())
            }
            StorageError::NoDatabase { path } => write!(f, "there is no database in \"{}\"", path.display()),
            StorageError::FileMissing { path } => {
                write!(f, "\"{}\" of an existing database is missing", path.display())
            }
            StorageError::FileDamaged { path, what } => write!(f, "\"{}\" is damaged: {what}", path.display()),
            StorageError::Foreign { path, what } => {
                write!(f, "\"{}\" is not this folder's own of today: {what}", path.display())
            }
            StorageError::CommitsLost(loss) => loss.fmt(f),
            StorageError::Unfinished { path } => {
                at(f, "the last commit is still to be finished from", path, ": start the server once")
            }
            StorageError::ReadOnly => f.write_str("the data folder is open for reading only"),
            StorageError::DiskFull { free, kept } => {
                let (free, kept) = (free >> 20, kept >> 20);
                write!(
                    f,
                    "the disk of the data folder is full: {free} MiB are free, and {kept} MiB are kept for what is in memory, erasures and merging"
                )
            }
            StorageError::UnknownFormat { path, found, known } => unknown_format(f, path, *found, *known),
            StorageError::RootKeyMissing { path } => {
                at(f, "root key file", path, " of an existing database is missing")
            }
            StorageError::RootKeyMalformed { path } => {
                at(f, "root key file", path, " does not hold 64 hexadecimal digits")
            }
            StorageError::RootKeyUnusable { path, what } => write!(f, "root key in \"{}\": {what}", path.display()),
            StorageError::WrongRootKey { path } => at(f, "root key in", path, " does not open this database's keyring"),
            StorageError::KeyFileExposed { path, mode } => write!(
                f,
                "key file \"{}\" has mode {mode:03o} and may be read by others, it must be 600",
                path.display()
            ),
            StorageError::KeyringDamaged { path, what } => {
                write!(f, "keyring \"{}\" is damaged: {what}", path.display())
            }
            StorageError::KeyDamaged { path, offset } => {
                write!(f, "both copies of a data key are damaged in keyring \"{}\" at byte {offset}", path.display())
            }
            StorageError::KeyDestroyed => f.write_str("the data subject's key was destroyed"),
            StorageError::UnknownMicroDb => f.write_str("the keyring has no key for this data subject"),
            StorageError::CipherUnavailable => f.write_str("this processor has no AES instructions for AES-256-GCM"),
            StorageError::SealBroken { sealed } => sealed.fmt(f),
            StorageError::Malformed { entry } => entry.fmt(f),
            StorageError::CopyMissing { relation } => {
                write!(f, "a row of relation {relation} has an owner but no stored copy")
            }
            StorageError::Audit(fault) => fault.fmt(f),
            StorageError::Backup(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let StorageError::Io { source, .. } = self { Some(source) } else { None }
    }
}
