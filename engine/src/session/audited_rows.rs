//! Rows on their way to the client, of which the audit log is told whose they were.

use crate::session::audit_entries::{AuditSink, EntryHead, TOLD_EVERY};
use repr::{Datum, MicroDbId};
use state::SqlError;
use state::answer::{Answer, AnswerRow, QueryRows, Show};
use state::audit::{AuditMode, ReadObserver};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// So many rows are looked at before the clock is.
const ROWS_BETWEEN: u64 = 256;
/// In the strict mode so many rows are read before the first is given; of more it is told beforehand whose they may be.
const HELD_MAX: usize = 1_000;

/// See the module.
pub(super) struct AuditedRows {
    rows: QueryRows,
    /// Read, and not given.
    held: VecDeque<Vec<Datum>>,
    /// All that is to be said is said.
    is_told: bool,
    row: Vec<Datum>,
    told: RowsToTell,
}

/// What the log is told.
struct RowsToTell {
    observer: Arc<ReadObserver>,
    head: EntryHead,
    sink: AuditSink,
    /// Whose data was asked for.
    about: Option<MicroDbId>,
    /// How many rows were given since.
    rows: u64,
    /// When it was told something last.
    last: Instant,
}

impl RowsToTell {
    fn tell(&mut self, more: bool) -> Result<(), SqlError> {
        let rows = std::mem::take(&mut self.rows);
        let Some(mut read) = self.observer.take()? else { return Ok(()) };
        if let Some(about) = self.about {
            // Rows that others own too are this person's.
            read.subjects = vec![about];
            read.scope.may_be_more = false;
        }
        read.scope.may_be_more |= more;
        let commit = self.sink.database.published.load().time;
        self.sink.put(self.head.entry(read, rows, commit))
    }

    /// Rows were given, and more may be.
    fn tell_in_time(&mut self) -> Result<(), SqlError> {
        if self.last.elapsed() < TOLD_EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        self.tell(false)
    }
}

impl AuditedRows {
    /// Over rows, of what an observer sees when they are read.
    pub(super) fn over(
        rows: QueryRows,
        observer: Arc<ReadObserver>,
        head: EntryHead,
        sink: AuditSink,
        about: Option<MicroDbId>,
    ) -> QueryRows {
        let told = RowsToTell { observer, head, sink, about, rows: 0, last: Instant::now() };
        QueryRows::of(AuditedRows { rows, held: VecDeque::new(), is_told: false, row: Vec::new(), told })
    }

    /// In the strict mode: reads ahead, and has it in the log before the first row is given.
    fn hold(&mut self) -> Result<(), SqlError> {
        if self.is_told || self.told.sink.mode != AuditMode::Strict {
            return Ok(());
        }
        self.is_told = true;
        while self.held.len() <= HELD_MAX {
            match self.rows.next() {
                Some(row) => self.held.push_back(row?),
                None => break,
            }
        }
        self.told.rows = self.held.len() as u64;
        self.told.tell(self.held.len() > HELD_MAX)
    }
}

impl Answer for AuditedRows {
    fn advance(&mut self) -> Result<bool, SqlError> {
        self.hold()?;
        if let Some(row) = self.held.pop_front() {
            self.row = row;
            return Ok(true);
        }
        let Some(row) = self.rows.next() else { return Ok(false) };
        self.row = row?;
        self.told.rows += 1;
        if self.told.rows.is_multiple_of(ROWS_BETWEEN) {
            self.told.tell_in_time()?;
        }
        Ok(true)
    }

    fn row(&mut self) -> AnswerRow<'_> {
        AnswerRow::Values(&self.row)
    }

    fn take(&mut self) -> Vec<Datum> {
        std::mem::take(&mut self.row)
    }

    fn show(&mut self, show: &mut Show<'_>) -> Result<bool, SqlError> {
        self.hold()?;
        if let Some(row) = self.held.pop_front() {
            show(&AnswerRow::Values(&row));
            return Ok(true);
        }
        let mut shown = 0;
        let found = self.rows.show(&mut |row| {
            shown += 1;
            show(row)
        })?;
        self.told.rows += shown;
        // At the end it is told when this goes.
        if found {
            self.told.tell_in_time()?;
        }
        Ok(found)
    }
}

impl Drop for AuditedRows {
    fn drop(&mut self) {
        if let Err(error) = self.told.tell(false) {
            tracing::error!(target: "dogwood::audit", "what was read could not be recorded: {error}");
        }
    }
}
