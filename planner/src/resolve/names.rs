//! What a select list's columns are called, as PostgreSQL's `FigureColname` has it.

use super::scope::fold;
use super::special_syntax::trim_name;
use super::types::builtin;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, FunctionArguments, Query, SelectItem, SetExpr, Value, ValueWithSpan,
};

/// The name of an output without alias.
pub(super) fn output_name(expr: &Expr) -> String {
    figure(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// A name and whether it is a strong one (a weak one gives way to a cast's type or to CASE).
fn figure(expr: &Expr) -> Option<(String, bool)> {
    let strong = |name: &str| Some((name.to_owned(), true));
    match expr {
        Expr::Identifier(ident) => Some((fold(ident), true)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|ident| (fold(ident), true)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some((fold(ident), true)),
                AccessExpr::Dot(_) | AccessExpr::Subscript(_) => None,
            });
            field.or_else(|| figure(root))
        }
        Expr::QualifiedWildcard(name, _) => {
            name.0.last().and_then(|part| part.as_ident()).map(|ident| (fold(ident), true))
        }
        Expr::Nested(inner) => figure(inner),
        Expr::Collate { expr, .. } => figure(expr),
        Expr::Function(function) => {
            if let FunctionArguments::Subquery(_) = function.args {
                return strong("array");
            }
            function.name.0.last().and_then(|part| part.as_ident()).map(|ident| (fold(ident), true))
        }
        Expr::Cast { expr, data_type, .. } => match figure(expr) {
            Some((name, true)) => Some((name, true)),
            Some((_, false)) | None => Some((type_word(data_type), false)),
        },
        Expr::TypedString(typed) => Some((type_word(&typed.data_type), false)),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Value(ValueWithSpan { value: Value::Boolean(_), .. }) => Some(("bool".to_owned(), false)),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(figure) {
            Some((name, true)) => Some((name, true)),
            Some((_, false)) | None => Some(("case".to_owned(), false)),
        },
        Expr::Exists { negated: false, .. } => strong("exists"),
        Expr::Subquery(query) => query_name(query).map(|name| (name, true)),
        Expr::Array(_) => strong("array"),
        Expr::Tuple(_) => strong("row"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => strong("overlaps"),
        Expr::Extract { .. } => strong("extract"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::Position { .. } => strong("position"),
        Expr::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Expr::Trim { trim_where, .. } => strong(trim_name(*trim_where)),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::IsNormalized { negated: false, .. } => strong("is_normalized"),
        _ => None,
    }
}

/// A scalar subquery is called as its one column is.
fn query_name(query: &Query) -> Option<String> {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::UnnamedExpr(expr) => figure(expr).map(|(name, _)| name),
                    SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                    SelectItem::ExprWithAliases { .. }
                    | SelectItem::QualifiedWildcard(..)
                    | SelectItem::Wildcard(_) => None,
                };
            }
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(query) => body = &query.body,
            SetExpr::Values(_) => return Some("column1".to_owned()),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) | SetExpr::Table(_) => {
                return None;
            }
        }
    }
}

/// A type's internal name: `int` is int4, `integer[]` too.
fn type_word(data_type: &DataType) -> String {
    use sqlparser::ast::{ArrayElemTypeDef, TimezoneInfo};
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::Parenthesis(inner)
            | ArrayElemTypeDef::Qualified(inner, _),
        ) => type_word(inner),
        DataType::Custom(name, _) => match name.0.last().and_then(|part| part.as_ident()) {
            Some(ident) => fold(ident),
            None => name.to_string(),
        },
        DataType::Char(_) | DataType::Character(_) => "bpchar".to_owned(),
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => "varchar".to_owned(),
        DataType::Bit(_) => "bit".to_owned(),
        DataType::BitVarying(_) | DataType::VarBit(_) => "varbit".to_owned(),
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric".to_owned(),
        DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "timetz".to_owned(),
        DataType::Time(..) => "time".to_owned(),
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "timestamptz".to_owned(),
        DataType::Timestamp(..) => "timestamp".to_owned(),
        DataType::Interval { .. } => "interval".to_owned(),
        other => {
            let word = other.to_string().to_lowercase();
            builtin(&word).map_or(word, |scalar| internal_name(&scalar))
        }
    }
}

fn internal_name(scalar: &repr::ScalarType) -> String {
    scalar.type_name()
}
