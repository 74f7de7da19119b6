//! Which casts exist: PostgreSQL's `pg_cast`, casts through text, and element-wise casts of arrays.

use super::evaluate::listed;
use super::{Cast, CastContext, CastMethod};
use repr::types::Modifier;
use repr::{ColumnType, ScalarType};

/// Whether a value of `from` may become one of `to` in that context.
pub(crate) fn can_coerce(from: &ScalarType, to: &ScalarType, context: CastContext) -> bool {
    from == to || *from == ScalarType::Unknown || cast_method(from, to, context).is_some()
}

/// The cast from one type to another, if there is one in that context. Also between equal types, where
/// it applies the modifier. An unknown literal or parameter is parsed.
pub(crate) fn plan_cast(from: &ScalarType, to: &ColumnType, context: CastContext) -> Option<Cast> {
    let explicit = context == CastContext::Explicit;
    let method = cast_method(from, &to.scalar, context)?;
    Some(Cast { from: from.clone(), method, explicit })
}

fn cast_method(from: &ScalarType, to: &ScalarType, context: CastContext) -> Option<CastMethod> {
    if from == to {
        return Some(match from {
            // The modifier of an array type belongs to its elements.
            ScalarType::Array(element) => {
                let inner = Cast {
                    from: (**element).clone(),
                    method: CastMethod::Relabel,
                    explicit: context == CastContext::Explicit,
                };
                if element.modifier() == Modifier::Nothing {
                    CastMethod::Relabel
                } else {
                    CastMethod::Elements(Box::new(inner))
                }
            }
            _ => CastMethod::Relabel,
        });
    }
    if *to == ScalarType::Unknown {
        return None;
    }
    if *from == ScalarType::Unknown {
        return Some(CastMethod::Input);
    }
    if let Some((method, least)) = listed(from, to)
        && context >= least
    {
        return Some(method);
    }
    if let (ScalarType::Array(inner), ScalarType::Array(outer)) = (from, to) {
        let element = cast_method(inner, outer, context)?;
        let cast = Cast { from: (**inner).clone(), method: element, explicit: context == CastContext::Explicit };
        return Some(CastMethod::Elements(Box::new(cast)));
    }
    // Anonymous rows are of one type: their fields stay as they are. What makes one of a created type is an expression of its own.
    if let (ScalarType::Record(_), ScalarType::Record(record)) = (from, to) {
        return record.is_anonymous().then_some(CastMethod::Relabel);
    }
    // Through the text form: to strings when assigned, from strings only where written.
    if to.is_string() && context >= CastContext::Assignment {
        return Some(if from.is_string() { CastMethod::Relabel } else { CastMethod::Output });
    }
    if from.is_string() && context == CastContext::Explicit {
        return Some(CastMethod::Input);
    }
    None
}
