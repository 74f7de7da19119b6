//! Names that a text in a body may use besides columns: a function's parameters, variables of PL/pgSQL.
//!
//! They are parameters of the statement where that is run by itself, and what a call gives where a function's text is put in the
//! place of the call.

use super::levels::shift_expr;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::parse::statement::{Variable, Variables};
use crate::plpgsql::Conflict;
use repr::ScalarType;
use sqlparser::ast::Ident;
use std::sync::Arc;

/// See the module.
pub(super) struct BodyNames {
    pub(super) variables: Arc<Variables>,
    /// What a call gives, if the text stands in its place.
    pub(super) arguments: Option<Vec<Argument>>,
    /// How many frames are around the text beside those of the call.
    pub(super) base: isize,
}

/// What a call gives for a parameter.
pub(super) struct Argument {
    pub(super) value: Typed,
    /// How often it is used.
    pub(super) uses: usize,
}

fn ambiguous(name: &str, position: Option<u32>) -> PlanError {
    PlanError::new("42702", format!("column reference \"{name}\" is ambiguous"))
        .detail("It could refer to either a PL/pgSQL variable or a table column.")
        .at(position)
}

impl Resolver<'_> {
    fn known_variable(&self, qualifier: Option<&str>, name: &str) -> Option<&Variable> {
        let list = &self.body.as_ref()?.variables.list;
        let is_it = |found: &&Variable| {
            found.name == name && qualifier.is_none_or(|before| found.qualifier.as_deref() == Some(before))
        };
        list.iter().rev().find(is_it)
    }

    /// What a name means that is a column's and may be a variable's.
    pub(super) fn column_or_variable(
        &mut self,
        name: &str,
        column: Option<Typed>,
        position: Option<u32>,
    ) -> Result<Option<Typed>, PlanError> {
        let Some(body) = &self.body else { return Ok(column) };
        let conflict = body.variables.conflict;
        if self.known_variable(None, name).is_none() {
            return Ok(column);
        }
        match (column, conflict) {
            (Some(_), Conflict::Error) => Err(ambiguous(name, position)),
            (Some(column), Conflict::Column) => Ok(Some(column)),
            (Some(_), Conflict::Variable) | (None, _) => self.variable(None, name, position),
        }
    }

    /// A variable's value.
    pub(super) fn variable(
        &mut self,
        qualifier: Option<&str>,
        name: &str,
        position: Option<u32>,
    ) -> Result<Option<Typed>, PlanError> {
        let Some(found) = self.known_variable(qualifier, name) else { return Ok(None) };
        let (place, is_known) = (found.place, found.column_type.is_some());
        if !is_known {
            return Err(PlanError::new("55000", format!("record \"{name}\" is not assigned yet"))
                .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
                .at(position));
        }
        self.given(place).map(Some)
    }

    /// `variable.field`, `label.variable`, `label.variable.field`
    pub(super) fn qualified_variable(&mut self, parts: &[Ident]) -> Result<Option<Typed>, PlanError> {
        if self.body.is_none() {
            return Ok(None);
        }
        let names: Vec<String> = parts.iter().map(super::scope::fold).collect();
        let position = self.at(parts[0].span);
        let (value, fields) = match names.as_slice() {
            [label, name, ..] if self.known_variable(Some(label), name).is_some() => {
                (self.variable(Some(label), name, position)?, &names[2..])
            }
            [name, ..] => (self.variable(None, name, position)?, &names[1..]),
            [] => return Ok(None),
        };
        let Some(mut value) = value else { return Ok(None) };
        for field in fields {
            let is_record = matches!(value.scalar(), ScalarType::Record(_));
            if !is_record {
                return Ok(None);
            }
            value = self.field(value, field, position).map_err(|error| match error.code {
                "42703" => {
                    PlanError::new("42703", format!("record \"{}\" has no field \"{field}\"", names[0])).at(position)
                }
                _ => error,
            })?;
        }
        Ok(Some(value))
    }

    /// What `$n` is in a body, from 0; nothing where the text is in none.
    pub(super) fn positional(&mut self, place: usize) -> Option<Result<Typed, PlanError>> {
        let given = self.body.as_ref()?.variables.positional;
        if place >= given {
            return Some(Err(PlanError::new("42P02", format!("there is no parameter ${}", place + 1))));
        }
        Some(self.given(place))
    }

    fn given(&mut self, place: usize) -> Result<Typed, PlanError> {
        let frames = isize::try_from(self.frames.len()).unwrap_or(isize::MAX);
        let Some(body) = &mut self.body else { return self.param(place) };
        let by = frames - body.base;
        let Some(arguments) = &mut body.arguments else { return self.param(place) };
        let argument = arguments
            .get_mut(place)
            .ok_or_else(|| PlanError::new("42P02", format!("there is no parameter ${}", place + 1)))?;
        argument.uses += 1;
        let mut value = argument.value.clone();
        shift_expr(&mut value.expr, by);
        Ok(value)
    }
}
