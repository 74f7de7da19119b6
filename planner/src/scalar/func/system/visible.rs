//! pg_…_is_visible: whether an object is found by its name alone. Unknown OIDs give NULL, as in PostgreSQL.

use super::super::arguments::oid;
use super::super::text_search::PARSER;
use super::super::text_search::configuration::{CONFIGURATIONS, DICTIONARIES};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::Scope;
use crate::scalar::collation;
use crate::system::{builtin, builtin::function, opclass};
use repr::{Collation, Datum, ScalarType};

fn relation(ctx: &EvalContext, arg: &Datum) -> Answer {
    let (id, names) = (oid(arg)?, ctx.names());
    let found = ctx.environment.catalog().class_by_oid(id);
    Ok(found.map_or(Datum::Null, |class| Datum::Bool(names.scope().sees_class(class.name(), id))))
}

fn data_type(ctx: &EvalContext, arg: &Datum) -> Answer {
    let (id, names) = (oid(arg)?, ctx.names());
    if let Some(found) = ScalarType::from_oid(id).filter(|found| found.extension().is_some()) {
        return Ok(Datum::Bool(names.scope().sees_extension_type(&found)));
    }
    let is_seen = ScalarType::from_oid(id).is_none_or(|found| !names.scope().hides_built_in(&found.type_name()));
    let built_in = ScalarType::from_oid(id).is_some() || builtin::type_by_id(id).is_some();
    let catalog = ctx.environment.catalog();
    let enums = &catalog.types;
    let rows_of = catalog.table_of_row_type(id).or_else(|| catalog.table_of_row_type(id.checked_sub(1)?));
    // An enum's array type has the next OID.
    let made = enums.get(&id).or_else(|| enums.get(&id.checked_sub(1)?));
    Ok(match made {
        _ if built_in => Datum::Bool(is_seen),
        Some(found) => Datum::Bool(names.scope().sees_type(found)),
        None => match rows_of {
            Some(table) => Datum::Bool(names.scope().sees_class(&table.name, table.id.0)),
            None => names.type_name(id, -1).map_or(Datum::Null, |_| Datum::Bool(true)),
        },
    })
}

/// Of what stands in pg_catalog, which is always searched.
fn known(exists: bool) -> Answer {
    Ok(if exists { Datum::Bool(true) } else { Datum::Null })
}

fn family_exists(id: u32) -> bool {
    builtin::listed("pg_opfamily").any(|family| family.id("oid") == id)
}

/// Of kinds of which there is none.
fn nothing(_: &EvalContext, _: &[Datum], _: &ScalarType) -> Answer {
    Ok(Datum::Null)
}

fn routine(ctx: &EvalContext, arg: &Datum) -> Answer {
    let catalog = ctx.environment.catalog();
    let Some(routine) = catalog.routines.get(&oid(arg)?) else { return known(function::by_id(oid(arg)?).is_some()) };
    let path = ctx.search_path(catalog);
    Ok(Datum::Bool(Scope { catalog, path: &path }.sees_routine(routine)))
}

fn operator(ctx: &EvalContext, arg: &Datum) -> Answer {
    let (id, catalog) = (oid(arg)?, ctx.environment.catalog());
    let Some(operator) = catalog.operators.get(&id) else { return known(builtin::operators().contains_key(&id)) };
    let path = ctx.search_path(catalog);
    Ok(Datum::Bool(Scope { catalog, path: &path }.sees_operator(operator)))
}

pub(in super::super) const VISIBLE: &[FunctionDefinition] = &[
    strict("pg_table_is_visible(oid) bool", |ctx, a, _| relation(ctx, &a[0])).stable(),
    strict("pg_type_is_visible(oid) bool", |ctx, a, _| data_type(ctx, &a[0])).stable(),
    strict("pg_function_is_visible(oid) bool", |ctx, a, _| routine(ctx, &a[0])).stable(),
    strict("pg_operator_is_visible(oid) bool", |ctx, a, _| operator(ctx, &a[0])).stable(),
    strict("pg_opclass_is_visible(oid) bool", |_, a, _| {
        let id = oid(&a[0])?;
        known(opclass::CLASSES.iter().any(|class| class.oid == id))
    })
    .stable(),
    strict("pg_opfamily_is_visible(oid) bool", |_, a, _| known(family_exists(oid(&a[0])?))).stable(),
    strict("pg_collation_is_visible(oid) bool", |_, a, _| {
        let id = oid(&a[0])?;
        known(collation::name(Collation(id)).is_some())
    })
    .stable(),
    strict("pg_conversion_is_visible(oid) bool", nothing).stable(),
    strict("pg_statistics_obj_is_visible(oid) bool", nothing).stable(),
    strict("pg_ts_config_is_visible(oid) bool", |_, a, _| {
        let id = oid(&a[0])?;
        known(CONFIGURATIONS.iter().any(|known| known.oid() == id))
    })
    .stable(),
    strict("pg_ts_dict_is_visible(oid) bool", |_, a, _| {
        let id = oid(&a[0])?;
        known(DICTIONARIES.iter().any(|known| known.oid() == id))
    })
    .stable(),
    strict("pg_ts_parser_is_visible(oid) bool", |_, a, _| known(oid(&a[0])? == PARSER)).stable(),
    strict("pg_ts_template_is_visible(oid) bool", |_, a, _| known(matches!(oid(&a[0])?, 3727 | 13150))).stable(),
];
