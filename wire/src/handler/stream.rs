//! Rows from the engine's iterator to the socket, with bounded buffering and cancellation.

use super::{Handler, Stop};
use crate::encode::data_row;
use crate::types::Formats;
use engine::SqlError;
use engine::protocol::{AnswerRow, RowStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

// A row of a slow query waits at most this long for company.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// How far a stream was sent.
pub(super) struct Sent {
    /// Rows sent now.
    pub rows: u64,
    /// Whether it has ended; a limit that is just met does not tell.
    pub ended: bool,
}

impl Handler<'_> {
    /// Sends rows until the end or the limit.
    pub(super) async fn send_rows(
        &mut self,
        stream: &mut RowStream,
        formats: &Formats,
        limit: Option<u64>,
    ) -> Result<Sent, Stop> {
        let (context, columns) = (self.session.text_context(), Arc::clone(&stream.columns));
        let mut pace = Pace::new();
        let mut rows = 0;
        loop {
            if limit == Some(rows) {
                return Ok(Sent { rows, ended: false });
            }
            if !self.send_row(stream, |row, out| data_row(row, &columns, formats, &context, out))? {
                return Ok(Sent { rows, ended: true });
            }
            rows += 1;
            if self.seal_row(&mut pace) {
                self.connection.flush().await?;
            }
        }
    }

    /// Writes the next row to what waits to be sent, unless the statement is cancelled; false at the end.
    pub(super) fn send_row(
        &mut self,
        stream: &mut RowStream,
        write: impl FnOnce(&AnswerRow<'_>, &mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<bool, SqlError> {
        self.check_cancelled()?;
        match stream.rows.next_row()? {
            Some(row) => write(&row, self.connection.outgoing()).map(|()| true),
            None => Ok(false),
        }
    }

    /// Seals the row that was just encoded; whether to flush, as enough waits or for long enough.
    pub(super) fn seal_row(&mut self, pace: &mut Pace) -> bool {
        self.connection.seal();
        let now = Instant::now();
        let until = *pace.waits_until.get_or_insert_with(|| now + FLUSH_AFTER);
        let flush = self.connection.wants_flush() || now >= until;
        if flush {
            pace.waits_until = None;
        }
        flush
    }

    pub(super) fn check_cancelled(&self) -> Result<(), SqlError> {
        if self.registration.flag.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }
}

/// Until when a row that waits is flushed. Nothing when the statement begins: what was not sent can be run again.
pub(super) struct Pace {
    waits_until: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { waits_until: None }
    }
}

/// 57014.
pub(super) fn cancelled() -> SqlError {
    SqlError::new("57014", "canceling statement due to user request")
}
