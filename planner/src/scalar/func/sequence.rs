//! nextval, currval, lastval, setval. Sequences stand outside transactions: the environment keeps them.

use super::arguments::{boolean, integer, oid};
use super::{FunctionDefinition, strict};
use crate::catalog::{Privilege, Privileges};
use crate::scalar::{Answer, EvalContext};
use repr::{Datum, SequenceId, ValueError};

pub(crate) fn sequence(ctx: &EvalContext, arg: &Datum) -> Result<SequenceId, ValueError> {
    let id = SequenceId(oid(arg)?);
    if ctx.environment.catalog().sequences.contains_key(&id) {
        return Ok(id);
    }
    match ctx.names().class_name(id.0) {
        Some(name) => Err(ValueError::new("42809", format!("\"{name}\" is not a sequence"))),
        None => Err(ValueError::new("42P01", format!("could not open relation with OID {id}"))),
    }
}

/// The same, if the role may do one of these with it: 42501 else.
fn permitted(ctx: &EvalContext, arg: &Datum, any: Privileges) -> Result<SequenceId, ValueError> {
    let id = sequence(ctx, arg)?;
    let (catalog, home) = (ctx.environment.catalog(), ctx.environment.database_id());
    if catalog.may_count(ctx.environment.actor().role, id, any, home) {
        return Ok(id);
    }
    let name = &catalog.sequences[&id].name;
    Err(ValueError::new("42501", format!("permission denied for sequence {name}")))
}

const NEXT: Privileges = Privileges::of(&[Privilege::Usage, Privilege::Update]);
const CURRENT: Privileges = Privileges::of(&[Privilege::Usage, Privilege::Select]);
const SET: Privileges = Privileges::of(&[Privilege::Update]);

fn set(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let id = permitted(ctx, &args[0], SET)?;
    let value = integer(&args[1])?;
    let called = args.get(2).map_or(Ok(true), boolean)?;
    let definition = &ctx.environment.catalog().sequences[&id];
    if value < definition.min_value || value > definition.max_value {
        return Err(ValueError::new(
            "22003",
            format!(
                "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                definition.name, definition.min_value, definition.max_value
            ),
        ));
    }
    ctx.environment.set_value(id, value, called)?;
    Ok(Datum::Int8(value))
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("nextval(regclass) int8", |ctx, a, _| {
        ctx.environment.next_value(permitted(ctx, &a[0], NEXT)?).map(Datum::Int8)
    })
    .volatile(),
    strict("currval(regclass) int8", |ctx, a, _| {
        ctx.environment.current_value(permitted(ctx, &a[0], CURRENT)?).map(Datum::Int8)
    })
    .volatile(),
    strict("lastval() int8", |ctx, _, _| ctx.environment.last_value().map(Datum::Int8)).volatile(),
    strict("pg_sequence_last_value(regclass) int8", |ctx, a, _| {
        let (value, called) = ctx.environment.sequence_state(permitted(ctx, &a[0], CURRENT)?)?;
        Ok(if called { Datum::Int8(value) } else { Datum::Null })
    })
    .volatile(),
    strict("setval(regclass, int8, bool?) int8", |ctx, a, _| set(ctx, a)).volatile(),
];
