//! FOR UPDATE and its kind: which rows of which tables a SELECT locks, at the top and in subqueries.
//!
//! At the top the locks belong to the statement's own rows: their keys are columns beside the output. A subquery that
//! locks is a statement of its own: it is run once, before what is around it, and what is around it reads the rows that
//! it was left with (PostgreSQL runs it once as well, where nothing in it refers to the rows around it). A clause that
//! covers a subquery in FROM locks the rows of its tables that come out at the top.

use super::Resolver;
use super::levels::outer_references;
use super::limit::is_computed;
use super::outputs::{Limits, Outputs};
use super::query::as_subquery;
use super::returned::returned_to;
use super::scope::{Binding, Frame, FromItem, Source, Visible, fold};
use super::write_subquery::given_rows;
use crate::error::PlanError;
use crate::hir::{Hir, HirQuery, LockStrength, LockWait, LockingQuery, OutputColumn, RowLock};
use crate::names::Names;
use crate::parse::row_lock::read;
use crate::scalar::table_func::LOCKED_ROWS;
use repr::ColumnType;
use sqlparser::ast::{Ident, LockClause, LockType, NonBlock, ObjectName, ObjectNamePart, Query, SetExpr};

/// A clause of all tables.
fn of_all(strength: LockStrength, nonblock: Option<NonBlock>) -> LockClause {
    let word = ObjectNamePart::Identifier(Ident::with_quote('"', strength.words()));
    LockClause { lock_type: LockType::Update, of: Some(ObjectName(vec![word])), nonblock }
}

impl Resolver<'_> {
    /// The locks of a SELECT's rows.
    pub(super) fn row_locks(&self, clauses: &[LockClause], frame: &Frame) -> Result<Vec<RowLock>, PlanError> {
        let mut locks: Vec<RowLock> = Vec::new();
        let mut add = |table: &Binding, strength, wait| {
            for &(table, key_column) in &table.row_keys {
                match locks.iter_mut().find(|lock| lock.key_column == key_column) {
                    Some(lock) => {
                        lock.strength = lock.strength.max(strength);
                        lock.wait = lock.wait.max(wait);
                    }
                    None => locks.push(RowLock { table, key_column, strength, wait }),
                }
            }
        };
        for clause in clauses {
            let wait = match clause.nonblock {
                None => LockWait::Wait,
                Some(NonBlock::Nowait) => LockWait::NoWait,
                Some(NonBlock::SkipLocked) => LockWait::SkipLocked,
            };
            let (strength, names) = read(clause);
            if names.is_empty() {
                for table in &frame.tables {
                    self.refuse_lockless(table)?;
                    add(table, strength, wait);
                }
            }
            for name in names {
                let position = self.at(name.span);
                let (wanted, clause) = (fold(name), strength.clause());
                let table = frame.tables.iter().find_map(|table| called(table, &wanted)).ok_or_else(|| {
                    let message = format!("relation \"{wanted}\" in {clause} clause not found in FROM clause");
                    PlanError::new("42P01", message).at(position)
                })?;
                let what = match table.source {
                    Source::Relation | Source::Sequence | Source::Subquery => None,
                    Source::With => Some("a WITH query"),
                    Source::Function => Some("a function"),
                    Source::Join(_) | Source::Using => Some("a join"),
                };
                if let Some(what) = what {
                    return Err(PlanError::new("0A000", format!("{clause} cannot be applied to {what}")).at(position));
                }
                self.refuse_lockless(table)?;
                add(table, strength, wait);
            }
        }
        Ok(locks)
    }

    /// Row locks are of tables.
    fn refuse_lockless(&self, binding: &Binding) -> Result<(), PlanError> {
        if let (Source::Sequence, name) = (&binding.source, binding.hidden_name.as_ref().unwrap_or(&binding.name)) {
            return Err(PlanError::new("42809", format!("cannot lock rows in sequence \"{name}\"")));
        }
        let Some(table) = binding.relation.and_then(|relation| self.catalog.table(relation)) else { return Ok(()) };
        match &table.view {
            Some(view) if view.materialized => {
                Err(PlanError::new("42809", format!("cannot lock rows in materialized view \"{}\"", table.name)))
            }
            // The rows of a view are those of its tables, as of a subquery.
            Some(_) | None => Ok(()),
        }
    }

    /// A subquery in FROM: its columns, and where a clause around it covers it its tables' row keys beside them.
    pub(super) fn derived(&mut self, query: &Query, name: &str) -> Result<FromItem, PlanError> {
        let covering = if self.row_locks.with_row_keys { self.covering(name) } else { Vec::new() };
        self.covered(query, covering)
    }

    /// The same, of the clauses that cover it.
    pub(super) fn covered(&mut self, query: &Query, covering: Vec<LockClause>) -> Result<FromItem, PlanError> {
        if covering.is_empty() || matches!(&*query.body, SetExpr::Values(_)) {
            let (hir, columns) = self.subquery(query, Limits::Ordered)?;
            return Ok(subquery_item(hir, columns));
        }
        let mut locked = query.clone();
        locked.locks.extend(covering);
        if !query.locks.is_empty() {
            // It locks by itself, and as strongly as both clauses together.
            let (hir, columns) = self.subquery(&locked, Limits::Ordered)?;
            return Ok(subquery_item(hir, columns));
        }
        let HirQuery { relation, order_by, limit, offset, mut project, columns, locks, .. } =
            self.query(&locked, Outputs::Settled)?;
        let relation = if limit.is_some() || offset.is_some() || !order_by.is_empty() {
            relation.top_k(Vec::new(), order_by, limit, offset)
        } else {
            relation
        };
        let outputs = columns.len();
        let keys = locks.iter().enumerate().map(|(place, lock)| (lock.table, outputs + place)).collect();
        project.extend(locks.iter().map(|lock| lock.key_column));
        let mut item = subquery_item(relation.project(project), columns);
        item.tables[0].row_keys = keys;
        Ok(item)
    }

    /// The clauses around that cover a FROM item of this name, as of all tables inside it.
    pub(super) fn covering(&self, name: &str) -> Vec<LockClause> {
        let covers = |clause: &&LockClause| {
            let (_, names) = read(clause);
            names.is_empty() || names.into_iter().any(|covered| fold(covered) == name)
        };
        self.row_locks.clauses.iter().filter(covers).map(|clause| of_all(read(clause).0, clause.nonblock)).collect()
    }

    /// A subquery that locks its rows, as the relation that it was left with.
    pub(super) fn locking_subquery(
        &mut self,
        query: &Query,
        outputs: Outputs<'_>,
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        let mut resolved = self.query(query, outputs)?;
        if resolved.locks.is_empty() {
            // There was nothing to lock.
            return Ok(as_subquery(resolved, Limits::Ordered));
        }
        let mut correlated = [&resolved.limit, &resolved.offset].into_iter().flatten().any(is_computed);
        outer_references(&mut resolved.relation, &mut |_, _| correlated = true);
        if correlated {
            if returned_to(&resolved.relation).is_empty() {
                let columns = resolved.columns.clone();
                if let Some(given) = self.locked_beside(resolved, &columns)? {
                    return Ok((given, columns));
                }
            }
            let clause = query.locks.first().map_or_else(String::new, |clause| read(clause).0.clause());
            return Err(PlanError::unsupported(format!("{clause} in a subquery that refers to the query around it"))
                .hint("Lock the rows in a query of their own, in the same transaction."));
        }
        self.under_definitions(&mut resolved.relation);
        if !returned_to(&resolved.relation).is_empty() {
            let clause = query.locks.first().map_or_else(String::new, |clause| read(clause).0.clause());
            return Err(PlanError::unsupported(format!(
                "{clause} of rows that are found by what a WITH query returns"
            ))
            .hint("Lock the rows before, in the same transaction."));
        }
        let columns = resolved.columns.clone();
        let types: Vec<ColumnType> = columns.iter().map(|column| column.column_type.clone()).collect();
        let number = self.row_locks.subqueries.len();
        self.row_locks.subqueries.push(Some(LockingQuery { number, query: resolved, groups: None }));
        let names = Names::bare(columns.iter().map(|column| column.name.as_str()));
        Ok((given_rows(&LOCKED_ROWS, number, types, names, false), columns))
    }

    /// Takes subqueries back that lock rows for nothing: what they stood in is resolved again, or read by nobody.
    pub(super) fn unlock(&mut self, from: usize, to: usize) {
        self.row_locks.subqueries[from..to].iter_mut().for_each(|locking| *locking = None);
    }

    /// Takes WITH queries out of scope. One that nobody has read is not run.
    pub(super) fn leave_ctes(&mut self, mark: usize) {
        for cte in self.ctes.in_scope.split_off(mark.min(self.ctes.in_scope.len())) {
            if !cte.used {
                self.unlock(cte.locking.0, cte.locking.1);
            }
        }
    }

    /// The subqueries of the statement that lock rows.
    pub(super) fn take_locking(&mut self) -> Vec<LockingQuery> {
        std::mem::take(&mut self.row_locks.subqueries).into_iter().flatten().collect()
    }
}

/// What a clause names, within a join that hides it too.
fn called<'b>(binding: &'b Binding, wanted: &str) -> Option<&'b Binding> {
    if binding.name == wanted {
        return Some(binding);
    }
    match &binding.source {
        Source::Join(tables) => tables.iter().find_map(|table| called(table, wanted)),
        _ => None,
    }
}

/// A subquery in FROM, before it has its alias.
fn subquery_item(hir: Hir, outputs: Vec<OutputColumn>) -> FromItem {
    let columns = outputs
        .into_iter()
        .enumerate()
        .map(|(index, output)| Visible {
            name: output.name,
            index,
            column_type: output.column_type,
            origin: output.origin,
        })
        .collect();
    FromItem::single(hir, Binding { source: Source::Subquery, ..Binding::of("", columns) })
}
