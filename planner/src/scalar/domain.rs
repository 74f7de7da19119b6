//! What values of domains pass: calls that give their first argument, or an error. Nobody can name them.

use super::func::arguments::{oid, text};
use super::func::{Function, FunctionKind, Volatility};
use super::{Answer, EvalContext};
use repr::error::TypeAtFault;
use repr::{Datum, ScalarType, ValueError};

/// A value as one of a domain, whose OID is the second argument: it is known as such where it is shown.
pub(crate) static VALUE: Function = function("domain_value", |_, args, _| Ok(args[0].clone()));

/// Whether there is a value at all: a composite may be there with no field in it, which SQL calls NULL.
pub(crate) static IS_THERE: Function = function("domain_is_there", |_, args, _| Ok(Datum::Bool(!args[0].is_null())));

/// The same, which is not NULL.
pub(crate) static NOT_NULL: Function = function("domain_not_null", not_null);

/// The same, of which a condition is not false: value, condition, domain, the constraint's name.
pub(crate) static CHECK: Function = function("domain_check", check);

const fn function(name: &'static str, evaluate: super::func::Evaluate) -> Function {
    // What they say follows from the catalog.
    Function {
        name,
        strict: false,
        volatility: Volatility::Stable,
        kind: FunctionKind::Native(evaluate),
        written: None,
    }
}

fn name(ctx: &EvalContext, domain: &Datum) -> Result<String, ValueError> {
    let domain = oid(domain)?;
    Ok(ctx.names().type_name(domain, -1).unwrap_or_else(|| domain.to_string()))
}

/// The domain as drivers are told of it.
fn at_fault(
    ctx: &EvalContext,
    domain: &Datum,
    constraint: Option<&str>,
) -> Result<Option<Box<TypeAtFault>>, ValueError> {
    let found = ctx.names().created_by(oid(domain)?);
    let constraint = constraint.map(str::to_owned);
    Ok(found.map(|(schema, name)| Box::new(TypeAtFault { schema, name, constraint })))
}

fn not_null(ctx: &EvalContext, args: &[Datum], _: &ScalarType) -> Answer {
    if args[0].is_null() {
        let message = format!("domain {} does not allow null values", name(ctx, &args[1])?);
        return Err(ValueError { of_type: at_fault(ctx, &args[1], None)?, ..ValueError::new("23502", message) });
    }
    Ok(args[0].clone())
}

fn check(ctx: &EvalContext, args: &[Datum], _: &ScalarType) -> Answer {
    if matches!(args[1], Datum::Bool(false)) {
        let (domain, constraint) = (name(ctx, &args[2])?, text(&args[3])?);
        let message = format!("value for domain {domain} violates check constraint \"{constraint}\"");
        let of_type = at_fault(ctx, &args[2], Some(constraint))?;
        return Err(ValueError { of_type, ..ValueError::new("23514", message) });
    }
    Ok(args[0].clone())
}
