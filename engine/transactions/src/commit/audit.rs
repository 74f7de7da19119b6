//! What commits bring into the audit log: what their statements did and whose rows they wrote, and what was only read.

use super::flush::{Work, WrittenGroup};
use super::stage::Stage;
use super::{
    CommitPipeline, Committer, Outcome, PreparedCommit, REDERIVE_ROWS_MAX, Request, shutting_down, statement_key,
};
use crate::ownership::Derivation;
use planner::catalog::own_tables::{REQUEST_ANSWERED_AT, REQUESTS_MADE};
use repr::{CommitTime, Datum, MicroDbId, RelationId};
use state::SqlError;
use state::audit::{AuditQueue, Taken};
use state::clock;
use state::overlay::Overlay;
use state::published::Published;
use state::shape::Schema;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use storage::audit::{AuditActor, AuditEntry, AuditOperation, AuditScope, LogReference, SUBJECTS_LISTED_MAX};
use storage::{Batch, Store};

/// For so long the next round waits for more, which costs a reader less than a flush of its own.
const GATHERING_PATIENCE: Duration = Duration::from_micros(200);

/// What the flush stage's thread does when it is through: it asks for the round that somebody waits for.
pub(super) fn next_round(commit: &Arc<Stage<Committer>>, audit: &Arc<AuditQueue>) -> impl Fn() + use<> {
    let (commit, audit) = (commit.clone(), audit.clone());
    move || {
        audit.rounds.gather(GATHERING_PATIENCE);
        if audit.rounds.claims() {
            commit.put(Request::Record);
            // By this thread, which flushes it next: no other has to wake up.
            commit.help();
        }
    }
}

impl CommitPipeline {
    /// Writes an audit record by itself, and waits until it is durable.
    pub fn record(&self, store: &Store, schema: &Arc<Schema>, entry: &AuditEntry) -> Result<(), SqlError> {
        let mut batch = Batch::default();
        batch.append_audit(store, entry)?;
        self.record_batch(schema, batch)
    }

    /// Enters where other databases' logs end, in one record, and waits until it is durable.
    pub fn refer(&self, store: &Store, published: &Published, references: &[LogReference]) -> Result<(), SqlError> {
        let entry = AuditEntry {
            time_us: clock::now_micros(),
            commit: published.time,
            actor: Arc::new(AuditActor::default()),
            operation: AuditOperation::Refer,
            statement: [0; 8],
            tables: Arc::default(),
            key: None,
            subjects: Vec::new(),
            scope: AuditScope::default(),
            rows: 0,
            payload: None,
        };
        let mut batch = Batch::default();
        for reference in references {
            batch.append_reference(store, *reference, &entry)?;
        }
        self.record_batch(&published.schema, batch)
    }

    /// Has what waits for the audit log written, for whoever reads it next, and does not wait for the disk. The time of the last
    /// commit that is written with it.
    pub fn record_to_read(&self) -> Result<CommitTime, SqlError> {
        let (reply, written) = sync_channel(1);
        self.commit.put(Request::RecordToRead(reply));
        // By whoever asks, if nobody is at it; the disk is left to the thread that flushes.
        self.commit.help();
        self.flush.rouse();
        written.recv().map_err(|_| shutting_down())?
    }

    /// Has what waits for the audit log written by a commit of its own, and waits until it is durable.
    pub fn record_waiting(&self, schema: &Arc<Schema>) -> Result<(), SqlError> {
        self.record_batch(schema, Batch::default())
    }

    fn record_batch(&self, schema: &Arc<Schema>, batch: Batch) -> Result<(), SqlError> {
        let overlay = Arc::new(Overlay::new(schema.clone()));
        match self.commit(overlay, Box::new(PreparedCommit::of_batch(batch)))? {
            Outcome::Committed(..) => Ok(()),
            Outcome::Refused(error) => Err(error),
            Outcome::Again => Err(SqlError::new("XX000", "an audit record was to be derived again")),
        }
    }

    /// The same, and does not wait for the disk, unless nobody else is at it.
    pub fn record_soon(&self) {
        let alone = self.under_way.load(Ordering::Relaxed) == 0;
        self.commit.put(Request::Record);
        if alone {
            self.help();
        } else {
            self.commit.rouse();
        }
    }

    /// The same by the stage's own thread: whoever asks waits for nothing.
    pub fn record_apart(&self) {
        self.commit.put(Request::Record);
        self.commit.rouse();
    }
}

impl PreparedCommit {
    /// With what the audit log is to say of its statements.
    #[must_use]
    pub(crate) fn audited(mut self, mut entries: Vec<AuditEntry>, overlay: &Overlay) -> PreparedCommit {
        if !overlay.is_small(REDERIVE_ROWS_MAX) {
            name_subjects(&mut entries, overlay, &self.derivation);
        }
        self.audit = entries;
        self
    }

    /// Of nothing but a batch. Nothing was read: no commit that comes first can make it another.
    fn of_batch(batch: Batch) -> PreparedCommit {
        PreparedCommit {
            based_on: CommitTime(u64::MAX),
            derivation: Derivation::default(),
            batch,
            erasures: Vec::new(),
            seen: None,
            sealed_at: None,
            audit: Vec::new(),
        }
    }
}

impl Committer {
    /// Writes what waits for the audit log, if somebody waits for the disk or reads it then.
    pub(super) fn record_for(&mut self, is_awaited: bool, readers: Vec<SyncSender<Result<CommitTime, SqlError>>>) {
        if is_awaited || !readers.is_empty() {
            let recorded = self.record(is_awaited);
            // Who is gone hears nothing.
            readers.into_iter().for_each(|reply| drop(reply.send(recorded.clone())));
        }
    }

    /// A commit of nothing but what waits for the audit log: it changes nothing that anybody reads, and has no time in the order.
    /// The time of the last commit before it. `is_awaited`: somebody waits for the disk.
    fn record(&mut self, is_awaited: bool) -> Result<CommitTime, SqlError> {
        let (mut batch, state) = (Batch::default(), self.current.clone());
        let time = state.time;
        // A commit that came first has taken it.
        if self.audit.waiting() == 0 {
            return Ok(time);
        }
        if let Err(error) = self.store.check_room(&batch) {
            let error = SqlError::from(error);
            self.audit.rounds.not_taken(error.clone());
            return Err(error);
        }
        let started = Instant::now();
        let read = self.audit.take(state.time);
        self.put_statements(&mut batch, &read);
        batch.append_logged(&read.entries);
        match self.store.write(batch) {
            Ok(()) => {
                self.statistics.write.record(started.elapsed());
                if is_awaited && self.under_way.load(Ordering::Relaxed) == 0 {
                    self.store.begin_flush();
                }
                self.written.put(Work::Group(WrittenGroup::of_records(state, read.round, Vec::new())));
                Ok(time)
            }
            Err(error) => {
                let error = SqlError::from(error);
                self.audit.put_back(read, &error);
                Err(error)
            }
        }
    }

    /// Whoever has asked for something waits for it once this commit can be read.
    pub(super) fn note_asked(&self, layer: &Overlay, time: CommitTime) {
        let Some(changes) = layer.table(REQUESTS_MADE) else { return };
        let shape = layer.schema().shape(REQUESTS_MADE);
        let is_open = |row| shape.is_none_or(|shape| shape.datum(row, REQUEST_ANSWERED_AT) == Datum::Null);
        let all_seen = !changes.truncated && changes.spilled_rows() == 0;
        if !all_seen || changes.rows.values().filter_map(|change| change.after.as_ref()).any(is_open) {
            self.audit.settled.asked(time);
        }
    }

    /// The texts of statements that are new to the log.
    pub(super) fn put_statements(&self, batch: &mut Batch, taken: &Taken) {
        for (name, text) in &taken.statements {
            batch.put_meta(&self.store, &statement_key(name), text.as_bytes());
        }
    }

    /// Entries of what a commit's own statements did: they and those of its erasures have its time.
    pub(super) fn audit_commit(
        &self,
        batch: &mut Batch,
        entries: &[AuditEntry],
        time: CommitTime,
    ) -> Result<(), SqlError> {
        entries.iter().try_for_each(|entry| batch.append_audit(&self.store, entry))?;
        batch.date_audit(time);
        Ok(())
    }
}

/// Adds to the entries of a transaction's statements whose rows it wrote in their tables. Where several statements wrote one
/// table, it is of none of them known whose rows it was.
pub(super) fn name_subjects(entries: &mut [AuditEntry], overlay: &Overlay, derivation: &Derivation) {
    let writes = |entry: &AuditEntry, relation: RelationId| entry.tables.contains(&relation);
    // Whose rows those were is not looked up.
    let is_emptied = |relation: RelationId| {
        overlay.table(relation).is_some_and(|changes| changes.truncated)
            || overlay.dropped_tables().iter().any(|table| table.id == relation)
    };
    for place in 0..entries.len() {
        let (mut people, mut more) = (Vec::new(), false);
        for relation in &*entries[place].tables {
            let before = people.len();
            add_subjects(&mut people, *relation, overlay, derivation);
            if people.len() > before {
                more |= entries.iter().filter(|entry| writes(entry, *relation)).count() > 1;
            }
            more |= is_emptied(*relation);
        }
        people.sort_unstable();
        people.dedup();
        let entry = &mut entries[place];
        entry.scope.may_be_more |= more;
        if people.len() > SUBJECTS_LISTED_MAX {
            entry.scope.may_be_more = true;
        }
        match entry.subjects.is_empty() {
            true => entry.subjects = people,
            false => entry.subjects.extend(people),
        }
    }
}

/// The owners of a table's changed rows, before and after; some may stand more than once.
fn add_subjects(people: &mut Vec<MicroDbId>, relation: RelationId, overlay: &Overlay, derivation: &Derivation) {
    for row in derivation.tables.get(&relation).into_iter().flat_map(|rows| rows.values()) {
        people.extend(row.old.iter().chain(&row.new).map(|(owner, _)| *owner));
    }
    people.extend([&derivation.spilled, &derivation.left].into_iter().filter_map(|of| of.get(&relation)).flatten());
    let own = overlay.subjects().filter(|((table, _), _)| *table == relation);
    people.extend(own.filter_map(|(_, now)| *now));
}
