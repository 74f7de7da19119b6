//! The commit pipeline: one stage orders all writes, a second makes them durable and publishes them.
//!
//! ```text
//! connections ─▶ queue ─▶ COMMIT STAGE                          ─▶ FLUSH STAGE
//!                          all that waits = one group               all that was written meanwhile
//!                          per transaction, in order:               one fdatasync for all of it, beside VIEW WORKERS
//!                            validate, or derive again              destroy the keys of the erased
//!                          one WriteBatch (no sync)                 publish the last state, answer all
//! ```
//! A stage is worked at by one thread at a time: by the connection of a transaction that is alone, else by the stage's
//! own thread. The commit stage goes on while the flush stage waits for the disk: it derives against what is
//! written, clients read what is published. After the WriteBatch nothing can refuse a transaction. A failed flush
//! stops the server: what was acknowledged must be on disk, and a second fsync would lie.

mod audit;
mod clock;
mod flush;
mod reseal;
mod stage;
mod teller;

use crate::index_builds::Builds;
use crate::ownership::{self, Between, Derivation, orphan, placement};
use crate::receipt::{self, Erasure};
use arc_swap::ArcSwap;
use clock::{ClockThread, TickRequest};
use flush::view_messages::ViewsToTell;
use flush::{Flusher, GroupChanges, Work, WrittenGroup};
use repr::{CommitTime, MicroDbId, RelationId, RowKey};
use reseal::ResealRequest;
use stage::{Stage, Worker, spawn};
use state::SqlError;
use state::audit::AuditQueue;
use state::clock::now_micros;
use state::layered_snapshot::LayeredSnapshot;
use state::notifications::Announcement;
use state::overlay::{Overlay, Owners};
use state::parallel;
use state::published::Published;
use state::sequence::Sequences;
use state::settings::server::ServerSettings;
use state::shape::Schema;
use state::statistics::Statistics;
use state::validation::{Marks, RecentWrites};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use storage::audit::AuditEntry;
use storage::{Batch, Store};
use teller::Teller;
use views::automatic::AutomaticViews;
use views::message::{Message, ViewRequest};
use views::placement::{Busy, Placement};
use views::publication::{Publication, Waits};
use views::subscription::Subscriptions;
use views::worker::{Surroundings, ViewWorker};

/// The key in storage's `meta` under which the last commit's time stands.
pub const META_TIME: &[u8] = storage::COMMIT_TIME;
/// The key in storage's `meta` under which the catalog stands.
pub(crate) const META_CATALOG: &[u8] = b"catalog";

/// The key in storage's `meta` under which the text of a statement of the audit log stands, without literals.
pub fn statement_key(name: &[u8; 8]) -> Vec<u8> {
    [b"audit/statement/".as_slice(), name].concat()
}

/// How much view workers give way to others: see nice(2).
const VIEW_WORKER_NICENESS: i32 = 5;
const VIEW_MESSAGES_MAX: usize = 4_096;
const GROUP_TRANSACTIONS_MAX: usize = 1_024;
/// Larger transactions that lost a race are derived again on their own connection.
pub(crate) const REDERIVE_ROWS_MAX: usize = 1_000;

/// A transaction, placed and sealed on its connection.
pub struct CommitRequest {
    overlay: Arc<Overlay>,
    // It is handed from hand to hand, and has some hundreds of bytes.
    prepared: Box<PreparedCommit>,
    reply: Reply,
}

impl CommitRequest {
    /// Too large to be derived again with others waiting, or to stand beside others in one write.
    fn is_large(&self) -> bool {
        !self.overlay.is_small(REDERIVE_ROWS_MAX) || self.prepared.batch.is_set_aside()
    }
}

/// Hears what became of a transaction, on the thread that knows it first; it must not wait there. Dropped unheard when
/// the server stops.
pub type Hear = Box<dyn FnOnce(Outcome) + Send>;

/// What a transaction leaves with the pipeline.
struct Reply {
    hear: Hear,
    under_way: Arc<AtomicUsize>,
}

impl Reply {
    fn answer(self, outcome: Outcome) {
        // Whoever hears it and comes again at once may be alone.
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        (self.hear)(outcome);
    }
}

/// What the queue carries, in commit order.
enum Request {
    Commit(CommitRequest),
    /// A view for queries is wanted, or no longer.
    View(ViewRequest),
    /// The clock goes on.
    Tick(TickRequest),
    /// What waits for the audit log is to be written.
    Record,
    /// The same, and somebody reads it then.
    RecordToRead(SyncSender<Result<CommitTime, SqlError>>),
    /// Rows are to be sealed anew.
    Reseal(ResealRequest),
}

/// Owners and storage operations, valid as long as what was read stands.
pub struct PreparedCommit {
    /// The published time that it was derived at.
    pub based_on: CommitTime,
    /// The derived owners.
    pub derivation: Derivation,
    /// The storage operations, receipts included.
    pub batch: Batch,
    /// The erasures in it.
    pub erasures: Vec<Erasure>,
    /// What a SERIALIZABLE transaction has read, and as of when: nobody may have written it since.
    pub seen: Option<(Marks, CommitTime)>,
    /// So many keys of people were being replaced when it was sealed; none of what has no seal.
    pub sealed_at: Option<u64>,
    /// What the audit log says of its statements; whose rows they wrote stands in it of a large one, and is added to others.
    pub audit: Vec<AuditEntry>,
}

/// What became of a transaction.
pub enum Outcome {
    /// Durable and published.
    Committed(Committed),
    /// Refused; nothing of it remains.
    Refused(SqlError),
    /// It lost a race and is too large to be derived again here: derive it again and come back.
    Again,
}

/// A transaction that stands.
#[derive(Default)]
pub struct Committed {
    /// The persons erased by it.
    pub erasures: Vec<Erasure>,
    /// What it waited for the disk.
    pub flushes: Flushes,
}

/// How long a commit waited for the disk; the flushes are one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flushes {
    /// For the write-ahead log.
    pub log: Duration,
    /// For the keyring, where keys were destroyed.
    pub keys: Duration,
}

/// Derives and seals a transaction against a state.
pub fn prepare(
    old: &LayeredSnapshot,
    overlay: &Arc<Overlay>,
    based_on: CommitTime,
) -> Result<PreparedCommit, SqlError> {
    let new = old.clone().under(overlay.clone());
    let derivation = ownership::derive(&Between { old, new: &new, overlay })?;
    seal(old, overlay, derivation, based_on)
}

/// Seals a transaction whose owners are derived against a state already.
pub fn seal(
    old: &LayeredSnapshot,
    overlay: &Arc<Overlay>,
    derivation: Derivation,
    based_on: CommitTime,
) -> Result<PreparedCommit, SqlError> {
    let new = old.clone().under(overlay.clone());
    let sealed_at = Some(new.store().key_renewals_begun());
    let between = Between { old, new: &new, overlay };
    orphan::check(&derivation, new.schema())?;
    let derivation = Arc::new(derivation);
    let (mut batch, spilled) = placement::build(old, &new, overlay, &derivation)?;
    if overlay.changes_schema() || overlay.tables().any(|(_, changes)| changes.truncated) {
        batch.mark_erasing(now_micros());
    }
    let erasures = receipt::issue(&between, &derivation, &mut batch)?;
    new.store().set_aside(&mut batch)?;
    let mut derivation = Arc::into_inner(derivation).expect("whoever helped to place its rows has let go of it");
    spilled.into_iter().for_each(|found| derivation.add(found));
    Ok(PreparedCommit { based_on, derivation, batch, erasures, seen: None, sealed_at, audit: Vec::new() })
}

/// The running pipeline.
pub struct CommitPipeline {
    commit: Arc<Stage<Committer>>,
    flush: Arc<Stage<Flusher>>,
    views: Vec<SyncSender<Message>>,
    /// Where states are published.
    pub publication: Arc<Publication>,
    audit: Arc<AuditQueue>,
    /// Transactions that wait for their outcome.
    under_way: Arc<AtomicUsize>,
    /// No tick is wanted any more.
    stopped: Arc<AtomicBool>,
    threads: Threads,
}

/// In the order in which they end.
struct Threads {
    clock: Option<JoinHandle<()>>,
    commit: Option<JoinHandle<()>>,
    flush: Option<JoinHandle<()>>,
    views: Vec<JoinHandle<()>>,
}

impl CommitPipeline {
    /// Starts the threads over what is published. `forgotten_at` learns the time of each erasure.
    pub fn start(
        (store, sequences, audit, builds): (Store, Arc<Sequences>, Arc<AuditQueue>, Arc<Builds>),
        published: Arc<ArcSwap<Published>>,
        forgotten_at: Arc<AtomicU64>,
        views: ViewWorkers,
    ) -> CommitPipeline {
        let state = published.load_full();
        let statistics = views.statistics.clone();
        let publication = Arc::new(Publication::new(published.clone(), views.subscriptions.clone(), views.workers));
        let (viewing, messages, told) = views.start(&store, &publication, &state);
        let flusher = Flusher {
            store: store.clone(),
            publication: publication.clone(),
            views: told,
            forgotten_at,
            statistics: statistics.clone(),
            audit: audit.clone(),
            teller: Teller::start(),
        };
        let flush = Arc::new(Stage::new(flusher, GROUP_TRANSACTIONS_MAX));
        let under_way = Arc::<AtomicUsize>::default();
        let committer = Committer {
            store,
            sequences,
            views: ViewsToFollow { maintained: follows(&state), automatic: false },
            current: state.clone(),
            decided: Decided { builds, ..Decided::default() },
            written: flush.clone(),
            statistics: statistics.clone(),
            under_way: under_way.clone(),
            audit: audit.clone(),
        };
        let commit = Arc::new(Stage::new(committer, GROUP_TRANSACTIONS_MAX));
        let (stage, next) = (commit.clone(), flush.clone());
        let committing = spawn("commit", Box::new(move || stage.run(|| next.rouse())));
        let (stage, next_round) = (flush.clone(), audit::next_round(&commit, &audit));
        let flushing = spawn("flush", Box::new(move || stage.run(next_round)));
        let stopped = Arc::<AtomicBool>::default();
        let clock = ClockThread { commit: commit.clone(), publication: publication.clone(), stopped: stopped.clone() };
        let ticking = Some(spawn("clock", Box::new(move || clock.run())));
        let threads = Threads { clock: ticking, commit: Some(committing), flush: Some(flushing), views: viewing };
        CommitPipeline { commit, flush, views: messages, publication, audit, under_way, stopped, threads }
    }

    /// Hands a transaction over and waits for its outcome.
    pub fn commit(&self, overlay: Arc<Overlay>, prepared: Box<PreparedCommit>) -> Result<Outcome, SqlError> {
        self.commit_announcing(overlay, prepared, None)
    }

    /// The same; what it announces is told as it is answered, so in the same order as all others.
    pub fn commit_announcing(
        &self,
        overlay: Arc<Overlay>,
        prepared: Box<PreparedCommit>,
        announcement: Option<Arc<Announcement>>,
    ) -> Result<Outcome, SqlError> {
        let (reply, outcome) = sync_channel(1);
        let hear = move |outcome| {
            if let (Outcome::Committed(_), Some(announcement)) = (&outcome, &announcement) {
                announcement.deliver();
            }
            // A connection that is gone does not hear its outcome; the commit stands.
            let _heard = reply.send(outcome);
        };
        self.hand_over(overlay, prepared, Box::new(hear));
        outcome.recv().map_err(|_| shutting_down())
    }

    /// Hands a transaction over.
    pub fn hand_over(&self, overlay: Arc<Overlay>, prepared: Box<PreparedCommit>, hear: Hear) {
        let alone = self.under_way.fetch_add(1, Ordering::Relaxed) == 0;
        let reply = Reply { hear, under_way: self.under_way.clone() };
        self.commit.put(Request::Commit(CommitRequest { overlay, prepared, reply }));
        if alone {
            self.help();
        } else {
            self.commit.rouse();
        }
    }

    /// Does what waits, unless somebody is at it.
    fn help(&self) {
        self.commit.help();
        self.flush.help();
        if self.audit.rounds.claims() {
            self.commit.put(Request::Record);
            self.commit.rouse();
        }
    }

    /// Asks for a view that no DDL makes, or drops it, at the place in the commit order that this call has.
    /// Whether and when it can be read is published with it.
    pub fn view(&self, request: ViewRequest) {
        self.commit.put(Request::View(request));
        // Who asks may hold what a view worker waits for.
        self.commit.rouse();
    }
}

/// What view workers are started with.
pub struct ViewWorkers {
    /// So many.
    pub workers: usize,
    /// Where they count.
    pub statistics: Arc<Statistics>,
    /// What one view may hold stands there.
    pub settings: Arc<ServerSettings>,
    /// Whom they tell.
    pub subscriptions: Arc<Subscriptions>,
    /// Which views queries have.
    pub automatic: Arc<AutomaticViews>,
}

impl ViewWorkers {
    /// Starts their threads over what is published. What ends them, and what tells them of commits.
    fn start(
        self,
        store: &Store,
        publication: &Arc<Publication>,
        state: &Arc<Published>,
    ) -> (Vec<JoinHandle<()>>, Vec<SyncSender<Message>>, ViewsToTell) {
        let busy: Vec<Arc<Busy>> = (0..self.workers).map(|_| Arc::default()).collect();
        let placement = Placement::new(busy.clone(), state.catalog());
        let (mut threads, mut senders) = (Vec::new(), Vec::new());
        for (number, busy) in busy.into_iter().enumerate() {
            let (sender, messages) = sync_channel(VIEW_MESSAGES_MAX);
            let around = Surroundings {
                store: store.clone(),
                publication: publication.clone(),
                statistics: self.statistics.clone(),
                subscriptions: self.subscriptions.clone(),
                automatic: self.automatic.clone(),
                settings: self.settings.clone(),
                busy,
            };
            let (state, placed) = (state.clone(), placement.placed());
            let body = move || {
                give_way();
                ViewWorker::new(number, around, state, placed).run(&messages);
            };
            threads.push(spawn(&format!("views {number}"), Box::new(body)));
            senders.push(sender);
        }
        let ViewWorkers { subscriptions, automatic, .. } = self;
        let told = ViewsToTell::new(senders.clone(), placement, publication.clone(), subscriptions, automatic);
        (threads, senders, told)
    }
}

/// This thread comes after those of statements and of the pipeline, where processors are short.
fn give_way() {
    // Where it may not, it is their equal.
    let _as_it_is = rustix::process::setpriority_process(None, VIEW_WORKER_NICENESS);
}

/// Whether a catalog's views make a view worker follow its commits.
fn follows(state: &Published) -> bool {
    state.catalog().relations.values().any(|table| table.is_maintained())
}

impl Drop for CommitPipeline {
    fn drop(&mut self) {
        let Threads { clock, commit, flush, views } = &mut self.threads;
        // A thread that panicked has aborted the process.
        let join = |thread: &mut Option<JoinHandle<()>>| thread.take().map(JoinHandle::join);
        self.stopped.store(true, Ordering::Relaxed);
        self.publication.wake_due();
        let _ticked = join(clock);
        self.commit.close();
        let _committed = join(commit);
        self.flush.close();
        let _flushed = join(flush);
        for worker in &self.views {
            let _told = worker.send(Message::Stop);
        }
        views.drain(..).for_each(|worker| {
            let _viewed = worker.join();
        });
    }
}

struct Committer {
    store: Store,
    sequences: Arc<Sequences>,
    /// What is written, published or not.
    current: Arc<Published>,
    decided: Decided,
    written: Arc<Stage<Flusher>>,
    statistics: Arc<Statistics>,
    /// See `CommitPipeline`.
    under_way: Arc<AtomicUsize>,
    views: ViewsToFollow,
    /// What statements that wrote nothing did.
    audit: Arc<AuditQueue>,
}

/// What transactions that are prepared already have to reckon with.
#[derive(Default)]
struct Decided {
    recent: RecentWrites,
    /// µDBs that are erased.
    destroyed: HashSet<MicroDbId>,
    /// Indexes that are being filled.
    builds: Arc<Builds>,
}

/// Why a view worker is to hear of groups.
struct ViewsToFollow {
    /// The catalog has maintained views.
    maintained: bool,
    /// Queries have asked for views of their own.
    automatic: bool,
}

impl Worker for Committer {
    type Work = Request;

    fn work(&mut self, requests: Vec<Request>) {
        let (mut group, mut records, mut readers) = (Vec::new(), false, Vec::new());
        for request in requests {
            match request {
                Request::Record => records = true,
                Request::RecordToRead(reply) => readers.push(reply),
                // By itself: nobody's changes are copied to stand beside so many.
                Request::Commit(request) if request.is_large() => {
                    self.commit(std::mem::take(&mut group));
                    self.commit(vec![request]);
                }
                Request::Commit(request) => group.push(request),
                Request::View(request) => {
                    self.commit(std::mem::take(&mut group));
                    self.view(request);
                }
                Request::Tick(request) => {
                    self.commit(std::mem::take(&mut group));
                    self.tick(request);
                }
                Request::Reseal(request) => {
                    self.commit(std::mem::take(&mut group));
                    self.reseal(request);
                }
            }
        }
        self.commit(group);
        self.record_for(records, readers);
    }
}

/// The transactions of a group that stand, as one write.
struct DecidedGroup {
    /// What they change, but for the change of the only one.
    layer: Overlay,
    batch: Batch,
    replies: Vec<(Reply, Vec<Erasure>)>,
    /// µDBs that they erase.
    destroyed: Vec<MicroDbId>,
    /// The change of the only one.
    only: Option<Arc<Overlay>>,
    /// What the audit log says of them.
    audit: Vec<AuditEntry>,
}

impl Committer {
    fn view(&mut self, request: ViewRequest) {
        let state = self.current.clone();
        self.views.automatic |= matches!(request, ViewRequest::Create(_) | ViewRequest::Order(..));
        self.written.put(Work::View(request, state));
    }

    fn commit(&mut self, group: Vec<CommitRequest>) {
        if group.is_empty() {
            return;
        }
        let started = Instant::now();
        let time = CommitTime(self.current.time.0 + 1);
        let Some(group) = self.decide_all(group, time) else { return };
        let DecidedGroup { layer, mut batch, replies, destroyed, only, audit } = group;
        let schema = layer.schema().clone();
        // What is only recorded changes nothing that anybody reads, and has no time in the order.
        let only_records = layer.is_empty() && only.as_ref().is_none_or(|only| only.is_empty());
        if !only_records {
            batch.put_commit_time(&self.store, time.0);
        }
        let read = self.audit.take(self.current.time);
        self.put_statements(&mut batch, &read);
        let written = self.audit_commit(&mut batch, &audit, time).and_then(|()| {
            batch.append_logged(&read.entries);
            self.write(batch, &schema, layer.changes_schema())
        });
        if let Err(error) = written {
            // What was read stays so.
            self.audit.put_back(read, &error);
            return self.refuse_all(replies, &destroyed, error);
        }
        // Nobody else writes to the same page meanwhile: what is done until the flush takes nothing of it.
        if self.under_way.load(Ordering::Relaxed) == 1 {
            self.store.begin_flush();
        }
        self.statistics.write.record(started.elapsed());
        let round = read.round;
        if only_records {
            let group = WrittenGroup::of_records(self.current.clone(), round, replies);
            return self.written.put(Work::Group(WrittenGroup { destroyed, ..group }));
        }
        let changes_schema = layer.changes_schema();
        let before = self.go_on(time, schema, now_micros());
        if changes_schema {
            self.current.usage.retain(self.current.catalog());
            // View workers hear of the group that drops the last view, too.
            self.views.maintained |= follows(&self.current);
        }
        let layer = only.unwrap_or_else(|| Arc::new(layer));
        self.statistics.tables.count(&layer);
        self.note_asked(&layer, time);
        let changes = self.is_followed().then(|| GroupChanges { before, layer, changes_schema, ticks: false });
        self.written.put(Work::Group(WrittenGroup {
            state: self.current.clone(),
            changes,
            destroyed,
            replies,
            waits: Waits::new(),
            ticks: Vec::new(),
            round,
        }));
    }

    /// A commit that writes nothing but its time: the clock's moment is in the order.
    fn tick(&mut self, TickRequest { moment, hear }: TickRequest) {
        let (time, schema) = (CommitTime(self.current.time.0 + 1), self.current.schema.clone());
        let mut batch = Batch::default();
        batch.put_commit_time(&self.store, time.0);
        if let Err(error) = self.write(batch, &schema, false) {
            return hear(Outcome::Refused(error));
        }
        let layer = Arc::new(Overlay::new(schema.clone()));
        let before = self.go_on(time, schema, moment);
        let changes = self.is_followed().then_some(GroupChanges { before, layer, changes_schema: false, ticks: true });
        self.written.put(Work::Group(WrittenGroup {
            state: self.current.clone(),
            changes,
            destroyed: Vec::new(),
            replies: Vec::new(),
            waits: Waits::new(),
            ticks: vec![hear],
            round: None,
        }));
    }

    fn is_followed(&self) -> bool {
        self.views.maintained || self.views.automatic
    }

    /// What is written now is the current state, at this moment of the clock if that is not back. What was it before.
    fn go_on(&mut self, time: CommitTime, schema: Arc<Schema>, moment: i64) -> Arc<Published> {
        let clock = self.current.clock.max(moment);
        let state = self.current.followed_by(time, clock, schema, self.store.snapshot());
        std::mem::replace(&mut self.current, Arc::new(state))
    }

    fn write(&self, mut batch: Batch, schema: &Schema, changes_schema: bool) -> Result<(), SqlError> {
        if !changes_schema {
            return Ok(self.store.write(batch)?);
        }
        batch.put_meta(&self.store, META_CATALOG, &schema.catalog().encode());
        let settling = self.sequences.settle(self.current.catalog(), schema.catalog(), &mut batch)?;
        self.store.write(batch)?;
        settling.written();
        Ok(())
    }

    /// What becomes of each transaction of a group, in order. None if none of them stands.
    fn decide_all(&mut self, group: Vec<CommitRequest>, time: CommitTime) -> Option<DecidedGroup> {
        let mut layer = Overlay::new(self.current.schema.clone());
        let (mut batch, mut replies, mut destroyed) = (Batch::default(), Vec::new(), Vec::new());
        let mut audit = Vec::new();
        let several = group.len() > 1;
        let mut only = None;
        for CommitRequest { overlay, prepared, reply } in group {
            match self.decide(prepared, &overlay, &layer) {
                Ok(Some(prepared)) => {
                    let mut prepared = *prepared;
                    if overlay.is_small(REDERIVE_ROWS_MAX) {
                        audit::name_subjects(&mut prepared.audit, &overlay, &prepared.derivation);
                    }
                    audit.append(&mut prepared.audit);
                    self.decided.recent.record(&mut prepared.derivation.writes, time);
                    self.decided.builds.note(&prepared.derivation, time);
                    let rows = overlay.len();
                    batch.append(prepared.batch);
                    if several || overlay.changes_schema() {
                        layer.absorb(&overlay, owners(&prepared.derivation));
                    } else {
                        only = Some(overlay);
                    }
                    let keys = prepared.erasures.iter().filter_map(Erasure::doomed);
                    self.decided.destroyed.extend(keys.clone());
                    destroyed.extend(keys);
                    replies.push((reply, prepared.erasures));
                    parallel::discard_many(rows, || prepared.derivation);
                }
                Ok(None) => reply.answer(Outcome::Again),
                Err(error) => reply.answer(Outcome::Refused(error)),
            }
        }
        (!replies.is_empty()).then_some(DecidedGroup { layer, batch, replies, destroyed, only, audit })
    }

    /// Nothing of the group stands; the next one is tried anew.
    fn refuse_all(&mut self, replies: Vec<(Reply, Vec<Erasure>)>, destroyed: &[MicroDbId], mut error: SqlError) {
        destroyed.iter().for_each(|microdb| {
            self.decided.destroyed.remove(microdb);
        });
        if error.code == "58030" {
            error = error.hint("reads go on, and writes when the folder can be written again: it is opened anew then");
        }
        for (reply, _) in replies {
            reply.answer(Outcome::Refused(error.clone()));
        }
    }

    /// The transaction as it stands after all before it: as prepared, or derived again.
    fn decide(
        &self,
        prepared: Box<PreparedCommit>,
        overlay: &Arc<Overlay>,
        layer: &Overlay,
    ) -> Result<Option<Box<PreparedCommit>>, SqlError> {
        self.store.check_room(&prepared.batch)?;
        if let Some((marks, since)) = &prepared.seen
            && !self.decided.recent.unchanged_since(marks, *since)
        {
            return Err(state::error::not_serializable());
        }
        // What was sealed before a key began to be replaced may be under the one that goes.
        let is_sealed = prepared.sealed_at.is_none_or(|begun| begun == self.store.key_renewals_begun());
        if is_sealed && self.decided.recent.unchanged_since(&prepared.derivation.reads, prepared.based_on) {
            return Ok(Some(prepared));
        }
        if prepared.derivation.gives_to(|owner| self.decided.destroyed.contains(&owner)) {
            return Err(SqlError::new("DG002", "a data subject that this transaction writes for was forgotten")
                .hint("the transaction overlapped a GDPR FORGET; nothing of it was stored"));
        }
        // What an index is filled with is looked at on its connection, too.
        if !overlay.is_small(REDERIVE_ROWS_MAX) || overlay.filled().next().is_some() {
            return Ok(None);
        }
        let old = LayeredSnapshot::new(self.store.clone(), self.current.clone()).under(Arc::new(layer.clone()));
        let derived = prepare(&old, overlay, self.current.time)?;
        Ok(Some(Box::new(PreparedCommit { audit: prepared.audit, ..derived })))
    }
}

fn owners(derivation: &Derivation) -> Vec<((RelationId, RowKey), Owners)> {
    let mut all = Vec::new();
    for (relation, rows) in &derivation.tables {
        for (row_key, row) in rows {
            let owners = if row.after.is_some() { row.new.clone() } else { Owners::new() };
            all.push(((*relation, row_key.clone()), owners));
        }
    }
    all
}

/// 57P01: what was handed over may be lost or stand.
pub fn shutting_down() -> SqlError {
    SqlError::new("57P01", "the server is shutting down").fatal()
}
