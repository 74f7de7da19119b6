//! Functions and procedures that somebody created: pg_proc, what pg_depend has of them, information_schema's routines and parameters.

use super::super::builtin::{PG_PROC, PG_TYPE};
use super::super::routine_text::RoutineText;
use super::{Rows, Source, array, flag, optional, small, text, vector};
use crate::catalog::routine::type_oid;
use crate::catalog::{Language, Parameter, ParameterMode, ResultKind, Routine};
use crate::system::definition_text::DefinitionText;
use repr::{ColumnType, Datum, Id, ScalarType};

/// The OID of a routine's result.
pub(super) fn result_oid(routine: &Routine) -> Id {
    match &routine.result.kind {
        ResultKind::Value(own) => type_oid(own),
        ResultKind::Record => 2249,
        ResultKind::Void => 2278,
        ResultKind::Trigger => 2279,
        ResultKind::EventTrigger => 3838,
    }
}

fn number(text: &str) -> Datum {
    Datum::Float4(text.parse().unwrap_or(0.0))
}

impl Source<'_> {
    /// pg_proc
    pub(super) fn routines(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for routine in self.catalog.routines.values() {
            let written = RoutineText { routine, shown: &shown };
            let oid = |parameter: &Parameter| Datum::Oid(type_oid(&parameter.column_type));
            let inputs: Vec<Datum> = routine.inputs().map(oid).collect();
            let is_plain = routine.parameters.iter().all(|parameter| parameter.mode == ParameterMode::In);
            let is_named = routine.parameters.iter().any(|parameter| parameter.name.is_some());
            let all = |value: &dyn Fn(&Parameter) -> Datum| array(routine.parameters.iter().map(value).collect());
            let modes = all(&|parameter| text(parameter.mode.letter()));
            let names = all(&|parameter| text(parameter.name.as_deref().unwrap_or_default()));
            let defaults: Vec<&str> =
                routine.parameters.iter().filter_map(|parameter| parameter.default.as_deref()).collect();
            let variadic = routine.parameters.iter().find(|parameter| parameter.mode == ParameterMode::Variadic);
            let element = variadic.and_then(|parameter| parameter.column_type.scalar.element());
            let settings = routine.body.settings.iter().map(|(name, value)| text(&format!("{name}={value}")));
            let settings: Vec<Datum> = settings.collect();
            let terms = &routine.terms;
            let or_null = |is_there: bool, value: Datum| if is_there { value } else { Datum::Null };
            rows.add(&[
                ("oid", Datum::Oid(routine.id)),
                ("proname", text(&routine.name)),
                ("pronamespace", Datum::Oid(routine.namespace.0)),
                ("proowner", self.owner(routine.id)),
                ("prolang", Datum::Oid(routine.body.language.oid())),
                ("procost", number(&terms.cost)),
                ("prorows", number(&terms.rows)),
                ("provariadic", Datum::Oid(element.map_or(0, |element| element.oid()))),
                ("prokind", text(if routine.is_procedure { "p" } else { "f" })),
                ("proleakproof", flag(terms.leakproof)),
                ("proisstrict", flag(terms.strict)),
                ("proretset", flag(routine.result.is_set)),
                ("provolatile", text(&terms.volatility.to_string())),
                ("proparallel", text(&terms.parallel.to_string())),
                ("pronargs", small(inputs.len())),
                ("pronargdefaults", small(defaults.len())),
                ("prorettype", Datum::Oid(result_oid(routine))),
                ("proargtypes", vector(inputs)),
                ("proallargtypes", or_null(!is_plain, all(&oid))),
                ("proargmodes", or_null(!is_plain, modes)),
                ("proargnames", or_null(is_named, names)),
                ("proargdefaults", or_null(!defaults.is_empty(), text(&defaults.join(", ")))),
                ("prosrc", text(&written.routine.body.text)),
                ("proconfig", or_null(!settings.is_empty(), array(settings))),
                ("proacl", self.acl(routine.id)),
            ]);
        }
    }

    /// What routines hang on: the types that they name.
    pub(super) fn routine_dependencies(&self, rows: &mut Rows) {
        for routine in self.catalog.routines.values() {
            for id in routine.types() {
                rows.add(&[
                    ("classid", Datum::Oid(PG_PROC)),
                    ("objid", Datum::Oid(routine.id)),
                    ("refclassid", Datum::Oid(PG_TYPE)),
                    ("refobjid", Datum::Oid(id)),
                    ("deptype", text("n")),
                ]);
            }
        }
    }

    /// information_schema.routines
    pub(super) fn information_routines(&self, database: &str, rows: &mut Rows) {
        for routine in self.catalog.routines.values() {
            let own = self.asker().on(crate::catalog::ObjectClass::Function, routine.id);
            if own.privileges.is_empty() {
                continue;
            }
            let specific = format!("{}_{}", routine.name, routine.id);
            let schema = self.schema(routine.namespace);
            let is_owned = self.catalog.owns(self.actor.role, routine.id, self.environment.database_id());
            let body = if is_owned { text(&routine.body.text) } else { Datum::Null };
            let mut values = vec![
                ("specific_catalog", text(database)),
                ("specific_schema", schema.clone()),
                ("specific_name", text(&specific)),
                ("routine_catalog", text(database)),
                ("routine_schema", schema),
                ("routine_name", text(&routine.name)),
                ("routine_type", text(if routine.is_procedure { "PROCEDURE" } else { "FUNCTION" })),
                ("routine_body", text(if routine.body.language == Language::Sql { "SQL" } else { "EXTERNAL" })),
                ("routine_definition", body),
                ("external_language", text(&routine.body.language.name().to_uppercase())),
                ("parameter_style", text("GENERAL")),
                ("is_deterministic", text(if routine.terms.volatility == 'i' { "YES" } else { "NO" })),
                ("sql_data_access", text("MODIFIES")),
                (
                    "is_null_call",
                    if routine.is_procedure {
                        Datum::Null
                    } else {
                        text(if routine.terms.strict { "YES" } else { "NO" })
                    },
                ),
                ("schema_level_routine", text("YES")),
                ("max_dynamic_result_sets", Datum::Int4(0)),
                ("security_type", text("INVOKER")),
                ("as_locator", text("NO")),
                ("is_udt_dependent", text("NO")),
            ];
            if !routine.is_procedure {
                values.push(("dtd_identifier", text("0")));
                let (name, udt) = match &routine.result.kind {
                    ResultKind::Value(own) => named(own),
                    ResultKind::Record => ("record".to_owned(), "record".to_owned()),
                    ResultKind::Void => ("void".to_owned(), "void".to_owned()),
                    ResultKind::Trigger => ("trigger".to_owned(), "trigger".to_owned()),
                    ResultKind::EventTrigger => ("event_trigger".to_owned(), "event_trigger".to_owned()),
                };
                values.extend([
                    ("data_type", text(&name)),
                    ("type_udt_catalog", text(database)),
                    ("type_udt_schema", self.schema_of_type(&routine.result.kind)),
                    ("type_udt_name", text(&udt)),
                ]);
            }
            rows.add(&values);
        }
    }

    fn schema_of_type(&self, kind: &ResultKind) -> Datum {
        match kind {
            ResultKind::Value(own) => self.schema_of(own),
            _ => text("pg_catalog"),
        }
    }

    fn schema_of(&self, column_type: &ColumnType) -> Datum {
        let id = match column_type.domain {
            0 => column_type.scalar.unarrayed().created(),
            domain => Some(domain),
        };
        let found = id.and_then(|id| self.catalog.types.get(&id));
        found.map_or_else(|| text("pg_catalog"), |found| self.schema(found.namespace))
    }

    /// information_schema.parameters
    pub(super) fn information_parameters(&self, database: &str, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for routine in self.catalog.routines.values() {
            let specific = format!("{}_{}", routine.name, routine.id);
            let parameters = routine.parameters.iter().enumerate();
            for (place, parameter) in parameters {
                let (name, udt) = named(&parameter.column_type);
                let mode = match parameter.mode {
                    ParameterMode::In | ParameterMode::Variadic => "IN",
                    ParameterMode::Out | ParameterMode::Table => "OUT",
                    ParameterMode::InOut => "INOUT",
                };
                let ordinal = Datum::Int4(i32::try_from(place + 1).unwrap_or(i32::MAX));
                let default = RoutineText { routine, shown: &shown }.default(parameter);
                rows.add(&[
                    ("specific_catalog", text(database)),
                    ("specific_schema", self.schema(routine.namespace)),
                    ("specific_name", text(&specific)),
                    ("ordinal_position", ordinal),
                    ("parameter_mode", text(mode)),
                    ("is_result", text("NO")),
                    ("as_locator", text("NO")),
                    ("parameter_name", optional(parameter.name.as_deref())),
                    ("data_type", text(&name)),
                    ("udt_catalog", text(database)),
                    ("udt_schema", self.schema_of(&parameter.column_type)),
                    ("udt_name", text(&udt)),
                    ("dtd_identifier", text(&(place + 1).to_string())),
                    ("parameter_default", optional(default.as_deref())),
                ]);
            }
        }
    }
}

/// `data_type` and `udt_name`.
fn named(column_type: &ColumnType) -> (String, String) {
    let scalar = &column_type.scalar;
    let udt = scalar.type_name();
    let name = match scalar {
        ScalarType::Array(_) => "ARRAY".to_owned(),
        other if other.created().is_some() => "USER-DEFINED".to_owned(),
        other => other.format_type(-1),
    };
    (name, udt)
}
