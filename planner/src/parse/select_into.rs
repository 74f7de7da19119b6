//! `SELECT … INTO [TABLE] name …`: read as the CREATE TABLE … AS that it is.

use super::definition::CreateTableAs;
use super::grammar::truncate;
use super::statement::{ObjectName, Statement};
use crate::error::PlanError;
use sqlparser::ast::{self, Expr, Ident, SelectInto, SetExpr};
use sqlparser::tokenizer::Span;

/// A statement as it was parsed, or the table that it makes. INTO anywhere but in a query's first SELECT is refused
/// when that is resolved.
pub(super) fn table_made(
    mut statement: ast::Statement,
    text: String,
    position: impl Fn(&Span) -> u32,
) -> Result<Statement, PlanError> {
    let into = match &mut statement {
        ast::Statement::Query(query) => first_select(&mut query.body).and_then(|select| select.into.take()),
        _ => None,
    };
    let (Some(into), ast::Statement::Query(query)) = (into, &statement) else {
        return Ok(Statement::Sql(Box::new(statement)));
    };
    Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
        name: target(&into, position)?,
        if_not_exists: false,
        temporary: into.temporary,
        columns: Vec::new(),
        query: query.clone(),
        text,
        with_data: true,
        on_commit: None,
    })))
}

fn first_select(body: &mut SetExpr) -> Option<&mut ast::Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::Values(_)
        | SetExpr::Insert(_)
        | SetExpr::Update(_)
        | SetExpr::Delete(_)
        | SetExpr::Merge(_)
        | SetExpr::Table(_) => None,
    }
}

fn target(into: &SelectInto, position: impl Fn(&Span) -> u32) -> Result<ObjectName, PlanError> {
    let folded = |ident: &Ident| match ident.quote_style {
        Some(_) => truncate(&ident.value),
        None => truncate(&ident.value.to_lowercase()),
    };
    match into.targets.as_slice() {
        [Expr::Identifier(name)] => {
            Ok(ObjectName { database: None, schema: None, name: folded(name), position: position(&name.span) })
        }
        [Expr::CompoundIdentifier(parts)] => match parts.as_slice() {
            [before @ .., schema, name] if before.len() <= 1 => Ok(ObjectName {
                database: before.first().map(folded),
                schema: Some(folded(schema)),
                name: folded(name),
                position: position(&parts[0].span),
            }),
            _ => Err(PlanError::new("42601", "improper qualified name (too many dotted names)")),
        },
        _ => Err(PlanError::new("42601", "syntax error after INTO")),
    }
}
