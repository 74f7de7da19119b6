//! Reading ahead: rows by the values that lead to them, for one who knows what will be asked for.
//!
//! Asked together, with the help of a second thread where it is much. What is found is
//! kept in the reader's `ReadMemo`; what was not foreseen is read when it is asked for. Never decides anything.

use crate::SqlError;
use crate::layered_snapshot::{LayeredSnapshot, ROWS_AT_ONCE};
use crate::parallel::{self, Help};
use crate::read_memo::ReadMemo;
use planner::ownership::graph::KeyForm;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};
use std::sync::Arc;
use storage::{Snapshot, StorageError, Store, ValueHash};

/// Values asked for at once.
const ASKS_AT_ONCE: usize = 32;

/// What will be asked for.
#[derive(Default)]
pub struct Asks {
    by_index: Vec<Ask>,
    rows: Vec<Wanted>,
}

/// The rows that a value leads to in a hashed index.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ask {
    index: IndexId,
    relation: RelationId,
    value: Vec<u8>,
}

/// A row, in the order of its place on disk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    relation: RelationId,
    /// Whose copy.
    owner: Option<MicroDbId>,
    row_key: RowKey,
}

/// Reading that is under way. Dropped, it ends.
pub struct Ahead(Option<Help<Result<(), StorageError>>>);

impl LayeredSnapshot {
    /// Notes that the rows of a table will be asked for to which a canonical value leads.
    pub fn foresee(&self, asks: &mut Asks, relation: RelationId, index: IndexId, value: &[u8]) {
        let (Some(recall), Some(shape)) = (&self.recall, self.base.schema.shape(relation)) else { return };
        if shape.table().primary_key == Some(index) {
            let row_key = shape.key_of_value(&self.store, value);
            // Whose copy of another's row to read is not known yet.
            if !shape.personal && recall.holds(relation, &row_key).is_none() {
                asks.rows.push(Wanted { relation, owner: None, row_key });
            }
        } else if shape.key_form == KeyForm::Hashed && !recall.has_located(index, value) {
            asks.by_index.push(Ask { index, relation, value: value.to_vec() });
        }
    }

    /// Recalls it from here on.
    pub fn read_ahead(&self, asks: Asks) -> Result<(), SqlError> {
        self.begin_ahead(asks).finish()
    }

    /// Begins to; whoever asks before it is finished may read for itself.
    pub fn begin_ahead(&self, asks: Asks) -> Ahead {
        let Some(recall) = self.recall.clone() else { return Ahead(None) };
        let (mut by_index, mut rows) = (asks.by_index, asks.rows);
        by_index.sort_unstable();
        by_index.dedup();
        rows.sort_unstable();
        rows.dedup();
        let parts = by_index.len().div_ceil(ASKS_AT_ONCE) + rows.len().div_ceil(ROWS_AT_ONCE);
        if parts == 0 {
            return Ahead(None);
        }
        let (store, snapshot) = (self.store.clone(), self.base.snapshot.clone());
        let reading = Reading { store, snapshot, recall, by_index, rows };
        Ahead(Some(parallel::begin(parts, move |number| reading.part(number))))
    }
}

impl Ahead {
    /// Takes part in what is left, and waits for the rest.
    pub fn finish(self) -> Result<(), SqlError> {
        let done = self.0.map_or_else(Vec::new, Help::finish);
        Ok(done.into_iter().collect::<Result<(), StorageError>>()?)
    }
}

struct Reading {
    store: Store,
    snapshot: Snapshot,
    recall: Arc<ReadMemo>,
    by_index: Vec<Ask>,
    rows: Vec<Wanted>,
}

impl Reading {
    fn part(&self, number: usize) -> Result<(), StorageError> {
        match self.by_index.chunks(ASKS_AT_ONCE).nth(number) {
            Some(asks) => self.by_index(asks),
            None => {
                let number = number - self.by_index.len().div_ceil(ASKS_AT_ONCE);
                self.keep_rows(self.rows.chunks(ROWS_AT_ONCE).nth(number).unwrap_or_default())
            }
        }
    }

    fn by_index(&self, asks: &[Ask]) -> Result<(), StorageError> {
        let hashed = |ask: &Ask| self.store.hash_index_once(ask.index, &ask.value);
        let mut order: Vec<(IndexId, ValueHash, &Ask)> = asks.iter().map(|ask| (ask.index, hashed(ask), ask)).collect();
        order.sort_unstable();
        let mut probe = self.snapshot.index_probe();
        let (mut wanted, mut found) = (Vec::new(), Vec::with_capacity(asks.len()));
        for (index, hash, ask) in order {
            let located = probe.rows(index, &hash)?;
            for (row_key, owner) in &located {
                if self.recall.holds(ask.relation, row_key).is_none() {
                    wanted.push(Wanted { relation: ask.relation, owner: *owner, row_key: row_key.clone() });
                }
            }
            found.push((ask, located));
        }
        wanted.sort_unstable();
        wanted.dedup();
        self.keep_rows(&wanted)?;
        for (ask, located) in found {
            self.recall.keep_located(ask.relation, ask.index, ask.value.clone(), located);
        }
        Ok(())
    }

    /// Where an index leads to nothing, whoever asks is told.
    fn keep_rows(&self, wanted: &[Wanted]) -> Result<(), StorageError> {
        let rows = read(&self.snapshot, wanted)?;
        for (alike, rows) in by_relation(wanted.iter().zip(rows)) {
            self.recall.keep_rows(alike, rows);
        }
        Ok(())
    }
}

/// The rows that are there, a table at a time.
fn by_relation<'a>(rows: impl Iterator<Item = (&'a Wanted, Option<Row>)>) -> Vec<(RelationId, Vec<(RowKey, Row)>)> {
    let mut tables: Vec<(RelationId, Vec<(RowKey, Row)>)> = Vec::new();
    for (Wanted { relation, row_key, .. }, row) in rows {
        let Some(row) = row else { continue };
        match tables.last_mut() {
            Some((last, rows)) if last == relation => rows.push((row_key.clone(), row)),
            Some(_) | None => tables.push((*relation, vec![(row_key.clone(), row)])),
        }
    }
    tables
}

/// Rows, in the order asked for.
fn read(snapshot: &Snapshot, wanted: &[Wanted]) -> Result<Vec<Option<Row>>, StorageError> {
    let mut rows = Vec::with_capacity(wanted.len());
    let alike =
        |one: &Wanted, next: &Wanted| one.relation == next.relation && one.owner.is_some() == next.owner.is_some();
    for alike in wanted.chunk_by(alike) {
        // So many at once, as their blocks are held in the cache meanwhile.
        for some in alike.chunks(ROWS_AT_ONCE) {
            let relation = some[0].relation;
            let copies: Option<Vec<(&RowKey, MicroDbId)>> =
                some.iter().map(|wanted| Some((&wanted.row_key, wanted.owner?))).collect();
            rows.extend(match copies {
                Some(copies) => snapshot.get_copies(relation, &copies)?,
                None => {
                    let row_keys: Vec<RowKey> = some.iter().map(|wanted| wanted.row_key.clone()).collect();
                    snapshot.get_impersonals(relation, &row_keys)?
                }
            });
        }
    }
    Ok(rows)
}
