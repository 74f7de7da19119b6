//! Calls of functions that somebody created, in the place of what they give: the session carries them out.
//!
//! The first argument is the function's OID. No SQL name leads here.

use super::{Function, FunctionKind, Volatility};
use crate::scalar::EvalContext;
use crate::scalar::table_func::{TableFunction, TableRows};
use repr::{Datum, Id, ScalarType, ValueError};

const NAME: &str = "call_routine";

static STRICT_STABLE: Function = made(true, Volatility::Stable);
static STRICT_VOLATILE: Function = made(true, Volatility::Volatile);
static LENIENT_STABLE: Function = made(false, Volatility::Stable);
static LENIENT_VOLATILE: Function = made(false, Volatility::Volatile);

const fn made(strict: bool, volatility: Volatility) -> Function {
    Function { name: NAME, strict, volatility, kind: FunctionKind::Native(evaluate), written: None }
}

/// What calls a function: one that is IMMUTABLE is computed for a statement, never while it is planned.
pub(crate) fn calling(strict: bool, volatility: Volatility) -> &'static Function {
    match (strict, volatility) {
        (true, Volatility::Volatile) => &STRICT_VOLATILE,
        (true, _) => &STRICT_STABLE,
        (false, Volatility::Volatile) => &LENIENT_VOLATILE,
        (false, _) => &LENIENT_STABLE,
    }
}

/// Whether that is such a call.
pub(crate) fn is_call(function: &Function) -> bool {
    function.name == NAME
}

/// A function's rows.
pub(crate) static ROWS: TableFunction = TableFunction { name: NAME, evaluate: evaluate_rows };

/// The function, and what it is given.
fn called(args: &[Datum]) -> Result<(Id, &[Datum]), ValueError> {
    match args {
        [Datum::Oid(routine), given @ ..] => Ok((*routine, given)),
        _ => Err(ValueError::new("XX000", "a function of no OID was called")),
    }
}

fn evaluate(ctx: &EvalContext, args: &[Datum], _result: &ScalarType) -> Result<Datum, ValueError> {
    let (routine, given) = called(args)?;
    ctx.environment.call_routine(routine, given)
}

fn evaluate_rows(ctx: &EvalContext, args: &[Datum], types: &[ScalarType]) -> Result<TableRows, ValueError> {
    let (routine, given) = called(args)?;
    ctx.environment.routine_rows(routine, given, types)
}
