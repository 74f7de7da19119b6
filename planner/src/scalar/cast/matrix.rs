//! Which casts exist: PostgreSQL's `pg_cast`, casts through text, and element-wise casts of arrays.

use super::{Cast, CastContext, CastMethod};
use repr::{ColumnType, ScalarType};

/// PostgreSQL's `typcategory`.
pub fn type_category(scalar: &ScalarType) -> char {
    match scalar {
        ScalarType::Bool => 'B',
        ScalarType::Int2
        | ScalarType::Int4
        | ScalarType::Int8
        | ScalarType::Oid
        | ScalarType::Float4
        | ScalarType::Float8
        | ScalarType::Numeric
        | ScalarType::Regclass
        | ScalarType::Regtype
        | ScalarType::Regproc
        | ScalarType::Regnamespace => 'N',
        ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Name => 'S',
        ScalarType::Char => 'Z',
        ScalarType::Date | ScalarType::Time | ScalarType::Timestamp | ScalarType::Timestamptz => 'D',
        ScalarType::Interval => 'T',
        ScalarType::Bytea | ScalarType::Uuid | ScalarType::Json | ScalarType::Jsonb | ScalarType::Xid => 'U',
        ScalarType::Int2Vector | ScalarType::OidVector | ScalarType::Array(_) => 'A',
        ScalarType::Enum(_) => 'E',
        ScalarType::Record(_) | ScalarType::Void => 'P',
        ScalarType::Unknown => 'X',
    }
}

/// PostgreSQL's `typispreferred`.
pub fn is_preferred(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Bool
            | ScalarType::Oid
            | ScalarType::Float8
            | ScalarType::Text
            | ScalarType::Timestamptz
            | ScalarType::Interval
    )
}

/// Whether a value of `from` may become one of `to` in that context.
pub fn can_coerce(from: &ScalarType, to: &ScalarType, context: CastContext) -> bool {
    from == to || *from == ScalarType::Unknown || cast_method(from, to, context).is_some()
}

/// The cast from one type to another, if there is one in that context. Also between equal types, where
/// it applies the modifier. An unknown literal or parameter is parsed.
pub fn plan_cast(from: &ScalarType, to: &ColumnType, context: CastContext) -> Option<Cast> {
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
                if has_modifier(element) { CastMethod::Elements(Box::new(inner)) } else { CastMethod::Relabel }
            }
            ScalarType::Bool
            | ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Int8
            | ScalarType::Oid
            | ScalarType::Float4
            | ScalarType::Float8
            | ScalarType::Numeric
            | ScalarType::Text
            | ScalarType::Varchar
            | ScalarType::Bpchar
            | ScalarType::Name
            | ScalarType::Char
            | ScalarType::Bytea
            | ScalarType::Date
            | ScalarType::Time
            | ScalarType::Timestamp
            | ScalarType::Timestamptz
            | ScalarType::Interval
            | ScalarType::Uuid
            | ScalarType::Json
            | ScalarType::Jsonb
            | ScalarType::Regclass
            | ScalarType::Regtype
            | ScalarType::Regproc
            | ScalarType::Regnamespace
            | ScalarType::Int2Vector
            | ScalarType::OidVector
            | ScalarType::Xid
            | ScalarType::Void
            | ScalarType::Unknown
            | ScalarType::Enum(_)
            | ScalarType::Record(_) => CastMethod::Relabel,
        });
    }
    if *to == ScalarType::Unknown || *to == ScalarType::Void || *from == ScalarType::Void {
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
    // Rows are of one type: their fields stay as they are.
    if let (ScalarType::Record(_), ScalarType::Record(_)) = (from, to) {
        return Some(CastMethod::Relabel);
    }
    // Through the text form: to strings when assigned, from strings only where written.
    if type_category(to) == 'S' && context >= CastContext::Assignment {
        return Some(if type_category(from) == 'S' { CastMethod::Relabel } else { CastMethod::Output });
    }
    if type_category(from) == 'S' && context == CastContext::Explicit {
        return Some(CastMethod::Input);
    }
    None
}

fn has_modifier(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Varchar
            | ScalarType::Bpchar
            | ScalarType::Numeric
            | ScalarType::Time
            | ScalarType::Timestamp
            | ScalarType::Timestamptz
            | ScalarType::Interval
    )
}

/// The rows of `pg_cast` among the types we have, and the least context they apply in.
fn listed(from: &ScalarType, to: &ScalarType) -> Option<(CastMethod, CastContext)> {
    use CastContext::{Assignment, Explicit, Implicit};
    use CastMethod::{DateTime, Input, Json, Number, Output, Relabel};
    use ScalarType as T;
    let is_reg = |scalar: &T| matches!(scalar, T::Regclass | T::Regtype | T::Regproc | T::Regnamespace);
    Some(match (from, to) {
        (T::Bool, T::Text | T::Varchar | T::Bpchar) => (Output, Assignment),
        (T::Bool, T::Int4) | (T::Int4, T::Bool) => (Number, Explicit),
        (T::Int4, T::Char) | (T::Char, T::Int4) => (Number, Explicit),
        (T::Char, T::Text) => (Relabel, Implicit),
        (T::Char, T::Varchar | T::Bpchar) => (Relabel, Assignment),
        (T::Text | T::Varchar | T::Bpchar, T::Char) => (Relabel, Assignment),
        (T::Text | T::Varchar, T::Text | T::Varchar | T::Bpchar | T::Name) => (Relabel, Implicit),
        (T::Bpchar, T::Text | T::Varchar | T::Name) => (Relabel, Implicit),
        (T::Name, T::Text) => (Relabel, Implicit),
        (T::Name, T::Varchar | T::Bpchar) => (Relabel, Assignment),
        (T::Text | T::Varchar, T::Regclass) => (Input, Implicit),
        (T::Int2, T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int4, T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int8, T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int4 | T::Int8, T::Int2) | (T::Int8, T::Int4) => (Number, Assignment),
        (T::Int2 | T::Int4 | T::Int8, T::Oid) => (Number, Implicit),
        (T::Int2 | T::Int4 | T::Int8, reg) if is_reg(reg) => (Number, Implicit),
        (T::Float4, T::Float8) => (Number, Implicit),
        (T::Float8, T::Float4) => (Number, Assignment),
        (T::Float4 | T::Float8, T::Int2 | T::Int4 | T::Int8 | T::Numeric) => (Number, Assignment),
        (T::Numeric, T::Float4 | T::Float8) => (Number, Implicit),
        (T::Numeric, T::Int2 | T::Int4 | T::Int8) => (Number, Assignment),
        (T::Oid, T::Int4 | T::Int8) => (Number, Assignment),
        (T::Oid, reg) if is_reg(reg) => (Relabel, Implicit),
        (reg, T::Oid) if is_reg(reg) => (Relabel, Implicit),
        (reg, T::Int4 | T::Int8) if is_reg(reg) => (Number, Assignment),
        (T::Date, T::Timestamp | T::Timestamptz) => (DateTime, Implicit),
        (T::Timestamp, T::Timestamptz) => (DateTime, Implicit),
        (T::Timestamp | T::Timestamptz, T::Date | T::Time) => (DateTime, Assignment),
        (T::Timestamptz, T::Timestamp) => (DateTime, Assignment),
        (T::Time, T::Interval) => (DateTime, Implicit),
        (T::Interval, T::Time) => (DateTime, Assignment),
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => (Json, Assignment),
        (T::Jsonb, T::Bool | T::Int2 | T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Json, Explicit),
        (T::Int2Vector, T::Array(element)) if **element == T::Int2 => (Relabel, Implicit),
        (T::OidVector, T::Array(element)) if **element == T::Oid => (Relabel, Implicit),
        _ => return None,
    })
}
