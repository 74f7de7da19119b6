//! The prepared statements of a session: PREPARE's and those of the protocol's Parse, in one namespace as in PostgreSQL.
//!
//! Whoever runs one keeps it alive, so that DEALLOCATE may come at any time. What a session keeps is bounded in bytes.

use crate::session::Session;
use crate::session::plan::Prepared;
use crate::session::plan::{self, CachedPlan};
use crate::session::result_columns::ResultColumns;
use crate::session::statements::{Stored, is_late, no_statement};
use planner::hir::OutputColumn;
use planner::parse::statement::TypeName;
use planner::parse::{Expr, ParsedStatement, Statement};
use repr::{Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// Whether what a statement makes is shown by the text that the client sent, with whatever stands around it.
pub(super) fn is_kept_as_sent(statement: &Statement) -> bool {
    matches!(statement, Statement::Prepare { .. } | Statement::DeclareCursor(_))
}

/// EXECUTE of a statement that is EXECUTE itself, and so on: no deeper than this.
const NESTED_MAX: usize = 32;

impl Session {
    /// As `prepare`, for a statement that is kept: its result may be described before it runs, and stays what it is. `source`: what
    /// the client sent.
    pub fn prepare_to_keep(
        &mut self,
        parsed: ParsedStatement,
        param_types: &[Option<ScalarType>],
        (name, source): (&str, &str),
    ) -> Result<Arc<Prepared>, SqlError> {
        let mut prepared = self.planned(parsed, param_types)?;
        prepared.fixed_result = true;
        let is_shown = !name.is_empty() || is_kept_as_sent(&prepared.statement);
        prepared.source = is_shown.then(|| source.into());
        if is_late(&prepared.statement) {
            prepared.columns = self.late_columns(&prepared.statement);
        }
        Ok(Arc::new(prepared))
    }

    /// Keeps what Parse has prepared, or nothing for an empty text. 42P05 if there is one of that name.
    pub fn keep_statement(&mut self, name: &str, prepared: Option<Arc<Prepared>>) -> Result<(), SqlError> {
        self.state.lock().statements.keep(name, Stored::new(prepared, false))
    }

    /// Keeps one that is known as the unnamed statement, with what stands for its parameters if the client has none to give.
    pub fn keep_unnamed(&mut self, prepared: Arc<Prepared>, literals: Option<Arc<[Datum]>>) {
        let mut stored = Stored::new(Some(prepared), false);
        stored.literals = literals;
        self.state.lock().statements.keep_unnamed(stored);
    }

    /// Lets go of a statement, if there is one of that name.
    pub fn close_statement(&mut self, name: &str) -> bool {
        self.state.lock().statements.remove(name)
    }

    /// The statement of that name. 26000 if there is none.
    pub fn stored_statement(&self, name: &str) -> Result<Arc<Stored>, SqlError> {
        self.state.lock().statements.get(name).cloned().ok_or_else(|| no_statement(name))
    }

    /// The columns of a kept statement's result, as it is now: none if it has no rows. 0A000 if they are others than when it
    /// was prepared, and whatever is wrong with it since.
    pub fn result_columns(&self, prepared: &Prepared) -> Result<Option<Arc<ResultColumns>>, SqlError> {
        Ok(match is_late(&prepared.statement) {
            true => self.late_columns(&prepared.statement).map(|list| Arc::new(ResultColumns::new(list))),
            false => self.kept_plan(prepared)?.columns.clone(),
        })
    }

    /// What Bind does before it looks at the parameters: 25P02 in a failed block, but for what ends it; 0A000 and its kind if the
    /// statement is no longer what it was.
    pub fn bind_columns(&self, stored: &Stored) -> Result<Option<Arc<ResultColumns>>, SqlError> {
        let Some(prepared) = &stored.prepared else {
            return if self.is_failed() { Err(crate::session::failed_block::block_failed()) } else { Ok(None) };
        };
        self.refuse_failed(&prepared.statement)?;
        let columns = self.result_columns(prepared)?;
        stored.count();
        Ok(columns)
    }

    /// In a failed block a statement is not planned again: it would not run.
    fn kept_plan(&self, prepared: &Prepared) -> Result<Arc<CachedPlan>, SqlError> {
        if self.is_failed() { Ok(prepared.plan.load_full()) } else { self.current_plan(prepared) }
    }

    /// The columns of EXECUTE and FETCH, as long as the statement or cursor that they name stays.
    pub fn late_columns(&self, statement: &Statement) -> Option<Arc<[OutputColumn]>> {
        self.nested_columns(statement, 0)
    }

    fn nested_columns(&self, statement: &Statement, depth: usize) -> Option<Arc<[OutputColumn]>> {
        match statement {
            Statement::Execute { name, .. } => {
                let stored = self.stored_statement(name).ok()?;
                let prepared = stored.prepared.as_ref()?;
                match is_late(&prepared.statement) && depth < NESTED_MAX {
                    true => self.nested_columns(&prepared.statement, depth + 1),
                    false => prepared.columns.clone(),
                }
            }
            Statement::Fetch(fetch) if !fetch.is_move => match self.cursors.subscribed.get(&fetch.cursor) {
                Some(subscribed) => Some(subscribed.columns().clone()),
                None => Some(self.cursors.open.get(&fetch.cursor)?.columns().clone()),
            },
            _ => None,
        }
    }

    pub(super) fn sql_prepare(
        &mut self,
        name: &str,
        types: &[TypeName],
        statement: &Statement,
        text: &str,
        source: Arc<str>,
    ) -> Result<(), SqlError> {
        self.may_keep()?;
        let seen = self.seen();
        let types = types.iter().map(|name| Ok(Some(planner::plan_type(name, seen.scope())?.scalar)));
        let types = types.collect::<Result<Vec<_>, SqlError>>()?;
        let parsed =
            ParsedStatement { statement: statement.clone(), text: text.to_string(), offset: 0, variables: None };
        let mut prepared = plan::prepare(parsed, &seen, &types)?;
        prepared.fixed_result = true;
        prepared.source = Some(source);
        self.state.lock().statements.keep(name, Stored::new(Some(Arc::new(prepared)), true))
    }

    /// The statement that EXECUTE names, and the values of its parameters.
    pub(super) fn executed(
        &self,
        name: &str,
        arguments: &[Expr],
        params: &Arc<[Datum]>,
    ) -> Result<(Arc<Prepared>, Arc<[Datum]>), SqlError> {
        let stored = self.stored_statement(name)?;
        let Some(prepared) = &stored.prepared else {
            return Err(SqlError::unsupported("EXECUTE of an empty statement"));
        };
        let seen = self.seen();
        let context = self.eval_context(params.clone(), &seen.catalog);
        let exprs = planner::plan_arguments(name, arguments, &prepared.param_types, seen.scope())?;
        let values = exprs.iter().map(|expr| expr.eval(&[], &context)).collect::<Result<Vec<_>, _>>()?;
        stored.count();
        Ok((prepared.clone(), values.into()))
    }

    /// Goes one EXECUTE deeper. 54001 where statements execute each other without an end.
    pub(super) fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.statement.nested >= NESTED_MAX {
            return Err(SqlError::new("54001", "stack depth limit exceeded")
                .hint("A prepared statement executes one that executes it."));
        }
        self.statement.nested += 1;
        let outcome = run(self);
        self.statement.nested -= 1;
        outcome
    }
}
