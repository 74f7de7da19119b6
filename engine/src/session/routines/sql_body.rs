//! Bodies in LANGUAGE sql that are more than what stands in the place of a call: their statements, one after another.

use super::call::as_value;
use super::inner::within_stack;
use crate::response::Response;
use crate::session::Session;
use crate::session::plan::Prepared;
use parking_lot::Mutex;
use planner::catalog::{ResultKind, Routine};
use planner::hir::OutputColumn;
use planner::parse::statement::ParsedStatement;
use repr::{ColumnType, Datum, ScalarType, poll};
use state::SqlError;
use std::sync::Arc;

/// What a statement of a body returned: its columns, and their rows.
type Returned = (Arc<[OutputColumn]>, Vec<Vec<Datum>>);

/// The statements of a body, each with its plan once it has one.
pub(super) type Statements = [(ParsedStatement, Mutex<Option<Arc<Prepared>>>)];

impl Session {
    pub(super) fn call_sql(
        &mut self,
        routine: &Arc<Routine>,
        statements: &Statements,
        given: &[Datum],
        wanted: &ColumnType,
    ) -> Result<Vec<Datum>, SqlError> {
        let catalog = self.catalog();
        let types = planner::parameter_types(routine, &catalog);
        let params: Arc<[Datum]> = given.into();
        let mut last: Option<(Arc<[OutputColumn]>, Vec<Vec<Datum>>)> = None;
        for (place, (parsed, kept)) in statements.iter().enumerate() {
            let is_last = place + 1 == statements.len();
            let known = kept.lock().clone();
            let prepared = match known {
                Some(known) => known,
                None => {
                    let made = self.prepare_inner(parsed.clone(), &types)?;
                    *kept.lock() = Some(made.clone());
                    made
                }
            };
            let outcome = within_stack(|| self.sql_statement_done(&prepared, params.clone(), is_last, routine));
            last = outcome.map_err(|error| in_sql(error, routine, place + 1))?;
        }
        if matches!(routine.result.kind, ResultKind::Void) {
            return Ok(vec![Datum::Null]);
        }
        let Some((columns, rows)) = last else { return Ok(vec![Datum::Null]) };
        let mut values = Vec::with_capacity(rows.len());
        for row in rows {
            values.push(self.sql_value(row, &columns, wanted)?);
        }
        if !routine.result.is_set && values.is_empty() {
            values.push(Datum::Null);
        }
        Ok(values)
    }

    /// A row of the last statement as a value of the declared type.
    fn sql_value(&self, row: Vec<Datum>, columns: &[OutputColumn], wanted: &ColumnType) -> Result<Datum, SqlError> {
        let ScalarType::Record(record) = &wanted.scalar else {
            let from = columns.first().map_or(ScalarType::Unknown, |column| column.column_type.scalar.clone());
            return self.converted(as_value(row, wanted), &from, wanted);
        };
        // One column that is the row itself.
        if let ([only], [value]) = (columns, row.as_slice())
            && matches!(only.column_type.scalar, ScalarType::Record(_))
            && (record.len() != 1 || only.column_type.scalar == wanted.scalar)
        {
            return self.converted(value.clone(), &only.column_type.scalar, wanted);
        }
        if columns.len() != record.len() {
            let message = "return type mismatch in function declared to return record";
            return Err(SqlError::new("42P13", message));
        }
        let mut values = Vec::with_capacity(row.len());
        for (place, (value, column)) in row.into_iter().zip(columns).enumerate() {
            values.push(self.converted(value, &column.column_type.scalar, &record.column_type(place))?);
        }
        Ok(Datum::Record(values.into()))
    }

    fn sql_statement_done(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        is_last: bool,
        routine: &Routine,
    ) -> Result<Option<Returned>, SqlError> {
        let Response::Rows(mut stream) = self.run_inner(prepared, params)? else { return Ok(None) };
        let rows_max = match (is_last, routine.result.is_set) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => usize::MAX,
        };
        let mut rows = Vec::new();
        while rows.len() < rows_max {
            let row = poll::unwinds_to(|| stream.rows.next().transpose())?;
            let Some(row) = row else { break };
            self.control.account.check()?;
            rows.push(row);
        }
        Ok(Some((stream.columns, rows)))
    }
}

fn in_sql(error: SqlError, routine: &Routine, statement: usize) -> SqlError {
    let own = format!("SQL function \"{}\" statement {statement}", routine.name);
    let context = match error.context {
        Some(before) => format!("{before}\n{own}"),
        None => own,
    };
    SqlError { context: Some(context), position: None, ..error }
}
