//! One logged-in client's conversation: takes messages in order, runs them on the session, answers.
//!
//! `simple` runs query strings, `extended` Parse to Sync, `portals` keeps what they bind, `portal_cursor` moves in it by SQL, `stream` moves rows, `copy` runs COPY, `reruns` decides what is run again, `subscription` tells changes, `watch` what the log is told. An error of a statement is
//! answered here and the conversation goes on; only `WireError` ends it. The engine's calls block:
//! but for quiet subscriptions and silent clients, all runs on a thread that belongs to this client (`parking`).

mod copy;
mod extended;
mod portal_cursor;
mod portals;
mod reruns;
mod simple;
mod stream;
mod subscription;
mod watch;

use crate::cancel::Registration;
use crate::client_socket::End;
use crate::connection::{AWAKE, Connection, Heard, Silence};
use crate::decode::{Frame, MESSAGE_BYTES_MAX};
use crate::encode::{self, Bare};
use crate::error::{WireError, error_response, notice_response};
use engine::SqlError;
use engine::protocol::TransactionStatus;
use engine::session::Session;
use pgwire::messages::startup::ParameterStatus;
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use portals::Portals;
use std::time::Duration;
use watch::StatementWatch;

/// See the module.
pub struct Handler<'a> {
    connection: &'a mut Connection,
    session: Session,
    registration: Registration,
    portals: Portals,
    // After an error in the extended protocol everything up to Sync is passed over.
    skipping: bool,
    // The statement that runs, if it is to be logged when it takes long.
    watched: Option<StatementWatch>,
}

/// A listener that is silent for so long gives its thread back.
const AWAKE_LISTENING: Duration = Duration::from_millis(1);

/// Why a statement stopped: by its own error, or with the connection.
enum Stop {
    Statement(SqlError),
    Connection(WireError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Statement(error)
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Stop::Connection(error)
    }
}

impl<'a> Handler<'a> {
    /// A handler for a session that has just been opened.
    pub fn new(connection: &'a mut Connection, session: Session, registration: Registration) -> Self {
        Handler { connection, session, registration, portals: Portals::default(), skipping: false, watched: None }
    }

    /// Serves until the connection ends, and says why it did.
    pub async fn serve(mut self) -> WireError {
        if let Err(error) = self.ready().await {
            return error;
        }
        loop {
            if self.connection.has_sent() {
                self.session.sent();
            }
            let frame = self.next_frame().await;
            self.session.settle();
            let served = match frame {
                Ok(frame) => self.serve_frame(frame).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                // What waits is still sent if the client takes it.
                return self.settle_owed().err().unwrap_or(error);
            }
        }
    }

    async fn next_frame(&mut self) -> Result<Frame, WireError> {
        if let Some(frame) = self.connection.arrived(MESSAGE_BYTES_MAX)? {
            return Ok(frame);
        }
        let patience = match self.session.status() {
            TransactionStatus::Idle => {
                self.session.idle_session_timeout().map(|limit| (limit, idle_too_long as fn() -> SqlError))
            }
            TransactionStatus::InTransaction | TransactionStatus::Failed => self.session.patience_in_transaction(),
        };
        let limit = patience.as_ref().map(|(limit, _)| *limit);
        // Who listens is told at once, for which its thread must not be asleep.
        let awake = if self.session.is_listening() { AWAKE_LISTENING } else { AWAKE };
        let mut silence = Silence { limit, awake, until: None };
        loop {
            match self.connection.heard(MESSAGE_BYTES_MAX, &mut silence).await? {
                Heard::Frame(frame) => return Ok(frame),
                Heard::Call => {
                    self.feed_notifications().await?;
                    self.flush().await?;
                }
                Heard::Silence => return Err(patience.map_or(WireError::Gone, |(_, error)| WireError::fatal(error()))),
            }
        }
    }

    async fn serve_frame(&mut self, frame: Frame) -> Result<(), WireError> {
        // It may have come together with the word that this session ends.
        if self.connection.socket().ended() == Some(End::Terminated) {
            return Err(WireError::fatal(End::Terminated.error()));
        }
        match frame.kind {
            b'X' => return Err(WireError::Gone),
            // What a client still had under way when its COPY failed.
            b'd' | b'c' | b'f' => return Ok(()),
            b'p' => return Err(WireError::violation("unexpected password message")),
            kind if self.skipping && kind != b'S' => return Ok(()),
            _ => {}
        }
        let kind = frame.kind;
        match frame.decode(self.connection.encoding()) {
            Ok(message) => self.serve_message(message).await,
            Err(error) if kind == b'Q' => {
                self.report(error)?;
                self.ready().await
            }
            Err(_) if kind == b'F' => {
                self.report(SqlError::unsupported("the function call protocol").hint("Use SELECT function(…)."))?;
                self.ready().await
            }
            Err(error) if kind == b'S' => Err(WireError::fatal(error.fatal())),
            Err(error) => self.fail_until_sync(error).await,
        }
    }

    async fn serve_message(&mut self, message: PgWireFrontendMessage) -> Result<(), WireError> {
        let running = self.registration.running();
        let begins = does_work(&message);
        match message {
            PgWireFrontendMessage::Parse(_) | PgWireFrontendMessage::Bind(_) | PgWireFrontendMessage::Execute(_) => {
                self.session.begin_or_go_on();
            }
            PgWireFrontendMessage::Sync(_) => self.session.begin_completion(),
            // They do no work.
            PgWireFrontendMessage::Describe(_) | PgWireFrontendMessage::Close(_) | PgWireFrontendMessage::Flush(_) => {}
            _ => self.session.begin_statement(),
        }
        if begins {
            self.watch(step(&message));
        }
        let result = match message {
            PgWireFrontendMessage::Query(query) => {
                self.session.may_owe(false);
                let result = self.query(&query.query).await;
                drop(running);
                match result {
                    Ok(()) => {}
                    Err(Stop::Statement(error)) => self.report(error)?,
                    Err(Stop::Connection(error)) => return Err(error),
                }
                return self.ready().await;
            }
            PgWireFrontendMessage::Sync(_) => return self.sync().await,
            PgWireFrontendMessage::Flush(_) => return self.flush().await,
            PgWireFrontendMessage::Parse(parse) => self.parse(parse),
            PgWireFrontendMessage::Bind(bind) => self.bind(bind),
            PgWireFrontendMessage::Describe(describe) => self.describe(&describe),
            PgWireFrontendMessage::Close(close) => self.close(&close),
            PgWireFrontendMessage::Execute(execute) => {
                self.session.may_owe(self.connection.can_hand_over());
                let executed = self.execute(&execute).await;
                self.session.goes_on_no_more();
                executed
            }
            PgWireFrontendMessage::SslNegotiation(_)
            | PgWireFrontendMessage::Startup(_)
            | PgWireFrontendMessage::CancelRequest(_)
            | PgWireFrontendMessage::PasswordMessageFamily(_)
            | PgWireFrontendMessage::PortalSuspended(_)
            | PgWireFrontendMessage::Terminate(_)
            | PgWireFrontendMessage::CopyData(_)
            | PgWireFrontendMessage::CopyFail(_)
            | PgWireFrontendMessage::CopyDone(_) => {
                return Err(WireError::violation("a message out of its place"));
            }
        };
        match result {
            Ok(()) => {
                if begins {
                    self.watch_ends();
                }
                if self.connection.wants_flush() {
                    self.flush().await?;
                }
                Ok(())
            }
            Err(Stop::Statement(error)) => self.fail_until_sync(error).await,
            Err(Stop::Connection(error)) => Err(error),
        }
    }

    /// Reports an error of the extended protocol; it is sent at once, for the client may wait with a Flush that is
    /// now passed over.
    async fn fail_until_sync(&mut self, error: SqlError) -> Result<(), WireError> {
        self.skipping = true;
        self.report(error)?;
        self.flush().await
    }

    /// Tells the session and the client of a statement's error.
    fn report(&mut self, error: SqlError) -> Result<(), WireError> {
        let mut error = self.session.judged(error);
        if error.code == "57014" && self.connection.socket().ended() == Some(End::Terminated) {
            error = End::Terminated.error();
        }
        self.watch_fails(&error);
        self.session.fail(&error);
        // The transaction that the portals stood in is over or failed.
        self.portals.clear();
        self.feed_notices()?;
        if error.fatal {
            return Err(WireError::fatal(error));
        }
        self.connection.feed(error_response(&error))
    }

    /// ReadyForQuery, and all that goes before it.
    async fn ready(&mut self) -> Result<(), WireError> {
        self.feed_notices()?;
        for (name, value) in self.session.take_parameter_changes() {
            if name == "client_encoding" {
                self.connection.speak(&value);
            }
            self.connection.feed(PgWireBackendMessage::ParameterStatus(ParameterStatus::new(name, value)))?;
        }
        self.feed_notifications().await?;
        let status = self.session.status();
        self.session.rests(status);
        self.connection.append(|out| encode::ready(status, out));
        self.flush().await
    }

    /// What others have told the channels that the client listens to.
    async fn feed_notifications(&mut self) -> Result<(), WireError> {
        loop {
            let told = self.session.take_notifications();
            if told.is_empty() {
                return Ok(());
            }
            for notification in told {
                self.connection.append(|out| encode::notification(&notification, out));
                if self.connection.wants_flush() {
                    self.flush().await?;
                }
            }
        }
    }

    /// Sends what waits. A client that takes nothing while its transaction stands in others' way is one that is silent in it.
    async fn flush(&mut self) -> Result<(), WireError> {
        self.settle_owed()?;
        let patience = self.session.patience_with_reader();
        self.connection.flush_within(patience).await
    }

    /// What waits to be sent is recorded from here on; else nothing of it is sent.
    fn settle_owed(&mut self) -> Result<(), WireError> {
        self.session.settle_owed().map_err(|error| {
            self.connection.discard();
            WireError::fatal(error.fatal())
        })
    }

    fn feed_notices(&mut self) -> Result<(), WireError> {
        for notice in self.session.take_notices() {
            self.connection.feed(notice_response(&notice))?;
        }
        Ok(())
    }

    fn feed_complete(&mut self, tag: &str) -> Result<(), WireError> {
        self.feed_notices()?;
        self.connection.append(|out| encode::complete(tag, out));
        Ok(())
    }

    fn feed_bare(&mut self, message: Bare) {
        self.connection.append(|out| encode::bare(message, out));
    }

    /// Drops the portals if a transaction has ended since `before`.
    fn leave_transaction(&mut self, before: TransactionStatus) {
        if before != TransactionStatus::Idle && self.session.status() == TransactionStatus::Idle {
            self.portals.clear();
        }
    }
}

/// What a message does, for the log.
fn step(message: &PgWireFrontendMessage) -> &'static str {
    match message {
        PgWireFrontendMessage::Query(_) => "query",
        PgWireFrontendMessage::Parse(_) => "parse",
        PgWireFrontendMessage::Bind(_) => "bind",
        PgWireFrontendMessage::Execute(_) => "execute",
        PgWireFrontendMessage::Sync(_) => watch::COMMIT,
        _ => "other",
    }
}

fn idle_too_long() -> SqlError {
    SqlError::new("57P05", "terminating connection due to idle-session timeout").fatal()
}

/// Whether a message asks for work that may take its time.
fn does_work(message: &PgWireFrontendMessage) -> bool {
    !matches!(
        message,
        PgWireFrontendMessage::Describe(_) | PgWireFrontendMessage::Close(_) | PgWireFrontendMessage::Flush(_)
    )
}
