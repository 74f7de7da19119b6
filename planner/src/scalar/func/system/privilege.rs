//! has_*_privilege. A login owns all databases and everything in them; what is asked for must exist.

use super::super::arguments::{text, truth};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::NamespaceId;
use repr::{Datum, ValueError};

/// Whether the relation in question exists: by name it must, by OID it may not.
fn on_relation(ctx: &EvalContext, relation: &Datum) -> Answer {
    match relation {
        Datum::Oid(id) => Ok(ctx.names().class_name(*id).map_or(Datum::Null, |_| Datum::Bool(true))),
        name => {
            let name = text(name)?;
            match ctx.names().class(name)? {
                Some(_) => truth(true),
                None => Err(ValueError::new("42P01", format!("relation \"{name}\" does not exist"))),
            }
        }
    }
}

/// The object is the last argument but one, whether or not a role stands before it.
fn relation(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_relation(ctx, &args[args.len() - 2])
}

/// For columns a column stands between object and privilege.
fn column(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_relation(ctx, &args[args.len() - 3])
}

/// The same for schemas.
fn schema(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let catalog = ctx.environment.catalog();
    match &args[args.len() - 2] {
        Datum::Oid(id) => Ok(catalog.namespace_name(NamespaceId(*id)).map_or(Datum::Null, |_| Datum::Bool(true))),
        name => {
            let name = text(name)?;
            match ctx.names().scope().namespace(name) {
                Some(_) => truth(true),
                None => Err(ValueError::new("3F000", format!("schema \"{name}\" does not exist"))),
            }
        }
    }
}

/// The same for databases.
fn on_database(ctx: &EvalContext, args: &[Datum]) -> Answer {
    Ok(super::database(ctx, &args[args.len() - 2])?.map_or(Datum::Null, |_| Datum::Bool(true)))
}

pub(in super::super) const PRIVILEGES: &[FunctionDefinition] = &[
    strict("has_table_privilege(text, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_table_privilege(oid, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_table_privilege(name, text, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_table_privilege(name, oid, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_table_privilege(oid, oid, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_any_column_privilege(text, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_any_column_privilege(oid, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_sequence_privilege(text, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_sequence_privilege(oid, text) bool", |ctx, a, _| relation(ctx, a)).stable(),
    strict("has_column_privilege(text, text, text) bool", |ctx, a, _| column(ctx, a)).stable(),
    strict("has_column_privilege(oid, text, text) bool", |ctx, a, _| column(ctx, a)).stable(),
    strict("has_column_privilege(oid, int2, text) bool", |ctx, a, _| column(ctx, a)).stable(),
    strict("has_schema_privilege(text, text) bool", |ctx, a, _| schema(ctx, a)).stable(),
    strict("has_schema_privilege(oid, text) bool", |ctx, a, _| schema(ctx, a)).stable(),
    strict("has_schema_privilege(name, text, text) bool", |ctx, a, _| schema(ctx, a)).stable(),
    strict("has_schema_privilege(name, oid, text) bool", |ctx, a, _| schema(ctx, a)).stable(),
    strict("has_database_privilege(text, text) bool", |ctx, a, _| on_database(ctx, a)).stable(),
    strict("has_database_privilege(oid, text) bool", |ctx, a, _| on_database(ctx, a)).stable(),
    strict("has_database_privilege(name, text, text) bool", |ctx, a, _| on_database(ctx, a)).stable(),
    strict("has_function_privilege(text, text) bool", |_, _, _| truth(true)).stable(),
    strict("has_function_privilege(oid, text) bool", |_, _, _| truth(true)).stable(),
    strict("has_type_privilege(text, text) bool", |_, _, _| truth(true)).stable(),
    strict("has_type_privilege(oid, text) bool", |_, _, _| truth(true)).stable(),
    strict("has_language_privilege(oid, text) bool", |_, _, _| truth(true)).stable(),
    strict("has_tablespace_privilege(oid, text) bool", |_, _, _| truth(true)).stable(),
    strict("pg_has_role(oid, text) bool", |_, _, _| truth(true)).stable(),
    strict("pg_has_role(name, text) bool", |_, _, _| truth(true)).stable(),
    strict("pg_has_role(name, name, text) bool", |_, _, _| truth(true)).stable(),
    strict("pg_has_role(name, oid, text) bool", |_, _, _| truth(true)).stable(),
];
