//! What an erasure will ask for, told from the person's µDB before anything is asked.
//!
//! ```text
//!   µDB ─▶ rows, recalled
//!    ├───▶ what ownership edges lead to from them: joined in memory, as whatever they own is in the same µDB
//!    └───▶ what names them, and what they open to others: read ahead, while the rows themselves are dealt with
//! ```
//! By the plan of the traversal, and its operators. Only reads, and only what holds for the state of the view. What was not
//! foreseen is read when it is asked for.

use crate::disposition::fires_nothing;
use operators::traversal::{self, Subject, Traversal};
use planner::ownership::traversal::{Component, Join, Node, Relation};
use repr::{RelationId, Row, RowKey};
use state::SqlError;
use state::layered_snapshot::{Ahead, Asks, LayeredSnapshot, Located};
use state::shape::{RowValues, TableShape};

/// Recalls a person's rows, its own among them, and begins to read what will be asked for when they go. How many rows there are.
pub fn recall(snapshot: &LayeredSnapshot, subject: &Subject) -> Result<(usize, Ahead), SqlError> {
    let plan = traversal::plan(snapshot, &subject.shape)?;
    let mut traversal = Traversal::new(snapshot, subject)?;
    let owned = |component: &&Component| component.role(plan) == Relation::Owner;
    for component in plan.components.iter().filter(owned) {
        for (node, _) in &component.nodes {
            traversal.read(*node)?;
        }
        for join in component.entering.iter().chain(&component.inner) {
            keep_owned(snapshot, subject, &mut traversal, join)?;
        }
    }
    let mut asks = Asks::default();
    for (number, Node { relation, role }) in plan.nodes.iter().enumerate() {
        let shape: &TableShape = snapshot.shape(*relation)?;
        // What has several owners may stay; and no person is owned by one way alone.
        if *role == Relation::Owner && shape.one_owner {
            traversal.rows(number).try_for_each(|row| foresee(snapshot, &mut asks, shape, row))?;
        }
    }
    let witness = traversal.into_witness();
    let count = witness.count();
    let mut tables: Vec<(RelationId, Vec<(RowKey, Row)>)> = Vec::new();
    for ((relation, row_key), row) in witness.into_rows() {
        match tables.last_mut() {
            Some((last, rows)) if *last == relation => rows.push((row_key, row)),
            Some(_) | None => tables.push((relation, vec![(row_key, row)])),
        }
    }
    snapshot.keep_microdb(subject.microdb, tables);
    Ok((count, snapshot.begin_ahead(asks)))
}

/// Notes what will be asked for when a row goes.
pub fn foresee(snapshot: &LayeredSnapshot, asks: &mut Asks, shape: &TableShape, row: &Row) -> Result<(), SqlError> {
    let mut values = RowValues::new(shape, row);
    for edge in shape.owner_dependents.iter().chain(&shape.access_dependents) {
        if !fires_nothing(snapshot.shape(edge.near)?, edge)
            && let Some(value) = values.of(&edge.far_columns)
        {
            snapshot.foresee(asks, edge.near, edge.near_index, value);
        }
    }
    for referrer in shape.referrers.iter().filter(|referrer| !referrer.is_near_end()) {
        if let Some(value) = values.of(&referrer.foreign_key.target_columns) {
            snapshot.foresee(asks, referrer.table, referrer.foreign_key.index, value);
        }
    }
    Ok(())
}

/// Recalls the near rows of an ownership edge from far rows that the person holds: it owns them, so that all are in the µDB.
fn keep_owned(
    snapshot: &LayeredSnapshot,
    subject: &Subject,
    traversal: &mut Traversal<'_>,
    join: &Join,
) -> Result<(), SqlError> {
    let edge = &join.edge;
    // A row is found by its primary key as it is.
    if snapshot.shape(edge.near)?.table().primary_key == Some(edge.near_index) {
        return Ok(());
    }
    traversal.join(join, |witness, _, value, nears| {
        let located = |near: &usize| -> Located { (witness.row(*near).place.1.clone(), Some(subject.microdb)) };
        snapshot.keep_located(edge.near, edge.near_index, value.to_vec(), nears.iter().map(located).collect());
    })?;
    Ok(())
}
