//! A call: what is given becomes variables, the body runs, what it gives is as it was declared.

use super::compiled::{BodyInLanguage, Compiled};
use super::frame::{Frame, Slot};
use super::inner::within_stack;
use crate::response::Response;
use crate::session::Session;
use planner::catalog::{ResultKind, Routine};
use planner::parse::Statement;
use planner::parse::type_definition::DoBlock;
use repr::{ColumnType, Datum, Id, ScalarType};
use state::SqlError;
use std::sync::Arc;

impl Session {
    pub(super) fn routine(&self, id: Id) -> Result<Arc<Routine>, SqlError> {
        let found = self.catalog().routines.get(&id).cloned();
        found.ok_or_else(|| SqlError::new("42883", format!("function with OID {id} does not exist")))
    }

    /// What a function gives as a value.
    pub(super) fn call_value(&mut self, id: Id, given: &[Datum]) -> Result<Datum, SqlError> {
        let routine = self.routine(id)?;
        let catalog = self.catalog();
        let wanted = match &routine.result.kind {
            ResultKind::Value(own) => catalog.current_type(own),
            ResultKind::Record => {
                let fields = routine.record(&catalog).unwrap_or_default();
                let fields: Vec<(String, ScalarType)> =
                    fields.into_iter().map(|(name, own)| (name, own.scalar)).collect();
                ColumnType::nullable(ScalarType::Record(fields.into()))
            }
            ResultKind::Void => ColumnType::nullable(ScalarType::Void),
            ResultKind::Trigger | ResultKind::EventTrigger => return Err(only_as_trigger()),
        };
        let rows = self.called(&routine, given, &wanted)?;
        Ok(rows.into_iter().next().unwrap_or(Datum::Null))
    }

    /// What a function gives in FROM, as columns of these types.
    pub(super) fn call_rows(
        &mut self,
        id: Id,
        given: &[Datum],
        types: &[ScalarType],
    ) -> Result<Vec<Vec<Datum>>, SqlError> {
        let routine = self.routine(id)?;
        let catalog = self.catalog();
        if matches!(routine.result.kind, ResultKind::Trigger | ResultKind::EventTrigger) {
            return Err(only_as_trigger());
        }
        let is_row = match &routine.result.kind {
            ResultKind::Value(own) => matches!(own.scalar, ScalarType::Record(_)),
            _ => matches!(routine.result.kind, ResultKind::Record),
        };
        let wanted = match &routine.result.kind {
            ResultKind::Void => ColumnType::nullable(ScalarType::Void),
            ResultKind::Value(own) if !is_row => catalog.current_type(own),
            _ => {
                let names = routine.outputs().map(|output| output.name.clone().unwrap_or_default());
                let names: Vec<String> = names.chain(std::iter::repeat_with(String::new)).take(types.len()).collect();
                let fields: Vec<(String, ScalarType)> = names.into_iter().zip(types.iter().cloned()).collect();
                ColumnType::nullable(ScalarType::Record(fields.into()))
            }
        };
        let none = routine.terms.strict && given.iter().any(Datum::is_null);
        let values = match (none, routine.result.is_set) {
            (true, true) => Vec::new(),
            (true, false) => vec![Datum::Null],
            (false, _) => self.called(&routine, given, &wanted)?,
        };
        let row = |value: Datum| match value {
            Datum::Record(fields) if is_row => fields.to_vec(),
            Datum::Null if is_row => vec![Datum::Null; types.len()],
            _ if types.is_empty() => Vec::new(),
            value => vec![value],
        };
        Ok(values.into_iter().map(row).collect())
    }

    /// All that a routine gives, each a value of the type.
    fn called(&mut self, routine: &Arc<Routine>, given: &[Datum], wanted: &ColumnType) -> Result<Vec<Datum>, SqlError> {
        self.control.account.check()?;
        let restored = self.apply_settings(routine)?;
        let outcome = within_stack(|| match self.body_of(routine)? {
            BodyInLanguage::Plpgsql(compiled) => self.call_plpgsql(&compiled, routine, given, wanted),
            BodyInLanguage::Sql(_, statements) => self.call_sql(routine, &statements, given, wanted),
        });
        self.restore_settings(restored);
        outcome
    }

    /// What SET of the function says, and what stood there before.
    pub(super) fn apply_settings(&mut self, routine: &Routine) -> Result<Vec<(String, Option<String>)>, SqlError> {
        let mut before = Vec::new();
        for (name, value) in &routine.body.settings {
            let mut state = self.state.lock();
            let known = state.settings.get(name).map(str::to_owned);
            state.settings.set(name, Some(value), true)?;
            before.push((name.clone(), known));
        }
        Ok(before)
    }

    pub(super) fn restore_settings(&mut self, before: Vec<(String, Option<String>)>) {
        let mut state = self.state.lock();
        for (name, value) in before.into_iter().rev() {
            // It was a value of the setting's.
            let _restored = state.settings.set(&name, value.as_deref(), true);
        }
    }

    fn call_plpgsql(
        &mut self,
        compiled: &Arc<Compiled>,
        routine: &Arc<Routine>,
        given: &[Datum],
        wanted: &ColumnType,
    ) -> Result<Vec<Datum>, SqlError> {
        let catalog = self.catalog();
        let mut frame = Frame::new(compiled.clone());
        let mut values = given.iter();
        let qualifier = Some(routine.name.as_str());
        let inputs: Vec<_> = routine.parameters.iter().filter(|parameter| parameter.mode.is_given()).collect();
        let outputs: Vec<_> = routine.parameters.iter().filter(|parameter| !parameter.mode.is_given()).collect();
        let mut places = vec![0; routine.parameters.len()];
        for parameter in inputs.into_iter().chain(outputs) {
            let value = match parameter.mode.is_given() {
                true => values.next().cloned().unwrap_or(Datum::Null),
                false => Datum::Null,
            };
            let slot = Slot::of(catalog.current_type(&parameter.column_type), value);
            let place = frame.declare(qualifier, parameter.name.as_deref().unwrap_or_default(), slot);
            let number = routine.parameters.iter().position(|other| std::ptr::eq(other, parameter));
            if let Some(number) = number {
                places[number] = place;
            }
        }
        frame.positional = routine.inputs().count();
        frame.declare(qualifier, "found", Slot::of(ColumnType::nullable(ScalarType::Bool), Datum::Bool(false)));
        let has_returned = self.run_body(&mut frame).map_err(within)?;
        let outputs: Vec<usize> = places
            .iter()
            .zip(&routine.parameters)
            .filter(|(_, parameter)| parameter.mode.is_result())
            .map(|(place, _)| *place)
            .collect();
        if routine.result.is_set {
            let rows = std::mem::take(&mut frame.given.rows);
            return Ok(rows.into_iter().map(|row| as_value(row, wanted)).collect());
        }
        let is_nothing = matches!(routine.result.kind, ResultKind::Void);
        if !has_returned && outputs.is_empty() && !is_nothing {
            return Err(SqlError::new("2F005", "control reached end of function without RETURN"));
        }
        if !outputs.is_empty() {
            return Ok(vec![self.outputs(&frame, &outputs, wanted)?]);
        }
        match frame.given.value.take() {
            Some((value, from)) if !is_nothing => {
                let value = self.returned(value, &from, wanted).map_err(within)?;
                Ok(vec![value])
            }
            // PostgreSQL has an empty string for it.
            _ => Ok(vec![if is_nothing { Datum::Text("".into()) } else { Datum::Null }]),
        }
    }

    /// Parameters that come out, as a value or a row.
    pub(super) fn outputs(&self, frame: &Frame, places: &[usize], wanted: &ColumnType) -> Result<Datum, SqlError> {
        let slot = |place: &usize| frame.slots[*place].value.clone();
        match (&wanted.scalar, places) {
            (ScalarType::Record(record), several) if several.len() == record.len() => {
                Ok(Datum::Record(several.iter().map(slot).collect()))
            }
            (_, [only]) => Ok(slot(only)),
            _ => Err(SqlError::new("42804", "returned record type does not match expected record type")),
        }
    }

    /// DO
    pub(in crate::session) fn do_block(&mut self, block: &DoBlock) -> Result<Response, SqlError> {
        match block.language.as_deref() {
            None | Some("plpgsql") => {}
            Some("sql" | "c" | "internal") => {
                let name = block.language.as_deref().unwrap_or_default();
                let message = format!("language \"{name}\" does not support inline code execution");
                return Err(SqlError::new("0A000", message));
            }
            Some(name) => return Err(SqlError::new("42704", format!("language \"{name}\" does not exist"))),
        }
        let compiled = Arc::new(Compiled::new(&block.text, None)?);
        let mut frame = Frame::new(compiled);
        frame.declare(None, "found", Slot::of(ColumnType::nullable(ScalarType::Bool), Datum::Bool(false)));
        self.transaction();
        within_stack(|| self.run_body(&mut frame)).map_err(|error| SqlError { position: None, ..error })?;
        Ok(Response::Complete("DO".to_owned()))
    }
}

impl Session {
    /// Whether the body of a function that was just created can be what it says, unless that is not asked.
    pub(in crate::session) fn body_checked(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let Statement::CreateRoutine(create) = statement else { return Ok(()) };
        let asked = self.state.lock().settings.get("check_function_bodies").is_none_or(|value| value != "off");
        if !asked {
            return Ok(());
        }
        let seen = self.seen();
        let made = seen.scope().routines(create.name.schema.as_deref(), &create.name.name);
        // The newest of the name, or the one that was replaced: all of them are looked at, as each must be what it says.
        for routine in made {
            if create.options.text.as_deref() == Some(&*routine.body.text) {
                planner::check_routine(routine, seen.scope())?;
            }
        }
        Ok(())
    }
}

fn only_as_trigger() -> SqlError {
    SqlError::new("0A000", "trigger functions can only be called as triggers")
}

/// The error of a body: no place in the statement's own text is to blame.
pub(super) fn within(error: SqlError) -> SqlError {
    SqlError { position: None, ..error }
}

/// A row that was given, as one value.
pub(super) fn as_value(row: Vec<Datum>, wanted: &ColumnType) -> Datum {
    match (&wanted.scalar, <[Datum; 1]>::try_from(row)) {
        (ScalarType::Record(_), Ok([only])) => Datum::Record(Arc::from([only])),
        (ScalarType::Record(_), Err(several)) => Datum::Record(several.into()),
        (_, Ok([only])) => only,
        (_, Err(_)) => Datum::Null,
    }
}
