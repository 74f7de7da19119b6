//! Rows that stand on the disk until they are committed: whose they are is derived some at a time, as they are written.
//!
//! ```text
//! rows on the disk, in order ─▶ some thousand ─▶ owners, as for all rows ─▶ sealed by all processors ─▶ the batch, in files by and by
//! ```
//! Of new rows only ΔR ⋈ H(after) is to be derived: nothing that was there is owned by way of them. Rows that have changed keep their owners
//! (`TableShape::keeps_owners`), or have others and nobody is owned by way of them (`TableShape::owns_nothing`): what they are owned by is
//! looked up anew. Who was owned by way of rows that go is derived with rows in memory, and so is what others' owners have changed. What was
//! looked at and what is written is noted as for other rows.

use super::{Between, RowDeltas, far_keys, holders, known_holder, merged, near_value, orphan};
use crate::ownership::RowDelta;
use crate::ownership::newcomers::Newcomers;
use crate::ownership::placement::{Hashes, put_row};
use planner::ownership::Edge;
use repr::hash::HashMap;
use repr::{MicroDbId, RelationId, Row, RowKey, poll};
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::{Change, Overlay, Owners, TableChanges};
use state::shape::TableShape;
use state::validation::{Mark, Marks};
use state::{SqlError, parallel};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::Batch;
use storage::audit::SUBJECTS_LISTED_MAX;

/// Rows that are placed together.
const ROWS_AT_ONCE: usize = 4_096;
/// Values of an edge that are remembered with their holders.
const MET_MAX: usize = 1 << 16;

/// What was found of all of them.
#[derive(Default)]
pub struct PlacedRows {
    /// What was looked at.
    pub reads: Marks,
    /// What a commit of this changes.
    pub writes: Marks,
    /// Whose the rows are, by table.
    pub owners: BTreeMap<RelationId, BTreeSet<MicroDbId>>,
    /// Whose the rows were that go.
    pub left: BTreeMap<RelationId, BTreeSet<MicroDbId>>,
}

/// Adds the operations of a table's rows on the disk to a batch.
pub(super) fn place(
    (old, new): (&LayeredSnapshot, &LayeredSnapshot),
    overlay: &Arc<Overlay>,
    (shape, changes): (&Arc<TableShape>, &TableChanges),
    derived: &RowDeltas,
    batch: &mut Batch,
) -> Result<PlacedRows, SqlError> {
    let between = Between { old, new, overlay };
    let mut placing = Placing { between: &between, derived, met: HashMap::default(), found: PlacedRows::default() };
    // What is nobody's and came in order stands in files already.
    let taken = changes.take_in_order(new.store(), batch)?;
    let mut rows = changes.spilled_beside(taken).peekable();
    loop {
        let mut some = Vec::with_capacity(ROWS_AT_ONCE);
        for row in rows.by_ref().take(ROWS_AT_ONCE) {
            poll::step()?;
            let (row_key, change) = row?;
            // Others' owners have changed it, too: it is placed with them.
            let is_placed = derived.get(&shape.id()).is_some_and(|rows| rows.contains_key(&row_key));
            if !is_placed {
                let row = placing.delta(shape, &row_key, change)?;
                some.push((row_key, row));
            }
        }
        if some.is_empty() {
            if rows.peek().is_none() {
                break;
            }
            continue;
        }
        for part in seal((old, new), overlay, shape, some) {
            batch.append(part?);
        }
        new.store().set_aside_so_far(batch)?;
    }
    if shape.personal {
        placing.found.writes.note(&Mark::Placed(shape.id()));
    }
    place_people(&between, (shape, changes), &mut placing.found.writes, batch)?;
    Ok(placing.found)
}

/// Says whose µDB is whose, of people whose rows were written to the disk and who are there still.
fn place_people(
    between: &Between<'_>,
    (shape, changes): (&TableShape, &TableChanges),
    writes: &mut Marks,
    batch: &mut Batch,
) -> Result<(), SqlError> {
    if !shape.table().data_subject {
        return Ok(());
    }
    for (number, person) in changes.spilled_subjects().enumerate() {
        poll::step()?;
        let (row_key, microdb) = person?;
        // Who is gone again, or has another key, stands in memory.
        if between.overlay.subject(shape.id(), &row_key).is_none() {
            writes.note(&Mark::Subject(shape.id(), &row_key));
            batch.put_subject(shape.id(), &row_key, microdb);
        }
        if number % ROWS_AT_ONCE == 0 {
            between.new.store().set_aside_so_far(batch)?;
        }
    }
    Ok(())
}

/// The operations of rows, in parts.
fn seal(
    (old, new): (&LayeredSnapshot, &LayeredSnapshot),
    overlay: &Arc<Overlay>,
    shape: &Arc<TableShape>,
    rows: Vec<(RowKey, RowDelta)>,
) -> Vec<Result<Batch, SqlError>> {
    let (old, new, overlay, shape) = (old.clone(), new.clone(), overlay.clone(), shape.clone());
    let size = rows.len().div_ceil(2 * parallel::processors()).max(1);
    let parts = rows.len().div_ceil(size);
    parallel::begin(parts, move |number| {
        let between = Between { old: &old, new: &new, overlay: &overlay };
        let mut hashes = Hashes::new(new.store(), size);
        // The last of them are few, too.
        let mut newcomers = Newcomers::among(new.store(), usize::MAX);
        let mut batch = Batch::default();
        for (row_key, row) in rows.chunks(size).nth(number).unwrap_or_default() {
            poll::step()?;
            put_row(&mut batch, &between, (&mut hashes, &mut newcomers), &shape, row_key, row)?;
        }
        Ok(batch)
    })
    .finish()
}

/// The owners of a row that stands on the disk, if it does: what refers to it asks for them before it is placed itself.
pub(super) fn owners_of(
    between: &Between<'_>,
    relation: RelationId,
    row_key: &RowKey,
    derived: &RowDeltas,
    reads: &mut Marks,
) -> Result<Option<Owners>, SqlError> {
    let Some(changes) = between.overlay.table(relation) else { return Ok(None) };
    // One that was there before has the owners that it had.
    let Some(Change { before: None, after: Some(row), .. }) = changes.spilled_change(row_key)? else { return Ok(None) };
    let shape = between.new.shape(relation)?.clone();
    let mut placing = Placing { between, derived, met: HashMap::default(), found: PlacedRows::default() };
    let owners = placing.owners_of_row(&shape, row_key, &row)?;
    reads.extend(&placing.found.reads);
    Ok(Some(owners))
}

struct Placing<'a> {
    between: &'a Between<'a>,
    /// What was derived of rows in memory.
    derived: &'a RowDeltas,
    /// By edge and value: many rows meet the same few holders.
    met: HashMap<(usize, Vec<u8>), Vec<MicroDbId>>,
    found: PlacedRows,
}

impl Placing<'_> {
    /// A row with its owners before and after.
    fn delta(
        &mut self,
        shape: &TableShape,
        row_key: &RowKey,
        Change { before, after, .. }: Change,
    ) -> Result<RowDelta, SqlError> {
        let (mut old, mut new) = (Owners::new(), Owners::new());
        match (&before, &after) {
            _ if !shape.personal => {}
            (None, Some(row)) => new = self.owners_of_row(shape, row_key, row)?,
            (Some(was), Some(row)) => {
                old = self.stored_owners(shape, row_key)?;
                self.found.writes.note(&Mark::Row(shape.id(), row_key));
                if shape.keeps_owners(was, row) {
                    new.clone_from(&old);
                    let told = self.found.owners.entry(shape.id()).or_default();
                    told.extend(new.iter().map(|(owner, _)| *owner));
                } else {
                    new = self.owners_of_row(shape, row_key, row)?;
                    self.note_left(shape, (row_key, was), &old);
                }
            }
            (Some(row), None) => {
                old = self.stored_owners(shape, row_key)?;
                self.note_left(shape, (row_key, row), &old);
            }
            (None, None) => {}
        }
        Ok(RowDelta { before, after, old, new })
    }

    fn stored_owners(&mut self, shape: &TableShape, row_key: &RowKey) -> Result<Owners, SqlError> {
        self.found.reads.note(&Mark::Owners(shape.id(), row_key));
        self.between.old.owners_of(shape.id(), row_key)
    }

    /// Notes what another derivation may have read of a row that goes, or goes over to others, and whose it was.
    fn note_left(&mut self, shape: &TableShape, (row_key, row): (&RowKey, &Row), owners: &Owners) {
        self.found.left.entry(shape.id()).or_default().extend(owners.iter().map(|(owner, _)| *owner));
        let writes = &mut self.found.writes;
        writes.note(&Mark::Owners(shape.id(), row_key));
        let near = shape.owner_edges.iter().map(|edge| (edge.near_index, &edge.near_columns));
        let far = shape.owner_dependents.iter().map(|edge| (edge.far_index, &edge.far_columns));
        for (index, columns) in near.chain(far) {
            if let Some(value) = shape.value_of(columns, row) {
                writes.note(&Mark::Index(index, &value));
            }
        }
    }

    /// DG001 if it has none.
    fn owners_of_row(&mut self, shape: &TableShape, row_key: &RowKey, row: &Row) -> Result<Owners, SqlError> {
        let mut all = Vec::new();
        for (number, edge) in shape.owner_edges.iter().enumerate() {
            let Some(value) = near_value(shape, edge, row) else { continue };
            all.extend(self.met_holders(edge, (number, value))?.iter().map(|holder| (*holder, 1)));
        }
        for edge in &shape.owner_dependents {
            if let Some(value) = shape.value_of(&edge.far_columns, row) {
                self.found.writes.note(&Mark::Index(edge.far_index, &value));
            }
        }
        let own = if shape.table().data_subject { self.between.new.subject(shape.id(), row_key)? } else { None };
        all.extend(own.map(|own| (own, 1)));
        let counted = merged(all).into_iter().map(|(owner, count)| (owner, u32::try_from(count).unwrap_or(u32::MAX)));
        let owners: Owners = counted.collect();
        if owners.is_empty() {
            return Err(orphan::refusal(shape, row, self.between.new.schema()));
        }
        // Nobody knows of people who are new, and of many only the number is told.
        let told = self.found.owners.entry(shape.id()).or_default();
        let is_told = |owner: &MicroDbId| Some(*owner) != own || told.len() <= SUBJECTS_LISTED_MAX;
        let owners_told: Vec<MicroDbId> = owners.iter().map(|(owner, _)| *owner).filter(is_told).collect();
        told.extend(owners_told);
        Ok(owners)
    }

    fn met_holders(&mut self, edge: &Edge, place: (usize, Vec<u8>)) -> Result<&[MicroDbId], SqlError> {
        if self.met.len() >= MET_MAX {
            self.met.clear();
        }
        if !self.met.contains_key(&place) {
            let (_, value) = &place;
            let PlacedRows { reads, writes, .. } = &mut self.found;
            // Whoever changes who holds what it leads to asks who is led there.
            writes.note(&Mark::Index(edge.near_index, value));
            let holding = match known_holder(self.between, edge, value, reads) {
                Some(holder) => vec![holder],
                None => {
                    let mut holding = Vec::new();
                    for far_key in far_keys(self.between.new, edge, value, reads)? {
                        holding.extend(holders(self.between, edge.far, &far_key, self.derived, reads)?);
                    }
                    holding
                }
            };
            self.met.insert(place.clone(), holding);
        }
        Ok(&self.met[&place])
    }
}
