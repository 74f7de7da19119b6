//! INSERT, UPDATE and DELETE: from a write plan to rows of the overlay, and what RETURNING gives.
//!
//! Rows are computed over the statement's snapshot, locked, and looked at again: if another transaction
//! changed one meanwhile, READ COMMITTED computes the statement anew over a fresh snapshot (nothing was
//! written yet, the locks stay), REPEATABLE READ gives 40001.

use crate::writer::merge::execute_merge;
use crate::writer::returned::ReturnedRows;
use crate::writer::targets::{AtOnce, each_target};
use crate::writer::triggered::InsertedRows;
use crate::writer::{RowUpdate, Writer};
use operators::once::SystemRows;
use operators::profile::Profile;
use operators::query;
use planner::catalog::Catalog;
use planner::plan::{
    Beside, ConflictAction, DeletePlan, InsertPlan, OnConflict, Query, Returning, RowChecks, UpdatePlan, ViewChecks,
    WithPart, WithPlan, WritePlan,
};
use planner::scalar::{EvalContext, ScalarExpr};
use repr::hash::HashSet;
use repr::{ColumnIndex, CommitTime, Datum, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::answer::QueryRows;
use state::interrupt::QueryLimits;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{Granted, LockKey, LockMode};
use state::parallel::{Bulk, Many, gather};
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// What a write did.
#[derive(Default)]
pub struct Written {
    /// Logical rows, for the command tag.
    pub rows: usize,
    /// RETURNING's rows.
    pub returned: ReturnedRows,
    /// Those that triggers are to be called for.
    pub inserted: InsertedRows,
}

// Rows that are locked and looked for together.
const INSERT_ROWS_MAX: usize = 1_000;
// Of fewer all are computed before the first is written.
pub(super) const STREAMED_ROWS_MIN: usize = 10_000;
// A transaction that has changed more is not copied to be read meanwhile.
const COPIED_ROWS_MAX: usize = 100_000;
// A statement that keeps losing its rows to others gives up rather than spin.
pub(super) const ATTEMPTS_MAX: usize = 1_000;

/// What the queries in a write are computed with.
pub struct Evaluation<'e> {
    /// The bounds of the statement.
    pub limits: &'e QueryLimits,
    /// The rows of catalog relations, at one catalog.
    pub system: &'e dyn Fn(&Arc<Catalog>, &EvalContext) -> Arc<dyn SystemRows>,
    /// What counts the operators of the source, under EXPLAIN ANALYZE.
    pub profile: Option<&'e Arc<Profile>>,
}

/// Runs one write, its constraints and referential actions included.
pub fn execute(writer: &mut Writer<'_>, plan: &WritePlan, evaluation: &Evaluation<'_>) -> Result<Written, SqlError> {
    let written = execute_part(writer, plan, evaluation)?;
    writer.finish()?;
    Ok(Written { inserted: writer.take_inserted(), ..written })
}

/// Runs a statement whose WITH writes: what the statement itself did, or its rows. All parts read the same; what they change
/// they see of one another by what they return only.
pub fn execute_with(
    writer: &mut Writer<'_>,
    plan: &WithPlan,
    evaluation: &Evaluation<'_>,
) -> Result<Written, SqlError> {
    writer.transaction.share_snapshot()?;
    writer.note_changes();
    let mut main = Written::default();
    for part in &plan.parts {
        match part {
            WithPart::Write { number, plan, .. } => {
                let written = execute_part(writer, plan, evaluation)?;
                let given = std::mem::take(&mut writer.context.given);
                writer.context.given = given.with(*number, written.returned.gather()?);
            }
            WithPart::Main(plan) => main = execute_part(writer, plan, evaluation)?,
            WithPart::Query(query) => {
                let snapshot = writer.transaction.statement_snapshot()?;
                main.returned = ReturnedRows::of(run(query, snapshot, writer, &writer.context, evaluation)?);
            }
        }
    }
    writer.finish()?;
    Ok(Written { inserted: writer.take_inserted(), ..main })
}

fn execute_part(writer: &mut Writer<'_>, plan: &WritePlan, evaluation: &Evaluation<'_>) -> Result<Written, SqlError> {
    // What is computed beside rows at hand does not see what the statement does.
    let before = if plan.besides().is_empty() { None } else { Some(writer.transaction.statement_snapshot()?) };
    let look = before.map(|snapshot| Look { snapshot, evaluation });
    let mut written = match plan {
        WritePlan::Insert(insert) => execute_insert(writer, insert, evaluation, look.as_ref())?,
        WritePlan::Update(update) => execute_update(writer, update, evaluation, look.as_ref())?,
        WritePlan::Delete(delete) => execute_delete(writer, delete, evaluation)?,
        WritePlan::Merge(merge) => execute_merge(writer, merge, evaluation)?,
    };
    if let Some(returning) = plan.returning().filter(|returning| returning.beside.is_some()) {
        let rows = std::mem::take(&mut written.returned).gather()?;
        for row in appended(writer, returning.beside.as_ref(), look.as_ref(), rows)? {
            let row = returned_row(writer, returning, &row)?;
            written.returned.push(&writer.transaction.database().store, plan.table(), row)?;
        }
    }
    Ok(written)
}

/// What is much is written as it is computed: over the transaction as it was before, which has to be copied for that.
fn execute_insert(
    writer: &mut Writer<'_>,
    plan: &InsertPlan,
    evaluation: &Evaluation<'_>,
    look: Option<&Look<'_>>,
) -> Result<Written, SqlError> {
    let snapshot = writer.transaction.statement_snapshot()?;
    if evaluation.profile.is_none()
        && let Some(rows) = query::computed(&plan.source, &writer.context)
    {
        // As long as it is held what the transaction has changed is copied for each change.
        drop(snapshot);
        return insert_looking(writer, plan, rows?.into_iter().map(Ok), look);
    }
    let mut rows = open(&plan.source, snapshot, writer, &writer.context, evaluation)?;
    let at_once = if writer.transaction.overlay().len() > COPIED_ROWS_MAX { usize::MAX } else { STREAMED_ROWS_MIN };
    let some = gather(rows.by_ref().take(at_once))?;
    if some.len() < at_once {
        drop(rows);
        return insert_looking(writer, plan, Many::new(some).map(Ok), look);
    }
    insert_looking(writer, plan, Many::new(some).map(Ok).chain(rows), look)
}

/// How a write looks into other tables for rows that it has at hand.
struct Look<'l> {
    /// The statement's snapshot.
    snapshot: LayeredSnapshot,
    evaluation: &'l Evaluation<'l>,
}

/// Rows with what is computed beside them.
fn appended(
    writer: &Writer<'_>,
    beside: Option<&Beside>,
    look: Option<&Look<'_>>,
    mut rows: Vec<Vec<Datum>>,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    let (Some(Beside { number, query }), Some(Look { snapshot, evaluation })) = (beside, look) else { return Ok(rows) };
    let mut context = writer.context.clone();
    context.given = context.given.with(*number, rows.clone());
    // What is measured are the operators of the source.
    let evaluation = Evaluation { profile: None, ..**evaluation };
    let columns = run(query, snapshot.clone(), writer, &context, &evaluation)?;
    if columns.len() != rows.len() {
        return Err(SqlError::new("XX000", "a query beside rows does not give a row for each"));
    }
    rows.iter_mut().zip(columns).for_each(|(row, columns)| row.extend(columns));
    Ok(rows)
}

/// 44000 for a row, stored by now, that is not there in a view by which it was written.
fn require_seen_in_views(
    writer: &Writer<'_>,
    checks: &RowChecks,
    rows: &[Vec<Datum>],
    look: Option<&Look<'_>>,
) -> Result<(), SqlError> {
    let Some(ViewChecks { beside, conditions }) = &checks.views else { return Ok(()) };
    for row in appended(writer, beside.as_ref(), look, rows.to_vec())? {
        poll::step()?;
        for (view, condition) in conditions {
            if !condition.holds(&row, &writer.context)? {
                return Err(SqlError::new("44000", format!("new row violates check option for view \"{view}\"")));
            }
        }
    }
    Ok(())
}

/// The same for one row.
fn appended_to(
    writer: &Writer<'_>,
    beside: Option<&Beside>,
    look: Option<&Look<'_>>,
    row: Vec<Datum>,
) -> Result<Vec<Datum>, SqlError> {
    match beside {
        None => Ok(row),
        Some(_) => Ok(appended(writer, beside, look, vec![row])?.swap_remove(0)),
    }
}

fn run(
    source: &Arc<Query>,
    snapshot: LayeredSnapshot,
    writer: &Writer<'_>,
    context: &EvalContext,
    evaluation: &Evaluation<'_>,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    gather(open(source, snapshot, writer, context, evaluation)?)
}

pub(super) fn open(
    source: &Arc<Query>,
    snapshot: LayeredSnapshot,
    writer: &Writer<'_>,
    context: &EvalContext,
    evaluation: &Evaluation<'_>,
) -> Result<QueryRows, SqlError> {
    let database = writer.transaction.database();
    // Of this snapshot: a statement that waited for locks is computed anew over a later one.
    let limits = QueryLimits { ended: database.ended_since(snapshot.time()), ..evaluation.limits.clone() };
    let system = (evaluation.system)(snapshot.catalog(), context);
    let profile = evaluation.profile.cloned();
    query::run_with_system(source.clone(), Arc::new(snapshot), context.clone(), limits, system, profile)
}

/// Inserts computed rows (INSERT's source, or a chunk of COPY).
pub fn insert_rows(
    writer: &mut Writer<'_>,
    plan: &InsertPlan,
    rows: impl IntoIterator<Item = Vec<Datum>>,
) -> Result<Written, SqlError> {
    insert_looking(writer, plan, rows.into_iter().map(Ok), None)
}

fn insert_looking(
    writer: &mut Writer<'_>,
    plan: &InsertPlan,
    mut rows: impl Iterator<Item = Result<Vec<Datum>, SqlError>>,
    look: Option<&Look<'_>>,
) -> Result<Written, SqlError> {
    writer.lock_table(plan.table)?;
    let shape = writer.shape(plan.table)?;
    if plan.on_conflict.is_some() {
        return insert_or_update(writer, &shape, plan, rows, look);
    }
    let mut written = Written::default();
    loop {
        let (mut chunk, mut failed) = (Vec::new(), None);
        for row in rows.by_ref().take(INSERT_ROWS_MAX) {
            let completed = row.and_then(|mut row| {
                writer.complete(&shape, &plan.checks, &mut row, None)?;
                Ok(row)
            });
            match completed {
                Ok(row) => chunk.push(row),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if chunk.is_empty() && failed.is_none() {
            return Ok(written);
        }
        // What is wrong with the rows before is said first.
        writer.insert_rows(&shape, &chunk)?;
        writer.note_inserted(&shape, &chunk)?;
        require_seen_in_views(writer, &plan.checks, &chunk, look)?;
        written.rows += chunk.len();
        for row in &chunk {
            returning_inserted(writer, plan, row, Was::Absent, &mut written.returned)?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if chunk.len() == INSERT_ROWS_MAX {
            writer.pass_inserted()?;
        }
    }
}

/// ON CONFLICT: row by row, for each may meet the one before.
fn insert_or_update(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &InsertPlan,
    rows: impl Iterator<Item = Result<Vec<Datum>, SqlError>>,
    look: Option<&Look<'_>>,
) -> Result<Written, SqlError> {
    let mut written = Written::default();
    let mut touched: HashSet<RowKey> = HashSet::default();
    for (number, row) in rows.enumerate() {
        if number > 0 && number % INSERT_ROWS_MAX == 0 {
            writer.pass_changed()?;
        }
        let mut row = row?;
        writer.complete(shape, &plan.checks, &mut row, None)?;
        if let Some(on_conflict) = &plan.on_conflict
            && let Some(row_key) = conflicting(writer, shape, on_conflict, &row)?
        {
            if !writer.has_changed(shape.id(), &row_key) {
                require_seen(writer, shape, on_conflict, &row_key)?;
            }
            let conflict = Conflict { on_conflict, row_key: &row_key, excluded: &row };
            if let Some(row) = on_conflict_update(writer, shape, plan, &conflict, &mut touched, look)? {
                written.rows += 1;
                returning_inserted(writer, plan, &row, Was::There, &mut written.returned)?;
            }
            continue;
        }
        touched.extend(writer.insert_rows(shape, std::slice::from_ref(&row))?);
        writer.note_inserted(shape, std::slice::from_ref(&row))?;
        require_seen_in_views(writer, &plan.checks, std::slice::from_ref(&row), look)?;
        written.rows += 1;
        returning_inserted(writer, plan, &row, Was::Absent, &mut written.returned)?;
    }
    Ok(written)
}

/// What a row was before the INSERT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Was {
    Absent,
    There,
}

/// The same of an INSERT, whose RETURNING may ask for `xmax`: 0 of a new row, and of one that was there who has changed it.
fn returning_inserted(
    writer: &Writer<'_>,
    plan: &InsertPlan,
    row: &[Datum],
    was: Was,
    returned: &mut ReturnedRows,
) -> Result<(), SqlError> {
    let Some(wanted) = plan.returning.as_ref().filter(|returning| returning.has_xmax) else {
        return returning(writer, plan.table, plan.returning.as_ref(), row, returned);
    };
    let changed_by = match was {
        Was::Absent => 0,
        Was::There => {
            let number = writer.context.environment.acts()?.transaction_number(false)?;
            // Of 64 bits the lower ones, as everywhere where a number is an xid.
            number.ok_or_else(|| SqlError::new("XX000", "a row is changed by no transaction"))? as u32
        }
    };
    let mut row = row.to_vec();
    row.push(Datum::Oid(changed_by));
    returning(writer, plan.table, Some(wanted), &row, returned)
}

fn returning(
    writer: &Writer<'_>,
    relation: RelationId,
    returning: Option<&Returning>,
    row: &[Datum],
    returned: &mut ReturnedRows,
) -> Result<(), SqlError> {
    let Some(returning) = returning else { return Ok(()) };
    // Where more is to be computed beside the rows, that is done once for all of them.
    let row = match &returning.beside {
        Some(_) => row.to_vec(),
        None => returned_row(writer, returning, row)?,
    };
    returned.push(&writer.transaction.database().store, relation, row)
}

fn returned_row(writer: &Writer<'_>, returning: &Returning, row: &[Datum]) -> Result<Vec<Datum>, SqlError> {
    Ok(returning.exprs.iter().map(|expr| expr.eval(row, &writer.context)).collect::<Result<_, _>>()?)
}

/// The existing row that stands in the way of a new one, by the arbiter indexes. Its key is locked from here on.
fn conflicting(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    on_conflict: &OnConflict,
    row: &[Datum],
) -> Result<Option<RowKey>, SqlError> {
    let arbiters = shape
        .table()
        .indexes
        .iter()
        .filter(|index| index.unique)
        .filter(|index| on_conflict.arbiters.is_empty() || on_conflict.arbiters.contains(&index.id));
    // A row that is there is locked as what follows needs it: others go on referring to it.
    let mode = match &on_conflict.action {
        ConflictAction::Nothing => LockMode::KeyShare,
        ConflictAction::Update { assignments, .. } => {
            shape.update_mode(&assignments.iter().map(|(column, _)| *column).collect::<Vec<_>>())
        }
    };
    for index in arbiters {
        if shape.table().primary_key == Some(index.id) {
            let row_key = shape.row_key(&writer.transaction.database().store, row, 0);
            for mode in [mode, LockMode::Exclusive] {
                let there = writer.transaction.latest_snapshot().exists(shape, &row_key)?;
                if !there && mode != LockMode::Exclusive {
                    // Nothing to lock in any other way than for the new row.
                    continue;
                }
                let key = LockKey::Row(shape.id(), row_key.clone());
                writer.transaction.lock(key, mode, &writer.patience)?;
                if writer.transaction.latest_snapshot().exists(shape, &row_key)? {
                    return Ok(Some(row_key));
                }
            }
            continue;
        }
        if !shape.is_unique_in(index, row) {
            continue;
        }
        let Some(value) = shape.index_value(index, row) else { continue };
        let key = LockKey::Unique(index.id, value.clone());
        writer.transaction.lock(key, LockMode::Exclusive, &writer.patience)?;
        let found = writer.transaction.latest_snapshot().keys_by_value(shape, index.id, &value)?;
        if let Some(row_key) = found.into_iter().next() {
            return Ok(Some(row_key));
        }
    }
    Ok(None)
}

/// 40001 in REPEATABLE READ where the row in the way is none that the transaction's snapshot shows, or is to be changed and
/// has changed since.
fn require_seen(
    writer: &mut Writer<'_>,
    shape: &TableShape,
    on_conflict: &OnConflict,
    row_key: &RowKey,
) -> Result<(), SqlError> {
    if !writer.transaction.modes.isolation.is_of_one_snapshot() {
        return Ok(());
    }
    let seen = writer.transaction.statement_snapshot()?.get(shape.table(), row_key)?;
    let stands = match &on_conflict.action {
        ConflictAction::Nothing => seen.is_some(),
        ConflictAction::Update { .. } => seen == writer.transaction.latest_snapshot().get(shape.table(), row_key)?,
    };
    if stands { Ok(()) } else { Err(concurrent_update()) }
}

fn concurrent_update() -> SqlError {
    SqlError::new("40001", "could not serialize access due to concurrent update").hint("retry the transaction")
}

/// A new row, and the one in its way.
struct Conflict<'p> {
    on_conflict: &'p OnConflict,
    row_key: &'p RowKey,
    excluded: &'p [Datum],
}

fn on_conflict_update(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    plan: &InsertPlan,
    conflict: &Conflict<'_>,
    touched: &mut HashSet<RowKey>,
    look: Option<&Look<'_>>,
) -> Result<Option<Vec<Datum>>, SqlError> {
    let Conflict { on_conflict, row_key, excluded } = conflict;
    let ConflictAction::Update { beside, assignments, beside_condition, condition } = &on_conflict.action else {
        return Ok(None);
    };
    if !touched.insert((*row_key).clone()) || writer.has_changed(shape.id(), row_key) {
        return Err(SqlError::new("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time").hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ));
    }
    let columns: Vec<ColumnIndex> = assignments.iter().map(|(column, _)| *column).collect();
    let mode = shape.update_mode(&columns);
    let Some(before) = writer.lock_row(shape, row_key, mode)? else { return Ok(None) };
    let mut both = before.clone();
    both.extend_from_slice(excluded);
    if let Some(condition) = condition {
        let tested = appended_to(writer, beside_condition.as_ref(), look, both.clone())?;
        if !condition.holds(&tested, &writer.context)? {
            return Ok(None);
        }
    }
    let both = appended_to(writer, beside.as_ref(), look, both)?;
    let mut after = before.clone();
    for (column, expr) in assignments {
        after[*column] = expr.eval(&both, &writer.context)?;
    }
    writer.complete(shape, &plan.checks, &mut after, Some(&before))?;
    let update = RowUpdate { row_key: (*row_key).clone(), before, after };
    writer.update_rows(shape, std::slice::from_ref(&update))?;
    require_seen_in_views(writer, &plan.checks, std::slice::from_ref(&update.after), look)?;
    Ok(Some(update.after))
}

fn execute_update(
    writer: &mut Writer<'_>,
    plan: &UpdatePlan,
    evaluation: &Evaluation<'_>,
    look: Option<&Look<'_>>,
) -> Result<Written, SqlError> {
    let shape = writer.shape(plan.table)?;
    // A key that is assigned what it was stays as it is.
    let keys: Vec<&(ColumnIndex, ScalarExpr)> = plan
        .assignments
        .iter()
        .filter(|(column, _)| shape.update_mode(std::slice::from_ref(column)) == LockMode::Exclusive)
        .collect();
    let context = writer.context.clone();
    let by_row = |source: &[Datum]| -> Result<LockMode, SqlError> {
        for (column, expr) in &keys {
            if expr.eval(source, &context)? != source[*column] {
                return Ok(LockMode::Exclusive);
            }
        }
        Ok(LockMode::NoKeyUpdate)
    };
    let mode = if keys.is_empty() { LockedAs::All(LockMode::NoKeyUpdate) } else { LockedAs::Each(&by_row) };
    // A new primary key may be one that a later row of the statement leaves: all rows are looked at before the first is written.
    let assigned = plan.assignments.iter().map(|(column, _)| *column);
    let mut assigned = assigned.chain(plan.checks.generated.iter().map(|(column, _)| *column));
    let key = shape.table().primary_key_columns().unwrap_or_default();
    let at_once = if assigned.any(|column| key.contains(&column)) { AtOnce::All } else { AtOnce::Some };
    let mut written = Written::default();
    each_target(writer, &shape, (&plan.source, evaluation), (at_once, mode), |writer, targets| {
        update_some(writer, plan, (&shape, targets), look, &mut written)
    })?;
    Ok(written)
}

fn update_some(
    writer: &mut Writer<'_>,
    plan: &UpdatePlan,
    (shape, targets): (&Arc<TableShape>, Bulk<Vec<(RowKey, Vec<Datum>)>>),
    look: Option<&Look<'_>>,
    written: &mut Written,
) -> Result<(), SqlError> {
    let width = shape.table().columns.len();
    let mut updates = Bulk::new(Vec::with_capacity(targets.len()));
    let mut rests = Bulk::new(Vec::new());
    for (row_key, mut source) in targets {
        poll::step()?;
        let mut after = source[..width].to_vec();
        for (column, expr) in &plan.assignments {
            after[*column] = expr.eval(&source, &writer.context)?;
        }
        writer.complete(shape, &plan.checks, &mut after, Some(&source[..width]))?;
        if plan.returning.is_some() {
            rests.push(source.split_off(width));
        }
        source.truncate(width);
        updates.push(RowUpdate { row_key, before: source, after });
    }
    writer.update_rows(shape, &updates)?;
    if plan.checks.views.is_some() {
        let rows: Vec<Vec<Datum>> = updates.iter().map(|update| update.after.clone()).collect();
        require_seen_in_views(writer, &plan.checks, &rows, look)?;
    }
    written.rows += updates.len();
    for (update, rest) in updates.into_iter().zip(rests) {
        let mut row = update.after;
        row.extend(rest);
        returning(writer, plan.table, plan.returning.as_ref(), &row, &mut written.returned)?;
    }
    Ok(())
}

fn execute_delete(
    writer: &mut Writer<'_>,
    plan: &DeletePlan,
    evaluation: &Evaluation<'_>,
) -> Result<Written, SqlError> {
    let shape = writer.shape(plan.table)?;
    let width = shape.table().columns.len();
    let mut written = Written::default();
    let how = (AtOnce::Some, LockedAs::All(LockMode::Exclusive));
    each_target(writer, &shape, (&plan.source, evaluation), how, |writer, targets| {
        written.rows += targets.len();
        for (row_key, source) in targets {
            writer.delete_row(&shape, &row_key, &source[..width])?;
            returning(writer, plan.table, plan.returning.as_ref(), &source, &mut written.returned)?;
        }
        Ok(())
    })?;
    Ok(written)
}

/// 40001: others had the rows first, each time.
pub(super) fn kept_changing() -> SqlError {
    SqlError::new("40001", "could not lock the rows: they kept changing").hint("retry the transaction")
}

/// A row that was found has changed: whether the part of the statement alone may look again.
pub(super) fn give_up_snapshot(writer: &mut Writer<'_>) -> Result<(), SqlError> {
    writer.transaction.lose_shared_snapshot();
    if writer.transaction.shares_snapshot() || writer.transaction.modes.isolation.is_of_one_snapshot() {
        return Err(concurrent_update());
    }
    Ok(())
}

/// Locks rows that were found at that time; whether they are still what they were.
pub(super) fn still_found(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    rows: &[(&RowKey, &[Datum])],
    mode: LockedAs<'_>,
    seen_at: CommitTime,
) -> Result<bool, SqlError> {
    // One order for all writers: fewer deadlocks.
    let mut order: Vec<&(&RowKey, &[Datum])> = rows.iter().collect();
    poll::sort_by(&mut order, |(one, _), (other, _)| one.cmp(other))?;
    let mut waited = false;
    for (row_key, row) in order {
        poll::step()?;
        let mode = match mode {
            LockedAs::All(mode) => mode,
            LockedAs::Each(mode) => mode(row)?,
        };
        waited |= lock_found(writer, shape, row_key, mode)?;
    }
    let latest = writer.transaction.latest_snapshot();
    if !waited && latest.time() == seen_at {
        return Ok(true);
    }
    // A row that was waited for may also have begun to match: only a fresh snapshot tells.
    for (row_key, row) in rows {
        if !is_as_found(&latest, shape, (row_key, row))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How strongly rows are locked that are about to be changed.
#[derive(Clone, Copy)]
pub(super) enum LockedAs<'m> {
    /// All alike.
    All(LockMode),
    /// Each as what is done to it needs it.
    Each(&'m dyn Fn(&[Datum]) -> Result<LockMode, SqlError>),
}

/// Locks a row that was found; whether somebody was waited for.
pub(super) fn lock_found(
    writer: &mut Writer<'_>,
    shape: &TableShape,
    row_key: &RowKey,
    mode: LockMode,
) -> Result<bool, SqlError> {
    let key = LockKey::Row(shape.id(), row_key.clone());
    Ok(writer.transaction.lock(key, mode, &writer.patience)? == Granted::AfterWait)
}

/// Whether a row is still what it was when it was found.
pub(super) fn is_as_found(
    latest: &LayeredSnapshot,
    shape: &TableShape,
    (row_key, row): (&RowKey, &[Datum]),
) -> Result<bool, SqlError> {
    let width = shape.table().columns.len();
    let now = latest.get(shape.table(), row_key)?;
    Ok(now.is_some_and(|now| Row::pack(&shape.unpack(&now)) == Row::pack(&row[..width])))
}
