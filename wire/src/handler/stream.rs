//! Rows from the engine's iterator to the socket, with bounded buffering and cancellation.

use super::{Handler, Stop};
use crate::encode::data_row;
use crate::error::WireError;
use crate::types::ColumnFormat;
use engine::SqlError;
use engine::protocol::RowStream;
use repr::Datum;
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
        formats: &[ColumnFormat],
        limit: Option<u64>,
    ) -> Result<Sent, Stop> {
        let context = self.session.text_context();
        let mut pace = Pace::new();
        let mut rows = 0;
        loop {
            if limit == Some(rows) {
                return Ok(Sent { rows, ended: false });
            }
            let Some(row) = self.next_row(stream)? else { return Ok(Sent { rows, ended: true }) };
            data_row(&row, formats, &context, self.connection.outgoing())?;
            rows += 1;
            self.keep_pace(&mut pace).await?;
        }
    }

    /// The next row, unless the statement is cancelled.
    pub(super) fn next_row(&mut self, stream: &mut RowStream) -> Result<Option<Vec<Datum>>, SqlError> {
        self.check_cancelled()?;
        stream.rows.next().transpose()
    }

    /// Seals the row that was just encoded, and flushes when enough waits or for long enough.
    pub(super) async fn keep_pace(&mut self, pace: &mut Pace) -> Result<(), WireError> {
        self.connection.seal();
        let now = Instant::now();
        let since = *pace.waiting_since.get_or_insert(now);
        if self.connection.wants_flush() || now.duration_since(since) >= FLUSH_AFTER {
            self.connection.flush().await?;
            pace.waiting_since = None;
        }
        Ok(())
    }

    pub(super) fn check_cancelled(&self) -> Result<(), SqlError> {
        if self.registration.flag.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }
}

/// Since when a row waits to be flushed. Not since the statement began: what was not sent can be run again.
pub(super) struct Pace {
    waiting_since: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { waiting_since: None }
    }
}

/// 57014.
pub(super) fn cancelled() -> SqlError {
    SqlError::new("57014", "canceling statement due to user request")
}
