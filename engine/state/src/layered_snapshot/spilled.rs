//! Rows of the layers that stand on the disk: below what their layer has in memory, above all that is stored.
//!
//! Only new rows stand there, so none of them is stored as well.

use crate::SqlError;
use crate::layered_snapshot::LayeredSnapshot;
use crate::layered_snapshot::filled::Valued;
use crate::layered_snapshot::range::{ByteBound, within};
use crate::overlay::TableChanges;
use crate::reader::RowIterator;
use crate::shape::TableShape;
use planner::catalog::Index;
use repr::{IndexId, RelationId, Row, RowKey, poll};
use std::borrow::Cow;

/// Rows with their values, in order.
pub(super) type ValuedRows = Box<dyn Iterator<Item = Result<Valued, SqlError>> + Send>;

impl LayeredSnapshot {
    /// The version of a row in the layers, in memory or on the disk, if one of them decides it.
    pub(super) fn decided(
        &self,
        relation: RelationId,
        row_key: &RowKey,
    ) -> Result<Option<Option<Cow<'_, Row>>>, SqlError> {
        for layer in self.layers.iter().rev() {
            let Some(changes) = layer.table(relation) else { continue };
            if let Some(change) = changes.rows.get(row_key) {
                return Ok(Some(change.after.as_ref().map(Cow::Borrowed)));
            }
            if let Some(row) = changes.spilled_row(row_key)? {
                return Ok(Some(Some(Cow::Owned(row))));
            }
            if changes.truncated {
                return Ok(Some(None));
            }
        }
        Ok(None)
    }

    /// Whether the layers have a row, if one of them decides that.
    pub(super) fn decided_to_exist(&self, relation: RelationId, row_key: &RowKey) -> Result<Option<bool>, SqlError> {
        for layer in self.layers.iter().rev() {
            let Some(changes) = layer.table(relation) else { continue };
            if let Some(change) = changes.rows.get(row_key) {
                return Ok(Some(change.after.is_some()));
            }
            if changes.has_spilled(row_key)? {
                return Ok(Some(true));
            }
            if changes.truncated {
                return Ok(Some(false));
            }
        }
        Ok(None)
    }

    /// Whether a layer has rows of a table on the disk.
    pub(super) fn has_spilled(&self, relation: RelationId) -> bool {
        self.spilled_layers(relation).next().is_some()
    }

    fn spilled_layers(&self, relation: RelationId) -> impl Iterator<Item = (usize, &TableChanges)> {
        let changes = self.layers.iter().enumerate().map(move |(place, layer)| (place, layer.table(relation)));
        changes.filter_map(|(place, changes)| Some((place, changes.filter(|changes| !changes.spilled.is_empty())?)))
    }

    /// Whether what a layer has of a row on the disk is its version.
    fn stands(&self, place: usize, relation: RelationId, row_key: &RowKey) -> bool {
        !self.layers[place..].iter().enumerate().any(|(above, layer)| {
            let changes = layer.table(relation);
            changes.is_some_and(|changes| changes.rows.contains_key(row_key) || above > 0 && changes.truncated)
        })
    }

    /// All rows of a table that stand on the disk.
    pub(super) fn spilled_rows(&self, relation: RelationId) -> RowIterator {
        let mut rows: RowIterator = Box::new(std::iter::empty());
        for (place, changes) in self.spilled_layers(relation) {
            for part in &changes.spilled {
                let this = self.clone();
                let of_part = part.rows((std::ops::Bound::Unbounded, std::ops::Bound::Unbounded), false);
                let of_part = of_part.filter_map(move |item| match poll::step().map(|()| item) {
                    Ok(Ok((row_key, _))) if !this.stands(place, relation, &row_key) => None,
                    Ok(item) => Some(item.map_err(SqlError::from)),
                    Err(over) => Some(Err(over.into())),
                });
                rows = Box::new(rows.chain(of_part));
            }
        }
        rows
    }

    /// Keys of rows on the disk that have a canonical value.
    pub(super) fn spilled_keys(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<RowKey>, SqlError> {
        let mut found = Vec::new();
        for (place, changes) in self.spilled_layers(shape.id()) {
            let mut keys = changes.spilled_keys(&self.store, shape, index, value)?;
            keys.retain(|row_key| self.stands(place, shape.id(), row_key));
            found.append(&mut keys);
        }
        Ok(found)
    }

    /// The same with their rows.
    pub(super) fn spilled_by_value(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let mut found = Vec::new();
        for row_key in self.spilled_keys(shape, index, value)? {
            poll::step()?;
            let row = self.decided(shape.id(), &row_key)?.flatten().map(Cow::into_owned);
            found.extend(row.map(|row| (row_key, row)));
        }
        Ok(found)
    }

    /// Rows on the disk of a table with ordered keys, within bounds of them or of an index: parts of them, each in order.
    pub(super) fn spilled_range(
        &self,
        shape: &TableShape,
        index: Option<&Index>,
        (lower, upper): (&ByteBound, &ByteBound),
        reverse: bool,
    ) -> Vec<ValuedRows> {
        let relation = shape.id();
        let bounds = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let mut parts: Vec<ValuedRows> = Vec::new();
        for (place, part) in
            self.spilled_layers(relation).flat_map(|(place, of)| of.spilled.iter().map(move |part| (place, part)))
        {
            let rows: ValuedRows = match index {
                None => Box::new(part.rows(bounds, reverse).map(|item| {
                    let (row_key, row) = item?;
                    Ok((row_key.bytes().to_vec(), row_key, row))
                })),
                Some(index) => {
                    let of = part.clone();
                    Box::new(part.entries(index.id, bounds, reverse).filter_map(move |item| match item {
                        Ok((value, row_key)) => {
                            let row = of.get(&row_key).map_err(SqlError::from).transpose()?;
                            Some(row.map(|row| (value, row_key, row)))
                        }
                        Err(error) => Some(Err(error.into())),
                    }))
                }
            };
            let (this, lower, upper) = (self.clone(), lower.clone(), upper.clone());
            parts.push(Box::new(rows.filter(move |item| match item {
                Ok((value, row_key, _)) => within(value, &lower, &upper) && this.stands(place, relation, row_key),
                Err(_) => true,
            })));
        }
        parts
    }
}
