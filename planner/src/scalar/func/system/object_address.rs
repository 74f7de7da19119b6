//! The way back from what names an object to its catalog and OID: `pg_get_object_address`.

use super::super::arguments::{text, text_array};
use super::super::text::quote_identifier;
use super::EvalContext;
use super::identity::{PG_AUTHID, PG_CLASS, PG_CONSTRAINT, PG_EXTENSION, PG_NAMESPACE};
use crate::catalog::{Class, Table};
use crate::scalar::env::names::CatalogNames;
use crate::system;
use crate::system::builtin::{PG_OPERATOR, PG_PROC, PG_TYPE, function};
use crate::system::extension;
use repr::text::TextCatalog;
use repr::{Datum, Id, RelationId, ScalarType, ValueError};

/// A catalog, an OID in it, and the number of a column or 0.
pub(crate) type ObjectAddress = (Id, Id, i32);

/// Kinds that PostgreSQL tells of, and finds none by.
const NOT_ASKED_FOR: &[&str] = &[
    "toast table",
    "composite type",
    "index column",
    "sequence column",
    "toast table column",
    "view column",
    "materialized view column",
    "composite type column",
];

/// Kinds that PostgreSQL finds, and that are not found here.
const NOT_HERE: &[&str] = &[
    "foreign table",
    "procedure",
    "cast",
    "collation",
    "domain constraint",
    "conversion",
    "default value",
    "language",
    "large object",
    "operator class",
    "operator family",
    "access method",
    "operator of access method",
    "function of access method",
    "rule",
    "trigger",
    "text search parser",
    "text search dictionary",
    "text search template",
    "text search configuration",
    "database",
    "tablespace",
    "foreign-data wrapper",
    "server",
    "user mapping",
    "default acl",
    "event trigger",
    "parameter ACL",
    "policy",
    "publication",
    "publication namespace",
    "publication relation",
    "subscription",
    "transform",
    "statistics object",
];

/// The object of a kind that has these names and arguments.
///
/// # Errors
/// 22023 for a kind that is none and for too few names, 42P01 and its like for what is not there, 42809 for what is of another
/// kind, 0A000 for a kind whose objects are not found here.
pub(crate) fn object_address(ctx: &EvalContext, args: &[Datum]) -> Result<ObjectAddress, ValueError> {
    let kind = text(&args[0])?;
    let (names, arguments) = (parts(&args[1])?, parts(&args[2])?);
    let of_kind = Wanted { names: &ctx.names(), ctx, kind, parts: &names };
    match kind {
        "table" | "index" | "sequence" | "view" | "materialized view" => {
            Ok((PG_CLASS, of_kind.relation(at_least_one(&names)?)?.oid(), 0))
        }
        "table column" | "foreign table column" => of_kind.column(),
        "table constraint" => of_kind.constraint(),
        "function" | "aggregate" => Ok((PG_PROC, of_kind.routine(&arguments)?, 0)),
        "operator" => Ok((PG_OPERATOR, of_kind.operator(&arguments)?, 0)),
        "type" => Ok((PG_TYPE, of_kind.data_type(only(&names)?)?, 0)),
        "schema" => {
            let name = only(&names)?;
            let found = of_kind.names.scope().namespace(name);
            Ok((PG_NAMESPACE, found.ok_or_else(|| missing("3F000", "schema", name))?.0, 0))
        }
        "role" => {
            let name = only(&names)?;
            Ok((PG_AUTHID, of_kind.names.role(name).ok_or_else(|| missing("42704", "role", name))?.0, 0))
        }
        "extension" => {
            let name = only(&names)?;
            let found = extension::installed(ctx.environment.catalog()).find(|(_, found)| found.name == name);
            Ok((PG_EXTENSION, found.ok_or_else(|| missing("42704", "extension", name))?.0, 0))
        }
        other if NOT_ASKED_FOR.contains(&other) => {
            Err(ValueError::new("22023", format!("unsupported object type \"{other}\"")))
        }
        other if NOT_HERE.contains(&other) => {
            Err(ValueError::new("0A000", format!("finding a {other} by its address is not supported")))
        }
        other => Err(ValueError::new("22023", format!("unrecognized object type \"{other}\""))),
    }
}

fn missing(code: &'static str, what: &str, name: &str) -> ValueError {
    ValueError::new(code, format!("{what} \"{name}\" does not exist"))
}

/// The elements of a list of names.
fn parts(list: &Datum) -> Result<Vec<&str>, ValueError> {
    let null = || ValueError::new("22023", "name or argument lists may not contain nulls");
    text_array(list)?.into_iter().map(|part| part.ok_or_else(null)).collect()
}

fn only<'a>(names: &[&'a str]) -> Result<&'a str, ValueError> {
    match names {
        [name] => Ok(name),
        _ => Err(ValueError::new("22023", "name list length must be exactly 1")),
    }
}

fn at_least_one<'n, 'a>(names: &'n [&'a str]) -> Result<&'n [&'a str], ValueError> {
    if names.is_empty() { Err(ValueError::new("22023", "name list length must be at least 1")) } else { Ok(names) }
}

/// An object that is looked for.
struct Wanted<'a> {
    names: &'a CatalogNames,
    ctx: &'a EvalContext,
    kind: &'a str,
    parts: &'a [&'a str],
}

impl Wanted<'_> {
    /// A relation of the kind, or of a part of it: a column's may be a view's too.
    fn relation(&self, parts: &[&str]) -> Result<Class<'_>, ValueError> {
        let written: Vec<String> = parts.iter().map(|part| quote_identifier(part)).collect();
        let plain = parts.join(".");
        if parts.len() > 3 {
            return Err(ValueError::new("42601", format!("improper relation name (too many dotted names): {plain}")));
        }
        let found = self.names.class(&written.join("."))?.ok_or_else(|| missing("42P01", "relation", &plain))?;
        let is_view = |materialized| {
            matches!(found, Class::Relation(table)
            if table.view.as_ref().is_some_and(|view| view.materialized == materialized))
        };
        let is_meant = match self.kind {
            "table" => matches!(found, Class::Relation(table) if table.view.is_none()) || found.kind() == "table",
            "index" => matches!(found, Class::Index(..)),
            "sequence" => matches!(found, Class::Sequence(_)),
            "view" => is_view(false) || matches!(found, Class::System(_)) && found.kind() == "view",
            "materialized view" => is_view(true),
            _ => true,
        };
        let article = if self.kind == "index" { "an" } else { "a" };
        match is_meant {
            true => Ok(found),
            false => Err(ValueError::new("42809", format!("\"{}\" is not {article} {}", found.name(), self.kind))),
        }
    }

    fn column(&self) -> Result<ObjectAddress, ValueError> {
        let (column, relation) = match at_least_one(self.parts)?.split_last() {
            Some((column, relation)) if !relation.is_empty() => (*column, relation),
            _ => return Err(ValueError::new("42601", "column name must be qualified")),
        };
        let id = self.relation(relation)?.oid();
        let place = match system::find_by_id(RelationId(id)) {
            Some(found) => found.columns.iter().position(|own| own.name == column),
            None => self.table(id).and_then(|table| table.columns.iter().position(|own| own.name == column)),
        };
        let number = place.and_then(|place| i32::try_from(place + 1).ok());
        let missing = || {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", relation.join("."));
            ValueError::new("42703", message)
        };
        Ok((PG_CLASS, id, number.ok_or_else(missing)?))
    }

    fn table(&self, id: Id) -> Option<&Table> {
        self.ctx.environment.catalog().table(RelationId(id)).map(|table| &**table)
    }

    fn constraint(&self) -> Result<ObjectAddress, ValueError> {
        let (name, relation) = match at_least_one(self.parts)?.split_last() {
            Some((name, relation)) if !relation.is_empty() => (*name, relation),
            _ => return Err(ValueError::new("42601", "must specify relation and object name")),
        };
        let found = self.relation(relation)?;
        let missing = || {
            let message = format!("constraint \"{name}\" for table \"{}\" does not exist", found.name());
            ValueError::new("42704", message)
        };
        let id = self
            .table(found.oid())
            .and_then(|table| table.constraints().find(|constraint| constraint.name == name).map(|found| found.id));
        Ok((PG_CONSTRAINT, id.ok_or_else(missing)?, 0))
    }

    fn data_type(&self, name: &str) -> Result<Id, ValueError> {
        self.names.type_oid(name).ok_or_else(|| missing("42704", "type", name))
    }

    /// The last of the names, where what is before it is the system's schema.
    fn routine_name(&self) -> Result<&str, ValueError> {
        match at_least_one(self.parts)? {
            [name] | ["pg_catalog", name] => Ok(name),
            [schema, ..] => {
                let known = self.names.scope().namespace(schema).map(|_| self.parts[self.parts.len() - 1]);
                known.ok_or_else(|| missing("3F000", "schema", schema))
            }
            [] => Ok(""),
        }
    }

    fn routine(&self, arguments: &[&str]) -> Result<Id, ValueError> {
        let types = arguments.iter().map(|name| self.data_type(name)).collect::<Result<Vec<_>, _>>()?;
        let name = self.routine_name()?;
        let is_here = matches!(self.parts, [_] | ["pg_catalog", _]);
        let found = function::by_name(name).find(|found| is_here && found.arguments == types);
        let shown = || {
            let types: Vec<String> = types.iter().filter_map(|of| self.names.type_name(*of, -1)).collect();
            format!("{}({})", self.parts.join("."), types.join(", "))
        };
        let missing = |what: &str| ValueError::new("42883", format!("{what} {} does not exist", shown()));
        let Some(found) = found else {
            return Err(missing(if self.kind == "aggregate" { "aggregate" } else { "function" }));
        };
        let is_aggregate = found.record.is_some_and(|record| record.text("prokind") == "a");
        if self.kind == "aggregate" && !is_aggregate {
            return Err(ValueError::new("42809", format!("function {} is not an aggregate", shown())));
        }
        Ok(found.oid)
    }

    fn operator(&self, arguments: &[&str]) -> Result<Id, ValueError> {
        let [left, right] = arguments else {
            return Err(ValueError::new("22023", "argument list length must be exactly 2"));
        };
        let name = self.routine_name()?;
        let operand =
            |written: &str| if written.eq_ignore_ascii_case("none") { Ok(0) } else { self.data_type(written) };
        let (left, right) = (operand(left)?, operand(right)?);
        let shown = |of: Id| if of == 0 { "NONE".to_owned() } else { self.names.type_name(of, -1).unwrap_or_default() };
        let schema = self
            .parts
            .split_last()
            .map(|(_, before)| before.iter().map(|part| format!("{}.", quote_identifier(part))).collect::<String>());
        let text = format!("{}{name}({},{})", schema.unwrap_or_default(), shown(left), shown(right));
        let found = self.names.object_oid(&ScalarType::Regoperator, &text)?;
        let message = || format!("operator does not exist: {} {name} {}", shown(left), shown(right));
        found.ok_or_else(|| ValueError::new("42883", message()))
    }
}
