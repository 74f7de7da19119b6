//! Rows that a large statement has written, moved out of memory: they stand on the disk, sealed, until the transaction ends.
//!
//! ```text
//! rows ─▶ memory ─ too many ─▶ one part of a table for each statement ─▶ COMMIT reads it in the order of its keys
//!           └── changed again: stands over what is on the disk ──┘
//! ```
//! Of each row what it was and what it is, as in memory. Only rows that nothing but their statement has touched: so each part is a layer of
//! its own, over those before, and going back to before its statement drops it whole. Rows that were there before stand there if their owners
//! stay, if nobody is owned by way of them, or if they go; of people those who are new, with whose µDB is whose, and those who stay. What an erasure looks at comes back into memory,
//! and what a definition does, unless it lays the table anew.

use super::held_rows::ROWS_AT_ONCE;
use super::{Change, LazyValues, Overlay, TableChanges, Undo, UndoPosition};
use crate::SqlError;
use crate::shape::TableShape;
use planner::ownership::graph::KeyForm;
use repr::id::is_temporary;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use storage::{Batch, SpillBatch, SpilledRow, SpilledRows, StorageError, Store};

/// Parts of a transaction of which each may have files of its own.
const RUNS_MAX: usize = 32;
/// Entries of the undo log for which room is kept.
const UNDO_KEPT_MAX: usize = 1 << 16;

/// Rows of a part.
type SpilledIterator = Box<dyn Iterator<Item = Result<(RowKey, SpilledRow), StorageError>> + Send>;

/// The rows of one table that may be moved, in the order of their keys.
type Movable = BTreeMap<RelationId, Vec<RowKey>>;

impl Overlay {
    /// Whether rows that a statement has written since `since` are to be moved out of memory now.
    pub fn is_to_spill(&self, since: UndoPosition, held_bytes_max: usize) -> bool {
        self.held_bytes >= held_bytes_max && self.undo.len() > since.0
    }

    /// Moves them there, as far as they may stand there; whether there were any. Where that fails the statement has to be taken back.
    pub fn spill(&mut self, store: &Store, since: UndoPosition) -> Result<bool, SqlError> {
        let is_part = |undo: &&Undo| matches!(undo, Undo::Spilled { .. });
        let goes_on =
            self.undo[since.0..].iter().take_while(is_part).filter_map(Undo::spilled).collect::<BTreeSet<_>>();
        let movable = self.movable(UndoPosition(since.0 + goes_on.len()));
        self.held_bytes = 0;
        if movable.is_empty() {
            return Ok(false);
        }
        let mut begun = Vec::new();
        for (relation, keys) in &movable {
            let Some(shape) = self.shape(*relation).cloned() else { continue };
            self.move_rows(store, &shape, keys, goes_on.contains(relation))?;
            if !goes_on.contains(relation) {
                begun.push(Undo::Spilled { relation: *relation });
            }
        }
        let is_moved = |undo: &Undo| {
            let (Undo::Row { relation, key, .. } | Undo::Subject { relation, key, .. }) = undo else { return false };
            movable.get(relation).is_some_and(|keys| keys.binary_search(key).is_ok())
        };
        let written = self.undo.split_off(since.0 + goes_on.len());
        self.undo.append(&mut begun);
        self.undo.extend(written.into_iter().filter(|undo| !is_moved(undo)));
        self.undo.shrink_to(UNDO_KEPT_MAX);
        Ok(true)
    }

    /// What was changed since by nothing but a statement, and may stand on the disk.
    fn movable(&self, since: UndoPosition) -> Movable {
        let written = self.undo.get(since.0..).unwrap_or_default();
        let is_gone =
            |(subject, microdb): (&(RelationId, RowKey), &Option<MicroDbId>)| microdb.is_none().then_some(subject.0);
        // Who has another key now, or none, has rows that follow from it.
        let people: BTreeSet<RelationId> = self.subjects.iter().filter_map(is_gone).collect();
        let erases = self.in_part.is_some() || !people.is_empty();
        let mut touched: BTreeMap<RelationId, Vec<(&RowKey, bool)>> = BTreeMap::new();
        for undo in written {
            if let Undo::Row { relation, key, previous } = undo {
                touched.entry(*relation).or_default().push((key, previous.is_none()));
            }
        }
        let mut movable = Movable::new();
        for (relation, mut keys) in touched {
            // Of each the first time.
            keys.sort_by_key(|(key, _)| *key);
            keys.dedup_by_key(|(key, _)| *key);
            let (Some(shape), Some(changes)) = (self.shape(relation), self.tables.get(&relation)) else { continue };
            if is_temporary(relation.0)
                || !shape.spills()
                || !changes.reindexed.is_empty()
                || !changes.filled.is_empty()
            {
                continue;
            }
            let may_move = |key: &RowKey| match changes.rows.get(key) {
                Some(Change { before: None, after: Some(_), .. }) if shape.table().data_subject => {
                    !people.contains(&relation) && self.subject(relation, key).is_some_and(|microdb| microdb.is_some())
                }
                Some(Change { before: None, after, .. }) => after.is_some(),
                Some(Change { before: Some(_), after: None, .. }) => !erases && !shape.table().data_subject,
                Some(Change { before: Some(before), after: Some(after), .. }) => {
                    !erases && (shape.owns_nothing() || shape.keeps_owners(before, after))
                }
                None => false,
            };
            let keys = keys.into_iter().filter(|(key, untouched)| *untouched && may_move(key));
            let keys: Vec<RowKey> = keys.map(|(key, _)| key.clone()).collect();
            if !keys.is_empty() {
                movable.insert(relation, keys);
            }
        }
        movable
    }

    fn move_rows(&mut self, store: &Store, shape: &TableShape, keys: &[RowKey], goes_on: bool) -> Result<(), SqlError> {
        let (relation, in_order) = (shape.id(), self.may_begin_run());
        let Some(changes) = self.tables.get_mut(&relation) else { return Ok(()) };
        let part = match changes.spilled.last().filter(|_| goes_on) {
            Some(part) => part.clone(),
            None => Arc::new(begin_part(store, shape, in_order)?),
        };
        let rows: Vec<(RowKey, Change)> = if keys.len() == changes.rows.len() {
            changes.values = LazyValues::default();
            std::mem::take(&mut changes.rows).into_iter().collect()
        } else {
            let taken = keys.iter().filter_map(|key| changes.rows.remove_entry(key));
            taken.inspect(|(key, change)| changes.values.leave(shape, key, change.after.as_ref())).collect()
        };
        let rows = if goes_on { rows } else { push_in_order(&part, rows)? };
        for some in rows.chunks(ROWS_AT_ONCE) {
            poll::steps(some.len())?;
            let mut batch = part.begin_batch()?;
            for (key, change) in some {
                let there = if goes_on { part.get(key)? } else { None };
                put_change(store, &mut batch, shape, (key, change), there.as_ref());
                if shape.table().data_subject {
                    let microdb = self.subjects.remove(&(relation, key.clone())).flatten();
                    microdb.into_iter().for_each(|microdb| batch.put_subject(key, microdb));
                }
            }
            part.write(store, batch)?;
        }
        if !goes_on {
            changes.spilled.push(part);
        }
        Ok(())
    }

    /// Whether rows that come in order may have files of their own once more: whoever reads these opens a store for them.
    fn may_begin_run(&self) -> bool {
        self.tables.values().map(|changes| changes.spilled.len()).sum::<usize>() < RUNS_MAX
    }

    /// Whether a statement that began at `since` has rows of a table on the disk, to which its further new rows may be added as they come.
    pub fn adds_to_part(&self, shape: &TableShape, since: UndoPosition) -> bool {
        let written = self.undo.get(since.0..).unwrap_or_default();
        let is_part = |undo: &&Undo| matches!(undo, Undo::Spilled { .. });
        let goes_on = written.iter().take_while(is_part).any(|undo| undo.spilled() == Some(shape.id()));
        let changes = self.tables.get(&shape.id());
        goes_on && changes.is_some_and(|changes| changes.reindexed.is_empty() && changes.filled.is_empty())
    }

    /// Adds new rows there, of which nothing stands anywhere. Where that fails the statement has to be taken back.
    pub fn add_to_part(&mut self, store: &Store, shape: &TableShape, rows: Vec<(RowKey, Row)>) -> Result<(), SqlError> {
        let part = self.tables.get(&shape.id()).and_then(|changes| changes.spilled.last());
        let part = part.expect("its statement has rows there");
        let Some(rows) = part.push_in_order(rows)? else { return Ok(()) };
        let mut batch = part.begin_batch()?;
        rows.iter().for_each(|(key, row)| put_new(store, &mut batch, shape, (key, row, None)));
        Ok(part.write(store, batch)?)
    }

    /// A part of a table for new rows that never stood in memory: see `held_rows`.
    pub fn begin_part(&mut self, store: &Store, shape: &TableShape) -> Result<Arc<SpilledRows>, SqlError> {
        let part = Arc::new(begin_part(store, shape, self.may_begin_run())?);
        self.tables.entry(shape.id()).or_default().spilled.push(part.clone());
        self.undo.push(Undo::Spilled { relation: shape.id() });
        Ok(part)
    }

    /// Brings the rows of a table back into memory, where they stand over what is on the disk.
    pub fn bring_back(&mut self, shape: &TableShape) -> Result<(), SqlError> {
        let parts = self.tables.get(&shape.id()).map(|changes| changes.spilled.clone()).unwrap_or_default();
        // What was written last is what stands.
        for part in parts.iter().rev() {
            for row in part.rows((Bound::Unbounded, Bound::Unbounded), false) {
                poll::step()?;
                let (key, SpilledRow { before, after }) = row?;
                if !self.tables.get(&shape.id()).is_some_and(|changes| changes.rows.contains_key(&key)) {
                    self.set(shape, key, before, after);
                }
            }
        }
        Ok(())
    }

    /// Whether so many rows are changed at most, and all that they say is in memory.
    pub fn is_small(&self, rows_max: usize) -> bool {
        self.len() <= rows_max && self.tables.values().all(|changes| changes.spilled.is_empty())
    }

    /// Tables that have rows on the disk.
    pub fn spilled_tables(&self) -> Vec<RelationId> {
        self.tables.iter().filter(|(_, changes)| !changes.spilled.is_empty()).map(|(relation, _)| *relation).collect()
    }

    /// Lets go of what is on the disk, for whoever throws it all away.
    pub fn let_go_of_spilled(&mut self) {
        self.tables.values_mut().for_each(|changes| changes.spilled.clear());
        let tables = self.undo.iter_mut().filter_map(|undo| match undo {
            Undo::Table { previous, .. } => Some(previous),
            _ => None,
        });
        tables.for_each(|previous| previous.spilled.clear());
    }
}

impl Undo {
    fn spilled(&self) -> Option<RelationId> {
        match self {
            Undo::Spilled { relation } => Some(*relation),
            _ => None,
        }
    }
}

impl TableChanges {
    /// How many rows stand on the disk.
    pub fn spilled_rows(&self) -> usize {
        self.spilled.iter().map(|part| part.len()).sum()
    }

    /// Whether rows that are stored have been changed on the disk.
    pub fn covers(&self) -> bool {
        self.spilled.iter().any(|part| part.covers())
    }

    /// Rows on the disk that have not changed again, in the order of their keys within each statement's.
    pub fn spilled(&self) -> impl Iterator<Item = Result<(RowKey, Change), SqlError>> {
        self.spilled_beside(BTreeSet::new())
    }

    /// The same without those that came in order, of parts of which a batch has taken these.
    pub fn spilled_beside(&self, taken: BTreeSet<usize>) -> impl Iterator<Item = Result<(RowKey, Change), SqlError>> {
        let parts = self.spilled.iter().enumerate();
        let rows = parts.flat_map(move |(place, part)| {
            let all = (Bound::Unbounded, Bound::Unbounded);
            let rows: SpilledIterator = match taken.contains(&place) {
                true => Box::new(part.rows_out_of_order(all, false)),
                false => Box::new(part.rows(all, false)),
            };
            rows.map(move |row| (place, row))
        });
        rows.filter_map(|(place, row)| match row {
            Ok((key, row)) => match self.has_newer(place, &key) {
                Ok(true) => None,
                Ok(false) => Some(Ok((key, row.into()))),
                Err(error) => Some(Err(error)),
            },
            Err(error) => Some(Err(error.into())),
        })
    }

    /// Adds to a batch what parts have of rows that came in order, as it stands there, where nothing newer stands of them: of which parts it
    /// was added.
    pub fn take_in_order(&self, store: &Store, batch: &mut Batch) -> Result<BTreeSet<usize>, SqlError> {
        let mut taken = BTreeSet::new();
        for (place, part) in self.spilled.iter().enumerate() {
            let Some(reach) = part.in_order() else { continue };
            let is_apart = self.spilled[place + 1..].iter().all(|later| later.is_apart_from(&reach));
            let stands = is_apart && self.rows.range(&reach.0..=&reach.1).next().is_none();
            if stands && store.take_in_order(batch, part)? {
                taken.insert(place);
            }
        }
        Ok(taken)
    }

    /// Looks at all changed rows one after the other, those in memory first.
    pub fn each(&self, mut look: impl FnMut(&RowKey, &Change) -> Result<(), SqlError>) -> Result<(), SqlError> {
        self.rows.iter().try_for_each(|(key, change)| look(key, change))?;
        for row in self.spilled() {
            let (key, change) = row?;
            look(&key, &change)?;
        }
        Ok(())
    }

    /// Whether a row has changed again since a part was written.
    pub(crate) fn has_newer(&self, place: usize, key: &RowKey) -> Result<bool, SqlError> {
        if self.rows.contains_key(key) {
            return Ok(true);
        }
        for part in &self.spilled[place + 1..] {
            if part.contains(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The µDB of a person whose row was written to the disk, whether it has changed again or not.
    pub fn spilled_subject(&self, key: &RowKey) -> Result<Option<MicroDbId>, SqlError> {
        for part in &self.spilled {
            if let Some(microdb) = part.subject(key)? {
                return Ok(Some(microdb));
            }
        }
        Ok(None)
    }

    /// All people whose rows were written to the disk, whether they have changed again or not.
    pub fn spilled_subjects(&self) -> impl Iterator<Item = Result<(RowKey, MicroDbId), SqlError>> {
        self.spilled.iter().flat_map(|part| part.subjects()).map(|person| person.map_err(SqlError::from))
    }

    /// A row on the disk as it was written last, whether it has changed again in memory or not.
    pub fn spilled_change(&self, key: &RowKey) -> Result<Option<Change>, SqlError> {
        for part in self.spilled.iter().rev() {
            if let Some(row) = part.get(key)? {
                return Ok(Some(row.into()));
            }
        }
        Ok(None)
    }

    /// Whether a row stands here, in memory or on the disk.
    pub fn has(&self, key: &RowKey) -> Result<bool, SqlError> {
        match self.rows.get(key) {
            Some(change) => Ok(change.after.is_some()),
            None => Ok(self.spilled_change(key)?.is_some_and(|change| change.after.is_some())),
        }
    }

    /// Whether a row that is stored has been changed on the disk.
    pub(crate) fn covers_row(&self, key: &RowKey) -> Result<bool, SqlError> {
        for part in self.spilled.iter().filter(|part| part.covers()) {
            if part.contains(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a row is on the disk.
    pub fn has_spilled(&self, key: &RowKey) -> Result<bool, SqlError> {
        for part in &self.spilled {
            if part.contains(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Keys of rows of a part that have a canonical value in an index.
pub(crate) fn keys_in_part(
    store: &Store,
    part: &Arc<SpilledRows>,
    (shape, index): (&TableShape, IndexId),
    value: &[u8],
) -> Result<Vec<RowKey>, SqlError> {
    Ok(match shape.key_form {
        KeyForm::Hashed => part.keys_at(index, &store.hash_index(index, value))?,
        KeyForm::Ordered => part.keys_at(index, value)?,
    })
}

impl From<SpilledRow> for Change {
    fn from(SpilledRow { before, after }: SpilledRow) -> Change {
        Change { before, after, written: 0 }
    }
}

/// A part for rows of a table; those that come in order stand in files of their own, where `in_order` allows it.
fn begin_part(store: &Store, shape: &TableShape, in_order: bool) -> Result<SpilledRows, SqlError> {
    Ok(match in_order && shape.stands_alone() {
        true => store.begin_spill_in_order(shape.id(), shape.table().schema_version)?,
        false => store.begin_spill(shape.id())?,
    })
}

/// Moves the rows of a new part there at once, if all are new and it takes them as they come; else it gives them back.
fn push_in_order(part: &SpilledRows, rows: Vec<(RowKey, Change)>) -> Result<Vec<(RowKey, Change)>, SqlError> {
    let are_new = rows.iter().all(|(_, change)| change.before.is_none() && change.after.is_some());
    // Where they came in no order those to come would be looked for among them, which takes long.
    if !are_new || !rows.is_sorted_by_key(|(_, change)| change.written) {
        return Ok(rows);
    }
    let new = rows.into_iter().filter_map(|(key, change)| Some((key, change.after?))).collect();
    let left = part.push_in_order(new)?.unwrap_or_default();
    let change = |row| Change { before: None, after: Some(row), written: 0 };
    Ok(left.into_iter().map(|(key, row)| (key, change(row))).collect())
}

/// A new row as it is written to a part: with its entries, and of a person's with whose µDB it is.
pub(super) fn put_new(
    store: &Store,
    batch: &mut SpillBatch<'_>,
    shape: &TableShape,
    (key, row, microdb): (&RowKey, &Row, Option<MicroDbId>),
) {
    batch.put_row(key, row);
    microdb.into_iter().for_each(|microdb| batch.put_subject(key, microdb));
    each_entry(store, shape, row, |index, place| batch.put_entry(index, place, key));
}

/// A changed row as it is written to a part, in which there may be something of it.
fn put_change(
    store: &Store,
    batch: &mut SpillBatch<'_>,
    shape: &TableShape,
    (key, Change { before, after, .. }): (&RowKey, &Change),
    there: Option<&SpilledRow>,
) {
    if let Some(row) = there.and_then(|there| there.after.as_ref()) {
        each_entry(store, shape, row, |index, place| batch.delete_entry(index, place, key));
    }
    match (there, before, after) {
        (Some(_), before, after) => batch.put_again(key, before.as_ref(), after.as_ref()),
        (None, Some(before), after) => batch.put_changed(key, before, after.as_ref()),
        (None, None, Some(row)) => batch.put_row(key, row),
        (None, None, None) => {}
    }
    if let Some(row) = after {
        each_entry(store, shape, row, |index, place| batch.put_entry(index, place, key));
    }
}

/// The places of a row in the indexes of its table.
fn each_entry(store: &Store, shape: &TableShape, row: &Row, mut take: impl FnMut(IndexId, &[u8])) {
    for index in &shape.table().indexes {
        if let Some(value) = shape.index_value_of(index, row) {
            match shape.key_form {
                KeyForm::Hashed => take(index.id, store.hash_index_once(index.id, &value).as_ref()),
                KeyForm::Ordered => take(index.id, &value),
            }
        }
    }
}
