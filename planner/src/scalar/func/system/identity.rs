//! What an object is called, by the catalog it stands in and its OID: `pg_identify_object` and its like, `pg_describe_object`.

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
use std::borrow::Cow;

pub(super) const PG_CLASS: Id = 1259;
pub(super) const PG_CONSTRAINT: Id = 2606;
pub(super) const PG_NAMESPACE: Id = 2615;
pub(super) const PG_EXTENSION: Id = 3079;
pub(super) const PG_AUTHID: Id = 1260;

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
    /// The same in parts.
    pub(crate) address: Option<Address>,
}

/// What names an object among all of its kind, in parts that are in no quotes.
pub(crate) struct Address {
    /// Its names, the outermost first.
    pub(crate) names: Vec<String>,
    /// The types of its arguments.
    pub(crate) arguments: Vec<String>,
}

impl Identity {
    fn missing(kind: &str) -> Identity {
        Identity { kind: kind.to_owned(), schema: None, name: None, identity: None, address: None }
    }

    /// `names` are those of its address.
    fn of(kind: &str, schema: Option<&str>, name: Option<&str>, identity: String, names: &[&str]) -> Identity {
        let quoted = |name: &str| quote_identifier(name);
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Identity {
            kind: kind.to_owned(),
            schema: schema.map(quoted),
            name: name.map(quoted),
            identity: Some(identity),
            address: Some(Address { names, arguments: Vec::new() }),
        }
    }

    /// Of what is alone with its name among all of its kind.
    fn alone(kind: &str, name: &str) -> Identity {
        Identity::of(kind, None, Some(name), quote_identifier(name), &[name])
    }

    fn with_arguments(mut self, arguments: Vec<String>) -> Identity {
        if let Some(address) = &mut self.address {
            address.arguments = arguments;
        }
        self
    }
}

fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quote_identifier(schema), quote_identifier(name))
}

/// The identity of an object.
///
/// # Errors
/// 0A000 for a catalog whose objects have no identity here.
pub(crate) fn identity(ctx: &EvalContext, args: &[Datum]) -> Result<Identity, ValueError> {
    let (class, id, part) = (oid(&args[0])?, oid(&args[1])?, integer(&args[2])?);
    let catalog = ctx.environment.catalog();
    Ok(match class {
        PG_CLASS => relation(catalog, id, part),
        PG_PROC => function::by_id(id).map_or_else(|| Identity::missing("routine"), |found| routine(catalog, found)),
        PG_TYPE => data_type(catalog, id).unwrap_or_else(|| Identity::missing("type")),
        PG_OPERATOR => operator(catalog, id).unwrap_or_else(|| Identity::missing("operator")),
        PG_NAMESPACE => match catalog.namespace_name(NamespaceId(id)) {
            Some(name) => Identity::alone("schema", name),
            None => Identity::missing("schema"),
        },
        PG_EXTENSION => match extension::installed(catalog).find(|(oid, _)| *oid == id) {
            Some((_, found)) => Identity::alone("extension", found.name),
            None => Identity::missing("extension"),
        },
        PG_AUTHID => match ctx.names().role_name(RoleId(id)) {
            Some(name) => Identity::alone("role", &name),
            None => Identity::missing("role"),
        },
        PG_CONSTRAINT => match constraint(catalog, id) {
            Some((table, name)) => {
                let schema = catalog.namespace_name(table.namespace).unwrap_or_default();
                let on = qualified(schema, &table.name);
                let text = format!("{} on {on}", quote_identifier(name));
                Identity::of("table constraint", Some(schema), None, text, &[schema, &table.name, name])
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

fn routine(catalog: &Catalog, found: &function::Function) -> Identity {
    let kind = match found.record.map_or("f", |record| record.text("prokind")) {
        "a" => "aggregate",
        _ => "function",
    };
    let schema = if found.of_extension { "public" } else { "pg_catalog" };
    let arguments: Vec<String> = found.arguments.iter().map(|of| type_of(catalog, *of)).collect();
    let text = format!("{}({})", qualified(schema, found.name), arguments.join(","));
    Identity::of(kind, Some(schema), None, text, &[schema, found.name]).with_arguments(arguments)
}

fn operator(catalog: &Catalog, id: Id) -> Option<Identity> {
    let created = || {
        let of = catalog.operators.get(&id)?;
        let (left, right) = of.operands();
        Some((catalog.namespace_name(of.namespace)?, &*of.name, [left, right]))
    };
    let built_in = || {
        let found = builtin::operators().get(&id)?;
        let schema = if id >= builtin::FIRST_OF_EXTENSIONS { "public" } else { "pg_catalog" };
        Some((schema, found.text("oprname"), [found.id("oprleft"), found.id("oprright")]))
    };
    let (schema, name, operands) = created().or_else(built_in)?;
    let written = operands.map(|of| if of == 0 { "NONE".to_owned() } else { type_of(catalog, of) });
    let text = format!("{}.{name}({},{})", quote_identifier(schema), written[0], written[1]);
    let arguments = operands.iter().filter(|of| **of != 0).map(|of| type_of(catalog, *of)).collect();
    Some(Identity::of("operator", Some(schema), None, text, &[schema, name]).with_arguments(arguments))
}

fn data_type(catalog: &Catalog, id: Id) -> Option<Identity> {
    let (schema, name) = type_name(catalog, id)?;
    let written = type_of(catalog, id);
    Some(Identity::of("type", Some(schema), Some(&name), written.clone(), &[&written]))
}

/// The schema and the name of a type.
fn type_name(catalog: &Catalog, id: Id) -> Option<(&str, Cow<'_, str>)> {
    if let Some(row) = builtin::type_by_id(id) {
        return Some(("pg_catalog", Cow::Borrowed(row.text("typname"))));
    }
    if let Some(found) = created(catalog, id) {
        return Some((found.schema, Cow::Borrowed(found.name)));
    }
    let element = created(catalog, id.checked_sub(1)?)?;
    Some((element.schema, Cow::Owned(catalog.array_names().of(element.id, element.name).into_owned())))
}

/// A created type, a table's rows among them.
struct Created<'a> {
    /// Its own, or the table's.
    id: Id,
    schema: &'a str,
    name: &'a str,
}

fn created(catalog: &Catalog, id: Id) -> Option<Created<'_>> {
    let found = catalog.types.get(&id).map(|found| (id, found.namespace, &*found.name));
    let row = || catalog.table_of_row_type(id).map(|table| (table.id.0, table.namespace, &*table.name));
    let (id, namespace, name) = found.or_else(row)?;
    Some(Created { id, schema: catalog.namespace_name(namespace)?, name })
}

/// A type as it is written where nothing is searched: SQL's own words, or its schema and name.
fn type_of(catalog: &Catalog, id: Id) -> String {
    if let Some(found) = created(catalog, id) {
        return qualified(found.schema, found.name);
    }
    if let Some(element) = id.checked_sub(1).and_then(|element| created(catalog, element)) {
        return format!("{}[]", qualified(element.schema, element.name));
    }
    let written = builtin::type_name(id).unwrap_or_else(|| "???".to_owned());
    let is_word = match ScalarType::from_oid(id) {
        Some(scalar) => is_word(scalar.unarrayed()),
        None => false,
    };
    if is_word { written } else { format!("pg_catalog.{written}") }
}

/// Whether SQL has words for a type, as PostgreSQL writes them.
fn is_word(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Bool
            | ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Int8
            | ScalarType::Float4
            | ScalarType::Float8
            | ScalarType::Numeric
            | ScalarType::Varchar
            | ScalarType::Bpchar
            | ScalarType::Bit
            | ScalarType::VarBit
            | ScalarType::Time
            | ScalarType::TimeTz
            | ScalarType::Timestamp
            | ScalarType::Timestamptz
            | ScalarType::Interval
    )
}

/// A relation, or one of its columns.
fn relation(catalog: &Catalog, id: Id, part: i64) -> Identity {
    let Some(found) = catalog.class_by_oid(id) else { return Identity::missing("relation") };
    let kind = match found {
        Class::Relation(table) => kind_of(table.view.as_ref().map(|view| view.materialized)),
        Class::Sequence(_) | Class::Index(..) | Class::Composite(_) | Class::System(_) => found.kind(),
    };
    let (schema, name) = (catalog.namespace_name(found.namespace()).unwrap_or_default(), found.name());
    let qualified = qualified(schema, name);
    match (part, column(catalog, id, part)) {
        (0, _) => Identity::of(kind, Some(schema), Some(name), qualified, &[schema, name]),
        (_, Some(column)) => {
            let text = format!("{qualified}.{}", quote_identifier(column));
            Identity::of(&format!("{kind} column"), Some(schema), Some(name), text, &[schema, name, column])
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
        let found = table.constraints().find(|constraint| constraint.id == id)?;
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
