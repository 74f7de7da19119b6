//! What ends a connection, and how an engine's error becomes an ErrorResponse.
//!
//! A statement's error is a `SqlError` and stays one: it is sent, and the connection goes on. `WireError` is
//! what a connection does not survive. Neither ever quotes a stored value.

use engine::SqlError;
use engine::protocol::{Notice, Routine};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use std::fmt;
use std::io;

/// Why a connection ends.
#[derive(Debug)]
pub enum WireError {
    /// The client said goodbye or its socket is gone: nobody is there to be told.
    Gone,
    /// The client is told this, and the connection is closed. Boxed: it is moved with every message that comes.
    Fatal(Box<SqlError>),
    /// The socket failed.
    Socket(io::Error),
}

impl WireError {
    /// The client is told this, and the connection is closed.
    pub fn fatal(error: SqlError) -> Self {
        WireError::Fatal(Box::new(error))
    }

    /// A violation of the protocol after which the byte stream cannot be trusted any more.
    pub fn violation(message: impl Into<String>) -> Self {
        WireError::fatal(protocol_violation(message).fatal())
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Gone => f.write_str("the client is gone"),
            WireError::Fatal(error) => write!(f, "{error}"),
            WireError::Socket(error) => write!(f, "socket: {error}"),
        }
    }
}

impl std::error::Error for WireError {}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => WireError::Gone,
            _ => WireError::Socket(error),
        }
    }
}

/// 08P01.
pub(crate) fn protocol_violation(message: impl Into<String>) -> SqlError {
    SqlError::new("08P01", message)
}

/// 57P01, to every client when the server stops.
pub(crate) fn admin_shutdown() -> SqlError {
    SqlError::new("57P01", "terminating connection due to administrator command").fatal()
}

/// 40001, to a client that held on to a snapshot which an erasure has ended. The words are PostgreSQL's for a
/// standby's conflict with recovery, which is much the same.
pub(crate) fn snapshot_held() -> SqlError {
    SqlError::new("40001", "terminating connection due to conflict with an erasure")
        .detail("A data subject was forgotten, and this session held a snapshot from before.")
        .hint("In a moment you should be able to reconnect to the database and repeat your command.")
        .fatal()
}

/// 53300, to a client that had not logged in when others came.
pub(crate) fn crowded_out() -> SqlError {
    SqlError::new("53300", "too many clients are logging in").hint("Try again.").fatal()
}

/// 53400, to a listener that has left too much unread.
pub(crate) fn unread() -> SqlError {
    SqlError::new("53400", "terminating connection because its notifications were not read")
        .detail("What waits for all listeners together is bounded, and most of it waited for this one.")
        .hint("Reconnect, LISTEN again, and look for what was missed.")
        .fatal()
}

/// XX000, when an evaluation panicked.
pub(crate) fn internal_error() -> SqlError {
    SqlError::new("XX000", "internal error; this connection is closed")
        .detail("The server wrote the place of the fault to its log.")
        .fatal()
}

/// The fields of an ErrorResponse, in PostgreSQL's order.
pub(crate) fn error_response(error: &SqlError) -> PgWireBackendMessage {
    let severity = if error.fatal { "FATAL" } else { "ERROR" };
    let mut fields = vec![
        (b'S', severity.to_string()),
        (b'V', severity.to_string()),
        (b'C', error.code.to_string()),
        (b'M', without_nul(&error.message)),
    ];
    let mut optional = |code: u8, value: Option<&str>| {
        if let Some(value) = value {
            fields.push((code, without_nul(value)));
        }
    };
    optional(b'D', error.detail.as_deref());
    optional(b'H', error.hint.as_deref());
    optional(b'P', error.position.map(|position| position.to_string()).as_deref());
    optional(b'W', error.context.as_deref());
    optional(b's', error.object.schema.as_deref());
    optional(b't', error.object.table.as_deref());
    optional(b'c', error.object.column.as_deref());
    optional(b'd', error.object.datatype.as_deref());
    optional(b'n', error.object.constraint.as_deref());
    fields.extend(error.routine.into_iter().flat_map(of_routine));
    PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields))
}

/// The fields of a NoticeResponse.
pub(crate) fn notice_response(notice: &Notice) -> PgWireBackendMessage {
    let mut fields = vec![
        (b'S', notice.severity.to_string()),
        (b'V', notice.severity.to_string()),
        (b'C', notice.code.to_string()),
        (b'M', without_nul(&notice.message)),
    ];
    if let Some(detail) = &notice.detail {
        fields.push((b'D', without_nul(detail)));
    }
    if let Some(hint) = &notice.hint {
        fields.push((b'H', without_nul(hint)));
    }
    if let Some(context) = &notice.context {
        fields.push((b'W', without_nul(context)));
    }
    fields.extend(notice.routine.into_iter().flat_map(of_routine));
    PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields))
}

/// Where PostgreSQL says it.
fn of_routine(routine: &Routine) -> [(u8, String); 3] {
    [(b'F', routine.file.to_owned()), (b'L', routine.line.to_string()), (b'R', routine.name.to_owned())]
}

// A NUL would end the field early and shift the ones after it.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}
