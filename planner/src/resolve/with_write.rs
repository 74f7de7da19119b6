//! WITH queries that write: what they do, what they return to the others, and the statement that they make together.
//!
//! ```text
//!   WITH a AS (DELETE … RETURNING *), b AS (INSERT … SELECT … FROM a RETURNING id) SELECT … FROM b
//!             └─ number 0: rows ─────────────▶ returned_rows(0)        └─ number 1: rows ─────────▶ returned_rows(1)
//! ```
//! Each is a write of its own, run once, all over one snapshot. What reads one reads a table function that gives its rows.

use super::Resolver;
use super::row_lock::reads;
use super::statement::Resolved;
use super::write_subquery::given_rows;
use crate::error::PlanError;
use crate::hir::walk::Visitor;
use crate::hir::{Hir, HirExpr, HirNode, HirQuery, OutputColumn, WithHir, WithMain, WithWrite, WriteHir};
use crate::names::Names;
use crate::scalar::table_func::RETURNED_ROWS;
use repr::{ColumnType, Datum};
use sqlparser::ast::{Query, SetExpr};
use std::collections::BTreeSet;

/// A WITH query that writes, as those see it that read it.
pub(super) struct Returned {
    /// What it returns.
    pub(super) value: Hir,
    /// The columns of that.
    pub(super) outputs: Vec<OutputColumn>,
    /// Whether it has RETURNING at all.
    pub(super) returns: bool,
}

/// Whether a query is a write.
pub(super) fn writes(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Whether a query's own WITH writes.
pub(super) fn writes_in_with(query: &Query) -> bool {
    match &*query.body {
        SetExpr::Query(inner) if query.with.is_none() => writes_in_with(inner),
        _ => query.with.iter().flat_map(|with| &with.cte_tables).any(|cte| writes(&cte.query)),
    }
}

impl Resolver<'_> {
    /// Resolves a WITH query that writes.
    pub(super) fn with_write(&mut self, query: &Query, name: &str) -> Result<Returned, PlanError> {
        let (SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner)) = &*query.body else {
            return Err(PlanError::new("0A000", "MERGE not supported in WITH query"));
        };
        let mut write = self.write_under_with(query, inner, false)?;
        self.under_definitions(&mut write.source_mut().relation);
        let number = self.row_locks.subqueries.len();
        self.row_locks.subqueries.push(None);
        let outputs = write.returning().map(|returning| returning.columns.clone());
        self.ctes.writes.push(WithWrite { number, name: name.to_owned(), write });
        let returns = outputs.is_some();
        let outputs = outputs.unwrap_or_default();
        let types: Vec<ColumnType> = outputs.iter().map(|column| column.column_type.clone()).collect();
        let names = Names::bare(outputs.iter().map(|column| column.name.as_str()));
        Ok(Returned { value: given_rows(&RETURNED_ROWS, number, types, names, false), outputs, returns })
    }
}

impl Resolved {
    /// The statement with those that write in its WITH.
    pub(super) fn with_writes(&mut self, writes: Vec<WithWrite>) -> Result<(), PlanError> {
        if writes.is_empty() {
            return Ok(());
        }
        let main = match self {
            Resolved::CopyTo { what, .. } | Resolved::Explain { what, .. } => return what.with_writes(writes),
            Resolved::DeclareCursor { .. } => {
                let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
                return Err(PlanError::new("0A000", message));
            }
            Resolved::Query(query) => {
                if let Some(lock) = query.locks.first() {
                    let clause = lock.strength.clause();
                    return Err(PlanError::unsupported(format!("{clause} beside a data-modifying statement in WITH"))
                        .hint("Lock the rows in a WITH query of their own."));
                }
                WithMain::Query(HirQuery::clone(query))
            }
            Resolved::Write(write) => WithMain::Write(WriteHir::clone(write)),
            Resolved::CreateTableAs { .. }
            | Resolved::With(_)
            | Resolved::CopyFrom { .. }
            | Resolved::Subscribe { .. }
            | Resolved::Gdpr { .. }
            | Resolved::Other(_) => {
                return Err(PlanError::unsupported("a data-modifying statement in WITH of this statement")
                    .hint("Run the statements one after another in a transaction."));
            }
        };
        *self = Resolved::With(Box::new(WithHir { writes, main }));
        Ok(())
    }
}

/// The numbers of the writes whose rows a write reads.
pub(crate) fn returned_to_write(write: &WriteHir) -> BTreeSet<usize> {
    let mut numbers = returned_to(&write.source().relation);
    for beside in write.besides() {
        numbers.extend(returned_to(&beside.query.relation));
    }
    numbers
}

/// The numbers of the writes whose rows a relation reads; definitions around it that nothing reads do not count.
pub(crate) fn returned_to(relation: &Hir) -> BTreeSet<usize> {
    match &relation.node {
        HirNode::Let { id, value, body, .. } => {
            let mut numbers = returned_to(body);
            if reads(body, *id) {
                numbers.extend(returned_to(value));
            }
            numbers
        }
        _ => {
            let mut numbers = BTreeSet::new();
            Visitor { operator: &mut |hir| numbers.extend(given_here(hir)), expression: &mut |_| () }
                .relation(relation);
            numbers
        }
    }
}

/// The number of the write whose rows an operator gives.
fn given_here(hir: &Hir) -> Option<usize> {
    let HirNode::TableFunction { functions, .. } = &hir.node else { return None };
    functions.iter().find_map(|(function, args, _)| match args.as_slice() {
        [HirExpr::Literal(Datum::Int4(number), _)] if std::ptr::eq(*function, &raw const RETURNED_ROWS) => {
            usize::try_from(*number).ok()
        }
        _ => None,
    })
}
