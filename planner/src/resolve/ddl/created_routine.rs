//! CREATE and ALTER of functions and procedures. A body is looked at when all else is there (`resolve::routine_body`).

use super::change::DefinitionChange;
use crate::catalog::routine::{spelled, type_oid};
use crate::catalog::{
    Language, NamespaceId, Parameter, ParameterMode, ResultKind, Routine, RoutineBody, RoutineResult, RoutineTerms,
};
use crate::error::PlanError;
use crate::parse::definition::RoutineKind;
use crate::parse::statement::TypeName;
use crate::parse::type_definition::{
    AlterRoutine, CreateRoutine, Estimates, ParameterDefinition, RoutineChange, RoutineOptions, WrittenType,
};
use crate::parse::utility::SetValue;
use crate::resolve::polymorphic;
use crate::resolve::types::data_type;
use repr::{ColumnType, Id, ScalarType};
use std::sync::Arc;

fn invalid(message: impl Into<String>) -> PlanError {
    PlanError::new("42P13", message)
}

/// What RETURNS says, or a parameter's type.
enum Meant {
    Type(ColumnType),
    Pseudo(ResultKind),
}

impl DefinitionChange<'_> {
    pub(super) fn create_routine(&mut self, create: &CreateRoutine) -> Result<&'static str, PlanError> {
        let tag = if create.is_procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
        let namespace = self.place_of_type(&create.name).map_err(|error| match error.code {
            "0A000" => PlanError::unsupported("a function in a temporary schema"),
            _ => error,
        })?;
        let body = self.routine_body(&create.options)?;
        let parameters = self.routine_parameters(create)?;
        let result = self.routine_result(create, &parameters)?;
        let mut terms = RoutineTerms::default();
        if result.is_set {
            "1000".clone_into(&mut terms.rows);
        }
        change_terms(&mut terms, &create.options, create.is_procedure, result.is_set)?;
        let routine = Routine {
            id: 0,
            name: create.name.name.clone(),
            namespace,
            is_procedure: create.is_procedure,
            parameters,
            result,
            body,
            terms,
        };
        let id = self.routine_replaced(create, &routine)?;
        let id = match id {
            Some(id) => id,
            None => self.next_id(),
        };
        self.catalog.routines.insert(id, Arc::new(Routine { id, ..routine }));
        Ok(tag)
    }

    fn routine_body(&self, options: &RoutineOptions) -> Result<RoutineBody, PlanError> {
        let Some(name) = &options.language else { return Err(invalid("no language specified")) };
        let language = match &*name.to_lowercase() {
            "sql" => Language::Sql,
            "plpgsql" => Language::Plpgsql,
            "c" | "internal" => return Err(PlanError::unsupported(format!("a function in language {name}"))),
            _ => {
                let error = PlanError::new("42704", format!("language \"{name}\" does not exist"));
                return Err(error.hint("Use LANGUAGE plpgsql or LANGUAGE sql."));
            }
        };
        let text = options.text.clone().ok_or_else(|| invalid("no function body specified"))?;
        let mut body = RoutineBody { language, text, settings: Vec::new() };
        change_settings(&mut body.settings, options);
        Ok(body)
    }

    /// A type by its name, or a column's.
    fn meant(&mut self, written: &WrittenType) -> Result<Meant, PlanError> {
        match written {
            WrittenType::OfColumn(table, column) => {
                let id = self.relation(table)?;
                let column_index = self.column(id, column)?;
                let found = self.get(id).columns[column_index].column_type.clone();
                let shown = spelled(&found, self.scope());
                self.notice(
                    "00000",
                    format!("type reference {}.{}%TYPE converted to {shown}", table.dotted(), column.name),
                );
                Ok(Meant::Type(ColumnType { nullable: true, ..found }))
            }
            WrittenType::Named(name) => self.meant_by_name(name),
        }
    }

    fn meant_by_name(&self, written: &TypeName) -> Result<Meant, PlanError> {
        let text = written.data_type.to_string().to_lowercase();
        let pseudo = match text.trim_start_matches("pg_catalog.") {
            "void" => Some(ResultKind::Void),
            "record" => Some(ResultKind::Record),
            "trigger" => Some(ResultKind::Trigger),
            "event_trigger" => Some(ResultKind::EventTrigger),
            _ => None,
        };
        if let Some(pseudo) = pseudo {
            return Ok(Meant::Pseudo(pseudo));
        }
        if polymorphic::is_name(&text) {
            return Err(PlanError::unsupported(format!("a function of the polymorphic type {text}"))
                .hint("Create one for each type that it is called with.")
                .at(Some(written.position)));
        }
        let found = data_type(&written.data_type, self.scope()).map_err(|error| match error.code {
            "42704" => PlanError { position: None, ..error },
            _ => error.at(Some(written.position)),
        })?;
        // Lengths and the like are said, and forgotten.
        Ok(Meant::Type(ColumnType { modifier: -1, ..found }))
    }

    fn routine_parameters(&mut self, create: &CreateRoutine) -> Result<Vec<Parameter>, PlanError> {
        let written: &[ParameterDefinition] = &create.parameters;
        let mut parameters: Vec<Parameter> = Vec::with_capacity(written.len());
        let mut has_defaults = false;
        for definition in written {
            let column_type = match self.meant(&definition.of)? {
                Meant::Type(column_type) => column_type,
                Meant::Pseudo(ResultKind::Record) => {
                    return Err(PlanError::unsupported("a parameter of type record"));
                }
                Meant::Pseudo(_) => {
                    let what = if definition.mode.is_given() { "accept" } else { "return" };
                    let WrittenType::Named(name) = &definition.of else { continue };
                    let name = name.data_type.to_string().to_lowercase();
                    return Err(invalid(format!("functions cannot {what} type {name}")));
                }
            };
            let is_given = definition.mode.is_given();
            if parameters.iter().any(|before| before.mode == ParameterMode::Variadic) && is_given {
                return Err(invalid("VARIADIC parameter must be the last input parameter"));
            }
            if definition.mode == ParameterMode::Variadic && !column_type.scalar.is_array() {
                return Err(invalid("VARIADIC parameter must be an array"));
            }
            let name = definition.name.as_ref().map(|name| name.name.clone());
            if let Some(name) = &name {
                let clashes = |before: &&Parameter| {
                    let both = before.mode.is_given() && is_given || before.mode.is_result() && !is_given;
                    before.name.as_ref() == Some(name) && (both || before.mode.is_given() || before.mode.is_result())
                };
                if parameters.iter().any(|before| clashes(&before)) {
                    return Err(invalid(format!("parameter name \"{name}\" used more than once")));
                }
            }
            if create.is_procedure && has_defaults && definition.mode == ParameterMode::Out {
                return Err(invalid("procedure OUT parameters cannot appear after one with a default value"));
            }
            let default = match &definition.default {
                Some(_) if !is_given => return Err(invalid("only input parameters can have default values")),
                Some(text) => {
                    has_defaults = true;
                    Some(self.parameter_default(&text.text, &column_type)?)
                }
                None if is_given && has_defaults && definition.mode != ParameterMode::Variadic => {
                    return Err(invalid("input parameters after one with a default value must also have defaults"));
                }
                None => None,
            };
            parameters.push(Parameter { name, mode: definition.mode, column_type, default });
        }
        Ok(parameters)
    }

    /// A default as the catalog keeps it, once it is known to be one.
    fn parameter_default(&self, text: &str, column_type: &ColumnType) -> Result<String, PlanError> {
        let kept = self.kept(text);
        crate::resolve::routine_body::check_default(&kept, column_type, &self.catalog)?;
        Ok(kept)
    }

    fn routine_result(&mut self, create: &CreateRoutine, parameters: &[Parameter]) -> Result<RoutineResult, PlanError> {
        let outputs: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.mode.is_result()).collect();
        let of_outputs = match outputs.as_slice() {
            [] => None,
            [only] if !create.is_procedure => Some(ResultKind::Value(only.column_type.clone())),
            _ => Some(ResultKind::Record),
        };
        if create.is_procedure {
            return Ok(RoutineResult { kind: of_outputs.unwrap_or(ResultKind::Void), is_set: false });
        }
        let Some(returns) = &create.returns else {
            let kind = of_outputs.ok_or_else(|| invalid("function result type must be specified"))?;
            return Ok(RoutineResult { kind, is_set: false });
        };
        let is_set = returns.is_set;
        let Some(written) = &returns.of else {
            return Ok(RoutineResult { kind: of_outputs.unwrap_or(ResultKind::Record), is_set });
        };
        let kind = match self.meant(written)? {
            Meant::Type(column_type) => ResultKind::Value(column_type),
            Meant::Pseudo(kind) => kind,
        };
        if is_set && matches!(kind, ResultKind::Trigger | ResultKind::EventTrigger) {
            return Err(invalid("trigger functions cannot return a set"));
        }
        if is_set && kind == ResultKind::Void {
            return Err(PlanError::unsupported("a function that returns SETOF void"));
        }
        match of_outputs {
            Some(ResultKind::Record) if kind != ResultKind::Record => {
                Err(invalid("function result type must be record because of OUT parameters"))
            }
            Some(ResultKind::Value(wanted)) => {
                let same = matches!(&kind, ResultKind::Value(own) if type_oid(own) == type_oid(&wanted));
                match same {
                    true => Ok(RoutineResult { kind, is_set }),
                    false => {
                        let wanted = spelled(&wanted, self.scope());
                        Err(invalid(format!("function result type must be {wanted} because of OUT parameters")))
                    }
                }
            }
            _ => Ok(RoutineResult { kind, is_set }),
        }
    }

    /// The OID of what has the name and the arguments already, if it may be replaced.
    fn routine_replaced(&self, create: &CreateRoutine, new: &Routine) -> Result<Option<Id>, PlanError> {
        let mut there = self.catalog.routines_in(new.namespace, &new.name);
        let Some(old) = there.find(|found| found.input_types() == new.input_types()) else { return Ok(None) };
        if !create.replace {
            let message = format!("{} \"{}\" already exists with same argument types", "function", new.name);
            return Err(PlanError::new("42723", message));
        }
        if !self.catalog.is_controller(self.path.actor().role) {
            self.require_owner(old.id, old.noun(), &old.name)?;
        }
        if old.is_procedure != new.is_procedure {
            let article = old.noun();
            return Err(PlanError::new("42809", "cannot change routine kind")
                .detail(format!("\"{}\" is a {article}.", old.name)));
        }
        let word = if old.is_procedure { "PROCEDURE" } else { "FUNCTION" };
        let hint = format!("Use DROP {word} {} first.", old.signature(self.scope()));
        let result = |routine: &Routine| match &routine.result.kind {
            ResultKind::Value(own) => type_oid(own),
            ResultKind::Record => 2249,
            ResultKind::Void => 2278,
            ResultKind::Trigger => 2279,
            ResultKind::EventTrigger => 3838,
        };
        if result(old) != result(new) || old.result.is_set != new.result.is_set {
            let message = match old.is_procedure {
                true => "cannot change whether a procedure has output parameters",
                false => "cannot change return type of existing function",
            };
            return Err(invalid(message).hint(hint));
        }
        let columns = |routine: &Routine| -> Vec<(Option<String>, Id)> {
            routine.outputs().map(|output| (output.name.clone(), type_oid(&output.column_type))).collect()
        };
        if new.result.kind == ResultKind::Record && columns(old) != columns(new) {
            return Err(invalid("cannot change return type of existing function")
                .detail("Row type defined by OUT parameters is different.")
                .hint(hint));
        }
        for (before, after) in old.inputs().zip(new.inputs()) {
            if let Some(name) = before.name.as_ref().filter(|_| before.name != after.name) {
                return Err(invalid(format!("cannot change name of input parameter \"{name}\"")).hint(hint));
            }
            if before.default.is_some() && after.default.is_none() {
                return Err(invalid("cannot remove parameter defaults from existing function").hint(hint));
            }
        }
        if old.body != new.body || old.terms.strict != new.terms.strict {
            self.require_not_stored(old)?;
        }
        Ok(Some(old.id))
    }

    pub(super) fn alter_routine(&mut self, alter: &AlterRoutine) -> Result<&'static str, PlanError> {
        let id = self.routine_named(alter.kind, &alter.routine)?;
        let routine = Arc::clone(&self.catalog.routines[&id]);
        let tag = match alter.kind {
            RoutineKind::Procedure => "ALTER PROCEDURE",
            RoutineKind::Routine => "ALTER ROUTINE",
            RoutineKind::Function | RoutineKind::Aggregate => "ALTER FUNCTION",
        };
        match &alter.change {
            RoutineChange::Rename(name) => {
                self.require_free_routine(&routine, routine.namespace, &name.name)?;
                self.require_unused_routine(&routine, "rename")?;
                self.edit_routine(id).name.clone_from(&name.name);
            }
            RoutineChange::Owner(owner) => {
                let owner = self.role(owner)?;
                self.give(id, routine.noun(), &routine.name, owner)?;
            }
            RoutineChange::Schema(schema) => {
                let to = self.destination(schema)?;
                if to != routine.namespace {
                    self.require_free_routine(&routine, to, &routine.name)?;
                    self.require_unused_routine(&routine, "move")?;
                    self.edit_routine(id).namespace = to;
                }
            }
            RoutineChange::Options(options) => {
                self.require_not_stored(&routine)?;
                let mut terms = routine.terms.clone();
                change_terms(&mut terms, options, routine.is_procedure, routine.result.is_set)?;
                let changed = self.edit_routine(id);
                changed.terms = terms;
                change_settings(&mut changed.body.settings, options);
            }
        }
        Ok(tag)
    }

    fn edit_routine(&mut self, id: Id) -> &mut Routine {
        Arc::make_mut(self.catalog.routines.get_mut(&id).expect("ids come from this catalog"))
    }

    fn require_free_routine(&self, routine: &Routine, to: NamespaceId, name: &str) -> Result<(), PlanError> {
        let mut there = self.catalog.routines_in(to, name);
        if !there.any(|found| found.id != routine.id && found.input_types() == routine.input_types()) {
            return Ok(());
        }
        let schema = self.catalog.namespace_name(to).unwrap_or_default();
        let signature = routine.called(name, self.scope()).replace(',', ", ");
        Err(PlanError::new("42723", format!("function {signature} already exists in schema \"{schema}\"")))
    }
}

fn change_terms(
    terms: &mut RoutineTerms,
    options: &RoutineOptions,
    is_procedure: bool,
    is_set: bool,
) -> Result<(), PlanError> {
    let of_functions = options.volatility.is_some()
        || options.strict.is_some()
        || options.leakproof.is_some()
        || options.parallel.is_some()
        || options.estimates != Estimates::default();
    if is_procedure && of_functions {
        return Err(invalid("invalid attribute in procedure definition"));
    }
    terms.volatility = options.volatility.unwrap_or(terms.volatility);
    terms.strict = options.strict.unwrap_or(terms.strict);
    terms.leakproof = options.leakproof.unwrap_or(terms.leakproof);
    terms.parallel = options.parallel.unwrap_or(terms.parallel);
    let is_positive = |number: &str| number.parse::<f32>().is_ok_and(|number| number > 0.0);
    if let Some(cost) = &options.estimates.cost {
        if !is_positive(cost) {
            return Err(PlanError::new("22023", "COST must be positive"));
        }
        terms.cost.clone_from(cost);
    }
    if let Some(rows) = &options.estimates.rows {
        if !is_positive(rows) {
            return Err(PlanError::new("22023", "ROWS must be positive"));
        }
        if !is_set {
            return Err(PlanError::new("22023", "ROWS is not applicable when function does not return a set"));
        }
        terms.rows.clone_from(rows);
    }
    Ok(())
}

fn change_settings(settings: &mut Vec<(String, String)>, options: &RoutineOptions) {
    for (name, values) in &options.settings {
        let Some(name) = name.as_ref().map(|name| name.to_lowercase()) else {
            settings.clear();
            continue;
        };
        let value = values.as_ref().map(|values| values.iter().map(SetValue::text).collect::<Vec<_>>().join(", "));
        let place = settings.iter().position(|(known, _)| *known == name);
        match (place, value) {
            (Some(place), Some(value)) => settings[place].1 = value,
            (Some(place), None) => drop(settings.remove(place)),
            (None, Some(value)) => settings.push((name, value)),
            (None, None) => {}
        }
    }
}

/// Whether a value of it is a set's element of that type: what messages need of a result.
pub(super) fn is_of(routine: &Routine, id: Id) -> bool {
    routine.types().iter().any(|found| *found == id || *found == id + 1)
        || matches!(&routine.result.kind, ResultKind::Value(ColumnType { scalar: ScalarType::Record(record), .. }) if record.id == id)
}
