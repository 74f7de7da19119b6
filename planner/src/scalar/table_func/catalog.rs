//! Rows about objects of the catalog, and the settings.

use super::{TableAnswer, TableFunctionDefinition, known, strict};
use crate::scalar::EvalContext;
use crate::scalar::func::{identity, read_access_list};
use crate::system;
use repr::{Datum, ScalarType};

fn identify(ctx: &EvalContext, args: &[Datum]) -> TableAnswer {
    let found = identity(ctx, args)?;
    let optional = |text: Option<String>| text.map_or(Datum::Null, Datum::text);
    known(vec![vec![Datum::text(found.kind), optional(found.schema), optional(found.name), optional(found.identity)]])
}

/// Each privilege of an access list.
fn exploded(ctx: &EvalContext, list: &Datum) -> TableAnswer {
    let mut rows = Vec::new();
    for item in read_access_list(ctx, list)? {
        for privilege in item.privileges.and(item.grantable).iter() {
            rows.push(vec![
                Datum::Oid(item.grantor.0),
                Datum::Oid(item.grantee.map_or(0, |grantee| grantee.0)),
                Datum::text(privilege.name()),
                Datum::Bool(item.grantable.has(privilege)),
            ]);
        }
    }
    known(rows)
}

/// The rows of a relation of pg_catalog, as far as the function has columns for them.
fn relation(ctx: &EvalContext, name: &str, types: &[ScalarType]) -> TableAnswer {
    let Some(relation) = system::find("pg_catalog", name) else { return known(Vec::new()) };
    let rows = system::rows(relation.id, ctx.environment.catalog(), &*ctx.environment);
    known(rows.iter().map(|row| row.unpack().into_iter().take(types.len()).collect()).collect())
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("pg_timezone_names() (name text, abbrev text, utc_offset interval, is_dst bool)", |ctx, _, types| {
        relation(ctx, "pg_timezone_names", types)
    }),
    ("pg_timezone_abbrevs() (abbrev text, utc_offset interval, is_dst bool)", |ctx, _, types| {
        relation(ctx, "pg_timezone_abbrevs", types)
    }),
    ("aclexplode(text[]) (grantor oid, grantee oid, privilege_type text, is_grantable bool)", |ctx, args, _| {
        strict(args, |args| exploded(ctx, &args[0]))
    }),
    ("pg_identify_object(oid, oid, int4) (type text, schema text, name text, identity text)", |ctx, args, _| {
        strict(args, |args| identify(ctx, args))
    }),
    (
        "pg_show_all_settings() (name text, setting text, unit text, category text, short_desc text, extra_desc text, \
         context text, vartype text, source text, min_val text, max_val text, enumvals text[], boot_val text, \
         reset_val text, sourcefile text, sourceline int4, pending_restart bool)",
        |ctx, _, types| relation(ctx, "pg_settings", types),
    ),
];
