//! Defaults of views' columns: what an INSERT by a view leaves out is the view's to fill, then the one's below it, then the table's.
//!
//! ```text
//! INSERT INTO over (a) …    over    a, b DEFAULT 1         b: 1
//!                           below   a, b, c DEFAULT 2      c: 2, what `over` says nothing of
//!                           table   a, b, c, d DEFAULT 3   d: 3
//! ```
//! A default of a view counts as if the statement had given it: it must be of a column that can be written, and the table must take it.

use super::insert::is_overridden;
use super::part::{Assignee, assigned_twice};
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::Table;
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::overriding::Overriding;
use repr::{ColumnIndex, Datum};
use std::sync::Arc;

impl Resolver<'_> {
    /// What an INSERT gives a column of the table that it says nothing of.
    pub(super) fn omitted_value(
        &mut self,
        table: &WriteTarget,
        index: ColumnIndex,
        overriding: Overriding,
    ) -> Result<Typed, PlanError> {
        let mut place = None;
        let mut value = None;
        for (level, view) in table.views().enumerate() {
            for (other, typed) in self.defaults_for(table, level, index)? {
                if place == Some(other) {
                    // A view over it has given a value.
                    continue;
                }
                if place.is_some() {
                    return Err(assigned_twice(table.name_below(level, other)));
                }
                (place, value) = (Some(other), Some(typed));
            }
            place = place.and_then(|place| view.places[place]);
        }
        match value {
            Some(value) => {
                self.check_given(table, index, overriding)?;
                if is_overridden(table, index, overriding) {
                    return self.default_value(table, index);
                }
                let column = &table.columns[index];
                self.assign(value, &column.column_type, &column.name, None)
            }
            None => self.default_value(table, index),
        }
    }

    /// 42601 for a column of the table that the statement gives a value by one of a view's columns, and a default by another.
    pub(super) fn refuse_default_beside(
        &mut self,
        table: &WriteTarget,
        index: ColumnIndex,
        given: ColumnIndex,
    ) -> Result<(), PlanError> {
        let mut place = Some(given);
        for (level, view) in table.views().enumerate() {
            if let Some((other, _)) =
                self.defaults_for(table, level, index)?.into_iter().find(|(other, _)| Some(*other) != place)
            {
                return Err(assigned_twice(table.name_below(level, other)));
            }
            place = place.and_then(|place| view.places[place]);
        }
        Ok(())
    }

    /// The word DEFAULT for what an INSERT assigns to.
    pub(super) fn default_of_target(&mut self, table: &WriteTarget, target: &Assignee) -> Result<Typed, PlanError> {
        let mut place = Some(target.named);
        for view in table.views() {
            let Some(here) = place else { break };
            if let Some(value) = self.default_of_view(&view.view, here)? {
                let column = &table.columns[target.index];
                return self.assign(value, &column.column_type, &column.name, None);
            }
            place = view.places[here];
        }
        self.default_value(table, target.index)
    }

    /// What a view's column has where nothing is said: NULL does not count.
    pub(super) fn default_of_view(
        &mut self,
        view: &Arc<Table>,
        place: ColumnIndex,
    ) -> Result<Option<Typed>, PlanError> {
        let column = &view.columns[place];
        if column.default.is_none() && column.column_type.domain == 0 {
            return Ok(None);
        }
        let value = self.default_value(view, place)?;
        let is_null = matches!(&value.expr, HirExpr::Literal(Datum::Null, _));
        let counts = column.default.is_some() && (column.column_type.domain != 0 || column.column_type.modifier != -1);
        Ok(Some(value).filter(|_| !is_null || counts))
    }

    /// 0A000 for a default of a column that a view computes.
    pub(super) fn refuse_computed_defaults(&mut self, table: &WriteTarget) -> Result<(), PlanError> {
        for (level, view) in table.views().enumerate() {
            for place in 0..view.view.columns.len() {
                if table.base_of(level, place).is_none() && self.default_of_view(&view.view, place)?.is_some() {
                    return Err(table.computed_below(level, place));
                }
            }
        }
        Ok(())
    }

    /// The columns of one of the views that are a column of the table and have a default.
    fn defaults_for(
        &mut self,
        table: &WriteTarget,
        level: usize,
        index: ColumnIndex,
    ) -> Result<Vec<(ColumnIndex, Typed)>, PlanError> {
        let mut found = Vec::new();
        let Some(view) = table.views().nth(level) else { return Ok(found) };
        for place in 0..view.view.columns.len() {
            if table.base_of(level, place) == Some(index)
                && let Some(value) = self.default_of_view(&view.view, place)?
            {
                found.push((place, value));
            }
        }
        Ok(found)
    }
}
