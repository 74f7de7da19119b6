//! DROP of functions and triggers, which nobody can have made; extensions.

use super::change::DefinitionChange;
use crate::error::PlanError;
use crate::parse::definition::{RoutineKind, RoutineName};
use crate::parse::statement::{Identifier, ObjectName, TypeName};
use crate::resolve::types;
use crate::scalar::func::quote_identifier;
use crate::system::builtin::function::{self, Function};
use crate::system::builtin::{pseudo_type, type_name};
use crate::system::extension;
use crate::system::schemas::PG_CATALOG;
use repr::{Id, ScalarType};

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
    pub(super) fn drop_routines(
        &mut self,
        kind: RoutineKind,
        if_exists: bool,
        routines: &[RoutineName],
    ) -> Result<&'static str, PlanError> {
        for routine in routines {
            match self.missing_routine(kind, routine, if_exists) {
                Ok(notice) => self.notice("00000", notice),
                Err(error) if if_exists && matches!(error.code, "3F000" | "42704") => {
                    self.notice("00000", format!("{error}, skipping"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(kind.tag())
    }

    /// The notice that it is not there; an error if that is none, or if it is there.
    fn missing_routine(&self, kind: RoutineKind, routine: &RoutineName, if_exists: bool) -> Result<String, PlanError> {
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

    pub(super) fn drop_trigger(
        &mut self,
        if_exists: bool,
        name: &Identifier,
        table: &ObjectName,
    ) -> Result<&'static str, PlanError> {
        let error = match self.table(table) {
            Ok(_) if if_exists => {
                let message =
                    format!("trigger \"{}\" for relation \"{}\" does not exist, skipping", name.name, table.name);
                self.notice("00000", message);
                return Ok("DROP TRIGGER");
            }
            Ok(_) => {
                let message = format!("trigger \"{}\" for table \"{}\" does not exist", name.name, table.name);
                return Err(PlanError::new("42704", message));
            }
            Err(error) => error,
        };
        if if_exists && matches!(error.code, "42P01" | "3F000") {
            self.notice("00000", format!("{error}, skipping"));
            return Ok("DROP TRIGGER");
        }
        Err(PlanError { position: None, ..error })
    }

    pub(super) fn create_extension(
        &mut self,
        if_not_exists: bool,
        name: &Identifier,
        schema: Option<&Identifier>,
        version: Option<&str>,
    ) -> Result<&'static str, PlanError> {
        const TAG: &str = "CREATE EXTENSION";
        let name = &name.name;
        if name == extension::OWN || self.extension(name).is_some() {
            let message = format!("extension \"{name}\" already exists");
            if if_not_exists {
                self.notice("42710", format!("{message}, skipping"));
                return Ok(TAG);
            }
            return Err(PlanError::new("42710", message));
        }
        let Some(known) = extension::named(name) else {
            let names: Vec<&str> = extension::KNOWN.iter().map(|known| known.name).collect();
            return Err(PlanError::new("0A000", format!("extension \"{name}\" is not available"))
                .hint(format!("These are: {}.", names.join(", "))));
        };
        if let Some(schema) = schema.filter(|schema| schema.name != "public") {
            self.scope().require_namespace(&schema.name)?;
            return Err(PlanError::unsupported("CREATE EXTENSION in another schema than public"));
        }
        if let Some(version) = version.filter(|version| *version != known.version) {
            let message =
                format!("extension \"{name}\" has no installation script nor update path for version \"{version}\"");
            return Err(PlanError::new("22023", message));
        }
        let id = self.next_id();
        self.extensions().insert(name.clone(), id);
        Ok(TAG)
    }

    pub(super) fn drop_extension(&mut self, if_exists: bool, names: &[Identifier]) -> Result<&'static str, PlanError> {
        for name in names.iter().map(|name| &name.name) {
            self.require_unused_types(name)?;
            if let Some(id) = self.extensions().remove(name) {
                self.catalog.comments.remove(&id);
                continue;
            }
            if name == extension::OWN || extension::named(name).is_some_and(|known| known.schema == PG_CATALOG) {
                let message = format!("cannot drop extension {name} because it is required by the database system");
                return Err(PlanError::new("2BP01", message));
            }
            let message = format!("extension \"{name}\" does not exist");
            if !if_exists {
                return Err(PlanError::new("42704", message));
            }
            self.notice("00000", format!("{message}, skipping"));
        }
        Ok("DROP EXTENSION")
    }

    /// Columns keep their types, whether or not CASCADE is written.
    fn require_unused_types(&mut self, name: &str) -> Result<(), PlanError> {
        if self.extension(name).is_none() {
            return Ok(());
        }
        let home = self.path.home();
        let tables = self.catalog.relations.values();
        let tables = tables.filter(|table| self.catalog.database_of(table.namespace) == home);
        let columns = tables.flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let uses = columns.filter(|(_, column)| {
            !column.hidden && column.column_type.scalar.any_part(|part| part.extension() == Some(name))
        });
        let lines: Vec<String> = uses
            .map(|(table, column)| {
                let shown = self.scope().spelled_scalar(&column.column_type.scalar, -1);
                let (column, kind, table) = (quote_identifier(&column.name), table.kind(), self.shown(table));
                format!("column {column} of {kind} {table} depends on type {shown}")
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(PlanError::new("2BP01", format!("cannot drop extension {name} because other objects depend on it"))
            .detail(lines.join("\n"))
            .hint("Drop these columns, or give them another type, before the extension."))
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
