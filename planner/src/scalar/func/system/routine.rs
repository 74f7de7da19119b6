//! Functions as SQL writes them: pg_get_function_…, pg_get_functiondef, oidvectortypes.

use super::super::arguments::{array, oid, string};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::system::builtin::function::{Function, by_id};
use crate::system::definition_text::DefinitionText;
use crate::system::routine_text::RoutineText;
use repr::{Datum, ValueError};

/// Of the function with that OID, PostgreSQL's or one that somebody created; NULL for another's.
fn of(
    ctx: &EvalContext,
    arg: &Datum,
    written: impl FnOnce(&Function) -> Option<String>,
    created: impl FnOnce(RoutineText<'_>) -> Option<String>,
) -> Answer {
    let catalog = ctx.environment.catalog();
    if let Some(routine) = catalog.routines.get(&oid(arg)?) {
        let shown = DefinitionText::new(&*ctx.environment);
        return created(RoutineText { routine, shown: &shown }).map_or(Ok(Datum::Null), string);
    }
    by_id(oid(arg)?).and_then(written).map_or(Ok(Datum::Null), string)
}

fn definition(ctx: &EvalContext, arg: &Datum) -> Answer {
    let Some(function) = by_id(oid(arg)?) else {
        return of(ctx, arg, |_| None, |found| Some(found.definition()));
    };
    match function.definition() {
        Some(definition) => string(definition),
        None => Err(ValueError::new("42809", format!("\"{}\" is an aggregate function", function.name))),
    }
}

fn vector_types(ctx: &EvalContext, arg: &Datum) -> Answer {
    let names = ctx.names();
    let types =
        array(arg)?.elements.iter().map(|id| Ok(names.type_name(oid(id)?, -1).unwrap_or_else(|| "???".to_owned())));
    string(types.collect::<Result<Vec<_>, ValueError>>()?.join(", "))
}

pub(in super::super) const ROUTINES: &[FunctionDefinition] = &[
    strict("pg_get_functiondef(oid) text", |ctx, a, _| definition(ctx, &a[0])).stable(),
    strict("pg_get_function_arguments(oid) text", |ctx, a, _| {
        of(ctx, &a[0], |found| Some(found.full_arguments()), |found| Some(found.arguments()))
    })
    .stable(),
    strict("pg_get_function_identity_arguments(oid) text", |ctx, a, _| {
        of(ctx, &a[0], |found| Some(found.identity_arguments()), |found| Some(found.identity_arguments()))
    })
    .stable(),
    strict("pg_get_function_result(oid) text", |ctx, a, _| {
        of(ctx, &a[0], |found| Some(found.written_result()), |found| found.result())
    })
    .stable(),
    strict("pg_get_function_sqlbody(oid) text", |ctx, a, _| of(ctx, &a[0], Function::body, |_| None)).stable(),
    strict("oidvectortypes(oidvector) text", |ctx, a, _| vector_types(ctx, &a[0])).stable(),
];
