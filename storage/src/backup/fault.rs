//! Why a backup was not taken, is not whole, or is not restored: each by its name.

use std::fmt;
use std::path::PathBuf;

use crate::backup::target::TargetError;

/// See the module. Names are those of objects at the target.
#[derive(Debug)]
pub enum BackupFault {
    /// The target failed: full, gone, or it refuses.
    Target(TargetError),
    /// What is to be a target is none.
    NoTarget {
        /// As it was given.
        given: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Whoever has the data's target has the keys', too.
    KeysBesideData {
        /// The data's.
        data: String,
        /// The keys'.
        keys: String,
    },
    /// It holds backups of another database.
    OtherDatabase {
        /// The target.
        target: String,
        /// The object that says so.
        object: String,
    },
    /// An object does not have the form that this version writes, or was changed.
    Malformed {
        /// Which.
        object: String,
    },
    /// It was not signed by this database's key.
    Signature {
        /// Which.
        object: String,
    },
    /// An incremental backup finds nothing that it could add to.
    NoBase {
        /// The target.
        target: String,
    },
    /// A file that a backup names is not there.
    FileMissing {
        /// The backup.
        backup: String,
        /// The file.
        object: String,
        /// The backup that brought it, if not this one.
        base: Option<String>,
    },
    /// A file is not what the manifest says.
    FileDamaged {
        /// The backup.
        backup: String,
        /// The file.
        object: String,
    },
    /// There is no backup from before that moment.
    NoBackup {
        /// The target.
        target: String,
    },
    /// The log has a gap.
    LogGap {
        /// Which.
        log: String,
        /// The last write before it.
        after: u64,
    },
    /// The moment that is asked for lies behind all that was shipped.
    BeyondLog {
        /// What the backups and their log lead to, in the words of the question.
        reached: String,
    },
    /// There is no ledger of erasures.
    NoLedger {
        /// Where it was looked for.
        target: String,
    },
    /// The ledger is from before: others know of more erasures.
    LedgerShort {
        /// Its last erasure.
        last: u64,
        /// The last that is known of.
        known: u64,
        /// Who knows.
        by: String,
    },
    /// The ledger begins after the backup.
    LedgerLate {
        /// Its first erasure.
        first: u64,
        /// The first that is wanted.
        wanted: u64,
    },
    /// There is no key backup.
    NoKeys {
        /// Where it was looked for.
        target: String,
    },
    /// The newest key backup is from before the backup: it lacks keys of people in it.
    KeysOlder {
        /// The key backup.
        object: String,
    },
    /// Keys that the state needs were replaced later, and the old ones destroyed.
    KeysReplaced {
        /// Of so many people.
        people: u64,
    },
    /// The folder to restore to holds something.
    FolderFilled {
        /// Which.
        path: PathBuf,
    },
    /// A backup is under way already.
    Busy,
    /// Erasures needed the files that were being copied, again and again.
    ErasuresInTheWay {
        /// How often it began anew.
        attempts: u32,
    },
    /// It was told to leave off.
    Stopped,
}

impl From<TargetError> for BackupFault {
    fn from(error: TargetError) -> BackupFault {
        BackupFault::Target(error)
    }
}

impl BackupFault {
    pub(super) fn malformed(object: &str) -> BackupFault {
        BackupFault::Malformed { object: object.to_owned() }
    }
}

impl fmt::Display for BackupFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupFault::Target(error) => error.fmt(f),
            BackupFault::NoTarget { given, what } => write!(f, "\"{given}\" is no target of backups: {what}"),
            BackupFault::KeysBesideData { data, keys } => {
                write!(f, "keys in \"{keys}\" do not stand apart from the data in \"{data}\"")
            }
            BackupFault::OtherDatabase { target, object } => {
                write!(f, "\"{target}\" holds backups of another database (\"{object}\")")
            }
            BackupFault::Malformed { object } => {
                write!(f, "\"{object}\" is damaged, or of a version that is not known")
            }
            BackupFault::Signature { object } => write!(f, "\"{object}\" is not signed by this database's key"),
            BackupFault::NoBase { target } => {
                write!(f, "\"{target}\" holds no backup that an incremental one could add to")
            }
            BackupFault::FileMissing { backup, object, base: Some(base) } => {
                write!(f, "backup {backup} is incremental, and \"{object}\" of its base {base} is missing")
            }
            BackupFault::FileMissing { backup, object, base: None } => {
                write!(f, "\"{object}\" of backup {backup} is missing")
            }
            BackupFault::FileDamaged { backup, object } => write!(f, "\"{object}\" of backup {backup} is damaged"),
            BackupFault::NoBackup { target } => write!(f, "\"{target}\" holds no backup from before that moment"),
            BackupFault::LogGap { log, after } => write!(f, "log {log} has a gap after write {after}"),
            BackupFault::BeyondLog { reached } => {
                write!(f, "the backups and their log do not lead to that moment: they end at {reached}")
            }
            BackupFault::NoLedger { target } => write!(f, "the ledger of erasures is missing in \"{target}\""),
            BackupFault::LedgerShort { last, known, by } => {
                write!(
                    f,
                    "the ledger of erasures is from before: it ends with erasure {last}, and {by} knows of {known}"
                )
            }
            BackupFault::LedgerLate { first, wanted } => {
                write!(
                    f,
                    "the ledger of erasures begins with erasure {first}, and the backup needs it from {wanted} on"
                )
            }
            BackupFault::NoKeys { target } => write!(f, "\"{target}\" holds no key backup"),
            BackupFault::KeysOlder { object } => write!(f, "key backup \"{object}\" is from before the backup"),
            BackupFault::KeysReplaced { people } => {
                write!(
                    f,
                    "the data keys of {people} data subjects were replaced after that moment, and the old ones destroyed"
                )
            }
            BackupFault::FolderFilled { path } => write!(f, "folder \"{}\" is not empty", path.display()),
            BackupFault::Busy => f.write_str("a backup is under way already"),
            BackupFault::ErasuresInTheWay { attempts } => {
                write!(f, "erasures needed the files that were being copied, {attempts} times: the target is too slow")
            }
            BackupFault::Stopped => f.write_str("the backup was told to leave off"),
        }
    }
}
