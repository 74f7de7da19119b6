//! What functions do in their session and on others: advisory locks, notifications, signals, transaction numbers; and what there is
//! to see of other sessions.

use crate::key_rotation;
use crate::session::env::{Exportable, StatementEnvironment, value_error};
use crate::session::roles::persons_refused;
use crate::session::statement_path::StatementShape;
use planner::catalog::RoleId;
use planner::scalar::{
    AdvisoryKey, AdvisoryLock, AdvisoryScope, Environment, ListedCommand, ListedCursor, ListedLock, ListedLockKey,
    ListedProgress, ListedSession, SessionActs,
};
use repr::{RelationId, ValueError};
use state::SqlError;
use state::activity::Doing;
use state::exported_snapshots::Exporter;
use state::locks::{Asker, Listed, ListedKey, LockKey, LockMode, Patience, TransactionId};
use state::notice::Notice;
use state::progress::LongCommand;
use state::snapshot_holders::Holder;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The numbers below say something else of a row than who has written it.
const FIRST_XID: u32 = 3;

fn mode(shared: bool) -> LockMode {
    if shared { LockMode::Shared } else { LockMode::Exclusive }
}

impl StatementEnvironment {
    fn patience(&self) -> Patience {
        Patience {
            timeout: self.state.lock().everyday().lock_timeout,
            deadline: self.acting.deadline,
            cancel: self.acting.cancel.clone(),
            insists_from: None,
        }
    }

    /// Who takes an advisory lock of this scope.
    fn asker(&self, scope: AdvisoryScope) -> Result<Asker, SqlError> {
        let (session, transaction) = (self.acting.holder.session, self.acting.transaction);
        match (scope, transaction) {
            (AdvisoryScope::Session, _) => Ok(Asker::session(session, transaction)),
            (AdvisoryScope::Transaction, Some(transaction)) => Ok(Asker::transaction(transaction, session)),
            // Of what EXECUTE is given, which is evaluated before its statement begins.
            (AdvisoryScope::Transaction, None) => {
                Err(SqlError::unsupported("a lock of the transaction here").hint("Take it by a statement of its own."))
            }
        }
    }

    /// A session by its number; none, and a warning, if there is none.
    fn session(&self, backend: i32) -> Option<Arc<Holder>> {
        let session = self.database.sessions.holders.of_backend(backend);
        if session.is_none() {
            self.warn("01000", format!("PID {backend} is not a PostgreSQL backend process"));
        }
        session
    }

    /// 42501 for who may not end what the session does.
    fn may_signal(&self, session: &Holder, done: &str) -> Result<(), ValueError> {
        let published = self.database.published.load();
        let (catalog, actor) = (published.catalog(), self.client.actor.role);
        let role = session.activity.owner.role;
        let signals = !catalog.is_controller(role) && catalog.inherited(actor).contains(&RoleId::SIGNAL_BACKEND);
        if signals || catalog.is_member(actor, role) {
            return Ok(());
        }
        let message =
            format!("must be a member of the role whose process is being {done} or member of pg_signal_backend");
        Err(ValueError::new("42501", message))
    }

    /// 42501 for who neither operates the server nor controls it.
    fn require_operator(&self, function: &str) -> Result<(), ValueError> {
        let published = self.database.published.load();
        if published.catalog().may_operate(self.client.actor.role) {
            return Ok(());
        }
        Err(ValueError::new("42501", format!("permission denied for function {function}")))
    }

    /// A session's own statement, and of others the shape: their literals may be of anyone.
    fn shown_query(&self, session: &Holder, query: &Arc<str>) -> String {
        if session.backend == self.client.backend {
            return query.to_string();
        }
        StatementShape::of(query, &self.catalog).written()
    }

    fn warn(&self, code: &'static str, message: String) {
        let notice = Notice::new("WARNING", code, message);
        self.state.lock().notices.push(notice);
    }
}

impl SessionActs for StatementEnvironment {
    fn advisory_lock(&self, lock: &AdvisoryLock) -> Result<bool, ValueError> {
        let (locks, mode) = (&self.database.sessions.locks, mode(lock.shared));
        let asker = self.asker(lock.scope).map_err(value_error)?;
        let fate = &self.acting.holder.fate;
        let ended =
            || self.acting.transaction.filter(|id| fate.is_ended(*id)).map(|_| state::error::transaction_ended());
        if let Some(error) = ended() {
            return Err(value_error(error));
        }
        if !lock.waits {
            return locks.try_advisory(asker, lock.key, mode).map_err(value_error);
        }
        let granted = locks.lock(asker, LockKey::Advisory(lock.key), mode, &self.patience(), &ended);
        granted.map(|_| true).map_err(value_error)
    }

    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool, ValueError> {
        let held = self.database.sessions.locks.unlock_advisory(self.acting.holder.session, key, mode(shared));
        if !held {
            let kind = if shared { "ShareLock" } else { "ExclusiveLock" };
            self.warn("01000", format!("you don't own a lock of type {kind}"));
        }
        Ok(held)
    }

    fn advisory_unlock_all(&self) {
        self.database.sessions.locks.unlock_all_advisory(self.acting.holder.session);
    }

    fn notify(&self, channel: &str, payload: &str) -> Result<(), ValueError> {
        if self.database.published.load().catalog().person_of(self.client.actor.role).is_some() {
            return Err(value_error(persons_refused("function pg_notify")));
        }
        self.state.lock().pending.notify(channel, payload).map_err(value_error)
    }

    fn listening(&self) -> Vec<String> {
        self.acting.holder.listener.channels().iter().map(|channel| channel.to_string()).collect()
    }

    fn notification_queue_usage(&self) -> f64 {
        self.database.sessions.exchange.notifications.usage()
    }

    fn cancel_backend(&self, backend: i32) -> Result<bool, ValueError> {
        let Some(session) = self.session(backend) else { return Ok(false) };
        self.may_signal(&session, "canceled")?;
        if let Some(signals) = session.signals() {
            (signals.cancel)();
        }
        Ok(true)
    }

    fn terminate_backend(&self, backend: i32, wait: Duration) -> Result<bool, ValueError> {
        let Some(session) = self.session(backend) else { return Ok(false) };
        self.may_signal(&session, "terminated")?;
        session.terminate();
        let until = Instant::now() + wait;
        while !wait.is_zero() && !session.activity.is_ended() {
            if Instant::now() >= until {
                let waited = wait.as_millis();
                self.warn(
                    "01000",
                    format!("backend with PID {backend} did not terminate within {waited} milliseconds"),
                );
                return Ok(false);
            }
            self.sleep(Duration::from_millis(1))?;
        }
        Ok(true)
    }

    fn transaction_number(&self, only_if_given: bool) -> Result<Option<u64>, ValueError> {
        if let Some(number) = self.state.lock().transaction_number {
            return Ok(Some(number));
        }
        if self.acting.transaction.is_none() || (only_if_given && !self.acting.has_written) {
            return Ok(None);
        }
        // Numbers of hidden row ids: durable, in order, and never given again. As an xid each is told by its lower bits.
        let mut number = 0;
        while (number as u32) < FIRST_XID {
            number = self.database.sequences.next_row_id().map_err(value_error)?;
        }
        self.state.lock().transaction_number = Some(number);
        Ok(Some(number))
    }

    fn export_snapshot(&self) -> Result<String, ValueError> {
        if self.database.published.load().catalog().person_of(self.client.actor.role).is_some() {
            return Err(value_error(persons_refused("function pg_export_snapshot")));
        }
        let Some((Exportable { state, in_savepoint }, transaction)) =
            self.acting.query.exportable.clone().zip(self.acting.transaction)
        else {
            let here = SqlError::unsupported("pg_export_snapshot here");
            return Err(value_error(here.hint("Call it in a SELECT of its own, which locks no rows.")));
        };
        if in_savepoint {
            return Err(ValueError::new("25001", "cannot export a snapshot from a subtransaction"));
        }
        let (holder, reading) = (&*self.acting.holder, self.shown.modes.reading(self.client.database_id));
        let time = state.0.time;
        let ended = || match holder.fate.is_ended(transaction) {
            true => Err(state::error::transaction_ended()),
            false => self.database.check_not_ended(time),
        };
        let exporter = Exporter { holder, transaction, reading };
        self.database.sessions.exchange.exported.export(&exporter, state, ended).map_err(value_error)
    }

    fn reload_configuration(&self) -> Result<bool, ValueError> {
        self.require_operator("pg_reload_conf")?;
        Ok(self.database.sessions.login_rules.reload())
    }

    fn server_began_at(&self) -> i64 {
        self.database.sessions.login_rules.opened_at
    }

    fn configured_at(&self) -> i64 {
        self.database.sessions.login_rules.read_at()
    }

    fn rotate_keys(&self) -> Result<i64, ValueError> {
        self.require_operator("rotate_keys")?;
        let keys = key_rotation::rotate_now(&self.database).map_err(|error| value_error(error.into()))?;
        Ok(i64::try_from(keys).unwrap_or(i64::MAX))
    }

    fn rotate_root_key(&self) -> Result<i64, ValueError> {
        self.require_operator("rotate_root_key")?;
        let keys = key_rotation::replace_root_now(&self.database).map_err(|error| value_error(error.into()))?;
        Ok(i64::try_from(keys).unwrap_or(i64::MAX))
    }

    fn blocking(&self, backend: i32) -> Vec<i32> {
        let sessions = self.database.sessions.holders.living();
        let Some(session) = sessions.iter().find(|session| session.backend == backend) else { return Vec::new() };
        let locks = &self.database.sessions.locks;
        let ids = session.fate.current().into_iter().chain([session.session]);
        let blocking: BTreeSet<TransactionId> = ids.flat_map(|id| locks.waited_for(id)).collect();
        let backend_of = |id: TransactionId| sessions.iter().find(|other| other.is(id)).map(|other| other.backend);
        let mut backends: Vec<i32> = blocking.into_iter().filter_map(backend_of).collect();
        backends.dedup();
        backends
    }

    fn sessions(&self) -> Vec<ListedSession> {
        let waits = self.database.sessions.locks.listed(std::iter::empty());
        let waits: Vec<_> = waits.into_iter().filter(|listed| listed.waits_since.is_some()).collect();
        let published = self.database.published.load();
        let sessions = self.database.sessions.holders.living().into_iter().map(|session| {
            let now = session.activity.now();
            let lock = waits.iter().find(|listed| session.is(listed.holder)).map(|listed| wait_event(&listed.key));
            let client = (now.doing != Doing::Active).then_some("ClientRead");
            ListedSession {
                backend: session.backend,
                user: session.activity.owner.called(published.catalog()).to_string(),
                database: session.activity.owner.database.to_string(),
                database_id: session.activity.owner.database_id,
                connection: session.activity.owner.connection.clone(),
                application: now.application.to_string(),
                began_at: session.activity.began_at,
                transaction_at: now.transaction_at,
                query_at: now.query.as_ref().map(|_| now.query_at),
                changed_at: now.changed_at,
                state: now.doing.name(),
                query: now.query.map_or_else(String::new, |query| self.shown_query(&session, &query)),
                waits: lock.map(|event| ("Lock", event)).or(client.map(|event| ("Client", event))),
            }
        });
        sessions.collect()
    }

    fn progress(&self) -> Vec<ListedProgress> {
        let published = self.database.published.load();
        let sessions = self.database.sessions.holders.living().into_iter();
        let shown = sessions.filter_map(|session| {
            let progress = session.activity.progress.shown()?;
            let count = |counter: &AtomicU64| i64::try_from(counter.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
            let command = match progress.command {
                LongCommand::CreateIndex(index) => ListedCommand::CreateIndex {
                    index: index.0,
                    compares: progress.compares.load(Ordering::Relaxed),
                    bytes_total: i64::try_from(progress.bytes_total).unwrap_or(i64::MAX),
                },
                LongCommand::CopyIn => ListedCommand::CopyIn { excluded: count(&progress.excluded) },
            };
            Some(ListedProgress {
                backend: session.backend,
                database: session.activity.owner.database.to_string(),
                database_id: session.activity.owner.database_id,
                user: session.activity.owner.called(published.catalog()).to_string(),
                relation: progress.relation.0,
                command,
                rows: count(&progress.rows),
                bytes: count(&progress.bytes),
            })
        });
        shown.collect()
    }

    fn locks(&self) -> Vec<ListedLock> {
        let sessions = self.database.sessions.holders.living();
        // Of all databases, and those that the transaction has made.
        let published = self.database.published.load();
        let tables: BTreeSet<RelationId> =
            published.catalog().relations.keys().chain(self.catalog.relations.keys()).copied().collect();
        let listed = self.database.sessions.locks.listed(tables.into_iter());
        let shown = listed.into_iter().filter_map(|listed| {
            let session = sessions.iter().find(|session| session.is(listed.holder))?;
            let (key, mode) = shown_lock(&listed);
            let (backend, holder) = (session.backend, session.fate.current().unwrap_or(listed.holder).0);
            let database = session.activity.owner.database_id;
            Some(ListedLock { database, key, mode, backend, holder, waits_since: listed.waits_since })
        });
        let mut all: Vec<ListedLock> = Vec::new();
        for lock in shown {
            // What a session and its transaction hold alike is one.
            let is_same = |other: &ListedLock| {
                (other.key, other.mode, other.backend, other.waits_since.is_some())
                    == (lock.key, lock.mode, lock.backend, lock.waits_since.is_some())
            };
            if !matches!(lock.key, ListedLockKey::Advisory(_)) || !all.iter().rev().take(8).any(is_same) {
                all.push(lock);
            }
        }
        all.extend(sessions.iter().filter_map(|session| {
            let is_own = session.backend == self.client.backend;
            let holder = session.fate.current().or(is_own.then_some(session.session))?.0;
            let (key, mode) = (ListedLockKey::Session, "ExclusiveLock");
            let (database, backend) = (session.activity.owner.database_id, session.backend);
            Some(ListedLock { database, key, mode, backend, holder, waits_since: None })
        }));
        all
    }

    fn cursors(&self) -> Vec<ListedCursor> {
        self.acting.cursors.clone()
    }
}

/// What a wait for a lock is called in `pg_stat_activity`.
fn wait_event(key: &ListedKey) -> &'static str {
    match key {
        ListedKey::Relation(_) | ListedKey::Catalog => "relation",
        ListedKey::Row(_) | ListedKey::Value(_) => "transactionid",
        ListedKey::Advisory(_) => "advisory",
    }
}

/// A lock in PostgreSQL's words. The catalog is `pg_class`; a value of an index is the index.
fn shown_lock(listed: &Listed) -> (ListedLockKey, &'static str) {
    const PG_CLASS: u32 = 1259;
    let exclusive = listed.mode == LockMode::Exclusive;
    let of_table = if exclusive { "AccessExclusiveLock" } else { "RowExclusiveLock" };
    let of_other = if exclusive { "ExclusiveLock" } else { "ShareLock" };
    match listed.key {
        ListedKey::Relation(relation) => (ListedLockKey::Relation(relation.0), of_table),
        ListedKey::Catalog => (ListedLockKey::Relation(PG_CLASS), of_table),
        ListedKey::Row(relation) => (ListedLockKey::Row(relation.0), of_other),
        ListedKey::Value(index) => (ListedLockKey::Relation(index.0), of_other),
        ListedKey::Advisory(key) => (ListedLockKey::Advisory(key), of_other),
    }
}
