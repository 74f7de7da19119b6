//! RETURN, RETURN NEXT, RETURN QUERY: what a body gives.

use super::frame::{Frame, row_type};
use super::queries::Answered;
use super::steps::Flow;
use crate::session::Session;
use planner::catalog::{ResultKind, Routine};
use planner::plpgsql::{Expression, QuerySource};
use repr::{ColumnType, Datum, ScalarType, poll};
use state::SqlError;
use std::sync::Arc;

fn mismatch(detail: String) -> SqlError {
    SqlError::new("42804", "structure of query does not match function result type").detail(detail)
}

impl Session {
    fn result_of(frame: &Frame) -> Option<Arc<Routine>> {
        frame.compiled.routine.clone()
    }

    pub(super) fn return_step(&mut self, frame: &mut Frame, value: Option<&Expression>) -> Result<Flow, SqlError> {
        let Some(routine) = Self::result_of(frame) else {
            return match value {
                None => Ok(Flow::Return),
                Some(_) => Err(SqlError::new("42804", "RETURN cannot have a parameter in function returning void")),
            };
        };
        let has_outputs = routine.outputs().next().is_some();
        match value {
            None if has_outputs || routine.result.is_set => Ok(Flow::Return),
            None if matches!(routine.result.kind, ResultKind::Void) => Ok(Flow::Return),
            None => Err(SqlError::new("42601", "missing expression at or near \";\"")),
            Some(_) if routine.result.is_set => {
                Err(SqlError::new("42804", "RETURN cannot have a parameter in function returning set")
                    .hint("Use RETURN NEXT or RETURN QUERY."))
            }
            Some(_) if has_outputs => {
                Err(SqlError::new("42804", "RETURN cannot have a parameter in function with OUT parameters"))
            }
            Some(_) if matches!(routine.result.kind, ResultKind::Void) => {
                let what = if routine.is_procedure { "a procedure" } else { "function returning void" };
                Err(SqlError::new("42804", format!("RETURN cannot have a parameter in {what}")))
            }
            Some(value) => {
                frame.given.value = Some(self.row_or_value(frame, value, &routine)?);
                Ok(Flow::Return)
            }
        }
    }

    /// The value of RETURN: of several columns a row.
    fn row_or_value(
        &mut self,
        frame: &Frame,
        expression: &Expression,
        routine: &Routine,
    ) -> Result<(Datum, ScalarType), SqlError> {
        let wants_row = match &routine.result.kind {
            ResultKind::Value(own) => matches!(own.scalar, ScalarType::Record(_)),
            _ => true,
        };
        let Answered { columns, mut rows } = self.answered(frame, expression)?;
        let row = poll::unwinds_to(|| rows.next().transpose())?;
        match (&*columns, row) {
            ([only], row) => {
                let value = row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null);
                let scalar = only.column_type.scalar.clone();
                let is_row = matches!(scalar, ScalarType::Record(_)) || value.is_null();
                if wants_row && !is_row && scalar != ScalarType::Unknown {
                    return Err(SqlError::new(
                        "42804",
                        "cannot return non-composite value from function returning composite type",
                    ));
                }
                Ok((value, scalar))
            }
            (_, row) => {
                let value = row.map_or(Datum::Null, |row| Datum::Record(row.into()));
                Ok((value, row_type(&columns).scalar))
            }
        }
    }

    /// What was returned as a value of the declared type.
    pub(super) fn returned(&self, value: Datum, from: &ScalarType, wanted: &ColumnType) -> Result<Datum, SqlError> {
        if let (ScalarType::Record(given), ScalarType::Record(record)) = (from, &wanted.scalar)
            && given.len() != record.len()
            && !value.is_null()
        {
            return Err(SqlError::new("42804", "returned record type does not match expected record type").detail(
                format!(
                    "Number of returned columns ({}) does not match expected column count ({}).",
                    given.len(),
                    record.len()
                ),
            ));
        }
        self.converted(value, from, wanted)
    }

    pub(super) fn return_next(&mut self, frame: &mut Frame, value: Option<&Expression>) -> Result<(), SqlError> {
        let routine = self.set_routine(frame, "RETURN NEXT")?;
        let columns = self.set_columns(&routine);
        let row = match value {
            None => {
                let names: Vec<String> =
                    routine.outputs().map(|output| output.name.clone().unwrap_or_default()).collect();
                if names.is_empty() {
                    return Err(SqlError::new("42601", "missing expression at or near \";\""));
                }
                let value = |name: &String| {
                    let place = frame.find(Some(&routine.name), name);
                    place.map_or(Datum::Null, |place| frame.slots[place].value.clone())
                };
                names.iter().map(value).collect()
            }
            Some(_) if routine.outputs().next().is_some() => {
                return Err(SqlError::new(
                    "42804",
                    "RETURN NEXT cannot have a parameter in function with OUT parameters",
                ));
            }
            Some(value) => {
                let (value, from) = self.row_or_value(frame, value, &routine)?;
                self.set_row(&routine, columns.as_deref(), value, &from)?
            }
        };
        frame.given.rows.push(row);
        Ok(())
    }

    /// A value as a row of the set.
    fn set_row(
        &self,
        routine: &Routine,
        columns: Option<&[ColumnType]>,
        value: Datum,
        from: &ScalarType,
    ) -> Result<Vec<Datum>, SqlError> {
        let is_row =
            !matches!(&routine.result.kind, ResultKind::Value(own) if !matches!(own.scalar, ScalarType::Record(_)));
        let Some(columns) = columns else {
            return Ok(match value {
                Datum::Record(fields) => fields.to_vec(),
                other => vec![other],
            });
        };
        if !is_row {
            return Ok(vec![self.converted(value, from, &columns[0])?]);
        }
        let ScalarType::Record(record) = from else { return Ok(vec![Datum::Null; columns.len()]) };
        if record.len() != columns.len() {
            return Err(SqlError::new("42804", "wrong record type supplied in RETURN NEXT").detail(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                record.len(),
                columns.len()
            )));
        }
        let fields = match value {
            Datum::Record(fields) => fields.to_vec(),
            _ => vec![Datum::Null; columns.len()],
        };
        let mut row = Vec::with_capacity(columns.len());
        for ((field, (_, from)), to) in fields.into_iter().zip(record.iter()).zip(columns) {
            row.push(self.converted(field, from, to)?);
        }
        Ok(row)
    }

    fn set_routine(&self, frame: &Frame, what: &str) -> Result<Arc<Routine>, SqlError> {
        let routine = Self::result_of(frame).filter(|routine| routine.result.is_set);
        routine.ok_or_else(|| SqlError::new("42804", format!("cannot use {what} in a non-SETOF function")))
    }

    /// The columns of the set; none where its caller says them.
    fn set_columns(&self, routine: &Routine) -> Option<Vec<ColumnType>> {
        let catalog = self.catalog();
        if let Some(fields) = routine.record(&catalog) {
            return Some(fields.into_iter().map(|(_, own)| own).collect());
        }
        let ResultKind::Value(own) = &routine.result.kind else { return None };
        let own = catalog.current_type(own);
        Some(match &own.scalar {
            ScalarType::Record(record) => (0..record.len()).map(|place| record.column_type(place)).collect(),
            _ => vec![own],
        })
    }

    pub(super) fn return_query(&mut self, frame: &mut Frame, source: &QuerySource) -> Result<(), SqlError> {
        let routine = self.set_routine(frame, "RETURN QUERY")?;
        let wanted = self.set_columns(&routine);
        let Answered { columns, mut rows } = self.source_answered(frame, source)?;
        if let Some(wanted) = &wanted {
            self.check_columns(&columns, wanted)?;
        }
        let before = frame.given.rows.len();
        loop {
            let row = poll::unwinds_to(|| rows.next().transpose())?;
            let Some(row) = row else { break };
            self.control.account.check()?;
            let row = match &wanted {
                None => row,
                Some(wanted) => {
                    let mut converted = Vec::with_capacity(row.len());
                    for ((value, column), to) in row.into_iter().zip(columns.iter()).zip(wanted) {
                        converted.push(self.converted(value, &column.column_type.scalar, to)?);
                    }
                    converted
                }
            };
            frame.given.rows.push(row);
        }
        let count = frame.given.rows.len() - before;
        frame.row_count = i64::try_from(count).unwrap_or(i64::MAX);
        frame.set_found(count > 0);
        Ok(())
    }

    fn check_columns(&self, columns: &[planner::hir::OutputColumn], wanted: &[ColumnType]) -> Result<(), SqlError> {
        if columns.len() != wanted.len() {
            return Err(mismatch(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                columns.len(),
                wanted.len()
            )));
        }
        for (place, (column, to)) in columns.iter().zip(wanted).enumerate() {
            let from = &column.column_type.scalar;
            let is_same = from.oid() == to.scalar.oid()
                || matches!((from, &to.scalar), (ScalarType::Unknown, _))
                || matches!(
                    (from, &to.scalar),
                    (ScalarType::Varchar, ScalarType::Text) | (ScalarType::Text, ScalarType::Varchar)
                );
            if !is_same {
                let seen = self.seen();
                let label = |scalar: &ScalarType| seen.scope().spelled_scalar(scalar, -1);
                return Err(mismatch(format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    label(from),
                    label(&to.scalar),
                    place + 1
                )));
            }
        }
        Ok(())
    }
}
