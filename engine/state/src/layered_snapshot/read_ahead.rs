//! Reading ahead: rows by the values that lead to them, for one who knows what will be asked for.
//!
//! Asked together, with the help of a second thread where it is much. What is found is
//! kept in the reader's `ReadMemo`; what was not foreseen is read when it is asked for. Never decides anything.

use crate::SqlError;
use crate::layered_snapshot::batch::read;
use crate::layered_snapshot::{LayeredSnapshot, Located, ROWS_AT_ONCE};
use crate::parallel::{self, Help};
use crate::read_memo::ReadMemo;
use crate::shape::Schema;
use planner::ownership::graph::KeyForm;
use repr::{IndexId, MicroDbId, RelationId, RowKey};
use std::sync::Arc;
use storage::{Snapshot, StorageError, Store, ValueHash};

/// Values asked for at once.
const ASKS_AT_ONCE: usize = 32;

/// What will be asked for.
#[derive(Default)]
pub struct Asks {
    by_index: Vec<Ask>,
    rows: Vec<WantedRow>,
}

/// The rows that a value leads to in a hashed index.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ask {
    index: IndexId,
    relation: RelationId,
    value: Vec<u8>,
}

/// A row, in the order of its place on disk.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WantedRow {
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
                asks.rows.push(WantedRow { relation, owner: None, row_key });
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
        let (store, snapshot, schema) = (self.store.clone(), self.base.snapshot.clone(), self.base.schema.clone());
        let reading = Reading { store, snapshot, schema, recall, by_index, rows };
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
    schema: Arc<Schema>,
    recall: Arc<ReadMemo>,
    by_index: Vec<Ask>,
    rows: Vec<WantedRow>,
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
                    wanted.push(WantedRow { relation: ask.relation, owner: *owner, row_key: row_key.clone() });
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
    fn keep_rows(&self, wanted: &[WantedRow]) -> Result<(), StorageError> {
        for alike in wanted.chunk_by(|one, next| one.relation == next.relation) {
            let relation = alike[0].relation;
            let Some(shape) = self.schema.shape(relation) else { continue };
            let located: Vec<Located> = alike.iter().map(|wanted| (wanted.row_key.clone(), wanted.owner)).collect();
            let rows = read(&self.snapshot, shape, &located)?;
            let there = located.into_iter().zip(rows).filter_map(|((row_key, _), row)| Some((row_key, row?)));
            self.recall.keep_rows(relation, there);
        }
        Ok(())
    }
}
