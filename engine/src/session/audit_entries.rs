//! Entries for the audit log on their way to its queue.

use repr::CommitTime;
use state::audit::{AuditMode, ReadBy, Waits};
use state::{SqlError, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::audit::{AuditActor, AuditEntry, AuditOperation};
use transactions::database::Database;

/// So many that wait are written soon, by a thread that answers nobody: some milliseconds of its time.
const WAITING_GOAL: usize = 2_048;
/// More that wait are written at once, by whoever adds to them.
pub(super) const WAITING_MAX: usize = 20_000;

/// Where entries of a session go.
pub(super) struct AuditSink {
    pub database: Arc<Database>,
    pub session: u64,
    pub mode: AuditMode,
    /// Where it is noted what must be durable before the client is answered; none where that is waited for at once.
    pub owed: Option<Arc<OwedRound>>,
}

/// The last round that a client's answer follows; 0 where it follows none.
#[derive(Default)]
pub(super) struct OwedRound(AtomicU64);

impl OwedRound {
    /// None is from here on.
    pub(super) fn take(&self) -> Option<u64> {
        Some(self.0.swap(0, Ordering::Relaxed)).filter(|round| *round > 0)
    }

    pub(super) fn is_owed(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl AuditSink {
    /// The entry is in the log soon, or in the strict mode now.
    pub(super) fn put(&self, entry: AuditEntry) -> Result<(), SqlError> {
        let AuditSink { database, session, mode, owed } = self;
        let is_strict = *mode == AuditMode::Strict;
        let waits = database.audit_apart(*session, entry)?;
        if waits.is_some_and(|waits| waits.entries.is_multiple_of(WAITING_GOAL)) {
            database.pipeline.record_apart();
        }
        match (waits, owed) {
            (Some(waits), Some(owed)) if is_strict && waits.entries <= WAITING_MAX => {
                owed.0.fetch_max(waits.round, Ordering::Relaxed);
                Ok(())
            }
            (waits, _) => self.settle(waits, is_strict),
        }
    }

    fn settle(&self, waits: Option<Waits>, is_strict: bool) -> Result<(), SqlError> {
        let database = &self.database;
        match waits {
            Some(waits) if is_strict || waits.entries > WAITING_MAX => {
                database.audit.rounds.wait(waits.round, || database.pipeline.record_soon())
            }
            // There is no log: it says why.
            None if is_strict => database.pipeline.record_waiting(&database.published.load().schema),
            Some(_) | None => Ok(()),
        }
    }
}

/// What an entry says beside what was read.
#[derive(Clone)]
pub(super) struct EntryHead {
    pub actor: Arc<AuditActor>,
    pub operation: AuditOperation,
    pub statement: [u8; 8],
}

impl EntryHead {
    /// The entry of now.
    pub(super) fn entry(&self, read: ReadBy, rows: u64, commit: CommitTime) -> AuditEntry {
        let ReadBy { tables, key, subjects, scope } = read;
        AuditEntry {
            time_us: clock::now_micros(),
            commit,
            actor: self.actor.clone(),
            operation: self.operation,
            statement: self.statement,
            tables,
            key,
            subjects,
            scope,
            rows,
            payload: None,
        }
    }
}

/// What a subscription is given, told once a second.
pub(super) struct Deliveries {
    head: EntryHead,
    sink: AuditSink,
    read: ReadBy,
    rows: u64,
    last: Instant,
}

/// What is given goes into the log at the latest after so long.
pub(super) const TOLD_EVERY: Duration = Duration::from_secs(1);

impl Deliveries {
    /// Of what was read, through this sink.
    pub(super) fn of(head: EntryHead, sink: AuditSink, read: ReadBy) -> Deliveries {
        let head = EntryHead { operation: AuditOperation::Deliver, ..head };
        Deliveries { head, sink, read, rows: 0, last: Instant::now() }
    }

    /// So many rows were given.
    pub(super) fn given(&mut self, rows: u64) -> Result<(), SqlError> {
        self.rows += rows;
        if self.last.elapsed() >= TOLD_EVERY { self.tell() } else { Ok(()) }
    }

    fn tell(&mut self) -> Result<(), SqlError> {
        self.last = Instant::now();
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(());
        }
        let commit = self.sink.database.published.load().time;
        self.sink.put(self.head.entry(self.read.clone(), rows, commit))
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        if let Err(error) = self.tell() {
            tracing::error!(target: "dogwood::audit", "what was given could not be recorded: {error}");
        }
    }
}
