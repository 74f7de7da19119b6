//! Inverted indexes in memory, under the same overlays as everything.
//!
//! Of parts that must all hold the one with the fewest rows is read: conditions are asked of each row that is found.

use crate::layered_snapshot::{LayeredSnapshot, damaged, prefix_end};
use crate::order_entries::parts;
use crate::reader::{OrderSizes, RangeRows, RowIterator};
use crate::shape::TableShape;
use crate::view_states::{OrderId, OrderedIndexState};
use planner::catalog::Index;
use planner::scalar::inverted::Wanted;
use repr::{Row, RowKey};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};
use std::sync::Arc;

impl LayeredSnapshot {
    /// The rows that may be wanted, if the index is in memory; those that the overlays decide are all among them.
    pub(super) fn inverted_in_memory(
        &self,
        shape: &Arc<TableShape>,
        index: &Index,
        wanted: &Wanted,
    ) -> Option<RangeRows> {
        let table = shape.table();
        let id = OrderId { index: index.id, columns: index.columns.len() };
        let as_published = self.orders && self.is_as_published(table);
        let order = self.base.views.order(id).filter(|_| as_published)?.clone();
        let in_memory = Some(OrderSizes { table_rows: order.rows, range_rows: rows_at_most(&order, wanted) });
        let (this, of, wanted) = (self.clone(), shape.clone(), wanted.clone());
        // Not before a row is asked for: all rows may be read instead.
        let rows = std::iter::once_with(move || this.rows_by(&order, &of, &wanted)).flatten();
        Some(RangeRows { rows: Box::new(rows), in_memory })
    }

    fn rows_by(self, order: &OrderedIndexState, shape: &Arc<TableShape>, wanted: &Wanted) -> RowIterator {
        let relation = shape.id();
        let mut found = BTreeSet::new();
        if !self.base_hidden(relation) && self.collect(order, shape, wanted, &mut found).is_none() {
            return Box::new(std::iter::once(Err(damaged(shape, "an entry has no row key"))));
        }
        let layers = self.layers.iter().filter_map(|layer| layer.table(relation));
        let keys: BTreeSet<&RowKey> = layers.flat_map(|changes| changes.rows.keys()).collect();
        let decided = keys.into_iter().filter_map(|key| Some((key.clone(), self.layered(relation, key)??.clone())));
        let changed: BTreeMap<RowKey, Row> = decided.collect();
        let this = self.clone();
        let shape = shape.clone();
        let stored = found.into_iter().filter_map(move |key| {
            if this.layered(shape.id(), &key).is_some() {
                return None;
            }
            Some(match this.stored_row(shape.id(), &key) {
                Ok(Some(row)) => Ok((key, row)),
                Ok(None) => Err(damaged(&shape, "an inverted index leads to no row")),
                Err(error) => Err(error),
            })
        });
        Box::new(stored.chain(changed.into_iter().map(Ok)))
    }

    /// The row keys that may be wanted; none if an entry is none.
    fn collect(
        &self,
        order: &OrderedIndexState,
        shape: &TableShape,
        wanted: &Wanted,
        found: &mut BTreeSet<RowKey>,
    ) -> Option<()> {
        match wanted {
            Wanted::All => self.collect_entries(order, shape, 0..order.entries.len(), found),
            Wanted::By(value) | Wanted::ByPrefix(value) => {
                self.collect_entries(order, shape, ranks(order, value), found)
            }
            Wanted::Every(parts) => {
                let fewest = parts.iter().min_by_key(|part| rows_at_most(order, part));
                fewest.map_or(Some(()), |part| self.collect(order, shape, part, found))
            }
            Wanted::Any(parts) => parts.iter().try_for_each(|part| self.collect(order, shape, part, found)),
        }
    }

    fn collect_entries(
        &self,
        order: &OrderedIndexState,
        shape: &TableShape,
        ranks: Range<usize>,
        found: &mut BTreeSet<RowKey>,
    ) -> Option<()> {
        for entry in order.entries.iter(ranks, false) {
            found.insert(parts(&entry, shape, &self.store)?.1);
        }
        Some(())
    }
}

/// How many rows are wanted, or fewer.
fn rows_at_most(order: &OrderedIndexState, wanted: &Wanted) -> usize {
    match wanted {
        Wanted::All => order.rows,
        Wanted::By(value) | Wanted::ByPrefix(value) => ranks(order, value).len(),
        Wanted::Every(parts) => parts.iter().map(|part| rows_at_most(order, part)).min().unwrap_or(order.rows),
        Wanted::Any(parts) => parts.iter().map(|part| rows_at_most(order, part)).sum(),
    }
}

/// Where the entries stand that begin so.
fn ranks(order: &OrderedIndexState, value: &[u8]) -> Range<usize> {
    let end = prefix_end(value);
    order.entries.ranks(Bound::Included(value), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}
