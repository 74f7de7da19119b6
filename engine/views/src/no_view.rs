//! Why a query is not answered from a view: what EXPLAIN says of it.
//!
//! Found on the way that every query takes, so that what is said is what happens. Cheap to make: words are put
//! together only when somebody asks.

use crate::automatic::RUNS_MIN;
use planner::catalog::Catalog;
use planner::physical::costs::KEYS_MAX;
use repr::RelationId;
use state::view_states::{Stage, Views};
use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub enum NoView {
    /// It finds its rows by key: no view is faster.
    Lookup,
    /// It reads no table.
    NoTable,
    /// FOR UPDATE or SHARE.
    RowLocks,
    /// A write computes its rows in its own transaction.
    Writes,
    /// `dogwood.auto_views` is off.
    Off,
    /// It cannot be one, for this reason.
    Never(Arc<str>),
    /// It was executed too seldom.
    Seldom {
        /// How often within the last minute.
        runs: usize,
    },
    /// Its view was dropped over the budget.
    OverBudget {
        /// How long ago.
        since: Duration,
        /// The budget in bytes.
        budget_bytes: usize,
    },
    /// The view is younger than what the transaction sees.
    NotThere,
    /// It waits for a view that it reads.
    Waiting,
    /// It is being filled.
    Hydrating {
        /// Rows read so far.
        rows: u64,
    },
    /// Commits have still to go through it.
    Behind,
    /// The clock has moved rows in or out of it since the transaction began, or has still to.
    OtherMoment,
    /// It gave up.
    Failed(String),
    /// A row of it cannot be evaluated: whom it concerns is told by computing.
    RowFails,
    /// A materialized view that is read cannot be read now.
    Below(RelationId, Box<NoView>),
    /// The transaction has changed a table that is read.
    Changed(RelationId),
    /// It holds the first rows of a key, and more are shown.
    TooFewRows {
        /// Of a key that has many, so many at least.
        rows_min: usize,
        /// So many, or all.
        shown: usize,
    },
    /// The values that its columns may have make too many keys together.
    ManyKeys,
    /// A key without rows still has a result, which is computed.
    NoRows,
}

impl NoView {
    /// Why a view cannot be read, if it cannot.
    pub fn of(views: &Views, view: RelationId) -> Option<NoView> {
        let Some(state) = views.get(view) else { return Some(NoView::NotThere) };
        match &state.stage {
            Stage::Waiting => Some(NoView::Waiting),
            Stage::Hydrating { rows } => Some(NoView::Hydrating { rows: *rows }),
            Stage::Failed(error) => Some(NoView::Failed(error.message.clone())),
            Stage::Ready if views.is_overdue(view) => Some(NoView::Behind),
            Stage::Ready if state.errors > 0 => Some(NoView::RowFails),
            Stage::Ready => None,
        }
    }

    /// In words.
    pub fn text(&self, catalog: &Catalog) -> String {
        let name = |relation: &RelationId| {
            catalog.table(*relation).map_or_else(|| relation.to_string(), |table| format!("\"{}\"", table.name))
        };
        match self {
            NoView::Lookup => "it is a lookup by key".into(),
            NoView::NoTable => "it reads no table".into(),
            NoView::RowLocks => "it locks rows".into(),
            NoView::Writes => "it writes".into(),
            NoView::Off => "dogwood.auto_views is off".into(),
            NoView::Never(reason) => reason.to_string(),
            NoView::Seldom { runs } => {
                format!("not yet executed {RUNS_MIN} times within a minute: {runs} of {RUNS_MIN}")
            }
            NoView::OverBudget { since, budget_bytes } => format!(
                "its view was dropped {} s ago, because views held more than dogwood.view_memory ({budget_bytes} bytes)",
                since.as_secs()
            ),
            NoView::NotThere => "it is younger than the transaction's snapshot, or was just asked for".into(),
            NoView::Waiting => "it waits for a view that it reads".into(),
            NoView::Hydrating { rows } => format!("it is being filled: {rows} rows read so far"),
            NoView::Behind => "commits have still to go through it".into(),
            NoView::OtherMoment => "its temporal filters are at another moment than the transaction".into(),
            NoView::Failed(message) => format!("it failed: {message}"),
            NoView::RowFails => "a row of it cannot be evaluated".into(),
            NoView::Below(view, why) => format!("view {}: {}", name(view), why.text(catalog)),
            NoView::ManyKeys => format!("the values of several columns make more than {KEYS_MAX} keys"),
            NoView::NoRows => "it has no row for this key, and what no row gives is computed".into(),
            NoView::TooFewRows { rows_min, shown: usize::MAX } => {
                format!("it holds the first {rows_min} rows or more of each key, and all are shown")
            }
            NoView::TooFewRows { rows_min, shown } => {
                format!("it holds the first {rows_min} rows or more of each key, and {shown} are asked for")
            }
            NoView::Changed(table) => format!("the transaction has changed {}", name(table)),
        }
    }
}
