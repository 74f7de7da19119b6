//! The walk from a data subject against the edges: every row it owns or may access, and by which edges.
//!
//! ```text
//!   subject ──ownership edges──▶ owned rows ──access edges──▶ accessed rows ──any edge──▶ accessed rows
//! ```
//! Both closures stop at other persons: what an invited person owns is not the inviter's. A row may be reached
//! by several edges; all are kept, since redaction asks for each. What is owned lies together in the person's µDB and is
//! read from there, a table at a time (`stored`); only what a transaction's own changes may have given is looked up row by row.

mod stored;

use super::Subject;
use crate::SqlError;
use crate::layered::{Asks, Layered};
use crate::marks::Marks;
use crate::ownership::{far_value, near_keys};
use crate::reader::Reader;
use crate::recall::Recall;
use crate::shape::{Edge, TableShape};
use planner::catalog::EdgeRef;
use repr::hash::HashMap;
use repr::{IndexId, RelationId, Row, RowKey};
use std::collections::BTreeSet;
use std::ops::Range;
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
    /// Where it stands.
    pub place: Place,
    /// Owner, if it was reached both ways.
    pub relation: Relation,
    /// Its content.
    pub row: Row,
    /// Steps from the subject, by one way.
    level: usize,
    /// The edges through which it was reached, with the number of the far row of each; none twice.
    steps: Vec<(EdgeRef, usize)>,
}

/// All rows of a subject. Each has a number; the subject's own is 0.
pub struct Traversal {
    rows: Vec<Reached>,
    numbers: HashMap<Place, usize>,
}

const SUBJECT: usize = 0;

/// Walks the graph.
pub fn traverse(view: &Layered, subject: &Subject) -> Result<Traversal, SqlError> {
    let mut traversal = if view.has_changes() {
        let mut traversal = Traversal::of(view, subject)?;
        traversal.spread(view, Relation::Owner)?;
        traversal
    } else {
        stored::owned(view, subject)?
    };
    let recalling = view.clone().recalling(Arc::new(Recall::new(view.time())));
    traversal.spread(&recalling, Relation::Accessor)?;
    Ok(traversal)
}

/// The near rows that a value meets in an index, for all far rows that have it: by number.
type Met = HashMap<(IndexId, Vec<u8>), Vec<usize>>;

impl Traversal {
    /// The subject's own row alone.
    fn of(view: &Layered, subject: &Subject) -> Result<Traversal, SqlError> {
        let row = view
            .get(subject.shape.table(), &subject.row_key)?
            .ok_or_else(|| SqlError::new("XX001", "a data subject's own row is not there"))?;
        let mut traversal = Traversal { rows: Vec::new(), numbers: HashMap::default() };
        traversal.add((subject.shape.id(), subject.row_key.clone()), Relation::Owner, row, 0);
        Ok(traversal)
    }

    fn add(&mut self, place: Place, relation: Relation, row: Row, level: usize) -> usize {
        let number = self.rows.len();
        self.numbers.insert(place.clone(), number);
        self.rows.push(Reached { place, relation, row, level, steps: Vec::new() });
        number
    }

    /// One closure: over ownership edges, or over what access edges open up.
    fn spread(&mut self, view: &Layered, closure: Relation) -> Result<(), SqlError> {
        let mut met = Met::default();
        let mut passed = SUBJECT;
        // Rows that are reached come after all that are there, and are passed in their turn.
        while passed < self.rows.len() {
            let there = passed..self.rows.len();
            let mut asks = Asks::default();
            self.for_each_edge(view, closure, there.clone(), |traversal, edge, far, number| {
                if let Some(value) = far_value(far, edge, &traversal.rows[number].row) {
                    view.foresee(&mut asks, edge.near, edge.near_index, value);
                }
                Ok(())
            })?;
            view.read_ahead(asks)?;
            passed = there.end;
            self.for_each_edge(view, closure, there, |traversal, edge, far, number| {
                traversal.follow(view, edge, far, number, closure, &mut met)
            })?;
        }
        Ok(())
    }

    /// The edges that lead on from some rows.
    fn for_each_edge(
        &mut self,
        view: &Layered,
        closure: Relation,
        numbers: Range<usize>,
        mut visit: impl FnMut(&mut Traversal, &Edge, &TableShape, usize) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut known: Option<&Arc<TableShape>> = None;
        for number in numbers {
            let reached = &self.rows[number];
            let (relation, by) = (reached.place.0, reached.relation);
            // Rows of one table mostly follow each other.
            let shape = match known {
                Some(shape) if shape.id() == relation => shape,
                Some(_) | None => view.shape(relation)?,
            };
            known = Some(shape);
            // Ownership and access stop at a person other than the subject.
            if number == SUBJECT || !shape.table().data_subject {
                edges(shape, closure, by).try_for_each(|edge| visit(self, edge, shape, number))?;
            }
        }
        Ok(())
    }

    /// From one far row over one edge.
    fn follow(
        &mut self,
        view: &Layered,
        edge: &Edge,
        far: &TableShape,
        number: usize,
        closure: Relation,
        met: &mut Met,
    ) -> Result<(), SqlError> {
        let Some(value) = far_value(far, edge, &self.rows[number].row) else { return Ok(()) };
        let key = (edge.near_index, value);
        if !met.contains_key(&key) {
            let nears = self.nears(view, edge, &key.1, number, closure)?;
            met.insert(key.clone(), nears);
        }
        for near in &met[&key] {
            self.rows[*near].steps.push((edge.reference, number));
        }
        Ok(())
    }

    /// The rows that a value meets at an edge's near end, but for the subject's own; those not reached before are added.
    fn nears(
        &mut self,
        view: &Layered,
        edge: &Edge,
        value: &[u8],
        far: usize,
        closure: Relation,
    ) -> Result<Vec<usize>, SqlError> {
        let shape = view.shape(edge.near)?;
        let located = if shape.table().primary_key == Some(edge.near_index) {
            vec![(shape.key_of_value(view.store(), value), None)]
        } else {
            view.located_by_value(shape, edge.near_index, value)?
        };
        let mut nears = Vec::with_capacity(located.len());
        for located in located {
            let place = (edge.near, located.0.clone());
            match self.numbers.get(&place) {
                Some(&SUBJECT) => {}
                Some(number) => nears.push(*number),
                None => {
                    let Some(row) = view.get_located(shape, &located)? else { continue };
                    let level = self.rows[far].level + 1;
                    nears.push(self.add(place, closure, row, level));
                }
            }
        }
        Ok(nears)
    }

    /// One row.
    pub fn row(&self, number: usize) -> &Reached {
        &self.rows[number]
    }

    /// The numbers of all rows, by table and key, so that answers are ordered.
    pub fn ordered(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rows.len()).collect();
        // Tables' rows were read in order: runs that stand in order need no more than a look.
        numbers.sort_by(|one, other| self.rows[*one].place.cmp(&self.rows[*other].place));
        numbers
    }

    /// The row's own edges through which the subject reaches it without passing through the row itself; in order, none
    /// twice.
    pub fn edges(&self, number: usize) -> Vec<EdgeRef> {
        let reached = &self.rows[number];
        let mut avoiding: Option<BTreeSet<usize>> = None;
        let mut found = Vec::new();
        for (edge, far) in &reached.steps {
            if *far == number || found.contains(edge) {
                continue;
            }
            // The way by which a row was found that is no farther than this one cannot lead through this one.
            if self.rows[*far].level <= reached.level
                || avoiding.get_or_insert_with(|| self.reachable_without(number)).contains(far)
            {
                found.push(*edge);
            }
        }
        found.sort_unstable();
        found
    }

    fn reachable_without(&self, avoided: usize) -> BTreeSet<usize> {
        let nears = nears(&self.rows);
        let mut found = BTreeSet::from([SUBJECT]);
        let mut open = vec![SUBJECT];
        while let Some(far) = open.pop() {
            open.extend(nears[far].iter().filter(|near| **near != avoided && found.insert(**near)));
        }
        found
    }
}

/// Of each row the rows that were reached from it.
fn nears(rows: &[Reached]) -> Vec<Vec<usize>> {
    let mut nears = vec![Vec::new(); rows.len()];
    for (near, reached) in rows.iter().enumerate() {
        for (_, far) in &reached.steps {
            nears[*far].push(near);
        }
    }
    nears
}

// From an owned row, ownership edges belong to the first closure; in the second only its access edges open
// something new. From an accessed row every edge does.
fn edges(shape: &TableShape, closure: Relation, by: Relation) -> impl Iterator<Item = &Edge> {
    let (owner, access) = (shape.owner_dependents.as_slice(), shape.access_dependents.as_slice());
    let (first, second): (&[Edge], &[Edge]) = match (closure, by) {
        (Relation::Owner, _) => (owner, &[]),
        (Relation::Accessor, Relation::Owner) => (&[], access),
        (Relation::Accessor, Relation::Accessor) => (owner, access),
    };
    first.iter().chain(second)
}

/// The rows at the near end of an edge from this far row.
pub fn near_rows(view: &Layered, edge: &Edge, far: &TableShape, row: &Row) -> Result<Vec<Place>, SqlError> {
    let Some(value) = far_value(far, edge, row) else { return Ok(Vec::new()) };
    let near = view.shape(edge.near)?.clone();
    let keys = near_keys(view, &near, edge, &value, &mut Marks::default())?;
    Ok(keys.into_iter().map(|row_key| (edge.near, row_key)).collect())
}
