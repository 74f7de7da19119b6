//! Indexes that the reader's own transaction has filled beside commits: their entries are in newer snapshots than its rows.
//!
//! An entry only says where to look: whose copy it names may have changed since, and the row is asked itself. A reader from before
//! the index was filled looks at all rows.

use crate::SqlError;
use crate::layered_snapshot::range::{ByteBound, within};
use crate::layered_snapshot::{LayeredSnapshot, prefix_end};
use crate::shape::TableShape;
use planner::catalog::Index;
use planner::ownership::graph::KeyForm;
use repr::{CommitTime, IndexId, RelationId, Row, RowKey, poll};
use std::ops::Bound;

/// A row by its value in an index.
pub(super) type Valued = (Vec<u8>, RowKey, Row);

impl LayeredSnapshot {
    /// Whether nothing below the layers stands in an index.
    pub(super) fn has_no_entries(&self, relation: RelationId, index: IndexId) -> bool {
        self.base_hidden(relation) || self.reindexed(relation, index)
    }

    /// Whether an index has no entries below the layers.
    pub(super) fn reindexed(&self, relation: RelationId, index: IndexId) -> bool {
        self.layers.iter().any(|layer| layer.table(relation).is_some_and(|changes| changes.reindexed.contains(&index)))
    }

    /// As of when a layer's transaction has filled an index, if it has.
    pub(super) fn filled(&self, relation: RelationId, index: IndexId) -> Option<CommitTime> {
        let tables = self.layers.iter().filter_map(|layer| layer.table(relation));
        tables.filter_map(|changes| changes.filled.get(&index)).copied().max()
    }

    /// Stored rows that no layer decides and that have this canonical value.
    pub(super) fn filled_rows(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
        as_of: CommitTime,
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let index = shape.index(index);
        let mut row_keys = Vec::new();
        match (&self.fresh, shape.key_form) {
            (_, _) if self.base.time < as_of => {
                let rows = self.all_valued(shape, index)?;
                let alike = rows.into_iter().filter(|(of_row, ..)| of_row == value);
                return Ok(alike.map(|(_, row_key, row)| (row_key, row)).collect());
            }
            (None, _) => return Ok(Vec::new()),
            (Some(fresh), KeyForm::Hashed) => {
                let entries = fresh.index_hashed(index.id, &self.store.hash_index(index.id, value))?;
                row_keys.extend(entries.into_iter().map(|(row_key, _)| row_key));
            }
            (Some(fresh), KeyForm::Ordered) => {
                let end = prefix_end(value);
                let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                for row_key in fresh.scan_index_ordered(index.id, Bound::Included(value), upper, false) {
                    poll::step()?;
                    row_keys.push(row_key?);
                }
            }
        }
        let mut found = Vec::new();
        for row_key in row_keys {
            if !self.hides(shape.id(), &row_key)?
                && let Some(row) = self.stored_row(shape.id(), &row_key)?
                && shape.index_value_of(index, &row).as_deref() == Some(value)
            {
                found.push((row_key, row));
            }
        }
        Ok(found)
    }

    /// Stored rows within bounds, by their values in an index of a table with ordered keys.
    pub(super) fn filled_range(
        &self,
        shape: &TableShape,
        index: &Index,
        (lower, upper): (&ByteBound, &ByteBound),
        as_of: CommitTime,
    ) -> Result<Vec<Valued>, SqlError> {
        let mut found = Vec::new();
        match &self.fresh {
            Some(fresh) if self.base.time >= as_of => {
                let (low, high) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
                for row_key in fresh.scan_index_ordered(index.id, low, high, false) {
                    let row_key = row_key?;
                    if let Some(row) = self.stored_row(shape.id(), &row_key)?
                        && let Some(value) = shape.index_value_of(index, &row)
                    {
                        found.push((value, row_key, row));
                    }
                }
            }
            Some(_) | None => {
                found = self.all_valued(shape, index)?;
                found.retain(|(value, ..)| within(value, lower, upper));
                found.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
            }
        }
        Ok(found)
    }

    /// Stored rows that no layer decides and that stand in an index.
    fn all_valued(&self, shape: &TableShape, index: &Index) -> Result<Vec<Valued>, SqlError> {
        let Some(stored) = self.base.schema.shape(shape.id()) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for item in self.snapshot().scan_once(shape.id(), stored.personal) {
            poll::step()?;
            let (row_key, row) = item?;
            if !self.hides(shape.id(), &row_key)?
                && let Some(value) = shape.index_value_of(index, &row)
            {
                found.push((value, row_key, row));
            }
        }
        Ok(found)
    }
}
