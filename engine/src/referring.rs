//! The referring thread: where other databases' audit logs end is entered into this one's, as they publish it.
//!
//! ```text
//! another's heads, a file ─▶ its newest line, if its key has signed it ─▶ an entry of this log, if either has gone on
//! ```
//! Each of several databases is so a witness of the others. An entry is a record, too: two that refer to each other and do nothing
//! else fall silent.

use state::SqlError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use storage::audit::{LogReference, PublishedHead, VerifyError, read_heads};
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
        let of =
            |path: &PathBuf| Other { path: path.clone(), keys: others.keys.clone(), referred: None, failing: false };
        let mut referrer = Referrer { others: others.heads.iter().map(of).collect(), own: 0 };
        let database = Arc::downgrade(database);
        let body = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(database) = database.upgrade() else { return };
                referrer.look(&database);
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

struct Referrer {
    others: Vec<Other>,
    /// This log's last record behind the last reference.
    own: u64,
}

/// Another database.
struct Other {
    path: PathBuf,
    keys: Vec<[u8; 32]>,
    /// The head that was referred to last.
    referred: Option<PublishedHead>,
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

impl Referrer {
    /// One record refers to all that have gone on.
    fn look(&mut self, database: &Database) {
        let (store, few) = (&database.store, self.others.len() as u64);
        let has_gone_on = store.audit_records() > self.own;
        let mut found = Vec::new();
        for other in &mut self.others {
            // By so few records the others go on where they have only referred to each other.
            let more_than = if has_gone_on { 0 } else { few };
            let head = other.head(&store.database_id(), more_than);
            other.told(&head);
            found.extend(head.ok().flatten().map(|head| (head, other)));
        }
        if found.is_empty() {
            return;
        }
        let references = found.iter().map(|((head, key), _)| LogReference::to(head, key)).collect::<Vec<_>>();
        let entered =
            database.pipeline.refer(store, &database.published.load(), &references).map_err(Unreferred::Entry);
        self.own = store.audit_records();
        for ((head, _), other) in found {
            other.told(&entered);
            if entered.is_ok() {
                tracing::debug!(target: "dogwood::audit", record = head.sequence, "a head of another database is referred to");
                other.referred = Some(head);
            }
        }
    }
}

impl Other {
    /// Its newest head with the key that has signed it, if it has gone on by more than so many records.
    fn head(&self, own: &[u8; 16], more_than: u64) -> Result<Option<(PublishedHead, [u8; 32])>, Unreferred> {
        let line = last_line(&self.path).map_err(Unreferred::File)?;
        if line.is_empty() {
            return Ok(None);
        }
        let signed = |key: &[u8; 32]| Some((read_heads(key, &line).ok()?.pop()?, *key));
        let found = self.keys.iter().find_map(signed).ok_or(Unreferred::Head(VerifyError::Head))?;
        let head = &found.0;
        if head.database == *own {
            return Err(Unreferred::Own);
        }
        let Some(before) = &self.referred else { return Ok(Some(found)) };
        if head.sequence < before.sequence || head.sequence == before.sequence && head.hash != before.hash {
            return Err(Unreferred::Back { sequence: head.sequence, before: before.sequence });
        }
        Ok((head.sequence - before.sequence > more_than).then_some(found))
    }

    /// Once that it fails, and once that it does not any more.
    fn told<T>(&mut self, done: &Result<T, Unreferred>) {
        let to = self.path.display();
        match done {
            Ok(_) if std::mem::take(&mut self.failing) => {
                tracing::info!(target: "dogwood::audit", %to, "heads of another database are referred to again");
            }
            Err(error) if !std::mem::replace(&mut self.failing, true) => {
                tracing::error!(target: "dogwood::audit", %to, "a head of another database is not referred to: {error}");
            }
            Ok(_) | Err(_) => {}
        }
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
