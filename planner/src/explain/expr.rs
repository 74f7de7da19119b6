//! Expressions as text.

use crate::hir::{HirColumn, HirExpr};
use crate::scalar::{AggregateCall, ScalarExpr, WindowCall, WindowKind};
use repr::Datum;

/// An expression over positions.
pub(super) fn scalar(expr: &ScalarExpr) -> String {
    text(expr, &|column| format!("#{column}"))
}

/// Several, separated by commas.
pub(super) fn scalars(exprs: &[ScalarExpr]) -> String {
    exprs.iter().map(scalar).collect::<Vec<_>>().join(", ")
}

/// Several that must all be true.
pub(super) fn all(exprs: &[ScalarExpr]) -> String {
    exprs.iter().map(scalar).collect::<Vec<_>>().join(" AND ")
}

/// An expression of the first rung; outer columns are `^n#m`, subqueries are named only.
pub(super) fn hir(expr: &HirExpr) -> String {
    text(expr, &|column| match column {
        HirColumn::Column { level: 0, index } => format!("#{index}"),
        HirColumn::Column { level, index } => format!("^{level}#{index}"),
        HirColumn::Exists(_) => "EXISTS (subquery)".to_owned(),
        HirColumn::Scalar(_) => "(subquery)".to_owned(),
        HirColumn::Any { condition, .. } => format!("ANY (subquery: {})", hir(condition)),
        HirColumn::ArrayOf(..) => "ARRAY (subquery)".to_owned(),
    })
}

/// An aggregate call.
pub(super) fn aggregate<C>(call: &AggregateCall<C>, column: &impl Fn(&C) -> String) -> String {
    let args: Vec<String> = call.args.iter().map(|arg| text(arg, column)).collect();
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let args = if args.is_empty() && call.function.name == "count" { "*".to_owned() } else { args.join(", ") };
    let order: Vec<String> = call
        .order_by
        .iter()
        .map(|(expr, descending, _)| format!("{}{}", text(expr, column), if *descending { " desc" } else { "" }))
        .collect();
    let order = if order.is_empty() { String::new() } else { format!(" order by {}", order.join(", ")) };
    let filter = call.filter.as_ref().map(|filter| format!(" filter {}", text(filter, column))).unwrap_or_default();
    format!("{}({distinct}{args}{order}){filter}", call.function.name)
}

/// A window call.
pub(super) fn window<C>(call: &WindowCall<C>, column: &impl Fn(&C) -> String) -> String {
    let name = match call.function {
        WindowKind::Function(function) => function.name,
        WindowKind::Aggregate(function) => function.name,
    };
    let args: Vec<String> = call.args.iter().map(|arg| text(arg, column)).collect();
    format!("{name}({})", args.join(", "))
}

/// An expression, its columns written by `column`.
pub(super) fn text<C>(expr: &ScalarExpr<C>, column: &impl Fn(&C) -> String) -> String {
    let list = |args: &[ScalarExpr<C>], separator: &str| {
        args.iter().map(|arg| text(arg, column)).collect::<Vec<_>>().join(separator)
    };
    match expr {
        ScalarExpr::Column(name) => column(name),
        ScalarExpr::Literal(datum, column_type) => literal(datum, &column_type.scalar),
        ScalarExpr::Param(index, _) => format!("${}", index + 1),
        ScalarExpr::Call { function, args, .. } => {
            let symbol = !function.name.starts_with(|first: char| first.is_ascii_lowercase());
            match (symbol, args.as_slice()) {
                (true, [left, right]) => format!("({} {} {})", text(left, column), function.name, text(right, column)),
                (true, [only]) if function.name.starts_with("IS ") => {
                    format!("({} {})", text(only, column), function.name)
                }
                (true, [only]) => format!("({} {})", function.name, text(only, column)),
                _ => format!("{}({})", function.name, list(args, ", ")),
            }
        }
        ScalarExpr::And(args) => format!("({})", list(args, " AND ")),
        ScalarExpr::Or(args) => format!("({})", list(args, " OR ")),
        ScalarExpr::Case { branches, otherwise, .. } => {
            let branches: Vec<String> = branches
                .iter()
                .map(|(when, then)| format!("WHEN {} THEN {}", text(when, column), text(then, column)))
                .collect();
            format!("CASE {} ELSE {} END", branches.join(" "), text(otherwise, column))
        }
        ScalarExpr::Coalesce(args, _) => format!("coalesce({})", list(args, ", ")),
        ScalarExpr::Array(args, _) => format!("ARRAY[{}]", list(args, ", ")),
        ScalarExpr::Record(args, _) => format!("ROW({})", list(args, ", ")),
        ScalarExpr::Cast { expr, to, .. } => format!("{}::{}", text(expr, column), to.scalar.name()),
    }
}

/// Literals are the user's own words (or made of them by folding).
fn literal(datum: &Datum, scalar: &repr::ScalarType) -> String {
    match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(_) | Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) | Datum::Numeric(_) => written(datum, scalar),
        _ => format!("'{}'", written(datum, scalar)),
    }
}

fn written(datum: &Datum, scalar: &repr::ScalarType) -> String {
    repr::text::format(datum, scalar, &repr::text::TextContext::default())
}
