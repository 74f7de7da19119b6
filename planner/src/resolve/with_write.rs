//! WITH queries that write: what they do, and the statement that they make together.
//!
//! ```text
//!   WITH a AS (DELETE … RETURNING *), b AS (INSERT … SELECT … FROM a RETURNING id) SELECT … FROM b
//!             └─ number 0: rows ─────────────▶ returned_rows(0)        └─ number 1: rows ─────────▶ returned_rows(1)
//! ```
//! Each is a write of its own, run once, all over one snapshot. What reads one reads a table function that gives its rows.

use super::Resolver;
use super::returned::Returned;
use super::statement::Resolved;
use super::write_subquery::given_rows;
use crate::error::PlanError;
use crate::hir::{HirQuery, WithHir, WithMain, WithWrite, WriteHir};
use crate::names::Names;
use crate::scalar::table_func::RETURNED_ROWS;
use repr::ColumnType;
use sqlparser::ast::{Query, SetExpr};

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
            | Resolved::Described { .. }
            | Resolved::With(_)
            | Resolved::CopyFrom { .. }
            | Resolved::Subscribe { .. }
            | Resolved::Gdpr { .. }
            | Resolved::Call(_)
            | Resolved::Other(_) => {
                return Err(PlanError::unsupported("a data-modifying statement in WITH of this statement")
                    .hint("Run the statements one after another in a transaction."));
            }
        };
        *self = Resolved::With(Box::new(WithHir { writes, main }));
        Ok(())
    }
}
