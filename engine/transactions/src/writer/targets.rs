//! The rows that an UPDATE or DELETE is about: found in the statement's snapshot, locked, looked at again, and then changed.
//!
//! ```text
//! source ─▶ few: memory ────────────────────▶ locked, in order of keys ─▶ as they were found? ─▶ changed, all at once
//!        └▶ many: memory ─ 4 MB ─▶ the disk ─▶ the same                                      ─▶ changed, some at a time
//! ```
//! None is changed before all are found: no statement meets what it has written itself.

use super::Writer;
use super::dml::{
    ATTEMPTS_MAX, Evaluation, LockedAs, STREAMED_ROWS_MIN, give_up_snapshot, is_as_found, kept_changing, lock_found,
    open, still_found,
};
use planner::plan::Query;
use repr::hash::HashSet;
use repr::{CommitTime, Datum, Row, RowKey, poll};
use state::SqlError;
use state::overlay::held_rows::KeyedRows;
use state::parallel::{Bulk, gather};
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// By so many rows it is told how many are few.
const SAMPLED_ROWS: usize = 256;
/// About what few rows take.
pub(super) const FEW_BYTES_MAX: usize = 8 << 20;
/// Rows that are changed together, of many.
pub(super) const CHANGED_ROWS_MAX: usize = 1_000;
/// So many locks are gathered at once.
const LOCKED_ROWS_MAX: usize = 8 * CHANGED_ROWS_MAX;

/// Rows with their keys: a table's columns, the key, and what else the statement needs of them.
pub(super) type TargetRows = Bulk<Vec<(RowKey, Vec<Datum>)>>;

/// How many rows may be looked at before the first of them is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AtOnce {
    /// As many as suits.
    Some,
    /// All of them have to be.
    All,
}

/// Has rows changed that a source gives, each once, locked as what is done to them needs it, and current.
pub(super) fn each_target(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    (source, evaluation): (&Arc<Query>, &Evaluation<'_>),
    (at_once, mode): (AtOnce, LockedAs<'_>),
    mut change: impl FnMut(&mut Writer<'_>, TargetRows) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    writer.lock_table(shape.id())?;
    for _ in 0..ATTEMPTS_MAX {
        // Parts of a statement with several tell by memory what they have changed.
        let in_memory = at_once == AtOnce::All || writer.changed.is_some();
        let (targets, seen_at) = targets(writer, shape, (source, evaluation), in_memory)?;
        match targets {
            Targets::Few(targets) => {
                let rows: Vec<(&RowKey, &[Datum])> = targets.iter().map(|(key, row)| (key, row.as_slice())).collect();
                if still_found(writer, shape, &rows, mode, seen_at)? {
                    return change(writer, targets);
                }
            }
            Targets::Many(targets) => {
                if still_found_many(writer, shape, (&targets, &|key| Some(key.clone())), mode, seen_at)? {
                    return change_many(writer, &targets, change);
                }
            }
        }
        give_up_snapshot(writer)?;
    }
    Err(kept_changing())
}

/// Rows that were found.
enum Targets {
    Few(TargetRows),
    Many(KeyedRows),
}

/// Finds them in the statement's snapshot, of this time.
fn targets(
    writer: &mut Writer<'_>,
    shape: &TableShape,
    (source, evaluation): (&Arc<Query>, &Evaluation<'_>),
    in_memory: bool,
) -> Result<(Targets, CommitTime), SqlError> {
    let width = shape.table().columns.len();
    let snapshot = writer.transaction.changing_snapshot()?;
    let seen_at = snapshot.time();
    let mut rows = open(source, snapshot, writer, &writer.context, evaluation)?;
    let mut some = gather(rows.by_ref().take(if in_memory { usize::MAX } else { SAMPLED_ROWS }))?;
    let few = if in_memory || some.len() < SAMPLED_ROWS { usize::MAX } else { few_rows(&some) };
    if few < usize::MAX {
        let mut more = rows.by_ref().take(few.saturating_sub(some.len()));
        more.try_for_each(|row| row.map(|row| some.push(row)))?;
    }
    if some.len() < few {
        drop(rows);
        return Ok((Targets::Few(few_targets(writer, shape, some)?), seen_at));
    }
    let mut targets = KeyedRows::new(&writer.transaction.database().store, shape.id());
    for row in some.into_iter().map(Ok).chain(rows) {
        poll::step()?;
        let row = row?;
        targets.push(key_of(&row, width)?, Row::pack(&row))?;
    }
    targets.settle()?;
    Ok((Targets::Many(targets), seen_at))
}

/// How many rows like these are few.
fn few_rows(some: &[Vec<Datum>]) -> usize {
    let bytes: usize = some.iter().map(|row| Row::pack(row).bytes().len()).sum();
    (FEW_BYTES_MAX * some.len() / bytes.max(1)).clamp(some.len() + 1, STREAMED_ROWS_MIN)
}

fn key_of(row: &[Datum], width: usize) -> Result<RowKey, SqlError> {
    match &row[width] {
        Datum::Bytea(key) => Ok(RowKey::new(key)),
        _ => Err(SqlError::new("XX000", "a write's source does not give row keys")),
    }
}

fn few_targets(writer: &Writer<'_>, shape: &TableShape, rows: Vec<Vec<Datum>>) -> Result<TargetRows, SqlError> {
    let width = shape.table().columns.len();
    let alone = rows.len() == 1;
    let mut seen: Bulk<HashSet<RowKey>> = Bulk::new(HashSet::default());
    let mut targets = Bulk::new(Vec::with_capacity(rows.len()));
    for row in Bulk::new(rows) {
        poll::step()?;
        let row_key = key_of(&row, width)?;
        // What another part of the statement has changed stays as that has left it, as in PostgreSQL.
        if writer.has_changed(shape.id(), &row_key) {
            continue;
        }
        if alone || seen.insert(row_key.clone()) {
            targets.push((row_key, row));
        }
    }
    Ok(targets)
}

/// As `still_found`: rows on the disk are in the order of their keys, under something that tells these, if they have any.
pub(super) fn still_found_many(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    (targets, key_of): (&KeyedRows, &dyn Fn(&RowKey) -> Option<RowKey>),
    mode: LockedAs<'_>,
    seen_at: CommitTime,
) -> Result<bool, SqlError> {
    let (mut some, mut stands, mut locked) = (Vec::with_capacity(CHANGED_ROWS_MAX), true, 0);
    targets.each(|row_key, row| {
        if stands && let Some(row_key) = key_of(&row_key) {
            some.push((row_key, row));
        }
        if some.len() == CHANGED_ROWS_MAX {
            stands = some_still_found(writer, shape, &some, mode, seen_at)?;
            locked += some.len();
            some.clear();
            if locked % LOCKED_ROWS_MAX == 0 {
                writer.transaction.gather_locks();
            }
        }
        Ok(())
    })?;
    Ok(stands && some_still_found(writer, shape, &some, mode, seen_at)?)
}

/// Once a row is locked it stays as it is.
fn some_still_found(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    rows: &[(RowKey, Row)],
    mode: LockedAs<'_>,
    seen_at: CommitTime,
) -> Result<bool, SqlError> {
    let mut waited = false;
    for (row_key, row) in rows {
        let mode = match mode {
            LockedAs::All(mode) => mode,
            LockedAs::Each(mode) => mode(&row.unpack())?,
        };
        waited |= lock_found(writer, shape, row_key, mode)?;
    }
    let latest = writer.transaction.latest_snapshot().passing();
    if !waited && latest.time() == seen_at {
        return Ok(true);
    }
    for (row_key, row) in rows {
        poll::step()?;
        if !is_as_found(&latest, shape, (row_key, &row.unpack()))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn change_many(
    writer: &mut Writer<'_>,
    targets: &KeyedRows,
    mut change: impl FnMut(&mut Writer<'_>, TargetRows) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut some = Vec::with_capacity(CHANGED_ROWS_MAX);
    targets.each(|row_key, row| {
        some.push((row_key, row.unpack()));
        if some.len() == CHANGED_ROWS_MAX {
            change(writer, Bulk::new(std::mem::take(&mut some)))?;
            writer.pass_changed()?;
        }
        Ok(())
    })?;
    change(writer, Bulk::new(some))
}
