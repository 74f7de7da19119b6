//! Rows of the layers that stand on the disk: below what their layer has in memory, above all that is stored.
//!
//! What stands there hides what is stored of the same rows, and what was written there before.

use crate::SqlError;
use crate::layered_snapshot::filled::Valued;
use crate::layered_snapshot::range::{ByteBound, within};
use crate::layered_snapshot::{LayeredSnapshot, Located};
use crate::overlay::TableChanges;
use crate::overlay::spilled::keys_in_part;
use crate::reader::RowIterator;
use crate::shape::TableShape;
use planner::catalog::Index;
use repr::{IndexId, RelationId, Row, RowKey, poll};
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use storage::{SpilledRow, SpilledRows, StorageError};

/// Rows with their values, in order.
pub(super) type ValuedRows = Box<dyn Iterator<Item = Result<Valued, SqlError>> + Send>;

/// A part on the disk.
#[derive(Clone, Copy)]
struct PartPlace {
    layer: usize,
    part: usize,
}

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
            if let Some(change) = changes.spilled_change(row_key)? {
                return Ok(Some(change.after.map(Cow::Owned)));
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
            if let Some(change) = changes.spilled_change(row_key)? {
                return Ok(Some(change.after.is_some()));
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

    /// Whether a layer decides a row, in memory or on the disk, so that what is stored of it does not show.
    pub(super) fn hides(&self, relation: RelationId, row_key: &RowKey) -> Result<bool, SqlError> {
        if self.layered(relation, row_key).is_some() {
            return Ok(true);
        }
        for (_, changes) in self.spilled_layers(relation) {
            if changes.covers_row(row_key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stored rows that no layer decides.
    pub(super) fn unhidden(
        self,
        relation: RelationId,
        stored: impl Iterator<Item = Result<(RowKey, Row), SqlError>> + Send + 'static,
    ) -> RowIterator {
        Box::new(stored.filter_map(move |item| match item {
            Ok((row_key, row)) => match self.hides(relation, &row_key) {
                Ok(true) => None,
                Ok(false) => Some(Ok((row_key, row))),
                Err(error) => Some(Err(error)),
            },
            Err(error) => Some(Err(error)),
        }))
    }

    /// As `hides`, of rows that were located: those stay that no layer decides.
    pub(super) fn retain_unhidden(&self, relation: RelationId, located: &mut Vec<Located>) -> Result<(), SqlError> {
        let mut outcome = Ok(());
        located.retain(|(row_key, _)| match self.hides(relation, row_key) {
            Ok(hidden) => !hidden,
            Err(error) => {
                outcome = Err(error);
                false
            }
        });
        outcome
    }

    /// Parts of a table on the disk: of which layer each, and which of its parts.
    fn parts(&self, relation: RelationId) -> impl Iterator<Item = (PartPlace, &Arc<SpilledRows>)> {
        self.spilled_layers(relation).flat_map(|(layer, changes)| {
            changes.spilled.iter().enumerate().map(move |(part, rows)| (PartPlace { layer, part }, rows))
        })
    }

    /// Whether what a part has of a row is its version.
    fn stands(&self, place: PartPlace, relation: RelationId, row_key: &RowKey) -> Result<bool, SqlError> {
        for (number, layer) in self.layers.iter().enumerate().skip(place.layer) {
            let Some(changes) = layer.table(relation) else { continue };
            let is_newer = match number == place.layer {
                true => changes.has_newer(place.part, row_key)?,
                false => changes.truncated || changes.rows.contains_key(row_key) || changes.has_spilled(row_key)?,
            };
            if is_newer {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All rows of a table that stand on the disk.
    pub(super) fn spilled_rows(&self, relation: RelationId) -> RowIterator {
        let mut rows: RowIterator = Box::new(std::iter::empty());
        for (place, part) in self.parts(relation) {
            let this = self.clone();
            let of_part = part.rows((Bound::Unbounded, Bound::Unbounded), false);
            let of_part = of_part.filter_map(move |item| this.standing(place, relation, item).transpose());
            rows = Box::new(rows.chain(of_part));
        }
        rows
    }

    /// A row of a part, if it is its version and there is one.
    fn standing(
        &self,
        place: PartPlace,
        relation: RelationId,
        item: Result<(RowKey, SpilledRow), StorageError>,
    ) -> Result<Option<(RowKey, Row)>, SqlError> {
        poll::step()?;
        let (row_key, SpilledRow { after, .. }) = item?;
        let Some(row) = after else { return Ok(None) };
        Ok(self.stands(place, relation, &row_key)?.then_some((row_key, row)))
    }

    /// Keys of rows on the disk that have a canonical value.
    pub(super) fn spilled_keys(
        &self,
        shape: &TableShape,
        index: IndexId,
        value: &[u8],
    ) -> Result<Vec<RowKey>, SqlError> {
        let mut found = Vec::new();
        for (place, part) in self.parts(shape.id()) {
            for row_key in keys_in_part(&self.store, part, (shape, index), value)? {
                if self.stands(place, shape.id(), &row_key)? {
                    found.push(row_key);
                }
            }
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
        for (place, part) in self.parts(relation) {
            let this = self.clone();
            let rows: ValuedRows = match index {
                None => Box::new(part.rows(bounds, reverse).filter_map(move |item| {
                    let found = this.standing(place, relation, item).transpose()?;
                    Some(found.map(|(row_key, row)| (row_key.bytes().to_vec(), row_key, row)))
                })),
                Some(index) => {
                    let of = part.clone();
                    Box::new(part.entries(index.id, bounds, reverse).filter_map(move |item| {
                        let standing = |(value, row_key): (Vec<u8>, RowKey)| {
                            let row = of.get(&row_key)?.map(|row| (row_key, row));
                            let found = row.map(|row| this.standing(place, relation, Ok(row))).transpose()?.flatten();
                            Ok::<_, SqlError>(found.map(|(row_key, row)| (value, row_key, row)))
                        };
                        item.map_err(SqlError::from).and_then(standing).transpose()
                    }))
                }
            };
            let (lower, upper) = (lower.clone(), upper.clone());
            parts.push(Box::new(rows.filter(move |item| match item {
                Ok((value, ..)) => within(value, &lower, &upper),
                Err(_) => true,
            })));
        }
        parts
    }
}
