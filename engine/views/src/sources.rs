//! What lies below a view: whether DDL has made it another, and which of its rows a commit group changed.
//!
//! Read by a view worker before it feeds a group. Never looks at a dataflow.

use differential_dataflow::consolidation::consolidate;
use planner::catalog::{Column, Property, Table};
use repr::{RelationId, Row};
use state::overlay::{Change, Overlay, TableChanges};
use state::reader::Reader;
use std::sync::Arc;

/// What became of a relation since a view was made over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceChange {
    /// Nothing that matters.
    None,
    /// It has all that it had, and more indexes.
    MoreIndexes,
    /// Other columns or keys, fewer indexes; or it is gone.
    Other,
}

impl SourceChange {
    /// A view's own indexes are arrangements, which are made with it.
    pub(crate) fn of_itself(self) -> Self {
        if self == SourceChange::None { self } else { SourceChange::Other }
    }
}

/// Compares a relation as it was with what it is.
pub fn change(then: &Arc<Table>, now: Option<&Arc<Table>>) -> SourceChange {
    let Some(now) = now else { return SourceChange::Other };
    if Arc::ptr_eq(then, now) {
        return SourceChange::None;
    }
    let columns = |table: &Table| {
        let column = |column: &Column| {
            // Which rows there are at a moment, or for a purpose, is told by these.
            let tells = [Property::Expires, Property::Consents, Property::Withdrawn];
            (column.column_type.clone(), column.dropped, column.property.filter(|property| tells.contains(property)))
        };
        table.columns.iter().map(column).collect::<Vec<_>>()
    };
    let indexes =
        |table: &Table| table.indexes.iter().map(|index| (index.id, index.columns.clone())).collect::<Vec<_>>();
    let other = then.schema_version != now.schema_version
        || then.view != now.view
        || columns(then) != columns(now)
        || then.primary_key != now.primary_key;
    let (had, has) = (indexes(then), indexes(now));
    if other || !had.iter().all(|index| has.contains(index)) {
        SourceChange::Other
    } else if had.len() < has.len() {
        SourceChange::MoreIndexes
    } else {
        SourceChange::None
    }
}

/// Whether groups truncate a table, or write more rows to it than memory has held.
pub(crate) fn changes_much(layers: &[Arc<Overlay>], relation: RelationId) -> bool {
    let is_much = |changes: &TableChanges| changes.truncated || changes.spilled_rows() > 0;
    layers.iter().any(|layer| layer.table(relation).is_some_and(is_much))
}

/// How much of a table's changes is fed row by row; of more all rows are filled in anew.
#[derive(Clone, Copy)]
pub(crate) struct FedMax {
    /// Rows that TRUNCATE took.
    pub(crate) truncated: usize,
    /// Rows that stand on the disk.
    pub(crate) spilled: usize,
}

/// The changed rows of a table; none if they are more than are fed one by one.
pub(crate) fn table_changes(
    before: &dyn Reader,
    layers: &[Arc<Overlay>],
    relation: RelationId,
    at_most: FedMax,
) -> Option<Vec<(Row, isize)>> {
    let mut rows = Vec::new();
    for changes in layers.iter().filter_map(|layer| layer.table(relation)) {
        if changes.spilled_rows() > at_most.spilled {
            return None;
        }
        if changes.truncated {
            rows.clear();
            let table = before.catalog().table(relation)?;
            for row in before.scan(table).ok()? {
                // What cannot be read here cannot be filled either, which tells why.
                rows.push((row.ok()?.1, -1));
                if rows.len() > at_most.truncated {
                    return None;
                }
            }
            rows.extend(changes.rows.values().filter_map(|change| change.after.clone()).map(|row| (row, 1)));
        }
        let mut add = |before: &Option<Row>, after: &Option<Row>| {
            if before != after {
                rows.extend(before.iter().map(|row| (row.clone(), -1)));
                rows.extend(after.iter().map(|row| (row.clone(), 1)));
            }
        };
        for row in changes.spilled() {
            // As above.
            let (_, Change { before, after, .. }) = row.ok()?;
            add(&before, &after);
        }
        if !changes.truncated {
            changes.rows.values().for_each(|change| add(&change.before, &change.after));
        }
    }
    // A row that several groups changed counts as what became of it.
    if layers.len() > 1 {
        consolidate(&mut rows);
    }
    Some(rows)
}
