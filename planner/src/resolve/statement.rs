//! The door of `resolve`: one parsed statement in, names and types resolved out.

use super::query::Outputs;
use super::{Resolver, SessionInfo};
use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::{HirQuery, WriteHir};
use crate::parse::{ParsedStatement, Statement};
use crate::plan::ParamTypes;
use repr::ScalarType;
use sqlparser::ast;

/// A statement with its names and types resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// SELECT, VALUES, TABLE.
    Query(Box<HirQuery>),
    /// INSERT, UPDATE, DELETE.
    Write(Box<WriteHir>),
    /// Everything that names no columns: for DDL and the session.
    Other(Box<Statement>),
}

/// Resolves a statement. `param_oids` are the parameter types that the client gave; those of the rest
/// are deduced. Positions of errors count from the start of the query string.
///
/// # Errors
/// PostgreSQL's, with its SQLSTATEs; 0A000 for what is not supported.
pub fn resolve(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    session: &SessionInfo,
    param_oids: &[Option<ScalarType>],
) -> Result<(Resolved, ParamTypes), PlanError> {
    let mut resolver = Resolver::new(catalog, session, &parsed.text, param_oids);
    let result = resolver.statement(&parsed.statement).and_then(|resolved| Ok((resolved, resolver.finish_params()?)));
    result.map_err(|mut error| {
        error.position = error.position.map(|position| position + parsed.offset);
        error
    })
}

impl Resolver<'_> {
    fn statement(&mut self, statement: &Statement) -> Result<Resolved, PlanError> {
        match statement {
            Statement::Sql(sql) => match &**sql {
                ast::Statement::Query(query) => Ok(Resolved::Query(Box::new(self.query(query, Outputs::Settled)?))),
                other => Err(PlanError::unsupported(format!("\"{other}\""))),
            },
            other => Ok(Resolved::Other(Box::new(other.clone()))),
        }
    }
}

/// Checks.
pub fn check_expression() {}
