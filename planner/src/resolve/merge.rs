//! MERGE: a join of the target's rows with a source, and what becomes of each row of it.
//!
//! ```text
//!   source ─ ON ─▶ [target's row, its key, the source's row] ─▶ the first WHEN that holds ─▶ UPDATE, DELETE, INSERT, nothing
//! ```
//! A row of the source that has no target comes with NULL for the key, where a WHEN NOT MATCHED asks for it.

use super::dml::{is_default, null_of, source_query};
use super::levels::has_subquery;
use super::scope::{Clause, Frame, FromItem, fold};
use super::updatable::ViewWrite;
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::Privilege;
use crate::error::PlanError;
use crate::hir::{HirExpr, JoinKind, MergeActionHir, MergeHir, MergeWhenHir};
use crate::parse::literals::{self, LiteralRun};
use crate::parse::overriding::Overriding;
use sqlparser::ast::{
    Expr, Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateKind,
    TableFactor,
};

/// Expressions over rows of the join, and those among them that look into other tables: columns behind the join's.
struct Computed {
    width: usize,
    columns: Vec<Typed>,
}

impl Computed {
    fn take(&mut self, typed: Typed) -> HirExpr {
        if !has_subquery(&typed.expr) {
            return typed.expr;
        }
        let column = Typed::column(self.width + self.columns.len(), typed.column_type.clone());
        self.columns.push(typed);
        column.expr
    }
}

impl Resolver<'_> {
    pub(super) fn merge(&mut self, merge: &Merge) -> Result<MergeHir, PlanError> {
        let TableFactor::Table { name, alias, args: None, .. } = &merge.table else {
            return Err(PlanError::new("42601", "syntax error in MERGE"));
        };
        if merge.output.is_some() {
            return Err(PlanError::new("42601", "syntax error at or near \"RETURNING\""));
        }
        if !merge.into {
            return Err(PlanError::new("42601", "syntax error in MERGE"));
        }
        refuse_unreachable(&merge.clauses)?;
        let table = self.written_table(name, ViewWrite::Merge)?;
        self.refuse_policies(&table, "MERGE")?;
        let alias = alias.as_ref().map_or_else(|| table.name.clone(), |alias| fold(&alias.name));
        let target = self.target_item(&table, &alias);
        let target = FromItem { hir: self.unexpired(target.hir, &table)?, ..target };
        let source = self.factor(&merge.source)?;
        let inserts = merge.clauses.iter().any(|clause| clause.clause_kind != MergeClauseKind::Matched);
        let kind = if inserts { JoinKind::Right } else { JoinKind::Inner };
        if source.tables.iter().any(|table| table.name == alias) {
            return Err(PlanError::new("42712", format!("name \"{alias}\" specified more than once"))
                .detail("The name is used both as MERGE target table and data source."));
        }
        let item = self.merged_with(target, source, kind, &merge.on)?;
        let mut computed = Computed { width: item.hir.arity(), columns: Vec::new() };
        let mut whens = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            let matched = clause.clause_kind == MergeClauseKind::Matched;
            let mut frame = item.frame();
            if !matched {
                // Of the target nothing is seen where no row of it has matched.
                let target = frame.tables.remove(0);
                frame.columns.retain(|column| target.columns.iter().all(|own| own.index != column.index));
            }
            let when = self.merge_when(&table, clause, matched, frame, &mut computed);
            whens.push(if matched { when? } else { when.map_err(|error| out_of_sight(error, &table, &alias))? });
        }
        let checks = self.row_checks(&table)?;
        let relation = item.hir.map(computed.columns);
        let project = (0..relation.arity()).collect();
        Ok(MergeHir { table: table.id, source: source_query(relation, project), whens, checks })
    }

    fn merge_when(
        &mut self,
        table: &WriteTarget,
        clause: &MergeClause,
        matched: bool,
        frame: Frame,
        computed: &mut Computed,
    ) -> Result<MergeWhenHir, PlanError> {
        let (when, _) = self.with_frame(frame, |resolver| {
            let condition = match &clause.predicate {
                None => None,
                Some(written) => {
                    let position = resolver.position_of(written);
                    let typed = resolver.in_clause(Clause::MergeWhen, |resolver| resolver.expr(written))?;
                    let expr = resolver.condition(typed, "WHEN", position)?;
                    Some(computed.take(Typed::boolean(expr)))
                }
            };
            let action = match (&clause.action, matched) {
                (MergeAction::DoNothing { .. }, _) => MergeActionHir::Nothing,
                (MergeAction::Delete { .. }, true) => {
                    resolver.needs.add(table.id.0, Privilege::Delete);
                    MergeActionHir::Delete
                }
                (MergeAction::Update(update), true) => {
                    let MergeUpdateKind::Set(written) = &update.kind else {
                        return Err(PlanError::new("42601", "syntax error at or near \"*\""));
                    };
                    if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                        return Err(PlanError::new("42601", "syntax error at or near \"WHERE\""));
                    }
                    let width = computed.width + computed.columns.len();
                    let assigned = resolver.in_clause(Clause::UpdateSet, |resolver| {
                        resolver.assignments(table, written, (width, ViewWrite::Merge))
                    })?;
                    computed.columns.extend(assigned.rows);
                    let mut columns = assigned.columns;
                    columns.sort_by_key(|(index, _)| *index);
                    let taken = columns.into_iter().map(|(index, typed)| (index, computed.take(typed)));
                    MergeActionHir::Update(taken.collect())
                }
                (MergeAction::Insert(insert), false) => {
                    let row = resolver.in_clause(Clause::Values, |resolver| resolver.merge_insert(table, insert))?;
                    MergeActionHir::Insert(row.into_iter().map(|typed| computed.take(typed)).collect())
                }
                (MergeAction::Delete { .. } | MergeAction::Update(_), false) | (MergeAction::Insert(_), true) => {
                    return Err(PlanError::new("42601", "syntax error in MERGE"));
                }
            };
            Ok(MergeWhenHir { matched, condition, action })
        })?;
        Ok(when)
    }

    /// One value per physical column: given ones, and defaults of the others.
    fn merge_insert(&mut self, table: &WriteTarget, insert: &MergeInsertExpr) -> Result<Vec<Typed>, PlanError> {
        let MergeInsertKind::Values(values) = &insert.kind else {
            return Err(PlanError::new("42601", "syntax error in MERGE"));
        };
        let [row] = values.rows.as_slice() else {
            return Err(PlanError::new("42601", "syntax error at or near \",\""));
        };
        let spread = match row.content.as_slice() {
            [only] => match literals::run(only) {
                Some(LiteralRun::Rows(text)) => Some(literals::spread_rows(text)?),
                _ => None,
            },
            _ => None,
        };
        let given: &[Expr] = match spread.as_deref() {
            Some([only]) => only,
            Some(_) => return Err(PlanError::new("42601", "syntax error at or near \",\"")),
            None => &row.content,
        };
        let (targets, named) = self.inserted_columns(table, &insert.columns)?;
        let extra = given.get(targets.len()).and_then(|expr| self.position_of(expr));
        self.check_width((table, &targets), given.len(), named, extra)?;
        self.needs_inserting(table, targets.iter().map(|target| target.index));
        let mut row = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let mut values = Vec::new();
            for (target, written) in targets.iter().zip(given).filter(|(target, _)| target.index == index) {
                let value = if is_default(written) {
                    target.check_default()?;
                    self.default_value(table, index)?
                } else {
                    self.check_given(table, index, Overriding::Nothing)?;
                    let position = self.position_of(written);
                    let typed = self.expr(written)?;
                    self.assign_to(table, target, typed, position)?
                };
                values.push((target, value));
            }
            let value = match values.is_empty() {
                false => self.inserted_value(table, index, values)?,
                true if column.dropped => null_of(&column.column_type),
                true => self.default_value(table, index)?,
            };
            row.push(self.kept_until(table, index, value)?);
        }
        Ok(row)
    }
}

/// What is said of the target where no row of it has matched.
fn out_of_sight(error: PlanError, table: &WriteTarget, alias: &str) -> PlanError {
    const HINT: &str = "it cannot be referenced from this part of the query.";
    if error.message == format!("missing FROM-clause entry for table \"{alias}\"") {
        let message = format!("invalid reference to FROM-clause entry for table \"{alias}\"");
        let hint = format!("There is an entry for table \"{alias}\", but {HINT}");
        return PlanError::new("42P01", message).hint(hint).at(error.position);
    }
    let mut columns = table.live_columns().map(|(_, column)| &column.name);
    match columns.find(|name| error.message == format!("column \"{name}\" does not exist")) {
        Some(name) => {
            let hint = format!("There is a column named \"{name}\" in table \"{alias}\", but {HINT}");
            error.hint(hint)
        }
        None => error,
    }
}

/// 42601 for a WHEN behind one of its kind that takes all rows.
fn refuse_unreachable(clauses: &[MergeClause]) -> Result<(), PlanError> {
    for (place, clause) in clauses.iter().enumerate() {
        if let MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource = clause.clause_kind {
            return Err(PlanError::new("42601", "syntax error at or near \"BY\""));
        }
        let takes_all =
            |earlier: &MergeClause| earlier.predicate.is_none() && earlier.clause_kind == clause.clause_kind;
        if clauses[..place].iter().any(takes_all) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(PlanError::new("42601", message));
        }
    }
    Ok(())
}
