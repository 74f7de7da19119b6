//! The whole trip of one statement: resolved, lowered, planned. What the engine calls.

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::{OutputColumn, WriteHir};
use crate::lower::{plan_expr, plan_query, plan_write};
use crate::parse::statement::ExplainOptions;
use crate::parse::utility::{CopyOptions, DeclareCursor};
use crate::parse::{ParsedStatement, Statement};
use crate::physical::KeyForms;
use crate::plan::{InsertPlan, ParamTypes, Query, WritePlan};
use crate::resolve::{GdprRequest, Resolved, SessionInfo, resolve};
use crate::scalar::ScalarExpr;
use repr::{RelationId, ScalarType};

/// A statement, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Planned {
    /// SELECT, VALUES, TABLE.
    Query(Box<Query>),
    /// INSERT, UPDATE, DELETE.
    Write(Box<WritePlan>),
    /// CREATE TABLE … AS.
    CreateTableAs {
        /// What fills the table.
        query: Box<Query>,
        /// As it was parsed.
        statement: Box<Statement>,
    },
    /// COPY … FROM STDIN.
    CopyFrom {
        /// Inserts one row, whose values are the parameters in order.
        insert: Box<InsertPlan>,
        /// The columns that each row has.
        columns: Vec<OutputColumn>,
        /// The table's name, for the context of errors.
        table: String,
        /// How the data is written.
        options: CopyOptions,
    },
    /// COPY … TO STDOUT.
    CopyTo {
        /// Where its rows come from.
        what: Box<Planned>,
        /// How they are to be written.
        options: CopyOptions,
    },
    /// DECLARE CURSOR.
    DeclareCursor {
        /// As it was parsed.
        cursor: Box<DeclareCursor>,
        /// A query or SUBSCRIBE.
        what: Box<Planned>,
    },
    /// SUBSCRIBE.
    Subscribe {
        /// The query to follow.
        query: Box<Query>,
        /// Begin with the rows as they stand.
        snapshot: bool,
        /// Say when a time is closed.
        progress: bool,
    },
    /// GDPR GET, FORGET, EXPORT, EXPLAIN GDPR FORGET.
    Gdpr {
        /// What is asked.
        request: GdprRequest,
        /// The data-subject table.
        table: RelationId,
        /// The key, over no columns.
        key: Vec<ScalarExpr>,
    },
    /// EXPLAIN.
    Explain {
        /// What to show.
        options: ExplainOptions,
        /// The first rung.
        resolved: Box<Resolved>,
        /// The last rung.
        what: Box<Planned>,
    },
    /// Everything that names no columns: for DDL and the session.
    Other(Box<Statement>),
}

/// Plans a statement. `param_types` are the types that the client gave; all types come back.
///
/// # Errors
/// PostgreSQL's, with its SQLSTATEs and positions in the query string; 0A000 for what is not supported.
pub fn plan_statement(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    session: &SessionInfo,
    forms: &dyn KeyForms,
    param_types: &[Option<ScalarType>],
) -> Result<(Planned, ParamTypes), PlanError> {
    let (resolved, params) = resolve(parsed, catalog, session, param_types)?;
    Ok((planned(resolved, catalog, forms)?, params))
}

/// Plans what was resolved.
///
/// # Errors
/// 0A000 for what cannot be planned.
pub fn planned(resolved: Resolved, catalog: &Catalog, forms: &dyn KeyForms) -> Result<Planned, PlanError> {
    Ok(match resolved {
        Resolved::Query(query) => Planned::Query(Box::new(plan_query(&query, catalog, forms)?)),
        Resolved::Write(write) => Planned::Write(Box::new(plan_write(&write, catalog, forms)?)),
        Resolved::CreateTableAs { query, statement } => {
            Planned::CreateTableAs { query: Box::new(plan_query(&query, catalog, forms)?), statement }
        }
        Resolved::CopyFrom { insert, columns, table, options } => {
            match plan_write(&WriteHir::Insert(*insert), catalog, forms)? {
                WritePlan::Insert(insert) => Planned::CopyFrom { insert: Box::new(insert), columns, table, options },
                WritePlan::Update(_) | WritePlan::Delete(_) => {
                    return Err(PlanError::new("XX000", "an INSERT was planned as another write"));
                }
            }
        }
        Resolved::CopyTo { what, options } => Planned::CopyTo { what: Box::new(planned(*what, catalog, forms)?), options },
        Resolved::DeclareCursor { cursor, what } => {
            Planned::DeclareCursor { cursor, what: Box::new(planned(*what, catalog, forms)?) }
        }
        Resolved::Subscribe { query, snapshot, progress } => {
            Planned::Subscribe { query: Box::new(plan_query(&query, catalog, forms)?), snapshot, progress }
        }
        Resolved::Gdpr { request, table, key } => {
            Planned::Gdpr { request, table, key: key.iter().map(plan_expr).collect::<Result<_, _>>()? }
        }
        Resolved::Explain { options, what } => {
            let last = planned((*what).clone(), catalog, forms)?;
            Planned::Explain { options, resolved: what, what: Box::new(last) }
        }
        Resolved::Other(statement) => Planned::Other(statement),
    })
}
