//! Statements within a body: each is planned, permitted, run and recorded as a client's, in the transaction around it.

use crate::response::Response;
use crate::session::Session;
use crate::session::plan::{self, Prepared};
use planner::parse::Statement;
use planner::parse::statement::ParsedStatement;
use repr::{Datum, ScalarType, poll};
use state::SqlError;
use std::sync::Arc;

/// How much of its stack a thread may use for bodies that call each other: a connection's has 16 MiB.
const STACK_BYTES_MAX: usize = 9 << 20;
/// The same of threads with smaller stacks.
const SMALL_STACK_BYTES_MAX: usize = 600 << 10;

thread_local! {
    /// Where the stack stood when the first body was entered.
    static ENTERED_AT: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

/// 54001 where bodies call each other too deeply.
pub(super) fn within_stack<T>(body: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
    let marker = 0_u8;
    let here = std::ptr::from_ref(&marker) as usize;
    let first = ENTERED_AT.get();
    let entered = first.unwrap_or(here);
    let is_large = std::thread::current().name().is_some_and(|name| name == "connection" || name == "long statement");
    let most = if is_large { STACK_BYTES_MAX } else { SMALL_STACK_BYTES_MAX };
    if entered.abs_diff(here) > most {
        return Err(SqlError::new("54001", "stack depth limit exceeded")
            .hint("Functions call each other too deeply: write them with a loop, or WITH RECURSIVE."));
    }
    ENTERED_AT.set(Some(entered));
    let outcome = body();
    ENTERED_AT.set(first);
    outcome
}

/// 0A000 for what no body may do.
fn refuse_in_body(statement: &Statement) -> Result<(), SqlError> {
    match statement {
        Statement::Begin(_)
        | Statement::Ctx(_)
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::RollbackToSavepoint(_)
        | Statement::TwoPhaseCommit => Err(SqlError::new("0A000", "unsupported transaction command in PL/pgSQL")
            .hint("Use a BEGIN block with an EXCEPTION clause instead.")),
        Statement::Copy(_) => Err(SqlError::new("0A000", "cannot COPY to/from client in PL/pgSQL")),
        Statement::GdprGet { .. }
        | Statement::GdprForget(_)
        | Statement::GdprExport { .. }
        | Statement::GdprPurge(_)
        | Statement::Request(_)
        | Statement::ExplainGdprForget(_)
        | Statement::Subscribe(_) => {
            Err(SqlError::unsupported("a subject request or a subscription in a function").hint("Send it by itself."))
        }
        Statement::SetTransactionSnapshot(_) | Statement::Discard(_) => {
            Err(SqlError::unsupported("this statement in a function"))
        }
        other => match other.runs_alone() {
            Some(command) => Err(SqlError::new("25001", format!("{command} cannot be executed from a function"))),
            None => Ok(()),
        },
    }
}

impl Session {
    /// Plans a statement of a body.
    pub(super) fn prepare_inner(
        &self,
        parsed: ParsedStatement,
        types: &[Option<ScalarType>],
    ) -> Result<Arc<Prepared>, SqlError> {
        refuse_in_body(&parsed.statement)?;
        poll::unwinds_to(|| Ok(Arc::new(plan::prepare(parsed, &self.seen(), types)?)))
    }

    /// Runs one.
    pub(super) fn run_inner(&mut self, prepared: &Arc<Prepared>, params: Arc<[Datum]>) -> Result<Response, SqlError> {
        self.inner(|session| poll::unwinds_to(|| session.run(prepared, params, true)))
    }

    /// What is done within a statement and recorded by itself.
    pub(super) fn inner(
        &mut self,
        run: impl FnOnce(&mut Session) -> Result<Response, SqlError>,
    ) -> Result<Response, SqlError> {
        self.check_not_ended()?;
        self.control.account.check()?;
        self.transaction();
        let around = std::mem::take(&mut self.audit.statement);
        let deadlines = self.statement.deadlines;
        let profile = self.statement.profile.take();
        self.audit_begins();
        let response = within_stack(|| run(self));
        let response = self.audit_ends(response);
        self.audit.statement = around;
        self.statement.deadlines = deadlines;
        self.statement.profile = profile;
        if let Some(active) = &mut self.transaction.active {
            active.transaction.observe(self.audit.statement.observer.clone());
        }
        response
    }

    /// Whether errors of this kind end the statement, whatever a body says: nothing of what has ended may be caught.
    pub(super) fn ends_all(&self, error: &SqlError) -> bool {
        error.fatal
            || error.is_snapshot_ended()
            || self.check_not_ended().is_err()
            || self.control.account.check().is_err()
    }
}
