//! Folding: parts that are constant are computed once, and junctions lose what cannot matter.
//!
//! An expression that fails is left as it is: it may stand in a branch that no row takes.

use crate::scalar::func::{Volatility, ZONED};
use crate::scalar::{EvalContext, FunctionKind, ScalarExpr};
use repr::{ColumnType, Datum, ScalarType};

impl<C: Clone> ScalarExpr<C> {
    /// Computes immutable parts over literals. Independent of session, clock and catalog.
    pub fn fold(&mut self) {
        let ctx = EvalContext::immutable();
        self.fold_up_to(Volatility::Immutable, &ctx);
    }

    /// Computes parts over literals whose volatility is at most `limit`. `Stable` makes an expression
    /// that holds for one statement only.
    pub(crate) fn fold_up_to(&mut self, limit: Volatility, ctx: &EvalContext) {
        self.visit_mut(&mut |part| part.fold_node(limit, ctx));
    }

    /// Computes what the session alone can read: casts of literals, and arithmetic of times over such. Not the clock.
    pub(crate) fn fold_of_session(&mut self, ctx: &EvalContext) {
        self.visit_mut(&mut |part| {
            let is_read = match &*part {
                ScalarExpr::Cast { expr, .. } => expr.as_literal().is_some(),
                ScalarExpr::Call { function, args, .. } => {
                    ZONED.contains(&function.name)
                        && !args.is_empty()
                        && args.iter().all(|arg| arg.as_literal().is_some())
                }
                _ => false,
            };
            if is_read && part.own_volatility() == Volatility::Stable {
                part.compute(ctx);
            }
        });
    }

    fn fold_node(&mut self, limit: Volatility, ctx: &EvalContext) {
        match self {
            ScalarExpr::Column(_)
            | ScalarExpr::Literal(..)
            | ScalarExpr::Param(..)
            | ScalarExpr::Once { .. }
            | ScalarExpr::Tested { .. }
            | ScalarExpr::Operand(_) => {}
            ScalarExpr::And(terms) => {
                if let Some(simple) = simplify_junction(terms, false) {
                    *self = simple;
                }
            }
            ScalarExpr::Or(terms) => {
                if let Some(simple) = simplify_junction(terms, true) {
                    *self = simple;
                }
            }
            ScalarExpr::Case { branches, otherwise, .. } => {
                branches
                    .retain(|(condition, _)| !matches!(condition.as_literal(), Some(Datum::Bool(false) | Datum::Null)));
                if let Some(certain) =
                    branches.iter().position(|(condition, _)| matches!(condition.as_literal(), Some(Datum::Bool(true))))
                {
                    let (_, value) = branches.swap_remove(certain);
                    branches.truncate(certain);
                    **otherwise = value;
                }
                if branches.is_empty() {
                    *self = (**otherwise).clone();
                }
            }
            ScalarExpr::Coalesce(args, _) => {
                args.retain(|arg| !matches!(arg.as_literal(), Some(Datum::Null)));
                if let Some(certain) = args.iter().position(|arg| arg.as_literal().is_some()) {
                    args.truncate(certain + 1);
                }
                if args.is_empty() {
                    self.compute(ctx);
                } else if args.len() == 1 {
                    *self = args.swap_remove(0);
                }
            }
            ScalarExpr::Call { function, args, result } => {
                let strict_null =
                    function.strict && args.iter().any(|arg| matches!(arg.as_literal(), Some(Datum::Null)));
                if strict_null && function.volatility <= limit {
                    *self = ScalarExpr::Literal(Datum::Null, ColumnType::nullable(result.clone()));
                } else if function.volatility <= limit && args.iter().all(|arg| arg.as_literal().is_some()) {
                    self.compute(ctx);
                } else {
                    self.narrow_comparison();
                }
            }
            ScalarExpr::Cast { expr, .. } => {
                if expr.as_literal().is_some() && self.own_volatility() <= limit {
                    self.compute(ctx);
                }
            }
            ScalarExpr::Array(args, _) | ScalarExpr::Record(args, _) => {
                if args.iter().all(|arg| arg.as_literal().is_some()) {
                    self.compute(ctx);
                }
            }
        }
    }

    fn compute(&mut self, ctx: &EvalContext) {
        let (scalar, modifier) = match &*self {
            ScalarExpr::Cast { to, .. } => (to.scalar.clone(), to.modifier),
            other => (other.scalar_type(&|_| ScalarType::Unknown), -1),
        };
        // There is no column in it, so what columns are does not matter.
        let closed = self.clone().map_columns(&mut |_| ScalarExpr::Column(usize::MAX));
        if let Ok(value) = closed.eval(&[], ctx) {
            *self = ScalarExpr::Literal(value, ColumnType { modifier, ..ColumnType::nullable(scalar) });
        }
    }

    /// `column::int4 = 7` over a smallint column becomes `column = 7::int2`, which an index can answer.
    fn narrow_comparison(&mut self) {
        let ScalarExpr::Call { function, args, .. } = self else { return };
        if !matches!(function.kind, FunctionKind::Compare(_)) || args.len() != 2 {
            return;
        }
        for (wide, constant) in [(0, 1), (1, 0)] {
            let ScalarExpr::Cast { expr, cast, to } = &args[wide] else { continue };
            let Some(value) = args[constant].as_literal().and_then(Datum::as_i64) else { continue };
            let narrow = match (&cast.from, &to.scalar) {
                (ScalarType::Int2, ScalarType::Int4 | ScalarType::Int8) => i16::try_from(value).ok().map(Datum::Int2),
                (ScalarType::Int4, ScalarType::Int8) => i32::try_from(value).ok().map(Datum::Int4),
                _ => None,
            };
            // The comparison itself works on integers of any width.
            if let Some(narrow) = narrow {
                let literal = ScalarExpr::Literal(narrow, ColumnType::nullable(cast.from.clone()));
                let column = (**expr).clone();
                args[wide] = column;
                args[constant] = literal;
                return;
            }
        }
    }
}

/// `deciding` is false for AND, true for OR.
fn simplify_junction<C: Clone>(terms: &mut Vec<ScalarExpr<C>>, deciding: bool) -> Option<ScalarExpr<C>> {
    let boolean = |value: bool| ScalarExpr::Literal(Datum::Bool(value), ColumnType::nullable(ScalarType::Bool));
    if terms.iter().any(|term| matches!(term.as_literal(), Some(Datum::Bool(value)) if *value == deciding)) {
        return Some(boolean(deciding));
    }
    terms.retain(|term| !matches!(term.as_literal(), Some(Datum::Bool(_))));
    let mut flat = Vec::with_capacity(terms.len());
    for term in terms.drain(..) {
        match (term, deciding) {
            (ScalarExpr::And(inner), false) | (ScalarExpr::Or(inner), true) => flat.extend(inner),
            (other, _) => flat.push(other),
        }
    }
    match flat.len() {
        0 => Some(boolean(!deciding)),
        1 => flat.pop(),
        _ => {
            *terms = flat;
            None
        }
    }
}
