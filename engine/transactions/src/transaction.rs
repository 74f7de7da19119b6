//! A transaction on its connection: snapshot, overlay, savepoints, locks, deferred checks.
//!
//! READ COMMITTED takes a fresh snapshot a statement, REPEATABLE READ one for all. It never touches storage
//! but through a reader, and reaches the commit thread once, at COMMIT.

mod auditing;
mod imported_snapshot;
mod moved_keys;
mod notices;
mod savepoints;
mod spilling;
mod temporary;

pub use moved_keys::Moved;

use crate::commit::{self, Committed, Outcome, PreparedCommit};
use crate::database::Database;
use crate::index_builds::IndexBuild;
use crate::modes::{Isolation, Modes};
use crate::ownership::Derivation;
use crate::writer::foreign_key::{self, DeferredCheck};
use planner::catalog::{Catalog, ConstraintName};
use repr::{CommitTime, RelationId, poll};
use state::SqlError;
use state::audit::ReadObserver;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{Asker, Granted, LockKey, LockMark, LockMode, Patience, TransactionId};
use state::notifications::Announcement;
use state::overlay::{Overlay, UndoPosition};
use state::ownership_hints::{KeptParents, ObservedOwners, OwnershipHints};
use state::parallel;
use state::published::Published;
use state::read_memo::ReadMemo;
use state::reader::Reader;
use state::snapshot_holders::{Holder, SnapshotHold};
use state::temporary::{PersonalReads, TemporaryChanges};
use state::usage::TableCounters;
use state::validation::ReadSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::audit::AuditEntry;

struct Savepoint {
    name: String,
    mark: UndoPosition,
    locks: LockMark,
    modes: Modes,
    deferred: usize,
    constraint_modes: usize,
    cursors: usize,
    moved: usize,
    audit: usize,
}

/// REPEATABLE READ's snapshot.
enum OneSnapshot {
    /// Taken by the first statement.
    Open,
    Taken(Arc<Published>, Arc<SnapshotHold>),
    /// A data subject was forgotten since it was taken: no statement is answered any more.
    Ended,
}

/// Owners derived for a transaction's changes, and from what.
pub struct Derived {
    /// The state without them.
    pub old: LayeredSnapshot,
    /// The changes.
    pub overlay: Arc<Overlay>,
    /// The owners.
    pub derivation: Derivation,
}

/// See `Transaction::share_snapshot`.
struct SharedSnapshot {
    snapshot: LayeredSnapshot,
    /// A row that it shows was changed by somebody else.
    lost: bool,
}

/// See `Transaction::keep_reads`.
struct MemoOfReads {
    recall: Arc<ReadMemo>,
    /// What was committed when that was asked for last.
    snapshot: Option<Arc<LayeredSnapshot>>,
}

/// A published state, held for a session.
pub type HeldState = (Arc<Published>, Arc<SnapshotHold>);

/// A transaction under way.
pub struct Transaction {
    database: Arc<Database>,
    /// The session that it is of.
    holder: Arc<Holder>,
    /// Its beginning.
    pub begun: Begun,
    /// How it was begun.
    pub modes: Modes,
    overlay: Arc<Overlay>,
    /// What it has read.
    pub(crate) reads: Reads,
    /// What waits for its end.
    pub pending: Pending,
    at_commit: AtCommit,
}

/// When a transaction began.
pub struct Begun {
    id: TransactionId,
    /// `now()`: microseconds since 2000-01-01.
    pub at: i64,
    /// For `transaction_timeout`.
    pub instant: Instant,
}

/// What the statement under way reads, and has read.
#[derive(Default)]
struct StatementReads {
    /// What all its parts read, if it has several.
    shared: Option<SharedSnapshot>,
    /// What was read of what is committed, while that is kept.
    recalling: Option<MemoOfReads>,
    /// Whether it has read what is personal, where that matters.
    personal: Option<Arc<PersonalReads>>,
    /// What it reads, for the audit log.
    observer: Option<Arc<ReadObserver>>,
}

/// What a transaction has read.
pub(crate) struct Reads {
    snapshot: OneSnapshot,
    /// What the statement under way reads, if that was chosen for it.
    pinned: Option<HeldState>,
    /// A statement has taken a snapshot.
    has_looked: bool,
    /// What a SERIALIZABLE one has read.
    set: Arc<ReadSet>,
    /// Of the statement under way.
    statement: StatementReads,
    /// Whose copies the rows were read from that it has changed.
    owners_seen: Arc<ObservedOwners>,
    /// Referenced rows that it keeps from going.
    pub(crate) parents: KeptParents,
}

/// What waits for a transaction's end, or for a savepoint that it goes back to.
#[derive(Default)]
pub struct Pending {
    savepoints: Vec<Savepoint>,
    /// Names of the cursors that it has declared, in order; some may be closed.
    pub cursors: Vec<String>,
    /// Constraint checks put off to COMMIT; while there are savepoints, those that were done early too: what is rolled back
    /// may have been what they needed.
    pub deferred: Vec<DeferredCheck>,
    /// Rows that have other keys since, or are gone, in order, while there are cursors that may stand on them.
    pub moved: Vec<Moved>,
    /// What its statements did, for the audit log.
    audit: Vec<AuditEntry>,
    /// Indexes that it has filled beside commits.
    pub(crate) builds: Vec<IndexBuild>,
    /// What SET CONSTRAINTS said, in order: names (`None` is ALL), deferred or not.
    pub constraint_modes: Vec<(Option<Vec<String>>, bool)>,
}

/// What COMMIT finds.
#[derive(Default)]
struct AtCommit {
    /// Kept by a statement that is the transaction's last.
    derived: Option<Derived>,
    /// What COMMIT hands over, if it was prepared and is waited for.
    prepared: Option<Box<PreparedCommit>>,
    /// What is told to those who listen.
    announcement: Option<Arc<Announcement>>,
    /// What it leaves of temporary objects, once that is apart.
    temporary: Option<TemporaryChanges>,
    /// Temporary tables that it has filled from personal rows, each with the state that these were first read of.
    tainted: BTreeMap<RelationId, CommitTime>,
    /// Who has to be told of its changes is written.
    has_noted: bool,
    /// The last definition was made while `dogwood.restoring` was on: the graph may be incomplete.
    restoring: bool,
}

// An erasure leaves whoever holds a lock so long to end by itself, once it has waited for as long as it should.
const INSISTENCE: Duration = Duration::from_millis(20);
// A derivation that loses against others is repeated; its rows being locked, it wins in the end.
const PREPARE_ATTEMPTS_MAX: usize = 100;

impl Transaction {
    /// Begins one.
    pub fn begin(database: &Arc<Database>, holder: &Arc<Holder>, modes: Modes, now: i64) -> Transaction {
        let schema = database.published.load().schema.clone();
        let id = database.next_transaction();
        holder.fate.begin(id);
        let reads = Reads {
            pinned: None,
            snapshot: OneSnapshot::Open,
            has_looked: false,
            set: Arc::default(),
            statement: StatementReads::default(),
            owners_seen: Arc::default(),
            parents: KeptParents::default(),
        };
        Transaction {
            database: database.clone(),
            holder: holder.clone(),
            begun: Begun { id, at: now, instant: Instant::now() },
            modes,
            overlay: Arc::new(Overlay::new(schema)),
            reads,
            pending: Pending::default(),
            at_commit: AtCommit::default(),
        }
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }
    /// Its id, for locks.
    pub fn id(&self) -> TransactionId {
        self.begun.id
    }
    /// The same, with its session.
    pub fn asker(&self) -> Asker {
        Asker::transaction(self.begun.id, self.holder.session)
    }
    /// Its changes.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }
    /// Its changes, shared.
    pub fn shared_overlay(&self) -> Arc<Overlay> {
        self.overlay.clone()
    }
    /// Its changes, to add to. Copies them if a reader still holds them.
    pub fn overlay_mut(&mut self) -> &mut Overlay {
        Arc::make_mut(&mut self.overlay)
    }
    /// Whether a statement has taken a snapshot, or anything was written.
    pub fn has_begun(&self) -> bool {
        self.reads.has_looked || !self.overlay.is_empty()
    }

    /// Keeps owners that were derived for the changes as they are now, for COMMIT.
    pub fn keep_derived(&mut self, derived: Derived) {
        self.at_commit.derived = Some(derived);
    }

    /// The owners of the changes as they are now, if they were kept.
    pub fn take_derived(&mut self) -> Option<Derived> {
        self.at_commit.derived.take().filter(|derived| Arc::ptr_eq(&derived.overlay, &self.overlay))
    }

    /// Has COMMIT tell this to those who listen.
    pub fn announce(&mut self, announcement: Option<Announcement>) {
        self.at_commit.announcement = announcement.map(Arc::new);
    }

    /// Whether `dogwood.restoring` is on while it defines.
    pub(crate) fn define_while_restoring(&mut self, restoring: bool) {
        self.at_commit.restoring = restoring;
    }

    /// What a new statement reads: its snapshot under its own changes. 40001 if a data subject was forgotten
    /// since a REPEATABLE READ snapshot was taken.
    pub fn statement_snapshot(&mut self) -> Result<LayeredSnapshot, SqlError> {
        self.check_not_ended()?;
        self.release_ended();
        self.reads.has_looked = true;
        if let Some(SharedSnapshot { snapshot, .. }) = &self.reads.statement.shared {
            return Ok(snapshot.clone());
        }
        let (base, hold) = match (&self.reads.snapshot, self.modes.isolation) {
            (OneSnapshot::Ended, _) => return Err(state::error::snapshot_ended()),
            (OneSnapshot::Taken(base, hold), _) => (base.clone(), hold.clone()),
            (OneSnapshot::Open, isolation) => {
                let (base, hold) = match &self.reads.pinned {
                    Some(pinned) => pinned.clone(),
                    None => {
                        if isolation.is_of_one_snapshot() {
                            // What its later statements read is not known yet.
                            self.database.pipeline.publication.catch_up();
                        }
                        let (base, hold) = self.database.held(&self.holder);
                        (base, Arc::new(hold))
                    }
                };
                if isolation.is_of_one_snapshot() {
                    self.reads.snapshot = OneSnapshot::Taken(base.clone(), hold.clone());
                }
                (base, hold)
            }
        };
        let reads = (self.modes.isolation == Isolation::Serializable).then(|| self.reads.set.clone());
        let personal = self.reads.statement.personal.clone();
        let observer = self.reads.statement.observer.clone();
        Ok(self.over(base).held(hold).noting_reads(reads).noting_personal(personal).observed(observer))
    }

    /// From here on all parts of the statement under way read the same, whatever they change; until `end_shared_snapshot`.
    pub fn share_snapshot(&mut self) -> Result<(), SqlError> {
        let snapshot = self.statement_snapshot()?;
        self.reads.statement.shared = Some(SharedSnapshot { snapshot, lost: false });
        Ok(())
    }

    /// Whether all parts of the statement read the same.
    pub(crate) fn shares_snapshot(&self) -> bool {
        self.reads.statement.shared.is_some()
    }

    /// A row that the shared snapshot shows was changed by somebody else: what was done over it is no good.
    pub(crate) fn lose_shared_snapshot(&mut self) {
        if let Some(shared) = &mut self.reads.statement.shared {
            shared.lost = true;
        }
    }

    /// See `share_snapshot`. Whether the statement has to be done again over another one, which there is in READ COMMITTED:
    /// a row that it changes has changed, or a data subject was forgotten since.
    pub fn end_shared_snapshot(&mut self) -> bool {
        let Some(SharedSnapshot { snapshot, lost }) = self.reads.statement.shared.take() else { return false };
        let is_over = lost || self.database.check_not_ended(snapshot.time()).is_err();
        is_over && !self.modes.isolation.is_of_one_snapshot() && self.check_not_ended().is_ok()
    }

    /// What it has read must not have been written since, if it is SERIALIZABLE.
    fn validated(&self, prepared: PreparedCommit) -> Box<PreparedCommit> {
        let seen = match (&self.reads.snapshot, self.modes.isolation) {
            (OneSnapshot::Taken(base, _), Isolation::Serializable) => Some((self.reads.set.marks(), base.time)),
            _ => None,
        };
        Box::new(PreparedCommit { seen, ..prepared }.audited(self.pending.audit.clone(), &self.overlay))
    }

    /// Whether all its statements read one snapshot, which is taken.
    pub fn has_snapshot(&self) -> bool {
        matches!(self.reads.snapshot, OneSnapshot::Taken(..))
    }

    /// The statement under way reads this state, or again what is newest.
    pub fn pin(&mut self, pinned: Option<HeldState>) {
        self.reads.pinned = pinned;
    }

    /// Lets go of a snapshot that has ended.
    pub fn release_ended(&mut self) {
        if let OneSnapshot::Taken(base, _) = &self.reads.snapshot
            && self.database.check_not_ended(base.time).is_err()
        {
            self.reads.snapshot = OneSnapshot::Ended;
        }
    }

    /// As `statement_snapshot`, for a statement that changes the rows that it looks up.
    pub(crate) fn changing_snapshot(&mut self) -> Result<LayeredSnapshot, SqlError> {
        Ok(self.statement_snapshot()?.noting(self.reads.owners_seen.clone()))
    }

    /// What is committed now, under its own changes: what constraints are checked against.
    pub fn latest_snapshot(&mut self) -> LayeredSnapshot {
        let base = self.database.latest();
        self.over(base)
    }

    /// Where is counted what is done with a table.
    pub(crate) fn uses(&self, relation: RelationId) -> Arc<TableCounters> {
        self.database.usage().of_table(relation)
    }

    /// What is committed now, without its own changes.
    pub fn committed_snapshot(&mut self) -> LayeredSnapshot {
        let base = self.database.latest();
        self.below(base)
    }

    /// Keeps what is read of what is committed, as long as nothing else is committed, for a statement that asks again and
    /// again; until `forget_reads`.
    pub fn keep_reads(&mut self) {
        let recall = Arc::new(ReadMemo::new(self.database.latest().time));
        self.reads.statement.recalling = Some(MemoOfReads { recall, snapshot: None });
    }

    /// See `keep_reads`.
    pub fn forget_reads(&mut self) {
        self.reads.statement.recalling = None;
    }

    /// As `committed_snapshot`: between `keep_reads` and `forget_reads` the same one as long as nothing else is committed.
    pub fn committed_snapshot_again(&mut self) -> Arc<LayeredSnapshot> {
        let base = self.database.latest();
        if let Some(MemoOfReads { snapshot: Some(snapshot), .. }) = &self.reads.statement.recalling
            && snapshot.is_over(&base)
        {
            return snapshot.clone();
        }
        let snapshot = Arc::new(self.below(base));
        if let Some(recalling) = &mut self.reads.statement.recalling {
            recalling.snapshot = Some(snapshot.clone());
        }
        snapshot
    }

    fn over(&mut self, base: Arc<Published>) -> LayeredSnapshot {
        if !self.overlay.changes_schema() && self.overlay.catalog().version != base.catalog().version {
            Arc::make_mut(&mut self.overlay).follow(&base.schema);
        }
        let snapshot = self.below(base);
        if !self.temporary().in_use() {
            return snapshot.under(self.overlay.clone());
        }
        let seen = self.temporary().schema(self.overlay.schema(), self.overlay.temporary());
        Arc::make_mut(&mut self.overlay).see(seen.clone());
        snapshot.under(self.overlay.clone()).seeing(seen)
    }

    fn below(&mut self, base: Arc<Published>) -> LayeredSnapshot {
        let time = base.time;
        let mut snapshot = LayeredSnapshot::new(self.database.store.clone(), base.clone()).keeping();
        if self.temporary().in_use() {
            let committed = self.temporary().schema(&base.schema, None);
            snapshot = self.temporary().under(snapshot, &committed);
        }
        let Some(MemoOfReads { recall, .. }) = &mut self.reads.statement.recalling else { return snapshot };
        if recall.time() != time {
            *recall = Arc::new(ReadMemo::new(time));
        }
        snapshot.recalling(recall.clone())
    }

    /// 40001 if an erasure has ended the transaction.
    pub fn check_not_ended(&self) -> Result<(), SqlError> {
        if self.holder.fate.is_ended(self.begun.id) { Err(state::error::transaction_ended()) } else { Ok(()) }
    }

    /// For `QueryLimits`: whether it has ended, or a snapshot of this time.
    pub fn ended_since(&self, time: CommitTime) -> Arc<dyn Fn() -> Option<SqlError> + Send + Sync> {
        let (database, holder, id) = (self.database.clone(), self.holder.clone(), self.begun.id);
        Arc::new(move || {
            let ended = || holder.fate.is_ended(id).then(state::error::transaction_ended);
            database.check_not_ended(time).err().or_else(ended)
        })
    }

    /// No erasure ends it from here on: it is one, or what it does now is to be finished first.
    pub fn shield(&self) {
        self.holder.fate.shield(self.begun.id);
    }

    /// See `shield`.
    pub fn unshield(&self) {
        self.holder.fate.open(self.begun.id);
    }

    /// Takes a lock until the transaction ends.
    pub fn lock(&self, key: LockKey, mode: LockMode, patience: &Patience) -> Result<Granted, SqlError> {
        self.check_not_ended()?;
        poll::step()?;
        let ended = || match &self.reads.snapshot {
            OneSnapshot::Taken(base, _) => self.database.check_not_ended(base.time).err(),
            OneSnapshot::Open | OneSnapshot::Ended => {
                let shared = self.reads.statement.shared.as_ref();
                shared.and_then(|shared| self.database.check_not_ended(shared.snapshot.time()).err())
            }
        };
        let ended = || self.check_not_ended().err().or_else(ended);
        let (locks, asker) = (&self.database.sessions.locks, self.asker());
        let Some(insists_from) = patience.insists_from else {
            return locks.lock(asker, key, mode, patience, &ended);
        };
        let until = patience.timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let round = insists_from.saturating_duration_since(Instant::now()).max(INSISTENCE);
            let round = until.map_or(round, |until| round.min(until.saturating_duration_since(Instant::now())));
            let round = Patience { timeout: Some(round), ..patience.clone() };
            match locks.lock(asker, key.clone(), mode, &round, &ended) {
                Err(error) if error.code == "55P03" && until.is_none_or(|until| Instant::now() < until) => {}
                outcome => return outcome,
            }
            for holder in locks.holders_against(asker, &key, mode) {
                // It cannot be committed any more, whatever it does.
                if self.database.sessions.holders.end_transaction(holder) {
                    locks.release(holder);
                }
            }
        }
    }

    /// Where the overlay stands, to undo a statement.
    pub fn mark(&self) -> UndoPosition {
        self.overlay.mark()
    }
    /// Takes back all changes since the mark.
    pub fn roll_back_to(&mut self, mark: UndoPosition) {
        self.pending.builds.retain(|build| build.mark < mark);
        // A helper may read of it still: it is not copied to be thrown away.
        match self.overlay.kept(mark) {
            Some(kept) => {
                self.let_go_of_spilled();
                parallel::discard(std::mem::replace(&mut self.overlay, Arc::new(kept)));
            }
            None => Arc::make_mut(&mut self.overlay).roll_back(mark),
        }
    }

    /// Takes back what a failed statement changed; where there is no savepoint to go back to, all there is, which is quicker.
    pub fn undo_failed(&mut self, mark: UndoPosition) {
        self.roll_back_to(if self.has_savepoints() { mark } else { UndoPosition::default() });
    }

    /// A statement has failed: what was locked since the last savepoint is free, for nothing that was done under it stays.
    pub fn fail(&mut self) {
        let locks = self.pending.savepoints.last().map_or_else(LockMark::default, |savepoint| savepoint.locks);
        self.release_since(locks);
    }

    fn release_since(&mut self, locks: LockMark) {
        self.database.sessions.locks.release_since(self.begun.id, locks);
        // What was found under these locks may go or change hands.
        self.reads.parents = KeptParents::default();
        self.reads.owners_seen = Arc::default();
    }

    /// Whether a DEFERRABLE constraint waits for COMMIT.
    pub(crate) fn is_deferred(&self, constraint: &ConstraintName) -> bool {
        if !constraint.deferrable {
            return false;
        }
        let named = |names: &Option<Vec<String>>| names.as_ref().is_none_or(|names| names.contains(&constraint.name));
        let said = self.pending.constraint_modes.iter().rev().find(|(names, _)| named(names));
        said.map_or(constraint.initially_deferred, |(_, deferred)| *deferred)
    }

    /// COMMIT: deferred checks, owners, one commit. Locks are freed whatever comes of it. Who cancels it, or is out of time,
    /// before the pipeline takes over has changed nothing (57014); afterwards it ends, and says what it did.
    pub fn commit(mut self, patience: &Patience) -> Result<Committed, SqlError> {
        // Who commits lets go of its locks soon by itself.
        self.shield();
        let mut prepared = self.at_commit.prepared.take();
        let announcement = self.at_commit.announcement.take();
        if prepared.is_none() && !self.is_to_be_committed(patience)? {
            self.audited(false);
            self.keep_temporary();
            if let Some(announcement) = announcement {
                announcement.deliver();
            }
            return Ok(Committed::default());
        }
        for _ in 0..PREPARE_ATTEMPTS_MAX {
            let prepared = match prepared.take() {
                Some(prepared) => prepared,
                None => match self.prepare()? {
                    Some(prepared) => prepared,
                    None => continue,
                },
            };
            patience.check()?;
            if !self.holder.fate.hand_over(self.begun.id) {
                return Err(state::error::transaction_ended());
            }
            // Whatever ends a statement comes too late from here on: only the outcome is to be told.
            let _alone = poll::alone();
            self.pending.builds.iter_mut().for_each(IndexBuild::hand_over);
            let pipeline = &self.database.pipeline;
            let outcome = pipeline.commit_announcing(self.overlay.clone(), prepared, announcement.clone())?;
            self.pending.builds.iter_mut().for_each(|build| build.hear(&outcome));
            match outcome {
                Outcome::Committed(committed) => {
                    self.audited(true);
                    self.keep_temporary();
                    return Ok(committed);
                }
                Outcome::Refused(error) => return Err(error),
                Outcome::Again => {}
            }
        }
        Err(kept_changing())
    }

    /// The first half of COMMIT, if the other half can be left to the pipeline: nothing but the client waits for it. Else
    /// it is kept for `commit`, as far as it was done.
    pub fn prepare_apart(&mut self, patience: &Patience) -> Result<Option<Box<PreparedCommit>>, SqlError> {
        if self.overlay.changes_schema()
            || !self.overlay.is_small(commit::REDERIVE_ROWS_MAX)
            || !self.is_to_be_committed(patience)?
        {
            return Ok(None);
        }
        self.at_commit.prepared = self.prepare()?;
        patience.check()?;
        let prepared = self.at_commit.prepared.take_if(|prepared| prepared.erasures.is_empty());
        if prepared.is_some() && !self.holder.fate.hand_over(self.begun.id) {
            return Err(state::error::transaction_ended());
        }
        Ok(prepared)
    }

    /// The other half. Locks are freed before `hear` is called, whatever came of it.
    pub fn hand_over(
        mut self: Box<Self>,
        prepared: Box<PreparedCommit>,
        hear: impl FnOnce(Result<Committed, SqlError>) + Send + 'static,
    ) {
        let (database, overlay) = (self.database.clone(), self.overlay.clone());
        let hear = move |outcome| {
            // Not before the client is told: nobody waits for this memory.
            let _changes = self.overlay.clone();
            if matches!(outcome, Outcome::Committed(_)) {
                self.audited(true);
                self.keep_temporary();
            }
            drop(self);
            hear(match outcome {
                Outcome::Committed(committed) => Ok(committed),
                Outcome::Refused(error) => Err(error),
                Outcome::Again => Err(kept_changing()),
            });
        };
        database.pipeline.hand_over(overlay, prepared, Box::new(hear));
    }

    /// Whether there is something to commit; its deferred checks are done then.
    fn is_to_be_committed(&mut self, patience: &Patience) -> Result<bool, SqlError> {
        self.check_not_ended()?;
        self.release_ended();
        if self.overlay.is_empty() {
            return Ok(false);
        }
        if let OneSnapshot::Ended = self.reads.snapshot {
            // What it writes may have been read from the person who is forgotten.
            return Err(state::error::snapshot_ended());
        }
        if self.overlay.changes_schema() {
            // Those who restore another database see to its own.
            let own = Catalog::of_database(self.overlay.catalog(), self.database_id());
            planner::ownership::check(&own, self.at_commit.restoring)?;
        }
        foreign_key::check_deferred(self, patience, None)?;
        self.forget_tainted();
        self.set_temporary_apart();
        self.note_recipients()?;
        Ok(!self.overlay.is_empty())
    }

    /// Owners and storage operations as of now; none if an erasure of somebody else took the state away under it.
    fn prepare(&mut self) -> Result<Option<Box<PreparedCommit>>, SqlError> {
        // What is derived stands as long as what it was derived from; that is validated like all else.
        let (time, prepared) = match self.take_derived() {
            Some(Derived { mut old, derivation, .. }) => {
                let (time, prepared) = (old.time(), commit::seal(&old, &self.overlay, derivation, old.time()));
                parallel::discard_many(self.overlay.len(), || old.take_recall());
                (time, prepared)
            }
            None => {
                let base = self.database.latest();
                self.pending.builds.iter().try_for_each(|build| build.follow(&self.overlay, &base))?;
                // Of no use to a second attempt: what it says may have changed.
                let known = OwnershipHints::take(&self.reads.owners_seen, &mut self.reads.parents);
                let (mut time, mut old) = (base.time, LayeredSnapshot::new(self.database.store.clone(), base));
                if let Some(since) = known.since()
                    && !self.overlay.changes_schema()
                {
                    time = time.min(since);
                    old = old.knowing(Arc::new(known));
                }
                (time, commit::prepare(&old, &self.overlay, time))
            }
        };
        match prepared {
            Err(error) if error.code == "40001" && self.database.check_not_ended(time).is_err() => Ok(None),
            prepared => Ok(Some(self.validated(prepared?))),
        }
    }
}

fn kept_changing() -> SqlError {
    SqlError::new("40001", "could not commit: the owners of its rows kept changing").hint("retry the transaction")
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.audit_undone();
        // While their numbers are nobody else's.
        self.pending.builds.clear();
        self.holder.fate.leave(self.begun.id);
        self.database.sessions.exchange.exported.end(self.begun.id);
        self.database.sessions.locks.release(self.begun.id);
        self.let_go_of_spilled();
        parallel::discard_many(self.overlay.len(), || self.overlay.clone());
    }
}
