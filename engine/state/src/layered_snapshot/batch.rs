//! Many look-ups at once, in the order in which things lie on disk: cheaper together than one by one.
//!
//! Where layers stand above the leaves each is looked up by itself, as they decide what is there.

use crate::SqlError;
use crate::layered_snapshot::{LayeredSnapshot, Located, ROWS_AT_ONCE};
use crate::parallel::{HELPED_ITEMS_MIN, in_parts};
use crate::shape::TableShape;
use planner::ownership::graph::KeyForm;
use repr::{IndexId, MicroDbId, Row, RowKey};
use std::sync::Arc;
use storage::{Snapshot, StorageError, ValueHash};

impl LayeredSnapshot {
    /// Of many canonical values the rows that have them in an index; in any order.
    pub fn located_together(
        &self,
        shape: &TableShape,
        index: IndexId,
        values: Vec<Vec<u8>>,
    ) -> Result<Vec<(Vec<u8>, Vec<Located>)>, SqlError> {
        if shape.table().primary_key == Some(index) {
            let located = |value: Vec<u8>| {
                let row_key = shape.key_of_value(&self.store, &value);
                (value, vec![(row_key, None)])
            };
            return Ok(values.into_iter().map(located).collect());
        }
        if self.changes(shape.id()) || shape.key_form == KeyForm::Ordered {
            let located = |value: Vec<u8>| {
                let located = self.located_by_value(shape, index, &value)?;
                Ok::<_, SqlError>((value, located))
            };
            return values.into_iter().map(located).collect();
        }
        let mut asked: Vec<(ValueHash, Vec<u8>)> =
            values.into_iter().map(|value| (self.store.hash_index(index, &value), value)).collect();
        asked.sort_unstable();
        if asked.len() < HELPED_ITEMS_MIN {
            // By a cursor that is there already.
            let located = |(hash, value): (ValueHash, Vec<u8>)| Ok((value, self.base.index_rows(index, &hash)?));
            return asked.into_iter().map(located).collect();
        }
        let (asked, snapshot) = (Arc::new(asked), self.base.snapshot.clone());
        let found = in_parts(&asked, move |some| {
            let mut probe = snapshot.index_probe();
            some.iter().map(|(hash, _)| probe.rows(index, hash)).collect::<Result<Vec<_>, StorageError>>()
        })?;
        Ok(Arc::unwrap_or_clone(asked).into_iter().map(|(_, value)| value).zip(found).collect())
    }

    /// Rows of one table, from where they were located; `None` where nothing is. In the order of their keys.
    pub fn rows_together(
        &self,
        shape: &Arc<TableShape>,
        mut located: Vec<Located>,
    ) -> Result<Vec<(Located, Option<Row>)>, SqlError> {
        located.sort_unstable_by(|(one, owner), (other, other_owner)| (owner, one).cmp(&(other_owner, other)));
        if self.changes(shape.id()) {
            let read = |located: Located| {
                let row = self.get_located(shape, &located)?;
                Ok::<_, SqlError>((located, row))
            };
            return located.into_iter().map(read).collect();
        }
        let (located, snapshot, shape) = (Arc::new(located), self.leaves(), shape.clone());
        let rows = in_parts(&located, move |some| read(&snapshot, &shape, some))?;
        Ok(Arc::unwrap_or_clone(located).into_iter().zip(rows).collect())
    }
}

/// Rows from below the layers, in the order asked for.
pub(super) fn read(
    snapshot: &Snapshot,
    shape: &TableShape,
    located: &[Located],
) -> Result<Vec<Option<Row>>, StorageError> {
    let relation = shape.id();
    let mut rows = Vec::with_capacity(located.len());
    for alike in located.chunk_by(|(_, one), (_, next)| one.is_some() == next.is_some()) {
        // So many at once, as their blocks are held in the cache meanwhile.
        for some in alike.chunks(ROWS_AT_ONCE) {
            let copies: Option<Vec<(&RowKey, MicroDbId)>> =
                some.iter().map(|(row_key, owner)| Some((row_key, (*owner)?))).collect();
            if let Some(copies) = copies {
                rows.extend(snapshot.get_copies(relation, &copies)?);
                continue;
            }
            let row_keys: Vec<RowKey> = some.iter().map(|(row_key, _)| row_key.clone()).collect();
            rows.extend(match shape.personal {
                true if shape.table().data_subject => snapshot.get_subjects(relation, &row_keys)?,
                true => snapshot.get_personals(relation, &row_keys)?,
                false => snapshot.get_impersonals(relation, &row_keys)?,
            });
        }
    }
    Ok(rows)
}
