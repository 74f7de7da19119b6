//! Evaluation of expressions over one row.
//!
//! The hot path of every operator: operands are borrowed where they can be. Recursion is as deep as the
//! expression, which the parser bounds; AND and OR are n-ary and cost one level however long they are.

mod fold;
mod mfp;
mod walk;

pub(crate) use walk::reads_alike;

use super::env::CastLists;
use super::{EvalContext, FunctionKind, ScalarExpr};
use repr::{Array, ColumnType, Datum, ScalarType, ValueError, poll};
use std::borrow::Cow;
use std::sync::Arc;

impl ScalarExpr<usize> {
    /// The value over `row`. Errors are values' errors: they belong to the row.
    pub fn eval(&self, row: &[Datum], ctx: &EvalContext) -> Result<Datum, ValueError> {
        match self {
            ScalarExpr::Column(_) | ScalarExpr::Literal(..) | ScalarExpr::Param(..) => {
                self.operand(row, ctx).map(Cow::into_owned)
            }
            ScalarExpr::Call { function, args, result } => {
                if let (FunctionKind::Compare(comparison), [left, right]) = (function.kind, args.as_slice()) {
                    let left = left.operand(row, ctx)?;
                    if function.strict && left.is_null() {
                        return Ok(Datum::Null);
                    }
                    let right = right.operand(row, ctx)?;
                    if function.strict && right.is_null() {
                        return Ok(Datum::Null);
                    }
                    return Ok(Datum::Bool(comparison.holds(&left, &right)));
                }
                match args.as_slice() {
                    [] => function.call(ctx, &[], result),
                    [only] => function.call(ctx, &[only.eval(row, ctx)?], result),
                    [left, right] => function.call(ctx, &[left.eval(row, ctx)?, right.eval(row, ctx)?], result),
                    many => {
                        let values = many.iter().map(|arg| arg.eval(row, ctx)).collect::<Result<Vec<_>, _>>()?;
                        function.call(ctx, &values, result)
                    }
                }
            }
            ScalarExpr::And(terms) => junction(terms, row, ctx, false),
            ScalarExpr::Or(terms) => junction(terms, row, ctx, true),
            ScalarExpr::Case { branches, otherwise, .. } => {
                for (condition, value) in branches {
                    if condition.holds(row, ctx)? {
                        return value.eval(row, ctx);
                    }
                }
                otherwise.eval(row, ctx)
            }
            ScalarExpr::Coalesce(args, _) => {
                for arg in args {
                    let value = arg.operand(row, ctx)?;
                    if !value.is_null() {
                        return Ok(value.into_owned());
                    }
                }
                Ok(Datum::Null)
            }
            ScalarExpr::Array(elements, element) => {
                let values = elements.iter().map(|element| element.eval(row, ctx)).collect::<Result<Vec<_>, _>>()?;
                build_array(values, element, elements)
            }
            ScalarExpr::Record(fields, _) => {
                let values = fields.iter().map(|field| field.eval(row, ctx)).collect::<Result<Arc<[_]>, _>>()?;
                Ok(Datum::Record(values))
            }
            // The body is made anew for each value, which only what is volatile pays.
            ScalarExpr::Once { operand, body } => {
                let value = ScalarExpr::Literal(operand.eval(row, ctx)?, ColumnType::nullable(ScalarType::Unknown));
                body.with_operand(&value).eval(row, ctx)
            }
            ScalarExpr::Tested { operand, body } => {
                let value = operand.eval(row, ctx)?;
                let test = |part: &Datum| {
                    poll::step()?;
                    let part = ScalarExpr::Literal(part.clone(), ColumnType::nullable(ScalarType::Unknown));
                    body.with_operand(&part).eval(row, ctx).map(drop)
                };
                match &value {
                    Datum::Array(array) => array.elements.iter().try_for_each(test)?,
                    Datum::Null => {}
                    whole => test(whole)?,
                }
                Ok(value)
            }
            ScalarExpr::Operand(_) => Err(ValueError::new("XX000", "an operand stands outside what gives its value")),
            ScalarExpr::Cast { expr, cast, to } => {
                if let ScalarExpr::Literal(Datum::Array(array), _) = &**expr
                    && array.elements.len() >= CastLists::ELEMENTS_MIN
                {
                    return ctx.lists.cast(array, to, || cast.evaluate(Datum::Array(array.clone()), to, ctx));
                }
                let value = expr.operand(row, ctx)?;
                cast.evaluate(value.into_owned(), to, ctx)
            }
        }
    }

    /// Whether a predicate is true (neither false nor NULL).
    pub fn holds(&self, row: &[Datum], ctx: &EvalContext) -> Result<bool, ValueError> {
        Ok(matches!(*self.operand(row, ctx)?, Datum::Bool(true)))
    }

    /// The value, borrowed where it stands somewhere already.
    pub fn operand<'a>(&'a self, row: &'a [Datum], ctx: &'a EvalContext) -> Result<Cow<'a, Datum>, ValueError> {
        match self {
            ScalarExpr::Column(index) => row.get(*index).map(Cow::Borrowed).ok_or_else(|| {
                ValueError::new("XX000", format!("an expression refers to column {index} of a row of {}", row.len()))
            }),
            ScalarExpr::Literal(value, _) => Ok(Cow::Borrowed(value)),
            ScalarExpr::Param(index, _) => ctx
                .params
                .get(*index)
                .map(Cow::Borrowed)
                .ok_or_else(|| ValueError::new("42P02", format!("there is no parameter ${}", index + 1))),
            ScalarExpr::Call { .. }
            | ScalarExpr::And(_)
            | ScalarExpr::Or(_)
            | ScalarExpr::Case { .. }
            | ScalarExpr::Coalesce(..)
            | ScalarExpr::Array(..)
            | ScalarExpr::Record(..)
            | ScalarExpr::Once { .. }
            | ScalarExpr::Tested { .. }
            | ScalarExpr::Operand(_)
            | ScalarExpr::Cast { .. } => self.eval(row, ctx).map(Cow::Owned),
        }
    }
}

/// AND (`deciding` false) and OR (`deciding` true): the deciding value wins over NULL.
fn junction(terms: &[ScalarExpr], row: &[Datum], ctx: &EvalContext, deciding: bool) -> Result<Datum, ValueError> {
    let mut unknown = false;
    for term in terms {
        match *term.operand(row, ctx)? {
            Datum::Bool(value) if value == deciding => return Ok(Datum::Bool(deciding)),
            Datum::Bool(_) => {}
            ref other => {
                debug_assert!(other.is_null(), "a term of AND or OR is boolean");
                unknown = true;
            }
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(!deciding) })
}

/// ARRAY[…]: over elements one dimension, over arrays one more than theirs.
fn build_array(values: Vec<Datum>, element: &ScalarType, elements: &[ScalarExpr]) -> Result<Datum, ValueError> {
    let nested = elements.iter().any(|element| matches!(element, ScalarExpr::Array(..)))
        || values.iter().any(|value| matches!(value, Datum::Array(_)));
    if !nested || matches!(element, ScalarType::Int2Vector | ScalarType::OidVector) {
        return Ok(Datum::Array(Arc::new(Array::vector(values))));
    }
    stack_arrays(values)
}

/// Arrays of equal dimensions as one with a dimension more.
pub(crate) fn stack_arrays(values: Vec<Datum>) -> Result<Datum, ValueError> {
    let mismatch =
        || ValueError::new("2202E", "multidimensional arrays must have array expressions with matching dimensions");
    let count = values.len();
    let mut dimensions: Option<Vec<(usize, i32)>> = None;
    let mut elements = Vec::new();
    for value in values {
        let inner = match value {
            Datum::Array(inner) => inner,
            Datum::Null => Arc::new(Array::vector(Vec::new())),
            _ => return Err(mismatch()),
        };
        match &dimensions {
            Some(dimensions) if *dimensions != inner.dimensions => return Err(mismatch()),
            Some(_) => {}
            None => dimensions = Some(inner.dimensions.clone()),
        }
        elements.extend(inner.elements.iter().cloned());
    }
    let inner = dimensions.unwrap_or_default();
    if inner.is_empty() {
        return Ok(Datum::Array(Arc::new(Array::vector(Vec::new()))));
    }
    let mut dimensions = vec![(count, 1)];
    dimensions.extend(inner);
    if dimensions.len() > 6 {
        return Err(ValueError::new(
            "54000",
            format!("number of array dimensions ({}) exceeds the maximum allowed (6)", dimensions.len()),
        ));
    }
    Ok(Datum::Array(Arc::new(Array::new(dimensions, elements))))
}
