//! COPY's terms that look at columns: those that the FORCE options name, and the condition of COPY FROM.

use super::Resolver;
use super::levels::has_subquery;
use super::scope::Clause;
use crate::catalog::Table;
use crate::error::PlanError;
use crate::hir::{HirExpr, OutputColumn};
use crate::parse::utility::CopyOptions;
use sqlparser::ast::Expr;

impl Resolver<'_> {
    /// The WHERE of COPY FROM, over the table's row.
    pub(super) fn copy_condition(&mut self, table: &Table, written: &Expr) -> Result<HirExpr, PlanError> {
        let position = self.position_of(written);
        let frame = self.row_frame(table, Clause::CopyWhere);
        let (condition, _) = self.with_frame(frame, |resolver| {
            let typed = resolver.expr(written)?;
            resolver.condition(typed, "WHERE", position)
        })?;
        if has_subquery(&condition) {
            return Err(PlanError::new("0A000", "cannot use subquery in COPY FROM WHERE condition").at(position));
        }
        match self.params.len() {
            0 => Ok(condition),
            number => Err(PlanError::new("42P02", format!("there is no parameter ${number}")).at(position)),
        }
    }
}

fn named(options: &CopyOptions) -> impl Iterator<Item = &String> {
    let quoted = options.force_quote.iter().flatten();
    quoted.chain(&options.force_not_null).chain(&options.force_null)
}

/// 42703 for one that the table has not; whether it is copied is seen when COPY runs.
pub(super) fn check_in_table(options: &CopyOptions, table: &Table) -> Result<(), PlanError> {
    match named(options).find(|name| table.column_by_name(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            Err(PlanError::new("42703", message))
        }
    }
}

/// 42703 for one that the query has not.
pub(super) fn check_in_query(options: &CopyOptions, columns: &[OutputColumn]) -> Result<(), PlanError> {
    match named(options).find(|name| !columns.iter().any(|column| column.name == **name)) {
        None => Ok(()),
        Some(name) => Err(PlanError::new("42703", format!("column \"{name}\" does not exist"))),
    }
}
