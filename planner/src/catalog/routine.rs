//! Functions and procedures that somebody created.
//!
//! What a body says is text, read where it is called: names in it mean what they mean to whoever calls. It is schema, not data.

use super::{Catalog, NamespaceId, Qualifier, Scope};
use crate::scalar::Volatility;
use repr::{ColumnType, Id, ScalarType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// CREATE FUNCTION, CREATE PROCEDURE
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// OID of its `pg_proc` row.
    pub id: Id,
    /// Its name, which it shares with those of other arguments.
    pub name: String,
    /// The schema that it is in.
    pub namespace: NamespaceId,
    /// A procedure, which CALL calls.
    #[serde(default)]
    pub is_procedure: bool,
    /// What it is given and what it gives, in the order in which they were written.
    pub parameters: Vec<Parameter>,
    /// RETURNS
    pub result: RoutineResult,
    /// What it does.
    pub body: RoutineBody,
    /// How it may be called.
    #[serde(default)]
    pub terms: RoutineTerms,
}

/// A parameter, or a column of RETURNS TABLE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, if it has one.
    #[serde(default)]
    pub name: Option<String>,
    /// Which way it goes.
    #[serde(default)]
    pub mode: ParameterMode,
    /// Its type.
    pub column_type: ColumnType,
    /// What stands for it where a call leaves it out: an expression as SQL text.
    #[serde(default)]
    pub default: Option<String>,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterMode {
    /// IN
    #[default]
    In,
    /// OUT
    Out,
    /// INOUT
    InOut,
    /// VARIADIC: the array that the rest of the arguments become.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

impl ParameterMode {
    /// Whether a call gives it.
    pub fn is_given(self) -> bool {
        matches!(self, ParameterMode::In | ParameterMode::InOut | ParameterMode::Variadic)
    }

    /// Whether it comes out.
    pub fn is_result(self) -> bool {
        matches!(self, ParameterMode::Out | ParameterMode::InOut | ParameterMode::Table)
    }

    /// Its letter in `proargmodes`.
    pub fn letter(self) -> &'static str {
        match self {
            ParameterMode::In => "i",
            ParameterMode::Out => "o",
            ParameterMode::InOut => "b",
            ParameterMode::Variadic => "v",
            ParameterMode::Table => "t",
        }
    }

    /// As it is written before the name, with a blank behind it.
    pub fn word(self) -> &'static str {
        match self {
            ParameterMode::In | ParameterMode::Table => "",
            ParameterMode::Out => "OUT ",
            ParameterMode::InOut => "INOUT ",
            ParameterMode::Variadic => "VARIADIC ",
        }
    }
}

/// RETURNS
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineResult {
    /// Of which type.
    pub kind: ResultKind,
    /// SETOF, or TABLE.
    #[serde(default)]
    pub is_set: bool,
}

/// What a routine gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultKind {
    /// A value of that type; a row, if it is a composite.
    Value(ColumnType),
    /// `record`: of its parameters that come out, or of what its caller says.
    Record,
    /// Nothing.
    Void,
    /// `trigger`: nobody calls it.
    Trigger,
    /// `event_trigger`
    EventTrigger,
}

/// What a routine does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineBody {
    /// LANGUAGE
    pub language: Language,
    /// AS
    pub text: String,
    /// SET setting, by name: what holds while it runs.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
}

/// The languages that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// SQL
    Sql,
    /// PL/pgSQL
    Plpgsql,
}

impl Language {
    /// OID of its `pg_language` row.
    pub fn oid(self) -> Id {
        match self {
            Language::Sql => 14,
            // PostgreSQL hands it out when it creates the extension.
            Language::Plpgsql => crate::system::extension::PLPGSQL_LANGUAGE,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
        }
    }
}

/// How a routine may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineTerms {
    /// IMMUTABLE and STABLE, by their letters in `provolatile`.
    pub volatility: char,
    /// STRICT
    pub strict: bool,
    /// LEAKPROOF
    pub leakproof: bool,
    /// PARALLEL, by its letter in `proparallel`.
    pub parallel: char,
    /// COST
    pub cost: String,
    /// ROWS
    pub rows: String,
}

impl Default for RoutineTerms {
    fn default() -> Self {
        let usual = |number: &str| number.to_owned();
        RoutineTerms {
            volatility: 'v',
            strict: false,
            leakproof: false,
            parallel: 'u',
            cost: usual("100"),
            rows: usual("0"),
        }
    }
}

impl RoutineTerms {
    /// IMMUTABLE, STABLE or VOLATILE.
    pub fn volatility(&self) -> Volatility {
        match self.volatility {
            'i' => Volatility::Immutable,
            's' => Volatility::Stable,
            _ => Volatility::Volatile,
        }
    }
}

impl Routine {
    /// What a call gives, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> + Clone {
        self.parameters.iter().filter(|parameter| parameter.mode.is_given())
    }

    /// What comes out by name.
    pub fn outputs(&self) -> impl Iterator<Item = &Parameter> + Clone {
        self.parameters.iter().filter(|parameter| parameter.mode.is_result())
    }

    /// The types that tell it from others of its name.
    pub fn input_types(&self) -> Vec<Id> {
        self.inputs().map(|parameter| type_oid(&parameter.column_type)).collect()
    }

    /// What messages call its kind.
    pub fn noun(&self) -> &'static str {
        if self.is_procedure { "procedure" } else { "function" }
    }

    /// `name(types)`, as messages and `regprocedure` have it.
    pub fn signature(&self, scope: Scope<'_>) -> String {
        self.called(&crate::scalar::quote_identifier(&self.name), scope)
    }

    /// The same under a name that is written so.
    pub fn called(&self, name: &str, scope: Scope<'_>) -> String {
        let types: Vec<String> = self.inputs().map(|parameter| spelled(&parameter.column_type, scope)).collect();
        format!("{name}({})", types.join(","))
    }

    /// The composite that its parameters make which come out, if there are several or it is TABLE.
    pub fn record(&self, catalog: &Catalog) -> Option<Vec<(String, ColumnType)>> {
        let outputs: Vec<&Parameter> = self.outputs().collect();
        let is_record = matches!(self.result.kind, ResultKind::Record) && !outputs.is_empty();
        is_record.then(|| {
            let numbered = outputs.into_iter().enumerate();
            let column = |(place, parameter): (usize, &Parameter)| {
                let name = parameter.name.clone().unwrap_or_else(|| format!("column{}", place + 1));
                (name, catalog.current_type(&parameter.column_type))
            };
            numbered.map(column).collect()
        })
    }

    /// Created types and rows of tables that it names, arrays and domains by what they are of.
    pub fn types(&self) -> BTreeSet<Id> {
        let result = match &self.result.kind {
            ResultKind::Value(column_type) => Some(column_type),
            ResultKind::Record | ResultKind::Void | ResultKind::Trigger | ResultKind::EventTrigger => None,
        };
        let all = self.parameters.iter().map(|parameter| &parameter.column_type).chain(result);
        let of = |column_type: &ColumnType| match column_type.domain {
            0 => column_type.scalar.unarrayed().created(),
            domain => Some(domain),
        };
        all.filter_map(of).collect()
    }
}

/// The OID of a type, of a domain if it is that.
pub fn type_oid(column_type: &ColumnType) -> Id {
    if column_type.domain == 0 { column_type.scalar.oid() } else { column_type.domain }
}

/// A type as SQL must spell it to be found; without what stands in parentheses behind it.
pub fn spelled(column_type: &ColumnType, scope: Scope<'_>) -> String {
    let domain = if column_type.domain == 0 { None } else { scope.spelled_domain(column_type.domain) };
    domain.unwrap_or_else(|| scope.spelled_scalar(&column_type.scalar, -1))
}

impl Catalog {
    /// The functions and procedures of that name in a schema.
    pub fn routines_in(&self, namespace: NamespaceId, name: &str) -> impl Iterator<Item = &Arc<Routine>> {
        self.routines.values().filter(move |found| found.namespace == namespace && found.name == name)
    }

    /// A type that was kept, as it is now: composites may have got other fields.
    pub fn current_type(&self, column_type: &ColumnType) -> ColumnType {
        let Some(id) = column_type.scalar.unarrayed().created() else { return column_type.clone() };
        let created = self.types.get(&id).map(|found| found.column_type().scalar);
        let row = || self.table_of_row_type(id)?.row_type().map(ScalarType::Record);
        let Some(now) = created.or_else(row) else { return column_type.clone() };
        let scalar = if column_type.scalar.is_array() { now.array() } else { now };
        ColumnType { scalar, ..column_type.clone() }
    }
}

impl<'a> Scope<'a> {
    /// The functions and procedures that a name may mean, by the schema that is written or by the search path: of those of the
    /// same arguments the first.
    pub fn routines<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Vec<&'a Arc<Routine>> {
        if self.catalog.routines.is_empty() {
            return Vec::new();
        }
        let catalog = self.catalog;
        let before = before.into();
        if before.is_written() {
            let namespace = self.namespace_before(before);
            return namespace.into_iter().flat_map(|namespace| catalog.routines_in(namespace, name)).collect();
        }
        let mut found: Vec<&Arc<Routine>> = Vec::new();
        for namespace in self.path.searched() {
            for routine in catalog.routines_in(*namespace, name) {
                if found.iter().all(|known| known.input_types() != routine.input_types()) {
                    found.push(routine);
                }
            }
        }
        found
    }

    /// Whether the bare name and the arguments mean it.
    pub fn sees_routine(self, routine: &Routine) -> bool {
        self.routines(None, &routine.name).iter().any(|found| found.id == routine.id)
    }

    /// Its name as SQL must spell it to be found.
    pub fn spelled_routine(self, routine: &Routine) -> String {
        match self.sees_routine(routine) {
            true => crate::scalar::quote_identifier(&routine.name),
            false => self.qualified(routine.namespace, &routine.name),
        }
    }
}
