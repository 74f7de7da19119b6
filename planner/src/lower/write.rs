//! Writes: their sources are queries, their expressions stand over rows and have no subqueries left.

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::{
    BesideHir, HirExpr, MergeActionHir, MergeWhenHir, ReturningHir, RowChecksHir, WithHir, WithMain, WithWrite,
    WriteHir,
};
use crate::lower::constants::constants_of;
use crate::mir::row_expr::plan_expr;
use crate::physical::KeyForms;
use crate::plan::{
    Beside, ConflictAction, DeletePlan, InsertPlan, MergeAction, MergePlan, MergeWhen, OnConflict, Returning,
    RowChecks, UpdatePlan, ViewChecks, WithPart, WithPlan, WritePlan,
};
use crate::resolve::{returned_to, returned_to_write};
use crate::scalar::ScalarExpr;
use repr::ColumnIndex;
use std::sync::Arc;

/// Plans INSERT, UPDATE and DELETE.
pub fn plan_write(write: &WriteHir, catalog: &Catalog, forms: &dyn KeyForms) -> Result<WritePlan, PlanError> {
    Ok(match write {
        WriteHir::Insert(insert) => WritePlan::Insert(InsertPlan {
            table: insert.table,
            source: Arc::new(super::plan_query(&insert.source, catalog, forms)?),
            checks: checks(&insert.checks, catalog, forms)?,
            on_conflict: match &insert.on_conflict {
                None => None,
                Some(conflict) => Some(OnConflict {
                    arbiters: conflict.arbiters.clone(),
                    action: match &conflict.update {
                        None => ConflictAction::Nothing,
                        Some(update) => ConflictAction::Update {
                            beside: beside(update.beside.as_ref(), catalog, forms)?,
                            beside_condition: beside(update.beside_condition.as_ref(), catalog, forms)?,
                            assignments: assignments(&update.assignments)?,
                            condition: update.condition.as_ref().map(plan_expr).transpose()?,
                        },
                    },
                }),
            },
            returning: returning(insert.returning.as_ref(), catalog, forms)?,
        }),
        WriteHir::Update(update) => WritePlan::Update(UpdatePlan {
            table: update.table,
            source: {
                let mut source = super::plan_query(&update.source, catalog, forms)?;
                source.constants.extend(constants_of(update.assignments.iter().map(|(_, value)| value))?);
                Arc::new(source)
            },
            assignments: assignments(&update.assignments)?,
            checks: checks(&update.checks, catalog, forms)?,
            returning: returning(update.returning.as_ref(), catalog, forms)?,
            current_of: update.current_of.clone(),
        }),
        WriteHir::Delete(delete) => WritePlan::Delete(DeletePlan {
            table: delete.table,
            source: Arc::new(super::plan_query(&delete.source, catalog, forms)?),
            returning: returning(delete.returning.as_ref(), catalog, forms)?,
            current_of: delete.current_of.clone(),
        }),
        WriteHir::Merge(merge) => WritePlan::Merge(MergePlan {
            table: merge.table,
            source: Arc::new(super::plan_query(&merge.source, catalog, forms)?),
            whens: merge.whens.iter().map(merge_when).collect::<Result<_, _>>()?,
            checks: checks(&merge.checks, catalog, forms)?,
        }),
    })
}

/// Plans a statement whose WITH writes. What is run when is as in PostgreSQL: the statement, and before it what it reads;
/// then the others, from the last on, and before each what it reads.
pub fn plan_with(with: &WithHir, catalog: &Catalog, forms: &dyn KeyForms) -> Result<WithPlan, PlanError> {
    let main = match &with.main {
        WithMain::Query(query) => returned_to(&query.relation),
        WithMain::Write(write) => returned_to_write(write),
    };
    let mut before = Vec::new();
    for place in (0..with.writes.len()).filter(|place| main.contains(&with.writes[*place].number)) {
        visit(with, place, &mut before);
    }
    let mut all = before.clone();
    for place in (0..with.writes.len()).rev() {
        visit(with, place, &mut all);
    }
    let mut parts = Vec::with_capacity(all.len() + 1);
    for (turn, place) in all.iter().map(|place| Some(*place)).chain([None]).enumerate() {
        if turn == before.len() {
            parts.push(match &with.main {
                WithMain::Query(query) => WithPart::Query(Arc::new(super::plan_query(query, catalog, forms)?)),
                WithMain::Write(write) => WithPart::Main(Arc::new(plan_write(write, catalog, forms)?)),
            });
        }
        let Some(WithWrite { number, name, write }) = place.map(|place| &with.writes[place]) else { continue };
        let plan = Arc::new(plan_write(write, catalog, forms)?);
        parts.push(WithPart::Write { number: *number, name: name.clone(), plan });
    }
    Ok(WithPlan { parts })
}

/// Puts a write in the order behind those whose rows it reads, which are written before it.
fn visit(with: &WithHir, place: usize, order: &mut Vec<usize>) {
    if order.contains(&place) {
        return;
    }
    let read = returned_to_write(&with.writes[place].write);
    for earlier in (0..place).filter(|earlier| read.contains(&with.writes[*earlier].number)) {
        visit(with, earlier, order);
    }
    order.push(place);
}

fn merge_when(when: &MergeWhenHir) -> Result<MergeWhen, PlanError> {
    let action = match &when.action {
        MergeActionHir::Nothing => MergeAction::Nothing,
        MergeActionHir::Delete => MergeAction::Delete,
        MergeActionHir::Update(set) => MergeAction::Update(assignments(set)?),
        MergeActionHir::Insert(values) => MergeAction::Insert(values.iter().map(plan_expr).collect::<Result<_, _>>()?),
    };
    let condition = when.condition.as_ref().map(plan_expr).transpose()?;
    Ok(MergeWhen { matched: when.matched, condition, action })
}

fn assignments(assignments: &[(ColumnIndex, HirExpr)]) -> Result<Vec<(ColumnIndex, ScalarExpr)>, PlanError> {
    assignments.iter().map(|(column, expr)| Ok((*column, plan_expr(expr)?))).collect()
}

/// The same, with what views ask.
fn checks(checks: &RowChecksHir, catalog: &Catalog, forms: &dyn KeyForms) -> Result<RowChecks, PlanError> {
    let views = match &checks.views {
        None => None,
        Some(views) => Some(ViewChecks {
            beside: beside(views.beside.as_ref(), catalog, forms)?,
            conditions: views
                .conditions
                .iter()
                .map(|(view, expr)| Ok((view.clone(), plan_expr(expr)?)))
                .collect::<Result<_, PlanError>>()?,
        }),
    };
    Ok(RowChecks { views, ..plan_checks(checks)? })
}

/// What rows of a table must pass, ready to be evaluated.
pub(crate) fn plan_checks(checks: &RowChecksHir) -> Result<RowChecks, PlanError> {
    Ok(RowChecks {
        generated: assignments(&checks.generated)?,
        domains: assignments(&checks.domains)?,
        not_null: checks.not_null.clone(),
        checks: checks
            .checks
            .iter()
            .map(|(name, expr)| Ok((name.clone(), plan_expr(expr)?)))
            .collect::<Result<_, PlanError>>()?,
        index_predicates: checks.index_predicates.iter().map(plan_expr).collect::<Result<_, PlanError>>()?,
        terms: checks
            .terms
            .iter()
            .map(|check| Ok((check.term.clone(), plan_expr(&check.expr)?)))
            .collect::<Result<_, PlanError>>()?,
        views: None,
        holds: checks
            .holds
            .iter()
            .map(|(name, expr)| Ok((name.clone(), expr.as_ref().map(plan_expr).transpose()?)))
            .collect::<Result<_, PlanError>>()?,
    })
}

fn beside(beside: Option<&BesideHir>, catalog: &Catalog, forms: &dyn KeyForms) -> Result<Option<Beside>, PlanError> {
    let Some(BesideHir { number, query }) = beside else { return Ok(None) };
    Ok(Some(Beside { number: *number, query: Arc::new(super::plan_query(query, catalog, forms)?) }))
}

fn returning(
    returning: Option<&ReturningHir>,
    catalog: &Catalog,
    forms: &dyn KeyForms,
) -> Result<Option<Returning>, PlanError> {
    let Some(returning) = returning else { return Ok(None) };
    let beside = beside(returning.beside.as_ref(), catalog, forms)?;
    let exprs = returning.exprs.iter().map(plan_expr).collect::<Result<_, _>>()?;
    Ok(Some(Returning { has_xmax: returning.has_xmax, beside, exprs, columns: returning.columns.clone() }))
}
