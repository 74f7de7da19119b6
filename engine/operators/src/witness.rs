//! The witness operator of subject requests: each row once, by its place, with every edge by which it was reached.
//!
//! It stands where a query has DISTINCT: a row may be reached by several edges, and redaction asks for each. Rows have numbers
//! in the order in which they come; what other operators of a request take and give are these numbers.

use planner::catalog::EdgeRef;
use planner::ownership::traversal::Relation;
use repr::hash::HashMap;
use repr::{RelationId, Row, RowKey};
use std::collections::BTreeSet;

/// A row's place: table and key.
pub type Place = (RelationId, RowKey);

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
    /// The edges through which it was reached, with the number of the far row of each; none twice. Mostly there is one.
    first_step: Option<(EdgeRef, usize)>,
    more_steps: Vec<(EdgeRef, usize)>,
}

impl Reached {
    fn steps(&self) -> impl Iterator<Item = &(EdgeRef, usize)> {
        self.first_step.iter().chain(&self.more_steps)
    }
}

/// The distance of a row of which no way to the subject is known yet.
pub(crate) const UNREACHED: usize = usize::MAX;

/// All rows of a subject. Each has a number; the subject's own is 0.
pub struct Witness {
    rows: Vec<Reached>,
    numbers: HashMap<RelationId, HashMap<RowKey, usize>>,
}

impl Witness {
    /// The number of the subject's own row.
    pub(crate) const SUBJECT: usize = 0;

    /// The subject's own row alone.
    pub(crate) fn of(place: Place, row: Row) -> Witness {
        let mut witness = Witness { rows: Vec::new(), numbers: HashMap::default() };
        witness.add(place, Relation::Owner, row, 0);
        witness
    }

    /// A row that was not reached before.
    pub(crate) fn add(&mut self, place: Place, relation: Relation, row: Row, level: usize) -> usize {
        self.numbers.entry(place.0).or_default().insert(place.1.clone(), self.rows.len());
        self.add_unsought(place, relation, row, level)
    }

    /// The same, of a row for which no edge asks again.
    pub(crate) fn add_unsought(&mut self, place: Place, relation: Relation, row: Row, level: usize) -> usize {
        self.rows.push(Reached { place, relation, row, level, first_step: None, more_steps: Vec::new() });
        self.rows.len() - 1
    }

    /// The number of the row at a place, if it was reached.
    pub(crate) fn number(&self, relation: RelationId, row_key: &RowKey) -> Option<usize> {
        self.numbers.get(&relation)?.get(row_key).copied()
    }

    /// Notes that an edge leads from one row to another.
    pub(crate) fn step(&mut self, edge: EdgeRef, far: usize, near: usize) {
        let Reached { first_step, more_steps, .. } = &mut self.rows[near];
        match first_step {
            None => *first_step = Some((edge, far)),
            Some(_) => more_steps.push((edge, far)),
        }
    }

    /// Notes the distance of a row to which another one leads, if that is less than what is known.
    pub(crate) fn come_nearer(&mut self, far: usize, near: usize) {
        self.rows[near].level = self.rows[near].level.min(self.rows[far].level.saturating_add(1));
    }

    /// Whether a way from the subject to the row is known.
    pub(crate) fn is_measured(&self, number: usize) -> bool {
        self.rows[number].level != UNREACHED
    }

    /// How many steps there are from the subject to a row, by one way.
    pub(crate) fn level(&self, number: usize) -> usize {
        self.rows[number].level
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// One row.
    pub fn row(&self, number: usize) -> &Reached {
        &self.rows[number]
    }

    /// All rows, by number, without the edges.
    pub fn into_rows(self) -> impl Iterator<Item = (Place, Row)> {
        self.rows.into_iter().map(|reached| (reached.place, reached.row))
    }

    /// The numbers of all rows, by table and key, so that answers are ordered.
    pub fn ordered(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rows.len()).collect();
        // Tables' rows were read in order: runs that stand in order need no more than a look.
        numbers.sort_by(|one, other| self.rows[*one].place.cmp(&self.rows[*other].place));
        numbers
    }

    /// The row's own edges through which the subject reaches it without passing through the row itself; in order, none
    /// twice. In place of what `found` holds.
    pub fn edges(&self, number: usize, found: &mut Vec<EdgeRef>) {
        found.clear();
        let reached = &self.rows[number];
        let mut avoiding: Option<BTreeSet<usize>> = None;
        for (edge, far) in reached.steps() {
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
    }

    fn reachable_without(&self, avoided: usize) -> BTreeSet<usize> {
        let nears = self.nears();
        let mut found = BTreeSet::from([Witness::SUBJECT]);
        let mut open = vec![Witness::SUBJECT];
        while let Some(far) = open.pop() {
            open.extend(nears[far].iter().filter(|near| **near != avoided && found.insert(**near)));
        }
        found
    }

    /// Of each row the rows that were reached from it.
    fn nears(&self) -> Vec<Vec<usize>> {
        let mut nears = vec![Vec::new(); self.rows.len()];
        for (near, reached) in self.rows.iter().enumerate() {
            for (_, far) in reached.steps() {
                nears[*far].push(near);
            }
        }
        nears
    }
}
