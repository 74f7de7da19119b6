//! Rows from the engine's iterator to the socket, with bounded buffering and cancellation.

use super::{Handler, Stop};
use crate::connection::FLUSH_BYTES;
use crate::encode::data_row;
use crate::types::Formats;
use engine::SqlError;
use engine::protocol::{AnswerRow, RowStream};
use repr::poll;
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
            let at_most = limit.map_or(u64::MAX, |limit| limit - rows);
            let sent = self.send_some(stream, at_most, |row, out| data_row(row, &columns, formats, &context, out))?;
            rows += sent.rows;
            if sent.ended {
                return Ok(Sent { rows, ended: true });
            }
            if self.is_due(&mut pace) {
                self.flush().await?;
            }
        }
    }

    /// Writes rows to what waits to be sent, one and those that come without waiting behind it, as far as they are sent at once;
    /// none of a statement that is cancelled.
    pub(super) fn send_some(
        &mut self,
        stream: &mut RowStream,
        at_most: u64,
        mut write: impl FnMut(&AnswerRow<'_>, &mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<Sent, SqlError> {
        let _overseen = self.session.oversee();
        self.check_cancelled()?;
        let out = self.connection.outgoing();
        let (mut rows, mut written, mut whole) = (0, Ok(()), out.len());
        let mut write = |row: &AnswerRow<'_>| {
            // Read and written, and as much again if it is long.
            written = poll::room(row.bytes().min(poll::VALUE_BYTES_MAX)).map_err(SqlError::from);
            if written.is_ok() {
                written = write(row, out);
            }
            if written.is_err() {
                return false;
            }
            rows += 1;
            whole = out.len();
            rows < at_most && whole < FLUSH_BYTES
        };
        // What is computed only now may be planned only now, too; and writing may unwind.
        let shown = poll::unwinds_to(|| stream.rows.show(&mut write));
        // Of one that cannot be written nothing remains, those before it are whole.
        self.connection.outgoing().truncate(whole);
        self.connection.seal();
        written?;
        Ok(Sent { rows, ended: !shown? })
    }

    /// Whether to flush after a row, as enough waits or for long enough.
    pub(super) fn is_due(&mut self, pace: &mut Pace) -> bool {
        let now = Instant::now();
        let until = *pace.waits_until.get_or_insert_with(|| now + FLUSH_AFTER);
        let flush = self.connection.wants_flush() || now >= until;
        if flush {
            pace.waits_until = None;
        }
        flush
    }

    /// 57014 if the statement was cancelled, unless that came too late: what was committed is told.
    pub(super) fn check_cancelled(&self) -> Result<(), SqlError> {
        if self.registration.flag.is_cancelled() && !self.session.stands() { Err(cancelled()) } else { Ok(()) }
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
