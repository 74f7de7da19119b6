//! Tables laid anew: which, from what, and how their rows come to stand under the new definition.
//!
//! ```text
//! rows as they are, or rewritten ─▶ new keys ─▶ the overlay, over a table that is emptied ─ too many ─▶ the disk
//! ```
//! Nothing of the old table shows from there on; owners are derived at COMMIT as of rows that are new.

use super::SchemaChange;
use super::index_filling::{Values, duplicate, is_unique_in};
use super::rows_anew::RowsAnew;
use crate::transaction::Transaction;
use planner::catalog::{Column, Index};
use planner::resolve::ddl::DdlEffect;
use repr::id::is_temporary;
use repr::{ColumnIndex, Datum, IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::overlay::held_rows::{HeldRow, HeldRows, KeyedRows, push_in_order, write_rows};
use state::reader::Reader;
use state::shape::{Schema, TableShape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::SpilledRows;

/// An overlay with more rows in memory is not copied to be read while it changes.
const COPIED_ROWS_MAX: usize = 10_000;
/// So much of rows that are written anew is held in memory.
const HELD_BYTES_MAX: usize = 8 << 20;
/// So much of rows that are written as they come: the thread that writes them has work while others are read.
const HELD_IN_ORDER_BYTES_MAX: usize = 256 << 10;

/// Tables that are laid anew: those whose keys or owners are made differently, and all that owe their owners to them.
pub(super) fn laid_anew(old: &Schema, new: &Schema, effects: &[DdlEffect]) -> BTreeSet<RelationId> {
    let mut open: Vec<RelationId> = Vec::new();
    for effect in effects {
        if let DdlEffect::Replace(relations) = effect {
            open.extend(relations);
        }
    }
    let made = |shape: &TableShape| {
        let edges: BTreeSet<_> = shape.owner_edges.iter().map(|edge| edge.reference).collect();
        let key = shape.table().primary_key_columns().map(<[ColumnIndex]>::to_vec);
        (shape.key_form, shape.personal, shape.table().data_subject, key, edges)
    };
    let made_anew = old.changed_to(new).filter(|(before, after)| made(before) != made(after));
    open.extend(made_anew.map(|(before, _)| before.id()));
    let mut found = BTreeSet::new();
    while let Some(relation) = open.pop() {
        let (Some(before), Some(after)) = (old.shape(relation), new.shape(relation)) else { continue };
        if found.insert(relation) {
            let dependents = before.owner_dependents.iter().chain(&after.owner_dependents);
            open.extend(dependents.map(|edge| edge.near));
        }
    }
    found
}

/// The rows of the tables that are laid anew, as they are. Rows on the disk of tables that are not, and that others are read from
/// under the definition, come into memory.
pub(super) fn rows_to_lay(
    transaction: &mut Transaction,
    (old, new): (&Arc<Schema>, &Arc<Schema>),
    laid_anew: &BTreeSet<RelationId>,
) -> Result<BTreeMap<RelationId, RowsAnew>, SqlError> {
    let mut relations = laid_anew.clone();
    let mut in_memory = BTreeSet::new();
    for relation in transaction.overlay().spilled_tables() {
        let (Some(before), Some(after)) = (old.shape(relation), new.shape(relation)) else { continue };
        if relations.contains(&relation) || Arc::ptr_eq(before.table(), after.table()) || stand_alike(before, after) {
            continue;
        }
        if after.spills() && has_nothing_below(transaction, relation) {
            relations.insert(relation);
        } else {
            in_memory.insert(relation);
        }
    }
    transaction.bring_back_spilled(|relation| in_memory.contains(&relation))?;
    let held = transaction.overlay().tables().map(|(_, changes)| changes.rows.len()).sum::<usize>();
    let snapshot = transaction.latest_snapshot();
    let mut rows = BTreeMap::new();
    for relation in relations {
        let stored = RowsAnew::Stored(snapshot.clone(), snapshot.shape(relation)?.clone());
        rows.insert(
            relation,
            if held > COPIED_ROWS_MAX { RowsAnew::Rewritten(copied(transaction, relation, &stored)?) } else { stored },
        );
    }
    Ok(rows)
}

fn copied(transaction: &Transaction, relation: RelationId, rows: &RowsAnew) -> Result<KeyedRows, SqlError> {
    let mut copied = KeyedRows::new(&transaction.database().store, relation);
    rows.each(|row_key, row| copied.push(row_key, row))?;
    Ok(copied)
}

/// Whether all rows of a table are the transaction's own.
fn has_nothing_below(transaction: &mut Transaction, relation: RelationId) -> bool {
    transaction.overlay().table(relation).is_some_and(|changes| changes.truncated)
        || transaction.committed_snapshot().schema().shape(relation).is_none()
}

/// Whether rows on the disk stand under the same keys and values of indexes before and after.
fn stand_alike(before: &TableShape, after: &TableShape) -> bool {
    let column = |column: &Column| (column.column_type.clone(), column.dropped);
    let index = |index: &Index| (index.id, index.columns.clone(), index.is_whole());
    let columns = (&before.table().columns, &after.table().columns);
    before.key_form == after.key_form
        && before.table().indexes.iter().all(Index::is_whole)
        && before.table().indexes.iter().map(index).eq(after.table().indexes.iter().map(index))
        && columns.0.iter().map(column).eq(columns.1.iter().take(columns.0.len()).map(column))
}

impl SchemaChange<'_> {
    /// All rows of a table as they were rewritten.
    pub(super) fn keep(&mut self, shape: &TableShape, rows: KeyedRows) -> Result<(), SqlError> {
        let relation = shape.id();
        let lies_anew = rows.are_many() && shape.spills() && !is_temporary(relation.0);
        if self.stored.contains_key(&relation) || lies_anew {
            self.stored.insert(relation, RowsAnew::Rewritten(rows));
            return Ok(());
        }
        // Index values are made from the rewritten rows: every entry is made anew.
        for index in &shape.table().indexes {
            let overlay = self.writer.transaction.overlay_mut();
            overlay.drop_index(index.id);
            overlay.reindex(relation, index.id);
        }
        rows.each(|row_key, row| self.writer.set(shape, &row_key, Some(row)))
    }

    pub(super) fn lay_anew(&mut self) -> Result<(), SqlError> {
        let stored = std::mem::take(&mut self.stored);
        for relation in stored.keys() {
            let old = self.old_schema.shape(*relation).cloned();
            let overlay = self.writer.transaction.overlay_mut();
            overlay.truncate(*relation);
            for index in old.iter().flat_map(|shape| &shape.table().indexes) {
                overlay.drop_index(index.id);
            }
        }
        for (relation, rows) in stored {
            let shape = self.shape(relation)?;
            let Some(old) = self.old_schema.shape(relation).cloned() else { continue };
            self.lay(&shape, &old, &rows)?;
        }
        self.writer.finish()
    }

    fn lay(&mut self, shape: &Arc<TableShape>, old: &TableShape, rows: &RowsAnew) -> Result<(), SqlError> {
        let keyed_alike = !self.rekeyed.contains(&shape.id())
            && old.key_form == shape.key_form
            && old.table().primary_key_columns() == shape.table().primary_key_columns();
        let stands = old.table().columns.len() == shape.table().columns.len();
        // Keys of people may pass from one to another: whose µDB is whose is known before the first row is laid.
        let (was, is) = (old.table().data_subject, shape.table().data_subject);
        let moves = was != is || is && !keyed_alike;
        let mut moved = if was && moves { self.take_subjects(shape.id(), rows)? } else { BTreeMap::new() };
        let spills = shape.spills() && !is_temporary(shape.id().0) && !(was && moves);
        let mut laying = Laying { shape, spills, part: None, held: HeldRows::new(HELD_BYTES_MAX), greatest: None };
        let mut values = self.values_anew(shape)?;
        let looks_at_values = !values.is_empty() || self.has_new_partial(shape);
        let store = self.writer.transaction.database().store.clone();
        rows.each(|old_key, row| {
            let packed_key = if keyed_alike { Some(old_key.clone()) } else { shape.packed_row_key(&store, &row) };
            let looks = !stands || packed_key.is_none() || looks_at_values;
            let datums = if looks { shape.unpack(&row) } else { Vec::new() };
            if looks {
                self.note_values(shape, &mut values, &datums)?;
            }
            let row_key = packed_key.map_or_else(|| self.writer.new_row_key(shape, &datums), Ok)?;
            let microdb = match moved.remove(&old_key) {
                _ if !is || !moves => None,
                None => Some(self.writer.transaction.database().store.allocate_microdb()?),
                microdb => microdb,
            };
            let row = if stands { row } else { Row::pack(&datums) };
            laying.add(self.writer.transaction, HeldRow { row_key, row, microdb })
        })?;
        laying.finish(self.writer.transaction)?;
        for (index, values) in values {
            if values.repeat() {
                self.refuse_repeated(shape, index)?;
            }
        }
        Ok(())
    }

    /// For each unique index that is made over them, the values of a table's rows.
    fn values_anew(&mut self, shape: &TableShape) -> Result<Vec<(IndexId, Values)>, SqlError> {
        let made = |index: &&Index| index.unique && self.new_indexes.contains(&(shape.id(), index.id));
        let indexes = shape.table().indexes.iter().filter(made);
        Ok(indexes.map(|index| (index.id, Values::default())).collect())
    }

    fn has_new_partial(&self, shape: &TableShape) -> bool {
        let is_partial =
            |(_, id): &(RelationId, IndexId)| shape.table().index(*id).is_some_and(|index| !index.is_whole());
        self.new_indexes.iter().any(is_partial)
    }

    fn note_values(
        &mut self,
        shape: &TableShape,
        values: &mut [(IndexId, Values)],
        row: &[Datum],
    ) -> Result<(), SqlError> {
        if self.has_new_partial(shape) {
            for predicate in &self.writer.row_checks(shape)?.index_predicates {
                predicate.eval(row, &self.writer.context)?;
            }
        }
        for (index, values) in values {
            let index = shape.index(*index);
            if shape.is_unique_in(index, row)
                && let Some(value) = shape.index_value(index, row)
            {
                values.note_value(&value);
            }
        }
        Ok(())
    }

    /// 23505 if a value stands twice among the rows that were laid.
    fn refuse_repeated(&mut self, shape: &Arc<TableShape>, index: IndexId) -> Result<(), SqlError> {
        let index = shape.index(index);
        let snapshot = self.writer.transaction.latest_snapshot();
        for item in snapshot.scan(shape.table())? {
            poll::step()?;
            let (_, row) = item?;
            if is_unique_in(shape, index, &row)
                && let Some(value) = shape.index_value_of(index, &row)
                && snapshot.keys_by_value(shape, index.id, &value)?.len() > 1
            {
                return Err(duplicate(shape, &index.name));
            }
        }
        Ok(())
    }

    /// The µDBs of people by their rows' keys, which are nobody's from here on.
    fn take_subjects(
        &mut self,
        relation: RelationId,
        rows: &RowsAnew,
    ) -> Result<BTreeMap<RowKey, MicroDbId>, SqlError> {
        let snapshot = self.writer.transaction.latest_snapshot();
        let mut taken = BTreeMap::new();
        rows.each(|row_key, _| {
            taken.extend(snapshot.subject(relation, &row_key)?.map(|microdb| (row_key, microdb)));
            Ok(())
        })?;
        drop(snapshot);
        for row_key in taken.keys() {
            self.writer.transaction.overlay_mut().set_subject(relation, row_key.clone(), None);
        }
        Ok(taken)
    }
}

/// A table's rows on their way to the overlay: from some number on past its memory.
struct Laying<'a> {
    shape: &'a Arc<TableShape>,
    spills: bool,
    part: Option<Arc<SpilledRows>>,
    held: HeldRows,
    /// Of all that were laid.
    greatest: Option<RowKey>,
}

impl Laying<'_> {
    fn add(&mut self, transaction: &mut Transaction, row: HeldRow) -> Result<(), SqlError> {
        if !self.held.push(row) {
            return Ok(());
        }
        if self.part.is_none() && self.spills {
            let store = transaction.database().store.clone();
            self.part = Some(transaction.overlay_mut().begin_part(&store, self.shape)?);
        }
        self.finish(transaction)
    }

    /// Lays those that are held. 23505 if a key stands twice.
    fn finish(&mut self, transaction: &mut Transaction) -> Result<(), SqlError> {
        let rows = self.held.take()?;
        let repeats = rows.windows(2).any(|pair| pair[0].row_key == pair[1].row_key);
        // Mostly they come in their order.
        let met = rows.iter().take_while(|row| self.greatest.as_ref().is_some_and(|greatest| row.row_key <= *greatest));
        let mut taken = repeats;
        for row in met {
            poll::step()?;
            let Some(changes) = transaction.overlay().table(self.shape.id()) else { break };
            taken |= changes.rows.contains_key(&row.row_key) || changes.has_spilled(&row.row_key)?;
        }
        if taken {
            let index = self.shape.table().primary_key.map_or("", |index| &self.shape.index(index).name);
            return Err(duplicate(self.shape, index));
        }
        if let Some(last) =
            rows.last().filter(|last| self.greatest.as_ref().is_none_or(|greatest| *greatest < last.row_key))
        {
            self.greatest = Some(last.row_key.clone());
        }
        match &self.part {
            Some(part) => {
                let as_they_come = self.shape.stands_alone() && self.held.come_in_order();
                let rows = if as_they_come { push_in_order(part, rows)? } else { rows };
                let are_taken = as_they_come && rows.is_empty();
                self.held.hold_at_most(if are_taken { HELD_IN_ORDER_BYTES_MAX } else { HELD_BYTES_MAX });
                write_rows(&transaction.database().store, part, Some(self.shape), &rows)?;
            }
            None => {
                for HeldRow { row_key, row, microdb } in rows {
                    poll::step()?;
                    let overlay = transaction.overlay_mut();
                    overlay.set(self.shape, row_key.clone(), None, Some(row));
                    if microdb.is_some() {
                        overlay.set_subject(self.shape.id(), row_key, microdb);
                    }
                }
            }
        }
        Ok(())
    }
}
