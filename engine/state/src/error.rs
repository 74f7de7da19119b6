//! What a client is told when a statement fails, and what an operator is told when the environment does.

use planner::error::PlanError;
use repr::ValueError;
use std::{fmt, io};
use storage::StorageError;
use storage::backup::BackupFault;
use storage::error::RocksFailure;

/// An error in PostgreSQL's form. Carries no stored row's value, key or subject id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// Five-character SQLSTATE.
    pub code: &'static str,
    /// Primary message: lower case, no full stop.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// 1-based character position in the statement.
    pub position: Option<u32>,
    /// Where, if not in the statement's text: "COPY t, line 3".
    pub context: Option<String>,
    /// Which object: schema, table, column, constraint, as far as they apply.
    pub object: Box<ErrorObject>,
    /// ERROR ends the statement, FATAL the connection.
    pub fatal: bool,
    /// The routine of PostgreSQL's that says the same, where drivers tell errors apart by it.
    pub routine: Option<&'static Routine>,
}

/// A routine of PostgreSQL's, and where it stands in the sources of 15: who looks at one of these fields looks at all of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Routine {
    /// Its name.
    pub name: &'static str,
    /// The file.
    pub file: &'static str,
    /// The line at which it reports.
    pub line: u32,
}

/// What reports that a kept statement's columns are others now.
pub static REVALIDATE_CACHED_QUERY: Routine = Routine { name: "RevalidateCachedQuery", file: "plancache.c", line: 722 };
/// What reports for RAISE.
pub static EXEC_STMT_RAISE: Routine = Routine { name: "exec_stmt_raise", file: "pl_exec.c", line: 3891 };

/// The object fields of an error response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorObject {
    /// The schema's name.
    pub schema: Option<String>,
    /// The table's name.
    pub table: Option<String>,
    /// The column's name.
    pub column: Option<String>,
    /// The constraint's name.
    pub constraint: Option<String>,
    /// The type's name.
    pub datatype: Option<String>,
}

impl SqlError {
    /// An error with a message only.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        SqlError {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
            object: Box::default(),
            fatal: false,
            routine: None,
        }
    }
    /// 0A000: understood and not supported.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        SqlError::new("0A000", format!("{what} is not supported"))
    }
    /// Adds a DETAIL.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
    /// Adds a HINT.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// Says where it happened.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }
    /// Names the table, by its schema and its own name, and the constraint at fault.
    #[must_use]
    pub fn on(mut self, (schema, table): (&str, &str), constraint: Option<&str>) -> Self {
        self.object.schema = Some(schema.to_string());
        self.object.table = Some(table.to_string());
        self.object.constraint = constraint.map(str::to_string);
        self
    }
    /// Says which routine of PostgreSQL's reports this.
    #[must_use]
    pub fn routine(mut self, routine: &'static Routine) -> Self {
        self.routine = Some(routine);
        self
    }
    /// Ends the connection.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}

impl From<PlanError> for SqlError {
    fn from(error: PlanError) -> Self {
        SqlError {
            detail: error.detail,
            hint: error.hint,
            position: error.position,
            ..SqlError::new(error.code, error.message)
        }
    }
}

impl From<ValueError> for SqlError {
    fn from(error: ValueError) -> Self {
        let object = error.of_type.map_or_else(ErrorObject::default, |of_type| ErrorObject {
            schema: Some(of_type.schema),
            datatype: Some(of_type.name),
            constraint: of_type.constraint,
            ..ErrorObject::default()
        });
        SqlError {
            detail: error.detail,
            hint: error.hint,
            object: Box::new(object),
            ..SqlError::new(error.code, error.message)
        }
    }
}

impl From<StorageError> for SqlError {
    fn from(error: StorageError) -> Self {
        match error {
            // Only a snapshot from before the erasure still leads to the rows of a destroyed key.
            StorageError::KeyDestroyed => snapshot_ended(),
            StorageError::ReadOnly => {
                SqlError::new("25006", error.to_string()).hint("it was started with --salvage, to be read and dumped")
            }
            StorageError::NoDatabase { .. } => {
                SqlError::new("58P01", error.to_string()).hint("name the folder that the server is started with")
            }
            StorageError::DiskFull { .. } => disk_full(&error),
            StorageError::Rocks { failure: RocksFailure::NoSpace, .. } => disk_full(&error),
            StorageError::Io { ref source, .. } if is_of_room(source.kind()) => disk_full(&error),
            StorageError::Backup(fault) => of_backup(&fault),
            error => SqlError::new("58030", error.to_string()),
        }
    }
}

/// With what is to be done about it.
fn of_backup(fault: &BackupFault) -> SqlError {
    let (code, hint) = match fault {
        BackupFault::Target(_) => ("58030", "what was brought so far is removed when the target is there again"),
        BackupFault::NoTarget { .. } => ("22023", "a target is a folder, or s3://BUCKET/PREFIX"),
        BackupFault::KeysBesideData { .. } => ("22023", "together they are the plaintext: name a target of their own"),
        BackupFault::OtherDatabase { .. } => ("55000", "each database has a target of its own"),
        BackupFault::Malformed { .. } | BackupFault::FileDamaged { .. } => {
            ("XX001", "take another backup; verify-backup says which are whole")
        }
        BackupFault::Signature { .. } => ("55000", "it was changed, or it is another database's"),
        BackupFault::NoBase { .. } => ("55000", "take a full backup first"),
        BackupFault::FileMissing { .. } => ("58P01", "an incremental backup needs the files of those before it"),
        BackupFault::NoBackup { .. } => ("55000", "verify-backup lists what there is"),
        BackupFault::LogGap { .. } => ("58P01", "restore to a moment before it, or to a backup behind it"),
        BackupFault::BeyondLog { .. } => ("55000", "restore to a moment before that, or without --to"),
        BackupFault::NoLedger { .. } | BackupFault::LedgerShort { .. } | BackupFault::LedgerLate { .. } => {
            ("55000", "without it those who were forgotten since would come back; --ledger names one that is elsewhere")
        }
        BackupFault::NoKeys { .. } | BackupFault::KeysOlder { .. } => ("55000", "--keys names where key backups are"),
        BackupFault::KeysReplaced { .. } => {
            ("55000", "restore to a later moment, or with --keys where only key backups from before that stand")
        }
        BackupFault::FolderFilled { .. } => ("55000", "--overwrite lets go of what it holds, but for its root key"),
        BackupFault::Busy => ("55006", "wait until it is over"),
        BackupFault::ErasuresInTheWay { .. } => ("55000", "a nearer target, or fewer erasures meanwhile"),
        BackupFault::Stopped => ("57014", "nothing of it is left"),
    };
    SqlError::new(code, fault.to_string()).hint(hint)
}

fn is_of_room(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn disk_full(error: &StorageError) -> SqlError {
    SqlError::new("53100", error.to_string())
        .hint("reads go on, and writes when there is room again: free some, or erase or delete rows")
}

impl SqlError {
    /// Whether a data subject was forgotten while the statement ran: on a new snapshot it may be run again.
    pub fn is_snapshot_ended(&self) -> bool {
        [snapshot_ended(), transaction_ended()]
            .iter()
            .any(|ended| (self.code, &self.message) == (ended.code, &ended.message))
    }
}

/// 40001: others wrote what a SERIALIZABLE transaction has read.
pub fn not_serializable() -> SqlError {
    let message = "could not serialize access due to read/write dependencies among transactions";
    SqlError::new("40001", message)
        .detail("Reason code: Canceled on identification as a pivot, during commit attempt.")
        .hint("The transaction might succeed if retried.")
}

/// 40001: a data subject was forgotten since the snapshot was taken.
pub fn snapshot_ended() -> SqlError {
    SqlError::new("40001", "the snapshot has ended").hint("a data subject was forgotten; retry the transaction")
}

/// 40001: a data subject was forgotten whose rows, or the schema, the transaction had locked for too long.
pub fn transaction_ended() -> SqlError {
    SqlError::new("40001", "the transaction was ended, as an erasure had waited for it")
        .hint("a data subject was forgotten; retry the transaction")
}
