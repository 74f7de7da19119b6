//! What a person owns, as it is stored: the rows of the µDB, a table at a time, joined along the ownership edges in memory.
//!
//! The rows stored in a µDB are exactly those that the person owns (invariant 1), so that no index is asked and no row
//! is fetched by itself. Never for a reader with changes of its own, whose owners are not derived yet.

use super::{Relation, SUBJECT, Traversal, nears};
use crate::SqlError;
use crate::layered::Layered;
use crate::ownership::{far_value, near_value};
use crate::sar::Subject;
use crate::shape::Edge;
use repr::hash::HashMap;
use repr::{IndexId, RelationId};
use std::collections::VecDeque;
use std::ops::Range;

/// Far rows by the value that an edge meets them by, for each index over such values.
type Fars = HashMap<IndexId, HashMap<Vec<u8>, Vec<usize>>>;

const UNREACHED: usize = usize::MAX;

/// The closure over ownership edges. XX001 if the µDB holds a row that no edge leads to.
pub(super) fn owned(view: &Layered, subject: &Subject) -> Result<Traversal, SqlError> {
    let mut traversal = Traversal::of(view, subject)?;
    let root = subject.shape.id();
    let mut tables: HashMap<RelationId, Range<usize>> = HashMap::default();
    let mut fars = Fars::default();
    let mut probe = view.microdb_probe();
    // Far tables come before near ones.
    for relation in view.schema().order() {
        let shape = view.shape(*relation)?;
        if *relation != root && !shape.owner_edges.iter().any(|edge| leads(view, &tables, root, edge)) {
            continue;
        }
        let first = traversal.rows.len();
        probe.rows(*relation, subject.microdb, |row_key, row| {
            if *relation != root || row_key != subject.row_key {
                traversal.add((*relation, row_key), Relation::Owner, row, UNREACHED);
            }
        })?;
        let found = first..traversal.rows.len();
        tables.insert(*relation, found.clone());
        for edge in shape.owner_edges.iter().filter(|edge| leads(view, &tables, root, edge)) {
            let far_rows = if edge.far == root { SUBJECT..SUBJECT + 1 } else { tables[&edge.far].clone() };
            connect(&mut traversal, view, edge, found.clone(), far_rows, &mut fars)?;
        }
    }
    measure(&mut traversal)?;
    Ok(traversal)
}

/// Whether what the subject owns at an edge's far end may lead on: of tables of persons only its own row does.
fn leads(view: &Layered, tables: &HashMap<RelationId, Range<usize>>, root: RelationId, edge: &Edge) -> bool {
    tables.contains_key(&edge.far)
        && (edge.far == root || view.shape(edge.far).is_ok_and(|far| !far.table().data_subject))
}

/// Notes for each near row the far rows that it meets.
fn connect(
    traversal: &mut Traversal,
    view: &Layered,
    edge: &Edge,
    near_rows: Range<usize>,
    far_rows: Range<usize>,
    fars: &mut Fars,
) -> Result<(), SqlError> {
    let (near, far) = (view.shape(edge.near)?, view.shape(edge.far)?);
    let by_value = fars.entry(edge.far_index).or_insert_with(|| {
        let mut by_value: HashMap<Vec<u8>, Vec<usize>> = HashMap::default();
        for number in far_rows {
            if let Some(value) = far_value(far, edge, &traversal.rows[number].row) {
                by_value.entry(value).or_default().push(number);
            }
        }
        by_value
    });
    for number in near_rows {
        let reached = &mut traversal.rows[number];
        if let Some(value) = near_value(near, edge, &reached.row)
            && let Some(met) = by_value.get(&value)
        {
            reached.steps.extend(met.iter().map(|far| (edge.reference, *far)));
        }
    }
    Ok(())
}

/// Gives each row its distance from the subject.
fn measure(traversal: &mut Traversal) -> Result<(), SqlError> {
    let nears = nears(&traversal.rows);
    let mut open = VecDeque::from([SUBJECT]);
    while let Some(far) = open.pop_front() {
        let level = traversal.rows[far].level + 1;
        for near in &nears[far] {
            let reached = &mut traversal.rows[*near];
            if reached.level == UNREACHED {
                reached.level = level;
                open.push_back(*near);
            }
        }
    }
    if traversal.rows.iter().any(|reached| reached.level == UNREACHED) {
        return Err(SqlError::new("XX001", "a data subject's rows hold one that no ownership edge leads to")
            .hint("stop the server and run \"dogwood check\""));
    }
    Ok(())
}
