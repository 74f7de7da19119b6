//! What all sessions of a server share: the store, what is published, the pipeline, locks, sequences.

use crate::commit::{CommitPipeline, META_CATALOG, META_TIME, ViewWorkers};
use crate::index_builds::{self, Builds};
use crate::memory;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use planner::catalog::Catalog;
use repr::id::FIRST_TEMPORARY_ID;
use repr::{CommitTime, Id, RelationId};
use state::SqlError;
use state::account::{Accounts, Gauges};
use state::audit::{AuditQueue, Waits};
use state::config::Config;
use state::exported_snapshots::ExportedSnapshots;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{Locks, TransactionId};
use state::login_rules::LoginRules;
use state::notifications::Notifications;
use state::published::Published;
use state::sequence::Sequences;
use state::settings::Settings;
use state::settings::server::ServerSettings;
use state::shape::Schema;
use state::snapshot_holders::{Holder, Holders, SnapshotHold};
use state::statistics::Statistics;
use state::usage::Usage;
use state::view_states::{Stage, ViewState, Views};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use storage::audit::AuditEntry;
use storage::{Loss, Mode, RootKeySource, Snapshot, StorageError, Store, StoreOptions};
use views::automatic::AutomaticViews;
use views::message::ViewRequest;
use views::subscription::Subscriptions;

/// An open data folder, with all databases in it.
pub struct Database {
    /// The configuration.
    pub config: Config,
    /// The leaves.
    pub store: Store,
    /// What readers start from.
    pub published: Arc<ArcSwap<Published>>,
    /// Counters outside transactions.
    pub sequences: Arc<Sequences>,
    /// The way to durability.
    pub pipeline: CommitPipeline,
    /// What waits for the audit log.
    pub audit: Arc<AuditQueue>,
    /// What sessions have in common.
    pub sessions: Sessions,
    /// What is maintained, and who watches it.
    pub views: MaintainedViews,
    forgotten_at: Arc<AtomicU64>,
}

/// What the sessions of a database have in common.
pub struct Sessions {
    /// Who may write what.
    pub locks: Locks,
    /// Which sessions read from which snapshots.
    pub holders: Holders,
    /// Settings that all share.
    pub settings: Arc<ServerSettings>,
    /// What one has for others.
    pub exchange: Exchange,
    /// What their statements hold.
    pub accounts: Arc<Accounts>,
    /// Whom the server lets in.
    pub login_rules: LoginRules,
    /// What is given to one alone.
    pub(crate) numbers: Numbers,
    /// Indexes that are being filled.
    pub(crate) builds: Arc<Builds>,
}

/// What sessions have for each other.
#[derive(Default)]
pub struct Exchange {
    /// Who listens to what.
    pub notifications: Arc<Notifications>,
    /// Snapshots that others may read, too.
    pub exported: ExportedSnapshots,
}

/// Numbers of which no two sessions have the same.
pub(crate) struct Numbers {
    /// The next id of what a session has for itself.
    pub temporary_ids: Mutex<Id>,
    /// The number of the next transaction.
    transactions: AtomicU64,
    /// The number of the next connection.
    backends: AtomicI32,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            temporary_ids: Mutex::new(FIRST_TEMPORARY_ID),
            transactions: AtomicU64::new(1),
            backends: AtomicI32::new(1),
        }
    }
}

/// What is maintained of a database, and who watches it.
pub struct MaintainedViews {
    /// What the view workers count.
    pub statistics: Arc<Statistics>,
    /// Views that queries have earned.
    pub automatic: Arc<AutomaticViews>,
    /// Who watches views.
    pub subscriptions: Arc<Subscriptions>,
}

// Two fdatasyncs at most.
const PUBLICATION_POLL: Duration = Duration::from_micros(50);

/// Opens the leaves of a data folder.
pub fn open_store(data: &Path, config: &Config, mode: Mode) -> Result<Store, SqlError> {
    let mut options = StoreOptions::new(data);
    options.mode = mode;
    options.root_key = config.root_key.clone();
    options.block_cache_bytes = config.block_cache_bytes;
    options.cipher = config.cipher;
    options.keep_free_bytes = config.keep_free_bytes;
    match Store::open(&options) {
        Ok(store) => {
            if mode != Mode::Check {
                tell_operator(&store);
            }
            Ok(store)
        }
        Err(StorageError::CommitsLost(loss)) => Err(lost(*loss, options)),
        Err(error) => Err(error.into()),
    }
}

/// The same of a folder that no server has open.
pub fn open_stopped(data: &Path, root_key: &RootKeySource, mode: Mode) -> Result<Store, SqlError> {
    let mut config = Config::new(data.to_path_buf());
    config.root_key = root_key.clone();
    open_store(data, &config, mode)
}

/// Says what the store has noticed since it was last asked, where an operator reads it.
pub fn tell_operator(store: &Store) {
    store.take_notices().iter().for_each(|notice| tracing::warn!(target: "dogwood::storage", "{notice}"));
}

/// XX001: commits are lost; what can be read behind them, by the tables' names where the catalog can be read.
fn lost(mut loss: Loss, options: StoreOptions) -> SqlError {
    let salvaged = Store::open(&StoreOptions { mode: Mode::Salvage, ..options });
    if let Some(catalog) = salvaged.ok().and_then(|store| stored_catalog(&store.snapshot()).ok()) {
        for rows in &mut loss.behind_rows {
            rows.name = catalog.relations.get(&rows.relation).map(|table| catalog.server_name(table).into_owned());
        }
    }
    SqlError::new("XX001", loss.to_string()).hint(
        "restore a backup; or start the server with --salvage, which reads and changes nothing, and dump what is left",
    )
}

/// The catalog's views, before their workers have said anything of them.
fn unfilled_views(catalog: &Catalog) -> Views {
    let mut views = Views::default();
    for table in catalog.relations.values().filter(|table| table.is_maintained()) {
        views.set(table.id, Arc::new(ViewState::at(Stage::Waiting)));
    }
    views
}

/// The time of the last commit, zero in a new database.
fn stored_time(snapshot: &Snapshot) -> Result<u64, SqlError> {
    match snapshot.meta(META_TIME)? {
        Some(bytes) => Ok(u64::from_be_bytes(bytes.try_into().map_err(|_| damaged("commit time"))?)),
        None => Ok(0),
    }
}

/// The stored catalog, empty in a new database.
pub fn stored_catalog(snapshot: &Snapshot) -> Result<Catalog, SqlError> {
    let stored = match snapshot.meta(META_CATALOG)? {
        Some(bytes) => Catalog::decode(&bytes).ok_or_else(|| damaged("catalog"))?,
        None => Catalog::empty(0, repr::id::FIRST_USER_ID),
    };
    Ok(stored.with_own_tables())
}

/// What sessions' accounts ask; nothing of a database that has gone.
fn gauges(database: &Weak<Database>) -> Gauges {
    let (caches, sessions) = (database.clone(), database.clone());
    Gauges {
        cached: Box::new(move || caches.upgrade().map_or(0, |database| memory::cached_bytes(&database))),
        sessions: Box::new(move || sessions.upgrade().map_or(0, |database| memory::sessions_bytes(&database))),
    }
}

fn damaged(what: &str) -> SqlError {
    SqlError::new("XX001", format!("the {what} in the data folder cannot be read"))
        .hint("run \"dogwood check\" on the folder, or restore a backup")
}

impl Database {
    /// Opens a data folder, making it if it is empty. Recovery is RocksDB's log, then the keys of every erasure.
    pub fn open(config: Config) -> Result<Arc<Database>, SqlError> {
        let settings = ServerSettings::new(
            config.view_memory_bytes_max,
            config.subscription_memory_bytes_max,
            config.server_memory_bytes_max,
        );
        let settings = Settings::of_server(&config.settings, settings)?;
        let store = open_store(&config.data, &config, config.mode)?;
        index_builds::remove_unfinished(&store)?;
        let snapshot = store.snapshot();
        let time = stored_time(&snapshot)?;
        if config.mode == Mode::Salvage {
            tracing::warn!(
                target: "dogwood::storage",
                commit = time,
                "the folder is read as far as it can be, and nothing is written"
            );
        }
        let catalog = stored_catalog(&snapshot)?;
        let views = unfilled_views(&catalog);
        let published = Arc::new(ArcSwap::from_pointee(Published {
            clock: state::clock::now_micros(),
            time: CommitTime(time),
            schema: Arc::new(Schema::new(Arc::new(catalog))),
            kept: snapshot.keeping(),
            snapshot,
            probes: Arc::default(),
            views,
            usage: Arc::default(),
        }));
        let (forgotten_at, builds) = (Arc::<AtomicU64>::default(), Arc::<Builds>::default());
        let statistics = Arc::new(Statistics::default());
        let settings = Arc::new(settings);
        let subscriptions = Subscriptions::start(CommitTime(time), settings.clone());
        let automatic = Arc::new(AutomaticViews::default());
        let views = ViewWorkers {
            workers: config.view_workers,
            statistics: statistics.clone(),
            settings: settings.clone(),
            subscriptions: subscriptions.clone(),
            automatic: automatic.clone(),
        };
        let sequences = Arc::new(Sequences::open(store.clone())?);
        let audit = Arc::new(AuditQueue::new(!store.is_read_only()));
        Ok(Arc::new_cyclic(|database: &Weak<Database>| Database {
            pipeline: CommitPipeline::start(
                (store.clone(), sequences.clone(), audit.clone(), builds.clone()),
                published.clone(),
                forgotten_at.clone(),
                views,
            ),
            sequences,
            audit,
            sessions: Sessions {
                locks: Locks::default(),
                holders: Holders::default(),
                exchange: Exchange::default(),
                accounts: Arc::new(Accounts::new(gauges(database), settings.clone())),
                settings,
                login_rules: LoginRules::default(),
                numbers: Numbers::default(),
                builds,
            },
            views: MaintainedViews { statistics, automatic, subscriptions },
            config,
            store,
            published,
            forgotten_at,
        }))
    }

    /// Has what waits for the audit log written, for whoever reads that next. Of those who have only read it need not be durable;
    /// what commits say of themselves is shown once their rows are.
    pub fn record_to_read(&self) -> Result<(), SqlError> {
        if self.audit.waiting() == 0 && !self.audit.rounds.are_under_way() {
            return Ok(());
        }
        let written = self.pipeline.record_to_read()?;
        match written > self.published.load().time {
            true => self.pipeline.record_waiting(&self.published.load().schema),
            false => Ok(()),
        }
    }

    /// Has what waits for the audit log written, and waits until it is durable.
    pub fn record_waiting(&self) -> Result<(), SqlError> {
        match self.audit.waiting() {
            0 => Ok(()),
            _ => self.pipeline.record_waiting(&self.published.load().schema),
        }
    }

    /// Asks for something of the view workers.
    pub fn ask_views(&self, request: ViewRequest) {
        self.pipeline.view(request);
    }

    /// A number for a new transaction, or a new session.
    pub fn next_transaction(&self) -> TransactionId {
        TransactionId(self.sessions.numbers.transactions.fetch_add(1, Ordering::Relaxed))
    }

    /// Has the audit log say what a session did without a commit. None where there is no log.
    pub fn audit_apart(&self, session: u64, entry: AuditEntry) -> Result<Option<Waits>, StorageError> {
        Ok(self.audit.put(session, self.store.logged_entry(entry)?))
    }

    /// A number for a new connection: PostgreSQL's backend pid.
    pub fn next_backend(&self) -> i32 {
        self.sessions.numbers.backends.fetch_add(1, Ordering::Relaxed)
    }

    /// What is counted of its use.
    pub fn usage(&self) -> Arc<Usage> {
        self.published.load().usage.clone()
    }

    /// The published state. While keys are being destroyed it is waited for: the state before has ended.
    pub fn latest(&self) -> Arc<Published> {
        loop {
            let base = self.published.load_full();
            if self.check_not_ended(base.time).is_ok() {
                return base;
            }
            std::thread::sleep(PUBLICATION_POLL);
        }
    }

    /// The same, to read from.
    pub fn latest_snapshot(&self) -> LayeredSnapshot {
        LayeredSnapshot::new(self.store.clone(), self.latest())
    }

    /// The same, held for a session.
    pub fn held(&self, holder: &Arc<Holder>) -> (Arc<Published>, SnapshotHold) {
        loop {
            let base = self.latest();
            let hold = holder.hold(base.time);
            // Looked at again once it is held: an erasure either finds the hold or is found here.
            if self.check_not_ended(base.time).is_ok() {
                return (base, hold);
            }
        }
    }

    /// A state in which none of these views is behind, if one comes soon, else the newest; held for a session. `check` says
    /// whether to wait on.
    pub fn held_with_views(
        &self,
        holder: &Arc<Holder>,
        views: &[RelationId],
        check: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<(Arc<Published>, SnapshotHold), SqlError> {
        loop {
            let base = self.pipeline.publication.with_views(views, check)?.unwrap_or_else(|| self.latest());
            let hold = holder.hold(base.time);
            if self.check_not_ended(base.time).is_ok() {
                return Ok((base, hold));
            }
        }
    }

    /// Waits until the clock of these views has come to a reader's `now()`, which may want a tick; no longer than computing
    /// them would take.
    pub fn await_clock(
        &self,
        views: &[RelationId],
        moment: i64,
        check: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if !self.published.load().views.are_before(views, moment) {
            return Ok(());
        }
        self.pipeline.tick(moment);
        self.pipeline.publication.await_clock(views, moment, check)
    }

    /// The time of the last erasure: snapshots from before it have ended.
    pub fn forgotten_at(&self) -> CommitTime {
        CommitTime(self.forgotten_at.load(Ordering::SeqCst))
    }

    /// After an erasure: nobody but `own` reads any more what was before it, and no subscriber has still to be told of it. Who
    /// does not let go by then is closed or cut.
    pub fn end_older(&self, own: &Arc<Holder>, wait: Duration) {
        let time = self.forgotten_at();
        self.sessions.exchange.exported.end_older(time);
        self.views.subscriptions.settle();
        self.sessions.holders.end_older(time, own, wait, |late| self.views.subscriptions.owe(time, late));
    }

    /// For `QueryLimits`: whether a snapshot of this time has ended meanwhile.
    pub fn ended_since(self: &Arc<Self>, time: CommitTime) -> Arc<dyn Fn() -> Option<SqlError> + Send + Sync> {
        let database = self.clone();
        Arc::new(move || database.check_not_ended(time).err())
    }

    /// For an erasure whose bytes a reader keeps from leaving the disk: snapshots that have been held for so long end, as at an
    /// erasure. Sessions that go on with one are closed at the next call. How many were.
    pub fn end_held_for(&self, long: Duration) -> usize {
        let closed = self.sessions.holders.close_ended();
        if let Some(ended) = self.sessions.holders.end_held_for(long, self.published.load().time) {
            self.forgotten_at.fetch_max(ended.0, Ordering::SeqCst);
            self.sessions.exchange.exported.end_older(ended);
        }
        closed
    }

    /// 40001 if a data subject was forgotten after `time`.
    pub fn check_not_ended(&self, time: CommitTime) -> Result<(), SqlError> {
        if time < self.forgotten_at() {
            return Err(state::error::snapshot_ended());
        }
        Ok(())
    }
}
