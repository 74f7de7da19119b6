//! UPDATE and DELETE: a source with the target's rows and row keys, and what is done to them.

use super::build::is_stable;
use super::dml::{Assignments, source_query};
use super::levels::has_subquery;
use super::scope::{Clause, Frame, FromItem, fold};
use super::updatable::ViewWrite;
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::{PolicyCommand, Privilege, Table};
use crate::error::PlanError;
use crate::hir::{CurrentOfHir, DeleteHir, Hir, HirExpr, HirQuery, RowChecksHir, UpdateHir};
use repr::ColumnIndex;
use repr::id::is_temporary;
use sqlparser::ast::{Delete, Expr, FromTable, TableFactor, TableWithJoins, Update, UpdateTableFromKind};

impl Resolver<'_> {
    pub(super) fn update(&mut self, update: &Update) -> Result<UpdateHir, PlanError> {
        if update.or.is_some() || update.output.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
            return Err(PlanError::new("42601", "syntax error in UPDATE"));
        }
        let (table, alias) = self.write_target(&update.table, ViewWrite::Update)?;
        let others: &[TableWithJoins] = match &update.from {
            None => &[],
            Some(UpdateTableFromKind::AfterSet(items)) => items,
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(PlanError::new("42601", "syntax error at or near \"FROM\""));
            }
        };
        let (item, current_of) =
            self.write_source((&table, &alias, PolicyCommand::Update), others, update.selection.as_ref())?;
        self.needs_rows(&table);
        let condition = update.selection.as_ref().filter(|_| current_of.is_none());
        let frame = item.frame();
        let width = item.hir.arity();
        let (resolved, _) = self.with_frame(item.frame(), |resolver| {
            let assignments = resolver.in_clause(Clause::UpdateSet, |resolver| {
                resolver.assignments(&table, &update.assignments, (width, ViewWrite::Update))
            })?;
            let condition = resolver.where_clause(condition)?;
            Ok((assignments, condition))
        })?;
        let (assignments, condition) = resolved;
        let (relation, assignments) = with_computed(item.hir.filter(condition), assignments);
        if self.is_subject() {
            super::subject::refuse_keys(self.catalog, &table, assignments.iter().map(|(column, _)| *column))?;
        }
        let mut checks = self.row_checks(&table)?;
        checks.views = self.view_checks(&table);
        let seen = table.computed(0);
        let frame = after_update(frame, table.columns.len() + 1, seen.len(), relation.arity());
        let returning = self.returning(update.returning.as_deref(), frame, (relation.types.clone(), seen))?;
        let project: Vec<usize> = (0..relation.arity()).collect();
        let mut source = source_query(relation, project);
        self.check_changed(&table, &assignments, (&mut checks, &mut source))?;
        Ok(UpdateHir { table: table.id, source, assignments, checks, returning, current_of })
    }

    /// What policies ask of rows as they become, which stand beside the source's columns while they are asked.
    fn check_changed(
        &mut self,
        table: &Table,
        assignments: &[(ColumnIndex, HirExpr)],
        (checks, source): (&mut RowChecksHir, &mut HirQuery),
    ) -> Result<(), PlanError> {
        if self.catalog.rights.row_security.is_empty() && !table.says_purposes() {
            return Ok(());
        }
        let width = source.relation.arity();
        let mut positions: Vec<usize> = (0..table.columns.len()).collect();
        let mut changed = Vec::with_capacity(assignments.len());
        for (column, expr) in assignments {
            positions[*column] = width + changed.len();
            changed.push(Typed::of(expr.clone(), table.columns[*column].column_type.clone()));
        }
        let relation = std::mem::replace(&mut source.relation, Hir::unit());
        source.relation = relation.map(changed);
        self.check_policies(table, PolicyCommand::Update, true, (checks, source, &positions))?;
        let relation = std::mem::replace(&mut source.relation, Hir::unit());
        source.relation = relation.project((0..width).collect());
        Ok(())
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> Result<DeleteHir, PlanError> {
        if !delete.tables.is_empty() || delete.output.is_some() || !delete.order_by.is_empty() || delete.limit.is_some()
        {
            return Err(PlanError::new("42601", "syntax error in DELETE"));
        }
        let target = match &delete.from {
            FromTable::WithFromKeyword(items) => match items.as_slice() {
                [target] => target,
                _ => return Err(PlanError::new("42601", "syntax error at or near \",\"")),
            },
            FromTable::WithoutKeyword(_) => return Err(PlanError::new("42601", "syntax error in DELETE")),
        };
        let (table, alias) = self.write_target(target, ViewWrite::Delete)?;
        self.needs_written(&table, Privilege::Delete, &[]);
        self.needs_rows(&table);
        let others = delete.using.as_deref().unwrap_or_default();
        let (item, current_of) =
            self.write_source((&table, &alias, PolicyCommand::Delete), others, delete.selection.as_ref())?;
        let written = delete.selection.as_ref().filter(|_| current_of.is_none());
        let frame = item.frame();
        let (condition, _) = self.with_frame(item.frame(), |resolver| resolver.where_clause(written))?;
        let relation = item.hir.filter(condition);
        let returning = self.returning(delete.returning.as_deref(), frame, (relation.types.clone(), Vec::new()))?;
        let project = (0..relation.arity()).collect();
        Ok(DeleteHir { table: table.id, source: source_query(relation, project), returning, current_of })
    }

    fn write_target(&mut self, written: &TableWithJoins, write: ViewWrite) -> Result<(WriteTarget, String), PlanError> {
        let TableFactor::Table { name, alias, args: None, .. } = &written.relation else {
            return Err(PlanError::new("42601", "a write needs a table"));
        };
        if !written.joins.is_empty() {
            return Err(PlanError::new("42601", "syntax error at or near \"JOIN\""));
        }
        let table = self.written_table(name, write)?;
        let alias = alias.as_ref().map_or_else(|| table.named().name.clone(), |alias| fold(&alias.name));
        Ok((table, alias))
    }

    fn write_source(
        &mut self,
        (table, alias, command): (&WriteTarget, &str, PolicyCommand),
        others: &[TableWithJoins],
        condition: Option<&Expr>,
    ) -> Result<(FromItem, Option<CurrentOfHir>), PlanError> {
        let floor = std::mem::replace(&mut self.nesting.lateral_floor, self.frames.len());
        let (target, current_of) = match self.current_row(table, alias, condition) {
            Some((target, current_of)) => (target, Some(current_of)),
            None => (self.target_item(table, alias), None),
        };
        // What is changed is read: it must be there for SELECT, too.
        let hir = match !is_temporary(table.id.0) && self.is_subject() {
            true => self.subject_rows(table, true, true)?,
            false => {
                let hir = self.for_purpose(target.hir, table)?;
                self.under_policies(hir, table, &[command, PolicyCommand::Select])?
            }
        };
        let hir = self.unexpired(hir, table)?;
        let target = self.seen_through(table, alias, FromItem { hir, ..target })?;
        let width = target.hir.arity();
        let mut item = Ok(target);
        for other in others {
            item = item.and_then(|left| self.cross(left, other, width));
        }
        self.nesting.lateral_floor = floor;
        Ok((item?, current_of))
    }

    pub(super) fn where_clause(&mut self, condition: Option<&Expr>) -> Result<Vec<HirExpr>, PlanError> {
        let Some(condition) = condition else { return Ok(Vec::new()) };
        let position = self.position_of(condition);
        let typed = self.in_clause(Clause::Where, |resolver| resolver.expr(condition))?;
        let condition = self.condition(typed, "WHERE", position)?;
        self.behind_policies(super::build::conjuncts(condition))
    }
}

/// The frame of RETURNING: what a view computes of the row is computed anew of the changed one.
fn after_update(mut frame: Frame, first: usize, count: usize, anew: usize) -> Frame {
    let columns = frame.columns.iter_mut().chain(frame.tables.iter_mut().flat_map(|table| &mut table.columns));
    for column in columns.filter(|column| (first..first + count).contains(&column.index)) {
        column.index = column.index - first + anew;
    }
    frame
}

/// Assignments that look into other tables, or give another value each time, become columns of the source: computed once for each
/// row, in the order of the table's columns.
fn with_computed(relation: Hir, assignments: Assignments) -> (Hir, Vec<(ColumnIndex, HirExpr)>) {
    let Assignments { rows: mut computed, columns: mut assigned } = assignments;
    assigned.sort_by_key(|(index, _)| *index);
    let mut columns = Vec::with_capacity(assigned.len());
    for (index, typed) in assigned {
        if has_subquery(&typed.expr) || !is_stable(&typed.expr) {
            let place = relation.arity() + computed.len();
            columns.push((index, Typed::column(place, typed.column_type.clone()).expr));
            computed.push(typed);
        } else {
            columns.push((index, typed.expr));
        }
    }
    (relation.map(computed), columns)
}
