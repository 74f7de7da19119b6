//! What `wire` asks of a session beside statements: types by number, cursors as portals, what a client is told of the settings, and
//! patience with one that says nothing.

use crate::response::TransactionStatus;
use crate::session::Session;
use crate::session::env::{Acting, Everyday, OfQuery};
use crate::session::plan::Prepared;
use planner::hir::OutputColumn;
use planner::parse::Statement;
use planner::parse::utility::FetchDirection;
use repr::ScalarType;
use state::SqlError;
use state::activity::Doing;
use state::notice::{Notice, is_wanted};
use state::snapshot_holders::Signals;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn idle_too_long() -> SqlError {
    SqlError::new("25P03", "terminating connection due to idle-in-transaction timeout").fatal()
}

fn too_long() -> SqlError {
    SqlError::new("25P04", "terminating connection due to transaction timeout").fatal()
}

/// FETCH or MOVE of a portal.
pub struct PortalFetch<'p> {
    /// Its name.
    pub portal: &'p str,
    /// MOVE
    pub is_move: bool,
    /// So many rows; none if it does not go onwards alone.
    pub at_most: Option<u64>,
}

impl Session {
    /// What the client is told at connection.
    pub fn initial_parameters(&self) -> Vec<(String, String)> {
        self.state.lock().settings.reported()
    }

    /// Settings that changed since the client was last told.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        let now = {
            let state = self.state.lock();
            if state.settings.version() == self.client.reported_version {
                return Vec::new();
            }
            self.client.reported_version = state.settings.version();
            state.settings.reported()
        };
        let changed: Vec<_> =
            now.into_iter().filter(|(name, value)| self.client.reported.get(name) != Some(value)).collect();
        if let Some((_, application)) = changed.iter().find(|(name, _)| name == "application_name") {
            self.control.holder.activity.is_called(application);
        }
        self.client.reported.extend(changed.iter().cloned());
        changed
    }

    /// The columns of an open SQL cursor: on the wire it is a portal, and drivers describe it as one.
    pub fn cursor_columns(&self, name: &str) -> Option<Arc<[OutputColumn]>> {
        self.cursors.open.get(name).map(|cursor| cursor.columns().clone())
    }

    /// Closes an SQL cursor, which on the wire is a portal.
    pub fn close_cursor(&mut self, name: &str) -> bool {
        self.cursors.open.remove(name).is_some() || self.cursors.subscribed.remove(name).is_some()
    }

    /// FETCH or MOVE of what is no cursor of SQL's, but may be a portal of the client's.
    pub fn fetch_of_portal<'p>(&self, prepared: &'p Prepared) -> Option<PortalFetch<'p>> {
        let Statement::Fetch(fetch) = &prepared.statement else { return None };
        if self.cursors.open.contains_key(&fetch.cursor) || self.cursors.subscribed.contains_key(&fetch.cursor) {
            return None;
        }
        let at_most = match fetch.direction {
            FetchDirection::Forward(count) => u64::try_from(count).ok().filter(|count| *count > 0),
            FetchDirection::ForwardAll => Some(u64::MAX),
            FetchDirection::Absolute(_) | FetchDirection::Relative(_) | FetchDirection::BackwardAll => None,
        };
        Some(PortalFetch { portal: &fetch.cursor, is_move: fetch.is_move, at_most })
    }

    /// 25P02 if the transaction block has failed.
    pub fn refuse_failed_block(&self) -> Result<(), SqlError> {
        if self.is_failed() { Err(crate::session::failed_block::block_failed()) } else { Ok(()) }
    }

    /// The type that a client names by its `pg_type.oid`, enums and their arrays included.
    pub fn type_by_oid(&self, oid: u32) -> Option<ScalarType> {
        ScalarType::from_oid(oid).or_else(|| {
            let catalog = self.catalog();
            let created = |oid: u32| catalog.types.get(&oid).map(|found| found.column_type().scalar);
            let array = || {
                let element = catalog.types.get(&oid.checked_sub(1)?)?;
                Some(element.column_type().scalar.array())
            };
            let row = |oid: u32| catalog.table_of_row_type(oid)?.row_type().map(ScalarType::Record);
            let rows = || row(oid.checked_sub(1)?).map(|row| row.array());
            // An enum's array type has the OID after the enum's own.
            created(oid).or_else(array).or_else(|| row(oid)).or_else(rows)
        })
    }

    /// Says how others cancel and end this session.
    pub fn set_signals(&self, signals: Signals) {
        self.control.holder.set_signals(signals);
    }

    /// It waits for its client from now on, as `pg_stat_activity` shows.
    pub fn rests(&self, status: TransactionStatus) {
        self.control.holder.activity.rests(match status {
            TransactionStatus::Idle => Doing::Idle,
            TransactionStatus::InTransaction => Doing::IdleInTransaction,
            TransactionStatus::Failed => Doing::IdleInFailedTransaction,
        });
    }

    /// In whose name functions act.
    pub(super) fn acting(&self) -> Acting {
        let transaction = self.transaction.active.as_ref().map(|active| &active.transaction);
        Acting {
            holder: self.control.holder.clone(),
            transaction: transaction.map(|transaction| transaction.id()),
            has_written: transaction.is_some_and(|transaction| !transaction.overlay().is_empty()),
            deadline: self.statement.deadlines.statement,
            cancel: self.control.cancel.clone(),
            // Nothing is made for the many statements beside which there is none.
            cursors: self.cursors.open.iter().map(|(name, cursor)| cursor.listed(name)).collect(),
            own: None,
            query: OfQuery { exportable: None, lent: self.control.lending.lent.clone() },
        }
    }

    /// Notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.client.notices);
        let mut state = self.state.lock();
        notices.append(&mut state.notices);
        if !notices.is_empty() {
            let least = state.settings.get("client_min_messages");
            notices.retain(|notice| least.is_none_or(|least| is_wanted(notice.severity, least)));
        }
        notices
    }

    /// How long the client may be silent outside a transaction.
    pub fn idle_session_timeout(&self) -> Option<Duration> {
        self.state.lock().everyday().idle_session_timeout
    }

    /// How long it may take nothing of what it is sent, while its transaction may hold what others wait for.
    pub fn patience_with_reader(&self) -> Option<Duration> {
        self.transaction.active.as_ref().and_then(|_| self.state.lock().everyday().idle_in_transaction_timeout)
    }

    /// How long it may be silent inside one, and what ends it then.
    pub fn patience_in_transaction(&self) -> Option<(Duration, fn() -> SqlError)> {
        let Everyday { idle_in_transaction_timeout, transaction_timeout, .. } = self.state.lock().everyday();
        let idle = idle_in_transaction_timeout.map(|timeout| (timeout, idle_too_long as fn() -> SqlError));
        let whole = transaction_timeout.map(|timeout| {
            let left = (self.transaction_began() + timeout).saturating_duration_since(Instant::now());
            (left, too_long as fn() -> SqlError)
        });
        idle.into_iter().chain(whole).min_by_key(|(left, _)| *left)
    }

    /// What an error means for the client: a statement that met its deadline because its transaction had no time left ends the
    /// session, be that transaction its own.
    pub fn judged(&self, error: SqlError) -> SqlError {
        let over = || self.statement.deadlines.transaction.is_some_and(|deadline| Instant::now() >= deadline);
        if error.code == "57014" && over() { too_long() } else { self.without_rows(error) }
    }

    /// When the transaction began; now if there is none.
    pub(super) fn transaction_began(&self) -> Instant {
        self.transaction.active.as_ref().map_or_else(Instant::now, |active| active.transaction.begun.instant)
    }
}
