//! Texts of SQL in a body: planned once for the types of its variables, run with their values.

use super::frame::Frame;
use crate::response::{Response, RowTag};
use crate::session::Session;
use crate::session::plan::Prepared;
use planner::hir::OutputColumn;
use planner::parse::statement::ParsedStatement;
use planner::plpgsql::{Expression, QuerySource};
use repr::{Datum, ScalarType, poll};
use state::SqlError;
use state::answer::QueryRows;
use std::sync::Arc;

/// Rows of a query in a body, and what its columns are.
pub(super) struct Answered {
    pub(super) columns: Arc<[OutputColumn]>,
    pub(super) rows: QueryRows,
}

/// What a statement of SQL did: how many rows, and those that it gives.
pub(super) struct Done {
    pub(super) count: i64,
    pub(super) answer: Option<(Arc<[OutputColumn]>, Vec<Vec<Datum>>)>,
}

impl Session {
    /// A text of the body, ready to run.
    pub(super) fn text_prepared(&self, frame: &Frame, text: &Expression) -> Result<Arc<Prepared>, SqlError> {
        let types = frame.types();
        if let Some(known) = frame.compiled.known(text.number, &types) {
            return Ok(known);
        }
        let mut parsed = one_statement(&text.text)?;
        parsed.variables = Some(frame.variables());
        let scalars: Vec<Option<ScalarType>> =
            types.iter().map(|known| Some(known.as_ref().map_or(ScalarType::Text, |own| own.scalar.clone()))).collect();
        let prepared = self.prepare_inner(parsed, &scalars)?;
        frame.compiled.keep(text.number, types, prepared.clone());
        Ok(prepared)
    }

    /// A query's rows.
    pub(super) fn answered(&mut self, frame: &Frame, query: &Expression) -> Result<Answered, SqlError> {
        let prepared = self.text_prepared(frame, query)?;
        self.rows_answered(&prepared, frame.values())
    }

    fn rows_answered(&mut self, prepared: &Arc<Prepared>, params: Arc<[Datum]>) -> Result<Answered, SqlError> {
        match self.run_inner(prepared, params)? {
            Response::Rows(stream) => Ok(Answered { columns: stream.columns, rows: stream.rows }),
            _ => Err(SqlError::new("42601", "query does not return data")),
        }
    }

    /// The query that a statement names, with what EXECUTE is given.
    pub(super) fn source_answered(&mut self, frame: &mut Frame, source: &QuerySource) -> Result<Answered, SqlError> {
        match source {
            QuerySource::Static(query) => self.answered(frame, query),
            QuerySource::Dynamic(text, using) => {
                let (prepared, values) = self.dynamic(frame, text, using)?;
                self.rows_answered(&prepared, values)
            }
        }
    }

    /// EXECUTE's text, planned for what USING gives.
    pub(super) fn dynamic(
        &mut self,
        frame: &mut Frame,
        text: &Expression,
        using: &[Expression],
    ) -> Result<(Arc<Prepared>, Arc<[Datum]>), SqlError> {
        let Some(text) = self.text_value(frame, text)? else {
            return Err(SqlError::new("22004", "query string argument of EXECUTE is null"));
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for value in using {
            let (value, scalar) = self.value(frame, value)?;
            types.push(Some(if scalar == ScalarType::Unknown { ScalarType::Text } else { scalar }));
            values.push(value);
        }
        let prepared = self.prepare_inner(one_statement(&text)?, &types)?;
        Ok((prepared, values.into()))
    }

    /// An expression's value, and its type.
    pub(super) fn value(&mut self, frame: &Frame, expression: &Expression) -> Result<(Datum, ScalarType), SqlError> {
        let mut answered = self.answered(frame, expression)?;
        let Some(column) = answered.columns.first().filter(|_| answered.columns.len() == 1) else {
            let message = format!("query returned {} columns", answered.columns.len());
            return Err(SqlError::new("42601", message));
        };
        let scalar = column.column_type.scalar.clone();
        let row = poll::unwinds_to(|| answered.rows.next().transpose())?;
        if row.is_some() && poll::unwinds_to(|| answered.rows.next().transpose())?.is_some() {
            return Err(SqlError::new("21000", "query returned more than one row"));
        }
        Ok((row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null), scalar))
    }

    /// The same of a condition: NULL is false.
    pub(super) fn condition(&mut self, frame: &Frame, expression: &Expression) -> Result<bool, SqlError> {
        let (value, scalar) = self.value(frame, expression)?;
        let to = repr::ColumnType::nullable(ScalarType::Bool);
        Ok(self.converted(value, &scalar, &to)? == Datum::Bool(true))
    }

    /// The same as text; none is NULL.
    pub(super) fn text_value(&mut self, frame: &Frame, expression: &Expression) -> Result<Option<String>, SqlError> {
        let (value, scalar) = self.value(frame, expression)?;
        Ok(self.as_text(&value, &scalar))
    }

    pub(super) fn as_text(&self, value: &Datum, scalar: &ScalarType) -> Option<String> {
        (!value.is_null()).then(|| repr::text::format(value, scalar, &self.text_context()))
    }

    /// The same of an integer: 22004 for NULL.
    pub(super) fn integer(&mut self, frame: &Frame, expression: &Expression, what: &str) -> Result<i64, SqlError> {
        let (value, scalar) = self.value(frame, expression)?;
        let to = repr::ColumnType::nullable(ScalarType::Int8);
        match self.converted(value, &scalar, &to)? {
            Datum::Int8(value) => Ok(value),
            _ => Err(SqlError::new("22004", format!("{what} cannot be null"))),
        }
    }

    /// Carries a statement out. `rows_max`: so many rows of what it gives are looked at.
    pub(super) fn done(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        rows_max: usize,
    ) -> Result<Done, SqlError> {
        match self.run_inner(prepared, params)? {
            Response::Rows(mut stream) => {
                let mut rows = Vec::new();
                let mut count = 0;
                loop {
                    let row = poll::unwinds_to(|| stream.rows.next().transpose())?;
                    let Some(row) = row else { break };
                    count += 1;
                    if rows.len() < rows_max {
                        rows.push(row);
                    } else if rows_max > 0 {
                        break;
                    }
                }
                if let RowTag::Fixed(tag) = &stream.tag {
                    count = counted(tag);
                }
                Ok(Done { count, answer: Some((stream.columns, rows)) })
            }
            Response::Complete(tag) => Ok(Done { count: counted(&tag), answer: None }),
            _ => Ok(Done { count: 0, answer: None }),
        }
    }
}

/// How many rows a command tag tells of.
fn counted(tag: &str) -> i64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// A text that is one statement.
pub(super) fn one_statement(text: &str) -> Result<ParsedStatement, SqlError> {
    let parsed = poll::unwinds_to(|| Ok::<_, SqlError>(planner::parse::parse(text)?))?;
    match <[ParsedStatement; 1]>::try_from(parsed) {
        Ok([only]) => Ok(only),
        Err(several) if several.is_empty() => Err(SqlError::new("42601", "an empty statement")),
        Err(_) => Err(SqlError::unsupported("several statements in one EXECUTE").hint("Execute one after another.")),
    }
}
