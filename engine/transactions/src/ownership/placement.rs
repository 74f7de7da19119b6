//! From derived owners to storage: the write batch of one transaction, sealed copy by sealed copy.
//!
//! Built on the connection's thread, valid as long as what the derivation read stands. A personal row can
//! only be put with its owners: that is `storage::OwnerSet`, which is never empty.

use crate::ownership::newcomers::Newcomers;
use crate::ownership::{Between, Derivation, RowDelta, spilled};
use planner::ownership::graph::KeyForm;
use repr::hash::HashMap;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::{Overlay, Owners};
use state::shape::TableShape;
use state::{SqlError, parallel};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use storage::{Batch, OwnerSet, Store, ValueHash};

// Fewer are written as fast as they are sorted.
const SORTED_OPERATIONS_MIN: usize = 256;
/// What a row's operations take at least, mostly.
const ROW_OPERATIONS_BYTES: usize = 256;
/// So many of an index are remembered.
const REMEMBERED_HASHES_MAX: usize = 1 << 16;
/// Of fewer rows no hashes are remembered.
const REMEMBERED_ROWS_MIN: usize = 16;

/// The storage operations of a transaction: rows, owners, indexes, subjects. What was found of rows on the disk.
pub fn build(
    old: &LayeredSnapshot,
    new: &LayeredSnapshot,
    overlay: &Arc<Overlay>,
    derivation: &Arc<Derivation>,
) -> Result<(Batch, Vec<spilled::PlacedRows>), SqlError> {
    let between = &Between { old, new, overlay };
    let store = new.store();
    let mut hashes = Hashes::new(store, overlay.len());
    let mut batch = Batch::default();
    for table in overlay.dropped_tables() {
        store.drop_relation(&mut batch, table.id);
        table.indexes.iter().for_each(|index| store.drop_index(&mut batch, index.id));
    }
    for index in overlay.dropped_indexes() {
        store.drop_index(&mut batch, *index);
    }
    overlay.begun_indexes().iter().for_each(|index| batch.finish_index(*index));
    for (relation, changes) in overlay.tables() {
        let Some(shape) = between.new.schema().shape(relation).cloned() else { continue };
        if changes.truncated {
            store.drop_relation(&mut batch, relation);
            shape.table().indexes.iter().for_each(|index| store.drop_index(&mut batch, index.id));
        }
        if !shape.personal {
            for (row_key, change) in &changes.rows {
                put_impersonal(&mut batch, between, &mut hashes, &shape, row_key, (&change.before, &change.after))?;
                store.set_aside_so_far(&mut batch)?;
            }
        }
    }
    for part in personal(old, new, overlay, derivation) {
        batch.append(part?);
        store.set_aside_so_far(&mut batch)?;
    }
    let mut found = Vec::new();
    for relation in overlay.spilled_tables() {
        let (Some(shape), Some(changes)) = (new.schema().shape(relation), overlay.table(relation)) else { continue };
        found.push(spilled::place((old, new), overlay, (shape, changes), &derivation.tables, &mut batch)?);
    }
    // Old places first: a subject that moved to another key is put again below, from both sides.
    for ((relation, row_key), now) in overlay.subjects() {
        if let Some(microdb) = between.old.subject(*relation, row_key)?
            && *now != Some(microdb)
        {
            batch.delete_subject(*relation, row_key, microdb);
        }
    }
    for ((relation, row_key), microdb) in overlay.subjects() {
        if let Some(microdb) = microdb {
            batch.put_subject(*relation, row_key, *microdb);
        }
    }
    if batch.len() > SORTED_OPERATIONS_MIN {
        batch.sort();
    }
    Ok((batch, found))
}

/// The operations of personal rows, in parts.
fn personal(
    old: &LayeredSnapshot,
    new: &LayeredSnapshot,
    overlay: &Arc<Overlay>,
    derivation: &Arc<Derivation>,
) -> Vec<Result<Batch, SqlError>> {
    let count: usize = derivation.tables.values().map(BTreeMap::len).sum();
    if count < parallel::HELPED_ITEMS_MIN {
        let between = Between { old, new, overlay };
        return vec![put_rows(&between, (count, count), all_rows(derivation))];
    }
    let size = parallel::part_items(count);
    let place = |(relation, row_key, _): (RelationId, &RowKey, _)| (relation, row_key.clone());
    let starts: Vec<(RelationId, RowKey)> = all_rows(derivation).step_by(size).map(place).collect();
    let (old, new) = (old.clone(), new.clone());
    let (overlay, derivation) = (overlay.clone(), derivation.clone());
    let parts = starts.len();
    parallel::begin(parts, move |number| {
        let between = Between { old: &old, new: &new, overlay: &overlay };
        let (first, row_key) = &starts[number];
        let rest = derivation.tables.range((Bound::Excluded(*first), Bound::Unbounded));
        let rest = rest.flat_map(|(relation, rows)| rows.iter().map(move |(row_key, row)| (*relation, row_key, row)));
        let here = derivation.tables[first].range((Bound::Included(row_key), Bound::Unbounded));
        let here = here.map(|(row_key, row)| (*first, row_key, row));
        put_rows(&between, (size, count), here.chain(rest).take(size))
    })
    .finish()
}

fn all_rows(derivation: &Derivation) -> impl Iterator<Item = (RelationId, &RowKey, &RowDelta)> {
    let tables = derivation.tables.iter();
    tables.flat_map(|(relation, rows)| rows.iter().map(move |(row_key, row)| (*relation, row_key, row)))
}

/// Some of a transaction's rows: how many of how many.
fn put_rows<'r>(
    between: &Between<'_>,
    (count, all): (usize, usize),
    rows: impl Iterator<Item = (RelationId, &'r RowKey, &'r RowDelta)>,
) -> Result<Batch, SqlError> {
    let mut batch = Batch::with_room(count * ROW_OPERATIONS_BYTES);
    let mut hashes = Hashes::new(between.new.store(), count);
    let mut newcomers = Newcomers::among(between.new.store(), all);
    for (relation, row_key, row) in rows {
        poll::step()?;
        let shape = between.new.shape(relation)?;
        put_personal(&mut batch, between, (&mut hashes, &mut newcomers), shape, row_key, row)?;
    }
    Ok(batch)
}

/// Keyed hashes of index values; rows that are written together have many in common.
pub(super) struct Hashes<'a> {
    store: &'a Store,
    known: Option<HashMap<IndexId, HashMap<Vec<u8>, ValueHash>>>,
}

impl<'a> Hashes<'a> {
    pub(super) fn new(store: &'a Store, rows: usize) -> Self {
        Hashes { store, known: (rows >= REMEMBERED_ROWS_MIN).then(HashMap::default) }
    }

    fn of(&mut self, index: IndexId, value: Vec<u8>) -> ValueHash {
        self.found(index, value, Store::hash_index)
    }

    /// The same of a value that a row no longer has: seldom asked for again.
    fn of_gone(&mut self, index: IndexId, value: Vec<u8>) -> ValueHash {
        self.found(index, value, Store::hash_index_once)
    }

    fn found(
        &mut self,
        index: IndexId,
        value: Vec<u8>,
        hash: impl Fn(&Store, IndexId, &[u8]) -> ValueHash,
    ) -> ValueHash {
        let store = self.store;
        match &mut self.known {
            Some(known) => {
                let known = known.entry(index).or_default();
                if known.len() >= REMEMBERED_HASHES_MAX {
                    known.clear();
                }
                *known.entry(value).or_insert_with_key(|value| hash(store, index, value))
            }
            None => store.hash_index(index, &value),
        }
    }
}

/// Operations of a row, whoever's it is.
pub(super) fn put_row(
    batch: &mut Batch,
    between: &Between<'_>,
    (hashes, newcomers): (&mut Hashes<'_>, &mut Newcomers<'_>),
    shape: &TableShape,
    row_key: &RowKey,
    row: &RowDelta,
) -> Result<(), SqlError> {
    match shape.personal {
        true => put_personal(batch, between, (hashes, newcomers), shape, row_key, row),
        false => put_impersonal(batch, between, hashes, shape, row_key, (&row.before, &row.after)),
    }
}

/// A row before and after.
type Versions<'a> = (&'a Option<Row>, &'a Option<Row>);

fn put_impersonal(
    batch: &mut Batch,
    between: &Between<'_>,
    hashes: &mut Hashes<'_>,
    shape: &TableShape,
    row_key: &RowKey,
    (before, after): Versions<'_>,
) -> Result<(), SqlError> {
    match after {
        Some(row) if before.as_ref() != Some(row) => {
            batch.put_impersonal(between.new.store(), shape.id(), row_key, row, shape.table().schema_version)?;
        }
        Some(_) => {}
        None if before.is_some() => batch.delete_impersonal(shape.id(), row_key),
        None => return Ok(()),
    }
    put_indexes(batch, between, hashes, shape, row_key, (before, after), &EntriesToPut { locator: None, all: false });
    Ok(())
}

fn put_personal(
    batch: &mut Batch,
    between: &Between<'_>,
    (hashes, newcomers): (&mut Hashes<'_>, &mut Newcomers<'_>),
    shape: &TableShape,
    row_key: &RowKey,
    row: &RowDelta,
) -> Result<(), SqlError> {
    let relation = shape.id();
    let gone = Owners::new();
    let owners = if row.after.is_some() { &row.new } else { &gone };
    for (owner, _) in row.old.iter().filter(|(owner, _)| !has(owners, *owner)) {
        batch.delete_copy(relation, row_key, *owner);
        batch.delete_owner(relation, row_key, *owner);
    }
    for (owner, derivations) in owners.iter().filter(|entry| !row.old.contains(entry)) {
        batch.put_owner(relation, row_key, *owner, *derivations);
    }
    let canonical = |owners: &Owners| owners.first().map(|(owner, _)| *owner);
    let moved = canonical(&row.old) != canonical(owners);
    if let Some(after) = &row.after {
        let set = OwnerSet::new(owners.iter().map(|(owner, _)| *owner))
            .ok_or_else(|| SqlError::new("DG001", "a row without owner cannot be stored"))?;
        let rewritten = row.before.as_ref() != Some(after);
        // The canonical mark leaves one copy and comes to another.
        let marked = |owner: MicroDbId| Some(owner) == canonical(owners) || Some(owner) == canonical(&row.old);
        let copies: Vec<MicroDbId> = owners
            .iter()
            .map(|(owner, _)| *owner)
            .filter(|owner| rewritten || !has(&row.old, *owner) || moved && marked(*owner))
            .collect();
        let version = shape.table().schema_version;
        batch.put_personal_copies(between.new.store(), relation, row_key, after, &set, &copies, version)?;
        if row.before.is_none() && row.old.is_empty() {
            newcomers.note(batch, shape, after, set.iter());
        }
    }
    let locator = canonical(owners);
    let entries = EntriesToPut { locator, all: moved };
    put_indexes(batch, between, hashes, shape, row_key, (&row.before, &row.after), &entries);
    Ok(())
}

fn has(owners: &Owners, owner: MicroDbId) -> bool {
    owners.binary_search_by(|(other, _)| other.cmp(&owner)).is_ok()
}

/// What is to be written of a row's index entries.
struct EntriesToPut {
    /// Whose copy they name.
    locator: Option<MicroDbId>,
    /// They name another than before: those that stay are put again.
    all: bool,
}

fn put_indexes(
    batch: &mut Batch,
    between: &Between<'_>,
    hashes: &mut Hashes<'_>,
    shape: &TableShape,
    row_key: &RowKey,
    (before, after): Versions<'_>,
    entries: &EntriesToPut,
) {
    let reindexed = between.overlay.table(shape.id()).map(|changes| &changes.reindexed);
    let mut changed = Vec::new();
    let versions = before.as_ref().zip(after.as_ref());
    versions.inspect(|(before, after)| before.changed_columns(after, &mut changed));
    for index in &shape.table().indexes {
        let below = reindexed.is_none_or(|reindexed| !reindexed.contains(&index.id));
        if below && !entries.all && versions.is_some() && !shape.concerns_index(index, &changed) {
            continue;
        }
        let old = before.as_ref().filter(|_| below).and_then(|row| shape.index_value_of(index, row));
        let value = after.as_ref().and_then(|row| shape.index_value_of(index, row));
        if old == value && !entries.all {
            continue;
        }
        let old = old.filter(|old| value.as_ref() != Some(old));
        match shape.key_form {
            KeyForm::Hashed => {
                if let Some(old) = old {
                    batch.delete_index_hashed(index.id, &hashes.of_gone(index.id, old), row_key);
                }
                if let Some(value) = value {
                    batch.put_index_hashed(index.id, &hashes.of(index.id, value), row_key, entries.locator);
                }
            }
            KeyForm::Ordered => {
                if let Some(old) = old {
                    batch.delete_index_ordered(index.id, &old, row_key);
                }
                if let Some(value) = value {
                    batch.put_index_ordered(index.id, &value, row_key);
                }
            }
        }
    }
}
