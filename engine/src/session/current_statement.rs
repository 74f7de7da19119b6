//! What a session knows of the statement that it runs.

use crate::session::statement_path::StatementPath;
use operators::profile::Profile;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How it came.
#[derive(Default)]
pub(super) struct Beginning {
    /// Whether it has begun and was not executed yet.
    pub begun: bool,
    /// Whether it began with a message that another goes on with.
    pub goes_on: bool,
}

/// The statement that has begun, and the last one until then.
pub(super) struct CurrentStatement {
    /// How it came.
    pub beginning: Beginning,
    /// When.
    pub started: i64,
    /// Until when.
    pub deadlines: Deadlines,
    /// It has been committed before its rows are read.
    pub stands: bool,
    /// Values are read and written as without a session.
    pub has_no_styles: bool,
    /// What counts its operators, while EXPLAIN ANALYZE runs it.
    pub profile: Option<Arc<Profile>>,
    /// How many EXECUTEs run within each other.
    pub nested: usize,
    /// What is logged of it.
    pub log: StatementLog,
}

impl CurrentStatement {
    /// One that has begun then and was asked nothing yet.
    pub fn begun(started: i64) -> CurrentStatement {
        CurrentStatement {
            beginning: Beginning::default(),
            started,
            deadlines: Deadlines::default(),
            stands: false,
            has_no_styles: false,
            profile: None,
            nested: 0,
            log: StatementLog { min_duration: None, path: StatementPath::Other },
        }
    }
}

/// Until when it may run.
#[derive(Clone, Copy, Default)]
pub(super) struct Deadlines {
    /// The statement itself.
    pub statement: Option<Instant>,
    /// Its transaction.
    pub transaction: Option<Instant>,
    /// Where rows are kept from whoever asks: since when an answer without any waits for the end of a step.
    pub even_since: Option<Instant>,
}

/// What is logged of a statement.
pub(super) struct StatementLog {
    /// From how long on.
    pub min_duration: Option<Duration>,
    /// The way that it went.
    pub path: StatementPath,
}
