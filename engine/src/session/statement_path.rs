//! Which way a statement went, and what else the log of slow statements says of it: never a value, and no word of the client's own.

use crate::session::Session;
use crate::session::plan::{CachedPlan, Prepared, is_lookup, reads_rows};
use planner::Planned;
use planner::catalog::Catalog;
use planner::resolve::GdprRequest;
use planner::statement_shape::shape;
use state::settings;
use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementPath {
    /// Rows were found by their keys.
    Lookup,
    /// Rows were computed from tables, or from views among others.
    OneShot,
    /// Rows of one materialized view as they are.
    MaterializedView,
    /// Rows of a view that the query has earned.
    AutomaticView,
    /// Rows were written.
    Write,
    /// COPY.
    Copy,
    /// A person's rows were found, given out or erased.
    SubjectRequest,
    /// Anything else.
    Other,
}

impl StatementPath {
    /// The way that a plan goes, if no view of its own answers it.
    pub(super) fn of(cached: &CachedPlan) -> StatementPath {
        match &cached.planned {
            // What a function does is not known before.
            Planned::Query(query) if query.calls => StatementPath::Other,
            Planned::Query(query) if is_lookup(&query.plan) => StatementPath::Lookup,
            Planned::Query(query) if !cached.views.list.is_empty() && reads_rows(&query.plan) => {
                StatementPath::MaterializedView
            }
            Planned::Query(_) | Planned::Cursor(..) => StatementPath::OneShot,
            Planned::Write(_) | Planned::With(_) | Planned::CreateTableAs(..) | Planned::Described(..) => {
                StatementPath::Write
            }
            Planned::CopyIn(..) | Planned::CopyOut(..) => StatementPath::Copy,
            Planned::Gdpr(GdprRequest::ExplainForget(_), ..) => StatementPath::Other,
            Planned::Gdpr(..) => StatementPath::SubjectRequest,
            Planned::Subscribe(_)
            | Planned::SubscribeCursor(..)
            | Planned::Call(_)
            | Planned::Explain(_)
            | Planned::Other => StatementPath::Other,
        }
    }

    /// Whether nothing can have been written on it.
    pub fn only_reads(self) -> bool {
        match self {
            StatementPath::Lookup
            | StatementPath::OneShot
            | StatementPath::MaterializedView
            | StatementPath::AutomaticView => true,
            StatementPath::Write | StatementPath::Copy | StatementPath::SubjectRequest | StatementPath::Other => false,
        }
    }

    /// As it stands in the log.
    pub fn name(self) -> &'static str {
        match self {
            StatementPath::Lookup => "lookup",
            StatementPath::OneShot => "one-shot",
            StatementPath::MaterializedView => "maintained view",
            StatementPath::AutomaticView => "automatic view",
            StatementPath::Write => "write",
            StatementPath::Copy => "copy",
            StatementPath::SubjectRequest => "traversal",
            StatementPath::Other => "other",
        }
    }
}

/// What a statement's shape is made of. Making it takes longer than a small statement.
pub struct StatementShape {
    text: Arc<str>,
    catalog: Arc<Catalog>,
}

impl StatementShape {
    /// Of a statement's text.
    pub(super) fn of(text: &Arc<str>, catalog: &Arc<Catalog>) -> StatementShape {
        StatementShape { text: text.clone(), catalog: catalog.clone() }
    }

    /// The shape.
    pub fn written(&self) -> String {
        shape(&self.text, &self.catalog, settings::is_known)
    }
}

impl Session {
    /// From how long on the statement that has begun is logged; none is not.
    pub fn log_min_duration(&self) -> Option<Duration> {
        self.statement.log.min_duration
    }

    /// The way that the last statement went.
    pub fn path(&self) -> StatementPath {
        self.statement.log.path
    }

    /// A statement without its literals and without words of the client's own, to be written when that is wanted.
    pub fn shape_of(&self, prepared: &Prepared) -> StatementShape {
        StatementShape::of(&prepared.text, &self.catalog())
    }

    /// Whether the session's begin and end are logged.
    pub fn logs_connections(&self) -> [bool; 2] {
        let state = self.state.lock();
        ["log_connections", "log_disconnections"].map(|name| state.settings.is_on(name))
    }
}
