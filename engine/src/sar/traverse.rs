//! The walk from a data subject against the edges: every row it owns or may access, and by which edges.
//!
//! ```text
//!   subject ──ownership edges──▶ owned rows ──access edges──▶ accessed rows ──any edge──▶ accessed rows
//! ```
//! Both closures stop at other persons: what an invited person owns is not the inviter's. A row may be reached
//! by several edges; all are kept, since redaction asks for each.

use super::Subject;
use crate::SqlError;
use crate::layered::Layered;
use crate::marks::Marks;
use crate::ownership::{far_value, near_keys};
use crate::reader::Reader;
use crate::shape::{Edge, TableShape};
use planner::catalog::EdgeRef;
use repr::{RelationId, Row, RowKey};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A row's place: table and key.
pub type Place = (RelationId, RowKey);

/// How the subject came to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The subject owns it.
    Owner,
    /// The subject may access it.
    Accessor,
}

/// A row that was reached.
pub struct Reached {
    /// Owner, if it was reached both ways.
    pub relation: Relation,
    /// Its content.
    pub row: Row,
    /// Steps from the subject.
    level: usize,
    /// The edges through which it was reached, with the far row of each.
    steps: BTreeSet<(EdgeRef, Place)>,
}

/// All rows of a subject.
pub struct Traversal {
    /// By place; ordered, so that answers are.
    pub rows: BTreeMap<Place, Reached>,
    subject: Place,
}

/// Walks the graph.
pub fn traverse(view: &Layered, subject: &Subject) -> Result<Traversal, SqlError> {
    let start: Place = (subject.shape.id(), subject.row_key.clone());
    let row = view
        .get(subject.shape.table(), &subject.row_key)?
        .ok_or_else(|| SqlError::new("XX001", "a data subject's own row is not there"))?;
    let mut traversal = Traversal { rows: BTreeMap::new(), subject: start.clone() };
    let own = Reached { relation: Relation::Owner, row, level: 0, steps: BTreeSet::new() };
    traversal.rows.insert(start.clone(), own);
    let owned = traversal.spread(view, VecDeque::from([start]), Relation::Owner)?;
    traversal.spread(view, owned, Relation::Accessor)?;
    Ok(traversal)
}

impl Traversal {
    /// One closure: over ownership edges, or over what access edges open up. Gives all rows it passed.
    fn spread(
        &mut self,
        view: &Layered,
        mut open: VecDeque<Place>,
        closure: Relation,
    ) -> Result<VecDeque<Place>, SqlError> {
        let mut passed = VecDeque::new();
        while let Some(place) = open.pop_front() {
            let shape = view.shape(place.0)?.clone();
            // Ownership and access stop at a person other than the subject.
            if !shape.table().data_subject || place == self.subject {
                let reached = &self.rows[&place];
                let (row, level) = (reached.row.clone(), reached.level);
                for edge in edges(&shape, closure, reached.relation) {
                    self.follow(view, edge, &shape, &place, &row, level, closure, &mut open)?;
                }
            }
            passed.push_back(place);
        }
        Ok(passed)
    }

    #[allow(clippy::too_many_arguments, reason = "one step of the walk, with all that it stands on")]
    fn follow(
        &mut self,
        view: &Layered,
        edge: &Edge,
        far: &TableShape,
        place: &Place,
        row: &Row,
        level: usize,
        closure: Relation,
        open: &mut VecDeque<Place>,
    ) -> Result<(), SqlError> {
        let Some(value) = far_value(far, edge, row) else { return Ok(()) };
        let shape = view.shape(edge.near)?;
        for located in view.located_by_value(shape, edge.near_index, &value)? {
            let near = (edge.near, located.0.clone());
            if near == self.subject {
                continue;
            }
            let step = (edge.reference, place.clone());
            if let Some(reached) = self.rows.get_mut(&near) {
                reached.steps.insert(step);
                continue;
            }
            let Some(row) = view.get_located(shape, &located)? else { continue };
            let reached = Reached { relation: closure, row, level: level + 1, steps: BTreeSet::from([step]) };
            self.rows.insert(near.clone(), reached);
            open.push_back(near);
        }
        Ok(())
    }

    /// The row's own edges through which the subject reaches it without passing through the row itself.
    pub fn edges(&self, place: &Place) -> BTreeSet<EdgeRef> {
        let Some(reached) = self.rows.get(place) else { return BTreeSet::new() };
        let mut avoiding: Option<BTreeSet<&Place>> = None;
        let mut counts = |far: &Place| {
            // A shortest path to a row that is no farther than this one cannot lead through this one.
            let level = self.rows.get(far).map_or(usize::MAX, |row| row.level);
            far != place
                && (level <= reached.level
                    || avoiding.get_or_insert_with(|| self.reachable_without(place)).contains(far))
        };
        reached.steps.iter().filter(|(_, far)| counts(far)).map(|(edge, _)| *edge).collect()
    }

    fn reachable_without<'a>(&'a self, avoided: &'a Place) -> BTreeSet<&'a Place> {
        let mut nears: HashMap<&Place, Vec<&Place>> = HashMap::new();
        for (near, reached) in &self.rows {
            for (_, far) in &reached.steps {
                nears.entry(far).or_default().push(near);
            }
        }
        let mut found: BTreeSet<&Place> = BTreeSet::from([&self.subject]);
        let mut open = vec![&self.subject];
        while let Some(place) = open.pop() {
            for near in nears.get(place).into_iter().flatten() {
                if *near != avoided && found.insert(near) {
                    open.push(near);
                }
            }
        }
        found
    }
}

// From an owned row, ownership edges belong to the first closure; in the second only its access edges open
// something new. From an accessed row every edge does.
fn edges(shape: &Arc<TableShape>, closure: Relation, by: Relation) -> Vec<&Edge> {
    match (closure, by) {
        (Relation::Owner, _) => shape.owner_dependents.iter().collect(),
        (Relation::Accessor, Relation::Owner) => shape.access_dependents.iter().collect(),
        (Relation::Accessor, Relation::Accessor) => {
            shape.owner_dependents.iter().chain(&shape.access_dependents).collect()
        }
    }
}

/// The rows at the near end of an edge from this far row.
pub fn near_rows(view: &Layered, edge: &Edge, far: &TableShape, row: &Row) -> Result<Vec<Place>, SqlError> {
    let Some(value) = far_value(far, edge, row) else { return Ok(Vec::new()) };
    let near = view.shape(edge.near)?.clone();
    let keys = near_keys(view, &near, edge, &value, &mut Marks::default())?;
    Ok(keys.into_iter().map(|row_key| (edge.near, row_key)).collect())
}
