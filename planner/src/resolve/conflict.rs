//! ON CONFLICT: which unique indexes count, and what is done to the row in the way.

use super::dml::{Assignments, row_types};
use super::scope::{Clause, Frame, fold};
use super::updatable::ViewWrite;
use super::write_subquery::computed_beside;
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::{Index, Table};
use crate::error::PlanError;
use crate::hir::{ConflictUpdateHir, HirColumn, HirExpr, OnConflictHir};
use crate::parse::arbiter;
use crate::scalar::implication::implies;
use repr::{ColumnIndex, ColumnType, IndexId};
use sqlparser::ast::{ConflictTarget, Ident, OnConflict, OnConflictAction};

impl Resolver<'_> {
    /// What becomes of a new row that another is in the way of.
    pub(super) fn on_conflict(
        &mut self,
        table: &WriteTarget,
        alias: &str,
        conflict: &OnConflict,
    ) -> Result<OnConflictHir, PlanError> {
        let arbiters = self.arbiters(table, conflict)?;
        let update = match &conflict.action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(_) if arbiters.is_empty() => {
                return Err(PlanError::new(
                    "42601",
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                )
                .hint("For example, ON CONFLICT (column_name)."));
            }
            OnConflictAction::DoUpdate(update) => {
                let (columns, seen) = (table.columns.len(), table.computed(0));
                let existing = self.written_binding(table, alias, 0, 2 * columns);
                let mut excluded = self.written_binding(table, "excluded", columns, 2 * columns + seen.len());
                let seen: Vec<Typed> = seen.into_iter().chain(table.computed(columns)).collect();
                excluded.hidden_name = None;
                excluded.relation = None;
                for column in &mut excluded.columns {
                    column.column_type.nullable = true;
                    // What is to be inserted is nothing that is read of the table.
                    column.origin = None;
                }
                let columns = existing.columns.iter().chain(&excluded.columns).cloned().collect();
                let types: Vec<ColumnType> =
                    row_types(table).into_iter().chain(super::build::nulled(&row_types(table), true)).collect();
                let width = types.len() + seen.len();
                let frame =
                    Frame { tables: vec![existing, excluded], columns, clause: Clause::UpdateSet, ..Frame::default() };
                let (resolved, _) = self.with_frame(frame, |resolver| {
                    let assignments = resolver.assignments(table, &update.assignments, (width, ViewWrite::Insert))?;
                    let condition = match &update.selection {
                        None => None,
                        Some(condition) => {
                            let position = resolver.position_of(condition);
                            let typed = resolver.in_clause(Clause::Where, |resolver| resolver.expr(condition))?;
                            Some(resolver.condition(typed, "WHERE", position)?)
                        }
                    };
                    Ok((assignments, condition))
                })?;
                let (Assignments { rows: mut computed, columns }, condition) = resolved;
                let assign = |(index, typed)| (index, computed_beside(typed, width, &mut computed));
                let assignments = columns.into_iter().map(assign).collect();
                let mut tested = Vec::new();
                let condition =
                    condition.map(|condition| computed_beside(Typed::boolean(condition), width, &mut tested));
                let beside_condition = self.beside(types.clone(), seen.clone(), tested);
                let beside = self.beside(types, seen, computed);
                Some(ConflictUpdateHir { beside, assignments, beside_condition, condition })
            }
        };
        Ok(OnConflictHir { arbiters, update })
    }

    /// Whether an index is of all rows that fulfil a condition.
    fn holds_all_of(&mut self, table: &Table, index: &Index, condition: Option<&HirExpr>) -> Result<bool, PlanError> {
        let Some(predicate) = &index.declared.predicate else { return Ok(true) };
        let Some(condition) = condition else { return Ok(false) };
        let frame = self.row_frame(table, Clause::IndexPredicate);
        let predicate = self.kept_expression(&predicate.expression, frame, |resolver, typed| {
            resolver.condition(typed, "WHERE", None)
        })?;
        Ok(implies(&[condition], &predicate))
    }

    /// A condition over a table's rows, as one of an index.
    pub(super) fn index_condition(&mut self, frame: Frame, text: &str) -> Result<HirExpr, PlanError> {
        self.catalog_expression(text, frame, |resolver, typed| resolver.condition(typed, "WHERE", None))
    }

    /// The column that holds a key: one of that name, or an expression's.
    fn conflict_key(&mut self, table: &WriteTarget, name: &Ident) -> Result<ColumnIndex, PlanError> {
        let (position, folded) = (self.at(name.span), fold(name));
        if let Some((place, _)) = table.named().column_by_name(&folded) {
            self.needs_column(Some((table.named().id, place)));
            return table.columns()[..]
                .iter()
                .find(|(named, _)| *named == place)
                .and_then(|(_, index)| *index)
                .ok_or_else(no_arbiter);
        }
        if name.quote_style.is_none() || self.positions.text(name.span).starts_with('"') {
            return Err(PlanError::new("42703", format!("column \"{folded}\" does not exist")).at(position));
        }
        let wanted = self.index_key(table, &folded).map_err(|mut error| {
            error.position = match (error.position, position) {
                (Some(within), Some(position)) => Some(position + within - 1),
                (None, position) | (position, None) => position,
            };
            error
        })?;
        if let HirExpr::Column(HirColumn::Column { index, .. }) = wanted {
            return Ok(index);
        }
        for (column, _, text) in table.expression_keys() {
            let frame = self.row_frame(table, Clause::IndexExpression);
            if self.kept_expression(text, frame, |resolver, typed| resolver.settle(typed))?.expr == wanted {
                return Ok(column);
            }
        }
        Err(no_arbiter())
    }

    fn index_key(&mut self, table: &WriteTarget, text: &str) -> Result<HirExpr, PlanError> {
        let frame = self.written_frame(table, Clause::IndexExpression);
        Ok(self.catalog_expression(text, frame, |resolver, typed| resolver.settle(typed))?.expr)
    }

    /// The unique indexes that are named; none if any counts.
    fn arbiters(&mut self, table: &WriteTarget, conflict: &OnConflict) -> Result<Vec<IndexId>, PlanError> {
        Ok(match &conflict.conflict_target {
            None => Vec::new(),
            Some(ConflictTarget::Columns(names)) => {
                let mut columns = Vec::with_capacity(names.len());
                for name in names {
                    let index = self.conflict_key(table, name)?;
                    if !columns.contains(&index) {
                        columns.push(index);
                    }
                }
                let condition = match names.last().and_then(|last| arbiter::predicate(self.positions.behind(last.span)))
                {
                    Some(text) => {
                        let frame = self.written_frame(table, Clause::IndexPredicate);
                        Some(self.index_condition(frame, &text)?)
                    }
                    None => None,
                };
                let mut found: Vec<IndexId> = Vec::new();
                for index in &table.indexes {
                    let is_arbiter = index.unique
                        && index.columns.len() == columns.len()
                        && columns.iter().all(|column| index.columns.contains(column))
                        && !index.constraint.as_ref().is_some_and(|constraint| constraint.deferrable);
                    if is_arbiter && self.holds_all_of(table, index, condition.as_ref())? {
                        found.push(index.id);
                    }
                }
                if found.is_empty() {
                    return Err(no_arbiter());
                }
                found
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let wanted = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                let found = table
                    .indexes
                    .iter()
                    .find(|index| index.constraint.as_ref().is_some_and(|constraint| constraint.name == wanted))
                    .filter(|_| table.through.is_none())
                    .ok_or_else(|| {
                        PlanError::new(
                            "42704",
                            format!("constraint \"{wanted}\" for table \"{}\" does not exist", table.named().name),
                        )
                    })?;
                if found.constraint.as_ref().is_some_and(|constraint| constraint.deferrable) {
                    return Err(PlanError::new(
                        "55000",
                        "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
                    ));
                }
                vec![found.id]
            }
        })
    }
}

fn no_arbiter() -> PlanError {
    PlanError::new("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification")
}
