//! Which parts need no parentheses under which: ruleutils.c's isSimpleNode.

use super::is_unseen;
use crate::scalar::ScalarExpr;
use crate::scalar::cast::CastMethod;
use crate::scalar::func::FunctionKind;
use repr::Datum;

/// What a tree's node is to those around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeShape<'a> {
    /// A column, a constant, anything with parentheses of its own.
    Closed,
    /// An operator's symbol.
    Operator(&'a str),
    /// IS NULL, IS TRUE, IS DISTINCT FROM.
    Test,
    /// NOT and AND.
    Not,
    Or,
    /// A cast, whose part decides.
    Cast,
    /// `ANY (array)`, and SQL's own syntax of functions.
    Other,
    /// A function's call.
    Call,
}

fn shape<C>(expr: &ScalarExpr<C>) -> NodeShape<'_> {
    match expr {
        ScalarExpr::And(_) => NodeShape::Not,
        ScalarExpr::Or(_) => NodeShape::Or,
        ScalarExpr::Cast { expr: inner, cast, .. } if is_unseen(cast) => shape(inner),
        ScalarExpr::Cast { expr: inner, .. } if matches!(**inner, ScalarExpr::Literal(..)) => NodeShape::Closed,
        ScalarExpr::Cast { .. } => NodeShape::Cast,
        ScalarExpr::Call { function, args, .. } => match function.kind {
            FunctionKind::Any(_) | FunctionKind::All(_) | FunctionKind::AmongRows => NodeShape::Other,
            _ if function.written.is_some() => NodeShape::Call,
            _ if function.name == "NOT" => NodeShape::Not,
            _ if function.name.starts_with("IS ") => NodeShape::Test,
            _ if super::call::is_operator(function) => match args.len() {
                2 => NodeShape::Operator(function.name),
                _ => NodeShape::Operator(""),
            },
            _ => NodeShape::Call,
        },
        _ => NodeShape::Closed,
    }
}

/// Whether a part stands under its parent as it is.
pub(super) fn is_simple<C>(expr: &ScalarExpr<C>, parent: Option<&ScalarExpr<C>>) -> bool {
    let around = match parent {
        // SQL's own forms close nothing.
        Some(ScalarExpr::Call { function, .. }) if function.written.is_some() => NodeShape::Other,
        Some(parent) => shape(parent),
        None => NodeShape::Closed,
    };
    match shape(expr) {
        NodeShape::Closed | NodeShape::Call => true,
        NodeShape::Other => false,
        // A cast that is a function's call is closed; one that only says another type is what it says it of.
        NodeShape::Cast => match expr {
            ScalarExpr::Cast { expr: inner, cast, .. } => match cast.method {
                CastMethod::Number
                | CastMethod::DateTime
                | CastMethod::Shape
                | CastMethod::Json
                | CastMethod::Hstore => true,
                _ => is_simple(inner, Some(expr)),
            },
            _ => true,
        },
        NodeShape::Operator(symbol) => match around {
            NodeShape::Operator(outer) => binds_tighter(symbol, outer, first_of(parent, expr)),
            around => takes_operators(around),
        },
        NodeShape::Test => takes_operators(around),
        NodeShape::Not => {
            matches!(around, NodeShape::Not | NodeShape::Or | NodeShape::Call | NodeShape::Closed) && !is_not(parent)
        }
        NodeShape::Or => matches!(around, NodeShape::Or | NodeShape::Call | NodeShape::Closed),
    }
}

fn takes_operators(around: NodeShape<'_>) -> bool {
    matches!(around, NodeShape::Closed | NodeShape::Call | NodeShape::Not | NodeShape::Or)
}

fn is_not<C>(parent: Option<&ScalarExpr<C>>) -> bool {
    matches!(parent, Some(ScalarExpr::Call { function, .. }) if function.name == "NOT")
}

fn first_of<C>(parent: Option<&ScalarExpr<C>>, expr: &ScalarExpr<C>) -> bool {
    matches!(parent, Some(ScalarExpr::Call { args, .. }) if args.first().is_some_and(|first| std::ptr::eq(first, expr)))
}

/// Of `+ - * / %` alone it is known how they bind.
fn binds_tighter(inner: &str, outer: &str, is_first: bool) -> bool {
    let rank = |symbol: &str| match symbol {
        "+" | "-" => Some(0),
        "*" | "/" | "%" => Some(1),
        _ => None,
    };
    match (rank(inner), rank(outer)) {
        (Some(inner), Some(outer)) => inner > outer || inner == outer && is_first,
        _ => false,
    }
}

/// Whether an expression is an operator's, which PostgreSQL puts in parentheses under a cast that it does not show.
pub(crate) fn is_operation<C>(expr: &ScalarExpr<C>) -> bool {
    matches!(shape(expr), NodeShape::Operator(_) | NodeShape::Test | NodeShape::Not | NodeShape::Or | NodeShape::Other)
}

/// What a test of CASE compares its operand with.
pub(super) fn compared<C>(test: &ScalarExpr<C>) -> Option<&ScalarExpr<C>> {
    let ScalarExpr::Call { args, .. } = test else { return None };
    let [first, second] = args.as_slice() else { return None };
    let mut tested = first;
    while let ScalarExpr::Cast { expr, .. } = tested {
        tested = expr;
    }
    matches!(tested, ScalarExpr::Operand(_)).then_some(second)
}

/// The arguments of NULLIF, which is `CASE WHEN a = b THEN NULL ELSE a END`.
pub(super) fn null_if<'a, C>(
    branches: &'a [(ScalarExpr<C>, ScalarExpr<C>)],
    otherwise: &ScalarExpr<C>,
) -> Option<Vec<&'a ScalarExpr<C>>>
where
    C: PartialEq,
{
    match branches {
        [(ScalarExpr::Call { function, args, .. }, ScalarExpr::Literal(Datum::Null, _))] if function.name == "=" => {
            let [left, right] = args.as_slice() else { return None };
            (left == otherwise).then(|| vec![left, right])
        }
        _ => None,
    }
}
