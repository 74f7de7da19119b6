//! What the log says of statements: those that took long, and those that failed. By their shape, never with a value.
//!
//! ```text
//! begin ─▶ watched, if log_min_duration_statement says so ─▶ ran ─▶ took long enough? ─▶ an event
//! ```
//! As in PostgreSQL, Parse, Bind and Execute are steps of their own, and what Sync commits is one more. Of a statement that
//! nobody watches nothing is noted.

use super::Handler;
use engine::SqlError;
use engine::protocol::Prepared;
use engine::protocol::StatementShape;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Level;

/// The step that commits.
pub(super) const COMMIT: &str = "commit";

/// A statement, or a step of one, that is logged if it takes long.
pub(super) struct StatementWatch {
    least: Duration,
    started: Instant,
    step: &'static str,
    prepared: Option<Arc<Prepared>>,
    rows: u64,
}

/// What is said of one.
pub(super) struct Said {
    shape: Option<StatementShape>,
    path: &'static str,
    step: &'static str,
    rows: u64,
    backend: i32,
}

impl Said {
    fn tell(&self, took: Duration, sqlstate: &str) {
        let Said { shape, path, step, rows, backend } = self;
        let shape = shape.as_ref().map_or_else(String::new, StatementShape::written);
        let took_ms = milliseconds(took);
        let event = if sqlstate.is_empty() { "a statement took long" } else { "a statement took long and failed" };
        tracing::info!(target: "dogwood::statements", took_ms, step, rows, path, shape, backend, sqlstate, "{event}");
    }
}

impl Handler<'_> {
    /// A step begins.
    pub(super) fn watch(&mut self, step: &'static str) {
        let before = self.watched.take();
        let Some(least) = self.session.log_min_duration() else { return };
        // Sync ends what was executed.
        let prepared = before.and_then(|before| before.prepared).filter(|_| step == COMMIT);
        self.watched = Some(StatementWatch { least, started: Instant::now(), step, prepared, rows: 0 });
    }

    /// It is of this statement.
    pub(super) fn watch_statement(&mut self, prepared: &Arc<Prepared>) {
        if let Some(watch) = &mut self.watched {
            watch.prepared = Some(prepared.clone());
        }
    }

    /// So many rows of it were sent or written.
    pub(super) fn watch_rows(&mut self, rows: u64) {
        if let Some(watch) = &mut self.watched {
            watch.rows = rows;
        }
    }

    /// The same, by a command tag.
    pub(super) fn watch_tag(&mut self, tag: &str) {
        if self.watched.is_some() {
            self.watch_rows(tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0));
        }
    }

    /// It has ended; what follows in the same message is another.
    pub(super) fn watch_ends(&mut self) {
        let Some(watch) = &mut self.watched else { return };
        let (now, least) = (Instant::now(), watch.least);
        let took = now.duration_since(std::mem::replace(&mut watch.started, now));
        if took >= least {
            self.said().into_iter().for_each(|said| said.tell(took, ""));
        }
        if let Some(watch) = &mut self.watched {
            watch.rows = 0;
        }
    }

    /// It is committed on another thread: what says so there.
    pub(super) fn watch_apart(&mut self) -> impl FnOnce() + Send + use<> {
        let watched = self.said().zip(self.watched.as_ref().map(|watch| (watch.started, watch.least)));
        move || {
            if let Some((said, (started, least))) = watched
                && started.elapsed() >= least
            {
                said.tell(started.elapsed(), "");
            }
        }
    }

    fn said(&self) -> Option<Said> {
        let watch = self.watched.as_ref()?;
        let path = self.session.path();
        if watch.step == COMMIT && (watch.prepared.is_none() || path.only_reads()) {
            return None;
        }
        let shape = watch.prepared.as_ref().map(|prepared| self.session.shape_of(prepared));
        let runs = matches!(watch.step, "query" | "execute") && watch.prepared.is_some();
        let path = if runs { path.name() } else { "" };
        Some(Said { shape, path, step: watch.step, rows: watch.rows, backend: self.session.backend_id() })
    }

    /// A statement has failed. What is the server's fault or lack is an event of its own; the rest only whoever asks hears of.
    pub(super) fn watch_fails(&mut self, error: &SqlError) {
        let (backend, sqlstate) = (self.session.backend_id(), error.code);
        match severity(sqlstate) {
            Level::ERROR => tracing::error!(target: "dogwood::statements", sqlstate, backend, "a statement failed"),
            Level::WARN => tracing::warn!(target: "dogwood::statements", sqlstate, backend, "a statement failed"),
            _ => tracing::debug!(target: "dogwood::statements", sqlstate, backend, "a statement failed"),
        }
        if let Some(watch) = &self.watched
            && watch.started.elapsed() >= watch.least
        {
            let took = watch.started.elapsed();
            self.said().into_iter().for_each(|said| said.tell(took, sqlstate));
        }
        self.watched = None;
    }
}

/// To the microsecond.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// By the class of its SQLSTATE: errors of the server, what it had not enough of, and those that are the client's.
fn severity(sqlstate: &str) -> Level {
    match sqlstate.get(..2) {
        Some("XX" | "58") => Level::ERROR,
        Some("53") => Level::WARN,
        _ => Level::DEBUG,
    }
}

#[cfg(test)]
mod tests {
    use super::severity;
    use tracing::Level;

    #[test]
    fn faults_of_the_server_are_errors_and_those_of_clients_are_not() {
        for (sqlstate, level) in
            [("XX001", Level::ERROR), ("58030", Level::ERROR), ("53100", Level::WARN), ("23505", Level::DEBUG)]
        {
            assert_eq!(severity(sqlstate), level);
        }
    }
}
