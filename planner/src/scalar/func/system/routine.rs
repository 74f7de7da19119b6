//! Functions as SQL writes them: pg_get_function_…, pg_get_functiondef, oidvectortypes.

use super::super::arguments::{array, oid, string};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::system::builtin::function::{Function, by_id};
use repr::{Datum, ValueError};

/// Of the function with that OID; NULL for another's.
fn of(arg: &Datum, written: impl FnOnce(&Function) -> Option<String>) -> Answer {
    by_id(oid(arg)?).and_then(written).map_or(Ok(Datum::Null), string)
}

fn definition(arg: &Datum) -> Answer {
    let Some(function) = by_id(oid(arg)?) else { return Ok(Datum::Null) };
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
    strict("pg_get_functiondef(oid) text", |_, a, _| definition(&a[0])).stable(),
    strict("pg_get_function_arguments(oid) text", |_, a, _| of(&a[0], |found| Some(found.full_arguments()))).stable(),
    strict("pg_get_function_identity_arguments(oid) text", |_, a, _| {
        of(&a[0], |found| Some(found.identity_arguments()))
    })
    .stable(),
    strict("pg_get_function_result(oid) text", |_, a, _| of(&a[0], |found| Some(found.written_result()))).stable(),
    strict("pg_get_function_sqlbody(oid) text", |_, a, _| of(&a[0], Function::body)).stable(),
    strict("oidvectortypes(oidvector) text", |ctx, a, _| vector_types(ctx, &a[0])).stable(),
];
