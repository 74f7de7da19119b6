//! enum_first, enum_last, enum_range: what labels a type has.
//!
//! The type is known by what the call gives, so that a NULL argument names it too.

use super::{FunctionDefinition, lenient};
use crate::catalog::EnumLabel;
use crate::scalar::{Answer, EvalContext};
use repr::{Array, Datum, ScalarType, ValueError};
use std::sync::Arc;

/// The labels of the type, in order.
fn labels(ctx: &EvalContext, result: &ScalarType) -> Vec<EnumLabel> {
    let element = result.element();
    match element.as_ref().unwrap_or(result) {
        ScalarType::Enum(id) => {
            let found = ctx.environment.catalog().types.get(id).and_then(|found| found.enumeration());
            found.map(|found| found.labels.clone()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn value(label: &EnumLabel) -> Datum {
    Datum::Enum { position: label.place, label: Arc::from(label.name.as_str()) }
}

fn end(ctx: &EvalContext, result: &ScalarType, label: Option<&EnumLabel>) -> Answer {
    label.map(value).ok_or_else(|| {
        let name = ctx.names().type_name(result.oid(), -1).unwrap_or_default();
        ValueError::new("55000", format!("enum {name} contains no values"))
    })
}

fn range(ctx: &EvalContext, result: &ScalarType, lower: &Datum, upper: &Datum) -> Answer {
    let place = |bound: &Datum| match bound {
        Datum::Enum { position, .. } => Some(*position),
        _ => None,
    };
    let (lower, upper) = (place(lower), place(upper));
    let within = |label: &&EnumLabel| {
        lower.is_none_or(|lower| label.place >= lower) && upper.is_none_or(|upper| label.place <= upper)
    };
    let elements = labels(ctx, result).iter().filter(within).map(value).collect();
    Ok(Datum::Array(Arc::new(Array::vector(elements))))
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("enum_first(anyenum) anyenum", |ctx, _, result| end(ctx, result, labels(ctx, result).first())).stable(),
    lenient("enum_last(anyenum) anyenum", |ctx, _, result| end(ctx, result, labels(ctx, result).last())).stable(),
    lenient("enum_range(anyenum) anyarray", |ctx, _, result| range(ctx, result, &Datum::Null, &Datum::Null)).stable(),
    lenient("enum_range(anyenum, anyenum) anyarray", |ctx, args, result| range(ctx, result, &args[0], &args[1]))
        .stable(),
];
