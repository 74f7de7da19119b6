//! Foreign keys: a referencing row needs its parent; a parent that goes takes, blanks or keeps its referrers.
//!
//! The parent's key is locked in share before it is looked up, a row that goes or changes its key is locked alone before
//! its referrers are: so neither can slip past the other.

use crate::key_text::values_text;
use crate::transaction::Transaction;
use crate::writer::unique::{self, UniqueCheck};
use crate::writer::{RowUpdate, Writer};
use planner::catalog::{ForeignKey, ReferentialAction};
use repr::{ColumnIndex, Datum, RelationId, RowKey, key};
use state::SqlError;
use state::locks::{Granted, LockKey, LockMode, Patience};
use state::ownership_hints::Parent;
use state::reader::Reader;
use state::shape::{Referrer, TableShape};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A check that waits for COMMIT.
pub enum DeferredCheck {
    /// A referencing row's.
    Parent(ParentNeeded),
    /// A referenced key that went.
    Referrers(KeyGone),
    /// A unique key's.
    Unique(UniqueCheck),
}

/// A referencing row was written.
pub struct ParentNeeded {
    /// The referencing table, as it was when the row was written.
    shape: Arc<TableShape>,
    /// Which of its foreign keys.
    position: usize,
    /// None of them NULL.
    values: Vec<Datum>,
}

impl ParentNeeded {
    /// Of one row's foreign key, by its place among the table's.
    pub fn new(shape: &Arc<TableShape>, position: usize, values: Vec<Datum>) -> Self {
        ParentNeeded { shape: shape.clone(), position, values }
    }
    fn foreign_key(&self) -> &ForeignKey {
        &self.shape.table().foreign_keys[self.position]
    }
}

/// A referenced key was deleted or changed.
pub struct KeyGone {
    /// The referenced table.
    pub target: RelationId,
    /// Who may refer to it.
    pub referrer: Referrer,
    /// The key that is gone.
    pub old: Vec<Datum>,
    /// What it was changed to; `None` if the row is gone.
    pub new: Option<Vec<Datum>>,
}

impl KeyGone {
    fn action(&self) -> ReferentialAction {
        let key = &self.referrer.foreign_key;
        if self.new.is_some() { key.on_update } else { key.on_delete }
    }
}

impl DeferredCheck {
    /// Whether it is one of these constraints'.
    fn is_of(&self, names: &[String]) -> bool {
        let constraint = match self {
            DeferredCheck::Parent(parent) => Some(&parent.foreign_key().constraint),
            DeferredCheck::Referrers(gone) => Some(&gone.referrer.foreign_key.constraint),
            DeferredCheck::Unique(check) => check.shape.index(check.index).constraint.as_ref(),
        };
        constraint.is_some_and(|constraint| names.contains(&constraint.name))
    }

    fn run(&self, transaction: &mut Transaction, patience: &Patience) -> Result<(), SqlError> {
        match self {
            DeferredCheck::Parent(parent) => {
                if still_refers(transaction, parent)? {
                    require_parent(transaction, patience, parent)?;
                }
                Ok(())
            }
            DeferredCheck::Referrers(gone) => require_no_referrer(transaction, patience, gone),
            DeferredCheck::Unique(check) => unique::check(transaction, check, patience),
        }
    }
}

/// The deferred checks of a transaction: at COMMIT all, at SET CONSTRAINTS … IMMEDIATE those of these constraints.
pub fn check_deferred(
    transaction: &mut Transaction,
    patience: &Patience,
    names: Option<&[String]>,
) -> Result<(), SqlError> {
    let checks = std::mem::take(&mut transaction.pending.deferred);
    let is_due = |check: &DeferredCheck| names.is_none_or(|names| check.is_of(names));
    let outcome = checks.iter().filter(|check| is_due(check)).try_for_each(|check| check.run(transaction, patience));
    transaction.pending.deferred = checks;
    if outcome.is_ok() && !transaction.has_savepoints() {
        transaction.pending.deferred.retain(|check| !is_due(check));
    }
    outcome
}

fn still_refers(transaction: &mut Transaction, parent: &ParentNeeded) -> Result<bool, SqlError> {
    let snapshot = transaction.latest_snapshot();
    let Ok(shape) = snapshot.shape(parent.shape.id()).cloned() else { return Ok(false) };
    let constraint = parent.foreign_key().constraint.id;
    let foreign_key = shape.table().foreign_keys.iter().find(|key| key.constraint.id == constraint);
    match foreign_key {
        Some(foreign_key) => {
            let value = key::encode_all(&parent.values);
            Ok(!snapshot.keys_by_value(&shape, foreign_key.index, &value)?.is_empty())
        }
        None => Ok(false),
    }
}

/// Whether the referenced row exists; it is kept from going until the transaction ends.
pub(crate) fn holds_parent(
    transaction: &mut Transaction,
    patience: &Patience,
    needed: &ParentNeeded,
) -> Result<bool, SqlError> {
    let foreign_key = needed.foreign_key();
    let value = key::encode_all(&needed.values);
    let changed = |transaction: &Transaction, row_key: &RowKey| {
        let changes = transaction.overlay().table(foreign_key.target);
        changes.is_some_and(|changes| changes.truncated || changes.rows.contains_key(row_key) || changes.covers())
    };
    if let Some((row_key, _)) = transaction.reads.parents.find(foreign_key.constraint.id, &value)
        && !changed(transaction, row_key)
    {
        return Ok(true);
    }
    let snapshot = transaction.latest_snapshot();
    let target = snapshot.shape(foreign_key.target)?.clone();
    let index = target.unique_index(&foreign_key.target_columns).expect("a foreign key refers to a unique index").id;
    let mut found = snapshot.keys_by_value(&target, index, &value)?;
    let seen_at = snapshot.time();
    drop(snapshot);
    // The row must still be there once it is locked.
    while let Some(row_key) = found.pop() {
        let granted = transaction.lock(LockKey::Row(target.id(), row_key.clone()), LockMode::KeyShare, patience)?;
        let latest = transaction.latest_snapshot();
        let again = if granted == Granted::AtOnce && latest.time() == seen_at {
            vec![row_key.clone()]
        } else {
            latest.keys_by_value(&target, index, &value)?
        };
        if again.contains(&row_key) {
            if !changed(transaction, &row_key) {
                let owns = foreign_key.annotation.is_some() && target.table().data_subject;
                let microdb = if owns { latest.subject(target.id(), &row_key)? } else { None };
                let parent = Parent { row_key, microdb };
                transaction.reads.parents.keep(foreign_key.constraint.id, value, parent, latest.time());
            }
            return Ok(true);
        }
        drop(latest);
        found = again;
    }
    Ok(false)
}

/// 23503 unless the referenced row exists or nothing refers to it any more; it is kept from going until the
/// transaction ends.
pub(crate) fn require_parent(
    transaction: &mut Transaction,
    patience: &Patience,
    needed: &ParentNeeded,
) -> Result<(), SqlError> {
    if holds_parent(transaction, patience, needed)? {
        return Ok(());
    }
    // Asked last: a row that has gone again in its own statement is rare, and this costs a look-up.
    if !still_refers(transaction, needed)? {
        return Ok(());
    }
    let foreign_key = needed.foreign_key();
    let latest = transaction.latest_snapshot();
    let (referencing, target) = (latest.shape(needed.shape.id())?, latest.shape(foreign_key.target)?);
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        referencing.table().name,
        foreign_key.constraint.name
    );
    Err(SqlError::new("23503", message)
        .detail(format!(
            "{} is not present in table \"{}\".",
            values_text(referencing, &foreign_key.columns, &needed.values),
            target.table().name
        ))
        .on(referencing.place(), Some(&foreign_key.constraint.name)))
}

/// What the foreign key says happens to the referrers of a key that is gone.
pub fn act(writer: &mut Writer<'_>, gone: KeyGone) -> Result<(), SqlError> {
    match gone.action() {
        ReferentialAction::NoAction => {
            if writer.transaction.is_deferred(&gone.referrer.foreign_key.constraint) {
                writer.transaction.pending.deferred.push(DeferredCheck::Referrers(gone));
            } else {
                writer.checks.unreferenced.push(gone);
            }
            Ok(())
        }
        ReferentialAction::Restrict => require_no_referrer(writer.transaction, &writer.patience, &gone),
        ReferentialAction::Cascade => match &gone.new {
            None => {
                let (shape, rows) = referrers(writer, &gone, LockMode::Exclusive)?;
                rows.into_iter().try_for_each(|(row_key, row)| writer.delete_row(&shape, &row_key, &row))
            }
            Some(new) => {
                let new = new.clone();
                rewrite(writer, &gone, &new)
            }
        },
        ReferentialAction::SetNull => {
            let nulls = vec![Datum::Null; gone.old.len()];
            rewrite(writer, &gone, &nulls)
        }
        ReferentialAction::SetDefault => {
            let shape = writer.shape(gone.referrer.table)?;
            let defaults = defaults(writer, &shape, &gone.referrer.foreign_key.columns)?;
            if defaults == gone.old {
                // They would be given the key that they have: as with NO ACTION, other actions may take them yet.
                writer.checks.unreferenced.push(gone);
                return Ok(());
            }
            rewrite(writer, &gone, &defaults)
        }
    }
}

/// Whether what the foreign key says of a row that is gone can be done before the statement has written its other rows: nothing of it
/// comes back to tables that the statement is about.
pub(crate) fn acts_early(writer: &mut Writer<'_>, gone: &KeyGone) -> Result<bool, SqlError> {
    if gone.new.is_some() {
        return Ok(false);
    }
    let mut reached = BTreeSet::new();
    let mut open = vec![gone.referrer.table];
    while let Some(table) = open.pop() {
        if reached.insert(table) {
            open.extend(writer.shape(table)?.referrers.iter().map(|referrer| referrer.table));
        }
    }
    Ok(!reached.contains(&gone.target))
}

/// Whether a row refers to a key that is gone.
pub(crate) fn is_referred_to(transaction: &mut Transaction, gone: &KeyGone) -> Result<bool, SqlError> {
    let snapshot = transaction.latest_snapshot();
    let Ok(shape) = snapshot.shape(gone.referrer.table).cloned() else { return Ok(false) };
    let value = key::encode_all(&gone.old);
    Ok(!snapshot.keys_by_value(&shape, gone.referrer.foreign_key.index, &value)?.is_empty())
}

/// The defaults of some columns.
pub fn defaults(writer: &mut Writer<'_>, shape: &TableShape, columns: &[ColumnIndex]) -> Result<Vec<Datum>, SqlError> {
    let catalog = writer.transaction.latest_snapshot().catalog().clone();
    columns
        .iter()
        .map(|column| {
            let expr = planner::plan_default(&catalog, shape.table(), *column)?;
            Ok(expr.eval(&[], &writer.context)?)
        })
        .collect()
}

/// Referencing rows, locked, as they are now.
fn referrers(
    writer: &mut Writer<'_>,
    gone: &KeyGone,
    mode: LockMode,
) -> Result<(Arc<TableShape>, Vec<(RowKey, Vec<Datum>)>), SqlError> {
    let shape = writer.shape(gone.referrer.table)?;
    writer.lock_table(shape.id())?;
    let value = key::encode_all(&gone.old);
    let keys = writer.transaction.latest_snapshot().keys_by_value(&shape, gone.referrer.foreign_key.index, &value)?;
    let mut rows = Vec::with_capacity(keys.len());
    for row_key in keys {
        if let Some(row) = writer.lock_row(&shape, &row_key, mode)?
            && let Some(values) = shape.values(&gone.referrer.foreign_key.columns, &row)
            && key::encode_all(&values) == value
        {
            rows.push((row_key, row));
        }
    }
    Ok((shape, rows))
}

fn rewrite(writer: &mut Writer<'_>, gone: &KeyGone, values: &[Datum]) -> Result<(), SqlError> {
    let shape = writer.shape(gone.referrer.table)?;
    let (shape, rows) = referrers(writer, gone, shape.update_mode(&gone.referrer.foreign_key.columns))?;
    let checks = writer.row_checks(&shape)?;
    let mut updates = Vec::with_capacity(rows.len());
    for (row_key, before) in rows {
        let mut after = before.clone();
        for (column, value) in gone.referrer.foreign_key.columns.iter().zip(values) {
            after[*column] = value.clone();
        }
        writer.complete(&shape, &checks, &mut after, Some(&before))?;
        updates.push(RowUpdate { row_key, before, after });
    }
    writer.update_rows(&shape, &updates)
}

/// 23503 if a row still refers to a key that is gone and that no other row has taken. Whoever is about to take such a row away
/// is waited for.
pub(crate) fn require_no_referrer(
    transaction: &mut Transaction,
    patience: &Patience,
    gone: &KeyGone,
) -> Result<(), SqlError> {
    let foreign_key = &gone.referrer.foreign_key;
    let value = key::encode_all(&gone.old);
    let (target, shape) = loop {
        let snapshot = transaction.latest_snapshot();
        let target = snapshot.shape(gone.target)?.clone();
        let Ok(shape) = snapshot.shape(gone.referrer.table).cloned() else { return Ok(()) };
        let mut referrers = snapshot.keys_by_value(&shape, foreign_key.index, &value)?;
        if referrers.is_empty() {
            return Ok(());
        }
        // Another row may have taken the key meanwhile, which RESTRICT does not ask.
        if gone.action() != ReferentialAction::Restrict
            && let Some(index) = target.unique_index(&foreign_key.target_columns)
            && !snapshot.keys_by_value(&target, index.id, &value)?.is_empty()
        {
            return Ok(());
        }
        drop(snapshot);
        // One that stays is enough.
        referrers.truncate(1);
        if !unique::stood_in_the_way(transaction, shape.id(), referrers, patience)? {
            break (target, shape);
        }
    };
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        target.table().name,
        foreign_key.constraint.name,
        shape.table().name
    );
    Err(SqlError::new("23503", message)
        .detail(format!(
            "{} is still referenced from table \"{}\".",
            values_text(&target, &foreign_key.target_columns, &gone.old),
            shape.table().name
        ))
        .on(shape.place(), Some(&foreign_key.constraint.name)))
}
