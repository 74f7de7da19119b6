//! Reading ahead: rows by the values that lead to them, for one who knows what will be asked for.
//!
//! Asked together and in the order in which it lies on disk, half of it by a second thread where it is much. What is found is
//! kept in the reader's `Recall`; what was not foreseen is read when it is asked for. Never decides anything.

use super::{Layered, ROWS_AT_ONCE};
use crate::SqlError;
use crate::halves::in_halves;
use crate::recall::Recall;
use planner::ownership::graph::KeyForm;
use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};
use storage::{Snapshot, StorageError, ValueHash};

/// What will be asked for.
#[derive(Default)]
pub struct Asks {
    by_index: Vec<Ask>,
    rows: Vec<Wanted>,
}

/// The rows that a value leads to in a hashed index.
struct Ask {
    index: IndexId,
    hash: ValueHash,
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

impl Layered {
    /// Notes that the rows of a table will be asked for to which a canonical value leads.
    pub fn foresee(&self, asks: &mut Asks, relation: RelationId, index: IndexId, value: Vec<u8>) {
        let (Some(recall), Some(shape)) = (&self.recall, self.base.schema.shape(relation)) else { return };
        if shape.table().primary_key == Some(index) {
            let row_key = shape.key_of_value(&self.store, &value);
            // Whose copy of another's row to read is not known yet.
            if !shape.personal && recall.holds(relation, &row_key).is_none() {
                asks.rows.push(Wanted { relation, owner: None, row_key });
            }
        } else if shape.key_form == KeyForm::Hashed && !recall.has_located(index, &value) {
            asks.by_index.push(Ask { index, hash: self.store.hash_index(index, &value), relation, value });
        }
    }

    /// Recalls it from here on.
    pub fn read_ahead(&self, asks: Asks) -> Result<(), SqlError> {
        let Some(recall) = &self.recall else { return Ok(()) };
        let (mut by_index, mut rows) = (asks.by_index, asks.rows);
        by_index.sort_unstable_by(|one, other| (one.index, one.hash).cmp(&(other.index, other.hash)));
        by_index.dedup_by(|one, other| one.index == other.index && one.value == other.value);
        let found = in_halves(&by_index, |some| {
            let mut probe = self.base.snapshot.index_probe();
            some.iter().map(|ask| probe.rows(ask.index, &ask.hash)).collect()
        })?;
        for (Ask { index, relation, value, .. }, located) in by_index.into_iter().zip(found) {
            for (row_key, owner) in &located {
                if recall.holds(relation, row_key).is_none() {
                    rows.push(Wanted { relation, owner: *owner, row_key: row_key.clone() });
                }
            }
            recall.keep_located(relation, index, value, located);
        }
        self.read_rows_ahead(recall, rows)
    }

    fn read_rows_ahead(&self, recall: &Recall, mut wanted: Vec<Wanted>) -> Result<(), SqlError> {
        wanted.sort_unstable();
        wanted.dedup();
        let rows = in_halves(&wanted, |some| read(&self.base.snapshot, some))?;
        for (Wanted { relation, row_key, .. }, row) in wanted.into_iter().zip(rows) {
            // Where an index leads to nothing, whoever asks is told.
            if row.is_some() {
                recall.keep_row(relation, row_key, row);
            }
        }
        Ok(())
    }
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
