//! The referring thread: where other databases' audit logs end is entered into this one's, as they publish it.
//!
//! ```text
//! another's heads, a file ─▶ its newest line, if its key has signed it ─▶ an entry of this log, if either has gone on
//! ```
//! Each of several databases is so a witness of the others. An entry is a record, too: two that refer to each other and do nothing
//! else fall silent.

use state::{SqlError, clock};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use storage::audit::{
    AuditActor, AuditEntry, AuditOperation, AuditScope, LogReference, PublishedHead, VerifyError, read_heads_of,
};
use transactions::database::Database;

/// No line of a head is longer.
const LINE_BYTES_MAX: u64 = 4096;

/// Whose heads are referred to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Files to which they publish them.
    pub heads: Vec<PathBuf>,
    /// Their public keys.
    pub keys: Vec<[u8; 32]>,
}

/// The thread. Dropped, it has let go of the database.
pub(crate) struct Referring(Option<(Sender<()>, JoinHandle<()>)>);

impl Referring {
    pub(crate) fn start(database: &Arc<Database>, others: &Others, every: Duration) -> Result<Referring, SqlError> {
        let (stays, ended) = channel::<()>();
        let mut each: Vec<Other> = others.heads.iter().map(|path| Other::of(path.clone(), &others.keys)).collect();
        let database = Arc::downgrade(database);
        let body = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(database) = database.upgrade() else { return };
                refer(&database, &mut each);
            }
        };
        let thread = std::thread::Builder::new().name("referring".into()).spawn(body);
        let thread = thread.map_err(|error| SqlError::new("58030", format!("could not start a thread: {error}")))?;
        Ok(Referring(Some((stays, thread))))
    }
}

impl Drop for Referring {
    fn drop(&mut self) {
        if let Some((stays, thread)) = self.0.take() {
            drop(stays);
            // One that has panicked has let go, too.
            let _ended = thread.join();
        }
    }
}

/// Another database.
struct Other {
    path: PathBuf,
    keys: Vec<[u8; 32]>,
    /// The head that was referred to last, and this log's last record behind that.
    referred: Option<(PublishedHead, u64)>,
    failing: bool,
}

/// Why nothing is referred to.
#[derive(Debug)]
enum Unreferred {
    File(std::io::Error),
    Head(VerifyError),
    Own,
    Back { sequence: u64, before: u64 },
    Entry(SqlError),
}

impl std::fmt::Display for Unreferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreferred::File(error) => write!(f, "the file cannot be read: {error}"),
            Unreferred::Head(error) => error.fmt(f),
            Unreferred::Own => f.write_str("it is this database's own"),
            Unreferred::Back { sequence, before } => {
                write!(f, "another log stands in its place: it ends with record {sequence}, and had {before}")
            }
            Unreferred::Entry(error) => error.fmt(f),
        }
    }
}

fn refer(database: &Database, others: &mut [Other]) {
    for other in others {
        match other.refer(database) {
            Ok(()) => {
                if std::mem::take(&mut other.failing) {
                    tracing::info!(target: "dogwood::audit", to = %other.path.display(), "heads of another database are referred to again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut other.failing, true) {
                    tracing::error!(target: "dogwood::audit", to = %other.path.display(), "a head of another database is not referred to: {error}");
                }
            }
        }
    }
}

impl Other {
    fn of(path: PathBuf, keys: &[[u8; 32]]) -> Other {
        Other { path, keys: keys.to_vec(), referred: None, failing: false }
    }

    fn refer(&mut self, database: &Database) -> Result<(), Unreferred> {
        let line = last_line(&self.path).map_err(Unreferred::File)?;
        if line.is_empty() {
            return Ok(());
        }
        let signed = |key: &[u8; 32]| {
            let head = read_heads_of(std::slice::from_ref(key), &line).ok()?.pop()?;
            Some((head, *key))
        };
        let found = self.keys.iter().find_map(signed).ok_or(Unreferred::Head(VerifyError::Head))?;
        let (head, key) = found;
        let store = &database.store;
        if head.database == store.database_id() {
            return Err(Unreferred::Own);
        }
        if let Some((before, own)) = &self.referred {
            if head.sequence < before.sequence || head.sequence == before.sequence && head.hash != before.hash {
                return Err(Unreferred::Back { sequence: head.sequence, before: before.sequence });
            }
            // By one record it goes on where it has only referred to this log in turn.
            let gone_on = head.sequence - before.sequence;
            if gone_on == 0 || gone_on == 1 && store.audit_records() <= *own {
                return Ok(());
            }
        }
        let published = database.published.load();
        let entry = AuditEntry {
            time_us: clock::now_micros(),
            commit: published.time,
            actor: Arc::new(AuditActor::default()),
            operation: AuditOperation::Refer,
            statement: [0; 8],
            tables: Vec::new(),
            key: None,
            subjects: Vec::new(),
            scope: AuditScope::default(),
            rows: 0,
            payload: None,
        };
        let reference = LogReference::to(&head, &key);
        database.pipeline.refer(store, &published.schema, reference, &entry).map_err(Unreferred::Entry)?;
        tracing::debug!(target: "dogwood::audit", record = head.sequence, "a head of another database is referred to");
        self.referred = Some((head, store.audit_records()));
        Ok(())
    }
}

/// The last line of a file with its end; a line that is being written is none.
fn last_line(path: &PathBuf) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * LINE_BYTES_MAX)))?;
    let mut end = Vec::new();
    file.take(2 * LINE_BYTES_MAX).read_to_end(&mut end)?;
    let Some(whole) = end.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
    let begins = end[..whole].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    Ok(end[begins..=whole].to_vec())
}
