//! A session in the hands of the expressions that one of its queries evaluates.

use crate::response::{Response, RowStream, RowTag};
use crate::session::current_statement::{CurrentStatement, StatementLog};
use crate::session::env::value_error;
use crate::session::{Client, Control, Session};
use parking_lot::Mutex;
use planner::hir::OutputColumn;
use planner::names::Names;
use planner::plan::{Finishing, Plan, Query, WritePlan};
use planner::scalar::TableRows;
use repr::{Datum, Id, Row, ScalarType, ValueError, poll};
use state::SqlError;
use state::answer::QueryRows;
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the module.
#[derive(Default)]
pub struct Lent {
    session: Mutex<Option<Session>>,
    /// Why a call failed, with all that the client is told.
    failed: Mutex<Option<SqlError>>,
}

/// What functions have of a session.
#[derive(Default)]
pub struct Lending {
    /// In whose hands it will be while a query calls functions.
    pub(in crate::session) lent: Option<Arc<Lent>>,
    /// Whether it is another's, lent to functions.
    pub(in crate::session) is_inner: bool,
}

impl Lent {
    fn with<T>(&self, call: impl FnOnce(&mut Session) -> Result<T, SqlError>) -> Result<T, ValueError> {
        let mut lent = self.session.lock();
        let Some(session) = lent.as_mut() else {
            return Err(value_error(SqlError::unsupported("a call of this function in this place")));
        };
        call(session).map_err(|error| {
            *self.failed.lock() = Some(error.clone());
            value_error(error)
        })
    }

    /// What a function gives.
    pub(in crate::session) fn call(&self, routine: Id, given: &[Datum]) -> Result<Datum, ValueError> {
        self.with(|session| session.call_value(routine, given))
    }

    /// Its rows.
    pub(in crate::session) fn rows(
        &self,
        routine: Id,
        given: &[Datum],
        types: &[ScalarType],
    ) -> Result<TableRows, ValueError> {
        let rows = self.with(|session| session.call_rows(routine, given, types))?;
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

impl Session {
    /// The rows of a query that calls functions, all of them: what the functions do is done when this returns.
    pub(in crate::session) fn rows_of_calls(
        &mut self,
        query: &Arc<Query>,
        params: Arc<[Datum]>,
    ) -> Result<Vec<Vec<Datum>>, SqlError> {
        if query.locks_rows() {
            return Err(SqlError::unsupported("a function that is more than one SELECT in a query that locks rows")
                .hint("Call it first, and give the statement what it returned."));
        }
        self.transaction();
        let snapshot = self.snapshot()?;
        let lent = Arc::new(Lent::default());
        let before = self.control.lending.lent.replace(lent.clone());
        let context = self.acting_context(params, &snapshot);
        let limits = self.limits_at(&snapshot);
        self.control.lending.lent = before;
        *lent.session.lock() = Some(self.inner_session());
        let outcome = poll::unwinds_to(|| {
            let rows = self.rows_within(query, snapshot, context, limits)?;
            let mut found = Vec::new();
            for row in rows {
                poll::step()?;
                found.push(row?);
            }
            Ok(found)
        });
        self.take_inner(&lent);
        outcome.map_err(|error: SqlError| match lent.failed.lock().take() {
            Some(failed) if failed.code == error.code && failed.message == error.message => failed,
            _ => error,
        })
    }

    /// CALL
    pub(in crate::session) fn call_procedure(
        &mut self,
        query: &Arc<Query>,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        let rows = self.rows_of_calls(query, params)?;
        if query.columns.is_empty() {
            return Ok(Response::Complete("CALL".to_owned()));
        }
        Ok(Response::Rows(RowStream {
            columns: query.columns.as_slice().into(),
            rows: QueryRows::new(rows.into_iter().map(Ok)),
            tag: RowTag::Fixed("CALL".to_owned()),
        }))
    }

    /// A write whose rows come of functions: they are called first, and what they gave is written.
    pub(in crate::session) fn with_called_rows(
        &mut self,
        plan: &Arc<WritePlan>,
        params: &Arc<[Datum]>,
    ) -> Result<Option<Arc<WritePlan>>, SqlError> {
        if !plan.source().calls {
            return Ok(None);
        }
        let WritePlan::Insert(insert) = &**plan else {
            return Err(SqlError::unsupported("a function that is more than one SELECT in this statement"));
        };
        let rows = self.rows_of_calls(&insert.source, params.clone())?;
        let rows = rows.iter().map(|row| Row::pack(row.iter())).collect();
        let mut insert = insert.clone();
        insert.source = Arc::new(of_rows(rows, insert.source.columns.clone()));
        Ok(Some(Arc::new(WritePlan::Insert(insert))))
    }

    /// The session as functions have it: its transaction, its cursors and what is recorded of it go along, and come back.
    fn inner_session(&mut self) -> Session {
        let client = Client {
            login: self.client.login.clone(),
            is_forgotten: self.client.is_forgotten,
            database: self.client.database.clone(),
            database_id: self.client.database_id,
            backend: self.client.backend,
            notices: std::mem::take(&mut self.client.notices),
            reported: BTreeMap::new(),
            reported_version: self.client.reported_version,
        };
        let control = Control {
            cancel: self.control.cancel.clone(),
            account: self.control.account.clone(),
            overseer: self.control.overseer.clone(),
            holder: self.control.holder.clone(),
            released_at: self.control.released_at,
            counters: self.control.counters.clone(),
            lending: Lending { lent: None, is_inner: true },
            settings_version: self.control.settings_version.clone(),
        };
        let statement = CurrentStatement {
            deadlines: self.statement.deadlines,
            nested: self.statement.nested,
            log: StatementLog { min_duration: None, path: self.statement.log.path },
            ..CurrentStatement::begun(self.statement.started)
        };
        Session {
            database: self.database.clone(),
            templates: self.templates.clone(),
            state: self.state.clone(),
            client,
            control,
            statement,
            transaction: std::mem::take(&mut self.transaction),
            cursors: std::mem::take(&mut self.cursors),
            audit: std::mem::take(&mut self.audit),
        }
    }

    fn take_inner(&mut self, lent: &Lent) {
        let Some(mut inner) = lent.session.lock().take() else { return };
        self.transaction = std::mem::take(&mut inner.transaction);
        self.cursors = std::mem::take(&mut inner.cursors);
        self.audit = std::mem::take(&mut inner.audit);
        self.client.notices = std::mem::take(&mut inner.client.notices);
        self.client.is_forgotten |= inner.client.is_forgotten;
        self.control.released_at = inner.control.released_at;
    }
}

/// A query of rows that are known: as many columns as there are outputs.
fn of_rows(rows: Vec<Row>, columns: Vec<OutputColumn>) -> Query {
    let arity = columns.len();
    let names = Names::bare(columns.iter().map(|column| column.name.as_str()));
    Query {
        plan: Plan::Constant { rows, arity, names },
        finishing: Finishing { project: (0..arity).collect(), ..Finishing::default() },
        columns,
        locks: Vec::new(),
        locking: Vec::new(),
        acts: false,
        calls: false,
        constants: Vec::new(),
    }
}
