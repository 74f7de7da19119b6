//! Ranges: of keys that stand in order on disk, and of hashed ones whose order is in memory, under the same overlays.

use crate::SqlError;
use crate::layered_snapshot::filled::Valued;
use crate::layered_snapshot::spilled::ValuedRows;
use crate::layered_snapshot::{LayeredSnapshot, damaged, prefix_end};
use crate::order_entries::parts;
use crate::reader::{KeyRange, OrderSizes, RangeRows, RowIterator};
use crate::shape::TableShape;
use crate::view_states::OrderId;
use planner::catalog::Index;
use repr::{Datum, RelationId, Row, RowKey, key};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

impl LayeredSnapshot {
    /// A range of a table with ordered keys, from the leaves.
    pub(super) fn stored_range(
        &self,
        shape: &Arc<TableShape>,
        index: Option<&Index>,
        range: &KeyRange,
    ) -> Result<RowIterator, SqlError> {
        let (shape, table) = (shape.clone(), shape.table());
        let (lower, upper) = range_bounds(range);
        let snapshot = self.base.snapshot.clone();
        let hidden = self.base_hidden(table.id) || index.is_some_and(|index| self.reindexed(table.id, index.id));
        let (low, high) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let spilled = self.spilled_range(&shape, index, (&lower, &upper), range.reverse);
        let mut changed: BTreeMap<(Vec<u8>, RowKey), Row> = BTreeMap::new();
        let stored: Box<dyn Iterator<Item = Result<(Vec<u8>, RowKey, Row), SqlError>> + Send> = match index {
            None => {
                for changes in self.layers.iter().filter_map(|layer| layer.table(table.id)) {
                    for row_key in changes.rows.keys().filter(|row_key| within(row_key.bytes(), &lower, &upper)) {
                        if let Some(Some(row)) = self.layered(table.id, row_key) {
                            changed.insert((row_key.bytes().to_vec(), row_key.clone()), row.clone());
                        }
                    }
                }
                let rows = snapshot.scan_impersonal_range(table.id, low, high, range.reverse);
                Box::new(rows.map(|item| {
                    let (row_key, row) = item?;
                    Ok((row_key.bytes().to_vec(), row_key, row))
                }))
            }
            Some(index) => {
                for changes in self.layers.iter().filter_map(|layer| layer.table(table.id)) {
                    for (value, row_key) in changes.index_range(&shape, index.id, (lower.clone(), upper.clone())) {
                        if let Some(Some(row)) = self.layered(table.id, row_key)
                            && self.still_has(&shape, index.id, value, row)
                        {
                            changed.insert((value.clone(), row_key.clone()), row.clone());
                        }
                    }
                }
                if let Some(as_of) = self.filled(table.id, index.id).filter(|_| !hidden) {
                    let mut rows = self.filled_range(&shape, index, (&lower, &upper), as_of)?;
                    if range.reverse {
                        rows.reverse();
                    }
                    let rows = rows.into_iter().map(Ok);
                    return Ok(self.amid_changes(shape.id(), rows, (spilled, changed), range.reverse));
                }
                let keys = snapshot.scan_index_ordered(index.id, low, high, range.reverse);
                let (shape, index) = (shape.clone(), index.clone());
                Box::new(keys.map(move |row_key| {
                    let row_key = row_key?;
                    let row = snapshot.get_impersonal(shape.id(), &row_key)?;
                    let row = row.ok_or_else(|| damaged(&shape, "an index entry leads to no row"))?;
                    let value = shape.index_value(&index, &shape.unpack(&row)).unwrap_or_default();
                    Ok((value, row_key, row))
                }))
            }
        };
        if !self.changes(table.id) {
            return Ok(Box::new(stored.map(|item| item.map(|(_, row_key, row)| (row_key, row)))));
        }
        let stored = stored.filter(move |_| !hidden);
        Ok(self.amid_changes(table.id, stored, (spilled, changed), range.reverse))
    }

    /// Stored rows in order, but for those that a layer decides, amid those that the layers have.
    fn amid_changes(
        &self,
        relation: RelationId,
        stored: impl Iterator<Item = Result<Valued, SqlError>> + Send + 'static,
        (spilled, changed): (Vec<ValuedRows>, BTreeMap<(Vec<u8>, RowKey), Row>),
        reverse: bool,
    ) -> RowIterator {
        let this = self.clone();
        let stored = stored.filter_map(move |item| match item {
            Ok((value, row_key, row)) => match this.hides(relation, &row_key) {
                Ok(true) => None,
                Ok(false) => Some(Ok((value, row_key, row))),
                Err(error) => Some(Err(error)),
            },
            Err(error) => Some(Err(error)),
        });
        let stored =
            spilled.into_iter().fold(Box::new(stored) as ValuedRows, |rows, part| between(rows, part, reverse));
        let mut changed: Vec<((Vec<u8>, RowKey), Row)> = changed.into_iter().collect();
        if reverse {
            changed.reverse();
        }
        Box::new(merge(stored, changed.into_iter(), reverse))
    }

    /// A range of a table with hashed keys, from its ordered index in memory, if there is one.
    pub(super) fn range_in_memory(
        &self,
        shape: &Arc<TableShape>,
        index: Option<&Index>,
        range: &KeyRange,
    ) -> Option<RangeRows> {
        let table = shape.table();
        let id = index.map(|index| index.id).or(table.primary_key)?;
        // DDL in an overlay may have made another table of it.
        let as_published = self.orders && self.is_as_published(table);
        let columns = shape.index(id).columns.len();
        let columns = range.columns.unwrap_or(columns).min(columns);
        let order = OrderId { index: id, columns };
        let entries = &self.base.views.order(order).filter(|_| as_published)?.entries;
        let (lower, upper) = range_bounds(range);
        let ranks = entries.ranks(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let in_memory = Some(OrderSizes { table_rows: entries.len(), range_rows: ranks.len() });
        let ranks = if self.base_hidden(table.id) { 0..0 } else { ranks };
        let (this, of) = (self.clone(), shape.clone());
        let stored = entries.iter(ranks, range.reverse).filter_map(move |entry| {
            let Some((value, row_key)) = parts(&entry, &of, &this.store) else {
                return Some(Err(damaged(&of, "an entry has no row key")));
            };
            if this.layered(of.id(), &row_key).is_some() {
                return None;
            }
            Some(match this.stored_row(of.id(), &row_key) {
                Ok(Some(row)) => Ok((value.to_vec(), row_key, row)),
                Ok(None) => Err(damaged(&of, "an ordered index leads to no row")),
                Err(error) => Err(error),
            })
        });
        let rows: RowIterator = if self.changes(table.id) {
            let (this, shape, reverse) = (self.clone(), shape.clone(), range.reverse);
            // Not before a row is asked for: all rows may be read instead.
            let rows = move || merge(stored, this.changed_within(&shape, order, (lower, upper), reverse), reverse);
            Box::new(std::iter::once_with(rows).flatten())
        } else {
            Box::new(stored.map(|item| item.map(|(_, row_key, row)| (row_key, row))))
        };
        Some(RangeRows { rows, in_memory })
    }

    /// The rows that the layers decide, within bounds of an order and in it.
    fn changed_within(
        &self,
        shape: &TableShape,
        OrderId { index, columns }: OrderId,
        (lower, upper): (ByteBound, ByteBound),
        reverse: bool,
    ) -> impl Iterator<Item = ((Vec<u8>, RowKey), Row)> + use<> {
        let mut changed: BTreeMap<(Vec<u8>, RowKey), Row> = BTreeMap::new();
        for changes in self.layers.iter().filter_map(|layer| layer.table(shape.id())) {
            for row_key in changes.rows.keys() {
                let Some(Some(row)) = self.layered(shape.id(), row_key) else { continue };
                let (value, _) = shape.order_value(shape.index(index), columns, row);
                if within(&value, &lower, &upper) {
                    changed.insert((value, row_key.clone()), row.clone());
                }
            }
        }
        let mut changed: Vec<((Vec<u8>, RowKey), Row)> = changed.into_iter().collect();
        if reverse {
            changed.reverse();
        }
        changed.into_iter()
    }
}

pub(super) type ByteBound = Bound<Vec<u8>>;

fn range_bounds(range: &KeyRange) -> (ByteBound, ByteBound) {
    let prefix = key::encode_all(&range.prefix);
    let with = |value: &Datum| {
        let mut bytes = prefix.clone();
        key::encode(&mut bytes, value);
        bytes
    };
    // Keys are self-delimiting: "all that start with these bytes" is "equal on these columns".
    let lower = match &range.lower {
        Some((value, true)) => Bound::Included(with(value)),
        Some((value, false)) => prefix_end(&with(value)).map_or(Bound::Unbounded, Bound::Included),
        None => Bound::Included(prefix.clone()),
    };
    let before_end = |bytes: &[u8]| prefix_end(bytes).map_or(Bound::Unbounded, Bound::Excluded);
    let upper = match &range.upper {
        Some((value, true)) => before_end(&with(value)),
        Some((value, false)) => Bound::Excluded(with(value)),
        // A range with a lower bound only does not reach the NULLs, which sort last.
        None if range.lower.is_some() => Bound::Excluded(with(&Datum::Null)),
        None => before_end(&prefix),
    };
    (lower, upper)
}

pub(super) fn within(bytes: &[u8], lower: &ByteBound, upper: &ByteBound) -> bool {
    use std::ops::RangeBounds;
    let bounds = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    <(Bound<&[u8]>, Bound<&[u8]>) as RangeBounds<[u8]>>::contains(&bounds, bytes)
}

/// Merges rows of two places, both in the order of the range.
fn between(one: ValuedRows, other: ValuedRows, reverse: bool) -> ValuedRows {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    Box::new(std::iter::from_fn(move || {
        let take_one = match (one.peek(), other.peek()) {
            (Some(Ok((value, row_key, _))), Some(Ok((of_other, other_key, _)))) => {
                ((value, row_key) < (of_other, other_key)) != reverse
            }
            (one, other) => one.is_some_and(Result::is_err) || other.is_none(),
        };
        if take_one { one.next() } else { other.next() }
    }))
}

/// Merges stored and changed rows, both in the order of the range.
fn merge(
    stored: impl Iterator<Item = Result<(Vec<u8>, RowKey, Row), SqlError>>,
    changed: impl Iterator<Item = ((Vec<u8>, RowKey), Row)>,
    reverse: bool,
) -> impl Iterator<Item = Result<(RowKey, Row), SqlError>> {
    let (mut stored, mut changed) = (stored.peekable(), changed.peekable());
    std::iter::from_fn(move || {
        let take_stored = match (stored.peek(), changed.peek()) {
            (Some(Err(_)), _) | (Some(_), None) => true,
            (None, _) => false,
            (Some(Ok((value, row_key, _))), Some(((other, other_key), _))) => {
                ((value, row_key) < (other, other_key)) != reverse
            }
        };
        if take_stored {
            stored.next().map(|item| item.map(|(_, row_key, row)| (row_key, row)))
        } else {
            changed.next().map(|((_, row_key), row)| Ok((row_key, row)))
        }
    })
}
