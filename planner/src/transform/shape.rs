//! What expressions mean to the planner: equalities, negations, NULL tests; and the few that it makes itself.
//!
//! The one place that knows functions by what they are. Never evaluates.

use crate::error::PlanError;
use crate::names::Label;
use crate::scalar::cast::CastMethod;
use crate::scalar::func::Comparison;
use crate::scalar::{
    Aggregate, FrameBound, FrameExclusion, FrameUnit, Function, FunctionKind, ScalarExpr, TableFunction, WindowCall,
    WindowFrame, WindowKind, registry,
};
use repr::types::Equality;
use repr::{Array, ColumnType, Datum, ScalarType};
use std::sync::Arc;

/// What stands under a NOT.
pub fn negated<C>(expr: &ScalarExpr<C>) -> Option<&ScalarExpr<C>> {
    match expr {
        ScalarExpr::Call { function, args, .. } if function.name == "NOT" => args.first(),
        _ => None,
    }
}

/// Whether it is a comparison that is NULL exactly where an argument is.
pub(crate) fn is_comparison(function: &Function) -> bool {
    function.strict && function.comparison().is_some()
}

/// The sides of `left = right`.
pub fn equality<C>(expr: &ScalarExpr<C>) -> Option<(&ScalarExpr<C>, &ScalarExpr<C>)> {
    match expr {
        ScalarExpr::Call { function, args, .. } if function.comparison() == Some(Comparison::Equal) => {
            Some((args.first()?, args.get(1)?))
        }
        _ => None,
    }
}

/// The operand of `operand IS NULL`.
pub(crate) fn null_test<C>(expr: &ScalarExpr<C>) -> Option<&ScalarExpr<C>> {
    match expr {
        ScalarExpr::Call { function, args, .. } if function.name == "IS NULL" => args.first(),
        _ => None,
    }
}

/// The comparison and sides of `left op right`.
pub fn compared<C>(expr: &ScalarExpr<C>) -> Option<(Comparison, &ScalarExpr<C>, &ScalarExpr<C>)> {
    match expr {
        ScalarExpr::Call { function, args, .. } => Some((function.comparison()?, args.first()?, args.get(1)?)),
        _ => None,
    }
}

/// The sides of `left = ANY (array)`.
pub fn equal_to_any<C>(expr: &ScalarExpr<C>) -> Option<(&ScalarExpr<C>, &ScalarExpr<C>)> {
    match expr {
        ScalarExpr::Call { function, args, .. } => match function.quantifier() {
            Some((operator, true)) if operator.comparison() == Some(Comparison::Equal) => {
                Some((args.first()?, args.get(1)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The fields of `(a, b) IN ((1, 2), …)`, each with the array of what it is compared with.
pub(crate) fn among_rows<C>(expr: &ScalarExpr<C>) -> Option<impl Iterator<Item = (&ScalarExpr<C>, &ScalarExpr<C>)>> {
    match expr {
        ScalarExpr::Call { function, args, .. } if matches!(function.kind, FunctionKind::AmongRows) => {
            let (fields, arrays) = args.split_at(args.len() / 2);
            Some(fields.iter().zip(arrays))
        }
        _ => None,
    }
}

/// Types whose values have the same key bytes exactly when they are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClass {
    /// Integers of any width.
    Integer,
    /// real, double precision
    Float,
    /// text, varchar, name, "char"
    Text,
    /// Any other type by itself.
    Only(ScalarType),
}

/// The class of a type; `None` for types without equality.
pub fn key_class(scalar: &ScalarType) -> Option<KeyClass> {
    match scalar.equality() {
        Equality::Itself => Some(KeyClass::Only(scalar.clone())),
        Equality::Integers => Some(KeyClass::Integer),
        Equality::Floats => Some(KeyClass::Float),
        Equality::Texts => Some(KeyClass::Text),
        Equality::Oids => Some(KeyClass::Only(ScalarType::Oid)),
        Equality::Networks => Some(KeyClass::Only(ScalarType::Inet)),
        Equality::Bits => Some(KeyClass::Only(ScalarType::VarBit)),
        Equality::Nothing => None,
    }
}

/// The expression without casts that leave its key bytes as they are: relabelling, widening.
pub fn relabelled<C>(expr: &ScalarExpr<C>) -> &ScalarExpr<C> {
    match expr {
        ScalarExpr::Cast { expr: inner, cast, to } if to.modifier == -1 => {
            let widens = match (&cast.from, &to.scalar) {
                (ScalarType::Int2, ScalarType::Int4 | ScalarType::Int8)
                | (ScalarType::Int4, ScalarType::Int8)
                | (ScalarType::Float4, ScalarType::Float8) => true,
                (from, to) => {
                    cast.method == CastMethod::Relabel && key_class(from).is_some() && key_class(from) == key_class(to)
                }
            };
            if widens { relabelled(inner) } else { expr }
        }
        other => other,
    }
}

/// Whether an expression is certainly NULL when the columns that `null` names are.
fn always_null(expr: &ScalarExpr, null: &impl Fn(usize) -> bool) -> bool {
    match expr {
        ScalarExpr::Column(column) => null(*column),
        ScalarExpr::Literal(datum, _) => datum.is_null(),
        ScalarExpr::Call { function, args, .. } => function.strict && args.iter().any(|arg| always_null(arg, null)),
        ScalarExpr::Cast { expr, .. } => always_null(expr, null),
        ScalarExpr::Coalesce(args, _) => args.iter().all(|arg| always_null(arg, null)),
        ScalarExpr::Param(..)
        | ScalarExpr::And(_)
        | ScalarExpr::Or(_)
        | ScalarExpr::Case { .. }
        | ScalarExpr::Array(..)
        | ScalarExpr::Record(..)
        | ScalarExpr::Once { .. }
        | ScalarExpr::Tested { .. }
        | ScalarExpr::Operand(_) => false,
    }
}

/// Whether a predicate is certainly not true when the columns that `null` names are all NULL.
pub(crate) fn rejects_null(predicate: &ScalarExpr, null: &impl Fn(usize) -> bool) -> bool {
    match predicate {
        ScalarExpr::And(args) => args.iter().any(|arg| rejects_null(arg, null)),
        ScalarExpr::Or(args) => args.iter().all(|arg| rejects_null(arg, null)),
        ScalarExpr::Call { function, args, .. } if matches!(function.name, "IS NOT NULL" | "IS TRUE" | "IS FALSE") => {
            args.iter().any(|arg| always_null(arg, null))
        }
        ScalarExpr::Literal(Datum::Bool(false), _) => true,
        other => always_null(other, null),
    }
}

/// `column <= bound`, of a bigint.
pub(crate) fn at_most(column: usize, bound: i64) -> Result<ScalarExpr, PlanError> {
    let found = registry::resolve_operator("<=", Some(&ScalarType::Int8), &ScalarType::Int8)?;
    let args = vec![ScalarExpr::Column(column), crate::mir::expr::bigint(bound)];
    Ok(ScalarExpr::Call { function: found.function, args, result: ScalarType::Bool })
}

/// `left = right`, each a column with its type.
pub(crate) fn equal(left: (usize, &ScalarType), right: (usize, &ScalarType)) -> Result<ScalarExpr, PlanError> {
    let found = registry::resolve_operator("=", Some(left.1), right.1)?;
    let args = vec![ScalarExpr::Column(left.0), ScalarExpr::Column(right.0)];
    Ok(ScalarExpr::Call { function: found.function, args, result: ScalarType::Bool })
}

/// `expr IS NULL`.
pub fn is_null(expr: &ScalarExpr, types: &[ColumnType]) -> Result<ScalarExpr, PlanError> {
    let scalar = crate::mir::expr::scalar_type(expr, types);
    let found = registry::resolve_operator("IS NULL", None, &scalar)?;
    Ok(ScalarExpr::Call { function: found.function, args: vec![expr.clone()], result: ScalarType::Bool })
}

/// `NOT condition`.
pub fn not(condition: ScalarExpr) -> Result<ScalarExpr, PlanError> {
    let found = registry::resolve_function("NOT", &[ScalarType::Bool], false)?;
    Ok(ScalarExpr::Call { function: found.function, args: vec![condition], result: ScalarType::Bool })
}

/// `left IS NOT DISTINCT FROM right`, of one type.
pub(crate) fn not_distinct(left: usize, right: usize, scalar: &ScalarType) -> Result<ScalarExpr, PlanError> {
    let found = registry::resolve_operator("IS NOT DISTINCT FROM", Some(scalar), scalar)?;
    let args = vec![ScalarExpr::Column(left), ScalarExpr::Column(right)];
    Ok(ScalarExpr::Call { function: found.function, args, result: ScalarType::Bool })
}

/// array_agg over elements of a type. Vectors are elements, no arrays to be stacked.
pub fn array_agg(element: &ScalarType) -> Result<&'static Aggregate, PlanError> {
    let is_vector = matches!(element, ScalarType::Int2Vector | ScalarType::OidVector);
    let element = if is_vector { &ScalarType::Int4 } else { element };
    Ok(registry::resolve_aggregate("array_agg", std::slice::from_ref(element))?.function)
}

/// row_number() over all rows.
pub fn row_number() -> Result<WindowCall, PlanError> {
    let found = registry::resolve_window("row_number", &[])?;
    let frame = WindowFrame {
        unit: FrameUnit::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
        exclude: FrameExclusion::NoOthers,
    };
    let function = WindowKind::Function(found.function);
    let label = Label::default();
    Ok(WindowCall { function, args: Vec::new(), filter: None, frame, result: found.result, label })
}

/// unnest of an array of that type.
pub fn unnest(array: &ScalarType) -> Result<&'static TableFunction, PlanError> {
    Ok(registry::resolve_table_function("unnest", std::slice::from_ref(array))?.function)
}

/// The array without elements.
pub(crate) fn empty_array(array: &ScalarType) -> Result<ScalarExpr, PlanError> {
    let empty = Array::new(Vec::new(), Vec::new());
    Ok(ScalarExpr::Literal(Datum::Array(Arc::new(empty)), ColumnType::nullable(array.clone())))
}
