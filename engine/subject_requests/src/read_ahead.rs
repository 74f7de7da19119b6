//! What an erasure will ask for, told from the person's µDB before anything is asked.
//!
//! ```text
//!   µDB ─▶ rows, recalled
//!    ├───▶ what ownership edges lead to from them: joined in memory, as whatever they own is in the same µDB
//!    └───▶ what names them, and what they open to others: read ahead, while the rows themselves are dealt with
//! ```
//! Only reads, and only what holds for the state of the view. What was not foreseen is read when it is asked for.

use crate::Subject;
use crate::disposition::fires_nothing;
use repr::hash::HashMap;
use repr::{IndexId, RelationId, Row, RowKey};
use state::SqlError;
use state::layered_snapshot::{Ahead, Asks, LayeredSnapshot, Located};
use state::shape::{Edge, RowValues, TableShape};

/// The rows of the µDB by table.
type Tables = Vec<(RelationId, Vec<(RowKey, Row)>)>;
/// The rows that a value meets in an index of a table of the µDB.
type Met = HashMap<IndexId, HashMap<Vec<u8>, Vec<Located>>>;

/// Recalls a person's rows, and begins to read what will be asked for when they go. How many rows there are.
pub fn recall(view: &LayeredSnapshot, subject: &Subject) -> Result<(usize, Ahead), SqlError> {
    let tables = view.microdb_rows(subject.shape.id(), subject.microdb)?;
    let (mut met, mut asks) = (Met::default(), Asks::default());
    for (relation, rows) in &tables {
        let shape: &TableShape = view.shape(*relation)?;
        let root = *relation == subject.shape.id();
        // Ownership stops at other persons.
        if !root && shape.table().data_subject {
            continue;
        }
        let held = move |row_key: &RowKey| !root || *row_key == subject.row_key;
        let far_rows = || rows.iter().filter(move |(row_key, _)| held(row_key)).map(|(_, row)| row);
        for edge in &shape.owner_dependents {
            keep_owned(view, subject, (shape, edge), far_rows(), (&tables, &mut met))?;
        }
        // What has several owners may stay.
        if shape.one_owner {
            far_rows().try_for_each(|row| foresee(view, &mut asks, shape, row))?;
        }
    }
    let count = tables.iter().map(|(_, rows)| rows.len()).sum();
    view.keep_microdb(subject.microdb, tables);
    Ok((count, view.begin_ahead(asks)))
}

/// Notes what will be asked for when a row goes.
pub fn foresee(view: &LayeredSnapshot, asks: &mut Asks, shape: &TableShape, row: &Row) -> Result<(), SqlError> {
    let mut values = RowValues::new(shape, row);
    for edge in shape.owner_dependents.iter().chain(&shape.access_dependents) {
        if !fires_nothing(view.shape(edge.near)?, edge)
            && let Some(value) = values.of(&edge.far_columns)
        {
            view.foresee(asks, edge.near, edge.near_index, value);
        }
    }
    for referrer in shape.referrers.iter().filter(|referrer| !referrer.is_near_end()) {
        if let Some(value) = values.of(&referrer.foreign_key.target_columns) {
            view.foresee(asks, referrer.table, referrer.foreign_key.index, value);
        }
    }
    Ok(())
}

/// Recalls the near rows of an ownership edge from far rows that the person holds: it owns them, so that all are in the µDB.
fn keep_owned<'r>(
    view: &LayeredSnapshot,
    subject: &Subject,
    (far, edge): (&TableShape, &Edge),
    far_rows: impl Iterator<Item = &'r Row>,
    (tables, met): (&Tables, &mut Met),
) -> Result<(), SqlError> {
    let near = view.shape(edge.near)?;
    let Some((_, near_rows)) = tables.iter().find(|(relation, _)| *relation == edge.near) else { return Ok(()) };
    if near.table().primary_key == Some(edge.near_index) {
        return Ok(());
    }
    let by_value = met.entry(edge.near_index).or_insert_with(|| {
        let mut by_value: HashMap<Vec<u8>, Vec<Located>> = HashMap::default();
        for (row_key, row) in near_rows {
            if let Some(value) = near.value_of(&edge.near_columns, row) {
                by_value.entry(value).or_default().push((row_key.clone(), Some(subject.microdb)));
            }
        }
        by_value
    });
    for row in far_rows {
        if let Some(value) = far.value_of(&edge.far_columns, row) {
            let located = by_value.get(&value).cloned().unwrap_or_default();
            view.keep_located(edge.near, edge.near_index, value, located);
        }
    }
    Ok(())
}
