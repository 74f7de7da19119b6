//! Filling a new index: beside commits where the rows are stored as they are, else in the overlay with rows that are written anew.
//!
//! ```text
//! rows of a snapshot ─▶ opened, on a thread of its own ─▶ values, hashes, in order ─▶ written, some at a time
//! ```
//! Memory holds some thousand rows, and of a unique index a number for each row up to a bound.

use crate::ddl::SchemaChange;
use crate::index_builds::{ENTRIES_AT_ONCE, IndexBuild};
use planner::catalog::{Column, Index};
use planner::ownership::graph::KeyForm;
use repr::hash::RandomState;
use repr::{IndexId, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::progress::{LongCommand, Progress, ShownProgress};
use state::published::Published;
use state::reader::Reader;
use state::shape::TableShape;
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use storage::{Batch, LocatedRow, Store};

/// What a stored row takes beside its bytes: its key and its seal.
const STORED_BYTES: u64 = 100;
/// Opened rows that wait, in parts of as many as are written at once.
const PARTS_WAITING_MAX: usize = 2;
/// Values that are held against each other in memory; of more rows the filled index is looked through.
const VALUES_HELD_MAX: usize = 4 << 20;
/// So often an index is filled anew that an erasure has disturbed.
const ATTEMPTS_MAX: usize = 3;

impl SchemaChange<'_> {
    pub(super) fn build_index(&mut self, relation: RelationId, index: IndexId) -> Result<(), SqlError> {
        let shape = self.shape(relation)?;
        if shape.table().primary_key == Some(index) {
            return Ok(());
        }
        if self.stored.contains_key(&relation) {
            self.new_indexes.push((relation, index));
            return Ok(());
        }
        let below = self.writer.transaction.database().latest();
        let changes = self.writer.transaction.overlay().table(relation);
        let hidden = changes.is_some_and(|changes| changes.truncated);
        match below.schema.shape(relation).filter(|stored| !hidden && reads_alike(stored, &shape, index)) {
            Some(_) => self.fill_beside(&shape, index),
            None => self.fill_in_overlay(&shape, index),
        }
    }

    fn fill_in_overlay(&mut self, shape: &Arc<TableShape>, index: IndexId) -> Result<(), SqlError> {
        let relation = shape.id();
        self.writer.transaction.overlay_mut().reindex(relation, index);
        let index = shape.index(index);
        let checks = self.writer.row_checks(shape)?;
        let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut rows = Vec::new();
        self.each_row(relation, |_, row_key, row| {
            rows.push((row_key, row));
            Ok(())
        })?;
        for (row_key, row) in rows {
            poll::step()?;
            if !index.is_whole() {
                for predicate in &checks.index_predicates {
                    predicate.eval(&row, &self.writer.context)?;
                }
                if shape.index_value(index, &row).is_none() {
                    continue;
                }
            }
            if shape.is_unique_in(index, &row)
                && let Some(value) = shape.index_value(index, &row)
                && !seen.insert(value)
            {
                return Err(duplicate(shape, &index.name));
            }
            self.writer.set(shape, &row_key, Some(Row::pack(&row)))?;
        }
        Ok(())
    }

    fn fill_beside(&mut self, shape: &Arc<TableShape>, index: IndexId) -> Result<(), SqlError> {
        let database = self.writer.transaction.database().clone();
        let (id, mark) = (self.writer.transaction.id(), self.writer.transaction.mark());
        let build = IndexBuild::begin(&database, id, (shape.id(), index), mark)?;
        self.writer.transaction.pending.builds.push(build);
        if shape.personal {
            // Whatever was decided before this is published: of all that comes later it is noted whose owners change.
            database.pipeline.settle()?;
        }
        let bytes = database.store.approximate_size(shape.id());
        let command = LongCommand::CreateIndex(index);
        let under_way =
            ShownProgress::begin(&self.writer.transaction.holder().activity.progress, command, shape.id(), bytes);
        let mut attempts = 0;
        let (as_of, repeats) = loop {
            attempts += 1;
            let base = database.latest();
            match self.fill(shape, shape.index(index), &base, under_way.progress()) {
                // Somebody was forgotten whose copies were to be read.
                Err(error) if error.code == "40001" && attempts < ATTEMPTS_MAX => {
                    self.writer.transaction.check_not_ended()?;
                }
                outcome => break (base.time, outcome?),
            }
        };
        under_way.progress().compares.store(true, Ordering::Relaxed);
        self.writer.transaction.overlay_mut().fill(shape.id(), index, as_of);
        self.check_values(shape, shape.index(index), repeats)
    }

    /// Writes the entries of all stored rows. Whether a value may stand in it twice.
    fn fill(
        &mut self,
        shape: &Arc<TableShape>,
        index: &Index,
        base: &Arc<Published>,
        progress: &Progress,
    ) -> Result<bool, SqlError> {
        let database = self.writer.transaction.database().clone();
        let checks = if index.is_whole() { None } else { Some(self.writer.row_checks(shape)?) };
        let (sender, parts) = sync_channel(PARTS_WAITING_MAX);
        let (relation, personal, snapshot) = (shape.id(), shape.personal, base.snapshot.clone());
        std::thread::scope(|threads| {
            let read = move || send_parts(snapshot.scan_located(relation, personal), &sender);
            let reading = std::thread::Builder::new().name("read rows".into()).spawn_scoped(threads, read);
            reading.map_err(|error| SqlError::new("53000", format!("no thread can be started: {error}")))?;
            let mut values = Values::default();
            for part in parts {
                database.check_not_ended(base.time)?;
                self.writer.transaction.check_not_ended()?;
                let mut entries = Entries { store: &database.store, shape, index, batch: Batch::default() };
                let part = part?;
                progress.add(
                    part.len() as u64,
                    part.iter().map(|(_, row, _)| STORED_BYTES + row.bytes().len() as u64).sum(),
                );
                for located in part {
                    poll::step()?;
                    if let Some(checks) = &checks {
                        let row = shape.unpack(&located.1);
                        for predicate in &checks.index_predicates {
                            predicate.eval(&row, &self.writer.context)?;
                        }
                    }
                    entries.add(&located, &mut values);
                }
                entries.write()?;
            }
            Ok(values.repeat())
        })
    }

    /// 23505 if a unique index holds a value twice; looks through it if it may.
    fn check_values(&mut self, shape: &Arc<TableShape>, index: &Index, repeats: bool) -> Result<(), SqlError> {
        if !index.unique {
            return Ok(());
        }
        let snapshot = self.writer.transaction.latest_snapshot();
        let overlay = self.writer.transaction.shared_overlay();
        let changed = overlay.table(shape.id()).into_iter().flat_map(|changes| &changes.rows);
        for (_, change) in changed {
            if let Some(row) = &change.after
                && is_unique_in(shape, index, row)
                && let Some(value) = shape.index_value_of(index, row)
                && snapshot.keys_by_value(shape, index.id, &value)?.len() > 1
            {
                return Err(duplicate(shape, &index.name));
            }
        }
        if repeats { check_entries(&snapshot, shape, index) } else { Ok(()) }
    }
}

/// Whether stored rows of a table, as it is committed, are read as it is now, and it has no such index.
fn reads_alike(stored: &TableShape, now: &TableShape, index: IndexId) -> bool {
    let alike = |(one, other): (&Column, &Column)| {
        one.column_type == other.column_type && one.missing == other.missing && one.dropped == other.dropped
    };
    let (before, after) = (&stored.table().columns, &now.table().columns);
    stored.key_form == now.key_form
        && stored.personal == now.personal
        && stored.table().index(index).is_none()
        && before.len() <= after.len()
        && before.iter().zip(after).all(alike)
}

/// Sends rows in parts until all are sent, or nobody takes them.
fn send_parts(
    mut rows: impl Iterator<Item = Result<LocatedRow, storage::StorageError>>,
    sender: &SyncSender<Result<Vec<LocatedRow>, SqlError>>,
) {
    loop {
        let part: Result<Vec<LocatedRow>, _> = rows.by_ref().take(ENTRIES_AT_ONCE).collect();
        let is_last = part.as_ref().map_or(true, |part| part.len() < ENTRIES_AT_ONCE);
        if sender.send(part.map_err(SqlError::from)).is_err() || is_last {
            return;
        }
    }
}

/// Entries that are written together.
struct Entries<'a> {
    store: &'a Store,
    shape: &'a TableShape,
    index: &'a Index,
    batch: Batch,
}

impl Entries<'_> {
    fn add(&mut self, (row_key, row, locator): &LocatedRow, values: &mut Values) {
        let Some(value) = self.shape.index_value_of(self.index, row) else { return };
        let counts = is_unique_in(self.shape, self.index, row);
        match self.shape.key_form {
            KeyForm::Hashed => {
                let hash = self.store.hash_index_once(self.index.id, &value);
                self.batch.put_index_hashed(self.index.id, &hash, row_key, *locator);
                if counts {
                    let (first, _) = hash.split_first_chunk().expect("a hash has more bytes than a number");
                    values.note(u64::from_be_bytes(*first));
                }
            }
            KeyForm::Ordered => {
                self.batch.put_index_ordered(self.index.id, &value, row_key);
                if counts {
                    values.note_value(&value);
                }
            }
        }
    }

    fn write(mut self) -> Result<(), SqlError> {
        self.batch.sort();
        Ok(self.store.fill_index(self.batch)?)
    }
}

/// Numbers of the values of a unique index.
#[derive(Default)]
pub(super) struct Values {
    numbers: Vec<u64>,
    hashes: RandomState,
    /// They are too many to be held.
    many: bool,
}

impl Values {
    fn note(&mut self, number: u64) {
        self.many |= self.numbers.len() >= VALUES_HELD_MAX;
        if self.many {
            self.numbers = Vec::new();
        } else {
            self.numbers.push(number);
        }
    }

    /// Notes one by its canonical form.
    pub(super) fn note_value(&mut self, value: &[u8]) {
        let number = self.hashes.hash_one(value);
        self.note(number);
    }

    /// Whether two may be the same.
    pub(super) fn repeat(mut self) -> bool {
        self.numbers.sort_unstable();
        self.many || self.numbers.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// Looks through a filled index for two stored rows of one value that the overlay has left as they are.
fn check_entries(snapshot: &LayeredSnapshot, shape: &TableShape, index: &Index) -> Result<(), SqlError> {
    let leaves = snapshot.store().snapshot();
    let mut last: Option<(Vec<u8>, RowKey)> = None;
    let mut look = |value: Vec<u8>, row_key: RowKey| -> Result<(), SqlError> {
        poll::step()?;
        if let Some((before, first)) = &last
            && *before == value
            && let Some(row) = snapshot.get(shape.table(), first)?
            && is_unique_in(shape, index, &row)
            && let Some(of_both) = shape.index_value_of(index, &row)
            && snapshot.keys_by_value(shape, index.id, &of_both)?.len() > 1
        {
            return Err(duplicate(shape, &index.name));
        }
        last = Some((value, row_key));
        Ok(())
    };
    match shape.key_form {
        KeyForm::Hashed => {
            for entry in leaves.scan_index_hashed_all(index.id) {
                let (value, row_key, _) = entry?;
                look(value.to_vec(), row_key)?;
            }
        }
        KeyForm::Ordered => {
            for entry in leaves.scan_index_ordered_all(index.id) {
                let (value, row_key) = entry?;
                look(value, row_key)?;
            }
        }
    }
    Ok(())
}

/// See `TableShape::is_unique_in`, of a stored row.
pub(super) fn is_unique_in(shape: &TableShape, index: &Index, row: &Row) -> bool {
    let has_null = || index.columns.iter().any(|column| shape.datum(row, *column).is_null());
    index.unique && (index.declared.nulls_not_distinct || !has_null())
}

pub(super) fn duplicate(shape: &TableShape, index: &str) -> SqlError {
    SqlError::new("23505", format!("could not create unique index \"{index}\""))
        .detail("Two rows have the same key.")
        .on(shape.place(), Some(index))
}
