//! Functions and procedures by their names and arguments: DROP, and what hangs on them.

use super::change::DefinitionChange;
use super::kept_uses::KeptUse;
use crate::catalog::Routine;
use crate::catalog::routine::type_oid;
use crate::error::PlanError;
use crate::parse::definition::{RoutineKind, RoutineName};
use crate::parse::statement::{DropBehavior, TypeName};
use crate::parse::type_definition::DropRoutines;
use crate::resolve::types;
use crate::system::builtin::function::{self, Function};
use crate::system::builtin::{pseudo_type, type_name};
use repr::{Id, ScalarType};
use std::sync::Arc;

/// Of arguments: their types as they were written, in PostgreSQL's way, and their OIDs.
type Arguments = Option<Vec<(String, Option<Id>)>>;

impl RoutineKind {
    /// The word for it, and the word for what is looked up.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            RoutineKind::Function => ("function", "function"),
            RoutineKind::Procedure => ("procedure", "procedure"),
            RoutineKind::Routine => ("routine", "function"),
            RoutineKind::Aggregate => ("aggregate", "aggregate"),
        }
    }

    fn tag(self) -> &'static str {
        match self {
            RoutineKind::Function => "DROP FUNCTION",
            RoutineKind::Procedure => "DROP PROCEDURE",
            RoutineKind::Routine => "DROP ROUTINE",
            RoutineKind::Aggregate => "DROP AGGREGATE",
        }
    }
}

impl DefinitionChange<'_> {
    pub(super) fn drop_routines(&mut self, drop: &DropRoutines) -> Result<&'static str, PlanError> {
        let DropRoutines { kind, if_exists, routines, behavior } = drop;
        let mut found = Vec::new();
        for routine in routines {
            match self.created_routine(*kind, routine)? {
                Some(id) => found.push(id),
                None => match self.missing_routine(*kind, routine, *if_exists) {
                    Ok(notice) => self.notice("00000", notice),
                    Err(error) if *if_exists && matches!(error.code, "3F000" | "42704") => {
                        self.notice("00000", format!("{error}, skipping"));
                    }
                    Err(error) => return Err(error),
                },
            }
        }
        for id in found {
            if let Some(routine) = self.catalog.routines.get(&id).map(Arc::clone) {
                self.drop_users_of_routine(&routine, *behavior == DropBehavior::Cascade)?;
                self.remove_routine(id);
            }
        }
        Ok(kind.tag())
    }

    pub(super) fn remove_routine(&mut self, id: Id) {
        self.catalog.routines.remove(&id);
        self.catalog.comments.remove(&id);
        let operators: Vec<Id> = self.catalog.operators_calling(id).map(|operator| operator.id).collect();
        operators.into_iter().for_each(|operator| self.remove_operator(operator));
    }

    /// The routine of that name and these arguments that somebody created: nothing where there is none, 42725 where they do not say
    /// which, 42809 where it is of another kind.
    fn created_routine(&self, kind: RoutineKind, routine: &RoutineName) -> Result<Option<Id>, PlanError> {
        let name = &routine.name;
        name.require_own(&self.path)?;
        let mut candidates = self.scope().routines(name.schema.as_deref(), &name.name);
        if let Some(written) = &routine.arguments {
            let mut types = Vec::with_capacity(written.len());
            for argument in written {
                // What is no type here is said where nothing is found, as what is no schema is.
                match types::data_type(&argument.data_type, self.scope()) {
                    Ok(found) => types.push(type_oid(&found)),
                    Err(_) => return Ok(None),
                }
            }
            let all = |routine: &Routine| -> Vec<Id> {
                routine.parameters.iter().map(|parameter| type_oid(&parameter.column_type)).collect()
            };
            candidates.retain(|found| found.input_types() == types || found.is_procedure && all(found) == types);
        }
        let is_kind = |found: &Routine| match kind {
            RoutineKind::Function => !found.is_procedure,
            RoutineKind::Procedure => found.is_procedure,
            RoutineKind::Routine => true,
            RoutineKind::Aggregate => false,
        };
        let of_kind: Vec<_> = candidates.iter().filter(|found| is_kind(found)).collect();
        let (_, looked_up) = kind.words();
        match (of_kind.as_slice(), candidates.as_slice()) {
            ([only], _) => Ok(Some(only.id)),
            ([_, _, ..], _) => {
                let message = format!("{looked_up} name \"{}\" is not unique", name.dotted());
                Err(PlanError::new("42725", message)
                    .hint(format!("Specify the argument list to select the {looked_up} unambiguously.")))
            }
            ([], [other, ..]) => {
                let article = if looked_up == "aggregate" { "an" } else { "a" };
                let signature = match kind {
                    RoutineKind::Aggregate => format!("function {}", other.signature(self.scope())),
                    _ => other.signature(self.scope()),
                };
                Err(PlanError::new("42809", format!("{} is not {article} {looked_up}", signature.replace(',', ", "))))
            }
            ([], []) => Ok(None),
        }
    }

    /// The same of one that must be there.
    pub(super) fn routine_named(&self, kind: RoutineKind, routine: &RoutineName) -> Result<Id, PlanError> {
        match self.created_routine(kind, routine)? {
            Some(id) => Ok(id),
            None => Err(self.missing_routine(kind, routine, false).err().unwrap_or_else(|| {
                PlanError::new("42883", format!("function {} does not exist", routine.name.dotted()))
            })),
        }
    }

    /// Refuses, or drops what calls it.
    fn drop_users_of_routine(&mut self, routine: &Routine, cascade: bool) -> Result<(), PlanError> {
        let uses = self.uses_of_routine(routine);
        let shown = format!("{} {}", routine.noun(), routine.signature(self.scope()));
        let views = self.views_among(&shown, uses, "function")?;
        self.drop_callers(&shown, routine.id, views, cascade)
    }

    /// 0A000 where something keeps values that were computed by it: they would stay what they were.
    pub(super) fn require_not_stored(&self, routine: &Routine) -> Result<(), PlanError> {
        match self.uses_of_routine(routine).into_iter().find(|found| found.is_stored) {
            None => Ok(()),
            Some(found) => Err(self.used(routine, "change", &found)),
        }
    }

    /// 0A000 where a text that the catalog keeps names it.
    pub(super) fn require_unused_routine(&self, routine: &Routine, what: &str) -> Result<(), PlanError> {
        match self.uses_of_routine(routine).into_iter().next() {
            None => Ok(()),
            Some(found) => Err(self.used(routine, what, &found)),
        }
    }

    fn used(&self, routine: &Routine, what: &str, found: &KeptUse) -> PlanError {
        let shown = format!("{} {}", routine.noun(), routine.signature(self.scope()));
        PlanError::new("0A000", format!("cannot {what} {shown} because {} uses it", found.line))
            .hint("Drop that first, and create it again then.")
    }

    /// The notice that it is not there; an error if that is none, or if it is there.
    pub(super) fn missing_routine(
        &self,
        kind: RoutineKind,
        routine: &RoutineName,
        if_exists: bool,
    ) -> Result<String, PlanError> {
        let name = &routine.name;
        name.require_own(&self.path)?;
        if let Some(schema) = &name.schema {
            self.scope().require_namespace(schema)?;
        }
        let arguments: Arguments = match &routine.arguments {
            Some(written) => Some(written.iter().map(|one| self.argument(one)).collect::<Result<_, _>>()?),
            None => None,
        };
        let (word, looked_up) = kind.words();
        let searched = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        let mut found = function::by_name(&name.name).filter(|_| searched).filter(|function| match &arguments {
            Some(types) => types.iter().map(|(_, id)| *id).eq(function.arguments.iter().copied().map(Some)),
            None => true,
        });
        if let Some(first) = found.next() {
            if found.next().is_some() {
                return Err(PlanError::new("42725", format!("{looked_up} name \"{}\" is not unique", name.name))
                    .hint(format!("Specify the argument list to select the {looked_up} unambiguously.")));
            }
            return Err(required(kind, first));
        }
        let shown = match &name.schema {
            Some(schema) => format!("{schema}.{}", name.name),
            None => name.name.clone(),
        };
        if if_exists {
            let types: Vec<&str> = arguments.iter().flatten().map(|(written, _)| written.as_str()).collect();
            return Ok(format!("{word} {shown}({}) does not exist, skipping", types.join(",")));
        }
        Err(PlanError::new(
            "42883",
            match arguments {
                None => {
                    let article = if looked_up == "aggregate" { "an" } else { "a" };
                    format!("could not find {article} {looked_up} named \"{shown}\"")
                }
                Some(types) if types.is_empty() && kind == RoutineKind::Aggregate => {
                    format!("aggregate {shown}(*) does not exist")
                }
                Some(types) => {
                    let types = types.into_iter().map(|(written, id)| id.and_then(type_name).unwrap_or(written));
                    format!("{looked_up} {shown}({}) does not exist", types.collect::<Vec<_>>().join(", "))
                }
            },
        ))
    }

    /// An argument's type in the words of PostgreSQL's notices, and its OID if it is a type of ours.
    fn argument(&self, written: &TypeName) -> Result<(String, Option<Id>), PlanError> {
        let text = written.data_type.to_string().to_lowercase();
        let unquoted = text.trim_matches('"');
        if let Some(id) = pseudo_type(unquoted) {
            return Ok((unquoted.to_owned(), Some(id)));
        }
        match types::data_type(&written.data_type, self.scope()) {
            Ok(found) => {
                let element = match &found.scalar {
                    ScalarType::Array(element) => element,
                    scalar => scalar,
                };
                let suffix = if found.scalar.is_array() { "[]" } else { "" };
                let bare = text.trim_end_matches("[]");
                let name =
                    if is_grammars(bare) { format!("pg_catalog.{}", element.type_name()) } else { bare.to_owned() };
                Ok((format!("{name}{suffix}"), Some(found.scalar.oid())))
            }
            // A type of PostgreSQL's that we do not have: no function takes it.
            Err(error) if error.code == "0A000" => Ok((text, None)),
            Err(error) => Err(error),
        }
    }
}

/// Why a function that is there stays.
fn required(kind: RoutineKind, function: &Function) -> PlanError {
    let is_aggregate = function.record.is_some_and(|record| record.text("prokind") == "a");
    let signature = function.signature();
    match kind {
        RoutineKind::Procedure => PlanError::new("42809", format!("{signature} is not a procedure")),
        RoutineKind::Aggregate if !is_aggregate => {
            PlanError::new("42809", format!("function {signature} is not an aggregate"))
        }
        RoutineKind::Function if is_aggregate => {
            PlanError::new("42809", format!("\"{}\" is an aggregate function", function.name))
                .hint("Use DROP AGGREGATE to drop aggregate functions.")
        }
        RoutineKind::Function | RoutineKind::Routine | RoutineKind::Aggregate => PlanError::new(
            "2BP01",
            format!("cannot drop function {signature} because it is required by the database system"),
        ),
    }
}

/// Whether PostgreSQL's grammar has words of its own for the type, which it then says with its schema.
fn is_grammars(text: &str) -> bool {
    const WORDS: [&str; 18] = [
        "int",
        "integer",
        "bigint",
        "smallint",
        "real",
        "float",
        "double",
        "decimal",
        "dec",
        "numeric",
        "boolean",
        "char",
        "character",
        "varchar",
        "bit",
        "time",
        "timestamp",
        "interval",
    ];
    let first = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    WORDS.contains(&first)
}
