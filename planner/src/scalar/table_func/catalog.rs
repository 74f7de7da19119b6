//! Rows about objects of the catalog, and the settings.

use super::{TableAnswer, TableFunctionDefinition, known, strict};
use crate::scalar::EvalContext;
use crate::scalar::func::{Identity, identity, object_address, read_access_list};
use crate::system;
use repr::{Array, Datum, ScalarType, ValueError};
use std::sync::Arc;

fn optional(text: Option<String>) -> Datum {
    text.map_or(Datum::Null, Datum::text)
}

fn identified(found: Identity) -> Vec<Datum> {
    vec![Datum::text(found.kind), optional(found.schema), optional(found.name), optional(found.identity)]
}

fn addressed(found: Identity) -> Vec<Datum> {
    let texts =
        |parts: Vec<String>| Datum::Array(Arc::new(Array::vector(parts.into_iter().map(Datum::text).collect())));
    match found.address {
        Some(address) => vec![Datum::text(found.kind), texts(address.names), texts(address.arguments)],
        None => vec![Datum::text(found.kind), Datum::Null, Datum::Null],
    }
}

fn found(ctx: &EvalContext, args: &[Datum]) -> Result<Vec<Datum>, ValueError> {
    let (class, id, part) = object_address(ctx, args)?;
    Ok(vec![Datum::Oid(class), Datum::Oid(id), Datum::Int4(part)])
}

/// The one row that there is, which is empty where an argument is NULL.
fn one_row(
    args: &[Datum],
    types: &[ScalarType],
    row: impl FnOnce(&[Datum]) -> Result<Vec<Datum>, ValueError>,
) -> TableAnswer {
    let is_empty = args.iter().any(Datum::is_null);
    known(vec![if is_empty { vec![Datum::Null; types.len()] } else { row(args)? }])
}

/// Each privilege of an access list.
fn exploded(ctx: &EvalContext, list: &Datum) -> TableAnswer {
    let mut rows = Vec::new();
    for entry in read_access_list(ctx, list)? {
        for (privilege, is_grantable) in entry.privileges() {
            rows.push(vec![
                Datum::Oid(entry.grantor.0),
                Datum::Oid(entry.grantee.map_or(0, |grantee| grantee.0)),
                Datum::text(privilege),
                Datum::Bool(is_grantable),
            ]);
        }
    }
    known(rows)
}

/// The rows of a relation of pg_catalog, as far as the function has columns for them.
fn relation(ctx: &EvalContext, name: &str, types: &[ScalarType]) -> TableAnswer {
    let Some(relation) = system::find("pg_catalog", name) else { return known(Vec::new()) };
    let rows = system::rows(relation.id, ctx.environment.catalog(), &*ctx.environment, &[]);
    known(rows.iter().map(|row| row.unpack().into_iter().take(types.len()).collect()).collect())
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("pg_timezone_names() (name text, abbrev text, utc_offset interval, is_dst bool)", |ctx, _, types| {
        relation(ctx, "pg_timezone_names", types)
    }),
    ("pg_timezone_abbrevs() (abbrev text, utc_offset interval, is_dst bool)", |ctx, _, types| {
        relation(ctx, "pg_timezone_abbrevs", types)
    }),
    ("aclexplode(aclitem[]) (grantor oid, grantee oid, privilege_type text, is_grantable bool)", |ctx, args, _| {
        strict(args, |args| exploded(ctx, &args[0]))
    }),
    ("pg_identify_object(oid, oid, int4) (type text, schema text, name text, identity text)", |ctx, args, types| {
        one_row(args, types, |args| Ok(identified(identity(ctx, args)?)))
    }),
    (
        "pg_identify_object_as_address(oid, oid, int4) (type text, object_names text[], object_args text[])",
        |ctx, args, types| one_row(args, types, |args| Ok(addressed(identity(ctx, args)?))),
    ),
    ("pg_get_object_address(text, text[], text[]) (classid oid, objid oid, objsubid int4)", |ctx, args, types| {
        one_row(args, types, |args| found(ctx, args))
    }),
    (
        "pg_show_all_settings() (name text, setting text, unit text, category text, short_desc text, extra_desc text, \
         context text, vartype text, source text, min_val text, max_val text, enumvals text[], boot_val text, \
         reset_val text, sourcefile text, sourceline int4, pending_restart bool)",
        |ctx, _, types| relation(ctx, "pg_settings", types),
    ),
];
