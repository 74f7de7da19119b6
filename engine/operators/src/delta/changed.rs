//! The changed rows of a join's right side, as far as the join depends on them.

use crate::delta::Group;
use crate::leaf::Leaf;
use planner::delta::{JoinStep, lookup_columns};
use repr::hash::{HashMap, RandomState};
use repr::{Datum, Row, key};
use state::SqlError;
use std::collections::hash_map::Entry;

/// By the looked-up columns; NULLs match nothing. A row that changed only in columns that the join does not use has not
/// changed.
#[derive(Default)]
pub(super) struct ChangedRows {
    /// Each key once.
    pub(super) keys: Vec<Vec<Datum>>,
    /// By encoded key. Columns that are not used are NULL.
    pub(super) rows: HashMap<Vec<u8>, Vec<(Vec<Datum>, isize)>>,
}

impl ChangedRows {
    pub(super) fn read(group: &Group, join: &JoinStep, changed: &[(Row, isize)]) -> Result<Self, SqlError> {
        let open = |catalog| Leaf::open(catalog, join.relation, Some(join.lookup));
        let (before, after) = (open(group.before.catalog())?, open(group.after.catalog())?);
        let mut sums: HashMap<Row, isize> = HashMap::with_capacity_and_hasher(changed.len(), RandomState::default());
        let (mut datums, mut used) = (Vec::new(), Vec::new());
        for (row, diff) in changed {
            // A row is read by the catalog of its own time.
            let leaf = if *diff < 0 { &before } else { &after };
            datums.clear();
            leaf.append(row, &mut datums);
            used.clear();
            used.resize(datums.len(), Datum::Null);
            for column in &join.used {
                if let (Some(used), Some(datum)) = (used.get_mut(*column), datums.get(*column)) {
                    used.clone_from(datum);
                }
            }
            *sums.entry(Row::pack(used.iter())).or_default() += diff;
        }
        let columns = lookup_columns(after.table(), join.lookup).unwrap_or_default();
        let mut found = ChangedRows::default();
        for (row, diff) in sums {
            let datums = row.unpack();
            let key: Vec<Datum> = columns.iter().map(|column| datums[*column].clone()).collect();
            if diff == 0 || key.iter().any(Datum::is_null) {
                continue;
            }
            match found.rows.entry(key::encode_all(&key)) {
                Entry::Occupied(mut rows) => rows.get_mut().push((datums, diff)),
                Entry::Vacant(rows) => {
                    rows.insert(vec![(datums, diff)]);
                    found.keys.push(key);
                }
            }
        }
        Ok(found)
    }
}
