//! Arrays: subscripts, construction, search; and what is applied to each element (ANY, ALL, VARIADIC).

use super::arguments::array;
use super::{Definition, Function};
use crate::scalar::EvalContext;
use repr::{Datum, ScalarType, ValueError};

pub(crate) const FUNCTIONS: &[Definition] = &[];
pub(crate) const OPERATORS: &[Definition] = &[];

/// `left op ANY (array)` (`any`) and `left op ALL (array)`: three-valued OR and AND over the elements.
pub(super) fn quantified(
    operator: &'static Function,
    ctx: &EvalContext,
    args: &[Datum],
    any: bool,
) -> Result<Datum, ValueError> {
    if args[1].is_null() {
        return Ok(Datum::Null);
    }
    let elements = &array(&args[1])?.elements;
    let mut unknown = false;
    let mut pair = [args[0].clone(), Datum::Null];
    for element in elements {
        let outcome = match operator.kind {
            super::FunctionKind::Compare(comparison) => {
                if operator.strict && (pair[0].is_null() || element.is_null()) {
                    Datum::Null
                } else {
                    Datum::Bool(comparison.holds(&pair[0], element))
                }
            }
            _ => {
                pair[1] = element.clone();
                operator.call(ctx, &pair, &ScalarType::Bool)?
            }
        };
        match outcome {
            Datum::Bool(value) if value == any => return Ok(Datum::Bool(any)),
            Datum::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(!any) })
}

/// A variadic function whose last argument is an array of the variadic arguments.
pub(super) fn spread(
    function: &'static Function,
    ctx: &EvalContext,
    args: &[Datum],
    result: &ScalarType,
) -> Result<Datum, ValueError> {
    let Some((last, first)) = args.split_last() else { return function.call(ctx, args, result) };
    if last.is_null() {
        return Ok(Datum::Null);
    }
    let mut spread = first.to_vec();
    spread.extend(array(last)?.elements.iter().cloned());
    function.call(ctx, &spread, result)
}
