//! Bodies of functions and procedures: what they are made of, and whether they can be what they say.

use super::inlined::parameter_names;
use super::scope::{Clause, Frame};
use super::statement::{Resolution, Resolved, resolve_reads};
use super::{Resolver, SessionInfo};
use crate::catalog::routine::type_oid;
use crate::catalog::{Catalog, Language, ResultKind, Routine, Scope};
use crate::error::PlanError;
use crate::hir::{HirExpr, OutputColumn, WithMain, WriteHir};
use crate::parse::statement::{ParsedStatement, Statement};
use crate::plpgsql;
use crate::scalar::cast::{CastContext, can_coerce};
use repr::{ColumnType, ScalarType};
use std::sync::Arc;

/// The statements of a body in LANGUAGE sql, with the names of the function's parameters.
///
/// # Errors
/// 42601
pub fn sql_statements(routine: &Routine, catalog: &Catalog) -> Result<Vec<ParsedStatement>, PlanError> {
    let variables = Arc::new(parameter_names(routine, &|own| catalog.current_type(own)));
    let parsed = crate::parse::parse(&routine.body.text)?;
    Ok(parsed.into_iter().map(|parsed| ParsedStatement { variables: Some(variables.clone()), ..parsed }).collect())
}

/// The types of its parameters, as a statement is given them.
pub fn parameter_types(routine: &Routine, catalog: &Catalog) -> Vec<Option<ScalarType>> {
    routine.inputs().map(|parameter| Some(catalog.current_type(&parameter.column_type).scalar)).collect()
}

/// Whether a body can be what it says: its syntax, and in LANGUAGE sql its names and the type of its result.
///
/// # Errors
/// PostgreSQL's; 42P13 for a result of another type.
pub fn check_routine<'a>(routine: &Routine, scope: impl Into<Scope<'a>>) -> Result<(), PlanError> {
    let scope = scope.into();
    let without_place = |error: PlanError| PlanError { position: None, ..error };
    match routine.body.language {
        Language::Plpgsql => {
            plpgsql::parse(&routine.body.text)?;
            Ok(())
        }
        Language::Sql => check_sql(routine, scope).map_err(without_place),
    }
}

fn check_sql(routine: &Routine, scope: Scope<'_>) -> Result<(), PlanError> {
    if matches!(routine.result.kind, ResultKind::Trigger | ResultKind::EventTrigger) {
        return Err(PlanError::new("42P13", "SQL functions cannot return type trigger"));
    }
    let session = SessionInfo { path: scope.path.clone(), ..SessionInfo::default() };
    let types = parameter_types(routine, scope.catalog);
    let mut last = None;
    for parsed in sql_statements(routine, scope.catalog)? {
        if matches!(
            parsed.statement,
            Statement::Begin(_) | Statement::Commit { .. } | Statement::Rollback { .. } | Statement::Savepoint(_)
        ) {
            let word = parsed.text.split_whitespace().next().unwrap_or_default().to_uppercase();
            return Err(PlanError::new("0A000", format!("{word} is not allowed in an SQL function")));
        }
        let Resolution { resolved, .. } = resolve_reads(&parsed, scope.catalog, &session, &types)?;
        last = Some(columns_of(&resolved));
    }
    check_result(routine, last.flatten(), scope)
}

/// What a statement gives.
fn columns_of(resolved: &Resolved) -> Option<Vec<OutputColumn>> {
    let of_write = |write: &WriteHir| write.returning().map(|returning| returning.columns.clone());
    match resolved {
        Resolved::Query(query) => Some(query.columns.clone()),
        Resolved::Write(write) => of_write(write),
        Resolved::With(with) => match &with.main {
            WithMain::Query(query) => Some(query.columns.clone()),
            WithMain::Write(write) => of_write(write),
        },
        _ => None,
    }
}

fn check_result(routine: &Routine, last: Option<Vec<OutputColumn>>, scope: Scope<'_>) -> Result<(), PlanError> {
    let declared = match &routine.result.kind {
        ResultKind::Void => return Ok(()),
        ResultKind::Value(own) => crate::catalog::routine::spelled(own, scope),
        ResultKind::Record | ResultKind::Trigger | ResultKind::EventTrigger => "record".to_owned(),
    };
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {declared}");
        PlanError::new("42P13", message).detail(detail)
    };
    let Some(columns) = last else {
        let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";
        return Err(mismatch(detail.to_owned()));
    };
    let label = |scalar: &ScalarType| scope.spelled_scalar(scalar, -1);
    let wanted: Vec<ColumnType> = match (&routine.result.kind, routine.record(scope.catalog)) {
        (_, Some(fields)) => fields.into_iter().map(|(_, own)| own).collect(),
        (ResultKind::Value(own), None) => {
            let own = scope.catalog.current_type(own);
            match (&own.scalar, columns.as_slice()) {
                // A value of the type itself, or its fields.
                (ScalarType::Record(_), [only]) if type_oid(&only.column_type) == type_oid(&own) => return Ok(()),
                (ScalarType::Record(record), _) => {
                    record.iter().map(|(_, scalar)| ColumnType::nullable(scalar.clone())).collect()
                }
                (_, [_]) => vec![own],
                _ => return Err(mismatch("Final statement must return exactly one column.".to_owned())),
            }
        }
        _ => return Ok(()),
    };
    if columns.len() != wanted.len() {
        let which = if columns.len() > wanted.len() { "many" } else { "few" };
        return Err(mismatch(format!("Final statement returns too {which} columns.")));
    }
    let is_scalar = wanted.len() == 1 && routine.record(scope.catalog).is_none();
    for (place, (column, to)) in columns.iter().zip(&wanted).enumerate() {
        let from = &column.column_type.scalar;
        if can_coerce(from, &to.scalar, CastContext::Assignment) {
            continue;
        }
        return Err(mismatch(match is_scalar {
            true => format!("Actual return type is {}.", label(from)),
            false => {
                let place = place + 1;
                format!("Final statement returns {} instead of {} at column {place}.", label(from), label(&to.scalar))
            }
        }));
    }
    Ok(())
}

/// Whether a text can be the default of a parameter of that type.
pub(crate) fn check_default(text: &str, column_type: &ColumnType, catalog: &Catalog) -> Result<(), PlanError> {
    let session = SessionInfo::default();
    let mut resolver = Resolver::new(catalog, &session, "", &[]);
    let plain = ColumnType { domain: 0, modifier: -1, ..column_type.clone() };
    let frame = Frame::default().clause(Clause::Other);
    let checked =
        resolver.kept_expression(text, frame, |resolver, typed| resolver.cast(typed, &plain, CastContext::Assignment));
    match checked {
        Ok(_) => Ok(()),
        Err(error) if error.code == "42703" => {
            Err(PlanError::new("42P10", "cannot use table references in parameter default value"))
        }
        Err(error) => Err(PlanError { position: None, ..error }),
    }
}

/// A value of one type as one of another, as assignment has it: `$1` of the first. Where there is no such cast, by the value's text.
///
/// # Errors
/// 42804 where there is no way at all.
pub(crate) fn conversion(from: &ScalarType, to: &ColumnType, scope: Scope<'_>) -> Result<HirExpr, PlanError> {
    let session = SessionInfo { path: scope.path.clone(), ..SessionInfo::default() };
    let mut resolver = Resolver::new(scope.catalog, &session, "", &[Some(from.clone())]);
    let plain = ColumnType { domain: 0, ..to.clone() };
    let value = resolver.param(0)?;
    let direct = resolver.cast(value.clone(), &plain, CastContext::Assignment);
    let value = match direct {
        Ok(value) => value,
        Err(_) => {
            let text = resolver.cast(value, &ColumnType::nullable(ScalarType::Text), CastContext::Explicit)?;
            resolver.cast(text, &plain, CastContext::Explicit)?
        }
    };
    if to.domain == 0 { Ok(value.expr) } else { resolver.domain_value(value, to.domain).map(|value| value.expr) }
}
