//! WHERE CURRENT OF: the row that a cursor stands on, and which cursors know that.
//!
//! ```text
//! DECLARE  the rows of a plain SELECT, or of one that locks them ─▶ [their columns, the row keys of their tables]
//! UPDATE   [the row of that key, its key] as a relation of one row or none: the session gives it
//! ```

use super::write_subquery::given_rows;
use super::{Resolver, scope::FromItem};
use crate::catalog::Table;
use crate::hir::{CurrentOfHir, HirQuery, OutputColumn};
use crate::names::Names;
use crate::parse::current_of;
use crate::scalar::table_func::ROWS_AT_HAND;
use repr::{ColumnType, RelationId, ScalarType};
use sqlparser::ast::{Expr, GroupByExpr, Query, SetExpr, TableFactor};

/// Whose rows a cursor's rows are. Their keys stand behind its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CursorTables {
    /// The tables.
    pub tables: Vec<RelationId>,
    /// FOR UPDATE and its kind: the rows are locked.
    pub locked: bool,
}

impl Resolver<'_> {
    /// The target of a write as the row that a cursor stands on, if the condition says so.
    pub(super) fn current_row(
        &mut self,
        table: &Table,
        alias: &str,
        condition: Option<&Expr>,
    ) -> Option<(FromItem, CurrentOfHir)> {
        let cursor = super::scope::fold(current_of::read(condition?)?);
        let number = self.row_locks.subqueries.len();
        self.row_locks.subqueries.push(None);
        let mut binding = self.table_binding(table, alias, 0);
        binding.row_keys = vec![(table.id, table.columns.len())];
        let mut types = super::dml::row_types(table);
        types.push(ColumnType::not_null(ScalarType::Bytea));
        let names = Names::bare(table.columns.iter().map(|column| column.name.as_str()));
        let hir = given_rows(&ROWS_AT_HAND, number, types, names, false);
        Some((self.from_item(hir, binding), CurrentOfHir { number, cursor }))
    }

    /// Asks the SELECT that is resolved next for the row keys of its table, if its rows are just those of one.
    pub(super) fn ask_for_row_keys(&mut self, query: &Query) {
        self.row_locks.for_cursor = is_plain(query);
    }

    /// Puts the keys of a SELECT's one table behind its columns.
    pub(super) fn with_row_keys(&mut self, query: &mut HirQuery, keys: &[(RelationId, usize)]) {
        if let [(table, key_column)] = keys {
            add_key(query, *key_column);
            self.row_locks.cursor_tables = vec![*table];
        }
    }

    /// The tables of a cursor's query, whose keys are put behind its columns.
    pub(super) fn cursor_tables(&mut self, query: &mut HirQuery) -> CursorTables {
        if query.locks.is_empty() {
            return CursorTables { tables: std::mem::take(&mut self.row_locks.cursor_tables), locked: false };
        }
        let tables = query.locks.iter().map(|lock| lock.table).collect();
        for key_column in query.locks.iter().map(|lock| lock.key_column).collect::<Vec<_>>() {
            add_key(query, key_column);
        }
        CursorTables { tables, locked: true }
    }
}

fn add_key(query: &mut HirQuery, key_column: usize) {
    let column_type = query.relation.types[key_column].clone();
    query.project.push(key_column);
    query.columns.push(OutputColumn { name: String::new(), column_type, origin: None });
}

/// Whether a query reads one relation, as it stands: neither joined, nor grouped, nor ordered.
fn is_plain(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else { return false };
    let is_ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    let [from] = select.from.as_slice() else { return false };
    query.with.is_none()
        && query.order_by.is_none()
        && query.locks.is_empty()
        && is_ungrouped
        && select.distinct.is_none()
        && from.joins.is_empty()
        && matches!(from.relation, TableFactor::Table { args: None, .. })
}
