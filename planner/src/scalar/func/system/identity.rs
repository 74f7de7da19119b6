//! What an object is called, by the catalog it stands in and its OID: `pg_identify_object`, `pg_describe_object`.

use super::super::arguments::{integer, oid};
use super::super::text::quote_identifier;
use super::super::{FunctionDefinition, strict};
use super::EvalContext;
use crate::catalog::{Catalog, Class, NamespaceId, RoleId, Table};
use crate::system;
use crate::system::builtin::{self, PG_OPERATOR, PG_PROC, PG_TYPE, function};
use crate::system::extension;
use repr::text::TextCatalog;
use repr::{Datum, Id, RelationId, ScalarType, ValueError};

const PG_CLASS: Id = 1259;
const PG_CONSTRAINT: Id = 2606;
const PG_NAMESPACE: Id = 2615;
const PG_EXTENSION: Id = 3079;
const PG_AUTHID: Id = 1260;

/// An object's identity.
pub(crate) struct Identity {
    /// What it is: `table`, `function`.
    pub(crate) kind: String,
    /// Its schema, if it is in one.
    pub(crate) schema: Option<String>,
    /// Its name, if its kind's names are its own within a schema.
    pub(crate) name: Option<String>,
    /// What names it among all of its kind; none where there is no such object.
    pub(crate) identity: Option<String>,
}

impl Identity {
    fn missing(kind: &str) -> Identity {
        Identity { kind: kind.to_owned(), schema: None, name: None, identity: None }
    }

    fn of(kind: &str, schema: Option<&str>, name: Option<&str>, identity: String) -> Identity {
        let quoted = |name: &str| quote_identifier(name);
        Identity { kind: kind.to_owned(), schema: schema.map(quoted), name: name.map(quoted), identity: Some(identity) }
    }
}

/// The identity of an object.
///
/// # Errors
/// 0A000 for a catalog whose objects have no identity here.
pub(crate) fn identity(ctx: &EvalContext, args: &[Datum]) -> Result<Identity, ValueError> {
    let (class, id, part) = (oid(&args[0])?, oid(&args[1])?, integer(&args[2])?);
    let catalog = ctx.environment.catalog();
    let qualified = |schema: &str, name: &str| format!("{}.{}", quote_identifier(schema), quote_identifier(name));
    Ok(match class {
        PG_CLASS => relation(catalog, id, part),
        PG_PROC => match function::by_id(id) {
            Some(function) => {
                let kind = match function.record.map_or("f", |record| record.text("prokind")) {
                    "a" => "aggregate",
                    _ => "function",
                };
                Identity::of(kind, Some("pg_catalog"), None, format!("pg_catalog.{}", function.signature()))
            }
            None => Identity::missing("routine"),
        },
        PG_TYPE => match ctx.names().type_name(id, -1) {
            Some(written) if builtin::type_by_id(id).is_some() => {
                let name = builtin::type_by_id(id).map(|row| row.text("typname"));
                Identity::of("type", Some("pg_catalog"), name, written)
            }
            Some(_) => match catalog.types.get(&id) {
                Some(found) => {
                    let schema = catalog.namespace_name(found.namespace).unwrap_or_default();
                    Identity::of("type", Some(schema), Some(&found.name), qualified(schema, &found.name))
                }
                None => Identity::missing("type"),
            },
            None => Identity::missing("type"),
        },
        PG_OPERATOR => match ctx.names().object_name(&ScalarType::Regoperator, id) {
            Some(name) => Identity::of("operator", Some("pg_catalog"), None, format!("pg_catalog.{name}")),
            None => Identity::missing("operator"),
        },
        PG_NAMESPACE => match catalog.namespace_name(NamespaceId(id)) {
            Some(name) => Identity::of("schema", None, Some(name), quote_identifier(name)),
            None => Identity::missing("schema"),
        },
        PG_EXTENSION => match extension::installed(catalog).find(|(oid, _)| *oid == id) {
            Some((_, found)) => Identity::of("extension", None, Some(found.name), quote_identifier(found.name)),
            None => Identity::missing("extension"),
        },
        PG_AUTHID => match ctx.names().role_name(RoleId(id)) {
            Some(name) => Identity::of("role", None, Some(&name), quote_identifier(&name)),
            None => Identity::missing("role"),
        },
        PG_CONSTRAINT => match constraint(catalog, id) {
            Some((table, name)) => {
                let schema = catalog.namespace_name(table.namespace).unwrap_or_default();
                let on = qualified(schema, &table.name);
                let text = format!("{} on {on}", quote_identifier(name));
                Identity::of("table constraint", Some(schema), None, text)
            }
            None => Identity::missing("constraint"),
        },
        other => {
            let name =
                system::find_by_id(RelationId(other)).map_or_else(|| other.to_string(), |found| found.name.into());
            return Err(ValueError::new("0A000", format!("the identity of objects of {name} is not supported")));
        }
    })
}

/// A relation, or one of its columns.
fn relation(catalog: &Catalog, id: Id, part: i64) -> Identity {
    let Some(found) = catalog.class_by_oid(id) else { return Identity::missing("relation") };
    let kind = match found {
        Class::Relation(table) => kind_of(table.view.as_ref().map(|view| view.materialized)),
        Class::Sequence(_) | Class::Index(..) | Class::Composite(_) | Class::System(_) => found.kind(),
    };
    let (schema, name) = (catalog.namespace_name(found.namespace()).unwrap_or_default(), found.name());
    let qualified = format!("{}.{}", quote_identifier(schema), quote_identifier(name));
    match (part, column(catalog, id, part)) {
        (0, _) => Identity::of(kind, Some(schema), Some(name), qualified),
        (_, Some(column)) => {
            let text = format!("{qualified}.{}", quote_identifier(column));
            Identity::of(&format!("{kind} column"), Some(schema), Some(name), text)
        }
        (_, None) => Identity::missing(&format!("{kind} column")),
    }
}

/// The name of a relation's column, by its number.
fn column(catalog: &Catalog, id: Id, part: i64) -> Option<&str> {
    let place = usize::try_from(part).ok()?.checked_sub(1)?;
    match system::find_by_id(RelationId(id)) {
        Some(found) => found.columns.get(place).map(|column| column.name),
        None => catalog.table(RelationId(id))?.columns.get(place).map(|column| &*column.name),
    }
}

fn kind_of(materialized: Option<bool>) -> &'static str {
    match materialized {
        None => "table",
        Some(false) => "view",
        Some(true) => "materialized view",
    }
}

/// The table and the name of a constraint.
fn constraint(catalog: &Catalog, id: Id) -> Option<(&Table, &str)> {
    catalog.relations.values().find_map(|table| {
        let indexes = table.indexes.iter().filter_map(|index| index.constraint.as_ref());
        let checks = table.checks.iter().map(|check| &check.constraint);
        let keys = table.foreign_keys.iter().map(|key| &key.constraint);
        let found = indexes.chain(checks).chain(keys).find(|constraint| constraint.id == id)?;
        Some((&**table, &*found.name))
    })
}

/// In words: `table t`, `column n of table t`.
fn description(ctx: &EvalContext, args: &[Datum]) -> Result<Datum, ValueError> {
    let (class, id, part) = (oid(&args[0])?, oid(&args[1])?, integer(&args[2])?);
    let found = identity(ctx, args)?;
    let Some(text) = found.identity else { return Ok(Datum::Null) };
    let names = ctx.names();
    let described = match class {
        PG_CLASS => {
            let name = names.object_name(&ScalarType::Regclass, id).unwrap_or(text);
            let kind = found.kind.trim_end_matches(" column");
            match part {
                0 => format!("{kind} {name}"),
                _ => format!(
                    "column {} of {kind} {name}",
                    column(ctx.environment.catalog(), id, part).unwrap_or_default()
                ),
            }
        }
        PG_PROC => format!("function {}", function::by_id(id).map(function::Function::signature).unwrap_or_default()),
        PG_TYPE => format!("type {}", names.type_name(id, -1).unwrap_or_default()),
        PG_OPERATOR => format!("operator {}", names.object_name(&ScalarType::Regoperator, id).unwrap_or_default()),
        PG_CONSTRAINT => match constraint(ctx.environment.catalog(), id) {
            Some((table, name)) => {
                format!("constraint {} on table {}", quote_identifier(name), names.spelled(table))
            }
            None => return Ok(Datum::Null),
        },
        _ => format!("{} {text}", found.kind),
    };
    Ok(Datum::text(described))
}

pub(in super::super) const IDENTITIES: &[FunctionDefinition] =
    &[strict("pg_describe_object(oid, oid, int4) text", |ctx, a, _| description(ctx, a)).stable()];
