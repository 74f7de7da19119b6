//! MERGE: rows of a join, locked and looked at again as those of an UPDATE, then done row by row.

use super::dml::{
    ATTEMPTS_MAX, Evaluation, LockedAs, SourceRows, Written, found, give_up_snapshot, kept_changing, still_found,
};
use super::{RowUpdate, Writer};
use planner::plan::{MergeAction, MergePlan};
use repr::hash::HashSet;
use repr::{Datum, RowKey, poll};
use state::SqlError;
use state::locks::LockMode;
use state::parallel::Many;
use state::shape::TableShape;
use std::sync::Arc;

/// A row of the join, and what becomes of it.
struct MergeStep<'p> {
    /// Of the target; none for a row that is to be inserted.
    row_key: Option<RowKey>,
    row: Vec<Datum>,
    action: &'p MergeAction,
}

/// Runs MERGE, without the checks at the statement's end.
pub(super) fn execute_merge(
    writer: &mut Writer<'_>,
    plan: &MergePlan,
    evaluation: &Evaluation<'_>,
) -> Result<Written, SqlError> {
    writer.lock_table(plan.table)?;
    let shape = writer.shape(plan.table)?;
    for _ in 0..ATTEMPTS_MAX {
        let SourceRows { rows, seen_at } = found(writer, &plan.source, evaluation)?;
        let steps = steps(writer, &shape, plan, rows)?;
        let targets: Vec<(&RowKey, &[Datum])> =
            steps.iter().filter_map(|step| Some((step.row_key.as_ref()?, step.row.as_slice()))).collect();
        if still_found(writer, &shape, &targets, LockedAs::All(LockMode::Exclusive), seen_at)? {
            return apply(writer, &shape, plan, steps);
        }
        give_up_snapshot(writer)?;
    }
    Err(kept_changing())
}

/// The rows for which something is to be done, and what.
fn steps<'p>(
    writer: &Writer<'_>,
    shape: &TableShape,
    plan: &'p MergePlan,
    rows: Vec<Vec<Datum>>,
) -> Result<Vec<MergeStep<'p>>, SqlError> {
    let width = shape.table().columns.len();
    let mut steps = Vec::new();
    for row in Many::new(rows) {
        poll::step()?;
        let row_key = match &row[width] {
            Datum::Bytea(key) => Some(RowKey::new(key)),
            _ => None,
        };
        for when in plan.whens.iter().filter(|when| when.matched == row_key.is_some()) {
            let holds = match &when.condition {
                Some(condition) => condition.holds(&row, &writer.context)?,
                None => true,
            };
            if holds {
                if !matches!(when.action, MergeAction::Nothing) {
                    if row_key.as_ref().is_some_and(|row_key| writer.has_changed(shape.id(), row_key)) {
                        return Err(changed_twice());
                    }
                    steps.push(MergeStep { row_key, row, action: &when.action });
                }
                break;
            }
        }
    }
    Ok(steps)
}

fn apply(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &MergePlan,
    steps: Vec<MergeStep<'_>>,
) -> Result<Written, SqlError> {
    let width = shape.table().columns.len();
    let mut changed: HashSet<RowKey> = HashSet::default();
    let mut written = Written::default();
    for MergeStep { row_key, mut row, action } in steps {
        poll::step()?;
        if let Some(row_key) = &row_key
            && !changed.insert(row_key.clone())
        {
            return Err(changed_twice());
        }
        match (action, row_key) {
            (MergeAction::Update(assignments), Some(row_key)) => {
                let mut after = row[..width].to_vec();
                for (column, expr) in assignments {
                    after[*column] = expr.eval(&row, &writer.context)?;
                }
                row.truncate(width);
                writer.complete(shape, &plan.checks, &mut after, Some(&row))?;
                writer.update_rows(shape, &[RowUpdate { row_key, before: row, after }])?;
            }
            (MergeAction::Delete, Some(row_key)) => writer.delete_row(shape, &row_key, &row[..width])?,
            (MergeAction::Insert(values), None) => {
                let new = values.iter().map(|value| value.eval(&row, &writer.context)).collect::<Result<Vec<_>, _>>();
                let mut new = new?;
                writer.complete(shape, &plan.checks, &mut new, None)?;
                writer.insert_rows(shape, &[new])?;
            }
            (MergeAction::Nothing, _) | (MergeAction::Insert(_), Some(_)) => continue,
            (MergeAction::Update(_) | MergeAction::Delete, None) => continue,
        }
        written.rows += 1;
    }
    Ok(written)
}

fn changed_twice() -> SqlError {
    SqlError::new("21000", "MERGE command cannot affect row a second time")
        .hint("Ensure that not more than one source row matches any one target row.")
}
