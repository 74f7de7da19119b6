//! MERGE: rows of a join, locked and looked at again as those of an UPDATE, then done row by row.
//!
//! ```text
//! join ─▶ what becomes of each row ─▶ few: memory  ─▶ locked ─▶ done, in the order of the join
//!                                  └▶ many: the disk ─▶ locked ─▶ done, some at a time: the table's rows by their keys, then new ones
//! ```

use super::dml::{
    ATTEMPTS_MAX, Evaluation, LockedAs, STREAMED_ROWS_MIN, Written, give_up_snapshot, kept_changing, open, still_found,
};
use super::targets::{CHANGED_ROWS_MAX, FEW_BYTES_MAX, still_found_many};
use super::{RowUpdate, Writer};
use planner::plan::{MergeAction, MergePlan};
use repr::hash::HashSet;
use repr::{CommitTime, Datum, Row, RowKey, poll};
use state::SqlError;
use state::locks::LockMode;
use state::overlay::held_rows::KeyedRows;
use state::parallel::{Bulk, Many};
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// A row of the join, and what becomes of it.
struct MergeStep {
    /// Of the target; none for a row that is to be inserted.
    row_key: Option<RowKey>,
    row: Vec<Datum>,
    /// By which WHEN.
    when: usize,
}

/// All of them.
enum Steps {
    Few(Vec<MergeStep>),
    /// Rows with the number of their WHEN behind them, by `kept_key`.
    Many(KeyedRows),
}

/// With what the keys of steps on the disk begin: of rows of the target, which come first, and of new ones.
const MATCHED: u8 = 0;
const NEW: u8 = 1;

/// Runs MERGE, without the checks at the statement's end.
pub(super) fn execute_merge(
    writer: &mut Writer<'_>,
    plan: &MergePlan,
    evaluation: &Evaluation<'_>,
) -> Result<Written, SqlError> {
    writer.lock_table(plan.table)?;
    let shape = writer.shape(plan.table)?;
    let mode = LockedAs::All(LockMode::Exclusive);
    for _ in 0..ATTEMPTS_MAX {
        let (steps, seen_at) = found_steps(writer, &shape, plan, evaluation)?;
        match steps {
            Steps::Few(steps) => {
                let targets: Vec<(&RowKey, &[Datum])> =
                    steps.iter().filter_map(|step| Some((step.row_key.as_ref()?, step.row.as_slice()))).collect();
                if still_found(writer, &shape, &targets, mode, seen_at)? {
                    return apply_few(writer, &shape, plan, steps);
                }
            }
            Steps::Many(steps) => {
                if still_found_many(writer, &shape, (&steps, &matched_key), mode, seen_at)? {
                    return apply_many(writer, &shape, plan, &steps);
                }
            }
        }
        give_up_snapshot(writer)?;
    }
    Err(kept_changing())
}

/// The rows for which something is to be done, and what, in the statement's snapshot, of this time.
fn found_steps(
    writer: &mut Writer<'_>,
    shape: &TableShape,
    plan: &MergePlan,
    evaluation: &Evaluation<'_>,
) -> Result<(Steps, CommitTime), SqlError> {
    // Parts of a statement with several tell by memory what they have changed; a new key may be one that a later row leaves.
    let in_memory = writer.changed.is_some() || assigns_key(shape, plan);
    let snapshot = writer.transaction.changing_snapshot()?;
    let seen_at = snapshot.time();
    let mut rows = open(&plan.source, snapshot, writer, &writer.context, evaluation)?;
    let mut few = Bulk::new(Vec::new());
    let (mut bytes, mut many) = (0, None);
    for row in rows.by_ref() {
        poll::step()?;
        let Some(step) = step_of(writer, shape, plan, row?)? else { continue };
        bytes += step.row.iter().map(Datum::bytes).sum::<usize>();
        few.push(step);
        if !in_memory && (few.len() >= STREAMED_ROWS_MIN || bytes >= FEW_BYTES_MAX) {
            many = Some(KeyedRows::new(&writer.transaction.database().store, shape.id()));
            break;
        }
    }
    let Some(mut many) = many else { return Ok((Steps::Few(std::mem::take(&mut *few)), seen_at)) };
    let mut numbers = 0..;
    for step in Many::new(std::mem::take(&mut *few)) {
        keep(&mut many, &mut numbers, step)?;
    }
    for row in rows {
        poll::step()?;
        if let Some(step) = step_of(writer, shape, plan, row?)? {
            keep(&mut many, &mut numbers, step)?;
        }
    }
    many.settle()?;
    Ok((Steps::Many(many), seen_at))
}

fn assigns_key(shape: &TableShape, plan: &MergePlan) -> bool {
    let key = shape.table().primary_key_columns().unwrap_or_default();
    let assigned = plan.whens.iter().flat_map(|when| match &when.action {
        MergeAction::Update(assignments) => assignments.as_slice(),
        MergeAction::Nothing | MergeAction::Delete | MergeAction::Insert(_) => &[],
    });
    let generated = plan.checks.generated.iter().map(|(column, _)| column);
    assigned.map(|(column, _)| column).chain(generated).any(|column| key.contains(column))
}

/// What becomes of a row of the join, if anything.
fn step_of(
    writer: &Writer<'_>,
    shape: &TableShape,
    plan: &MergePlan,
    row: Vec<Datum>,
) -> Result<Option<MergeStep>, SqlError> {
    let row_key = match &row[shape.table().columns.len()] {
        Datum::Bytea(key) => Some(RowKey::new(key)),
        _ => None,
    };
    for (number, when) in plan.whens.iter().enumerate().filter(|(_, when)| when.matched == row_key.is_some()) {
        let holds = match &when.condition {
            Some(condition) => condition.holds(&row, &writer.context)?,
            None => true,
        };
        if !holds {
            continue;
        }
        if matches!(when.action, MergeAction::Nothing) {
            return Ok(None);
        }
        if row_key.as_ref().is_some_and(|row_key| writer.has_changed(shape.id(), row_key)) {
            return Err(changed_twice());
        }
        return Ok(Some(MergeStep { row_key, row, when: number }));
    }
    Ok(None)
}

/// Adds a step to those on the disk.
fn keep(
    steps: &mut KeyedRows,
    numbers: &mut impl Iterator<Item = u64>,
    MergeStep { row_key, mut row, when }: MergeStep,
) -> Result<(), SqlError> {
    let kept_key = match &row_key {
        Some(row_key) => [&[MATCHED], row_key.bytes()].concat(),
        None => [[NEW].as_slice(), &numbers.next().unwrap_or(u64::MAX).to_be_bytes()].concat(),
    };
    row.push(Datum::Int8(when as i64));
    steps.push(RowKey::new(&kept_key), Row::pack(&row))
}

/// The key of the target's row that a step on the disk is about, if it is about one.
fn matched_key(kept_key: &RowKey) -> Option<RowKey> {
    kept_key.bytes().strip_prefix(&[MATCHED]).map(RowKey::new)
}

fn apply_few(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &MergePlan,
    mut steps: Vec<MergeStep>,
) -> Result<Written, SqlError> {
    let mut changed: HashSet<RowKey> = HashSet::default();
    let is_again = |step: &MergeStep| step.row_key.as_ref().is_some_and(|row_key| !changed.insert(row_key.clone()));
    let again = steps.iter().position(is_again);
    // What is wrong with the rows before is said first.
    steps.truncate(again.unwrap_or(steps.len()));
    let mut written = Written::default();
    apply(writer, shape, plan, steps, &mut written)?;
    if again.is_some() { Err(changed_twice()) } else { Ok(written) }
}

fn apply_many(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &MergePlan,
    steps: &KeyedRows,
) -> Result<Written, SqlError> {
    if steps.had_repeats() {
        return Err(changed_twice());
    }
    let mut written = Written::default();
    let mut some = Vec::with_capacity(CHANGED_ROWS_MAX);
    steps.each(|kept_key, row| {
        let mut row = row.unpack();
        let Some(Datum::Int8(when)) = row.pop() else {
            return Err(SqlError::new("XX000", "a row of MERGE is kept without what becomes of it"));
        };
        some.push(MergeStep { row_key: matched_key(&kept_key), row, when: when as usize });
        if some.len() == CHANGED_ROWS_MAX {
            apply(writer, shape, plan, std::mem::take(&mut some), &mut written)?;
            writer.pass_changed()?;
        }
        Ok(())
    })?;
    apply(writer, shape, plan, some, &mut written)?;
    Ok(written)
}

/// Does what is to be done, none twice.
fn apply(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &MergePlan,
    steps: Vec<MergeStep>,
    written: &mut Written,
) -> Result<(), SqlError> {
    let width = shape.table().columns.len();
    let mut new = Bulk::new(Vec::new());
    for MergeStep { row_key, mut row, when } in Many::new(steps) {
        poll::step()?;
        match (&plan.whens[when].action, row_key) {
            (MergeAction::Insert(values), None) => {
                let values =
                    values.iter().map(|value| value.eval(&row, &writer.context)).collect::<Result<Vec<_>, _>>();
                let completed = values.map_err(SqlError::from).and_then(|mut row| {
                    writer.complete(shape, &plan.checks, &mut row, None)?;
                    Ok(row)
                });
                match completed {
                    Ok(row) => new.push(row),
                    Err(error) => {
                        // What is wrong with the rows before is said first.
                        writer.insert_rows(shape, &new)?;
                        return Err(error);
                    }
                }
            }
            (MergeAction::Update(assignments), Some(row_key)) => {
                insert(writer, shape, &mut new)?;
                let mut after = row[..width].to_vec();
                for (column, expr) in assignments {
                    after[*column] = expr.eval(&row, &writer.context)?;
                }
                row.truncate(width);
                writer.complete(shape, &plan.checks, &mut after, Some(&row))?;
                writer.update_rows(shape, &[RowUpdate { row_key, before: row, after }])?;
            }
            (MergeAction::Delete, Some(row_key)) => {
                insert(writer, shape, &mut new)?;
                writer.delete_row(shape, &row_key, &row[..width])?;
            }
            (MergeAction::Nothing, _) | (MergeAction::Insert(_), Some(_)) => continue,
            (MergeAction::Update(_) | MergeAction::Delete, None) => continue,
        }
        written.rows += 1;
    }
    insert(writer, shape, &mut new)
}

/// Inserts the new rows that are gathered.
fn insert(writer: &mut Writer<'_>, shape: &Arc<TableShape>, new: &mut Bulk<Vec<Vec<Datum>>>) -> Result<(), SqlError> {
    for rows in std::mem::take(&mut **new).chunks(CHANGED_ROWS_MAX) {
        writer.insert_rows(shape, rows)?;
        writer.note_inserted(shape, rows)?;
    }
    Ok(())
}

fn changed_twice() -> SqlError {
    SqlError::new("21000", "MERGE command cannot affect row a second time")
        .hint("Ensure that not more than one source row matches any one target row.")
}
